// What Pawl does, one row per thing it does. Preparing may expect success; playing hands every
// error on.
#include <sqlite3.h>
#include <string.h>

#include "artifacts.h"
#include "engine/batch.h"
#include "engine/erase.h"
#include "engine/retention.h"
#include "engine/seal.h"
#include "rich_store.h"
#include "scenarios.h"
#include "slots.h"
#include "store/copy.h"

// --- coming into being

static bool only_open(struct script *s, struct pawl_error *err)
{
    (void)s;
    (void)err;
    return true;
}

static void no_store(struct script *s)
{
    db_close(s->box->db);
    s->box->db = NULL;
    disk_erase();
}

static void run_raw(const struct box *box, const char *sql)
{
    sqlite3 *connection = NULL;
    char *why = NULL;
    EXPECT(sqlite3_open(box->url.s + S("sqlite:").n, &connection) == SQLITE_OK);
    if (sqlite3_exec(connection, sql, NULL, NULL, &why) != SQLITE_OK)
        print_error("%s\n", why);
    EXPECT(why == NULL);
    sqlite3_close(connection);
}

// As a program of that time made it, empty.
static void store_of_version(struct script *s)
{
    no_store(s);
    run_raw(s->box, "PRAGMA journal_mode=WAL; PRAGMA application_id=1348564844");
    for (const struct migration_row *row = migrations; row->version <= s->number; row++) {
        run_raw(s->box, row->in[DIALECT_SQLITE].text);
        char *applied = sqlite3_mprintf("INSERT INTO schema_migrations VALUES (%d, %Q, 1)",
                                        row->version, row->in[DIALECT_SQLITE].name);
        run_raw(s->box, applied);
        sqlite3_free(applied);
    }
    run_raw(s->box, "INSERT INTO store VALUES (1, '0123456789abcdef0123456789abcdef', 1)");
}

// --- time

static void everything(struct script *s)
{
    rich_store(s->box);
}

static bool sweep_some(struct script *s, struct tx *tx, struct pawl_error *err)
{
    struct swept swept;
    (void)s;
    return sweep(tx, 5, &swept, err);
}

static bool sweeps(struct script *s, struct pawl_error *err)
{
    for (int i = 0; i < 6; i++) {
        if (!script_do(s, sweep_some, err))
            return false;
        world_pass(&s->box->world, MINUTES(1));
    }
    return true;
}

static bool recover(struct script *s, struct tx *tx, struct pawl_error *err)
{
    struct instance again = { S("test"), S("boot-2") };
    struct recovered recovered;
    (void)s;
    return instance_enter(tx, &again, true, err) && boot_recover(tx, &again, 3, &recovered, err);
}

static bool recovery(struct script *s, struct pawl_error *err)
{
    return script_do(s, recover, err) && script_do(s, recover, err);
}

// Not waited for: the power may take it, but nothing that was stored before or after it.
static bool stay_alive(struct script *s, struct tx *tx, struct pawl_error *err)
{
    world_pass(&s->box->world, SECONDS(5));
    return instance_alive(tx, &me, err);
}

static bool enter(struct script *s, struct tx *tx, struct pawl_error *err)
{
    (void)s;
    return instance_enter(tx, &me, true, err);
}

static bool open_again(struct script *s, struct pawl_error *err)
{
    script_close(s);
    return script_open(s, err);
}

// Opening copies the log back, so that the next renewal is the first of a new one.
static bool renewals(struct script *s, struct pawl_error *err)
{
    if (!script_do(s, enter, err))
        return false;
    for (int i = 0; i < 3; i++)
        if (!script_do(s, stay_alive, err) || !script_do(s, deed_enqueue, err)
            || !script_do(s, stay_alive, err) || !script_do(s, deed_enqueue_large, err)
            || !script_do(s, stay_alive, err) || !open_again(s, err))
            return false;
    return script_do(s, stay_alive, err) && script_do(s, deed_enqueue, err);
}

static void a_schedule(struct script *s)
{
    struct schedule schedule = every_five_minutes();
    put(s->box, &schedule);
    tick(s->box);
    to_next_slot(s->box);
}

static bool tick_slots(struct script *s, struct tx *tx, struct pawl_error *err)
{
    struct scheduling scheduling = {
        .instance = &me,
        .limit = 50,
        .wall = world_wall(&s->box->world.world),
    };
    return slots_tick(tx, &scheduling, err);
}

static bool trigger(struct script *s, struct tx *tx, struct pawl_error *err)
{
    struct job job;
    (void)s;
    return slot_trigger(tx, S("ingest"), tx->now - tx->now % MINUTES(5) + HOURS(2), &job, err);
}

