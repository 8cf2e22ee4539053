// The power goes at a random operation on the disk, and comes back. Nothing that was acknowledged
// may be gone, nothing may be half there, and the store must open by itself and go on.
//
// POWER_LOSSES and POWER_COMPOUND say how often at least (`make torture-power`): every scenario as
// often as the others. A finding is printed with its scenario and seed; POWER_SCENARIO and
// POWER_SEED, from which seeds are counted, repeat it.
#include <stdio.h>

#include "script.h"
#include "torture.h"

static uint64_t dice_of(const struct stage *stage, uint64_t seed)
{
    uint64_t number = (uint64_t)(stage->scenario - scenarios);
    return (seed * 1000 + number) * 0x9e3779b97f4a7c15U + 1;
}

static int64_t pick(uint64_t *dice, int64_t count)
{
    return 1 + (int64_t)(disk_random(dice) % (uint64_t)count);
}

// Plays until the power goes at a random change, and lets it come back.
static struct script cut(struct stage *stage, uint64_t *dice, struct torture *t)
{
    struct pawl_error cut_off;
    struct script s = stage_begin(stage);
    crash_vfs.changes = 0;
    crash_vfs.cut_at = pick(dice, stage->changes);
    (void)!stage_play(stage, &s, &cut_off);  // it fails wherever it happens to be
    t->not_reached += !crash_vfs.dark;
    crash_vfs_power_on(disk_random(dice));
    return s;
}

// Opens the store that was cut off, and cuts that off too.
static void cut_recovery(struct stage *stage, uint64_t *dice, struct torture *t)
{
    struct pawl_error err = {0};
    struct disk_image *found = disk_save();
    struct script opened = stage_reopen(stage);
    crash_vfs.changes = 0;
    MUST(script_open(&opened, &err));
    script_close(&opened);
    int64_t changes = crash_vfs.changes;
    disk_load(found);
    disk_image_free(found);
    t->not_reached += changes == 0;  // there was nothing to recover
    if (changes == 0)
        return;
    opened = stage_reopen(stage);
    crash_vfs.changes = 0;
    crash_vfs.cut_at = pick(dice, changes);
    (void)!script_open(&opened, &err);
    script_close(&opened);
    crash_vfs_power_on(disk_random(dice));
}

// How a try ended; `why` is told when it ended badly.
static void conclude(struct torture *t, const struct stage *stage, uint64_t seed, bool survived,
                     const char *why)
{
    if (!survived)
        print_message("%s %d, seed %llu: %s\n", stage->scenario->name, stage->scenario->number,
                      (unsigned long long)seed, why);
    torture_count(t, survived);
}

static void lose_power(struct stage *stage, uint64_t seed, bool compound, struct torture *t)
{
    struct pawl_error err = {0};
    uint64_t dice = dice_of(stage, seed);
    struct script played = cut(stage, &dice, t);
    if (compound)
        cut_recovery(stage, &dice, t);
    struct judgement how = { .thoroughly = disk_random(&dice) % 8 == 0 };
    bool survived = stage_judge(stage, &played, how, &err);
    conclude(t, stage, seed, survived, err.message);
}

static void lose_once(struct stage *stage, uint64_t seed, struct torture *t)
{
    lose_power(stage, seed, false, t);
}

static void lose_twice(struct stage *stage, uint64_t seed, struct torture *t)
{
    lose_power(stage, seed, true, t);
}

static bool may_lose(const struct scenario *scenario)
{
    return !(scenario->traits & ONLY_READS) && torture_picked("POWER_SCENARIO", scenario->name);
}

static void lose_often(struct torture *t,
                       void (*lose)(struct stage *stage, uint64_t seed, struct torture *t))
{
    uint64_t first = (uint64_t)torture_asked("POWER_SEED", 1), parts = 0;
    for (size_t i = 0; i < scenarios_count(); i++)
        parts += may_lose(&scenarios[i]);
    EXPECT(parts > 0);
    crash_vfs_install();
    for (size_t i = 0; i < scenarios_count(); i++) {
        if (!may_lose(&scenarios[i]))
            continue;
        struct stage stage;
        stage_open(&stage, &scenarios[i]);
        EXPECT(stage.changes > 0);
        for (uint64_t n = 0; n * parts < (uint64_t)t->planned; n++)
            lose(&stage, first + n, t);
        stage_close(&stage);
    }
    crash_vfs_remove();
    EXPECT(t->tried >= t->planned);
}

