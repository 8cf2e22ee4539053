// The list of sealed generations, each with its lane in a filter once it was read.
//
// Uniqueness does not depend on the filters being complete, only on their never denying a record:
// a lane is filled from a generation whose seal is committed, or the rollback of the seal forgets
// everything. Search and insert are in one write transaction, so nobody comes between them.
#include "store/key_index.h"

#include <stdlib.h>

#include "base/filter.h"
#include "base/hash.h"
#include "store/driver.h"
#include "store/names.h"

enum {
    HASH_BITS = 40,
    GENERATION_KEYS = 32 * 1024,
    FILTERS_MAX = 64,  // 192 MiB, 67 million keys: what is older is asked directly
    LOAD_SHARE = 32,   // reading n records costs as much as asking for n / 32 of them
    NO_FILTER = -1,
    CAUTIOUS = 64,
};

struct sealed {
    int64_t generation;
    int filter;  // NO_FILTER: not read yet
    unsigned lane;
};

struct lanes {
    struct filter *filter;
    uint32_t used;
};

struct key_index {
    int64_t generation_keys;  // a generation that has so many is full
    int64_t newest;           // generation when the list was made; 0: there is no list
    struct sealed *sealed;    // all before it, in their order
    size_t count;
    struct lanes filters[FILTERS_MAX];
    // The newest generation, if every key it has was put in by this connection: its lane has them
    // all, and what is not in it need not be asked for.
    struct sealed growing;   // generation 0: there is none
    int64_t growing_keys;
    int64_t cautious;  // transactions for which nobody hopes, since a hope has failed
    int64_t asked;  // how often sealed generations without a filter were, since one was read
};

struct key_index *key_index_new(int64_t generation_keys)
{
    struct key_index *index = calloc(1, sizeof *index);
    if (index)
        index->generation_keys = generation_keys > 0 ? generation_keys : GENERATION_KEYS;
    return index;
}

void key_index_forget(struct key_index *index)
{
    for (size_t i = 0; i < FILTERS_MAX; i++)
        filter_free(index->filters[i].filter);
    free(index->sealed);
    *index = (struct key_index){ .generation_keys = index->generation_keys };
}

void key_index_free(struct key_index *index)
{
    if (index)
        key_index_forget(index);
    free(index);
}

size_t key_index_bytes(const struct key_index *index)
{
    size_t bytes = index->count * sizeof *index->sealed;
    for (size_t i = 0; i < FILTERS_MAX; i++)
        if (index->filters[i].filter)
            bytes += filter_bytes(index->filters[i].filter);
    return bytes;
}

int64_t key_generation(int64_t slot)
{
    return slot >> HASH_BITS;
}

int64_t key_hash(int64_t slot)
{
    return slot & ((INT64_C(1) << HASH_BITS) - 1);
}

int64_t key_first_slot(int64_t generation)
{
    return generation << HASH_BITS;
}

// ----- the list of sealed generations

static void give_lane_back(struct key_index *index, const struct sealed *sealed)
{
    if (sealed->filter == NO_FILTER)
        return;
    struct lanes *lanes = &index->filters[sealed->filter];
    lanes->used &= ~(UINT32_C(1) << sealed->lane);
    filter_clear(lanes->filter, sealed->lane);
    if (lanes->used == 0) {
        filter_free(lanes->filter);
        lanes->filter = NULL;
    }
}

// Both lists are in order. What is in both keeps its lane.
static void merge(struct key_index *index, const struct keys *generations, struct sealed *fresh)
{
    const struct sealed *old = index->sealed, *end = old ? old + index->count : old;
    for (size_t i = 0; i < generations->count; i++) {
        int64_t generation = generations->at[i];
        for (; old < end && old->generation < generation; old++)
            give_lane_back(index, old);
        // defensive: a new generation comes behind all others
        bool known = old < end && old->generation == generation;
        fresh[i] = known ? *old++ : (struct sealed){ generation, NO_FILTER, 0 };
    }
    for (; old < end; old++)
        give_lane_back(index, old);
}

static bool list_sealed(struct tx *tx, int64_t newest, struct pawl_error *err)
{
    struct key_index *index = tx->db->key_index;
    struct keys generations;
    SCOPED(rows) struct rows rows = {0};
    if (!sql_ask(tx, &rows, Q_GENERATIONS_BEFORE, err, INT(newest))
        || !rows_keys(&rows, &generations, err))
        return false;
    struct sealed *fresh = calloc(generations.count + 1, sizeof *fresh);
    if (!fresh)
        return fail(err, PAWL_NO_MEMORY, "no memory for the index of idempotency keys");
    merge(index, &generations, fresh);
    free(index->sealed);
    index->sealed = fresh;
    index->count = generations.count;
    index->newest = newest;
    return true;
}

