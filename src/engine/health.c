// Most checks are a number that should be zero, and how old the oldest of them is.
#include "engine/health.h"

#include <assert.h>

#include "base/id.h"
#include "base/time_text.h"
#include "engine/queue.h"
#include "store/counts.h"

#define TAKEN_LATELY_US MINUTES(10)
#define READY_PATIENCE_US MINUTES(1)
#define SILENT_OF_INTEREST_US DAYS(7)
#define LEFT_BYTES_BAD ((int64_t)100 << 20)
#define LEFT_BYTES_WARN ((int64_t)1 << 30)

static const char *const names[] = { "ok", "warn", "bad" };

const char *health_name(enum health health)
{
    return names[health];
}

void find(struct findings *findings, const char *check, enum health health, struct str found,
          const char *advice)
{
    assert(findings->count < HEALTH_CHECKS_MAX);
    findings->list[findings->count++] = (struct finding){
        .check = check,
        .health = health,
        .found = found,
        .advice = health == HEALTH_OK ? "" : advice,
    };
}

enum health health_of_room(int64_t left, int64_t all)
{
    if (left < LEFT_BYTES_BAD)
        return HEALTH_BAD;
    return left < LEFT_BYTES_WARN || left < all / 10 ? HEALTH_WARN : HEALTH_OK;
}

// ----- numbers

// clang-format off
static const struct number_check {
    const char *name;
    enum query query;
    int64_t before_us;   // it is asked about the time so long ago; negative: ahead
    enum health health;  // when there are any
    const char *fine;
    const char *found;   // after the number, before the time
    const char *advice;
} numbers[] = {
    { "leases", Q_DOCTOR_LEASES, SECONDS(30), HEALTH_BAD,
      "none is over and held", "leases are over and nobody took the jobs back, the first since",
      "no process sweeps this store: start `pawl serve`, or read in its log why it cannot write" },
    { "due", Q_DOCTOR_DUE, MINUTES(1), HEALTH_BAD,
      "what is due is in its queue", "jobs are due and not in their queue, the first since",
      "no process sweeps this store: start `pawl serve`, or read in its log why it cannot write" },
    { "commits", Q_DOCTOR_COMMITTED, MINUTES(10), HEALTH_WARN,
      "what is committed gets finished", "jobs are COMMITTED and not finished, the first since",
      "their commit phase fails or has no worker: `pawl jobs --state RUNNING`, `pawl explain`" },
    { "pauses", Q_DOCTOR_PAUSES, DAYS(1), HEALTH_WARN,
      "none for more than a day", "queues have been paused for more than a day, the first since",
      "`pawl queues`, then `pawl queue resume QUEUE` if nobody needs that any more" },
    { "schedules", Q_DOCTOR_SCHEDULES_DUE, MINUTES(2), HEALTH_BAD,
      "none is late", "schedules are due and nobody runs them, the first since",
      "nobody leads: start `pawl serve` without `--only api`, or read in its log why it cannot" },
    { "slots", Q_DOCTOR_SLOTS_STALE, 0, HEALTH_WARN,
      "none is stale", "scheduled jobs take longer than twice what was expected, the first since",
      "`pawl schedule runs NAME`, then `pawl show` of the job; or raise expected_max_runtime" },
    { "missed", Q_DOCTOR_SLOTS_MISSED, DAYS(1), HEALTH_WARN,
      "no slot was in the last day", "times slots were missed in the last day, the last of",
      "`pawl schedule skips NAME` says which; `pawl schedule backfill NAME` runs them" },
    { "letters", Q_DOCTOR_LETTERS, 0, HEALTH_WARN,
      "none is open", "dead letters are open, the newest of",
      "`pawl dead groups`, then replay, fix or discard them" },
    { "keys", Q_DOCTOR_KEYS, -DAYS(14), HEALTH_WARN,
      "none ends within two weeks", "keys end within two weeks, the first at",
      "`pawl key list`; create another, let its user change over, then revoke the first" },
};
// clang-format on

static bool look_number(struct tx *tx, const struct number_check *check, struct findings *findings,
                        struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    int64_t count = 0, when = 0;
    if (!sql_ask(tx, &rows, check->query, err, INT(tx->now - check->before_us)))
        return false;
    if (rows_next(&rows)) {
        count = row_int(&rows);
        when = row_int(&rows);
    }
    if (!rows_ok(&rows, err))
        return false;
    struct str found = count == 0 ? str_of(check->fine)
                                  : str_format(tx->arena, "%lld %s %.*s", (long long)count,
                                               check->found, STR(time_text(tx->arena, when)));
    find(findings, check->name, count ? check->health : HEALTH_OK, found, check->advice);
    return true;
}

