// The runner through the public header: handlers, steps, cancellation, time, stopping.
#include "fixture.h"

#include <pawl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// ----- a store of its own, opened through the public API

struct shop {
    struct box box;
    struct pawl *pawl;
    struct pawl_options options;
    char url[128];
    char log[16384];
};

static void write_line(void *context, const struct pawl_log_line *line)
{
    struct shop *shop = context;
    size_t n = strlen(shop->log);
    snprintf(shop->log + n, sizeof shop->log - n, "%s %s %d %s\n", line->event, line->job_type,
             line->attempt, line->message);
}

static void shop_open(struct shop *shop, bool virtual_time)
{
    struct pawl_error err = {0};
    box_open(&shop->box);
    snprintf(shop->url, sizeof shop->url, "%.*s", STR(shop->box.url));
    db_close(shop->box.db);
    shop->box.db = NULL;
    shop->options.store = shop->url;
    shop->options.virtual_time = virtual_time;
    shop->options.log = write_line;
    shop->options.log_context = shop;
    if (!shop->options.workers)
        shop->options.workers = 4;
    MUST(pawl_open(&shop->pawl, &shop->options, &err));
}

// The store must pass verify once the handle is closed.
static void shop_close(struct shop *shop)
{
    pawl_close(shop->pawl);
    box_reopen(&shop->box);
    box_close(&shop->box);
}

static void handle(struct shop *shop, struct pawl_handler handler)
{
    struct pawl_error err = {0};
    MUST(pawl_handle(shop->pawl, &handler, &err));
}

static struct pawl_ticket enqueue(struct shop *shop, struct pawl_job job)
{
    struct pawl_error err = {0};
    struct pawl_ticket ticket;
    MUST(pawl_enqueue(shop->pawl, &job, &ticket, &err));
    return ticket;
}

static struct pawl_status status(struct shop *shop, const struct pawl_ticket *ticket)
{
    struct pawl_error err = {0};
    struct pawl_status status;
    MUST(pawl_get(shop->pawl, ticket->job_id, &status, &err));
    return status;
}

static void work(struct shop *shop)
{
    struct pawl_error err = {0};
    MUST(pawl_run_until_idle(shop->pawl, &err));
}

static void pass_by(struct shop *shop, int64_t microseconds)
{
    struct pawl_error err = {0};
    MUST(pawl_advance(shop->pawl, microseconds, &err));
}

static void start(struct shop *shop)
{
    struct pawl_error err = {0};
    MUST(pawl_start(shop->pawl, &err));
}

static size_t lines(const struct shop *shop, const char *word)
{
    size_t count = 0;
    for (const char *at = shop->log; (at = strstr(at, word)); at++)
        count++;
    return count;
}

#define TEST_SHOP(name, is_virtual)                    \
    static void name##_in(struct shop *shop);          \
    TEST(name)                                         \
    {                                                  \
        struct shop *shop = calloc(1, sizeof *shop);   \
        shop_open(shop, is_virtual);                   \
        name##_in(shop);                               \
        shop_close(shop);                              \
        free(shop);                                    \
    }                                                  \
    static void name##_in(struct shop *shop)

// ----- handlers

struct counts {
    _Atomic int prepared, committed, finished;
    int fail_first;  // how many times to fail before it goes well
    enum pawl_class class;
};

static bool greet(struct pawl_run *run, void *context)
{
    struct counts *counts = context;
    if (atomic_fetch_add(&counts->prepared, 1) < counts->fail_first)
        return pawl_fail(run, counts->class, "try %d of %s", pawl_attempt(run), pawl_job_id(run));
    return pawl_result(run, "{\"greeting\":\"hello\"}");
}

TEST_SHOP(RUN_1_a_handler_runs_in_this_process_and_its_result_is_kept, true)
{
    struct counts counts = {0};
    handle(shop, (struct pawl_handler){ "greet", .prepare = greet, .context = &counts });
    struct pawl_ticket ticket = enqueue(shop, (struct pawl_job){ .job_type = "greet" });
    EXPECT_STR(str_of(status(shop, &ticket).state), "QUEUED");
    work(shop);
    EXPECT_STR(str_of(status(shop, &ticket).state), "SUCCEEDED");
    EXPECT_INT(counts.prepared, 1);
    struct pawl_error err = {0};
    char *json = NULL;
    MUST(pawl_get_json(shop->pawl, ticket.job_id, &json, &err));
    EXPECT(strstr(json, "\"result\":{\"greeting\":\"hello\"}"));
    pawl_free(json);
    EXPECT_INT(lines(shop, "RUN_STARTED"), 1);
    EXPECT_INT(lines(shop, "RUN_ENDED greet 1 succeeded"), 1);
}

TEST_SHOP(JOB_4_a_failed_attempt_is_retried_after_its_delay, true)
{
    struct counts counts = { .fail_first = 3, .class = PAWL_DEPENDENCY };
    handle(shop, (struct pawl_handler){ "greet", .prepare = greet, .context = &counts,
                                        .policy = "lifecycle" });
    struct pawl_ticket ticket = enqueue(shop, (struct pawl_job){ .job_type = "greet" });
    work(shop);
    EXPECT_STR(str_of(status(shop, &ticket).state), "RETRYING");
    pass_by(shop, SECONDS(1) - 1);
    EXPECT_INT(counts.prepared, 1);
    pass_by(shop, 1);
    EXPECT_INT(counts.prepared, 2);
    pass_by(shop, SECONDS(2));
    EXPECT_STR(str_of(status(shop, &ticket).state), "SUCCEEDED");
    EXPECT_INT(status(shop, &ticket).attempt, 4);
}

// ----- in threads

TEST_SHOP(RUN_1_jobs_run_in_a_pool_of_threads, false)
{
    enum { COUNT = 500 };
    struct counts counts = {0};
    struct pawl_ticket tickets[COUNT];
    handle(shop, (struct pawl_handler){ "greet", .prepare = greet, .context = &counts });
    start(shop);
    for (int i = 0; i < COUNT; i++)
        tickets[i] = enqueue(shop, (struct pawl_job){ .job_type = "greet" });
    work(shop);
    EXPECT_INT(counts.prepared, COUNT);
    for (int i = 0; i < COUNT; i++)
        EXPECT_STR(str_of(status(shop, &tickets[i]).state), "SUCCEEDED");
    EXPECT_INT(pawl_figures(shop->pawl).succeeded, COUNT);
}
