// pawl schedules, pawl schedule: what comes by the clock, what came of it, what did not and why.
#include <stdio.h>

#include "cli/listing.h"
#include "cli/object.h"
#include "cli/schedule.h"
#include "cli/value.h"
#include "cli/verb.h"

// `2026-11-16T02:00:00Z`: slots are whole seconds.
static struct str moment(struct arena *arena, const json_t *row, const char *field)
{
    struct str text = object_text(row, field), head, tail;
    return str_cut(text, '.', &head, &tail) && str_eq(tail, S("000Z"))
             ? str_format(arena, "%.*sZ", STR(head))
             : text;
}

// ----- pawl schedules

struct str schedule_when(struct arena *arena, const json_t *schedule)
{
    struct str cron = object_text(schedule, "cron"), zone = object_text(schedule, "timezone");
    bool elsewhere = !str_eq(zone, S("UTC"));
    if (cron.n == 0)
        return str_format(arena, "every %.*s", STR(object_text(schedule, "every")));
    return str_format(arena, "%.*s%s%.*s", STR(cron), elsewhere ? " " : "",
                      elsewhere ? (int)zone.n : 0, zone.s);
}

static void add_schedule(struct listing *listing, const json_t *schedule)
{
    struct table *table = &listing->table;
    struct arena *arena = table->cells.arena;
    pawl_time next = object_time(schedule, "next");
    table_add(table, object_text(schedule, "name"));
    table_add(table, schedule_when(arena, schedule));
    table_add(table, moment(arena, schedule, "next"));
    table_add(table, next ? ago(arena, next, world_wall(listing->cli->world)) : S(""));
    table_add(table, object_flag(schedule, "paused") ? S("yes") : S(""));
    table_add_number(table, object_number(schedule, "running"));
    table_add(table, object_text(schedule, "job_type"));
    table_add(table, object_text(schedule, "source"));
}

static bool next_schedules(struct listing *listing, struct pawl_error *err)
{
    return listing->cli->backend->schedules(listing->cli, &listing->page, err);
}

bool command_schedules(struct cli *cli, struct pawl_error *err)
{
    static const char *const headings[] = { "SCHEDULE", "WHEN", "NEXT", "DUE", "PAUSED",
                                            "RUNNING", "TYPE", "SOURCE" };
    struct listing listing = listing_of(cli, headings, countof(headings), add_schedule);
    if (!cli->given[OPTION_LIMIT])
        listing.left = INT64_MAX;
    listing.next = next_schedules;
    listing.none = "no schedules";
    return listing_show(&listing, err);
}

// ----- runs

// How long it took, or takes.
static struct str took(struct arena *arena, const json_t *run, pawl_time now)
{
    pawl_time started = object_time(run, "started_at"), ended = object_time(run, "finished_at");
    int64_t us = (ended ? ended : now) - started;
    return str_format(arena, "%lld.%lld s%s", (long long)(us / SECONDS(1)),
                      (long long)(us % SECONDS(1) / MILLISECONDS(100)), ended ? "" : " so far");
}

static void add_run(struct listing *listing, const json_t *run)
{
    struct table *table = &listing->table;
    struct arena *arena = table->cells.arena;
    table_add(table, moment(arena, run, "scheduled_for"));
    table_add(table, object_text(run, "status"));
    table_add(table, object_text(run, "started_at"));
    table_add(table, took(arena, run, world_wall(listing->cli->world)));
    table_add(table, object_text(run, "worker_instance"));
    table_add(table, object_text(run, "job_id"));
    table_add(table, object_text(run, "error_message"));
}

static bool next_rows(struct listing *listing, enum schedule_rows rows, struct pawl_error *err)
{
    struct cli *cli = listing->cli;
    return cli->backend->schedule_rows(cli, cli->words[1], rows, &listing->page, err);
}

static bool next_runs(struct listing *listing, struct pawl_error *err)
{
    return next_rows(listing, SCHEDULE_RUNS, err);
}

static bool runs(struct cli *cli, struct pawl_error *err)
{
    static const char *const headings[] = { "SLOT", "STATUS", "STARTED", "TOOK", "WORKER", "JOB",
                                            "ERROR" };
    struct listing listing = listing_of(cli, headings, countof(headings), add_run);
    listing.next = next_runs;
    listing.none = "no slot of it has been claimed";
    return listing_show(&listing, err);
}

// ----- skips: why did last night's job not run?

