// The contract under a server's configuration: what types and categories decide, how keys are made.
#include "base/time_text.h"
#include "config_file.h"
#include "fixture.h"
#include "model/stable.h"

#include <string.h>

// 2026-08-22T10:20:00Z
#define NOW ((pawl_time)1787394000000000)
#define ORG "00000000-0000-7000-8000-000000000000"

static const char configuration[] =
    "policies: {patient: {max_attempts: 9}}\n"
    "limits: {payload: 1KiB, json_depth: 6}\n"
    "job_types:\n"
    "  mail.send: {category: notification}\n"
    "  mail.daily: {category: notification, bucket: 1d}\n"
    "  report.export: {category: transfer, key: content, timeout: 9m}\n"
    "  invoice.make: {key: [customer, month]}\n"
    "  reindex: {category: maintenance}\n"
    "  later: {allow_delay: true}\n"
    "  alarm: {category: critical}\n"
    "  fire: {queue: q:critical}\n"
    "  login: {secrets: allow}\n"
    "  scan: {category: document}\n"
    "  enrich: {category: audit}\n";

// What a test asks the rules of.
struct rulebook {
    struct config_file file;
    struct caller caller;
    bool operator;
    pawl_time now;
};

#define RULES_TEST(name)                          \
    static void name##_by(struct rulebook *book); \
    TEST(name)                                    \
    {                                             \
        static struct rulebook book;              \
        rulebook_open(&book);                     \
        name##_by(&book);                         \
        config_file_close(&book.file);            \
    }                                             \
    static void name##_by(struct rulebook *book)

static void rulebook_open(struct rulebook *book)
{
    *book = (struct rulebook){ .now = NOW };
    book->caller = (struct caller){ .org_id = S(ORG),
                                    .actor_type = ACTOR_API_KEY,
                                    .actor_id = S("key-7"),
                                    .request_id = S("req-7"),
                                    .correlation_id = S("cor-7") };
    config_file_open(&book->file);
    must_configure(&book->file, configuration);
}

static struct str quotes(const char *text)
{
    struct buf copy = buf_new(test_arena(), 1 << 16);
    for (; *text; text++)
        buf_add_char(&copy, *text == '\'' ? '"' : *text);
    return buf_str(&copy);
}

// Reads a job object in which ' stands for "; the answer names all problems.
static struct str ask(struct rulebook *book, const char *text, struct contract *contract)
{
    struct contract_rules rules = config_rules(&book->file.config, &book->caller, book->now,
                                               book->operator);
    struct problems problems = { .arena = test_arena() };
    struct pawl_error err = {0};
    SCOPED(json) json_t *object = NULL;
    MUST(json_parse(quotes(text), 1 << 16, &object, &err));
    bool fine = contract_read(object, &rules, "", contract, &problems);
    EXPECT_INT(fine, problems.count == 0);
    struct buf said = buf_new(test_arena(), 1 << 16);
    for (size_t i = 0; i < problems.count; i++)
        buf_addf(&said, "%s%.*s: %.*s", i ? "; " : "", STR(problems.list[i].field),
                 STR(problems.list[i].message));
    return buf_str(&said);
}

static struct contract taken(struct rulebook *book, const char *text)
{
    struct contract contract;
    struct str problems = ask(book, text, &contract);
    EXPECT_STR(problems, "");
    return contract;
}

static void expect_said(struct rulebook *book, const char *text, const char *part)
{
    struct contract contract;
    struct str said = ask(book, text, &contract);
    if (!memmem(said.s, said.n, part, strlen(part)))
        print_error("%s says `%.*s` and not `%s`\n", text, STR(said), part);
    EXPECT(memmem(said.s, said.n, part, strlen(part)) != NULL);
}

// ----- OPS-1

