// The server as a backend: every operation is a request of the HTTP API.
#include "cli/backend.h"

#include "base/time_text.h"
#include "cli/object.h"
#include "cli/remote.h"

#define WAIT_MS 30000

// Asks and gives the answer out.
static bool ask(struct cli *cli, const struct request *request, json_t **out,
                struct pawl_error *err)
{
    struct reply reply = {0};
    if (!remote_ask(cli, request, &reply, err))
        return false;
    *out = reply.body;
    return true;
}

static struct str job_path(struct cli *cli, struct id id, const char *rest)
{
    return str_format(&cli->arena, "/v1/jobs/%.*s%s", STR(id_text(&cli->arena, id)), rest);
}

// ----- jobs

static bool wait_for_end(struct cli *cli, struct id id, json_t **job, struct pawl_error *err)
{
    struct request request = {
        .method = "GET",
        .path = str_format(&cli->arena, "%.*s?wait_ms=%d", STR(job_path(cli, id, "")), WAIT_MS),
        .wait_us = MILLISECONDS(WAIT_MS),
    };
    while (ask(cli, &request, job, err)) {
        if (object_ended(*job))
            return true;
        json_end(job);
    }
    return fail(err, err->code, "%s; job %.*s is stored", err->message,
                STR(id_text(&cli->arena, id)));
}

// Each part is a request of its own, so a job that runs may go on in between.
static bool record_of(struct cli *cli, struct id id, json_t **record, struct pawl_error *err)
{
    static const char *const parts[] = { "executions", "steps", "audit", "artifacts" };
    SCOPED(json) json_t *job = NULL, *made = json_object();
    if (!ask(cli, &(struct request){ .method = "GET", .path = job_path(cli, id, "") }, &job, err))
        return false;
    json_object_set(made, "job", job);
    for (size_t i = 0; i < countof(parts); i++) {
        SCOPED(json) json_t *list = NULL;
        struct str path = str_format(&cli->arena, "%.*s/%s", STR(job_path(cli, id, "")), parts[i]);
        if (!ask(cli, &(struct request){ .method = "GET", .path = path }, &list, err))
            return false;
        json_object_set(made, parts[i], json_object_get(list, "items"));
    }
    *record = json_incref(made);
    return made || fail(err, PAWL_NO_MEMORY, "no memory for the answer");
}

static bool explain_job(struct cli *cli, struct id id, json_t **explanation, struct pawl_error *err)
{
    return ask(cli, &(struct request){ .method = "GET", .path = job_path(cli, id, "/explain") },
               explanation, err);
}

// The page at `path`, which has a query.
static bool list_page(struct cli *cli, struct str path, struct page *page, struct pawl_error *err)
{
    SCOPED(json) json_t *list = NULL;
    struct str whole = str_format(&cli->arena, "%.*slimit=%lld%s%.*s", STR(path),
                                  (long long)page->limit, page->cursor.n ? "&cursor=" : "",
                                  STR(url_encoded(&cli->arena, page->cursor)));
    if (!ask(cli, &(struct request){ .method = "GET", .path = whole }, &list, err))
        return false;
    size_t i;
    json_t *item;
    json_array_foreach (json_object_get(list, "items"), i, item)
        if (!page->show(page->self, item, err))
            return false;
    page->cursor = str_dup(&cli->arena, object_text(list, "next_cursor"));
    return true;
}

static bool list_jobs(struct cli *cli, const struct job_filter *filter, struct page *page,
                      struct pawl_error *err)
{
    struct arena *arena = &cli->arena;
    const struct { const char *name; struct str value; } fields[] = {
        { "state", filter->has_state ? str_of(job_state_name(filter->state)) : S("") },
        { "queue", filter->queue },
        { "job_type", filter->job_type },
        { "serial_key", filter->serial_key },
        { "batch_id", filter->batch.high ? id_text(arena, filter->batch) : S("") },
    };
    struct str path = S("/v1/jobs?");
    for (size_t i = 0; i < countof(fields); i++)
        if (fields[i].value.n)
            path = str_format(arena, "%.*s%s=%.*s&", STR(path), fields[i].name,
                              STR(url_encoded(arena, fields[i].value)));
    // Large payloads: fewer of them may fit.
    while (!list_page(cli, path, page, err)) {
        if (err->code != PAWL_TOO_LARGE || page->limit == 1)
            return false;
        page->limit = (page->limit + 1) / 2;
    }
    return true;
}

