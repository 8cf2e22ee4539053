// pawl schedule show: one schedule, its terms in words.
#include <stdio.h>

#include "base/time_text.h"
#include "cli/object.h"
#include "cli/output.h"
#include "cli/schedule.h"
#include "engine/schedule.h"

struct showing {
    struct arena *arena;
    pawl_time now;
    const json_t *schedule;
};

static void line(const struct showing *s, const char *name, struct str text)
{
    if (text.n)
        printf("  %-12s %.*s\n", name, STR(safe(s->arena, text)));
}

static void line_text(const struct showing *s, const char *name, const char *field)
{
    line(s, name, object_text(s->schedule, field));
}

static void line_time(const struct showing *s, const char *name, const char *field)
{
    pawl_time time = object_time(s->schedule, field);
    struct str when = object_text(s->schedule, field), distance = ago(s->arena, time, s->now);
    if (time)
        line(s, name, str_format(s->arena, "%.*s (%.*s)", STR(when), STR(distance)));
}

// Made here, of what is told: empty when this machine does not know the zone.
static struct str words(const struct showing *s)
{
    struct schedule schedule = { .cron = object_text(s->schedule, "cron") };
    struct timetable timetable;
    struct pawl_error ignored;
    if (schedule.cron.n)
        schedule.timezone = object_text(s->schedule, "timezone");
    else if (!duration_parse(object_text(s->schedule, "every"), &schedule.every_us))
        return S("");
    return schedule_timetable(s->arena, &schedule, &timetable, &ignored)
             ? timetable_words(s->arena, &timetable)
             : S("");
}

static struct str running(const struct showing *s)
{
    return str_format(s->arena, "%lld of %lld (max_instances)",
                      (long long)object_number(s->schedule, "running"),
                      (long long)object_number(s->schedule, "max_instances"));
}

static struct str late(const struct showing *s)
{
    return str_format(s->arena, "one found more than %.*s late is skipped (misfire_grace_time)",
                      STR(object_text(s->schedule, "misfire_grace_time")));
}

static struct str runtime(const struct showing *s)
{
    return str_format(s->arena, "%.*s at most (expected_max_runtime); ended after twice that",
                      STR(object_text(s->schedule, "expected_max_runtime")));
}

static struct str several(const struct showing *s)
{
    const json_t *schedule = s->schedule;
    if (object_flag(schedule, "coalesce"))
        return S("of several that are due at once the last one runs (coalesce: true)");
    return str_format(s->arena, "of several that are due at once the last %lld run, spread over "
                                "%.*s (coalesce: false)",
                      (long long)object_number(schedule, "catch_up"),
                      STR(object_text(schedule, "jitter")));
}

static struct str paused(const struct showing *s)
{
    pawl_time at = object_time(s->schedule, "paused_at");
    return at ? str_format(s->arena, "%.*s (%.*s) by %.*s",
                           STR(object_text(s->schedule, "paused_at")),
                           STR(ago(s->arena, at, s->now)),
                           STR(object_text(s->schedule, "paused_by")))
              : S("");
}

void schedule_print(struct cli *cli, const json_t *schedule)
{
    struct showing s = { &cli->arena, world_wall(cli->world), schedule };
    struct arena *arena = s.arena;
    struct str org = object_text(schedule, "org_id");
    printf("%.*s  %.*s  %.*s\n", STR(safe(arena, object_text(schedule, "name"))),
           STR(safe(arena, object_text(schedule, "job_type"))),
           STR(safe(arena, schedule_when(arena, schedule))));
    line(&s, "in words", words(&s));
    line_time(&s, "next", "next");
    line(&s, "paused", paused(&s));
    line(&s, "running", running(&s));
    line(&s, "late", late(&s));
    line(&s, "several", several(&s));
    line(&s, "runtime", runtime(&s));
    line_text(&s, "policy", "policy");
    line_text(&s, "queue", "queue");
    line(&s, "org", str_eq(org, DEFAULT_ORG) ? S("") : org);
    line_text(&s, "project", "project_id");
    line_text(&s, "source", "source");
    line_time(&s, "created", "created_at");
    line_time(&s, "changed", "updated_at");
    line(&s, "payload", object_value(arena, schedule, "payload"));
}
