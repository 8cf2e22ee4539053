// The store: durability settings, guards, plans of the queries, migrations, refusals.
#include "fixture.h"

#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "faulty_vfs.h"
#include "store/names.h"

static struct str path_of(const struct box *box)
{
    return (struct str){ box->url.s + 7, box->url.n - 7 };
}

SQLITE_ONLY(OPS_9_a_commit_is_synced_before_it_is_answered,
            "a disk that fails, by a file system of SQLite")
TEST_EACH_DB(OPS_9_a_commit_is_synced_before_it_is_answered)
{
    faulty_vfs_install();
    box_reopen(box);
    for (int i = 0; i < 3; i++) {
        faulty_vfs.syncs = 0;
        must_enqueue(box, "report");
        EXPECT(faulty_vfs.syncs >= 1);
    }
    faulty_vfs_remove();
    box_reopen(box);
}

SQLITE_ONLY(OPS_9_a_commit_whose_sync_failed_is_in_doubt_and_the_connection_is_done,
            "a disk that fails, by a file system of SQLite")
TEST_EACH_DB(OPS_9_a_commit_whose_sync_failed_is_in_doubt_and_the_connection_is_done)
{
    faulty_vfs_install();
    box_reopen(box);
    struct contract contract = contract_for(box, "report");
    contract.idempotency_key = S("in-doubt");
    struct job job;
    bool deduplicated;
    struct pawl_error err = {0};
    struct tx tx = {0};
    box_begin(box, &tx);
    MUST(job_enqueue(&tx, &contract, &job, &deduplicated, &err));
    faulty_vfs.fail_syncs = 1;
    EXPECT_REFUSED(PAWL_IN_DOUBT, tx_commit(&tx, &err));
    faulty_vfs.fail_syncs = 0;
    tx_end(&tx);
    EXPECT_REFUSED(PAWL_STORE, tx_begin(box->db, TX_WRITE, test_arena(), &tx, &err));
    faulty_vfs_remove();
    box_reopen(box);  // and then the key tells what became of it
    box_begin(box, &tx);
    MUST(job_enqueue(&tx, &contract, &job, &deduplicated, &err));
    box_commit(&tx);
    EXPECT_INT(box_number(box, "SELECT count(*) FROM jobs"), 1);
}

// Numbers are remembered by the connection: a number given in vain would be used for another name.
TEST_EACH_DB(what_was_rolled_back_is_not_remembered)
{
    struct policy policy = *policy_builtin(S("default")), loaded;
    policy.max_attempts = 7;
    int64_t kept = 0, gone = 0, number = 0, terms = 0;
    struct str name;
    struct pawl_error err = {0};
    struct tx tx = {0};
    box_begin(box, &tx);
    MUST(name_intern(&tx, NAME_QUEUE, S("q:kept"), &kept, &err));
    MUST(tx_mark(&tx, &err));
    MUST(name_intern(&tx, NAME_QUEUE, S("q:gone"), &gone, &err));
    MUST(name_text(&tx, NAME_QUEUE, gone, &name, &err));
    EXPECT_STR(name, "q:gone");
    MUST(policy_intern(&tx, &policy, &terms, &err));
    MUST(policy_load(&tx, terms, &loaded, &err));
    EXPECT(policy_eq(&policy, &loaded));
    MUST(tx_take_back(&tx, &err));
    MUST(name_find(&tx, NAME_QUEUE, S("q:gone"), &number, &err));
    EXPECT_INT(number, 0);
    EXPECT_REFUSED(PAWL_STORE, name_text(&tx, NAME_QUEUE, gone, &name, &err));
    EXPECT_REFUSED(PAWL_STORE, policy_load(&tx, terms, &loaded, &err));
    MUST(name_find(&tx, NAME_QUEUE, S("q:kept"), &number, &err));
    EXPECT_INT(number, kept);
    tx_end(&tx);

    box_begin(box, &tx);
    MUST(name_find(&tx, NAME_QUEUE, S("q:kept"), &number, &err));
    EXPECT_INT(number, 0);
    EXPECT_REFUSED(PAWL_STORE, name_text(&tx, NAME_QUEUE, kept, &name, &err));
    tx_end(&tx);
}

