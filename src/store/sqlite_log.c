// The log of a SQLite store: how long it is, copying it back, starting it over, emptying it.
//
// Only the holder of the lock does any of it, between commits; see db_sqlite.c.
#include "store/sqlite.h"

enum {
    FRAME_BYTES = PAGE_BYTES + 24,
    CHECKPOINT_FRAMES = 4096,
    SHORT_CHECKPOINT_FRAMES = 64,  // of a log that must not grow
    READERS_WAIT_MS = 1000,
    READERS_MOMENT_MS = 50,
    EMPTY_WAIT_MS = 50,
};

bool sqlite_log_copy(struct sqlite *sqlite, int mode)
{
    int log = -1, copied = -1;
    int result = sqlite3_wal_checkpoint_v2(sqlite->connection, NULL, mode, &log, &copied);
    sqlite_notice_full_disk(sqlite, result);
    // defensive: of a file in WAL mode SQLite always tells how long its log is
    sqlite->copied = result == SQLITE_OK && log >= 0 && log == copied;
    if (sqlite->copied && mode >= SQLITE_CHECKPOINT_RESTART)
        sqlite->frames = 0;
    else if (log >= 0)
        sqlite->frames = log;
    return sqlite->copied;
}

static int remember_frames(void *self, sqlite3 *connection, const char *name, int frames)
{
    (void)connection;
    (void)name;
    struct sqlite *sqlite = self;
    sqlite->frames = frames;
    sqlite->copied = false;
    return SQLITE_OK;
}

// Copying back syncs the log first. A process that was killed may have written a commit and not
// synced it: if that cannot be done now, what can be read here may be gone with the power, and
// nobody may be told of it.
bool sqlite_watch_log(struct sqlite *sqlite, struct pawl_error *err)
{
    sqlite3_wal_hook(sqlite->connection, remember_frames, sqlite);
    return sqlite_log_copy(sqlite, SQLITE_CHECKPOINT_PASSIVE)
        || (sqlite3_errcode(sqlite->connection) & 0xff) != SQLITE_IOERR
        || sqlite_failed(sqlite, "cannot bring its log to the disk", err);
}

static int64_t log_bytes(const struct sqlite *sqlite)
{
    return (int64_t)sqlite->frames * FRAME_BYTES;
}

int64_t sqlite_log_bytes(const struct db *db)
{
    const struct sqlite *sqlite = (const struct sqlite *)db;
    return sqlite->copied ? 0 : log_bytes(sqlite);
}

bool sqlite_log_is_long(const struct sqlite *sqlite)
{
    int worth = sqlite->db.is_short ? SHORT_CHECKPOINT_FRAMES : CHECKPOINT_FRAMES;
    return !sqlite->copied && sqlite->frames >= worth;
}

// Without waiting long for readers, unless told to: those that come meanwhile wait too.
bool sqlite_log_empty(struct sqlite *sqlite, int wait_ms)
{
    sqlite3_busy_timeout(sqlite->connection, wait_ms);
    bool emptied = sqlite_log_copy(sqlite, SQLITE_CHECKPOINT_TRUNCATE);
    sqlite3_busy_timeout(sqlite->connection, (int)(sqlite->lock.wait_us_max / 1000));
    sqlite->log_to_empty = sqlite->log_to_empty && !emptied;
    return emptied;
}

// Writes and syncs a commit of its own, which changes nothing. What a commit in doubt has left
// behind the end of the log is overwritten by it: as long as others have the store open nobody sees
// that, but the next recovery would, after whoever asked has been told that it did not happen.
static bool seal_log(struct sqlite *sqlite)
{
    sqlite->committing = true;
    int result = sqlite3_exec(sqlite->connection, "PRAGMA application_id=1348564844", NULL, NULL,
                              NULL);
    sqlite->committing = false;
    return result == SQLITE_OK;
}

bool sqlite_log_maintain(struct db *db, bool whole)
{
    struct sqlite *sqlite = sqlite_of(db);
    bool empties = sqlite->log_to_empty && !whole;
    if ((!whole && !empties && !sqlite_log_is_long(sqlite)) || !lock_take(&sqlite->lock, NULL))
        return false;
    if (empties) {
        bool emptied = sqlite_log_empty(sqlite, EMPTY_WAIT_MS);
        lock_give(&sqlite->lock);
        return emptied;
    }
    bool done = whole ? sqlite_log_copy(sqlite, SQLITE_CHECKPOINT_FULL) && seal_log(sqlite)
                      : sqlite_log_copy(sqlite, SQLITE_CHECKPOINT_PASSIVE);
    lock_give(&sqlite->lock);
    return done;
}

// A log that is all copied starts over only when nobody reads from it any more. Readers that
// overlap would keep it growing, so here the writer waits for them: those that come now read the
// file.
static void start_over(struct sqlite *sqlite, int wait_ms)
{
    int busy_ms = (int)(sqlite->lock.wait_us_max / 1000);
    sqlite3_busy_timeout(sqlite->connection, busy_ms < wait_ms ? busy_ms : wait_ms);
    sqlite_log_copy(sqlite, SQLITE_CHECKPOINT_RESTART);
    sqlite3_busy_timeout(sqlite->connection, busy_ms);
}

// They are waited for a moment whenever the log has grown by an eighth of what it may. When it may
// grow no more they are waited for longer, unless one of them holds it up: everybody would wait
// with each that is refused.
bool sqlite_log_has_room(struct sqlite *sqlite, struct pawl_error *err)
{
    int64_t most = sqlite->wal_bytes_max, step = most / 8;
    if (log_bytes(sqlite) < step)
        sqlite->start_over_at = step;
    if (log_bytes(sqlite) < sqlite->start_over_at)
        return true;
    if (log_bytes(sqlite) < most)
        start_over(sqlite, READERS_MOMENT_MS);
    else if (sqlite_log_copy(sqlite, SQLITE_CHECKPOINT_PASSIVE))
        start_over(sqlite, READERS_WAIT_MS);
    int64_t next = log_bytes(sqlite) + step;
    sqlite->start_over_at = next < most ? next : most;
    if (log_bytes(sqlite) < most)
        return true;
    return fail(err, PAWL_FULL, "%s: the write-ahead log has reached %lld MiB because a reader "
                                "holds an old snapshot: end that reader, then try again",
                sqlite->path,
                (long long)(sqlite->wal_bytes_max >> 20));
}

// Leaves a file that is whole without its log, so that a copy of a store nobody uses is a copy of
// all of it. When somebody else is writing just now it is theirs to do.
void sqlite_log_close(struct sqlite *sqlite)
{
    sqlite->lock.wait_us_max = 0;
    if (sqlite->db.broken || sqlite_log_bytes(&sqlite->db) == 0 || !lock_take(&sqlite->lock, NULL))
        return;
    sqlite_log_copy(sqlite, SQLITE_CHECKPOINT_PASSIVE);
    lock_give(&sqlite->lock);
}
