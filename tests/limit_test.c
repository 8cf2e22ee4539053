// Limits on what runs at once and begins per time: of queues, types, orgs and keys.
#include "limited.h"

#include <string.h>

#include "engine/gate.h"

static size_t of_type(const struct claimed *claimed, size_t count, const char *type)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++)
        found += str_eq(claimed[i].job.contract.job_type, str_of(type));
    return found;
}

static size_t of_org(const struct claimed *claimed, size_t count, struct str org)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++)
        found += str_eq(claimed[i].job.contract.org_id, org);
    return found;
}

// ----- rates, as rules

TEST(LIMIT_a_rate_is_a_number_per_time_with_an_optional_burst)
{
    static const char *const wrong[] = { "", "10", "10/", "/s", "0/s", "-1/s", "10/x", "10/ms",
                                         "10/s burst", "10/s burst 0", "10/s burst x", "10/s 3",
                                         "1000001/s", "10/s  burst 3", " 10/s", "10/s " };
    struct rate rate;
    for (size_t i = 0; i < countof(wrong); i++)
        EXPECT(!rate_parse(str_of(wrong[i]), &rate));
    EXPECT(rate_parse(S("10/m"), &rate));
    EXPECT(rate.count == 10 && rate.per_us == MINUTES(1) && rate.burst == 10);
    EXPECT_STR(rate_text(test_arena(), &rate), "10/m");
    EXPECT(rate_parse(S("500/h burst 3"), &rate));
    EXPECT(rate.count == 500 && rate.per_us == HOURS(1) && rate.burst == 3);
    EXPECT_STR(rate_text(test_arena(), &rate), "500/h burst 3");
}

TEST(LIMIT_a_bucket_gives_a_burst_and_then_one_token_at_a_time)
{
    struct rate rate = rate_of("7/s burst 3");
    pawl_time now = SECONDS(1800000000);
    int64_t full_at = 0, taken = 0;
    for (; rate_room(&rate, full_at, now) > 0; taken++)
        full_at = rate_take(&rate, full_at, now);
    EXPECT_INT(taken, 3);
    pawl_time next = rate_next(&rate, full_at, now);
    EXPECT(next > now && next <= now + SECONDS(1) / 7 + 1);
    EXPECT_INT(rate_room(&rate, full_at, next - 1), 0);
    EXPECT_INT(rate_room(&rate, full_at, next), 1);
    EXPECT_INT(rate_room(&rate, full_at, now + HOURS(1)), 3);
}

TEST(LIMIT_a_clock_that_goes_back_blocks_for_one_token_at_most)
{
    struct rate rate = rate_of("10/m burst 1");
    pawl_time now = SECONDS(1800000000);
    int64_t far = rate_take(&rate, 0, now + DAYS(300));
    EXPECT_INT(rate_room(&rate, far, now), 0);
    EXPECT(rate_next(&rate, far, now) <= now + SECONDS(6));
}

// ----- what runs at once

static const struct {
    enum limit_scope scope;
    struct str name;
} wholes[] = {
    { LIMIT_QUEUE, { "q:default", 9 } },
    { LIMIT_TYPE, { "mail", 4 } },
    { LIMIT_ORG, { "0198c7a2-0000-7000-8000-00000000000a", 36 } },
};

TEST_EACH_DB(LIMIT_no_more_run_at_once_than_may_of_a_queue_a_type_or_an_org)
{
    for (size_t i = 0; i < countof(wholes); i++) {
        struct claimed *claimed = NULL, *rest = NULL;
        limited_add_many(box, (struct mail){ .type = "mail" }, 8);
        limit_on(box, wholes[i].scope, wholes[i].name, (struct limit){ .max_running = 3 });
        EXPECT_INT(limited_claim(box, 100, &claimed, NULL), 3);
        EXPECT_INT(limited_claim(box, 100, &rest, NULL), 0);
        limited_commit(box, &claimed[1]);
        EXPECT_INT(limited_claim(box, 100, &rest, NULL), 1);
        limited_commit(box, &claimed[0]);
        limited_commit(box, &claimed[2]);
        limited_commit(box, &rest[0]);
        limit_on(box, wholes[i].scope, wholes[i].name, (struct limit){0});
        EXPECT_INT(limited_claim(box, 100, &rest, NULL), 4);
        for (size_t k = 0; k < 4; k++)
            limited_commit(box, &rest[k]);
        EXPECT_INT(box_number(box, "SELECT count(*) FROM job_limit_holds"), 0);
    }
}

