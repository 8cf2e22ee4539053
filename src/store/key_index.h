// Finds the records of idempotency keys, in generations.
//
// A random key in one big table has a page of its own to write. So records go only into the newest
// generation, whose pages are few; when it is full the next one begins. A look-up asks the newest
// generation and those older ones that a filter in memory does not rule out.
//
// A sealed generation never gets another record. Its filter is therefore right for as long as the
// connection lives, whatever others write. Filters are not stored: a connection reads a generation
// when it has asked it so often that reading all of it would have cost as much. Until then it is
// asked directly, so opening costs nothing. They take 3 bytes for each key.
//
// The newest generation has a filter too, where this connection has put in every key it holds: it
// saw it empty, and the number of keys in the store is that of its own.
#pragma once

#include "store/db.h"

struct key_index;
struct key_index *key_index_new(int64_t generation_keys);  // 0: as many as is good
void key_index_free(struct key_index *index);              // NULL is fine
void key_index_forget(struct key_index *index);
size_t key_index_bytes(const struct key_index *index);  // what the filters take

struct key_record {
    int64_t slot;  // generation and hash
    int64_t job;   // 0: there is none
};

// One look-up: where it began and how far it is.
struct key_search {
    int64_t hash;
    bool crowded;        // the newest generation has a record with this hash
    int64_t generation;  // the next to ask of those that are not listed as sealed
    size_t sealed;       // how many of the list are still to be asked
    uint32_t lanes;      // what the filter that was asked last answered ...
    int filter;          // ... and which one that is
};

// The texts together are the key. Gives the records that have its hash, newest first: the caller
// compares the key itself, since another one can have the same hash.
CHECKED bool key_search_start(struct tx *tx, const struct str *parts, size_t count,
                              struct key_search *search, struct pawl_error *err);
CHECKED bool key_search_next(struct tx *tx, struct key_search *search, struct key_record *record,
                             struct pawl_error *err);

// Makes `job` the holder of the key that was searched for, until `expires_at` at least. `old` is
// the record that was found for it, if any.
CHECKED bool key_put(struct tx *tx, const struct key_search *search, const struct key_record *old,
                     int64_t job, pawl_time expires_at, struct pawl_error *err);

// Writes down what the transaction has added to the newest generation, before it commits.
CHECKED bool key_index_settle(struct tx *tx, struct pawl_error *err);

// Nobody has put a key in since another transaction left the newest generation like this.
void key_index_resume(struct tx *tx, const struct key_newest *left);

// The transaction, or a part of it, was rolled back.
void key_index_take_back(struct tx *tx);

int64_t key_generation(int64_t slot);
int64_t key_hash(int64_t slot);
int64_t key_first_slot(int64_t generation);
