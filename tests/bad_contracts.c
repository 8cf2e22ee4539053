// Every field times every way to be wrong that is wrong for it, then what is wrong for one alone.

#include "bad_contracts.h"

#include <assert.h>
#include <string.h>

#include "base/arena.h"
#include "base/json.h"
#include "model/contract.h"

// In these tables ' stands for ", except in texts that are taken as they are (RAW).

// JSON values by what they are good for. A field says which of these it takes.
enum good_for { NONE = 0, FLAG = 1, NUMBER = 2, TEXT = 4, OBJECT = 8, LIST = 16, ABSENT = 32 };

// clang-format off
#define RAW(text) { text, sizeof(text) - 1 }

static const struct {
    const char *value;
    unsigned good_for;
} kinds[] = {
    { "null", ABSENT }, { "true", FLAG }, { "false", FLAG }, { "7", NUMBER }, { "-7.5", NONE },
    { "1e3", NONE }, { "'text'", TEXT }, { "''", NONE }, { "[]", LIST }, { "[0]", NONE },
    { "['text']", NONE }, { "{}", OBJECT }, { "{'a':'b'}", OBJECT },
};

// What is not JSON, and JSON that Pawl does not take; in the place of any value.
static const struct {
    struct str value;
    const char *says;
} broken[] = {
    { RAW("9223372036854775808"), "the number" },
    { RAW("-9223372036854775809"), "the number" },
    { RAW("1e400"), "the number" },
    { RAW("[-1e400]"), "the number" },
    { RAW("NaN"), "invalid token" },
    { RAW("-NaN"), "invalid token" },
    { RAW("Infinity"), "invalid token" },
    { RAW("-Infinity"), "invalid token" },
    { RAW("0x10"), "expected" },
    { RAW("01"), "invalid token" },
    { RAW("+1"), "invalid token" },
    { RAW(".5"), "invalid token" },
    { RAW("5."), "invalid token" },
    { RAW("True"), "invalid token" },
    { RAW("text"), "invalid token" },
    { RAW("'text'"), "invalid token" },
    { RAW(""), "unexpected token" },
    { RAW("[1"), "expected" },
    { RAW("[1,]"), "unexpected token" },
    { RAW("{\"a\"}"), "expected" },
    { RAW("{\"a\":1,\"a\":1}"), "already in the object" },
    { RAW("\"open"), "ends before" },
    { RAW("\"\\x41\""), "invalid escape" },
    { RAW("\"\\u12\""), "invalid escape" },
    { RAW("\"\\ud800\""), "invalid Unicode" },
    { RAW("\"a\\u0000b\""), "NUL" },
    { RAW("{\"a\\u0000b\":1}"), "NUL" },
    { RAW("\"a\0b\""), "NUL" },
    { RAW("\"a\001b\""), "control character" },
    { RAW("\"\xff\""), "UTF-8" },              // never a byte of UTF-8
    { RAW("\"\x80\""), "UTF-8" },              // the middle of nothing
    { RAW("\"\xc0\xaf\""), "UTF-8" },          // two bytes for a slash
    { RAW("\"\xed\xa0\x80\""), "UTF-8" },      // half a pair of surrogates
    { RAW("\"\xe2\x82\""), "UTF-8" },          // cut short
    { RAW("\"\xf4\x90\x80\x80\""), "UTF-8" },  // above U+10FFFF
};

// Control characters that JSON can write and keys must not have.
static const char *const controls[] = {
    "'a\\u0001b'", "'\\u001f'", "'a\\n'", "'\\ta'", "'a\\u007fb'", "'a\\u0085b'",
};

