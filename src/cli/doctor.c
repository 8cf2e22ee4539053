// pawl doctor: looks at everything that has gone wrong somewhere before, and says what to do.
//
// On a store it looks at the machine, the file and the records; through a server only at what the
// HTTP API tells. A check that cannot be made is bad itself.
#include "cli/doctor.h"

#include <stdio.h>

#include "cli/backend.h"
#include "cli/object.h"
#include "cli/output.h"
#include "cli/remote.h"
#include "cli/session.h"
#include "model/json_field.h"
#include "server/config.h"

#define STUCK_US MINUTES(5)

static struct str why(struct cli *cli, const struct pawl_error *err)
{
    return str_dup(&cli->arena, str_of(err->message));
}

// ----- configuration

static void look_at_configuration(struct cli *cli, struct findings *findings)
{
    struct config config;
    struct yaml_faults faults;
    struct pawl_error err = {0};
    const char *file = str_cstr(&cli->arena, cli->value[OPTION_CONFIG]);
    if (!cli->given[OPTION_CONFIG])
        return;
    bool fine = config_load(&cli->arena, file, &config, &faults, &err);
    find(findings, "configuration", fine ? HEALTH_OK : HEALTH_BAD,
         fine ? str_format(&cli->arena, "%s is fine", file) : why(cli, &err),
         "`pawl config check FILE` names every problem with its line");
}

// ----- queues, as either backend tells of them

struct queue_news {
    enum health full, stuck;
    struct str fullest, oldest;
};

static void look_at_queue(struct cli *cli, const json_t *queue, struct queue_news *news)
{
    struct arena *arena = &cli->arena;
    struct str name = object_text(queue, "name");
    int64_t waiting = object_number(queue, "waiting"), most = object_number(queue, "depth_max");
    pawl_time oldest = object_time(queue, "oldest_ready_at"), now = world_wall(cli->world);
    if (most > 0 && waiting >= most - most / 10 && news->full != HEALTH_BAD) {
        news->full = waiting >= most ? HEALTH_BAD : HEALTH_WARN;
        news->fullest = str_format(arena, "%.*s has %lld jobs of %lld", STR(name),
                                   (long long)waiting, (long long)most);
    }
    if (oldest && now - oldest > STUCK_US && !object_flag(queue, "paused")) {
        news->stuck = HEALTH_WARN;
        news->oldest = str_format(arena, "the oldest ready job of %.*s could be taken %.*s",
                                  STR(name), STR(ago(arena, oldest, now)));
    }
}

static void look_at_queues(struct cli *cli, struct findings *findings)
{
    SCOPED(json) json_t *queues = NULL;
    struct pawl_error err = {0};
    struct queue_news news = { .fullest = S("no queue is"), .oldest = S("no job waits long") };
    if (!cli->backend->queues(cli, &queues, &err)) {
        find(findings, "queues", HEALTH_BAD, why(cli, &err), "do what it says");
        return;
    }
    for (size_t i = 0; i < json_array_size(queues); i++)
        look_at_queue(cli, json_array_get(queues, i), &news);
    find(findings, "full", news.full, news.fullest,
         "new jobs are refused when it is full: more workers, or another `depth:`");
    find(findings, "stuck", news.stuck, news.oldest,
         "`pawl jobs --queue QUEUE --state QUEUED`, then `pawl explain` of the last one");
}

// ----- through a server

static bool server_ready(struct cli *cli, struct pawl_error *err)
{
    SCOPED(reply) struct reply reply = {0};
    struct request request = { .method = "GET", .path = S("/readyz") };
    return client_ask(cli->client, &request, &reply, err)
        && (reply_good(&reply) || reply_refused(cli, &reply, err));
}

static void look_at_server(struct cli *cli, struct findings *findings)
{
    struct pawl_error err = {0};
    bool ready = server_ready(cli, &err);
    find(findings, "server", ready ? HEALTH_OK : HEALTH_BAD,
         ready ? str_format(&cli->arena, "%s is ready", client_url(cli->client)) : why(cli, &err),
         "look at the log of the server, and run `pawl doctor` on its machine");
}

