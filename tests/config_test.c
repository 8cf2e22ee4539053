// The configuration: what is taken, what is refused, and that a refusal says where and why.
#include "config_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/config_read.h"
#include "tls_pair.h"

enum { BAD_FILES_MIN = 400, MUTATIONS = 4000, PRIVATE = 0600, PUBLIC = 0644, PROGRAM = 0755 };

static bool contains(struct str text, struct str part)
{
    return part.n == 0 || memmem(text.s, text.n, part.s, part.n) != NULL;
}

static struct str shown(const struct config *config)
{
    SCOPED(json) json_t *object = config_json(test_arena(), config);
    EXPECT(object != NULL);
    return json_text(test_arena(), object);
}

// ----- the whole file

// Every key there is.
static const char whole[] =
    "store: sqlite:jobs.db\n"
    "listen: '[::1]:8080'\n"
    "instance: host-1\n"
    "auth: {viewer_sees_payload: true, environment: test, rate: 50, behind_proxy: true}\n"
    "tls: {certificate: cert.pem, key: key.pem}\n"
    "limits:\n"
    "  {payload: 64KiB, result: 32KiB, body: 2MiB, bulk_jobs: 10, json_depth: 8,\n"
    "   connections: 100, connections_per_address: 5, header_time: 2s, body_time: 3s,\n"
    "   idle_time: 4s, wait: 5s, waiting: 7, workers: 3, grace: 6s, log_bytes: 1KiB,\n"
    "   critical_depth: 9, bulk_letters: 11, artifact_bytes: 3MiB, org_max_running: 8,\n"
    "   org_rate: 7/h}\n"
    "durability: full\n"
    "log: {level: warning, file: pawl.log}\n"
    "policies:\n"
    "  patient: {like: steady, max_attempts: 8, step_attempts: 3, backoff: fixed, base: 5s,\n"
    "            max_delay: 10m, jitter: false, timeout: 1h, lease: 20s, on_crash: fail,\n"
    "            on_timeout: timed_out, dead_letter: false, key_ttl: 9d, queue: q:slow}\n"
    "  steady: {like: lifecycle}\n"
    "queues:\n"
    "  q:slow: {weight: 1, depth: 50}\n"
    "job_types:\n"
    "  report.export:\n"
    "    category: planning\n    policy: patient\n    queue: q:reports\n"
    "    run: [./export, --all, '']\n"
    "    commit: [sh, deliver]\n"
    "    directory: /\n"
    "    env: {PLAIN: a b, FROM_FILE: {file: secret.txt}, FROM_ENV: {env: PAWL_TEST_SECRET}}\n"
    "    timeout: 10m\n    grace: 3s\n"
    "    key: [customer, month]\n"
    "    allow_delay: true\n    secrets: allow\n"
    "    authoritative: true\n    may_write: true\n"
    "    runbook: Call Ada.\n"
    "  mail.send: {category: notification, bucket: 2h, max_running: 5, max_running_per_key: 1,\n"
    "    rate: 9/s, rate_per_key: 1/m, on_rate_limited: pause, rate_limited_pause: 9s}\n"
    "  mail.call: {post: 'https://m.org/'}\n"
    "retention: {jobs: 20d, dead_letters: never, logs: 3d, audit: 2000d, artifacts: 5d, rate: 77}\n"
    "schedules:\n"
    "  nightly:\n"
    "    job_type: report.export\n"
    "    payload: {all: true, from: '7', to: 7, x: [1.5, null, 08, text]}\n"
    "    cron: 30 2 * * mon-fri\n"
    "    timezone: Europe/Berlin\n"
    "    coalesce: false\n"
    "    misfire_grace_time: 10m\n"
    "    max_instances: 2\n"
    "    expected_max_runtime: 20m\n"
    "    catch_up: 3\n"
    "    jitter: 30s\n"
    "    org: 01900000-0000-7000-8000-00000000000a\n"
    "    project_id: 01900000-0000-7000-8000-0000000000a1\n"
    "    policy: patient\n"
    "    queue: q:night\n"
    "    paused: true\n"
    "  often: {job_type: x, every: 15m, timezone: UTC, coalesce: true,\n"
    "          misfire_grace_time: 300s, max_instances: 1, expected_max_runtime: 5m}\n"
    "alerts:\n"
    "  - {name: pager, webhook: 'https://pager.example/x', kinds: [dead_letter, finish_failing],\n"
    "     secret_file: long-secret.txt, headers_file: headers.txt, timeout: 2s, attempts: 3,\n"
    "     rate: 30, burst: 4}\n"
    "  - {webhook_file: url.txt}\n"
    "  - {command: [./export, --alert]}\n"
    "tracing: {endpoint: 'http://127.0.0.1:4318', sample: 0.25, service_name: jobs,\n"
    "          headers_file: headers.txt, timeout: 1s}\n";

