// Who is asking: from `Authorization: Bearer KEY` to an org, a role and projects.
//
// What was verified is remembered for a few seconds, so that a request needs no query of its own:
//
//     switch (identity_look(identities, arena, header, &who, &err)) ...
//     IDENTITY_UNKNOWN: begin a transaction, identity_find(identities, &tx, header, &who, &err)
//
// Whatever is wrong with a key, the answer is 401 and never quotes it. An unknown id and a wrong
// secret get the same answer after the same work. Used by all threads of the server.
#pragma once

#include "engine/api_key.h"

// How long a key that another process revokes may still be taken, and how long a server without
// keys may not notice the first one that another process makes.
#define IDENTITY_US_MAX SECONDS(10)
#define IDENTITY_OPEN_US_MAX SECONDS(1)

struct identities;

struct identity_options {
    const struct world *world;
    int64_t rate;  // requests a second and key, twice as many at once; 0: no limit
};

CHECKED bool identities_open(struct identities **identities,
                             const struct identity_options *options, struct pawl_error *err);
void identities_close(struct identities *identities);  // NULL is fine
void identities_rate(struct identities *identities, int64_t rate);  // from now on

struct identity {
    bool open;                   // the store has no key: everybody is admin of the default org
    struct str org_id;
    enum role role;
    const struct str *projects;  // none: all of its org
    size_t project_count;
    struct str key_id;           // empty: open
    enum actor_type actor_type;
    struct str actor_id;
    bool note_use;               // once a minute and key: hand key_used to the store
    int64_t retry_after_us;      // with PAWL_TOO_MANY
    uint64_t ticket;             // from identity_look to identity_find
};

enum identity_answer {
    IDENTITY_FOUND,    // `identity` is filled
    IDENTITY_REFUSED,  // `err` says why: PAWL_UNAUTHORIZED or PAWL_TOO_MANY
    IDENTITY_UNKNOWN,  // nobody here remembers: ask the store by identity_find
};

// What can be said without the store. `header` is the value of the Authorization header, empty when
// there is none. What is found lives in `arena`.
enum identity_answer identity_look(struct identities *identities, struct arena *arena,
                                   struct str header, struct identity *identity,
                                   struct pawl_error *err);

// Asks the store, in a transaction that began after identity_look said IDENTITY_UNKNOWN and filled
// `identity`. PAWL_UNAUTHORIZED, PAWL_TOO_MANY, or what the store says. What is found lives in the
// transaction's arena.
CHECKED bool identity_find(struct identities *identities, struct tx *tx, struct str header,
                           struct identity *identity, struct pawl_error *err);

// Whether who was found earlier is still that: for whoever is answered late, or for long.
// PAWL_UNAUTHORIZED when the key is no longer good, or the first key has been made.
CHECKED bool identity_stands(const struct identity *identity, struct tx *tx,
                             struct pawl_error *err);

// A key was made or revoked, or an org disabled, and it is on disk: what is known may be wrong.
// What was asked before this is not remembered, however late it is answered.
void identities_forget(struct identities *identities);

struct identity_figures {
    uint64_t found;
    uint64_t refused;  // 401
    uint64_t limited;  // 429
};
struct identity_figures identities_figures(struct identities *identities);

// The caller of an operation that this identity asks for.
struct caller identity_caller(const struct identity *identity, struct str request_id,
                              struct str correlation_id);