TEST_EACH_DB(LIMIT_of_every_org_is_each_ones_unless_it_has_its_own)
{
    struct claimed *claimed = NULL;
    limited_add_many(box, (struct mail){ .org = ORG_A }, 10);
    limited_add_many(box, (struct mail){ .org = ORG_B }, 10);
    limit_on(box, LIMIT_ORG, S(""), (struct limit){ .max_running = 2 });
    limit_on(box, LIMIT_ORG, ORG_B, (struct limit){ .max_running = 5 });
    size_t count = limited_claim(box, 100, &claimed, NULL);
    EXPECT_INT(of_org(claimed, count, ORG_A), 2);
    EXPECT_INT(of_org(claimed, count, ORG_B), 5);
    speak_for(box, ORG_A);
    EXPECT_INT(claim_some(box, "A", 10, &claimed), 0);
}

TEST_EACH_DB(LIMIT_of_a_key_is_for_each_key_of_each_org)
{
    struct claimed *claimed = NULL, *rest = NULL;
    limit_on(box, LIMIT_KEY, S("mail"), (struct limit){ .max_running = 2 });
    for (int i = 0; i < 5; i++) {
        limited_add(box, (struct mail){ .key = S("acme") });
        limited_add(box, (struct mail){ .key = S("acme"), .org = ORG_B });
        limited_add(box, (struct mail){ .key = S("other") });
        limited_add(box, (struct mail){0});                 // without a key: not limited
        limited_add(box, (struct mail){ .key = S("acme"), .type = "sync" });
    }
    size_t count = limited_claim(box, 100, &claimed, NULL);
    EXPECT_INT(count, 2 + 2 + 2 + 5 + 5);
    EXPECT_INT(of_type(claimed, count, "sync"), 5);
    EXPECT_INT(box_number(box, "SELECT count(*) FROM parked WHERE reason = 'blocked'"), 9);
    EXPECT_INT(limited_claim(box, 100, &rest, NULL), 0);
    for (size_t i = 0; i < count; i++)
        limited_commit(box, &claimed[i]);
    EXPECT_INT(limited_claim(box, 100, &rest, NULL), 6);
    for (size_t i = 0; i < 6; i++)
        limited_commit(box, &rest[i]);
    EXPECT_INT(limited_claim(box, 100, &rest, NULL), 3);
}

TEST_EACH_DB(LIMIT_jobs_of_a_key_run_oldest_first)
{
    struct claimed *claimed = NULL;
    struct id ids[6];
    limit_on(box, LIMIT_KEY, S("mail"), (struct limit){ .max_running = 1 });
    for (size_t i = 0; i < countof(ids); i++)
        ids[i] = limited_add(box, (struct mail){ .key = S("acme") }).id;
    for (size_t i = 0; i < countof(ids); i++) {
        EXPECT_INT(limited_claim(box, 10, &claimed, NULL), 1);
        EXPECT(id_eq(claimed[0].job.id, ids[i]));
        limited_commit(box, &claimed[0]);
    }
}