static void put_what_it_names(struct config_file *file)
{
    config_file_put(file, "cert.pem", str_of(test_certificate), PUBLIC);
    config_file_put(file, "key.pem", str_of(test_key), PRIVATE);
    config_file_put(file, "secret.txt", S("hunter2\n"), PRIVATE);
    config_file_put(file, "export", S("#!/bin/sh\n"), PROGRAM);
    config_file_put(file, "long-secret.txt", S("hunter4hunter4hunter4\n"), PRIVATE);
    config_file_put(file, "headers.txt", S("X-Token: hunter5\n\nX-Team: a\n"), PRIVATE);
    config_file_put(file, "url.txt", S("http://chat.example:8080/hunter6\n"), PRIVATE);
    setenv("PAWL_TEST_SECRET", "hunter3", 1);
}

CONFIG_TEST(CONFIG_an_empty_file_says_what_no_file_says)
{
    struct config none = config_default(test_arena());
    struct str text = shown(&none);
    static const char *const empty[] = { "", "\n", "# nothing\n", "---\n", "{}", "job_types:\n",
                                         "queues: {}\nlimits:\n" };
    for (size_t i = 0; i < countof(empty); i++) {
        struct config *config = must_configure(file, empty[i]);
        EXPECT(str_eq(shown(config), text));
    }
    EXPECT_STR(none.store, "sqlite:pawl.db");
    EXPECT_STR(none.listen.host, "127.0.0.1");
    EXPECT_INT(none.listen.port, 7319);
    EXPECT_STR(none.auth.environment, "live");
    EXPECT_INT(none.limits.payload_bytes, PAYLOAD_BYTES_MAX);
    EXPECT_INT(none.limits.body_bytes, 8 << 20);
    EXPECT_INT(none.limits.wait_us, SECONDS(30));
    EXPECT_INT(none.queue_count, 6);
    EXPECT_INT(config_queue(&none, S("q:critical"))->weight, 100);
    EXPECT_INT(config_queue(&none, S("q:critical"))->depth, 1000);
    EXPECT_INT(config_queue(&none, S("q:exports"))->weight, 10);
    EXPECT_INT(config_queue(&none, S("q:exports"))->depth, 0);
    EXPECT(config_queue(&none, DEADLETTER_QUEUE) == NULL);
}

