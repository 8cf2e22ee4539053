// Claims at their edges: more types and more shares than one claim looks at, the turn of an org
// that is paused meanwhile, and limits that shut one after the other.
#include "limited.h"

enum { TYPES = 4100, SHARES = 1100, KEYS = 101 };

static void add_types(struct box *box, int count)
{
    struct tx tx = {0};
    box_begin(box, &tx);
    for (int i = 0; i < count; i++) {
        struct contract contract = contract_for(box, "report");
        struct pawl_error err = {0};
        struct job job;
        bool deduplicated = false;
        contract.job_type = str_format(test_arena(), "type_%d", i);
        MUST(job_enqueue(&tx, &contract, &job, &deduplicated, &err));
    }
    box_commit(&tx);
}

static size_t claim_in(struct box *box, struct claim *claim, pawl_time *more_at)
{
    struct claimed *claimed = NULL;
    struct pawl_error err = {0};
    struct tx tx = {0};
    size_t count = 0;
    claim->worker = worker_named("A");
    claim->more_at = more_at;
    box_begin(box, &tx);
    MUST(execution_claim(&tx, claim, &claimed, &count, &err));
    box_commit(&tx);
    return count;
}

TEST_EACH_DB(RUN_9_more_types_than_a_claim_looks_at_are_taken_one_after_the_other)
{
    struct str queues[] = { S("q:default") };
    struct claim claim = { .queues = queues, .queue_count = 1, .limit = CLAIM_MAX };
    size_t taken = 0;
    add_types(box, TYPES);
    while (taken < TYPES) {
        size_t count = claim_in(box, &claim, NULL);
        EXPECT(count > 0);
        taken += count;
    }
    EXPECT_INT(taken, TYPES);
}

static void add_shares(struct box *box)
{
    struct tx tx = {0};
    box_begin(box, &tx);
    for (int i = 0; i < SHARES; i++) {
        struct contract contract = contract_for(box, "mail");
        struct pawl_error err = {0};
        struct job job;
        bool deduplicated = false;
        contract.org_id = str_format(test_arena(), "00000000-0000-7000-8000-%012d", i + 100);
        MUST(job_enqueue(&tx, &contract, &job, &deduplicated, &err));
    }
    box_commit(&tx);
    box_sql(box, "INSERT INTO queue_pauses (queue, org, paused_at, paused_by) SELECT q.id, o.id, "
                 "1, 'somebody' FROM orgs o JOIN queues q ON q.name = 'q:default' WHERE o.id <> "
                 "(SELECT max(id) FROM orgs)");
}

// One claim passes over so many paused shares; the next goes on behind them.
TEST_EACH_DB(OPS_3_more_paused_shares_than_a_claim_passes_over_are_news)
{
    pawl_time more_at = 0;
    struct turns turns = {0};
    struct claim claim = { .every_queue = true, .limit = 10, .turns = &turns };
    add_shares(box);
    speak_for(box, S(""));
    EXPECT_INT(claim_in(box, &claim, &more_at), 0);
    EXPECT_INT(more_at, 0);
    EXPECT_INT(claim_in(box, &claim, NULL), 1);
}

// Where limits stand in the way and will for a while, it is looked again soon and not at once.
TEST_EACH_DB(LIMIT_more_shares_than_a_claim_passes_over_are_looked_at_soon)
{
    pawl_time more_at = 0;
    struct turns turns = {0};
    struct claim claim = { .every_queue = true, .limit = 10, .turns = &turns };
    add_shares(box);
    limit_on(box, LIMIT_TYPE, S("mail"), (struct limit){ .max_running = 5 });
    speak_for(box, S(""));
    EXPECT_INT(claim_in(box, &claim, &more_at), 0);
    EXPECT(more_at > box->world.wall && more_at <= box->world.wall + SECONDS(1));
    EXPECT_INT(claim_in(box, &claim, &more_at), 1);
}

TEST_EACH_DB(OPS_3_an_org_that_is_paused_in_its_turn_does_not_go_on_with_it)
{
    struct claimed *claimed = NULL;
    struct turns turns = {0};
    queue_add_many(box, (struct wish){ .org = ORG_A }, 8);
    queue_add_many(box, (struct wish){ .org = ORG_B }, 8);
    EXPECT_INT(queue_claim(box, 1, &turns, &claimed), 1);
    struct str first = claimed[0].job.contract.org_id;
    EXPECT_INT(queue_claim(box, 1, &turns, &claimed), 1);
    EXPECT(str_eq(claimed[0].job.contract.org_id, first));
    speak_for(box, first);
    OK(queue_pause(tx, S("q:default"), err));
    EXPECT_INT(queue_claim(box, 1, &turns, &claimed), 1);
    EXPECT(!str_eq(claimed[0].job.contract.org_id, first));
}