SQLITE_ONLY(OPS_9_a_full_disk_is_said_and_nothing_is_stored,
            "a disk that fails, by a file system of SQLite")
TEST_EACH_DB(OPS_9_a_full_disk_is_said_and_nothing_is_stored)
{
    faulty_vfs_install();
    box_reopen(box);
    struct contract contract = contract_for(box, "report");
    struct job job;
    bool deduplicated;
    struct pawl_error err = {0};
    struct tx tx = {0};
    box_begin(box, &tx);
    MUST(job_enqueue(&tx, &contract, &job, &deduplicated, &err));
    faulty_vfs.full = true;
    EXPECT_REFUSED(PAWL_DISK_FULL, tx_commit(&tx, &err));
    tx_end(&tx);
    faulty_vfs.full = false;
    EXPECT_INT(box_number(box, "SELECT count(*) FROM jobs"), 0);
    must_add(box, &contract);  // space came back
    faulty_vfs_remove();
    box_reopen(box);
}

SQLITE_ONLY(the_log_is_write_ahead, "the log of an SQLite file")
TEST_EACH_DB(the_log_is_write_ahead)
{
    sqlite3 *connection = NULL;
    EXPECT(sqlite3_open(path_of(box).s, &connection) == SQLITE_OK);
    sqlite3_stmt *row = NULL;
    EXPECT(sqlite3_prepare_v2(connection, "PRAGMA journal_mode", -1, &row, NULL) == SQLITE_OK);
    EXPECT(sqlite3_step(row) == SQLITE_ROW);
    EXPECT(strcmp((const char *)sqlite3_column_text(row, 0), "wal") == 0);
    sqlite3_finalize(row);
    sqlite3_close(connection);
}

SQLITE_ONLY(the_log_stays_bounded_under_load, "the log of an SQLite file")
TEST_EACH_DB(the_log_stays_bounded_under_load)
{
    NEEDS_EVERY_ANSWER("its memory is given back in between, with the name of the store");
    struct contract contract = contract_for(box, "report");
    char payload[4096];
    snprintf(payload, sizeof payload, "{\"text\":\"%03500d\"}", 7);
    contract.payload = str_of(payload);
    int64_t largest = 0;
    for (int i = 0; i < 8000; i++) {
        must_add(box, &contract);
        int64_t bytes = db_wal_bytes(box->db);
        largest = bytes > largest ? bytes : largest;
        if (i % 100 == 0)
            arena_reset(test_arena());
    }
    EXPECT(largest > (int64_t)8 << 20);   // it was used
    EXPECT(largest < (int64_t)32 << 20);  // and started over
    box->damaged = true;                  // url and names were in the arena
    box->url = S("");
}

SQLITE_ONLY(the_log_stays_bounded_when_every_writer_is_a_new_one, "the log of an SQLite file")
TEST_EACH_DB(the_log_stays_bounded_when_every_writer_is_a_new_one)
{
    sqlite3 *reader = NULL;
    EXPECT(sqlite3_open(path_of(box).s, &reader) == SQLITE_OK);
    EXPECT(sqlite3_exec(reader, "BEGIN; SELECT count(*) FROM jobs", NULL, NULL, NULL) == SQLITE_OK);
    struct contract contract = contract_for(box, "report");
    struct db_options options = { .url = box->url, .wal_bytes_max = 400000, .busy_us = 20000 };
    int accepted = 0;
    struct pawl_error err = {0};
    for (bool full = false; !full; accepted++) {
        struct db *db = NULL;
        struct tx tx = {0};
        struct job job;
        bool deduplicated;
        EXPECT(accepted < 200);
        MUST(db_open(&db, &options, &err));
        full = !tx_begin(db, TX_WRITE, test_arena(), &tx, &err);
        tx.caller = &box->caller;
        if (!full) {
            MUST(job_enqueue(&tx, &contract, &job, &deduplicated, &err));
            MUST(tx_commit(&tx, &err));
        }
        db_close(db);
    }
    EXPECT_INT(err.code, PAWL_FULL);
    sqlite3_close(reader);
}

