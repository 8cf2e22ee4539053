// A shop that takes orders until it is killed: each is a row of its own and a job, in one
// transaction.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "pawl.h"

static bool take_order(struct pawl *pawl, const char *id, struct pawl_error *err)
{
    char sql[128];
    struct pawl_job job = { .job_type = "ship", .idempotency_key = id };
    struct pawl_tx *tx = NULL;
    snprintf(sql, sizeof sql, "INSERT INTO orders VALUES ('%s')", id);
    if (!pawl_begin(pawl, &tx, err))
        return false;
    if (pawl_tx_execute(tx, sql, err) && pawl_tx_enqueue(tx, &job, NULL, err))
        return pawl_commit(tx, err);
    pawl_rollback(tx);
    return false;
}

int main(int argc, char **argv)
{
    struct pawl *pawl = NULL;
    struct pawl_error err = {0};
    struct pawl_options options = { .store = argc > 1 ? argv[1] : NULL };
    bool fine = pawl_open(&pawl, &options, &err);
    if (fine)
        printf("ready\n");
    fflush(stdout);
    for (int64_t i = 0; fine; i++) {
        char id[64];
        snprintf(id, sizeof id, "%d-%" PRId64, getpid(), i);
        fine = take_order(pawl, id, &err);
    }
    fprintf(stderr, "borrower: %s\n", err.message);
    return 1;
}
