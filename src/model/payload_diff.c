// Objects are compared key by key, lists place by place; anything else is the same or is not. What
// was parsed has a bounded depth, and so has this. A path is only written for what differs.
#include "model/payload_diff.h"

#include "model/json_field.h"

struct place {
    const struct place *in;  // NULL: the whole
    const char *key;         // in an object; NULL: ...
    size_t index;            // ... in a list
};

struct diff {
    struct arena *arena;
    json_t *changes;
};

static void compare(struct diff *diff, const struct place *at, const json_t *before,
                    const json_t *after);

// `~` and `/` in a key are written ~0 and ~1.
static void add_key(struct buf *out, const char *key)
{
    for (; *key; key++) {
        if (*key == '~')
            buf_add(out, S("~0"));
        else if (*key == '/')
            buf_add(out, S("~1"));
        else
            buf_add_char(out, *key);
    }
}

static void add_path(struct buf *out, const struct place *at)
{
    if (!at)
        return;
    add_path(out, at->in);
    buf_add_char(out, '/');
    if (at->key)
        add_key(out, at->key);
    else
        buf_add_int(out, (int64_t)at->index, 1);
}

static json_t *copy_or_null(const json_t *value)
{
    return value ? json_deep_copy(value) : json_null();
}

static bool full(const struct diff *diff)
{
    return !diff->changes || json_array_size(diff->changes) == CHANGES_MAX;
}

static void add(struct diff *diff, const struct place *at, const json_t *before,
                const json_t *after)
{
    struct buf path = buf_new(diff->arena, SIZE_MAX);
    if (full(diff))
        return;
    add_path(&path, at);
    struct str text = buf_str(&path);
    json_t *change = json_pack("{s:s%,s:o,s:o}", "path", text.n ? text.s : "", text.n, "before",
                               copy_or_null(before), "after", copy_or_null(after));
    if (json_array_append_new(diff->changes, change) != 0)
        json_end(&diff->changes);
}

static void compare_objects(struct diff *diff, const struct place *in, const json_t *before,
                            const json_t *after)
{
    const char *key;
    json_t *value;
    json_object_foreach (json_iterable(before), key, value) {
        struct place at = { in, key, 0 };
        compare(diff, &at, value, json_object_get(after, key));
    }
    json_object_foreach (json_iterable(after), key, value) {
        struct place at = { in, key, 0 };
        if (!json_object_get(before, key))
            add(diff, &at, NULL, value);
    }
}

static void compare_lists(struct diff *diff, const struct place *in, const json_t *before,
                          const json_t *after)
{
    size_t a = json_array_size(before), b = json_array_size(after);
    for (size_t i = 0; i < (a > b ? a : b); i++) {
        struct place at = { in, NULL, i };
        compare(diff, &at, json_array_get(before, i), json_array_get(after, i));
    }
}

static void compare(struct diff *diff, const struct place *at, const json_t *before,
                    const json_t *after)
{
    if (full(diff))
        return;
    if (json_is_object(before) && json_is_object(after))
        compare_objects(diff, at, before, after);
    else if (json_is_array(before) && json_is_array(after))
        compare_lists(diff, at, before, after);
    else if (!before || !after || !json_equal(before, after))
        add(diff, at, before, after);
}

json_t *payload_diff(struct arena *arena, const json_t *before, const json_t *after)
{
    struct diff diff = { arena, json_array() };
    compare(&diff, NULL, before, after);
    return diff.changes;
}
