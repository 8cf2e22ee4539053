// Setting limits, and looking at them.
#include "engine/limit.h"

#include "base/list.h"
#include "engine/api_key.h"
#include "model/json_field.h"
#include "model/text_rule.h"
#include "store/names.h"
#include "store/observe.h"

static void read_limit(struct rows *rows, struct limit_row *row)
{
    row->limit.max_running = row_int(rows);
    row->limit.rate.count = row_int(rows);
    row->limit.rate.per_us = row_int(rows);
    row->limit.rate.burst = row_int(rows);
    if (row->limit.rate.count == 0)
        row->limit.rate = (struct rate){0};
    row->limit.on_rate_limited = (enum rate_limited)row_int(rows);
    row->limit.pause_us = row_int(rows);
    row->set_by = row_text(rows);
    row->set_at = row_int(rows);
}

bool limit_load(struct tx *tx, enum limit_scope scope, int64_t subject, struct limit_row *row,
                struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    *row = (struct limit_row){ .scope = scope, .subject = subject };
    if (!sql_ask(tx, &rows, Q_LIMIT_LOAD, err, INT((int64_t)scope), INT(subject)))
        return false;
    if (rows_next(&rows))
        read_limit(&rows, row);
    return rows_ok(&rows, err);
}

bool limit_in_force(struct tx *tx, enum limit_scope scope, int64_t subject, struct limit *limit,
                    struct pawl_error *err)
{
    struct limit_row row;
    if (!limit_load(tx, scope, subject, &row, err)
        || (scope == LIMIT_ORG && row.set_at == 0 && !limit_load(tx, scope, 0, &row, err)))
        return false;
    *limit = row.limit;
    return true;
}

// ----- setting

static enum name_kind kind_of(enum limit_scope scope)
{
    static const enum name_kind kinds[] = {
        [LIMIT_QUEUE] = NAME_QUEUE, [LIMIT_TYPE] = NAME_JOB_TYPE, [LIMIT_ORG] = NAME_ORG,
        [LIMIT_KEY] = NAME_JOB_TYPE,
    };
    _Static_assert(countof(kinds) == LIMIT_SCOPES, "one kind per scope");
    return kinds[scope];
}

static void check_rate(const struct rate *rate, struct problems *problems)
{
    if (rate->count != 0
        && (rate->count < 1 || rate->count > RATE_COUNT_MAX || rate->burst < 1
            || rate->burst > RATE_COUNT_MAX || rate->per_us < SECONDS(1)
            || rate->per_us > DAYS(1)))
        problem_add(problems, "rate", "must be %s", RATE_WANT);
}

static bool limit_check(struct tx *tx, enum limit_scope scope, struct str name,
                        const struct limit *limit, struct pawl_error *err)
{
    struct problems problems = { .arena = tx->arena };
    if (scope == LIMIT_QUEUE && (name.n > NAME_BYTES_MAX || !text_is_name(name)))
        problem_add(&problems, "queue", "must be 1 to %d of A-Z a-z 0-9 . _ : -", NAME_BYTES_MAX);
    if (scope == LIMIT_QUEUE && str_eq(name, DEADLETTER_QUEUE))
        problem_add(&problems, "queue", "nothing runs from q:deadletter");
    if ((scope == LIMIT_TYPE || scope == LIMIT_KEY)
        && (name.n > NAME_BYTES_MAX || !text_is_type(name)))
        problem_add(&problems, "job_type", "must be 1 to %d of A-Z a-z 0-9 . _ : - that start "
                                           "with a letter or digit",
                    NAME_BYTES_MAX);
    if (limit->max_running < 0 || limit->max_running > RUNNING_MAX)
        problem_add(&problems, "max_running", "must be 1 to %d, or 0 for no limit", RUNNING_MAX);
    check_rate(&limit->rate, &problems);
    if (limit->on_rate_limited >= RATE_LIMITED_WAYS
        || (limit->on_rate_limited != RATE_LIMITED_RETRY && scope != LIMIT_TYPE))
        problem_add(&problems, "on_rate_limited", "is for a job type, and retry, pause or "
                                                  "pause_all");
    if (limit->pause_us < 0 || limit->pause_us > RATE_LIMITED_PAUSE_US_MAX)
        problem_add(&problems, "rate_limited_pause", "must be at most 24h");
    return problems_none(&problems, err);
}

static bool subject_of(struct tx *tx, enum limit_scope scope, struct str name, int64_t *subject,
                       struct pawl_error *err)
{
    *subject = 0;
    if (scope != LIMIT_ORG)
        return name_intern(tx, kind_of(scope), name, subject, err);
    if (name.n == 0)
        return true;
    return name_find(tx, NAME_ORG, name, subject, err)
        && (*subject != 0 || fail(err, PAWL_NOT_FOUND, "there is no org %.*s", STR(name)));
}

static struct str detail_of(struct tx *tx, const struct limit *limit)
{
    const struct json_field fields[] = {
        { "max_running", json_integer(limit->max_running) },
        { "rate", json_text_or_null(rate_text(tx->arena, &limit->rate)) },
        { "on_rate_limited", json_string(rate_limited_name(limit->on_rate_limited)) },
    };
    SCOPED(json) json_t *detail = json_object_of(fields, countof(fields));
    return json_text(tx->arena, detail);
}

static bool tell(struct tx *tx, const struct limit_row *row, struct pawl_error *err)
{
    bool gone = limit_says_nothing(&row->limit);
    struct str subject = str_format(tx->arena, "limit:%s:%.*s", limit_scope_name(row->scope),
                                    STR(row->name.n ? row->name : S("*")));
    return event_append_for(tx, row->scope == LIMIT_ORG ? row->subject : 0, subject,
                            gone ? EVENT_LIMIT_REMOVED : EVENT_LIMIT_SET,
                            gone ? S("") : detail_of(tx, &row->limit), err);
}

