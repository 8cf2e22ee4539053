// Routes of dead letters: look at them one by one or in groups, replay, discard, fix forward.
#include "base/json_put.h"
#include "engine/letter.h"
#include "model/fingerprint.h"
#include "server/job_view.h"
#include "server/letter_json.h"
#include "server/server.h"

enum { PAGE_LETTERS = 50, PAGE_LETTERS_MAX = 500 };

// A filter over letters, in a query or a body.
struct letter_query {
    struct str job_type, fingerprint, queue;
    int64_t limit;
};

#define LETTER_QUERY_FIELDS(type, at, most)                                                    \
    JOB_QUERY_FIELD(type, at, job_type, .summary = "only jobs of this type"),                  \
        JOB_QUERY_FIELD(type, at, fingerprint, .summary = "only letters with this error"),     \
        JOB_QUERY_FIELD(type, at, queue, .summary = "only jobs that came from this queue"),    \
        JOB_QUERY_FIELD(type, at, limit, .kind = FIELD_NUMBER, .min = 1, .max = (most),        \
                        .summary = "how many at most")

static struct letter_filter read_query(struct exchange *x, const struct letter_query *q,
                                       int64_t limit_default)
{
    if (q->fingerprint.n && !fingerprint_valid(q->fingerprint))
        problem_add(&x->problems, "fingerprint", "must be %d digits 0-9 a-f, as the list of dead "
                                                 "letters shows them",
                    FINGERPRINT_DIGITS);
    return (struct letter_filter){
        .job_type = q->job_type,
        .fingerprint = q->fingerprint,
        .queue = q->queue,
        .limit = q->limit ? q->limit : limit_default,
    };
}

static bool sees_payload(const struct exchange *x)
{
    return role_sees_payload(x->identity.role, x->config->auth.viewer_sees_payload);
}

static bool answer_made(struct exchange *x, struct str text, struct pawl_error *err)
{
    struct buf out = buf_new(&x->arena, SIZE_MAX);
    buf_add(&out, text);
    out.full = out.full || text.n == 0;
    return exchange_answer_text(x, 200, &out, err);
}

// ----- list

struct listing {
    struct letter_query query;
    struct str cursor;
    struct letter_filter filter;
    struct letter_list page;
    struct letter_groups groups;
};

static const struct field list_query[] = {
    LETTER_QUERY_FIELDS(struct listing, query, PAGE_LETTERS_MAX),
    FIELD(struct listing, cursor, FIELD_TEXT, .summary = "next_cursor of the page before"),
};

static bool list_prepare(struct exchange *x, struct pawl_error *err)
{
    struct listing *l = x->data;
    l->filter = read_query(x, &l->query, PAGE_LETTERS);
    exchange_cursor(x, l->cursor, &l->filter.before);
    return problems_none(&x->problems, err);
}

static bool list_act(struct exchange *x, struct tx *tx, struct pawl_error *err)
{
    struct listing *l = x->data;
    return letters_find(tx, &l->filter, &l->page, err);
}

static bool list_answer(struct exchange *x, struct pawl_error *err)
{
    struct listing *l = x->data;
    struct buf out = buf_new(&x->arena, SIZE_MAX);
    json_put_open(&out, NULL, '{');
    json_put_open(&out, "items", '[');
    for (size_t i = 0; i < l->page.count; i++) {
        json_put_open(&out, NULL, '{');
        job_view(x, &out, &l->page.letters[i].job);
        letter_put(&out, &l->page.letters[i]);
        json_put_close(&out, '}');
    }
    json_put_close(&out, ']');
    json_put_text(&out, "next_cursor", exchange_next_cursor(x, l->page.next));
    json_put_close(&out, '}');
    return exchange_answer_text(x, 200, &out, err);
}

// ----- groups

static const struct field groups_query[] = {
    JOB_QUERY_FIELD(struct listing, query, job_type, .summary = "only jobs of this type"),
    JOB_QUERY_FIELD(struct listing, query, queue,
                    .summary = "only jobs that came from this queue"),
};

static bool groups_act(struct exchange *x, struct tx *tx, struct pawl_error *err)
{
    struct listing *l = x->data;
    return letters_group(tx, &l->filter, &l->groups, err);
}

static bool groups_answer(struct exchange *x, struct pawl_error *err)
{
    struct listing *l = x->data;
    return answer_made(x, letter_groups_text(&x->arena, &l->groups), err);
}

// ----- one

struct one_letter {
    struct one_job one;  // first: its `prepare` reads the path
    struct letter_record record;
    struct str reason;
    struct letter_fix fix;
    const json_t *payload;
    bool dry_run;
};

static bool one_act(struct exchange *x, struct tx *tx, struct pawl_error *err)
{
    struct one_letter *o = x->data;
    return letter_load(tx, o->one.id, &o->record, err);
}

