// One row per field a caller may send. Reading takes a row's value out of the JSON into the struct,
// checking looks at the struct: C code that fills a contract by hand meets the same checks.

#include "model/contract.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/json_plain.h"
#include "base/time_text.h"
#include "model/after.h"
#include "model/json_field.h"
#include "model/key_recipe.h"
#include "model/secret.h"
#include "model/text_rule.h"

#define REPEAT_US_MAX DAYS(366)
#define WAIT_US_MIN MILLISECONDS(1)
#define WAIT_US_MAX DAYS(365)

struct reader {
    const struct contract *contract;
    pawl_time now;
    const char *prefix;
    struct problems *problems;
    // Only when there is JSON to read:
    const struct contract_rules *rules;
    struct contract *into;  // the same contract
    const json_t *payload;  // already parsed
    const struct job_type *type;  // NULL: not configured
    const struct recipe *recipe;  // that makes the key; NULL: none is needed, or none is known
};

struct field {
    const char *name;
    const char *want;  // completes "must be ..."
    bool (*read)(struct reader *r, const struct field *field, const json_t *value);
    bool (*absent)(struct reader *r);  // fills or refuses what was not sent
    bool (*check)(struct reader *r, const struct field *field);
    bool required;  // a stored job has it
    bool sent;      // and the caller must send it
    const char *type, *format;  // of JSON, for documentation; NULL: string, none
    // For fields of text:
    size_t offset;  // in struct contract
    size_t bytes_max;
    bool (*fits)(struct str text);
};

PRINTF(3, 4)
static bool wrong(struct reader *r, const char *field, const char *format, ...)
{
    char message[256];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    struct str name = str_format(r->problems->arena, "%s%s", r->prefix, field);
    problem_add(r->problems, name.s, "%s", message);
    return false;
}
#define wrong(...) REFUSES(wrong(__VA_ARGS__))

static const char *kind(const json_t *value)
{
    static const char *const names[] = {
        [JSON_OBJECT] = "an object",
        [JSON_ARRAY] = "an array",
        [JSON_STRING] = "text",
        [JSON_INTEGER] = "a whole number",
        [JSON_REAL] = "a number with a fraction or exponent",
        [JSON_TRUE] = "true",
        [JSON_FALSE] = "false",
        [JSON_NULL] = "null",
    };
    return names[json_typeof(value)];
}

static bool wrong_kind(struct reader *r, const struct field *field, const json_t *value)
{
    return wrong(r, field->name, "must be %s, not %s", field->want, kind(value));
}

static struct str text_of(const json_t *value)
{
    return (struct str){ json_string_value(value), json_string_length(value) };
}

static bool read_text(struct reader *r, const struct field *field, const json_t *value)
{
    if (!json_is_string(value))
        return wrong_kind(r, field, value);
    if (json_string_length(value) == 0)
        return wrong(r, field->name, "must be %s: it is empty", field->want);
    struct str *to = (struct str *)(void *)((char *)r->into + field->offset);
    *to = str_dup(r->problems->arena, text_of(value));
    return true;
}

static bool check_text(struct reader *r, const struct field *field)
{
    const char *from = (const char *)r->contract + field->offset;
    struct str text = *(const struct str *)(const void *)from;
    if (text.n == 0)
        return !field->required || wrong(r, field->name, "is required: %s", field->want);
    if (text.n > field->bytes_max)
        return wrong(r, field->name, "must be %s: it has %zu bytes, at most %zu are allowed",
                     field->want, text.n, field->bytes_max);
    return field->fits(text) || wrong(r, field->name, "must be %s", field->want);
}

static struct str lower(struct arena *arena, struct str text)
{
    struct buf copy = buf_new(arena, KEY_BYTES_MAX);
    for (size_t i = 0; i < text.n && i < KEY_BYTES_MAX; i++) {
        char c = text.s[i];
        buf_add_char(&copy, c >= 'A' && c <= 'F' ? (char)(c | 0x20) : c);
    }
    return buf_str(&copy);
}

static bool read_project(struct reader *r, const struct field *field, const json_t *value)
{
    if (!read_text(r, field, value))
        return false;
    r->into->project_id = lower(r->problems->arena, r->into->project_id);
    return true;
}

// The org is the caller's; saying it again is allowed, saying another is not (OPS-10).
static bool read_org(struct reader *r, const struct field *field, const json_t *value)
{
    if (!json_is_string(value))
        return wrong_kind(r, field, value);
    if (!str_eq(lower(r->problems->arena, text_of(value)), r->rules->caller->org_id))
        return wrong(r, field->name, "is not the caller's org");
    return true;
}