static void look_at_letters(struct cli *cli, struct findings *findings)
{
    SCOPED(json) json_t *groups = NULL;
    struct pawl_error err = {0};
    struct letter_filter filter = {0};
    int64_t letters = 0;
    if (!cli->backend->letter_groups(cli, &filter, &groups, &err)) {
        find(findings, "letters", HEALTH_BAD, why(cli, &err), "do what it says");
        return;
    }
    const json_t *items = json_is_array(groups) ? groups : json_object_get(groups, "items");
    for (size_t i = 0; i < json_array_size(items); i++)
        letters += object_number(json_array_get(items, i), "count");
    find(findings, "letters", letters ? HEALTH_WARN : HEALTH_OK,
         letters ? str_format(&cli->arena, "%lld dead letters are open", (long long)letters)
                 : S("none is open"),
         "`pawl dead groups`, then replay, fix or discard them");
}

// ----- a store

static bool look_at_records(struct cli *cli, struct findings *findings, struct pawl_error *err)
{
    SCOPED(tx) struct tx tx = {0};
    return tx_begin(cli->db, TX_READ, &cli->arena, &tx, err) && health_look(&tx, findings, err);
}

static void look_at_store(struct cli *cli, struct findings *findings)
{
    struct pawl_error err = {0};
    doctor_machine(cli, findings);
    bool opened = session_open(cli, STORE_READ, &err);
    find(findings, "store", opened ? HEALTH_OK : HEALTH_BAD,
         opened ? str_format(&cli->arena, "schema version %d, as this pawl's",
                             schema_version_known())
                : why(cli, &err),
         "nothing works before it can be opened: do what it says");
    if (!opened)
        return;
    doctor_file(cli, findings);
    if (look_at_records(cli, findings, &err))
        look_at_queues(cli, findings);
    else
        find(findings, "records", HEALTH_BAD, why(cli, &err),
             "`pawl verify` reads them all; a backup from before the damage is the way back");
}

// ----- what it says

static bool print_findings_json(struct cli *cli, const struct findings *findings,
                                enum health worst, struct pawl_error *err)
{
    json_t *checks = json_array();
    for (size_t i = 0; i < findings->count; i++) {
        const struct finding *f = &findings->list[i];
        const struct json_field fields[] = {
            { "check", json_string(f->check) },
            { "health", json_string(health_name(f->health)) },
            { "found", json_stringn(f->found.s, f->found.n) },
            { "advice", json_text_or_null(str_of(f->advice)) },
        };
        json_array_append_new(checks, json_object_of(fields, countof(fields)));
    }
    return print_json(&cli->arena,
                      json_pack("{s:s, s:o}", "health", health_name(worst), "checks", checks),
                      err);
}

static void print_findings(struct cli *cli, const struct findings *findings)
{
    static const char *const headings[] = { "CHECK", "HEALTH", "FOUND" };
    static const char *const colours[] = { "", "\033[33m", "\033[31m" };
    struct table table = table_of(&cli->arena, headings, countof(headings));
    for (size_t i = 0; i < findings->count; i++) {
        table_add(&table, str_of(findings->list[i].check));
        table_add(&table, str_of(health_name(findings->list[i].health)));
        table_add(&table, safe(&cli->arena, findings->list[i].found));
    }
    table_print(&table, "");
    for (size_t i = 0; i < findings->count; i++) {
        const struct finding *f = &findings->list[i];
        const char *colour = colours_on() ? colours[f->health] : "";
        if (f->health != HEALTH_OK)
            printf("\n%s%s%s: %.*s\n  %s\n", colour, f->check, *colour ? "\033[0m" : "",
                   STR(safe(&cli->arena, f->found)), f->advice);
    }
}

bool command_doctor(struct cli *cli, struct pawl_error *err)
{
    struct findings findings = {0};
    enum health worst = HEALTH_OK;
    look_at_configuration(cli, &findings);
    if (cli->client) {
        look_at_server(cli, &findings);
        look_at_queues(cli, &findings);
        look_at_letters(cli, &findings);
    } else {
        look_at_store(cli, &findings);
    }
    for (size_t i = 0; i < findings.count; i++)
        if (findings.list[i].health > worst)
            worst = findings.list[i].health;
    cli->status = worst == HEALTH_BAD ? 1 : 0;
    if (cli->given[OPTION_JSON])
        return print_findings_json(cli, &findings, worst, err);
    print_findings(cli, &findings);
    return true;
}
