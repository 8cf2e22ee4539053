// A small table of verified keys, by the hash of their id, four to a set: the one nobody asked for
// longest makes room. Only good keys get in, so that strangers cannot push anybody out.
#include "server/identity.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/hash.h"
#include "model/rate.h"

enum { SETS = 256, WAYS = 4, NEVER = 0 };

// Times are of the monotonic clock, from 1 on.
struct slot {
    char key_id[KEY_ID_BYTES];
    char hash[HASH_DIGITS];
    char org_id[ID_TEXT];
    char projects[KEY_PROJECTS_MAX][ID_TEXT];
    size_t project_count;
    enum role role;
    pawl_time expires_at;   // by the calendar; 0: it does not
    int64_t verified_at;    // NEVER: forgotten, only its bucket is still good
    int64_t asked_at;       // NEVER: the slot is empty
    int64_t noted_at;       // when its use was last to be noted
    struct bucket bucket;
};

struct identities {
    const struct world *world;
    pthread_mutex_t lock;      // guards everything below
    int64_t rate;
    uint64_t generation;       // how often everything was forgotten
    bool has_keys;             // which never changes back
    int64_t open_until;        // until then the store is taken to have none
    struct identity_figures figures;
    struct slot slots[SETS][WAYS];
};

bool identities_open(struct identities **identities, const struct identity_options *options,
                     struct pawl_error *err)
{
    struct identities *all = calloc(1, sizeof *all);
    if (!all)
        return fail(err, PAWL_NO_MEMORY, "no memory for the keys in use");
    all->world = options->world;
    all->rate = options->rate;
    pthread_mutex_init(&all->lock, NULL);  // cannot fail with default attributes
    *identities = all;
    return true;
}

void identities_close(struct identities *all)
{
    if (!all)
        return;
    pthread_mutex_destroy(&all->lock);
    wipe(all->slots, sizeof all->slots);
    free(all);
}

void identities_rate(struct identities *all, int64_t rate)
{
    pthread_mutex_lock(&all->lock);
    all->rate = rate;
    pthread_mutex_unlock(&all->lock);
}

void identities_forget(struct identities *all)
{
    pthread_mutex_lock(&all->lock);
    all->generation++;
    all->open_until = NEVER;
    for (size_t i = 0; i < SETS; i++)
        for (size_t k = 0; k < WAYS; k++)
            all->slots[i][k].verified_at = NEVER;
    pthread_mutex_unlock(&all->lock);
}

struct identity_figures identities_figures(struct identities *all)
{
    pthread_mutex_lock(&all->lock);
    struct identity_figures figures = all->figures;
    pthread_mutex_unlock(&all->lock);
    return figures;
}

static int64_t now_of(const struct identities *all)
{
    return world_monotonic(all->world) + 1;  // so that it is never NEVER
}

// ----- the header

// One scheme, in any case, one space; what follows. Empty: it is something else.
static struct str sent_key(struct str header)
{
    const struct str scheme = S("Bearer ");
    return header.n > scheme.n && strncasecmp(header.s, scheme.s, scheme.n) == 0
             ? (struct str){ header.s + scheme.n, header.n - scheme.n }
             : S("");
}

static bool bearer(struct str header, struct api_key *key)
{
    return api_key_parse(sent_key(header), key);
}

static bool refuse(struct identities *all, const char *why, struct pawl_error *err)
{
    pthread_mutex_lock(&all->lock);
    all->figures.refused++;
    pthread_mutex_unlock(&all->lock);
    return fail(err, PAWL_UNAUTHORIZED, "%s", why);
}

static bool refuse_header(struct identities *all, struct str header, struct pawl_error *err)
{
    if (header.n == 0)
        return refuse(all, "a key is needed: Authorization: Bearer KEY", err);
    if (str_starts(sent_key(header), S("pawl_")))
        return refuse(all, "the key is mistyped or cut, its checksum says: copy it again, whole",
                      err);
    return refuse(all, "the Authorization header holds no key: it is Bearer and one key", err);
}

// ----- the table, under the lock

static struct slot *set_of(struct identities *all, struct str key_id)
{
    uint64_t hash = 0;  // only spreads, guards nothing
    for (size_t i = 0; i < key_id.n; i++)
        hash = (hash ^ (unsigned char)key_id.s[i]) * 0x9e3779b97f4a7c15;
    return all->slots[(hash >> 32) % SETS];
}

static struct slot *slot_find(struct identities *all, struct str key_id)
{
    struct slot *set = set_of(all, key_id);
    for (size_t i = 0; i < WAYS; i++)
        if (set[i].asked_at != NEVER && memcmp(set[i].key_id, key_id.s, KEY_ID_BYTES) == 0)
            return &set[i];
    return NULL;
}