static bool find_lane(struct key_index *index, struct sealed *sealed)
{
    for (int i = 0; i < FILTERS_MAX; i++) {
        struct lanes *lanes = &index->filters[i];
        if (lanes->used == UINT32_MAX)
            continue;
        if (!lanes->filter)
            lanes->filter = filter_new((size_t)index->generation_keys);
        if (!lanes->filter)
            return false;
        sealed->filter = i;
        sealed->lane = (unsigned)__builtin_ctz(~lanes->used);
        lanes->used |= UINT32_C(1) << sealed->lane;
        return true;
    }
    return false;
}

// ----- the newest generation

static void stop_growing(struct key_index *index)
{
    if (index->growing.generation)
        give_lane_back(index, &index->growing);
    index->growing = (struct sealed){0};
}

// Of a generation that is empty. Without memory for a filter the store is asked, as always.
static void start_growing(struct key_index *index, int64_t generation)
{
    struct sealed fresh = { .generation = generation, .filter = NO_FILTER };
    stop_growing(index);
    if (!find_lane(index, &fresh))
        return;
    index->growing = fresh;
    index->growing_keys = 0;
}

// Others have put keys in when there are more than were seen here.
static void watch_growing(struct key_index *index, const struct key_newest *newest)
{
    bool known = index->growing.generation == newest->generation;
    if (newest->keys == 0 && !known)
        start_growing(index, newest->generation);
    else if (!known || index->growing_keys != newest->keys)
        stop_growing(index);
}

// Once for each transaction: has another one been sealed since?
static bool look(struct tx *tx, struct pawl_error *err)
{
    struct key_newest *newest = &tx->keys;
    if (newest->generation)
        return true;
    SCOPED(rows) struct rows rows = {0};
    if (!sql_ask_plain(tx, &rows, Q_GENERATION_NEWEST, err))
        return false;
    if (!rows_next(&rows))
        return rows_ok(&rows, err)
            && fail(err, PAWL_STORE, "the store has no generation of idempotency keys");
    int64_t generation = row_int(&rows);
    newest->keys = row_int(&rows);
    newest->expires_at = row_int(&rows);
    if (generation != tx->db->key_index->newest && !list_sealed(tx, generation, err))
        return false;
    newest->generation = generation;
    watch_growing(tx->db->key_index, newest);
    return true;
}

// Sealed since, it is to be listed first.
void key_index_resume(struct tx *tx, const struct key_newest *left)
{
    if (left->generation == tx->db->key_index->newest)
        tx->keys = (struct key_newest){ .generation = left->generation,
                                        .keys = left->keys,
                                        .expires_at = left->expires_at };
}

// ----- filters

static bool fill_lane(struct tx *tx, const struct sealed *sealed, struct pawl_error *err)
{
    struct filter *filter = tx->db->key_index->filters[sealed->filter].filter;
    SCOPED(rows) struct rows rows = {0};
    if (!sql_ask(tx, &rows, Q_KEY_SLOTS, err, INT(key_first_slot(sealed->generation)),
                 INT(key_first_slot(sealed->generation + 1))))
        return false;
    while (rows_next(&rows))
        filter_add(filter, sealed->lane, (uint64_t)key_hash(row_int(&rows)));
    return rows_ok(&rows, err);
}

// Reads the youngest generation that has no filter. Without memory for one it stays as it is.
static bool load_one(struct tx *tx, struct pawl_error *err)
{
    struct key_index *index = tx->db->key_index;
    size_t i = index->count;
    while (i > 0 && index->sealed[i - 1].filter != NO_FILTER)
        i--;
    if (i == 0 || !find_lane(index, &index->sealed[i - 1]))
        return true;
    if (fill_lane(tx, &index->sealed[i - 1], err))
        return true;
    give_lane_back(index, &index->sealed[i - 1]);
    index->sealed[i - 1].filter = NO_FILTER;
    return false;
}

static bool ruled_out(struct key_index *index, struct key_search *search,
                      const struct sealed *sealed)
{
    if (sealed->filter == NO_FILTER) {
        index->asked++;
        return false;
    }
    if (search->filter != sealed->filter) {
        search->filter = sealed->filter;
        search->lanes = filter_lanes(index->filters[sealed->filter].filter,
                                     (uint64_t)search->hash);
    }
    return !(search->lanes >> sealed->lane & 1);
}

// ----- look-ups

bool key_search_start(struct tx *tx, const struct str *parts, size_t count,
                      struct key_search *search, struct pawl_error *err)
{
    struct key_index *index = tx->db->key_index;
    const uint8_t *secret = NULL;
    if (!store_secret(tx, &secret, err) || !look(tx, err))
        return false;
    if (index->asked > index->generation_keys / LOAD_SHARE) {
        index->asked = 0;
        if (!load_one(tx, err))
            return false;
    }
    *search = (struct key_search){
        .hash = key_hash(hash_short(secret, parts, count)),
        .generation = tx->keys.generation,
        .sealed = index->count,
        .filter = NO_FILTER,
    };
    return true;
}

