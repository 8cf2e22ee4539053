// Small helpers shared by everything in model/ that reads or writes a JSON object.
#include "model/json_field.h"

#include <string.h>

#include "base/json_put.h"
#include "base/time_text.h"

json_t *json_text_or_null(struct str text)
{
    return text.n ? json_stringn(text.s, text.n) : json_null();
}

json_t *json_time_or_null(struct arena *arena, pawl_time time)
{
    return time ? json_text_or_null(time_text(arena, time)) : json_null();
}

void json_put_progress(struct buf *out, const char *name, int64_t percent, struct str message)
{
    if (percent < 0) {
        json_put_raw(out, name, S("null"));
        return;
    }
    json_put_open(out, name, '{');
    json_put_int(out, "percent", percent);
    json_put_text(out, "message", message);
    json_put_close(out, '}');
}

json_t *json_object_of(const struct json_field *fields, size_t count)
{
    json_t *object = json_object();
    bool complete = true;
    for (size_t i = 0; i < count; i++)
        complete &= json_object_set_new(object, fields[i].name, fields[i].value) == 0;
    if (complete)
        return object;
    json_decref(object);
    return NULL;
}

static const char *skip_marks(const char *s)
{
    while (*s == '-' || *s == '_')
        s++;
    return s;
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

bool json_key_like(const char *a, const char *b)
{
    for (a = skip_marks(a), b = skip_marks(b); *a; a = skip_marks(a + 1), b = skip_marks(b + 1))
        if (lower(*a) != lower(*b))
            return false;
    return *b == '\0';
}

json_t *json_iterable(const json_t *object)
{
    return (json_t *)(uintptr_t)object;
}

bool json_deeper_than(const json_t *value, int levels)
{
    size_t i;
    const char *key;
    json_t *child;
    if (!json_is_object(value) && !json_is_array(value))
        return false;
    if (levels == 0)
        return true;
    json_array_foreach (value, i, child) {
        if (json_deeper_than(child, levels - 1))
            return true;
    }
    json_object_foreach (json_iterable(value), key, child) {
        if (json_deeper_than(child, levels - 1))
            return true;
    }
    return false;
}
