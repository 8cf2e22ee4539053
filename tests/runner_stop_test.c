// Ending early: cancellation, draining, stopping.
#include "shop.h"

struct watcher {
    struct gate gate;
    _Atomic int told, begun;
};

// Waits until it is told to stop, and then answers as it is told to.
static bool obey(struct pawl_run *run, void *context)
{
    struct watcher *watcher = context;
    watcher->begun++;
    gate_pass(&watcher->gate);
    while (pawl_pause(run, SECONDS(60))) {}
    watcher->told = (int)pawl_stopped(run);
    return false;
}

static bool gated(struct pawl_run *run, void *context)
{
    struct watcher *watcher = context;
    watcher->begun++;
    gate_pass(&watcher->gate);
    watcher->told = (int)pawl_stopped(run);
    return true;
}

static struct pawl_ticket begin(struct shop *shop, struct watcher *watcher,
                                bool (*prepare)(struct pawl_run *, void *))
{
    shop_handle(shop, (struct pawl_handler){ "watch", .prepare = prepare, .context = watcher });
    shop_start(shop);
    struct pawl_ticket ticket = shop_enqueue(shop, (struct pawl_job){ .job_type = "watch" });
    gate_wait(&watcher->gate, 1);
    return ticket;
}

static bool cancel(struct shop *shop, const struct pawl_ticket *ticket)
{
    struct pawl_error err = {0};
    bool ended = false;
    MUST(pawl_cancel(shop->pawl, ticket->job_id, &ended, &err));
    return ended;
}

// ----- cancelling

TEST_SHOP(OPS_16_a_job_that_waits_is_cancelled_at_once, .virtual_time = true)
{
    struct counts counts = {0};
    shop_handle(shop, (struct pawl_handler){ "greet", .prepare = greet, .context = &counts });
    struct pawl_ticket ticket = shop_enqueue(shop, (struct pawl_job){ .job_type = "greet" });
    EXPECT(cancel(shop, &ticket));
    shop_work(shop);
    EXPECT_STATE(shop, ticket, "FAILED");
    EXPECT_INT(counts.prepared, 0);
}

TEST_SHOP(OPS_16_a_running_job_of_this_process_hears_of_its_cancellation, .workers = 1)
{
    struct watcher watcher = { .gate = GATE };
    struct pawl_ticket ticket = begin(shop, &watcher, obey);
    gate_open(&watcher.gate);
    EXPECT(!cancel(shop, &ticket));
    struct pawl_status status = shop_wait(shop, &ticket);
    EXPECT_STR(str_of(status.state), "FAILED");
    EXPECT_STR(str_of(status.failure_type), "CANCELLED");
    EXPECT_INT(status.attempt, 1);
    EXPECT_INT(watcher.told, PAWL_STOP_CANCELLED);
    struct pawl_error err = {0};
    EXPECT_REFUSED(PAWL_TERMINAL, pawl_cancel(shop->pawl, ticket.job_id, NULL, &err));
}

TEST_SHOP(JOB_8_a_commit_that_comes_first_wins_over_a_cancellation, .workers = 1)
{
    struct watcher watcher = { .gate = GATE };
    struct pawl_ticket ticket = begin(shop, &watcher, gated);
    EXPECT(!cancel(shop, &ticket));
    gate_open(&watcher.gate);
    EXPECT_STR(str_of(shop_wait(shop, &ticket).state), "SUCCEEDED");
    EXPECT_INT(watcher.told, PAWL_STOP_CANCELLED);
}

TEST_SHOP(JOB_8_a_job_that_is_leased_ahead_is_cancelled_without_being_run, .workers = 1,
          .prefetch = 4)
{
    struct watcher watcher = { .gate = GATE };
    begin(shop, &watcher, gated);
    struct pawl_ticket next = shop_enqueue(shop, (struct pawl_job){ .job_type = "watch" });
    WAIT_FOR(pawl_figures(shop->pawl).prefetched == 1);
    EXPECT(!cancel(shop, &next));
    gate_open(&watcher.gate);
    EXPECT_STR(str_of(shop_wait(shop, &next).failure_type), "CANCELLED");
    shop_work(shop);
    EXPECT_INT(watcher.begun, 1);
}

