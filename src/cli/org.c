// pawl org: the tenants of a store, for whoever has the store itself.
#include <stdio.h>

#include "cli/erase.h"
#include "cli/listing.h"
#include "cli/object.h"
#include "cli/session.h"
#include "cli/verb.h"
#include "engine/api_key.h"
#include "engine/limit.h"
#include "model/json_field.h"
#include "model/weight.h"

enum { PAGE_ORGS = 1000 };

static const char *const headings[] = { "ORG", "WEIGHT", "KEYS", "CREATED", "DISABLED" };

static json_t *org_json(struct arena *arena, const struct org *org)
{
    const struct json_field fields[] = {
        { "org_id", json_text_or_null(org->org_id) },
        { "created_at", json_time_or_null(arena, org->created_at) },
        { "disabled_at", json_time_or_null(arena, org->disabled_at) },
        { "erased_at", json_time_or_null(arena, org->erased_at) },
        { "keys", json_integer(org->keys) },
        { "weight", json_integer(org->weight) },
    };
    return json_object_of(fields, countof(fields));
}

static void add_org(struct listing *listing, const json_t *org)
{
    struct table *table = &listing->table;
    table_add(table, object_text(org, "org_id"));
    table_add_number(table, object_number(org, "weight"));
    table_add_number(table, object_number(org, "keys"));
    table_add(table, object_text(org, "created_at"));
    table_add(table, object_text(org, "disabled_at"));
}

static bool show(struct listing *listing, json_t *made, struct pawl_error *err)
{
    SCOPED(json) json_t *org = made;
    return listing_add(listing, org, err);
}

static bool show_all(struct listing *listing, struct pawl_error *err)
{
    struct cli *cli = listing->cli;
    struct org_list page = {0};
    do {
        SCOPED(tx) struct tx tx = {0};
        if (!session_begin(cli, TX_READ, &cli->arena, &tx, err)
            || !org_list(&tx, page.next, PAGE_ORGS, &page, err))
            return false;
        for (size_t i = 0; i < page.count; i++)
            if (!show(listing, org_json(&cli->arena, &page.orgs[i]), err))
                return false;
    } while (page.next);
    return true;
}

static bool list(struct cli *cli, struct pawl_error *err)
{
    struct listing listing = listing_of(cli, headings, countof(headings), add_org);
    listing.none = "no orgs";
    if (!session_open(cli, STORE_READ, err) || !show_all(&listing, err))
        return false;
    listing_end(&listing);
    return true;
}

// Changes one org and prints it, or says what became of it.
static bool change(struct cli *cli,
                   bool (*act)(struct cli *cli, struct tx *tx, struct org *org,
                               struct pawl_error *err),
                   const char *words, struct pawl_error *err)
{
    struct org org = {0};
    SCOPED(tx) struct tx tx = {0};
    if (!uuid_valid(cli->words[1]))
        return usage(cli, err, "`%.*s` is no org: it is a UUID in lower case", STR(cli->words[1]));
    if (!session_open(cli, STORE_CHANGE, err)
        || !session_begin(cli, TX_WRITE, &cli->arena, &tx, err) || !act(cli, &tx, &org, err)
        || !tx_commit(&tx, err))
        return false;
    if (cli->given[OPTION_JSON])
        return print_json(&cli->arena, org_json(&cli->arena, &org), err);
    printf("org %.*s %s\n", STR(org.org_id), words);
    return true;
}

static bool do_disable(struct cli *cli, struct tx *tx, struct org *org, struct pawl_error *err)
{
    return org_disable(tx, cli->words[1], org, err);
}

static bool disable(struct cli *cli, struct pawl_error *err)
{
    return change(cli, do_disable, "is disabled: its keys are refused", err);
}

static bool do_enable(struct cli *cli, struct tx *tx, struct org *org, struct pawl_error *err)
{
    return org_enable(tx, cli->words[1], org, err);
}

static bool enable(struct cli *cli, struct pawl_error *err)
{
    return change(cli, do_enable, "is enabled: its keys are good unless revoked", err);
}

static bool do_weigh(struct cli *cli, struct tx *tx, struct org *org, struct pawl_error *err)
{
    int64_t weight = 0;
    if (!str_int(cli->words[2], &weight))
        return usage(cli, err, "`%.*s` is no weight: it is a number from 1 to %d",
                     STR(cli->words[2]), SHARE_WEIGHT_MAX);
    return org_weigh(tx, cli->words[1], weight, org, err);
}

static bool weigh(struct cli *cli, struct pawl_error *err)
{
    return change(cli, do_weigh, "has its new weight from the next claim on", err);
}

// What is not given stays as it is.
static bool do_limit(struct cli *cli, struct tx *tx, struct org *org, struct pawl_error *err)
{
    struct limit_row row;
    if (!org_load(tx, cli->words[1], org, err)
        || !limit_load(tx, LIMIT_ORG, org->row, &row, err))
        return false;
    if (cli->given[OPTION_MAX_RUNNING])
        (void)!str_int(cli->value[OPTION_MAX_RUNNING], &row.limit.max_running);  // checked
    if (cli->given[OPTION_LIMIT_RATE]
        && !rate_parse(cli->value[OPTION_LIMIT_RATE], &row.limit.rate))
        row.limit.rate = (struct rate){0};  // `none`
    return limit_set(tx, LIMIT_ORG, cli->words[1], &row.limit, S(""), err);
}

static bool set_limit(struct cli *cli, struct pawl_error *err)
{
    if (!cli->given[OPTION_MAX_RUNNING] && !cli->given[OPTION_LIMIT_RATE])
        return usage(cli, err, "say --max-running, --rate or both");
    return change(cli, do_limit, "has its new limits from the next claim on", err);
}

bool command_org(struct cli *cli, struct pawl_error *err)
{
    static const struct verb verbs[] = {
        { "list", 1, list },
        { "disable", 2, disable },
        { "enable", 2, enable },
        { "weight", 3, weigh },
        { "limit", 2, set_limit },
        { "erase", 2, org_erase },
    };
    return verb_act(cli, verbs, countof(verbs), err);
}