static bool one_answer(struct exchange *x, struct pawl_error *err)
{
    struct one_letter *o = x->data;
    const struct job *job = &o->record.letter.job;
    const struct config_type *type = config_type(x->config, job->contract.job_type);
    struct letter_shown shown = {
        .record = &o->record,
        .runbook = type ? type->type.runbook : S(""),
        .payloads = sees_payload(x),
    };
    struct buf out = buf_new(&x->arena, SIZE_MAX);
    json_put_open(&out, NULL, '{');
    job_view(x, &out, job);
    letter_record_put(&out, &shown);
    json_put_close(&out, '}');
    return exchange_answer_text(x, 200, &out, err);
}

static bool replay_act(struct exchange *x, struct tx *tx, struct pawl_error *err)
{
    struct one_letter *o = x->data;
    return letter_replay(tx, o->one.id, &o->one.job, err);
}

static const struct field discard_body[] = {
    FIELD(struct one_letter, reason, FIELD_TEXT, .required = true, .min = 1,
          .max = LETTER_REASON_BYTES_MAX,
          .summary = "why nobody needs it; kept in the audit trail"),
};

static bool discard_act(struct exchange *x, struct tx *tx, struct pawl_error *err)
{
    struct one_letter *o = x->data;
    return letter_discard(tx, o->one.id, o->reason, &o->one.job, err);
}

// ----- fix forward

static const struct field fix_body[] = {
    FIELD(struct one_letter, payload, FIELD_OBJECT, .required = true, .schema = "Object",
          .summary = "the whole payload of the new job"),
    FIELD(struct one_letter, dry_run, FIELD_FLAG,
          .summary = "only check it and say what it changes"),
};

// May be run again: what an earlier run found wrong does not count.
static bool fix_act(struct exchange *x, struct tx *tx, struct pawl_error *err)
{
    struct one_letter *o = x->data;
    struct contract_rules rules = config_rules(x->config, &x->caller, tx->now, true);
    problems_forget(&x->problems);
    o->fix = (struct letter_fix){
        .payload = o->payload,
        .rules = &rules,
        .problems = &x->problems,
        .dry_run = o->dry_run,
    };
    return letter_fix(tx, o->one.id, &o->fix, &o->one.job, err);
}

static bool fix_answer(struct exchange *x, struct pawl_error *err)
{
    struct one_letter *o = x->data;
    if (!o->dry_run)
        return one_job_created(x, err);
    return answer_made(x, letter_preview_text(&x->arena, &o->fix, sees_payload(x)), err);
}

// ----- many

struct many_letters {
    struct letter_query query;
    struct str reason;
    bool dry_run;
    struct letter_sweep sweep;
    int64_t rate, taken;  // letters that were taken from the bucket of the org, at which rate
};

static const struct field replay_many_body[] = {
    LETTER_QUERY_FIELDS(struct many_letters, query, LETTERS_CLOSED_MAX),
    FIELD(struct many_letters, dry_run, FIELD_FLAG,
          .summary = "only say which letters: nothing changes"),
};

static const struct field discard_many_body[] = {
    LETTER_QUERY_FIELDS(struct many_letters, query, LETTERS_CLOSED_MAX),
    FIELD(struct many_letters, dry_run, FIELD_FLAG,
          .summary = "only say which letters: nothing changes"),
    FIELD(struct many_letters, reason, FIELD_TEXT, .required = true, .min = 1,
          .max = LETTER_REASON_BYTES_MAX,
          .summary = "why nobody needs them; kept in the audit trail"),
};

// Small portions may follow each other; after a large one there is nothing until its time is over.
static bool in_pace(struct exchange *x, struct many_letters *m, struct pawl_error *err)
{
    int64_t wait_us = 0, now = world_monotonic(x->server->pawl->world);
    struct bucket *bucket = letter_pace_of(&x->server->letter_pace, x->caller.org_id);
    m->rate = x->config->limits.bulk_letters;
    if (m->dry_run)
        return true;
    if (!bucket_take_many(bucket, m->rate, m->sweep.filter.limit, now, &wait_us)) {
        x->retry_after_s = (wait_us + SECONDS(1) - 1) / SECONDS(1);
        return fail(err, PAWL_TOO_MANY, "dead letters are closed too fast: at most %lld a second "
                                        "(limits.bulk_letters)",
                    (long long)m->rate);
    }
    m->taken = m->sweep.filter.limit;
    return true;
}

// Only what was closed is paid for.
static void settle_pace(struct exchange *x, struct many_letters *m, size_t closed)
{
    if (m->taken > 0)
        bucket_give_back(letter_pace_of(&x->server->letter_pace, x->caller.org_id), m->rate,
                         m->taken - (int64_t)closed);
    m->taken = 0;
}

// Without an answer of its own nothing was closed.
static void many_ended(struct exchange *x, bool sent)
{
    (void)sent;
    if (x->data)
        settle_pace(x, x->data, 0);
}