// A turn that was given back by a job that ended without running is not lost.
TEST_EACH_DB(LIMIT_a_cancelled_job_does_not_keep_the_turn_of_its_key)
{
    struct claimed *claimed = NULL;
    struct job job;
    limit_on(box, LIMIT_KEY, S("mail"), (struct limit){ .max_running = 1 });
    for (int i = 0; i < 4; i++)
        limited_add(box, (struct mail){ .key = S("acme") });
    EXPECT_INT(limited_claim(box, 10, &claimed, NULL), 1);
    struct id waits = { box_number(box, "SELECT min(job) FROM job_limit_waits"),
                        box_number(box, "SELECT id_low FROM jobs WHERE id = (SELECT min(job) FROM "
                                        "job_limit_waits)") };
    speak_for(box, ORG_A);
    OK(job_cancel(tx, waits, &job, err));
    EXPECT_INT(box_number(box, "SELECT count(*) FROM job_limit_waits"), 2);
    limited_commit(box, &claimed[0]);
    EXPECT_INT(limited_claim(box, 10, &claimed, NULL), 1);
    limited_commit(box, &claimed[0]);
    EXPECT_INT(limited_claim(box, 10, &claimed, NULL), 1);
}

TEST_EACH_DB(LIMIT_jobs_with_a_serial_key_and_a_limit_key_keep_both)
{
    struct claimed *claimed = NULL;
    limit_on(box, LIMIT_KEY, S("mail"), (struct limit){ .max_running = 1 });
    for (int i = 0; i < 6; i++) {
        struct contract contract = contract_for(box, "mail");
        contract.limit_key = S("acme");
        contract.serial_key = i % 2 ? S("odd") : S("even");
        must_add(box, &contract);
    }
    size_t ran = 0;
    for (size_t count; (count = limited_claim(box, 10, &claimed, NULL)) > 0; ran++) {
        EXPECT_INT(count, 1);
        limited_commit(box, &claimed[0]);
    }
    EXPECT_INT(ran, 6);
}

// A job that moves up while others are taken keeps its place between theirs.
TEST_EACH_DB(LIMIT_who_moves_up_during_a_claim_is_not_taken_away_with_its_neighbours)
{
    static const struct {
        struct str limit_key, serial_key;
    } jobs[] = { { {0}, {0} },
                 { { "acme", 4 }, { "k", 1 } },  // must wait, and so the other one of `k` is next
                 { {0}, {0} },
                 { {0}, { "k", 1 } },
                 { {0}, {0} } };
    struct claimed *claimed = NULL;
    limit_on(box, LIMIT_KEY, S("mail"), (struct limit){ .max_running = 1 });
    struct contract contract = contract_for(box, "mail");
    contract.limit_key = S("acme");
    must_add(box, &contract);
    EXPECT_INT(limited_claim(box, 1, &claimed, NULL), 1);
    for (size_t i = 0; i < countof(jobs); i++) {
        contract.limit_key = jobs[i].limit_key;
        contract.serial_key = jobs[i].serial_key;
        must_add(box, &contract);
    }
    EXPECT_INT(limited_claim(box, 10, &claimed, NULL), 3);
    EXPECT_INT(limited_claim(box, 10, &claimed, NULL), 1);
    EXPECT_STR(claimed[0].job.contract.serial_key, "k");
}

// ----- nothing leaks

TEST_EACH_DB(LIMIT_a_worker_that_dies_gives_its_place_back_with_its_lease)
{
    struct claimed *claimed = NULL;
    limited_add_many(box, (struct mail){ .key = S("acme") }, 4);
    limit_on(box, LIMIT_TYPE, S("mail"), (struct limit){ .max_running = 2 });
    limit_on(box, LIMIT_KEY, S("mail"), (struct limit){ .max_running = 2 });
    EXPECT_INT(limited_claim(box, 10, &claimed, NULL), 2);
    pass(box, SECONDS(31));
    EXPECT_INT(limited_claim(box, 10, &claimed, NULL), 0);  // until the sweep has seen it
    EXPECT_INT(must_sweep(box).expired, 2);
    EXPECT_INT(limited_claim(box, 10, &claimed, NULL), 2);
}

