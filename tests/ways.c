// There is one play at a time, so what is known of it is static. The numbers of what was found good
// are in memory that the children share.
#include "ways.h"

#include <assert.h>
#include <execinfo.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "faults.h"
#include "fixture.h"
#include "torture.h"

enum { SET_BITS = 18, FRAMES_MAX = 128, LIST_MAX = 1 << 17 };

// Numbers without an order; 0 is not one of them.
struct set {
    uint64_t at[1 << SET_BITS];
    size_t count;
};

static struct set seen, *good;

static struct {
    struct ways ways;
    struct torture *torture;  // NULL: only a list is wanted
    int64_t passed;
    bool in_child;
    char name[64];            // in a child: what failed
    int64_t list[LIST_MAX], listed;
} play;

static uint64_t *place_of(struct set *set, uint64_t number)
{
    size_t at = number >> (64 - SET_BITS);
    while (set->at[at] && set->at[at] != number)
        at = (at + 1) % countof(set->at);
    return &set->at[at];
}

static bool set_add(struct set *set, uint64_t number)
{
    uint64_t *place = place_of(set, number);
    if (*place)
        return false;
    assert(set->count++ < countof(set->at) / 2);
    *place = number;
    return true;
}

static uint64_t way_here(void)
{
    void *frames[FRAMES_MAX];
    uint64_t way = 1;
    for (int i = backtrace(frames, FRAMES_MAX); i > 0; i--) {
        way = (way ^ (uint64_t)(uintptr_t)frames[i - 1]) * 0x9e3779b97f4a7c15U;
        way ^= way >> 29;
    }
    return way ? way : 1;
}

// True in the child, which fails.
static bool doubled(const char *name)
{
    int status = 0;
    fflush(stdout);  // or both would print what is waiting
    pid_t child = fork();
    assert(child >= 0);
    play.in_child = child == 0;
    if (play.in_child) {
        snprintf(play.name, sizeof play.name, "%s", name);
        return true;
    }
    EXPECT_INT(waitpid(child, &status, 0), child);
    if (WIFSIGNALED(status))
        print_message("%s: died of %s\n", name, strsignal(WTERMSIG(status)));
    torture_count(play.torture, status == 0);
    return false;
}

static void try_both(struct fault_counter *faults)
{
    for (int for_ever = 0; for_ever < 2; for_ever++) {
        char name[64];
        snprintf(name, sizeof name, "%s %lld%s", play.ways.kind, (long long)faults->calls,
                 for_ever ? " and on" : "");
        if (doubled(name)) {
            faults->about_to = NULL;
            faults->fail_at = faults->calls;
            faults->fails_on = for_ever;
            return;
        }
    }
}

static void call(struct fault_counter *faults)
{
    if ((play.ways.first_only && !set_add(&seen, way_here()))
        || play.passed++ % play.ways.stride != play.ways.offset)
        return;
    if (play.torture) {
        try_both(faults);
        return;
    }
    assert(play.listed < LIST_MAX);
    play.list[play.listed++] = faults->calls;
}

static void begin(const struct ways *ways, struct torture *t)
{
    void *frames[1];
    (void)backtrace(frames, 1);  // the first one allocates
    play.ways = *ways;
    play.torture = t;
    play.passed = play.listed = 0;
    seen = (struct set){0};
    *ways->faults = (struct fault_counter){ .about_to = call, .executes = ways->executes };
}

void ways_begin(const struct ways *ways, struct torture *t)
{
    if (!good) {
        good = mmap(NULL, sizeof *good, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        assert(good != MAP_FAILED);
    }
    *good = (struct set){0};
    begin(ways, t);
}

void ways_list_begin(const struct ways *ways)
{
    begin(ways, NULL);
}

const int64_t *ways_list_end(int64_t *count)
{
    ways_end();
    *count = play.listed;
    return play.list;
}

bool ways_in_child(void)
{
    return play.in_child;
}

const char *ways_name(void)
{
    return play.name;
}

int __lsan_do_recoverable_leak_check(void) __attribute__((weak));
void __gcov_dump(void) __attribute__((weak));  // else what it did is not in the coverage

_Noreturn void ways_child_end(bool survived)
{
    if (__lsan_do_recoverable_leak_check && __lsan_do_recoverable_leak_check() != 0) {
        print_message("%s: a leak\n", play.name);
        survived = false;
    }
    if (__gcov_dump)
        __gcov_dump();
    fflush(stdout);
    _exit(survived ? 0 : 1);
}

void ways_end(void)
{
    *play.ways.faults = (struct fault_counter){0};
}

bool ways_known_good(uint64_t what)
{
    return *place_of(good, what) != 0;
}

void ways_good(uint64_t what)
{
    set_add(good, what);
}
