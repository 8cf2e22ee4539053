// A store that fails under the runner: what was done is written later, and nothing twice.
#include "shop.h"

#include "faulty_vfs.h"

struct load {
    _Atomic int prepared;
    struct gate gate;
};

static bool prepare(struct pawl_run *run, void *context)
{
    struct load *load = context;
    (void)run;
    load->prepared++;
    gate_pass(&load->gate);
    return true;
}

static bool commit(struct pawl_run *run, struct pawl_tx *tx, void *context)
{
    struct pawl_error err = {0};
    char sql[128];
    (void)context;
    snprintf(sql, sizeof sql, "INSERT INTO effects VALUES ('%s')", pawl_job_id(run));
    return pawl_tx_execute(tx, sql, &err) || pawl_fail(run, PAWL_TRANSIENT, "%s", err.message);
}

// Runs jobs whose ends come while the disk is full, and again when it is not.
static void fill_up_under(struct shop *shop, int count)
{
    struct load load = { .gate = GATE };
    shop_sql(shop, "CREATE TABLE effects (job TEXT)");
    shop_handle(shop, (struct pawl_handler){ "load", .prepare = prepare, .commit = commit,
                                             .context = &load });
    for (int i = 0; i < count; i++)
        shop_enqueue(shop, (struct pawl_job){ .job_type = "load" });
    shop_start(shop);
    gate_wait(&load.gate, shop->options.workers);
    faulty_vfs.full = true;
    gate_open(&load.gate);
    WAIT_FOR(shop_lines(shop, "STORE_FAILED") >= 1);
    EXPECT_INT(pawl_figures(shop->pawl).succeeded, 0);
    faulty_vfs.full = false;
    WAIT_FOR(pawl_figures(shop->pawl).succeeded == count);
    EXPECT_INT(shop_number(shop, "SELECT count(*) FROM effects"), count);
    EXPECT_INT(shop_number(shop, "SELECT count(DISTINCT job) FROM effects"), count);
    EXPECT_INT(load.prepared, count);  // what was done when the disk was full is not done again
}

SQLITE_ONLY(RUN_11_ends_that_find_the_disk_full_are_written_later,
            "a disk that fails, by a file system of SQLite")
TEST(RUN_11_ends_that_find_the_disk_full_are_written_later)
{
    struct shop *shop = calloc(1, sizeof *shop);
    shop->options = (struct pawl_options){ .workers = 8, .prefetch = -1 };
    faulty_vfs_install();
    shop_open(shop);
    fill_up_under(shop, 60);
    shop_close(shop);
    faulty_vfs_remove();
    free(shop);
}

// A sync that fails leaves the outcome of the commit unknown until the store was opened again.
SQLITE_ONLY(EXEC_6_a_commit_in_doubt_applies_no_effect_twice,
            "a disk that fails, by a file system of SQLite")
TEST(EXEC_6_a_commit_in_doubt_applies_no_effect_twice)
{
    enum { COUNT = 200 };
    struct shop *shop = calloc(1, sizeof *shop);
    struct load load = { .gate = GATE };
    shop->options.workers = 4;
    faulty_vfs_install();
    shop_open(shop);
    gate_open(&load.gate);
    shop_sql(shop, "CREATE TABLE effects (job TEXT)");
    shop_handle(shop, (struct pawl_handler){ "load", .prepare = prepare, .commit = commit,
                                             .context = &load });
    shop_start(shop);
    for (int i = 0; i < COUNT; i++) {
        if (i % 20 == 10)
            faulty_vfs.fail_syncs = 1;
        struct pawl_error err = {0};
        struct pawl_job job = { .job_type = "load" };
        MUST(pawl_enqueue(shop->pawl, &job, NULL, &err));
    }
    WAIT_FOR(pawl_figures(shop->pawl).succeeded + pawl_figures(shop->pawl).leases_lost >= COUNT
             && shop_number(shop, "SELECT count(*) FROM pawl_jobs WHERE state = 'SUCCEEDED'")
                    == COUNT);
    EXPECT_INT(shop_number(shop, "SELECT count(*) FROM effects"), COUNT);
    EXPECT_INT(shop_number(shop, "SELECT count(DISTINCT job) FROM effects"), COUNT);
    shop_close(shop);
    faulty_vfs_remove();
    free(shop);
}

// A pipeline with hardly any room: callers are refused, ends are not, nothing is lost.
TEST_SHOP(RUN_1_a_full_pipeline_loses_no_end, .workers = 8, .waiting_max = 1)
{
    enum { COUNT = 100 };
    struct load load = { .gate = GATE };
    int stored = 0;
    gate_open(&load.gate);
    shop_sql(shop, "CREATE TABLE effects (job TEXT)");
    shop_handle(shop, (struct pawl_handler){ "load", .prepare = prepare, .commit = commit,
                                             .context = &load });
    shop_start(shop);
    WAIT_FOR((stored += pawl_enqueue(shop->pawl, &(struct pawl_job){ .job_type = "load" }, NULL,
                                     NULL))
             == COUNT);
    WAIT_FOR(shop_number(shop, "SELECT count(*) FROM pawl_jobs WHERE state = 'SUCCEEDED'")
             == COUNT);
    EXPECT_INT(shop_number(shop, "SELECT count(*) FROM effects"), COUNT);
    EXPECT_INT(shop_number(shop, "SELECT count(DISTINCT job) FROM effects"), COUNT);
}

// ----- callers without end

enum { CALLERS = 16, JOBS_EACH = 40 };

static void *call_on_and_on(void *self)
{
    struct shop *shop = self;
    struct pawl_job job = { .job_type = "stepwise" };
    struct pawl_error err = {0};
    for (int stored = 0; stored < JOBS_EACH;)
        stored += pawl_enqueue(shop->pawl, &job, NULL, &err);  // PAWL_FULL: try again
    return NULL;
}

static bool one_step(struct pawl_run *run, void *context)
{
    (void)run, (void)context;
    return true;
}

static bool stepwise(struct pawl_run *run, void *context)
{
    return pawl_step(run, "only", one_step, context, NULL);
}

// Callers are refused when too many wait. What a run has to write is not: it would fail by it.
SQLITE_ONLY(OPS_9_a_crowd_of_callers_does_not_keep_runs_from_being_written,
            "its callers spin, and leave a server on the same machine no time")
TEST_SHOP(OPS_9_a_crowd_of_callers_does_not_keep_runs_from_being_written, .workers = 4,
          .waiting_max = 1)
{
    pthread_t callers[CALLERS];
    shop_handle(shop, (struct pawl_handler){ "stepwise", .prepare = stepwise });
    shop_start(shop);
    for (int i = 0; i < CALLERS; i++)
        EXPECT_INT(pthread_create(&callers[i], NULL, call_on_and_on, shop), 0);
    for (int i = 0; i < CALLERS; i++)
        pthread_join(callers[i], NULL);
    shop_work(shop);
    EXPECT_INT(pawl_figures(shop->pawl).succeeded, CALLERS * JOBS_EACH);
    EXPECT_INT(pawl_figures(shop->pawl).failed, 0);
    EXPECT_INT(shop_lines(shop, "STORE_FAILED"), 0);
}