// The plan of a statement, one line a step.
static struct str plan_of(sqlite3 *connection, const char *sql)
{
    struct buf plan = buf_new(test_arena(), 1 << 20);
    sqlite3_stmt *steps = NULL;
    struct str explain = str_format(test_arena(), "EXPLAIN QUERY PLAN %s", sql);
    if (sqlite3_prepare_v2(connection, explain.s, -1, &steps, NULL) != SQLITE_OK)
        print_error("%s: %s\n", sql, sqlite3_errmsg(connection));
    while (sqlite3_step(steps) == SQLITE_ROW)
        buf_addf(&plan, "%s\n", (const char *)sqlite3_column_text(steps, 3));
    sqlite3_finalize(steps);
    return buf_str(&plan);
}

// A step that reads a whole table. `SCAN CONSTANT ROW` reads none, and a scan in the order of an
// index under a LIMIT is a walk from its start.
static bool scans_a_table(struct str plan)
{
    for (struct str line, rest = plan; rest.n;) {
        str_cut(rest, '\n', &line, &rest);
        if (str_starts(line, S("SCAN ")) && !str_starts(line, S("SCAN CONSTANT")))
            return true;
    }
    return false;
}

SQLITE_ONLY(no_query_reads_a_whole_table_unless_it_says_why, "plans of SQLite")
TEST_EACH_DB(no_query_reads_a_whole_table_unless_it_says_why)
{
    sqlite3 *connection = NULL;
    EXPECT(sqlite3_open(path_of(box).s, &connection) == SQLITE_OK);
    int offences = 0, checked = 0;
    for (size_t q = 0; q < QUERIES; q++) {
        struct str plan = plan_of(connection, queries[q].sqlite);
        checked++;
        if (queries[q].scans[0] || !scans_a_table(plan))
            continue;
        print_error("%s reads a whole table:\n%.*s", queries[q].name, STR(plan));
        offences++;
    }
    sqlite3_close(connection);
    EXPECT(checked > 60);
    EXPECT_INT(offences, 0);
}

// Taking the clause out of one statement would go unnoticed: the check in C answers first.
TEST(EXEC_3_the_fence_is_in_the_where_of_every_statement_of_a_worker)
{
    int fenced = 0;
    for (size_t q = 0; q < QUERIES; q++) {
        const struct query_row *query = &queries[q];
        bool update = strstr(query->sqlite, "UPDATE executions")
                   || strstr(query->sqlite, "UPDATE OR FAIL executions");
        if (!update || !strstr(query->sqlite, "worker = $3")
            || q == Q_EXECUTION_EXPIRE)  // the sweep's: the lease is over
            continue;
        fenced++;
        bool whole = strstr(query->sqlite, "id = $1") && strstr(query->sqlite, "attempt = $2")
                  && strstr(query->sqlite, "lease_expires_at > $4");
        if (!whole)
            print_error("%s does not carry the fence\n", query->name);
        EXPECT(whole);
    }
    EXPECT(fenced >= 8);
}