static bool stop_asked(struct pawl_run *run, void *context)
{
    struct watcher *watcher = context;
    watcher->told = (int)pawl_stopped(run);
    return pawl_pause(run, SECONDS(2));  // long enough for a tick to look at the request
}

// After COMMITTED a request can do nothing: a commit phase that heard of it would never end.
TEST_SHOP(JOB_8_the_commit_phase_of_a_job_does_not_hear_of_a_cancellation, .workers = 1)
{
    struct watcher watcher = { .gate = GATE };
    shop_handle(shop, (struct pawl_handler){ "watch", .prepare = gated, .finish = stop_asked,
                                             .context = &watcher });
    shop_start(shop);
    struct pawl_ticket ticket = shop_enqueue(shop, (struct pawl_job){ .job_type = "watch" });
    gate_wait(&watcher.gate, 1);
    EXPECT(!cancel(shop, &ticket));
    gate_open(&watcher.gate);
    EXPECT_STR(str_of(shop_wait(shop, &ticket).state), "SUCCEEDED");
    EXPECT_INT(watcher.told, PAWL_GO_ON);
    EXPECT_INT(shop_lines(shop, "its finish begins"), 1);
}

// ----- stopping

TEST_SHOP(RUN_1_a_stop_gives_back_what_was_leased_ahead_and_burns_no_attempt, .workers = 1,
          .prefetch = 8)
{
    enum { AHEAD = 3 };
    struct watcher watcher = { .gate = GATE };
    struct pawl_ticket tickets[AHEAD], running = begin(shop, &watcher, obey);
    for (int i = 0; i < AHEAD; i++)
        tickets[i] = shop_enqueue(shop, (struct pawl_job){ .job_type = "watch" });
    WAIT_FOR(pawl_figures(shop->pawl).prefetched == AHEAD);
    gate_open(&watcher.gate);
    pawl_stop(shop->pawl, 0);
    EXPECT_INT(watcher.told, PAWL_STOP_SHUTDOWN);
    EXPECT_INT(watcher.begun, 1);
    EXPECT_STATE(shop, running, "QUEUED");
    for (int i = 0; i < AHEAD; i++)
        EXPECT_STATE(shop, tickets[i], "QUEUED");
    EXPECT_INT(pawl_figures(shop->pawl).released, AHEAD + 1);
    EXPECT(strstr(shop_json(shop, &running), "\"attempts_used\":0"));
    EXPECT_INT(shop_number(shop, "SELECT count(*) FROM pawl_executions"
                                 " WHERE finished_at IS NULL"),
               0);
}

TEST_SHOP(RUN_1_a_handler_that_is_done_when_told_to_stop_has_succeeded, .workers = 1)
{
    struct watcher watcher = { .gate = GATE };
    struct pawl_ticket ticket = begin(shop, &watcher, gated);
    gate_open(&watcher.gate);
    pawl_stop(shop->pawl, SECONDS(30));
    EXPECT_STATE(shop, ticket, "SUCCEEDED");
}

TEST_SHOP(RUN_1_a_drained_runner_takes_nothing_until_it_is_started_again, .workers = 2)
{
    struct pawl_error err = {0};
    struct watcher watcher = { .gate = GATE };
    struct pawl_ticket first = begin(shop, &watcher, gated);
    EXPECT_REFUSED(PAWL_BUSY, pawl_drain(shop->pawl, 0, &err));
    struct pawl_ticket second = shop_enqueue(shop, (struct pawl_job){ .job_type = "watch" });
    gate_open(&watcher.gate);
    MUST(pawl_drain(shop->pawl, SECONDS(30), &err));
    EXPECT_STATE(shop, first, "SUCCEEDED");
    EXPECT_STATE(shop, second, "QUEUED");
    shop_start(shop);
    EXPECT_STR(str_of(shop_wait(shop, &second).state), "SUCCEEDED");
    EXPECT_INT(pawl_figures(shop->pawl).succeeded, 2);
}

TEST_SHOP(RUN_1_a_stopped_runner_can_be_started_again_and_its_figures_go_on, .workers = 2)
{
    struct counts counts = {0};
    shop_handle(shop, (struct pawl_handler){ "greet", .prepare = greet, .context = &counts });
    for (int i = 1; i <= 3; i++) {
        shop_start(shop);
        struct pawl_ticket ticket = shop_enqueue(shop, (struct pawl_job){ .job_type = "greet" });
        EXPECT_STR(str_of(shop_wait(shop, &ticket).state), "SUCCEEDED");
        shop_work(shop);
        pawl_stop(shop->pawl, SECONDS(30));
        EXPECT_INT(pawl_figures(shop->pawl).succeeded, i);
    }
}

