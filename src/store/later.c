// One buffer per statement. Of two statements for one table only one has rows that are held: rows
// are inserted in the order they came.
#include "store/later.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "store/driver.h"

static const struct {
    enum query query;
    const char *table;
    bool pointed_at;  // by foreign keys: it is there before any other statement runs
} kinds[] = {
    { Q_JOB_INSERT, "jobs", true },
    { Q_JOB_INSERT_KEYED, "jobs", true },
    { Q_KEY_INSERT, "idempotency_keys", false },
    { Q_READY_INSERT, "ready", false },
    { Q_EXECUTION_INSERT, "executions", false },
    { Q_EXECUTION_INSERT_FIRST, "executions", false },
    { Q_OUTCOME_COMMIT_DONE, "outcomes", false },
    { Q_AUDIT_INSERT, "audit_events", false },
    { Q_AUDIT_INSERT_PLAIN, "audit_events", false },
};

enum {
    KINDS = countof(kinds),
    ARGUMENTS_MAX = 23,
    TEXT_BYTES_MAX = 16 * 1024,  // a longer one is not copied: its row is inserted at once
};

struct held {
    struct value values[LATER_ROWS * ARGUMENTS_MAX];
    size_t rows;
    struct arena texts;
};

struct later {
    struct held held[KINDS];
    unsigned filled;             // a bit per kind that has rows
    unsigned before[QUERIES];    // a bit per kind: the statement could miss its rows
    unsigned rivals[KINDS];      // a bit per other kind of the same table
    unsigned char of[QUERIES];   // the statement's own kind
    bool lost;                 // some could not be inserted: the transaction is incomplete
};

static unsigned rivals_of(size_t k)
{
    unsigned rivals = 0;
    for (size_t i = 0; i < KINDS; i++)
        if (i != k && strcmp(kinds[i].table, kinds[k].table) == 0)
            rivals |= 1u << i;
    return rivals;
}

struct later *later_new(void)
{
    struct later *later = calloc(1, sizeof *later);
    for (size_t q = 0; later && q < QUERIES; q++) {
        later->of[q] = KINDS;
        for (size_t k = 0; k < KINDS; k++)
            if (kinds[k].pointed_at || strstr(queries[q].sqlite, kinds[k].table))
                later->before[q] |= 1u << k;
    }
    for (unsigned char k = 0; later && k < KINDS; k++) {
        later->rivals[k] = rivals_of(k);
        later->of[kinds[k].query] = k;
    }
    return later;
}

void later_free(struct later *later)
{
    for (size_t k = 0; later && k < KINDS; k++)
        arena_end(&later->held[k].texts);
    free(later);
}

unsigned later_before(const struct later *later, enum query query)
{
    return later->before[query] & later->filled;
}

static void empty(struct later *later, size_t k)
{
    later->filled &= ~(1u << k);
    later->held[k].rows = 0;
    arena_reset(&later->held[k].texts);
}

void later_drop(struct later *later)
{
    for (size_t k = 0; k < KINDS; k++)
        if (later->filled & 1u << k)
            empty(later, k);
    later->lost = false;
}

bool db_run_rows(struct tx *tx, enum query query, const struct value *values, size_t rows,
                 struct pawl_error *err)
{
    const struct db_driver *driver = tx->db->driver;
    size_t arguments = (size_t)queries[query].arguments, done = 0;
    for (; done + LATER_ROWS <= rows; done += LATER_ROWS)
        if (!driver->run_many(tx->db, query, values + done * arguments, LATER_ROWS, err))
            return false;
    for (; done < rows; done++)
        if (!driver->run_many(tx->db, query, values + done * arguments, 1, err))
            return false;
    return true;
}

bool later_run(struct tx *tx, unsigned which, struct pawl_error *err)
{
    struct later *later = tx->db->later;
    for (size_t k = 0; k < KINDS && !later->lost; k++) {
        if (!(which & later->filled & 1u << k))
            continue;
        struct held *held = &later->held[k];
        later->lost = !db_run_rows(tx, kinds[k].query, held->values, held->rows, err);
        empty(later, k);
        if (later->lost)
            return false;
    }
    return !later->lost || fail(err, PAWL_STORE, "an earlier statement of this transaction failed");
}

bool tx_settle(struct tx *tx, struct pawl_error *err)
{
    return later_run(tx, LATER_ALL, err);
}

// Copies a row. False: one of its texts is so long that it was not copied.
static bool keep(struct held *held, const struct value *values, size_t count)
{
    struct value *row = held->values + held->rows * count;
    bool copied = true;
    for (size_t i = 0; i < count; i++) {
        row[i] = values[i];
        if (values[i].kind == VALUE_TEXT && values[i].text.n > TEXT_BYTES_MAX)
            copied = false;
        else if (values[i].kind == VALUE_TEXT)
            row[i].text = str_dup(&held->texts, values[i].text);
    }
    held->rows++;
    return copied;
}

bool db_later(struct tx *tx, enum query query, const struct value *values, size_t count,
              struct pawl_error *err)
{
    struct later *later = tx->db->later;
    size_t k = later->of[query];
    assert(tx->open && k < KINDS && count == (size_t)queries[query].arguments
           && count <= ARGUMENTS_MAX);
    unsigned rivals = later->rivals[k] & later->filled;
    if (rivals && !later_run(tx, rivals, err))
        return false;
    struct held *held = &later->held[k];
    bool copied = keep(held, values, count);
    later->filled |= 1u << k;
    if (held->texts.failed)
        tx->arena->failed = true;  // and so the transaction cannot commit
    return (copied && held->rows < LATER_ROWS) || later_run(tx, 1u << k, err);
}