// A row that says where to look counts for nothing when nobody runs there.
TEST_EACH_DB(LIMIT_counts_live_leases_and_nothing_else)
{
    struct claimed *claimed = NULL;
    struct job job = limited_add(box, (struct mail){0});
    limit_on(box, LIMIT_TYPE, S("mail"), (struct limit){ .max_running = 1 });
    struct str sql = str_format(test_arena(),
                                "INSERT INTO job_limit_holds (job, queue, type, org, limit_key) "
                                "SELECT id, queue, type, org, '' FROM jobs WHERE id = %lld",
                                (long long)job.id.high);
    box_sql(box, sql.s);
    EXPECT_INT(limited_claim(box, 10, &claimed, NULL), 1);
}

TEST_EACH_DB(LIMIT_that_is_new_counts_what_runs_already)
{
    struct claimed *claimed = NULL;
    limited_add_many(box, (struct mail){ .key = S("acme") }, 5);
    EXPECT_INT(limited_claim(box, 2, &claimed, NULL), 2);
    limit_on(box, LIMIT_TYPE, S("mail"), (struct limit){ .max_running = 3 });
    EXPECT_INT(limited_claim(box, 10, &claimed, NULL), 1);
    limit_on(box, LIMIT_TYPE, S("mail"), (struct limit){0});
    limit_on(box, LIMIT_KEY, S("mail"), (struct limit){ .max_running = 4 });
    EXPECT_INT(limited_claim(box, 10, &claimed, NULL), 1);
    EXPECT_INT(limited_claim(box, 10, &claimed, NULL), 0);
}

// A job that is given back keeps its place, and takes nobody else's.
TEST_EACH_DB(LIMIT_a_released_job_frees_its_place)
{
    struct claimed *claimed = NULL;
    struct execution execution;
    limited_add_many(box, (struct mail){ .key = S("acme") }, 3);
    limit_on(box, LIMIT_KEY, S("mail"), (struct limit){ .max_running = 1 });
    for (int i = 0; i < 3; i++) {
        EXPECT_INT(limited_claim(box, 10, &claimed, NULL), 1);
        struct worker worker = worker_named("W");
        struct lease lease = lease_of(&claimed[0].execution, &worker);
        speak_for(box, S(""));
        OK(execution_release(tx, &lease, &execution, err));
    }
    EXPECT_INT(limited_claim(box, 10, &claimed, NULL), 1);
}

// ----- what begins per time

TEST_EACH_DB(LIMIT_no_more_begin_per_time_than_may_and_the_claim_says_when)
{
    for (size_t i = 0; i < countof(wholes); i++) {
        struct claimed *claimed = NULL;
        pawl_time more_at = 0;
        limited_add_many(box, (struct mail){0}, 8);
        limit_on(box, wholes[i].scope, wholes[i].name, (struct limit){ .rate = rate_of("4/m") });
        EXPECT_INT(limited_claim(box, 3, &claimed, &more_at), 3);
        EXPECT_INT(limited_claim(box, 100, &claimed, &more_at), 1);
        EXPECT_INT(limited_claim(box, 100, &claimed, &more_at), 0);
        pawl_time now = box->world.wall;
        EXPECT(more_at > now && more_at <= now + SECONDS(15));
        pass(box, more_at - now);
        EXPECT_INT(limited_claim(box, 100, &claimed, &more_at), 1);
        box_reopen(box);
        EXPECT_INT(limited_claim(box, 100, &claimed, &more_at), 0);
        pass(box, MINUTES(3));
        EXPECT_INT(limited_claim(box, 100, &claimed, &more_at), 3);
        limit_on(box, wholes[i].scope, wholes[i].name, (struct limit){0});
        pass(box, MINUTES(10));
        box_sql(box, "DELETE FROM job_limit_buckets");
    }
}

