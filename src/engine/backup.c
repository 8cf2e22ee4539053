// Copy, sync, check, name. Until it has its name it is `FILE.tmp`, which the next try replaces.
#include "engine/backup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "store/copy.h"
#include "store/lock_file.h"

static const char *const stages[] = {
    [STAGE_ARTIFACTS] = "artifacts", [STAGE_COPY] = "copy", [STAGE_CHECK] = "check",
    [STAGE_VERIFY] = "verify",       [STAGE_MARK] = "mark", [STAGE_ASIDE] = "aside",
    [STAGE_PLACE] = "place",         [STAGE_DONE] = "done",
};
_Static_assert(countof(stages) == COPY_STAGES, "one name per stage");

const char *copy_stage_name(enum copy_stage stage)
{
    return stages[stage];
}

struct making {
    const struct backup *backup;
    struct backup_report *report;
    struct arena arena;
    const char *half;       // the file while it is made ...
    struct str half_url;
    int half_fd;            // ... locked, so that two do not make one file
    const char *artifacts;  // of the store
    const char *copied;     // the same in the backup
    const char *alias;      // of these, beside the half-made file
};

static void making_end(struct making *m)
{
    if (m->half_fd >= 0)
        close(m->half_fd);
    arena_end(&m->arena);
}

static void stage(const struct making *m, enum copy_stage at)
{
    const struct copy_audience *audience = &m->backup->audience;
    if (audience->stage)
        audience->stage(audience->self, at);
}

static bool name_files(struct making *m, struct pawl_error *err)
{
    const struct backup *b = m->backup;
    char *lock = NULL;
    if (!lock_file_path(b->store, &lock, err))  // it knows where links lead
        return false;
    struct str store = { lock, strlen(lock) - strlen(LOCK_FILE_SUFFIX) };
    m->artifacts = str_format(&m->arena, "%.*s.artifacts", STR(store)).s;
    free(lock);
    m->half = str_format(&m->arena, "%s.tmp", b->file).s;
    m->half_url = str_format(&m->arena, "sqlite:%s", m->half);
    m->copied = str_format(&m->arena, "%s.artifacts", b->file).s;
    m->alias = str_format(&m->arena, "%s.artifacts", m->half).s;
    if (m->arena.failed)
        return fail(err, PAWL_NO_MEMORY, "no memory to name the backup");
    return !file_there(b->file)
        || fail(err, PAWL_CONFLICT, "%s exists: a backup replaces nothing, so name another file",
                b->file);
}

static bool cannot_write(const struct making *m, struct pawl_error *err)
{
    return fail(err, errno == ENOENT ? PAWL_NOT_FOUND : PAWL_STORE, "cannot write %s: %s", m->half,
                strerrordesc_np(errno));
}
#define cannot_write(...) REFUSES(cannot_write(__VA_ARGS__))

// What a killed backup left is removed, not written over: it may be the same file as one that has
// its name already. The lock is of another kind than SQLite's: they do not see each other.
static bool remove_left_over(struct making *m, struct pawl_error *err)
{
    int old = open(m->half, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (old < 0)
        return errno == ENOENT || cannot_write(m, err);
    bool ours = flock(old, LOCK_EX | LOCK_NB) == 0;
    if (ours)
        file_remove(m->half);
    close(old);
    return ours || fail(err, PAWL_CONFLICT, "another process is making %s", m->backup->file);
}

static bool reserve(struct making *m, struct pawl_error *err)
{
    if (!remove_left_over(m, err))
        return false;
    m->half_fd = open(m->half, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    return (m->half_fd >= 0 && flock(m->half_fd, LOCK_EX | LOCK_NB) == 0) || cannot_write(m, err);
}

static bool copy(struct making *m, struct pawl_error *err)
{
    const struct copy_audience *audience = &m->backup->audience;
    struct copy_watch watch = { audience->self, audience->progress };
    struct db_options options = {
        .url = m->backup->store,
        .world = m->backup->world,
        .read_only = true,
        .any_version = true,
    };
    struct db *db = NULL;
    bool copied = db_open(&db, &options, err) && db_copy(db, m->half, &watch, err);
    db_close(db);
    return copied;
}

// Files come before the row that names them and go after it: what the copy names was there before
// it was made, or came until it was.
static bool share_artifacts(struct making *m, struct pawl_error *err)
{
    return files_share(m->artifacts, m->copied, &m->report->artifacts, err);
}

static bool open_copy(struct making *m, bool any_version, struct db **db, struct pawl_error *err)
{
    struct db_options options = {
        .url = m->half_url,
        .world = m->backup->world,
        .read_only = true,
        .any_version = any_version,
    };
    return db_open(db, &options, err);
}

static bool check(struct making *m, struct pawl_error *err)
{
    struct db *db = NULL;
    bool whole = open_copy(m, true, &db, err) && db_intact(db, false, err)
              && schema_version(db, &m->report->schema_version, err);
    db_close(db);
    return whole;
}

static bool verify_copy(struct making *m, struct pawl_error *err)
{
    const struct copy_audience *audience = &m->backup->audience;
    struct verify_options options = {
        .self = audience->self,
        .found = audience->found,
        .progress = audience->progress,
    };
    struct db *db = NULL;
    m->report->verified = m->report->schema_version == schema_version_known();
    if (!m->report->verified)
        return true;
    bool done = file_alias(m->copied, m->alias, err) && open_copy(m, false, &db, err)
             && verify(db, &options, &m->report->found, err);
    db_close(db);
    file_remove(m->alias);
    if (!done || m->report->found.violations == 0 || m->backup->force)
        return done;
    return fail(err, PAWL_DAMAGED, "the store's records contradict each other (%lld violations): "
                                   "look with `pawl verify`; --force keeps the copy as it is",
                (long long)m->report->found.violations);
}

static bool place(struct making *m, struct pawl_error *err)
{
    struct stat about;
    if (fstat(m->half_fd, &about) == 0)
        m->report->bytes = about.st_size;
    // Not rename: somebody else may have made a file of this name meanwhile.
    if (link(m->half, m->backup->file) != 0)
        return fail(err, errno == EEXIST ? PAWL_CONFLICT : PAWL_STORE, "cannot make %s: %s",
                    m->backup->file, strerrordesc_np(errno));
    file_remove(m->half);
    if (file_sync_directory_of(m->backup->file, err))
        return true;
    file_remove(m->backup->file);  // who is told that it failed finds no file of its name
    return false;
}

static bool make(struct making *m, struct pawl_error *err)
{
    static const struct {
        enum copy_stage stage;
        bool (*run)(struct making *m, struct pawl_error *err);
    } steps[] = {
        { STAGE_ARTIFACTS, share_artifacts }, { STAGE_COPY, copy },
        { STAGE_ARTIFACTS, share_artifacts }, { STAGE_CHECK, check },
        { STAGE_VERIFY, verify_copy },        { STAGE_PLACE, place },
    };
    for (size_t i = 0; i < countof(steps); i++) {
        stage(m, steps[i].stage);
        if (!steps[i].run(m, err)) {
            file_remove(m->half);
            return false;
        }
    }
    stage(m, STAGE_DONE);
    return true;
}

bool backup_make(const struct backup *backup, struct backup_report *report, struct pawl_error *err)
{
    *report = (struct backup_report){0};
    SCOPED(making) struct making m = { .backup = backup, .report = report, .half_fd = -1 };
    return name_files(&m, err) && reserve(&m, err) && make(&m, err);
}
