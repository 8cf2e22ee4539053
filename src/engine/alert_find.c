// What alerts are about, read when they are told or looked at: raising one copies nothing.
#include "base/list.h"
#include "engine/alert.h"
#include "model/fingerprint.h"

static void read_alert(struct rows *rows, struct alert *alert)
{
    alert->id = row_int(rows);
    alert->target = row_text(rows);
    (void)alert_kind_parse(row_text(rows), &alert->kind);  // the schema allows no others
    alert->job.high = row_int(rows);
    alert->job.low = row_int(rows);
    alert->at = row_int(rows);
    alert->attempts = row_int(rows);
    alert->due_at = row_int(rows);
    alert->settled_at = row_int(rows);
    alert->given_up = row_int(rows) != 0;
    alert->delivery_error = row_text(rows);
    alert->org_id = row_text(rows);
    alert->project_id = row_text(rows);
    alert->job_type = row_text(rows);
    alert->queue = row_text(rows);
    alert->request_id = row_text(rows);
    alert->correlation_id = row_text(rows);
    alert->state = row_text(rows);
    alert->failure_type = row_text(rows);
    alert->error_class = row_text(rows);
    alert->message = row_text(rows);
    alert->attempt = row_int(rows);
    alert->finish_detail = row_text(rows);
}

bool alert_load(struct tx *tx, int64_t id, struct alert *alert, struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    *alert = (struct alert){0};
    if (!sql_ask(tx, &rows, Q_ALERT_LOAD, err, INT(id)))
        return false;
    if (rows_next(&rows))
        read_alert(&rows, alert);
    return rows_ok(&rows, err)
        && (alert->id != 0 || fail(err, PAWL_NOT_FOUND, "there is no alert %lld", (long long)id));
}

static bool newest(struct tx *tx, int64_t limit, struct keys *keys, struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    return sql_ask(tx, &rows, Q_ALERTS_NEWEST, err, INT(limit)) && rows_keys(&rows, keys, err);
}

bool alert_list(struct tx *tx, int64_t limit, struct alert **alerts, size_t *count,
                struct pawl_error *err)
{
    struct keys keys = {0};
    *count = 0;
    if (!newest(tx, limit, &keys, err))
        return false;
    *alerts = arena_new(tx->arena, struct alert, keys.count + 1);
    if (!*alerts)
        return fail(err, PAWL_NO_MEMORY, "no memory for the alerts");
    while (*count < keys.count && alert_load(tx, keys.at[*count], &(*alerts)[*count], err))
        ++*count;
    return *count == keys.count;
}

// ----- summaries

static struct alert_group *group_of(struct alert_summary *s, const struct alert_group *wanted)
{
    for (size_t i = 0; i < s->group_count; i++)
        if (s->groups[i].kind == wanted->kind && str_eq(s->groups[i].org_id, wanted->org_id)
            && str_eq(s->groups[i].fingerprint, wanted->fingerprint))
            return &s->groups[i];
    if (s->group_count == ALERT_GROUPS_MAX)
        return NULL;
    s->groups[s->group_count] = *wanted;
    return &s->groups[s->group_count++];
}

static void count_row(struct tx *tx, struct rows *rows, struct alert_summary *s)
{
    struct alert_group group = {0};
    (void)alert_kind_parse(row_text(rows), &group.kind);  // the schema allows no others
    group.org_id = row_text(rows);
    group.job_type = row_text(rows);
    struct str class = row_text(rows), failure_type = row_text(rows);
    group.error_kind = class.n ? class : failure_type;
    group.pattern = error_pattern(tx->arena, row_text(rows));
    group.job.high = row_int(rows);
    group.job.low = row_int(rows);
    group.fingerprint = fingerprint(tx->arena, group.job_type, group.error_kind, group.pattern);
    struct alert_group *same = group_of(s, &group);
    s->count++;
    if (same)
        same->count++;
    else
        s->others++;
}

static void sort_groups(struct alert_summary *s)
{
    for (size_t i = 1; i < s->group_count; i++)
        for (size_t k = i; k > 0 && s->groups[k].count > s->groups[k - 1].count; k--) {
            struct alert_group swapped = s->groups[k];
            s->groups[k] = s->groups[k - 1];
            s->groups[k - 1] = swapped;
        }
}

bool alert_summarise(struct tx *tx, int64_t first, struct alert_summary *summary,
                     struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    *summary = (struct alert_summary){0};
    if (!sql_ask(tx, &rows, Q_ALERT_SUMMARY, err, INT(first)))
        return false;
    while (rows_next(&rows))
        count_row(tx, &rows, summary);
    sort_groups(summary);
    return rows_ok(&rows, err);
}
