// One row per event: its name is what people search their logs for.
#include "run/journal.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

static const struct {
    const char *name;
    bool warning;
} events[] = {
    [RUN_STARTED] = { "RUN_STARTED", false },
    [RUN_ENDED] = { "RUN_ENDED", false },
    [STEP_RETRIED] = { "STEP_RETRIED", true },
    [STEP_FAILED] = { "STEP_FAILED", true },
    [LEASE_LOST] = { "LEASE_LOST", true },
    [RUN_OVERDUE] = { "RUN_OVERDUE", true },
    [RUN_WRITTEN_OFF] = { "RUN_WRITTEN_OFF", true },
    [RUN_RETURNED] = { "RUN_RETURNED", true },
    [RUN_RELEASED] = { "RUN_RELEASED", false },
    [RUNS_RECOVERED] = { "RUNS_RECOVERED", true },
    [STORE_CONTENDED] = { "STORE_CONTENDED", false },
    [STORE_FAILED] = { "STORE_FAILED", true },
    [STORE_OUTDATED] = { "STORE_OUTDATED", true },
    [LOAN_OVER] = { "LOAN_OVER", true },
    [SCHEDULER_LEADS] = { "SCHEDULER_LEADS", false },
    [SCHEDULER_STANDS_BY] = { "SCHEDULER_STANDS_BY", false },
    [SCHEDULER_CLOCK_OFF] = { "SCHEDULER_CLOCK_OFF", true },
    [SLOTS_CLAIMED] = { "SLOTS_CLAIMED", false },
    [SLOTS_SKIPPED] = { "SLOTS_SKIPPED", true },
    [SLOTS_STALE] = { "SLOTS_STALE", true },
    [SLOTS_RECOVERED] = { "SLOTS_RECOVERED", true },
    [SLOT_REFUSED] = { "SLOT_REFUSED", true },
    [AUDIT_SEALED] = { "AUDIT_SEALED", false },
};
_Static_assert(countof(events) == JOURNAL_EVENTS, "one row per event");

void journal_open(struct journal *journal, const struct pawl_options *options,
                  const struct world *world)
{
    *journal = (struct journal){ .log = options->log,
                                 .context = options->log_context,
                                 .world = world };
    pthread_mutex_init(&journal->mutex, NULL);
}

void journal_end(struct journal *journal)
{
    pthread_mutex_lock(&journal->mutex);
    journal->ended = true;
    pthread_mutex_unlock(&journal->mutex);
}

void journal_close(struct journal *journal)
{
    pthread_mutex_destroy(&journal->mutex);
}

static const char *text(const char *given)
{
    return given ? given : "";
}

void journal_write(struct journal *journal, enum journal_event event,
                   const struct journal_subject *subject, const char *format, ...)
{
    static const struct journal_subject nothing;
    char message[512];
    if (!journal->log)
        return;
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    const struct journal_subject *about = subject ? subject : &nothing;
    struct pawl_log_line line = {
        .at = world_wall(journal->world),
        .warning = events[event].warning,
        .event = events[event].name,
        .job_id = text(about->job_id),
        .job_type = text(about->job_type),
        .org_id = text(about->org_id),
        .project_id = text(about->project_id),
        .request_id = text(about->request_id),
        .correlation_id = text(about->correlation_id),
        .attempt = (int)about->attempt,
        .message = message,
    };
    pthread_mutex_lock(&journal->mutex);
    if (!journal->ended)
        journal->log(journal->context, &line);
    pthread_mutex_unlock(&journal->mutex);
}
