// The rules at their edges: texts that almost fit, numbers at a bound, the end of the calendar.
#include <string.h>

#include "base/calendar.h"
#include "fixture.h"
#include "model/after.h"
#include "model/cron.h"
#include "model/fingerprint.h"
#include "model/input.h"
#include "model/key_recipe.h"
#include "model/limit.h"
#include "model/redact.h"
#include "model/role.h"
#include "model/schedule.h"
#include "model/text_rule.h"
#include "model/timetable.h"
#include "model/trace.h"
#include "model/zone_rule.h"
#include "rehearsal.h"
#include "zones.h"

// ----- cron

static struct cron must_cron(const char *text)
{
    struct cron cron;
    struct pawl_error err = {0};
    MUST(cron_parse(str_of(text), &cron, &err));
    return cron;
}

TEST(SLOT_2_words_of_cron_with_something_behind_them_are_refused)
{
    static const char *const wrong[] = {
        "0 0 15Wx * *", "0 0 LWx * *", "0 0 * * 5Lx", "0 0 * * 5#2x",
    };
    for (size_t i = 0; i < countof(wrong); i++) {
        struct cron cron;
        struct pawl_error err = {0};
        EXPECT_REFUSED(PAWL_INVALID, cron_parse(str_of(wrong[i]), &cron, &err));
    }
}

TEST(SLOT_2_a_refusal_of_cron_is_bounded_however_much_is_wrong)
{
    struct buf text = buf_new(test_arena(), 4096);
    struct cron cron;
    struct pawl_error err = {0};
    for (int field = 0; field < 5; field++) {
        for (int i = 0; i < 30; i++)
            buf_add_char(&text, 'x');
        buf_add_char(&text, ' ');
    }
    EXPECT_REFUSED(PAWL_INVALID, cron_parse(buf_str(&text), &cron, &err));
    EXPECT(strstr(err.message, "minute") != NULL);
}

TEST(SLOT_2_spaces_before_cron_mean_nothing)
{
    struct cron one = must_cron("  5 4 * * *"), other = must_cron("5 4 * * *");
    EXPECT(one.minutes == other.minutes && one.hours == other.hours);
}

TEST(SLOT_2_every_weekday_without_a_star_is_every_day)
{
    struct cron cron = must_cron("0 4 5 * 0-6");
    EXPECT(strstr(cron_words(test_arena(), &cron).s, "month") == NULL);
}

TEST(SLOT_2_the_last_slot_before_a_time_is_in_the_minute_before_if_need_be)
{
    struct cron cron = must_cron("30 * * * * *");
    int64_t found = 0;
    EXPECT(cron_last(&cron, 600 + 10, &found));
    EXPECT_INT(found, 540 + 30);
}

TEST(SLOT_2_after_the_last_day_there_is_no_slot)
{
    struct cron cron = must_cron("0 0 * * *");
    int64_t found = 0, last = days_of((struct date){ 10000, 12, 31 }) * 86400;
    EXPECT(cron_next(&cron, last, &found));
    EXPECT(!cron_next(&cron, last + 1, &found));
    struct timetable timetable = { .cron = cron };
    EXPECT_INT(timetable_shift(&timetable, SECONDS(last + 86400)), SLOT_AFTER_GAP);
}

// ----- texts

TEST(OPS_14_a_context_with_a_zero_byte_is_none)
{
    char text[] = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    struct str whole = { text, sizeof text - 1 };
    EXPECT(text_is_traceparent(whole));
    text[10] = '\0';
    EXPECT(!text_is_traceparent(whole));
}

TEST(OPS_14_half_of_a_traces_id_may_be_zero)
{
    struct trace trace;
    EXPECT(trace_parse(S("00-00000000000000008448eb211c80319c-b7ad6b7169203331-01"), &trace));
    EXPECT(trace_exists(&trace));
    EXPECT(!trace_exists(&(struct trace){0}));
}

