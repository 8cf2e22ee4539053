// Schedules in the configuration: what is taken of them, and that a refusal says where and why.
#include "config_file.h"

#include <string.h>

#define TERMS "coalesce: true, misfire_grace_time: 5m, max_instances: 1, expected_max_runtime: 1m"

static bool says(const struct config_file *file, const char *fault)
{
    struct str said = config_file_faults(file);
    bool found = memmem(said.s, said.n, fault, strlen(fault)) != NULL;
    if (!found)
        print_error("it says\n%.*sand not\n%s\n", STR(said), fault);
    return found;
}

// A schedule `s` in one line, which must be refused with this.
static void expect_wrong(struct config_file *file, const char *terms, const char *fault)
{
    expect_fault(file, str_format(test_arena(), "schedules:\n  s: {%s}\n", terms).s, fault);
}

static const struct config_schedule *must_read(struct config_file *file, const char *terms)
{
    struct str text = str_format(test_arena(), "schedules: {s: {%s}}", terms);
    const struct config *config = must_configure(file, text.s);
    EXPECT_INT(config->schedule_count, 1);
    return &config->schedules[0];
}

TEST(SLOT_7_a_schedule_of_the_file_says_its_terms)
{
    static const char usual[] = "job_type: brief.ingest, cron: '*/15 * * * *', timezone: UTC, "
                                "coalesce: true, misfire_grace_time: 300s, max_instances: 1, "
                                "expected_max_runtime: 5m";
    static struct config_file file;
    config_file_open(&file);
    const struct config_schedule *s = must_read(&file, usual);
    EXPECT_STR(s->schedule.name, "s");
    EXPECT_STR(s->schedule.job_type, "brief.ingest");
    EXPECT_STR(s->schedule.payload, "{}");
    EXPECT_STR(s->schedule.cron, "*/15 * * * *");
    EXPECT_STR(s->schedule.timezone, "UTC");
    EXPECT(s->schedule.coalesce_said && s->schedule.coalesce);
    EXPECT_INT(s->schedule.misfire_grace_us, SECONDS(300));
    EXPECT_INT(s->schedule.max_instances, 1);
    EXPECT_INT(s->schedule.expected_us, MINUTES(5));
    EXPECT_INT(s->schedule.catch_up, CATCH_UP_DEFAULT);
    EXPECT_INT(s->schedule.jitter_us, 0);
    EXPECT_STR(s->schedule.policy.name, "scheduled");
    EXPECT_INT(s->schedule.policy.timeout_us, MINUTES(10));
    EXPECT(str_eq(s->org_id, DEFAULT_ORG) && !s->paused);

    s = must_read(&file, "job_type: x, every: 90m, coalesce: false, misfire_grace_time: 1s, "
                         "max_instances: 1000, expected_max_runtime: 15d, catch_up: 100, "
                         "jitter: 24h, policy: maintenance, queue: q:night, paused: true, "
                         "org: 01900000-0000-7000-8000-00000000000a, "
                         "project_id: 01900000-0000-7000-8000-0000000000a1");
    EXPECT_INT(s->schedule.every_us, MINUTES(90));
    EXPECT(s->schedule.coalesce_said && !s->schedule.coalesce && s->paused);
    EXPECT_INT(s->schedule.policy.max_attempts, 5);
    EXPECT_STR(s->schedule.queue, "q:night");
    EXPECT_STR(s->org_id, "01900000-0000-7000-8000-00000000000a");
    EXPECT_STR(s->schedule.project_id, "01900000-0000-7000-8000-0000000000a1");
    config_file_close(&file);
}

TEST(SLOT_7_each_term_that_is_missing_is_named_at_the_schedule)
{
    static struct config_file file;
    config_file_open(&file);
    static const char *const terms[][2] = {
        { "coalesce", "true" },
        { "misfire_grace_time", "5m" },
        { "max_instances", "1" },
        { "expected_max_runtime", "1m" },
        { "job_type", "x" },
    };
    for (size_t out = 0; out < countof(terms); out++) {
        struct str line = S("every: 1h");
        for (size_t i = 0; i < countof(terms); i++)
            if (i != out)
                line = str_format(test_arena(), "%.*s, %s: %s", STR(line), terms[i][0],
                                  terms[i][1]);
        struct str fault = str_format(test_arena(), "2:3: schedules.s: %s: ", terms[out][0]);
        expect_wrong(&file, line.s, fault.s);
        EXPECT_INT(file.faults.count, 1);
    }
    expect_wrong(&file, "job_type: x, " TERMS, "2:3: schedules.s: cron: say either cron or every");
    config_file_close(&file);
}