static bool act_on_job(struct cli *cli, struct id id, enum job_act act, json_t **job,
                       struct pawl_error *err)
{
    static const char *const words[] = {
        [ACT_SUBMIT] = "/submit",
        [ACT_CANCEL] = "/cancel",
        [ACT_RETRY] = "/retry",
    };
    _Static_assert(countof(words) == JOB_ACTS, "one word per act");
    struct request request = { .method = "POST", .path = job_path(cli, id, words[act]) };
    return ask(cli, &request, job, err);
}

static bool change_job(struct cli *cli, struct id id, const struct job_change *change, json_t **job,
                       struct pawl_error *err)
{
    SCOPED(json) json_t *body = json_object();
    struct str at = change->has_run_at ? time_text(&cli->arena, change->run_at) : S("");
    if (change->has_run_at)
        json_object_set_new(body, "scheduled_for", json_stringn(at.s, at.n));
    if (change->has_priority)
        json_object_set_new(body, "priority", json_integer(change->priority));
    if (change->has_queue)
        json_object_set_new(body, "queue", json_stringn(change->queue.s, change->queue.n));
    struct request request = { .method = "PATCH", .path = job_path(cli, id, ""), .body = body };
    return ask(cli, &request, job, err);
}

static json_t *filter_json(struct cli *cli, const struct job_filter *f)
{
    const struct { const char *name; struct str value; } fields[] = {
        { "state", f->has_state ? str_of(job_state_name(f->state)) : S("") },
        { "queue", f->queue },
        { "job_type", f->job_type },
        { "serial_key", f->serial_key },
        { "correlation_id", f->correlation_id },
        { "project_id", f->project_id },
        { "batch_id", f->batch.high ? id_text(&cli->arena, f->batch) : S("") },
    };
    json_t *object = json_object();
    for (size_t i = 0; i < countof(fields); i++)
        if (fields[i].value.n)
            json_object_set_new(object, fields[i].name,
                                json_stringn(fields[i].value.s, fields[i].value.n));
    return object;
}

static bool read_ids(struct cli *cli, const json_t *ids, struct job_bulk *bulk,
                     struct pawl_error *err)
{
    size_t i, count = json_array_size(ids);
    json_t *id;
    bulk->jobs = arena_new(&cli->arena, struct changed_job, count + 1);
    if (!bulk->jobs)
        return fail(err, PAWL_NO_MEMORY, "no memory for the answer");
    json_array_foreach (ids, i, id)
        if (!id_parse((struct str){ json_string_value(id), json_string_length(id) },
                      &bulk->jobs[i].id))
            return fail(err, PAWL_STORE, "%s answers with what is no id of a job",
                        client_url(cli->client));
    bulk->count = count;
    return true;
}

static bool change_many_jobs(struct cli *cli, struct job_bulk *bulk, struct str *cursor,
                             struct pawl_error *err)
{
    SCOPED(json) json_t *answer = NULL, *body = filter_json(cli, &bulk->filter);
    json_object_set_new(body, "dry_run", json_boolean(bulk->dry_run));
    if (cursor->n)
        json_object_set_new(body, "cursor", json_stringn(cursor->s, cursor->n));
    struct request request = {
        .method = "POST",
        .path = bulk->retry ? S("/v1/jobs/retry") : S("/v1/jobs/cancel"),
        .body = body,
    };
    if (!ask(cli, &request, &answer, err)
        || !read_ids(cli, object_items(answer, "job_ids"), bulk, err))
        return false;
    *cursor = str_dup(&cli->arena, object_text(answer, "next_cursor"));
    return true;
}

// ----- batches

// It has a key: asked again, the server says what became of it the first time.
static bool create_batch(struct cli *cli, const json_t *object, json_t **batch,
                         struct pawl_error *err)
{
    struct request request = { .method = "POST", .path = S("/v1/batches"), .body = object };
    return ask(cli, &request, batch, err)
        || (err->code == PAWL_IN_DOUBT && ask(cli, &request, batch, err));
}

static bool load_batch(struct cli *cli, struct id id, json_t **batch, struct pawl_error *err)
{
    struct str path = str_format(&cli->arena, "/v1/batches/%.*s", STR(id_text(&cli->arena, id)));
    return ask(cli, &(struct request){ .method = "GET", .path = path }, batch, err);
}

// ----- keys

static bool create_key(struct cli *cli, struct key_request *wanted, json_t **key,
                       struct pawl_error *err)
{
    SCOPED(json) json_t *body = json_object();
    json_t *projects = json_array();
    for (size_t i = 0; i < wanted->project_count; i++)
        json_array_append_new(projects,
                              json_stringn(wanted->projects[i].s, wanted->projects[i].n));
    json_object_set_new(body, "role", json_string(role_name(wanted->role)));
    json_object_set_new(body, "projects", projects);
    if (wanted->name.n)
        json_object_set_new(body, "name", json_stringn(wanted->name.s, wanted->name.n));
    struct str expires = time_text(&cli->arena, wanted->expires_at);
    if (wanted->expires_at)
        json_object_set_new(body, "expires_at", json_stringn(expires.s, expires.n));
    struct request request = { .method = "POST", .path = S("/v1/keys"), .body = body };
    return ask(cli, &request, key, err);
}

