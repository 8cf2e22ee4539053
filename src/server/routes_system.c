// Routes of the server itself: is it there, is it ready, what is it told to do, who works, what
// was done.
#include "engine/event.h"
#include "engine/workers.h"
#include "model/json_field.h"
#include "server/event_json.h"
#include "server/job_view.h"
#include "server/metrics.h"
#include "server/openapi.h"
#include "server/probe.h"
#include "server/server.h"

enum { PAGE_EVENTS = 50, PAGE_EVENTS_MAX = 500, WORKERS_MAX = 1000 };

#define READY_US SECONDS(1)

// ----- health

static bool health_answer(struct exchange *x, struct pawl_error *err)
{
    json_t *health = json_pack("{s:s,s:s}", "status", "ok", "version", pawl_version());
    return exchange_answer(x, 200, health, err);
}

// Ready: the store can be written, and takes new jobs. Who asks hears of it within a second.
struct readying {
    struct probe *probe;
};

static bool ready_prepare(struct exchange *x, struct pawl_error *err)
{
    struct readying *r = x->data;
    x->wait_until = x->began + READY_US;
    r->probe = probe_begin(x, err);
    return r->probe != NULL;
}

static bool ready_act(struct exchange *x, struct tx *tx, struct pawl_error *err)
{
    const struct readying *r = x->data;
    (void)tx;
    (void)err;
    x->again = !probe_done(r->probe);
    return true;
}

static bool not_ready(struct exchange *x, const char *code, const char *why)
{
    x->retry_after_s = 1;
    exchange_refuse_as(x, 503, code, "%s", why);
    return true;
}

static bool ready_answer(struct exchange *x, struct pawl_error *err)
{
    const struct readying *r = x->data;
    if (atomic_load(&x->server->draining))
        return not_ready(x, "draining", "the server is shutting down");
    if (!probe_done(r->probe))
        return not_ready(x, "busy", "the store could not be written for a second: something else "
                                    "holds its write lock, or its disk is slow");
    struct pawl_error why = probe_error(r->probe);
    if (why.code != PAWL_OK)
        return not_ready(x, pawl_code(why.code)->word, why.message);
    return exchange_answer(x, 200, json_pack("{s:s}", "status", "ready"), err);
}

static void ready_ended(struct exchange *x, bool sent)
{
    const struct readying *r = x->data;
    (void)sent;
    if (r)
        probe_end(r->probe);
}

// ----- metrics and documentation

static bool metrics_answer(struct exchange *x, struct pawl_error *err)
{
    struct gauges gauges = {0};
    if (!server_gauges(x->server, &x->arena, &gauges, err))
        return false;
    x->status = 200;
    x->text = metrics_text(&x->arena, x->server->metrics, &gauges);
    x->content_type = "text/plain; version=0.0.4; charset=utf-8";
    return true;
}

static bool openapi_answer(struct exchange *x, struct pawl_error *err)
{
    x->status = 200;
    x->text = openapi_text();
    return x->text.n > 0 || fail(err, PAWL_NO_MEMORY, "no memory for the document");
}

// Whoever has a key sees the schedules of its org only (OPS-10).
static bool config_answer(struct exchange *x, struct pawl_error *err)
{
    json_t *shown = config_json(&x->arena, x->config);
    json_t *schedules = json_object_get(shown, "schedules");
    for (size_t i = 0; !x->identity.open && i < x->config->schedule_count; i++) {
        const struct config_schedule *one = &x->config->schedules[i];
        if (!str_eq(one->org_id, x->caller.org_id))
            json_object_deln(schedules, one->schedule.name.s, one->schedule.name.n);
    }
    return exchange_answer(x, 200, shown, err);
}

// ----- workers

struct working {
    struct live_worker *workers;
    size_t count;
};

static bool workers_act(struct exchange *x, struct tx *tx, struct pawl_error *err)
{
    struct working *w = x->data;
    return workers_live(tx, WORKERS_MAX, &w->workers, &w->count, err);
}

static bool workers_answer(struct exchange *x, struct pawl_error *err)
{
    struct working *w = x->data;
    json_t *items = json_array();
    for (size_t i = 0; i < w->count; i++)
        json_array_append_new(items, worker_json(&x->arena, &w->workers[i]));
    return exchange_answer(x, 200, exchange_page(x, items, 0), err);
}

// ----- audit

