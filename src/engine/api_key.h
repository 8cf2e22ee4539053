// API keys and the orgs they belong to: made, listed, revoked, each change with its audit event.
//
// A key is of one org, has a role, and may be limited to projects (OPS-18). Rotation is a second
// key and the end of the first: both are good in between, so nobody has to change at the same
// moment. Keys are never removed: a store that ever had one does not become open again.
#pragma once

#include "model/api_key.h"
#include "model/contract.h"
#include "model/role.h"
#include "store/db.h"

enum { KEY_PROJECTS_MAX = 32 };
#define KEY_USED_US MINUTES(1)  // how exact last_used_at is

struct key {
    struct str key_id;
    struct str org_id;
    enum role role;
    struct str name;              // what people call it; may be empty
    const struct str *projects;   // none: all of its org
    size_t project_count;
    pawl_time created_at;
    pawl_time expires_at;         // 0: never
    pawl_time revoked_at;         // 0: it is good
    pawl_time last_used_at;       // 0: never; at most KEY_USED_US behind
    pawl_time org_disabled_at;    // 0: it is not
    struct str hash;              // of its secret, only from key_find
    int64_t row;                  // where a list goes on
};

struct key_request {
    const struct world *world;    // whose dice make the secret
    struct str env;               // `live`
    struct str org_id;            // one that is not known is made
    enum role role;
    struct str name;
    const struct str *projects;
    size_t project_count;
    pawl_time expires_at;         // 0: never
};

// What is wrong with a request, each under its field. For whoever wants to know before the store.
void key_request_check(const struct key_request *request, const struct caller *caller,
                       pawl_time now, struct problems *problems);

// Makes a key. `text` is the only place where it ever stands: show it once, then wipe it. A caller
// makes keys of its own org only, and one that is limited to projects only for some of those.
CHECKED bool key_create(struct tx *tx, const struct key_request *request, struct key *key,
                        char text[KEY_TEXT_BYTES_MAX + 1], struct pawl_error *err);

struct key_list {
    struct key *keys;
    size_t count;
    int64_t next;  // `before` of the next page; 0: that was all
};

// The keys of the caller's org, newest first, at most `limit`, after the page that ended at
// `before` (0: the newest). A limited caller sees those that are limited to some of its projects.
CHECKED bool key_list(struct tx *tx, int64_t before, int64_t limit, struct key_list *list,
                      struct pawl_error *err);

// Ends a key for good. Once more is the same again. Another org's is not found.
CHECKED bool key_revoke(struct tx *tx, struct str key_id, struct key *key,
                        struct pawl_error *err);

// The key of this id in any org, for whoever authenticates; `found` is false when there is none.
CHECKED bool key_find(struct tx *tx, struct str key_id, struct key *key, bool *found,
                      struct pawl_error *err);

// Notes that a key was used, unless that was noted a minute ago. No audit event.
CHECKED bool key_used(struct tx *tx, struct str key_id, struct pawl_error *err);

// Whether the store ever had a key: from the first one on, a key is required.
CHECKED bool key_any(struct tx *tx, bool *any, struct pawl_error *err);

// The key as the interface shows it: without hash and secret. The caller owns the value.
json_t *key_json(struct arena *arena, const struct key *key);

struct org {
    struct str org_id;
    pawl_time created_at;
    pawl_time disabled_at;  // 0: it is not
    pawl_time erased_at;    // 0: it was not
    int64_t keys;           // good ones, this moment
    int64_t weight;         // of its share in a queue
    int64_t row;
};

struct org_list {
    struct org *orgs;
    size_t count;
    int64_t next;
};

// The number of an org; one that nobody has used is made, and the audit trail says so (OPS-19).
CHECKED bool org_intern(struct tx *tx, struct str org_id, int64_t *org, struct pawl_error *err);

// All orgs, oldest first. For the store's own operator: every tenant is in it.
CHECKED bool org_list(struct tx *tx, int64_t after, int64_t limit, struct org_list *list,
                      struct pawl_error *err);

// From now on every key of the org is refused. Jobs that are stored go on. Once more is the same.
CHECKED bool org_disable(struct tx *tx, struct str org_id, struct org *org,
                         struct pawl_error *err);

// Its keys are good again, unless they were revoked. Once more is the same.
CHECKED bool org_enable(struct tx *tx, struct str org_id, struct org *org,
                        struct pawl_error *err);

// PAWL_NOT_FOUND when there is none.
CHECKED bool org_load(struct tx *tx, struct str org_id, struct org *org, struct pawl_error *err);

// How many times SHARE_RUN jobs it takes in a row where several orgs have jobs; see model/weight.h.
CHECKED bool org_weigh(struct tx *tx, struct str org_id, int64_t weight, struct org *org,
                       struct pawl_error *err);