// A field, a good value of it, what it takes of `kinds`, how long its text may be (0: not free
// text), and values that are wrong for it alone.
static const struct bad_field {
    const char *name;
    const char *good;
    unsigned takes;
    size_t bytes_max;
    const char *bad[28];
} fields[] = {
    { "job_type", "'report.export'", TEXT, NAME_BYTES_MAX,
      { "' a'", "'a b'", "'a/b'", "'.a'", "'-a'", "'_a'", "':a'", "'a\xc3\xa9'",
        "'a,b'", "'a\\\\b'" } },
    { "payload", "{'note':'hunter2'}", OBJECT, 0, { NULL } },
    { "idempotency_key", "'k1'", TEXT, KEY_BYTES_MAX, { NULL } },
    { "org_id", "'00000000-0000-7000-8000-000000000000'", ABSENT, 0,
      { "'00000000-0000-7000-8000-000000000001'", "'00000000-0000-7000-8000-00000000000'",
        "'00000000-0000-7000-8000-000000000000 '", "'00000000000070008000000000000000'" } },
    { "project_id", "'01900000-0000-7000-8000-00000000000a'", ABSENT, 0,
      { "'01900000-0000-7000-8000-00000000000'", "'01900000-0000-7000-8000-00000000000aa'",
        "'01900000000070008000000000000000'", "'01900000-0000-7000-8000-00000000000g'",
        "'01900000_0000_7000_8000_00000000000a'", "'{01900000-0000-7000-8000-00000000000a}'",
        "'urn:uuid:01900000-0000-7000-8000-00000000000a'",
        "' 1900000-0000-7000-8000-00000000000a'", "'0190000-00000-7000-8000-00000000000a'",
        "'01900000-0000-7000-8000-0000000000\xc3\xa9'" } },
    { "actor_type", "'user'", ABSENT, 0,
      { "'User'", "'USER'", "'api-key'", "'apikey'", "' user'", "'user '", "'root'",
        "'user\\u0001'" } },
    { "actor_id", "'u1'", TEXT | ABSENT, KEY_BYTES_MAX, { NULL } },
    { "request_id", "'r1'", TEXT | ABSENT, KEY_BYTES_MAX, { NULL } },
    { "correlation_id", "'c1'", TEXT | ABSENT, KEY_BYTES_MAX, { NULL } },
    { "scheduled_for", "'2026-08-22T11:00:00Z'", ABSENT, 0,
      { "'now'", "'2026-08-22'", "'2026-08-22T11:00:00'", "'2026-08-22T11:00Z'",
        "'2026-08-22T11:00:00Z '", "' 2026-08-22T11:00:00Z'", "'2026-13-22T11:00:00Z'",
        "'2026-00-22T11:00:00Z'", "'2026-02-29T11:00:00Z'", "'2026-08-32T11:00:00Z'",
        "'2026-08-22T24:00:00Z'", "'2026-08-22T11:60:00Z'", "'2026-08-22T11:00:61Z'",
        "'2026-08-22T11:00:00+25:00'", "'2026-08-22T11:00:00+02'", "'26-08-22T11:00:00Z'",
        "'2026-08-22T11:00:00.Z'", "'10000-01-01T00:00:00Z'", "'1969-12-31T23:59:59Z'",
        "'1970-01-01T00:00:00Z'", "'2001-01-01T00:00:00Z'", "'9999-12-31T23:59:59Z'",
        "'1787396400'", "1787396400", "'2026-08-22T11:00:00Z\\u0001'" } },
    { "traceparent", "'00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'", ABSENT, 0,
      { "'00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01'",
        "'00-0af7651916cd43dd8448eb211c80319c-b7ad6b716920333G-01'",
        "'00-00000000000000000000000000000000-b7ad6b7169203331-01'",
        "'00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01'",
        "'ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'",
        "'00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0'",
        "'00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-'",
        "'00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-x'",
        "'cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01x'",
        "'cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-\\u0001'",
        "'00_0af7651916cd43dd8448eb211c80319c_b7ad6b7169203331_01'",
        "'0-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'",
        "'00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331'" } },
    { "queue", "'q:default'", TEXT | ABSENT, NAME_BYTES_MAX,
      { "'q:deadletter'", "'q default'", "'q/default'", "'q\xc3\xa9'", "'q,r'",
        "'*'" } },
    { "priority", "7", NUMBER | ABSENT, 0,
      { "-101", "101", "1.0", "0.0", "-0.0", "1e1", "2147483648", "4294967296",
        "9223372036854775807", "-9223372036854775808", "'7'", "1.7976931348623157e308" } },
    { "serial_key", "'s1'", TEXT | ABSENT, KEY_BYTES_MAX, { NULL } },
    { "policy", "'default'", ABSENT, 0,
      { "'nope'", "'Default'", "' default'", "'default '", "'default\\u0001'" } },
    { "max_wait", "'30s'", ABSENT, 0,
      { "'30'", "'s'", "'30 s'", "' 30s'", "'30s '", "'-30s'", "'+30s'", "'0s'",
        "'0ms'", "'1.5s'", "'30S'", "'1w'", "'1m30s'", "'500us'", "'366d'",
        "'9223372036854775807d'", "'99999999999999999999s'", "30000", "'30s\\u0001'" } },
    { "after", "['01900000-0000-7000-8000-00000000000a']", LIST | ABSENT, 0,
      { "'01900000-0000-7000-8000-00000000000a'", "['']", "[null]",
        "['01900000-0000-4000-8000-00000000000a']",
        "['00000000-0000-7000-8000-000000000000']" } },
    { "batch_id", "'01900000-0000-7000-8000-00000000000a'", ABSENT, 0,
      { "'01900000-0000-4000-8000-00000000000a'", "'00000000-0000-7000-8000-000000000000'" } },
    { "submit", "true", FLAG | ABSENT, 0, { "0", "1", "'true'", "'false'", "'yes'" } },
    { "authorized_by", "'boss'", TEXT | ABSENT, KEY_BYTES_MAX, { NULL } },
    { "limit_key", "'acme'", TEXT | ABSENT, KEY_BYTES_MAX, { NULL } },
};

