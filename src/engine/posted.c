// A row becomes a job object as a caller of the API would send it, and goes the way of all others.
#include "engine/posted.h"

#include "base/time_text.h"
#include "engine/job.h"
#include "model/json_field.h"

#define LOOK_AGAIN_US SECONDS(1)  // for room in a queue that was full

struct posted {
    struct id id;
    struct str org_id, project_id, key, job_type, payload, queue;
    int64_t priority;
    struct str serial_key, limit_key, policy;
    pawl_time scheduled_for;
    int64_t max_wait_ms;
    struct str correlation_id;
    bool submit;
    struct str by;
    pawl_time at;
};

static void read_row(struct rows *rows, struct posted *p)
{
    p->id.high = row_int(rows);
    p->id.low = row_int(rows);
    p->org_id = row_text(rows);
    p->project_id = row_text(rows);
    p->key = row_text(rows);
    p->job_type = row_text(rows);
    p->payload = row_text(rows);
    p->queue = row_text(rows);
    p->priority = row_int(rows);
    p->serial_key = row_text(rows);
    p->limit_key = row_text(rows);
    p->policy = row_text(rows);
    p->scheduled_for = row_int(rows);
    p->max_wait_ms = row_int(rows);
    p->correlation_id = row_text(rows);
    p->submit = row_int(rows) != 0;
    p->by = row_text(rows);
    p->at = row_int(rows);
}

static bool load(struct tx *tx, int64_t key, struct posted *p, struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    if (!sql_ask(tx, &rows, Q_POSTED_LOAD, err, INT(key)))
        return false;
    if (rows_next(&rows))
        read_row(&rows, p);
    return rows_ok(&rows, err);
}

// ----- the contract

// Whoever is logged in to the database speaks for a program.
static struct caller caller_of(struct tx *tx, const struct posted *p)
{
    struct str id = id_text(tx->arena, p->id);
    return (struct caller){
        .org_id = p->org_id,
        .actor_type = ACTOR_SYSTEM,
        .actor_id = p->by,
        .request_id = id,
        .correlation_id = p->correlation_id.n ? p->correlation_id : id,
    };
}

// As of when it was posted: that nobody took it in for an hour is not the caller's fault.
static struct contract_rules rules_of(const struct tx *tx, const struct posted *p,
                                      const struct caller *caller)
{
    struct contract_rules rules = { .policy = policy_builtin_or_default };
    if (tx->rules)
        rules = *tx->rules;
    rules.caller = caller;
    rules.now = p->at;
    return rules;
}

static json_t *text_or_none(struct str text)
{
    return text.n ? json_stringn(text.s, text.n) : NULL;
}

static json_t *object_of(struct tx *tx, const struct posted *p)
{
    struct str at = p->scheduled_for ? time_text(tx->arena, p->scheduled_for) : S(""),
               wait = p->max_wait_ms ? str_format(tx->arena, "%lldms", (long long)p->max_wait_ms)
                                     : S("");
    const struct json_field fields[] = {
        { "job_type", text_or_none(p->job_type) },
        { "payload", json_of(p->payload) },
        { "idempotency_key", text_or_none(p->key) },
        { "project_id", text_or_none(p->project_id) },
        { "queue", text_or_none(p->queue) },
        { "priority", json_integer(p->priority) },
        { "serial_key", text_or_none(p->serial_key) },
        { "limit_key", text_or_none(p->limit_key) },
        { "policy", text_or_none(p->policy) },
        { "scheduled_for", text_or_none(at) },
        { "max_wait", text_or_none(wait) },
        { "submit", json_boolean(p->submit) },
    };
    json_t *object = json_object();
    for (size_t i = 0; i < countof(fields); i++)
        if (fields[i].value)
            json_object_set_new(object, fields[i].name, fields[i].value);
    return object;
}

static bool read_contract(struct tx *tx, const struct posted *p, const struct contract_rules *rules,
                          struct contract *contract, struct pawl_error *err)
{
    struct problems problems = { .arena = tx->arena };
    SCOPED(json) json_t *object = object_of(tx, p);
    (void)contract_read(object, rules, "", contract, &problems);  // what is wrong is in `problems`
    contract->id = p->id;
    return problems_none(&problems, err);
}

// ----- storing

// One that nobody could work on: without the payload, which may have what must not be stored, and
// under a key that nobody else has.
static bool store_broken(struct tx *tx, const struct posted *p, const struct contract_rules *rules,
                         const struct pawl_error *why, struct pawl_error *err)
{
    const struct policy *policy = rules->policy(rules->self, S(""), p->job_type);
    struct contract contract = {
        .id = p->id,
        .job_type = p->job_type,
        .org_id = p->org_id,
        .project_id = p->project_id,
        .actor_type = rules->caller->actor_type,
        .actor_id = rules->caller->actor_id,
        .request_id = rules->caller->request_id,
        .correlation_id = rules->caller->correlation_id,
        .idempotency_key = id_text(tx->arena, p->id),
        .payload = S("{}"),
        .policy = *policy,
    };
    struct job job;
    bool known = false;
    struct str message = str_format(tx->arena, "%.*s%s", STR(ENDED_INVALID), why->message);
    contract.queue = contract.policy.queue;
    if (!job_enqueue(tx, &contract, &job, &known, err))
        return false;
    struct pawl_error unended = {0};
    return job_end_waiting(tx, &job, FAILURE_RESOURCE_EXHAUSTED, message, &unended)
        || fail(err, PAWL_STORE, "%s", unended.message);  // no refusal: it was stored
}

// Waits until there is room; whatever else is wrong with it stays so.
static bool is_broken(const struct pawl_error *why)
{
    return pawl_code(why->code)->refusal && why->code != PAWL_QUEUE_FULL;
}

static bool store(struct tx *tx, const struct posted *p, struct pawl_error *err)
{
    struct caller caller = caller_of(tx, p);
    struct contract_rules rules = rules_of(tx, p, &caller);
    struct contract contract;
    struct pawl_error why = {0};
    struct job job;
    bool known = false;
    const struct caller *before = tx->caller;
    tx->caller = &caller;
    bool stored = (read_contract(tx, p, &rules, &contract, &why)
                   && job_enqueue(tx, &contract, &job, &known, &why))
               || (is_broken(&why) && store_broken(tx, p, &rules, &why, &why));
    tx->caller = before;
    return stored || fail(err, why.code, "%s", why.message);
}

static bool take_in(struct tx *tx, int64_t key, bool *taken, struct pawl_error *err)
{
    struct posted p = {0};
    struct pawl_error why = {0};
    *taken = false;
    if (!load(tx, key, &p, err))
        return false;
    if (!store(tx, &p, &why)) {
        if (!pawl_code(why.code)->refusal)
            return fail(err, why.code, "%s", why.message);
        return sql_run(tx, Q_POSTED_PUT_OFF, err, INT(key), INT(tx->now + LOOK_AGAIN_US));
    }
    *taken = true;
    return sql_run(tx, Q_POSTED_DELETE, err, INT(key));
}

bool posted_take(struct tx *tx, size_t limit, size_t *taken, bool *more, struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    struct keys keys;
    *taken = 0;
    if (!sql_ask(tx, &rows, Q_POSTED_WAITING, err, INT((int64_t)limit), INT(tx->now))
        || !rows_keys(&rows, &keys, err))
        return false;
    for (size_t i = 0; i < keys.count; i++) {
        bool done = false;
        if (!take_in(tx, keys.at[i], &done, err))
            return false;
        *taken += done;
    }
    *more = keys.count == limit && *taken > 0;
    return true;
}
