// Time and the runner: deadlines, handlers that ignore theirs, leases that are renewed meanwhile.
#include "shop.h"

// ----- in virtual time

// Works so long without asking whether it should stop.
struct labour {
    struct pawl *pawl;
    int64_t microseconds;
    _Atomic int told;  // enum pawl_stop
    _Atomic int begun;
};

static bool labour(struct pawl_run *run, void *context)
{
    struct labour *labour = context;
    labour->begun++;
    struct pawl_error err = {0};
    MUST(pawl_advance(labour->pawl, labour->microseconds, &err));
    labour->told = (int)pawl_stopped(run);
    return true;
}

static struct pawl_status after_labour(struct shop *shop, struct labour *work, const char *policy)
{
    work->pawl = shop->pawl;
    shop_handle(shop, (struct pawl_handler){ "labour", .prepare = labour, .context = work,
                                             .policy = policy });
    struct pawl_ticket ticket = shop_enqueue(shop, (struct pawl_job){ .job_type = "labour" });
    shop_work(shop);
    return shop_status(shop, &ticket);
}

TEST_SHOP(RUN_7_a_run_of_120_seconds_is_timed_out, .virtual_time = true)
{
    struct labour work = { .microseconds = SECONDS(120) };
    struct pawl_status status = after_labour(shop, &work, "document");
    EXPECT_STR(str_of(status.state), "TIMED_OUT");
    EXPECT_STR(str_of(status.failure_type), "TIMEOUT");
    EXPECT_INT(work.told, PAWL_STOP_DEADLINE);
    EXPECT_INT(status.completed_at - status.started_at, SECONDS(120));
    EXPECT_INT(pawl_figures(shop->pawl).deadlines, 1);
    EXPECT_INT(shop_lines(shop, "RUN_ENDED labour 1 too late"), 1);
    shop_pass(shop, HOURS(1));
    EXPECT_INT(work.begun, 1);  // it is terminal
}

TEST_SHOP(RUN_7_a_run_just_short_of_its_deadline_succeeds, .virtual_time = true)
{
    struct labour work = { .microseconds = SECONDS(120) - 1 };
    struct pawl_status status = after_labour(shop, &work, "document");
    EXPECT_STR(str_of(status.state), "SUCCEEDED");  // and its lease of 30 s was renewed meanwhile
    EXPECT_INT(work.told, PAWL_GO_ON);
}

static bool rest(struct pawl_run *run, void *context)
{
    struct labour *labour = context;
    labour->begun++;
    bool rested = pawl_pause(run, labour->microseconds);
    labour->told = (int)pawl_stopped(run);
    return rested;
}

TEST_SHOP(RUN_7_a_pause_ends_at_the_deadline, .virtual_time = true)
{
    struct labour work = { .microseconds = HOURS(1) };
    shop_handle(shop, (struct pawl_handler){ "rest", .prepare = rest, .context = &work,
                                             .policy = "document" });
    struct pawl_ticket ticket = shop_enqueue(shop, (struct pawl_job){ .job_type = "rest" });
    pawl_time before = pawl_now(shop->pawl);
    shop_work(shop);
    EXPECT_STATE(shop, ticket, "TIMED_OUT");
    EXPECT_INT(work.told, PAWL_STOP_DEADLINE);
    EXPECT_INT(pawl_now(shop->pawl) - before, SECONDS(120));
}

TEST_SHOP(RUN_7_a_pause_longer_than_the_lease_keeps_it, .virtual_time = true)
{
    struct labour work = { .microseconds = SECONDS(100) };
    shop_handle(shop, (struct pawl_handler){ "rest", .prepare = rest, .context = &work,
                                             .policy = "document" });
    struct pawl_ticket ticket = shop_enqueue(shop, (struct pawl_job){ .job_type = "rest" });
    shop_work(shop);
    EXPECT_STATE(shop, ticket, "SUCCEEDED");
}

// ----- in threads

static void hurry(struct shop *shop, int64_t timeout_us)
{
    struct pawl_policy hasty = { .name = "hasty", .base = "document", .timeout_us = timeout_us };
    shop_policy(shop, hasty);
}