CONFIG_TEST(CONFIG_every_key_is_read)
{
    put_what_it_names(file);
    for (size_t t = 0; config_table(t); t++)
        for (size_t i = 0; i < config_table(t)->count; i++) {
            const struct config_row *row = &config_table(t)->rows[i];
            struct str key = str_format(test_arena(), "%s:", row->key);
            EXPECT(contains(str_of(whole), key));
        }
    const struct config *c = must_configure(file, whole);
    EXPECT_STR(c->store, "sqlite:jobs.db");
    EXPECT_INT(c->limits.artifact_bytes, 3 << 20);
    EXPECT_INT(c->retention.keep.jobs_us, DAYS(20));
    EXPECT_INT(c->retention.keep.letters_us, 0);
    EXPECT_INT(c->retention.keep.logs_us, DAYS(3));
    EXPECT_INT(c->retention.keep.audit_us, DAYS(2000));
    EXPECT_INT(c->retention.keep.artifacts_us, DAYS(5));
    EXPECT_INT(c->retention.rate, 77);
    EXPECT_STR(c->listen.host, "::1");
    EXPECT_INT(c->listen.port, 8080);
    EXPECT_STR(c->instance, "host-1");
    EXPECT(c->auth.viewer_sees_payload && c->auth.behind_proxy);
    EXPECT_STR(c->auth.environment, "test");
    EXPECT_INT(c->auth.rate, 50);
    EXPECT(str_ends(c->tls.certificate, S("/cert.pem")) && str_ends(c->tls.key, S("/key.pem")));
    const struct config_limits *l = &c->limits;
    EXPECT(l->payload_bytes == 64 << 10 && l->result_bytes == 32 << 10 && l->body_bytes == 2 << 20);
    EXPECT(l->bulk_jobs == 10 && l->json_depth == 8 && l->connections == 100);
    EXPECT(l->connections_per_address == 5 && l->header_us == SECONDS(2));
    EXPECT(l->body_us == SECONDS(3) && l->idle_us == SECONDS(4) && l->wait_us == SECONDS(5));
    EXPECT(l->waiting == 7 && l->workers == 3 && l->grace_us == SECONDS(6));
    EXPECT(l->log_bytes == 1 << 10 && l->critical_depth == 9 && l->bulk_letters == 11);
    EXPECT_INT(c->durability, DURABILITY_FULL);
    EXPECT_INT(c->log.level, LOG_LEVEL_WARNING);
    EXPECT(str_ends(c->log.file, S("/pawl.log")) && str_starts(c->log.file, S("/")));
    EXPECT_INT(config_queue(c, S("q:critical"))->depth, 9);
    EXPECT_INT(config_queue(c, S("q:slow"))->weight, 1);
    EXPECT_INT(config_queue(c, S("q:slow"))->depth, 50);
}

CONFIG_TEST(CONFIG_a_policy_takes_what_it_does_not_say_from_the_one_it_is_like)
{
    put_what_it_names(file);
    const struct config *c = must_configure(file, whole);
    const struct policy *p = config_policy(c, S("patient"));
    EXPECT(p->max_attempts == 8 && p->step_attempts == 3 && !p->exponential && !p->jitter);
    EXPECT(p->base_us == SECONDS(5) && p->delay_us_max == MINUTES(10));
    EXPECT(p->timeout_us == HOURS(1) && p->lease_us == SECONDS(20) && !p->dead_letter);
    EXPECT(p->on_crash == ON_CRASH_FAIL && p->on_timeout == ON_TIMEOUT_TIMED_OUT);
    EXPECT_INT(p->key_ttl_us, DAYS(9));
    EXPECT_STR(p->queue, "q:slow");

    struct policy steady = *config_policy(c, S("steady"));
    steady.name = S("lifecycle");
    EXPECT(policy_eq(&steady, policy_builtin(S("lifecycle"))));

    c = must_configure(file, "policies:\n  c: {like: b}\n  b: {like: a, max_attempts: 2}\n"
                        "  a: {base: 1h}\n");
    EXPECT_INT(config_policy(c, S("c"))->max_attempts, 2);
    EXPECT_INT(config_policy(c, S("c"))->base_us, HOURS(1));
    EXPECT_INT(config_policy(c, S("c"))->delay_us_max, HOURS(1));  // not below its base
    EXPECT(config_policy(c, S("default")) == policy_builtin(S("default")));
    EXPECT(config_policy(c, S("d")) == NULL);
}

CONFIG_TEST(CONFIG_a_type_has_commands_that_are_there)
{
    put_what_it_names(file);
    const struct config *c = must_configure(file, whole);
    const struct config_type *type = config_type(c, S("report.export"));
    EXPECT(type->run[0][0] == '/' && str_ends(str_of(type->run[0]), S("/export")));
    EXPECT_STR(str_of(type->run[1]), "--all");
    EXPECT(type->run[2][0] == '\0' && type->run[3] == NULL);
    EXPECT(str_ends(str_of(type->commit[0]), S("/sh")) && type->commit[2] == NULL);
    EXPECT_STR(str_of(type->directory), "/");
    EXPECT_STR(str_of(type->environment.all[0]), "PLAIN=a b");
    EXPECT_STR(str_of(type->environment.all[1]), "FROM_FILE=hunter2");
    EXPECT_STR(str_of(type->environment.all[2]), "FROM_ENV=hunter3");
    EXPECT(type->environment.all[3] == NULL);
    EXPECT_STR(str_of(type->environment.taken[0]), "hunter2");
    EXPECT_STR(str_of(type->environment.taken[1]), "hunter3");
    EXPECT(type->environment.taken[2] == NULL);
    EXPECT_INT(type->grace_us, SECONDS(3));

    const struct config_type *mail = config_type(c, S("mail.send"));
    EXPECT(mail->run == NULL && mail->commit == NULL && mail->environment.all == NULL);
    EXPECT(str_eq(str_of(mail->directory), c->directory));
}

