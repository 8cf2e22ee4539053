// Routes by which a worker tells what becomes of what it holds; one call each, or many in a batch.
//
// A call is one row: its name, its fields, what it does. The path, the batch and /openapi.json all
// come from the row.
#include <string.h>

#include "base/json_put.h"
#include "engine/execution.h"
#include "engine/trace.h"
#include "model/json_field.h"
#include "server/job_view.h"
#include "server/server.h"
#include "server/tracer.h"

enum { BATCH_MAX = 1000,
       FOLLOW_UPS_MAX = 1000,
       ANNOTATIONS_MAX = 100,
       ARTIFACTS_MAX = 100,
       OUTCOME_BYTES = 640 };  // of an answer

// What any of the calls may carry; each names its own in its table.
struct call {
    const struct verb *verb;
    struct id id;                 // of the execution
    struct str worker_id;
    int64_t attempt;
    const json_t *progress, *result, *annotations, *enqueue, *error;
    struct texts artifacts;
    struct id *artifact_ids;
    bool done, finish;
    int64_t retry_after_ms, rows_processed;
    struct contract *follow_ups;  // checked
    size_t follow_up_count;
    struct str context;           // of follow-ups, as the worker says; empty: as of the execution
    int64_t traces_per_million;
    struct str result_text, *annotation_texts;
    size_t annotation_count;
    struct progress reported;
    struct work_error failure;
    struct execution execution;   // the answer ...
    struct pawl_error refusal;    // ... in a batch
};

struct verb {
    const char *name;
    struct fields fields;
    // Adds what is wrong with the values of the fields that could be read. NULL: nothing.
    void (*check)(struct exchange *x, struct call *call, const char *prefix);
    bool (*act)(struct tx *tx, const struct lease *lease, struct call *call,
                struct pawl_error *err);
};

#define WHO                                                                                        \
    FIELD(struct call, worker_id, FIELD_TEXT, .required = true, .min = 1, .max = KEY_BYTES_MAX,    \
          .summary = "as it was leased"),                                                          \
        FIELD(struct call, attempt, FIELD_NUMBER, .required = true, .min = 1, .max = INT32_MAX,    \
              .summary = "as it was leased")

// ----- start, done, release

static const struct field who_fields[] = { WHO };

static bool start(struct tx *tx, const struct lease *lease, struct call *c, struct pawl_error *err)
{
    return execution_start(tx, lease, &c->execution, err);
}

static bool done(struct tx *tx, const struct lease *lease, struct call *c, struct pawl_error *err)
{
    return execution_done(tx, lease, &c->execution, err);
}

static bool release(struct tx *tx, const struct lease *lease, struct call *c,
                    struct pawl_error *err)
{
    return execution_release(tx, lease, &c->execution, err);
}

// ----- heartbeat

static const struct field progress_fields[] = {
    FIELD(struct progress, percent, FIELD_NUMBER, .required = true, .min = 0, .max = 100,
          .summary = "0 to 100"),
    FIELD(struct progress, message, FIELD_TEXT, .max = PROGRESS_BYTES_MAX, .summary = "in words"),
};
static const struct fields progress_object = FIELDS(progress_fields);

static const struct field heartbeat_fields[] = {
    WHO,
    FIELD(struct call, progress, FIELD_OBJECT, .inside = &progress_object,
          .summary = "how far it is"),
};

static void heartbeat_check(struct exchange *x, struct call *c, const char *prefix)
{
    struct str at = str_format(&x->arena, "%sprogress.", prefix);
    if (!c->progress)
        return;
    (void)!fields_read(&progress_object, c->progress, at.s, &c->reported, &x->problems);
    progress_check(&c->reported, prefix, &x->problems);
}

static bool heartbeat(struct tx *tx, const struct lease *lease, struct call *c,
                      struct pawl_error *err)
{
    return execution_heartbeat(tx, lease, c->progress ? &c->reported : NULL, &c->execution, err);
}

// ----- commit

