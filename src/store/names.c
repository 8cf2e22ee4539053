// A look-up is: the connection's memory, then the table, then (when asked to) a new row.
//
// The memory is a fixed table in which a later name takes the place of an earlier one with the same
// slot: it cannot grow, and losing an entry costs one SELECT.
#include "store/names.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/id.h"
#include "model/category.h"
#include "store/driver.h"

enum { SLOTS = 8192, KEY_MAX = 640, POLICIES = 64, POLICY_COLUMNS = 16 };
enum { POLICY_KIND = NAME_KINDS, WORKER_KIND, KINDS };

// What is looked up: its kind and its parts, each text with its length, so that no two meet.
struct key {
    size_t n;       // a multiple of a word's size, as KEY_MAX is
    bool too_long;  // to be remembered
    char bytes[KEY_MAX];
};

struct slot {
    char *key;
    size_t length;
    int64_t id;
};

struct text_slot {
    char *text;
    size_t length;
    int kind;
    int64_t id;
};

struct policy_slot {
    struct policy policy;
    struct arena texts;
    unsigned required;  // see policy_required
    int64_t id;
};

// The terms that were asked for last: mostly they are the next ones too.
struct last_policy {
    struct value values[POLICY_COLUMNS];
    struct arena texts;
    int64_t id;
};

struct names {
    struct slot slots[SLOTS];             // by what they say
    const struct slot *recent[NAME_KINDS];  // of those, what was found last
    struct last_policy last_policy;
    struct text_slot texts[SLOTS];        // by number
    struct policy_slot policies[POLICIES];  // by number
    bool has_secret;
    uint8_t secret[HASH_SECRET_BYTES];
};

static const struct {
    enum query find;
    enum query insert;
    enum query text;
} kinds[] = {
    [NAME_ORG] = { Q_ORG_FIND, Q_ORG_INSERT, Q_ORG_TEXT },
    [NAME_JOB_TYPE] = { Q_JOB_TYPE_FIND, Q_JOB_TYPE_INSERT, Q_JOB_TYPE_TEXT },
    [NAME_QUEUE] = { Q_QUEUE_FIND, Q_QUEUE_INSERT, Q_QUEUE_TEXT },
};
_Static_assert(countof(kinds) == NAME_KINDS, "one row per kind");

struct names *names_new(void)
{
    return calloc(1, sizeof(struct names));
}

void names_free(struct names *names)
{
    if (names)
        names_forget(names);
    free(names);
}

void names_forget(struct names *names)
{
    for (size_t i = 0; i < SLOTS; i++) {
        free(names->slots[i].key);
        free(names->texts[i].text);
    }
    for (size_t i = 0; i < POLICIES; i++)
        arena_end(&names->policies[i].texts);
    arena_end(&names->last_policy.texts);
    *names = (struct names){0};
}

// Whole words, the last one filled up with zeros.
static void key_add(struct key *key, const void *bytes, size_t n)
{
    if (n > KEY_MAX - key->n) {
        key->too_long = true;
        return;
    }
    size_t words = (n + sizeof(uint64_t) - 1) / sizeof(uint64_t);
    if (words == 0)
        return;
    char *end = key->bytes + key->n + words * sizeof(uint64_t);
    memset(end - sizeof(uint64_t), 0, sizeof(uint64_t));
    memcpy(key->bytes + key->n, bytes, n);
    key->n += words * sizeof(uint64_t);
}

static void key_number(struct key *key, int64_t number)
{
    key_add(key, &number, sizeof number);
}

static void key_text(struct key *key, struct str text)
{
    key_number(key, (int64_t)text.n);
    key_add(key, text.s, text.n);
}

static void key_start(struct key *key, int kind)
{
    key->n = 0;
    key->too_long = false;
    key_number(key, kind);
}

static struct slot *slot_of(struct names *names, const struct key *key)
{
    uint64_t hash = 0, word;  // only spreads, guards nothing
    for (size_t i = 0; i < key->n; i += sizeof word) {
        memcpy(&word, key->bytes + i, sizeof word);
        hash = (hash ^ word) * 0x9e3779b97f4a7c15;
        hash ^= hash >> 32;
    }
    return &names->slots[hash % SLOTS];
}

static int64_t remembered(struct tx *tx, const struct key *key)
{
    const struct slot *slot = slot_of(tx->db->names, key);
    return slot->key && !key->too_long
            && str_eq((struct str){ slot->key, slot->length }, (struct str){ key->bytes, key->n })
        ? slot->id
        : 0;
}

static char *copy_of(const char *bytes, size_t n)
{
    char *copy = malloc(n + 1);
    if (copy)
        memcpy(copy, bytes, n);
    return copy;
}

