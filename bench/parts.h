// The parts of the plan. Each measures one thing and notes its figures.
#pragma once

#include "bench/bench.h"
#include "bench/control.h"

void bench_note(struct bench *bench, enum figure figure, double value);
void bench_progress(const struct bench *bench, const char *part, long done, long total);

bool bench_on_server(const struct bench *bench);  // its store is a server's

struct str payload_of(struct arena *arena, long bytes);  // a JSON object of so many bytes

// The lifecycle on a store, in turns with the control and, when there is one, the base.
struct lifecycle {
    struct stand *stand, *base;  // base: NULL when there is none
    struct control *control;
};
CHECKED bool measure_lifecycle(struct bench *bench, const struct lifecycle *on,
                               struct pawl_error *err);

// Threads that enqueue one by one, the runner, and how soon it picks a job up.
CHECKED bool measure_runs(struct bench *bench, struct stand *stand, struct control *control,
                          struct pawl_error *err);

// What a payload costs per transition, in a store of its own.
CHECKED bool measure_payload(struct bench *bench, struct pawl_error *err);

// What a job takes on disk, in a store of its own.
CHECKED bool measure_disk(struct bench *bench, struct pawl_error *err);
