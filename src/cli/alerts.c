// pawl alerts: what was told to whom, and whether telling works, for whoever has the store itself.
#include <stdio.h>

#include "cli/object.h"
#include "cli/output.h"
#include "cli/session.h"
#include "cli/value.h"
#include "cli/verb.h"
#include "engine/alert.h"
#include "model/json_field.h"
#include "server/alert_json.h"
#include "server/alert_target.h"

enum { LIMIT_DEFAULT = 20, LIMIT_MAX = 10000 };

// ----- list

static struct str delivery(const struct alert *alert)
{
    if (alert->due_at)
        return alert->attempts ? S("failing") : S("waiting");
    return alert->given_up ? S("given_up") : S("delivered");
}

static json_t *alert_json(struct arena *arena, const struct alert *a)
{
    const struct json_field fields[] = {
        { "at", json_time_or_null(arena, a->at) },
        { "kind", json_string(alert_kind_name(a->kind)) },
        { "dedupe_key", json_text_or_null(alert_key(arena, a->kind, a->job)) },
        { "target", json_text_or_null(a->target) },
        { "delivery", json_text_or_null(delivery(a)) },
        { "attempts", json_integer(a->attempts) },
        { "due_at", json_time_or_null(arena, a->due_at) },
        { "settled_at", json_time_or_null(arena, a->settled_at) },
        { "delivery_error", json_text_or_null(a->delivery_error) },
        { "org_id", json_text_or_null(a->org_id) },
        { "job_id", json_text_or_null(id_text(arena, a->job)) },
        { "job_type", json_text_or_null(a->job_type) },
        { "queue", json_text_or_null(a->queue) },
    };
    return json_object_of(fields, countof(fields));
}

static void add_row(struct cli *cli, struct table *table, const struct alert *a)
{
    table_add(table, ago(&cli->arena, a->at, world_wall(cli->world)));
    table_add(table, str_of(alert_kind_name(a->kind)));
    table_add(table, a->job_type);
    table_add(table, a->target);
    table_add(table, delivery(a));
    table_add_number(table, a->attempts);
    table_add(table, id_text(&cli->arena, a->job));
    table_add(table, a->delivery_error);
}

static bool print_list(struct cli *cli, const struct alert *alerts, size_t count,
                       struct pawl_error *err)
{
    static const char *const headings[] = { "RAISED", "KIND", "TYPE", "TARGET", "DELIVERY",
                                            "ATTEMPTS", "JOB", "LAST ERROR" };
    struct table table = table_of(&cli->arena, headings, countof(headings));
    struct items items = {0};
    for (size_t i = 0; i < count; i++) {
        SCOPED(json) json_t *object = alert_json(&cli->arena, &alerts[i]);
        if (!cli->given[OPTION_JSON])
            add_row(cli, &table, &alerts[i]);
        else if (!items_print(&items, object, err))
            return false;
    }
    if (cli->given[OPTION_JSON])
        items_close(&items);
    else
        table_print_list(&table, "no alerts");
    return true;
}

static bool list(struct cli *cli, struct pawl_error *err)
{
    SCOPED(tx) struct tx tx = {0};
    struct alert *alerts = NULL;
    size_t count = 0;
    int64_t limit = cli->given[OPTION_LIMIT] ? value_number(cli, OPTION_LIMIT) : LIMIT_DEFAULT;
    return session_open(cli, STORE_READ, err)
        && session_begin(cli, TX_READ, &cli->arena, &tx, err)
        && alert_list(&tx, limit < LIMIT_MAX ? limit : LIMIT_MAX, &alerts, &count, err)
        && print_list(cli, alerts, count, err);
}

// ----- test

static bool tell(struct cli *cli, const struct config_alert *target, struct told *told,
                 struct pawl_error *err)
{
    struct alert_teller *teller = NULL;
    pawl_time now = world_wall(cli->world);
    struct id id = id_after(0, now, world_random(cli->world));
    struct str key = str_format(&cli->arena, "test:%.*s", STR(id_text(&cli->arena, id)));
    struct telling telling = { S("test"), key, alert_test_text(&cli->arena, key, now) };
    bool opened = teller_open(&teller, target, NULL, err);
    if (opened)
        teller_tell(teller, &telling, told);
    teller_close(teller);
    return opened;
}

static bool tell_all(struct cli *cli, const struct config *config, struct pawl_error *err)
{
    struct items items = {0};
    for (size_t i = 0; i < config->alert_count; i++) {
        struct told told;
        struct str name = safe(&cli->arena, config->alerts[i].name);
        if (!tell(cli, &config->alerts[i], &told, err))
            return false;
        cli->status |= !told.delivered;
        SCOPED(json) json_t *said = json_pack("{s:s%, s:b, s:s}", "target", name.s, name.n,
                                              "delivered", told.delivered, "detail", told.detail);
        if (cli->given[OPTION_JSON] && !items_print(&items, said, err))
            return false;
        if (!cli->given[OPTION_JSON])
            printf("%.*s: %s (%.*s)\n", STR(name), told.delivered ? "delivered" : "NOT delivered",
                   STR(safe(&cli->arena, str_of(told.detail))));
    }
    if (cli->given[OPTION_JSON])
        items_close(&items);
    else if (config->alert_count == 0)
        puts("there is no target under `alerts`");
    return true;
}

static bool test(struct cli *cli, struct pawl_error *err)
{
    struct config config;
    if (!cli->given[OPTION_CONFIG])
        return usage(cli, err, "alerts test needs --config FILE: the targets are there");
    return session_config(cli, &config, err) && tell_all(cli, &config, err);
}

bool command_alerts(struct cli *cli, struct pawl_error *err)
{
    static const struct verb verbs[] = {
        { "list", 1, list },
        { "test", 1, test },
    };
    return verb_act(cli, verbs, countof(verbs), err);
}