struct auditing {
    struct str event, job_id, cursor;
    int64_t limit;
    struct event_filter filter;
    struct event_list list;
};

static const struct field audit_query[] = {
    FIELD(struct auditing, event, FIELD_TEXT, .words = words_event,
          .summary = "only events of this name"),
    FIELD(struct auditing, job_id, FIELD_TEXT, .summary = "only of this job"),
    FIELD(struct auditing, limit, FIELD_NUMBER, .min = 1, .max = PAGE_EVENTS_MAX,
          .summary = "how many at most; else 50"),
    FIELD(struct auditing, cursor, FIELD_TEXT, .summary = "next_cursor of the page before"),
};

static bool audit_prepare(struct exchange *x, struct pawl_error *err)
{
    struct auditing *a = x->data;
    a->filter.limit = a->limit ? a->limit : PAGE_EVENTS;
    a->filter.has_job = a->job_id.n > 0;
    if (a->filter.has_job && !id_parse(a->job_id, &a->filter.job))
        problem_add(&x->problems, "job_id", "must be the id of a job");
    if (a->event.n && !event_parse(a->event, &a->filter.event))
        problem_add(&x->problems, "event", "must be the name of an event, such as job.failed");
    exchange_cursor(x, a->cursor, &a->filter.before);
    return problems_none(&x->problems, err);
}

static bool audit_act(struct exchange *x, struct tx *tx, struct pawl_error *err)
{
    struct auditing *a = x->data;
    return events_of_org(tx, &a->filter, &a->list, err);
}

static bool audit_answer(struct exchange *x, struct pawl_error *err)
{
    struct auditing *a = x->data;
    json_t *items = json_array();
    for (size_t i = 0; i < a->list.count; i++)
        json_array_append_new(items, event_json(&x->arena, &a->list.events[i]));
    return exchange_answer(x, 200, exchange_page(x, items, a->list.next), err);
}

static const struct route rows[] = {
    {
        .method = "GET", .path = "/healthz", .open = true,
        .always = true, .everywhere = true, .kind = ROUTE_NOW,
        .summary = "The process lives.", .answer = health_answer,
        .schema = "Health", .statuses = { 200 },
    },
    {
        .method = "GET", .path = "/readyz", .open = true,
        .always = true, .everywhere = true, .kind = ROUTE_WAIT,
        .summary = "Requests are served, the store can be written and takes new jobs. Else 503, "
                   "within about a second, with what is wrong.",
        .data_bytes = sizeof(struct readying), .prepare = ready_prepare, .act = ready_act,
        .answer = ready_answer, .ended = ready_ended,
        .schema = "Ready", .statuses = { 200, 503 },
    },
    {
        .method = "GET", .path = "/metrics", .open_on_loopback = true,
        .permission = MAY_READ, .everywhere = true, .kind = ROUTE_NOW,
        .summary = "Metrics, as Prometheus reads them.",
        .answer = metrics_answer, .schema = "Text", .statuses = { 200 },
    },
    {
        .method = "GET", .path = "/openapi.json", .open = true,
        .everywhere = true, .kind = ROUTE_NOW,
        .summary = "This document.", .answer = openapi_answer,
        .schema = "Object", .statuses = { 200 },
    },
    {
        .method = "GET", .path = "/v1/config", .permission = MAY_READ, .kind = ROUTE_NOW,
        .summary = "The configuration in effect, without secrets and schedules of other orgs.",
        .answer = config_answer, .schema = "Object", .statuses = { 200 },
    },
    {
        .method = "GET", .path = "/v1/workers", .permission = MAY_READ, .kind = ROUTE_READ,
        .summary = "Who holds leases of the caller's org, and Pawl's own processes that could.",
        .data_bytes = sizeof(struct working),
        .act = workers_act, .answer = workers_answer, .schema = "WorkerPage", .statuses = { 200 },
    },
    {
        .method = "GET", .path = "/v1/audit", .permission = MAY_READ, .kind = ROUTE_READ,
        .summary = "What was done in the caller's org, newest first.",
        .data_bytes = sizeof(struct auditing), .query = FIELDS(audit_query),
        .prepare = audit_prepare, .act = audit_act, .answer = audit_answer,
        .schema = "EventPage", .statuses = { 200, 404, 422 },
    },
};
const struct routes routes_system = { rows, countof(rows) };
