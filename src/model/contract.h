// The contract of a job: what a caller must and may say, checked whole before anything is stored.
//
// A job that breaks it is refused with every problem named (OPS-1). What the caller leaves out is
// filled from the caller's identity, so that a stored job always has every field.
#pragma once

#include "base/id.h"
#include "base/json.h"
#include "model/job_type.h"
#include "model/policy.h"

enum actor_type { ACTOR_USER, ACTOR_SYSTEM, ACTOR_API_KEY, ACTOR_TYPES };

const char *actor_type_name(enum actor_type type);
bool actor_type_parse(struct str name, enum actor_type *type);

// Who asks: taken from the key and headers of a request, or from the process itself. Never from
// the body: a caller cannot speak for another org.
struct caller {
    struct str org_id;
    enum actor_type actor_type;
    struct str actor_id;
    struct str request_id;
    struct str correlation_id;
    const struct str *projects;  // all it may see and touch; none: every project of its org
    size_t project_count;
};

// Whether the caller may see a job of this project. A limited one sees none without a project.
bool caller_sees(const struct caller *caller, struct str project_id);

// Gives a job without a project the only one its caller has. What is wrong with the project that a
// limited caller names, or NULL.
const char *caller_project(const struct caller *caller, struct str *project_id);

#define DEFAULT_ORG S("00000000-0000-7000-8000-000000000000")
#define DEADLETTER_QUEUE S("q:deadletter")
#define CRITICAL_QUEUE S("q:critical")

enum contract_limits {
    PAYLOAD_BYTES_MAX = 1 << 20,
    NAME_BYTES_MAX = 128,     // job types, queues, policies
    KEY_BYTES_MAX = 256,      // keys and ids
    KEY_SUFFIX_BYTES_MAX = 24,  // what a retry adds to a key: `#12`
    PRIORITY_MIN = -100,
    PRIORITY_MAX = 100,
    AFTER_MAX = 64,           // jobs that one job may wait for
};

#define CLOCK_DRIFT_US SECONDS(60)
#define SCHEDULE_US_MAX DAYS(3653)  // ten years ahead

// Everything about a job that never changes after it is stored. Empty text: not given.
struct contract {
    struct str job_type;
    struct str org_id;
    struct str project_id;
    enum actor_type actor_type;
    struct str actor_id;
    struct str request_id;
    struct str correlation_id;
    struct str idempotency_key;  // empty: a unique one is made
    struct str payload;          // a JSON object as text
    pawl_time scheduled_for;     // 0: at once
    struct str traceparent;
    struct str queue;
    int64_t priority;
    struct str serial_key;
    int64_t max_wait_us;         // 0: waits as long as it takes
    struct str authorized_by;
    struct str limit_key;        // what its type's limits per key go by; empty: they do not
    struct policy policy;
    struct id parent;            // the job this one was made from; {0}: none
    struct str origin;           // how: `retry`, `replay`, `fix`, `follow_up`
    const struct id *after;      // the jobs that must succeed before it may run ...
    size_t after_count;          // ... at most AFTER_MAX
    struct id batch;             // that it joins; {0}: none
    bool hold;                   // `submit: false`: stays CREATED
    pawl_time not_before;        // later than scheduled_for, for a slot that is made up for; 0: not
    struct id id;                // that it was promised (pawl.enqueue); {0}: a new one is made
    bool time_in_key;            // any time in its bucket is the same request (OPS-2)
    bool secrets_allowed;        // in the payload, by its type
};

// What the surroundings decide about a job of this type.
struct contract_rules {
    const struct caller *caller;
    pawl_time now;
    // The policy of this name, NULL when there is none. With an empty name: the policy of the type,
    // which there always is.
    const struct policy *(*policy)(void *self, struct str name, struct str job_type);
    void *self;
    bool key_required;  // refuse a job without idempotency_key; `document` never needs one

    // What a server with a configuration adds. The type of this name, NULL when it is not
    // configured; without the function no type is.
    const struct job_type *(*type)(void *self, struct str job_type);
    bool by_category;          // the category says who may be scheduled for later (OPS-15), who may
                               // enter q:critical (OPS-20) and how keys are made (OPS-2)
    bool asks_critical;        // an operator asks: any type may enter q:critical
    size_t payload_bytes_max;  // 0: PAYLOAD_BYTES_MAX, which is the most
    int depth_max;             // of the job object; 0: JSON_DEPTH_MAX, which is the most
};

// The rules of a bare store: the built-in policies, `default` when none is named.
const struct policy *policy_builtin_or_default(void *self, struct str name, struct str job_type);

// Reads a job object into `contract`. Each problem is added under its field, with `prefix` before
// it (`jobs[3].`); true when there was none. Texts live in `problems->arena`.
bool contract_read(const json_t *object, const struct contract_rules *rules, const char *prefix,
                   struct contract *contract, struct problems *problems);

// The fields that a caller may send, in a row, for documentation. False past the last.
struct contract_field {
    const char *name;
    const char *must_be;  // completes "must be ..."
    const char *type, *format;  // of JSON; format NULL: none
    bool sent;            // must be sent
};
bool contract_field_at(size_t index, struct contract_field *field);

// The same checks on a contract filled by C code.
bool contract_check(const struct contract *contract, pawl_time now, const char *prefix,
                    struct problems *problems);

// Puts another payload into a contract that was stored before, by the rules for a new one: its
// size, its depth, and secrets as the type has it.
bool contract_put_payload(struct contract *contract, const json_t *payload,
                          const struct contract_rules *rules, struct problems *problems);

// Same key means same type, project, payload, serial key and time: the stable hash of these.
struct str contract_hash(struct arena *arena, const struct contract *contract);
