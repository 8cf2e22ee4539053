// Interned names: orgs, job types, queues, policies and workers are small numbers in the hot
// tables.
//
// A connection remembers what it has seen, by name and by number. Such rows are never changed or
// removed, so what is remembered stays right; what a rolled-back transaction interned is forgotten
// with it.
#pragma once

#include "base/id.h"
#include "model/policy.h"
#include "store/db.h"

struct names;
struct names *names_new(void);  // NULL when there is no memory
void names_free(struct names *names);
void names_forget(struct names *names);

enum name_kind { NAME_ORG, NAME_JOB_TYPE, NAME_QUEUE, NAME_KINDS };

// The number of a name, made when it is new.
CHECKED bool name_intern(struct tx *tx, enum name_kind kind, struct str name, int64_t *id,
                         struct pawl_error *err);
// The number of a name, 0 when nobody has used it.
CHECKED bool name_find(struct tx *tx, enum name_kind kind, struct str name, int64_t *id,
                       struct pawl_error *err);

// The name of a number; it lives in the transaction's arena. Of a number that has none, which is
// damage, name_look answers the empty text.
CHECKED bool name_text(struct tx *tx, enum name_kind kind, int64_t id, struct str *name,
                       struct pawl_error *err);
CHECKED bool name_look(struct tx *tx, enum name_kind kind, int64_t id, struct str *name,
                       struct pawl_error *err);

CHECKED bool policy_intern(struct tx *tx, const struct policy *policy, int64_t *id,
                           struct pawl_error *err);
// The policy of this number; it lives in the transaction's arena.
CHECKED bool policy_load(struct tx *tx, int64_t id, struct policy *policy, struct pawl_error *err);

// Whether it is of a schedule's jobs: asked at every start and every end, so nothing is copied.
CHECKED bool policy_is_slot(struct tx *tx, int64_t id, bool *slot, struct pawl_error *err);

// The effects that a commit under it must have, by its category: asked at every commit.
CHECKED bool policy_required(struct tx *tx, int64_t id, unsigned *effects, struct pawl_error *err);

// Who holds leases. Pawl's own runners have an instance and a boot; remote workers have neither.
struct worker {
    struct str worker_id;
    struct str instance;
    struct str boot_id;
};

// The number of a worker, 0 when it never held a lease here.
CHECKED bool worker_find(struct tx *tx, int64_t org, const struct worker *worker, int64_t *id,
                         struct pawl_error *err);
CHECKED bool worker_intern(struct tx *tx, int64_t org, const struct worker *worker, int64_t *id,
                           struct pawl_error *err);

// What the worker of this number calls itself; it lives in the transaction's arena.
CHECKED bool worker_text(struct tx *tx, int64_t id, struct str *worker_id, struct pawl_error *err);

// The ids of the rows a transaction is about to make: above everything that is there.
enum id_kind { ID_JOB, ID_EXECUTION, ID_BATCH, ID_ARTIFACT };
CHECKED bool id_make(struct tx *tx, enum id_kind kind, struct id *id, struct pawl_error *err);

// The secret that keys the hashes of idempotency keys, made with the store.
CHECKED bool store_secret(struct tx *tx, const uint8_t **secret, struct pawl_error *err);