// Before the trigger over finished executions has to say so.
TEST(EXEC_8_only_statements_about_a_live_status_write_the_end_of_an_execution)
{
    static const char *const columns[] = { "status = ", "committed_at = ", "finished_at = ",
                                           "end_reason = ", "serial_key = " };
    int ends = 0;
    for (size_t q = 0; q < QUERIES; q++) {
        const char *sql = queries[q].sqlite, *where = strstr(sql, "WHERE");
        bool update = strstr(sql, "UPDATE executions") || strstr(sql, "UPDATE OR FAIL executions"),
             writes = false;
        for (size_t i = 0; update && i < countof(columns); i++) {
            const char *column = strstr(sql, columns[i]);
            writes |= column && (!where || column < where);
        }
        if (!writes)
            continue;
        ends++;
        bool live = where && !strstr(where, "DONE") && !strstr(where, "ABORTED")
                 && (strstr(where, " AND status = '") || strstr(where, " AND status IN ('LEASED'"));
        if (!live)
            print_error("%s could change a finished execution\n", queries[q].name);
        EXPECT(live);
    }
    EXPECT(ends >= 8);
}

TEST(the_plan_check_sees_a_scan)
{
    EXPECT(scans_a_table(S("SEARCH j USING INTEGER PRIMARY KEY (rowid=?)\nSCAN executions\n")));
    EXPECT(scans_a_table(S("SCAN e USING INDEX executions_live\n")));
    EXPECT(!scans_a_table(S("SEARCH ready USING PRIMARY KEY (queue=? AND type=?)\n")));
}

TEST_EACH_DB(a_store_of_a_newer_version_is_refused)
{
    box->damaged = true;
    box_sql(box, "INSERT INTO schema_migrations VALUES (999, 'from the future', 1)");
    struct db *db = NULL;
    struct pawl_error err = {0};
    EXPECT_REFUSED(PAWL_OUTDATED, db_open(&db, &(struct db_options){ .url = box->url }, &err));
    EXPECT(strstr(err.message, "use a newer pawl") != NULL);
}

TEST_EACH_DB(a_store_that_another_build_made_otherwise_is_refused)
{
    box->damaged = true;
    box_sql(box, "UPDATE schema_migrations SET name = 'engine' WHERE version = 1");
    struct str before = box_contents(box);
    struct db *db = NULL;
    struct pawl_error err = {0};
    EXPECT_REFUSED(PAWL_STORE, db_open(&db, &(struct db_options){ .url = box->url }, &err));
    EXPECT(strstr(err.message, "made by another build") != NULL);
    EXPECT(str_eq(before, box_contents(box)));
}

TEST_EACH_DB(migrating_twice_changes_nothing)
{
    struct str before = box_contents(box);
    box_reopen(box);
    box_reopen(box);
    EXPECT(str_eq(before, box_contents(box)));
    int64_t version = 0;
    struct pawl_error err = {0};
    MUST(schema_version(box->db, &version, &err));
    EXPECT_INT(version, schema_version_known());
}

SQLITE_ONLY(a_file_of_another_program_is_refused_and_left_alone, "files and their locks")
TEST_EACH_DB(a_file_of_another_program_is_refused_and_left_alone)
{
    struct str other = str_format(test_arena(), "%s/other.db", box->directory);
    sqlite3 *connection = NULL;
    EXPECT(sqlite3_open(other.s, &connection) == SQLITE_OK);
    EXPECT(sqlite3_exec(connection, "CREATE TABLE theirs (a)", NULL, NULL, NULL) == SQLITE_OK);
    sqlite3_close(connection);
    struct db *db = NULL;
    struct pawl_error err = {0};
    struct str url = str_format(test_arena(), "sqlite:%s", other.s);
    EXPECT_REFUSED(PAWL_STORE, db_open(&db, &(struct db_options){ .url = url }, &err));
    EXPECT(strstr(err.message, "another program") != NULL);
    remove(other.s);
    remove(str_cstr(test_arena(), str_format(test_arena(), "%s-lock", other.s)));
}

