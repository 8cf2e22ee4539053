// Rules of the model that compare and judge what is stored, one field after the other.
#include "test.h"

#include <string.h>

#include "model/after.h"
#include "model/alert.h"
#include "model/contract.h"
#include "model/execution.h"
#include "model/limit.h"
#include "model/payload_diff.h"
#include "model/schedule.h"
#include "model/text_rule.h"

// ----- executions

static const struct execution leased = {
    .attempt = 1,
    .status = EXECUTION_LEASED,
    .leased_at = SECONDS(10),
    .lease_expires_at = SECONDS(40),
};

static struct execution done(void)
{
    struct execution e = leased;
    e.status = EXECUTION_DONE;
    e.started_at = SECONDS(11);
    e.committed_at = SECONDS(12);
    e.finished_at = SECONDS(13);
    e.end_reason = END_DONE;
    return e;
}

#define EXPECT_CONTRADICTION(whole, change)        \
    do {                                           \
        struct execution e = (whole);              \
        change;                                    \
        EXPECT(execution_problem(&e) != NULL);     \
    } while (0)

TEST(EXEC_8_an_execution_whose_facts_contradict_each_other_is_found)
{
    struct execution whole = done();
    EXPECT(execution_problem(&leased) == NULL);
    EXPECT(execution_problem(&whole) == NULL);
    EXPECT_CONTRADICTION(leased, e.attempt = 0);
    EXPECT_CONTRADICTION(leased, e.leased_at = 0);
    EXPECT_CONTRADICTION(leased, e.lease_expires_at = 0);
    EXPECT_CONTRADICTION(leased, e.started_at = SECONDS(11));
    EXPECT_CONTRADICTION(leased, e.committed_at = SECONDS(11));
    EXPECT_CONTRADICTION(leased, e.finished_at = SECONDS(11));
    EXPECT_CONTRADICTION(leased, e.end_reason = END_ERROR);
    EXPECT_CONTRADICTION(leased, e.tally.attempts_used = 2);
    EXPECT_CONTRADICTION(leased, e.tally.retry_count = 2);
    EXPECT_CONTRADICTION(done(), e.started_at = 0);
    EXPECT_CONTRADICTION(done(), e.committed_at = 0);
    EXPECT_CONTRADICTION(done(), e.finished_at = 0);
    EXPECT_CONTRADICTION(done(), e.end_reason = END_NONE);
    EXPECT_CONTRADICTION(done(), e.end_reason = END_ERROR);
    EXPECT_CONTRADICTION(done(), e.started_at = SECONDS(9));
    EXPECT_CONTRADICTION(done(), e.committed_at = SECONDS(10));
    EXPECT_CONTRADICTION(done(), e.finished_at = SECONDS(11));
    struct execution aborted = leased;
    aborted.status = EXECUTION_ABORTED;
    aborted.finished_at = SECONDS(11);
    aborted.end_reason = END_ERROR;
    EXPECT(execution_problem(&aborted) == NULL);
    EXPECT_CONTRADICTION(aborted, e.finished_at = SECONDS(9));
}

// ----- the same, or not

static const struct policy some_policy = { .name = { "p", 1 } };
static const struct schedule some_schedule = { .name = { "s", 1 } };
static const struct limit some_limit = { .max_running = 3 };

#define EXPECT_OTHER(type, same, whole, field, value) \
    do {                                              \
        type other = (whole);                         \
        EXPECT(same(&other, &(whole)));               \
        other.field = (value);                        \
        EXPECT(!same(&other, &(whole)));              \
    } while (0)

#define OTHER_POLICY(field, value) \
    EXPECT_OTHER(struct policy, policy_eq, some_policy, field, value)
#define OTHER_SCHEDULE(field, value) \
    EXPECT_OTHER(struct schedule, schedule_eq, some_schedule, field, value)
#define OTHER_LIMIT(field, value) \
    EXPECT_OTHER(struct limit, limit_same, some_limit, field, value)

