// Gates: what the limits let a claim take.
//
// A claim asks a gate how many more jobs may pass; each that it takes passes the gates of its
// queue, its type, its org and its key. What runs is counted when a gate is first asked, and from
// then on in the memory of the claim, which nobody else disturbs: it is in one write transaction.
#pragma once

#include "base/list.h"
#include "engine/limit.h"
#include "engine/place.h"

struct gate {
    struct limited of;
    struct limit limit;
    struct limit_use use;   // what runs, with what the claim has taken
    int64_t full_at_ns;     // of the rate
    bool moved;             // a job passed: its rate is used
    bool told;              // that it is shut
    pawl_time wake_at;      // jobs were parked behind it: when to look at them
};

struct gates {
    bool some;                      // there are limits: the rest means something
    struct list all[LIMIT_SCOPES];
    struct type_pause *pauses;
    size_t pause_count;
    pawl_time next;                 // the first time at which one opens by itself; 0: none does
    size_t parked;                  // jobs that this claim moved behind their keys
};

enum { GATE_PARKS_MAX = 200,  // jobs that one claim moves behind their keys ...
       GATE_KEYS_MAX = 100 }; // ... and keys whose jobs it lets come back

// Reads what there is, to look at gates only.
CHECKED bool gates_read(struct tx *tx, struct gates *gates, struct pawl_error *err);

// The same for a claim: jobs whose key has room again become ready.
CHECKED bool gates_open(struct tx *tx, struct gates *gates, struct pawl_error *err);

// The gate of a queue, a type, an org or a key; good until another one of that scope is found.
CHECKED bool gate_find(struct tx *tx, struct gates *gates, const struct limited *of,
                       struct gate **gate, struct pawl_error *err);

// What a job must pass, in the order of the scopes; answers how many: without a key, none of that.
size_t limited_by(const struct job *job, struct limited all[LIMIT_SCOPES]);

// Whether it is shut, and by what; `until` is when it opens by itself, 0 when that depends on runs.
bool gate_shut(const struct gate *gate, pawl_time now, enum limit_way *way, pawl_time *until);

// How many jobs may pass the gate of a queue, a type or an org; 0: it is shut.
CHECKED bool gates_room(struct tx *tx, struct gates *gates, enum limit_scope scope,
                        int64_t subject, size_t *room, struct pawl_error *err);

// The same of a type for jobs of one org: none while it is paused for them.
CHECKED bool gates_room_of_type(struct tx *tx, struct gates *gates, int64_t type, int64_t org,
                                size_t *room, struct pawl_error *err);

// Whether jobs of this type and org are kept by a pause. Its end is a time to look again.
bool gates_type_paused(struct gates *gates, int64_t type, int64_t org);

// The pause that keeps jobs of this type and org; NULL: none.
const struct type_pause *gates_pause(const struct gates *gates, int64_t type, int64_t org);

// Whether the job's key lets it pass; if not, it is moved behind it.
CHECKED bool gates_key(struct tx *tx, struct gates *gates, const struct job *job, bool *passes,
                       struct pawl_error *err);

// Whoever claims should come again at this time.
void gates_look_at(struct gates *gates, pawl_time at);

// The job was taken.
CHECKED bool gates_pass(struct tx *tx, struct gates *gates, const struct job *job,
                        struct pawl_error *err);

// The claim is over: writes down how far the rates are used.
CHECKED bool gates_close(struct tx *tx, struct gates *gates, struct pawl_error *err);