TEST(SLOT_7_what_is_wrong_is_named_at_its_value)
{
    static struct config_file file;
    config_file_open(&file);
    static const struct {
        const char *term, *fault;
    } cases[] = {
        { "cron: 61 * * * *", "2:50: schedules.s.cron: cron `61 * * * *`: minute `61`" },
        { "cron: 0 0 30 2 *", "2:50: schedules.s.cron: " },
        { "cron: 0 2 * * *, timezone: Mars/Base", "schedules.s.timezone: " },
        { "cron: 0 2 * * *, timezone: ../etc/passwd", "schedules.s.timezone: " },
        { "every: 1h, timezone: Europe/Berlin", "schedules.s.timezone: is for cron" },
        { "every: 1h, cron: 0 2 * * *", "schedules.s.cron: say either cron or every, not both" },
        { "every: 500ms", "schedules.s.every: must be a duration" },
        { "every: 1h, policy: schedled", "schedules.s.policy: there is no such policy; did you "
                                         "mean scheduled?" },
        { "every: 1h, queue: q:deadletter", "schedules.s.queue: nothing can be enqueued" },
        { "every: 1h, payload: {smtp: {password: hunter2}}",
          "schedules.s.payload: its smtp.password looks like a secret" },
        { "every: 1h, catch_up: 0", "schedules.s.catch_up: must be a whole number from 1" },
    };
    for (size_t i = 0; i < countof(cases); i++) {
        struct str line = str_format(test_arena(), "job_type: x, misfire_grace_time: 5m, %s, "
                                                   "coalesce: true, max_instances: 1, "
                                                   "expected_max_runtime: 1m",
                                     cases[i].term);
        expect_wrong(&file, line.s, cases[i].fault);
        EXPECT_INT(file.faults.count, 1);
        EXPECT(!memmem(config_file_faults(&file).s, config_file_faults(&file).n, "hunter2", 7));
    }
    struct buf long_name = buf_new(test_arena(), 4096);
    buf_add(&long_name, S("schedules:\n  "));
    for (int i = 0; i <= SCHEDULE_NAME_BYTES_MAX; i++)
        buf_add_char(&long_name, 'x');
    buf_add(&long_name, S(": {job_type: x, every: 1h, " TERMS "}\n"));
    EXPECT(!config_file_load(&file, buf_str(&long_name)));
    EXPECT(says(&file, ": name: must be letters, digits and ._:- up to 128 characters"));
    config_file_close(&file);
}

TEST(SLOT_7_a_payload_is_the_JSON_its_YAML_looks_like)
{
    static struct config_file file;
    config_file_open(&file);
    static const char *const pairs[][2] = {
        { "{}", "{}" },
        { "{a: 1, b: -7, c: 1.5, d: 1e3}", "{\"a\":1,\"b\":-7,\"c\":1.5,\"d\":1000.0}" },
        { "{a: true, b: false, c: null, d: ~, e: }",
          "{\"a\":true,\"b\":false,\"c\":null,\"d\":null,\"e\":null}" },
        { "{a: \"1\", b: 'true', c: 007, d: 1_000, e: .5, f: yes, h: 0x1F}",
          "{\"a\":\"1\",\"b\":\"true\",\"c\":\"007\",\"d\":\"1_000\",\"e\":\".5\",\"f\":\"yes\","
          "\"h\":\"0x1F\"}" },
        { "{a: [1, [two, {b: 3}], []], c: {d: {}}}",
          "{\"a\":[1,[\"two\",{\"b\":3}],[]],\"c\":{\"d\":{}}}" },
        { "{a: 99999999999999999999, b: \"\", c: 2026-01-01}",
          "{\"a\":\"99999999999999999999\",\"b\":\"\",\"c\":\"2026-01-01\"}" },
    };
    for (size_t i = 0; i < countof(pairs); i++) {
        struct str text = str_format(test_arena(), "schedules: {s: {job_type: x, every: 1h, "
                                                   "payload: %s, " TERMS "}}",
                                     pairs[i][0]);
        EXPECT(config_file_load(&file, text));
        EXPECT(str_eq(file.config.schedules[0].schedule.payload, str_of(pairs[i][1])));
    }
    config_file_close(&file);
}

TEST(SLOT_7_the_configuration_in_effect_shows_schedules_without_their_payloads)
{
    static struct config_file file;
    config_file_open(&file);
    must_read(&file, "job_type: x, every: 1h, payload: {who: ada}, " TERMS);
    SCOPED(json) json_t *shown = config_json(test_arena(), &file.config);
    struct str text = json_text(test_arena(), json_object_get(shown, "schedules"));
    EXPECT(memmem(text.s, text.n, "ada", 3) == NULL);
    EXPECT_STR(text, "{\"s\":{\"job_type\":\"x\",\"cron\":null,\"every\":\"1h\",\"timezone\":null,"
                     "\"coalesce\":true,\"misfire_grace_time\":\"5m\",\"max_instances\":1,"
                     "\"expected_max_runtime\":\"1m\",\"catch_up\":10,\"jitter\":\"0s\","
                     "\"org\":\"00000000-0000-7000-8000-000000000000\",\"project_id\":null,"
                     "\"policy\":\"scheduled\",\"queue\":\"q:maintenance\",\"paused\":false}}");
    config_file_close(&file);
}
