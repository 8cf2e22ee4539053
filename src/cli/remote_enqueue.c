// Enqueueing through a server: jobs travel together, and each still gets its own answer.
//
// The server stores nothing of a bulk in which one job breaks the contract. Those it names are set
// aside with their problems and the others sent again. A bulk it cannot take as a whole (too large,
// too many, too deep) is halved, down to single jobs.
#include <string.h>

#include "cli/object.h"
#include "cli/remote.h"
#include "cli/request.h"
#include "model/json_field.h"
#include "model/stable.h"

// The entries of a batch that are under way.
struct load {
    struct batch *batch;
    struct entry **entries;
    size_t count;
};

// ----- keys

// The org that a key is derived from is that of the caller's key; the server is asked once.
static bool org_of_caller(struct cli *cli, struct str *org, struct pawl_error *err)
{
    SCOPED(reply) struct reply reply = {0};
    struct request request = { .method = "GET", .path = S("/v1/session") };
    if (!remote_ask(cli, &request, &reply, err))
        return false;
    *org = str_dup(&cli->arena, object_text(reply.body, "org_id"));
    return true;
}

// What has no type or payload is refused anyway: any key does.
static bool key_for(struct cli *cli, const json_t *object, struct batch *batch, struct str *key,
                    struct pawl_error *err)
{
    struct str type = object_text(object, "job_type");
    const json_t *payload = json_object_get(object, "payload");
    *key = unique_key(cli, batch->arena);
    if (batch->recipe == KEY_UNIQUE || type.n == 0 || !json_is_object(payload))
        return true;
    if (cli->server_org.n == 0 && !org_of_caller(cli, &cli->server_org, err))
        return false;
    *key = idempotency_key(batch->arena, type, cli->server_org, object_text(object, "project_id"),
                           payload);
    return true;
}

static bool give_key(struct cli *cli, struct entry *entry, struct batch *batch,
                     struct pawl_error *err)
{
    struct str key;
    const json_t *given = json_object_get(entry->object, "idempotency_key");
    if (given && !json_is_null(given))
        return true;
    if (!key_for(cli, entry->object, batch, &key, err))
        return false;
    return json_object_set_new(entry->object, "idempotency_key", json_stringn(key.s, key.n)) == 0
        || fail(err, PAWL_NO_MEMORY, "no memory to make the request");
}

// ----- one request

static bool in_doubt(const struct reply *reply)
{
    return code_of(object_text(reply->body, "code"), reply->status) == PAWL_IN_DOUBT;
}

// Every job has a key, so a request whose reply was lost is sent once more.
static bool post(struct cli *cli, struct batch *batch, const json_t *body, struct reply *reply,
                 struct pawl_error *err)
{
    struct request request = { .method = "POST", .path = S("/v1/jobs"), .body = body };
    bool answered = remote_send(cli, &request, reply, err);
    if (answered ? !in_doubt(reply) : err->code != PAWL_IN_DOUBT)
        return answered;
    reply_end(reply);
    batch->again = true;
    if (!remote_send(cli, &request, reply, err))
        return batch_in_doubt(err);
    if (!in_doubt(reply))
        return true;
    (void)!reply_refused(cli, reply, err);
    reply_end(reply);
    return batch_in_doubt(err);
}

static void take_job(struct cli *cli, struct batch *batch, struct entry *entry, json_t *job)
{
    bool own = batch->again && str_eq(object_text(job, "request_id"), cli->caller.request_id);
    entry->known = object_flag(job, "deduplicated") && !own;
    entry->job = batch->wants_jobs ? json_incref(job) : NULL;
}

// ----- problems

// `jobs[12].payload` is `payload` of the 12th. False when it is of none.
static bool split_field(struct str field, size_t *index, struct str *rest)
{
    struct str number, before = S("jobs[");
    int64_t n = 0;
    if (!str_starts(field, before))
        return false;
    field = (struct str){ field.s + before.n, field.n - before.n };
    if (!str_cut(field, ']', &number, rest) || !str_int(number, &n) || n < 0)
        return false;
    if (str_starts(*rest, S(".")))
        *rest = (struct str){ rest->s + 1, rest->n - 1 };
    *index = (size_t)n;
    return true;
}

static bool add_problem(struct batch *batch, struct entry *entry, struct str field,
                        struct str message)
{
    struct problem *longer = arena_new(batch->arena, struct problem, entry->problem_count + 1);
    if (!longer)
        return false;
    for (size_t i = 0; i < entry->problem_count; i++)
        longer[i] = entry->problems[i];
    longer[entry->problem_count++] = (struct problem){
        .field = str_dup(batch->arena, field),
        .message = str_dup(batch->arena, message),
    };
    entry->problems = longer;
    return true;
}

// The errors of one reply, by entry; of a single job they have no index. A list that is full may
// have lost some of the last job's: that one is asked about again. Answers whether any was blamed.
static bool blame(const struct load *load, const json_t *errors)
{
    bool cut = json_array_size(errors) >= PROBLEMS_MAX && load->count > 1;
    size_t last = 0, i, index = 0;
    bool blamed = false;
    json_t *item;
    struct str rest;
    json_array_foreach (json_iterable(errors), i, item)
        if (split_field(object_text(item, "field"), &index, &rest))
            last = index;
    json_array_foreach (json_iterable(errors), i, item) {
        index = 0;
        rest = object_text(item, "field");
        bool whole = load->count > 1 && !split_field(rest, &index, &rest);
        if (whole || index >= load->count || (cut && index == last && index > 0))
            continue;
        blamed |= add_problem(load->batch, load->entries[index], rest,
                              object_text(item, "message"));
    }
    return blamed;
}

