// A hash of what was meant, not of how it was written: timestamps are brought to one spelling in a
// copy of the value, canonical JSON does the rest, and the content is named by its SHA-256.

#include "model/stable.h"

#include "base/hash.h"
#include "base/time_text.h"

static bool respell_time(struct arena *arena, json_t *string)
{
    pawl_time time;
    if (!time_parse((struct str){ json_string_value(string), json_string_length(string) }, &time))
        return true;
    struct str text = time_text(arena, time);
    return json_string_setn(string, text.s, text.n) == 0;
}

// In place: `value` is our own copy. Keys stay as they are, they are names. False: no memory.
static bool respell_times(struct arena *arena, json_t *value)
{
    size_t i;
    const char *key;
    json_t *child;
    if (json_is_string(value))
        return respell_time(arena, value);
    json_array_foreach (value, i, child) {
        if (!respell_times(arena, child))
            return false;
    }
    json_object_foreach (value, key, child) {
        if (!respell_times(arena, child))
            return false;
    }
    return true;
}

struct str stable_hash(struct arena *arena, const json_t *value)
{
    SCOPED(json) json_t *copy = json_deep_copy(value);
    if (!copy || !respell_times(arena, copy))
        arena->failed = true;
    struct str text = arena->failed ? S("") : json_canonical(arena, copy);
    return arena->failed ? S("") : hash_name(arena, text);
}

struct str idempotency_key(struct arena *arena, struct str job_type, struct str org_id,
                           struct str project_id, const json_t *payload)
{
    struct str hash = stable_hash(arena, payload);
    if (arena->failed)
        return S("");
    return str_format(arena, "%.*s:%.*s:%.*s:%.*s", STR(job_type), STR(org_id), STR(project_id),
                      STR(hash));
}