static bool list_keys(struct cli *cli, struct page *page, struct pawl_error *err)
{
    return list_page(cli, S("/v1/keys?"), page, err);
}

static bool revoke_key(struct cli *cli, struct str key_id, json_t **key, struct pawl_error *err)
{
    struct str path = str_format(&cli->arena, "/v1/keys/%.*s",
                                 STR(url_encoded(&cli->arena, key_id)));
    return ask(cli, &(struct request){ .method = "DELETE", .path = path }, key, err);
}

// ----- queues

static bool list_queues(struct cli *cli, json_t **queues, struct pawl_error *err)
{
    SCOPED(json) json_t *list = NULL;
    if (!ask(cli, &(struct request){ .method = "GET", .path = S("/v1/queues") }, &list, err))
        return false;
    *queues = json_incref(json_object_get(list, "items"));
    return true;
}

static struct str queue_path(struct cli *cli, struct str queue, const char *word)
{
    return str_format(&cli->arena, "/v1/queues/%.*s/%s", STR(url_encoded(&cli->arena, queue)),
                      word);
}

static bool pause_queue(struct cli *cli, struct str queue, bool paused, struct pawl_error *err)
{
    SCOPED(json) json_t *answer = NULL;
    struct str path = queue_path(cli, queue, paused ? "pause" : "resume");
    return ask(cli, &(struct request){ .method = "POST", .path = path }, &answer, err);
}

// A server that says there is more and ends nothing would be asked for ever.
static bool purge_queue(struct cli *cli, struct str queue, struct purging *purging,
                        struct pawl_error *err)
{
    SCOPED(json) json_t *answer = NULL, *body = json_pack("{s:b}", "dry_run", purging->dry_run);
    struct request request = {
        .method = "POST",
        .path = queue_path(cli, queue, "purge"),
        .body = body,
    };
    if (!ask(cli, &request, &answer, err))
        return false;
    purging->jobs = object_number(answer, "count");
    purging->done = !object_flag(answer, "more");
    return purging->done || purging->jobs > 0
        || fail(err, PAWL_STORE, "%s looked at all it may in one request and found nothing of %.*s "
                                 "to end: purge it on the store, with --store and --org",
                client_url(cli->client), STR(queue));
}

// ----- dead letters

static struct str filtered(struct cli *cli, const char *path, const struct letter_filter *filter)
{
    struct arena *arena = &cli->arena;
    const struct { const char *name; struct str value; } fields[] = {
        { "job_type", filter->job_type },
        { "fingerprint", filter->fingerprint },
        { "queue", filter->queue },
    };
    struct str whole = str_format(arena, "%s?", path);
    for (size_t i = 0; i < countof(fields); i++)
        if (fields[i].value.n)
            whole = str_format(arena, "%.*s%s=%.*s&", STR(whole), fields[i].name,
                               STR(url_encoded(arena, fields[i].value)));
    return whole;
}

static bool list_letters(struct cli *cli, const struct letter_filter *filter, struct page *page,
                         struct pawl_error *err)
{
    return list_page(cli, filtered(cli, "/v1/deadletter", filter), page, err);
}

static bool group_letters(struct cli *cli, const struct letter_filter *filter, json_t **groups,
                          struct pawl_error *err)
{
    struct request request = { .method = "GET",
                               .path = filtered(cli, "/v1/deadletter/groups", filter) };
    return ask(cli, &request, groups, err);
}

static struct str letter_path(struct cli *cli, struct id id, const char *rest)
{
    return str_format(&cli->arena, "/v1/deadletter/%.*s%s", STR(id_text(&cli->arena, id)), rest);
}

static bool record_of_letter(struct cli *cli, struct id id, json_t **letter,
                             struct pawl_error *err)
{
    struct request request = { .method = "GET", .path = letter_path(cli, id, "") };
    return ask(cli, &request, letter, err);
}