// ----- sending

// A refusal of the job itself is its answer; anything else concerns all of them.
static bool send_one(struct cli *cli, struct load *load, struct pawl_error *err)
{
    struct entry *entry = load->entries[0];
    struct pawl_error why = {0};
    SCOPED(reply) struct reply reply = {0};
    if (!post(cli, load->batch, entry->object, &reply, err))
        return false;
    if (reply_good(&reply)) {
        take_job(cli, load->batch, entry, reply.body);
        return true;
    }
    if ((reply.status == 422 || reply.status == 413)
        && blame(load, object_items(reply.body, "errors")))
        return true;
    (void)!reply_refused(cli, &reply, &why);
    bool of_all = reply.status == 401 || reply.status == 403 || reply.status == 429
               || !pawl_code(why.code)->refusal;
    if (of_all)
        return fail(err, why.code, "%s", why.message);
    entry->error = why;
    return true;
}

static void take_result(struct cli *cli, struct batch *batch, struct entry *entry,
                        const json_t *result)
{
    json_t *job = json_object_get(result, "job");
    const json_t *error = json_object_get(result, "error");
    int status = (int)object_number(result, "status");
    if (json_is_object(job))
        take_job(cli, batch, entry, job);
    else  // the refusal is the answer
        (void)!fail(&entry->error, code_of(object_text(error, "code"), status), "%.*s",
                    STR(object_text(error, "detail")));
}

static bool take_results(struct cli *cli, struct load *load, const json_t *body,
                         struct pawl_error *err)
{
    const json_t *results = object_items(body, "results");
    if (json_array_size(results) != load->count)
        return fail(err, PAWL_STORE, "%s answered for %zu of %zu jobs: import them again to find "
                                     "out what is stored",
                    client_url(cli->client), json_array_size(results), load->count);
    for (size_t i = 0; i < load->count; i++)
        take_result(cli, load->batch, load->entries[i], json_array_get(results, i));
    return true;
}

static json_t *bulk_body(const struct load *load)
{
    json_t *jobs = json_array();
    for (size_t i = 0; i < load->count; i++)
        json_array_append(jobs, load->entries[i]->object);
    return json_pack("{s:o}", "jobs", jobs);
}

static void drop_blamed(struct load *load)
{
    size_t kept = 0;
    for (size_t i = 0; i < load->count; i++)
        if (entry_open(load->entries[i]))
            load->entries[kept++] = load->entries[i];
    load->count = kept;
}

enum bulk { BULK_TAKEN, BULK_BLAMED, BULK_TOO_MUCH, BULK_FAILED };

static enum bulk send_bulk(struct cli *cli, struct load *load, struct pawl_error *err)
{
    SCOPED(json) json_t *body = bulk_body(load);
    SCOPED(reply) struct reply reply = {0};
    if (!post(cli, load->batch, body, &reply, err))
        return BULK_FAILED;
    if (reply_good(&reply))
        return take_results(cli, load, reply.body, err) ? BULK_TAKEN : BULK_FAILED;
    if (reply.status == 422 && blame(load, object_items(reply.body, "errors")))
        return BULK_BLAMED;
    if (reply.status == 422 || reply.status == 413 || reply.status == 400)
        return BULK_TOO_MUCH;
    (void)!reply_refused(cli, &reply, err);
    return BULK_FAILED;
}

static bool send_load(struct cli *cli, struct load *load, struct pawl_error *err)
{
    enum bulk told = BULK_BLAMED;
    for (; load->count > 1 && told == BULK_BLAMED; drop_blamed(load))
        told = send_bulk(cli, load, err);
    if (told == BULK_TAKEN || told == BULK_FAILED || load->count == 0)
        return told != BULK_FAILED;
    if (load->count == 1)
        return send_one(cli, load, err);
    size_t half = load->count / 2;
    struct load first = { load->batch, load->entries, half };
    struct load second = { load->batch, load->entries + half, load->count - half };
    return send_load(cli, &first, err) && send_load(cli, &second, err);
}

bool remote_enqueue(struct cli *cli, struct batch *batch, struct pawl_error *err)
{
    struct load load = { batch, arena_new(batch->arena, struct entry *, batch->count), 0 };
    struct contract ignored;
    for (size_t i = 0; load.entries && i < batch->count; i++) {
        struct entry *entry = &batch->entries[i];
        // What is no object at all is no request either.
        if (!entry_open(entry)
            || (!json_is_object(entry->object) && !entry_read(cli, batch, entry, &ignored)))
            continue;
        if (!give_key(cli, entry, batch, err))
            return false;
        load.entries[load.count++] = entry;
    }
    if (!load.entries)
        return fail(err, PAWL_NO_MEMORY, "no memory to make the request");
    return send_load(cli, &load, err);
}