static bool schedule(struct script *s, struct pawl_error *err)
{
    for (int i = 0; i < 3; i++) {
        world_pass(&s->box->world, MINUTES(5));
        if (!script_do(s, tick_slots, err))
            return false;
    }
    return script_take(s, err) && script_do(s, deed_commit_done, err)
        && script_do(s, trigger, err);
}

// --- keeping house

static bool seal_some(struct script *s, struct tx *tx, struct pawl_error *err)
{
    struct seals seals = {0};
    (void)s;
    return seals_make(tx, 2, true, &seals, err) && seals_put(tx, &seals, err);
}

static bool seals(struct script *s, struct pawl_error *err)
{
    return script_do(s, seal_some, err) && script_do(s, deed_enqueue, err)
        && script_do(s, seal_some, err);
}

static void old_and_sealed(struct script *s)
{
    struct pawl_error err = {0};
    rich_store(s->box);
    for (int i = 0; i < 3; i++) {
        struct script sealing = { .box = s->box, .db = s->box->db };
        MUST(script_do(&sealing, seal_some, &err));
    }
}

static bool remove_some(struct script *s, struct tx *tx, struct pawl_error *err)
{
    struct removing r = {
        .keep = { .jobs_us = DAYS(1), .letters_us = DAYS(1), .logs_us = DAYS(1),
                  .audit_us = DAYS(1), .artifacts_us = DAYS(1) },
    };
    for (int i = 0; i <= s->number && !r.done; i++)
        if (!retention_step(tx, &r, err))
            return false;
    return true;
}

static bool retention(struct script *s, struct pawl_error *err)
{
    for (s->number = 0; s->number < 6; s->number++)
        if (!script_do(s, remove_some, err))
            return false;
    return true;
}

static bool erase_one(struct script *s, struct tx *tx, struct pawl_error *err)
{
    struct job job;
    return job_erase(tx, s->job[3], &job, err);
}

static bool erase(struct script *s, struct pawl_error *err)
{
    if (!script_do(s, erase_one, err))
        return false;
    (void)db_checkpoint(s->db);  // empties the log; a later one does if this cannot
    return script_do(s, deed_enqueue, err);
}

static bool checkpoints(struct script *s, struct pawl_error *err)
{
    return script_do(s, deed_enqueue_many, err) && db_harden(s->db, err)
        && script_do(s, deed_enqueue_large, err) && db_harden(s->db, err)
        && script_do(s, deed_enqueue_many, err) && db_scrub(s->db, true, err)
        && script_do(s, deed_enqueue, err);
}

// A log that nobody has copied back is what the store begins with.
static void long_log(struct script *s)
{
    struct pawl_error err = {0};
    struct db *reader = box_second(s->box, true);
    struct tx tx = {0};
    struct script before = { .box = s->box, .db = s->box->db };
    MUST(tx_begin(reader, TX_READ, test_arena(), &tx, &err));
    MUST(script_do(&before, deed_enqueue_many, &err));
    MUST(script_do(&before, deed_enqueue_large, &err));
    db_close(s->box->db);
    s->box->db = NULL;
    tx_end(&tx);
    db_close(reader);
}

static void watch_nothing(void *self, int64_t done, int64_t total)
{
    (void)self;
    (void)done;
    (void)total;
}

static bool backup(struct script *s, struct pawl_error *err)
{
    char copy[128];
    snprintf(copy, sizeof copy, "%s/copy.db", s->box->directory);
    return script_do(s, deed_enqueue, err)
        && db_copy(s->db, copy, &(struct copy_watch){ .progress = watch_nothing }, err)
        && script_do(s, deed_enqueue, err);
}

static bool looks(struct script *s, struct pawl_error *err)
{
    struct verified verified;
    struct seals_checked checked;
    return db_intact(s->db, false, err)
        && verify(s->db, &(struct verify_options){0}, &verified, err)
        && seals_check(s->db, &(struct seal_check){0}, &checked, err);
}

// --- links

static bool make_batch(struct script *s, struct tx *tx, struct pawl_error *err)
{
    struct contract jobs[] = { contract_for(s->box, "a"), contract_for(s->box, "b") };
    struct contract callback = contract_for(s->box, "callback");
    struct problems problems = { .arena = tx->arena };
    struct batch_request request = {
        .org_id = s->box->caller.org_id,
        .name = S("night"),
        .jobs = jobs,
        .count = countof(jobs),
        .callback = &callback,
        .problems = &problems,
    };
    struct job_batch batch;
    bool known;
    return batch_create(tx, &request, &batch, &known, err);
}