static bool close_letter(struct cli *cli, struct id id, const struct letter_act *act,
                         json_t **answer, struct pawl_error *err)
{
    static const char *const words[] = {
        [LETTER_REPLAYED] = "/replay",
        [LETTER_FIXED] = "/fix",
        [LETTER_DISCARDED] = "/discard",
    };
    _Static_assert(countof(words) == LETTER_ENDS, "one word per end");
    SCOPED(json) json_t *body = json_object();
    if (act->end == LETTER_DISCARDED)
        json_object_set_new(body, "reason", json_stringn(act->reason.s, act->reason.n));
    if (act->end == LETTER_FIXED) {
        json_object_set_new(body, "payload", json_deep_copy(act->payload));
        json_object_set_new(body, "dry_run", json_boolean(act->dry_run));
    }
    struct request request = {
        .method = "POST",
        .path = letter_path(cli, id, words[act->end]),
        .body = body,
    };
    return ask(cli, &request, answer, err);
}

static bool close_letters(struct cli *cli, struct letter_sweep *sweep, json_t **answer,
                          struct pawl_error *err)
{
    const struct letter_filter *filter = &sweep->filter;
    const struct { const char *name; struct str value; } fields[] = {
        { "job_type", filter->job_type },
        { "fingerprint", filter->fingerprint },
        { "queue", filter->queue },
        { "reason", sweep->reason },
    };
    SCOPED(json) json_t *body = json_pack("{s:b,s:I}", "dry_run", sweep->dry_run, "limit",
                                          (json_int_t)filter->limit);
    for (size_t i = 0; i < countof(fields); i++)
        if (fields[i].value.n)
            json_object_set_new(body, fields[i].name,
                                json_stringn(fields[i].value.s, fields[i].value.n));
    struct request request = {
        .method = "POST",
        .path = sweep->discard ? S("/v1/deadletter/discard") : S("/v1/deadletter/replay"),
        .body = body,
    };
    return ask(cli, &request, answer, err);
}

// ----- schedules

static struct str schedule_path(struct cli *cli, struct str name, const char *rest)
{
    return str_format(&cli->arena, "/v1/schedules/%.*s%s", STR(url_encoded(&cli->arena, name)),
                      rest);
}

static bool list_schedules(struct cli *cli, struct page *page, struct pawl_error *err)
{
    return list_page(cli, S("/v1/schedules?"), page, err);
}

static bool act_on_schedule(struct cli *cli, struct str name, enum schedule_act act,
                            json_t **schedule, struct pawl_error *err)
{
    static const struct { const char *method, *word; } acts[] = {
        [SCHEDULE_SHOW] = { "GET", "" },
        [SCHEDULE_PAUSE] = { "POST", "/pause" },
        [SCHEDULE_RESUME] = { "POST", "/resume" },
    };
    _Static_assert(countof(acts) == SCHEDULE_ACTS, "one row per act");
    struct request request = { .method = acts[act].method,
                               .path = schedule_path(cli, name, acts[act].word) };
    return ask(cli, &request, schedule, err);
}

static bool list_schedule_rows(struct cli *cli, struct str name, enum schedule_rows rows,
                               struct page *page, struct pawl_error *err)
{
    return list_page(cli, schedule_path(cli, name, rows == SCHEDULE_RUNS ? "/runs?" : "/skips?"),
                     page, err);
}

static bool next_of_schedule(struct cli *cli, struct str name, const struct slot_range *range,
                             json_t **slots, struct pawl_error *err)
{
    SCOPED(json) json_t *list = NULL;
    struct str after = url_encoded(&cli->arena, time_text(&cli->arena, range->after));
    struct str path = str_format(&cli->arena, "%.*s?count=%zu&after=%.*s",
                                 STR(schedule_path(cli, name, "/next")), range->count, STR(after));
    if (!ask(cli, &(struct request){ .method = "GET", .path = path }, &list, err))
        return false;
    *slots = json_incref(json_object_get(list, "items"));
    return true;
}

static bool trigger_schedule(struct cli *cli, struct str name, pawl_time slot, json_t **job,
                             struct pawl_error *err)
{
    SCOPED(json) json_t *body = json_pack("{s:s}", "scheduled_for",
                                          time_text(&cli->arena, slot).s);
    struct request request = { .method = "POST",
                               .path = schedule_path(cli, name, "/trigger"),
                               .body = body };
    return ask(cli, &request, job, err);
}

static bool backfill_schedule(struct cli *cli, struct str name, struct backfill *wanted,
                              json_t **done, struct pawl_error *err)
{
    SCOPED(json) json_t *body = json_pack("{s:s,s:s,s:b}", "from",
                                          time_text(&cli->arena, wanted->from).s, "to",
                                          time_text(&cli->arena, wanted->to).s, "dry_run",
                                          wanted->dry_run);
    struct request request = { .method = "POST",
                               .path = schedule_path(cli, name, "/backfill"),
                               .body = body };
    return ask(cli, &request, done, err);
}

const struct backend backend_server = BACKEND(remote_enqueue, server);