TEST(OPS_9_a_power_loss_at_any_moment_loses_nothing_that_was_acknowledged)
{
    struct torture t = { .name = "power loss", .planned = torture_asked("POWER_LOSSES", 220) };
    lose_often(&t, lose_once);
    EXPECT_INT(torture_end(&t), 0);
    EXPECT_INT(t.not_reached, 0);
}

// Some of them do not come to the moment they are about; not all.
static void all_survive(const char *name, int64_t planned,
                        void (*lose)(struct stage *stage, uint64_t seed, struct torture *t))
{
    struct torture t = { .name = name, .planned = planned };
    lose_often(&t, lose);
    EXPECT_INT(torture_end(&t), 0);
    EXPECT(t.not_reached < t.tried || planned == 0);
}

TEST(OPS_9_a_power_loss_while_a_store_recovers_from_one_loses_nothing)
{
    all_survive("power loss, compound", torture_asked("POWER_COMPOUND", 88), lose_twice);
}

// A sync fails and what it was to bring to the disk is forgotten, though it can still be read. The
// store is opened again, and the power goes while it is.
static void forget(struct stage *stage, uint64_t seed, struct torture *t)
{
    struct pawl_error err = {0};
    uint64_t dice = dice_of(stage, seed);
    struct script played = stage_begin(stage);
    crash_vfs.fail_sync_at = crash_vfs.count[VFS_SYNC] + pick(&dice, stage->syncs);
    (void)!stage_play(stage, &played, &err);
    crash_vfs.fail_sync_at = 0;
    struct script opened = stage_reopen(stage);
    crash_vfs.cut_at = crash_vfs.changes + pick(&dice, 40);
    (void)!(script_open(&opened, &err) && db_harden(opened.db, &err));
    script_close(&opened);
    t->not_reached += !crash_vfs.dark;
    crash_vfs_power_on(disk_random(&dice));
    bool survived = stage_judge(stage, &played, (struct judgement){ .thoroughly = true }, &err);
    conclude(t, stage, seed, survived, err.message);
}

TEST(OPS_9_what_a_failed_sync_has_forgotten_is_never_copied_back)
{
    all_survive("power loss after a failed sync", torture_asked("POWER_FORGOTTEN", 88), forget);
}

// A process is killed and leaves a log of which nobody knows what is on the disk. The next one
// fails to sync it, and forgets; the one after that brings it to the file, before the power goes.
static void abandon(struct stage *stage, uint64_t seed, struct torture *t)
{
    struct pawl_error err = {0};
    uint64_t dice = dice_of(stage, seed);
    struct script played = stage_begin(stage);
    crash_vfs.cut_at = crash_vfs.changes + pick(&dice, stage->changes);
    (void)!stage_play(stage, &played, &err);
    crash_vfs.cut_at = 0;
    crash_vfs.dark = false;  // the process is gone, the machine is not
    struct script opened = stage_reopen(stage);
    int64_t failed = crash_vfs.failed;
    crash_vfs.fail_sync_at = crash_vfs.count[VFS_SYNC] + 1;
    bool untrue = script_open(&opened, &err) && crash_vfs.failed > failed;
    script_close(&opened);
    t->not_reached += crash_vfs.failed == failed;
    crash_vfs.fail_sync_at = 0;
    opened = stage_reopen(stage);
    bool survived = script_open(&opened, &err) && db_harden(opened.db, &err);
    script_close(&opened);
    crash_vfs_power_on(disk_random(&dice));
    survived = survived
            && stage_judge(stage, &played, (struct judgement){ .thoroughly = true }, &err);
    conclude(t, stage, seed, survived && !untrue,
             survived ? "opened though its log was not synced" : err.message);
}

TEST(OPS_9_a_log_that_cannot_be_synced_is_not_opened)
{
    all_survive("failed sync after a kill", torture_asked("POWER_ABANDONED", 88), abandon);
}

static const struct scenario *scenario_named(const char *name)
{
    const struct scenario *scenario = scenarios;
    while (!str_eq(str_of(scenario->name), str_of(name)))
        scenario++;
    return scenario;
}

// That the tests above can fail.
TEST(OPS_9_a_store_that_does_not_sync_is_found_out)
{
    struct torture t = { .name = "power loss without syncs (must be found)" };
    struct stage stage;
    crash_vfs_install();
    stage_open(&stage, scenario_named("enqueue"));
    stage.beginning.fleeting = true;
    stage_measure(&stage);
    for (uint64_t seed = 1; seed <= 40; seed++)
        lose_power(&stage, seed, false, &t);
    stage.beginning.fleeting = false;
    stage_close(&stage);
    crash_vfs_remove();
    EXPECT(torture_end(&t) > 4);
}