// The next generation to ask; 0: that was all.
static int64_t next_generation(struct key_index *index, struct key_search *search)
{
    if (search->generation >= index->newest)  // the newest, and what this transaction has sealed
        return search->generation--;
    while (search->sealed > 0) {
        const struct sealed *sealed = &index->sealed[--search->sealed];
        if (!ruled_out(index, search, sealed))
            return sealed->generation;
    }
    return 0;
}

static bool surely_new(const struct key_index *index, const struct key_search *search,
                       int64_t generation)
{
    const struct sealed *growing = &index->growing;
    if (growing->generation != generation)
        return false;
    const struct filter *filter = index->filters[growing->filter].filter;
    return !(filter_lanes(filter, (uint64_t)search->hash) >> growing->lane & 1);
}

// A key that is hoped to be new is found out by its insert: a slot has one record. So several
// processes that enqueue need not ask for one key after the other.
static bool hopes_for_new(struct tx *tx, int64_t generation)
{
    if (generation != tx->keys.generation || tx->db->key_index->cautious > 0 || !tx_hopes(tx))
        return false;
    tx->keys.hoped = true;
    return true;
}

static bool holder_of(struct tx *tx, int64_t slot, int64_t *job, struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    return sql_ask(tx, &rows, Q_KEY_FIND, err, INT(slot)) && rows_number(&rows, job, err);
}

bool key_search_next(struct tx *tx, struct key_search *search, struct key_record *record,
                     struct pawl_error *err)
{
    int64_t generation;
    while ((generation = next_generation(tx->db->key_index, search)) > 0) {
        if (surely_new(tx->db->key_index, search, generation) || hopes_for_new(tx, generation))
            continue;
        record->slot = key_first_slot(generation) | search->hash;
        if (!holder_of(tx, record->slot, &record->job, err))
            return false;
        if (record->job == 0)
            continue;
        if (generation == tx->keys.generation)
            search->crowded = true;
        return true;
    }
    *record = (struct key_record){0};
    return true;
}

// ----- changes

bool key_index_settle(struct tx *tx, struct pawl_error *err)
{
    struct key_newest *newest = &tx->keys;
    if (!newest->grown)
        return true;
    newest->grown = false;
    if (tx->db->key_index->cautious > 0)
        tx->db->key_index->cautious--;
    return sql_run(tx, Q_GENERATION_COUNT, err, INT(newest->generation), INT(newest->keys),
                   INT(newest->expires_at));
}

static bool open_next(struct tx *tx, struct pawl_error *err)
{
    int64_t next = tx->keys.generation + 1;
    if (!key_index_settle(tx, err)
        || !sql_run(tx, Q_GENERATION_SEAL, err, INT(tx->keys.generation))
        || !sql_run(tx, Q_GENERATION_INSERT, err, INT(next)))
        return false;
    tx->keys = (struct key_newest){ .generation = next, .rearranged = true };
    start_growing(tx->db->key_index, next);
    return true;
}

static void remember(struct key_index *index, int64_t generation, int64_t hash)
{
    const struct sealed *growing = &index->growing;
    if (growing->generation != generation)
        return;
    filter_add(index->filters[growing->filter].filter, growing->lane, (uint64_t)hash);
    index->growing_keys++;
}

bool key_put(struct tx *tx, const struct key_search *search, const struct key_record *old,
             int64_t job, pawl_time expires_at, struct pawl_error *err)
{
    struct key_newest *newest = &tx->keys;
    bool replaces = old->job && key_generation(old->slot) == newest->generation;
    bool full = search->crowded || newest->keys >= tx->db->key_index->generation_keys;
    if (!replaces && full && !open_next(tx, err))
        return false;
    newest->keys += !replaces;
    if (!replaces)
        remember(tx->db->key_index, newest->generation, search->hash);
    newest->grown = newest->put = true;
    if (newest->expires_at < expires_at)
        newest->expires_at = expires_at;
    int64_t slot = key_first_slot(newest->generation) | search->hash;
    return replaces ? sql_run(tx, Q_KEY_REPLACE, err, INT(slot), INT(job))
                    : sql_later(tx, Q_KEY_INSERT, err, INT(slot), INT(job));
}

// A seal that was taken back is none: the generation may get records again.
void key_index_take_back(struct tx *tx)
{
    bool rearranged = tx->keys.rearranged;
    if (tx->keys.hoped)
        tx->db->key_index->cautious = CAUTIOUS;
    if (rearranged)
        key_index_forget(tx->db->key_index);
    else if (tx->keys.put)
        stop_growing(tx->db->key_index);  // its number is too high now: others could make it true
    tx->keys = (struct key_newest){ .rearranged = rearranged };
}
