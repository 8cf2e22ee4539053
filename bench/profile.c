// Lifecycles and nothing else, for a profiler that counts instructions:
//
//   valgrind --tool=callgrind build/bench/profile JOBS [BATCH [QUEUED [ORGS [STORE]]]]
//
// With several orgs there are eight types. QUEUED jobs are put into the store before; with JOBS 0
// they stay there.
#include <stdio.h>
#include <stdlib.h>

#include "bench/parts.h"
#include "bench/place.h"

enum { MANY_TYPES = 8 };

static bool number(const char *text, long *value)
{
    int64_t wide = 0;
    bool fits = str_int(str_of(text), &wide) && wide >= 0 && wide <= 100000000;
    *value = (long)wide;
    return fits;
}

struct asked {
    long jobs, batch, queued, orgs;
};

static bool run(const char *store, const struct asked *asked, struct pawl_error *err)
{
    SCOPED(arena) struct arena arena = {0};
    struct stand stand = {0};
    struct stand_options options = {
        .store = store, .batch = asked->batch,
        .orgs = asked->orgs, .types = asked->orgs > 1 ? MANY_TYPES : 1,
        .payload = payload_of(&arena, PAYLOAD_SMALL),
        .workers = 1,
    };
    bool done = stand_open(&stand, &options, err)
        && stand_enqueue(&stand, NULL, asked->queued, err)
        && stand_enqueue(&stand, NULL, asked->jobs, err) && stand_drain(&stand, asked->jobs, err);
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
    struct asked asked = { .batch = 1000, .orgs = 1 };
    const char *directory = getenv("TMPDIR");
    bool sensible = argc >= 2 && argc <= 6 && number(argv[1], &asked.jobs)
        && (argc < 3 || number(argv[2], &asked.batch))
        && (argc < 4 || number(argv[3], &asked.queued))
        && (argc < 5 || number(argv[4], &asked.orgs));
    if (!sensible || asked.batch < 1 || asked.batch > CLAIM_MAX || asked.orgs < 1) {
        fprintf(stderr, "usage: profile JOBS [BATCH [QUEUED [ORGS [STORE]]]], BATCH 1 to %d\n",
                CLAIM_MAX);
        return 2;
    }
    bool done = place_make(directory && *directory ? directory : ".", &err)
        && run(argc > 5 ? argv[5] : fresh(&arena), &asked, &err);
    place_remove();
    if (!done)
        fprintf(stderr, "%s\n", err.message);
    return done ? 0 : 1;
}