static bool in_category(const struct reader *r, enum category category)
{
    return str_eq(r->contract->policy.category, str_of(category_row(category)->name));
}

// The recipe of the type; a notification has one of its own (OPS-2).
static const struct recipe *find_recipe(const struct reader *r)
{
    static const struct recipe notification = { .kind = RECIPE_NOTIFICATION };
    if (r->type && r->type->key.kind != RECIPE_NONE)
        return &r->type->key;
    return r->rules->by_category && in_category(r, CATEGORY_NOTIFICATION) ? &notification : NULL;
}

static bool check_project(struct reader *r, const struct field *field)
{
    if (!check_text(r, field))
        return false;
    const char *problem = r->rules ? caller_project(r->rules->caller, &r->into->project_id) : NULL;
    return !problem || wrong(r, field->name, "%s", problem);
}

// A key is made when everything else is read.
static bool absent_key(struct reader *r)
{
    r->recipe = find_recipe(r);
    if (r->recipe || !r->rules->key_required
        || str_eq(r->contract->policy.name, S("document")))
        return true;
    return wrong(r, "idempotency_key", "is required: what makes this job the same as another");
}

// A job made from another has that one's key with a number after it.
static bool check_key(struct reader *r, const struct field *field)
{
    struct field row = *field;
    if (r->contract->parent.high)
        row.bytes_max += KEY_SUFFIX_BYTES_MAX;
    return check_text(r, &row);
}

static bool absent_queue(struct reader *r)
{
    r->into->queue = r->contract->policy.queue;
    return true;
}

static bool critical_allowed(const struct reader *r)
{
    const struct contract_rules *rules = r->rules;
    return !rules || !rules->by_category || rules->asks_critical || (r->type && r->type->critical);
}

static bool check_queue(struct reader *r, const struct field *field)
{
    if (str_eq(r->contract->queue, DEADLETTER_QUEUE))
        return wrong(r, field->name, "nothing can be enqueued to q:deadletter");
    if (str_eq(r->contract->queue, CRITICAL_QUEUE) && !critical_allowed(r))
        return wrong(r, field->name, "q:critical takes only jobs of types that are configured as "
                                     "critical, and what an operator sends");
    return check_text(r, field);
}

static bool read_actor_type(struct reader *r, const struct field *field, const json_t *value)
{
    if (!json_is_string(value))
        return wrong_kind(r, field, value);
    return actor_type_parse(text_of(value), &r->into->actor_type)
        || wrong(r, field->name, "must be %s", field->want);
}

static bool check_actor_type(struct reader *r, const struct field *field)
{
    return r->contract->actor_type < ACTOR_TYPES
        || wrong(r, field->name, "must be %s", field->want);
}

static bool wrong_policy(struct reader *r, struct str name)
{
    struct buf known = buf_new(r->problems->arena, KEY_BYTES_MAX);
    for (size_t i = 0; policy_builtin_at(i); i++)
        buf_addf(&known, " %.*s", STR(policy_builtin_at(i)->name));
    name.n = name.n < NAME_BYTES_MAX ? name.n : NAME_BYTES_MAX;
    return wrong(r, "policy", "there is no policy `%.*s`; built in are%.*s", STR(name),
                 STR(buf_str(&known)));
}

// With an unknown policy reading goes on under `default`, to find what else is wrong.
static bool choose_policy(struct reader *r, struct str name)
{
    const struct contract_rules *rules = r->rules;
    const struct policy *policy = rules->policy(rules->self, name, r->contract->job_type);
    r->into->policy = policy ? *policy : *policy_builtin(S("default"));
    r->type = rules->type ? rules->type(rules->self, r->contract->job_type) : NULL;
    if (r->type)
        r->into->policy = job_type_policy(r->type, &r->into->policy);
    return policy || REFUSES(wrong_policy(r, name));
}

static bool absent_policy(struct reader *r)
{
    return choose_policy(r, S(""));
}

static bool read_policy(struct reader *r, const struct field *field, const json_t *value)
{
    struct str name = json_is_string(value) ? text_of(value) : S("");
    if (!choose_policy(r, name))
        return false;
    if (!json_is_string(value))
        return wrong_kind(r, field, value);
    return name.n > 0 || wrong(r, field->name, "must be %s: it is empty", field->want);
}

static bool check_policy(struct reader *r, const struct field *field)
{
    struct problems found = { .arena = r->problems->arena };
    policy_check(&r->contract->policy, &found);
    for (size_t i = 0; i < found.count; i++)
        (void)wrong(r, field->name, "%.*s %.*s", STR(found.list[i].field),
                    STR(found.list[i].message));
    return check_text(r, field) && found.count == 0;
}