CONFIG_TEST(CONFIG_what_is_shown_holds_no_secret)
{
    put_what_it_names(file);
    const struct config *c = must_configure(file, whole);
    struct str text = shown(c);
    EXPECT(!contains(text, S("hunter")));
    EXPECT(contains(text, S("\"FROM_FILE\"")) && contains(text, S("\"q:reports\"")));
    EXPECT(contains(text, S("\"wait\":\"5s\"")) && contains(text, S("\"payload\":\"64KiB\"")));
}

// ----- types

CONFIG_TEST(OPS_3_the_category_of_a_type_decides_its_queue_policy_and_key_ttl)
{
    for (unsigned i = 0; i < CATEGORIES; i++) {
        const struct category_row *row = category_row((enum category)i);
        struct str text = str_format(test_arena(), "job_types: {a: {category: %s}}", row->name);
        const struct job_type *type = &config_type(must_configure(file, text.s), S("a"))->type;
        const struct policy *policy = policy_builtin(str_of(row->policy));
        EXPECT(str_eq(type->policy.name, policy->name));
        EXPECT(str_eq(type->policy.queue, policy->queue));
        EXPECT(str_eq(type->policy.category, str_of(row->name)));
        EXPECT_INT(type->policy.key_ttl_us, policy->key_ttl_us);
        EXPECT_INT(type->critical, i == CATEGORY_CRITICAL);
        EXPECT_INT(type->allow_delay, i == CATEGORY_NOTIFICATION || i == CATEGORY_MAINTENANCE);
        EXPECT_INT(type->key.kind,
                   i == CATEGORY_NOTIFICATION ? RECIPE_NOTIFICATION : RECIPE_NONE);
    }
}

CONFIG_TEST(OPS_6_a_type_may_have_another_policy_than_its_category)
{
    const struct config *c = must_configure(
        file, "policies: {slow: {max_attempts: 9}, far: {queue: q:far, key_ttl: 1d}}\n"
              "job_types:\n"
              "  a: {category: transfer, policy: slow}\n"
              "  b: {category: transfer, policy: far}\n"
              "  c: {category: transfer, policy: far, queue: q:near, timeout: 7s}\n"
              "  d: {policy: planning}\n"
              "  e: {queue: q:critical}\n"
              "  f: {policy: slow}\n");
    const struct policy *a = &config_type(c, S("a"))->type.policy;
    EXPECT_INT(a->max_attempts, 9);
    EXPECT_STR(a->category, "transfer");
    EXPECT_STR(a->queue, "q:exports");
    EXPECT_INT(a->key_ttl_us, DAYS(30));
    const struct policy *b = &config_type(c, S("b"))->type.policy;
    EXPECT_STR(b->queue, "q:far");
    EXPECT_INT(b->key_ttl_us, DAYS(1));
    const struct policy *named = &config_type(c, S("c"))->type.policy;
    EXPECT_STR(named->queue, "q:near");
    EXPECT_INT(named->timeout_us, SECONDS(7));
    EXPECT_INT(config_type(c, S("d"))->type.category, CATEGORY_PLANNING);
    EXPECT_STR(config_type(c, S("d"))->type.policy.queue, "q:planning");
    EXPECT(config_type(c, S("e"))->type.critical);
    EXPECT_INT(config_type(c, S("f"))->type.category, CATEGORY_DEFAULT);
    EXPECT(config_type(c, S("g")) == NULL);
}

// ----- what is refused