SQLITE_ONLY(a_store_that_was_closed_is_whole_without_its_log, "the log of an SQLite file")
TEST_EACH_DB(a_store_that_was_closed_is_whole_without_its_log)
{
    struct job job = must_enqueue(box, "report");
    struct str copy = str_format(test_arena(), "%s/copy.db", box->directory);
    db_close(box->db);
    struct str bytes = test_file_at(path_of(box).s);
    FILE *file = fopen(copy.s, "wb");
    EXPECT(file != NULL);
    EXPECT_INT(fwrite(bytes.s, 1, bytes.n, file), bytes.n);
    fclose(file);
    struct str original = box->url;
    box->url = str_format(test_arena(), "sqlite:%s", copy.s);
    box->db = box_second(box, false);
    EXPECT_INT(must_load(box, job.id).state, JOB_QUEUED);
    db_close(box->db);
    static const char *const tails[] = { "", "-wal", "-shm", "-lock" };
    for (size_t i = 0; i < countof(tails); i++)
        unlink(str_format(test_arena(), "%s%s", copy.s, tails[i]).s);
    box->url = original;
    box->db = box_second(box, false);
}

TEST_EACH_DB(what_is_not_a_file_is_no_store)
{
    struct db *db = NULL;
    struct pawl_error err = {0};
    struct str url = str_format(test_arena(), "sqlite:%s", box->directory);
    EXPECT_REFUSED(PAWL_STORE, db_open(&db, &(struct db_options){ .url = url }, &err));
    EXPECT(strstr(err.message, "not a regular file") != NULL);
}

SQLITE_ONLY(a_foreign_lock_is_waited_for_and_then_named, "files and their locks")
TEST_EACH_DB(a_foreign_lock_is_waited_for_and_then_named)
{
    struct db *impatient = NULL;
    struct pawl_error err = {0};
    struct db_options options = { .url = box->url, .busy_us = MILLISECONDS(20) };
    MUST(db_open(&impatient, &options, &err));
    sqlite3 *foreign = NULL;
    EXPECT(sqlite3_open(path_of(box).s, &foreign) == SQLITE_OK);
    EXPECT(sqlite3_exec(foreign, "BEGIN IMMEDIATE", NULL, NULL, NULL) == SQLITE_OK);
    struct tx tx = {0};
    EXPECT_REFUSED(PAWL_BUSY, tx_begin(impatient, TX_WRITE, test_arena(), &tx, &err));
    EXPECT(strstr(err.message, "another program") != NULL);
    sqlite3_close(foreign);
    MUST(tx_begin(impatient, TX_WRITE, test_arena(), &tx, &err));
    tx_end(&tx);
    db_close(impatient);
}

TEST_EACH_DB(a_reader_never_writes_and_never_creates)
{
    must_enqueue(box, "report");
    struct db *reader = box_second(box, true);
    struct pawl_error err = {0};
    struct tx tx = {0};
    EXPECT_REFUSED(PAWL_STORE, tx_begin(reader, TX_WRITE, test_arena(), &tx, &err));
    MUST(tx_begin(reader, TX_READ, test_arena(), &tx, &err));
    EXPECT(!tx_execute(&tx, "DELETE FROM ready", &err));
    tx_end(&tx);
    db_close(reader);
    struct str url = str_format(test_arena(), "sqlite:%s/absent.db", box->directory);
    EXPECT_REFUSED(PAWL_NOT_FOUND,
                   db_open(&reader, &(struct db_options){ .url = url, .read_only = true }, &err));
    EXPECT_REFUSED(PAWL_USAGE, db_open(&reader, &(struct db_options){ .url = S("redis:x") }, &err));
}

TEST_EACH_DB(time_in_the_store_never_goes_back)
{
    struct job first = must_enqueue(box, "report");
    world_jump(&box->world, -HOURS(1));
    struct job second = must_enqueue(box, "report");
    EXPECT(second.created_at >= first.created_at);
    EXPECT(second.id.high > first.id.high);
    box_reopen(box);  // a new process sees the earlier clock, and ids still rise
    struct job third = must_enqueue(box, "report");
    EXPECT(third.id.high > second.id.high);
}