TEST(OPS_7_a_pattern_of_an_error_is_bounded_whatever_it_is_made_of)
{
    char text[2000];
    memset(text, 'a', sizeof text);
    for (size_t i = 0; i < sizeof text; i += 7)
        text[i] = ' ';
    EXPECT(error_pattern(test_arena(), (struct str){ text, sizeof text }).n <= PATTERN_BYTES_MAX);
    memset(text, 0x80, sizeof text);
    EXPECT_INT(error_pattern(test_arena(), (struct str){ text, sizeof text }).n, 0);
}

TEST(OPS_12_a_certificate_is_no_private_key)
{
    bool in_key = false;
    EXPECT_STR(redact_line(test_arena(), S("-----BEGIN CERTIFICATE-----"), &in_key),
               "-----BEGIN CERTIFICATE-----");
    EXPECT(!in_key);
}

TEST(OPS_11_who_may_see_a_payload)
{
    for (enum role role = 0; role < ROLES; role++) {
        bool viewer = role_sees_payload(role, true) && !role_sees_payload(role, false);
        EXPECT(!viewer || !role_may(role, MAY_SEE_PAYLOAD));
    }
}

TEST(OPS_23_an_input_is_named_by_digits_only)
{
    struct problems problems = { .arena = test_arena() };
    struct str hash = S("zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz");
    struct str payload = str_format(test_arena(), "{\"input\":{\"artifact_id\":\"%.*s\","
                                                  "\"sha256\":\"%.*s\"}}",
                                    STR(id_text(test_arena(), (struct id){ 7, 7 })), STR(hash));
    inputs_read(payload, "", &problems);
    EXPECT_INT(problems.count, 1);
    EXPECT_STR(problems.list[0].field, "payload.input.sha256");
}

// ----- numbers

TEST(LIMIT_a_rate_by_the_day_is_written_as_it_is_read)
{
    struct rate rate;
    EXPECT(rate_parse(S("5/d"), &rate));
    EXPECT_STR(rate_text(test_arena(), &rate), "5/d");
    EXPECT_INT(rate_next(&rate, 0, DAYS(20000)), DAYS(20000));
}

TEST(JOB_3_counts_below_zero_are_a_problem)
{
    struct job sound = { .state = JOB_QUEUED, .phase = PHASE_READY };
    sound.contract.policy.max_attempts = 3;
    EXPECT(job_problem(&sound) == NULL);
    struct job bad[] = { sound, sound, sound };
    bad[0].attempt = -1;
    bad[1].attempts_used = -1;
    bad[2].retry_count = -1;
    for (size_t i = 0; i < countof(bad); i++)
        expect_str(str_of(job_problem(&bad[i])), S("its counts are not negative"), PLACE("count"));
}

TEST(SLOT_10_every_bound_of_a_schedule_is_named)
{
    struct problems problems = { .arena = test_arena() };
    struct schedule s = {
        .name = S("nightly"),
        .every_us = DAYS(1000),
        .misfire_grace_us = -1,
        .max_instances = 100000,
        .expected_us = DAYS(100),
        .catch_up = 1000,
        .jitter_us = DAYS(3),
        .coalesce_said = true,
    };
    schedule_check(&s, "", &problems);
    EXPECT_INT(problems.count, 6);
    for (size_t i = 0; i < problems.count; i++)
        EXPECT(strstr(problems.list[i].message.s, "said") == NULL);
}

TEST(EXEC_7_an_error_without_a_class_is_shown)
{
    struct execution e = { .error_message = S("odd") };
    SCOPED(json) json_t *object = execution_json(test_arena(), &e);
    EXPECT(json_is_object(json_object_get(object, "error")));
}

// ----- time zones