// Members that no caller may send, and the field that names them.
static const struct {
    const char *member, *field;
} unknown[] = {
    { "'job_id':'01900000-0000-7000-8000-00000000000a'", "job_id" },
    { "'created_at':'2026-08-22T10:00:00Z'", "created_at" },
    { "'state':'SUCCEEDED'", "state" }, { "'attempt':1", "attempt" },
    { "'max_attempts':99", "max_attempts" }, { "'category':'critical'", "category" },
    { "'origin':'retry'", "origin" }, { "'origin_queue':'q:default'", "origin_queue" },
    { "'parent_job_id':null", "parent_job_id" }, { "'result':{}", "result" },
    { "'hold':true", "hold" }, { "'now':0", "now" }, { "'jobType':'a'", "jobType" },
    { "'JOB_TYPE':'a'", "JOB_TYPE" }, { "'job-type':'a'", "job-type" },
    { "'job_type ':'a'", "job_type " }, { "'payloads':{}", "payloads" },
    { "'__proto__':{}", "__proto__" }, { "'\xc3\xa9':0", "\xc3\xa9" },
};

// Payloads with a secret, and where it is.
static const struct {
    const char *payload, *field;
} secrets[] = {
    { "{'password':'hunter2'}", "payload.password" },
    { "{'smtp':{'password':'hunter2'}}", "payload.smtp.password" },
    { "{'smtp':[{},{'Pass-Word':'hunter2'}]}", "payload.smtp[1].Pass-Word" },
    { "{'a':[[0,{'apiKey':'hunter2'}]]}", "payload.a[0][1].apiKey" },
    { "{'API_KEY':'hunter2'}", "payload.API_KEY" },
    { "{'a':[{'api_key':'hunter2'},{'b':'c'}],'d':'e'}", "payload.a[0].api_key" },
    { "{'passwd':'hunter2'}", "payload.passwd" },
    { "{'secret':'hunter2'}", "payload.secret" },
    { "{'client_secret':'hunter2'}", "payload.client_secret" },
    { "{'accessToken':'hunter2'}", "payload.accessToken" },
    { "{'refresh-token':'hunter2'}", "payload.refresh-token" },
    { "{'private_key':'hunter2'}", "payload.private_key" },
    { "{'headers':{'Authorization':'hunter2'}}", "payload.headers.Authorization" },
    { "{'credit_card':'hunter2'}", "payload.credit_card" },
    { "{'pem':'hunter2\\n-----BEGIN RSA PRIVATE KEY-----\\nMII'}", "payload.pem" },
    { "{'pem':'-----BEGIN PRIVATE KEY-----'}", "payload.pem" },
    { "{'aws':'id=AKIAIOSFODNN7EXAMPLE'}", "payload.aws" },
    { "{'list':['ghp_0123456789abcdefghijABCDEFGHIJ012345']}", "payload.list[0]" },
    { "{'k':'pawl_live_a1B2c3D4e5_0123456789abcdefghijABCDEFGHIJ0123456789abc_a1B2c3'}",
      "payload.k" },
};