static bool wait_to_be_told(struct pawl_run *run, void *context)
{
    struct labour *labour = context;
    labour->begun++;
    while (pawl_pause(run, SECONDS(60))) {}
    labour->told = (int)pawl_stopped(run);
    return true;
}

TEST_SHOP(RUN_7_a_handler_is_told_of_its_deadline_and_its_answer_comes_too_late, .workers = 1)
{
    struct labour work = {0};
    hurry(shop, MILLISECONDS(700));  // a slow disk may take a while to say that it begins
    shop_handle(shop, (struct pawl_handler){ "wait", .prepare = wait_to_be_told,
                                             .context = &work, .policy = "hasty" });
    shop_start(shop);
    struct pawl_ticket ticket = shop_enqueue(shop, (struct pawl_job){ .job_type = "wait" });
    EXPECT_STR(str_of(shop_wait(shop, &ticket).state), "TIMED_OUT");
    shop_work(shop);
    EXPECT_INT(work.told, PAWL_STOP_DEADLINE);
    EXPECT_INT(shop_lines(shop, "RUN_OVERDUE wait 1"), 1);
    EXPECT_INT(pawl_figures(shop->pawl).written_off, 0);
}

// The deadline of the store and that of this process differ by moments: none of the jobs may be
// given back in between.
TEST_SHOP(RUN_7_every_run_past_its_deadline_is_timed_out_at_its_first_attempt, .workers = 8,
          .prefetch = 16)
{
    enum { COUNT = 64 };
    struct labour work = {0};
    struct pawl_ticket tickets[COUNT];
    hurry(shop, MILLISECONDS(10));
    shop_handle(shop, (struct pawl_handler){ "wait", .prepare = wait_to_be_told,
                                             .context = &work, .policy = "hasty" });
    for (int i = 0; i < COUNT; i++)
        tickets[i] = shop_enqueue(shop, (struct pawl_job){ .job_type = "wait" });
    shop_start(shop);
    shop_work(shop);
    for (int i = 0; i < COUNT; i++) {
        EXPECT_STATE(shop, tickets[i], "TIMED_OUT");
        EXPECT_INT(shop_status(shop, &tickets[i]).attempt, 1);
    }
    EXPECT(work.begun <= COUNT);  // on a slow disk one may be late before its handler begins
}

// The shortest lease there is, claimed when the runner has long been idle: it is renewed in time.
TEST_SHOP(EXEC_7_a_short_lease_is_renewed_while_its_handler_works, .workers = 2)
{
    struct labour work = { .microseconds = MILLISECONDS(2500) };
    struct counts counts = {0};
    shop_policy(shop, (struct pawl_policy){ .name = "brief", .lease_us = SECONDS(1) });
    shop_handle(shop, (struct pawl_handler){ "rest", .prepare = rest, .context = &work,
                                             .policy = "brief" });
    shop_handle(shop, (struct pawl_handler){ "greet", .prepare = greet, .context = &counts });
    shop_start(shop);
    shop_work(shop);  // a tick has passed in which nothing was leased
    struct pawl_ticket ticket = shop_enqueue(shop, (struct pawl_job){ .job_type = "rest" });
    EXPECT_STR(str_of(shop_wait(shop, &ticket).state), "SUCCEEDED");
    EXPECT_INT(shop_status(shop, &ticket).attempt, 1);
    EXPECT_INT(work.begun, 1);
    EXPECT_INT(pawl_figures(shop->pawl).leases_lost, 0);
}

// A time that was over long ago, as `due - pawl_now()` is for one that was never set.
TEST_SHOP(RUN_7_a_negative_time_is_over_at_once, .workers = 1)
{
    struct labour work = { .microseconds = INT64_MIN };
    struct pawl_status status;
    struct pawl_error err = {0};
    shop_handle(shop, (struct pawl_handler){ "rest", .prepare = rest, .context = &work });
    struct pawl_ticket ticket = shop_enqueue(shop, (struct pawl_job){ .job_type = "rest" });
    MUST(pawl_wait(shop->pawl, ticket.job_id, INT64_MIN, &status, &err));
    EXPECT(!status.ended);
    shop_start(shop);
    EXPECT_STR(str_of(shop_wait(shop, &ticket).state), "SUCCEEDED");
    EXPECT_INT(work.told, PAWL_GO_ON);
}

