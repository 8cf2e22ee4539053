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
#include "model/policy.h"
#include "store/driver.h"

enum { SLOTS = 1024, KEY_MAX = 600, POLICY_KIND = NAME_KINDS, WORKER_KIND };

struct slot {
    char *key;
    size_t length;
    int64_t id;
};

struct names {
    struct slot slots[SLOTS];
    bool has_secret;
    uint8_t secret[HASH_SECRET_BYTES];
};

static const struct {
    enum query find;
    enum query insert;
} kinds[] = {
    [NAME_ORG] = { Q_ORG_FIND, Q_ORG_INSERT },
    [NAME_JOB_TYPE] = { Q_JOB_TYPE_FIND, Q_JOB_TYPE_INSERT },
    [NAME_QUEUE] = { Q_QUEUE_FIND, Q_QUEUE_INSERT },
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
    for (size_t i = 0; i < SLOTS; i++)
        free(names->slots[i].key);
    *names = (struct names){0};
}

static struct slot *slot_of(struct names *names, struct str key)
{
    uint64_t hash = 14695981039346656037u;  // FNV-1a: only spreads, guards nothing
    for (size_t i = 0; i < key.n; i++)
        hash = (hash ^ (unsigned char)key.s[i]) * 1099511628211u;
    return &names->slots[hash % SLOTS];
}

static int64_t remembered(struct tx *tx, struct str key)
{
    const struct slot *slot = slot_of(tx->db->names, key);
    return slot->key && str_eq((struct str){ slot->key, slot->length }, key) ? slot->id : 0;
}

static void remember(struct tx *tx, struct str key, int64_t id)
{
    struct slot *slot = slot_of(tx->db->names, key);
    char *copy = id && key.n <= KEY_MAX ? strndup(key.s, key.n) : NULL;
    if (!copy)
        return;  // costs a SELECT next time
    free(slot->key);
    *slot = (struct slot){ copy, key.n, id };
}

bool name_find(struct tx *tx, enum name_kind kind, struct str name, int64_t *id,
               struct pawl_error *err)
{
    struct str key = str_format(tx->arena, "%d:%.*s", (int)kind, STR(name));
    *id = remembered(tx, key);
    if (*id)
        return true;
    SCOPED(rows) struct rows rows = {0};
    if (!sql_ask(tx, &rows, kinds[kind].find, err, TEXT(name)) || !rows_number(&rows, id, err))
        return false;
    remember(tx, key, *id);
    return true;
}

bool name_intern(struct tx *tx, enum name_kind kind, struct str name, int64_t *id,
                 struct pawl_error *err)
{
    if (!name_find(tx, kind, name, id, err))
        return false;
    if (*id)
        return true;
    return sql_run(tx, kinds[kind].insert, err, TEXT(name), INT(tx->now))
        && name_find(tx, kind, name, id, err);
}

#define POLICY_VALUES(p)                                                                          \
    TEXT((p)->name), TEXT((p)->category), TEXT((p)->queue), INT((p)->max_attempts),               \
        INT((p)->step_attempts), INT((p)->exponential), INT((p)->jitter), INT((p)->base_us),      \
        INT((p)->delay_us_max), INT((p)->timeout_us), INT((p)->lease_us),                         \
        INT((int64_t)(p)->on_crash), INT((int64_t)(p)->on_timeout), INT((p)->dead_letter),        \
        INT((p)->key_ttl_us)

static bool policy_find(struct tx *tx, const struct policy *policy, int64_t *id,
                        struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    return sql_ask(tx, &rows, Q_POLICY_FIND, err, POLICY_VALUES(policy))
        && rows_number(&rows, id, err);
}

bool policy_intern(struct tx *tx, const struct policy *p, int64_t *id, struct pawl_error *err)
{
    struct str key = str_format(
        tx->arena, "%d:%.*s:%.*s:%.*s:%lld:%lld:%d:%d:%lld:%lld:%lld:%lld:%d:%d:%d:%lld",
        (int)POLICY_KIND, STR(p->name), STR(p->category), STR(p->queue),
        (long long)p->max_attempts, (long long)p->step_attempts, p->exponential, p->jitter,
        (long long)p->base_us, (long long)p->delay_us_max, (long long)p->timeout_us,
        (long long)p->lease_us, (int)p->on_crash, (int)p->on_timeout, p->dead_letter,
        (long long)p->key_ttl_us);
    *id = remembered(tx, key);
    if (*id)
        return true;
    if (!policy_find(tx, p, id, err))
        return false;
    if (!*id
        && !(sql_run(tx, Q_POLICY_INSERT, err, POLICY_VALUES(p)) && policy_find(tx, p, id, err)))
        return false;
    remember(tx, key, *id);
    return true;
}

bool policy_load(struct tx *tx, int64_t id, struct policy *policy, struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    if (!sql_ask(tx, &rows, Q_POLICY_LOAD, err, INT(id)))
        return false;
    if (!rows_next(&rows))
        return rows_ok(&rows, err)
            && fail(err, PAWL_STORE, "policy %lld is missing", (long long)id);
    *policy = (struct policy){0};
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
    return true;
}

bool worker_find(struct tx *tx, int64_t org, const struct worker *w, int64_t *id,
                 struct pawl_error *err)
{
    struct str key = str_format(tx->arena, "%d:%lld:%zu:%.*s:%zu:%.*s:%.*s", (int)WORKER_KIND,
                                (long long)org, w->worker_id.n, STR(w->worker_id), w->instance.n,
                                STR(w->instance), STR(w->boot_id));
    *id = remembered(tx, key);
    if (*id)
        return true;
    SCOPED(rows) struct rows rows = {0};
    if (!sql_ask(tx, &rows, Q_WORKER_FIND, err, INT(org), TEXT(w->worker_id), TEXT(w->instance),
                 TEXT(w->boot_id))
        || !rows_number(&rows, id, err))
        return false;
    remember(tx, key, *id);
    return true;
}

bool worker_intern(struct tx *tx, int64_t org, const struct worker *w, int64_t *id,
                   struct pawl_error *err)
{
    if (!worker_find(tx, org, w, id, err))
        return false;
    if (*id)
        return true;
    return sql_run(tx, Q_WORKER_INSERT, err, INT(org), TEXT(w->worker_id), TEXT(w->instance),
                   TEXT(w->boot_id), INT(tx->now))
        && worker_find(tx, org, w, id, err);
}

bool id_make(struct tx *tx, enum id_kind kind, struct id *id, struct pawl_error *err)
{
    static const enum query newest[] = {
        [ID_JOB] = Q_JOB_NEWEST,
        [ID_EXECUTION] = Q_EXECUTION_NEWEST,
    };
    int64_t *last = &tx->last_id[kind];
    if (*last == 0) {
        SCOPED(rows) struct rows rows = {0};
        if (!sql_ask_plain(tx, &rows, newest[kind], err) || !rows_number(&rows, last, err))
            return false;
    }
    *id = id_after(*last, tx->now, world_random(tx->db->world));
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