// ----- who works

struct alive {
    int64_t living, silent;
    struct str last;     // that fell silent
    pawl_time last_at;
};

static bool count_alive(struct tx *tx, struct alive *alive, struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    *alive = (struct alive){0};
    if (!sql_ask_plain(tx, &rows, Q_DOCTOR_INSTANCES, err))
        return false;
    while (rows_next(&rows)) {
        struct str instance = row_text(&rows);
        pawl_time until = row_int(&rows);
        alive->living += until > tx->now;
        if (until > tx->now || until < tx->now - SILENT_OF_INTEREST_US)
            continue;
        if (alive->silent++ == 0) {
            alive->last = instance;
            alive->last_at = until;
        }
    }
    return rows_ok(&rows, err);
}

static bool count_jobs(struct tx *tx, int64_t *unfinished, struct pawl_error *err)
{
    struct queue_count *counts = NULL;
    size_t count = 0;
    *unfinished = 0;
    if (!counts_of_org(tx, 0, &counts, &count, err))
        return false;
    for (size_t i = 0; i < count; i++)
        for (int place = 0; place < PLACES; place++)
            *unfinished += counts[i].at[place];
    return true;
}

// A process that ends says so; one that is killed does not.
static bool look_processes(struct tx *tx, struct findings *findings, struct pawl_error *err)
{
    struct alive alive;
    int64_t unfinished = 0;
    if (!count_alive(tx, &alive, err) || !count_jobs(tx, &unfinished, err))
        return false;
    struct str living = str_format(tx->arena, "%lld alive", (long long)alive.living);
    if (alive.living == 0 && unfinished > 0)
        find(findings, "processes", HEALTH_BAD,
             str_format(tx->arena, "none is alive, and %lld jobs have not ended",
                        (long long)unfinished),
             "start `pawl serve`: without a process nothing comes due and nothing is taken back");
    else if (alive.silent > 0)
        find(findings, "processes", HEALTH_WARN,
             str_format(tx->arena, "%.*s; %.*s fell silent at %.*s and did not say goodbye",
                        STR(living), STR(alive.last), STR(time_text(tx->arena, alive.last_at))),
             "it was killed, or its machine is gone: its log says more. Start it again");
    else
        find(findings, "processes", HEALTH_OK, living, "");
    return true;
}

// Whether the oldest job of the row could have been taken long ago.
static bool waits_long(struct tx *tx, struct id job, pawl_time *since, struct pawl_error *err)
{
    return queue_ready_since(tx, job.high, since, err) && *since <= tx->now - READY_PATIENCE_US;
}

static bool look_types(struct tx *tx, struct findings *findings, struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    struct pawl_error why = {0};
    if (!sql_ask(tx, &rows, Q_DOCTOR_TYPES_WAITING, err, INT(tx->now - TAKEN_LATELY_US)))
        return false;
    while (rows_next(&rows)) {
        struct str type = row_text(&rows), queue = row_text(&rows);
        struct id job = { .high = row_int(&rows) };
        job.low = row_int(&rows);
        pawl_time since = 0;
        if (!waits_long(tx, job, &since, &why)) {
            if (why.code != PAWL_OK)
                return fail(err, why.code, "%s", why.message);
            continue;
        }
        find(findings, "workers", HEALTH_BAD,
             str_format(tx->arena, "nobody takes jobs of type %.*s from %.*s, since %.*s: %.*s",
                        STR(type), STR(queue), STR(time_text(tx->arena, since)),
                        STR(id_text(tx->arena, job))),
             "start a worker with a handler for the type; `pawl explain` of that job says more");
        return true;
    }
    find(findings, "workers", HEALTH_OK, S("every type that waits has one"), "");
    return rows_ok(&rows, err);
}

bool health_look(struct tx *tx, struct findings *findings, struct pawl_error *err)
{
    if (!look_processes(tx, findings, err) || !look_types(tx, findings, err))
        return false;
    for (size_t i = 0; i < countof(numbers); i++)
        if (!look_number(tx, &numbers[i], findings, err))
            return false;
    return true;
}
