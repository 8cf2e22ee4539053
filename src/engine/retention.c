// A stage per kind of thing, each going up in the order of time: ids of jobs, skips and seals rise.
#include "engine/retention.h"

#include "base/id.h"
#include "base/json.h"
#include "base/list.h"
#include "engine/artifact.h"
#include "engine/event.h"
#include "engine/seal.h"

const char *removed_kind_name(enum removed_kind kind)
{
    static const char *const names[] = {
        [REMOVED_LOGS] = "log_lines",
        [REMOVED_JOBS] = "jobs",
        [REMOVED_SKIPS] = "skipped_slots",
        [REMOVED_ARTIFACTS] = "artifacts",
        [REMOVED_EVENTS] = "audit_events",
    };
    _Static_assert(countof(names) == REMOVED_KINDS, "one name per kind");
    return names[kind];
}

// What ended at this time or before may go; nothing did before 0.
static pawl_time cutoff(const struct tx *tx, int64_t keep_us)
{
    return keep_us > 0 && keep_us < tx->now ? tx->now - keep_us : -1;
}

// ----- one job

bool job_remove(struct tx *tx, int64_t job, int64_t rows_max, bool *gone, int64_t *rows,
                struct pawl_error *err)
{
    // What refers to the job, then the job, then what is kept as long as it is there.
    static const enum query parts[] = {
        Q_REMOVED_STEPS, Q_REMOVED_CHANGE, Q_REMOVED_WAIT_LIMIT, Q_REMOVED_SLOT,
        Q_REMOVED_WAITS, Q_REMOVED_ENDING, Q_REMOVED_LINK, Q_REMOVED_CALLBACK,
        Q_REMOVED_ERASURE, Q_REMOVED_JOB, Q_REMOVED_EXECUTIONS, Q_REMOVED_OUTCOME,
    };
    int64_t lines = 0;
    if (!sql_run_counting(tx, Q_REMOVED_LOGS, &lines, err, INT(job), INT(rows_max)))
        return false;
    *rows += lines;
    *gone = lines < rows_max;
    if (!*gone)
        return true;
    if (!sql_run(tx, Q_REMOVED_INSERT, err, INT(job), INT(tx->now))
        || !artifacts_leave_job(tx, job, err))
        return false;
    for (size_t i = 0; i < countof(parts); i++) {
        int64_t changed = 0;
        if (!sql_run_counting(tx, parts[i], &changed, err, INT(job)))
            return false;
        *rows += changed;
    }
    return true;
}

// One event for a piece, not one per row: it says what went and how much.
static bool tell(struct tx *tx, const struct removing *r, enum removed_kind kind, int64_t count,
                 struct pawl_error *err)
{
    if (count == 0 || r->dry_run)
        return true;
    SCOPED(json) json_t *detail = json_pack("{s:I}", removed_kind_name(kind), (json_int_t)count);
    return event_append_for(tx, 0, S("retention"), EVENT_JOBS_REMOVED,
                            json_text(tx->arena, detail), err);
}

// ----- the stages. Each sets r->after, and `*more` when there is something left in it.

static bool next_log(struct tx *tx, int64_t after, int64_t *job, pawl_time *ended_at,
                     struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    *job = 0;
    if (!sql_ask(tx, &rows, Q_RETENTION_LOG, err, INT(after)))
        return false;
    if (rows_next(&rows)) {
        *job = row_int(&rows);
        *ended_at = row_int(&rows);
    }
    return rows_ok(&rows, err);
}

// Looks at as many jobs as it may remove lines.
static bool remove_logs(struct tx *tx, struct removing *r, bool *more, struct pawl_error *err)
{
    pawl_time before = cutoff(tx, r->keep.logs_us);
    int64_t newest = id_after(0, before, 0).high, removed = 0;
    for (int looked = 0; looked < RETENTION_ROWS_MAX && before > 0; looked++) {
        int64_t job = 0, lines = 0, left = RETENTION_ROWS_MAX - removed;
        pawl_time ended_at = 0;
        if (!next_log(tx, r->after, &job, &ended_at, err))
            return false;
        if (job == 0 || job > newest)
            return r->removed[REMOVED_LOGS] += removed, tell(tx, r, REMOVED_LOGS, removed, err);
        bool goes = ended_at > 0 && ended_at <= before;
        if (goes && !r->dry_run
            && !sql_run_counting(tx, Q_REMOVED_LOGS, &lines, err, INT(job), INT(left)))
            return false;
        removed += r->dry_run ? goes : lines;
        r->rows += lines;
        *more = true;
        if (lines == left)
            break;
        r->after = job;
    }
    r->removed[REMOVED_LOGS] += removed;
    return tell(tx, r, REMOVED_LOGS, removed, err);
}

