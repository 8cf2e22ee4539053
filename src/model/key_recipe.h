// Key recipes: how a job gets its idempotency key when the caller sends none (OPS-2, OPS-4).
//
// Every derived key is `<job_type>:<org_id>:<project_id?>:<hash>`, and the hash is the stable hash
// of what makes two jobs of the type the same.
#pragma once

#include "base/json.h"
#include "base/world.h"

struct contract;

enum recipe_kind {
    RECIPE_NONE,          // the caller must send a key
    RECIPE_CONTENT,       // the whole payload
    RECIPE_FIELDS,        // some fields of the payload
    RECIPE_NOTIFICATION,  // recipient, template, payload hash and schedule bucket
};

#define BUCKET_US_DEFAULT HOURS(1)

struct recipe {
    enum recipe_kind kind;
    const struct str *fields;  // of RECIPE_FIELDS: names in the payload
    size_t field_count;
    int64_t bucket_us;         // of RECIPE_NOTIFICATION; 0: BUCKET_US_DEFAULT
};

// The fields of a payload that the key is made of: a job without one of them cannot have a key.
size_t recipe_needs(const struct recipe *recipe, const struct str **fields);

// The key of a contract that is complete but for it and whose payload, as JSON, has every field
// that is needed.
struct str recipe_key(struct arena *arena, const struct recipe *recipe,
                      const struct contract *contract, const json_t *payload, pawl_time now);