static const struct {
    const char *why;     // in the table
    const char *advice;  // below it, once
} reasons[] = {
    [SKIP_MISFIRE] = {
        "found later than misfire_grace_time allows",
        "nothing scheduled it in time: was every server that schedules down or stopped? Run the\n"
        "  slot now with `pawl schedule trigger`; a longer misfire_grace_time lets late ones run.",
    },
    [SKIP_COALESCED] = {
        "a later slot was due too, and only the last one runs",
        "that is what coalesce is for. With `coalesce: false` each would run; `pawl schedule\n"
        "  backfill` runs those that were left out.",
    },
    [SKIP_MAX_INSTANCES] = {
        "as many as may run at once still ran",
        "see `pawl schedule runs`: jobs take longer than the time between slots, or one hangs\n"
        "  and is ended after twice expected_max_runtime. Raise max_instances if they may overlap.",
    },
    [SKIP_PAUSED] = {
        "the schedule was paused",
        "`pawl schedule show` says by whom; `pawl schedule resume` lets it go on, and `backfill`\n"
        "  runs what was left out.",
    },
    [SKIP_CATCH_UP_LIMIT] = {
        "more slots were due at once than are made up for",
        "`pawl schedule backfill` runs those that were left out; catch_up says how many run by\n"
        "  themselves.",
    },
};
_Static_assert(countof(reasons) == SKIP_REASONS, "one row per reason");

static struct str skipped_slots(struct arena *arena, const json_t *skip)
{
    int64_t slots = object_number(skip, "slots");
    struct str first = moment(arena, skip, "scheduled_for"), last = moment(arena, skip, "until");
    if (str_eq(first, last))
        return first;
    return slots ? str_format(arena, "%.*s to %.*s (%lld)", STR(first), STR(last),
                              (long long)slots)
                 : str_format(arena, "%.*s to %.*s (very many)", STR(first), STR(last));
}

// `about` are the reasons that were seen, to be explained below the table: a bit each.
static void add_skip(struct listing *listing, const json_t *skip)
{
    struct table *table = &listing->table;
    unsigned *seen = listing->about;
    enum skip_reason reason;
    bool known = skip_reason_parse(object_text(skip, "reason"), &reason);
    table_add(table, skipped_slots(table->cells.arena, skip));
    table_add(table, object_text(skip, "reason"));
    table_add(table, known ? str_of(reasons[reason].why) : S(""));
    table_add(table, object_text(skip, "recorded_at"));
    if (known)
        *seen |= 1u << reason;
}

static bool next_skips(struct listing *listing, struct pawl_error *err)
{
    return next_rows(listing, SCHEDULE_SKIPS, err);
}

static bool skips(struct cli *cli, struct pawl_error *err)
{
    static const char *const headings[] = { "SLOT", "REASON", "WHY", "DECIDED" };
    unsigned seen = 0;
    struct listing listing = listing_of(cli, headings, countof(headings), add_skip);
    listing.next = next_skips;
    listing.about = &seen;
    listing.none = "no slot of it was skipped";
    if (!listing_show(&listing, err))
        return false;
    if (seen)
        print_title("What to do");
    for (unsigned i = 0; i < SKIP_REASONS; i++)
        if (seen & (1u << i))
            printf("  %s: %s\n", skip_reason_name((enum skip_reason)i), reasons[i].advice);
    return true;
}

// ----- next

struct str slot_note(const char *clock_change)
{
    struct str change = str_of(clock_change);
    if (str_eq(change, S("after_gap")))
        return S("its time does not come: the clock is set forward");
    return str_eq(change, S("first_of_two")) ? S("its time comes twice: the first") : S("");
}

static bool next(struct cli *cli, struct pawl_error *err)
{
    static const char *const headings[] = { "SLOT", "LOCAL", "DUE", "NOTE" };
    SCOPED(json) json_t *slots = NULL;
    pawl_time now = world_wall(cli->world);
    struct slot_range range = {
        .after = cli->given[OPTION_FROM] ? value_time(cli, OPTION_FROM, now) - 1 : now,
        .count = cli->given[OPTION_COUNT] ? (size_t)value_number(cli, OPTION_COUNT) : 10,
    };
    if (!cli->backend->schedule_next(cli, cli->words[1], &range, &slots, err))
        return false;
    if (cli->given[OPTION_JSON])
        return print_json(&cli->arena, json_pack("{s:O}", "items", slots), err);
    struct table table = table_of(&cli->arena, headings, countof(headings));
    for (size_t i = 0; i < json_array_size(slots); i++) {
        const json_t *slot = json_array_get(slots, i);
        table_add(&table, moment(&cli->arena, slot, "scheduled_for"));
        table_add(&table, object_text(slot, "local_time"));
        table_add(&table, ago(&cli->arena, object_time(slot, "scheduled_for"), now));
        table_add(&table, slot_note(object_text(slot, "clock_change").s));
    }
    table_print_list(&table, "none will come");
    return true;
}

