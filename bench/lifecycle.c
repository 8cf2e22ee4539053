// The machine is never twice the same, so the things that are compared take turns, and the median
// turn counts. Of the lifecycle it is one turn whole: its enqueue and drain belong together.
#include <stdlib.h>

#include "bench/measure.h"
#include "bench/parts.h"

enum { TURNS_MAX = 5, CONTROL_ROWS_PER_JOB = 5 };

struct turn {
    double enqueue_s, drain_s, claim_s, processor_s;  // claims are a part of the drain
};

static double whole(const struct turn *turn)
{
    return turn->enqueue_s + turn->drain_s;
}

static int compare(const void *a, const void *b)
{
    double x = whole(a), y = whole(b);
    return (x > y) - (x < y);
}

static struct turn median_turn(struct turn *turns, long count)
{
    qsort(turns, (size_t)count, sizeof *turns, compare);
    return turns[count / 2];
}

static bool live(struct stand *stand, long jobs, struct turn *turn, struct pawl_error *err)
{
    double start = seconds_now(), processor = processor_seconds();
    if (!stand_enqueue(stand, NULL, jobs, err))
        return false;
    double enqueued = seconds_now(), claims = stand->claim_s;
    if (!stand_drain(stand, jobs, err))
        return false;
    *turn = (struct turn){ enqueued - start, seconds_now() - enqueued,
                           stand->claim_s - claims, processor_seconds() - processor };
    return true;
}

static bool insert(struct control *control, long rows, double *per_s, double *processor_us,
                   struct pawl_error *err)
{
    double start = seconds_now(), processor = processor_seconds();
    bool done = control_insert(control, rows, err);
    *per_s = (double)rows / (seconds_now() - start);
    *processor_us = (processor_seconds() - processor) * 1e6 / (double)rows;
    return done;
}

static void note_turns(struct bench *b, const struct turn *stand, const struct turn *base,
                       long jobs)
{
    double n = (double)jobs;
    bench_note(b, FIGURE_ENQUEUE_PER_S, n / stand->enqueue_s);
    bench_note(b, FIGURE_DRAIN_PER_S, n / stand->drain_s);
    bench_note(b, FIGURE_CLAIM_PER_S, n / stand->claim_s);
    bench_note(b, FIGURE_LIFECYCLE_PER_S, n / whole(stand));
    bench_note(b, FIGURE_LIFECYCLE_CPU_US, stand->processor_s * 1e6 / n);
    bench_note(b, FIGURE_LIFECYCLE_OVER_CONTROL,
               n / whole(stand) / b->figures[FIGURE_CONTROL_INSERT_PER_S]);
    if (!b->base)
        return;
    bench_note(b, FIGURE_BASE_LIFECYCLE_PER_S, n / whole(base));
    bench_note(b, FIGURE_LIFECYCLE_OVER_BASE, whole(base) / whole(stand));
    bench_note(b, FIGURE_CLAIM_OVER_BASE, base->claim_s / stand->claim_s);
}

bool measure_lifecycle(struct bench *b, const struct lifecycle *on, struct pawl_error *err)
{
    long batches = b->options.jobs / b->options.batch;
    long turns = batches < 1 ? 1 : batches < TURNS_MAX ? batches
                                                       : TURNS_MAX;
    long jobs = b->options.jobs / turns, rows = CONTROL_ROWS_PER_JOB * jobs;
    struct turn stand[TURNS_MAX], base[TURNS_MAX] = {0};
    double control[TURNS_MAX], control_us[TURNS_MAX];
    for (long i = 0; i < turns; i++) {
        bench_progress(b, "lifecycle", i, turns);
        if (!insert(on->control, rows, &control[i], &control_us[i], err)
            || (on->base && !live(on->base, jobs, &base[i], err))
            || !live(on->stand, jobs, &stand[i], err))
            return false;
    }
    struct turn stand_median = median_turn(stand, turns), base_median = median_turn(base, turns);
    bench_note(b, FIGURE_CONTROL_INSERT_PER_S, median(control, (size_t)turns));
    bench_note(b, FIGURE_CONTROL_CPU_US, median(control_us, (size_t)turns));
    note_turns(b, &stand_median, &base_median, jobs);
    return true;
}
