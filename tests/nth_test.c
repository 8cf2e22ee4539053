// Every call fails once, and from then on: allocations, operations on files, calls of the store.
// What was asked for is then done or not done, never half, and who asked is told what happened.
//
// NTH_STRIDE=1 tries every call (`make torture-nth`); a sample tries one in so many. NTH_SCENARIO
// and NTH_KIND pick one.
#include <stdio.h>
#include <stdlib.h>

#include "engine/seal.h"
#include "faults.h"
#include "script.h"
#include "torture.h"

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

// One play with its n-th call failing. False: it was not reached.
static bool fail_nth(struct stage *stage, enum kind kind, int64_t n, bool for_ever,
                     struct torture *t)
{
    struct pawl_error told = {0}, err = {0};
    struct script s = stage_begin(stage);
    arm(kind, n, for_ever);
    bool played = stage_play(stage, &s, &told);
    bool reached = hit();
    calm();
    if (!reached)
        return false;
    struct judgement how = { .exact = !played && told.code != PAWL_IN_DOUBT,
                             .thoroughly = n % 8 == 0 };
    bool survived = (played || tells(&told) || fail(&err, PAWL_STORE, "nothing was said"))
                 && stage_judge(stage, &s, how, &err);
    if (!survived)
        print_message("%s %d, %s %lld%s: %s (after `%s`)\n", stage->scenario->name,
                      stage->scenario->number, kind_names[kind], (long long)n,
                      for_ever ? " and on" : "", err.message, told.message);
    torture_count(t, survived);
    return true;
}

// How many calls a sample leaves out: primes, so that it is not always the same call of a loop.
static const int64_t strides[KINDS] = { 5003, 127, 211, 211 };

static void fail_each(struct stage *stage, enum kind kind, struct torture *t)
{
    int64_t stride = torture_asked("NTH_STRIDE", strides[kind]);
    int64_t first = 1 + (stage->scenario - scenarios) * 131 % stride;
    for (int for_ever = 0; for_ever < 2; for_ever++)
        for (int64_t n = first; fail_nth(stage, kind, n, for_ever, t); n += stride) {}
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
