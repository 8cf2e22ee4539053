// A table is read in the order of its key, and both databases order texts by their bytes: so the
// last key in the target is where to go on, and two tables that are read side by side must be the
// same row for row.
#include "engine/transfer_rows.h"

#include <string.h>

enum { PIECE_ROWS_MAX = 256,  // read at once: a row may have two texts of a megabyte
       PIECE_BYTES = 4 << 20,
       COMPARE_ROWS = 64,     // of each store at once
       COMMIT_ROWS = 4096,    // in one transaction of the target's, ...
       COMMIT_BYTES = 16 << 20 };

struct piece {
    struct value *values;
    size_t rows, columns;
    size_t bytes;
};

static bool wrong(const struct copied_table *table, const struct pawl_error *why,
                  struct pawl_error *err)
{
    return fail(err, why->code, "table %s: %s", table->name, why->message);
}
#define wrong(...) REFUSES(wrong(__VA_ARGS__))

// ----- reading

static struct value read_value(struct rows *rows, char type)
{
    struct value value = row_is_null(rows) ? NONE : type == 'i' ? INT(0)
                                                                : TEXT(S(""));
    int64_t number = type == 'i' ? row_int(rows) : 0;
    struct str text = type == 't' ? row_text(rows) : S("");
    if (value.kind == VALUE_INT)
        value.number = number;
    if (value.kind == VALUE_TEXT)
        value.text = text;
    return value;
}

static void read_row(struct rows *rows, const char *types, size_t columns, struct value *values)
{
    for (size_t i = 0; i < columns; i++)
        values[i] = read_value(rows, types[i]);
}

// Before every key that a store has: no column of a key is empty and alone.
static void lowest(const struct copied_table *table, struct value *key)
{
    for (int i = 0; i < table->keys; i++)
        key[i] = table->types[i] == 'i' ? INT(INT64_MIN) : TEXT(S(""));
}

enum { KEYS_MAX = 8 };

static bool read_piece(struct tx *tx, const struct copied_table *table, const struct value *after,
                       size_t limit, struct piece *piece, struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    struct value given[KEYS_MAX + 1];
    size_t keys = (size_t)table->keys, columns = strlen(table->types);
    memcpy(given, after, keys * sizeof *given);
    given[keys] = INT((int64_t)limit);
    *piece = (struct piece){ arena_new(tx->arena, struct value, limit * columns), 0, columns, 0 };
    if (!piece->values)
        return fail(err, PAWL_NO_MEMORY, "no memory for the rows of a table");
    if (!db_ask(tx, &rows, table->read, given, keys + 1, err))
        return false;
    for (; piece->rows < limit && rows_next(&rows); piece->rows++)
        read_row(&rows, table->types, columns, piece->values + piece->rows * columns);
    for (size_t i = 0; i < piece->rows * columns; i++)
        piece->bytes += sizeof *piece->values + piece->values[i].text.n;
    return rows_ok(&rows, err)
        && (!tx->arena->failed || fail(err, PAWL_NO_MEMORY, "no memory for the rows of a table"));
}

static const struct value *last_of(const struct piece *piece)
{
    return piece->values + (piece->rows - 1) * piece->columns;
}

// So many as will probably have PIECE_BYTES, going by those before. Never very few: the rows of one
// transaction have less than COMMIT_BYTES before its last piece.
static size_t next_limit(const struct piece *piece)
{
    size_t fit = PIECE_BYTES / (piece->bytes / (piece->rows + 1) + 1);
    return fit < PIECE_ROWS_MAX ? fit : PIECE_ROWS_MAX;
}

bool table_count(struct tx *tx, const struct copied_table *table, int64_t *count,
                 struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    return sql_ask_plain(tx, &rows, table->count, err) && rows_number(&rows, count, err);
}

// The key of the last row; the lowest there is when there is none.
static bool last_key(struct tx *tx, const struct copied_table *table, struct value *key,
                     bool *empty, struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    lowest(table, key);
    if (!sql_ask_plain(tx, &rows, table->last, err))
        return false;
    *empty = !rows_next(&rows);
    if (!*empty)
        read_row(&rows, table->types, (size_t)table->keys, key);
    return rows_ok(&rows, err);
}

bool table_empty(struct tx *tx, const struct copied_table *table, bool *empty,
                 struct pawl_error *err)
{
    struct value key[KEYS_MAX];
    return last_key(tx, table, key, empty, err);
}

