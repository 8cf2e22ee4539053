// Lifecycles and nothing else, for a profiler that counts instructions:
//
//   valgrind --tool=callgrind build/bench/profile JOBS [BATCH [QUEUED [STORE]]]
#include <stdio.h>
#include <stdlib.h>

#include "bench/parts.h"
#include "bench/place.h"

static bool number(const char *text, long *value)
{
    int64_t wide = 0;
    bool fits = str_int(str_of(text), &wide) && wide >= 0 && wide <= 100000000;
    *value = (long)wide;
    return fits;
}

static bool run(const char *store, long jobs, long batch, long queued, struct pawl_error *err)
{
    SCOPED(arena) struct arena arena = {0};
    struct stand stand = {0};
    struct stand_options options = {
        .store = store, .batch = batch, .orgs = 1, .types = 1,
        .payload = payload_of(&arena, PAYLOAD_SMALL),
        .workers = 1,
    };
    bool done = stand_open(&stand, &options, err) && stand_enqueue(&stand, NULL, queued, err)
        && stand_enqueue(&stand, NULL, jobs, err) && stand_drain(&stand, jobs, err);
    stand_end(&stand);
    return done;
}

static const char *fresh(struct arena *arena)
{
    return str_cstr(arena, str_format(arena, "sqlite:%s", place_path(arena, PLACE_STORE)));
}

int main(int argc, char **argv)
{
    SCOPED(arena) struct arena arena = {0};
    struct pawl_error err = {0};
    long jobs = 0, batch = 1000, queued = 0;
    const char *directory = getenv("TMPDIR");
    bool sensible = argc >= 2 && argc <= 5 && number(argv[1], &jobs)
        && (argc < 3 || number(argv[2], &batch)) && (argc < 4 || number(argv[3], &queued));
    if (!sensible || batch < 1 || batch > CLAIM_MAX) {
        fprintf(stderr, "usage: profile JOBS [BATCH [QUEUED [STORE]]], BATCH 1 to %d\n", CLAIM_MAX);
        return 2;
    }
    bool done = place_make(directory && *directory ? directory : ".", &err)
        && run(argc > 4 ? argv[4] : fresh(&arena), jobs, batch, queued, &err);
    place_remove();
    if (!done)
        fprintf(stderr, "%s\n", err.message);
    return done ? 0 : 1;
}