// Values that a key of this form does not take, for whatever key.
static const struct {
    const struct config_kind *kind;
    const char *values[12];
} bad_values[] = {
    { &kind_number, { "x", "1.5", "\"5\"", "-1000", "99999999999999999999", "[]", "{}", "~", "",
                      "0x10", "1_000", NULL } },
    { &kind_duration, { "5", "5 s", "-5s", "1y", "99999d", "soon", "[5s]", "{}", "~", "1.5h",
                        "5S", NULL } },
    { &kind_keep, { "5", "0", "Never", "-5s", "1y", "99999d", "[5s]", "{}", "~", NULL } },
    { &kind_size, { "5", "1MB", "99999GiB", "-1KiB", "big", "[]", "{}", "~", "1 MiB", "1.5MiB",
                    "KiB", NULL } },
    { &kind_switch, { "yes", "1", "\"true\"", "True", "[]", "{}", "~", "", "on", NULL } },
    { &kind_choice, { "maybe", "5", "[]", "{}", "~", "", NULL } },
    { &kind_text, { "\"\"", "[]", "{}", "~", "", NULL } },
    { &kind_name, { "\"\"", "a b", "ü", "[]", "{}", "~", "a/b", NULL } },
    { &kind_queue, { "\"\"", "a b", "q:deadletter", "[]", "{}", "~", "", NULL } },
    { &kind_rate, { "x", "5", "5/x", "0/s", "5/s burst 0", "[]", "{}", "~", NULL } },
    { &kind_section, { "x", "5", "[]", "[a]", "\"\"", NULL } },
    { &kind_policies, { "x", "[a]", "5", "{a: 5}", "{default: {}}", "{\"a b\": {}}",
                        "{a: {like: a}}", "{a: {base: 5s, max_delay: 4s}}", NULL } },
    { &kind_queues, { "x", "[a]", "{a: 5}", "{q:deadletter: {}}", "{\"a b\": {}}", NULL } },
    { &kind_types, { "x", "[a]", "{a: 5}", "{\"a b\": {}}", "{.a: {}}", "{a: {key: x}}",
                     "{a: {commit: [sh]}}", "{a: {run: [sh], commit: [sh], category: audit}}",
                     "{a: {bucket: 1h}}", "{a: {may_write: true}}",
                     "{a: {rate_limited_pause: 5s}}", NULL } },
    { &kind_schedules, { "x", "[a]", "{a: 5}", "{a: {}}", "{a: {job_type: x, every: 1h}}", NULL } },
    { &kind_alerts, { "x", "{}", "5", "[5]", "[{}]", "[{name: a}]", NULL } },
    { &kind_headers, { "nowhere.txt", "[]", "{}", "~", "pawl.yaml", NULL } },
    { &kind_command, { "x", "ls -l", "[]", "{}", "~", "[[]]", "[nowhere-to-be-found]",
                       "[./nowhere]", "[/]", "[sh, {}]", "[sh, ~]", NULL } },
    { &kind_environment, { "x", "[A]", "{1x: y}", "{A: [b]}", "{A: ~}", "{PAWL_X: y}",
                           "{A: {file: nowhere}}", "{A: {env: PAWL_TEST_UNSET}}",
                           "{A: {fle: x}}", "{A: {}}", "{A_TOKEN: x}", NULL } },
};

// Keys whose kind is their own.
static const struct {
    const char *key;
    const char *values[8];
} bad_own_values[] = {
    { "store", { "x", "\"sqlite:\"", "mysql://localhost/x", "[]", "{}", "~", NULL } },
    { "listen", { "x", "7319", ":7319", "\"localhost:\"", "localhost:99999", "\"[::1]\"",
                  NULL } },
    { "environment", { "Live", "a-b", "abcdefghijklmnopq", "[]", "~", NULL } },
    { "certificate", { "nowhere.pem", "[]", "~", NULL } },
    { "key", { "{}", "~", "5", NULL } },
    { "file", { "[]", "{}", "~", NULL } },
    { "like", { "nobody", "[]", "{}", "~", "\"\"", NULL } },
    { "category", { "nothing", "[]", "{}", "~", NULL } },
    { "policy", { "nobody", "[]", "{}", "~", NULL } },
    { "payload", { "x", "5", "[]", "[a]", "\"\"", NULL } },
    { "org", { "x", "5", "[]", "{}", "~", NULL } },
    { "project_id", { "x", "5", "[]", "{}", "~", NULL } },
    { "directory", { "nowhere", "pawl.yaml", "[]", "~", NULL } },
    { "endpoint", { "x", "ftp://a/", "https://a:b@c/", "[]", "{}", "~", NULL } },
    { "sample", { "-1", "1.1", "x", "0x1", "1e-3", "[]", "~", NULL } },
    { "post", { "x", "ftp://a/", "https://", "https://a:b@c/", "[]", "~", NULL } },
    { "webhook", { "x", "ftp://a/", "https://", "https://a:b@c/", "[]", "~", NULL } },
    { "webhook_file", { "nowhere", "pawl.yaml", "[]", "{}", "~", NULL } },
    { "secret_file", { "nowhere", "[]", "{}", "~", NULL } },
    { "kinds", { "x", "[]", "{}", "~", "[x]", "[dead_letter, ~]", "dead_letter", NULL } },
};

