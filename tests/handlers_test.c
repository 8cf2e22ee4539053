// Handlers that change while the runner works, as those of a server do that reads its configuration
// again (OPS-19).
#include "run/handle.h"
#include "shop.h"

static void replace(struct shop *shop, const struct pawl_handler *handlers, size_t count)
{
    struct pawl_error err = {0};
    MUST(handle_replace(shop->pawl, handlers, count, &err));
}

static struct pawl_handler greeting(struct counts *counts)
{
    return (struct pawl_handler){ "greet", .prepare = greet, .context = counts };
}

TEST_SHOP(OPS_19_a_new_handler_gets_the_jobs_that_wait_for_it, .workers = 2)
{
    struct counts counts = {0};
    struct pawl_handler handler = greeting(&counts);
    shop->pawl->keeps_time = true;
    shop_start(shop);
    struct pawl_ticket ticket = shop_enqueue(shop, (struct pawl_job){ .job_type = "greet" });
    replace(shop, &handler, 1);
    shop_wait(shop, &ticket);
    EXPECT_STATE(shop, ticket, "SUCCEEDED");
    EXPECT_INT(counts.prepared, 1);
}

TEST_SHOP(OPS_19_a_type_without_its_handler_is_left_to_others, .virtual_time = true)
{
    struct counts counts = {0};
    shop_handle(shop, greeting(&counts));
    struct pawl_ticket first = shop_enqueue(shop, (struct pawl_job){ .job_type = "greet" });
    shop_work(shop);
    EXPECT_STATE(shop, first, "SUCCEEDED");
    replace(shop, NULL, 0);
    struct pawl_ticket second = shop_enqueue(shop, (struct pawl_job){ .job_type = "greet" });
    shop_work(shop);
    EXPECT_STATE(shop, second, "QUEUED");
    EXPECT_INT(counts.prepared, 1);
}

TEST_SHOP(OPS_19_what_is_refused_changes_nothing, .virtual_time = true)
{
    struct counts counts = {0};
    struct pawl_error err = {0};
    shop_handle(shop, greeting(&counts));
    struct pawl_handler bad[] = { { "other", .prepare = greet, .context = &counts },
                                  { "greet", .prepare = NULL } };
    EXPECT_REFUSED(PAWL_INVALID, handle_replace(shop->pawl, bad, countof(bad), &err));
    struct pawl_ticket ticket = shop_enqueue(shop, (struct pawl_job){ .job_type = "greet" });
    struct pawl_ticket other = shop_enqueue(shop, (struct pawl_job){ .job_type = "other" });
    shop_work(shop);
    EXPECT_STATE(shop, ticket, "SUCCEEDED");
    EXPECT_STATE(shop, other, "QUEUED");
}

struct slow {
    struct gate gate;
    _Atomic int finished;
};

static bool wait_at_gate(struct pawl_run *run, void *context)
{
    (void)run;
    gate_pass(&((struct slow *)context)->gate);
    return true;
}

static bool count_finish(struct pawl_run *run, void *context)
{
    (void)run;
    ((struct slow *)context)->finished++;
    return true;
}

// The run goes on by the rules it began with: its finish is called, which the new handler has not.
TEST_SHOP(OPS_19_a_run_keeps_the_handler_it_began_with, .workers = 1)
{
    struct slow slow = { .gate = GATE };
    struct counts counts = {0};
    struct pawl_handler handler = greeting(&counts);
    shop_handle(shop, (struct pawl_handler){ "greet", .prepare = wait_at_gate,
                                             .finish = count_finish, .context = &slow });
    shop_start(shop);
    struct pawl_ticket first = shop_enqueue(shop, (struct pawl_job){ .job_type = "greet" });
    gate_wait(&slow.gate, 1);
    replace(shop, &handler, 1);
    struct pawl_ticket second = shop_enqueue(shop, (struct pawl_job){ .job_type = "greet" });
    gate_open(&slow.gate);
    shop_wait(shop, &first);
    shop_wait(shop, &second);
    EXPECT_STATE(shop, first, "SUCCEEDED");
    EXPECT_STATE(shop, second, "SUCCEEDED");
    EXPECT_INT(slow.finished, 1);
    EXPECT_INT(counts.prepared, 1);
}

TEST_SHOP(OPS_19_every_job_runs_once_while_handlers_come_and_go, .workers = 4)
{
    enum { JOBS = 600, TABLES = 20 };
    struct counts counts[TABLES] = {0};
    struct pawl_ticket tickets[JOBS];
    int prepared = 0;
    shop->pawl->keeps_time = true;
    shop_start(shop);
    for (int i = 0; i < JOBS; i++) {
        int table = i * TABLES / JOBS;
        struct pawl_handler handler = greeting(&counts[table]);
        if (i % (JOBS / TABLES) == 0)
            replace(shop, &handler, table % 4 == 1 ? 0 : 1);
        tickets[i] = shop_enqueue(shop, (struct pawl_job){ .job_type = "greet" });
    }
    for (int i = 0; i < JOBS; i++)
        shop_wait(shop, &tickets[i]);
    for (int i = 0; i < TABLES; i++)
        prepared += counts[i].prepared;
    EXPECT_INT(prepared, JOBS);
}
