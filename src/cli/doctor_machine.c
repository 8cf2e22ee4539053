// What the machine has to say: room on the disk, the clock, limits, the file and its log.
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/timex.h>

#include "cli/doctor.h"
#include "cli/output.h"
#include "cli/session.h"
#include "store/copy.h"
#include "store/lock_file.h"

#define MIB ((int64_t)1 << 20)
#define GIB ((int64_t)1 << 30)

// Reading a larger file would keep the disk busy for longer than a look should.
#define READ_BYTES_MAX (2 * GIB)
#define LOG_BYTES_WARN (256 * MIB)
#define LOG_BYTES_BAD (768 * MIB)
#define UNUSED_BYTES_WARN (64 * MIB)
#define LOCK_PATIENCE_US SECONDS(2)
enum { FILES_MIN = 4096 };

static struct str bytes(struct arena *arena, int64_t count)
{
    return count >= GIB ? str_format(arena, "%.1f GiB", (double)count / (double)GIB)
                        : str_format(arena, "%.1f MiB", (double)count / (double)MIB);
}

// The store's file; NULL when its URL names none.
static const char *store_file(struct cli *cli)
{
    char *lock = NULL;
    if (!lock_file_path(session_store(cli), &lock, NULL))
        return NULL;
    struct str file = { lock, strlen(lock) - strlen(LOCK_FILE_SUFFIX) };
    const char *path = str_cstr(&cli->arena, file);
    free(lock);
    return path;
}

static int64_t size_of(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 ? about.st_size : 0;
}

// ----- room

static void look_at_room(struct cli *cli, const char *name, const char *path,
                         struct findings *findings)
{
    struct statvfs about;
    if (statvfs(path, &about) != 0)
        return;
    int64_t all = (int64_t)(about.f_blocks * about.f_frsize);
    int64_t left = (int64_t)(about.f_bavail * about.f_frsize);
    find(findings, name, health_of_room(left, all),
         str_format(&cli->arena, "%.*s of %.*s are free", STR(bytes(&cli->arena, left)),
                    STR(bytes(&cli->arena, all))),
         "free some: on a full disk every write is refused, though nothing is lost");
}

static const char *directory_of(struct cli *cli, const char *file)
{
    const char *slash = strrchr(file, '/');
    size_t length = slash && slash != file ? (size_t)(slash - file) : 1;
    return slash ? str_cstr(&cli->arena, (struct str){ file, length }) : ".";
}

// ----- limits and the clock

static void look_at_limits(struct cli *cli, struct findings *findings)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    find(findings, "files", limit.rlim_max < FILES_MIN ? HEALTH_WARN : HEALTH_OK,
         str_format(&cli->arena, "%llu may be open at once, %llu if raised",
                    (unsigned long long)limit.rlim_cur, (unsigned long long)limit.rlim_max),
         "every waiting worker takes one: raise LimitNOFILE of the service, or ulimit -Hn");
}

// Only to look: nothing is set. A container may not be told.
static void look_at_synchronisation(struct findings *findings)
{
    struct timex state = {0};
    int answer = adjtimex(&state);
    if (answer < 0)
        return;
    bool loose = answer == TIME_ERROR || (state.status & STA_UNSYNC) != 0;
    find(findings, "ntp", loose ? HEALTH_WARN : HEALTH_OK,
         loose ? S("the clock of this machine is not synchronised") : S("synchronised"),
         "set up chrony or systemd-timesyncd: schedules and delays go by this clock");
}

static void look_at_log(struct cli *cli, const char *file, struct findings *findings)
{
    int64_t log = size_of(str_format(&cli->arena, "%s-wal", file).s);
    enum health health = log >= LOG_BYTES_WARN ? HEALTH_WARN : HEALTH_OK;
    find(findings, "log", log >= LOG_BYTES_BAD ? HEALTH_BAD : health, bytes(&cli->arena, log),
         "a reader holds it back: `fuser` of the store names it. At 1 GiB writing is refused");
}

void doctor_machine(struct cli *cli, struct findings *findings)
{
    const char *file = store_file(cli);
    look_at_limits(cli, findings);
    look_at_synchronisation(findings);
    if (!file)
        return;
    look_at_room(cli, "disk", directory_of(cli, file), findings);
    look_at_room(cli, "artifacts", str_format(&cli->arena, "%s.artifacts", file).s, findings);
    look_at_log(cli, file, findings);
}

