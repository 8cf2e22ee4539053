// The store is in a box (fixture.h) whose file is on the disk of crash_vfs.h; the box is closed
// while scripts play, and keeps the path, the clock and the caller.
#include "script.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/copy.h"
#include "store/sqlite.h"

static const char *path_of(const struct box *box)
{
    return box->url.s + S("sqlite:").n;
}

static void add_table(sqlite3 *connection, const char *table, struct hash_sum *sum, bool *ok)
{
    char sql[256];
    sqlite3_stmt *rows = NULL;
    snprintf(sql, sizeof sql, "SELECT * FROM %s ORDER BY 1, 2", table);
    if (sqlite3_prepare_v2(connection, sql, -1, &rows, NULL) != SQLITE_OK) {
        snprintf(sql, sizeof sql, "SELECT * FROM %s ORDER BY 1", table);  // it has one column
        *ok = sqlite3_prepare_v2(connection, sql, -1, &rows, NULL) == SQLITE_OK && *ok;
    }
    int result;
    sum_text(sum, str_of(table));
    while ((result = sqlite3_step(rows)) == SQLITE_ROW)
        for (int i = 0; i < sqlite3_column_count(rows); i++) {
            const char *bytes = sqlite3_column_blob(rows, i);
            sum_number(sum, sqlite3_column_type(rows, i));
            sum_text(sum, (struct str){ bytes, (size_t)sqlite3_column_bytes(rows, i) });
        }
    *ok = result == SQLITE_DONE && *ok;
    sqlite3_finalize(rows);
}

// By the connection of the store itself: another one would spend most of its time on the schema.
// Until when an instance is alive may be lost with the machine; that it began is an event.
static bool contents_read(struct db *db, struct contents *contents)
{
    sqlite3 *connection = sqlite_of(db)->connection;
    sqlite3_stmt *tables = NULL;
    struct hash_sum sum;
    bool ok = sqlite3_prepare_v2(connection, "SELECT name FROM sqlite_schema WHERE type = 'table'"
                                             " AND name NOT LIKE 'sqlite_%'"
                                             " AND name <> 'instances' ORDER BY name",
                                 -1, &tables, NULL)
           == SQLITE_OK;
    sum_begin(&sum);
    while (ok && sqlite3_step(tables) == SQLITE_ROW)
        add_table(connection, (const char *)sqlite3_column_text(tables, 0), &sum, &ok);
    sqlite3_finalize(tables);
    sum_end(&sum, contents->digest);
    return ok;
}

static void print_violation(void *self, const struct violation *violation)
{
    (void)self;
    print_error("%s: %s: job %.*s: %.*s\n", violation->name, violation->invariant,
                STR(violation->job_id), STR(violation->detail));
}

static bool judge_records(struct script *s, struct pawl_error *err)
{
    struct verified verified = {0};
    return verify(s->db, &(struct verify_options){ .found = print_violation }, &verified, err)
        && (verified.violations == 0
            || fail(err, PAWL_DAMAGED, "verify: %lld violations", (long long)verified.violations));
}

// Counted once, when the store has said yes; in the first play it is also looked at.
static void acknowledge(struct script *s)
{
    struct pawl_error err = {0};
    s->acknowledged++;
    if (!s->history)
        return;
    EXPECT(s->acknowledged < s->history_max);
    EXPECT(contents_read(s->db, &s->history[s->acknowledged]));
    MUST(judge_records(s, &err));
}

bool script_do(struct script *s, script_deed *deed, struct pawl_error *err)
{
    SCOPED(arena) struct arena arena = {0};
    SCOPED(tx) struct tx tx = {0};
    if (!tx_begin(s->db, TX_WRITE, &arena, &tx, err))
        return false;
    tx.caller = &s->box->caller;
    if (!deed(s, &tx, err) || !tx_commit(&tx, err))
        return false;
    acknowledge(s);
    return true;
}

bool script_open(struct script *s, struct pawl_error *err)
{
    struct db_options options = {
        .url = s->box->url,
        .world = &s->box->world.world,
        .busy_us = MILLISECONDS(1),  // nobody else is there
        .fleeting = s->fleeting,
    };
    return db_open(&s->db, &options, err);
}

void script_close(struct script *s)
{
    db_close(s->db);
    s->db = NULL;
}

// What an opening store makes up, its secret and when it was migrated, is the same every time.
static void same_world(struct stage *stage)
{
    virtual_world_init(&stage->box.world, SECONDS(1900000000), 4711);
}

struct script stage_reopen(struct stage *stage)
{
    same_world(stage);
    return stage->beginning;
}

struct script stage_begin(struct stage *stage)
{
    disk_load(stage->disk);
    return stage_reopen(stage);
}

bool stage_play(struct stage *stage, struct script *s, struct pawl_error *err)
{
    bool played = script_open(s, err) && stage->scenario->play(s, err);
    script_close(s);
    return played;
}