// Where a key goes: its own slot, an empty one, or the one nobody asked for longest.
static struct slot *slot_for(struct identities *all, struct str key_id)
{
    struct slot *own = slot_find(all, key_id), *set = set_of(all, key_id), *oldest = set;
    if (own)
        return own;
    for (size_t i = 1; i < WAYS; i++)
        if (set[i].asked_at < oldest->asked_at)
            oldest = &set[i];
    *oldest = (struct slot){0};
    return oldest;
}

static bool good(const struct slot *slot, const char hash[HASH_DIGITS], int64_t now,
                 pawl_time calendar)
{
    return slot && slot->verified_at != NEVER && now - slot->verified_at < IDENTITY_US_MAX
        && (slot->expires_at == 0 || slot->expires_at > calendar) && hash_same(slot->hash, hash);
}

// One request more with this key: it is counted, limited, and once a minute noted.
static bool admit(struct identities *all, struct slot *slot, struct identity *identity,
                  int64_t now)
{
    slot->asked_at = now;
    if (!bucket_take(&slot->bucket, all->rate, now, &identity->retry_after_us)) {
        all->figures.limited++;
        return false;
    }
    all->figures.found++;
    identity->note_use = slot->noted_at == NEVER || now - slot->noted_at >= KEY_USED_US;
    if (identity->note_use)
        slot->noted_at = now;
    return true;
}

// ----- answers

static bool filled(struct arena *arena, const struct slot *slot, struct identity *identity)
{
    struct str *projects = arena_new(arena, struct str, slot->project_count + 1);
    for (size_t i = 0; projects && i < slot->project_count; i++)
        projects[i] = str_dup(arena, (struct str){ slot->projects[i], ID_TEXT });
    identity->org_id = str_dup(arena, (struct str){ slot->org_id, ID_TEXT });
    identity->role = slot->role;
    identity->projects = projects;
    identity->project_count = slot->project_count;
    identity->key_id = str_dup(arena, (struct str){ slot->key_id, KEY_ID_BYTES });
    identity->actor_type = ACTOR_API_KEY;
    identity->actor_id = identity->key_id;
    return !arena->failed;  // or a key limited to projects might become one that is not
}

static void everybody(struct identity *identity)
{
    *identity = (struct identity){
        .open = true,
        .org_id = DEFAULT_ORG,
        .role = ROLE_ADMIN,
        .actor_type = ACTOR_USER,
        .actor_id = S("anybody"),
    };
}

static bool answer(struct arena *arena, const struct slot *slot, bool admitted,
                   struct identity *identity, struct pawl_error *err)
{
    if (!admitted)
        return fail(err, PAWL_TOO_MANY, "too many requests with this key: wait a little");
    return filled(arena, slot, identity) || fail(err, PAWL_NO_MEMORY, "no memory for a key");
}

// What is remembered of all callers.
struct memory {
    bool open, has_keys;
    uint64_t generation;
};

static struct memory recall(struct identities *all)
{
    pthread_mutex_lock(&all->lock);
    struct memory memory = { now_of(all) < all->open_until, all->has_keys, all->generation };
    all->figures.found += memory.open;
    pthread_mutex_unlock(&all->lock);
    return memory;
}

static bool remembered(struct identities *all, const struct api_key *key,
                       struct identity *identity, struct slot *known, bool *admitted)
{
    char hash[HASH_DIGITS + 1];
    hash_secret(key->secret, hash);
    int64_t now = now_of(all);
    pawl_time calendar = world_wall(all->world);
    pthread_mutex_lock(&all->lock);
    struct slot *slot = slot_find(all, key->id);
    bool found = good(slot, hash, now, calendar);
    if (found) {
        *known = *slot;
        *admitted = admit(all, slot, identity, now);
    }
    pthread_mutex_unlock(&all->lock);
    wipe(hash, sizeof hash);
    return found;
}

enum identity_answer identity_look(struct identities *all, struct arena *arena, struct str header,
                                   struct identity *identity, struct pawl_error *err)
{
    struct memory memory = recall(all);
    struct api_key key;
    *identity = (struct identity){ .ticket = memory.generation };
    if (memory.open)
        return everybody(identity), IDENTITY_FOUND;
    if (!bearer(header, &key)) {
        bool refused = memory.has_keys && !refuse_header(all, header, err);
        return refused ? IDENTITY_REFUSED : IDENTITY_UNKNOWN;
    }
    bool admitted = false;
    struct slot known = {0};
    if (!remembered(all, &key, identity, &known, &admitted))
        return IDENTITY_UNKNOWN;  // also with a wrong secret: as slow as a wrong id
    return answer(arena, &known, admitted, identity, err) ? IDENTITY_FOUND : IDENTITY_REFUSED;
}

// ----- the store

