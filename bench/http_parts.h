// The parts of the plan of bench/http.h. Each measures one thing and notes its figures.
#pragma once

#include "bench/control.h"
#include "bench/http.h"
#include "bench/http_client.h"
#include "bench/runs.h"
#include "bench/served.h"
#include "bench/turns.h"

struct http_stand {
    struct http_bench *bench;
    struct served server;
    struct str payload;
    long made;              // so many jobs were posted so far: every one has a key of its own
};

void http_note(struct http_stand *stand, enum http_figure figure, double value);

// What is posted for one job.
struct str http_job(struct arena *arena, const char *type, struct str payload, long number);

// Single jobs from many connections, then batches of a worker, in turns with the library.
CHECKED bool measure_http_load(struct http_stand *stand, struct stand *embedded,
                               struct pawl_error *err);

// Single jobs at a steady rate, in turns with raw commits.
CHECKED bool measure_http_pace(struct http_stand *stand, struct control *control,
                               struct pawl_error *err);

// The server that rests: how soon it is there, what it takes, what workers that wait take.
CHECKED bool measure_http_start(struct http_stand *stand, struct pawl_error *err);
CHECKED bool measure_http_idle(struct http_stand *stand, struct pawl_error *err);
CHECKED bool measure_http_longpolls(struct http_stand *stand, struct pawl_error *err);