// ----- the file

static bool pages_of(struct cli *cli, int64_t *pages, int64_t *unused, struct pawl_error *err)
{
    SCOPED(tx) struct tx tx = {0};
    SCOPED(rows) struct rows rows = {0};
    if (!tx_begin(cli->db, TX_READ, &cli->arena, &tx, err)
        || !sql_ask_plain(&tx, &rows, Q_FILE_PAGES, err))
        return false;
    if (rows_next(&rows)) {
        *pages = row_int(&rows);
        *unused = row_int(&rows);
    }
    return rows_ok(&rows, err);
}

static void look_at_pages(struct cli *cli, const char *file, struct findings *findings)
{
    struct pawl_error err = {0};
    int64_t pages = 0, unused = 0, size = size_of(file);
    if (!pages_of(cli, &pages, &unused, &err) || pages == 0)
        return;
    int64_t share = unused * 100 / pages;
    bool loose = share > 50 && size / 100 * share > UNUSED_BYTES_WARN;
    find(findings, "pages", loose ? HEALTH_WARN : HEALTH_OK,
         str_format(&cli->arena, "%.*s, %lld %% of it unused", STR(bytes(&cli->arena, size)),
                    (long long)share),
         "new jobs use it again; to give it back, stop everything and run VACUUM in sqlite3");
}

static void look_at_integrity(struct cli *cli, const char *file, struct findings *findings)
{
    struct pawl_error err = {0};
    bool large = size_of(file) > READ_BYTES_MAX;
    bool intact = large || db_intact(cli->db, true, &err);
    find(findings, "integrity", intact ? HEALTH_OK : HEALTH_BAD,
         large    ? S("not looked at: the file is large. `pawl backup` reads it all")
         : intact ? S("the file is whole")
                  : str_dup(&cli->arena, str_of(err.message)),
         "stop everything, keep the file, restore the newest backup");
}

// The store's time never goes back; a clock that did makes it go at half speed.
static void look_at_clock(struct cli *cli, struct findings *findings)
{
    SCOPED(tx) struct tx tx = {0};
    SCOPED(rows) struct rows rows = {0};
    pawl_time newest = 0, now = world_wall(cli->world);
    if (!tx_begin(cli->db, TX_READ, &cli->arena, &tx, NULL)
        || !sql_ask_plain(&tx, &rows, Q_CLOCK_NEWEST, NULL) || !rows_number(&rows, &newest, NULL))
        return;
    bool back = newest > now + SECONDS(2);
    find(findings, "clock", back ? HEALTH_BAD : HEALTH_OK,
         back ? str_format(&cli->arena, "it is behind the newest record, which comes %.*s",
                           STR(ago(&cli->arena, newest, now)))
              : S("no record is ahead of it"),
         "set the clock right. Until it has caught up the store's time goes at half speed");
}

// A transaction that changes nothing: can the store be written?
static void look_at_lock(struct cli *cli, struct findings *findings)
{
    SCOPED(arena) struct arena arena = {0};
    struct pawl_error err = {0};
    struct db_options options = {
        .url = session_store(cli),
        .world = cli->world,
        .must_exist = true,
        .busy_us = LOCK_PATIENCE_US,
    };
    struct db *db = NULL;
    struct tx tx = {0};
    bool writable = db_open(&db, &options, &err) && tx_begin(db, TX_WRITE, &arena, &tx, &err);
    tx_end(&tx);
    db_close(db);
    find(findings, "lock", writable ? HEALTH_OK : HEALTH_BAD,
         writable ? S("the store can be written") : str_dup(&cli->arena, str_of(err.message)),
         "a program holds the lock, or may not write: `fuser` of the lock file names it");
}

void doctor_file(struct cli *cli, struct findings *findings)
{
    const char *file = store_file(cli);
    if (!file)
        return;
    look_at_lock(cli, findings);
    look_at_pages(cli, file, findings);
    look_at_integrity(cli, file, findings);
    look_at_clock(cli, findings);
}
