// Single jobs through threads: enqueued by many at once, drained by the runner, picked up one at a
// time. Again in turns with what they are compared to.
#include "bench/measure.h"
#include "bench/parts.h"
#include "bench/runs.h"
#include "bench/turns.h"

enum { SINGLES = 1000, SAMPLES = 2000 };

static long least(long a, long b)
{
    return a < b ? a : b;
}

// One thread enqueues a tenth of what all do: it takes about as long.
static bool measure_threads(struct bench *b, struct runs *runs, struct pawl_error *err)
{
    long threads = b->options.threads, one = least(SINGLES / TURNS, b->options.jobs);
    long all = 10 * one > threads ? 10 * one : threads;
    struct way ways[] = {
        { one, runs_enqueue, &(struct runs_crew){ runs, 1 } },
        { all, runs_enqueue, &(struct runs_crew){ runs, threads } },
    };
    struct rates rates;
    if (!take_turns(&b->options, "single enqueues", ways, &rates, err))
        return false;
    bench_note(b, FIGURE_ONE_THREAD_ENQUEUE_PER_S, rates.per_s[0]);
    bench_note(b, FIGURE_THREADS_ENQUEUE_PER_S, rates.per_s[1]);
    bench_note(b, FIGURE_THREADS_OVER_ONE, rates.ratio);
    return true;
}

struct crowd {
    struct control *control;
    long connections;
};

static bool insert_singly(void *self, long rows, double *seconds, struct pawl_error *err)
{
    const struct crowd *crowd = self;
    return control_crowd(crowd->control, crowd->connections, rows, seconds, err);
}

// A server takes many connections at once: so does what it is compared with.
static bool measure_crowd(struct bench *b, struct runs *runs, struct control *control,
                          struct pawl_error *err)
{
    long threads = b->options.threads, jobs = threads * (SINGLES / TURNS);
    struct way ways[] = {
        { jobs, insert_singly, &(struct crowd){ control, threads } },
        { jobs, runs_enqueue, &(struct runs_crew){ runs, threads } },
    };
    struct rates rates;
    if (!take_turns(&b->options, "single inserts", ways, &rates, err))
        return false;
    bench_note(b, FIGURE_CONTROL_SINGLES_PER_S, rates.per_s[0]);
    bench_note(b, FIGURE_THREADS_OVER_CONTROL, rates.ratio);
    return true;
}

// The first turn empties the store of what the threads have enqueued, and does not count.
static bool measure_drain(struct bench *b, struct runs *runs, struct pawl_error *err)
{
    long jobs = b->options.jobs / TURNS > 0 ? b->options.jobs / TURNS : 1;
    double per_s[TURNS], took;
    if (!runs_drain(runs, 1, &took, err))
        return false;
    for (long i = 0; i < TURNS; i++) {
        bench_progress(b, "runner", i, TURNS);
        if (!runs_drain(runs, jobs, &took, err))
            return false;
        per_s[i] = (double)jobs / took;
    }
    bench_note(b, FIGURE_RUNNER_DRAIN_PER_S, median(per_s, TURNS));
    return true;
}

// From rest, as a pickup begins.
static bool commit_one(struct control *control, double *microseconds, struct pawl_error *err)
{
    world_sleep(world_real(), RUNS_PAUSE_US);
    double start = seconds_now();
    bool done = control_commit_one(control, err);
    *microseconds = (seconds_now() - start) * 1e6;
    return done;
}

// Of each turn. Another program that has the disk for a moment spoils one of them.
struct pickup_times {
    double commit_p50[TURNS], commit_p99[TURNS], pickup_p50[TURNS], pickup_p99[TURNS];
    double p50_ratio[TURNS], p99_ratio[TURNS];
};

static void note_pickup(struct bench *b, struct pickup_times *t)
{
    bench_note(b, FIGURE_RAW_COMMIT_P50_US, median(t->commit_p50, TURNS));
    bench_note(b, FIGURE_RAW_COMMIT_P99_US, median(t->commit_p99, TURNS));
    bench_note(b, FIGURE_PICKUP_P50_US, median(t->pickup_p50, TURNS));
    bench_note(b, FIGURE_PICKUP_P99_US, median(t->pickup_p99, TURNS));
    bench_note(b, FIGURE_PICKUP_P50_OVER_COMMIT, median(t->p50_ratio, TURNS));
    bench_note(b, FIGURE_PICKUP_P99_OVER_COMMIT, median(t->p99_ratio, TURNS));
}

static bool measure_pickup(struct bench *b, struct runs *runs, struct control *control,
                           struct pawl_error *err)
{
    double commits[SAMPLES / TURNS], pickups[SAMPLES / TURNS];
    struct pickup_times t;
    long samples = least(SAMPLES / TURNS, b->options.jobs);
    for (long turn = 0; turn < TURNS; turn++) {
        bench_progress(b, "pickup", turn, TURNS);
        for (long i = 0; i < samples; i++)
            if (!commit_one(control, &commits[i], err) || !runs_pickup(runs, &pickups[i], err))
                return false;
        t.commit_p50[turn] = median(commits, (size_t)samples);
        t.commit_p99[turn] = quantile(commits, (size_t)samples, 0.99);
        t.pickup_p50[turn] = median(pickups, (size_t)samples);
        t.pickup_p99[turn] = quantile(pickups, (size_t)samples, 0.99);
        t.p50_ratio[turn] = t.pickup_p50[turn] / t.commit_p50[turn];
        t.p99_ratio[turn] = t.pickup_p99[turn] / t.commit_p50[turn];
    }
    note_pickup(b, &t);
    return true;
}

bool measure_runs(struct bench *b, struct stand *stand, struct control *control,
                  struct pawl_error *err)
{
    SCOPED(runs) struct runs runs = {0};
    return runs_open(&runs, stand, err)
        && measure_threads(b, &runs, err)
        && (!bench_on_server(b) || measure_crowd(b, &runs, control, err))
        && measure_drain(b, &runs, err)
        && measure_pickup(b, &runs, control, err);
}
