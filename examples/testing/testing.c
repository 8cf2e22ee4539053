// How to test your own handlers: in virtual time, on a real store, in milliseconds.
//
// With `virtual_time` Pawl has no threads: handlers run in pawl_run_until_idle and pawl_advance,
// one after another, always in the same order, and a day goes by when the test says so. What is
// tested is the engine that runs in production, not a copy of its rules.
#include <assert.h>
#include <ftw.h>
#include <pawl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef NDEBUG
#error "these tests are made of asserts"
#endif

#define SECONDS(n) (INT64_C(1000000) * (n))

// ----- the application: in your project this is a file of its own

// A bank as the tests need it: how it behaves, and how often it was asked.
struct bank {
    struct pawl *pawl;
    int down_for;         // calls that fail before one succeeds
    int64_t takes_us;     // how long a call takes
    bool customer_quits;  // the job is cancelled while the bank is being asked
    int look_ups, calls, charged;
};

static bool look_up(struct pawl_run *run, void *context)
{
    struct bank *bank = context;
    bank->look_ups++;
    return pawl_step_result(run, "{\"account\":7}");
}

static bool call_bank(struct bank *bank, const char *job_id)
{
    bank->calls++;
    return pawl_advance(bank->pawl, bank->takes_us, NULL)
        && (!bank->customer_quits || pawl_cancel(bank->pawl, job_id, NULL, NULL))
        && bank->calls > bank->down_for;
}

// Charges a card: finds the account, once, then calls the bank, as often as the policy allows.
static bool charge(struct pawl_run *run, void *context)
{
    struct bank *bank = context;
    if (!pawl_step(run, "look_up", look_up, bank, NULL))
        return false;
    bool answered = call_bank(bank, pawl_job_id(run));
    if (pawl_stopped(run) != PAWL_GO_ON)
        return false;  // cancelled, or out of time
    if (!answered)
        return pawl_fail(run, PAWL_DEPENDENCY, "the bank does not answer");
    bank->charged++;
    return pawl_result(run, "{\"charged\":true}");
}

// ----- helpers

// A call that has to work, else the test ends with what went wrong.
#define MUST(call)                                                                      \
    do {                                                                                \
        struct pawl_error err = {0};                                                    \
        if (!(call)) {                                                                  \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, err.message); \
            abort();                                                                    \
        }                                                                               \
    } while (0)

static void work(struct bank *bank)
{
    MUST(pawl_run_until_idle(bank->pawl, &err));
}

static void pass(struct bank *bank, int64_t microseconds)
{
    MUST(pawl_advance(bank->pawl, microseconds, &err));
}

static struct pawl_ticket enqueue(struct bank *bank, struct pawl_job job)
{
    struct pawl_ticket ticket;
    job.job_type = "charge";
    MUST(pawl_enqueue(bank->pawl, &job, &ticket, &err));
    return ticket;
}

static struct pawl_status look_at(struct bank *bank, struct pawl_ticket ticket)
{
    struct pawl_status status;
    MUST(pawl_get(bank->pawl, ticket.job_id, &status, &err));
    return status;
}

static bool is(const char *text, const char *wanted)
{
    return strcmp(text, wanted) == 0;
}

// ----- the tests

// `lifecycle` retries three times, one second apart.
static void it_asks_again_after_a_second(struct bank *bank)
{
    bank->down_for = 2;
    struct pawl_ticket ticket = enqueue(bank, (struct pawl_job){ .policy = "lifecycle" });
    work(bank);
    assert(is(look_at(bank, ticket).state, "RETRYING"));
    assert(is(look_at(bank, ticket).error, "the bank does not answer"));

    pass(bank, SECONDS(1) - 1);
    assert(bank->calls == 1);
    pass(bank, 1);
    assert(bank->calls == 2);
    pass(bank, SECONDS(1));
    assert(is(look_at(bank, ticket).state, "SUCCEEDED"));
    assert(look_at(bank, ticket).attempt == 3);
    assert(bank->charged == 1);
    assert(bank->look_ups == 1);  // the step's result was kept from the first attempt
}

static void it_gives_up_at_the_fourth_failure(struct bank *bank)
{
    bank->down_for = 100;
    struct pawl_ticket ticket = enqueue(bank, (struct pawl_job){ .policy = "lifecycle" });
    pass(bank, SECONDS(3600));
    assert(bank->calls == 4);
    assert(is(look_at(bank, ticket).state, "FAILED"));
    assert(is(look_at(bank, ticket).failure_type, "ATTEMPTS_EXHAUSTED"));
}

