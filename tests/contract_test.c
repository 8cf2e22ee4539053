// The contract of a job: what is refused, what is taken, what is filled in, what makes two requests
// the same.

#include "test.h"

#include <string.h>

#include "bad_contracts.h"
#include "model/contract.h"

enum { CASES_MIN = 500 };

// 2026-08-22T10:00:00Z
#define NOW ((pawl_time)1787392800000000)

static const struct caller *caller(void)
{
    static struct caller caller;
    caller = (struct caller){
        .org_id = DEFAULT_ORG,
        .actor_type = ACTOR_API_KEY,
        .actor_id = S("key-7"),
        .request_id = S("req-7"),
        .correlation_id = S("cor-7"),
    };
    return &caller;
}

static struct contract_rules strict(void)
{
    return (struct contract_rules){
        .caller = caller(),
        .now = NOW,
        .policy = policy_builtin_or_default,
        .key_required = true,
    };
}

static struct problems problems_new(void)
{
    return (struct problems){ .arena = test_arena() };
}

static struct str quotes(const char *text)
{
    return json_quotes(test_arena(), text);
}

static bool contains(struct str text, const char *part)
{
    return memmem(text.s, text.n, part, strlen(part)) != NULL;
}

// Reads a job object; the answer names all problems, and is empty when there is none.
static struct str read_by(const struct contract_rules *rules, struct str text,
                          struct contract *contract)
{
    struct pawl_error err;
    SCOPED(json) json_t *object = NULL;
    struct problems problems = problems_new();
    *contract = (struct contract){0};
    if (!json_parse(text, BAD_CONTRACT_BYTES_MAX, &object, &err)
        || (!contract_read(object, rules, "", contract, &problems)
            && !problems_none(&problems, &err)))
        return str_dup(test_arena(), str_of(err.message));
    EXPECT_INT(problems.count, 0);
    return S("");
}

// Reads a good job object with one more member, in which ' stands for ".
static struct str read_member(const char *member, struct contract *contract)
{
    struct contract_rules rules = strict();
    struct str text = good_contract(test_arena(), quotes(member));
    return read_by(&rules, text, contract);
}

static struct contract must_read(const char *member)
{
    struct contract contract;
    struct str refusal = read_member(member, &contract);
    expect_str(refusal, S(""), PLACE(member));
    return contract;
}

#define EXPECT_PROBLEM(member, message)                                      \
    do {                                                                     \
        struct contract ignored;                                             \
        expect_str(read_member((member), &ignored), S(message), PLACE(member)); \
    } while (0)

static void give_up(const struct bad_contract *bad, const char *why, struct str message)
{
    print_error("%.*s\n  %.200s\n  %s: %.*s\n", STR(bad->name), bad->text.s, why, STR(message));
    _fail(__FILE__, __LINE__);
}

// A refusal of text that is not JSON says what and where: in the member that is bad.
static void expect_syntax_refusal(const struct bad_contract *bad, const struct pawl_error *err)
{
    struct str message = str_of(err->message);
    struct str start = S("JSON line 1 column "), number, rest;
    int64_t column = -1;
    if (str_starts(message, start)) {
        str_cut((struct str){ message.s + start.n, message.n - start.n }, ':', &number, &rest);
        EXPECT(str_int(number, &column));
    }
    if (bad->field || err->code != PAWL_INVALID || !contains(message, bad->says))
        give_up(bad, "refused as no JSON", message);
    if (column >= 0 && (column < (int64_t)bad->from || column > (int64_t)bad->to + 1))
        give_up(bad, "another place is named", message);
    if (column < 0 && !contains(message, "the key that starts"))
        give_up(bad, "no place is named", message);
    if (contains(message, "hunter2"))
        give_up(bad, "the message", message);
}

