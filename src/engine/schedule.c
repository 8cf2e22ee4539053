// Schedules are made, changed, paused and removed: each change is one row and one event.
#include "engine/schedule.h"
#include "engine/api_key.h"

#include <string.h>

#include "base/time_text.h"
#include "engine/job.h"
#include "engine/slot.h"
#include "engine/zone_load.h"
#include "store/names.h"

static const char *const sources[] = {
    [SCHEDULE_FROM_API] = "api",
    [SCHEDULE_FROM_CONFIG] = "config",
    [SCHEDULE_FROM_PROGRAM] = "program",
};
_Static_assert(countof(sources) == SCHEDULE_SOURCES, "one word per source");

const char *schedule_source_name(enum schedule_source source)
{
    return sources[source];
}

static enum schedule_source source_of(struct str name)
{
    size_t i = 0;
    while (i + 1 < countof(sources) && !str_eq(name, str_of(sources[i])))
        i++;
    return (enum schedule_source)i;
}

// ----- when it is due

bool schedule_timetable(struct arena *arena, const struct schedule *s, struct timetable *timetable,
                        struct pawl_error *err)
{
    *timetable = (struct timetable){ .interval = s->every_us != 0, .every_us = s->every_us };
    return timetable->interval
        || (cron_parse(s->cron, &timetable->cron, err)
            && zone_load(arena, s->timezone.n ? s->timezone : S("UTC"), &timetable->zone, err));
}

bool schedule_next(const struct schedule *schedule, struct coming *c, struct pawl_error *err)
{
    SCOPED(arena) struct arena scratch = {0};  // thousands may be put in one transaction
    struct timetable timetable;
    pawl_time after = c->after;
    if (!schedule_timetable(&scratch, schedule, &timetable, err))
        return false;
    for (c->count = 0; c->count < c->room && timetable_next(&timetable, after, &after);)
        c->slots[c->count++] = after;
    return true;
}

// ----- loading

static void read_terms(struct rows *rows, struct schedule *s)
{
    s->job_type = row_text(rows);
    s->payload = row_text(rows);
    s->cron = row_text(rows);
    s->every_us = row_int(rows);
    s->timezone = row_text(rows);
    s->coalesce = row_int(rows) != 0;
    s->coalesce_said = true;
    s->misfire_grace_us = row_int(rows);
    s->max_instances = row_int(rows);
    s->expected_us = row_int(rows);
    s->catch_up = row_int(rows);
    s->jitter_us = row_int(rows);
    s->project_id = row_text(rows);
    s->queue = row_text(rows);
}

static bool read_row(struct tx *tx, int64_t id, struct schedule_view *v, int64_t *policy,
                     struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    *v = (struct schedule_view){0};
    if (!sql_ask(tx, &rows, Q_SCHEDULE_LOAD, err, INT(id), INT(tx->now)))
        return false;
    if (!rows_next(&rows))
        return rows_ok(&rows, err) && fail(err, PAWL_NOT_FOUND, "there is no such schedule");
    v->id = row_int(&rows);
    v->org = row_int(&rows);
    v->org_id = row_text(&rows);
    v->org_disabled = row_int(&rows) != 0;
    v->schedule.name = row_text(&rows);
    v->source = source_of(row_text(&rows));
    read_terms(&rows, &v->schedule);
    *policy = row_int(&rows);
    v->created_at = row_int(&rows);
    v->updated_at = row_int(&rows);
    v->paused_at = row_int(&rows);
    v->paused_by = row_text(&rows);
    v->removed_at = row_int(&rows);
    v->considered_to = row_int(&rows);
    v->next_at = row_int(&rows);
    v->running = row_int(&rows);
    v->instances = row_int(&rows);
    v->ahead = row_int(&rows);
    return rows_ok(&rows, err);
}

bool schedule_load_row(struct tx *tx, int64_t id, struct schedule_view *view,
                       struct pawl_error *err)
{
    int64_t policy = 0;
    return read_row(tx, id, view, &policy, err)
        && policy_load(tx, policy, &view->schedule.policy, err);
}

static bool id_of(struct tx *tx, struct str name, int64_t *id, struct pawl_error *err)
{
    int64_t org = 0;
    struct keys keys = {0};
    *id = 0;
    if (!caller_org(tx, &org, err))
        return false;
    SCOPED(rows) struct rows rows = {0};
    if (!sql_ask(tx, &rows, Q_SCHEDULE_IDS, err, INT(org), TEXT(name))
        || !rows_keys(&rows, &keys, err))
        return false;
    if (keys.count > 1)
        return fail(err, PAWL_CONFLICT, "several orgs have a schedule %.*s: ask with a key of one",
                    STR(name));
    *id = keys.count ? keys.at[0] : 0;
    return true;
}

// What another project has is not there.
bool schedule_load_any(struct tx *tx, struct str name, struct schedule_view *view,
                       struct pawl_error *err)
{
    int64_t id = 0;
    *view = (struct schedule_view){0};
    if (!id_of(tx, name, &id, err) || (id && !schedule_load_row(tx, id, view, err)))
        return false;
    return (id && caller_sees(tx->caller, view->schedule.project_id))
        || fail(err, PAWL_NOT_FOUND, "there is no schedule %.*s", STR(name));
}