RULES_TEST(OPS_1_a_job_has_every_field_or_is_refused_with_every_problem)
{
    struct contract c = taken(book, "{'job_type': 'report.export', 'payload': {'a': 1}}");
    EXPECT_STR(c.org_id, ORG);
    EXPECT_STR(c.actor_id, "key-7");
    EXPECT_STR(c.request_id, "req-7");
    EXPECT_STR(c.correlation_id, "cor-7");
    EXPECT_STR(c.queue, "q:exports");
    EXPECT_STR(c.policy.name, "transfer");
    EXPECT_STR(c.policy.category, "transfer");
    EXPECT_INT(c.policy.timeout_us, MINUTES(9));
    EXPECT(c.idempotency_key.n > 0 && c.payload.n > 0);

    EXPECT_STR(ask(book, "{'payload': [], 'queue': 'q:critical', 'priority': 900, "
                         "'scheduled_for': '2026-08-22T12:00:00Z', 'policy': 'x', 'nonsense': 1}",
                   &c),
               "job_type: is required: 1 to 128 of A-Z a-z 0-9 . _ : - that start with a letter "
               "or digit; policy: there is no policy `x`; built in are default critical audit "
               "notification planning transfer maintenance document lifecycle scheduled; "
               "payload: must be an object, not an array; idempotency_key: is required: what "
               "makes this job the same as another; scheduled_for: is only for notifications, "
               "maintenance, and types that are configured with allow_delay: true; queue: "
               "q:critical takes only jobs of types that are configured as critical, and what an "
               "operator sends; priority: must be a whole number from -100 to 100; nonsense: "
               "unknown field");
}

RULES_TEST(OPS_1_a_type_that_is_not_configured_has_the_default_policy_and_needs_a_key)
{
    struct contract c = taken(book, "{'job_type': 'x', 'payload': {}, 'idempotency_key': 'k'}");
    EXPECT_STR(c.policy.name, "default");
    EXPECT_STR(c.idempotency_key, "k");
    expect_said(book, "{'job_type': 'x', 'payload': {}}", "idempotency_key: is required");
    EXPECT_STR(taken(book, "{'job_type': 'scan', 'payload': {}}").idempotency_key, "");
}

RULES_TEST(OPS_6_a_job_that_names_another_policy_keeps_what_its_type_says)
{
    struct contract c = taken(book, "{'job_type': 'report.export', 'payload': {}, "
                                    "'policy': 'patient'}");
    EXPECT_STR(c.policy.name, "patient");
    EXPECT_INT(c.policy.max_attempts, 9);
    EXPECT_STR(c.policy.category, "transfer");
    EXPECT_STR(c.queue, "q:exports");
    EXPECT_INT(c.policy.timeout_us, MINUTES(9));
    EXPECT_INT(c.policy.key_ttl_us, DAYS(30));
}

RULES_TEST(OPS_1_the_limits_of_the_configuration_hold)
{
    struct buf large = buf_new(test_arena(), 4096);
    buf_add(&large, S("{'job_type': 'report.export', 'payload': {'a': '"));
    for (int i = 0; i < 1024; i++)
        buf_add_char(&large, 'x');
    buf_add(&large, S("'}}"));
    expect_said(book, buf_str(&large).s, "payload: has 1032 bytes: at most 1024 are allowed");
    taken(book, "{'job_type': 'report.export', 'payload': {'a': {'b': {'c': {'d': {}}}}}}");
    expect_said(book, "{'job_type': 'report.export', 'payload': {'a': {'b': {'c': {'d': "
                      "{'e': {}}}}}}}",
                "at most 5 levels");
}

RULES_TEST(OPS_10_only_a_type_that_says_so_may_have_secrets_in_payloads)
{
    struct contract c = taken(book, "{'job_type': 'login', 'payload': {'password': 'x'}, "
                                    "'idempotency_key': 'k'}");
    struct problems problems = { .arena = test_arena() };
    EXPECT(contract_check(&c, NOW, "", &problems));
    expect_said(book, "{'job_type': 'x', 'payload': {'password': 'x'}, 'idempotency_key': 'k'}",
                "payload.password: looks like a secret");
}

// ----- OPS-2 and OPS-4: keys

static struct str key(struct rulebook *book, const char *text)
{
    return taken(book, text).idempotency_key;
}

#define MAIL "{'job_type': 'mail.send', 'payload': {'recipient': 'ada', 'template': 'hi', 'n': 1}"