// Texts that are no job object at all.
static const struct {
    struct str text;
    const char *field, *says;
} whole[] = {
    { RAW("null"), "", NULL }, { RAW("true"), "", NULL }, { RAW("7"), "", NULL },
    { RAW("\"text\""), "", NULL }, { RAW("[]"), "", NULL }, { RAW("[{}]"), "", NULL },
    { RAW(""), NULL, "" }, { RAW(" "), NULL, "" }, { RAW("{"), NULL, "" }, { RAW("}"), NULL, "" },
    { RAW("\0"), NULL, "" }, { RAW("\xef\xbb\xbf{}"), NULL, "" },
    { RAW("\xff\xfe{\0}\0"), NULL, "" },
    { RAW("{} {}"), NULL, "more after the value" }, { RAW("{}x"), NULL, "more after the value" },
    { RAW("{job_type:\"a\"}"), NULL, "" }, { RAW("{'job_type':'a'}"), NULL, "" },
    { RAW("{\"job_type\":\"a\",}"), NULL, "" }, { RAW("{\"job_type\"=\"a\"}"), NULL, "" },
    { RAW("// {}"), NULL, "" }, { RAW("{\"job_type\":\"a\" /* b */}"), NULL, "" },
};
// clang-format on

struct str json_quotes(struct arena *arena, const char *text)
{
    struct buf quoted = buf_new(arena, BAD_CONTRACT_BYTES_MAX);
    for (; *text; text++)
        buf_add_char(&quoted, *text == '\'' ? '"' : *text);
    return buf_str(&quoted);
}

struct list {
    struct arena *arena;
    struct bad_contract *cases;
    size_t count, count_max;
};

static void add(struct list *list, struct bad_contract bad)
{
    assert(list->count < list->count_max);
    list->cases[list->count++] = bad;
}

static const struct bad_field *field_named(const char *name)
{
    size_t i = 0;
    while (i < countof(fields) && strcmp(fields[i].name, name) != 0)
        i++;
    assert(i < countof(fields));
    return &fields[i];
}

static void add_good(struct buf *text, const char *field, struct str but)
{
    struct str start = str_format(text->arena, "\"%s\":", field);
    if (!str_starts(but, start))
        buf_addf(text, "%.*s%.*s,", STR(start),
                 STR(json_quotes(text->arena, field_named(field)->good)));
}

struct str good_contract(struct arena *arena, struct str member)
{
    struct buf text = buf_new(arena, BAD_CONTRACT_BYTES_MAX);
    buf_add_char(&text, '{');
    add_good(&text, "job_type", member);
    add_good(&text, "idempotency_key", member);
    add_good(&text, "payload", member);
    if (member.n == 0)
        text.n--;
    buf_add(&text, member);
    buf_add_char(&text, '}');
    assert(!text.full);
    return buf_str(&text);
}

