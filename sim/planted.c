// Where each mistake is made: in the text of statements, and in functions that the linker puts
// before the engine's own (`--wrap`, see meson.build).
#include "planted.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "engine/execution.h"
#include "engine/fence.h"
#include "engine/job.h"

enum planted planted_now;

static const struct {
    const char *name, *says;
} planted[] = {
    [PLANTED_NONE] = { "none", "the engine as it is" },
    [PLANTED_NO_FENCE] = { "no-fence", "whoever names an execution may progress it" },
    [PLANTED_FENCE_BY_WORKER] = { "fence-by-worker",
                                  "whoever has the name of the worker may progress it" },
    [PLANTED_ANSWER_BEFORE_COMMIT] = { "answer-before-commit", "callers are told too early" },
    [PLANTED_NO_SYNC] = { "no-sync", "a commit is answered before it is on disk" },
    [PLANTED_NO_UNIQUE_SLOT] = { "no-unique-slot",
                                 "the claim of a slot does not ask who has it" },
    [PLANTED_SWEEP_TAKES_COMMITTED] = { "sweep-takes-committed",
                                        "a lease that ends after the commit is another attempt" },
    [PLANTED_REPEATED_COMMIT_REFUSED] = { "repeated-commit-refused",
                                          "who commits again is told that it has lost its lease" },
    [PLANTED_HEARTBEAT_WITHOUT_FENCE] = { "heartbeat-without-fence",
                                          "any worker renews any lease" },
    [PLANTED_ATTEMPT_COUNTED_AT_FAILURE] = { "attempt-counted-at-failure",
                                             "an attempt that dies is not counted" },
    [PLANTED_LOG_NOT_SEALED] = { "log-not-sealed",
                                 "what was in doubt and not seen may come to light later" },
    [PLANTED_LEASED_EARLY] = { "leased-early",
                               "a claim believes that what is ready is due" },
    [PLANTED_BATCH_FORGETS_TIMEOUTS] = { "batch-forgets-timeouts",
                                         "a job that timed out has not ended for its batch" },
};
_Static_assert(countof(planted) == PLANTED, "one row per mistake");

const char *planted_name(enum planted which)
{
    return which < PLANTED ? planted[which].name : NULL;
}

const char *planted_says(enum planted which)
{
    return planted[which].says;
}

void planted_set(enum planted which)
{
    planted_now = which;
}

bool planted_drops(const void *bytes, size_t count)
{
    static const char nothing[24];  // over the header of a frame
    return planted_now == PLANTED_LOG_NOT_SEALED && count == sizeof nothing
        && memcmp(bytes, nothing, sizeof nothing) == 0;
}

// ----- statements

#define FENCE "AND attempt = $2 AND worker = $3 AND lease_expires_at > $4"

static const struct {
    enum planted planted;
    enum query query;
    const char *from, *to;
} texts[] = {
    { PLANTED_NO_FENCE, Q_EXECUTION_COMMIT, FENCE, "" },
    { PLANTED_NO_FENCE, Q_EXECUTION_COMMIT_DONE, FENCE, "" },
    { PLANTED_NO_FENCE, Q_EXECUTION_COMMIT_DONE_OF_KEY, FENCE, "" },
    { PLANTED_NO_FENCE, Q_EXECUTION_DONE, FENCE, "" },
    { PLANTED_NO_FENCE, Q_EXECUTION_RENEW, FENCE, "" },
    { PLANTED_FENCE_BY_WORKER, Q_EXECUTION_COMMIT, "AND attempt = $2 AND worker = $3", "" },
    { PLANTED_FENCE_BY_WORKER, Q_EXECUTION_COMMIT_DONE, "AND attempt = $2 AND worker = $3", "" },
    { PLANTED_FENCE_BY_WORKER, Q_EXECUTION_DONE, "AND attempt = $2 AND worker = $3", "" },
    { PLANTED_FENCE_BY_WORKER, Q_EXECUTION_RENEW, "AND attempt = $2 AND worker = $3", "" },
    { PLANTED_HEARTBEAT_WITHOUT_FENCE, Q_EXECUTION_RENEW, FENCE, "" },
    { PLANTED_NO_UNIQUE_SLOT, Q_RUN_CLAIM,
      "ON CONFLICT (org, job_name, scheduled_for) DO NOTHING", "" },
    { PLANTED_BATCH_FORGETS_TIMEOUTS, Q_BATCH_COUNT, "timed_out + $4", "timed_out + 0 * $4" },
};

// The text of the statement with what is planted in it; NULL: as it is. To be freed.
static char *changed_text(const char *sql)
{
    for (size_t i = 0; i < countof(texts); i++) {
        if (texts[i].planted != planted_now || queries[texts[i].query].sqlite != sql)
            continue;
        const char *at = strstr(sql, texts[i].from);
        if (!at)
            abort();  // the statement is another by now: so must the row be
        return sqlite3_mprintf("%.*s%s%s", (int)(at - sql), sql, texts[i].to,
                               at + strlen(texts[i].from));
    }
    return NULL;
}

int __real_sqlite3_prepare_v3(sqlite3 *db, const char *sql, int n, unsigned flags,
                              sqlite3_stmt **statement, const char **tail);
int __wrap_sqlite3_prepare_v3(sqlite3 *db, const char *sql, int n, unsigned flags,
                              sqlite3_stmt **statement, const char **tail);

int __wrap_sqlite3_prepare_v3(sqlite3 *db, const char *sql, int n, unsigned flags,
                              sqlite3_stmt **statement, const char **tail)
{
    char *changed = changed_text(sql);
    int result = __real_sqlite3_prepare_v3(db, changed ? changed : sql, n, flags, statement, tail);
    sqlite3_free(changed);
    return result;
}