TEST_EACH_DB(LIMIT_rate_of_a_key_lets_its_jobs_begin_one_after_the_other)
{
    struct claimed *claimed = NULL;
    pawl_time more_at = 0, began = box->world.wall;
    size_t ran = 0;
    limit_on(box, LIMIT_KEY, S("mail"), (struct limit){ .rate = rate_of("60/m burst 2") });
    limited_add_many(box, (struct mail){ .key = S("acme") }, 12);
    limited_add_many(box, (struct mail){ .key = S("other") }, 2);
    EXPECT_INT(limited_claim(box, 100, &claimed, &more_at), 4);
    for (ran = 4; ran < 14; ran++) {
        EXPECT_INT(limited_claim(box, 100, &claimed, &more_at), 0);
        EXPECT(more_at > box->world.wall && more_at <= box->world.wall + SECONDS(1));
        pass(box, more_at - box->world.wall);
        EXPECT_INT(limited_claim(box, 100, &claimed, &more_at), 1);
    }
    EXPECT(box->world.wall - began <= SECONDS(10) + MILLISECONDS(1));
    EXPECT_INT(limited_claim(box, 100, &claimed, &more_at), 0);
    pass(box, MINUTES(5));
    must_sweep(box);
    EXPECT_INT(box_number(box, "SELECT count(*) FROM job_limit_buckets"), 0);
}

// ----- what is limited stands in nobody's way

TEST_EACH_DB(LIMIT_a_shut_type_does_not_stand_in_the_way_of_others)
{
    struct claimed *claimed = NULL;
    limited_add_many(box, (struct mail){ .type = "mail" }, 3000);
    limited_add_many(box, (struct mail){ .type = "sync" }, 10);
    limited_add_many(box, (struct mail){ .type = "mail", .org = ORG_B }, 3000);
    limited_add_many(box, (struct mail){ .type = "sync", .org = ORG_B }, 10);
    limit_on(box, LIMIT_TYPE, S("mail"), (struct limit){ .max_running = 4 });
    size_t count = limited_claim(box, 100, &claimed, NULL);
    EXPECT_INT(of_type(claimed, count, "mail"), 4);
    EXPECT_INT(of_type(claimed, count, "sync"), 20);
    EXPECT_INT(limited_claim(box, 100, &claimed, NULL), 0);
}

TEST_EACH_DB(LIMIT_thousands_of_jobs_of_a_shut_key_do_not_stand_in_the_way_of_others)
{
    struct claimed *claimed = NULL;
    size_t others = 0, rounds = 0;
    limit_on(box, LIMIT_KEY, S("mail"), (struct limit){ .max_running = 1 });
    limited_add_many(box, (struct mail){ .key = S("acme") }, 1500);
    limited_add_many(box, (struct mail){ .key = S("other") }, 1);
    for (; others < 1 && rounds < 20; rounds++) {
        size_t count = limited_claim(box, 100, &claimed, NULL);
        for (size_t i = 0; i < count; i++)
            others += str_eq(claimed[i].job.contract.limit_key, S("other"));
    }
    EXPECT_INT(others, 1);
    EXPECT(rounds <= 1500 / GATE_PARKS_MAX + 1);
    limited_add_many(box, (struct mail){ .key = S("third") }, 1);
    EXPECT_INT(limited_claim(box, 100, &claimed, NULL), 1);  // the others are out of the way
    // Without the limit they all come back, piece by piece.
    limit_on(box, LIMIT_KEY, S("mail"), (struct limit){0});
    size_t back = 0;
    for (rounds = 0; back < 1499 && rounds < 40; rounds++)
        back += limited_claim(box, 1000, &claimed, NULL);
    EXPECT_INT(back, 1499);
    EXPECT_INT(box_number(box, "SELECT count(*) FROM job_limit_waits"), 0);
}

