// Every call fails once, in what begins and ends its transactions itself: making a store, verifying
// it, checking its seals, tidying up, backing up, restoring and copying. Calls of the store, of the
// system, of malloc, and what is taken from arenas.
//
// Whoever asked is told, and asked once more it is done. NTH_STRIDE=1, or rehearsals, try every
// call; a sample tries one in so many.
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "artifacts.h"
#include "base/file.h"
#include "damage.h"
#include "engine/backup.h"
#include "engine/rehearse.h"
#include "engine/retention.h"
#include "engine/seal.h"
#include "engine/transfer.h"
#include "faults.h"
#include "rich_store.h"
#include "store/bell.h"
#include "store/counts.h"
#include "store/guest.h"
#include "store/hold.h"
#include "store/names.h"
#include "torture.h"

enum kind { KIND_STORE, KIND_ARENA, KIND_MALLOC, KIND_SYSTEM, KIND_INTERRUPTED, KIND_FULL, KINDS };

static const struct {
    const char *name;
    int error;  // of the system
} kinds[] = {
    [KIND_STORE] = { "store", 0 },
    [KIND_ARENA] = { "arena", 0 },
    [KIND_MALLOC] = { "malloc", 0 },
    [KIND_SYSTEM] = { "system", EIO },
    [KIND_INTERRUPTED] = { "system, interrupted", EINTR },
    [KIND_FULL] = { "system, full", ENOSPC },
};
_Static_assert(countof(kinds) == KINDS, "one row per kind");

static void arm(enum kind kind, int64_t n)
{
    struct fault_counter faults = { .fail_at = n };
    system_errno = kinds[kind].error;
    if (kind == KIND_STORE)
        store_faults = faults;
    else if (kind == KIND_ARENA)
        rehearsal_arenas(n);
    else if (kind == KIND_MALLOC)
        memory_faults = faults;
    else
        system_faults = faults;
}

// Whether the call that fails was come to; none does from here on.
static bool calm(void)
{
    bool reached = store_faults.failed || memory_faults.failed || system_faults.failed;
    store_faults = memory_faults = system_faults = (struct fault_counter){0};
    return rehearsal_calm() || reached;
}

// ----- what is asked for

struct whole {
    struct box *box;
    const char *file, *other;  // for a backup, and for another store ...
    struct str url;            // ... which is this one
    char aside[256];           // what a restore has put aside; empty: nothing
};

static const char *in_box(const struct box *box, const char *name)
{
    return str_cstr(test_arena(), str_format(test_arena(), "%s/%s", box->directory, name));
}

static void remove_store(const char *file)
{
    static const char *const ends[] = { "", "-wal", "-shm", "-lock", ".tmp", ".tmp-wal",
                                        ".tmp-shm", ".tmp-lock" };
    SCOPED(arena) struct arena arena = {0};
    struct blob_names names = {0};
    struct pawl_error err = {0};
    for (size_t i = 0; i < countof(ends); i++)
        unlink(str_format(&arena, "%s%s", file, ends[i]).s);
    const char *folder = str_format(&arena, "%s.artifacts", file).s;
    unlink(str_format(&arena, "%s.tmp.artifacts", file).s);  // an alias
    MUST(blobs_list(folder, &arena, &names, &err));
    for (size_t at = 0; at < names.count; at++)
        MUST(blob_remove(folder, names.at[at], &err));
    rmdir(folder);
}

static bool make_store(struct whole *w, struct pawl_error *err)
{
    struct db *db = NULL;
    struct db_options options = { .url = w->url, .world = &w->box->world.world };
    bool opened = db_open(&db, &options, err);
    db_close(db);
    return opened;
}

static void see_progress(void *self, int64_t done, int64_t total)
{
    (void)self;
    EXPECT(done <= total);
}

static bool verify_all(struct whole *w, struct pawl_error *err)
{
    struct verified verified;
    struct verify_options options = { .artifacts = true, .progress = see_progress };
    return verify(w->box->db, &options, &verified, err)
        && (verified.violations == 0 || fail(err, PAWL_DAMAGED, "what is whole is reported"));
}