TEST(SLOT_zone_rules_that_are_none)
{
    static const char *const wrong[] = { "{{{3", "___3", "CET-1:00:99", "CET-1:99" };
    for (size_t i = 0; i < countof(wrong); i++) {
        struct zone_rule rule;
        struct pawl_error err = {0};
        EXPECT_REFUSED(PAWL_INVALID, zone_rule_parse(str_of(wrong[i]), &rule, &err));
    }
}

// ----- contracts filled by C code

static size_t problems_of(const struct contract *contract)
{
    struct problems problems = { .arena = test_arena() };
    contract_check(contract, 1800000000000000, "", &problems);
    return problems.count;
}

TEST_EACH_DB(OPS_4_a_payload_that_is_no_object_is_refused)
{
    struct contract contract = contract_for(box, "report");
    contract.payload = S("[1]");
    EXPECT_INT(problems_of(&contract), 1);
    contract.payload = S("{\"password\":\"hunter2hunter2\"}");
    EXPECT_INT(problems_of(&contract), 1);
    contract.secrets_allowed = true;
    EXPECT_INT(problems_of(&contract), 0);
    contract.secrets_allowed = false;
    contract.payload = S("{\"a\":\"-----BEGIN RSA PRIVATE KEY-----\"}");
    EXPECT_INT(problems_of(&contract), 1);
    contract.payload.n = PAYLOAD_BYTES_MAX + 1;
    char *large = arena_new(test_arena(), char, contract.payload.n);
    EXPECT(large != NULL);
    memset(large, ' ', contract.payload.n);
    large[0] = '{';
    large[contract.payload.n - 1] = '}';
    contract.payload.s = large;
    EXPECT_INT(problems_of(&contract), 1);
    contract.payload.n--;
    large[contract.payload.n - 1] = '}';
    EXPECT_INT(problems_of(&contract), 0);
}

// ----- no memory

TEST_EACH_DB(OPS_9_texts_for_which_there_is_no_memory_are_empty_and_never_half)
{
    struct job job = must_enqueue(box, "report");
    struct execution e = { .error_message = S("odd") };
    struct str whole = job_text(test_arena(), &job);
    bool reached = true;
    for (int64_t n = 1; reached; n++) {
        SCOPED(arena) struct arena arena = {0};
        rehearsal_arenas(n);
        struct str text = job_text(&arena, &job);
        reached = rehearsal_calm();
        EXPECT(reached ? text.n == 0 : str_eq(text, whole));
    }
    reached = true;
    for (int64_t n = 1; reached; n++) {
        SCOPED(arena) struct arena arena = {0};
        rehearsal_arenas(n);
        SCOPED(json) json_t *object = execution_json(&arena, &e);
        reached = rehearsal_calm();
        EXPECT_INT(object == NULL, reached);
    }
}

TEST(OPS_12_without_memory_a_text_with_secrets_is_masked_as_a_whole)
{
    char secret[] = "hunter2hunter2", *values[] = { secret, NULL }, *none[] = { NULL };
    SCOPED(arena) struct arena arena = {0};
    EXPECT_STR(redact_values(&arena, S("it is me"), none), "it is me");
    rehearsal_arenas(1);
    struct str text = redact_values(&arena, S("it is hunter2hunter2"), values);
    EXPECT(rehearsal_calm());
    EXPECT(strstr(text.s, "hunter2") == NULL);
}

TEST(JOB_11_a_list_of_jobs_for_which_there_is_no_memory_is_not_taken_for_an_empty_one)
{
    SCOPED(json) json_t *list = json_pack("[s]", "01900000-0000-7000-8000-00000000000a");
    SCOPED(arena) struct arena arena = {0};
    struct problems problems = { .arena = &arena };
    struct contract contract = {0};
    rehearsal_arenas(1);
    bool read = after_read(list, "after", &contract, &problems);
    EXPECT(rehearsal_calm());
    EXPECT(contract.after_count == 0 && (!read || arena.failed));
    EXPECT(after_read(list, "after", &contract, &problems) && contract.after_count == 1);
}