static const char *const *bad_values_of(const struct config_row *row)
{
    for (size_t i = 0; i < countof(bad_values); i++)
        if (bad_values[i].kind == row->kind)
            return bad_values[i].values;
    for (size_t i = 0; i < countof(bad_own_values); i++)
        if (strcmp(bad_own_values[i].key, row->key) == 0)
            return bad_own_values[i].values;
    print_error("no bad values for %s\n", row->key);
    EXPECT(row == NULL);  // every key is tried with bad values
    return NULL;
}

// The sections around a key of the table: `job_types.NAME` is two lines. Answers how many.
static int open_sections(const struct config_table *table, struct buf *text, struct str *path)
{
    struct str first, rest, name = str_of(table->name);
    if (strcmp(table->name, "pawl.yaml") == 0)
        return *path = S(""), 0;
    if (strcmp(table->name, "alerts[]") == 0) {
        buf_add(text, S("alerts:\n  -\n"));
        return *path = S("alerts[0]."), 2;
    }
    bool two = str_cut(name, '.', &first, &rest);
    buf_addf(text, two ? "%.*s:\n  mine:\n" : "%.*s:\n", STR(first));
    *path = str_format(test_arena(), two ? "%.*s.mine." : "%.*s.", STR(first));
    return two ? 2 : 1;
}

// One file with this value at this key: refused, and a fault stands in the key's line and names it.
static void expect_bad(struct config_file *file, const struct config_table *table,
                       const char *key, const char *value)
{
    struct buf text = buf_new(test_arena(), 1 << 16);
    struct str path;
    int sections = open_sections(table, &text, &path);
    buf_addf(&text, "%.*s%s: %s\n", sections * 2, "    ", key, value);
    struct str said = config_file_refused(file, buf_str(&text).s);
    struct str whole_key = str_format(test_arena(), ": %.*s%s", STR(path), key);
    bool named = false;
    for (size_t i = 0; i < file->faults.count; i++) {
        const struct yaml_fault *fault = &file->faults.list[i];
        EXPECT(fault->line >= 1 && fault->column >= 1 && fault->message.n > 0);
        named |= fault->line == sections + 1
              && str_starts(fault->key, str_format(test_arena(), "%.*s%s", STR(path), key));
    }
    if (!named || !contains(said, whole_key))
        print_error("%.*ssays\n%.*s", STR(buf_str(&text)), STR(said));
    EXPECT(named && contains(said, whole_key));
}

CONFIG_TEST(CONFIG_every_key_refuses_bad_values_with_line_column_and_path)
{
    int files = 0;
    for (size_t t = 0; config_table(t); t++)
        for (size_t i = 0; i < config_table(t)->count; i++) {
            const struct config_row *row = &config_table(t)->rows[i];
            const char *const *values = bad_values_of(row);
            for (size_t v = 0; values[v]; v++, files++)
                expect_bad(file, config_table(t), row->key, values[v]);
        }
    print_message("%d bad files\n", files);
    EXPECT(files >= BAD_FILES_MIN);
}