static void advance(struct moving *m, size_t rows)
{
    m->done += (int64_t)rows;
    if (m->audience->progress)
        m->audience->progress(m->audience->self, m->done, m->total);
}

// ----- copying

// One transaction of the target's.
static bool copy_some(struct moving *m, const struct copied_table *table, bool *more,
                      struct pawl_error *err)
{
    SCOPED(arena) struct arena read = {0};
    SCOPED(arena) struct arena written = {0};
    SCOPED(tx) struct tx target = {0};
    struct value key[KEYS_MAX];
    const struct value *after = key;
    struct piece piece = {0};
    size_t rows = 0, bytes = 0;
    bool empty = false;
    m->source->arena = &read;
    if (!tx_begin(m->target, TX_WRITE, &written, &target, err)
        || !last_key(&target, table, key, &empty, err))
        return false;
    for (*more = true; *more && rows < COMMIT_ROWS && bytes < COMMIT_BYTES;) {
        size_t limit = next_limit(&piece);
        if (!read_piece(m->source, table, after, limit, &piece, err)
            || !db_run_rows(&target, table->insert, piece.values, piece.rows, err))
            return false;
        *more = piece.rows == limit;
        after = piece.rows > 0 ? last_of(&piece) : after;
        rows += piece.rows;
        bytes += piece.bytes;
        advance(m, piece.rows);
    }
    return rows == 0 || tx_commit(&target, err);
}

bool table_copy(struct moving *m, const struct copied_table *table, struct pawl_error *err)
{
    struct pawl_error why = {0};
    struct arena *arena = m->source->arena;
    bool more = true, done = true;
    while (done && more)
        done = copy_some(m, table, &more, &why);
    m->source->arena = arena;
    return done || wrong(table, &why, err);
}

// ----- comparing

static bool same_value(const struct value *a, const struct value *b)
{
    return a->kind == b->kind && a->number == b->number && str_eq(a->text, b->text);
}

static bool same_piece(const struct piece *a, const struct piece *b)
{
    bool same = a->rows == b->rows;
    for (size_t i = 0; same && i < a->rows * a->columns; i++)
        same = same_value(&a->values[i], &b->values[i]);
    return same;
}

static bool compare_some(struct moving *m, struct tx *target, const struct copied_table *table,
                         struct value *key, bool *more, struct pawl_error *err)
{
    struct piece original, copy;
    size_t limit = COMPARE_ROWS;
    if (!read_piece(m->source, table, key, limit, &original, err)
        || !read_piece(target, table, key, limit, &copy, err))
        return false;
    if (!same_piece(&original, &copy))
        return fail(err, PAWL_DAMAGED, "the copy has not the same rows: has somebody written to "
                                       "the source since it was begun? Remove it and copy again");
    *more = original.rows == limit;
    if (*more)
        memcpy(key, last_of(&original), (size_t)table->keys * sizeof *key);
    advance(m, original.rows);
    return true;
}

// The key of the piece before is in one arena while the next one is read into the other.
static bool compare_all(struct moving *m, struct tx *target, const struct copied_table *table,
                        struct pawl_error *err)
{
    SCOPED(arena) struct arena one = {0};
    SCOPED(arena) struct arena other = {0};
    struct arena *arenas[] = { &one, &other }, *kept = target->arena;
    struct value key[KEYS_MAX];
    bool more = true, same = true;
    lowest(table, key);
    for (size_t i = 0; same && more; i++) {
        m->source->arena = target->arena = arenas[i % countof(arenas)];
        arena_reset(target->arena);
        same = compare_some(m, target, table, key, &more, err);
    }
    m->source->arena = target->arena = kept;
    return same;
}

static bool same_count(struct moving *m, struct tx *target, const struct copied_table *table,
                       struct pawl_error *err)
{
    int64_t original = 0, copy = 0;
    if (!table_count(m->source, table, &original, err) || !table_count(target, table, &copy, err))
        return false;
    return original == copy
        || fail(err, PAWL_DAMAGED, "%lld rows, and %lld in the copy: remove it and copy again",
                (long long)original, (long long)copy);
}

bool table_compare(struct moving *m, const struct copied_table *table, struct pawl_error *err)
{
    SCOPED(arena) struct arena arena = {0};
    SCOPED(tx) struct tx target = {0};
    struct pawl_error why = {0};
    struct arena *kept = m->source->arena;
    bool same = tx_begin(m->target, TX_READ, &arena, &target, &why)
             && same_count(m, &target, table, &why) && compare_all(m, &target, table, &why);
    m->source->arena = kept;
    return same || wrong(table, &why, err);
}