bool schedule_load(struct tx *tx, struct str name, struct schedule_view *view,
                   struct pawl_error *err)
{
    return schedule_load_any(tx, name, view, err)
        && (view->removed_at == 0
            || fail(err, PAWL_NOT_FOUND, "schedule %.*s was removed at %.*s", STR(name),
                    STR(time_text(tx->arena, view->removed_at))));
}

// ----- changing

static bool tell(struct tx *tx, const struct schedule_view *v, enum event event, struct str detail,
                 struct pawl_error *err)
{
    struct str subject = str_format(tx->arena, "schedule:%.*s", STR(v->schedule.name));
    return event_append_for(tx, v->org, subject, event, detail, err);
}

// What it says, for the audit trail: the payload is nobody's business there (JOB-10).
static struct str terms_text(struct tx *tx, const struct schedule_view *v)
{
    SCOPED(json) json_t *terms = schedule_json(tx->arena, v);
    static const char *const left_out[] = { "payload", "next", "running", "created_at",
                                            "updated_at", "name", "org_id" };
    for (size_t i = 0; i < countof(left_out); i++)
        json_object_del(terms, left_out[i]);
    return json_text(tx->arena, terms);
}

// A schedule as it is stored: everything filled in.
static struct schedule filled(const struct schedule *given)
{
    struct schedule s = *given;
    s.policy = schedule_policy(given->policy.name.n ? &given->policy
                                                    : policy_builtin(S("scheduled")),
                               given->expected_us);
    if (s.queue.n == 0)
        s.queue = s.policy.queue;
    if (s.payload.n == 0)
        s.payload = S("{}");
    if (s.timezone.n == 0)
        s.timezone = S("UTC");
    if (s.catch_up == 0)
        s.catch_up = CATCH_UP_DEFAULT;
    return s;
}

static bool check(struct tx *tx, const struct schedule *given, const struct schedule *s,
                  struct pawl_error *err)
{
    SCOPED(arena) struct arena scratch = {0};
    struct problems problems = { .arena = tx->arena };
    struct timetable timetable;
    struct pawl_error why = {0};
    schedule_check(given, "", &problems);
    struct contract sample = slot_contract(tx, s, tx->caller->org_id, tx->now);
    contract_check(&sample, tx->now, "", &problems);
    const char *project = caller_project(tx->caller, &sample.project_id);
    if (project)
        problem_add(&problems, "project_id", "%s", project);
    bool timed = problems.count > 0 || schedule_timetable(&scratch, s, &timetable, &why);
    if (!timed && !pawl_code(why.code)->refusal)
        return fail(err, why.code, "%s", why.message);
    if (!timed)
        problem_add(&problems, "timezone", "%s", why.message);
    return problems_none(&problems, err);
}

static bool write(struct tx *tx, const struct schedule *s, struct schedule_view *v,
                  struct pawl_error *err)
{
    int64_t policy = 0;
    pawl_time next = 0;
    struct coming coming = { .after = tx->now, .room = 1, .slots = &next };
    if (!schedule_next(s, &coming, err)
        || !policy_intern(tx, &s->policy, &policy, err))
        return false;
    const struct value terms[] = {
        TEXT(str_of(sources[v->source])), TEXT(s->job_type), TEXT(s->payload),
        TEXT_OR_NONE(s->cron), INT_OR_NONE(s->every_us), TEXT(s->timezone), INT(s->coalesce),
        INT(s->misfire_grace_us), INT(s->max_instances), INT(s->expected_us), INT(s->catch_up),
        INT(s->jitter_us), TEXT_OR_NONE(s->project_id), TEXT(s->queue), INT(policy), INT(tx->now),
        INT_OR_NONE(coming.count ? next : 0),
    };
    struct value values[countof(terms) + 2] = { INT(v->id) };
    size_t head = v->id ? 1 : 2;
    if (!v->id) {
        values[0] = INT(v->org);
        values[1] = TEXT(s->name);
    }
    memcpy(values + head, terms, sizeof terms);
    return db_run(tx, v->id ? Q_SCHEDULE_UPDATE : Q_SCHEDULE_INSERT, values,
                  head + countof(terms), NULL, err);
}

static bool has_org(struct tx *tx, struct pawl_error *err)
{
    return (tx->caller && tx->caller->org_id.n)
        || fail(err, PAWL_USAGE, "a schedule belongs to an org: this caller has none");
}

static bool settle(struct tx *tx, const struct schedule_view *v, struct settled *settled,
                   bool *done, struct pawl_error *err)
{
    struct pawl_error why = {0};
    if (!tx_mark(tx, err))
        return false;
    *done = slots_settle(tx, v, settled, &why);
    if (*done)
        return tx_keep(tx, err);
    return tx_take_back(tx, err)
        && (pawl_code(why.code)->refusal || fail(err, why.code, "%s", why.message));
}

