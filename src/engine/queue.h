// Queues: pausing, resuming and emptying them, and what people see of them (OPS-3).
//
// A caller of an org acts on its org's share of a queue: its own jobs in it. A caller of every org
// (an empty org_id, the command line on the store) acts on the whole queue. A caller that is
// limited to projects may neither look at its org's share, whose numbers are of all projects, nor
// change it.
#pragma once

#include "base/json.h"
#include "engine/event.h"
#include "model/contract.h"
#include "model/limit.h"
#include "model/weight.h"
#include "store/counts.h"

// Nothing of it can be claimed any more; it still takes jobs, and what runs goes on. Survives
// restarts. Doing it twice is doing it once. PAWL_NOT_FOUND for a queue that nobody of the
// caller's org ever used and the configuration does not name.
CHECKED bool queue_pause(struct tx *tx, struct str queue, struct pawl_error *err);
CHECKED bool queue_resume(struct tx *tx, struct str queue, struct pawl_error *err);

// Refuses with PAWL_QUEUE_FULL when as many jobs wait in the queue as its terms allow.
CHECKED bool queue_has_room(struct tx *tx, struct str queue, struct pawl_error *err);

// Emptying a queue: ends what waits in it and was there when it began, in pieces, each in a
// transaction of its own. Begun again after a crash it goes on with what is left.
//
//     struct purge purge = { .queue = S("q:exports") };
//     while (!purge.done)
//         in a transaction: queue_purge(tx, &purge, 500, err)
struct purge {
    struct str queue;
    size_t ended;       // by the last piece
    int64_t looked_at;  // rows, by all of them: for progress
    bool done;
    // Where it is; zero: not begun.
    int stage;
    int64_t org, number;  // the share, the queue
    int64_t last_job;     // newer ones stay
    int64_t after[4];     // the key of the row that was looked at last
};

// A QUEUED job ends FAILED with RESOURCE_EXHAUSTED (JOB-11); one that is held or backs off cannot
// by the table of states, and is cancelled. Looks at `limit` rows at most. A piece whose
// transaction did not commit is tried again with the purge as it was before it.
CHECKED bool queue_purge(struct tx *tx, struct purge *purge, size_t limit, struct pawl_error *err);

// How many jobs a purge of the caller would end now.
CHECKED bool queue_waiting(struct tx *tx, struct str queue, int64_t *waiting,
                           struct pawl_error *err);

struct queue_view {
    struct str name;
    int64_t number;             // 0: it was never used
    pawl_time paused_at;        // the whole queue; 0: it is not
    pawl_time share_paused_at;  // the caller's share
    struct str share_paused_by;
    int64_t at[PLACES];
    int64_t a_minute[FLOWS];
    pawl_time oldest_ready_at;  // since when its oldest ready job could be claimed; 0: not known
    struct queue_term term;
    struct limit limit;         // on what runs and begins
};

enum { QUEUES_LISTED_MAX = 1000 };

// The queues with terms, and those in which the caller has jobs or paused its share; for a caller
// of every org all there are. By name.
CHECKED bool queues_list(struct tx *tx, struct queue_view **queues, size_t *count,
                         struct pawl_error *err);

json_t *queue_json(struct arena *arena, const struct queue_view *queue);  // the caller owns it

// ----- for whoever asks whether something of it may be taken

// Since when a whole queue is paused; 0: it is not.
CHECKED bool queue_paused(struct tx *tx, int64_t queue, pawl_time *since, struct pawl_error *err);

// Since when a ready job could be claimed.
CHECKED bool queue_ready_since(struct tx *tx, int64_t job, pawl_time *since,
                               struct pawl_error *err);

// An org's share; `since` is 0 when it is not paused.
struct share_pause {
    pawl_time since;
    struct str by;
};
CHECKED bool share_paused(struct tx *tx, int64_t queue, int64_t org, struct share_pause *pause,
                          struct pawl_error *err);

// ----- for the parts of it

// The number of a queue that has terms or that the caller's org has used; 0: never used by anybody.
// PAWL_NOT_FOUND for any other, PAWL_FORBIDDEN for a caller that is limited to projects.
CHECKED bool queue_find(struct tx *tx, struct str queue, int64_t *number, struct pawl_error *err);

// What a caller acts on.
struct share {
    int64_t org;    // 0: every org's
    int64_t queue;
};

CHECKED bool share_of_caller(struct tx *tx, struct str queue, struct share *share,
                             struct pawl_error *err);

// Records a change to a queue.
CHECKED bool queue_tell(struct tx *tx, const struct share *share, struct str queue,
                        enum event event, struct pawl_error *err);
