// Limits in the store: what they are, who waits for them, which types are paused.
//
// Limits are rows, so every process that claims from the store has the same ones, and whoever
// explains a job sees what the claim sees. What runs under a limit is counted by the live
// executions: a row in `job_limit_holds` only says where to look. A transaction knows from its
// beginning whether there are limits; while there are none, all of this costs nothing.
#pragma once

#include "engine/execution.h"
#include "model/limit.h"

// One that is set. Of LIMIT_ORG the subject 0 is what holds for every org without a row of its own.
struct limit_row {
    enum limit_scope scope;
    int64_t subject;
    struct str name;   // of the subject: a queue, a type, an org; empty: every org
    struct limit limit;
    struct str set_by; // the instance whose configuration says so; empty: an operator
    pawl_time set_at;
};

enum { LIMITS_MAX = 10000 };  // that are listed

// The limit of a subject as it was set; says nothing when there is none.
CHECKED bool limit_load(struct tx *tx, enum limit_scope scope, int64_t subject,
                        struct limit_row *row, struct pawl_error *err);

// The one in force: an org's own, else that of every org.
CHECKED bool limit_in_force(struct tx *tx, enum limit_scope scope, int64_t subject,
                            struct limit *limit, struct pawl_error *err);

// Sets the limit of a subject by its name (empty: every org), or takes it away when it says
// nothing. `set_by` as above. The queue and type need not have been used yet. What runs already
// counts. PAWL_INVALID names every problem, PAWL_NOT_FOUND an org that there is not.
CHECKED bool limit_set(struct tx *tx, enum limit_scope scope, struct str name,
                       const struct limit *limit, struct str set_by, struct pawl_error *err);

// What a configuration says: sets these, and takes away what this instance set and says no more.
struct limit_wish {
    enum limit_scope scope;
    struct str name;
    struct limit limit;
};
CHECKED bool limits_set_all(struct tx *tx, const struct limit_wish *wishes, size_t count,
                            struct str set_by, struct pawl_error *err);

CHECKED bool limits_list(struct tx *tx, struct limit_row **rows, size_t *count,
                         struct pawl_error *err);

// Whose jobs are counted.
struct limited {
    enum limit_scope scope;
    int64_t subject;
    int64_t org;     // of a key; else 0
    struct str key;  // of a key; else empty
};

// What runs of them, and since when the oldest does.
struct limit_use {
    int64_t running;
    pawl_time oldest;
};
CHECKED bool limit_use(struct tx *tx, const struct limited *limited, struct limit_use *use,
                       struct pawl_error *err);

// ----- for claims and ends

// A run has ended: what it held is free. Whoever waits for that is told.
CHECKED bool limit_ended(struct tx *tx, const struct execution *execution,
                         struct pawl_error *err);

// Jobs of the key may be waiting for a turn that was given back: somebody will look.
CHECKED bool limit_key_free(struct tx *tx, int64_t type, int64_t org, struct str limit_key,
                            struct pawl_error *err);

// Removes what says nothing any more, at most `limit` rows. For the sweep.
CHECKED bool limits_tidy(struct tx *tx, size_t limit, struct pawl_error *err);

// ----- pauses

struct type_pause {
    int64_t type, org;   // org 0: of every org
    pawl_time since, until;
    struct str job_type, org_id;
};

// A job of the type was told to come back later: pauses the type if its limit says so, for at least
// as long as the provider asked for. A pause that is on is only made longer.
CHECKED bool type_pause(struct tx *tx, const struct execution *execution, int64_t retry_after_us,
                        struct pawl_error *err);

// Ends the pauses of a type that the caller may end: its org's own; without an org, all of them.
// PAWL_NOT_FOUND when there is none, PAWL_FORBIDDEN for a caller that is limited to projects.
CHECKED bool type_resume(struct tx *tx, struct str job_type, struct pawl_error *err);

// Those that are on and concern the caller, with names.
CHECKED bool type_pauses(struct tx *tx, struct type_pause **pauses, size_t *count,
                         struct pawl_error *err);

// ----- for people

// The limits that hold for the caller, and the types that are paused for it.
struct limits_view {
    const struct limit_row *rows;
    struct limit_use **uses;    // side by side: what runs; NULL: it has no number, or not for them
    size_t count;
    struct type_pause *pauses;
    size_t pause_count;
};
CHECKED bool limits_view(struct tx *tx, struct limits_view *view, struct pawl_error *err);

json_t *limits_view_json(struct arena *arena, const struct limits_view *view);

json_t *limit_json(struct arena *arena, const struct limit_row *row, const struct limit_use *use);
json_t *type_pause_json(struct arena *arena, const struct type_pause *pause);
