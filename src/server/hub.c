// Topics in buckets by their hash, waiting exchanges in the order they came, one thread for time.
#include "server/hub.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/hash.h"
#include "server/http.h"
#include "server/server.h"

enum { BUCKETS = 1024,
       TOPICS_PER_LOOK = 64 };  // woken for news that may be for any of them

#define LOOK_US MILLISECONDS(100)

enum topic_kind { TOPIC_LANE, TOPIC_JOB, TOPIC_FEED, TOPIC_KINDS };

struct topic {
    enum topic_kind kind;
    struct str org_id;              // of a lane
    struct texts queues, job_types; // of a lane; no types: all
    struct id job;
    uint64_t news;
    size_t users;                   // exchanges that have entered
    struct exchange *first, **end;  // those that wait
    struct topic *next, **link;     // in its bucket
    struct arena arena;             // the topic itself lives in it
};

struct hub {
    struct server *server;
    const struct world *world;
    pthread_t thread;
    bool has_thread;

    pthread_mutex_t mutex;   // guards everything below, and the waiting part of exchanges
    pthread_cond_t changed;  // somebody began to wait, or it drains
    struct topic *buckets[BUCKETS];
    _Atomic size_t topics;   // read without the mutex: nobody is interested in anything
    size_t waiting;
    struct {
        size_t bucket, left; // where the next look begins, and how many buckets it must see yet
    } looks[TOPIC_KINDS];
    int64_t look_at;         // monotonic, when lanes look because a limit opens; 0: not yet known
    bool draining;
};

// ----- topics

static size_t bucket_of_org(struct str org_id)
{
    static const uint8_t any[HASH_SECRET_BYTES];
    return (size_t)hash_short(any, &org_id, 1) % BUCKETS;
}

static size_t bucket_of_job(struct id job)
{
    return (size_t)(job.low % BUCKETS);
}

static bool texts_eq(const struct texts *a, const struct texts *b)
{
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++)
        if (!str_eq(a->at[i], b->at[i]))
            return false;
    return true;
}

static bool topic_eq(const struct topic *a, const struct topic *b)
{
    return a->kind == b->kind && id_eq(a->job, b->job) && str_eq(a->org_id, b->org_id)
        && texts_eq(&a->queues, &b->queues) && texts_eq(&a->job_types, &b->job_types);
}

static struct texts texts_dup(struct arena *arena, const struct texts *texts)
{
    struct texts copy = { arena_new(arena, struct str, texts->count + 1), texts->count };
    for (size_t i = 0; copy.at && i < texts->count; i++)
        copy.at[i] = str_dup(arena, texts->at[i]);
    return copy;
}

static struct topic *topic_new(const struct topic *like)
{
    struct arena arena = {0};
    struct topic *topic = arena_new(&arena, struct topic, 1);
    if (!topic)
        return NULL;
    *topic = (struct topic){
        .kind = like->kind,
        .org_id = str_dup(&arena, like->org_id),
        .queues = texts_dup(&arena, &like->queues),
        .job_types = texts_dup(&arena, &like->job_types),
        .job = like->job,
    };
    topic->end = &topic->first;
    topic->arena = arena;
    if (!arena.failed)
        return topic;
    arena_end(&arena);
    return NULL;
}

static void topic_free(struct hub *hub, struct topic *topic)
{
    hub->topics--;
    *topic->link = topic->next;
    if (topic->next)
        topic->next->link = topic->link;
    struct arena arena = topic->arena;  // the topic is in it
    arena_end(&arena);
}

static void topic_put(struct hub *hub, struct topic *topic, size_t bucket)
{
    topic->next = hub->buckets[bucket];
    topic->link = &hub->buckets[bucket];
    if (topic->next)
        topic->next->link = &topic->next;
    hub->buckets[bucket] = topic;
    hub->topics++;
}

