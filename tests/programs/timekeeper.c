// A scheduler in virtual time that can be made to die, with -9, at a named statement of its tick.
//
//     timekeeper STORE NAME START MINUTES [POINT TIMES]
//
// From START (microseconds) so many minutes go by; each has a slot whose job writes its time into
// `effects`. When a statement that begins with POINT is about to run for the TIMES-th time, the
// process kills itself: what is in its transaction is lost, what is committed stays.
#include <stdio.h>
#include <stdlib.h>

#include <pawl.h>

#include "mortal.h"

static bool prepare(struct pawl_run *run, void *context)
{
    (void)run, (void)context;
    return true;
}

static bool commit(struct pawl_run *run, struct pawl_tx *tx, void *context)
{
    char sql[200];
    struct pawl_error err;
    (void)context;
    snprintf(sql, sizeof sql, "INSERT INTO effects (job) VALUES ('%s')", pawl_job_id(run));
    return pawl_tx_execute(tx, sql, &err) || pawl_fail(run, PAWL_TRANSIENT, "%s", err.message);
}

static bool make_table(struct pawl *pawl, struct pawl_error *err)
{
    struct pawl_tx *tx;
    return pawl_begin(pawl, &tx, err)
        && pawl_tx_execute(tx, "CREATE TABLE IF NOT EXISTS effects (job TEXT)", err)
        && pawl_commit(tx, err);
}

int main(int argc, char **argv)
{
    struct pawl *pawl;
    struct pawl_error err = {0};
    if (argc < 5)
        return 2;
    mortal_begin(argv + 5);
    struct pawl_options options = {
        .store = argv[1],
        .instance = argv[2],
        .virtual_time = true,
        .virtual_start = strtoll(argv[3], NULL, 10),
    };
    struct pawl_schedule schedule = {
        .name = "minute",
        .job_type = "note",
        .cron = "* * * * *",
        .coalesce = PAWL_NO,
        .misfire_grace_us = 24LL * 3600 * 1000000,
        .max_instances = 1,
        .expected_max_runtime_us = 3600LL * 1000000,
        .catch_up = 100,
    };
    struct pawl_handler handler = { .job_type = "note", .prepare = prepare, .commit = commit };
    bool done = pawl_open(&pawl, &options, &err) && make_table(pawl, &err)
             && pawl_handle(pawl, &handler, &err) && pawl_schedule(pawl, &schedule, &err)
             && pawl_advance(pawl, strtoll(argv[4], NULL, 10) * 60 * 1000000, &err);
    if (!done)
        fprintf(stderr, "timekeeper: %s\n", err.message);
    pawl_close(pawl);
    return done ? 0 : 1;
}
