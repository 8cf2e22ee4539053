// Routes of schedules: what comes by the clock, what came of it, and what was left out and why.
#include "engine/slot.h"
#include "server/job_view.h"
#include "server/schedule_json.h"
#include "server/schedule_terms.h"
#include "server/server.h"

enum { PAGE_ROWS = 50, PAGE_ROWS_MAX = 500, SLOTS_SHOWN = 10, SLOTS_SHOWN_MAX = 10000 };

// A schedule, without its payload for those who may not see it.
static json_t *schedule_view(struct exchange *x, const struct schedule_view *view)
{
    json_t *object = schedule_json(&x->arena, view);
    if (object && !role_sees_payload(x->identity.role, x->config->auth.viewer_sees_payload))
        json_object_set_new(object, "payload", json_null());
    return object;
}

// ----- one

struct one_schedule {
    struct schedule_view view;
};

static bool one_act(struct exchange *x, struct tx *tx, struct pawl_error *err)
{
    struct one_schedule *o = x->data;
    return schedule_load(tx, x->path_parts[0], &o->view, err);
}

static bool pause_act(struct exchange *x, struct tx *tx, struct pawl_error *err)
{
    return schedule_pause(tx, x->path_parts[0], err) && one_act(x, tx, err);
}

static bool resume_act(struct exchange *x, struct tx *tx, struct pawl_error *err)
{
    return schedule_resume(tx, x->path_parts[0], err) && one_act(x, tx, err);
}

static bool remove_act(struct exchange *x, struct tx *tx, struct pawl_error *err)
{
    return one_act(x, tx, err)
        && schedule_remove(tx, x->path_parts[0], SCHEDULE_FROM_API, err);
}

static bool one_answer(struct exchange *x, struct pawl_error *err)
{
    struct one_schedule *o = x->data;
    return exchange_answer(x, 200, schedule_view(x, &o->view), err);
}

// ----- put

struct putting {
    struct schedule schedule;
    struct str policy;
    const json_t *payload;
    bool paused;
    enum schedule_put what;
    struct schedule_view view;
};

#define TERM(called, member, field_kind, ...)                                             \
    {                                                                                     \
        .name = called, .kind = (field_kind), .offset = offsetof(struct putting, member), \
        __VA_ARGS__                                                                       \
    }

static const struct field put_body[] = {
    TERM("job_type", schedule.job_type, FIELD_TEXT, .required = true,
         .summary = "of the jobs it makes"),
    TERM("payload", payload, FIELD_OBJECT, .summary = "of each of them; else {}"),
    TERM("cron", schedule.cron, FIELD_TEXT, .min = 1, .max = CRON_BYTES_MAX,
         .summary = "when: five fields, or six with seconds first; this or `every`"),
    TERM("every", schedule.every_us, FIELD_DURATION, .min = EVERY_US_MIN, .max = EVERY_US_MAX,
         .summary = "or how often, such as 15m: at the multiples of it since 1970, in UTC"),
    TERM("timezone", schedule.timezone, FIELD_TEXT, .min = 1, .max = NAME_BYTES_MAX,
         .summary = "of `cron`, such as Europe/Berlin; else UTC"),
    TERM("coalesce", schedule.coalesce, FIELD_FLAG, .required = true,
         .given = offsetof(struct putting, schedule.coalesce_said),
         .summary = "several slots that are due at once become one, the last"),
    TERM("misfire_grace_time", schedule.misfire_grace_us, FIELD_DURATION, .required = true,
         .min = GRACE_US_MIN, .max = GRACE_US_MAX,
         .summary = "how late a slot may still run, such as 300s"),
    TERM("max_instances", schedule.max_instances, FIELD_NUMBER, .required = true, .min = 1,
         .max = INSTANCES_MAX, .summary = "how many of its jobs may run at once"),
    TERM("expected_max_runtime", schedule.expected_us, FIELD_DURATION, .required = true,
         .min = RUNTIME_US_MIN, .max = RUNTIME_US_MAX,
         .summary = "how long a job takes at most; one that takes twice as long is ended"),
    TERM("catch_up", schedule.catch_up, FIELD_NUMBER, .min = 1, .max = CATCH_UP_MAX,
         .summary = "without coalesce: how many of the slots due at once run; else 10"),
    TERM("jitter", schedule.jitter_us, FIELD_DURATION, .min = 0, .max = JITTER_US_MAX,
         .summary = "over how long those are spread; else not at all"),
    TERM("project_id", schedule.project_id, FIELD_TEXT, .summary = "of its jobs; else none"),
    TERM("policy", policy, FIELD_TEXT, .summary = "how its jobs are retried; else `scheduled`"),
    TERM("queue", schedule.queue, FIELD_TEXT,
         .summary = "where its jobs wait; else the queue of the policy"),
    TERM("paused", paused, FIELD_FLAG,
         .summary = "a new one begins paused; one that is there stays as it is"),
};

