// The check of the file is done through a connection that is not the engine's.
#include "inspect.h"

#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#include "engine/verify.h"
#include "sim.h"

static void keep_violation(void *self, const struct violation *violation)
{
    differ(self, "verify: %s: job %.*s: %.*s", violation->invariant, STR(violation->job_id),
           STR(violation->detail));
}

static void verify_store(struct sim *sim, struct process *p)
{
    struct verified verified = {0};
    struct pawl_error err = {0};
    struct verify_options options = { .self = &sim->match, .found = keep_violation };
    if (!verify(p->db, &options, &verified, &err) && !process_excused(sim))
        differ(&sim->match, "verify: %s", err.message);
}

// The first column of the first row; false when the disk would not let it be read.
static bool ask(struct sim *sim, const char *sql, char said[256])
{
    sqlite3 *connection = NULL;
    sqlite3_stmt *row = NULL;
    bool asked = sqlite3_open_v2(sim_store(), &connection, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK
              && sqlite3_db_config(connection, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL)
                     == SQLITE_OK
              && sqlite3_prepare_v2(connection, sql, -1, &row, NULL) == SQLITE_OK
              && sqlite3_step(row) == SQLITE_ROW;
    if (asked)
        snprintf(said, 256, "%s", (const char *)sqlite3_column_text(row, 0));
    else if (!process_excused(sim))
        differ(&sim->match, "the file cannot be read: %s", sqlite3_errmsg(connection));
    sqlite3_finalize(row);
    sqlite3_close(connection);
    return asked;
}

static void check_file(struct sim *sim)
{
    char said[256];
    if (ask(sim, "PRAGMA integrity_check(3)", said) && strcmp(said, "ok") != 0)
        differ(&sim->match, "the file is damaged: %s", said);
}

int64_t inspect_effects(struct sim *sim, struct process *p)
{
    char said[256];
    int64_t count = -1;
    machine_serve(p->index);
    sim->refused = machine.refused;
    return ask(sim, "SELECT count(*) FROM effects", said) && str_int(str_of(said), &count) ? count
                                                                                           : -1;
}

void inspect(struct sim *sim, struct process *p)
{
    if (machine.dead[p->index])
        return;  // and nobody has noticed yet
    machine_serve(p->index);
    machine.aside = true;
    sim->checks++;
    sim->refused = machine.refused;
    if (dice_chance(&sim->network, 20))
        check_file(sim);
    verify_store(sim, p);
    machine.aside = false;
}
