// Pages of schedules, of their runs and of what they skipped; and how each looks as JSON.
#include "base/list.h"
#include "base/time_text.h"
#include "engine/job.h"
#include "engine/schedule.h"

// ----- schedules

enum { LIST_BYTES_MAX = 4 << 20 };

struct named {
    int64_t id;
    struct str name;
};

static bool names_after(struct tx *tx, struct str after, size_t limit, struct list *names,
                        struct pawl_error *err)
{
    int64_t org = 0;
    if (!caller_org(tx, &org, err))
        return false;
    SCOPED(rows) struct rows rows = {0};
    if (!sql_ask(tx, &rows, Q_SCHEDULES_OF_ORG, err, INT(org), TEXT(after), INT((int64_t)limit)))
        return false;
    while (rows_next(&rows)) {
        struct named *named = list_add(names);
        if (!named)
            return fail(err, PAWL_NO_MEMORY, "no memory to list schedules");
        named->id = row_int(&rows);
        named->name = row_text(&rows);
    }
    return rows_ok(&rows, err);
}

// Adds what the caller may see of these. A limited one goes past others' without hearing of them.
// Payloads may be large: a page is full when it has so many bytes of them.
static bool add_seen(struct tx *tx, const struct list *names, struct list *views, size_t *bytes,
                     struct pawl_error *err)
{
    const struct named *all = names->items;
    for (size_t i = 0; i < names->count && *bytes < LIST_BYTES_MAX; i++) {
        struct schedule_view v, *kept;
        if (!schedule_load_row(tx, all[i].id, &v, err))
            return false;
        if (!caller_sees(tx->caller, v.schedule.project_id))
            continue;
        if (!(kept = list_add(views)))
            return fail(err, PAWL_NO_MEMORY, "no memory to list schedules");
        *kept = v;
        *bytes += v.schedule.payload.n;
    }
    return true;
}

bool schedules_list(struct tx *tx, struct str after, size_t limit, struct schedule_list *list,
                    struct pawl_error *err)
{
    struct list views = list_of(tx->arena, sizeof(struct schedule_view));
    bool more = limit > 0;
    size_t bytes = 0;
    *list = (struct schedule_list){0};
    while (more && views.count < limit && bytes < LIST_BYTES_MAX) {
        struct list names = list_of(tx->arena, sizeof(struct named));
        size_t wanted = limit - views.count;
        if (!names_after(tx, after, wanted, &names, err)
            || !add_seen(tx, &names, &views, &bytes, err))
            return false;
        more = names.count == wanted || bytes >= LIST_BYTES_MAX;
        if (names.count == wanted)
            after = ((struct named *)names.items)[wanted - 1].name;
    }
    list->schedules = views.items;
    list->count = views.count;
    // The last one that is seen: the one after it may be another's.
    list->next = more ? list->schedules[list->count - 1].schedule.name : S("");
    return true;
}

// ----- runs and skips

static bool run_read(struct rows *rows, void *item)
{
    struct run_row *run = item;
    run->id = row_int(rows);
    run->job_name = row_text(rows);
    run->scheduled_for = row_int(rows);
    run->started_at = row_int(rows);
    run->finished_at = row_int(rows);
    bool known = run_status_parse(row_text(rows), &run->status);
    run->worker_instance = row_text(rows);
    run->error_message = row_text(rows);
    run->job_id.high = row_int(rows);
    run->job_id.low = row_int(rows);
    return known;
}

static bool skip_read(struct rows *rows, void *item)
{
    struct skip_row *skip = item;
    skip->id = row_int(rows);
    skip->job_name = row_text(rows);
    skip->scheduled_for = row_int(rows);
    skip->until = row_int(rows);
    skip->slots = row_int(rows);
    bool known = skip_reason_parse(row_text(rows), &skip->reason);
    skip->recorded_at = row_int(rows);
    return known;
}

// A page of what happened to a schedule's slots.
struct page {
    enum query query;
    bool (*read)(struct rows *rows, void *item);
    struct list items;
    int64_t last;  // the id of the last item
};

static bool page_read(struct tx *tx, struct page *page, struct rows *rows, struct pawl_error *err)
{
    while (rows_next(rows)) {
        int64_t *item = list_add(&page->items);  // each begins with its id
        if (!item)
            return fail(err, PAWL_NO_MEMORY, "no memory to list slots");
        if (!page->read(rows, item))
            return fail(err, PAWL_DAMAGED, "a slot has an unknown word: see `pawl verify`");
        page->last = *item;
    }
    (void)tx;
    return rows_ok(rows, err);
}

