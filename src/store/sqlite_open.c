// Opening an SQLite file as a store: where it may be, whose it is, and how it is set up.
//
// WAL and synchronous=FULL: a commit that was answered is on disk. A file of another program is
// refused before anything is written to it, and setting up is done under the lock of lock.h.
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "store/bell.h"
#include "store/lock_file.h"
#include "store/sqlite.h"

enum { APPLICATION_ID = 0x5061776c };  // "Pawl"

// File locks and shared memory do not work reliably over a network.
static bool on_this_machine(const char *path, struct pawl_error *err)
{
    static const struct {
        unsigned long magic;
        const char *name;
    } remote[] = {
        { NFS_SUPER_MAGIC, "NFS" },      { SMB_SUPER_MAGIC, "SMB" }, { CIFS_SUPER_MAGIC, "CIFS" },
        { SMB2_SUPER_MAGIC, "SMB2" },    { V9FS_MAGIC, "9P" },       { CEPH_SUPER_MAGIC, "Ceph" },
        { AFS_SUPER_MAGIC, "AFS" },
    };
    struct statfs about;
    if (statfs(path, &about) != 0)
        return true;
    for (size_t i = 0; i < countof(remote); i++)
        if ((unsigned long)about.f_type == remote[i].magic)
            return fail(err, PAWL_STORE, "%s is on a network file system (%s), where SQLite loses "
                                         "data: use a local disk, or PostgreSQL",
                        path, remote[i].name);
    return true;
}

static bool pragma_int(struct sqlite *sqlite, const char *sql, int64_t *value,
                       struct pawl_error *err)
{
    sqlite3_stmt *handle = NULL;
    bool ok = sqlite3_prepare_v2(sqlite->connection, sql, -1, &handle, NULL) == SQLITE_OK
        && sqlite3_step(handle) == SQLITE_ROW;
    if (ok)
        *value = sqlite3_column_int64(handle, 0);
    else if (sqlite3_errcode(sqlite->connection) == SQLITE_NOTADB)
        ok = fail(err, PAWL_STORE, "%s is not a Pawl store: it is no SQLite file", sqlite->path);
    else
        ok = sqlite_failed(sqlite, "cannot read it", err);
    sqlite3_finalize(handle);
    return ok;
}

// A file of another program is refused before anything is written to it.
static bool is_ours(struct sqlite *sqlite, struct pawl_error *err)
{
    int64_t application = 0, tables = 0;
    if (!pragma_int(sqlite, "PRAGMA application_id", &application, err)
        || !pragma_int(sqlite, "SELECT count(*) FROM sqlite_schema", &tables, err))
        return false;
    if (application == APPLICATION_ID)
        return true;
    if (application == 0 && tables == 0)
        return sqlite->read_only
            || sqlite_execute(&sqlite->db, "PRAGMA application_id=1348564844", err);
    return fail(err, PAWL_STORE, "%s is an SQLite file of another program, not a Pawl store",
                sqlite->path);
}

static bool is_write_ahead(struct sqlite *sqlite, struct pawl_error *err)
{
    int64_t wal = 0;
    return pragma_int(sqlite, "SELECT count(*) FROM pragma_journal_mode WHERE journal_mode = 'wal'",
                      &wal, err)
        && (wal || fail(err, PAWL_STORE, "%s cannot have a write-ahead log here", sqlite->path));
}

