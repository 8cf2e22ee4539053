// One statement for many rows: its parameters become arrays, of which `unnest` makes rows.
//
//   INSERT INTO t (a, b) VALUES ($1, 'x')  INSERT INTO t (a, b) SELECT given.p1, 'x' FROM (…)
//   UPDATE t SET a = $2 WHERE b = $1       UPDATE t SET a = given.p2 FROM (…) WHERE …
//
// Twice as fast as sending single rows without waiting for their answers. All are taken apart side
// by side: `FROM unnest($1, $2, …)` would first store each of them as a table of its own, which was
// a third of what inserting jobs cost.
#include "store/postgres_many.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum { BYTES_MAX = 1 << 30 };  // of one array

// A parameter is one or the other.
enum kind { NUMBERS,
            TEXTS };
static const struct {
    Oid oid;
    const char *name;
} types[] = { [NUMBERS] = { 20, "bigint" }, [TEXTS] = { 25, "text" } };

static enum kind kind_of(const struct postgres *postgres, enum query query, int parameter)
{
    return postgres->texts_of_many[query] >> parameter & 1 ? TEXTS : NUMBERS;
}

// ----- the statement

static void add_with_rows(struct buf *sql, struct str text)
{
    for (size_t i = 0; i < text.n; i++)
        if (text.s[i] == '$')
            buf_add(sql, S("given.p"));
        else
            buf_add_char(sql, text.s[i]);
}

static void add_rows(const struct postgres *postgres, enum query query, struct buf *sql)
{
    int count = queries[query].arguments;
    buf_add(sql, S(" FROM (SELECT "));
    for (int i = 0; i < count; i++)
        buf_addf(sql, "%sunnest($%d::%s[]) AS p%d", i > 0 ? ", " : "", i + 1,
                 types[kind_of(postgres, query, i)].name, i + 1);
    buf_add(sql, S(") AS given "));
}

// The values of an INSERT without their parentheses.
static struct str tuple_of(const char *values)
{
    const char *open = strchr(values, '(') + 1, *close = strrchr(values, ')');
    return (struct str){ open, (size_t)(close - open) };
}

static struct str text_for_many(const struct postgres *postgres, struct arena *arena,
                                enum query query)
{
    const char *text = queries[query].postgres;
    const char *values = strstr(text, "VALUES"), *where = strstr(text, "WHERE");
    struct buf sql = buf_new(arena, (size_t)1 << 20);
    const char *end = values ? values : where;
    assert(end);
    add_with_rows(&sql, (struct str){ text, (size_t)(end - text) });
    if (values) {
        buf_add(&sql, S("SELECT "));
        add_with_rows(&sql, tuple_of(values));
    }
    add_rows(postgres, query, &sql);
    if (!values)
        add_with_rows(&sql, str_of(end));
    return buf_str(&sql);
}

// The server knows what the parameters of the statement for one row are. Behind a pooler it is
// prepared for this only, without a name.
static bool learn_types(struct postgres *postgres, struct phrase one, enum query query,
                        struct pawl_error *err)
{
    bool once = false;
    if (postgres->url.pooled)
        one = (struct phrase){ "", one.text, &once };
    if (!wire_prepare(postgres, one, err) || !wire_clear(postgres, err))
        return false;
    PGresult *described = pq.describePrepared(postgres->connection, one.name);
    if (pq.resultStatus(described) != PGRES_COMMAND_OK)
        return postgres_failed(postgres, described, one.name, err);
    for (int i = 0; i < queries[query].arguments; i++) {
        Oid oid = pq.paramtype(described, i);
        assert(oid == types[NUMBERS].oid || oid == types[TEXTS].oid);
        if (oid == types[TEXTS].oid)
            postgres->texts_of_many[query] |= UINT64_C(1) << i;
    }
    pq.clear(described);
    return true;
}

static bool make(struct postgres *postgres, struct phrase one, enum query query,
                 struct pawl_error *err)
{
    if (!learn_types(postgres, one, query, err))
        return false;
    struct str text = text_for_many(postgres, &postgres->arena, query);
    struct str name = str_format(&postgres->arena, "%s_many", one.name);
    if (postgres->arena.failed) {
        postgres->arena.failed = false;  // asked for once more there may be some
        return fail(err, PAWL_NO_MEMORY, "no memory for a statement");
    }
    postgres->names_for_many[query] = name.s;
    postgres->texts_for_many[query] = text.s;
    return true;
}

bool postgres_for_many(struct postgres *postgres, struct phrase one, enum query query,
                       struct phrase *many, struct pawl_error *err)
{
    if (!postgres->texts_for_many[query] && !make(postgres, one, query, err))
        return false;
    *many = (struct phrase){ postgres->names_for_many[query], postgres->texts_for_many[query],
                             &postgres->prepared_many[query] };
    return true;
}

// ----- its parameters

static void put(struct buf *out, uint64_t number, size_t bytes)
{
    char digits[8];
    for (size_t i = 0; i < bytes; i++)
        digits[i] = (char)(number >> 8 * (bytes - 1 - i));
    buf_add(out, (struct str){ digits, bytes });
}

static void put_element(struct buf *out, const struct value *value)
{
    switch (value->kind) {  // defensive: there are no other kinds
    case VALUE_INT:
        put(out, 8, 4);
        put(out, (uint64_t)value->number, 8);
        return;
    case VALUE_TEXT:
        put(out, value->text.n, 4);
        buf_add(out, value->text);
        return;
    case VALUE_NONE:
        put(out, UINT32_MAX, 4);
        return;
    }
}

// As the server holds one: dimensions, whether there may be NULLs, the type of its elements; how
// many there are, and the number of the first.
static struct str array_of(struct arena *arena, Oid oid, const struct value *column, size_t rows,
                           size_t stride)
{
    struct buf out = buf_new(arena, BYTES_MAX);
    struct str none = {0};
    buf_expect(&out, 20 + 12 * rows);
    put(&out, 1, 4);
    put(&out, 1, 4);
    put(&out, oid, 4);
    put(&out, rows, 4);
    put(&out, 1, 4);
    for (size_t i = 0; i < rows; i++)
        put_element(&out, &column[i * stride]);
    return out.full ? none : buf_str(&out);
}

bool postgres_bind_many(struct postgres *postgres, struct arena *arena, enum query query,
                        const struct value *values, size_t rows, struct pawl_error *err)
{
    struct binding *binding = &postgres->binding;
    int count = queries[query].arguments;
    for (int i = 0; i < count; i++) {
        struct str array = array_of(arena, types[kind_of(postgres, query, i)].oid, values + i, rows,
                                    (size_t)count);
        if (arena->failed || !array.s)
            return fail(err, PAWL_NO_MEMORY, "no memory for %zu rows at once", rows);
        binding->values[i] = array.s;
        binding->lengths[i] = (int)array.n;
        binding->formats[i] = 1;
    }
    return true;
}