// Orgs take turns at what a limit leaves, too.
TEST_EACH_DB(LIMIT_orgs_share_what_a_limit_lets_through)
{
    size_t of_a = 0, of_b = 0;
    struct turns turns = {0};
    limited_add_many(box, (struct mail){ .org = ORG_A }, 500);
    limited_add_many(box, (struct mail){ .org = ORG_B }, 500);
    limit_on(box, LIMIT_TYPE, S("mail"), (struct limit){ .max_running = 5 });
    for (int i = 0; i < 64; i++) {
        struct claimed *claimed = NULL;
        speak_for(box, S(""));
        size_t count = queue_claim(box, 100, &turns, &claimed);
        EXPECT_INT(count, 5);
        of_a += of_org(claimed, count, ORG_A);
        of_b += of_org(claimed, count, ORG_B);
        for (size_t k = 0; k < count; k++) {
            struct worker worker = { claimed[k].execution.lease_owner, S("test"), S("boot-1") };
            struct lease lease = lease_of(&claimed[k].execution, &worker);
            must_commit(box, &lease);
        }
    }
    EXPECT(of_a >= 144 && of_b >= 144);
}

// An org whose limit is reached has no turn; more of them than one claim looks at are no dead end.
TEST_EACH_DB(LIMIT_an_org_at_its_limit_is_passed_over)
{
    struct claimed *claimed = NULL;
    limited_add_many(box, (struct mail){ .org = ORG_A }, 300);
    limited_add_many(box, (struct mail){ .org = ORG_B }, 30);
    limit_on(box, LIMIT_ORG, ORG_A, (struct limit){ .max_running = 1 });
    size_t count = limited_claim(box, 100, &claimed, NULL);
    EXPECT_INT(of_org(claimed, count, ORG_A), 1);
    EXPECT_INT(of_org(claimed, count, ORG_B), 30);
}

// ----- pauses

static void fail_limited(struct box *box, const struct claimed *claimed, int64_t retry_after_us)
{
    struct worker worker = worker_named("W");
    struct lease lease = lease_of(&claimed->execution, &worker);
    struct execution execution;
    struct work_error error = {
        .class = ERROR_RATE_LIMITED,
        .message = S("429"),
        .retry_after_us = retry_after_us,
    };
    speak_for(box, S(""));
    OK(execution_fail(tx, &lease, &error, &execution, err));
}

TEST_EACH_DB(OPS_7_a_provider_that_says_too_much_pauses_the_type_of_the_org)
{
    struct claimed *claimed = NULL;
    pawl_time more_at = 0, began = box->world.wall;
    limit_on(box, LIMIT_TYPE, S("mail"),
             (struct limit){ .on_rate_limited = RATE_LIMITED_PAUSE, .pause_us = SECONDS(20) });
    limited_add_many(box, (struct mail){ .org = ORG_A }, 6);
    EXPECT_INT(limited_claim(box, 3, &claimed, &more_at), 3);
    limited_add_many(box, (struct mail){ .org = ORG_B }, 1);
    limited_add_many(box, (struct mail){ .org = ORG_A, .type = "sync" }, 1);
    fail_limited(box, &claimed[0], SECONDS(30));
    fail_limited(box, &claimed[1], 0);            // does not make it shorter, ...
    fail_limited(box, &claimed[2], SECONDS(40));  // ... and this one longer
    EXPECT_INT(limited_claim(box, 10, &claimed, &more_at), 2);
    EXPECT_INT(of_org(claimed, 2, ORG_B) + of_type(claimed, 2, "sync"), 2);
    EXPECT_INT(limited_claim(box, 10, &claimed, &more_at), 0);
    EXPECT(more_at == began + SECONDS(40));
    EXPECT_INT(box_number(box, "SELECT count(*) FROM pawl_audit WHERE event = 'type.paused'"), 1);
    pass(box, SECONDS(40));
    EXPECT_INT(limited_claim(box, 10, &claimed, &more_at), 3);
    must_sweep(box);
    EXPECT_INT(box_number(box, "SELECT count(*) FROM job_type_pauses"), 0);
}

