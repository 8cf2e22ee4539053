// The stable hash: one name for equal inputs, however they were written (OPS-4).
//
// Two payloads that differ only in the order of keys, in white space, in how a number or character
// is spelled, or in the time zone a timestamp was written in, have one hash. The rule and its test
// vectors are in docs/stable-hash.md: other languages make the same hashes.
#pragma once

#include "base/json.h"

// 32 hexadecimal digits. Complete RFC 3339 timestamps in string values are taken as UTC with
// milliseconds first. Empty when the arena has failed.
struct str stable_hash(struct arena *arena, const json_t *value);

// The recommended key `<job_type>:<org_id>:<project_id>:<stable_hash>`. For a job without a project
// `project_id` is empty and so is its place: `type:org::hash`.
struct str idempotency_key(struct arena *arena, struct str job_type, struct str org_id,
                           struct str project_id, const json_t *payload);
