// Mistakes of the program that uses the library: each is answered at once with what is wrong. None
// crashes, waits for ever, or is overlooked until an effect is missing.
#include "shop.h"

#include <sys/wait.h>
#include <unistd.h>

#define NOBODY "01a1e154-388d-7000-a76d-715cfb969ee5"

static bool nothing(struct pawl_run *run, void *context)
{
    (void)run;
    (void)context;
    return true;
}

// ----- NULL

TEST(RUN_1_a_handle_that_is_null_is_refused)
{
    struct pawl_error err = {0};
    struct pawl_status status;
    struct pawl_tx *tx = NULL;
    struct pawl_job job = { .job_type = "a" };
    struct pawl_handler handler = { .job_type = "a", .prepare = nothing };
    struct pawl_policy policy = { .name = "a" };
    EXPECT_REFUSED(PAWL_USAGE, pawl_enqueue(NULL, &job, NULL, &err));
    EXPECT_REFUSED(PAWL_USAGE, pawl_handle(NULL, &handler, &err));
    EXPECT_REFUSED(PAWL_USAGE, pawl_define_policy(NULL, &policy, &err));
    EXPECT_REFUSED(PAWL_USAGE, pawl_get(NULL, NOBODY, &status, &err));
    EXPECT_REFUSED(PAWL_USAGE, pawl_wait(NULL, NOBODY, 0, &status, &err));
    EXPECT_REFUSED(PAWL_USAGE, pawl_cancel(NULL, NOBODY, NULL, &err));
    EXPECT_REFUSED(PAWL_USAGE, pawl_begin(NULL, &tx, &err));
    EXPECT_REFUSED(PAWL_USAGE, pawl_start(NULL, &err));
    EXPECT_REFUSED(PAWL_USAGE, pawl_drain(NULL, 0, &err));
    EXPECT_REFUSED(PAWL_USAGE, pawl_run_until_idle(NULL, &err));
    EXPECT_REFUSED(PAWL_USAGE, pawl_advance(NULL, 1, &err));
    EXPECT_REFUSED(PAWL_USAGE, pawl_open(NULL, NULL, &err));
    EXPECT_INT(pawl_figures(NULL).started, 0);
    EXPECT_INT(pawl_now(NULL), 0);
    pawl_stop(NULL, 0);
    pawl_close(NULL);
}

TEST_SHOP(RUN_1_what_must_be_given_and_is_null_is_refused, .virtual_time = true)
{
    struct pawl *pawl = shop->pawl;
    struct pawl_error err = {0};
    struct pawl_ticket ticket = shop_enqueue(shop, (struct pawl_job){ .job_type = "a" });
    EXPECT_REFUSED(PAWL_USAGE, pawl_enqueue(pawl, NULL, NULL, &err));
    EXPECT_REFUSED(PAWL_USAGE, pawl_enqueue_all(pawl, NULL, 3, NULL, &err));
    EXPECT_REFUSED(PAWL_USAGE, pawl_handle(pawl, NULL, &err));
    EXPECT_REFUSED(PAWL_USAGE, pawl_define_policy(pawl, NULL, &err));
    EXPECT_REFUSED(PAWL_USAGE, pawl_get(pawl, ticket.job_id, NULL, &err));
    EXPECT_REFUSED(PAWL_USAGE, pawl_get_json(pawl, ticket.job_id, NULL, &err));
    EXPECT_REFUSED(PAWL_USAGE, pawl_get_result(pawl, ticket.job_id, NULL, &err));
    EXPECT_REFUSED(PAWL_USAGE, pawl_begin(pawl, NULL, &err));
    EXPECT(pawl_tx_sqlite(NULL) == NULL);
}

// ----- fork

// In a child, whose exit status says whether all was refused.
static int use_inherited(struct shop *shop)
{
    struct pawl_error err = {0};
    struct pawl_status status;
    struct pawl_tx *tx = NULL;
    bool refused = !pawl_enqueue(shop->pawl, &(struct pawl_job){ .job_type = "a" }, NULL, &err)
                && err.code == PAWL_USAGE && strstr(err.message, "fork")
                && !pawl_get(shop->pawl, NOBODY, &status, &err) && err.code == PAWL_USAGE
                && !pawl_begin(shop->pawl, &tx, &err) && err.code == PAWL_USAGE
                && !pawl_run_until_idle(shop->pawl, &err) && err.code == PAWL_USAGE;
    pawl_stop(shop->pawl, 0);
    pawl_close(shop->pawl);
    return refused ? 0 : 1;
}