static bool verify_damaged(struct whole *w, struct pawl_error *err)
{
    struct verified verified;
    return verify(w->box->db, &(struct verify_options){0}, &verified, err)
        && (verified.violations > 4 || fail(err, PAWL_STORE, "what is damaged is not reported"));
}

static bool check_seals(struct whole *w, struct pawl_error *err)
{
    struct seals_checked checked;
    return seals_check(w->box->db, &(struct seal_check){ .progress = see_progress }, &checked, err)
        && (checked.findings == 0 || fail(err, PAWL_DAMAGED, "what is whole is reported"));
}

static bool tidy(struct whole *w, struct pawl_error *err)
{
    size_t removed = 0;
    return artifacts_tidy(w->box->db, &removed, err);
}

static bool hold_names(struct whole *w, struct pawl_error *err)
{
    SCOPED(arena) struct arena arena = {0};
    struct hold one = {0}, other = {0};
    struct str name;
    bool held = hold_take(&one, w->box->url, S("one"), err)
             && hold_take_any(&other, w->box->url, S("one"), &name, &arena, err);
    hold_give(&one);
    hold_give(&other);
    return held;
}

static bool hear_bell(struct whole *w, struct pawl_error *err)
{
    struct bell *bell = NULL;
    struct db *db = NULL;
    struct db_options options = {
        .url = w->box->url,
        .world = &w->box->world.world,
        .listen = true,
        .shared = true,
        .fleeting = true,
    };
    bool opened = bell_open(&bell, w->box->url, err) && db_open(&db, &options, err);
    db_close(db);
    bell_close(bell);
    return opened;
}

// ----- work, by a connection that remembers nothing

enum { KEYS = 6, GENERATION_KEYS = 2 };

static bool enqueue_keys(struct whole *w, struct tx *tx, const char *name, struct pawl_error *err)
{
    char text[KEYS][16];
    bool done = true;
    for (int i = 0; i < KEYS && done; i++) {
        struct contract contract = contract_for(w->box, i % 2 ? "report" : "export");
        struct job job;
        bool known;
        snprintf(text[i], sizeof text[i], "%s-%d", name, i);
        contract.idempotency_key = str_of(text[i]);
        done = job_enqueue(tx, &contract, &job, &known, err);
    }
    return done;
}

static bool let_guest_in(struct tx *tx, struct pawl_error *err)
{
    guest_enter(tx, SECONDS(60));
    bool done = guest_execute(tx, "CREATE TABLE invoices (id INTEGER PRIMARY KEY,"
                                  " of INTEGER REFERENCES invoices); DROP TABLE invoices",
                              err);
    return guest_leave(tx, done ? err : NULL) && done;
}

static bool count_all(struct tx *tx, struct pawl_error *err)
{
    struct queue_count *counts;
    size_t count;
    int64_t waiting;
    return counts_of_org(tx, 0, &counts, &count, err) && counts_of_org(tx, 1, &counts, &count, err)
        && count_waiting(tx, 1, &waiting, err) && count_waiting(tx, 2, &waiting, err);
}

static bool work(struct whole *w, struct pawl_error *err)
{
    SCOPED(arena) struct arena arena = {0};
    struct db *db = NULL;
    struct db_options options = {
        .url = w->box->url,
        .world = &w->box->world.world,
        .generation_keys = GENERATION_KEYS,
    };
    bool done = db_open(&db, &options, err);
    for (int kept = 2; kept-- > 0 && done;) {  // keys that are found, and new ones for nothing
        SCOPED(tx) struct tx tx = {0};
        done = tx_begin(db, TX_WRITE, &arena, &tx, err);
        tx.caller = &w->box->caller;
        done = done && enqueue_keys(w, &tx, kept ? "kept" : "new", err) && count_all(&tx, err)
            && let_guest_in(&tx, err)
            && (kept ? tx_commit(&tx, err) : tx_wrap_up(&tx, err));
    }
    db_close(db);
    return done;
}