static const struct field commit_fields[] = {
    WHO,
    FIELD(struct call, result, FIELD_VALUE, .summary = "what came out of it"),
    FIELD(struct call, enqueue, FIELD_OBJECTS, .max = FOLLOW_UPS_MAX, .schema = "NewJob",
          .summary = "jobs that exist because of this one"),
    FIELD(struct call, annotations, FIELD_OBJECTS, .max = ANNOTATIONS_MAX,
          .summary = "objects for the audit trail"),
    FIELD(struct call, artifacts, FIELD_TEXTS, .max = ARTIFACTS_MAX,
          .summary = "artifact_ids of what was uploaded for this job"),
    FIELD(struct call, rows_processed, FIELD_NUMBER, .max = INT64_MAX,
          .summary = "how much was done, for the audit trail"),
    FIELD(struct call, finish, FIELD_FLAG,
          .summary = "a phase follows that acts on the world, before `done`"),
    FIELD(struct call, done, FIELD_FLAG, .summary = "DONE in the same step"),
};

// A notification that breaks the contract is told in the audit trail instead (OPS-2).
static struct str refused_follow_up(struct exchange *x, const struct contract *contract,
                                    size_t problems_before)
{
    const struct problem *first = &x->problems.list[problems_before];
    SCOPED(json) json_t *detail =
        json_pack("{s:{s:s%,s:s,s:s%}}", "follow_up_refused", "job_type", contract->job_type.s,
                  contract->job_type.n, "code", "contract", "message", first->message.s,
                  first->message.n);
    x->problems.count = problems_before;
    return json_text(&x->arena, detail);
}

static void check_follow_ups(struct exchange *x, struct call *c, const char *prefix)
{
    pawl_time now = world_wall(x->server->pawl->world);
    struct contract_rules rules = config_rules(x->config, &x->caller, now, false);
    size_t given = json_array_size(c->enqueue);
    c->context = exchange_context(x);
    c->traces_per_million = tracer_share(x->server->tracer);
    c->follow_ups = arena_new(&x->arena, struct contract, given + 1);
    c->annotation_texts = arena_new(&x->arena, struct str,
                                    given + json_array_size(c->annotations) + 2);
    for (size_t i = 0; c->follow_ups && c->annotation_texts && i < given; i++) {
        struct contract *contract = &c->follow_ups[c->follow_up_count];
        size_t before = x->problems.count;
        if (contract_read(json_array_get(c->enqueue, i), &rules,
                          str_format(&x->arena, "%senqueue[%zu].", prefix, i).s, contract,
                          &x->problems))
            c->follow_up_count++;
        else if (str_eq(contract->policy.category, S("notification")) && x->problems.left_out == 0)
            c->annotation_texts[c->annotation_count++] = refused_follow_up(x, contract, before);
    }
}

static void take_annotations(struct exchange *x, struct call *c)
{
    size_t given = json_array_size(c->annotations);
    for (size_t i = 0; c->annotation_texts && i < given; i++)
        c->annotation_texts[c->annotation_count++] = json_text(&x->arena,
                                                               json_array_get(c->annotations, i));
    if (c->rows_processed && c->annotation_texts)
        c->annotation_texts[c->annotation_count++] = str_format(
            &x->arena, "{\"rows_processed\":%lld}", (long long)c->rows_processed);
}

static void take_artifacts(struct exchange *x, struct call *c, const char *prefix)
{
    c->artifact_ids = arena_new(&x->arena, struct id, c->artifacts.count + 1);
    for (size_t i = 0; c->artifact_ids && i < c->artifacts.count; i++)
        if (!id_parse(c->artifacts.at[i], &c->artifact_ids[i]))
            problem_add(&x->problems, str_format(&x->arena, "%sartifacts[%zu]", prefix, i).s,
                        "must be the id of an artifact");
}

