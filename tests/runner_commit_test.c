// The commit boundary through the runner: the work may repeat, its effect does not.
#include "shop.h"

#include <sqlite3.h>

struct effect {
    _Atomic int prepared, committed, finished;
    int refuse_first;      // commits that answer false
    bool say_why;
    int slow_first;        // commits that take too long
    int fail_finish;       // tries of the commit phase that fail
    char keys[8][PAWL_ID_BYTES];  // what each try of the commit phase showed
    struct shop *shop;
    int64_t seen;          // effects that another connection saw when the phase began
};

static bool prepare(struct pawl_run *run, void *context)
{
    struct effect *effect = context;
    effect->prepared++;
    return pawl_result(run, "{\"done\":true}");
}

static bool commit(struct pawl_run *run, struct pawl_tx *tx, void *context)
{
    struct effect *effect = context;
    struct pawl_error err = {0};
    char sql[160];
    int turn = effect->committed++;
    snprintf(sql, sizeof sql, "INSERT INTO effects VALUES ('%s', %d)", pawl_job_id(run),
             pawl_attempt(run));
    if (!pawl_tx_execute(tx, sql, &err))
        return pawl_fail(run, PAWL_CONFIGURATION, "%s", err.message);
    if (turn < effect->slow_first)
        return pawl_tx_execute(tx, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n"
                                   " WHERE i < 100000000) INSERT INTO effects SELECT i, 0 FROM n"
                                   " WHERE i < 0",
                               &err);
    if (turn < effect->refuse_first)
        return effect->say_why ? pawl_fail(run, PAWL_BUSINESS_RULE, "not enough money") : false;
    return true;
}

static bool finish(struct pawl_run *run, void *context)
{
    struct effect *effect = context;
    int turn = effect->finished++;
    if (turn < 8)
        snprintf(effect->keys[turn], sizeof effect->keys[turn], "%s", pawl_effect_key(run));
    if (turn == 0)
        effect->seen = shop_number(effect->shop, "SELECT count(*) FROM effects");
    if (strcmp(pawl_result_of(run), "{\"done\":true}") != 0)
        return pawl_fail(run, PAWL_CONFIGURATION, "the result is %s", pawl_result_of(run));
    return turn >= effect->fail_finish || pawl_fail(run, PAWL_VALIDATION, "no answer");
}

static struct pawl_ticket begin(struct shop *shop, struct effect *effect, bool with_finish)
{
    shop_sql(shop, "CREATE TABLE effects (job TEXT, attempt INTEGER)");
    effect->shop = shop;
    shop_handle(shop, (struct pawl_handler){ "pay", .prepare = prepare, .commit = commit,
                                             .finish = with_finish ? finish : NULL,
                                             .context = effect, .policy = "lifecycle" });
    return shop_enqueue(shop, (struct pawl_job){ .job_type = "pay" });
}

static int64_t effects(struct shop *shop)
{
    return shop_number(shop, "SELECT count(*) FROM effects");
}

TEST_SHOP(EXEC_6_the_effect_and_committed_are_one_transaction, .virtual_time = true)
{
    struct effect effect = {0};
    struct pawl_ticket ticket = begin(shop, &effect, false);
    EXPECT_INT(effects(shop), 0);
    shop_work(shop);
    EXPECT_STATE(shop, ticket, "SUCCEEDED");
    EXPECT_INT(effects(shop), 1);
    shop_pass(shop, HOURS(1));
    EXPECT_INT(effects(shop), 1);
    EXPECT_INT(effect.prepared, 1);
}

TEST_SHOP(EXEC_6_a_commit_that_answers_false_leaves_nothing_and_is_tried_again,
          .virtual_time = true)
{
    struct effect effect = { .refuse_first = 1 };
    struct pawl_ticket ticket = begin(shop, &effect, false);
    shop_work(shop);
    EXPECT_STATE(shop, ticket, "RETRYING");
    EXPECT_INT(effects(shop), 0);
    EXPECT_STR(str_of(shop_status(shop, &ticket).error),
               "the handler's commit did not say why it failed");
    shop_pass(shop, SECONDS(1));
    EXPECT_STATE(shop, ticket, "SUCCEEDED");
    EXPECT_INT(effects(shop), 1);
    EXPECT_INT(effect.prepared, 2);
}

TEST_SHOP(EXEC_6_a_commit_that_says_why_decides_about_another_attempt, .virtual_time = true)
{
    struct effect effect = { .refuse_first = 1, .say_why = true };
    struct pawl_ticket ticket = begin(shop, &effect, false);
    shop_work(shop);
    EXPECT_STATE(shop, ticket, "FAILED");
    EXPECT_STR(str_of(shop_status(shop, &ticket).error), "not enough money");
    EXPECT_INT(effects(shop), 0);
    EXPECT_INT(pawl_figures(shop->pawl).failed, 1);
}