static bool keep_file(struct whole *w, struct pawl_error *err)
{
    static const char bytes[100 << 10];
    const char *folder = db_files(w->box->db);
    struct blob blob = {0};
    bool kept = blob_create(folder, &w->box->world.world, &blob, err)
             && blob_write(&blob, bytes, sizeof bytes, err) && blob_settle(&blob, err);
    kept = kept && blob_check(folder, str_of(blob.name), blob.bytes, str_of(blob.sha256), err);
    blob_drop(&blob);
    return kept;
}

static bool remove_file(struct whole *w, struct pawl_error *err)
{
    SCOPED(arena) struct arena arena = {0};
    const char *folder = db_files(w->box->db);
    struct blob blob = {0};
    struct blob_names names = {0};
    if (!blob_create(folder, &w->box->world.world, &blob, err))
        return false;
    blob_keep(&blob);  // of a process that died before it was named
    return blobs_list(folder, &arena, &names, err)
        && blob_remove(folder, str_of(blob.name), err);
}

static bool back_up(struct whole *w, struct pawl_error *err)
{
    struct backup_report report;
    struct backup backup = { .store = w->box->url, .file = w->file, .world = &w->box->world.world };
    return backup_make(&backup, &report, err);
}

static bool restore(struct whole *w, struct pawl_error *err)
{
    SCOPED(arena) struct arena arena = {0};
    struct restore_report report = {0};
    struct restore restore = {
        .store = w->url,
        .file = w->file,
        .force = true,
        .hold = true,
        .world = &w->box->world.world,
        .caller = &w->box->caller,
    };
    bool restored = restore_make(&restore, &report, &arena, err);
    snprintf(w->aside, sizeof w->aside, "%s", restored && report.aside ? report.aside : "");
    return restored;
}

static bool copy(struct whole *w, struct pawl_error *err)
{
    struct transfer_report report;
    struct transfer transfer = { .from = w->box->url, .to = w->url, .world = &w->box->world.world };
    return transfer_make(&transfer, &report, err);
}

static bool rehearse_migration(struct whole *w, struct pawl_error *err)
{
    struct rehearsal_report report;
    struct rehearsal rehearsal = { .store = w->box->url, .world = &w->box->world.world };
    return migration_rehearse(&rehearsal, &report, err)
        && (report.found.violations == 0 || fail(err, PAWL_DAMAGED, "what is whole is reported"));
}

// A file whose writer died before it was named.
static void leave_forsaken(struct whole *w)
{
    struct blob blob = {0};
    struct pawl_error err = {0};
    MUST(blob_create(db_files(w->box->db), &w->box->world.world, &blob, &err));
    blob_keep(&blob);
}

static void remove_forsaken(struct whole *w)
{
    struct pawl_error err = {0};
    MUST(tidy(w, &err));
}

static void remove_backup(struct whole *w)
{
    remove_store(w->file);
}

static void remove_other(struct whole *w)
{
    remove_store(w->other);
}

static void remove_aside(struct whole *w)
{
    if (w->aside[0])
        remove_store(w->aside);
}

static const struct deed {
    const char *name;
    bool (*run)(struct whole *w, struct pawl_error *err);
    void (*clear)(struct whole *w);  // NULL: it leaves nothing
    bool alone;                      // nobody has the store open
    void (*prepare)(struct whole *w);
} deeds[] = {
    { "make a store", make_store, remove_other, false, NULL },
    { "verify", verify_all, NULL, false, NULL },
    { "check seals", check_seals, NULL, false, NULL },
    { "tidy up", tidy, NULL, false, leave_forsaken },
    { "hold names", hold_names, NULL, false, NULL },
    { "hear the bell", hear_bell, NULL, false, NULL },
    { "work", work, NULL, false, NULL },
    { "keep a file", keep_file, NULL, false, NULL },
    { "remove a file", remove_file, remove_forsaken, false, NULL },
    { "back up", back_up, remove_backup, false, NULL },
    { "restore", restore, remove_aside, false, NULL },  // from what was backed up
    { "rehearse a migration", rehearse_migration, NULL, false, NULL },
    { "copy", copy, remove_other, true, NULL },
};