struct candidate {
    int64_t job;
    bool goes;
};

static bool find_jobs(struct tx *tx, const struct removing *r, struct list *found,
                      struct pawl_error *err)
{
    pawl_time jobs = cutoff(tx, r->keep.jobs_us), letters = cutoff(tx, r->keep.letters_us);
    pawl_time before = jobs > letters ? jobs : letters;
    SCOPED(rows) struct rows rows = {0};
    if (before < 0)
        return true;
    if (!sql_ask(tx, &rows, Q_RETENTION_JOBS, err, INT(r->after),
                 INT(id_after(0, before, 0).high), INT(jobs), INT(letters), INT(tx->now),
                 INT(RETENTION_ROWS_MAX)))
        return false;
    while (rows_next(&rows)) {
        struct candidate *candidate = list_add(found);
        if (!candidate)
            return fail(err, PAWL_NO_MEMORY, "no memory to remove jobs");
        candidate->job = row_int(&rows);
        candidate->goes = row_int(&rows) == 1;
    }
    return rows_ok(&rows, err);
}

static bool remove_jobs(struct tx *tx, struct removing *r, bool *more, struct pawl_error *err)
{
    struct list found = list_of(tx->arena, sizeof(struct candidate));
    int64_t removed = 0;
    if (!find_jobs(tx, r, &found, err))
        return false;
    const struct candidate *candidates = found.items;
    *more = found.count == RETENTION_ROWS_MAX;
    for (size_t i = 0; i < found.count; i++) {
        bool gone = true;
        if (candidates[i].goes && !r->dry_run
            && !job_remove(tx, candidates[i].job, RETENTION_ROWS_MAX, &gone, &r->rows, err))
            return false;
        removed += candidates[i].goes && gone;
        if (gone)
            r->after = candidates[i].job;
        if (!gone || r->rows >= RETENTION_ROWS_MAX) {
            *more = true;
            break;
        }
    }
    r->removed[REMOVED_JOBS] += removed;
    return tell(tx, r, REMOVED_JOBS, removed, err);
}

static bool remove_skips(struct tx *tx, struct removing *r, bool *more, struct pawl_error *err)
{
    pawl_time before = cutoff(tx, r->keep.jobs_us);
    int64_t removed = 0;
    SCOPED(rows) struct rows rows = {0};
    if (r->dry_run) {
        if (!sql_ask(tx, &rows, Q_RETENTION_SKIPS_COUNT, err, INT(before), INT(0), INT(INT64_MAX))
            || !rows_number(&rows, &removed, err))
            return false;
    } else if (!sql_run_counting(tx, Q_RETENTION_SKIPS, &removed, err, INT(before),
                                 INT(RETENTION_ROWS_MAX)))
        return false;
    *more = !r->dry_run && removed == RETENTION_ROWS_MAX;
    r->rows += removed;
    r->removed[REMOVED_SKIPS] += removed;
    return tell(tx, r, REMOVED_SKIPS, removed, err);
}

// The jobs go first, each by its own time: a batch is only what is left of them.
static bool remove_batches(struct tx *tx, struct removing *r, bool *more, struct pawl_error *err)
{
    int64_t removed = 0;
    if (r->dry_run)
        return true;
    if (!sql_run_counting(tx, Q_RETENTION_BATCHES, &removed, err,
                          INT(cutoff(tx, r->keep.jobs_us)), INT(RETENTION_ROWS_MAX)))
        return false;
    r->rows += removed;
    *more = removed == RETENTION_ROWS_MAX;
    return true;
}

