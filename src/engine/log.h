// The log of a job: what its commands said on stderr, through all its executions.
//
// Lines are told, not worked with: writing them passes no fence, so that the last words of a run
// that lost its lease are kept, and changes nothing about the job.
#pragma once

#include "base/id.h"
#include "store/db.h"

enum { LOG_LINE_BYTES_MAX = 4096 };

struct log_line {
    int64_t seq;          // counts within the job
    struct id execution;
    int64_t attempt;
    pawl_time at;
    struct str text;      // one line of UTF-8
};

// Appends lines to the log of an execution's job; of a new line only `at` and `text` are read, and
// its `seq` is set. Lines that were appended before, in a transaction whose outcome is not known,
// are stored once: they are found by their number. PAWL_NOT_FOUND when there is no such execution.
CHECKED bool log_append(struct tx *tx, struct id execution, struct log_line *lines, size_t count,
                        struct pawl_error *err);

// A page of a log: the lines behind `after` (0: from the first), at most `limit`.
struct log_page {
    int64_t after, limit;
    struct log_line *lines;
    size_t count;
};

// Fills the page. The job is one that the caller may see: see job_load.
CHECKED bool logs_of_job(struct tx *tx, int64_t job, struct log_page *page,
                         struct pawl_error *err);
