// One row per job: its name in job_runs, what it runs, when, and what is said of it by hand.
#include "schedules.h"

#include <stdio.h>
#include <string.h>

#include "point.h"

#define countof(array) (sizeof(array) / sizeof((array)[0]))

enum { WAIT_S = 600 };

static const struct {
    const char *name, *job_type, *payload, *cron;
    int expected_minutes;  // stale after twice this
} schedules[] = {
    { "rss_ingestion", "brief.ingest", "{\"feeds\":\"all\"}", "*/15 * * * *", 5 },
    { "event_clustering", "brief.cluster", "{}", "5-59/15 * * * *", 5 },
    { "retention_cleanup", "brief.retain", "{}", "30 3 * * *", 5 },
};

bool schedules_define(struct brief *brief, bool paused, struct pawl_error *err)
{
    (void)brief, (void)paused, (void)err;
    return true;
}

static bool run_one(struct brief *brief, size_t i, struct pawl_error *err)
{
    struct pawl_job job = { .job_type = schedules[i].job_type, .payload = schedules[i].payload };
    struct pawl_ticket ticket;
    struct pawl_status status;
    if (!pawl_enqueue(brief->pawl, &job, &ticket, err)
        || !pawl_wait(brief->pawl, ticket.job_id, (int64_t)WAIT_S * 1000000, &status, err))
        return false;
    if (strcmp(status.state, "SUCCEEDED") == 0)
        return true;
    err->code = PAWL_CONFLICT;
    snprintf(err->message, sizeof(err->message), "%s is %s: %s", schedules[i].name, status.state,
             status.error);
    return false;
}

bool schedules_run_all(struct brief *brief, struct pawl_error *err)
{
    for (size_t i = 0; i < countof(schedules); i++) {
        if (!run_one(brief, i, err))
            return false;
        point(schedules[i].name);
    }
    return true;
}