static bool page_of(struct tx *tx, struct str name, int64_t before, size_t limit,
                    struct page *page, struct pawl_error *err)
{
    struct schedule_view v;
    if (!schedule_load_any(tx, name, &v, err))
        return false;
    SCOPED(rows) struct rows rows = {0};
    return sql_ask(tx, &rows, page->query, err, INT(v.org), TEXT(v.schedule.name),
                   INT(before ? before : INT64_MAX), INT((int64_t)limit))
        && page_read(tx, page, &rows, err);
}

static int64_t page_next(const struct page *page, size_t limit)
{
    return limit && page->items.count == limit ? page->last : 0;
}

bool schedule_runs(struct tx *tx, struct str name, int64_t before, size_t limit,
                   struct run_list *list, struct pawl_error *err)
{
    struct page page = { Q_RUNS_OF_NAME, run_read, list_of(tx->arena, sizeof(struct run_row)), 0 };
    bool done = page_of(tx, name, before, limit, &page, err);
    *list = (struct run_list){ page.items.items, page.items.count, page_next(&page, limit) };
    return done;
}

bool schedule_skips(struct tx *tx, struct str name, int64_t before, size_t limit,
                    struct skip_list *list, struct pawl_error *err)
{
    struct page page = { Q_SKIPS_OF_NAME, skip_read, list_of(tx->arena, sizeof(struct skip_row)),
                         0 };
    bool done = page_of(tx, name, before, limit, &page, err);
    *list = (struct skip_list){ page.items.items, page.items.count, page_next(&page, limit) };
    return done;
}

// ----- as JSON

static json_t *text_json(struct str text)
{
    return text.n ? json_stringn(text.s, text.n) : json_null();
}

static json_t *time_json(struct arena *arena, pawl_time time)
{
    return time ? text_json(time_text(arena, time)) : json_null();
}

static json_t *duration_json(struct arena *arena, int64_t us)
{
    return us ? text_json(duration_text(arena, us)) : json_null();
}

static json_t *payload_json(struct str payload)
{
    json_t *value = NULL;
    return json_parse(payload, PAYLOAD_BYTES_MAX, &value, NULL) ? value : json_null();
}

json_t *schedule_json(struct arena *a, const struct schedule_view *v)
{
    const struct schedule *s = &v->schedule;
    return json_pack("{s:o, s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:b, s:o, s:I, s:o, s:I, s:o, s:o,"
                     " s:o, s:o, s:o, s:o, s:b, s:o, s:o, s:o, s:I}",
                     "name", text_json(s->name), "org_id", text_json(v->org_id), "source",
                     schedule_source_name(v->source), "job_type", text_json(s->job_type),
                     "payload", payload_json(s->payload), "cron", text_json(s->cron), "every",
                     duration_json(a, s->every_us), "timezone", text_json(s->timezone), "coalesce",
                     s->coalesce, "misfire_grace_time", duration_json(a, s->misfire_grace_us),
                     "max_instances", (json_int_t)s->max_instances, "expected_max_runtime",
                     duration_json(a, s->expected_us), "catch_up", (json_int_t)s->catch_up,
                     "jitter", text_json(duration_text(a, s->jitter_us)), "project_id",
                     text_json(s->project_id), "queue", text_json(s->queue), "policy",
                     text_json(s->policy.name), "created_at", time_json(a, v->created_at),
                     "updated_at", time_json(a, v->updated_at), "paused", v->paused_at != 0,
                     "paused_at", time_json(a, v->paused_at), "paused_by",
                     text_json(v->paused_by), "next", time_json(a, v->next_at), "running",
                     (json_int_t)v->running);
}

json_t *run_json(struct arena *a, const struct run_row *run)
{
    return json_pack("{s:I, s:o, s:o, s:o, s:o, s:s, s:o, s:o, s:o}", "id", (json_int_t)run->id,
                     "job_name", text_json(run->job_name), "scheduled_for",
                     time_json(a, run->scheduled_for), "started_at", time_json(a, run->started_at),
                     "finished_at", time_json(a, run->finished_at), "status",
                     run_status_name(run->status), "worker_instance",
                     text_json(run->worker_instance), "error_message",
                     text_json(run->error_message), "job_id",
                     run->job_id.high ? text_json(id_text(a, run->job_id)) : json_null());
}

json_t *skip_json(struct arena *a, const struct skip_row *skip)
{
    return json_pack("{s:I, s:o, s:o, s:o, s:o, s:s, s:o}", "id", (json_int_t)skip->id,
                     "job_name", text_json(skip->job_name), "scheduled_for",
                     time_json(a, skip->scheduled_for), "until", time_json(a, skip->until),
                     "slots", skip->slots ? json_integer(skip->slots) : json_null(), "reason",
                     skip_reason_name(skip->reason), "recorded_at",
                     time_json(a, skip->recorded_at));
}