TEST(OPS_6_policies_that_differ_in_anything_are_two)
{
    OTHER_POLICY(name, S("q"));
    OTHER_POLICY(category, S("other"));
    OTHER_POLICY(queue, S("q:other"));
    OTHER_POLICY(max_attempts, 9);
    OTHER_POLICY(step_attempts, 9);
    OTHER_POLICY(exponential, true);
    OTHER_POLICY(jitter, true);
    OTHER_POLICY(base_us, 9);
    OTHER_POLICY(delay_us_max, 9);
    OTHER_POLICY(timeout_us, 9);
    OTHER_POLICY(lease_us, 9);
    OTHER_POLICY(on_crash, ON_CRASH_RETRY);
    OTHER_POLICY(on_timeout, ON_TIMEOUT_FAIL);
    OTHER_POLICY(dead_letter, true);
    OTHER_POLICY(key_ttl_us, 9);
    OTHER_POLICY(slot, true);
    OTHER_POLICY(authoritative, true);
    OTHER_POLICY(may_write, true);
}

TEST(SLOT_7_schedules_that_differ_in_any_term_are_two)
{
    OTHER_SCHEDULE(name, S("t"));
    OTHER_SCHEDULE(job_type, S("other"));
    OTHER_SCHEDULE(payload, S("{}"));
    OTHER_SCHEDULE(cron, S("* * * * *"));
    OTHER_SCHEDULE(every_us, 9);
    OTHER_SCHEDULE(timezone, S("Europe/Berlin"));
    OTHER_SCHEDULE(coalesce, true);
    OTHER_SCHEDULE(misfire_grace_us, 9);
    OTHER_SCHEDULE(max_instances, 9);
    OTHER_SCHEDULE(expected_us, 9);
    OTHER_SCHEDULE(catch_up, 9);
    OTHER_SCHEDULE(jitter_us, 9);
    OTHER_SCHEDULE(project_id, S("p"));
    OTHER_SCHEDULE(queue, S("q:other"));
    OTHER_SCHEDULE(policy.lease_us, 9);
}

TEST(LIMIT_limits_that_differ_in_anything_are_two)
{
    OTHER_LIMIT(max_running, 4);
    OTHER_LIMIT(rate.count, 9);
    OTHER_LIMIT(rate.per_us, 9);
    OTHER_LIMIT(rate.burst, 9);
    OTHER_LIMIT(on_rate_limited, some_limit.on_rate_limited + 1);
    OTHER_LIMIT(pause_us, 9);
}

// ----- what comes from outside

static bool reads_after(const char *text, struct contract *into)
{
    struct problems problems = { .arena = test_arena() };
    SCOPED(json) json_t *value = json_of(str_of(text));
    EXPECT(value != NULL);
    return after_read(value, "after", into, &problems);
}

TEST(JOB_12_jobs_to_wait_for_are_a_list_of_ids_each_of_which_counts_once)
{
    const char *id = "019b76da-a800-7000-a5ac-e2685a072c6d";
    struct contract c = {0};
    EXPECT(reads_after("[]", &c) && c.after_count == 0);
    EXPECT(reads_after(str_format(test_arena(), "[\"%s\",\"%s\"]", id, id).s, &c));
    EXPECT_INT(c.after_count, 1);
    EXPECT(!reads_after("{}", &c));
    EXPECT(!reads_after("\"x\"", &c));
    EXPECT(!reads_after("[7]", &c));
    EXPECT(!reads_after("[\"nobody\"]", &c));
    EXPECT(!reads_after("[\"00000000-0000-0000-0000-000000000000\"]", &c));
    struct buf many = buf_new(test_arena(), 8192);
    buf_add_char(&many, '[');
    for (int i = 0; i <= 64; i++)
        buf_addf(&many, "%s\"%s\"", i ? "," : "", id);
    buf_add_char(&many, ']');
    EXPECT(!reads_after(str_cstr(test_arena(), buf_str(&many)), &c));
}

