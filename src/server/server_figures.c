// What is so now, and what happened to the server itself.
#include <string.h>
#include <sys/stat.h>

#include "base/list.h"
#include "engine/queue.h"
#include "model/json_field.h"
#include "model/text_rule.h"
#include "server/hub.h"
#include "server/log.h"
#include "server/metrics.h"
#include "server/server.h"
#include "server/tracer.h"

enum { WHY_BYTES_MAX = 1000 };

// ----- figures

static const struct caller every_org = { .actor_type = ACTOR_SYSTEM };

static void add_queue(struct arena *arena, const struct queue_view *q, pawl_time now,
                      struct list *depths, struct list *ages)
{
    (void)arena;
    for (int place = 0; place < PLACES; place++) {
        struct queue_depth *depth = list_add(depths);
        if (depth)
            *depth = (struct queue_depth){
                q->name, str_of(queue_place_name((enum queue_place)place)), q->at[place]
            };
    }
    struct queue_age *age = list_add(ages);
    if (age)
        *age = (struct queue_age){ q->name, q->oldest_ready_at ? now - q->oldest_ready_at : 0 };
}

static bool read_queues(struct server *s, struct arena *arena, struct gauges *gauges,
                        struct pawl_error *err)
{
    struct reading reading;
    struct queue_view *queues = NULL;
    size_t count = 0;
    struct list depths = list_of(arena, sizeof(struct queue_depth));
    struct list ages = list_of(arena, sizeof(struct queue_age));
    if (!server_begin_read(s, &reading, arena, err))
        return false;
    reading.tx.caller = &every_org;
    bool done = queues_list(&reading.tx, &queues, &count, err);
    for (size_t i = 0; done && i < count; i++)
        add_queue(arena, &queues[i], reading.tx.now, &depths, &ages);
    gauges->wal_bytes = db_wal_bytes(reading.db);
    server_end_read(s, &reading);
    gauges->depths = depths.items;
    gauges->depth_count = depths.count;
    gauges->ages = ages.items;
    gauges->age_count = ages.count;
    return done;
}

bool server_gauges(struct server *s, struct arena *arena, struct gauges *gauges,
                   struct pawl_error *err)
{
    struct stat file;
    struct str path = str_of(s->pawl->options.store);
    *gauges = (struct gauges){
        .runner = pawl_figures(s->pawl),
        .spans = tracer_figures(s->tracer),
        .http_waiting = (int64_t)hub_waiting(s->hub),
    };
    if (str_starts(path, S("sqlite:")) && stat(path.s + strlen("sqlite:"), &file) == 0)
        gauges->store_bytes = file.st_size;
    return read_queues(s, arena, gauges, err);
}

// ----- the trail

struct recording {
    struct operation operation;
    const char *subject;
    enum event event;
    struct str detail;
};

static bool record_write(struct tx *tx, struct operation *self, struct pawl_error *err)
{
    struct recording *r = (struct recording *)self;
    return event_append_for(tx, 0, str_of(r->subject), r->event, r->detail, err);
}

static struct str detail(struct arena *arena, const struct server *s, const char *why)
{
    static const char *const parts[] = {
        [SERVER_ALL] = "all", [SERVER_API] = "api", [SERVER_WORKER] = "worker"
    };
    const struct json_field fields[] = {
        { "instance", json_string(s->pawl->options.instance) },
        { "part", json_string(parts[s->only]) },
        { "version", json_string(pawl_version()) },
        { "text", json_text_or_null(text_clip(str_of(why), WHY_BYTES_MAX)) },
    };
    SCOPED(json) json_t *object = json_object_of(fields, countof(fields));
    return json_text(arena, object);
}

void server_record(struct server *s, const char *subject, enum event event, const char *why)
{
    SCOPED(arena) struct arena arena = {0};
    struct pawl_error err = {0};
    struct recording r = {
        .operation = { .run = record_write, .arena = &arena, .caller = &caller_pawl },
        .subject = subject,
        .event = event,
        .detail = detail(&arena, s, why),
    };
    if (!pipeline_do(s->pawl->pipeline, &r.operation, &err)) {
        struct log_entry entry = { .level = LOG_LEVEL_WARNING,
                                   .event = "EVENT_LOST",
                                   .message = str_of(err.message) };
        log_write(s->log, &entry);
    }
}