static bool enter(struct exchange *x, const struct topic *like, size_t bucket,
                  struct pawl_error *err)
{
    struct hub *hub = x->server->hub;
    assert(!x->topic);
    pthread_mutex_lock(&hub->mutex);
    struct topic *topic = hub->buckets[bucket];
    while (topic && !topic_eq(topic, like))
        topic = topic->next;
    if (!topic && (topic = topic_new(like)) != NULL)
        topic_put(hub, topic, bucket);
    if (topic)
        topic->users++;
    pthread_mutex_unlock(&hub->mutex);
    x->topic = topic;
    return topic || fail(err, PAWL_NO_MEMORY, "no memory to wait");
}

bool hub_enter_lane(struct exchange *x, const struct texts *queues, const struct texts *job_types,
                    struct pawl_error *err)
{
    struct topic like = { .kind = TOPIC_LANE,
                          .org_id = x->caller.org_id,
                          .queues = *queues,
                          .job_types = *job_types };
    return enter(x, &like, bucket_of_org(like.org_id), err);
}

bool hub_enter_job(struct exchange *x, struct id job, struct pawl_error *err)
{
    struct topic like = { .kind = TOPIC_JOB, .job = job };
    return enter(x, &like, bucket_of_job(job), err);
}

bool hub_enter_feed(struct exchange *x, struct pawl_error *err)
{
    struct topic like = { .kind = TOPIC_FEED };
    return enter(x, &like, 0, err);
}

void hub_leave(struct exchange *x)
{
    struct topic *topic = x->topic;
    if (!topic)
        return;
    struct hub *hub = x->server->hub;
    pthread_mutex_lock(&hub->mutex);
    assert(!x->parked);
    if (--topic->users == 0)
        topic_free(hub, topic);
    pthread_mutex_unlock(&hub->mutex);
    x->topic = NULL;
}

// ----- waiting

void hub_looks(struct exchange *x)
{
    if (!x->topic)
        return;
    struct hub *hub = x->server->hub;
    pthread_mutex_lock(&hub->mutex);
    x->seen = x->topic->news;
    pthread_mutex_unlock(&hub->mutex);
}

static bool time_over(const struct hub *hub, const struct exchange *x)
{
    return hub->draining || !x->topic || world_monotonic(hub->world) >= x->wait_until;
}

bool hub_time_over(struct exchange *x)
{
    struct hub *hub = x->server->hub;
    pthread_mutex_lock(&hub->mutex);
    bool over = time_over(hub, x);
    pthread_mutex_unlock(&hub->mutex);
    return over;
}

void hub_wait(struct exchange *x)
{
    struct hub *hub = x->server->hub;
    struct topic *topic = x->topic;
    pthread_mutex_lock(&hub->mutex);
    bool waits = topic->news == x->seen && !time_over(hub, x);
    if (waits) {
        x->parked = true;
        x->told = false;
        x->next = NULL;
        x->link = topic->end;
        *topic->end = x;
        topic->end = &x->next;
        if (hub->waiting++ == 0)
            pthread_cond_signal(&hub->changed);
    }
    pthread_mutex_unlock(&hub->mutex);
    if (!waits)
        x->wake(x);
}

// With the mutex held: out of its topic, into a list of those to wake.
static void unpark(struct hub *hub, struct exchange *x, struct exchange **woken)
{
    *x->link = x->next;
    if (x->next)
        x->next->link = x->link;
    else
        x->topic->end = x->link;
    x->parked = false;
    hub->waiting--;
    x->next = *woken;
    *woken = x;
}

// Without the mutex: waking calls elsewhere. The list was built from its end.
static void wake_all(struct exchange *woken)
{
    struct exchange *in_order = NULL;
    while (woken) {
        struct exchange *next = woken->next;
        woken->next = in_order;
        in_order = woken;
        woken = next;
    }
    while (in_order) {
        struct exchange *next = in_order->next;
        in_order->wake(in_order);
        in_order = next;
    }
}

// With the mutex held.
static void topic_news(struct hub *hub, struct topic *topic, struct exchange **woken)
{
    topic->news++;
    while (topic->first) {
        topic->first->told = topic->kind == TOPIC_LANE;
        unpark(hub, topic->first, woken);
        if (topic->kind == TOPIC_LANE)
            break;
    }
}