// ----- each call fails

// One try with its n-th call failing. False: it was not come to.
static bool fail_nth(struct whole *w, const struct deed *deed, enum kind kind, int64_t n,
                     struct torture *t)
{
    struct pawl_error told = {0}, err = {0};
    if (deed->prepare)
        deed->prepare(w);
    arm(kind, n);
    bool done = deed->run(w, &told), reached = calm();
    if (done && deed->clear)
        deed->clear(w);
    if (!reached) {
        EXPECT(done);
        return false;
    }
    bool survived = (done || (told.code != PAWL_OK && told.message[0])) && deed->run(w, &err);
    if (!survived)
        print_message("%s, %s %lld: %s (after `%s`)\n", deed->name, kinds[kind].name, (long long)n,
                      err.message, told.message);
    if (deed->clear)
        deed->clear(w);
    torture_count(t, survived);
    return true;
}

static void fail_each(struct whole *w, const struct deed *deed, int64_t stride, struct torture *t)
{
    for (enum kind kind = 0; kind < KINDS; kind++)
        if (torture_picked("NTH_KIND", kinds[kind].name))
            for (int64_t n = 1; fail_nth(w, deed, kind, n, t); n += stride) {}
}

static void *counted_malloc(size_t bytes)
{
    return malloc(bytes);  // jansson's, which the linker does not see
}

static int64_t stride_of(int64_t usual, int64_t rehearsed)
{
    return torture_asked("NTH_STRIDE", torture_asked("REHEARSALS", 0) > 0 ? rehearsed : usual);
}

static struct whole whole_of(struct box *box)
{
    struct whole w = { .box = box };
    w.file = in_box(box, "backup.db");
    w.other = in_box(box, "other.db");
    w.url = str_format(test_arena(), "sqlite:%s", w.other);
    return w;
}

// One call in `stride` of each deed. Rehearsals try more.
static void try_all(struct box *box, int64_t stride, int64_t rehearsed)
{
    struct torture t = { .name = "whole calls" };
    struct pawl_error err = {0};
    struct whole w = whole_of(box);
    stride = stride_of(stride, rehearsed);
    json_set_alloc_funcs(counted_malloc, free);
    for (size_t i = 0; i < countof(deeds); i++) {
        if (!torture_picked("NTH_SCENARIO", deeds[i].name))
            continue;
        if (deeds[i].run == restore)
            MUST(back_up(&w, &err));
        if (deeds[i].alone)
            db_close(box->db);
        fail_each(&w, &deeds[i], stride, &t);
        if (deeds[i].alone)
            box->db = box_second(box, false);
        remove_other(&w);
    }
    remove_backup(&w);
    EXPECT_INT(torture_end(&t), 0);
}

// So that there are numbers of queues that were added up, besides those that will be.
static void fold_counts(struct box *box)
{
    struct tx tx = {0};
    struct pawl_error err = {0};
    int64_t org, queue;
    box_begin(box, &tx);
    MUST(name_intern(&tx, NAME_ORG, box->caller.org_id, &org, &err));
    MUST(name_intern(&tx, NAME_QUEUE, S("q:default"), &queue, &err));
    for (int i = 0; i < 128; i++) {
        tx_count(&tx, org, queue, PLACE_READY, i % 2 ? -1 : 1);
        tx_flow(&tx, org, queue, FLOW_ENQUEUED);
        MUST(counts_settle(&tx, &err));
    }
    box_commit(&tx);
    EXPECT(box_number(box, "SELECT count(*) FROM queue_counts") > 0);
}

static void seal_all(struct box *box)
{
    struct seals seals;
    OK(seals_make(tx, 10, true, &seals, err) && seals_put(tx, &seals, err));
}

