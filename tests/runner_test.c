// The runner through the public header: handlers run, fail, are tried again, follow each other.
#include "shop.h"

TEST_SHOP(RUN_1_a_handler_runs_in_this_process_and_its_result_is_kept, .virtual_time = true)
{
    struct counts counts = {0};
    shop_handle(shop, (struct pawl_handler){ "greet", .prepare = greet, .context = &counts });
    struct pawl_ticket ticket = shop_enqueue(shop, (struct pawl_job){ .job_type = "greet" });
    EXPECT_STATE(shop, ticket, "QUEUED");
    shop_work(shop);
    EXPECT_STATE(shop, ticket, "SUCCEEDED");
    EXPECT_INT(counts.prepared, 1);
    EXPECT(strstr(shop_json(shop, &ticket), "\"result\":{\"greeting\":\"hello\"}"));
    EXPECT_INT(shop_lines(shop, "RUN_STARTED greet 1"), 1);
    EXPECT_INT(shop_lines(shop, "RUN_ENDED greet 1 succeeded"), 1);
}

TEST_SHOP(OPS_19_what_a_worker_of_pawls_own_does_is_the_systems_and_the_rest_is_not,
          .virtual_time = true)
{
    struct counts counts = {0};
    shop_handle(shop, (struct pawl_handler){ "greet", .prepare = greet, .context = &counts });
    shop_enqueue(shop, (struct pawl_job){ .job_type = "greet" });
    shop_work(shop);
    EXPECT_INT(shop_number(shop, "SELECT count(*) FROM pawl_audit WHERE job_id IS NOT NULL"
                                 " AND event IN ('job.started', 'job.succeeded')"
                                 " AND actor_type = 'system' AND actor_id = 'pawl'"),
               2);
    EXPECT_INT(shop_number(shop, "SELECT count(*) FROM pawl_audit WHERE job_id IS NOT NULL"
                                 " AND event IN ('job.created', 'job.enqueued')"
                                 " AND actor_id <> 'pawl'"),
               2);
}

TEST_SHOP(RUN_1_jobs_run_in_a_pool_of_threads, .workers = 4)
{
    enum { COUNT = 500 };
    struct counts counts = {0};
    struct pawl_ticket tickets[COUNT];
    shop_handle(shop, (struct pawl_handler){ "greet", .prepare = greet, .context = &counts });
    shop_start(shop);
    for (int i = 0; i < COUNT; i++)
        tickets[i] = shop_enqueue(shop, (struct pawl_job){ .job_type = "greet" });
    shop_work(shop);
    EXPECT_INT(counts.prepared, COUNT);
    for (int i = 0; i < COUNT; i++)
        EXPECT_STATE(shop, tickets[i], "SUCCEEDED");
    EXPECT_INT(pawl_figures(shop->pawl).succeeded, COUNT);
    EXPECT_INT(shop_lines(shop, "RUN_ENDED greet 1 succeeded"), COUNT);
}

TEST_SHOP(RUN_1_only_types_with_a_handler_are_taken, .virtual_time = true)
{
    struct counts counts = {0};
    shop_handle(shop, (struct pawl_handler){ "greet", .prepare = greet, .context = &counts });
    struct pawl_ticket other = shop_enqueue(shop, (struct pawl_job){ .job_type = "other" });
    shop_work(shop);
    EXPECT_STATE(shop, other, "QUEUED");
    EXPECT_INT(counts.prepared, 0);
}

TEST_SHOP(JOB_4_a_failed_attempt_is_retried_after_its_delay, .virtual_time = true)
{
    struct counts counts = { .fail_first = 3, .class = PAWL_DEPENDENCY };
    shop_handle(shop, (struct pawl_handler){ "greet", .prepare = greet, .context = &counts,
                                             .policy = "lifecycle" });
    struct pawl_ticket ticket = shop_enqueue(shop, (struct pawl_job){ .job_type = "greet" });
    shop_work(shop);
    EXPECT_STATE(shop, ticket, "RETRYING");
    shop_pass(shop, SECONDS(1) - 1);
    EXPECT_INT(counts.prepared, 1);
    shop_pass(shop, 1);
    EXPECT_INT(counts.prepared, 2);
    shop_pass(shop, SECONDS(2));
    EXPECT_STATE(shop, ticket, "SUCCEEDED");
    EXPECT_INT(shop_status(shop, &ticket).attempt, 4);
}