static bool read_time(struct reader *r, const struct field *field, const json_t *value)
{
    pawl_time time;
    if (!json_is_string(value))
        return wrong_kind(r, field, value);
    if (!time_parse(text_of(value), &time))
        return wrong(r, field->name, "must be %s", field->want);
    r->into->scheduled_for = time > 0 ? time : 1;  // 0 says "not given"; 1970 is too old anyway
    return true;
}

static bool delay_allowed(const struct reader *r)
{
    return !r->rules || !r->rules->by_category || (r->type && r->type->allow_delay)
        || in_category(r, CATEGORY_NOTIFICATION) || in_category(r, CATEGORY_MAINTENANCE);
}

// A time just past is due at once and kept as it was said, so that the same request has the same
// hash when it is repeated a moment later. With a key the request may be the repeat of one whose
// time has come and gone: only the store can tell, so job_enqueue refuses the others.
static bool check_time(struct reader *r, const struct field *field)
{
    pawl_time time = r->contract->scheduled_for;
    bool keyed = r->contract->idempotency_key.n || r->recipe;
    int64_t late_us_max = keyed ? REPEAT_US_MAX : CLOCK_DRIFT_US;
    if (time != 0 && !delay_allowed(r))
        return wrong(r, field->name, "is only for notifications, maintenance, and types that are "
                                     "configured with allow_delay: true");
    if (time != 0 && time < r->now - late_us_max)
        return wrong(r, field->name, "lies more than 60 s in the past");
    if (time > r->now + SCHEDULE_US_MAX)
        return wrong(r, field->name, "lies more than 10 years ahead");
    return true;
}

static bool read_priority(struct reader *r, const struct field *field, const json_t *value)
{
    if (!json_is_integer(value))
        return wrong_kind(r, field, value);
    r->into->priority = json_integer_value(value);
    return true;
}

static bool check_priority(struct reader *r, const struct field *field)
{
    int64_t priority = r->contract->priority;
    return (priority >= PRIORITY_MIN && priority <= PRIORITY_MAX)
        || wrong(r, field->name, "must be %s", field->want);
}

static bool read_wait(struct reader *r, const struct field *field, const json_t *value)
{
    if (!json_is_string(value))
        return wrong_kind(r, field, value);
    int64_t *wait = &r->into->max_wait_us;
    return (duration_parse(text_of(value), wait) && *wait > 0)
        || wrong(r, field->name, "must be %s", field->want);
}

static bool check_wait(struct reader *r, const struct field *field)
{
    int64_t wait = r->contract->max_wait_us;
    return wait == 0 || (wait >= WAIT_US_MIN && wait <= WAIT_US_MAX)
        || wrong(r, field->name, "must be %s", field->want);
}

static bool read_submit(struct reader *r, const struct field *field, const json_t *value)
{
    if (!json_is_boolean(value))
        return wrong_kind(r, field, value);
    r->into->hold = json_is_false(value);
    return true;
}

static bool read_after(struct reader *r, const struct field *field, const json_t *value)
{
    struct str path = str_format(r->problems->arena, "%s%s", r->prefix, field->name);
    return after_read(value, path.s, r->into, r->problems);
}

static bool read_batch(struct reader *r, const struct field *field, const json_t *value)
{
    struct id *batch = &r->into->batch;
    bool named = json_is_string(value) && id_parse(text_of(value), batch) && batch->high;
    return named || wrong(r, field->name, "must be %s", field->want);
}

static bool read_payload(struct reader *r, const struct field *field, const json_t *value)
{
    if (!json_is_object(value))
        return wrong_kind(r, field, value);
    r->payload = value;
    r->into->payload = json_text(r->problems->arena, value);
    r->into->secrets_allowed = r->type && r->type->secrets_allowed;
    return true;
}

static bool check_payload_value(struct reader *r, const struct field *field, const json_t *value)
{
    if (!json_is_object(value))
        return wrong_kind(r, field, value);
    const struct contract_rules *rules = r->rules;
    size_t bytes_max = rules && rules->payload_bytes_max ? rules->payload_bytes_max
                                                         : PAYLOAD_BYTES_MAX;
    // The job object around it is one level.
    int levels = (rules && rules->depth_max ? rules->depth_max : JSON_DEPTH_MAX) - 1;
    if (r->contract->payload.n > bytes_max) {
        r->problems->large++;
        return wrong(r, field->name, "has %zu bytes: at most %zu are allowed",
                     r->contract->payload.n, bytes_max);
    }
    if (json_deeper_than(value, levels))
        return wrong(r, field->name, "is nested too deeply: at most %d levels are allowed",
                     levels);
    if (r->contract->secrets_allowed)
        return true;
    struct str path = str_format(r->problems->arena, "%s%s", r->prefix, field->name);
    return secret_none(value, path.s, r->problems);
}

