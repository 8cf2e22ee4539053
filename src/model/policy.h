// Policies as data: how often a job is tried, how long it may take, what a crash means.
//
// A policy is copied onto the job when it is enqueued, so a changed configuration touches new jobs
// only. The built-in ones are a table in policy.c.
#pragma once

#include "base/error.h"
#include "base/world.h"

enum on_crash { ON_CRASH_FAIL, ON_CRASH_RETRY };
enum on_timeout { ON_TIMEOUT_TIMED_OUT, ON_TIMEOUT_RETRY, ON_TIMEOUT_FAIL };

enum { CRASHES_MAX = 3 };  // three crashes in a row end a job whatever its attempts

struct policy {
    struct str name;
    struct str category;       // what the job is for; decides queue, key TTL and allowed effects
    struct str queue;          // where its jobs go unless told otherwise
    int64_t max_attempts;      // executions that count, released ones left out
    int64_t step_attempts;     // tries of one step inside an execution
    bool exponential;          // backoff: base * 2^(n-1); else always base
    bool jitter;               // uniform in [delay/2, delay]
    int64_t base_us, delay_us_max;
    int64_t timeout_us;        // from the start of an execution
    int64_t lease_us;
    enum on_crash on_crash;
    enum on_timeout on_timeout;
    bool dead_letter;          // ends badly: goes to q:deadletter
    int64_t key_ttl_us;        // how long its idempotency key is remembered
    bool slot;                 // of a schedule's jobs: their end closes the row of their slot
    bool authoritative;        // results and artifacts are the truth, not derived (OPS-9)
    bool may_write;            // authorised planning may have other effects than a plan (OPS-23)
};

const struct policy *policy_builtin(struct str name);  // NULL when there is none of this name
const struct policy *policy_builtin_at(size_t index);  // NULL past the end
bool policy_eq(const struct policy *a, const struct policy *b);

// What a policy must fulfil to be usable: adds a problem for each field out of bounds.
void policy_check(const struct policy *policy, struct problems *problems);

// The delay before retry number `n` (1 is the first). `dice` is 64 random bits.
int64_t policy_delay(const struct policy *policy, int64_t n, uint64_t dice);
