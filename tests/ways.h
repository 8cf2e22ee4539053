// Calls that fail, each in a play that is not begun again for it.
//
// A play makes ten thousands of allocations. At one that is to fail the process is doubled: the
// child goes on with it failing, while the play itself goes on undisturbed when the child has
// ended. So nothing is played twice, and a child that crashes is a finding like any other.
//
// Most allocations are made in a few places again and again. A way is the stack of calls that leads
// to one: of those that are come to by the same way only the first is tried, if one wants.
//
//     ways_begin(&ways, &t);
//     ... what allocates ...
//     if (ways_in_child())
//         ways_child_end(survived);
//     ways_end();
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct fault_counter;
struct torture;

struct ways {
    const char *kind;              // what fails
    struct fault_counter *faults;  // who counts it
    int64_t stride, offset;        // one in so many does, and how many do not before the first
    bool first_only;               // of each way the first
    bool executes;                 // see faults.h
};

void ways_begin(const struct ways *ways, struct torture *t);
bool ways_in_child(void);
const char *ways_name(void);  // what failed in this child
_Noreturn void ways_child_end(bool survived);
void ways_end(void);

// The same without children, for what cannot be doubled: only tells the numbers of the calls.
void ways_list_begin(const struct ways *ways);
const int64_t *ways_list_end(int64_t *count);  // until the next one begins

// What has been judged and found good, by a number that stands for it: children tell each other.
bool ways_known_good(uint64_t what);
void ways_good(uint64_t what);
