// Routes of limits: what holds for the caller's org, and letting a paused type go on.
#include "engine/limit.h"
#include "server/exchange.h"
#include "server/route.h"

static bool list_act(struct exchange *x, struct tx *tx, struct pawl_error *err)
{
    return limits_view(tx, x->data, err);
}

static bool list_answer(struct exchange *x, struct pawl_error *err)
{
    return exchange_answer(x, 200, limits_view_json(&x->arena, x->data), err);
}

static bool resume_act(struct exchange *x, struct tx *tx, struct pawl_error *err)
{
    return type_resume(tx, x->path_parts[0], err);
}

static bool resume_answer(struct exchange *x, struct pawl_error *err)
{
    struct str type = x->path_parts[0];
    return exchange_answer(x, 200, json_pack("{s:s%,s:b}", "job_type", type.s, type.n, "paused", 0),
                           err);
}

static const struct route rows[] = {
    {
        .method = "GET", .path = "/v1/limits", .permission = MAY_READ, .kind = ROUTE_READ,
        .summary = "The limits that hold for the caller's org, and the types that are paused.",
        .data_bytes = sizeof(struct limits_view), .act = list_act, .answer = list_answer,
        .schema = "Limits", .statuses = { 200 },
    },
    {
        .method = "POST", .path = "/v1/job_types/{name}/resume", .permission = MAY_QUEUES,
        .kind = ROUTE_WRITE,
        .summary = "Jobs of a type that was paused for the org, because one of them was "
                   "rate_limited, can be claimed again.",
        .data_bytes = sizeof(struct limits_view), .body_size = BODY_SMALL, .body_optional = true,
        .act = resume_act, .answer = resume_answer,
        .schema = "TypeResumed", .statuses = { 200, 404 },
    },
};
const struct routes routes_limits = { rows, countof(rows) };