static void remember(struct tx *tx, const struct key *key, int64_t id)
{
    struct slot *slot = slot_of(tx->db->names, key);
    // defensive: what is in the store is never that long, by the CHECKs of its tables
    char *copy = id && !key->too_long ? copy_of(key->bytes, key->n) : NULL;
    if (!copy)
        return;  // costs a SELECT next time
    free(slot->key);
    *slot = (struct slot){ copy, key->n, id };
}

// Whether the slot is that of the name: a kind, a length and the text are what its key is made of.
static bool says(const struct slot *slot, enum name_kind kind, struct str name)
{
    int64_t words[2];
    if (!slot || !slot->key || slot->length < sizeof words + name.n)
        return false;
    memcpy(words, slot->key, sizeof words);
    return words[0] == (int64_t)kind && words[1] == (int64_t)name.n
        && str_eq((struct str){ slot->key + sizeof words, name.n }, name);
}

static bool look_up(struct tx *tx, enum name_kind kind, struct str name, int64_t *id,
                    struct pawl_error *err)
{
    struct key key;
    key_start(&key, (int)kind);
    key_text(&key, name);
    tx->db->names->recent[kind] = slot_of(tx->db->names, &key);
    *id = remembered(tx, &key);
    if (*id)
        return true;
    SCOPED(rows) struct rows rows = {0};
    if (!sql_ask(tx, &rows, kinds[kind].find, err, TEXT(name)) || !rows_number(&rows, id, err))
        return false;
    remember(tx, &key, *id);
    return true;
}

bool name_find(struct tx *tx, enum name_kind kind, struct str name, int64_t *id,
               struct pawl_error *err)
{
    const struct slot *recent = tx->db->names->recent[kind];
    if (!says(recent, kind, name))
        return look_up(tx, kind, name, id, err);
    *id = recent->id;
    return true;
}

bool name_intern(struct tx *tx, enum name_kind kind, struct str name, int64_t *id,
                 struct pawl_error *err)
{
    if (!name_find(tx, kind, name, id, err))
        return false;
    if (*id)
        return true;
    tx->interned = true;
    return sql_run(tx, kinds[kind].insert, err, TEXT(name), INT(tx->now))
        && name_find(tx, kind, name, id, err);
}

static bool read_text(struct tx *tx, enum query query, int64_t id, struct str *text,
                      struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    if (!sql_ask(tx, &rows, query, err, INT(id)))
        return false;
    *text = rows_next(&rows) ? row_text(&rows) : S("");
    return rows_ok(&rows, err);
}

// Empty: there is none.
static bool look(struct tx *tx, int kind, enum query query, int64_t id, struct str *text,
                 struct pawl_error *err)
{
    struct text_slot *slot = &tx->db->names->texts[((uint64_t)id * KINDS + (uint64_t)kind) % SLOTS];
    if (slot->text && slot->kind == kind && slot->id == id) {
        *text = str_dup(tx->arena, (struct str){ slot->text, slot->length });
        return true;
    }
    if (!read_text(tx, query, id, text, err))
        return false;
    bool found = text->n > 0 && !tx->arena->failed;
    char *copy = found ? copy_of(text->s, text->n) : NULL;
    if (!copy)
        return true;  // costs a SELECT next time
    free(slot->text);
    *slot = (struct text_slot){ copy, text->n, kind, id };
    return true;
}

static bool text_of(struct tx *tx, int kind, enum query query, int64_t id, struct str *text,
                    struct pawl_error *err)
{
    return look(tx, kind, query, id, text, err)
        && (text->n > 0 || tx->arena->failed
            || fail(err, PAWL_STORE, "%s %lld is missing", queries[query].name, (long long)id));
}

bool name_look(struct tx *tx, enum name_kind kind, int64_t id, struct str *name,
               struct pawl_error *err)
{
    return look(tx, (int)kind, kinds[kind].text, id, name, err);
}

bool name_text(struct tx *tx, enum name_kind kind, int64_t id, struct str *name,
               struct pawl_error *err)
{
    return text_of(tx, (int)kind, kinds[kind].text, id, name, err);
}

bool worker_text(struct tx *tx, int64_t id, struct str *worker_id, struct pawl_error *err)
{
    return text_of(tx, WORKER_KIND, Q_WORKER_TEXT, id, worker_id, err);
}

// In the column `slot`, a bit each.
enum { MARK_SLOT = 1, MARK_AUTHORITATIVE = 2, MARK_MAY_WRITE = 4 };

