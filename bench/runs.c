// The runner is not asked to tell when a job has ended, which would cost it something: its counters
// are looked at once in a while.
#include "bench/runs.h"

#include <stdlib.h>

#include "bench/crew.h"
#include "bench/measure.h"

#define RUN_TYPE "bench.run"
#define PICKUP_TYPE "bench.pickup"
#define STUCK_S 60  // without a job that ends in between
#define DRAIN_US_MAX MINUTES(1)

static bool run_nothing(struct pawl_run *run, void *context)
{
    (void)run;
    (void)context;
    return true;
}

static bool say_when(struct pawl_run *run, void *context)
{
    struct runs *runs = context;
    (void)run;
    atomic_store(&runs->began_at, world_monotonic(world_real()));
    sem_post(&runs->began);
    return true;
}

bool runs_open(struct runs *r, struct stand *stand, struct pawl_error *err)
{
    *r = (struct runs){ .stand = stand };
    sem_init(&r->began, 0, 0);
    struct pawl_handler drained = { .job_type = RUN_TYPE, .prepare = run_nothing };
    struct pawl_handler picked_up = { .job_type = PICKUP_TYPE, .prepare = say_when, .context = r };
    return pawl_handle(stand->pawl, &drained, err) && pawl_handle(stand->pawl, &picked_up, err);
}

void runs_end(struct runs *r)
{
    if (!r->stand)
        return;
    pawl_stop(r->stand->pawl, DRAIN_US_MAX);
    sem_destroy(&r->began);
    *r = (struct runs){0};
}

// Waits until everything that was asked for has ended.
static bool wait_ended(const struct runs *r, int64_t pause_us, struct pawl_error *err)
{
    int64_t seen = -1;
    double since = seconds_now();
    for (;;) {
        int64_t ended = pawl_figures(r->stand->pawl).succeeded;
        if (ended >= r->asked)
            return true;
        if (ended != seen)
            since = seconds_now();
        else if (seconds_now() - since > STUCK_S)
            return fail(err, PAWL_CONFLICT, "%lld of %lld jobs have ended and the others do not: "
                                            "somebody else works on this store",
                        (long long)ended, (long long)r->asked);
        seen = ended;
        world_sleep(world_real(), pause_us);
    }
}

// ----- many threads

struct producer {
    struct member member;
    struct runs *runs;
    long jobs;
};

static void *produce(void *self)
{
    struct producer *p = self;
    const struct stand *s = p->runs->stand;
    struct pawl_job job = { .job_type = RUN_TYPE,
                            .payload = s->options.payload.s,
                            .queue = STAND_QUEUE };
    for (long i = 0; i < p->jobs; i++)
        if (!pawl_enqueue(s->pawl, &job, NULL, &p->member.error))
            return NULL;
    p->member.error.code = PAWL_OK;
    return NULL;
}

bool runs_enqueue(void *crew, long jobs, double *seconds, struct pawl_error *err)
{
    struct runs *r = ((struct runs_crew *)crew)->runs;
    long threads = ((struct runs_crew *)crew)->threads;
    struct producer *producers = calloc((size_t)threads, sizeof *producers);
    if (!producers)
        return fail(err, PAWL_NO_MEMORY, "no memory for %ld threads", threads);
    for (long i = 0; i < threads; i++) {
        producers[i].runs = r;
        producers[i].jobs = jobs / threads + (i < jobs % threads);
    }
    double start = seconds_now();
    bool done = crew_work(producers, sizeof *producers, threads, produce, err);
    *seconds = seconds_now() - start;
    r->asked += jobs;
    free(producers);
    return done;
}

// ----- the runner

bool runs_drain(struct runs *r, long jobs, double *seconds, struct pawl_error *err)
{
    struct pawl *pawl = r->stand->pawl;
    if (!pawl_drain(pawl, DRAIN_US_MAX, err) || !stand_enqueue(r->stand, RUN_TYPE, jobs, err))
        return false;
    r->asked += jobs;
    double start = seconds_now();
    bool done = pawl_start(pawl, err) && wait_ended(r, MILLISECONDS(1), err);
    *seconds = seconds_now() - start;
    return done;
}

bool runs_pickup(struct runs *r, double *microseconds, struct pawl_error *err)
{
    struct pawl_job job = { .job_type = PICKUP_TYPE,
                            .payload = r->stand->options.payload.s,
                            .queue = STAND_QUEUE };
    int64_t start = world_monotonic(world_real());
    if (!pawl_enqueue(r->stand->pawl, &job, NULL, err))
        return false;
    r->asked++;
    if (!wait_ended(r, RUNS_PAUSE_US, err))
        return false;
    while (sem_wait(&r->began) != 0) {}  // a signal came in between
    *microseconds = (double)(atomic_load(&r->began_at) - start);
    return true;
}