RULES_TEST(OPS_2_a_notification_has_a_key_of_recipient_template_payload_and_bucket)
{
    struct str first = key(book, MAIL "}");
    EXPECT(str_starts(first, S("mail.send:" ORG "::")));
    EXPECT(taken(book, MAIL "}").time_in_key);

    // The rule as docs/configuration.md has it.
    struct pawl_error err = {0};
    SCOPED(json) json_t *payload = NULL, *essence = NULL;
    MUST(json_parse(S("{\"n\":1,\"recipient\":\"ada\",\"template\":\"hi\"}"), 999, &payload, &err));
    struct str hash = stable_hash(test_arena(), payload);
    struct str text = str_format(test_arena(),
                                 "{\"recipient\":\"ada\",\"template\":\"hi\",\"payload_hash\":"
                                 "\"%.*s\",\"bucket\":\"2026-08-22T10:00:00.000Z\"}",
                                 STR(hash));
    MUST(json_parse(text, 999, &essence, &err));
    EXPECT(str_eq(first, idempotency_key(test_arena(), S("mail.send"), S(ORG), S(""), essence)));

    static const char *const others[] = {
        "{'job_type': 'mail.send', 'payload': {'recipient': 'bob', 'template': 'hi', 'n': 1}}",
        "{'job_type': 'mail.send', 'payload': {'recipient': 'ada', 'template': 'by', 'n': 1}}",
        "{'job_type': 'mail.send', 'payload': {'recipient': 'ada', 'template': 'hi', 'n': 2}}",
        "{'job_type': 'mail.daily', 'payload': {'recipient': 'ada', 'template': 'hi', 'n': 1}}",
        MAIL ", 'project_id': '00000000-0000-7000-8000-000000000001'}",
        MAIL ", 'scheduled_for': '2026-08-22T11:00:00Z'}",
    };
    for (size_t i = 0; i < countof(others); i++)
        EXPECT(!str_eq(first, key(book, others[i])));
    EXPECT_STR(key(book, MAIL ", 'idempotency_key': 'mine'}"), "mine");
}

RULES_TEST(OPS_2_a_bucket_begins_at_a_multiple_of_its_length)
{
    struct str first = key(book, MAIL "}");
    EXPECT(str_eq(first, key(book, MAIL ", 'scheduled_for': '2026-08-22T10:59:59Z'}")));
    EXPECT(str_eq(first, key(book, MAIL ", 'scheduled_for': '2026-08-22T12:30:00+02:00'}")));
    book->now = NOW + MINUTES(39);
    EXPECT(str_eq(first, key(book, MAIL "}")));
    book->now = NOW + MINUTES(40);
    EXPECT(!str_eq(first, key(book, MAIL "}")));

    // A time that has passed is still the same request when it is repeated (OPS-15).
    EXPECT(str_eq(first, key(book, MAIL ", 'scheduled_for': '2026-08-22T10:30:00Z'}")));

    const char *daily = "{'job_type': 'mail.daily', 'payload': {'recipient': 'ada', 'template': "
                        "'hi'}}";
    struct str today = key(book, daily);
    book->now = NOW + HOURS(13);
    EXPECT(str_eq(today, key(book, daily)));
    book->now = NOW + HOURS(14);
    EXPECT(!str_eq(today, key(book, daily)));
}

RULES_TEST(OPS_2_a_notification_without_recipient_or_template_is_refused)
{
    expect_said(book, "{'job_type': 'mail.send', 'payload': {}}",
                "payload.recipient: is required: the key of this type of jobs is made of it, "
                "when no idempotency_key is sent; payload.template: is required");
    expect_said(book, "{'job_type': 'mail.send', 'payload': {'recipient': null, 'template': 1}}",
                "payload.recipient: is required");
    taken(book, "{'job_type': 'mail.send', 'payload': {}, 'idempotency_key': 'k'}");
    // Also when only the policy says that it is one.
    expect_said(book, "{'job_type': 'x', 'policy': 'notification', 'payload': {}}",
                "payload.recipient: is required");
}

RULES_TEST(OPS_4_a_type_with_a_recipe_needs_no_key)
{
    struct str whole = key(book, "{'job_type': 'report.export', 'payload': {'a': 1, 'b': 2}}");
    EXPECT(str_starts(whole, S("report.export:" ORG "::")));
    EXPECT(str_eq(whole, key(book, "{'job_type': 'report.export', 'payload': {'b': 2, 'a': 1}}")));
    EXPECT(!str_eq(whole, key(book, "{'job_type': 'report.export', 'payload': {'a': 1}}")));

    struct str some = key(book, "{'job_type': 'invoice.make', 'payload': {'customer': 1, "
                                "'month': '2026-08', 'note': 'x'}}");
    EXPECT(str_eq(some, key(book, "{'job_type': 'invoice.make', 'payload': {'month': '2026-08', "
                                  "'customer': 1}}")));
    EXPECT(!str_eq(some, key(book, "{'job_type': 'invoice.make', 'payload': {'customer': 2, "
                                   "'month': '2026-08'}}")));
    expect_said(book, "{'job_type': 'invoice.make', 'payload': {'customer': 1}}",
                "payload.month: is required: the key of this type of jobs is made of it");
}