struct exchange *hub_pass_on(struct exchange *x)
{
    struct hub *hub = x->server->hub;
    struct exchange *next = NULL;
    pthread_mutex_lock(&hub->mutex);
    if (x->told)
        topic_news(hub, x->topic, &next);
    pthread_mutex_unlock(&hub->mutex);
    return next;
}

void hub_lane_goes_on(struct exchange *x)
{
    struct hub *hub = x->server->hub;
    struct exchange *woken = NULL;
    if (!x->topic)
        return;
    pthread_mutex_lock(&hub->mutex);
    topic_news(hub, x->topic, &woken);
    pthread_mutex_unlock(&hub->mutex);
    wake_all(woken);
}

// ----- news

static bool texts_have(const struct texts *texts, struct str text)
{
    for (size_t i = 0; i < texts->count; i++)
        if (str_eq(texts->at[i], text))
            return true;
    return false;
}

void hub_ready(struct hub *hub, struct str org_id, struct str queue, struct str job_type)
{
    struct exchange *woken = NULL;
    pthread_mutex_lock(&hub->mutex);
    for (struct topic *t = hub->buckets[bucket_of_org(org_id)]; t; t = t->next)
        if (t->kind == TOPIC_LANE && str_eq(t->org_id, org_id) && texts_have(&t->queues, queue)
            && (t->job_types.count == 0 || texts_have(&t->job_types, job_type)))
            topic_news(hub, t, &woken);
    pthread_mutex_unlock(&hub->mutex);
    wake_all(woken);
}

void hub_ready_all(struct hub *hub)
{
    struct exchange *woken = NULL;
    pthread_mutex_lock(&hub->mutex);
    for (size_t i = 0; i < BUCKETS; i++)
        for (struct topic *t = hub->buckets[i]; t; t = t->next)
            if (t->kind == TOPIC_LANE)
                topic_news(hub, t, &woken);
    pthread_mutex_unlock(&hub->mutex);
    wake_all(woken);
}

// News that may be for any topic of a kind: some of them at once, the others at the next looks.
static void look_at_some(struct hub *hub, enum topic_kind kind, bool changed)
{
    struct exchange *woken = NULL;
    size_t told = 0;
    pthread_mutex_lock(&hub->mutex);
    if (changed)
        hub->looks[kind].left = BUCKETS;
    for (; hub->looks[kind].left > 0 && told < TOPICS_PER_LOOK; hub->looks[kind].left--) {
        for (struct topic *t = hub->buckets[hub->looks[kind].bucket]; t; t = t->next)
            if (t->kind == kind) {
                topic_news(hub, t, &woken);
                told++;
            }
        hub->looks[kind].bucket = (hub->looks[kind].bucket + 1) % BUCKETS;
    }
    pthread_mutex_unlock(&hub->mutex);
    wake_all(woken);
}

void hub_happened(struct hub *hub)
{
    struct exchange *woken = NULL;
    pthread_mutex_lock(&hub->mutex);
    for (struct topic *t = hub->buckets[0]; t; t = t->next)
        if (t->kind == TOPIC_FEED)
            topic_news(hub, t, &woken);
    pthread_mutex_unlock(&hub->mutex);
    wake_all(woken);
}

void hub_ended(struct hub *hub, struct id job)
{
    struct exchange *woken = NULL;
    pthread_mutex_lock(&hub->mutex);
    for (struct topic *t = hub->buckets[bucket_of_job(job)]; t; t = t->next)
        if (t->kind == TOPIC_JOB && id_eq(t->job, job))
            topic_news(hub, t, &woken);
    pthread_mutex_unlock(&hub->mutex);
    wake_all(woken);
}

void hub_observe(struct hub *hub, const struct observed *o)
{
    if (atomic_load(&hub->topics) == 0)
        return;
    if (o->ready_many || o->incomplete)
        hub_ready_all(hub);
    else if (o->limit_free)
        look_at_some(hub, TOPIC_LANE, true);
    for (size_t i = 0; i < o->ready_count && !o->ready_many; i++)
        hub_ready(hub, o->ready[i].org_id, o->ready[i].queue_name, o->ready[i].job_type);
    for (size_t i = 0; i < o->count; i++)
        if (o->events[i].state != JOB_STATES && job_state_final(o->events[i].state))
            hub_ended(hub, o->events[i].job);
    if (o->count > 0)
        hub_happened(hub);
}