CONFIG_TEST(CONFIG_an_unknown_key_is_refused_with_the_one_that_was_meant)
{
    for (size_t t = 0; config_table(t); t++)
        for (size_t i = 0; i < config_table(t)->count; i++) {
            struct str key = str_of(config_table(t)->rows[i].key);
            struct str miss = str_format(test_arena(), "%.*sx", STR(key));
            expect_bad(file, config_table(t), miss.s, "1");
            if (key.n >= 3)
                EXPECT(contains(config_file_faults(file),
                                str_format(test_arena(), "unknown key; did you mean %.*s?",
                                           STR(key))));
        }
    expect_fault(file, "\n\nnonsense: 1\n", "3:1: nonsense: unknown key\n");
}

CONFIG_TEST(CONFIG_every_problem_of_a_file_is_named_in_its_order)
{
    EXPECT_STR(config_file_refused(file, "listen: 5\nlimits:\n  wait: 1\n  boody: 2\nx: 1\n"),
               "1:9: listen: must be HOST:PORT such as 127.0.0.1:7319 or [::1]:7319\n"
               "3:9: limits.wait: must be a duration such as 500ms, 5s, 2m, 1h, 7d\n"
               "4:3: limits.boody: unknown key; did you mean body?\n"
               "5:1: x: unknown key\n");
    EXPECT(strstr(file->err.message, "(and 3 more)") != NULL);

    struct buf many = buf_new(test_arena(), 1 << 16);
    for (int i = 0; i < 150; i++)
        buf_addf(&many, "x%d: 1\n", i);
    config_file_refused(file, buf_str(&many).s);
    EXPECT_INT(file->faults.count, YAML_FAULTS_MAX);
    EXPECT(file->faults.more);
}

CONFIG_TEST(CONFIG_a_command_is_a_list_of_words)
{
    expect_fault(file, "job_types:\n  a:\n    run: ./export --all\n",
                 "3:10: job_types.a.run: must be a list of words, since there is no shell: "
                 "[\"./export\", \"--all\"]\n");
    config_file_put(file, "plain", S("x"), PUBLIC);
    expect_fault(file, "job_types: {a: {run: [./plain]}}", "it is no executable file");
    expect_fault(file, "job_types: {a: {run: [./none]}}", "job_types.a.run[0]: ");
    expect_fault(file, "job_types: {a: {run: [sh], category: audit, commit: [sh]}}",
                 "1:45: job_types.a.commit: is not allowed");
}

CONFIG_TEST(CONFIG_secrets_come_from_files_or_the_environment)
{
    expect_fault(file, "instance: ghp_0123456789012345678901234567890123456789\n",
                 "1:11: instance: looks like a secret");
    expect_fault(file, "job_types: {a: {run: [sh, -x, AKIA0123456789ABCDEF]}}",
                 "job_types.a.run[2]: looks like a secret");
    expect_fault(file, "job_types: {a: {env: {SMTP_PASSWORD: hunter2}}}",
                 "1:38: job_types.a.env.SMTP_PASSWORD: is a secret by its name");
    EXPECT(!contains(config_file_faults(file), S("hunter2")));

    config_file_put(file, "nul", (struct str){ "a\0b", 3 }, PRIVATE);
    expect_fault(file, "job_types: {a: {env: {A: {file: nul}}}}", "no NUL among them");
    expect_fault(file, "job_types: {a: {env: {A: {file: .}}}}", "cannot be read");
}

CONFIG_TEST(CONFIG_only_plain_yaml_is_taken)
{
    static const struct {
        const char *text, *fault;
    } cases[] = {
        { "limits: {wait: 5s}\nlimits: {}\n", "2:1: limits: is given twice: first in line 1" },
        { "auth:\n  rate: 1\n  rate: 2\n", "3:3: auth.rate: is given twice: first in line 2" },
        { "a: &x 1\n", "1:7: a: anchors and aliases are not taken" },
        { "auth: &x {}\nlog: *x\n", "2:6: log: anchors and aliases are not taken: a text that "
                                    "begins with * needs quotes" },
        { "instance: !!str x\n", "1:17: instance: tags are not taken" },
        { "auth: {<<: {rate: 1}}\n", "1:8: auth: merge keys are not taken" },
        { "? [a]\n: b\n", "1:3: a key must be a text" },
        { "a: 1\n---\nb: 2\n", "2:1: a second document begins" },
        { "a: [1\nb: }\n", "2:4: is not YAML" },
        { "\ta: 1\n", "is not YAML" },
        { "a: 1\nb: \xff\n", "2:4: is not UTF-8 text" },
        { "instance: \"a\\0b\"\n", "1:11: instance: must be UTF-8 without NUL characters" },
        { "[a, b]", "1:1: must be a map" },
        { "text", "1:1: must be a map" },
        { "%YAML 2.0\n---\na: 1\n", "is not YAML" },
        { "a: [[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]\n", "is nested too deeply" },
    };
    for (size_t i = 0; i < countof(cases); i++)
        expect_fault(file, cases[i].text, cases[i].fault);
}

