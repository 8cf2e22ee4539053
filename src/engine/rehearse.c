// Copy, migrate by opening, check, verify, remove. The copy has the store's own artifacts, by an
// alias.
#include "engine/rehearse.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "store/copy.h"
#include "store/lock_file.h"

static void remove_copy(struct arena *arena, const char *file)
{
    static const char *const parts[] = { "", "-wal", "-shm", "-journal", "-lock", ".artifacts" };
    for (size_t i = 0; i < countof(parts); i++)
        file_remove(str_format(arena, "%s%s", file, parts[i]).s);
}

static bool copy(const struct rehearsal *r, const char *file, int64_t *version,
                 struct pawl_error *err)
{
    struct copy_watch watch = { r->audience.self, r->audience.progress };
    struct db_options options = {
        .url = r->store,
        .world = r->world,
        .read_only = true,
        .any_version = true,
    };
    struct db *db = NULL;
    bool copied = db_open(&db, &options, err) && schema_version(db, version, err)
               && db_copy(db, file, &watch, err);
    db_close(db);
    return copied;
}

static bool migrate_copy(const struct rehearsal *r, struct str url,
                         struct rehearsal_report *report, struct pawl_error *err)
{
    struct verify_options verifying = {
        .self = r->audience.self,
        .found = r->audience.found,
        .progress = r->audience.progress,
    };
    struct db_options options = { .url = url, .world = r->world, .must_exist = true };
    struct db *db = NULL;
    int64_t begun = world_monotonic(r->world);
    if (!db_open(&db, &options, err))
        return false;
    report->took_us = world_monotonic(r->world) - begun;
    bool done = schema_version(db, &report->after, err) && db_intact(db, false, err)
             && verify(db, &verifying, &report->found, err);
    db_close(db);
    return done;
}

// The store's file, whatever links lead to it: its artifacts lie beside that.
static const char *store_file(struct str url, struct arena *arena, struct pawl_error *err)
{
    char *lock = NULL;
    if (!lock_file_path(url, &lock, err))
        return NULL;
    struct str file = { lock, strlen(lock) - strlen(LOCK_FILE_SUFFIX) };
    const char *path = str_cstr(arena, file);
    free(lock);
    return path;
}

bool migration_rehearse(const struct rehearsal *rehearsal, struct rehearsal_report *report,
                        struct pawl_error *err)
{
    SCOPED(arena) struct arena arena = {0};
    *report = (struct rehearsal_report){0};
    const char *store = store_file(rehearsal->store, &arena, err);
    if (!store)
        return false;
    struct str url = str_format(&arena, "sqlite:%s.rehearsal", store);
    struct str artifacts = str_format(&arena, "%s.artifacts", store);
    struct str alias = str_format(&arena, "%s.rehearsal.artifacts", store);
    if (arena.failed)
        return fail(err, PAWL_NO_MEMORY, "no memory to name the copy");
    const char *file = url.s + S("sqlite:").n;
    remove_copy(&arena, file);
    bool done = copy(rehearsal, file, &report->before, err)
             && file_alias(artifacts.s, alias.s, err)
             && migrate_copy(rehearsal, url, report, err);
    remove_copy(&arena, file);
    return done;
}
