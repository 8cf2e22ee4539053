// Addresses as handlers: a job type whose work is done by a service over HTTP (`post:` in
// pawl.yaml).
//
// The payload is sent as JSON with POST; the body of a good answer is the result, JSON as it is,
// other text as a JSON string. It is the repeatable phase of the job (EXEC-10): after a crash or a
// lost answer the same message comes again, with the same Idempotency-Key, and whoever receives it
// drops what it knows. The URL is the configuration's alone: nothing of a payload gets into it.
#pragma once

#include "base/error.h"

struct post_type {
    const char *job_type;
    struct str url;
    const char *const *headers;  // `Name: value`, NULL last; NULL: none
    struct str secret;           // signs the body; empty: nothing is signed
    int64_t timeout_us;          // shorter than its policy's: a failure of the class `timeout`
    size_t result_bytes_max;     // longer is a failure of the class `resource_limit`
};

struct pawl_handler;

// Makes the handler of such a type, which must outlive the handle, as all it points to.
void post_handler(const struct post_type *type, struct pawl_handler *handler);

// What an answer means for the run: the class of the failure. Not for 2xx.
enum pawl_class post_class(int status);
