// Reads fields without trusting them.
#include "cli/object.h"

#include "base/time_text.h"

struct str object_text(const json_t *object, const char *field)
{
    const json_t *value = json_object_get(object, field);
    return json_is_string(value)
             ? (struct str){ json_string_value(value), json_string_length(value) }
             : S("");
}

int64_t object_number(const json_t *object, const char *field)
{
    return json_integer_value(json_object_get(object, field));
}

bool object_flag(const json_t *object, const char *field)
{
    return json_is_true(json_object_get(object, field));
}

pawl_time object_time(const json_t *object, const char *field)
{
    pawl_time time = 0;
    return time_parse(object_text(object, field), &time) ? time : 0;
}

const json_t *object_items(const json_t *object, const char *field)
{
    const json_t *list = json_object_get(object, field);
    return json_is_array(list) ? list : NULL;
}

struct str object_value(struct arena *arena, const json_t *object, const char *field)
{
    const json_t *value = json_object_get(object, field);
    return value && !json_is_null(value) ? json_text(arena, value) : S("");
}

bool object_state(const json_t *job, enum job_state *state)
{
    return job_state_parse(object_text(job, "state"), state);
}

bool object_ended(const json_t *job)
{
    enum job_state state;
    return object_state(job, &state) && job_state_final(state);
}