static bool set_up(struct sqlite *sqlite, struct pawl_error *err)
{
    sqlite3_extended_result_codes(sqlite->connection, 1);
    sqlite3_busy_timeout(sqlite->connection, (int)(sqlite->lock.wait_us_max / 1000));
    // A checkpoint at closing would run outside the lock.
    sqlite3_db_config(sqlite->connection, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    if (!is_ours(sqlite, err) || !sqlite_prepare_rollback(sqlite, err))
        return false;
    if (sqlite->read_only)
        return sqlite_execute(&sqlite->db, "PRAGMA query_only=ON; PRAGMA mmap_size=0", err);
    if (!sqlite_execute(&sqlite->db,
                 "PRAGMA page_size=4096; PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"
                 "PRAGMA foreign_keys=ON;"
                 "PRAGMA temp_store=MEMORY; PRAGMA secure_delete=OFF; PRAGMA mmap_size=0;"
                 "PRAGMA cache_size=-16384; PRAGMA journal_size_limit=67108864;"
                 "PRAGMA wal_autocheckpoint=0; PRAGMA trusted_schema=OFF;"
                 "PRAGMA recursive_triggers=ON",
                        err)
        || !is_write_ahead(sqlite, err))
        return false;
    if (sqlite->fleeting && !sqlite_execute(&sqlite->db, "PRAGMA synchronous=OFF", err))
        return false;
    if (!sqlite_watch_log(sqlite, err))
        return false;
    sqlite_guard(sqlite);
    // A connection that is lent has short transactions and idles in between: it needs less memory.
    return !sqlite->shared || sqlite_execute(&sqlite->db, "PRAGMA cache_size=-2048", err);
}

static bool is_there(const struct sqlite *sqlite, struct pawl_error *err)
{
    return access(sqlite->path, F_OK) == 0
        || fail(err, PAWL_NOT_FOUND,
                "there is no store at %s: create one with `pawl migrate` or by enqueueing the "
                "first job",
                sqlite->path);
}

static bool may(const char *path, int access, const char *what, struct pawl_error *err)
{
    return faccessat(AT_FDCWD, path, access, AT_EACCESS) == 0
        || (errno != EACCES && errno != EROFS)  // it is found out what else is wrong with it
        || fail(err, PAWL_STORE, "cannot %s %s: %s", what, path, strerrordesc_np(errno));
}

static bool may_use(const struct sqlite *sqlite, const char *path, struct pawl_error *err)
{
    return sqlite->read_only ? may(path, R_OK, "read", err)
                             : may(path, R_OK | W_OK, "write", err);
}

// Of the log, or of its index: a reader, too, makes them when they are not there.
static bool may_use_beside(const struct sqlite *sqlite, const char *suffix, struct pawl_error *err)
{
    char *path = sqlite3_mprintf("%s%s", sqlite->path, suffix);
    if (!path)
        return fail(err, PAWL_NO_MEMORY, "no memory to open the store");
    bool there = access(path, F_OK) == 0, allowed = there && may_use(sqlite, path, err);
    if (!there) {
        strrchr(path, '/')[1] = '\0';  // it is a whole path
        allowed = may(path, W_OK | X_OK, "make files in", err);
    }
    sqlite3_free(path);
    return allowed;
}

// SQLite opens a file it may not write for reading, and the first write would be refused instead;
// of a log that it may not make it says that the database is read-only.
static bool is_allowed(const struct sqlite *sqlite, struct pawl_error *err)
{
    return may_use(sqlite, sqlite->path, err) && may_use_beside(sqlite, "-wal", err)
        && may_use_beside(sqlite, "-shm", err);
}

static bool remember_file(struct sqlite *sqlite, struct pawl_error *err)
{
    struct stat now;
    if (stat(sqlite->path, &now) != 0)
        return fail(err, PAWL_STORE, "cannot look at %s: %s", sqlite->path,
                    strerrordesc_np(errno));
    sqlite->device = now.st_dev;
    sqlite->inode = now.st_ino;
    return true;
}

static bool open_file(struct sqlite *sqlite, bool must_exist, struct pawl_error *err)
{
    int flags = sqlite->read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE;
    if (!sqlite->read_only && !must_exist)
        flags |= SQLITE_OPEN_CREATE;
    flags |= sqlite->shared ? SQLITE_OPEN_FULLMUTEX : SQLITE_OPEN_NOMUTEX;
    bool gathers = !sqlite->read_only && !sqlite->fleeting;
    const char *vfs = gathers ? sqlite_gather() : NULL;
    if (sqlite3_open_v2(sqlite->path, &sqlite->connection, flags, vfs) != SQLITE_OK)
        return fail(err, PAWL_STORE, "cannot open %s: %s", sqlite->path,
                    sqlite3_errmsg(sqlite->connection));
    if (sqlite->shared && !sqlite3_db_mutex(sqlite->connection))
        return fail(err, PAWL_STORE, "this program has configured SQLite to be used by one thread: "
                                     "a transaction of its own cannot be watched over");
    return on_this_machine(sqlite->path, err) && remember_file(sqlite, err);
}

// The lock file must be the same by every name of the store.
static bool resolve(struct sqlite *sqlite, struct pawl_error *err)
{
    char *file = NULL;
    if (!store_file_resolve(sqlite->path, &file, err))
        return false;
    free(sqlite->path);
    sqlite->path = file;
    return true;
}

static bool open_once(struct sqlite *sqlite, bool must_exist, struct pawl_error *err)
{
    return open_file(sqlite, must_exist, err) && set_up(sqlite, err);
}

// A store opens on a full disk too: its log needs a little room, which the reserve has.
static bool open_and_set_up(struct sqlite *sqlite, bool must_exist, struct pawl_error *err)
{
    if (open_once(sqlite, must_exist, err))
        return true;
    if (!sqlite->db.gave_way && !reserve_give_if_full(&sqlite->reserve))
        return false;
    sqlite3_finalize(sqlite->rollback);
    sqlite3_close(sqlite->connection);
    sqlite->rollback = NULL;
    sqlite->connection = NULL;
    sqlite->prepared = 0;
    return open_once(sqlite, must_exist, err);
}

// Looks before it locks: a store that is not there leaves no lock file.
static bool open_locked(struct sqlite *sqlite, const struct db_options *options,
                        struct pawl_error *err)
{
    bool must_exist = options->must_exist;
    if ((must_exist || sqlite->read_only) && !is_there(sqlite, err))
        return false;
    if (!resolve(sqlite, err) || !is_allowed(sqlite, err))
        return false;
    if (sqlite->read_only)
        return open_once(sqlite, true, err);
    char *path = sqlite3_mprintf("%s" LOCK_FILE_SUFFIX, sqlite->path);
    bool locked = path && lock_open(&sqlite->lock, path, err) && lock_take(&sqlite->lock, err);
    sqlite3_free(path);
    sqlite->reserve.fd = sqlite->lock.fd;
    if (!locked)
        return path ? false : fail(err, PAWL_NO_MEMORY, "no memory to open the store");
    reserve_look(&sqlite->reserve);  // now: setting it aside rings whoever listens already
    bool opened = open_and_set_up(sqlite, must_exist, err)
        && (!options->listen || bell_listen(sqlite->lock.fd, err));
    lock_give(&sqlite->lock);
    return opened;
}

bool sqlite_open(struct db **db, const struct db_options *options, struct pawl_error *err)
{
    // Takes a global lock out of every allocation; refused, harmlessly, once SQLite is in use.
    sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
    struct sqlite *sqlite = calloc(1, sizeof *sqlite);
    char *path = strndup(options->url.s + S("sqlite:").n, options->url.n - S("sqlite:").n);
    if (!sqlite || !path) {
        free(sqlite);
        free(path);
        return fail(err, PAWL_NO_MEMORY, "no memory to open the store");
    }
    const struct world *world = options->world ? options->world : world_real();
    int64_t busy_us = options->busy_us ? options->busy_us : SECONDS(10);
    sqlite->db = (struct db){ .driver = &sqlite_driver, .world = world };
    sqlite->lock = (struct lock){ .fd = -1, .world = world, .wait_us_max = busy_us };
    sqlite->read_only = options->read_only;
    sqlite->fleeting = options->fleeting;
    sqlite->shared = options->shared;
    sqlite->checkpoint_by_hand = options->checkpoint_by_hand;
    sqlite->wal_bytes_max = options->wal_bytes_max ? options->wal_bytes_max : (int64_t)1 << 30;
    sqlite->path = path;
    if (!open_locked(sqlite, options, err)) {
        sqlite_driver.close(&sqlite->db);
        return false;
    }
    *db = &sqlite->db;
    return true;
}