// A refusal by the contract names the field and no other.
static void expect_contract_refusal(const struct bad_contract *bad, const json_t *object)
{
    struct contract contract;
    struct contract_rules rules = strict();
    struct problems problems = problems_new();
    if (contract_read(object, &rules, "jobs[3].", &contract, &problems) || problems.count == 0)
        give_up(bad, "accepted", S(""));
    struct str name = str_of(bad->field);
    struct str field = str_format(test_arena(), "jobs[3]%s%.*s", name.n ? "." : "", STR(name));
    if (!bad->field)
        give_up(bad, "is JSON", problems.list[0].message);
    for (size_t i = 0; i < problems.count; i++) {
        if (!str_eq(problems.list[i].field, field))
            give_up(bad, "another field is named", problems.list[i].field);
        if (problems.list[i].message.n == 0 || contains(problems.list[i].message, "hunter2"))
            give_up(bad, "the message", problems.list[i].message);
    }
}

TEST(OPS_1_every_bad_contract_is_refused_and_its_field_named)
{
    size_t count;
    const struct bad_contract *cases = bad_contracts(test_arena(), &count);
    for (size_t i = 0; i < count; i++) {
        struct pawl_error err;
        SCOPED(json) json_t *object = NULL;
        if (json_parse(cases[i].text, BAD_CONTRACT_BYTES_MAX, &object, &err))
            expect_contract_refusal(&cases[i], object);
        else
            expect_syntax_refusal(&cases[i], &err);
    }
    print_message("%zu bad contracts\n", count);
    EXPECT(count >= CASES_MIN);
}

// The fields that have a problem, in the order of the table.
static void expect_fields(const struct problems *problems, const char *const *fields, size_t count)
{
    EXPECT_INT(problems->count, count);
    for (size_t i = 0; i < count; i++)
        expect_str(problems->list[i].field, str_of(fields[i]), PLACE(fields[i]));
}

TEST(OPS_1_all_problems_are_named_at_once)
{
    static const char *const bad[] = {
        "job_type", "payload.a.password", "payload.a.secret", "idempotency_key", "project_id",
        "queue", "priority", "state",
    };
    struct pawl_error err;
    struct contract contract;
    struct contract_rules rules = strict();
    struct problems problems = problems_new();
    SCOPED(json) json_t *object = NULL;
    struct str text = quotes("{'priority':101,'queue':'q:deadletter','project_id':7,'submit':true,"
                             "'payload':{'a':{'password':'x','secret':'y'}},'state':0}");
    MUST(json_parse(text, text.n, &object, &err));
    EXPECT(!contract_read(object, &rules, "", &contract, &problems));
    expect_fields(&problems, bad, countof(bad));
    EXPECT_REFUSED(PAWL_INVALID, problems_none(&problems, &err));
}

TEST(OPS_1_an_empty_object_lacks_exactly_what_a_caller_must_send)
{
    static const char *const must_send[] = { "job_type", "payload", "idempotency_key" };
    struct contract contract;
    struct contract_rules rules = strict();
    struct problems problems = problems_new();
    SCOPED(json) json_t *object = json_object();
    EXPECT(!contract_read(object, &rules, "", &contract, &problems));
    expect_fields(&problems, must_send, countof(must_send));
}

TEST(OPS_1_messages_say_what_is_wanted_and_what_came)
{
    EXPECT_PROBLEM("'priority':1.0", "priority: must be a whole number from -100 to 100, not a "
                                       "number with a fraction or exponent");
    EXPECT_PROBLEM("'priority':101", "priority: must be a whole number from -100 to 100");
    EXPECT_PROBLEM("'serial_key':''", "serial_key: must be text of 1 to 256 bytes without "
                                          "control characters: it is empty");
    EXPECT_PROBLEM("'policy':'nope'", "policy: there is no policy `nope`; built in are default "
                                      "critical audit notification planning transfer maintenance "
                                      "document lifecycle scheduled");
    EXPECT_PROBLEM("'queue':'q:deadletter'", "queue: nothing can be enqueued to q:deadletter");
    EXPECT_PROBLEM("'after':['x']", "after[0]: must be the id of a job");
    EXPECT_PROBLEM("'after':'x'", "after: must be a list of at most 64 ids of jobs");
    EXPECT_PROBLEM("'batch_id':'x'", "batch_id: must be the id of a batch");
    EXPECT_PROBLEM("'jobType':'x'", "jobType: unknown field; did you mean job_type?");
    EXPECT_PROBLEM("'state':'x'", "state: unknown field");
    EXPECT_PROBLEM("'org_id':'00000000-0000-7000-8000-000000000001'",
                   "org_id: is not the caller's org");
}