TEST_EACH_DB(OPS_7_a_pause_may_be_for_every_org_and_an_operator_ends_it)
{
    struct claimed *claimed = NULL;
    limit_on(box, LIMIT_TYPE, S("mail"),
             (struct limit){ .on_rate_limited = RATE_LIMITED_PAUSE_ALL });
    limited_add_many(box, (struct mail){ .org = ORG_A }, 3);
    limited_add_many(box, (struct mail){ .org = ORG_B }, 3);
    EXPECT_INT(limited_claim(box, 1, &claimed, NULL), 1);
    fail_limited(box, &claimed[0], 0);
    EXPECT_INT(limited_claim(box, 10, &claimed, NULL), 0);
    speak_for(box, ORG_B);
    struct type_pause *pauses = NULL;
    size_t count = 0;
    OK(type_pauses(tx, &pauses, &count, err));
    EXPECT_INT(count, 1);
    REFUSED(PAWL_NOT_FOUND, type_resume(tx, S("mail"), err));  // it is not only its own
    speak_for(box, S(""));
    REFUSED(PAWL_NOT_FOUND, type_resume(tx, S("sync"), err));
    OK(type_resume(tx, S("mail"), err));
    EXPECT_INT(limited_claim(box, 10, &claimed, NULL), 5);
    EXPECT_INT(box_number(box, "SELECT count(*) FROM pawl_audit WHERE event = 'type.resumed'"), 1);
}

TEST_EACH_DB(OPS_7_without_being_told_to_nothing_is_paused)
{
    struct claimed *claimed = NULL;
    limit_on(box, LIMIT_TYPE, S("mail"), (struct limit){ .max_running = 10 });
    limited_add_many(box, (struct mail){0}, 3);
    EXPECT_INT(limited_claim(box, 1, &claimed, NULL), 1);
    fail_limited(box, &claimed[0], SECONDS(40));
    EXPECT_INT(limited_claim(box, 10, &claimed, NULL), 2);
}

// ----- setting

static struct str refused_with(struct box *box, const struct limit *bad)
{
    struct tx tx = {0};
    struct pawl_error err = {0};
    box_begin(box, &tx);
    EXPECT(!limit_set(&tx, LIMIT_QUEUE, S("q:deadletter"), bad, S(""), &err));
    EXPECT_INT(err.code, PAWL_INVALID);
    box_commit(&tx);
    return str_dup(test_arena(), str_of(err.message));
}

TEST_EACH_DB(LIMIT_bad_ones_are_refused_with_every_problem)
{
    static const char *const named[] = { "queue", "max_running", "rate", "on_rate_limited",
                                         "rate_limited_pause" };
    struct limit bad = {
        .max_running = -1,
        .rate = { .count = 5,
        .per_us = 7,
        .burst = 1 },
        .on_rate_limited = RATE_LIMITED_PAUSE,
        .pause_us = DAYS(2),
    };
    struct str message = refused_with(box, &bad);
    for (size_t i = 0; i < countof(named); i++)
        EXPECT(strstr(message.s, named[i]) != NULL);
    REFUSED(PAWL_NOT_FOUND, limit_set(tx, LIMIT_ORG, ORG_B, &(struct limit){ .max_running = 1 },
                                      S(""), err));
}