// A filter that names nothing would be everything: that must be meant.
static bool many_prepare(struct exchange *x, struct pawl_error *err)
{
    struct many_letters *m = x->data;
    const struct letter_query *q = &m->query;
    if (x->problems.count == 0 && !q->job_type.n && !q->fingerprint.n && !q->queue.n)
        problem_add(&x->problems, "", "must name at least one of job_type, fingerprint, queue");
    m->sweep = (struct letter_sweep){
        .filter = read_query(x, q, LETTERS_CLOSED_MAX),
        .discard = str_ends(x->path, S("/discard")),
        .reason = m->reason,
        .dry_run = m->dry_run,
    };
    return problems_none(&x->problems, err) && in_pace(x, m, err);
}

static bool many_act(struct exchange *x, struct tx *tx, struct pawl_error *err)
{
    struct many_letters *m = x->data;
    return letters_close(tx, &m->sweep, err);
}

static bool many_answer(struct exchange *x, struct pawl_error *err)
{
    struct many_letters *m = x->data;
    settle_pace(x, m, m->sweep.count);
    return answer_made(x, letter_sweep_text(&x->arena, &m->sweep), err);
}

static const struct route rows[] = {
    {
        .method = "GET", .path = "/v1/deadletter", .permission = MAY_READ, .kind = ROUTE_READ,
        .summary = "Open dead letters, newest first. A page may be short and have a next one.",
        .data_bytes = sizeof(struct listing), .query = FIELDS(list_query),
        .prepare = list_prepare, .act = list_act, .answer = list_answer,
        .schema = "LetterPage", .statuses = { 200, 422 },
    },
    {
        .method = "GET", .path = "/v1/deadletter/groups", .permission = MAY_READ,
        .kind = ROUTE_READ, .summary = "Open dead letters counted by what went wrong.",
        .data_bytes = sizeof(struct listing), .query = FIELDS(groups_query),
        .prepare = list_prepare, .act = groups_act, .answer = groups_answer,
        .schema = "LetterGroups", .statuses = { 200, 422 },
    },
    {
        .method = "POST", .path = "/v1/deadletter/replay", .permission = MAY_DEADLETTER,
        .kind = ROUTE_WRITE,
        .summary = "Replays the letters of a filter, at most 500; job_ids are the new jobs.",
        .data_bytes = sizeof(struct many_letters), .body = FIELDS(replay_many_body),
        .body_size = BODY_SMALL,
        .prepare = many_prepare, .act = many_act, .answer = many_answer, .ended = many_ended,
        .schema = "Bulk", .statuses = { 200, 422 },
    },
    {
        .method = "POST", .path = "/v1/deadletter/discard", .permission = MAY_DEADLETTER,
        .kind = ROUTE_WRITE,
        .summary = "Discards the letters of a filter, at most 500; see `more` for the rest.",
        .data_bytes = sizeof(struct many_letters), .body = FIELDS(discard_many_body),
        .body_size = BODY_SMALL,
        .prepare = many_prepare, .act = many_act, .answer = many_answer, .ended = many_ended,
        .schema = "Bulk", .statuses = { 200, 422 },
    },
    {
        .method = "GET", .path = "/v1/deadletter/{id}", .permission = MAY_READ,
        .kind = ROUTE_READ,
        .summary = "One dead letter, open or closed, with every attempt and what to do.",
        .data_bytes = sizeof(struct one_letter),
        .prepare = one_job_prepare, .act = one_act, .answer = one_answer,
        .schema = "LetterRecord", .statuses = { 200, 404 },
    },
    {
        .method = "POST", .path = "/v1/deadletter/{id}/replay", .permission = MAY_DEADLETTER,
        .kind = ROUTE_WRITE, .summary = "Makes the same job again and closes the letter.",
        .data_bytes = sizeof(struct one_letter), .body_size = BODY_SMALL, .body_optional = true,
        .prepare = one_job_prepare, .act = replay_act, .answer = one_job_created,
        .schema = "Job", .statuses = { 201, 404, 409 },
    },
    {
        .method = "POST", .path = "/v1/deadletter/{id}/discard", .permission = MAY_DEADLETTER,
        .kind = ROUTE_WRITE, .summary = "Closes the letter: nothing will be done about it.",
        .data_bytes = sizeof(struct one_letter), .body = FIELDS(discard_body),
        .body_size = BODY_SMALL,
        .prepare = one_job_prepare, .act = discard_act, .answer = one_job_answer,
        .schema = "Job", .statuses = { 200, 404, 409, 422 },
    },
    {
        .method = "POST", .path = "/v1/deadletter/{id}/fix", .permission = MAY_DEADLETTER,
        .kind = ROUTE_WRITE,
        .summary = "Makes the job again with another payload and closes the letter.",
        .data_bytes = sizeof(struct one_letter), .body = FIELDS(fix_body),
        .body_size = BODY_BULK,
        .prepare = one_job_prepare, .act = fix_act, .answer = fix_answer,
        .schema = "Fixed", .statuses = { 201, 200, 404, 409, 422 },
    },
};
const struct routes routes_letters = { rows, countof(rows) };