TEST_SHOP(EXEC_6_a_commit_that_is_too_slow_is_taken_back_and_tried_again, .workers = 1,
          .commit_us = MILLISECONDS(20))
{
    struct effect effect = { .slow_first = 1 };
    struct pawl_ticket ticket = begin(shop, &effect, false);
    shop_start(shop);
    EXPECT_STR(str_of(shop_wait(shop, &ticket).state), "SUCCEEDED");
    EXPECT_INT(effects(shop), 1);
    EXPECT_INT(shop_status(shop, &ticket).attempt, 2);
    EXPECT_INT(shop_number(shop, "SELECT attempt FROM effects"), 2);
}

// Refusals of some must not touch the neighbours in their transaction.
TEST_SHOP(EXEC_6_among_many_commits_each_effect_happens_once, .workers = 8)
{
    enum { COUNT = 300 };
    struct effect effect = { .refuse_first = 20 };
    begin(shop, &effect, false);
    for (int i = 1; i < COUNT; i++)
        shop_enqueue(shop, (struct pawl_job){ .job_type = "pay" });
    shop_start(shop);
    WAIT_FOR(pawl_figures(shop->pawl).succeeded == COUNT);
    EXPECT_INT(effects(shop), COUNT);
    EXPECT_INT(shop_number(shop, "SELECT count(DISTINCT job) FROM effects"), COUNT);
}

// ----- the phase after the commit

TEST_SHOP(EXEC_10_the_commit_phase_begins_after_committed_is_on_disk, .virtual_time = true)
{
    struct effect effect = {0};
    struct pawl_ticket ticket = begin(shop, &effect, true);
    shop_work(shop);
    EXPECT_STATE(shop, ticket, "SUCCEEDED");
    EXPECT_INT(effect.seen, 1);
    EXPECT_INT(effect.finished, 1);
}

TEST_SHOP(EXEC_10_without_a_commit_there_is_no_phase_after_it, .virtual_time = true)
{
    struct effect effect = { .refuse_first = 1, .say_why = true };
    begin(shop, &effect, true);
    shop_work(shop);
    EXPECT_INT(effect.finished, 0);
    EXPECT_INT(effects(shop), 0);
}

TEST_SHOP(EXEC_10_a_failed_commit_phase_is_repeated_with_back_off_and_the_same_key,
          .virtual_time = true)
{
    struct effect effect = { .fail_finish = 5 };
    struct pawl_ticket ticket = begin(shop, &effect, true);
    shop_work(shop);
    EXPECT_INT(effect.finished, 1);
    EXPECT_STATE(shop, ticket, "RUNNING");
    EXPECT_STR(str_of(shop_status(shop, &ticket).phase), "finishing");
    shop_work(shop);
    EXPECT_INT(effect.finished, 1);  // not before its time
    EXPECT_INT(shop_number(shop, "SELECT count(*) FROM pawl_audit WHERE event ="
                                 " 'job.finish_failed' AND detail LIKE '%no answer%'"),
               1);
    shop_pass(shop, HOURS(1));
    EXPECT_STATE(shop, ticket, "SUCCEEDED");
    EXPECT_INT(effect.finished, 6);
    for (int i = 0; i < 6; i++)
        EXPECT(strcmp(effect.keys[i], ticket.job_id) == 0);
    EXPECT_INT(effects(shop), 1);
    EXPECT_INT(effect.prepared, 1);
    EXPECT_INT(shop_number(shop, "SELECT count(*) FROM pawl_executions"), 1);
}

// Nothing else happens meanwhile that could remind an idle runner of it.
TEST_SHOP(EXEC_10_an_idle_runner_repeats_a_commit_phase_when_its_time_has_come, .workers = 2)
{
    struct effect effect = { .fail_finish = 1 };
    struct pawl_ticket ticket = begin(shop, &effect, true);
    shop_start(shop);
    EXPECT_STR(str_of(shop_wait(shop, &ticket).state), "SUCCEEDED");
    EXPECT_INT(effect.finished, 2);
    EXPECT_INT(effects(shop), 1);
}

static bool take_long(struct pawl_run *run, void *context)
{
    struct effect *effect = context;
    effect->finished++;
    return pawl_pause(run, SECONDS(90));
}

TEST_SHOP(EXEC_10_a_commit_phase_longer_than_the_lease_keeps_it, .virtual_time = true)
{
    struct effect effect = {0};
    shop_handle(shop, (struct pawl_handler){ "pay", .prepare = prepare, .finish = take_long,
                                             .context = &effect });
    struct pawl_ticket ticket = shop_enqueue(shop, (struct pawl_job){ .job_type = "pay" });
    shop_work(shop);
    EXPECT_STATE(shop, ticket, "SUCCEEDED");
    EXPECT_INT(effect.finished, 1);
}
