// What a program tells Pawl before it works: options, handlers, policies, jobs. Whatever is wrong
// is refused with its name, and all of it at once.
#include "shop.h"

// ----- options

#define REJECTS(options_, ...)                                                          \
    do {                                                                                \
        struct pawl *pawl_ = NULL;                                                      \
        struct pawl_error err = {0};                                                    \
        const char *const words_[] = { __VA_ARGS__ };                                   \
        struct pawl_options given_ = options_;                                          \
        given_.store = shop->url;                                                       \
        EXPECT_REFUSED(PAWL_INVALID, pawl_open(&pawl_, &given_, &err));                 \
        EXPECT(pawl_ == NULL);                                                          \
        for (size_t i_ = 0; i_ < countof(words_); i_++)                                 \
            if (!strstr(err.message, words_[i_]))                                       \
                print_error("%s is not in: %s\n", words_[i_], err.message);             \
        for (size_t i_ = 0; i_ < countof(words_); i_++)                                 \
            EXPECT(strstr(err.message, words_[i_]));                                    \
    } while (0)
#define OPTIONS(...) ((struct pawl_options){ __VA_ARGS__ })

TEST_SHOP(RUN_1_wrong_options_are_refused_by_name, .virtual_time = true)
{
    REJECTS(OPTIONS(.workers = -1), "workers");
    REJECTS(OPTIONS(.workers = 1001), "workers");
    REJECTS(OPTIONS(.prefetch = -2), "prefetch");
    REJECTS(OPTIONS(.written_off_max = -1), "written_off_max");
    REJECTS(OPTIONS(.grace_us = -1), "grace_us");
    REJECTS(OPTIONS(.loan_us = 1), "loan_us");
    REJECTS(OPTIONS(.commit_us = -1), "commit_us");
    REJECTS(OPTIONS(.busy_us = -1), "busy_us");
    REJECTS(OPTIONS(.virtual_start = -1), "virtual_start");
    REJECTS(OPTIONS(.org_id = "acme"), "org_id");
    REJECTS(OPTIONS(.actor_id = ""), "actor_id");
    REJECTS(OPTIONS(.instance = ""), "instance");
    REJECTS(OPTIONS(.workers = -1, .prefetch = -2, .org_id = "acme", .instance = "\n"), "workers",
            "prefetch", "org_id", "instance");
}

TEST(RUN_1_a_store_that_cannot_be_opened_is_an_error)
{
    struct pawl *pawl = NULL;
    struct pawl_error err = {0};
    EXPECT(!pawl_open(&pawl, &OPTIONS(.store = "sqlite:/nowhere/at/all/pawl.db"), &err));
    EXPECT(pawl == NULL && err.message[0]);
    EXPECT(!pawl_open(&pawl, &OPTIONS(.store = "mysql://localhost/"), &err));
    EXPECT(pawl == NULL);
    pawl_close(NULL);
}

// ----- handlers

static bool nothing(struct pawl_run *run, void *context)
{
    (void)run;
    (void)context;
    return true;
}

static void refuses_handler(struct shop *shop, struct pawl_handler handler, enum pawl_code code,
                            const char *word)
{
    struct pawl_error err = {0};
    EXPECT_REFUSED(code, pawl_handle(shop->pawl, &handler, &err));
    EXPECT(strstr(err.message, word));
}

