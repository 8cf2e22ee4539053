// Fields of JSON objects: how values that may be missing are written, and when two names are alike.
#pragma once

#include "base/json.h"
#include "base/world.h"

// Empty text and time 0 mean "none" and are written as null. The caller owns the value.
json_t *json_text_or_null(struct str text);
json_t *json_time_or_null(struct arena *arena, pawl_time time);

// As base/json_put.h has it; progress -1 is null.
void json_put_progress(struct buf *out, const char *name, int64_t percent, struct str message);

// One row per field of an object we publish.
struct json_field {
    const char *name;
    json_t *value;
};

// The object of these fields, whose values it takes over. NULL when there is no memory left, for
// one of the values or for the object.
json_t *json_object_of(const struct json_field *fields, size_t count);

// The same name but for case, `-` and `_`: jobType, job-type and JOB_TYPE are like job_type.
bool json_key_like(const char *a, const char *b);

// For json_object_foreach, which asks for a mutable object and does not change it.
json_t *json_iterable(const json_t *object);

// Whether objects and lists are nested in more levels than these; the value itself is one.
bool json_deeper_than(const json_t *value, int levels);
