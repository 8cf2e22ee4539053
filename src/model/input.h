// Inputs: the artifacts that the payload of a job of category transfer names (OPS-24).
//
//     {"input": {"artifact_id": "0190...", "sha256": "9f86..."}}
//     {"inputs": [{"artifact_id": "0190..."}, ...]}
//
// `sha256` may be left out. What has no `artifact_id` is the application's own affair.
#pragma once

#include "base/id.h"
#include "base/json.h"
#include "model/policy.h"

enum { INPUTS_MAX = 100 };

struct input {
    struct id artifact;
    struct str sha256;  // empty: not said
    struct str field;   // where it stands: `payload.inputs[2]`
};

struct inputs {
    struct input *at;
    size_t count;
};

bool policy_has_inputs(const struct policy *policy);  // whether its jobs name any

// The inputs of a payload, which is JSON. What is wrong goes to `problems`, under its field with
// `prefix` before it; texts live in its arena.
struct inputs inputs_read(struct str payload, const char *prefix, struct problems *problems);