// At first sight, without a tree: an object with nothing in it that the checks below refuse.
// json_plain goes less deep than they allow.
static bool payload_plain(const struct contract *contract)
{
    struct str payload = contract->payload;
    return payload.n <= PAYLOAD_BYTES_MAX && payload.s[0] == '{'
        && json_plain(payload, contract->secrets_allowed ? NULL : secret_key_plain)
        && (contract->secrets_allowed || !secret_possible(payload));
}

static bool check_payload(struct reader *r, const struct field *field)
{
    if (r->contract->payload.n == 0)
        return wrong(r, field->name, "is required: %s", field->want);
    if (r->payload)  // as it always is with rules, which may allow less
        return check_payload_value(r, field, r->payload);
    if (payload_plain(r->contract))
        return true;
    SCOPED(json) json_t *value = NULL;
    struct pawl_error err;
    if (!json_parse(r->contract->payload, PAYLOAD_BYTES_MAX, &value, &err))
        return wrong(r, field->name, "%s", err.message);
    return check_payload_value(r, field, value);
}

// The fields. `policy` stands before those whose rules depend on it.

#define AT(member) .offset = offsetof(struct contract, member)
#define TEXT(member) .read = read_text, .check = check_text, AT(member)
#define NAME .bytes_max = NAME_BYTES_MAX
#define KEY .bytes_max = KEY_BYTES_MAX, .fits = text_is_key, \
            .want = "text of 1 to 256 bytes without control characters"
#define UUID .bytes_max = KEY_BYTES_MAX, .fits = text_is_uuid, .want = "a UUID", .format = "uuid"

// clang-format off
static const struct field fields[] = {
    { "job_type", .required = true, .sent = true, TEXT(job_type), NAME, .fits = text_is_type,
      .want = "1 to 128 of A-Z a-z 0-9 . _ : - that start with a letter or digit" },
    { "policy", .required = true, .read = read_policy, .absent = absent_policy,
      .check = check_policy, AT(policy.name), NAME, .fits = text_is_key,
      .want = "the name of a policy" },
    { "payload", .required = true, .sent = true, .read = read_payload, .check = check_payload,
      .type = "object", .want = "an object" },
    { "idempotency_key", .read = read_text, .absent = absent_key, .check = check_key,
      AT(idempotency_key), KEY },
    { "org_id", .required = true, .read = read_org, .check = check_text, AT(org_id), UUID },
    { "project_id", .read = read_project, .check = check_project, AT(project_id), UUID },
    { "actor_type", .read = read_actor_type, .check = check_actor_type,
      .want = "user, system or api_key" },
    { "actor_id", .required = true, TEXT(actor_id), KEY },
    { "request_id", .required = true, TEXT(request_id), KEY },
    { "correlation_id", .required = true, TEXT(correlation_id), KEY },
    { "scheduled_for", .read = read_time, .check = check_time,
      .format = "date-time", .want = "an RFC 3339 time such as 2026-08-22T10:00:00Z" },
    { "traceparent", TEXT(traceparent), .bytes_max = KEY_BYTES_MAX, .fits = text_is_traceparent,
      .want = "a W3C traceparent: 00-<32 hex>-<16 hex>-<2 hex> in lower case" },
    { "queue", .required = true, .read = read_text, .absent = absent_queue, .check = check_queue,
      AT(queue), NAME, .fits = text_is_name, .want = "1 to 128 of A-Z a-z 0-9 . _ : -" },
    { "priority", .read = read_priority, .check = check_priority,
      .type = "integer", .want = "a whole number from -100 to 100" },
    { "serial_key", TEXT(serial_key), KEY },
    { "max_wait", .read = read_wait, .check = check_wait,
      .want = "a duration such as 30s (units: ms s m h d), from 1ms to 365d" },
    { "submit", .read = read_submit, .type = "boolean", .want = "true or false" },
    { "authorized_by", TEXT(authorized_by), KEY },
    { "limit_key", TEXT(limit_key), KEY },
    { "after", .read = read_after, .type = "array", .format = "uuid", .want = AFTER_WANT },
    { "batch_id", .read = read_batch, .format = "uuid", .want = "the id of a batch" },
};
// clang-format on

