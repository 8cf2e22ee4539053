// The three lists of a view, from a store or from a server.
#include "cli/backend.h"
#include "cli/object.h"
#include "cli/remote.h"
#include "cli/session.h"
#include "cli/watch.h"
#include "engine/workers.h"
#include "server/event_json.h"

enum { WORKERS_MAX = 200, EVENTS_LOOKED_AT = 200 };

void view_end(struct view *view)
{
    json_end(&view->queues);
    json_end(&view->workers);
    json_end(&view->ends);
}

static bool is_end(struct str event)
{
    static const char *const ends[] = { "job.succeeded", "job.failed", "job.cancelled" };
    for (size_t i = 0; i < countof(ends); i++)
        if (str_eq(event, str_of(ends[i])))
            return true;
    return false;
}

// Keeps the events that end a job.
static json_t *ends_among(const json_t *events)
{
    json_t *ends = json_array();
    for (size_t i = 0; i < json_array_size(events); i++) {
        json_t *event = json_array_get(events, i);
        if (json_array_size(ends) < ENDS_SEEN_MAX && is_end(object_text(event, "event")))
            json_array_append(ends, event);
    }
    return ends;
}

// ----- a server

static bool ask_list(struct cli *cli, struct str path, json_t **list, struct pawl_error *err)
{
    struct reply reply = {0};
    if (!remote_ask(cli, &(struct request){ .method = "GET", .path = path }, &reply, err))
        return false;
    *list = json_incref(json_object_get(reply.body, "items"));
    json_end(&reply.body);
    return true;
}

static bool look_through_server(struct cli *cli, struct view *view, struct pawl_error *err)
{
    SCOPED(json) json_t *events = NULL;
    struct str path = str_format(&cli->arena, "/v1/audit?limit=%d", EVENTS_LOOKED_AT);
    if (!ask_list(cli, S("/v1/workers"), &view->workers, err)
        || !ask_list(cli, path, &events, err))
        return false;
    view->ends = ends_among(events);
    return true;
}

// ----- a store

static bool look_at_workers(struct cli *cli, struct tx *tx, struct view *view,
                            struct pawl_error *err)
{
    struct live_worker *workers = NULL;
    size_t count = 0;
    if (!workers_live(tx, WORKERS_MAX, &workers, &count, err))
        return false;
    view->workers = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(view->workers, worker_json(&cli->arena, &workers[i]));
    return true;
}

static bool look_at_ends(struct cli *cli, struct tx *tx, struct view *view, struct pawl_error *err)
{
    SCOPED(json) json_t *events = json_array();
    struct event_filter filter = { .limit = EVENTS_LOOKED_AT };
    struct event_list list = {0};
    if (!events_of_org(tx, &filter, &list, err))
        return false;
    for (size_t i = 0; i < list.count; i++)
        json_array_append_new(events, event_json(&cli->arena, &list.events[i]));
    view->ends = ends_among(events);
    return true;
}

// The store is open: the queues were read from it.
static bool look_at_store(struct cli *cli, struct view *view, struct pawl_error *err)
{
    SCOPED(tx) struct tx tx = {0};
    return session_begin(cli, TX_READ, &cli->arena, &tx, err)
        && look_at_workers(cli, &tx, view, err) && look_at_ends(cli, &tx, view, err);
}

bool view_look(struct cli *cli, struct view *view, struct pawl_error *err)
{
    *view = (struct view){0};
    return cli->backend->queues(cli, &view->queues, err)
        && (cli->client ? look_through_server(cli, view, err) : look_at_store(cli, view, err));
}
