// A line of the log: one JSON object, bounded, valid UTF-8, without secrets (OPS-12).
#pragma once

#include "base/arena.h"
#include "base/text.h"
#include "pawl.h"

enum log_level { LOG_LEVEL_DEBUG, LOG_LEVEL_INFO, LOG_LEVEL_WARNING };

enum { LOG_ENTRY_BYTES_MAX = 8192, LOG_FIELDS_MAX = 8 };

struct log_field {
    const char *name;  // a literal; NULL: none
    struct str text;
    int64_t number;
    bool is_number;
};
#define LOG_TEXT(key, value) ((struct log_field){ .name = "" key, .text = (value) })
#define LOG_INT(key, value) \
    ((struct log_field){ .name = "" key, .number = (value), .is_number = true })

// What happened, and to what. Never a payload.
struct log_entry {
    enum log_level level;
    const char *event;  // HTTP_REQUEST: what people search for
    struct str message;
    struct {
        struct str request_id, correlation_id, job_id, job_type, org_id, project_id;
        int64_t attempt;
    } about;            // a line with a job_id has all of these, null where there is none
    struct log_field fields[LOG_FIELDS_MAX];
};

// The line with its newline. Texts that are too long are cut, and end in `…` then.
struct str log_line(struct arena *arena, const struct log_entry *entry, pawl_time at);