// Adds a good contract whose last member is this bad one.
static void add_member(struct list *list, struct str name, struct str member,
                       struct bad_contract bad)
{
    bad.name = name;
    bad.text = good_contract(list->arena, member);
    bad.to = bad.text.n - 1;
    bad.from = bad.to - member.n;
    add(list, bad);
}

static struct str member_of(struct arena *arena, const char *field, struct str value)
{
    struct buf member = buf_new(arena, BAD_CONTRACT_BYTES_MAX);
    buf_addf(&member, "\"%s\":", field);
    buf_add(&member, value);
    return buf_str(&member);
}

static void add_value(struct list *list, const struct bad_field *field, const char *how,
                      struct str value, struct bad_contract bad)
{
    struct str name = str_format(list->arena, "%s: %s", field->name, how);
    add_member(list, name, member_of(list->arena, field->name, value), bad);
}

static struct str repeated(struct arena *arena, const char *part, size_t bytes)
{
    struct buf text = buf_new(arena, BAD_CONTRACT_BYTES_MAX);
    while (text.n < bytes)
        buf_add(&text, str_of(part));
    return buf_str(&text);
}

static struct str quoted(struct arena *arena, struct str text)
{
    return str_format(arena, "\"%.*s\"", STR(text));
}

static struct str nested(struct arena *arena, size_t levels)
{
    return str_format(arena, "%.*s%.*s", STR(repeated(arena, "[", levels)),
                      STR(repeated(arena, "]", levels)));
}

// Of a list that is wrong the first item is.
static const char *blamed(const struct bad_field *field, const char *value)
{
    bool item = value[0] == '[' && (field->takes & LIST) != 0;
    return item ? "after[0]" : field->name;
}

static void add_kinds(struct list *list, const struct bad_field *field)
{
    struct bad_contract named = { .field = field->name };
    for (size_t i = 0; i < countof(kinds); i++) {
        named.field = blamed(field, kinds[i].value);
        named.key_required = kinds[i].good_for == ABSENT
            && strcmp(field->name, "idempotency_key") == 0;
        if ((field->takes & kinds[i].good_for) == 0)
            add_value(list, field, kinds[i].value, json_quotes(list->arena, kinds[i].value),
                      named);
    }
    named.key_required = false;
    for (size_t i = 0; i < countof(field->bad) && field->bad[i]; i++) {
        named.field = blamed(field, field->bad[i]);
        add_value(list, field, field->bad[i], json_quotes(list->arena, field->bad[i]), named);
    }
}

static void add_broken(struct list *list, const struct bad_field *field)
{
    struct arena *a = list->arena;
    for (size_t i = 0; i < countof(broken); i++)
        add_value(list, field, str_format(a, "%.*s (%s)", STR(broken[i].value), broken[i].says).s,
                  broken[i].value, (struct bad_contract){ .says = broken[i].says });
    add_value(list, field, "nested too deeply", nested(a, JSON_DEPTH_MAX),
              (struct bad_contract){ .says = "nested too deeply" });
    struct str twice = str_format(a, "%s,'%s':%s", field->good, field->name, field->good);
    add_value(list, field, "twice", json_quotes(a, twice.s),
              (struct bad_contract){ .says = "already in the object" });
}

static void add_texts(struct list *list, const struct bad_field *field)
{
    struct arena *a = list->arena;
    struct bad_contract named = { .field = field->name };
    if (field->bytes_max == 0)
        return;
    for (size_t i = 0; i < countof(controls); i++)
        add_value(list, field, controls[i], json_quotes(a, controls[i]), named);
    add_value(list, field, "one byte too long", quoted(a, repeated(a, "x", field->bytes_max + 1)),
              named);
    add_value(list, field, "too long in bytes, not in characters",
              quoted(a, repeated(a, "\xe2\x82\xac", field->bytes_max + 1)), named);
    add_value(list, field, "huge", quoted(a, repeated(a, "x", 100000)), named);
}

