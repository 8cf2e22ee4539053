// Every call fails once, and from then on: allocations, operations on files, calls of the store.
// What was asked for is then done or not done, never half, and who asked is told what happened.
//
// NTH_STRIDE=1 tries every call (`make torture-nth`); a sample tries one in so many. NTH_WAYS=1
// tries allocations that are come to by the same calls once (ways.h). NTH_SCENARIO and NTH_KIND
// pick one.
#include <stdio.h>
#include <stdlib.h>

#include "engine/seal.h"
#include "faults.h"
#include "script.h"
#include "torture.h"
#include "ways.h"

// The last: the call is done, and its answer is that it failed.
enum kind { KIND_MEMORY, KIND_FILE, KIND_STORE, KIND_ANSWER, KINDS };
static const char *const kind_names[KINDS] = { "memory", "file", "store", "answer" };

static void calm(void)
{
    memory_faults = store_faults = (struct fault_counter){0};
    crash_vfs.fail_at = crash_vfs.operations = crash_vfs.failed = 0;
    crash_vfs.fails_on = false;
}

static void arm(enum kind kind, int64_t n, bool for_ever)
{
    struct fault_counter faults = {
        .fail_at = n,
        .fails_on = for_ever,
        .executes = kind == KIND_ANSWER,
    };
    calm();
    if (kind == KIND_MEMORY) {
        memory_faults = faults;
    } else if (kind == KIND_FILE) {
        crash_vfs.fail_at = n;
        crash_vfs.fails_on = for_ever;
    } else {
        store_faults = faults;
    }
}

static bool hit(void)
{
    return memory_faults.failed || store_faults.failed || crash_vfs.failed;
}

static bool tells(const struct pawl_error *err)
{
    return err->code != PAWL_OK && err->message[0] != '\0';
}

// What the caller was told decides how what is there is judged.
static struct judgement judgement_of(bool played, const struct pawl_error *told, bool thoroughly)
{
    return (struct judgement){ .exact = !played && told->code != PAWL_IN_DOUBT,
                               .thoroughly = thoroughly };
}

static void print_finding(const struct stage *stage, const char *what, const char *why,
                          const struct pawl_error *told)
{
    print_message("%s %d, %s: %s (after `%s`)\n", stage->scenario->name, stage->scenario->number,
                  what, why, told->message);
}

// One play with its n-th call failing. False: it was not reached.
static bool fail_nth(struct stage *stage, enum kind kind, int64_t n, bool for_ever,
                     struct torture *t)
{
    struct pawl_error told = {0}, err = {0};
    struct script s = stage_begin(stage);
    char what[64];
    arm(kind, n, for_ever);
    bool played = stage_play(stage, &s, &told);
    bool reached = hit();
    calm();
    if (!reached)
        return false;
    bool survived = (played || tells(&told) || fail(&err, PAWL_STORE, "nothing was said"))
                 && stage_judge(stage, &s, judgement_of(played, &told, n % 8 == 0), &err);
    snprintf(what, sizeof what, "%s %lld%s", kind_names[kind], (long long)n,
             for_ever ? " and on" : "");
    if (!survived)
        print_finding(stage, what, err.message, &told);
    torture_count(t, survived);
    return true;
}

// In a child in which a call has failed. What is on the disk may be what another child has left.
static _Noreturn void child_end(struct stage *stage, const struct script *s, bool played,
                                const struct pawl_error *told)
{
    struct pawl_error err = {0};
    struct judgement how = judgement_of(played, told, true);
    uint64_t sum = stage_sum(s, how);
    bool survived = (played || tells(told) || fail(&err, PAWL_STORE, "nothing was said"))
                 && (ways_known_good(sum) || stage_judge(stage, s, how, &err));
    if (survived)
        ways_good(sum);
    else
        print_finding(stage, ways_name(), err.message, told);
    ways_child_end(survived);
}

static void fail_in_children(struct stage *stage, const struct ways *ways, struct torture *t)
{
    struct pawl_error told = {0};
    struct script s = stage_begin(stage);
    calm();
    ways_begin(ways, t);
    bool played = stage_play(stage, &s, &told);
    ways_end();
    if (ways_in_child())
        child_end(stage, &s, played, &told);
    EXPECT(played);
}

// Files outside the disk in memory are the parent's and the child's: every try is played from its
// beginning.
static void fail_alone(struct stage *stage, enum kind kind, const struct ways *ways,
                       struct torture *t)
{
    struct pawl_error told = {0};
    struct script s = stage_begin(stage);
    int64_t count;
    calm();
    ways_list_begin(ways);
    EXPECT(stage_play(stage, &s, &told));
    const int64_t *list = ways_list_end(&count);
    for (int64_t i = 0; i < 2 * count; i++)
        if (!fail_nth(stage, kind, list[i / 2], i % 2, t))
            t->not_reached++;
}