// The second of an org's places comes right behind the first of another's, in another queue.
TEST_EACH_DB(RUN_9_places_of_two_orgs_in_two_queues_are_no_run)
{
    struct claimed *claimed = NULL;
    queue_add_many(box, (struct wish){ .org = ORG_A, .queue = S("q:critical") }, 1);
    queue_add_many(box, (struct wish){ .org = ORG_B }, 3);
    EXPECT_INT(queue_claim(box, 4, NULL, &claimed), 4);
    EXPECT_INT(box_number(box, "SELECT count(*) FROM ready"), 0);
}

TEST_EACH_DB(RUN_9_a_claim_of_a_type_that_nobody_knows_finds_nothing)
{
    struct claimed *claimed = NULL;
    size_t count = 1;
    struct str queues[] = { S("q:default") }, types[] = { S("nobodys") };
    struct claim claim = {
        .worker = worker_named("A"),
        .queues = queues,
        .queue_count = 1,
        .job_types = types,
        .job_type_count = 1,
        .limit = 10,
    };
    must_enqueue(box, "report");
    OK(execution_claim(tx, &claim, &claimed, &count, err));
    EXPECT_INT(count, 0);
}

TEST_EACH_DB(OPS_18_a_type_that_is_asked_for_twice_has_one_lane_in_each_project)
{
    static const char *const projects[] = { "00000000-0000-7000-8000-0000000000a1",
                                            "00000000-0000-7000-8000-0000000000a2" };
    struct claimed *claimed = NULL;
    size_t count = 0;
    struct str own[] = { str_of(projects[0]), str_of(projects[1]) };
    struct str queues[] = { S("q:default") }, types[] = { S("report"), S("report") };
    struct claim claim = {
        .worker = worker_named("A"),
        .queues = queues,
        .queue_count = 1,
        .job_types = types,
        .job_type_count = 2,
        .limit = 10,
    };
    struct contract contract = contract_for(box, "report");
    for (size_t i = 0; i < 4; i++) {
        contract.project_id = own[i % 2];
        must_add(box, &contract);
    }
    box->caller.projects = own;
    box->caller.project_count = 2;
    OK(execution_claim(tx, &claim, &claimed, &count, err));
    EXPECT_INT(count, 4);
    box->caller.project_count = 0;
}

// ----- limits

// Of several gates the claim says when the first opens, whichever was looked at first.
TEST_EACH_DB(LIMIT_the_gate_that_opens_first_says_when_to_look_again)
{
    struct claimed *claimed = NULL;
    pawl_time more_at = 0, began = box->world.wall;
    limit_on(box, LIMIT_TYPE, S("mail"), (struct limit){ .rate = rate_of("1/h burst 1") });
    limit_on(box, LIMIT_TYPE, S("sync"), (struct limit){ .rate = rate_of("1/m") });
    limited_add_many(box, (struct mail){ .type = "mail" }, 2);
    limited_add_many(box, (struct mail){ .type = "sync" }, 2);
    EXPECT_INT(limited_claim(box, 10, &claimed, &more_at), 2);
    EXPECT(more_at > began && more_at <= began + MINUTES(1));
}

TEST_EACH_DB(LIMIT_by_a_number_and_by_a_rate_at_once)
{
    struct claimed *claimed = NULL;
    pawl_time more_at = 0, began = box->world.wall;
    limit_on(box, LIMIT_TYPE, S("mail"),
             (struct limit){ .max_running = 5, .rate = rate_of("1/m") });
    limited_add_many(box, (struct mail){ .type = "mail" }, 3);
    EXPECT_INT(limited_claim(box, 10, &claimed, &more_at), 1);
    EXPECT(more_at > began && more_at <= began + MINUTES(1));
}

// A claim looks at so many keys whose time has come; the others are news.
TEST_EACH_DB(LIMIT_more_keys_than_a_claim_looks_at_come_back_all_the_same)
{
    struct claim claim = { .every_queue = true, .limit = CLAIM_MAX, .start = true };
    limit_on(box, LIMIT_KEY, S("mail"), (struct limit){ .rate = rate_of("1/m") });
    for (int i = 0; i < KEYS; i++) {
        struct str key = str_format(test_arena(), "key-%d", i);
        limited_add_many(box, (struct mail){ .type = "mail", .key = key }, 2);
    }
    speak_for(box, S(""));
    EXPECT_INT(claim_in(box, &claim, NULL), KEYS);
    pass(box, MINUTES(2));
    size_t taken = claim_in(box, &claim, NULL);
    EXPECT_INT(taken + claim_in(box, &claim, NULL), KEYS);
}

TEST_EACH_DB(LIMIT_a_ready_job_that_is_cancelled_gives_its_key_to_the_next)
{
    limit_on(box, LIMIT_KEY, S("mail"), (struct limit){ .max_running = 1 });
    struct job job = limited_add(box, (struct mail){ .type = "mail", .key = S("acme") });
    speak_for(box, S(""));
    OK_FROM(job, job_cancel(tx, job.id, &job, err));
    EXPECT_INT(job.state, JOB_FAILED);
}
