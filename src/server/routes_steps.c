// Routes of steps: durable parts of a run, for remote workers. The first write wins.
#include "engine/step.h"
#include "model/text_rule.h"
#include "server/event_json.h"
#include "server/job_view.h"

struct stepping {
    struct str worker_id;
    int64_t attempt;
    const json_t *result, *error;
    struct lease lease;
    struct str result_text, message;
    struct step step;
};

#define WHO                                                                                       \
    FIELD(struct stepping, worker_id, FIELD_TEXT, .required = true, .min = 1,                     \
          .max = KEY_BYTES_MAX, .summary = "as it was leased"),                                   \
        FIELD(struct stepping, attempt, FIELD_NUMBER, .required = true, .min = 1,                 \
              .max = INT32_MAX, .summary = "as it was leased")

static const struct field get_query[] = { WHO };

struct step_error {
    struct str message;
};
static const struct field error_fields[] = {
    FIELD(struct step_error, message, FIELD_TEXT, .required = true, .min = 1,
          .max = ERROR_MESSAGE_BYTES_MAX, .summary = "why it failed"),
};
static const struct fields error_object = FIELDS(error_fields);

static const struct field put_body[] = {
    WHO,
    FIELD(struct stepping, result, FIELD_VALUE, .summary = "what came out of the step; or"),
    FIELD(struct stepping, error, FIELD_OBJECT, .inside = &error_object,
          .summary = "the try failed; `may_retry` says whether another is allowed"),
};

static bool get_prepare(struct exchange *x, struct pawl_error *err)
{
    struct stepping *s = x->data;
    if (s->worker_id.n == 0)
        problem_add(&x->problems, "worker_id", "must be given");
    if (s->attempt == 0)
        problem_add(&x->problems, "attempt", "must be given");
    if (x->path_parts[1].n > STEP_NAME_BYTES_MAX || !text_is_key(x->path_parts[1]))
        problem_add(&x->problems, "name", "must be 1 to %d bytes of printable UTF-8",
                    STEP_NAME_BYTES_MAX);
    s->lease = (struct lease){ .attempt = s->attempt, .worker = { .worker_id = s->worker_id } };
    return exchange_id(x, 0, &s->lease.execution, err) && problems_none(&x->problems, err);
}

static bool put_prepare(struct exchange *x, struct pawl_error *err)
{
    struct stepping *s = x->data;
    struct step_error error = {0};
    if ((s->result != NULL) == (s->error != NULL))
        problem_add(&x->problems, "result", "either result or error must be given");
    if (s->error && fields_read(&error_object, s->error, "error.", &error, &x->problems))
        s->message = error.message;
    if (s->result)
        s->result_text = json_text(&x->arena, s->result);
    return get_prepare(x, err);
}

static bool get_act(struct exchange *x, struct tx *tx, struct pawl_error *err)
{
    struct stepping *s = x->data;
    return step_get(tx, &s->lease, x->path_parts[1], &s->step, err);
}

static bool put_act(struct exchange *x, struct tx *tx, struct pawl_error *err)
{
    struct stepping *s = x->data;
    if (s->error)
        return step_fail(tx, &s->lease, x->path_parts[1], s->message, &s->step, err);
    return step_put(tx, &s->lease, x->path_parts[1], s->result_text, &s->step, err);
}

static bool step_answer(struct exchange *x, struct pawl_error *err)
{
    struct stepping *s = x->data;
    json_t *object = step_view(x, &s->step);
    if (object)
        json_object_set_new(object, "may_retry", json_boolean(s->step.may_retry));
    return exchange_answer(x, 200, object, err);
}

static const struct route rows[] = {
    {
        .method = "GET", .path = "/v1/executions/{id}/steps/{name}", .permission = MAY_LEASE,
        .kind = ROUTE_READ, .summary = "A step as it stands, for the worker that holds the job.",
        .data_bytes = sizeof(struct stepping), .query = FIELDS(get_query),
        .prepare = get_prepare, .act = get_act, .answer = step_answer,
        .schema = "HeldStep", .statuses = { 200, 404, 409, 422 },
    },
    {
        .method = "PUT", .path = "/v1/executions/{id}/steps/{name}", .permission = MAY_LEASE,
        .kind = ROUTE_WRITE, .summary = "The result of a step: the same value again is fine.",
        .data_bytes = sizeof(struct stepping), .body = FIELDS(put_body), .body_size = BODY_BULK,
        .prepare = put_prepare, .act = put_act, .answer = step_answer,
        .schema = "HeldStep", .statuses = { 200, 404, 409, 422 },
    },
};
const struct routes routes_steps = { rows, countof(rows) };