// What runs and waits already: it is counted, and looked at again by the new terms.
static bool apply(struct tx *tx, const struct limit_row *row, struct pawl_error *err)
{
    bool keyed = row->scope == LIMIT_KEY;
    bool pauses = row->scope != LIMIT_TYPE || row->limit.on_rate_limited != RATE_LIMITED_RETRY;
    tx->has_limits = true;
    observe_limit_free(tx);
    return db_run(tx, Q_LIMIT_HOLDS_TIDY, NULL, 0, NULL, err)
        && db_run(tx, Q_LIMIT_HOLD_ALL, NULL, 0, NULL, err)
        && (!keyed || sql_run(tx, Q_BUCKET_WAKE_ALL, err, INT(row->subject), INT(tx->now)))
        && (pauses || sql_run(tx, Q_TYPE_PAUSES_END, err, INT(row->subject)));
}

static bool store(struct tx *tx, const struct limit_row *row, struct pawl_error *err)
{
    const struct limit *l = &row->limit;
    if (limit_says_nothing(l))
        return sql_run(tx, Q_LIMIT_REMOVE, err, INT((int64_t)row->scope), INT(row->subject));
    return sql_run(tx, Q_LIMIT_PUT, err, INT((int64_t)row->scope), INT(row->subject),
                   INT(l->max_running), INT(l->rate.count),
                   INT(l->rate.count ? l->rate.per_us : 1), INT(l->rate.count ? l->rate.burst : 1),
                   INT((int64_t)l->on_rate_limited), INT(l->pause_us), TEXT(row->set_by),
                   INT(tx->now));
}

bool limit_set(struct tx *tx, enum limit_scope scope, struct str name, const struct limit *limit,
               struct str set_by, struct pawl_error *err)
{
    struct limit_row row;
    int64_t subject = 0;
    if (!limit_check(tx, scope, name, limit, err) || !subject_of(tx, scope, name, &subject, err)
        || !limit_load(tx, scope, subject, &row, err))
        return false;
    bool same = limit_same(&row.limit, limit);
    if (same && (str_eq(row.set_by, set_by) || row.set_at == 0))
        return true;
    row.name = name;
    row.limit = *limit;
    row.set_by = set_by;
    return store(tx, &row, err) && (same || (apply(tx, &row, err) && tell(tx, &row, err)));
}

// ----- a configuration's

static bool is_wished(const struct limit_row *row, const struct limit_wish *wishes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (wishes[i].scope == row->scope && str_eq(wishes[i].name, row->name)
            && !limit_says_nothing(&wishes[i].limit))
            return true;
    return false;
}

bool limits_set_all(struct tx *tx, const struct limit_wish *wishes, size_t count,
                    struct str set_by, struct pawl_error *err)
{
    struct limit_row *rows = NULL;
    size_t row_count = 0;
    if (!limits_list(tx, &rows, &row_count, err))
        return false;
    for (size_t i = 0; i < row_count; i++)
        if (str_eq(rows[i].set_by, set_by) && !is_wished(&rows[i], wishes, count)
            && !limit_set(tx, rows[i].scope, rows[i].name, &(struct limit){0}, set_by, err))
            return false;
    for (size_t i = 0; i < count; i++)
        if (!limit_says_nothing(&wishes[i].limit)
            && !limit_set(tx, wishes[i].scope, wishes[i].name, &wishes[i].limit, set_by, err))
            return false;
    return true;
}

// ----- looking

static bool read_all(struct tx *tx, struct list *list, struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    if (!sql_ask(tx, &rows, Q_LIMIT_PAGE, err, INT(-1), INT(0), INT(LIMITS_MAX)))
        return false;
    while (rows_next(&rows)) {
        struct limit_row *row = list_add(list);
        if (!row)
            return fail(err, PAWL_NO_MEMORY, "no memory to list limits");
        row->scope = (enum limit_scope)row_int(&rows);
        row->subject = row_int(&rows);
        read_limit(&rows, row);
    }
    return rows_ok(&rows, err);
}

bool limits_list(struct tx *tx, struct limit_row **rows, size_t *count, struct pawl_error *err)
{
    struct list list = list_of(tx->arena, sizeof(struct limit_row));
    if (!read_all(tx, &list, err))
        return false;
    *rows = list.items;
    *count = list.count;
    for (size_t i = 0; i < *count; i++) {
        struct limit_row *row = &(*rows)[i];
        if (row->subject != 0
            && !name_text(tx, kind_of(row->scope), row->subject, &row->name, err))
            return false;
    }
    return true;
}

json_t *limit_json(struct arena *arena, const struct limit_row *row, const struct limit_use *use)
{
    const struct limit *l = &row->limit;
    const struct json_field fields[] = {
        { "scope", json_string(limit_scope_name(row->scope)) },
        { "name", json_text_or_null(row->name) },
        { "max_running", l->max_running ? json_integer(l->max_running) : json_null() },
        { "running", use ? json_integer(use->running) : json_null() },
        { "rate", json_text_or_null(rate_text(arena, &l->rate)) },
        { "on_rate_limited", json_string(rate_limited_name(l->on_rate_limited)) },
        { "set_by", json_text_or_null(row->set_by) },
        { "set_at", json_time_or_null(arena, row->set_at) },
    };
    return json_object_of(fields, countof(fields));
}