int __real_sqlite3_exec(sqlite3 *db, const char *sql, int (*row)(void *, int, char **, char **),
                        void *self, char **message);
int __wrap_sqlite3_exec(sqlite3 *db, const char *sql, int (*row)(void *, int, char **, char **),
                        void *self, char **message);

int __wrap_sqlite3_exec(sqlite3 *db, const char *sql, int (*row)(void *, int, char **, char **),
                        void *self, char **message)
{
    bool seals = strncmp(sql, "PRAGMA application_id", strlen("PRAGMA application_id")) == 0;
    if (planted_now == PLANTED_LOG_NOT_SEALED && seals)
        return SQLITE_OK;
    return __real_sqlite3_exec(db, sql, row, self, message);
}

// ----- decisions

static bool beating;

bool __real_fence_look(struct tx *tx, const struct lease *lease, struct held *held,
                       struct pawl_error *err);
bool __wrap_fence_look(struct tx *tx, const struct lease *lease, struct held *held,
                       struct pawl_error *err);
bool __wrap_fence_pass(struct tx *tx, const struct lease *lease, struct held *held,
                       struct pawl_error *err);

bool __wrap_fence_look(struct tx *tx, const struct lease *lease, struct held *held,
                       struct pawl_error *err)
{
    if (!__real_fence_look(tx, lease, held, err))
        return false;
    const struct execution *e = &held->execution;
    bool lives = execution_status_live(e->status);
    if (planted_now == PLANTED_NO_FENCE
        || (planted_now == PLANTED_HEARTBEAT_WITHOUT_FENCE && beating)) {
        held->own = true;
        held->live = lives;
    }
    if (planted_now == PLANTED_FENCE_BY_WORKER) {
        held->own = str_eq(e->lease_owner, lease->worker.worker_id);
        held->live = held->own && lives && e->lease_expires_at > tx->now;
    }
    return true;
}

bool __wrap_fence_pass(struct tx *tx, const struct lease *lease, struct held *held,
                       struct pawl_error *err)
{
    return __wrap_fence_look(tx, lease, held, err)
        && (held->live || fence_lost(tx, lease, held, err));
}

bool __real_execution_heartbeat(struct tx *tx, const struct lease *lease,
                                const struct progress *progress, struct execution *execution,
                                struct pawl_error *err);
bool __wrap_execution_heartbeat(struct tx *tx, const struct lease *lease,
                                const struct progress *progress, struct execution *execution,
                                struct pawl_error *err);

bool __wrap_execution_heartbeat(struct tx *tx, const struct lease *lease,
                                const struct progress *progress, struct execution *execution,
                                struct pawl_error *err)
{
    beating = true;
    bool done = __real_execution_heartbeat(tx, lease, progress, execution, err);
    beating = false;
    return done;
}

bool __real_execution_reconcile(struct tx *tx, struct execution *execution,
                                struct pawl_error *err);
bool __wrap_execution_reconcile(struct tx *tx, struct execution *execution,
                                struct pawl_error *err);

bool __wrap_execution_reconcile(struct tx *tx, struct execution *execution,
                                struct pawl_error *err)
{
    struct work_error silent = { .class = ERROR_CRASH, .message = S("its worker fell silent") };
    if (planted_now != PLANTED_SWEEP_TAKES_COMMITTED)
        return __real_execution_reconcile(tx, execution, err);
    execution->status = EXECUTION_IN_PROGRESS;  // or the table of states would see it
    execution->committed_at = 0;
    return execution_end(tx, execution, END_LEASE_EXPIRED, &silent, err);
}

bool __real_execution_commit(struct tx *tx, const struct lease *lease,
                             const struct commit *commit, struct execution *execution,
                             struct pawl_error *err);
bool __wrap_execution_commit(struct tx *tx, const struct lease *lease,
                             const struct commit *commit, struct execution *execution,
                             struct pawl_error *err);

bool __wrap_execution_commit(struct tx *tx, const struct lease *lease,
                             const struct commit *commit, struct execution *execution,
                             struct pawl_error *err)
{
    struct execution now;
    if (planted_now == PLANTED_REPEATED_COMMIT_REFUSED
        && execution_load(tx, lease->execution, &now, err) && now.committed_at != 0)
        return fail(err, PAWL_FENCED, "the lease is over");
    return __real_execution_commit(tx, lease, commit, execution, err);
}

struct tally __real_tally_after(const struct tally *tally, enum end_reason reason,
                                enum error_class class, bool retried);
struct tally __wrap_tally_after(const struct tally *tally, enum end_reason reason,
                                enum error_class class, bool retried);

struct tally __wrap_tally_after(const struct tally *tally, enum end_reason reason,
                                enum error_class class, bool retried)
{
    struct tally after = __real_tally_after(tally, reason, class, retried);
    bool handled = reason == END_ERROR || reason == END_RELEASED || reason == END_CANCELLED;
    if (planted_now == PLANTED_ATTEMPT_COUNTED_AT_FAILURE && !handled && after.attempts_used > 0)
        after.attempts_used--;
    return after;
}

bool __real_job_load_ready(struct tx *tx, const struct waiting *place, struct job *job,
                           struct pawl_error *err);
bool __wrap_job_load_ready(struct tx *tx, const struct waiting *place, struct job *job,
                           struct pawl_error *err);

bool __wrap_job_load_ready(struct tx *tx, const struct waiting *place, struct job *job,
                           struct pawl_error *err)
{
    bool loaded = __real_job_load_ready(tx, place, job, err);
    if (planted_now == PLANTED_LEASED_EARLY)
        job->run_at = 0;
    return loaded;
}
