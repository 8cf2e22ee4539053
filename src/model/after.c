// A list is short: whether an id stands in it is found by looking at each.
#include "model/after.h"

#include <assert.h>

#include "base/json_put.h"

_Static_assert(AFTER_MAX == 64, "AFTER_WANT says so");

static bool has(const struct contract *contract, struct id id)
{
    for (size_t i = 0; i < contract->after_count; i++)
        if (id_eq(contract->after[i], id))
            return true;
    return false;
}

static bool read_one(const json_t *value, struct id *id)
{
    struct str text = { json_string_value(value), json_string_length(value) };
    return json_is_string(value) && id_parse(text, id) && id->high != 0;
}

bool after_read(const json_t *value, const char *field, struct contract *into,
                struct problems *problems)
{
    size_t count = json_array_size(value), before = problems->count;
    into->after_count = 0;
    if (!json_is_array(value) || count > AFTER_MAX) {
        problem_add(problems, field, "must be " AFTER_WANT);
        return false;
    }
    struct id *ids = arena_new(problems->arena, struct id, count);
    into->after = ids;
    for (size_t i = 0; ids && i < count; i++) {
        struct id id = {0};
        if (!read_one(json_array_get(value, i), &id))
            problem_add(problems, str_format(problems->arena, "%s[%zu]", field, i).s,
                        "must be the id of a job");
        else if (!has(into, id))
            ids[into->after_count++] = id;
    }
    return problems->count == before;
}

struct str after_text(struct arena *arena, const struct id *ids, size_t count)
{
    struct buf out = buf_new(arena, SIZE_MAX);
    if (count == 0)
        return S("");
    json_put_open(&out, NULL, '[');
    for (size_t i = 0; i < count; i++)
        json_put_id(&out, NULL, ids[i]);
    json_put_close(&out, ']');
    return buf_str(&out);
}