// The rows: their files are without one then, and are removed when the pass is over.
static bool remove_artifacts(struct tx *tx, struct removing *r, bool *more,
                             struct pawl_error *err)
{
    pawl_time before = cutoff(tx, r->keep.artifacts_us);
    struct removed_files files = {0};
    int64_t removed = 0;
    SCOPED(rows) struct rows rows = {0};
    if (r->dry_run) {
        if (!sql_ask(tx, &rows, Q_RETENTION_ARTIFACTS_COUNT, err, INT(before))
            || !rows_number(&rows, &removed, err))
            return false;
    } else if (!artifacts_remove_old(tx, before, RETENTION_ROWS_MAX, &files, err)) {
        return false;
    }
    removed += (int64_t)files.count;
    *more = files.count == RETENTION_ROWS_MAX;
    r->rows += removed;
    r->removed[REMOVED_ARTIFACTS] += removed;
    return tell(tx, r, REMOVED_ARTIFACTS, (int64_t)files.count, err);
}

// The event that tells of it comes first: were the trail empty in between, the numbers of events
// would begin again, below the seal, and no later seal would be over them.
static bool prune(struct tx *tx, const struct seal *before, const struct seal *seal,
                  struct pawl_error *err)
{
    SCOPED(json) json_t *detail =
        json_pack("{s:I,s:I,s:I,s:s%}", "events", (json_int_t)seal->events, "first_id",
                  (json_int_t)seal->first_id, "last_id", (json_int_t)seal->last_id, "hash",
                  seal->hash.s, seal->hash.n);
    return event_append_for(tx, 0, seal_subject(tx->arena, seal->number), EVENT_AUDIT_PRUNED,
                            json_text(tx->arena, detail), err)
        && sql_run(tx, Q_SEAL_PRUNE, err, INT(seal->number), INT(tx->now))
        && sql_run(tx, Q_AUDIT_PRUNE, err, INT(before->last_id), INT(seal->last_id));
}

// The oldest seal whose events are there, in a piece of its own. What does not fit its seal was
// tampered with, and is kept for whoever looks into that.
static bool prune_seal(struct tx *tx, struct removing *r, bool *more, struct pawl_error *err)
{
    struct seal before, seal;
    bool fits = false;
    if (!(r->dry_run && r->after ? seal_load(tx, r->after, &before, err)
                                 : seal_newest_pruned(tx, &before, err))
        || !seal_load(tx, before.number + 1, &seal, err))
        return false;
    if (seal.number == 0 || seal.newest_at > cutoff(tx, r->keep.audit_us))
        return true;
    if (!seal_fits(tx, &before, &seal, &fits, err))
        return false;
    if (!fits) {
        r->broken_seal = seal.number;
        return true;
    }
    *more = true;
    r->after = seal.number;
    r->rows += seal.events;
    r->removed[REMOVED_EVENTS] += seal.events;
    return r->dry_run || prune(tx, &before, &seal, err);
}

// Removed jobs of which no event is left.
static bool forget_jobs(struct tx *tx, struct removing *r, bool *more, struct pawl_error *err)
{
    struct seal pruned;
    int64_t forgotten = 0;
    if (r->dry_run)
        return true;
    if (!seal_newest_pruned(tx, &pruned, err)
        || !sql_run(tx, Q_FORGOTTEN_NOTE, err, INT(pruned.newest_at), INT(RETENTION_ROWS_MAX))
        || !sql_run_counting(tx, Q_FORGOTTEN_DELETE, &forgotten, err, INT(pruned.newest_at),
                             INT(RETENTION_ROWS_MAX)))
        return false;
    r->rows += forgotten;
    *more = forgotten == RETENTION_ROWS_MAX;
    return true;
}

static bool (*const stages[])(struct tx *tx, struct removing *r, bool *more,
                              struct pawl_error *err) = {
    remove_logs,
    remove_jobs,
    remove_skips,
    remove_batches,
    remove_artifacts,
    prune_seal,
    forget_jobs,
};

bool retention_step(struct tx *tx, struct removing *r, struct pawl_error *err)
{
    bool more = false;
    r->rows = 0;
    if (r->done)
        return true;
    if (!stages[r->stage](tx, r, &more, err))
        return false;
    if (more)
        return true;
    r->after = 0;
    r->done = ++r->stage == countof(stages);
    return true;
}