TEST(OPS_14_a_trace_context_with_anything_out_of_place_is_none)
{
    const struct str good = S("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
    EXPECT(text_is_traceparent(good));
    for (size_t i = 0; i < good.n; i++) {
        char text[64] = {0};
        memcpy(text, good.s, good.n);
        text[i] = 'G';
        EXPECT(!text_is_traceparent((struct str){ text, good.n }));
        EXPECT(!text_is_traceparent((struct str){ good.s, i }));
    }
    EXPECT(!text_is_traceparent(S("ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")));
    EXPECT(!text_is_traceparent(S("00-00000000000000000000000000000000-b7ad6b7169203331-01")));
    EXPECT(!text_is_traceparent(S("00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01")));
    EXPECT(!text_is_traceparent(S("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-x")));
    EXPECT(text_is_traceparent(S("01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-x")));
    EXPECT(!text_is_traceparent(S("01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01.x")));
}

TEST(OPS_8_a_text_is_clipped_between_two_letters)
{
    EXPECT_STR(text_clip(S("gr\xc3\xbc\xc3\x9f"), 4), "gr\xc3\xbc");
    EXPECT_STR(text_clip(S("gr\xc3\xbc\xc3\x9f"), 3), "gr");
    EXPECT_STR(text_clip(S("\xc3\xbc"), 1), "");
    EXPECT_STR(text_clip(S("gr\xff"), 9), "(an error text that is not UTF-8)");
    EXPECT_STR(text_clip((struct str){ "a\0b", 3 }, 9), "(an error text that is not UTF-8)");
}

TEST(OPS_18_who_is_limited_to_projects_names_one_of_them_or_has_but_one)
{
    const struct str projects[] = { S("one"), S("two") };
    struct caller caller = { .projects = projects, .project_count = 1 };
    struct str project = {0};
    EXPECT(caller_project(NULL, &project) == NULL);
    EXPECT(caller_project(&caller, &project) == NULL);
    EXPECT_STR(project, "one");
    project = S("two");
    EXPECT(caller_project(&caller, &project) != NULL);
    caller.project_count = 2;
    EXPECT(caller_project(&caller, &project) == NULL);
    project = S("");
    EXPECT(caller_project(&caller, &project) != NULL);
}

TEST(OPS_13_an_alert_that_is_refused_waits_longer_each_time_up_to_a_maximum)
{
    int64_t last = 0;
    for (int64_t attempts = 0; attempts < 100; attempts++) {
        int64_t delay = alert_delay_us(attempts, 0);
        EXPECT(delay >= last);
        last = delay;
    }
    EXPECT_INT(alert_delay_us(1000, 0), last);
    EXPECT(alert_delay_us(1, last) == last);
    for (enum alert_kind kind = ALERT_NONE + 1; kind < ALERT_KINDS; kind++)
        EXPECT(alert_kind_meaning(kind)[0] && alert_kind_look(kind)[0]);
}

static size_t differences(const char *before, const char *after)
{
    SCOPED(json) json_t *old = json_of(str_of(before));
    SCOPED(json) json_t *new = json_of(str_of(after));
    SCOPED(json) json_t *changes = payload_diff(test_arena(), old, new);
    EXPECT(changes != NULL);
    return json_array_size(changes);
}

TEST(OPS_8_what_differs_between_two_payloads_is_named_place_by_place)
{
    EXPECT_INT(differences("{\"a\":[1,2]}", "{\"a\":[1,2]}"), 0);
    EXPECT_INT(differences("{\"a\":[1,2]}", "{\"a\":[1,3,4]}"), 2);
    EXPECT_INT(differences("{\"a\":[1,2,3]}", "{\"a\":[1]}"), 2);
    EXPECT_INT(differences("{\"a\":[1]}", "{\"a\":{\"b\":1}}"), 1);
    EXPECT_INT(differences("{\"a\":{\"b\":1}}", "{\"a\":[1]}"), 1);
    EXPECT_INT(differences("{\"a\":1}", "{\"b\":1}"), 2);
    struct buf many = buf_new(test_arena(), 8192);
    buf_add_char(&many, '{');
    for (int i = 0; i < CHANGES_MAX + 9; i++)
        buf_addf(&many, "%s\"k%d\":1", i ? "," : "", i);
    buf_add_char(&many, '}');
    EXPECT_INT(differences("{}", str_cstr(test_arena(), buf_str(&many))), CHANGES_MAX);
}
