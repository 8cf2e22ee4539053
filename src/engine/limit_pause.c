// A provider that says "too much" says it to the next job as well: its type waits.
#include <assert.h>

#include "base/list.h"
#include "engine/job.h"
#include "engine/limit.h"
#include "model/json_field.h"
#include "store/names.h"
#include "store/observe.h"

static bool load(struct tx *tx, struct type_pause *pause, struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    if (!sql_ask(tx, &rows, Q_TYPE_PAUSE_LOAD, err, INT(pause->type), INT(pause->org),
                 INT(tx->now)))
        return false;
    if (rows_next(&rows)) {
        pause->since = row_int(&rows);
        pause->until = row_int(&rows);
    }
    return rows_ok(&rows, err);
}

static bool tell(struct tx *tx, const struct type_pause *pause, enum event event,
                 struct pawl_error *err)
{
    struct str name;
    // defensive: the name was asked for with the job that ended, or with the pauses that are on
    if (!name_text(tx, NAME_JOB_TYPE, pause->type, &name, err))
        return false;
    SCOPED(json) json_t *detail = json_pack("{s:o}", "until",
                                            json_time_or_null(tx->arena, pause->until));
    return event_append_for(tx, pause->org, str_format(tx->arena, "type:%.*s", STR(name)), event,
                            json_text(tx->arena, detail), err);
}

static int64_t length_of(const struct limit *limit, int64_t retry_after_us)
{
    int64_t pause_us = limit->pause_us ? limit->pause_us : RATE_LIMITED_PAUSE_US;
    if (retry_after_us > 0)
        pause_us = retry_after_us;
    return pause_us < RATE_LIMITED_PAUSE_US_MAX ? pause_us : RATE_LIMITED_PAUSE_US_MAX;
}

static bool pause_by(struct tx *tx, const struct execution *e, const struct limit *limit,
                     int64_t retry_after_us, struct pawl_error *err)
{
    bool all = limit->on_rate_limited == RATE_LIMITED_PAUSE_ALL;
    struct type_pause pause = { .type = e->type, .org = all ? 0 : e->org };
    pawl_time until = tx->now + length_of(limit, retry_after_us);
    if (!load(tx, &pause, err))
        return false;
    bool on = pause.until != 0;
    if (pause.until >= until)
        return true;
    pause.until = until;
    return sql_run(tx, Q_TYPE_PAUSE_PUT, err, INT(pause.type), INT(pause.org),
                   INT(on ? pause.since : tx->now), INT(until))
        && (on || tell(tx, &pause, EVENT_TYPE_PAUSED, err));
}

bool type_pause(struct tx *tx, const struct execution *execution, int64_t retry_after_us,
                struct pawl_error *err)
{
    struct limit_row row;
    if (!tx->has_limits)
        return true;
    return limit_load(tx, LIMIT_TYPE, execution->type, &row, err)
        && (row.limit.on_rate_limited == RATE_LIMITED_RETRY
            || pause_by(tx, execution, &row.limit, retry_after_us, err));
}

// ----- those that are on

static bool read_pauses(struct tx *tx, int64_t org, struct list *list, struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    if (!sql_ask(tx, &rows, Q_TYPE_PAUSES, err, INT(tx->now)))
        return false;
    while (rows_next(&rows)) {
        struct type_pause pause = { .type = row_int(&rows) };
        pause.org = row_int(&rows);
        pause.since = row_int(&rows);
        pause.until = row_int(&rows);
        if (org != 0 && pause.org != 0 && pause.org != org)
            continue;
        struct type_pause *kept = list_add(list);
        if (!kept)
            return fail(err, PAWL_NO_MEMORY, "no memory to list pauses");
        *kept = pause;
    }
    return rows_ok(&rows, err);
}

bool type_pauses(struct tx *tx, struct type_pause **pauses, size_t *count, struct pawl_error *err)
{
    struct list list = list_of(tx->arena, sizeof(struct type_pause));
    int64_t org = 0;
    if (!caller_org(tx, &org, err) || !read_pauses(tx, org, &list, err))
        return false;
    *pauses = list.items;
    *count = list.count;
    for (size_t i = 0; i < *count; i++) {
        struct type_pause *pause = &(*pauses)[i];
        if (!name_text(tx, NAME_JOB_TYPE, pause->type, &pause->job_type, err)
            || (pause->org && !name_text(tx, NAME_ORG, pause->org, &pause->org_id, err)))
            return false;
    }
    return true;
}

static bool end(struct tx *tx, const struct type_pause *pause, struct pawl_error *err)
{
    observe_limit_free(tx);
    return sql_run(tx, Q_TYPE_PAUSE_END, err, INT(pause->type), INT(pause->org))
        && tell(tx, pause, EVENT_TYPE_RESUMED, err);
}

// A pause of every org is not for one of them to end.
bool type_resume(struct tx *tx, struct str job_type, struct pawl_error *err)
{
    struct type_pause *pauses = NULL;
    size_t count = 0, ended = 0;
    int64_t org = 0;
    if (caller_limited(tx))
        return fail(err, PAWL_FORBIDDEN, "a key that is limited to projects cannot resume types");
    if (!caller_org(tx, &org, err) || !type_pauses(tx, &pauses, &count, err))
        return false;
    for (size_t i = 0; i < count; i++) {
        if (!str_eq(pauses[i].job_type, job_type) || (org != 0 && pauses[i].org != org))
            continue;
        ended++;
        if (!end(tx, &pauses[i], err))
            return false;
    }
    return ended > 0
        || fail(err, PAWL_NOT_FOUND, "type %.*s is not paused", STR(job_type));
}

json_t *type_pause_json(struct arena *arena, const struct type_pause *pause)
{
    const struct json_field fields[] = {
        { "job_type", json_text_or_null(pause->job_type) },
        { "org_id", json_text_or_null(pause->org_id) },
        { "since", json_time_or_null(arena, pause->since) },
        { "until", json_time_or_null(arena, pause->until) },
    };
    return json_object_of(fields, countof(fields));
}