// What every play finds after so many transactions: the first one, undisturbed, tells.
static void rehearse(struct stage *stage)
{
    struct pawl_error err = {0};
    struct script s = stage_begin(stage);
    MUST(script_open(&s, &err));
    EXPECT(contents_read(s.db, &stage->history[0]));
    s.history = stage->history;
    s.history_max = countof(stage->history);
    MUST(stage->scenario->play(&s, &err));
    script_close(&s);
    stage->transactions = s.acknowledged;
}

void stage_measure(struct stage *stage)
{
    struct pawl_error err = {0};
    struct script s = stage_begin(stage);
    crash_vfs.changes = crash_vfs.operations = crash_vfs.count[VFS_SYNC] = 0;
    MUST(stage_play(stage, &s, &err));
    stage->changes = crash_vfs.changes;
    stage->operations = crash_vfs.operations;
    stage->syncs = crash_vfs.count[VFS_SYNC];
}

// Or most of what a play does would be copying back what its preparation wrote.
static void empty_log(const char *path)
{
    sqlite3 *connection = NULL;
    if (!disk_find(path))
        return;
    EXPECT_INT(sqlite3_open(path, &connection), SQLITE_OK);
    EXPECT_INT(sqlite3_exec(connection, "PRAGMA wal_checkpoint(TRUNCATE)", NULL, NULL, NULL),
               SQLITE_OK);
    sqlite3_close(connection);
}

void stage_open(struct stage *stage, const struct scenario *scenario)
{
    *stage = (struct stage){ .scenario = scenario };
    box_open(&stage->box);
    stage->beginning = (struct script){ .box = &stage->box, .number = scenario->number };
    if (scenario->prepare)
        scenario->prepare(&stage->beginning);
    db_close(stage->box.db);
    stage->box.db = NULL;
    if (!(scenario->traits & KEEPS_LOG))
        empty_log(path_of(&stage->box));
    stage->disk = disk_save();
    rehearse(stage);
    stage_measure(stage);
}

void stage_close(struct stage *stage)
{
    struct script s = stage_begin(stage);
    struct pawl_error err = {0};
    MUST(script_open(&s, &err));
    stage->box.db = s.db;
    stage->box.damaged = true;  // it has been verified all the time
    box_close(&stage->box);
    disk_erase();
    disk_image_free(stage->disk);
}

static bool same(const struct contents *a, const struct contents *b)
{
    return strcmp(a->digest, b->digest) == 0;
}

// What was acknowledged is there, and at most the one transaction more that was not answered.
static bool judge_contents(const struct stage *stage, size_t known, bool exact, struct db *db,
                           struct pawl_error *err)
{
    struct contents found;
    if (!contents_read(db, &found))
        return fail(err, PAWL_DAMAGED, "the store cannot be read");
    if (same(&found, &stage->history[known])
        || (!exact && known < stage->transactions && same(&found, &stage->history[known + 1])))
        return true;
    for (size_t i = 0; i <= stage->transactions; i++)
        if (same(&found, &stage->history[i]))
            return fail(err, PAWL_DAMAGED, "%zu transactions were acknowledged and %zu are there",
                        known, i);
    return fail(err, PAWL_DAMAGED, "after %zu transactions: contents that no transaction left",
                known);
}

static bool one_more(struct script *s, struct tx *tx, struct pawl_error *err)
{
    struct contract contract = contract_for(s->box, "one_more");
    struct job job;
    bool deduplicated;
    return job_enqueue(tx, &contract, &job, &deduplicated, err);
}

bool stage_judge(struct stage *stage, const struct script *played, struct judgement how,
                 struct pawl_error *err)
{
    struct script s = stage_reopen(stage);
    bool judged = script_open(&s, err)
        && judge_contents(stage, played->acknowledged, how.exact, s.db, err)
        && db_intact(s.db, false, err);
    stage->box.world.dice = 815;  // other ids than those of the play
    if (how.thoroughly)
        judged = judged && judge_records(&s, err) && script_do(&s, one_more, err);
    script_close(&s);
    return judged;
}

static void add_bytes(uint64_t *sum, const void *bytes, size_t count)
{
    const unsigned char *at = bytes;
    uint64_t word = count;
    for (size_t i = 0; i < count; i += sizeof word) {
        *sum = (*sum ^ word) * 0x9e3779b97f4a7c15U;
        *sum ^= *sum >> 29;
        memcpy(&word, at + i, count - i < sizeof word ? count - i : sizeof word);
    }
    *sum = (*sum ^ word) * 0x9e3779b97f4a7c15U;
}

uint64_t stage_sum(const struct script *played, struct judgement how)
{
    uint64_t sum = 1;
    add_bytes(&sum, &played->acknowledged, sizeof played->acknowledged);
    add_bytes(&sum, &how.exact, sizeof how.exact);
    for (const struct disk_file *file = disk_files(); file; file = file->next)
        if (file->named) {
            add_bytes(&sum, file->path, strlen(file->path));
            add_bytes(&sum, file->seen.at, file->seen.count);
        }
    return sum ? sum : 1;
}
