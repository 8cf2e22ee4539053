// Seals: the audit trail as a chain of hashes (OPS-11, OPS-19).
//
// A sealer follows the trail a few seconds behind and puts a seal over each run of events, so that
// the chain never makes writers wait for each other. A seal has the hash of its events and, in its
// own hash, that of the seal before it: an event that is changed, removed or put in, and a seal
// that is, no longer fit. What is hashed of an event is what `pawl_audit` shows of it, in a form
// that does not depend on how it is stored.
//
// Whoever can write the store can also make the whole chain anew, or cut off its end. That is found
// only by comparing with the hash of a seal that was kept elsewhere: see struct seal_check.
#pragma once

#include "base/hash.h"
#include "store/db.h"

enum { SEAL_EVENTS_MAX = 500,  // so that pruning one is a short transaction
       SEAL_MARK_DIGITS = 6 };

#define SEAL_AFTER_US SECONDS(5)  // an event waits no longer for others to be sealed with

struct seal {
    int64_t number;            // from 1; 0: there is none
    int64_t first_id, last_id; // of its events
    int64_t events;
    pawl_time newest_at;       // of its last event
    pawl_time sealed_at;
    struct str contents;       // the hash of its events
    struct str hash;
    struct str marks;          // SEAL_MARK_DIGITS of each event's hash
    pawl_time pruned_at;       // 0: its events are there
};

// The newest seal: its hash is the head of the chain.
CHECKED bool seal_newest(struct tx *tx, struct seal *seal, struct pawl_error *err);

// One seal by its number; its own is 0 when there is none.
CHECKED bool seal_load(struct tx *tx, int64_t number, struct seal *seal, struct pawl_error *err);

// Whether the events between the seal before it and its last are those it was put over, and its
// hash follows from that of the one before.
CHECKED bool seal_fits(struct tx *tx, const struct seal *before, const struct seal *seal,
                       bool *fits, struct pawl_error *err);

// The seal over an event, looked for from the seal `from` on.
CHECKED bool seal_over(struct tx *tx, int64_t from, int64_t event, struct seal *seal,
                       struct pawl_error *err);

struct seals {
    struct seal *at;
    size_t count;
    bool more;  // there is more to seal right away
};

// Makes at most `max` seals over what is not sealed yet, in a read transaction: nothing is written.
// Fewer than SEAL_EVENTS_MAX events are sealed when the first has waited for SEAL_AFTER_US, or when
// `all` are to be.
CHECKED bool seals_make(struct tx *tx, size_t max, bool all, struct seals *seals,
                        struct pawl_error *err);

// Writes them. PAWL_CONFLICT when somebody else has sealed meanwhile.
CHECKED bool seals_put(struct tx *tx, const struct seals *seals, struct pawl_error *err);

// ----- checking

struct seal_finding {
    int64_t seal;    // 0: none in particular
    int64_t event;   // the id of the event; 0: none in particular
    const char *what;
};

struct seal_check {
    void *self;
    void (*found)(void *self, const struct seal_finding *finding);   // NULL: only counted
    void (*progress)(void *self, int64_t events, int64_t total);     // NULL: none
    struct str head;  // a hash that was kept: the chain must have a seal with it; empty: none
};

struct seals_checked {
    int64_t seals, pruned;  // the latter of the former
    int64_t events;         // under seals
    int64_t unsealed;       // the newest, that are not sealed yet
    int64_t findings;
    struct seal head;       // the newest seal, without its contents
    char head_hash[HASH_DIGITS + 1];
};

// Recomputes the whole chain in short read transactions, so that it can be done on a live store.
CHECKED bool seals_check(struct db *db, const struct seal_check *check,
                         struct seals_checked *checked, struct pawl_error *err);

// ----- for these files and for retention

// The hash of a seal's own columns and of the one before it.
void seal_hash(const struct seal *seal, struct str before, char digits[HASH_DIGITS + 1]);

// One event, as it is hashed.
struct sealed_event {
    int64_t id;
    pawl_time at;
    char hash[HASH_DIGITS + 1];
};

// Reads events in the order of their ids, after `after`; Q_AUDIT_PAGE_AFTER has been asked.
CHECKED bool sealed_event_next(struct tx *tx, struct rows *rows, struct sealed_event *event,
                               bool *got, struct pawl_error *err);

void seal_read(struct rows *rows, struct seal *seal);

// The newest seal whose events were pruned: what is older than its newest event may be gone.
CHECKED bool seal_newest_pruned(struct tx *tx, struct seal *seal, struct pawl_error *err);

// What an event says that a seal was pruned: `seal:7`.
struct str seal_subject(struct arena *arena, int64_t number);
