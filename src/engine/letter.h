// Dead letters: jobs that ended badly and wait for somebody to decide (OPS-8).
//
// A letter is open until it is replayed or fixed, which makes a new job of it, or discarded. It is
// closed once: whoever comes later is refused with PAWL_CLOSED. Its own job never changes.
#pragma once

#include "engine/execution.h"
#include "engine/job.h"

enum letter_end { LETTER_REPLAYED, LETTER_FIXED, LETTER_DISCARDED, LETTER_ENDS };

enum { LETTER_REASON_BYTES_MAX = 1000, LETTERS_CLOSED_MAX = 500 };

struct letter {
    struct id id;             // of its job
    struct job job;
    struct str kind;          // the class of its last error; without one its failure type
    struct str pattern;       // what its message has in common with others: model/fingerprint.h
    struct str fingerprint;
    pawl_time at;             // since when it is one
};

struct letter_filter {
    struct str job_type, fingerprint, queue;  // the queue it came from; empty: any
    int64_t limit;
    int64_t before;  // row key to go on from; 0: the newest
};

struct letter_list {
    struct letter *letters;
    size_t count;
    size_t damaged;  // left out, because their records contradict each other: see verify
    int64_t next;    // `before` of the next page; 0: that was all
};

// The open letters of the caller's org, newest first. Looks at a bounded number of rows and keeps a
// bounded number of bytes: a page may be short and still have a next one.
CHECKED bool letters_find(struct tx *tx, const struct letter_filter *filter,
                          struct letter_list *list, struct pawl_error *err);

// The same without their jobs, of which nothing but the id is set.
CHECKED bool letters_match(struct tx *tx, const struct letter_filter *filter,
                           struct letter_list *list, struct pawl_error *err);

// Letters with one fingerprint.
struct letter_group {
    struct str fingerprint, job_type, kind, pattern;
    int64_t count;
    pawl_time oldest_at, newest_at;
    struct id newest;  // a letter to look at
};

struct letter_groups {
    struct letter_group *groups;  // the largest first
    size_t count;
    int64_t letters;  // that were looked at
    bool more;        // there are older letters, or more groups, than are told
};

CHECKED bool letters_group(struct tx *tx, const struct letter_filter *filter,
                           struct letter_groups *groups, struct pawl_error *err);

// One letter, open or closed, with all that is known about it. PAWL_NOT_FOUND for a job that is no
// letter.
struct letter_record {
    struct letter letter;
    struct execution *executions;
    size_t execution_count;
    bool closed;
    struct audit_event closing;   // how it was closed, if it was
    struct job successor;         // the job made of it; its id is 0: there is none
};
CHECKED bool letter_load(struct tx *tx, struct id id, struct letter_record *record,
                         struct pawl_error *err);

// ----- closing one; `job` is the new one, or for a discarded letter its own

CHECKED bool letter_replay(struct tx *tx, struct id id, struct job *job, struct pawl_error *err);

// `reason` is kept in the audit trail: 1 to LETTER_REASON_BYTES_MAX bytes.
CHECKED bool letter_discard(struct tx *tx, struct id id, struct str reason, struct job *job,
                            struct pawl_error *err);

// Fix forward: the new job has this payload, which must keep the contract as if it were sent now.
struct letter_fix {
    const json_t *payload;
    const struct contract_rules *rules;
    struct problems *problems;  // every one of the payload
    bool dry_run;               // only look: the new job is not made
    struct str before;          // out: the payload as it was
    struct str after;           // out: and as it is now
};
CHECKED bool letter_fix(struct tx *tx, struct id id, struct letter_fix *fix, struct job *job,
                        struct pawl_error *err);

// ----- closing many

// Of the letters of a filter at most its limit and LETTERS_CLOSED_MAX, newest first. One that is
// refused is left out.
struct letter_sweep {
    struct letter_filter filter;
    bool discard;       // else replay
    struct str reason;  // of a discard
    bool dry_run;       // only say which
    struct id *ids;     // out: of the new jobs; of the letters themselves, if there are none
    size_t count;
    bool more;          // there may be others: ask again
};
CHECKED bool letters_close(struct tx *tx, struct letter_sweep *sweep, struct pawl_error *err);

// ----- for job_retry, which closes a letter too

bool letter_open(const struct job *job);
CHECKED bool letter_close_by(struct tx *tx, const struct job *old, enum letter_end end,
                             const struct job *made, struct pawl_error *err);