static int64_t marks_of(const struct policy *policy)
{
    return (policy->slot ? MARK_SLOT : 0) | (policy->authoritative ? MARK_AUTHORITATIVE : 0)
         | (policy->may_write ? MARK_MAY_WRITE : 0);
}

static void take_marks(struct policy *policy, int64_t marks)
{
    policy->slot = marks & MARK_SLOT;
    policy->authoritative = marks & MARK_AUTHORITATIVE;
    policy->may_write = marks & MARK_MAY_WRITE;
}

#define POLICY_VALUES(p)                                                                          \
    TEXT((p)->name), TEXT((p)->category), TEXT((p)->queue), INT((p)->max_attempts),               \
        INT((p)->step_attempts), INT((p)->exponential), INT((p)->jitter), INT((p)->base_us),      \
        INT((p)->delay_us_max), INT((p)->timeout_us), INT((p)->lease_us),                         \
        INT((int64_t)(p)->on_crash), INT((int64_t)(p)->on_timeout), INT((p)->dead_letter),        \
        INT((p)->key_ttl_us), INT(marks_of(p))

static bool policy_find(struct tx *tx, const struct policy *policy, int64_t *id,
                        struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    return sql_ask(tx, &rows, Q_POLICY_FIND, err, POLICY_VALUES(policy))
        && rows_number(&rows, id, err);
}

static bool same(const struct value *a, const struct value *b, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (a[i].number != b[i].number || !str_eq(a[i].text, b[i].text))
            return false;
    return true;
}

static void remember_last(struct last_policy *last, const struct value *values, int64_t id)
{
    arena_reset(&last->texts);
    for (size_t i = 0; i < POLICY_COLUMNS; i++) {
        last->values[i] = values[i];
        last->values[i].text = str_dup(&last->texts, values[i].text);
    }
    last->id = last->texts.failed ? 0 : id;
}

static bool policy_look_up(struct tx *tx, const struct policy *p, const struct value *values,
                           int64_t *id, struct pawl_error *err)
{
    struct key key;
    key_start(&key, POLICY_KIND);
    for (size_t i = 0; i < POLICY_COLUMNS; i++)
        if (values[i].kind == VALUE_TEXT)
            key_text(&key, values[i].text);
        else
            key_number(&key, values[i].number);
    *id = remembered(tx, &key);
    if (*id)
        return true;
    if (!policy_find(tx, p, id, err))
        return false;
    if (!*id) {
        tx->interned = true;
        if (!sql_run(tx, Q_POLICY_INSERT, err, POLICY_VALUES(p)) || !policy_find(tx, p, id, err))
            return false;
    }
    remember(tx, &key, *id);
    return true;
}

bool policy_intern(struct tx *tx, const struct policy *p, int64_t *id, struct pawl_error *err)
{
    const struct value values[] = { POLICY_VALUES(p) };
    _Static_assert(countof(values) == POLICY_COLUMNS, "one value per column");
    struct last_policy *last = &tx->db->names->last_policy;
    *id = last->id;
    if (*id && same(values, last->values, POLICY_COLUMNS))
        return true;
    if (!policy_look_up(tx, p, values, id, err))
        return false;
    remember_last(last, values, *id);
    return true;
}

static bool policy_read(struct tx *tx, int64_t id, struct policy *policy, struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    *policy = (struct policy){0};
    if (!sql_ask(tx, &rows, Q_POLICY_LOAD, err, INT(id)))
        return false;
    if (!rows_next(&rows))
        return rows_ok(&rows, err)
            && fail(err, PAWL_STORE, "policy %lld is missing", (long long)id);
    policy->name = row_text(&rows);
    policy->category = row_text(&rows);
    policy->queue = row_text(&rows);
    policy->max_attempts = row_int(&rows);
    policy->step_attempts = row_int(&rows);
    policy->exponential = row_int(&rows) != 0;
    policy->jitter = row_int(&rows) != 0;
    policy->base_us = row_int(&rows);
    policy->delay_us_max = row_int(&rows);
    policy->timeout_us = row_int(&rows);
    policy->lease_us = row_int(&rows);
    policy->on_crash = (enum on_crash)row_int(&rows);
    policy->on_timeout = (enum on_timeout)row_int(&rows);
    policy->dead_letter = row_int(&rows) != 0;
    policy->key_ttl_us = row_int(&rows);
    take_marks(policy, row_int(&rows));
    return true;
}

static struct policy policy_copy(struct arena *arena, const struct policy *policy)
{
    struct policy copy = *policy;
    copy.name = str_dup(arena, policy->name);
    copy.category = str_dup(arena, policy->category);
    copy.queue = str_dup(arena, policy->queue);
    return copy;
}