// What was sealed so far goes, and its seal says so.
static void prune_all(struct box *box)
{
    struct removing r = { .keep = { .audit_us = SECONDS(1) } };
    while (!r.done)
        OK_FROM(r, retention_step(tx, &r, err));
    EXPECT(r.removed[REMOVED_EVENTS] > 0);
}

// A store with one of the things that go along.
TEST_EACH_DB(OPS_9_what_has_transactions_of_its_own_says_so_whichever_call_fails)
{
    must_enqueue(box, "early");
    pass(box, SECONDS(10));
    seal_all(box);
    pass(box, SECONDS(10));
    prune_all(box);
    must_enqueue(box, "report");
    struct lease lease = must_start(box, "A");
    must_commit(box, &lease);
    must_enqueue(box, "report");
    must_store(box, "some bytes");
    pass(box, SECONDS(10));
    fold_counts(box);
    seal_all(box);
    try_all(box, 97, 1);
}

TEST_EACH_DB(OPS_9_verify_says_so_whichever_call_fails_between_what_it_finds)
{
    static const struct deed deed = { "verify what is damaged", verify_damaged, NULL, false,
                                      NULL };
    static const char damaged[] =
        "UPDATE executions SET attempts_used = 7; UPDATE jobs SET payload = '{';"
        "UPDATE jobs SET payload = '[]' WHERE id = (SELECT max(id) FROM jobs);"
        "UPDATE outcomes SET result = '{'; UPDATE steps SET result = '{';"
        "UPDATE executions SET error_class = 'validation' WHERE error_class IS NOT NULL;"
        "UPDATE outcomes SET failure_type = 'bad_luck';"
        "UPDATE executions SET started_at = NULL; UPDATE ready SET attempt = 5";
    struct torture t = { .name = "whole calls" };
    struct step step;
    must_enqueue(box, "report");
    struct lease lease = must_start(box, "A");
    must_fail(box, &lease, ERROR_TRANSIENT);
    pass(box, MINUTES(1));
    must_sweep(box);
    lease = must_start(box, "A");
    OK(step_put(tx, &lease, S("one"), S("1"), &step, err));
    must_commit(box, &lease);
    must_enqueue(box, "report");
    struct artifact artifact = must_store(box, "some bytes");
    struct pawl_error err = {0};
    MUST(blob_remove(db_files(box->db), artifact.file, &err));
    box->damaged = true;
    box_sql(box, str_format(test_arena(), "%s%s", no_guards, damaged).s);
    struct whole w = whole_of(box);
    fail_each(&w, &deed, stride_of(7, 1), &t);
    EXPECT_INT(torture_end(&t), 0);
}

// A copy that somebody else began and left.
static void leave_unfinished(struct whole *w)
{
    struct pawl_error err = {0};
    MUST(copy(w, &err));
    EXPECT(outside_run(w->url, "UPDATE store_copy SET finished_at = NULL;"
                               "INSERT INTO schema_migrations (version, name, applied_at)"
                               " VALUES (1000000, 'unfinished copy', 1)",
                       NULL, NULL));
}

TEST_EACH_DB(OPS_9_a_copy_that_is_gone_on_with_says_so_whichever_call_fails)
{
    static const struct deed deed = { "go on with a copy", copy, remove_other, true,
                                      leave_unfinished };
    struct torture t = { .name = "whole calls" };
    must_enqueue(box, "report");
    struct whole w = whole_of(box);
    db_close(box->db);
    for (int64_t n = 1; fail_nth(&w, &deed, KIND_STORE, n, &t);)
        n += stride_of(47, n < 256 ? 1 : n / 64);  // what is asked before the rows comes first
    box->db = box_second(box, false);
    EXPECT_INT(torture_end(&t), 0);
}

TEST_EACH_DB(OPS_9_the_same_with_everything_in_it)
{
    rich_store(box);
    try_all(box, 1499, 97);
}
