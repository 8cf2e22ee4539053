// pawl audit export: the events as JSON lines, oldest first, each with its seal. One page is one
// short transaction; whoever was interrupted goes on after the last id he has.
#include <stdio.h>

#include "cli/audit.h"
#include "cli/output.h"
#include "cli/session.h"
#include "cli/value.h"
#include "engine/event.h"
#include "engine/seal.h"
#include "model/json_field.h"
#include "server/event_json.h"

enum { PAGE_EVENTS = 500 };

struct exporting {
    struct cli *cli;
    int64_t after;
    int64_t seal_number;  // the seal that the last event was under
};

static bool print_event(struct exporting *e, struct tx *tx, const struct audit_event *event,
                        struct pawl_error *err)
{
    struct seal seal;
    if (!seal_over(tx, e->seal_number, event->id, &seal, err))
        return false;
    if (seal.number)
        e->seal_number = seal.number;
    json_t *line = event_json(tx->arena, event);
    json_object_set_new(line, "seal", seal.number ? json_integer(seal.number) : json_null());
    json_object_set_new(line, "seal_hash", json_text_or_null(seal.hash));
    return print_json(tx->arena, line, err);
}

static bool print_page(struct exporting *e, bool *more, struct pawl_error *err)
{
    SCOPED(arena) struct arena arena = {0};
    SCOPED(tx) struct tx tx = {0};
    struct event_list list;
    if (!session_begin(e->cli, TX_READ, &arena, &tx, err))
        return false;
    if (!e->cli->given[OPTION_ORG])
        tx.caller = &caller_pawl;  // of every org
    if (!events_after(&tx, &e->after, PAGE_EVENTS, &list, err))
        return false;
    for (size_t i = 0; i < list.count; i++)
        if (!print_event(e, &tx, &list.events[i], err))
            return false;
    *more = list.next != 0;
    return true;
}

static bool begin_at(struct exporting *e, struct pawl_error *err)
{
    struct cli *cli = e->cli;
    SCOPED(tx) struct tx tx = {0};
    if (cli->given[OPTION_AFTER_EVENT])
        e->after = value_number(cli, OPTION_AFTER_EVENT);
    if (!cli->given[OPTION_SINCE])
        return true;
    int64_t before = 0;
    if (!session_begin(cli, TX_READ, &cli->arena, &tx, err)
        || !events_before(&tx, value_time(cli, OPTION_SINCE, tx.now), &before, err))
        return false;
    if (before > e->after)
        e->after = before;
    return true;
}

bool audit_export(struct cli *cli, struct pawl_error *err)
{
    struct exporting exporting = { .cli = cli };
    bool more = true;
    if (!audit_on_store(cli, err) || !session_open(cli, STORE_READ, err)
        || !begin_at(&exporting, err))
        return false;
    while (more)
        if (!print_page(&exporting, &more, err))
            return false;
    if (fflush(stdout) != 0 || ferror(stdout))
        return fail(err, PAWL_STORE, "the export could not be written: it ends before event %lld",
                    (long long)exporting.after);
    return true;
}