TEST_SHOP(RUN_1_a_forked_child_is_refused_and_leaves_the_store_to_its_parent, .workers = 1)
{
    int status = -1;
    shop_handle(shop, (struct pawl_handler){ "a", .prepare = nothing });
    shop_start(shop);
    pid_t child = fork();
    if (child == 0) {
        alarm(30);  // a call that waits for a thread of the parent's waits for ever
        _exit(use_inherited(shop));
    }
    EXPECT(child > 0 && waitpid(child, &status, 0) == child);
    EXPECT_INT(status, 0);
    struct pawl_ticket ticket = shop_enqueue(shop, (struct pawl_job){ .job_type = "a" });
    EXPECT_STR(str_of(shop_wait(shop, &ticket).state), "SUCCEEDED");
}

// ----- waiting for oneself

static bool wait_for_all(struct pawl_run *run, void *context)
{
    struct shop *shop = context;
    struct pawl_error err = {0};
    if (pawl_run_until_idle(shop->pawl, &err) || err.code != PAWL_USAGE)
        return pawl_fail(run, PAWL_VALIDATION, "it has waited for itself");
    if (pawl_drain(shop->pawl, 0, &err) || err.code != PAWL_USAGE)
        return pawl_fail(run, PAWL_VALIDATION, "it has drained itself");
    return true;
}

static bool wait_in_commit(struct pawl_run *run, struct pawl_tx *tx, void *context)
{
    (void)tx;
    return wait_for_all(run, context);
}

TEST_SHOP(RUN_1_a_handler_that_waits_for_all_handlers_is_refused, .workers = 1)
{
    shop_handle(shop, (struct pawl_handler){ "work", .prepare = wait_for_all, .context = shop });
    shop_handle(shop, (struct pawl_handler){ "commit", .prepare = nothing,
                                             .commit = wait_in_commit, .context = shop });
    shop_start(shop);
    struct pawl_ticket work = shop_enqueue(shop, (struct pawl_job){ .job_type = "work" });
    struct pawl_ticket commit = shop_enqueue(shop, (struct pawl_job){ .job_type = "commit" });
    EXPECT_STR(str_of(shop_wait(shop, &work).error), "");
    EXPECT_STR(str_of(shop_wait(shop, &commit).error), "");
    EXPECT_STATE(shop, work, "SUCCEEDED");
    EXPECT_STATE(shop, commit, "SUCCEEDED");
}

TEST_SHOP(RUN_1_more_time_than_there_is_does_not_go_by, .virtual_time = true)
{
    struct pawl_error err = {0};
    shop_handle(shop, (struct pawl_handler){ "a", .prepare = nothing });
    EXPECT_REFUSED(PAWL_USAGE, pawl_advance(shop->pawl, INT64_MAX, &err));
    MUST(pawl_advance(shop->pawl, SECONDS(1), &err));
}

// ----- saying it at the wrong place

// What is said too late, or where it can be lost.
typedef bool (*saying)(struct pawl_run *run);

static bool say_result(struct pawl_run *run)
{
    return pawl_result(run, "1");
}

static bool say_annotation(struct pawl_run *run)
{
    return pawl_annotate(run, "{}");
}

static bool say_follow_up(struct pawl_run *run)
{
    return pawl_follow_up(run, &(struct pawl_job){ .job_type = "next" });
}

static bool say_step(struct pawl_run *run)
{
    return pawl_step(run, "inner", nothing, NULL, NULL);
}

static bool say_failure(struct pawl_run *run)
{
    pawl_fail(run, PAWL_BUSINESS_RULE, "and still it answers true");
    return true;
}

static bool in_step(struct pawl_run *run, void *context)
{
    saying say = *(saying *)context;
    return say(run) || true;  // a handler that looks at no answer
}

static bool prepare_in_step(struct pawl_run *run, void *context)
{
    return pawl_step(run, "outer", in_step, context, NULL);
}

static bool in_commit(struct pawl_run *run, struct pawl_tx *tx, void *context)
{
    struct pawl_error err = {0};
    return pawl_tx_execute(tx, "INSERT INTO effects VALUES (1)", &err) && in_step(run, context);
}

TEST_SHOP(EXEC_6_what_is_said_at_the_wrong_place_fails_the_run, .virtual_time = true)
{
    static saying all[] = { say_result, say_annotation, say_follow_up, say_step, say_failure };
    shop_sql(shop, "CREATE TABLE effects (n INTEGER)");
    for (size_t i = 0; i < countof(all); i++) {
        char step[16], commit[16];
        snprintf(step, sizeof step, "step-%zu", i);
        snprintf(commit, sizeof commit, "commit-%zu", i);
        shop_handle(shop, (struct pawl_handler){ step, .prepare = prepare_in_step,
                                                 .context = &all[i] });
        shop_handle(shop, (struct pawl_handler){ commit, .prepare = nothing, .commit = in_commit,
                                                 .context = &all[i] });
        shop_enqueue(shop, (struct pawl_job){ .job_type = step });
        shop_enqueue(shop, (struct pawl_job){ .job_type = commit });
    }
    shop_work(shop);
    EXPECT_INT(shop_number(shop, "SELECT count(*) FROM pawl_jobs WHERE state = 'FAILED'"),
               2 * countof(all));
    EXPECT_INT(shop_number(shop, "SELECT count(*) FROM pawl_jobs"), 2 * countof(all));
    EXPECT_INT(shop_number(shop, "SELECT count(*) FROM effects"), 0);
    EXPECT_INT(shop_lines(shop, "belongs to prepare: say it after the step"), 3);
    EXPECT_INT(shop_lines(shop, "belongs to prepare: now it is too late"), 3);
}

