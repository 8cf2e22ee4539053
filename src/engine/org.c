// Orgs, as the operator of a store sees them. Everybody else only knows their own.
#include "base/list.h"
#include "engine/api_key.h"
#include "engine/event.h"
#include "model/weight.h"
#include "store/names.h"

enum { LIST_MAX = 1000 };

static struct str subject(struct tx *tx, struct str org_id)
{
    return str_format(tx->arena, "org:%.*s", STR(org_id));
}

bool org_intern(struct tx *tx, struct str org_id, int64_t *org, struct pawl_error *err)
{
    if (!name_find(tx, NAME_ORG, org_id, org, err))
        return false;
    return *org != 0
        || (name_intern(tx, NAME_ORG, org_id, org, err)
            && event_append_for(tx, *org, subject(tx, org_id), EVENT_ORG_CREATED, S(""), err));
}

static void org_read(struct rows *rows, struct org *org)
{
    org->row = row_int(rows);
    org->org_id = row_text(rows);
    org->created_at = row_int(rows);
    org->disabled_at = row_int(rows);
    org->erased_at = row_int(rows);
    org->keys = row_int(rows);
    org->weight = row_int(rows);
}

bool org_list(struct tx *tx, int64_t after, int64_t limit, struct org_list *list,
              struct pawl_error *err)
{
    struct list found = list_of(tx->arena, sizeof(struct org));
    if (limit < 1 || limit > LIST_MAX)
        limit = LIST_MAX;
    SCOPED(rows) struct rows rows = {0};
    if (!sql_ask(tx, &rows, Q_ORG_PAGE, err, INT(after), INT(limit), INT(tx->now)))
        return false;
    *list = (struct org_list){0};
    while (rows_next(&rows)) {
        struct org *org = list_add(&found);
        if (!org)
            return fail(err, PAWL_NO_MEMORY, "no memory to list orgs");
        org_read(&rows, org);
        list->next = org->row;
    }
    list->orgs = found.items;
    list->count = found.count;
    if (found.count < (size_t)limit)
        list->next = 0;
    return rows_ok(&rows, err);
}

bool org_load(struct tx *tx, struct str org_id, struct org *org, struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    if (!sql_ask(tx, &rows, Q_ORG_LOAD, err, TEXT(org_id), INT(tx->now)))
        return false;
    if (!rows_next(&rows))
        return rows_ok(&rows, err)
            && fail(err, PAWL_NOT_FOUND, "there is no org %.*s", STR(org_id));
    org_read(&rows, org);
    return true;
}

bool org_disable(struct tx *tx, struct str org_id, struct org *org, struct pawl_error *err)
{
    if (!org_load(tx, org_id, org, err))
        return false;
    if (org->disabled_at)
        return true;
    org->disabled_at = tx->now;
    return sql_run(tx, Q_ORG_DISABLE, err, INT(org->row), INT(tx->now))
        && event_append_for(tx, org->row, subject(tx, org_id), EVENT_ORG_DISABLED, S(""), err);
}

bool org_enable(struct tx *tx, struct str org_id, struct org *org, struct pawl_error *err)
{
    if (!org_load(tx, org_id, org, err))
        return false;
    if (!org->disabled_at)
        return true;
    org->disabled_at = 0;
    return sql_run(tx, Q_ORG_ENABLE, err, INT(org->row))
        && event_append_for(tx, org->row, subject(tx, org_id), EVENT_ORG_ENABLED, S(""), err);
}

bool org_weigh(struct tx *tx, struct str org_id, int64_t weight, struct org *org,
               struct pawl_error *err)
{
    struct problems problems = { .arena = tx->arena };
    if (weight < 1 || weight > SHARE_WEIGHT_MAX)
        problem_add(&problems, "weight", "must be 1 to %d", SHARE_WEIGHT_MAX);
    if (!problems_none(&problems, err) || !org_load(tx, org_id, org, err))
        return false;
    if (org->weight == weight)
        return true;
    org->weight = weight;
    return sql_run(tx, Q_ORG_WEIGH, err, INT(org->row), INT(weight))
        && event_append_for(tx, org->row, subject(tx, org_id), EVENT_ORG_WEIGHED,
                            str_format(tx->arena, "%lld", (long long)weight), err);
}