TEST_SHOP(RUN_1_a_handler_must_have_a_type_and_its_work, .virtual_time = true)
{
    struct pawl_handler good = { "good", .prepare = nothing };
    refuses_handler(shop, (struct pawl_handler){ .prepare = nothing }, PAWL_INVALID, "job_type");
    refuses_handler(shop, (struct pawl_handler){ "", .prepare = nothing }, PAWL_INVALID,
                    "job_type");
    refuses_handler(shop, (struct pawl_handler){ "a b", .prepare = nothing }, PAWL_INVALID,
                    "job_type");
    refuses_handler(shop, (struct pawl_handler){ .job_type = "good" }, PAWL_INVALID, "prepare");
    refuses_handler(shop, (struct pawl_handler){ "good", .prepare = nothing, .policy = "none" },
                    PAWL_INVALID, "policy");
    shop_handle(shop, good);
    refuses_handler(shop, good, PAWL_CONFLICT, "good");
    for (int i = 0; i < 100; i++) {  // the list grows
        char type[16];
        snprintf(type, sizeof type, "t-%d", i);
        shop_handle(shop, (struct pawl_handler){ type, .prepare = nothing });
    }
    shop_work(shop);
    refuses_handler(shop, (struct pawl_handler){ "late", .prepare = nothing }, PAWL_CONFLICT,
                    "pawl_start");
}

TEST_SHOP(RUN_1_a_runner_without_handlers_does_not_start, .workers = 1)
{
    struct pawl_error err = {0};
    EXPECT_REFUSED(PAWL_USAGE, pawl_start(shop->pawl, &err));
    EXPECT_REFUSED(PAWL_USAGE, pawl_run_until_idle(shop->pawl, &err));
    EXPECT_REFUSED(PAWL_USAGE, pawl_advance(shop->pawl, 1, &err));
    pawl_stop(shop->pawl, 0);
}

// ----- policies

static void refuses_policy(struct shop *shop, struct pawl_policy policy, enum pawl_code code,
                           const char *word)
{
    struct pawl_error err = {0};
    EXPECT_REFUSED(code, pawl_define_policy(shop->pawl, &policy, &err));
    if (!strstr(err.message, word))
        print_error("%s is not in: %s\n", word, err.message);
    EXPECT(strstr(err.message, word));
}

#define POLICY(...) ((struct pawl_policy){ .name = "mine", __VA_ARGS__ })

TEST_SHOP(JOB_4_a_policy_with_a_wrong_field_is_refused_by_its_name, .virtual_time = true)
{
    refuses_policy(shop, (struct pawl_policy){ .max_attempts = 1 }, PAWL_INVALID, "name");
    refuses_policy(shop, (struct pawl_policy){ .name = "a b" }, PAWL_INVALID, "name");
    refuses_policy(shop, (struct pawl_policy){ .name = "default" }, PAWL_CONFLICT, "default");
    refuses_policy(shop, POLICY(.base = "none"), PAWL_INVALID, "base");
    refuses_policy(shop, POLICY(.max_attempts = -1), PAWL_INVALID, "max_attempts");
    refuses_policy(shop, POLICY(.max_attempts = 1001), PAWL_INVALID, "max_attempts");
    refuses_policy(shop, POLICY(.step_attempts = 101), PAWL_INVALID, "step_attempts");
    refuses_policy(shop, POLICY(.base_us = -1), PAWL_INVALID, "base");
    refuses_policy(shop, POLICY(.base_us = 2, .delay_us_max = 1), PAWL_INVALID, "max_delay");
    refuses_policy(shop, POLICY(.timeout_us = 1), PAWL_INVALID, "timeout");
    refuses_policy(shop, POLICY(.lease_us = 1), PAWL_INVALID, "lease");
    refuses_policy(shop, POLICY(.key_ttl_us = -1), PAWL_INVALID, "key_ttl");
    refuses_policy(shop, POLICY(.jitter = (enum pawl_choice)7), PAWL_INVALID, "mine");
    refuses_policy(shop, POLICY(.on_crash = (enum pawl_on_crash)7), PAWL_INVALID, "mine");
    refuses_policy(shop, POLICY(.on_timeout = (enum pawl_on_timeout)7), PAWL_INVALID, "mine");
    refuses_policy(shop, POLICY(.max_attempts = 1001, .timeout_us = 1), PAWL_INVALID, "timeout");
    refuses_policy(shop, POLICY(.queue = "q:deadletter"), PAWL_INVALID, "queue");
    refuses_policy(shop, POLICY(.queue = "no queue"), PAWL_INVALID, "queue");
    refuses_policy(shop, POLICY(.queue = ""), PAWL_INVALID, "queue");
    shop_policy(shop, POLICY(.max_attempts = 2));
    refuses_policy(shop, POLICY(.max_attempts = 2), PAWL_CONFLICT, "mine");
}

