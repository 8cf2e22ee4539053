// pawl org: the tenants of a store, for whoever has the store itself.
#include <stdio.h>

#include "cli/output.h"
#include "cli/session.h"
#include "cli/verb.h"
#include "engine/api_key.h"
#include "model/json_field.h"

enum { PAGE_ORGS = 1000 };

static const char *const headings[] = { "ORG", "KEYS", "CREATED", "DISABLED" };

static json_t *org_json(struct arena *arena, const struct org *org)
{
    const struct json_field fields[] = {
        { "org_id", json_text_or_null(org->org_id) },
        { "created_at", json_time_or_null(arena, org->created_at) },
        { "disabled_at", json_time_or_null(arena, org->disabled_at) },
        { "keys", json_integer(org->keys) },
    };
    return json_object_of(fields, countof(fields));
}

static bool show(struct cli *cli, const struct org *org, size_t before, struct table *table,
                 struct pawl_error *err)
{
    if (cli->given[OPTION_JSON]) {
        fputs(before > 0 ? "," : "", stdout);
        return print_json(&cli->arena, org_json(&cli->arena, org), err);
    }
    table_add(table, org->org_id);
    table_add_number(table, org->keys);
    table_add_time(table, org->created_at);
    table_add_time(table, org->disabled_at);
    return true;
}

static bool show_all(struct cli *cli, struct table *table, struct pawl_error *err)
{
    struct org_list page = {0};
    size_t shown = 0;
    do {
        SCOPED(tx) struct tx tx = {0};
        if (!session_begin(cli, TX_READ, &cli->arena, &tx, err)
            || !org_list(&tx, page.next, PAGE_ORGS, &page, err))
            return false;
        for (size_t i = 0; i < page.count; i++)
            if (!show(cli, &page.orgs[i], shown++, table, err))
                return false;
    } while (page.next);
    return true;
}

static bool list(struct cli *cli, struct pawl_error *err)
{
    struct table table = table_of(&cli->arena, headings, countof(headings));
    if (!session_open(cli, STORE_READ, err))
        return false;
    fputs(cli->given[OPTION_JSON] ? "{\"items\":[" : "", stdout);
    if (!show_all(cli, &table, err))
        return false;
    table_narrow(&table);
    if (cli->given[OPTION_JSON])
        puts("]}");
    else
        table_print(&table, "");
    return true;
}

static bool disable(struct cli *cli, struct pawl_error *err)
{
    struct org org;
    SCOPED(tx) struct tx tx = {0};
    if (!uuid_valid(cli->words[1]))
        return usage(cli, err, "`%.*s` is no org: it is a UUID in lower case", STR(cli->words[1]));
    if (!session_open(cli, STORE_CHANGE, err)
        || !session_begin(cli, TX_WRITE, &cli->arena, &tx, err)
        || !org_disable(&tx, cli->words[1], &org, err) || !tx_commit(&tx, err))
        return false;
    if (cli->given[OPTION_JSON])
        return print_json(&cli->arena, org_json(&cli->arena, &org), err);
    printf("org %.*s is disabled: its keys are refused\n", STR(org.org_id));
    return true;
}

bool command_org(struct cli *cli, struct pawl_error *err)
{
    static const struct verb verbs[] = {
        { "list", 1, list },
        { "disable", 2, disable },
    };
    return verb_act(cli, verbs, countof(verbs), err);
}