bool contract_field_at(size_t index, struct contract_field *field)
{
    if (index >= countof(fields))
        return false;
    const struct field *row = &fields[index];
    *field = (struct contract_field){
        .name = row->name,
        .must_be = row->want,
        .type = row->type ? row->type : "string",
        .format = row->format,
        .sent = row->sent,
    };
    return true;
}

static bool field_read(struct reader *r, const struct field *field, const json_t *value)
{
    if (value && !json_is_null(value))
        return field->read(r, field, value);
    return !field->absent || field->absent(r);
}

static bool field_check(struct reader *r, const struct field *field)
{
    return !field->check || field->check(r, field);
}

// Says which field was meant when only the spelling differs: jobType, job-type.
static bool refuse_unknown(struct reader *r, const char *key)
{
    for (size_t i = 0; i < countof(fields); i++) {
        if (strcmp(key, fields[i].name) == 0)
            return true;
        if (json_key_like(key, fields[i].name))
            return wrong(r, key, "unknown field; did you mean %s?", fields[i].name);
    }
    return wrong(r, key, "unknown field");
}

static bool refuse_other_than_object(struct reader *r, const json_t *value)
{
    struct str path = str_of(r->prefix);  // `jobs[3].` without the dot
    if (path.n > 0)
        path.n--;
    problem_add(r->problems, str_cstr(r->problems->arena, path), "must be a job object, not %s",
                kind(value));
    return false;
}

// Of a job that sent none and whose type has a recipe.
static bool make_key(struct reader *r)
{
    const struct str *needed;
    bool complete = true;
    if (!r->recipe || !r->payload)
        return true;
    for (size_t i = 0; i < recipe_needs(r->recipe, &needed); i++) {
        const char *name = str_cstr(r->problems->arena, needed[i]);
        json_t *value = json_object_get(r->payload, name);
        struct str field = str_format(r->problems->arena, "payload.%s", name);
        if (!value || json_is_null(value))
            complete = wrong(r, field.s, "is required: the key of this type of jobs is made of "
                                         "it, when no idempotency_key is sent");
    }
    if (!complete)
        return false;
    r->into->idempotency_key = recipe_key(r->problems->arena, r->recipe, r->contract, r->payload,
                                          r->now);
    r->into->time_in_key = r->recipe->kind == RECIPE_NOTIFICATION;
    return true;
}

bool contract_read(const json_t *object, const struct contract_rules *rules, const char *prefix,
                   struct contract *contract, struct problems *problems)
{
    const struct caller *caller = rules->caller;
    *contract = (struct contract){
        .org_id = caller->org_id,
        .actor_type = caller->actor_type,
        .actor_id = caller->actor_id,
        .request_id = caller->request_id,
        .correlation_id = caller->correlation_id,
    };
    struct reader r = {
        .contract = contract,
        .now = rules->now,
        .prefix = prefix,
        .problems = problems,
        .rules = rules,
        .into = contract,
    };
    if (!json_is_object(object))
        return refuse_other_than_object(&r, object);

    bool fine = true;
    for (size_t i = 0; i < countof(fields); i++)
        fine &= field_read(&r, &fields[i], json_object_get(object, fields[i].name))
            && field_check(&r, &fields[i]);
    fine &= make_key(&r);

    const char *key;
    json_t *value;
    json_object_foreach (json_iterable(object), key, value) {
        fine &= refuse_unknown(&r, key);
    }
    return fine;
}

bool contract_check(const struct contract *contract, pawl_time now, const char *prefix,
                    struct problems *problems)
{
    struct reader r = {
        .contract = contract,
        .now = now,
        .prefix = prefix,
        .problems = problems,
    };
    bool fine = true;
    for (size_t i = 0; i < countof(fields); i++)
        fine &= field_check(&r, &fields[i]);
    return fine;
}

bool contract_put_payload(struct contract *contract, const json_t *payload,
                          const struct contract_rules *rules, struct problems *problems)
{
    struct reader r = {
        .contract = contract,
        .prefix = "",
        .problems = problems,
        .rules = rules,
        .into = contract,
        .type = rules->type ? rules->type(rules->self, contract->job_type) : NULL,
    };
    const struct field *field = fields;
    while (field->read != read_payload)
        field++;
    return field->read(&r, field, payload) && field->check(&r, field);
}

const struct policy *policy_builtin_or_default(void *self, struct str name, struct str job_type)
{
    (void)self, (void)job_type;  // a bare store knows nothing of job types
    return policy_builtin(name.n > 0 ? name : S("default"));
}