static const char *text_member(const char *field, size_t bytes)
{
    struct buf member = buf_new(test_arena(), BAD_CONTRACT_BYTES_MAX);
    buf_addf(&member, "'%s':'", field);
    for (size_t i = 0; i < bytes; i++)
        buf_add_char(&member, 'x');
    buf_add_char(&member, '\'');
    return str_cstr(test_arena(), buf_str(&member));
}

TEST(OPS_1_the_longest_texts_are_taken)
{
    static const struct {
        const char *field;
        size_t bytes_max;
    } texts[] = {
        { "job_type", 128 }, { "queue", 128 },          { "idempotency_key", 256 },
        { "actor_id", 256 }, { "request_id", 256 },     { "correlation_id", 256 },
        { "serial_key", 256 }, { "authorized_by", 256 },  { "limit_key", 256 },
    };
    for (size_t i = 0; i < countof(texts); i++) {
        must_read(text_member(texts[i].field, 1));
        must_read(text_member(texts[i].field, texts[i].bytes_max));
    }
}

TEST(OPS_1_good_values_up_to_their_bounds_are_taken)
{
    static const char *const good[] = {
        "", "'priority':-100", "'priority':100", "'priority':0", "'priority':null",
        "'max_wait':'1ms'", "'max_wait':'365d'", "'max_wait':null",
        "'submit':true", "'submit':false", "'submit':null", "'after':null",
        "'after':[]", "'after':['01900000-0000-7000-8000-00000000000a']",
        "'batch_id':'01900000-0000-7000-8000-00000000000a'", "'batch_id':null", "'policy':null",
        "'policy':'document'", "'job_type':'A9._:-'", "'job_type':'0'",
        "'queue':'.q'", "'serial_key':'\xf0\x9f\x98\x80 \\u00a0'",
        "'actor_type':'user'", "'actor_type':'system'", "'actor_type':'api_key'",
        "'project_id':'01900000-0000-7000-8000-00000000000a'", "'project_id':null",
        "'project_id':'00000000-0000-0000-0000-000000000000'",
        "'org_id':'00000000-0000-7000-8000-000000000000'", "'org_id':null",
        "'traceparent':'00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00'",
        "'traceparent':'cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-what'",
        "'scheduled_for':'2026-08-22T09:59:00Z'", "'scheduled_for':null",
        "'scheduled_for':'2036-08-20T10:00:00Z'",
        "'scheduled_for':'2026-08-22T13:00:00.5+02:00'",
        "'payload':{}", "'payload':{'a':null,'b':[1,2.5,-9223372036854775808]}",
    };
    for (size_t i = 0; i < countof(good); i++)
        must_read(good[i]);
}

static struct str payload_nested(size_t levels)
{
    struct buf text = buf_new(test_arena(), 1000);
    buf_add(&text, quotes("{'a':"));
    for (size_t i = 1; i < levels; i++)
        buf_add_char(&text, '[');
    for (size_t i = 1; i < levels; i++)
        buf_add_char(&text, ']');
    buf_add_char(&text, '}');
    return buf_str(&text);
}

TEST(OPS_1_the_largest_and_the_deepest_payload_are_taken)
{
    size_t text_bytes = PAYLOAD_BYTES_MAX - strlen("{'a':''}");
    struct str large = str_format(test_arena(), "'payload': { %s }", text_member("a", text_bytes));
    EXPECT_INT(must_read(large.s).payload.n, PAYLOAD_BYTES_MAX);
    struct str deep = payload_nested(JSON_DEPTH_MAX - 1);
    must_read(str_format(test_arena(), "'payload':%.*s", STR(deep)).s);
}