// ----- OPS-15

RULES_TEST(OPS_15_only_some_types_may_be_scheduled_for_later)
{
    static const struct {
        const char *type;
        bool allowed;
    } cases[] = {
        { "mail.send", true }, { "reindex", true },        { "later", true },
        { "x", false },        { "report.export", false }, { "alarm", false },
    };
    for (size_t i = 0; i < countof(cases); i++) {
        struct str text = str_format(test_arena(),
                                     "{'job_type': '%s', 'payload': {}, 'idempotency_key': 'k', "
                                     "'scheduled_for': '2026-08-22T12:00:00Z'}",
                                     cases[i].type);
        if (cases[i].allowed)
            EXPECT(taken(book, text.s).scheduled_for > NOW);
        else
            expect_said(book, text.s, "scheduled_for: is only for notifications, maintenance");
    }
}

// The policy says what kind of work it is, of a type that is not configured.
RULES_TEST(OPS_15_a_job_by_the_policy_of_a_category_may_be_scheduled_for_later)
{
    static const char *const policies[] = { "notification", "maintenance", "transfer" };
    for (size_t i = 0; i < countof(policies); i++) {
        struct str text = str_format(test_arena(),
                                     "{'job_type': 'x', 'payload': {}, 'idempotency_key': 'k', "
                                     "'policy': '%s', 'scheduled_for': '2026-08-22T12:00:00Z'}",
                                     policies[i]);
        if (i < 2)
            EXPECT(taken(book, text.s).scheduled_for > NOW);
        else
            expect_said(book, text.s, "scheduled_for: is only for notifications, maintenance");
    }
}

TEST(OPS_15_without_a_configuration_every_job_may_be_scheduled)
{
    struct caller caller = {
        .org_id = S(ORG),
        .actor_id = S("a"),
        .request_id = S("r"),
        .correlation_id = S("c"),
    };
    struct contract_rules rules = {
        .caller = &caller,
        .now = NOW,
        .policy = policy_builtin_or_default,
    };
    struct problems problems = { .arena = test_arena() };
    struct contract contract;
    struct pawl_error err = {0};
    SCOPED(json) json_t *object = NULL;
    MUST(json_parse(quotes("{'job_type': 'x', 'payload': {}, 'queue': 'q:critical', "
                           "'scheduled_for': '2026-08-22T12:00:00Z'}"),
                    999, &object, &err));
    EXPECT(contract_read(object, &rules, "", &contract, &problems));
}

// ----- OPS-20

RULES_TEST(OPS_20_only_critical_types_and_operators_enter_the_critical_queue)
{
    EXPECT_STR(taken(book, "{'job_type': 'alarm', 'payload': {}, 'idempotency_key': 'k'}").queue,
               "q:critical");
    EXPECT_STR(taken(book, "{'job_type': 'fire', 'payload': {}, 'idempotency_key': 'k'}").queue,
               "q:critical");
    static const char *const others[] = {
        "{'job_type': 'x', 'payload': {}, 'idempotency_key': 'k', 'queue': 'q:critical'}",
        "{'job_type': 'x', 'payload': {}, 'idempotency_key': 'k', 'policy': 'critical'}",
        "{'job_type': 'reindex', 'payload': {}, 'idempotency_key': 'k', 'queue': 'q:critical'}",
    };
    for (size_t i = 0; i < countof(others); i++) {
        book->operator= false;
        expect_said(book, others[i], "queue: q:critical takes only jobs of types");
        book->operator= true;
        EXPECT_STR(taken(book, others[i]).queue, "q:critical");
    }
}

RULES_TEST(OPS_20_nobody_enqueues_to_the_dead_letters)
{
    book->operator= true;
    expect_said(book, "{'job_type': 'alarm', 'payload': {}, 'idempotency_key': 'k', "
                      "'queue': 'q:deadletter'}",
                "queue: nothing can be enqueued to q:deadletter");
}

// ----- in the store

static struct contract read_at(struct rulebook *book, struct box *box, const char *text)
{
    book->now = box->world.wall;
    book->caller = box->caller;
    return taken(book, text);
}