static bool enqueue_after(struct script *s, struct tx *tx, struct pawl_error *err)
{
    struct contract contract = contract_for(s->box, "after");
    contract.after = &s->job[1];
    contract.after_count = 1;
    return script_add(s, tx, &contract, err);
}

static bool links(struct script *s, struct pawl_error *err)
{
    return script_do(s, enqueue_after, err) && script_do(s, deed_cancel_waiting, err)
        && script_do(s, make_batch, err) && script_take(s, err)
        && script_do(s, deed_commit_done, err) && script_take(s, err)
        && script_do(s, deed_commit_done, err);
}

static bool put_artifact(struct script *s, struct tx *tx, struct pawl_error *err)
{
    struct blob blob = {0};
    struct artifact artifact = {
        .org_id = s->box->caller.org_id,
        .content_type = S("text/plain"),
        .name = S("a.txt"),
    };
    bool put = blob_create(db_files(s->db), &s->box->world.world, &blob, err)
        && blob_write(&blob, "text", 4, err) && blob_settle(&blob, err)
        && artifact_add(tx, &blob, &artifact, err);
    if (put)
        blob_keep(&blob);
    else
        blob_drop(&blob);
    return put;
}

// Files of artifacts are on the real disk, where an earlier play has left its own.
static bool remove_files(struct script *s, struct pawl_error *err)
{
    SCOPED(arena) struct arena arena = {0};
    struct blob_names names = {0};
    bool removed = blobs_list(db_files(s->db), &arena, &names, err);
    for (size_t i = 0; removed && i < names.count; i++)
        removed = blob_remove(db_files(s->db), names.at[i], err);
    return removed;
}

static bool artifacts(struct script *s, struct pawl_error *err)
{
    return remove_files(s, err) && script_do(s, put_artifact, err);
}

// clang-format off
#define MIGRATE(version) { "migrate", store_of_version, only_open, version, 0 }

const struct scenario scenarios[] = {
    { "create",       no_store,           play_enqueue,      0, 0 },
    { "open",         everything,         only_open,         0, KEEPS_LOG },
    { "open_log",     long_log,           play_enqueue,      0, KEEPS_LOG },
    { "enqueue",      NULL,               play_enqueue,      0, 0 },
    { "enqueue_many", NULL,               play_enqueue_many, 0, 0 },
    { "work",         prepare_two_jobs,   play_work,         0, 0 },
    { "fail",         prepare_two_jobs,   play_fail,         0, 0 },
    { "steps",        prepare_two_jobs,   play_steps,        0, 0 },
    { "cancel",       prepare_changeable, play_cancel,       0, 0 },
    { "retry",        prepare_changeable, play_retry,        0, 0 },
    { "clear_up",     prepare_changeable, play_clear_up,     0, 0 },
    { "queues",       prepare_changeable, play_queues,       0, 0 },
    { "api_keys",     NULL,               play_api_keys,     0, 0 },
    { "sweep",        everything,         sweeps,            0, 0 },
    { "recovery",     everything,         recovery,          0, 0 },
    { "renewals",     NULL,               renewals,          0, 0 },
    { "schedule",     a_schedule,         schedule,          0, 0 },
    { "seal",         everything,         seals,             0, 0 },
    { "retention",    old_and_sealed,     retention,         0, 0 },
    { "erase",        prepare_changeable, erase,             0, 0 },
    { "checkpoint",   NULL,               checkpoints,       0, 0 },
    { "backup",       everything,         backup,            0, OUTSIDE },
    { "verify",       everything,         looks,             0, ONLY_READS },
    { "links",        prepare_changeable, links,             0, 0 },
    { "artifact",     NULL,               artifacts,         0, OUTSIDE },
    // One for each older version of the schema; those that this program does not know are left out.
    MIGRATE(1), MIGRATE(2), MIGRATE(3), MIGRATE(4),
    MIGRATE(5), MIGRATE(6), MIGRATE(7), MIGRATE(8),
    MIGRATE(9), MIGRATE(10), MIGRATE(11), MIGRATE(12),
    MIGRATE(13), MIGRATE(14), MIGRATE(15), MIGRATE(16),
    MIGRATE(17), MIGRATE(18), MIGRATE(19), MIGRATE(20),
    MIGRATE(21), MIGRATE(22), MIGRATE(23), MIGRATE(24),
};
// clang-format on

enum { VERSIONS = 24 };

size_t scenarios_count(void)
{
    EXPECT(schema_version_known() - 1 <= VERSIONS);
    return countof(scenarios) - VERSIONS + (size_t)schema_version_known() - 1;
}
