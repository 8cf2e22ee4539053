// One buffer per statement. Of two statements for one table only one has rows that are held: rows
// are written in the order they came.
#include "store/later.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "store/driver.h"

static const struct {
    enum query query;
    const char *table;
    bool pointed_at;  // by foreign keys: it is there before any other statement that writes
    bool hoped;       // each is to change one row: see tx_hopes
} kinds[] = {
    { .query = Q_JOB_INSERT, .table = "jobs", .pointed_at = true },
    { .query = Q_JOB_INSERT_KEYED, .table = "jobs", .pointed_at = true },
    { .query = Q_KEY_INSERT, .table = "idempotency_keys" },
    { .query = Q_READY_INSERT, .table = "ready" },
    { .query = Q_EXECUTION_INSERT, .table = "executions" },
    { .query = Q_EXECUTION_INSERT_FIRST, .table = "executions" },
    { .query = Q_EXECUTION_COMMIT_DONE, .table = "executions", .hoped = true },
    { .query = Q_OUTCOME_COMMIT_DONE, .table = "outcomes" },
    { .query = Q_AUDIT_INSERT, .table = "audit_events" },
    { .query = Q_AUDIT_INSERT_PLAIN, .table = "audit_events" },
};

enum {
    KINDS = countof(kinds),
    ARGUMENTS_MAX = 23,
    TEXT_BYTES_MAX = 16 * 1024,  // a longer one is not copied: its row is inserted at once
};

struct held {
    struct value *values;
    size_t rows;
    struct arena texts;
};

struct later {
    size_t rows_max;
    struct held held[KINDS];
    unsigned filled;             // a bit per kind that has rows
    unsigned before[QUERIES];    // a bit per kind: the statement could miss its rows
    unsigned rivals[KINDS];      // a bit per other kind of the same table
    unsigned char of[QUERIES];   // the statement's own kind
    bool lost;                 // some could not be written: the transaction is incomplete
};

static unsigned rivals_of(size_t k)
{
    unsigned rivals = 0;
    for (size_t i = 0; i < KINDS; i++)
        if (i != k && strcmp(kinds[i].table, kinds[k].table) == 0)
            rivals |= 1u << i;
    return rivals;
}

static struct later *with_room(size_t rows_max)
{
    struct later *later = calloc(1, sizeof *later);
    struct value *values = calloc(KINDS * rows_max, ARGUMENTS_MAX * sizeof *values);
    if (!later || !values) {
        free(later);
        free(values);
        return NULL;
    }
    later->rows_max = rows_max;
    for (size_t k = 0; k < KINDS; k++)
        later->held[k].values = values + k * rows_max * ARGUMENTS_MAX;
    return later;
}

struct later *later_new(size_t rows_max)
{
    struct later *later = with_room(rows_max);
    for (size_t q = 0; later && q < QUERIES; q++) {
        later->of[q] = KINDS;
        bool writes = strncmp(queries[q].sqlite, "SELECT", 6) != 0;
        for (size_t k = 0; k < KINDS; k++)
            if ((kinds[k].pointed_at && writes) || strstr(queries[q].sqlite, kinds[k].table))
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
    if (later)
        free(later->held[0].values);
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

static bool write_held(struct tx *tx, size_t k, struct pawl_error *err)
{
    const struct held *held = &tx->db->later->held[k];
    const struct db_driver *driver = tx->db->driver;
    if (!driver->run_many(tx->db, kinds[k].query, held->values, held->rows, err))
        return false;
    if (kinds[k].hoped)
        driver->expect(tx->db, (int64_t)held->rows);
    return true;
}

bool db_run_rows(struct tx *tx, enum query query, const struct value *values, size_t rows,
                 struct pawl_error *err)
{
    const struct db_driver *driver = tx->db->driver;
    size_t arguments = (size_t)queries[query].arguments;
    for (size_t done = 0, some; done < rows; done += some) {
        some = rows - done < driver->rows_at_once ? rows - done : driver->rows_at_once;
        if (!driver->run_many(tx->db, query, values + done * arguments, some, err))
            return false;
    }
    return true;
}

bool later_run(struct tx *tx, unsigned which, struct pawl_error *err)
{
    struct later *later = tx->db->later;
    for (size_t k = 0; k < KINDS && !later->lost; k++) {
        if (!(which & later->filled & 1u << k))
            continue;
        later->lost = !write_held(tx, k, err);
        empty(later, k);
        if (later->lost)
            return false;
    }
    return !later->lost || fail(err, PAWL_STORE, "an earlier statement of this transaction failed");
}

bool tx_settle(struct tx *tx, struct pawl_error *err)
{
    const struct db_driver *driver = tx->db->driver;
    return later_run(tx, LATER_ALL, err) && (!driver->settle || driver->settle(tx->db, err));
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
    return (copied && held->rows < later->rows_max) || later_run(tx, 1u << k, err);
}