// `document` allows 120 seconds and no second attempt.
static void it_is_timed_out_after_two_minutes(struct bank *bank)
{
    bank->takes_us = SECONDS(120);
    struct pawl_ticket ticket = enqueue(bank, (struct pawl_job){ .policy = "document" });
    work(bank);
    assert(is(look_at(bank, ticket).state, "TIMED_OUT"));
    assert(is(look_at(bank, ticket).failure_type, "TIMEOUT"));
    assert(bank->charged == 0);
}

static void it_may_take_a_second_less(struct bank *bank)
{
    bank->takes_us = SECONDS(119);
    struct pawl_ticket ticket = enqueue(bank, (struct pawl_job){ .policy = "document" });
    work(bank);
    assert(is(look_at(bank, ticket).state, "SUCCEEDED"));
}

static void a_waiting_job_is_cancelled_at_once(struct bank *bank)
{
    bool ended = false;
    struct pawl_ticket ticket = enqueue(bank, (struct pawl_job){0});
    MUST(pawl_cancel(bank->pawl, ticket.job_id, &ended, &err));
    assert(ended);
    work(bank);
    assert(bank->calls == 0);
    assert(is(look_at(bank, ticket).failure_type, "CANCELLED"));
}

static void a_running_job_is_asked_to_stop(struct bank *bank)
{
    bank->customer_quits = true;
    struct pawl_ticket ticket = enqueue(bank, (struct pawl_job){0});
    work(bank);
    assert(bank->calls == 1 && bank->charged == 0);
    assert(is(look_at(bank, ticket).state, "FAILED"));  // `default` would have tried again
    assert(is(look_at(bank, ticket).failure_type, "CANCELLED"));
}

static void one_key_is_one_job(struct bank *bank)
{
    struct pawl_job job = { .payload = "{\"cents\":5}", .idempotency_key = "order-7" };
    struct pawl_ticket first = enqueue(bank, job);
    work(bank);
    struct pawl_ticket second = enqueue(bank, job);
    work(bank);
    assert(second.deduplicated && is(first.job_id, second.job_id));
    assert(bank->charged == 1);

    struct pawl_error err = {0};
    job.job_type = "charge";
    job.payload = "{\"cents\":500}";
    assert(!pawl_enqueue(bank->pawl, &job, NULL, &err));
    assert(err.code == PAWL_KEY_REUSED);
}

static void it_does_not_begin_before_its_time(struct bank *bank)
{
    pawl_time at = pawl_now(bank->pawl) + SECONDS(86400);
    struct pawl_ticket ticket = enqueue(bank, (struct pawl_job){ .scheduled_for = at });
    pass(bank, SECONDS(86399));
    assert(is(look_at(bank, ticket).phase, "delayed"));
    pass(bank, SECONDS(1));
    assert(is(look_at(bank, ticket).state, "SUCCEEDED"));
    assert(look_at(bank, ticket).started_at == at);
}

// ----- each on a store of its own

static const struct test {
    const char *name;
    void (*run)(struct bank *bank);
} tests[] = {
    { "it asks again after a second", it_asks_again_after_a_second },
    { "it gives up at the fourth failure", it_gives_up_at_the_fourth_failure },
    { "it is timed out after two minutes", it_is_timed_out_after_two_minutes },
    { "it may take a second less", it_may_take_a_second_less },
    { "a waiting job is cancelled at once", a_waiting_job_is_cancelled_at_once },
    { "a running job is asked to stop", a_running_job_is_asked_to_stop },
    { "one key is one job", one_key_is_one_job },
    { "it does not begin before its time", it_does_not_begin_before_its_time },
};

static void run_test(const struct test *test, const char *directory, size_t number)
{
    char store[300];
    snprintf(store, sizeof(store), "sqlite:%s/%zu.db", directory, number);
    struct bank bank = {0};
    struct pawl_options options = { .store = store, .virtual_time = true };
    struct pawl_handler handler = { .job_type = "charge", .prepare = charge, .context = &bank };
    MUST(pawl_open(&bank.pawl, &options, &err));
    MUST(pawl_handle(bank.pawl, &handler, &err));
    test->run(&bank);
    pawl_close(bank.pawl);
    printf("ok  %s\n", test->name);
}

static int remove_one(const char *path, const struct stat *stat, int type, struct FTW *where)
{
    (void)stat, (void)type, (void)where;
    return remove(path);
}

int main(void)
{
    char directory[256];
    const char *base = getenv("TMPDIR");
    snprintf(directory, sizeof(directory), "%s/pawl-testing.XXXXXX", base ? base : "/tmp");
    if (!mkdtemp(directory)) {
        perror(directory);
        return 1;
    }
    for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
        run_test(&tests[i], directory, i);
    nftw(directory, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    return 0;
}