static bool store_open(struct identities *all, struct tx *tx, uint64_t ticket, bool *open,
                       struct pawl_error *err)
{
    bool any = recall(all).has_keys;
    if (!any && !key_any(tx, &any, err))
        return false;
    *open = !any;
    pthread_mutex_lock(&all->lock);
    all->has_keys = all->has_keys || any;
    all->figures.found += !any;
    if (!any && ticket == all->generation)
        all->open_until = now_of(all) + IDENTITY_OPEN_US_MAX;
    pthread_mutex_unlock(&all->lock);
    return true;
}

// Why a key that was good is so no longer; NULL: it is.
static const char *end_of(const struct key *key, pawl_time now)
{
    if (key->revoked_at)
        return "the key has been revoked";
    if (key->expires_at && key->expires_at <= now)
        return "the key has expired";
    return key->org_disabled_at ? "the org of the key is disabled" : NULL;
}

// Why a key is no good; NULL: it is. The secret is compared first, with a stranger's hash when
// there is no such key: nobody learns anything about a key whose secret they do not know.
static const char *verdict_of(const struct key *key, bool found, struct str secret, pawl_time now)
{
    static const char stranger[HASH_DIGITS] = {0};
    char hash[HASH_DIGITS + 1];
    bool usable = found && key->hash.n == HASH_DIGITS;
    hash_secret(secret, hash);
    bool same = hash_same(usable ? key->hash.s : stranger, hash);
    wipe(hash, sizeof hash);
    return usable && same ? end_of(key, now) : "the key is not known";
}

static void fill_slot(struct slot *slot, const struct key *key)
{
    assert(key->key_id.n == KEY_ID_BYTES && key->org_id.n == ID_TEXT);
    assert(key->project_count <= KEY_PROJECTS_MAX);
    memcpy(slot->key_id, key->key_id.s, KEY_ID_BYTES);
    memcpy(slot->hash, key->hash.s, HASH_DIGITS);
    memcpy(slot->org_id, key->org_id.s, ID_TEXT);
    for (size_t i = 0; i < key->project_count; i++) {
        assert(key->projects[i].n == ID_TEXT);
        memcpy(slot->projects[i], key->projects[i].s, ID_TEXT);
    }
    slot->project_count = key->project_count;
    slot->role = key->role;
    slot->expires_at = key->expires_at;
}

// Puts a verified key into the table and admits this request. One that was forgotten meanwhile is
// good for this request only.
static bool keep(struct identities *all, const struct key *key, pawl_time store_now,
                 struct identity *identity, struct slot *known)
{
    int64_t now = now_of(all), unused_us = store_now - key->last_used_at;
    pthread_mutex_lock(&all->lock);
    struct slot *slot = slot_for(all, key->key_id);
    bool is_new = slot->asked_at == NEVER;
    fill_slot(slot, key);
    slot->verified_at = identity->ticket == all->generation ? now : NEVER;
    if (is_new && key->last_used_at && unused_us < KEY_USED_US)
        slot->noted_at = now;  // somebody else did
    bool admitted = admit(all, slot, identity, now);
    *known = *slot;
    pthread_mutex_unlock(&all->lock);
    return admitted;
}

bool identity_find(struct identities *all, struct tx *tx, struct str header,
                   struct identity *identity, struct pawl_error *err)
{
    struct api_key parts;
    struct key key = {0};
    struct slot known;
    bool open = false, found = false;
    if (!store_open(all, tx, identity->ticket, &open, err))
        return false;
    if (open)
        return everybody(identity), true;
    if (!bearer(header, &parts))
        return refuse_header(all, header, err);
    if (!key_find(tx, parts.id, &key, &found, err))
        return false;
    const char *why = verdict_of(&key, found, parts.secret, tx->now);
    if (why)
        return refuse(all, why, err);
    bool admitted = keep(all, &key, tx->now, identity, &known);
    return answer(tx->arena, &known, admitted, identity, err);
}

bool identity_stands(const struct identity *identity, struct tx *tx, struct pawl_error *err)
{
    struct key key = {0};
    bool found = false;
    if (identity->open)
        return key_any(tx, &found, err)
            && (!found || fail(err, PAWL_UNAUTHORIZED, "a key is needed by now"));
    if (!key_find(tx, identity->key_id, &key, &found, err))
        return false;
    const char *why = found ? end_of(&key, tx->now) : "the key is not known";
    return !why || fail(err, PAWL_UNAUTHORIZED, "%s", why);
}

struct caller identity_caller(const struct identity *identity, struct str request_id,
                              struct str correlation_id)
{
    return (struct caller){
        .org_id = identity->org_id,
        .actor_type = identity->actor_type,
        .actor_id = identity->actor_id,
        .request_id = request_id,
        .correlation_id = correlation_id,
        .projects = identity->projects,
        .project_count = identity->project_count,
    };
}
