// Which of the due slots run, and which are skipped for what reason: as APScheduler 3 has it.
#include "slots.h"

#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

TEST_EACH_DB(SLOT_7_coalesce_claims_the_latest_due_slot)
{
    struct schedule s = every_five_minutes();
    put(box, &s);
    to_next_slot(box);
    pass(box, MINUTES(20));
    EXPECT_INT(tick(box).claimed, 1);
    EXPECT_INT(box_number(box, "SELECT scheduled_for FROM job_runs"), slot_before_now(box));
    EXPECT_INT(skips(box, "coalesced"), 4);
}

TEST_EACH_DB(SLOT_7_without_coalesce_those_within_their_grace_are_made_up_for)
{
    struct schedule s = every_five_minutes();
    s.coalesce = false;
    s.misfire_grace_us = MINUTES(12);
    put(box, &s);
    to_next_slot(box);
    pass(box, MINUTES(25));
    EXPECT_INT(tick(box).claimed, 3);
    EXPECT_INT(skips(box, "misfire"), 3);
    EXPECT_INT(skips(box, "coalesced"), 0);
    struct claimed *claimed;
    EXPECT_INT(claim_some(box, "A", 10, &claimed), 1);  // one after another
}

TEST_EACH_DB(SLOT_7_catch_up_is_bounded_and_spread)
{
    struct schedule s = every_five_minutes();
    s.coalesce = false;
    s.misfire_grace_us = DAYS(2);
    s.catch_up = 5;
    s.jitter_us = MINUTES(1);
    put(box, &s);
    to_next_slot(box);
    pass(box, MINUTES(100));
    EXPECT_INT(tick(box).claimed, 5);
    EXPECT_INT(skips(box, "catch_up_limit"), 16);
    EXPECT(box_number(box, "SELECT count(DISTINCT due_at) FROM parked") > 1);
    EXPECT_INT(box_number(box, "SELECT max(scheduled_for) FROM job_runs"), slot_before_now(box));
}

TEST_EACH_DB(SLOT_7_a_slot_found_later_than_its_grace_is_a_misfire)
{
    struct schedule s = every_five_minutes();
    s.misfire_grace_us = SECONDS(30);
    put(box, &s);
    to_next_slot(box);
    pass(box, SECONDS(30));
    EXPECT_INT(tick(box).claimed, 0);
    EXPECT_INT(skips(box, "misfire"), 1);
    to_next_slot(box);
    pass(box, SECONDS(29));
    EXPECT_INT(tick(box).claimed, 1);  // at its very end
}

TEST_EACH_DB(SLOT_7_a_slot_that_finds_max_instances_running_is_skipped)
{
    struct schedule s = every_five_minutes();
    s.expected_us = HOURS(1);
    put(box, &s);
    to_next_slot(box);
    EXPECT_INT(tick(box).claimed, 1);
    to_next_slot(box);
    EXPECT_INT(tick(box).claimed, 0);
    EXPECT_INT(skips(box, "max_instances"), 1);
    struct job job;
    REFUSED(PAWL_MAX_INSTANCES, slot_trigger(tx, S("ingest"), slot_before_now(box) + SECONDS(7),
                                             &job, err));
    work(box);
    to_next_slot(box);
    EXPECT_INT(tick(box).claimed, 1);
}

TEST_EACH_DB(SLOT_7_more_instances_run_side_by_side)
{
    struct schedule s = every_five_minutes();
    s.expected_us = HOURS(1);
    s.max_instances = 3;
    put(box, &s);
    for (int i = 0; i < 4; i++) {
        to_next_slot(box);
        tick(box);
    }
    EXPECT_INT(runs(box, "running"), 3);
    EXPECT_INT(skips(box, "max_instances"), 1);
    struct claimed *claimed;
    EXPECT_INT(claim_some(box, "A", 10, &claimed), 3);
}

TEST_EACH_DB(SLOT_7_a_schedule_that_leaves_a_term_out_is_refused_and_every_one_is_named)
{
    struct schedule s = { .name = S("x"), .job_type = S("t"), .every_us = MINUTES(1) };
    enum schedule_put what;
    struct tx tx = {0};
    struct pawl_error err = {0};
    box_begin(box, &tx);
    EXPECT(!schedule_put(&tx, &s, SCHEDULE_FROM_API, &what, &err));
    tx_end(&tx);
    EXPECT_INT(err.code, PAWL_INVALID);
    static const char *const terms[] = { "coalesce", "misfire_grace_time", "max_instances",
                                         "expected_max_runtime" };
    for (size_t i = 0; i < countof(terms); i++)
        EXPECT(strstr(err.message, terms[i]) != NULL);
}