TEST_EACH_DB(LIMIT_the_bounds_are_checked_one_by_one)
{
    static char long_name[NAME_BYTES_MAX + 2];
    memset(long_name, 'n', NAME_BYTES_MAX + 1);
    const struct rate fine = rate_of("5/s");
    struct rate none = fine, many = fine, no_burst = fine, burst = fine, long_time = fine;
    none.count = -1;
    many.count = RATE_COUNT_MAX + 1;
    no_burst.burst = 0;
    burst.burst = RATE_COUNT_MAX + 1;
    long_time.per_us = DAYS(1) + 1;
    const struct limit_wish bad[] = {
        { LIMIT_QUEUE, str_of(long_name), { .max_running = 1 } },
        { LIMIT_TYPE, str_of(long_name), { .max_running = 1 } },
        { LIMIT_KEY, S(".mail"), { .max_running = 1 } },
        { LIMIT_TYPE, S("mail"), { .max_running = RUNNING_MAX + 1 } },
        { LIMIT_TYPE, S("mail"), { .rate = none } },
        { LIMIT_TYPE, S("mail"), { .rate = many } },
        { LIMIT_TYPE, S("mail"), { .rate = no_burst } },
        { LIMIT_TYPE, S("mail"), { .rate = burst } },
        { LIMIT_TYPE, S("mail"), { .rate = long_time } },
        { LIMIT_TYPE, S("mail"), { .on_rate_limited = RATE_LIMITED_WAYS } },
        { LIMIT_TYPE, S("mail"), { .pause_us = -1 } },
    };
    for (size_t i = 0; i < countof(bad); i++)
        REFUSED(PAWL_INVALID,
                limit_set(tx, bad[i].scope, bad[i].name, &bad[i].limit, S(""), err));
    limit_on(box, LIMIT_TYPE, S("mail"), (struct limit){ .rate = fine });
}

// It would be in the way of all behind it: what is sound behind a key is let through.
TEST_EACH_DB(LIMIT_a_damaged_job_behind_its_key_keeps_no_other_waiting)
{
    struct claimed *claimed = NULL;
    limit_on(box, LIMIT_KEY, S("mail"), (struct limit){ .max_running = 1 });
    for (int i = 0; i < 3; i++)
        limited_add(box, (struct mail){ .key = S("acme") });
    EXPECT_INT(limited_claim(box, 10, &claimed, NULL), 1);
    EXPECT_INT(box_number(box, "SELECT count(*) FROM job_limit_waits"), 2);
    box_sql(box, "DELETE FROM parked WHERE job = (SELECT min(job) FROM job_limit_waits)");
    box->damaged = true;
    limited_commit(box, &claimed[0]);
    EXPECT_INT(limited_claim(box, 10, &claimed, NULL), 0);  // its turn
    pass(box, SECONDS(31));
    EXPECT_INT(limited_claim(box, 10, &claimed, NULL), 1);
}

TEST_EACH_DB(LIMIT_of_a_configuration_go_when_it_says_them_no_more)
{
    const struct limit_wish first[] = {
        { LIMIT_QUEUE, S("q:default"), { .max_running = 5 } },
        { LIMIT_TYPE, S("mail"), { .max_running = 5 } },
        { LIMIT_TYPE, S("sync"), { .max_running = 0 } },
    };
    struct limit_row *rows = NULL;
    size_t count = 0;
    limit_on(box, LIMIT_ORG, S(""), (struct limit){ .max_running = 9 });
    OK(limits_set_all(tx, first, 3, S("web"), err));
    OK(limits_set_all(tx, first, 3, S("web"), err));  // nothing new
    EXPECT_INT(box_number(box, "SELECT count(*) FROM pawl_audit WHERE event = 'limit.set'"), 3);
    OK(limits_set_all(tx, NULL, 0, S("another"), err));
    OK(limits_list(tx, &rows, &count, err));
    EXPECT_INT(count, 3);
    OK(limits_set_all(tx, first + 1, 1, S("web"), err));
    OK(limits_list(tx, &rows, &count, err));
    EXPECT_INT(count, 2);
    struct str before = box_contents(box);
    OK(limit_set(tx, LIMIT_QUEUE, S("q:default"), &(struct limit){0}, S("me"), err));  // is none
    EXPECT(str_eq(box_contents(box), before));
    EXPECT_STR(rows[0].name, "mail");
    EXPECT_STR(rows[1].name, "");
    EXPECT_INT(box_number(box, "SELECT count(*) FROM pawl_audit WHERE event = 'limit.removed'"),
               1);
    struct limit_wish unsaid = { LIMIT_TYPE, S("mail"), {0} };
    OK(limits_set_all(tx, &unsaid, 1, S("web"), err));
    OK(limits_list(tx, &rows, &count, err));
    EXPECT_INT(count, 1);
}
