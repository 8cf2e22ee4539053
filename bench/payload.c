// Small and large jobs take turns in one store, and each transition is timed for itself. Enqueueing
// is left out: it has to write the payload.
#include "bench/measure.h"
#include "bench/parts.h"
#include "bench/place.h"

enum { TURNS_MAX = 5, SINGLES = 30, GROUP = 100, JOBS_FOR_TURNS = 1000, WARM_UP = 80 };

// What was measured of one transition: the time per job of each group.
struct times {
    double of[TRANSITIONS][TURNS_MAX * SINGLES];
    size_t count;
};

struct payload_plan {
    struct stand stand;
    struct str small, large;
};

static bool time_group(struct stand *stand, size_t group, struct times *times,
                       struct pawl_error *err)
{
    for (unsigned t = 0; t < TRANSITIONS; t++) {
        double start = seconds_now();
        if (!stand_move(stand, (enum transition)t, group, err))
            return false;
        times->of[t][times->count] = (seconds_now() - start) * 1e6 / (double)group;
    }
    times->count++;
    return true;
}

static bool time_jobs(struct payload_plan *plan, struct str payload, size_t group, long groups,
                      struct times *times, struct pawl_error *err)
{
    plan->stand.options.payload = payload;
    plan->stand.lease_count = 0;
    // The empty move waits until the log is copied back, which is the price of enqueueing.
    if (!stand_enqueue(&plan->stand, NULL, groups * (long)group, err)
        || !stand_move(&plan->stand, TRANSITION_HEARTBEAT, 0, err))
        return false;
    for (long i = 0; i < groups; i++)
        if (!time_group(&plan->stand, group, times, err))
            return false;
    return true;
}

static bool measure_group(struct bench *b, struct payload_plan *plan, struct transition_cost *cost,
                          struct pawl_error *err)
{
    struct times small = {0}, large = {0};
    long groups = cost->group > 1 ? 1 : SINGLES;
    long turns = b->options.jobs >= JOBS_FOR_TURNS ? TURNS_MAX : 1;
    for (long i = 0; i < turns; i++) {
        bench_progress(b, "payload", i, turns);
        if (!time_jobs(plan, plan->small, (size_t)cost->group, groups, &small, err)
            || !time_jobs(plan, plan->large, (size_t)cost->group, groups, &large, err))
            return false;
    }
    for (unsigned t = 0; t < TRANSITIONS; t++) {
        cost->small_us[t] = median(small.of[t], small.count);
        cost->large_us[t] = median(large.of[t], large.count);
    }
    return true;
}

// So much makes the log of the store as long as it gets: it does not grow while anything counts.
static bool warm_up(struct payload_plan *plan, struct pawl_error *err)
{
    plan->stand.options.payload = plan->large;
    return stand_enqueue(&plan->stand, NULL, WARM_UP, err)
        && stand_drain(&plan->stand, WARM_UP, err);
}

static double sum(const double *values)
{
    double sum = 0;
    for (unsigned t = 0; t < TRANSITIONS; t++)
        sum += values[t];
    return sum;
}

bool measure_payload(struct bench *b, struct pawl_error *err)
{
    SCOPED(arena) struct arena arena = {0};
    struct payload_plan plan = { .small = payload_of(&arena, PAYLOAD_SMALL),
                                 .large = payload_of(&arena, PAYLOAD_LARGE) };
    const char *path = place_path(&arena, PLACE_BASE);
    struct stand_options options = {
        .store = str_cstr(&arena, str_format(&arena, "sqlite:%s", path)),
        .batch = b->options.batch < GROUP ? b->options.batch : GROUP,
        .orgs = 1, .types = 1, .payload = plan.small, .workers = 1,
    };
    b->costs[0].group = 1;
    b->costs[1].group = options.batch;
    bool done = !arena.failed || fail(err, PAWL_NO_MEMORY, "no memory for a large payload");
    done = done && stand_open(&plan.stand, &options, err) && warm_up(&plan, err);
    for (size_t i = 0; done && i < GROUPS; i++)
        done = measure_group(b, &plan, &b->costs[i], err);
    stand_end(&plan.stand);
    place_clear(PLACE_BASE);
    if (done)
        bench_note(b, FIGURE_LARGE_OVER_SMALL,
                   sum(b->costs[0].large_us) / sum(b->costs[0].small_us));
    return done;
}
