// Routes around the audit trail: the head of its seals, and the erasing of a job's contents, which
// it outlives.
#include "engine/erase.h"
#include "engine/seal.h"
#include "model/json_field.h"
#include "server/job_view.h"

static bool erase_act(struct exchange *x, struct tx *tx, struct pawl_error *err)
{
    struct one_job *o = x->data;
    return job_erase(tx, o->id, &o->job, err);
}

static bool seal_act(struct exchange *x, struct tx *tx, struct pawl_error *err)
{
    return seal_newest(tx, x->data, err);
}

static bool seal_answer(struct exchange *x, struct pawl_error *err)
{
    const struct seal *seal = x->data;
    const struct json_field fields[] = {
        { "seal", json_integer(seal->number) },
        { "last_event_id", json_integer(seal->last_id) },
        { "sealed_at", json_time_or_null(&x->arena, seal->sealed_at) },
        { "hash", json_text_or_null(seal->hash) },
    };
    return exchange_answer(x, 200, json_object_of(fields, countof(fields)), err);
}

static const struct route rows[] = {
    {
        .method = "GET", .path = "/v1/audit/seal", .permission = MAY_KEYS, .kind = ROUTE_READ,
        .summary = "The newest seal of the audit trail: keep its hash, and `pawl audit verify "
                   "--head` finds what was cut off later.",
        .data_bytes = sizeof(struct seal), .act = seal_act, .answer = seal_answer,
        .schema = "Seal", .statuses = { 200 },
    },
    {
        .method = "POST", .path = "/v1/jobs/{id}/erase", .permission = MAY_KEYS,
        .kind = ROUTE_WRITE,
        .summary = "Overwrites payload, result, errors and logs of a job that has ended. Its state "
                   "and its audit trail stay.",
        .data_bytes = sizeof(struct one_job), .body_size = BODY_SMALL, .body_optional = true,
        .prepare = one_job_prepare, .act = erase_act, .answer = one_job_answer,
        .schema = "Job", .statuses = { 200, 404, 409 },
    },
};
const struct routes routes_audit = { rows, countof(rows) };