// What is under way when the calendar is set back, in every way that writes a time.
TEST_EACH_DB(a_calendar_set_back_between_two_processes_breaks_nothing)
{
    struct lease leases[4];
    for (int i = 0; i < 4; i++) {
        must_enqueue(box, "report");
        leases[i] = must_start(box, "A");
    }
    struct job waiting = must_enqueue(box, "report");
    world_jump(&box->world, -HOURS(1));
    box_reopen(box);
    struct execution e;
    struct job job;
    struct recovered recovered;
    must_commit(box, &leases[0]);
    must_fail(box, &leases[1], ERROR_TRANSIENT);
    OK(execution_release(tx, &leases[2], &e, err));
    OK(job_cancel(tx, waiting.id, &job, err));
    OK(boot_recover(tx, &(struct instance){ S("test"), S("boot-2") }, 10, &recovered, err));
    EXPECT_INT(recovered.ended, 1);
    EXPECT(must_enqueue(box, "report").created_at >= waiting.created_at);
}

TEST_EACH_DB(after_a_calendar_set_back_time_goes_on)
{
    struct job job = must_enqueue(box, "report");
    must_start(box, "A");
    world_jump(&box->world, -DAYS(1));
    box_reopen(box);
    EXPECT_INT(must_sweep(box).expired, 0);
    pass(box, SECONDS(61));  // at half speed
    EXPECT_INT(must_sweep(box).expired, 1);
    EXPECT_INT(must_load(box, job.id).state, JOB_RETRYING);
}

SQLITE_ONLY(every_name_of_a_store_has_the_same_lock, "files and their locks")
TEST_EACH_DB(every_name_of_a_store_has_the_same_lock)
{
    struct str link = str_format(test_arena(), "%s/link.db", box->directory);
    EXPECT_INT(symlink(path_of(box).s, link.s), 0);
    struct db *second = NULL;
    struct pawl_error err = {0};
    struct str url = str_format(test_arena(), "sqlite:%s", link.s);
    MUST(db_open(&second, &(struct db_options){ .url = url, .busy_us = MILLISECONDS(5) }, &err));
    struct tx mine = {0}, theirs = {0};
    box_begin(box, &mine);
    EXPECT_REFUSED(PAWL_BUSY, tx_begin(second, TX_WRITE, test_arena(), &theirs, &err));
    box_commit(&mine);
    db_close(second);
    unlink(link.s);
    EXPECT_INT(symlink("nowhere.db", link.s), 0);
    EXPECT_REFUSED(PAWL_STORE, db_open(&second, &(struct db_options){ .url = url }, &err));
    unlink(link.s);
}

TEST_EACH_DB(a_list_leaves_damaged_jobs_out_and_says_so)
{
    struct job good = must_enqueue(box, "report"), bad = must_enqueue(box, "report");
    box->damaged = true;
    box_sql(box, str_cstr(test_arena(),
                          str_format(test_arena(), "DELETE FROM ready WHERE job = %lld",
                                     (long long)bad.id.high)));
    struct job_list list;
    OK(job_find(tx, &(struct job_filter){ .limit = 10 }, &list, err));
    EXPECT_INT(list.count, 1);
    EXPECT_INT(list.damaged, 1);
    EXPECT(id_eq(list.jobs[0].id, good.id));
}

TEST_EACH_DB(the_names_of_events_in_the_store_are_those_of_the_program)
{
    struct pawl_error err = {0};
    SCOPED(tx) struct tx tx = {0};
    box_begin(box, &tx);
    SCOPED(rows) struct rows rows = {0};
    MUST(sql_ask_plain(&tx, &rows, Q_AUDIT_EVENT_NAMES, &err));
    int64_t expected = 1;
    while (rows_next(&rows)) {
        int64_t event = row_int(&rows);
        EXPECT_INT(event, expected++);
        expect_str(row_text(&rows), str_of(event_name((enum event)event)), PLACE("event name"));
    }
    EXPECT_INT(expected, EVENTS);
}