CONFIG_TEST(CONFIG_a_file_that_is_too_large_is_refused)
{
    struct buf text = buf_new(test_arena(), YAML_BYTES_MAX + 100);
    while (text.n <= YAML_BYTES_MAX)
        buf_add(&text, S("# much to say\n"));
    EXPECT(!config_file_load(file, buf_str(&text)));
    EXPECT(contains(config_file_faults(file), S("the file is larger than 1048576 bytes")));

    text = buf_new(test_arena(), YAML_BYTES_MAX);
    buf_add(&text, S("x: ["));
    while (text.n < YAML_BYTES_MAX - 10)
        buf_add(&text, S("1,"));
    buf_add(&text, S("]\n"));
    EXPECT(!config_file_load(file, buf_str(&text)));
    EXPECT(contains(config_file_faults(file), S("too many values")));

    EXPECT(!config_load(test_arena(), file->directory, &file->config, &file->faults, &file->err));
    EXPECT_INT(file->err.code, PAWL_INVALID);
    struct str nowhere = str_format(test_arena(), "%s/nowhere.yaml", file->directory);
    EXPECT(!config_load(test_arena(), nowhere.s, &file->config, &file->faults, &file->err));
    EXPECT_INT(file->err.code, PAWL_NOT_FOUND);
}

// ----- strange files

static uint64_t dice(uint64_t *state)
{
    *state = *state * 6364136223846793005U + 1442695040888963407U;
    return *state >> 33;
}

static struct str mutate(struct str text, uint64_t *state)
{
    static const char marks[] = "{}[]:,#&*!|>'\"%@`-?~\n\t \\\0\xff"
                                "0aZ";
    struct buf out = buf_new(test_arena(), 2 * text.n + 100);
    size_t from = dice(state) % text.n, length = dice(state) % 40;
    char mark = marks[dice(state) % (sizeof(marks) - 1)];
    size_t end = from + length < text.n ? from + length : text.n;
    unsigned how = (unsigned)(dice(state) % 4);
    buf_add(&out, (struct str){ text.s, from });
    if (how == 0)
        buf_add_char(&out, mark);  // in place of what is there
    if (how == 1)
        buf_add(&out, (struct str){ text.s + from, end - from });  // twice
    if (how != 3)
        buf_add(&out, (struct str){ text.s + (how == 2 ? end : from + (how == 0)),
                                    text.n - (how == 2 ? end : from + (how == 0)) });
    return buf_str(&out);
}

CONFIG_TEST(CONFIG_a_damaged_file_is_taken_or_refused_and_nothing_else)
{
    uint64_t state = 7;
    size_t taken = 0;
    put_what_it_names(file);
    for (int i = 0; i < MUTATIONS; i++) {
        struct str text = mutate(str_of(whole), &state);
        for (uint64_t more = dice(&state) % 3; more > 0; more--)
            text = mutate(text.n ? text : S("x"), &state);
        if (config_file_load(file, text)) {
            EXPECT(shown(&file->config).n > 0);
            taken++;
            continue;
        }
        EXPECT(file->faults.count > 0);
        for (size_t k = 0; k < file->faults.count; k++)
            EXPECT(file->faults.list[k].line > 0 && file->faults.list[k].column > 0
                   && utf8_valid(yaml_fault_text(test_arena(), &file->faults, k)));
    }
    print_message("%zu of %d damaged files are still fine\n", taken, MUTATIONS);
    EXPECT(taken > 0 && taken < MUTATIONS);
}