static bool annotate_badly(struct pawl_run *run, void *context)
{
    return pawl_annotate(run, context);
}

static bool step_without_work(struct pawl_run *run, void *context)
{
    (void)context;
    return pawl_step(run, "empty", NULL, NULL, NULL);
}

// Whoever has a removed file open could write to it for ever, and it would all be gone.
SQLITE_ONLY(OPS_9_a_store_that_was_removed_or_replaced_is_not_written, "a file that goes away")
TEST_SHOP(OPS_9_a_store_that_was_removed_or_replaced_is_not_written, .workers = 1)
{
    struct pawl_error err = {0};
    struct pawl_job job = { .job_type = "any" };
    char away[200], *path = shop->url + strlen("sqlite:");
    snprintf(away, sizeof away, "%s.away", path);
    MUST(pawl_enqueue(shop->pawl, &job, NULL, &err));
    EXPECT_INT(rename(path, away), 0);
    EXPECT_REFUSED(PAWL_STORE, pawl_enqueue(shop->pawl, &job, NULL, &err));
    EXPECT(strstr(err.message, "was removed or replaced"));
    FILE *other = fopen(path, "w");
    EXPECT(other != NULL);
    fclose(other);
    EXPECT_REFUSED(PAWL_STORE, pawl_enqueue(shop->pawl, &job, NULL, &err));
    EXPECT_INT(rename(away, path), 0);
    MUST(pawl_enqueue(shop->pawl, &job, NULL, &err));
}

TEST_SHOP(RUN_1_what_is_too_much_for_one_transaction_is_refused, .virtual_time = true)
{
    enum { TOO_MANY = 10001 };
    struct pawl_error err = {0};
    struct pawl_job *jobs = calloc(TOO_MANY, sizeof *jobs);
    EXPECT(jobs != NULL);
    for (int i = 0; i < TOO_MANY; i++)
        jobs[i].job_type = "any";
    EXPECT_REFUSED(PAWL_TOO_LARGE, pawl_enqueue_all(shop->pawl, jobs, TOO_MANY, NULL, &err));
    EXPECT_INT(shop_number(shop, "SELECT count(*) FROM jobs"), 0);
    MUST(pawl_enqueue_all(shop->pawl, jobs, TOO_MANY - 1, NULL, &err));
    free(jobs);
}

TEST_SHOP(EXEC_6_an_annotation_is_an_object_and_a_step_has_work, .virtual_time = true)
{
    static char list[] = "[1]";
    shop_handle(shop, (struct pawl_handler){ "a", .prepare = annotate_badly, .context = list });
    shop_handle(shop, (struct pawl_handler){ "b", .prepare = step_without_work });
    struct pawl_ticket a = shop_enqueue(shop, (struct pawl_job){ .job_type = "a" });
    struct pawl_ticket b = shop_enqueue(shop, (struct pawl_job){ .job_type = "b" });
    shop_work(shop);
    EXPECT_STR(str_of(shop_status(shop, &a).error), "annotation: must be an object");
    EXPECT_STR(str_of(shop_status(shop, &b).error), "step empty: it has no work");
    EXPECT_STATE(shop, a, "FAILED");
    EXPECT_STATE(shop, b, "FAILED");
}

// ----- giving no reason

static bool give_up(struct pawl_run *run, void *context)
{
    (void)run;
    (void)context;
    return false;
}

TEST_SHOP(RUN_1_a_failure_without_a_reason_is_logged_and_counted_as_one, .virtual_time = true)
{
    shop_policy(shop, (struct pawl_policy){ .name = "once", .max_attempts = 1 });
    shop_handle(shop, (struct pawl_handler){ "a", .prepare = give_up, .policy = "once" });
    shop_enqueue(shop, (struct pawl_job){ .job_type = "a" });
    shop_work(shop);
    EXPECT_INT(shop_lines(shop, "failed (transient): the handler did not say why"), 1);
    EXPECT_INT(pawl_figures(shop->pawl).failed, 1);
    EXPECT_INT(pawl_figures(shop->pawl).succeeded, 0);
}
