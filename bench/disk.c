// The store is closed before it is looked at, so that its log is copied back into the file.
#include <stdlib.h>

#include "bench/measure.h"
#include "bench/parts.h"
#include "bench/place.h"
#include "bench/sizes.h"

enum { JOBS_MAX = 50000, STEADY_BYTES_MAX = 32768 };

// Does one step with the store, closes it, and looks.
static bool step(const struct stand_options *options,
                 bool (*work)(struct stand *stand, long jobs, struct pawl_error *err), long jobs,
                 struct list *sizes, struct pawl_error *err)
{
    struct stand stand = {0};
    bool done = stand_open(&stand, options, err) && work(&stand, jobs, err);
    stand_end(&stand);
    return done && sizes_read(options->store + S("sqlite:").n, sizes, err);
}

static bool enqueue(struct stand *stand, long jobs, struct pawl_error *err)
{
    return stand_enqueue(stand, NULL, jobs, err);
}

static double bytes_of(const struct list *sizes, struct str name)
{
    const struct size *size = sizes->items;
    for (size_t i = 0; i < sizes->count; i++)
        if (str_eq(size[i].name, name))
            return size[i].bytes;
    return 0;
}

static double bytes_of_all(const struct list *sizes)
{
    const struct size *size = sizes->items;
    double all = 0;
    for (size_t i = 0; i < sizes->count; i++)
        all += size[i].bytes;
    return all;
}

static int larger_first(const void *a, const void *b)
{
    double x = ((const struct disk_row *)a)->finished, y = ((const struct disk_row *)b)->finished;
    return (x < y) - (x > y);
}

// What stays within a few pages does not grow with the jobs: it becomes one row.
static bool fill_table(struct bench *b, const struct list *queued, const struct list *finished,
                       double jobs)
{
    const struct size *size = finished->items;
    struct disk_row rest = { .name = S("(all others)") };
    b->disk = list_of(b->arena, sizeof(struct disk_row));
    for (size_t i = 0; i < finished->count; i++) {
        double before = bytes_of(queued, size[i].name);
        bool grows = before > STEADY_BYTES_MAX || size[i].bytes > STEADY_BYTES_MAX;
        struct disk_row *row = grows ? list_add(&b->disk) : &rest;
        if (!row)
            return false;
        if (grows)
            row->name = str_dup(b->arena, size[i].name);
        row->queued += before / jobs;
        row->finished += size[i].bytes / jobs;
    }
    if (b->disk.count > 0)
        qsort(b->disk.items, b->disk.count, sizeof(struct disk_row), larger_first);
    struct disk_row *last = list_add(&b->disk);
    if (last)
        *last = rest;
    return last != NULL;
}

bool measure_disk(struct bench *b, struct pawl_error *err)
{
    SCOPED(arena) struct arena arena = {0};
    struct list queued = list_of(&arena, sizeof(struct size)), finished = queued;
    const char *path = place_path(&arena, PLACE_DISK);
    struct stand_options options = {
        .store = str_cstr(&arena, str_format(&arena, "sqlite:%s", path)),
        .batch = b->options.batch, .orgs = b->options.orgs, .types = b->options.types,
        .payload = payload_of(&arena, b->options.payload_bytes), .workers = 1,
    };
    long jobs = b->options.jobs < JOBS_MAX ? b->options.jobs : JOBS_MAX;
    bench_progress(b, "disk", 0, 2);
    if (!step(&options, enqueue, jobs, &queued, err))
        return false;
    bench_progress(b, "disk", 1, 2);
    if (!step(&options, stand_drain, jobs, &finished, err))
        return false;
    place_clear(PLACE_DISK);
    bench_note(b, FIGURE_DISK_BYTES_PER_QUEUED_JOB, bytes_of_all(&queued) / (double)jobs);
    bench_note(b, FIGURE_DISK_BYTES_PER_JOB, bytes_of_all(&finished) / (double)jobs);
    return fill_table(b, &queued, &finished, (double)jobs)
        || fail(err, PAWL_NO_MEMORY, "no memory for the table of sizes");
}
