// Looks at two keys of the payload and leaves the rest alone.
#include "model/input.h"

#include <string.h>

#include "base/arena.h"
#include "base/hash.h"

bool policy_has_inputs(const struct policy *policy)
{
    return str_eq(policy->category, S("transfer"));
}

static struct str text_of(const json_t *value)
{
    return json_is_string(value)
             ? (struct str){ json_string_value(value), json_string_length(value) }
             : S("");
}

static bool is_sha256(struct str text)
{
    return text.n == HASH_DIGITS && strspn(text.s, "0123456789abcdef") == text.n;
}

static void read_one(const json_t *object, struct str field, struct inputs *inputs,
                     struct problems *problems)
{
    const json_t *id = json_object_get(object, "artifact_id");
    const json_t *sha256 = json_object_get(object, "sha256");
    struct input input = { .field = field };
    size_t before = problems->count;
    if (!id)
        return;
    if (!id_parse(text_of(id), &input.artifact))
        problem_add(problems, str_format(problems->arena, "%.*s.artifact_id", STR(field)).s,
                    "must be the id of an artifact");
    if (sha256 && !is_sha256(text_of(sha256)))
        problem_add(problems, str_format(problems->arena, "%.*s.sha256", STR(field)).s,
                    "must be %d digits 0-9 a-f", HASH_DIGITS);
    input.sha256 = str_dup(problems->arena, text_of(sha256));
    if (problems->count == before && inputs->count < INPUTS_MAX)
        inputs->at[inputs->count++] = input;
}

struct inputs inputs_read(struct str payload, const char *prefix, struct problems *problems)
{
    struct arena *arena = problems->arena;
    SCOPED(json) json_t *whole = json_of(payload);
    const json_t *list = json_object_get(whole, "inputs");
    struct inputs inputs = { .at = arena_new(arena, struct input, INPUTS_MAX) };
    if (!inputs.at)
        return inputs;
    read_one(json_object_get(whole, "input"), str_format(arena, "%spayload.input", prefix),
             &inputs, problems);
    if (json_array_size(list) >= INPUTS_MAX)
        problem_add(problems, str_format(arena, "%spayload.inputs", prefix).s,
                    "must be fewer than %d", INPUTS_MAX);
    for (size_t i = 0; i < json_array_size(list) && i < INPUTS_MAX; i++)
        read_one(json_array_get(list, i), str_format(arena, "%spayload.inputs[%zu]", prefix, i),
                 &inputs, problems);
    return inputs;
}