// ----- by hand

static bool trigger(struct cli *cli, struct pawl_error *err)
{
    SCOPED(json) json_t *job = NULL;
    if (!cli->given[OPTION_SLOT])
        return usage(cli, err, "schedule trigger needs --slot TIME: which slot is to run");
    if (!cli->backend->schedule_trigger(cli, cli->words[1], value_slot(cli), &job, err))
        return false;
    if (cli->given[OPTION_JSON])
        return print_json(&cli->arena, json_incref(job), err);
    print_job_line(&cli->arena, job, "");
    return true;
}

static void print_backfill(struct cli *cli, const json_t *done)
{
    static const char *const headings[] = { "SLOT", "JOB" };
    struct table table = table_of(&cli->arena, headings, countof(headings));
    const json_t *claimed = object_items(done, "claimed");
    size_t count = json_array_size(claimed), taken = json_array_size(object_items(done, "taken"));
    for (size_t i = 0; i < count; i++) {
        const json_t *slot = json_array_get(claimed, i);
        table_add(&table, moment(&cli->arena, slot, "scheduled_for"));
        table_add(&table, object_text(slot, "job_id"));
    }
    if (count)
        table_print(&table, "");
    printf("%zu %s %s, %zu had been claimed before\n", count, count == 1 ? "slot" : "slots",
           cli->given[OPTION_DRY_RUN] ? "would be claimed" : "claimed", taken);
}

static bool backfill(struct cli *cli, struct pawl_error *err)
{
    SCOPED(json) json_t *done = NULL;
    pawl_time now = world_wall(cli->world);
    if (!cli->given[OPTION_FROM] || !cli->given[OPTION_TO])
        return usage(cli, err, "schedule backfill needs --from TIME and --to TIME");
    struct backfill wanted = {
        .from = value_time(cli, OPTION_FROM, now),
        .to = value_time(cli, OPTION_TO, now),
        .dry_run = cli->given[OPTION_DRY_RUN],
    };
    if (!cli->backend->schedule_backfill(cli, cli->words[1], &wanted, &done, err))
        return false;
    if (cli->given[OPTION_JSON])
        return print_json(&cli->arena, json_incref(done), err);
    print_backfill(cli, done);
    return true;
}

// ----- one

static bool change(struct cli *cli, enum schedule_act act, const char *done,
                   struct pawl_error *err)
{
    SCOPED(json) json_t *schedule = NULL;
    if (!cli->backend->schedule(cli, cli->words[1], act, &schedule, err))
        return false;
    if (cli->given[OPTION_JSON])
        return print_json(&cli->arena, json_incref(schedule), err);
    printf("%.*s %s\n", STR(safe(&cli->arena, cli->words[1])), done);
    return true;
}

static bool pause_it(struct cli *cli, struct pawl_error *err)
{
    return change(cli, SCHEDULE_PAUSE, "paused", err);
}

static bool resume_it(struct cli *cli, struct pawl_error *err)
{
    return change(cli, SCHEDULE_RESUME, "resumed", err);
}

static bool show(struct cli *cli, struct pawl_error *err)
{
    SCOPED(json) json_t *schedule = NULL;
    if (!cli->backend->schedule(cli, cli->words[1], SCHEDULE_SHOW, &schedule, err))
        return false;
    if (cli->given[OPTION_JSON])
        return print_json(&cli->arena, json_incref(schedule), err);
    schedule_print(cli, schedule);
    return true;
}

bool command_schedule(struct cli *cli, struct pawl_error *err)
{
    static const struct verb verbs[] = {
        { "show", 2, show },
        { "next", 2, next },
        { "runs", 2, runs },
        { "skips", 2, skips },
        { "trigger", 2, trigger },
        { "backfill", 2, backfill },
        { "pause", 2, pause_it },
        { "resume", 2, resume_it },
        { "explain", 2, schedule_explain },
    };
    return verb_act(cli, verbs, countof(verbs), err);
}
