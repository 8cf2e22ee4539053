// pawl audit annotate: what people know of a job or an event, kept where the next one looks.
#include "cli/annotate.h"

#include <stdio.h>

#include "cli/backend.h"
#include "cli/object.h"
#include "cli/output.h"
#include "cli/remote.h"
#include "cli/session.h"
#include "cli/value.h"
#include "server/event_json.h"

bool store_annotate(struct cli *cli, const struct annotation *annotation, json_t **event,
                    struct pawl_error *err)
{
    struct audit_event made;
    SCOPED(tx) struct tx tx = {0};
    if (!cli->given[OPTION_ORG])
        cli->caller.org_id = S("");  // whoever has the store speaks for every org
    if (!session_open(cli, STORE_CHANGE, err)
        || !session_begin(cli, TX_WRITE, &cli->arena, &tx, err)
        || !audit_annotate(&tx, annotation, &made, err) || !tx_commit(&tx, err))
        return false;
    *event = event_json(&cli->arena, &made);
    return *event || fail(err, PAWL_NO_MEMORY, "no memory for the answer");
}

bool server_annotate(struct cli *cli, const struct annotation *annotation, json_t **event,
                     struct pawl_error *err)
{
    struct str text = annotation->text;
    struct str about = annotation->job.high
                         ? str_format(&cli->arena, "jobs/%.*s",
                                      STR(id_text(&cli->arena, annotation->job)))
                         : str_format(&cli->arena, "audit/%lld", (long long)annotation->event);
    SCOPED(json) json_t *body = json_pack("{s:s%}", "text", text.s, text.n);
    struct request request = {
        .method = "POST",
        .path = str_format(&cli->arena, "/v1/%.*s/annotations", STR(about)),
        .body = body,
    };
    struct reply reply = {0};
    if (!body)
        return fail(err, PAWL_INVALID, "text: must be UTF-8");
    if (!remote_ask(cli, &request, &reply, err))
        return false;
    *event = reply.body;
    return true;
}

// The number of an event, or the id of a job.
static bool read_target(struct cli *cli, struct annotation *annotation, struct pawl_error *err)
{
    struct str word = cli->words[1];
    if (str_int(word, &annotation->event))
        return true;
    if (!uuid_valid(word))
        return usage(cli, err, "`%.*s` is neither the number of an event nor the id of a job",
                     STR(word));
    return value_id(cli, word, &annotation->job, err);
}

bool audit_note(struct cli *cli, struct pawl_error *err)
{
    struct annotation annotation = { .text = cli->words[2] };
    SCOPED(json) json_t *event = NULL;
    if (!read_target(cli, &annotation, err)
        || !cli->backend->annotate(cli, &annotation, &event, err))
        return false;
    if (cli->given[OPTION_JSON])
        return print_json(&cli->arena, json_incref(event), err);
    printf("event %lld: %.*s\n", (long long)object_number(event, "event_id"),
           STR(safe(&cli->arena, object_text(json_object_get(event, "detail"), "text"))));
    return true;
}