TEST_EACH_DB(the_guards_are_in_the_schema)
{
    must_enqueue(box, "report");
    must_start(box, "A");
    must_enqueue(box, "report");
    static const char *const bad[] = {
        // a second live lease of one job
        "INSERT INTO executions (id, id_low, org, job, attempt, status, worker, queue, type,"
        " policy, lease_us, lease_expires_at, leased_at, attempts_used, retry_count, crash_count)"
        " SELECT id + 1, id_low, org, job, attempt + 1, 'LEASED', worker, queue, type, policy,"
        " lease_us, lease_expires_at, leased_at, 1, 0, 0 FROM executions",
        "UPDATE executions SET status = 'BUSY'",
        "UPDATE executions SET status = 'COMMITTED'",
        "UPDATE executions SET status = 'ABORTED'",
        "UPDATE executions SET org = org + 1",
        "INSERT INTO parked (job, org, reason) SELECT id, org, 'bored' FROM jobs",
        "INSERT INTO parked (job, org, reason) SELECT id, org, 'delayed' FROM jobs",
        "INSERT INTO parked (job, org, reason) SELECT id, org + 1, 'held' FROM jobs",
        "INSERT INTO outcomes (job, org) SELECT id, org FROM jobs",
        "INSERT INTO outcomes (job, org, ended_at, state) SELECT id, org, 1, 'SUCCEEDED' FROM jobs",
        "INSERT INTO outcomes (job, org, ended_at, state, failure_type)"
        " SELECT id, org, 1, 'LOST', 'CANCELLED' FROM jobs",
        "INSERT INTO outcomes (job, org, ended_at, state, failure_type, dead_letter)"
        " SELECT id, org, 1, 'FAILED', 'CANCELLED', 'lost' FROM jobs",
        "INSERT INTO steps (job, name, org, attempt, tries, updated_at)"
        " SELECT id, 's', org + 1, 1, 0, 1 FROM jobs",
        "INSERT INTO ready SELECT * FROM ready",
        "DELETE FROM executions",
        "DELETE FROM jobs",
    };
    for (size_t i = 0; i < countof(bad); i++) {
        struct pawl_error err = {0};
        SCOPED(tx) struct tx tx = {0};
        box_begin(box, &tx);
        if (tx_execute(&tx, bad[i], &err))
            print_error("not refused: %s\n", bad[i]);
        EXPECT(err.code == PAWL_STORE);
        tx_end(&tx);
    }
}

TEST_EACH_DB(behind_a_busy_serial_key_only_its_head_is_visible)
{
    struct contract contract = contract_for(box, "report");
    contract.serial_key = S("busy");
    for (int i = 0; i < 2000; i++)
        must_add(box, &contract);
    must_start(box, "A");
    struct job other = must_enqueue(box, "report");
    EXPECT_INT(box_number(box, "SELECT count(*) FROM ready"), 1);
    struct claimed *claimed = NULL;
    EXPECT_INT(claim_some(box, "A", 10, &claimed), 1);
    EXPECT(id_eq(claimed[0].job.id, other.id));
}

TEST_EACH_DB(out_of_memory_is_never_stored_as_an_empty_text)
{
    struct contract contract = contract_for(box, "report");
    struct job job;
    bool deduplicated;
    struct pawl_error err = {0};
    SCOPED(arena) struct arena arena = {0};
    SCOPED(tx) struct tx tx = {0};
    MUST(tx_begin(box->db, TX_WRITE, &arena, &tx, &err));
    MUST(job_enqueue(&tx, &contract, &job, &deduplicated, &err));
    arena.failed = true;
    EXPECT_REFUSED(PAWL_NO_MEMORY, tx_commit(&tx, &err));
    tx_end(&tx);
    EXPECT_INT(box_number(box, "SELECT count(*) FROM jobs"), 0);
}
