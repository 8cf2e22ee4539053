// One sequence of operations, done twice: by the engine on a store and by the reference model.
//
// Every operation is drawn from the sequence's own dice, so its seed repeats it. The first
// difference between the two is kept in `match` and stops the sequence.
#pragma once

#include "fixture.h"
#include "match.h"

enum { SEQUENCE_LEASES_MAX = REF_EXECUTIONS_MAX,
       SEQUENCE_WORKERS = 4 };

// A lease somebody was given at some time, and in whose name.
struct given {
    struct lease lease;
    struct str org;
};

struct sequence {
    struct box *box;
    struct match match;
    struct arena arena;
    uint64_t seed, dice;
    bool verbose;
    bool one_by_one;  // one transaction per operation, not one for all of a moment
    struct tx tx;
    struct caller caller;
    struct given given[SEQUENCE_LEASES_MAX];
    size_t given_count;
    struct worker workers[SEQUENCE_WORKERS];
    int64_t boots;
    int64_t set_back_us;  // how far the calendar was set back
    size_t operations;
    size_t commits;
    int64_t effects;  // rows that commits wrote with their own SQL
};

void sequence_begin(struct sequence *s, struct box *box, uint64_t seed);

// A new store gets to know them in this order, which is that of their turns.
extern const struct str orgs[2];
void sequence_meet_orgs(struct box *box);
void sequence_end(struct sequence *s);

uint64_t roll(struct sequence *s);
size_t pick(struct sequence *s, size_t count);  // 0 to count - 1
bool chance(struct sequence *s, size_t percent);
int64_t between(struct sequence *s, int64_t min, int64_t max);

// The transaction of this moment, in the name of an org; empty: of Pawl itself.
struct tx *moment(struct sequence *s, struct str org);
void moment_over(struct sequence *s);  // commits

// The engine's answer must be the model's.
void answered(struct sequence *s, const char *what, bool done, enum pawl_code expected);

// Every job of the sequence must be as the model says; see match.h.
void compare_all(struct sequence *s, bool all);

// ----- operations, on both sides

void operate(struct sequence *s);  // one, drawn with its arguments

void claim_with(struct sequence *s, const struct claim *claim);
void commit_with(struct sequence *s, const struct lease *lease, const struct commit *commit);
void fail_with(struct sequence *s, const struct lease *lease, const struct work_error *error);
void sweep_with(struct sequence *s, size_t limit);
void pass_to(struct sequence *s, pawl_time time);