static void fail_files(struct stage *stage, const struct ways *ways, struct torture *t)
{
    for (int for_ever = 0; for_ever < 2; for_ever++)
        for (int64_t n = 1 + ways->offset; fail_nth(stage, KIND_FILE, n, for_ever, t);)
            n += ways->stride;
}

// How many calls a sample leaves out: primes, so that it is not always the same call of a loop.
static const int64_t strides[KINDS] = { 2003, 127, 211, 211 };

static void fail_each(struct stage *stage, enum kind kind, struct torture *t)
{
    struct ways ways = {
        .kind = kind_names[kind],
        .faults = kind == KIND_MEMORY ? &memory_faults : &store_faults,
        .stride = torture_asked("NTH_STRIDE", strides[kind]),
        .first_only = kind == KIND_MEMORY && torture_asked("NTH_WAYS", 0),
        .executes = kind == KIND_ANSWER,
    };
    ways.offset = (stage->scenario - scenarios) * 131 % ways.stride;
    if (kind == KIND_FILE)
        fail_files(stage, &ways, t);
    else if (stage->scenario->traits & OUTSIDE)
        fail_alone(stage, kind, &ways, t);
    else
        fail_in_children(stage, &ways, t);
}

TEST(OPS_9_what_is_asked_for_is_done_or_not_done_whichever_call_fails)
{
    struct torture tortures[KINDS];
    int64_t found = 0;
    memory_faults_install();
    crash_vfs_install();
    for (size_t kind = 0; kind < KINDS; kind++)
        tortures[kind] = (struct torture){ .name = kind_names[kind] };
    for (size_t i = 0; i < scenarios_count(); i++) {
        if (!torture_picked("NTH_SCENARIO", scenarios[i].name))
            continue;
        struct stage stage;
        stage_open(&stage, &scenarios[i]);
        for (size_t kind = 0; kind < KINDS; kind++)
            if (torture_picked("NTH_KIND", kind_names[kind]))
                fail_each(&stage, (enum kind)kind, &tortures[kind]);
        stage_close(&stage);
    }
    crash_vfs_remove();
    for (size_t kind = 0; kind < KINDS; kind++)
        found += torture_end(&tortures[kind]);
    EXPECT_INT(found, 0);
}

// Whoever does not notice crashes.
static __attribute__((noinline)) void allocate(bool notices)
{
    void *volatile memory = malloc(10);
    if (!memory && !notices)
        abort();
    free(memory);
}

// By two ways, one of them gone twice.
static void allocate_thrice(bool notices)
{
    volatile int twice = 2;  // a compiler that knew would make two ways of it
    for (int i = 0; i < twice; i++)
        allocate(notices);
    allocate(true);
}

// That the test above can fail.
TEST(OPS_9_an_allocation_whose_failure_nobody_notices_is_found)
{
    for (int notices = 0; notices < 2; notices++) {
        struct torture t = { .name = notices ? "noticed" : "not noticed (must be found)" };
        ways_begin(&(struct ways){ "memory", &memory_faults, 1, 0, .first_only = true }, &t);
        allocate_thrice(notices);
        ways_end();
        if (ways_in_child())
            ways_child_end(true);
        EXPECT_INT(t.tried, 4);  // once and for ever
        EXPECT_INT(torture_end(&t), notices ? 0 : 2);
    }
}

static bool make_seals(struct box *box, struct seals *seals)
{
    struct pawl_error err = {0};
    SCOPED(tx) struct tx tx = {0};
    db_forget(box->db);
    return tx_begin(box->db, TX_READ, test_arena(), &tx, &err)
        && seals_make(&tx, 1, true, seals, &err);
}

// A name that could not be looked up was sealed as one that is missing, and the trail then looked
// as if somebody had changed it.
TEST_EACH_DB(OPS_11_what_cannot_be_read_just_now_is_not_sealed_as_missing)
{
    struct seals whole, seals;
    must_enqueue(box, "report");
    EXPECT(make_seals(box, &whole));
    bool reached = true;
    for (int64_t n = 1; reached; n++) {
        arm(KIND_STORE, n, false);
        bool made = make_seals(box, &seals);
        reached = hit();
        calm();
        EXPECT(!made || str_eq(seals.at[0].hash, whole.at[0].hash));
        EXPECT(made != reached);
    }
}
