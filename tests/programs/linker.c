// Jobs that wait for others, and a batch, in a process that can be made to die, with -9, at a named
// statement. Started again it asks for the same, and goes on.
//
//     linker STORE START [POINT TIMES]
//
// MANY jobs wait for one that succeeds, MANY for one that fails, and a batch has some of both. When
// a statement that begins with POINT is about to run for the TIMES-th time, the process kills
// itself: what is in its transaction is lost, what is committed stays.
#include <stdio.h>
#include <stdlib.h>

#include <pawl.h>

#include "mortal.h"

enum { MANY = 230, BATCH = 6 };  // more than are told in one transaction

static bool succeed(struct pawl_run *run, void *context)
{
    (void)run, (void)context;
    return true;
}

static bool give_up(struct pawl_run *run, void *context)
{
    (void)context;
    return pawl_fail(run, PAWL_VALIDATION, "it is bad");
}

static bool held(struct pawl *pawl, const char *type, const char **id, struct pawl_error *err)
{
    static struct pawl_ticket tickets[2];
    static int next;
    struct pawl_ticket *ticket = &tickets[next++ % 2];
    struct pawl_job job = { .job_type = type, .idempotency_key = type, .hold = true };
    *id = ticket->job_id;
    return pawl_enqueue(pawl, &job, ticket, err);
}

static bool waiters(struct pawl *pawl, const char *type, const char *const *after,
                    struct pawl_error *err)
{
    static char keys[MANY][64];
    struct pawl_job jobs[MANY] = {0};
    for (int i = 0; i < MANY; i++) {
        snprintf(keys[i], sizeof keys[i], "%s after %s %d", type, *after, i);
        jobs[i] = (struct pawl_job){
            .job_type = type,
            .idempotency_key = keys[i],
            .after = after,
            .after_count = 1,
        };
    }
    return pawl_enqueue_all(pawl, jobs, MANY, NULL, err);
}

// Its jobs have keys, so there is no second one.
static bool batch(struct pawl *pawl, const char *const *after, struct pawl_error *err)
{
    static char keys[BATCH][16], id[PAWL_ID_BYTES];
    struct pawl_job jobs[BATCH] = {0}, callback = { .job_type = "callback" };
    for (int i = 0; i < BATCH; i++) {
        snprintf(keys[i], sizeof keys[i], "batch %d", i);
        jobs[i] = (struct pawl_job){
            .job_type = "member",
            .idempotency_key = keys[i],
            .after = &after[i % 2],
            .after_count = 1,
        };
    }
    struct pawl_batch all = { .jobs = jobs, .count = BATCH, .callback = &callback };
    return pawl_batch_create(pawl, &all, id, err) || err->code == PAWL_KEY_REUSED;
}

static bool submit(struct pawl *pawl, const char *id, struct pawl_error *err)
{
    return pawl_submit(pawl, id, err) || err->code == PAWL_CONFLICT || err->code == PAWL_TERMINAL;
}

static bool handle_all(struct pawl *pawl, struct pawl_error *err)
{
    static const char *const good[] = { "first", "waits", "member", "callback" };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        struct pawl_handler handler = { .job_type = good[i], .prepare = succeed };
        if (!pawl_handle(pawl, &handler, err))
            return false;
    }
    return pawl_handle(pawl, &(struct pawl_handler){ .job_type = "broken", .prepare = give_up },
                       err);
}

static bool live(struct pawl *pawl, struct pawl_error *err)
{
    const char *after[2] = { NULL, NULL };
    return handle_all(pawl, err) && held(pawl, "first", &after[0], err)
        && held(pawl, "broken", &after[1], err) && waiters(pawl, "waits", &after[0], err)
        && waiters(pawl, "fails", &after[1], err) && batch(pawl, after, err)
        && submit(pawl, after[0], err) && submit(pawl, after[1], err)
        && pawl_advance(pawl, 20LL * 60 * 1000000, err);
}

int main(int argc, char **argv)
{
    struct pawl *pawl;
    struct pawl_error err = {0};
    if (argc < 3)
        return 2;
    mortal_begin(argv + 3);
    struct pawl_options options = {
        .store = argv[1],
        .instance = "one",
        .virtual_time = true,
        .virtual_start = strtoll(argv[2], NULL, 10),
    };
    bool done = pawl_open(&pawl, &options, &err) && live(pawl, &err);
    if (!done)
        fprintf(stderr, "linker: %s\n", err.message);
    pawl_close(pawl);
    return done ? 0 : 1;
}
