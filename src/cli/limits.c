// pawl limits: what may run at once and begin per time, and types that wait for their provider.
#include "cli/limits.h"

#include <stdio.h>

#include "cli/backend.h"
#include "cli/object.h"
#include "cli/output.h"
#include "cli/remote.h"
#include "cli/session.h"
#include "engine/limit.h"

// ----- a store

static void speak_for_all(struct cli *cli)
{
    if (!cli->given[OPTION_ORG])
        cli->caller.org_id = S("");  // whoever has the store speaks for every org
}

bool store_limits(struct cli *cli, json_t **limits, struct pawl_error *err)
{
    struct limits_view view;
    SCOPED(tx) struct tx tx = {0};
    speak_for_all(cli);
    if (!session_open(cli, STORE_READ, err)
        || !session_begin(cli, TX_READ, &cli->arena, &tx, err) || !limits_view(&tx, &view, err))
        return false;
    *limits = limits_view_json(&cli->arena, &view);
    return *limits || fail(err, PAWL_NO_MEMORY, "no memory for the answer");
}

bool store_type_resume(struct cli *cli, struct str job_type, struct pawl_error *err)
{
    SCOPED(tx) struct tx tx = {0};
    speak_for_all(cli);
    return session_open(cli, STORE_CHANGE, err)
        && session_begin(cli, TX_WRITE, &cli->arena, &tx, err) && type_resume(&tx, job_type, err)
        && tx_commit(&tx, err);
}

// ----- a server

bool server_limits(struct cli *cli, json_t **limits, struct pawl_error *err)
{
    struct reply reply = {0};
    struct request request = { .method = "GET", .path = S("/v1/limits") };
    if (!remote_ask(cli, &request, &reply, err))
        return false;
    *limits = reply.body;
    return true;
}

bool server_type_resume(struct cli *cli, struct str job_type, struct pawl_error *err)
{
    struct reply reply = {0};
    struct str name = url_encoded(&cli->arena, job_type);
    struct request request = {
        .method = "POST",
        .path = str_format(&cli->arena, "/v1/job_types/%.*s/resume", STR(name)),
    };
    bool done = remote_ask(cli, &request, &reply, err);
    json_decref(reply.body);
    return done;
}

// ----- showing

static const char *const headings[] = { "SCOPE", "NAME", "AT ONCE", "RUNNING", "RATE",
                                        "RATE LIMITED", "SET BY" };

static void show_limits(struct cli *cli, const json_t *limits)
{
    struct table table = table_of(&cli->arena, headings, countof(headings));
    for (size_t i = 0; i < json_array_size(limits); i++) {
        const json_t *limit = json_array_get(limits, i);
        struct str name = object_text(limit, "name"), by = object_text(limit, "set_by");
        table_add(&table, object_text(limit, "scope"));
        table_add(&table, name.n ? name : S("(every org)"));
        table_add(&table, object_value(&cli->arena, limit, "max_running"));
        table_add(&table, object_value(&cli->arena, limit, "running"));
        table_add(&table, object_text(limit, "rate"));
        table_add(&table, object_text(limit, "on_rate_limited"));
        table_add(&table, by.n ? by : S("operator"));
    }
    table_print_list(&table, "no limits");
}

static void show_pauses(struct cli *cli, const json_t *pauses)
{
    for (size_t i = 0; i < json_array_size(pauses); i++) {
        const json_t *pause = json_array_get(pauses, i);
        struct str org = object_text(pause, "org_id");
        struct str type = safe(&cli->arena, object_text(pause, "job_type"));
        struct str until = object_text(pause, "until");
        printf("%s%.*s is paused for %.*s until %.*s: rate_limited\n", i ? "" : "\n", STR(type),
               STR(org.n ? org : S("every org")), STR(until));
    }
}

static bool show(struct cli *cli, struct pawl_error *err)
{
    SCOPED(json) json_t *all = NULL;
    if (!cli->backend->limits(cli, &all, err))
        return false;
    if (cli->given[OPTION_JSON])
        return print_json(&cli->arena, json_incref(all), err);
    show_limits(cli, json_object_get(all, "limits"));
    show_pauses(cli, json_object_get(all, "pauses"));
    return true;
}

bool command_limits(struct cli *cli, struct pawl_error *err)
{
    if (cli->word_count == 0)
        return show(cli, err);
    if (cli->word_count != 2 || !str_eq(cli->words[0], S("resume")))
        return usage(cli, err, "say nothing, or `resume TYPE`");
    if (!cli->backend->type_resume(cli, cli->words[1], err))
        return false;
    if (cli->given[OPTION_JSON])
        return print_json(&cli->arena,
                          json_pack("{s:s%,s:b}", "job_type", cli->words[1].s, cli->words[1].n,
                                    "paused", 0),
                          err);
    printf("%.*s goes on\n", STR(safe(&cli->arena, cli->words[1])));
    return true;
}
