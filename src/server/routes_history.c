// Routes that tell what has happened to one job: executions, audit trail, steps, log lines, and why
// it is where it is.
#include "engine/event.h"
#include "engine/execution.h"
#include "engine/explain.h"
#include "engine/log.h"
#include "engine/step.h"
#include "model/json_field.h"
#include "server/event_json.h"
#include "server/job_view.h"

enum { LOG_LINES = 1000, LOG_LINES_MAX = 10000 };

struct history {
    struct one_job one;
    struct execution *executions;
    struct audit_event *events;
    struct step *steps;
    size_t count;
    struct log_page log;
    struct explanation explanation;
    int64_t limit;
    struct str cursor;
};

static bool load(struct exchange *x, struct tx *tx, struct history *h, struct pawl_error *err)
{
    (void)x;
    return job_load(tx, h->one.id, &h->one.job, err);
}

static bool answer_list(struct exchange *x, json_t *items, int64_t next, struct pawl_error *err)
{
    return exchange_answer(x, 200, exchange_page(x, items, next), err);
}

// ----- executions

static bool executions_act(struct exchange *x, struct tx *tx, struct pawl_error *err)
{
    struct history *h = x->data;
    return load(x, tx, h, err)
        && executions_of_job(tx, h->one.id.high, &h->executions, &h->count, err);
}

static bool executions_answer(struct exchange *x, struct pawl_error *err)
{
    struct history *h = x->data;
    json_t *items = json_array();
    for (size_t i = 0; i < h->count; i++)
        json_array_append_new(items, execution_json(&x->arena, &h->executions[i]));
    return answer_list(x, items, 0, err);
}

// ----- audit

static bool audit_act(struct exchange *x, struct tx *tx, struct pawl_error *err)
{
    struct history *h = x->data;
    return load(x, tx, h, err) && events_of_job(tx, h->one.id.high, &h->events, &h->count, err);
}

static bool audit_answer(struct exchange *x, struct pawl_error *err)
{
    struct history *h = x->data;
    json_t *items = json_array();
    for (size_t i = 0; i < h->count; i++)
        json_array_append_new(items, job_event_json(&x->arena, &h->one.job, &h->events[i]));
    return answer_list(x, items, 0, err);
}

// ----- steps

static bool steps_act(struct exchange *x, struct tx *tx, struct pawl_error *err)
{
    struct history *h = x->data;
    return load(x, tx, h, err) && steps_of_job(tx, h->one.id.high, &h->steps, &h->count, err);
}

static bool steps_answer(struct exchange *x, struct pawl_error *err)
{
    struct history *h = x->data;
    json_t *items = json_array();
    for (size_t i = 0; i < h->count; i++)
        json_array_append_new(items, step_view(x, &h->steps[i]));
    return answer_list(x, items, 0, err);
}

// ----- logs

static const struct field log_query[] = {
    FIELD(struct history, limit, FIELD_NUMBER, .min = 1, .max = LOG_LINES_MAX,
          .summary = "how many lines at most; else 1,000"),
    FIELD(struct history, cursor, FIELD_TEXT, .summary = "next_cursor of the page before"),
};

static bool logs_prepare(struct exchange *x, struct pawl_error *err)
{
    struct history *h = x->data;
    h->log.limit = h->limit ? h->limit : LOG_LINES;
    exchange_cursor(x, h->cursor, &h->log.after);
    return problems_none(&x->problems, err) && one_job_prepare(x, err);
}

static bool logs_act(struct exchange *x, struct tx *tx, struct pawl_error *err)
{
    struct history *h = x->data;
    return load(x, tx, h, err) && logs_of_job(tx, h->one.id.high, &h->log, err);
}

static bool logs_answer(struct exchange *x, struct pawl_error *err)
{
    struct history *h = x->data;
    const struct log_page *page = &h->log;
    json_t *items = json_array();
    for (size_t i = 0; i < page->count; i++) {
        const struct log_line *line = &page->lines[i];
        struct json_field fields[] = {
            { "at", json_time_or_null(&x->arena, line->at) },
            { "attempt", json_integer(line->attempt) },
            { "exec_id", json_text_or_null(id_text(&x->arena, line->execution)) },
            { "text", json_stringn(line->text.s, line->text.n) },
        };
        json_array_append_new(items, json_object_of(fields, countof(fields)));
    }
    bool more = page->count > 0 && (int64_t)page->count == page->limit;
    return answer_list(x, items, more ? page->lines[page->count - 1].seq : 0, err);
}

// ----- explain

static bool explain_act(struct exchange *x, struct tx *tx, struct pawl_error *err)
{
    struct history *h = x->data;
    return job_explain(tx, h->one.id, &h->explanation, err);
}

static bool explain_answer(struct exchange *x, struct pawl_error *err)
{
    const struct history *h = x->data;
    return exchange_answer(x, 200, explanation_json(&x->arena, &h->explanation), err);
}

#define HISTORY(word, text, page)                                                            \
    {                                                                                             \
        .method = "GET", .path = "/v1/jobs/{id}/" #word, .permission = MAY_READ,                  \
        .kind = ROUTE_READ, .summary = text, .data_bytes = sizeof(struct history),                \
        .prepare = one_job_prepare, .act = word##_act, .answer = word##_answer,                   \
        .schema = page, .statuses = { 200, 404, 422 },                             \
    }

static const struct route rows[] = {
    HISTORY(executions, "Every attempt at the job, oldest first.", "ExecutionPage"),
    HISTORY(audit, "Everything that happened to the job, oldest first.", "EventPage"),
    HISTORY(steps, "The results of its steps.", "StepPage"),
    {
        .method = "GET", .path = "/v1/jobs/{id}/explain", .permission = MAY_READ,
        .kind = ROUTE_READ, .whole_store = "who has the turn of a queue is asked of all orgs; what "
                                           "it tells of them is numbers",
        .summary = "Why the job is where it is, what it waits for, what to do next.",
        .data_bytes = sizeof(struct history), .prepare = one_job_prepare, .act = explain_act,
        .answer = explain_answer, .schema = "Explanation", .statuses = { 200, 404, 422 },
    },
    {
        .method = "GET", .path = "/v1/jobs/{id}/logs", .permission = MAY_READ, .kind = ROUTE_READ,
        .summary = "What its commands said on standard error, oldest first.",
        .data_bytes = sizeof(struct history), .query = FIELDS(log_query),
        .prepare = logs_prepare, .act = logs_act, .answer = logs_answer,
        .schema = "LogPage", .statuses = { 200, 404, 422 },
    },
};
const struct routes routes_history = { rows, countof(rows) };