TEST_SHOP(RUN_7_a_negative_time_to_drain_is_over_at_once, .workers = 1)
{
    struct labour work = {0};
    struct pawl_error err = {0};
    shop_handle(shop, (struct pawl_handler){ "wait", .prepare = wait_to_be_told,
                                             .context = &work });
    shop_enqueue(shop, (struct pawl_job){ .job_type = "wait" });
    shop_start(shop);
    WAIT_FOR(work.begun == 1);
    EXPECT(!pawl_drain(shop->pawl, INT64_MIN, &err));
    EXPECT_INT(err.code, PAWL_BUSY);
    pawl_stop(shop->pawl, INT64_MIN);
    EXPECT_INT(work.told, PAWL_STOP_SHUTDOWN);
}

// ----- written off

struct stubborn {
    struct gate gate;
    _Atomic int told;
};

static bool ignore(struct pawl_run *run, void *context)
{
    struct stubborn *stubborn = context;
    gate_pass(&stubborn->gate);
    stubborn->told = (int)pawl_stopped(run);
    pawl_progress(run, 50, "what a handler says that was written off is ignored");
    return pawl_result(run, "1");
}

TEST_SHOP(RUN_7_a_handler_that_ignores_its_deadline_is_written_off_and_replaced, .workers = 1,
          .written_off_max = 1, .grace_us = MILLISECONDS(50))
{
    struct stubborn stubborn = { .gate = GATE };
    struct counts counts = {0};
    hurry(shop, MILLISECONDS(700));
    shop_handle(shop, (struct pawl_handler){ "ignore", .prepare = ignore, .context = &stubborn,
                                             .policy = "hasty" });
    shop_handle(shop, (struct pawl_handler){ "greet", .prepare = greet, .context = &counts });
    shop_start(shop);
    struct pawl_ticket first = shop_enqueue(shop, (struct pawl_job){ .job_type = "ignore" });
    EXPECT_STR(str_of(shop_wait(shop, &first).state), "TIMED_OUT");
    struct pawl_ticket next = shop_enqueue(shop, (struct pawl_job){ .job_type = "greet" });
    EXPECT_STR(str_of(shop_wait(shop, &next).state), "SUCCEEDED");  // by the thread in its place
    EXPECT_INT(pawl_figures(shop->pawl).written_off, 1);
    EXPECT_INT(pawl_figures(shop->pawl).written_off_now, 1);
    EXPECT_INT(shop_lines(shop, "another thread has its place"), 1);

    // A second one finds no replacement: the bound is one.
    struct pawl_ticket second = shop_enqueue(shop, (struct pawl_job){ .job_type = "ignore" });
    EXPECT_STR(str_of(shop_wait(shop, &second).state), "TIMED_OUT");
    WAIT_FOR(shop_lines(shop, "the pool is smaller by it") == 1);
    next = shop_enqueue(shop, (struct pawl_job){ .job_type = "greet" });
    EXPECT_INT(pawl_figures(shop->pawl).written_off_now, 2);
    EXPECT_STATE(shop, next, "QUEUED");

    // Both come back: the replaced one leaves, the other goes on working.
    gate_open(&stubborn.gate);
    EXPECT_STR(str_of(shop_wait(shop, &next).state), "SUCCEEDED");
    WAIT_FOR(pawl_figures(shop->pawl).written_off_now == 0);
    WAIT_FOR(shop_lines(shop, "RUN_RETURNED ignore 1") == 2);
    EXPECT_INT(stubborn.told, PAWL_STOP_LEASE_LOST);
    EXPECT_STATE(shop, first, "TIMED_OUT");
    EXPECT_INT(shop_number(shop, "SELECT count(*) FROM executions WHERE progress_percent >= 0"),
               0);
}