static bool is_named(const struct problems *problems, struct str field)
{
    for (size_t i = 0; i < problems->count; i++)
        if (str_eq(problems->list[i].field, field))
            return true;
    return false;
}

// What could not be read need not be called missing too.
static void add_others(struct problems *problems, const struct problems *others)
{
    for (size_t i = 0; i < others->count; i++) {
        const struct problem *other = &others->list[i];
        if (!is_named(problems, other->field))
            problem_add(problems, str_cstr(problems->arena, other->field), "%.*s",
                        STR(other->message));
    }
}

static bool put_prepare(struct exchange *x, struct pawl_error *err)
{
    struct putting *p = x->data;
    struct schedule *schedule = &p->schedule;
    struct problems terms = { .arena = &x->arena };
    fields_read(&x->route->body, x->body, "", p, &x->problems);
    schedule->name = x->path_parts[0];
    schedule->payload = p->payload ? json_text(&x->arena, p->payload) : S("{}");
    schedule->catch_up = schedule->catch_up ? schedule->catch_up : CATCH_UP_DEFAULT;
    if (is_named(&x->problems, S("every")))
        schedule->every_us = EVERY_US_MIN;  // it was said, if not well
    schedule_complete(x->config, p->policy, schedule, &terms);
    const char *project = caller_project(&x->caller, &schedule->project_id);
    if (project)
        problem_add(&terms, "project_id", "%s", project);
    add_others(&x->problems, &terms);
    return problems_none(&x->problems, err);
}

static bool put_act(struct exchange *x, struct tx *tx, struct pawl_error *err)
{
    struct putting *p = x->data;
    return schedule_put(tx, &p->schedule, SCHEDULE_FROM_API, &p->what, err)
        && (p->what != SCHEDULE_MADE || !p->paused || schedule_pause(tx, x->path_parts[0], err))
        && schedule_load(tx, x->path_parts[0], &p->view, err);
}

static bool put_answer(struct exchange *x, struct pawl_error *err)
{
    struct putting *p = x->data;
    bool made = p->what == SCHEDULE_MADE;
    if (made)
        x->location = str_format(&x->arena, "/v1/schedules/%.*s", STR(x->path_parts[0])).s;
    return exchange_answer(x, made ? 201 : 200, schedule_view(x, &p->view), err);
}

// ----- lists

struct listing {
    int64_t limit;
    struct str cursor;
    struct str after;
    int64_t before;
    struct schedule_list schedules;
    struct run_list runs;
    struct skip_list skips;
};

static const struct field list_query[] = {
    FIELD(struct listing, limit, FIELD_NUMBER, .min = 1, .max = PAGE_ROWS_MAX,
          .summary = "how many at most; else 50"),
    FIELD(struct listing, cursor, FIELD_TEXT, .summary = "next_cursor of the page before"),
};

static size_t limit_of(const struct listing *l)
{
    return l->limit ? (size_t)l->limit : PAGE_ROWS;
}

static bool list_prepare(struct exchange *x, struct pawl_error *err)
{
    struct listing *l = x->data;
    exchange_cursor_name(x, l->cursor, &l->after);
    return problems_none(&x->problems, err);
}

static bool list_act(struct exchange *x, struct tx *tx, struct pawl_error *err)
{
    struct listing *l = x->data;
    return schedules_list(tx, l->after, limit_of(l), &l->schedules, err);
}

static bool list_answer(struct exchange *x, struct pawl_error *err)
{
    struct listing *l = x->data;
    json_t *items = json_array();
    for (size_t i = 0; i < l->schedules.count; i++)
        json_array_append_new(items, schedule_view(x, &l->schedules.schedules[i]));
    return exchange_answer(x, 200, exchange_page_by_name(x, items, l->schedules.next), err);
}

static bool history_prepare(struct exchange *x, struct pawl_error *err)
{
    struct listing *l = x->data;
    exchange_cursor(x, l->cursor, &l->before);
    return problems_none(&x->problems, err);
}

static bool runs_act(struct exchange *x, struct tx *tx, struct pawl_error *err)
{
    struct listing *l = x->data;
    return schedule_runs(tx, x->path_parts[0], l->before, limit_of(l), &l->runs, err);
}