TEST_SHOP(JOB_4_what_a_policy_does_not_say_is_as_in_its_base, .virtual_time = true)
{
    struct counts counts = { .fail_first = 9 };
    shop_policy(shop, POLICY(.base = "lifecycle", .max_attempts = 2, .base_us = MINUTES(1)));
    shop_handle(shop, (struct pawl_handler){ "greet", .prepare = greet, .context = &counts,
                                             .policy = "mine" });
    struct pawl_ticket ticket = shop_enqueue(shop, (struct pawl_job){ .job_type = "greet" });
    shop_pass(shop, MINUTES(1) - 1);
    EXPECT_STATE(shop, ticket, "RETRYING");
    shop_pass(shop, 1);
    EXPECT_STATE(shop, ticket, "FAILED");
    EXPECT_STR(str_of(shop_status(shop, &ticket).failure_type), "ATTEMPTS_EXHAUSTED");
    EXPECT(strstr(shop_json(shop, &ticket), "\"dead_letter\":null")
           || strstr(shop_json(shop, &ticket), "\"dead_letter\":false"));
}

// ----- jobs

static void refuses_job(struct shop *shop, struct pawl_job job, const char *word)
{
    struct pawl_error err = {0};
    EXPECT_REFUSED(PAWL_INVALID, pawl_enqueue(shop->pawl, &job, NULL, &err));
    if (!strstr(err.message, word))
        print_error("%s is not in: %s\n", word, err.message);
    EXPECT(strstr(err.message, word));
}

#define JOB(...) ((struct pawl_job){ .job_type = "greet", __VA_ARGS__ })

TEST_SHOP(OPS_1_an_empty_text_is_refused_and_named, .virtual_time = true)
{
    refuses_job(shop, (struct pawl_job){ .payload = "{}" }, "job_type");
    refuses_job(shop, (struct pawl_job){ .job_type = "" }, "job_type");
    refuses_job(shop, JOB(.payload = ""), "payload");
    refuses_job(shop, JOB(.idempotency_key = ""), "idempotency_key");
    refuses_job(shop, JOB(.serial_key = ""), "serial_key");
    refuses_job(shop, JOB(.queue = ""), "queue");
    refuses_job(shop, JOB(.policy = ""), "policy");
    refuses_job(shop, JOB(.policy = "none"), "policy");
    refuses_job(shop, JOB(.org_id = ""), "org_id");
    refuses_job(shop, JOB(.project_id = ""), "project_id");
    refuses_job(shop, JOB(.request_id = ""), "request_id");
    refuses_job(shop, JOB(.correlation_id = ""), "correlation_id");
    refuses_job(shop, JOB(.traceparent = ""), "traceparent");
    refuses_job(shop, JOB(.authorized_by = ""), "authorized_by");
    refuses_job(shop, JOB(.limit_key = ""), "limit_key");
    EXPECT_INT(shop_number(shop, "SELECT count(*) FROM jobs"), 0);
}

TEST_SHOP(OPS_1_every_problem_of_a_job_is_named_at_once, .virtual_time = true)
{
    struct pawl_job job = JOB(.payload = "[1]", .priority = 101, .queue = "", .policy = "none",
                              .max_wait_us = -1);
    refuses_job(shop, job, "payload");
    refuses_job(shop, job, "priority");
    refuses_job(shop, job, "queue");
    refuses_job(shop, job, "policy");
    refuses_job(shop, job, "max_wait");
}

