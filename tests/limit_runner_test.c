// Limits as a program that embeds Pawl sets them, and how its runner keeps them.
#include "shop.h"

TEST_SHOP(LIMIT_a_runner_begins_jobs_when_the_rate_has_room, .virtual_time = true)
{
    struct counts n = {0};
    struct pawl_error err = {0};
    struct pawl_handler handler = { .job_type = "greet", .prepare = greet, .context = &n };
    shop_handle(shop, handler);
    MUST(pawl_limit(shop->pawl, &(struct pawl_limit){ .job_type = "greet", .rate = "60/m burst 1" },
                    &err));
    for (int i = 0; i < 5; i++)
        shop_enqueue(shop, (struct pawl_job){ .job_type = "greet" });
    shop_work(shop);
    EXPECT_INT(n.prepared, 1);
    shop_pass(shop, SECONDS(2));
    EXPECT_INT(n.prepared, 3);
    MUST(pawl_limit(shop->pawl, &(struct pawl_limit){ .job_type = "greet" }, &err));
    shop_work(shop);
    EXPECT_INT(n.prepared, 5);
}

struct crowd {
    _Atomic int inside, most;
};

static bool crowd_in(struct pawl_run *run, void *context)
{
    (void)run;
    struct crowd *crowd = context;
    int inside = ++crowd->inside;
    if (inside > crowd->most)
        crowd->most = inside;
    crowd->inside--;
    return true;
}

TEST_SHOP(LIMIT_threads_of_a_runner_keep_it_and_every_job_is_done, .workers = 8)
{
    struct crowd crowd = {0};
    struct pawl_error err = {0};
    struct pawl_ticket last = {0};
    struct pawl_handler handler = { .job_type = "crowd", .prepare = crowd_in, .context = &crowd };
    shop_handle(shop, handler);
    MUST(pawl_limit(shop->pawl, &(struct pawl_limit){ .job_type = "crowd", .max_running = 3 },
                    &err));
    MUST(pawl_limit(shop->pawl,
                    &(struct pawl_limit){ .job_type = "crowd", .per_key = true, .max_running = 1 },
                    &err));
    shop_start(shop);
    for (int i = 0; i < 60; i++) {
        struct pawl_job job = { .job_type = "crowd", .limit_key = i % 3 ? "a" : "b" };
        last = shop_enqueue(shop, job);
    }
    WAIT_FOR(shop_number(shop, "SELECT count(*) FROM outcomes WHERE state = 'SUCCEEDED'") == 60);
    EXPECT(crowd.most <= 2);  // one of each key
    EXPECT_STATE(shop, last, "SUCCEEDED");
}

TEST_SHOP(LIMIT_bad_ones_of_a_program_are_refused, .virtual_time = true)
{
    static const struct pawl_limit bad[] = {
        { .job_type = "greet", .rate = "fast" },
        { .job_type = "greet", .queue = "q:default", .max_running = 1 },
        { .per_key = true, .max_running = 1 },
        { .job_type = "a b", .max_running = 1 },
        { .queue = "q:default", .max_running = -1 },
        { .queue = "q:default", .pause = true },
    };
    for (size_t i = 0; i < countof(bad); i++) {
        struct pawl_error err = {0};
        EXPECT(!pawl_limit(shop->pawl, &bad[i], &err));
        EXPECT_INT(err.code, PAWL_INVALID);
    }
}