static bool runs_answer(struct exchange *x, struct pawl_error *err)
{
    struct listing *l = x->data;
    json_t *items = json_array();
    for (size_t i = 0; i < l->runs.count; i++)
        json_array_append_new(items, run_json(&x->arena, &l->runs.runs[i]));
    return exchange_answer(x, 200, exchange_page(x, items, l->runs.next), err);
}

static bool skips_act(struct exchange *x, struct tx *tx, struct pawl_error *err)
{
    struct listing *l = x->data;
    return schedule_skips(tx, x->path_parts[0], l->before, limit_of(l), &l->skips, err);
}

static bool skips_answer(struct exchange *x, struct pawl_error *err)
{
    struct listing *l = x->data;
    json_t *items = json_array();
    for (size_t i = 0; i < l->skips.count; i++)
        json_array_append_new(items, skip_json(&x->arena, &l->skips.skips[i]));
    return exchange_answer(x, 200, exchange_page(x, items, l->skips.next), err);
}

// ----- what comes

struct next_slots {
    int64_t count;
    pawl_time after;
    struct schedule_view view;
    pawl_time now;
};

static const struct field next_query[] = {
    FIELD(struct next_slots, count, FIELD_NUMBER, .min = 1, .max = SLOTS_SHOWN_MAX,
          .summary = "how many; else 10"),
    FIELD(struct next_slots, after, FIELD_TIME, .summary = "those after this time; else after now"),
};

static bool next_act(struct exchange *x, struct tx *tx, struct pawl_error *err)
{
    struct next_slots *c = x->data;
    c->now = tx->now;
    return schedule_load(tx, x->path_parts[0], &c->view, err);
}

static bool next_answer(struct exchange *x, struct pawl_error *err)
{
    struct next_slots *c = x->data;
    json_t *items = NULL;
    struct slot_range range = { c->after ? c->after : c->now,
                                c->count ? (size_t)c->count : SLOTS_SHOWN };
    return slots_json(&x->arena, &c->view.schedule, &range, &items, err)
        && exchange_answer(x, 200, exchange_page(x, items, 0), err);
}

// ----- by hand

struct triggering {
    struct one_job one;  // first: it is answered as any job is
    pawl_time scheduled_for;
};

static const struct field trigger_body[] = {
    FIELD(struct triggering, scheduled_for, FIELD_TIME, .required = true,
          .summary = "the slot; one that lies ahead waits for its time"),
};

static bool trigger_prepare(struct exchange *x, struct pawl_error *err)
{
    const struct triggering *t = x->data;
    if (t->scheduled_for % SECONDS(1) != 0)
        problem_add(&x->problems, "scheduled_for", "must be in whole seconds, as slots are");
    return problems_none(&x->problems, err);
}

static bool trigger_act(struct exchange *x, struct tx *tx, struct pawl_error *err)
{
    struct triggering *t = x->data;
    return slot_trigger(tx, x->path_parts[0], t->scheduled_for, &t->one.job, err);
}

struct backfilling {
    pawl_time from, to;
    bool dry_run;
    struct backfill done;
};

static const struct field backfill_body[] = {
    FIELD(struct backfilling, from, FIELD_TIME, .required = true, .summary = "the first slot"),
    FIELD(struct backfilling, to, FIELD_TIME, .required = true,
          .summary = "the last slot, which is included"),
    FIELD(struct backfilling, dry_run, FIELD_FLAG, .summary = "only say which: nothing changes"),
};

static bool backfill_prepare(struct exchange *x, struct pawl_error *err)
{
    struct backfilling *b = x->data;
    if (b->from && b->to && b->to < b->from)
        problem_add(&x->problems, "to", "must not be before from");
    return problems_none(&x->problems, err);
}

static bool backfill_act(struct exchange *x, struct tx *tx, struct pawl_error *err)
{
    struct backfilling *b = x->data;
    b->done = (struct backfill){ .from = b->from, .to = b->to, .dry_run = b->dry_run };
    return slot_backfill(tx, x->path_parts[0], &b->done, err);
}

static bool backfill_answer(struct exchange *x, struct pawl_error *err)
{
    struct backfilling *b = x->data;
    return exchange_answer(x, 200, backfill_json(&x->arena, &b->done), err);
}

// ----- the table

#define ONE_SCHEDULE .data_bytes = sizeof(struct one_schedule), .answer = one_answer, \
                     .schema = "Schedule"
#define NO_BODY_NEEDED .body_size = BODY_SMALL, .body_optional = true
#define LISTING .data_bytes = sizeof(struct listing), .query = FIELDS(list_query)