static void commit_check(struct exchange *x, struct call *c, const char *prefix)
{
    int64_t most = x->config->limits.result_bytes;
    if (c->finish && c->done)
        problem_add(&x->problems, str_format(&x->arena, "%sdone", prefix).s,
                    "comes after the commit phase that `finish` announces");
    if (c->result)
        c->result_text = json_text(&x->arena, c->result);
    if (c->result_text.n > (size_t)most) {
        x->problems.large++;
        problem_add(&x->problems, str_format(&x->arena, "%sresult", prefix).s,
                    "has %zu bytes: at most %lld are kept", c->result_text.n, (long long)most);
    }
    check_follow_ups(x, c, prefix);
    take_annotations(x, c);
    take_artifacts(x, c, prefix);
}

// Follow-ups go on with the trace of what made them. In a copy: this may be run again.
static bool in_context(struct tx *tx, const struct lease *lease, const struct call *c,
                       struct contract **follow_ups, struct pawl_error *err)
{
    struct str context = c->context;
    *follow_ups = NULL;
    if (c->follow_up_count == 0)
        return true;
    if (context.n == 0
        && !traced_context(tx, lease->execution, c->traces_per_million, &context, err))
        return false;
    *follow_ups = arena_new(tx->arena, struct contract, c->follow_up_count);
    if (!*follow_ups)
        return fail(err, PAWL_NO_MEMORY, "no memory for %zu jobs", c->follow_up_count);
    for (size_t i = 0; i < c->follow_up_count; i++) {
        (*follow_ups)[i] = c->follow_ups[i];
        if (c->follow_ups[i].traceparent.n == 0)
            (*follow_ups)[i].traceparent = context;
    }
    return true;
}

static bool commit(struct tx *tx, const struct lease *lease, struct call *c,
                   struct pawl_error *err)
{
    struct contract *follow_ups = NULL;
    if (!in_context(tx, lease, c, &follow_ups, err))
        return false;
    struct commit commit = {
        .result = c->result_text,
        .follow_ups = follow_ups,
        .follow_up_count = c->follow_up_count,
        .annotations = c->annotation_texts,
        .annotation_count = c->annotation_count,
        .outputs = { .ids = c->artifact_ids, .count = c->artifacts.count },
        .finish = c->finish,
        .done = c->done,
    };
    return execution_commit(tx, lease, &commit, &c->execution, err);
}

// ----- fail

struct failure_object {
    struct str class, message, detail;
    bool has_class;
};

static const struct field error_fields[] = {
    FIELD(struct failure_object, class, FIELD_TEXT, .required = true, .words = words_said_class,
          .given = offsetof(struct failure_object, has_class),
          .summary = "decides whether another attempt follows"),
    FIELD(struct failure_object, message, FIELD_TEXT, .required = true,
          .summary = "what happened"),
    FIELD(struct failure_object, detail, FIELD_TEXT, .summary = "more, for who looks into it"),
};
static const struct fields error_object = FIELDS(error_fields);

static const struct field fail_fields[] = {
    WHO,
    FIELD(struct call, error, FIELD_OBJECT, .required = true, .inside = &error_object,
          .summary = "why"),
    FIELD(struct call, retry_after_ms, FIELD_NUMBER, .min = 0, .max = 86400000,
          .summary = "no other attempt before this, as a provider's Retry-After asks"),
};

static void fail_check(struct exchange *x, struct call *c, const char *prefix)
{
    struct failure_object object = {0};
    struct str at = str_format(&x->arena, "%serror.", prefix);
    if (!c->error)
        return;
    (void)!fields_read(&error_object, c->error, at.s, &object, &x->problems);
    c->failure = (struct work_error){
        .message = object.message,
        .detail = object.detail,
        .retry_after_us = MILLISECONDS(c->retry_after_ms),
    };
    if (!object.has_class
        || (error_class_parse(object.class, &c->failure.class) && c->failure.class != ERROR_NONE
            && c->failure.class != ERROR_CRASH))
        return;
    problem_add(&x->problems, str_format(&x->arena, "%sclass", at.s).s,
                "must be one of invalid_input validation authorization business_rule "
                "configuration resource_limit timeout_permanent cancelled transient timeout "
                "overload dependency rate_limited");
}

