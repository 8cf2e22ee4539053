// Every allocation fails once, and from then on, in a program around the store: one that reads its
// configuration, and one that works, drains and stops.
//
// NTH_STRIDE=1 tries every one (`make torture-nth`); a sample tries one in so many.
#include <stdio.h>
#include <stdlib.h>

#include "faults.h"
#include "fixture.h"
#include "server/config.h"
#include "torture.h"

enum { CONFIG_STRIDE = 1, PROGRAM_STRIDE = 401, TRIES_OF_A_STORE = 100 };

static void arm(int64_t n, bool for_ever)
{
    memory_faults = (struct fault_counter){ .fail_at = n, .fails_on = for_ever };
}

// Whether an allocation has failed; none does from here on.
static bool calm(void)
{
    bool reached = memory_faults.failed > 0;
    memory_faults = (struct fault_counter){0};
    return reached;
}

// One try with its n-th allocation failing. False: it was not reached.
typedef bool nth_try(void *self, int64_t n, bool for_ever, struct torture *t);

static void fail_each(nth_try *try, void *self, int64_t stride, struct torture *t)
{
    stride = torture_asked("NTH_STRIDE", stride);
    for (int for_ever = 0; for_ever < 2; for_ever++)
        for (int64_t n = 1; try(self, n, for_ever, t); n += stride) {}
}

static bool read_config(void *self, int64_t n, bool for_ever, struct torture *t)
{
    SCOPED(arena) struct arena arena = {0};
    struct config config;
    struct yaml_faults faults;
    struct pawl_error err = {0};
    arm(n, for_ever);
    bool read = config_load(&arena, self, &config, &faults, &err);
    bool reached = calm(), survived = read || (err.code == PAWL_NO_MEMORY && err.message[0]);
    if (!survived)
        print_message("allocation %lld%s: %s\n", (long long)n, for_ever ? " and on" : "",
                      err.message);
    if (reached)
        torture_count(t, survived);
    return reached;
}

TEST(OPS_9_a_configuration_is_read_or_refused_whichever_allocation_fails)
{
    struct torture t = { .name = "memory, configuration" };
    const char *root = getenv("SOURCE");
    char path[512];
    snprintf(path, sizeof path, "%s/examples/server/pawl.yaml", root ? root : ".");
    fail_each(read_config, path, CONFIG_STRIDE, &t);
    EXPECT_INT(torture_end(&t), 0);
    EXPECT(t.tried > 0);
}

static bool succeed(struct pawl_run *run, void *context)
{
    (void)run;
    (void)context;
    return true;
}

// What a program does from its first line to its last; false: it was told that something failed.
static bool work(const char *url, int64_t n, bool *enqueued, struct pawl_error *err)
{
    struct pawl *pawl = NULL;
    char key[32];
    snprintf(key, sizeof key, "%lld", (long long)n);
    struct pawl_handler handler = { "report", .prepare = succeed };
    struct pawl_job job = { .job_type = "report", .idempotency_key = key };
    bool done = pawl_open(&pawl, &(struct pawl_options){ .store = url, .virtual_time = true }, err)
             && pawl_handle(pawl, &handler, err) && pawl_start(pawl, err)
             && (*enqueued = pawl_enqueue(pawl, &job, NULL, err))
             && pawl_run_until_idle(pawl, err)
             && pawl_advance(pawl, MINUTES(2), err)  // leases of a program that ended are over
             && pawl_drain(pawl, 0, err);
    pawl_stop(pawl, 0);
    pawl_close(pawl);
    return done;
}

// All of a store is verified after each try, so it may not have seen too many.
static void keep_small(struct box *box, const struct torture *t)
{
    if (t->tried % TRIES_OF_A_STORE > 0)
        return;
    box_close(box);
    box_open(box);
}

// The store is whole, and goes on: what was enqueued comes to its end.
static bool run_program(void *self, int64_t n, bool for_ever, struct torture *t)
{
    struct box *box = self;
    struct pawl_error told = {0}, err = {0};
    struct verified verified = {0};
    bool enqueued = false, again = false;
    arm(n, for_ever);
    bool done = work(box->url.s, 2 * n + for_ever, &enqueued, &told);
    bool reached = calm();
    if (!reached)
        return false;
    bool survived = (done || (told.code != PAWL_OK && told.message[0]))
                 && work(box->url.s, 2 * n + for_ever, &again, &err)
                 && verify(box->db, &(struct verify_options){0}, &verified, &err)
                 && verified.violations == 0
                 && box_number(box, "SELECT count(*) FROM pawl_jobs"
                                    " WHERE state <> 'SUCCEEDED'")
                        == 0;
    if (!survived)
        print_message("allocation %lld%s: %s (after `%s`)\n", (long long)n,
                      for_ever ? " and on" : "", err.message, told.message);
    torture_count(t, survived);
    keep_small(box, t);
    return true;
}

TEST(OPS_9_a_program_that_works_drains_and_stops_loses_nothing_whichever_allocation_fails)
{
    struct torture t = { .name = "memory, program" };
    struct box box;
    memory_faults_install();
    box_open(&box);
    fail_each(run_program, &box, PROGRAM_STRIDE, &t);
    box_close(&box);
    EXPECT_INT(torture_end(&t), 0);
    EXPECT(t.tried > 0);
}
