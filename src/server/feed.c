// A stream reads the store whenever the hub says that something happened.
#include "server/feed.h"

#include <string.h>

#include "engine/event.h"
#include "engine/job.h"
#include "server/event_json.h"
#include "server/hub.h"
#include "server/route.h"
#include "server/server.h"

enum { EVENTS_AT_ONCE = 200,
       PIECE_BYTES = 256 << 10 };

struct stream {
    struct str last_event_id;  // of the header or the query: go on after it
    int64_t seen;              // the number of the last event that was sent, or passed over
    struct arena arena;        // of what is being sent
    struct str text;           // ... as far as it has not been
    int64_t spoke;             // monotonic, when something was sent last
};

static const struct field events_query[] = {
    FIELD(struct stream, last_event_id, FIELD_TEXT,
          .summary = "go on after this event, as the header Last-Event-ID says"),
};

// As many as fit; the others come with the next piece.
static void add_events(struct stream *s, const struct event_list *list)
{
    struct buf text = buf_new(&s->arena, SIZE_MAX);
    for (size_t i = 0; i < list->count && text.n < PIECE_BYTES; i++) {
        SCOPED(json) json_t *object = event_json(&s->arena, &list->events[i]);
        struct str json = json_text(&s->arena, object);
        buf_addf(&text, "id: %lld\nevent: %s\ndata: %.*s\n\n", (long long)list->events[i].id,
                 event_name(list->events[i].event), STR(json));
        if (s->arena.failed)
            return;  // the next try begins with this event
        s->seen = list->events[i].id;
        s->text = buf_str(&text);
    }
}

// A stream that is far behind goes through other orgs' events too, a bounded number at a time, and
// says so: meanwhile others are answered.
static bool read_events(struct exchange *x, struct stream *s, struct pawl_error *err)
{
    struct reading reading;
    struct event_list list = {0};
    int64_t looked_at = s->seen;
    arena_end(&s->arena);
    s->text = S("");
    if (!server_begin_read(x->server, &reading, &s->arena, err))
        return false;
    reading.tx.caller = &x->caller;
    bool done = caller_wall(&reading.tx, err)
             && identity_stands(&x->identity, &reading.tx, err)
             && events_after(&reading.tx, &looked_at, EVENTS_AT_ONCE, &list, err);
    if (done)
        add_events(s, &list);
    server_end_read(x->server, &reading);
    if (!done || list.count > 0)
        return done;
    s->seen = looked_at;
    if (list.next)
        s->text = S(": going on\n\n");
    return true;
}

static size_t give(struct stream *s, char *into, size_t room)
{
    size_t bytes = s->text.n < room ? s->text.n : room;
    memcpy(into, s->text.s, bytes);
    s->text = (struct str){ s->text.s + bytes, s->text.n - bytes };
    return bytes;
}

ssize_t feed_next(struct exchange *x, char *into, size_t room)
{
    struct stream *s = x->data;
    struct pawl_error err = {0};
    int64_t now = world_monotonic(x->server->pawl->world);
    if (s->text.n == 0 && read_events(x, s, &err) && s->text.n == 0 && now - s->spoke > SECONDS(14))
        s->text = S(": still here\n\n");
    if (err.code == PAWL_UNAUTHORIZED)
        return -1;
    if (s->text.n > 0)
        s->spoke = now;
    return (ssize_t)give(s, into, room);
}

// ----- the route

static bool newest_event(struct tx *tx, int64_t *id, struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    if (!sql_ask_plain(tx, &rows, Q_AUDIT_NEWEST, err))
        return false;
    *id = rows_next(&rows) ? row_int(&rows) : 0;
    return rows_ok(&rows, err);
}

static bool events_prepare(struct exchange *x, struct pawl_error *err)
{
    struct stream *s = x->data;
    if (x->last_event_id.n && !s->last_event_id.n)
        s->last_event_id = x->last_event_id;
    if (s->last_event_id.n && (!str_int(s->last_event_id, &s->seen) || s->seen < 0))
        problem_add(&x->problems, "last_event_id", "must be the id of an event");
    return problems_none(&x->problems, err) && hub_enter_feed(x, err);
}

// Without a place to go on from a stream begins now.
static bool events_act(struct exchange *x, struct tx *tx, struct pawl_error *err)
{
    struct stream *s = x->data;
    return s->last_event_id.n > 0 || newest_event(tx, &s->seen, err);
}

static bool events_answer(struct exchange *x, struct pawl_error *err)
{
    (void)err;
    x->status = 200;
    x->stream = true;
    x->content_type = "text/event-stream";
    return true;
}

static void events_ended(struct exchange *x, bool sent)
{
    struct stream *s = x->data;
    (void)sent;
    if (s)
        arena_end(&s->arena);
}

static const struct route rows[] = {
    {
        .method = "GET", .path = "/v1/events", .permission = MAY_READ, .kind = ROUTE_READ,
        .summary = "What happens, as it happens: server-sent events, one per audit event.",
        .data_bytes = sizeof(struct stream), .query = FIELDS(events_query),
        .prepare = events_prepare, .act = events_act, .answer = events_answer,
        .ended = events_ended, .schema = "EventStream", .statuses = { 200, 422 },
    },
};
const struct routes routes_events = { rows, countof(rows) };