static const struct route rows[] = {
    {
        .method = "GET", .path = "/v1/schedules", .permission = MAY_READ, .kind = ROUTE_READ,
        .summary = "The schedules of the caller's org, by name.", LISTING,
        .prepare = list_prepare, .act = list_act, .answer = list_answer,
        .schema = "SchedulePage", .statuses = { 200, 422 },
    },
    {
        .method = "GET", .path = "/v1/schedules/{name}", .permission = MAY_READ,
        .kind = ROUTE_READ, .summary = "One schedule: its terms, and when it is due.",
        ONE_SCHEDULE, .act = one_act, .statuses = { 200, 404 },
    },
    {
        .method = "PUT", .path = "/v1/schedules/{name}", .permission = MAY_SCHEDULES,
        .kind = ROUTE_WRITE,
        .summary = "Makes a schedule (201), or gives the one of this name other terms (200): no "
                   "slot is lost and none comes twice.",
        .data_bytes = sizeof(struct putting), .body = FIELDS(put_body), .body_raw = true,
        .body_size = BODY_BULK,
        .prepare = put_prepare, .act = put_act, .answer = put_answer,
        .schema = "Schedule", .statuses = { 200, 201, 409, 422 },
    },
    {
        .method = "DELETE", .path = "/v1/schedules/{name}", .permission = MAY_SCHEDULES,
        .kind = ROUTE_WRITE,
        .summary = "Ends a schedule. What came of it stays, and its name can be used again.",
        ONE_SCHEDULE, .act = remove_act, .statuses = { 200, 404, 409 },
    },
    {
        .method = "POST", .path = "/v1/schedules/{name}/pause", .permission = MAY_SCHEDULES,
        .kind = ROUTE_WRITE,
        .summary = "Slots that come from now on are skipped, for that reason.",
        ONE_SCHEDULE, NO_BODY_NEEDED, .act = pause_act, .statuses = { 200, 404 },
    },
    {
        .method = "POST", .path = "/v1/schedules/{name}/resume", .permission = MAY_SCHEDULES,
        .kind = ROUTE_WRITE, .summary = "Slots that come from now on run again.",
        ONE_SCHEDULE, NO_BODY_NEEDED, .act = resume_act, .statuses = { 200, 404 },
    },
    {
        .method = "POST", .path = "/v1/schedules/{name}/trigger", .permission = MAY_SCHEDULES,
        .kind = ROUTE_WRITE,
        .summary = "Claims one slot by hand, by the rules of any other: 409 `slot_claimed` when "
                   "somebody did, `max_instances` when as many as may be still run.",
        .data_bytes = sizeof(struct triggering), .body = FIELDS(trigger_body),
        .body_size = BODY_SMALL, .prepare = trigger_prepare, .act = trigger_act,
        .answer = one_job_created,
        .schema = "Job", .statuses = { 201, 404, 409, 422 },
    },
    {
        .method = "POST", .path = "/v1/schedules/{name}/backfill", .permission = MAY_SCHEDULES,
        .kind = ROUTE_WRITE,
        .summary = "Claims the slots of a range that nobody has claimed, at most 1,000; they run "
                   "one after another.",
        .data_bytes = sizeof(struct backfilling), .body = FIELDS(backfill_body),
        .body_size = BODY_SMALL, .prepare = backfill_prepare, .act = backfill_act,
        .answer = backfill_answer,
        .schema = "Backfill", .statuses = { 200, 404, 409, 422 },
    },
    {
        .method = "GET", .path = "/v1/schedules/{name}/runs", .permission = MAY_READ,
        .kind = ROUTE_READ, .summary = "Slots that were claimed, newest first.", LISTING,
        .prepare = history_prepare, .act = runs_act, .answer = runs_answer,
        .schema = "SlotRunPage", .statuses = { 200, 404, 422 },
    },
    {
        .method = "GET", .path = "/v1/schedules/{name}/skips", .permission = MAY_READ,
        .kind = ROUTE_READ, .summary = "Slots that were not run and why, newest first.", LISTING,
        .prepare = history_prepare, .act = skips_act, .answer = skips_answer,
        .schema = "SlotSkipPage", .statuses = { 200, 404, 422 },
    },
    {
        .method = "GET", .path = "/v1/schedules/{name}/next", .permission = MAY_READ,
        .kind = ROUTE_READ, .summary = "The coming slots.",
        .data_bytes = sizeof(struct next_slots), .query = FIELDS(next_query),
        .act = next_act, .answer = next_answer,
        .schema = "SlotPage", .statuses = { 200, 404, 422 },
    },
};
const struct routes routes_schedules = { rows, countof(rows) };