RULES_TEST(OPS_2_the_same_notification_in_one_bucket_is_one_job)
{
    struct box store, *box = &store;
    box_open(box);
    box->world.wall -= box->world.wall % HOURS(1);
    struct contract first = read_at(book, box, MAIL "}");
    struct id id = must_add(box, &first).id;

    // Asked again for another minute of the same hour.
    struct str later = time_text(test_arena(), box->world.wall + MINUTES(20));
    struct str text = str_format(test_arena(), MAIL ", 'scheduled_for': '%.*s'}", STR(later));
    struct contract again = read_at(book, box, text.s);
    struct job job;
    bool known = false;
    OK(job_enqueue(tx, &again, &job, &known, err));
    EXPECT(known && job.id.high == id.high);

    // A key of the caller's own says nothing about the time.
    again.time_in_key = false;
    REFUSED(PAWL_KEY_REUSED, job_enqueue(tx, &again, &job, &known, err));

    pass(box, HOURS(1));
    struct contract next = read_at(book, box, MAIL "}");
    OK(job_enqueue(tx, &next, &job, &known, err));
    EXPECT(!known && job.id.high != id.high);
    box_close(box);
}

static bool touch(struct tx *tx, void *self, struct pawl_error *err)
{
    (void)tx, (void)self, (void)err;
    return true;
}

TEST_EACH_DB(OPS_22_the_commit_of_an_audit_job_only_annotates)
{
    struct contract contract = contract_with(box, "enrich", "audit");
    struct id id = must_add(box, &contract).id;
    struct lease lease = must_start(box, "A");
    struct contract follow_up = contract_for(box, "other");
    struct str annotation = S("{\"seen\":true}");
    struct execution e;
    const struct commit refused[] = {
        { .result = S("{}"), .done = true },
        { .follow_ups = &follow_up, .follow_up_count = 1, .done = true },
        { .apply = touch, .done = true },
        { .finish = true },
        { .annotations = &annotation, .annotation_count = 1, .result = S("1"), .done = true },
    };
    for (size_t i = 0; i < countof(refused); i++)
        REFUSED(PAWL_EFFECT_NOT_ALLOWED, execution_commit(tx, &lease, &refused[i], &e, err));
    struct commit allowed = { .annotations = &annotation, .annotation_count = 1, .done = true };
    OK(execution_commit(tx, &lease, &allowed, &e, err));
    EXPECT_INT(must_load(box, id).state, JOB_SUCCEEDED);
    EXPECT_INT(events(box, id, EVENT_JOB_ANNOTATED), 1);
}

TEST_EACH_DB(OPS_22_other_categories_may_have_every_effect)
{
    struct str annotation = S("{}");
    struct contract follow_up = contract_for(box, "other");
    for (unsigned i = 0; i < CATEGORIES; i++) {
        if (i == CATEGORY_AUDIT || i == CATEGORY_PLANNING)
            continue;
        struct contract contract = contract_for(box, "work");
        contract.policy = category_policy((enum category)i);
        must_add(box, &contract);
        struct claimed *claimed;
        EXPECT_INT(claim_some(box, "A", 1, &claimed), 1);
        struct lease lease = { claimed[0].execution.id, 1, worker_named("A") };
        struct execution e;
        OK(execution_start(tx, &lease, &e, err));
        struct commit commit = {
            .result = S("{}"),
            .annotations = &annotation,
            .annotation_count = 1,
            .apply = touch,
            .follow_ups = &follow_up,
            .follow_up_count = i == 0,
            .finish = true,
        };
        OK(execution_commit(tx, &lease, &commit, &e, err));
        OK(execution_done(tx, &lease, &e, err));
        if (i == 0)
            must_commit(box, &(struct lease){ must_start(box, "A").execution, 1,
                                              worker_named("A") });
    }
}

RULES_TEST(OPS_2_without_a_payload_no_key_is_made_of_it)
{
    expect_said(book, "{'job_type': 'invoice.make'}", "payload: is required");
}

RULES_TEST(OPS_1_ids_that_are_too_long_or_nobodys_are_refused)
{
    struct buf text = buf_new(test_arena(), 1 << 16);
    buf_add(&text, S("{'job_type': 'report.export', 'payload': {}, 'project_id': '"));
    for (int i = 0; i < 600; i++)
        buf_add_char(&text, 'A');
    buf_add(&text, S("'}"));
    expect_said(book, buf_str(&text).s, "project_id: ");
    expect_said(book,
                "{'job_type': 'report.export', 'payload': {}, "
                "'batch_id': '00000000-0000-7000-8000-000000000001'}",
                "batch_id: must be");
}