TEST_SHOP(JOB_3_a_terminal_class_is_not_retried, .virtual_time = true)
{
    struct counts counts = { .fail_first = 9, .class = PAWL_BUSINESS_RULE };
    shop_handle(shop, (struct pawl_handler){ "greet", .prepare = greet, .context = &counts });
    struct pawl_ticket ticket = shop_enqueue(shop, (struct pawl_job){ .job_type = "greet" });
    shop_work(shop);
    EXPECT_STATE(shop, ticket, "FAILED");
    EXPECT_STR(str_of(shop_status(shop, &ticket).failure_type), "HANDLER_ERROR");
    EXPECT_INT(counts.prepared, 1);
}

static bool say_nothing(struct pawl_run *run, void *context)
{
    (void)run;
    (void)context;
    return false;
}

TEST_SHOP(JOB_3_a_handler_that_does_not_say_why_has_failed_for_now, .virtual_time = true)
{
    shop_handle(shop, (struct pawl_handler){ "mute", .prepare = say_nothing });
    struct pawl_ticket ticket = shop_enqueue(shop, (struct pawl_job){ .job_type = "mute" });
    shop_work(shop);
    EXPECT_STATE(shop, ticket, "RETRYING");
    EXPECT_STR(str_of(shop_status(shop, &ticket).error), "the handler did not say why");
}

static bool ask_for_an_hour(struct pawl_run *run, void *context)
{
    (void)context;
    pawl_retry_after(run, HOURS(1));
    return pawl_fail(run, PAWL_RATE_LIMITED, "come back later");
}

TEST_SHOP(OPS_7_a_providers_own_back_off_is_kept, .virtual_time = true)
{
    shop_handle(shop, (struct pawl_handler){ "ask", .prepare = ask_for_an_hour });
    struct pawl_ticket ticket = shop_enqueue(shop, (struct pawl_job){ .job_type = "ask" });
    shop_pass(shop, HOURS(1) - 1);
    EXPECT_INT(shop_status(shop, &ticket).attempt, 1);
    shop_pass(shop, 1);
    EXPECT_INT(shop_status(shop, &ticket).attempt, 2);
}

// ----- what a handler says is kept as it is, or refused with a word

static bool say(struct pawl_run *run, void *context)
{
    return pawl_fail(run, PAWL_TRANSIENT, "%s", (const char *)context);
}

TEST_SHOP(RUN_1_a_reason_of_any_bytes_is_told_as_text, .virtual_time = true)
{
    char long_text[8192], latin_text[] = "caf\xe9 \x01";
    for (size_t i = 0; i + 2 < sizeof long_text; i += 2)
        memcpy(long_text + i, "\xc3\xa9", 3);
    shop_handle(shop, (struct pawl_handler){ "latin", .prepare = say, .context = latin_text });
    shop_handle(shop, (struct pawl_handler){ "long", .prepare = say, .context = long_text });
    struct pawl_ticket latin = shop_enqueue(shop, (struct pawl_job){ .job_type = "latin" });
    struct pawl_ticket long_one = shop_enqueue(shop, (struct pawl_job){ .job_type = "long" });
    shop_work(shop);
    EXPECT(strstr(shop_json(shop, &latin), "caf? "));
    EXPECT(strstr(shop_json(shop, &long_one), "\xc3\xa9\xc3\xa9"));
}

static bool result_is(struct pawl_run *run, void *context)
{
    return pawl_result(run, context);
}