static struct str payload_with(struct arena *arena, struct str value)
{
    struct buf text = buf_new(arena, BAD_CONTRACT_BYTES_MAX);
    buf_add(&text, S("{\"note\":\"hunter2\",\"value\":"));
    buf_add(&text, value);
    buf_add_char(&text, '}');
    return buf_str(&text);
}

static void add_payloads(struct list *list)
{
    struct arena *a = list->arena;
    const struct bad_field *payload = field_named("payload");
    for (size_t i = 0; i < countof(secrets); i++)
        add_value(list, payload, secrets[i].payload, json_quotes(a, secrets[i].payload),
                  (struct bad_contract){ .field = secrets[i].field });

    size_t around = strlen("{\"a\":\"\"}");
    struct str long_text = repeated(a, "x", PAYLOAD_BYTES_MAX + 1 - around);
    add_value(list, payload, "one byte too large",
              str_format(a, "{\"a\":\"%.*s\"}", STR(long_text)),
              (struct bad_contract){ .field = "payload" });
    // 1 MiB as it was sent and more as it is stored: a control character becomes six bytes.
    struct str tabs = repeated(a, "\\b\\u0001", PAYLOAD_BYTES_MAX - 1);
    add_value(list, payload, "too large", str_format(a, "{\"a\":\"%.*s\"}", STR(tabs)),
              (struct bad_contract){ .field = "payload" });
    add_value(list, payload, "one level too deep",
              str_format(a, "{\"a\":%.*s}", STR(nested(a, JSON_DEPTH_MAX - 1))),
              (struct bad_contract){ .says = "nested too deeply" });
    add_value(list, payload, "key too long",
              str_format(a, "{\"%.*s\":0}", STR(repeated(a, "x", JSON_KEY_BYTES_MAX + 1))),
              (struct bad_contract){ .says = "257 bytes" });
    for (size_t i = 0; i < countof(broken); i++)
        add_value(list, payload, str_format(a, "with %.*s", STR(broken[i].value)).s,
                  payload_with(a, broken[i].value),
                  (struct bad_contract){ .says = broken[i].says });
}

static void add_absent(struct list *list, const char *field, const char *text, bool key_required)
{
    add(list, (struct bad_contract){
                  .name = str_format(list->arena, "%s: absent", field),
                  .text = json_quotes(list->arena, text),
                  .field = field,
                  .key_required = key_required,
              });
}

const struct bad_contract *bad_contracts(struct arena *arena, size_t *count)
{
    enum { COUNT_MAX = 4000 };
    struct list list = { arena, arena_new(arena, struct bad_contract, COUNT_MAX), 0, COUNT_MAX };
    for (size_t i = 0; i < countof(fields); i++) {
        add_kinds(&list, &fields[i]);
        add_texts(&list, &fields[i]);
        add_broken(&list, &fields[i]);
    }
    add_payloads(&list);
    for (size_t i = 0; i < countof(unknown); i++)
        add_member(&list, str_format(arena, "unknown: %s", unknown[i].member),
                   json_quotes(arena, unknown[i].member),
                   (struct bad_contract){ .field = unknown[i].field });
    for (size_t i = 0; i < countof(whole); i++)
        add(&list, (struct bad_contract){
                       .name = str_format(arena, "whole: %.*s", STR(whole[i].text)),
                       .text = whole[i].text,
                       .field = whole[i].field,
                       .says = whole[i].says,
                       .to = whole[i].text.n,
                   });
    add_absent(&list, "job_type", "{'payload':{},'idempotency_key':'k1'}", false);
    add_absent(&list, "payload", "{'job_type':'a','idempotency_key':'k1'}", false);
    add_absent(&list, "idempotency_key", "{'job_type':'a','payload':{}}", true);
    *count = list.count;
    return list.cases;
}