TEST_EACH_DB(SLOT_7_bad_terms_are_refused_by_name)
{
    enum schedule_put what;
    struct schedule s = every_five_minutes();
    s.cron = S("*/5 * * * *");
    REFUSED(PAWL_INVALID, schedule_put(tx, &s, SCHEDULE_FROM_API, &what, err));  // and `every`
    s.every_us = 0;
    s.cron = S("61 * * * *");
    REFUSED(PAWL_INVALID, schedule_put(tx, &s, SCHEDULE_FROM_API, &what, err));
    s.cron = S("*/5 * * * *");
    s.timezone = S("Europe/Atlantis");
    REFUSED(PAWL_INVALID, schedule_put(tx, &s, SCHEDULE_FROM_API, &what, err));
    s.timezone = S("Europe/Berlin");
    s.payload = S("[1]");
    REFUSED(PAWL_INVALID, schedule_put(tx, &s, SCHEDULE_FROM_API, &what, err));
    s.payload = S("{\"feeds\":\"all\"}");
    put(box, &s);
}

TEST_EACH_DB(SLOT_7_a_year_of_silence_leaves_few_rows_and_ends_at_once)
{
    struct schedule s = every_five_minutes();
    s.every_us = SECONDS(1);
    put(box, &s);
    pass(box, DAYS(365));
    EXPECT_INT(tick(box).claimed, 1);
    EXPECT_INT(box_number(box, "SELECT count(*) FROM slot_skips"), CATCH_UP_MAX);
    EXPECT_INT(box_number(box, "SELECT slots FROM slot_skips ORDER BY id LIMIT 1"), 0);
    EXPECT_INT(seen(box, "ingest").next_at, world_wall(&box->world.world) + SECONDS(1));
}

static int64_t statements;

static int count_statement(unsigned kind, void *self, void *statement, void *text)
{
    (void)kind, (void)self, (void)statement, (void)text;
    statements++;
    return 0;
}

static int watch(sqlite3 *db, const char **error, const void *api)
{
    (void)error, (void)api;
    return sqlite3_trace_v2(db, SQLITE_TRACE_STMT, count_statement, NULL);
}

// How many statements a tick with nothing due takes, and that it changes nothing. Not rehearsed:
// that would be counted too.
static int64_t statements_of_a_tick(struct box *box)
{
    tick(box);
    struct str before = box_contents(box);
    struct scheduling s = { .instance = &me, .limit = 50, .wall = world_wall(&box->world.world) };
    struct pawl_error err = {0};
    SCOPED(tx) struct tx tx = {0};
    statements = 0;
    box_begin(box, &tx);
    MUST(slots_tick(&tx, &s, &err));
    box_commit(&tx);
    EXPECT_INT(s.claimed, 0);
    int64_t taken = statements;
    EXPECT(str_eq(box_contents(box), before));
    return taken;
}

SQLITE_ONLY(RUN_10_a_tick_with_nothing_due_takes_as_many_statements_with_many_schedules,
            "counts statements of SQLite")
TEST_EACH_DB(RUN_10_a_tick_with_nothing_due_takes_as_many_statements_with_many_schedules)
{
    struct schedule s = every_five_minutes();
    put(box, &s);
    sqlite3_auto_extension((void (*)(void))watch);
    box_reopen(box);
    int64_t few = statements_of_a_tick(box);
    EXPECT(few > 0 && few < 10);
    for (int i = 0; i < 300; i++) {
        char name[32];
        snprintf(name, sizeof name, "s%d", i);
        s.name = str_of(name);
        put(box, &s);
    }
    EXPECT_INT(statements_of_a_tick(box), few);
    sqlite3_cancel_auto_extension((void (*)(void))watch);
    to_next_slot(box);
    size_t claimed = 0, rounds = 0;
    struct scheduling now;
    do {  // many that are due at once come in pieces: others want to write too
        now = tick(box);
        claimed += now.claimed;
        rounds++;
    } while (now.more);
    EXPECT_INT(claimed, 301);
    EXPECT(rounds > 6);
}

TEST_EACH_DB(RUN_10_what_was_missed_in_a_long_outage_comes_in_pieces)
{
    struct schedule s = every_five_minutes();
    for (int i = 0; i < 20; i++) {
        char name[32];
        snprintf(name, sizeof name, "s%d", i);
        s.name = str_of(name);
        put(box, &s);
    }
    pass(box, DAYS(1));
    size_t claimed = 0;
    struct scheduling now;
    do {
        now = tick(box);
        EXPECT(now.rows <= 50 + CATCH_UP_MAX);
        claimed += now.claimed;
    } while (now.more);
    EXPECT_INT(claimed, 20);
}

TEST(SLOT_a_schedule_in_a_zone_that_is_gone_has_no_next_slot_and_says_so)
{
    struct schedule s = every_five_minutes();
    pawl_time next = 0;
    struct pawl_error err = {0};
    struct coming coming = { .after = SECONDS(1), .room = 1, .slots = &next };
    MUST(schedule_next(&s, &coming, &err));
    EXPECT_INT(next, MINUTES(5));
    s.every_us = 0;
    s.cron = S("0 0 * * *");
    s.timezone = S("Nowhere/Gone");
    EXPECT_REFUSED(PAWL_INVALID, schedule_next(&s, &coming, &err));
}