TEST_SHOP(OPS_1_of_many_jobs_the_wrong_one_is_named_and_none_is_stored, .virtual_time = true)
{
    struct pawl_error err = {0};
    struct pawl_job fine = { .job_type = "greet" };
    struct pawl_job jobs[] = { fine, fine, fine, JOB(.payload = "no"), JOB(.queue = "") };
    EXPECT_REFUSED(PAWL_INVALID, pawl_enqueue_all(shop->pawl, jobs, 5, NULL, &err));
    EXPECT(strstr(err.message, "jobs[3].payload"));
    EXPECT(strstr(err.message, "jobs[4].queue"));
    struct pawl_job keyed[] = { JOB(.idempotency_key = "k"),
                                JOB(.idempotency_key = "k", .payload = "{\"other\":1}") };
    EXPECT_REFUSED(PAWL_KEY_REUSED, pawl_enqueue_all(shop->pawl, keyed, 2, NULL, &err));
    EXPECT(strstr(err.message, "jobs[1]"));
    EXPECT_INT(shop_number(shop, "SELECT count(*) FROM jobs"), 0);
    MUST(pawl_enqueue_all(shop->pawl, NULL, 0, NULL, &err));
}

TEST_SHOP(OPS_4_a_key_that_is_known_gets_the_job_that_has_it, .virtual_time = true)
{
    struct pawl_ticket first = shop_enqueue(shop, JOB(.idempotency_key = "k"));
    struct pawl_ticket again = shop_enqueue(shop, JOB(.idempotency_key = "k"));
    EXPECT(!first.deduplicated && again.deduplicated);
    EXPECT(strcmp(first.job_id, again.job_id) == 0);
}

// The error may be left out, whatever goes wrong.
TEST_SHOP(RUN_1_an_error_that_nobody_asks_for_is_not_written, .virtual_time = true)
{
    static const char unknown[] = "00000000-0000-7000-8000-00000000abcd";
    struct pawl_status status;
    char *json = NULL;
    struct pawl_tx *tx = NULL;
    struct pawl_job reused = JOB(.idempotency_key = "k", .payload = "{\"other\":1}");
    shop_enqueue(shop, JOB(.idempotency_key = "k"));
    EXPECT(!pawl_enqueue(shop->pawl, &reused, NULL, NULL));
    EXPECT(!pawl_enqueue(shop->pawl, &JOB(.payload = "no"), NULL, NULL));
    EXPECT(!pawl_get(shop->pawl, unknown, &status, NULL));
    EXPECT(!pawl_get(shop->pawl, NULL, &status, NULL));
    EXPECT(!pawl_wait(shop->pawl, unknown, 0, &status, NULL));
    EXPECT(!pawl_get_json(shop->pawl, unknown, &json, NULL));
    EXPECT(!pawl_submit(shop->pawl, unknown, NULL));
    EXPECT(!pawl_cancel(shop->pawl, unknown, NULL, NULL));
    EXPECT(!pawl_retry(shop->pawl, unknown, NULL, NULL));
    EXPECT(!pawl_handle(shop->pawl, &(struct pawl_handler){0}, NULL));
    EXPECT(!pawl_define_policy(shop->pawl, &(struct pawl_policy){0}, NULL));
    EXPECT(!pawl_start(shop->pawl, NULL));
    EXPECT(!pawl_advance(shop->pawl, -1, NULL));
    EXPECT(pawl_begin(shop->pawl, &tx, NULL));
    EXPECT(!pawl_tx_execute(tx, "DELETE FROM jobs", NULL));
    EXPECT(!pawl_tx_enqueue(tx, &reused, NULL, NULL));
    pawl_rollback(tx);
}

TEST_SHOP(RUN_1_a_wait_may_last_for_ever, .workers = 1)
{
    struct pawl_error err = {0};
    struct pawl_status status;
    struct counts counts = {0};
    shop_handle(shop, (struct pawl_handler){ "greet", .prepare = greet, .context = &counts });
    shop_start(shop);
    struct pawl_ticket ticket = shop_enqueue(shop, (struct pawl_job){ .job_type = "greet" });
    MUST(pawl_wait(shop->pawl, ticket.job_id, INT64_MAX, &status, &err));
    EXPECT_STR(str_of(status.state), "SUCCEEDED");
}
