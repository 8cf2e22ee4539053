// Watching runs by the clock of this process, whether or not the store can be asked: deadlines,
// leases that were not renewed in time, handlers that do not return.
#include <stdio.h>

#include "run/runner.h"

// A line about a run that may be gone when it is written: its texts are copied.
struct note {
    enum journal_event event;
    char job_id[ID_TEXT + 1], org_id[ID_TEXT + 1], project_id[ID_TEXT + 1];
    char job_type[NAME_BYTES_MAX + 1];
    char request_id[KEY_BYTES_MAX + 1], correlation_id[KEY_BYTES_MAX + 1];
    int64_t attempt;
    const char *message;
};

static struct note note_of(const struct pawl_run *run, enum journal_event event,
                           const char *message)
{
    struct note note = { .event = event, .attempt = run->subject.attempt, .message = message };
    snprintf(note.job_id, sizeof note.job_id, "%s", run->subject.job_id);
    snprintf(note.org_id, sizeof note.org_id, "%s", run->subject.org_id);
    snprintf(note.project_id, sizeof note.project_id, "%s", run->subject.project_id);
    snprintf(note.job_type, sizeof note.job_type, "%s", run->subject.job_type);
    snprintf(note.request_id, sizeof note.request_id, "%s", run->subject.request_id);
    snprintf(note.correlation_id, sizeof note.correlation_id, "%s", run->subject.correlation_id);
    return note;
}

static void note_write(struct runner *r, const struct note *note)
{
    struct journal_subject subject = {
        .job_id = note->job_id,
        .org_id = note->org_id,
        .project_id = note->project_id,
        .job_type = note->job_type,
        .request_id = note->request_id,
        .correlation_id = note->correlation_id,
        .attempt = note->attempt,
    };
    pthread_mutex_unlock(&r->mutex);
    journal_write(&r->pawl->journal, note->event, &subject, "%s", note->message);
    pthread_mutex_lock(&r->mutex);
}

// The handler is not waited for any more. Another thread takes its place, up to a bound; past it
// the pool is smaller until a handler returns. Its lease ends with the deadline; in the commit
// phase, which has none in the store, the next tick gives it back.
static void write_off(struct runner *r, struct pawl_run *run)
{
    atomic_store(&run->written_off, true);
    runner_stop_run(run, PAWL_STOP_LEASE_LOST);
    r->figures.written_off++;
    r->figures.written_off_now++;
    if (r->has_threads && !r->closing
        && r->figures.written_off_now <= r->pawl->options.written_off_max)
        run->replaced = worker_spawn(r);
}

static const char replaced[] = "its handler ignores the deadline: another thread has its place";
static const char smaller[] = "its handler ignores the deadline: the pool is smaller by it";

// Does the first thing that is due with this run. True when there was something.
static bool act(struct runner *r, struct pawl_run *run, int64_t now, struct note *note)
{
    if (run->ending || atomic_load(&run->written_off))
        return false;
    if (!run->overdue && now >= run->deadline) {
        run->overdue = true;
        r->figures.deadlines++;
        runner_stop_run(run, PAWL_STOP_DEADLINE);
        *note = note_of(run, RUN_OVERDUE, "it has passed its deadline and was told to stop");
        return true;
    }
    if (run->overdue && now >= run->deadline + r->pawl->options.grace_us) {
        write_off(r, run);
        *note = note_of(run, RUN_WRITTEN_OFF, run->replaced ? replaced : smaller);
        return true;
    }
    if (!run->overdue && now >= run->lease_until && pawl_stopped(run) != PAWL_STOP_LEASE_LOST) {
        r->figures.leases_lost++;
        runner_stop_run(run, PAWL_STOP_LEASE_LOST);
        *note = note_of(run, LEASE_LOST, "its lease could not be renewed in time");
        return true;
    }
    return false;
}

void watch_runs(struct runner *r)
{
    int64_t now = world_monotonic(r->world);
    struct pawl_run *run = r->runs;
    while (run) {
        struct note note;
        if (!act(r, run, now, &note)) {
            run = run->next;
            continue;
        }
        note_write(r, &note);
        run = r->runs;  // the list may be another by now
    }
}

static void sooner(int64_t *next, int64_t time)
{
    if (time < *next)
        *next = time;
}

int64_t watch_next(const struct runner *r)
{
    int64_t next = INT64_MAX;
    for (const struct pawl_run *run = r->runs; run; run = run->next) {
        if (run->ending || atomic_load(&run->written_off))
            continue;
        if (run->overdue)
            sooner(&next, run->deadline + r->pawl->options.grace_us);
        else
            sooner(&next, run->deadline);
        if (!run->overdue && pawl_stopped(run) != PAWL_STOP_LEASE_LOST)
            sooner(&next, run->lease_until);
    }
    return next;
}