static bool fail_call(struct tx *tx, const struct lease *lease, struct call *c,
                      struct pawl_error *err)
{
    return execution_fail(tx, lease, &c->failure, &c->execution, err);
}

// ----- the verbs

static const struct verb verbs[] = {
    { "start",     FIELDS(who_fields),       NULL,            start },
    { "heartbeat", FIELDS(heartbeat_fields), heartbeat_check, heartbeat },
    { "commit",    FIELDS(commit_fields),    commit_check,    commit },
    { "done",      FIELDS(who_fields),       NULL,            done },
    { "fail",      FIELDS(fail_fields),      fail_check,      fail_call },
    { "release",   FIELDS(who_fields),       NULL,            release },
};

static const struct verb *verb_of(struct str name)
{
    for (size_t i = 0; i < countof(verbs); i++)
        if (str_eq(str_of(verbs[i].name), name))
            return &verbs[i];
    return NULL;
}

static bool call_act(struct tx *tx, struct call *c, struct pawl_error *err)
{
    struct lease lease = {
        .execution = c->id,
        .attempt = c->attempt,
        .worker = { .worker_id = c->worker_id },
    };
    return c->verb->act(tx, &lease, c, err);
}

static void put_held(struct buf *out, const char *name, const struct call *c)
{
    json_put_open(out, name, '{');
    execution_put(out, &c->execution);
    json_put_bool(out, "cancel_requested", c->execution.cancel_requested_at != 0);
    json_put_close(out, '}');
}

// ----- one call: the verb is the last part of the path

static bool one_prepare(struct exchange *x, struct pawl_error *err)
{
    struct call *c = x->data;
    const char *slash = strrchr(x->route->path, '/');
    c->verb = verb_of(str_of(slash + 1));
    if (!exchange_id(x, 0, &c->id, err))
        return false;
    if (c->verb->check)
        c->verb->check(x, c, "");
    return problems_none(&x->problems, err);
}

static bool one_act(struct exchange *x, struct tx *tx, struct pawl_error *err)
{
    return call_act(tx, x->data, err);
}

static bool one_answer(struct exchange *x, struct pawl_error *err)
{
    struct buf out = buf_new(&x->arena, SIZE_MAX);
    put_held(&out, NULL, x->data);
    return exchange_answer_text(x, 200, &out, err);
}

// ----- a batch: one outcome each

struct batch_call {
    struct str op;
    struct id exec_id;
};

static const struct field batch_fields[] = {
    FIELD(struct batch_call, op, FIELD_TEXT, .required = true, .summary = "what to do"),
    FIELD(struct batch_call, exec_id, FIELD_ID, .required = true, .summary = "with which one"),
};

struct calls {
    const json_t *operations;
    struct call *all;
    size_t count;
};

static const struct field batch_body[] = {
    FIELD(struct calls, operations, FIELD_OBJECTS, .required = true, .min = 1, .max = BATCH_MAX,
          .schema = "Operation",
          .summary = "each with `op`, `exec_id` and the fields of that call"),
};

// `op` and `exec_id` are the batch's, the rest is the call's.
static void read_call(struct exchange *x, const json_t *object, const char *prefix,
                      struct call *call)
{
    static const struct fields fields = FIELDS(batch_fields);
    struct batch_call head = {0};
    SCOPED(json) json_t *first = json_pack("{s:O?,s:O?}", "op", json_object_get(object, "op"),
                                           "exec_id", json_object_get(object, "exec_id"));
    SCOPED(json) json_t *rest = json_copy(json_iterable(object));
    json_object_del(rest, "op");
    json_object_del(rest, "exec_id");
    // What is wrong here does not keep it from looking on: every problem is named.
    (void)!fields_read(&fields, first, prefix, &head, &x->problems);
    call->id = head.exec_id;
    call->verb = verb_of(head.op);
    if (!call->verb && head.op.n)
        problem_add(&x->problems, str_format(&x->arena, "%sop", prefix).s,
                    "must be one of start heartbeat commit done fail release");
    if (!call->verb)
        return;
    (void)!fields_read(&call->verb->fields, rest, prefix, call, &x->problems);
    size_t unread = x->problems.count;
    if (call->verb->check)
        call->verb->check(x, call, prefix);
    problems_once(&x->problems, unread);
}

