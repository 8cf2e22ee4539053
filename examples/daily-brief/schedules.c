// One row per job: its name in job_runs, what it runs and when. All of them say what to do about
// what could go wrong: one at a time, of missed slots the last one, none that is five minutes late.
#include "schedules.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "point.h"

#define countof(array) (sizeof(array) / sizeof((array)[0]))

enum { SECOND = 1000000, MINUTE = 60 * SECOND, WAIT_MINUTES = 20, TRIES_MAX = 60 };

static const struct pawl_schedule schedules[] = {
    { .name = "rss_ingestion", .job_type = "brief.ingest", .cron = "*/15 * * * *",
      .payload = "{\"feeds\":\"all\"}", .coalesce = PAWL_YES, .misfire_grace_us = 5LL * MINUTE,
      .max_instances = 1, .expected_max_runtime_us = 5LL * MINUTE },
    { .name = "event_clustering", .job_type = "brief.cluster", .cron = "5,20,35,50 * * * *",
      .coalesce = PAWL_YES, .misfire_grace_us = 5LL * MINUTE,
      .max_instances = 1, .expected_max_runtime_us = 5LL * MINUTE },
    { .name = "retention_cleanup", .job_type = "brief.retain", .cron = "30 3 * * *",
      .coalesce = PAWL_YES, .misfire_grace_us = 60LL * MINUTE,
      .max_instances = 1, .expected_max_runtime_us = 5LL * MINUTE },
};

bool schedules_define(struct brief *brief, struct pawl_error *err)
{
    for (size_t i = 0; i < countof(schedules); i++)
        if (!pawl_schedule(brief->pawl, &schedules[i], err))
            return false;
    return true;
}

static bool trigger(struct pawl *pawl, size_t i, struct pawl_ticket *ticket, struct pawl_error *err)
{
    pawl_time slot = pawl_now(pawl) / SECOND * SECOND;
    return pawl_trigger(pawl, schedules[i].name, slot, ticket, err);
}

// This second is taken, or the job runs just now: the next second is as good. On a new store the
// schedules are not there yet.
static bool trigger_soon(struct brief *brief, size_t i, struct pawl_ticket *ticket,
                         struct pawl_error *err)
{
    for (int tries = 0; tries < TRIES_MAX; tries++) {
        if (trigger(brief->pawl, i, ticket, err))
            return true;
        bool taken = err->code == PAWL_SLOT_CLAIMED || err->code == PAWL_MAX_INSTANCES;
        if (taken)
            nanosleep(&(struct timespec){ .tv_sec = 1 }, NULL);
        else if (err->code != PAWL_NOT_FOUND || !schedules_define(brief, err))
            return false;
    }
    return false;
}

static bool run_one(struct brief *brief, size_t i, struct pawl_error *err)
{
    struct pawl_ticket ticket;
    struct pawl_status status;
    if (!trigger_soon(brief, i, &ticket, err)
        || !pawl_wait(brief->pawl, ticket.job_id, (int64_t)WAIT_MINUTES * MINUTE, &status, err))
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