// Slots that are due by the old terms are dealt with before these change. If one is refused, as
// when a queue is full, the change counts more: they keep a reason, and will not run.
static bool settle_before(struct tx *tx, const struct schedule_view *v, struct pawl_error *err)
{
    struct settled settled = {0};
    struct settled skipped = { .none_runs = true };
    bool done = false;
    return settle(tx, v, &settled, &done, err)
        && (done || settle(tx, v, &skipped, &done, err));
}

static bool of_this_source(const struct schedule_view *v, enum schedule_source source,
                           struct pawl_error *err)
{
    return v->id == 0 || v->removed_at || v->source == source
        || fail(err, PAWL_CONFLICT, "schedule %.*s comes from the %s: change it there",
                STR(v->schedule.name),
                v->source == SCHEDULE_FROM_CONFIG ? "configuration" : sources[v->source]);
}

bool schedule_put(struct tx *tx, const struct schedule *given, enum schedule_source source,
                  enum schedule_put *what, struct pawl_error *err)
{
    struct schedule s = filled(given);
    struct schedule_view v = {0};
    int64_t id = 0, org = 0;
    if (!has_org(tx, err) || !check(tx, given, &s, err) || !id_of(tx, s.name, &id, err)
        || (id && !schedule_load_row(tx, id, &v, err)) || !of_this_source(&v, source, err))
        return false;
    if (id && !caller_sees(tx->caller, v.schedule.project_id))
        return fail(err, PAWL_CONFLICT, "another project of the org has a schedule %.*s: give this "
                                        "one another name",
                    STR(s.name));
    bool there = id && !v.removed_at;
    *what = !there ? SCHEDULE_MADE : SCHEDULE_CHANGED;
    if (there && schedule_eq(&v.schedule, &s)) {
        *what = SCHEDULE_UNCHANGED;
        return true;
    }
    if ((there && !settle_before(tx, &v, err))
        || !org_intern(tx, tx->caller->org_id, &org, err))
        return false;
    v.source = source;
    v.org = org;
    if (!write(tx, &s, &v, err))
        return false;
    v.schedule = s;
    return tell(tx, &v, there ? EVENT_SCHEDULE_CHANGED : EVENT_SCHEDULE_CREATED,
                terms_text(tx, &v), err);
}

static bool remove_row(struct tx *tx, struct schedule_view *v, struct pawl_error *err)
{
    return settle_before(tx, v, err)
        && sql_run(tx, Q_SCHEDULE_REMOVE, err, INT(v->id), INT(tx->now))
        && tell(tx, v, EVENT_SCHEDULE_REMOVED, S(""), err);
}

bool schedule_remove(struct tx *tx, struct str name, enum schedule_source source,
                     struct pawl_error *err)
{
    struct schedule_view v;
    return schedule_load(tx, name, &v, err) && of_this_source(&v, source, err)
        && remove_row(tx, &v, err);
}

static bool among(int64_t id, const int64_t *ids, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (ids[i] == id)
            return true;
    return false;
}

static bool ids_of_source(struct tx *tx, enum schedule_source source, struct keys *keys,
                          struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    return sql_ask(tx, &rows, Q_SCHEDULES_OF_SOURCE, err, TEXT(str_of(sources[source])))
        && rows_keys(&rows, keys, err);
}

bool schedules_keep_only(struct tx *tx, enum schedule_source source, const int64_t *ids,
                         size_t count, size_t *removed, struct pawl_error *err)
{
    struct keys keys = {0};
    struct schedule_view v;
    *removed = 0;
    if (!ids_of_source(tx, source, &keys, err))
        return false;
    for (size_t i = 0; i < keys.count; i++) {
        if (among(keys.at[i], ids, count))
            continue;
        if (!schedule_load_row(tx, keys.at[i], &v, err) || !remove_row(tx, &v, err))
            return false;
        ++*removed;
    }
    return true;
}

// What came before the pause is run, and what came during it is not: both are settled when it
// changes.
bool schedule_pause(struct tx *tx, struct str name, struct pawl_error *err)
{
    struct schedule_view v;
    int64_t changed = 0;
    struct str by = tx->caller ? tx->caller->actor_id : S("pawl");
    return schedule_load(tx, name, &v, err) && settle_before(tx, &v, err)
        && sql_run_counting(tx, Q_SCHEDULE_PAUSE, &changed, err, INT(v.id), INT(tx->now), TEXT(by))
        && (changed == 0 || tell(tx, &v, EVENT_SCHEDULE_PAUSED, S(""), err));
}

bool schedule_resume(struct tx *tx, struct str name, struct pawl_error *err)
{
    struct schedule_view v;
    int64_t changed = 0;
    return schedule_load(tx, name, &v, err) && settle_before(tx, &v, err)
        && sql_run_counting(tx, Q_SCHEDULE_RESUME, &changed, err, INT(v.id), INT(tx->now))
        && (changed == 0 || tell(tx, &v, EVENT_SCHEDULE_RESUMED, S(""), err));
}