// The handle is closed under a handler that does not return: nothing of it is used afterwards.
static void close_under_a_handler(struct shop *shop, struct stubborn *stubborn)
{
    shop_handle(shop, (struct pawl_handler){ "ignore", .prepare = ignore, .context = stubborn });
    shop_start(shop);
    struct pawl_ticket ticket = shop_enqueue(shop, (struct pawl_job){ .job_type = "ignore" });
    gate_wait(&stubborn->gate, 1);
    shop_leave(shop);
    shop_enter(shop);
    EXPECT_STATE(shop, ticket, "QUEUED");  // its lease was given back, and burnt no attempt
    EXPECT_INT(shop_number(shop, "SELECT count(*) FROM pawl_executions"
                                 " WHERE end_reason = 'released'"),
               1);
}

TEST_SHOP(RUN_7_a_handle_can_be_closed_under_a_handler_that_returns_later, .workers = 2,
          .grace_us = MILLISECONDS(10))
{
    struct stubborn stubborn = { .gate = GATE };
    close_under_a_handler(shop, &stubborn);
    gate_open(&stubborn.gate);
    gate_wait_left(&stubborn.gate, 1);
    WAIT_FOR(stubborn.told != PAWL_GO_ON);
}

// ----- what is leased ahead

static bool gated(struct pawl_run *run, void *context)
{
    (void)run;
    gate_pass(context);
    return true;
}

// While its worker is busy with another, a job's time does not run.
TEST_SHOP(RUN_7_the_time_of_a_job_that_waits_for_a_worker_does_not_run, .workers = 1,
          .prefetch = 8)
{
    enum { QUICK = 50, COUNT = 3 };
    struct counts counts = {0};
    struct gate gate = GATE;
    struct pawl_ticket tickets[COUNT];
    hurry(shop, MILLISECONDS(200));
    shop_handle(shop, (struct pawl_handler){ "greet", .prepare = greet, .context = &counts,
                                             .policy = "hasty" });
    shop_handle(shop, (struct pawl_handler){ "gated", .prepare = gated, .context = &gate });
    shop_start(shop);
    for (int i = 0; i < QUICK; i++)  // handlers seem to be quick
        shop_enqueue(shop, (struct pawl_job){ .job_type = "greet" });
    shop_work(shop);
    struct pawl_ticket slow = shop_enqueue(shop, (struct pawl_job){ .job_type = "gated" });
    gate_wait(&gate, 1);
    for (int i = 0; i < COUNT; i++)
        tickets[i] = shop_enqueue(shop, (struct pawl_job){ .job_type = "greet" });
    WAIT_FOR(pawl_figures(shop->pawl).released >= COUNT);  // leased ahead for too long
    gate_open(&gate);
    shop_work(shop);
    EXPECT_STATE(shop, slow, "SUCCEEDED");
    for (int i = 0; i < COUNT; i++)
        EXPECT_STATE(shop, tickets[i], "SUCCEEDED");
}

static bool at_once(struct pawl_run *run, void *context)
{
    (void)run, (void)context;
    return true;
}

// Time that nothing happens in costs nothing, and waiting ends when the job does.
TEST_SHOP(RUN_10_a_year_goes_by_in_a_few_steps, .virtual_time = true)
{
    struct pawl_error err = {0};
    shop_handle(shop, (struct pawl_handler){ "idle", .prepare = at_once });
    struct pawl_job job = { .job_type = "idle" };
    job.scheduled_for = pawl_now(shop->pawl) + DAYS(200);
    struct pawl_ticket ticket = shop_enqueue(shop, job);
    int64_t before = pawl_figures(shop->pawl).operations;
    shop_pass(shop, DAYS(199));
    EXPECT_STATE(shop, ticket, "QUEUED");
    struct pawl_status status;
    MUST(pawl_wait(shop->pawl, ticket.job_id, DAYS(2), &status, &err));
    EXPECT(status.ended);
    EXPECT(pawl_now(shop->pawl) < status.completed_at + SECONDS(1));
    shop_pass(shop, DAYS(160));
    EXPECT(pawl_figures(shop->pawl).operations - before < 100);
}
