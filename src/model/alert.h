// Alerts: what an operator must be told, and how often it is told.
//
// Everything here is pure: kinds, the key by which a receiver knows an alert again (OPS-17), and
// when a failed delivery is tried again.
#pragma once

#include "base/arena.h"
#include "base/id.h"

enum alert_kind {
    ALERT_NONE,
    ALERT_DEAD_LETTER,
    ALERT_SCHEDULED_FAILED,
    ALERT_FINISH_FAILING,
    ALERT_KINDS
};

const char *alert_kind_name(enum alert_kind kind);     // "" for ALERT_NONE
const char *alert_kind_meaning(enum alert_kind kind);  // for people, a few words
const char *alert_kind_look(enum alert_kind kind);     // the command that shows the job
bool alert_kind_parse(struct str name, enum alert_kind *kind);

// Sets of kinds are bits in a number.
static inline int64_t alert_bit(enum alert_kind kind)
{
    return (int64_t)1 << kind;
}
int64_t alert_all_kinds(void);

// `dead_letter:<job id>`: the same on every try, after every restart, from every process.
struct str alert_key(struct arena *arena, enum alert_kind kind, struct id job);

// When to try again after so many tries: 1 s, doubled each time, at most ten minutes. The receiver
// may ask for more.
int64_t alert_delay_us(int64_t attempts, int64_t asked_us);

// How many messages a target may be sent: so many a minute, and a burst after a pause. Kept as one
// number, the time at which the burst is whole again.
struct allowance {
    int64_t per_minute, burst;  // at least 1
    int64_t whole_at;           // by a clock that never goes back; 0: it is
};

int64_t allowance_left(const struct allowance *allowance, int64_t now);
void allowance_spend(struct allowance *allowance, int64_t now);
int64_t allowance_wait_us(const struct allowance *allowance, int64_t now);  // until one is left
