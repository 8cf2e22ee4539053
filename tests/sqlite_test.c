// What SQLite itself does not take, or not here.
#include "fixture.h"

#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "store/copy.h"
#include "store/driver.h"
#include "store/guest.h"
#include "store/sqlite.h"

// It says so itself, though it is empty.
TEST_EACH_DB(a_file_with_the_mark_of_another_program_is_refused)
{
    struct str other = str_format(test_arena(), "%s/other.db", box->directory);
    sqlite3 *connection = NULL;
    EXPECT(sqlite3_open(other.s, &connection) == SQLITE_OK);
    EXPECT(sqlite3_exec(connection, "PRAGMA application_id=7", NULL, NULL, NULL) == SQLITE_OK);
    sqlite3_close(connection);
    struct db *db = NULL;
    struct pawl_error err = {0};
    struct str url = str_format(test_arena(), "sqlite:%s", other.s);
    EXPECT_REFUSED(PAWL_STORE, db_open(&db, &(struct db_options){ .url = url }, &err));
    EXPECT(strstr(err.message, "another program") != NULL);
    remove(other.s);
    remove(str_format(test_arena(), "%s-lock", other.s).s);
}

// One of SQLite's own: processes cannot share memory on it.
TEST_EACH_DB(a_file_system_without_shared_memory_is_refused)
{
    sqlite3_vfs *usual = sqlite3_vfs_find(NULL);
    struct db *db = NULL;
    struct pawl_error err = {0};
    struct str other = str_format(test_arena(), "%s/other.db", box->directory);
    struct str url = str_format(test_arena(), "sqlite:%s", other.s);
    sqlite3_vfs_register(sqlite3_vfs_find("unix-dotfile"), 1);
    EXPECT_REFUSED(PAWL_STORE, db_open(&db, &(struct db_options){ .url = url }, &err));
    EXPECT(strstr(err.message, "cannot have a write-ahead log") != NULL);
    sqlite3_vfs_register(usual, 1);
    remove(other.s);
    remove(str_format(test_arena(), "%s-lock", other.s).s);
}

// What a program has set for all of its connections.
TEST_EACH_DB(a_connection_is_not_lent_where_sqlite_guards_none)
{
    struct db *db = NULL;
    struct pawl_error err = {0};
    struct db_options options = { .url = box->url, .shared = true };
    db_close(box->db);
    EXPECT(sqlite3_shutdown() == SQLITE_OK);
    EXPECT(sqlite3_config(SQLITE_CONFIG_SINGLETHREAD) == SQLITE_OK);
    EXPECT_REFUSED(PAWL_STORE, db_open(&db, &options, &err));
    EXPECT(strstr(err.message, "to be used by one thread") != NULL);
    EXPECT(sqlite3_shutdown() == SQLITE_OK);
    EXPECT(sqlite3_config(SQLITE_CONFIG_SERIALIZED) == SQLITE_OK);
    box->db = box_second(box, false);
}

// SQLite takes a billion bytes unless it is told otherwise: of one row, and of many together.
TEST_EACH_DB(a_text_that_sqlite_does_not_take_is_too_large)
{
    enum { MOST = 4000, MANY = 32, ARGUMENTS = 9 };
    static char text[MOST + 100];
    struct tx tx = {0};
    struct pawl_error err = {0};
    struct value values[MANY * ARGUMENTS];
    memset(text, '1', sizeof text);
    EXPECT_INT(queries[Q_AUDIT_INSERT].arguments, ARGUMENTS);
    for (size_t i = 0; i < countof(values); i++)
        values[i] = i % ARGUMENTS < ARGUMENTS - 1 ? INT(1)
                                                  : TEXT(((struct str){ text, sizeof text }));
    sqlite3 *connection = guest_connection(box->db);
    int before = sqlite3_limit(connection, SQLITE_LIMIT_LENGTH, MOST);
    box_begin(box, &tx);
    EXPECT_REFUSED(PAWL_TOO_LARGE, db_run_rows(&tx, Q_AUDIT_INSERT, values, 1, &err));
    EXPECT_REFUSED(PAWL_TOO_LARGE, db_run_rows(&tx, Q_AUDIT_INSERT, values, MANY, &err));
    EXPECT_REFUSED(PAWL_TOO_LARGE, db_run(&tx, Q_AUDIT_INSERT, values, ARGUMENTS, NULL, &err));
    values[0] = values[ARGUMENTS - 1];
    EXPECT_REFUSED(PAWL_TOO_LARGE, db_run(&tx, Q_AUDIT_INSERT, values, ARGUMENTS, NULL, &err));
    EXPECT_REFUSED(PAWL_TOO_LARGE, db_run_rows(&tx, Q_AUDIT_INSERT, values, 1, &err));
    tx_end(&tx);
    sqlite3_limit(connection, SQLITE_LIMIT_LENGTH, before);
}

// Nobody who only reads has one to give.
TEST_EACH_DB(OPS_9_what_was_kept_for_a_full_disk_is_given_once)
{
    struct db *reader = box_second(box, true);
    sqlite_notice_full_disk(sqlite_of(reader), SQLITE_FULL);
    EXPECT(!db_gave_way(reader));
    db_close(reader);
    sqlite_notice_full_disk(sqlite_of(box->db), SQLITE_IOERR);
    EXPECT(!db_gave_way(box->db));
    sqlite_notice_full_disk(sqlite_of(box->db), SQLITE_FULL);
    sqlite_notice_full_disk(sqlite_of(box->db), SQLITE_FULL);
    EXPECT(db_gave_way(box->db));
    sqlite_notice_full_disk(sqlite_of(box->db), SQLITE_FULL);
    EXPECT(!db_gave_way(box->db));
}

// SQLite waits for nobody here, and says at the end of the copy that nothing was wrong.
TEST_EACH_DB(OPS_9_a_copy_into_a_file_that_somebody_has_locked_is_refused)
{
    const char *path = str_format(test_arena(), "%s/copy.db", box->directory).s;
    struct pawl_error err = {0};
    sqlite3 *other = NULL;
    EXPECT(sqlite3_open(path, &other) == SQLITE_OK);
    EXPECT(sqlite3_exec(other, "CREATE TABLE t (x); BEGIN EXCLUSIVE", NULL, NULL, NULL)
           == SQLITE_OK);
    EXPECT(!db_copy(box->db, path, NULL, &err));
    EXPECT(err.code != PAWL_OK && err.message[0]);
    EXPECT(sqlite3_close(other) == SQLITE_OK);
    unlink(path);
}