TEST_SHOP(RUN_1_a_result_that_is_not_json_fails_the_run, .virtual_time = true)
{
    static char bad[][24] = { "", "{", "nul", "{\"a\":1,\"a\":2}", "\"\xff\"", "NaN", "1 2" };
    struct pawl_ticket tickets[countof(bad)];
    for (size_t i = 0; i < countof(bad); i++) {
        char type[16];
        snprintf(type, sizeof type, "bad-%zu", i);
        shop_handle(shop, (struct pawl_handler){ type, .prepare = result_is, .context = bad[i] });
        tickets[i] = shop_enqueue(shop, (struct pawl_job){ .job_type = type });
    }
    shop_work(shop);
    for (size_t i = 0; i < countof(bad); i++) {
        EXPECT_STATE(shop, tickets[i], "FAILED");
        EXPECT(strncmp(shop_status(shop, &tickets[i]).error, "result: ", 8) == 0);
    }
}

// ----- what a run says about its job, and what follows from it

static bool follow(struct pawl_run *run, void *context)
{
    struct pawl_job next = { .job_type = "next", .payload = "{\"from\":\"first\"}" };
    struct pawl_job wrong = { .job_type = "next", .priority = 1000 };
    struct counts *counts = context;
    if (!pawl_annotate(run, "{\"seen\":true}") || !pawl_follow_up(run, &next))
        return false;
    if (counts->fail_first)
        return pawl_follow_up(run, &wrong);
    return true;
}

TEST_SHOP(EXEC_6_follow_ups_and_annotations_are_stored_with_the_commit, .virtual_time = true)
{
    struct counts counts = {0};
    shop_handle(shop, (struct pawl_handler){ "first", .prepare = follow, .context = &counts });
    struct pawl_ticket first = shop_enqueue(shop, (struct pawl_job){ .job_type = "first" });
    shop_work(shop);
    EXPECT_STATE(shop, first, "SUCCEEDED");
    EXPECT_INT(shop_number(shop, "SELECT count(*) FROM pawl_jobs WHERE job_type = 'next'"),
               1);
}

TEST_SHOP(EXEC_6_a_follow_up_that_breaks_the_contract_fails_the_run, .virtual_time = true)
{
    struct counts counts = { .fail_first = 1 };
    shop_handle(shop, (struct pawl_handler){ "first", .prepare = follow, .context = &counts });
    struct pawl_ticket first = shop_enqueue(shop, (struct pawl_job){ .job_type = "first" });
    shop_work(shop);
    EXPECT_STATE(shop, first, "FAILED");
    EXPECT(strstr(shop_status(shop, &first).error, "follow_up.priority"));
    EXPECT_INT(shop_number(shop, "SELECT count(*) FROM pawl_jobs"), 1);
}

static bool tell_often(struct pawl_run *run, void *context)
{
    (void)context;
    for (int percent = 0; percent <= 100; percent++)
        pawl_progress(run, percent, "%d of 100", percent);
    return true;
}

TEST_SHOP(RUN_1_the_last_progress_is_kept_with_the_commit, .virtual_time = true)
{
    shop_handle(shop, (struct pawl_handler){ "often", .prepare = tell_often });
    struct pawl_ticket ticket = shop_enqueue(shop, (struct pawl_job){ .job_type = "often" });
    shop_work(shop);
    struct pawl_status status = shop_status(shop, &ticket);
    EXPECT_STR(str_of(status.state), "SUCCEEDED");
    EXPECT_INT(status.percent, 100);
    EXPECT_STR(str_of(status.progress), "100 of 100");
}

static bool tell_how_far(struct pawl_run *run, void *context)
{
    (void)context;
    pawl_progress(run, 250, "two\nlines\t\x01 and half a character \xc3");
    return pawl_fail(run, PAWL_TRANSIENT, "stop here");
}

TEST_SHOP(RUN_1_progress_is_one_line_of_text_whatever_was_said, .virtual_time = true)
{
    shop_handle(shop, (struct pawl_handler){ "far", .prepare = tell_how_far });
    shop_enqueue(shop, (struct pawl_job){ .job_type = "far" });
    shop_work(shop);
    EXPECT_INT(shop_number(shop, "SELECT progress_percent = 100 AND progress_message ="
                                 " 'two lines   and half a character ?' FROM executions"),
               1);
}