// ----- who waits while somebody else stops

static void *wait_until_idle(void *context)
{
    struct pawl_error err = {0};
    struct shop *shop = context;
    bool idle = pawl_run_until_idle(shop->pawl, &err);
    return !idle && err.code == PAWL_CONFLICT ? shop : NULL;
}

TEST_SHOP(RUN_1_whoever_waits_for_the_runner_is_told_when_it_stops, .workers = 1,
          .grace_us = MILLISECONDS(10))
{
    struct watcher watcher = { .gate = GATE };
    pthread_t waiting;
    void *told = NULL;
    begin(shop, &watcher, gated);
    EXPECT_INT(pthread_create(&waiting, NULL, wait_until_idle, shop), 0);
    int64_t before = pawl_figures(shop->pawl).wake_ups;
    WAIT_FOR(pawl_figures(shop->pawl).wake_ups > before);  // it has come to wait
    pawl_stop(shop->pawl, 0);
    pthread_join(waiting, &told);
    EXPECT(told == shop);
    gate_open(&watcher.gate);
    gate_wait_left(&watcher.gate, 1);
    WAIT_FOR(watcher.told != PAWL_GO_ON);
}

static bool look_around(struct pawl_run *run, void *context)
{
    struct shop *shop = context;
    (void)run;
    return pawl_figures(shop->pawl).running > 0;
}

TEST_SHOP(RUN_10_a_handler_may_look_at_the_figures_while_the_runner_drains, .workers = 2)
{
    struct pawl_error err = {0};
    shop_handle(shop, (struct pawl_handler){ "look", .prepare = look_around, .context = shop });
    shop_start(shop);
    for (int i = 0; i < 200; i++)
        shop_enqueue(shop, (struct pawl_job){ .job_type = "look" });
    MUST(pawl_drain(shop->pawl, INT64_MAX, &err));
    EXPECT_INT(pawl_figures(shop->pawl).failed, 0);
}

// ----- a claim that comes back after the stop

static void *stop_at_once(void *self)
{
    pawl_stop(((struct shop *)self)->pawl, 0);
    return NULL;
}

static void *wait_until_stopped(void *self)
{
    struct shop *shop = self;
    struct pawl_error err = {0};
    WAIT_FOR(!pawl_run_until_idle(shop->pawl, &err) && err.code == PAWL_USAGE);
    return NULL;
}

// The store is taken while a claim is on its way, and for longer than the stop has patience. What
// the claim then brings is given back all the same.
TEST_SHOP(RUN_9_what_a_claim_brings_after_the_stop_is_given_back, .workers = 1, .grace_us = 1,
          .loan_us = SECONDS(30))
{
    struct counts counts = {0};
    struct pawl_error err = {0};
    struct pawl_tx *tx = NULL;
    struct pawl_ticket ticket;
    pthread_t stopper, watcher;
    shop_handle(shop, (struct pawl_handler){ "greet", .prepare = greet, .context = &counts });
    shop_start(shop);
    shop_work(shop);
    MUST(pawl_begin(shop->pawl, &tx, &err));
    MUST(pawl_tx_enqueue(tx, &(struct pawl_job){ .job_type = "greet" }, &ticket, &err));
    int64_t before = pawl_figures(shop->pawl).wake_ups;
    WAIT_FOR(pawl_figures(shop->pawl).wake_ups >= before + 2);  // a tick and its claim wait by now
    EXPECT_INT(pthread_create(&stopper, NULL, stop_at_once, shop), 0);
    EXPECT_INT(pthread_create(&watcher, NULL, wait_until_stopped, shop), 0);
    pthread_join(watcher, NULL);
    MUST(lent_commit(tx, &err));
    pthread_join(stopper, NULL);
    EXPECT_INT(shop_number(shop, "SELECT count(*) FROM pawl_executions WHERE finished_at IS NULL"),
               0);
    EXPECT_STATE(shop, ticket, "QUEUED");
}