size_t hub_waiting(struct hub *hub)
{
    pthread_mutex_lock(&hub->mutex);
    size_t waiting = hub->waiting;
    pthread_mutex_unlock(&hub->mutex);
    return waiting;
}

// ----- time

void hub_look_at(struct hub *hub, int64_t monotonic)
{
    pthread_mutex_lock(&hub->mutex);
    if (hub->look_at == 0 || monotonic < hub->look_at)
        hub->look_at = monotonic;
    pthread_mutex_unlock(&hub->mutex);
}

// With the mutex held.
static bool limit_opens(struct hub *hub)
{
    bool opens = hub->look_at != 0 && world_monotonic(hub->world) >= hub->look_at;
    if (opens)
        hub->look_at = 0;
    return opens;
}

// With the mutex held: those whose time is over, everybody when it drains.
static void end_waits(struct hub *hub, struct exchange **woken)
{
    for (size_t i = 0; i < BUCKETS; i++)
        for (struct topic *t = hub->buckets[i]; t; t = t->next)
            for (struct exchange *x = t->first, *next; x; x = next) {
                next = x->next;
                if (time_over(hub, x))
                    unpark(hub, x, woken);
            }
}

static void pause_until_next_look(struct hub *hub)
{
    pthread_mutex_unlock(&hub->mutex);
    world_sleep(hub->world, LOOK_US);
    pthread_mutex_lock(&hub->mutex);
}

static void *watch_time(void *self)
{
    struct hub *hub = self;
    int64_t newest = 0;
    pthread_mutex_lock(&hub->mutex);
    while (!hub->draining) {
        if (hub->waiting == 0) {
            pthread_cond_wait(&hub->changed, &hub->mutex);
            continue;
        }
        struct exchange *woken = NULL;
        end_waits(hub, &woken);
        bool opens = limit_opens(hub);
        pthread_mutex_unlock(&hub->mutex);
        wake_all(woken);
        bool changed = server_changed(hub->server, &newest);
        look_at_some(hub, TOPIC_LANE, changed || opens);
        look_at_some(hub, TOPIC_JOB, changed);
        if (changed)
            hub_happened(hub);
        pthread_mutex_lock(&hub->mutex);
        pause_until_next_look(hub);
    }
    pthread_mutex_unlock(&hub->mutex);
    return NULL;
}

bool hub_open(struct hub **hub, struct server *server, struct pawl_error *err)
{
    *hub = calloc(1, sizeof **hub);
    if (!*hub)
        return fail(err, PAWL_NO_MEMORY, "no memory for the server");
    (*hub)->server = server;
    (*hub)->world = server->pawl->world;
    pthread_mutex_init(&(*hub)->mutex, NULL);
    pthread_cond_init(&(*hub)->changed, NULL);
    (*hub)->has_thread = pthread_create(&(*hub)->thread, NULL, watch_time, *hub) == 0;
    return (*hub)->has_thread || fail(err, PAWL_NO_MEMORY, "cannot start a thread");
}

void hub_drain(struct hub *hub)
{
    struct exchange *woken = NULL;
    pthread_mutex_lock(&hub->mutex);
    hub->draining = true;
    end_waits(hub, &woken);
    pthread_cond_signal(&hub->changed);
    pthread_mutex_unlock(&hub->mutex);
    wake_all(woken);
    if (hub->has_thread)  // it looks into the store, which is closed next
        pthread_join(hub->thread, NULL);
    hub->has_thread = false;
}

void hub_close(struct hub *hub)
{
    if (!hub)
        return;
    assert(!hub->has_thread);
    pthread_cond_destroy(&hub->changed);
    pthread_mutex_destroy(&hub->mutex);
    free(hub);
}