static bool batch_prepare(struct exchange *x, struct pawl_error *err)
{
    struct calls *calls = x->data;
    calls->count = json_array_size(calls->operations);
    calls->all = arena_new(&x->arena, struct call, calls->count + 1);
    if (!calls->all)
        return fail(err, PAWL_NO_MEMORY, "no memory for %zu operations", calls->count);
    for (size_t i = 0; i < calls->count; i++)
        read_call(x, json_array_get(calls->operations, i),
                  str_format(&x->arena, "operations[%zu].", i).s, &calls->all[i]);
    return problems_none(&x->problems, err);
}

static bool batch_act(struct exchange *x, struct tx *tx, struct pawl_error *err)
{
    struct calls *calls = x->data;
    for (size_t i = 0; i < calls->count; i++) {
        struct pawl_error why = {0};
        if (!call_act(tx, &calls->all[i], &why) && !pawl_code(why.code)->refusal)
            return fail(err, why.code, "%s", why.message);
        calls->all[i].refusal = why;
    }
    return true;
}

static void put_outcome(struct buf *out, const struct call *c)
{
    json_put_open(out, NULL, '{');
    json_put_int(out, "status", pawl_code(c->refusal.code)->http);
    if (c->refusal.code == PAWL_OK)
        put_held(out, "execution", c);
    else
        exchange_put_error(out, &c->refusal);
    json_put_close(out, '}');
}

static bool batch_answer(struct exchange *x, struct pawl_error *err)
{
    struct calls *calls = x->data;
    struct buf out = buf_new(&x->arena, SIZE_MAX);
    buf_expect(&out, calls->count * OUTCOME_BYTES);
    json_put_open(&out, NULL, '{');
    json_put_open(&out, "results", '[');
    for (size_t i = 0; i < calls->count; i++)
        put_outcome(&out, &calls->all[i]);
    json_put_close(&out, ']');
    json_put_close(&out, '}');
    return exchange_answer_text(x, 200, &out, err);
}

#define VERB_ROUTE(word, text, table)                                                             \
    {                                                                                             \
        .method = "POST", .path = "/v1/executions/{id}/" word, .permission = MAY_LEASE,           \
        .kind = ROUTE_WRITE, .summary = text, .data_bytes = sizeof(struct call),                  \
        .body = FIELDS(table), .body_size = BODY_BULK, .prepare = one_prepare, .act = one_act,    \
        .answer = one_answer, .schema = "HeldExecution", .statuses = { 200, 404, 409, 422 },      \
    }

static const struct route rows[] = {
    VERB_ROUTE("start", "LEASED -> IN_PROGRESS: the deadline counts from here.", who_fields),
    VERB_ROUTE("heartbeat", "Extends the lease, reports progress, hears of a cancellation.",
               heartbeat_fields),
    VERB_ROUTE("commit", "IN_PROGRESS -> COMMITTED: the effect, exactly once.", commit_fields),
    VERB_ROUTE("done", "COMMITTED -> DONE: the job has SUCCEEDED.", who_fields),
    VERB_ROUTE("fail", "The attempt failed: the policy decides what follows.", fail_fields),
    VERB_ROUTE("release", "Gives the job back unfinished; burns no attempt.", who_fields),
    {
        .method = "POST", .path = "/v1/executions/batch", .permission = MAY_LEASE,
        .kind = ROUTE_WRITE, .summary = "Many of these calls in one commit, one outcome each.",
        .data_bytes = sizeof(struct calls), .body = FIELDS(batch_body), .body_size = BODY_BULK,
        .prepare = batch_prepare, .act = batch_act, .answer = batch_answer,
        .schema = "Batch", .statuses = { 200, 422 },
    },
};
const struct routes routes_executions = { rows, countof(rows) };