bool policy_load(struct tx *tx, int64_t id, struct policy *policy, struct pawl_error *err)
{
    struct policy_slot *slot = &tx->db->names->policies[(uint64_t)id % POLICIES];
    if (slot->id == id && id != 0) {
        *policy = policy_copy(tx->arena, &slot->policy);
        return true;
    }
    if (!policy_read(tx, id, policy, err))
        return false;
    arena_end(&slot->texts);
    slot->policy = policy_copy(&slot->texts, policy);
    slot->required = effects_required(policy->category);
    slot->id = tx->arena->failed || slot->texts.failed ? 0 : id;
    return true;
}

bool policy_is_slot(struct tx *tx, int64_t id, bool *slot, struct pawl_error *err)
{
    const struct policy_slot *known = &tx->db->names->policies[(uint64_t)id % POLICIES];
    struct policy policy;
    if (known->id != id && !policy_load(tx, id, &policy, err))
        return false;
    *slot = known->id == id ? known->policy.slot : policy.slot;
    return true;
}

bool policy_required(struct tx *tx, int64_t id, unsigned *effects, struct pawl_error *err)
{
    const struct policy_slot *known = &tx->db->names->policies[(uint64_t)id % POLICIES];
    struct policy policy;
    if (known->id != id && !policy_load(tx, id, &policy, err))
        return false;
    *effects = known->id == id ? known->required : effects_required(policy.category);
    return true;
}

bool worker_find(struct tx *tx, int64_t org, const struct worker *w, int64_t *id,
                 struct pawl_error *err)
{
    struct key key;
    key_start(&key, WORKER_KIND);
    key_number(&key, org);
    key_text(&key, w->worker_id);
    key_text(&key, w->instance);
    key_text(&key, w->boot_id);
    *id = remembered(tx, &key);
    if (*id)
        return true;
    SCOPED(rows) struct rows rows = {0};
    if (!sql_ask(tx, &rows, Q_WORKER_FIND, err, INT(org), TEXT(w->worker_id), TEXT(w->instance),
                 TEXT(w->boot_id))
        || !rows_number(&rows, id, err))
        return false;
    remember(tx, &key, *id);
    return true;
}

bool worker_intern(struct tx *tx, int64_t org, const struct worker *w, int64_t *id,
                   struct pawl_error *err)
{
    if (!worker_find(tx, org, w, id, err))
        return false;
    if (*id)
        return true;
    tx->interned = true;
    return sql_run(tx, Q_WORKER_INSERT, err, INT(org), TEXT(w->worker_id), TEXT(w->instance),
                   TEXT(w->boot_id), INT(tx->now))
        && worker_find(tx, org, w, id, err);
}

bool id_make(struct tx *tx, enum id_kind kind, struct id *id, struct pawl_error *err)
{
    static const enum query newest[] = {
        [ID_JOB] = Q_JOB_NEWEST,
        [ID_EXECUTION] = Q_EXECUTION_NEWEST,
        [ID_BATCH] = Q_BATCH_NEWEST,
        [ID_ARTIFACT] = Q_ARTIFACT_NEWEST,
    };
    int64_t *last = &tx->last_id[kind];
    if (*last == 0) {
        SCOPED(rows) struct rows rows = {0};
        if (!sql_ask_plain(tx, &rows, newest[kind], err) || !rows_number(&rows, last, err))
            return false;
    }
    // Jobs have even ones: odd ones are made by pawl.enqueue, which knows nothing of the last.
    int64_t after = kind == ID_JOB ? *last | 1 : *last;
    *id = id_after(after, tx->now, db_random(tx->db));
    *last = id->high;
    return true;
}

static unsigned hex_digit(char c)
{
    return (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);
}

static bool read_secret(struct tx *tx, struct str *hex, struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    if (!sql_ask_plain(tx, &rows, Q_STORE_SECRET, err))
        return false;
    *hex = rows_next(&rows) ? row_text(&rows) : S("");
    return rows_ok(&rows, err);
}

bool store_secret(struct tx *tx, const uint8_t **secret, struct pawl_error *err)
{
    struct names *names = tx->db->names;
    struct str hex = {0};
    *secret = names->secret;
    if (names->has_secret)
        return true;
    if (!read_secret(tx, &hex, err))
        return false;
    if (hex.n != (size_t)HASH_SECRET_BYTES * 2)
        return fail(err, PAWL_STORE, "the store's secret is damaged");
    for (size_t i = 0; i < HASH_SECRET_BYTES; i++)
        names->secret[i] = (uint8_t)(hex_digit(hex.s[2 * i]) << 4 | hex_digit(hex.s[2 * i + 1]));
    names->has_secret = true;
    return true;
}
