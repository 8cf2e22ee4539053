// Each recipe makes a JSON value; the key ends in its stable hash. A notification's recipient may
// be a person, so it is in the key only as part of the hash.
#include "model/key_recipe.h"

#include "model/contract.h"
#include "model/json_field.h"
#include "model/stable.h"

static const struct str notification_fields[] = { { "recipient", 9 }, { "template", 8 } };

size_t recipe_needs(const struct recipe *recipe, const struct str **fields)
{
    bool notification = recipe->kind == RECIPE_NOTIFICATION;
    *fields = notification ? notification_fields : recipe->fields;
    if (notification)
        return countof(notification_fields);
    return recipe->kind == RECIPE_FIELDS ? recipe->field_count : 0;
}

// The beginning of the bucket the job is due in.
static pawl_time bucket(const struct recipe *recipe, pawl_time scheduled_for, pawl_time now)
{
    int64_t width = recipe->bucket_us ? recipe->bucket_us : BUCKET_US_DEFAULT;
    pawl_time due = scheduled_for ? scheduled_for : now;
    return due - due % width;
}

// The payload's fields that make two jobs the same, and for a notification the rest of its payload
// and the bucket. The caller owns it; NULL when there is no memory.
static json_t *essence(struct arena *arena, const struct recipe *recipe, const json_t *payload,
                       pawl_time bucket_start)
{
    const struct str *needed;
    size_t count = recipe_needs(recipe, &needed);
    struct json_field *fields = arena_new(arena, struct json_field, count + 2);
    if (!fields)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        const char *name = str_cstr(arena, needed[i]);
        fields[i] = (struct json_field){ name, json_incref(json_object_get(payload, name)) };
    }
    if (recipe->kind == RECIPE_NOTIFICATION) {
        struct str hash = stable_hash(arena, payload);
        fields[count++] = (struct json_field){ "payload_hash", json_text_or_null(hash) };
        fields[count++] = (struct json_field){ "bucket", json_time_or_null(arena, bucket_start) };
    }
    return json_object_of(fields, count);
}

struct str recipe_key(struct arena *arena, const struct recipe *recipe,
                      const struct contract *contract, const json_t *payload, pawl_time now)
{
    struct str type = contract->job_type, org = contract->org_id, project = contract->project_id;
    if (recipe->kind == RECIPE_CONTENT)
        return idempotency_key(arena, type, org, project, payload);
    pawl_time start = bucket(recipe, contract->scheduled_for, now);
    SCOPED(json) json_t *value = essence(arena, recipe, payload, start);
    arena->failed |= value == NULL;
    return value ? idempotency_key(arena, type, org, project, value) : S("");
}