TEST(OPS_1_what_the_caller_leaves_out_is_filled_in)
{
    struct contract c = must_read("");
    EXPECT_STR(c.job_type, "report.export");
    EXPECT_STR(c.payload, "{\"note\":\"hunter2\"}");
    EXPECT_STR(c.idempotency_key, "k1");
    EXPECT_STR(c.org_id, "00000000-0000-7000-8000-000000000000");
    EXPECT_INT(c.actor_type, ACTOR_API_KEY);
    EXPECT_STR(c.actor_id, "key-7");
    EXPECT_STR(c.request_id, "req-7");
    EXPECT_STR(c.correlation_id, "cor-7");
    EXPECT_STR(c.queue, "q:default");
    EXPECT(policy_eq(&c.policy, policy_builtin(S("default"))));
    EXPECT(c.project_id.n == 0 && c.serial_key.n == 0 && c.traceparent.n == 0);
    EXPECT(c.priority == 0 && c.scheduled_for == 0 && c.max_wait_us == 0 && !c.hold);
}

TEST(OPS_1_what_the_caller_says_is_kept)
{
    struct contract c = must_read(
        "'actor_type':'user','actor_id':'u','request_id':'r','correlation_id':'c',"
        "'project_id':'01900000-0000-7000-8000-00000000ABCD','queue':'q:mine','priority':-5,"
        "'serial_key':'s','policy':'planning','max_wait':'2m','submit':false,"
        "'authorized_by':'b','limit_key':'l','scheduled_for':'2026-08-22T12:00:01+02:00',"
        "'traceparent':'00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'");
    EXPECT_INT(c.actor_type, ACTOR_USER);
    EXPECT_STR(c.actor_id, "u");
    EXPECT_STR(c.request_id, "r");
    EXPECT_STR(c.correlation_id, "c");
    EXPECT_STR(c.project_id, "01900000-0000-7000-8000-00000000abcd");
    EXPECT_STR(c.queue, "q:mine");
    EXPECT_INT(c.priority, -5);
    EXPECT_STR(c.serial_key, "s");
    EXPECT_STR(c.policy.name, "planning");
    EXPECT_INT(c.max_wait_us, MINUTES(2));
    EXPECT_STR(c.authorized_by, "b");
    EXPECT_STR(c.limit_key, "l");
    EXPECT_INT(c.scheduled_for, NOW + SECONDS(1));
    EXPECT_STR(c.traceparent, "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
    EXPECT(c.hold);
}

TEST(OPS_1_a_contract_filled_by_c_code_meets_the_same_checks)
{
    static const char *const bad[] = {
        "job_type", "policy", "policy", "payload", "idempotency_key", "org_id", "project_id",
        "actor_type", "actor_id", "request_id", "correlation_id", "scheduled_for", "traceparent",
        "queue", "priority", "serial_key", "max_wait", "authorized_by", "limit_key",
    };
    struct contract c = {
        .job_type = S("a b"),
        .project_id = S("01900000-0000-7000-8000-00000000ABCD"),  // stored in lower case
        .actor_type = ACTOR_TYPES,
        .actor_id = S("\n"),
        .idempotency_key = S("\xff"),
        .payload = S("[]"),
        .scheduled_for = NOW - DAYS(400),
        .traceparent = S("00-x"),
        .queue = DEADLETTER_QUEUE,
        .priority = -101,
        .serial_key = S("a\0b"),
        .max_wait_us = -1,
        .authorized_by = S("\xc2\x85"),
        .limit_key = S("\n"),
        .policy = *policy_builtin(S("default")),
    };
    c.policy.max_attempts = 0;
    c.policy.name = S("");
    struct problems problems = problems_new();
    EXPECT(!contract_check(&c, NOW, "", &problems));
    expect_fields(&problems, bad, countof(bad));
}

TEST(OPS_1_a_contract_that_was_read_passes_the_check)
{
    struct problems problems = problems_new();
    struct contract c = must_read("'serial_key':'s','max_wait':'1ms'");
    EXPECT(contract_check(&c, NOW, "", &problems));
    EXPECT_INT(problems.count, 0);
}

static bool payload_passes(struct str payload, struct problems *problems)
{
    struct contract c = must_read("");
    c.payload = payload;
    *problems = problems_new();
    return contract_check(&c, NOW, "jobs[3].", problems);
}

TEST(OPS_1_a_payload_filled_by_c_code_is_parsed_and_checked)
{
    struct problems problems;
    EXPECT(payload_passes(quotes(" {'a': 1} "), &problems));
    EXPECT(payload_passes(payload_nested(JSON_DEPTH_MAX - 1), &problems));
    EXPECT(!payload_passes(payload_nested(JSON_DEPTH_MAX), &problems));
    EXPECT_STR(problems.list[0].message, "is nested too deeply: at most 31 levels are allowed");
    EXPECT(!payload_passes(quotes("{'a':hunter2}"), &problems));
    EXPECT_STR(problems.list[0].field, "jobs[3].payload");
    EXPECT_STR(problems.list[0].message, "JSON line 1 column 11: invalid token");
    EXPECT(!payload_passes(quotes("{'a':[{'cvv':'123'}]}"), &problems));
    EXPECT_STR(problems.list[0].field, "jobs[3].payload.a[0].cvv");
    EXPECT(!payload_passes(S(""), &problems));
    EXPECT_STR(problems.list[0].message, "is required: an object");
}

// A retry may be of a job whose key is as long as keys can be.
TEST(OPS_4_a_job_made_from_another_has_room_for_the_number_in_its_key)
{
    struct problems problems = problems_new();
    struct contract c = must_read(text_member("idempotency_key", KEY_BYTES_MAX));
    c.idempotency_key = str_format(test_arena(), "%.*s#12", STR(c.idempotency_key));
    EXPECT(!contract_check(&c, NOW, "", &problems));
    c.parent = (struct id){ 1, 1 };
    EXPECT(contract_check(&c, NOW, "", &problems));
}

TEST(OPS_3_the_queue_is_that_of_the_policy_unless_told_otherwise)
{
    EXPECT_STR(must_read("'policy':'notification'").queue, "q:notifications");
    EXPECT_STR(must_read("'policy':'notification','queue':'q:mine'").queue, "q:mine");
}

TEST(OPS_4_a_key_is_required_where_the_rules_say_so_and_never_for_document)
{
    struct contract contract;
    struct contract_rules rules = strict();
    struct str document = quotes("{'job_type':'a','payload':{},'policy':'document'}");
    struct str plain = quotes("{'job_type':'a','payload':{},'idempotency_key':null}");
    EXPECT(read_by(&rules, plain, &contract).n > 0);
    EXPECT_STR(read_by(&rules, document, &contract), "");
    rules.key_required = false;
    EXPECT_STR(read_by(&rules, plain, &contract), "");
    EXPECT_INT(contract.idempotency_key.n, 0);
}

static struct str hash_of(const char *member)
{
    struct contract contract = must_read(member);
    return contract_hash(test_arena(), &contract);
}

TEST(OPS_4_the_same_request_has_the_same_hash)
{
    struct str hash = hash_of("'payload':{'a':1,'b':'2026-08-22T12:00:00+02:00'}");
    EXPECT_INT(hash.n, 32);
    expect_str(hash_of("'payload': {'b':'2026-08-22T10:00:00Z', 'a':1.0}"), hash,
               PLACE("order, space, spelling"));
    expect_str(hash_of("'payload':{'a':1,'b':'2026-08-22T10:00:00.000Z'},'priority':5,"
                       "'queue':'q:mine','request_id':'other','policy':'lifecycle'"),
               hash, PLACE("what is not part of it"));
}

TEST(OPS_4_another_type_project_payload_serial_key_or_time_is_another_hash)
{
    static const char *const different[] = {
        "'payload':{}", "'payload':{'a':1}", "'payload':{'a':'1'}",
        "'job_type':'b'", "'project_id':'01900000-0000-7000-8000-00000000000a'",
        "'serial_key':'s'", "'serial_key':'t'", "'scheduled_for':'2026-08-22T10:00:01Z'",
        "'scheduled_for':'2026-08-22T10:00:02Z'",
    };
    for (size_t i = 0; i < countof(different); i++)
        for (size_t j = 0; j < i; j++)
            expect(!str_eq(hash_of(different[i]), hash_of(different[j])), PLACE(different[i]));
}

TEST(OPS_10_a_caller_cannot_speak_for_another_org)
{
    struct contract c = must_read("'org_id':'00000000-0000-7000-8000-000000000000'");
    expect_str(c.org_id, caller()->org_id, PLACE("the caller's org"));
    EXPECT_PROBLEM("'org_id':'ffffffff-0000-7000-8000-000000000000'",
                   "org_id: is not the caller's org");
}

TEST(OPS_10_what_only_resembles_a_secret_is_taken)
{
    static const char *const good[] = {
        "{'password_ref':'vault:smtp'}", "{'password':''}", "{'password':null}",
        "{'password':{'ref':'vault:smtp'}}", "{'passwords':'none'}",
        "{'note':'the password is with the operator'}", "{'secretary':'Ann'}",
        "{'a':'AKIA'}", "{'a':'XAKIAIOSFODNN7EXAMPLE'}", "{'a':'AKIAiosfodnn7example'}",
        "{'a':'ghp_short'}", "{'a':'-----BEGIN PUBLIC KEY-----'}",
        "{'a':'-----BEGIN CERTIFICATE-----'}", "{'a':'pawl_jobs_by_queue_name'}",
        "{'a':'pawl_'}", "{'token':'page-2'}",
    };
    for (size_t i = 0; i < countof(good); i++)
        must_read(str_format(test_arena(), "'payload':%s", good[i]).s);
}

TEST(OPS_15_a_time_up_to_60_s_in_the_past_is_taken_and_an_older_one_refused)
{
    EXPECT_INT(must_read("'scheduled_for':'2026-08-22T09:59:00Z'").scheduled_for,
               NOW - SECONDS(60));
    struct contract contract = must_read("'scheduled_for':'2026-08-22T09:58:59.999Z'");
    struct problems problems = { .arena = test_arena() };
    contract.idempotency_key = S("");  // cannot be the repeat of an earlier request
    EXPECT(!contract_check(&contract, NOW, "", &problems));
    EXPECT_STR(problems.list[0].message, "lies more than 60 s in the past");
    EXPECT_PROBLEM("'scheduled_for':'2025-08-20T10:00:00Z'",
                   "scheduled_for: lies more than 60 s in the past");
    EXPECT_PROBLEM("'scheduled_for':'2036-08-23T10:00:00Z'",
                   "scheduled_for: lies more than 10 years ahead");
}

TEST(OPS_15_a_repeat_that_comes_after_its_time_has_the_same_hash)
{
    struct contract first, again;
    struct contract_rules rules = strict();
    struct str text = good_contract(test_arena(),
                                    quotes("'scheduled_for':'2026-08-22T10:00:05Z'"));
    EXPECT_STR(read_by(&rules, text, &first), "");
    rules.now = NOW + SECONDS(30);
    EXPECT_STR(read_by(&rules, text, &again), "");
    expect_str(contract_hash(test_arena(), &again), contract_hash(test_arena(), &first),
               PLACE("the hash"));
}

TEST(OPS_20_nothing_can_be_enqueued_to_the_dead_letters)
{
    EXPECT_PROBLEM("'queue':'q:deadletter'", "queue: nothing can be enqueued to q:deadletter");
}
