// Files of artifacts, page by page.
#include <unistd.h>

#include "base/id.h"
#include "base/list.h"
#include "engine/verify_check.h"
#include "store/blob.h"

struct file {
    struct id id;
    struct str name, sha256;
    int64_t bytes, job;
};

static bool read_files(struct verifying *v, int64_t after, int64_t last, struct list *files,
                       struct pawl_error *err)
{
    SCOPED(rows) struct rows rows = {0};
    if (!sql_ask(&v->tx, &rows, Q_VERIFY_ARTIFACT_ROWS, err, INT(after), INT(last)))
        return false;
    while (rows_next(&rows)) {
        struct file *file = list_add(files);
        if (!file)
            return fail(err, PAWL_NO_MEMORY, "no memory to verify");
        file->id.high = row_int(&rows);
        file->id.low = row_int(&rows);
        file->name = row_text(&rows);
        file->bytes = row_int(&rows);
        file->sha256 = row_text(&rows);
        file->job = row_int(&rows);
    }
    return rows_ok(&rows, err);
}

static bool sound(const struct verifying *v, const struct file *file, struct pawl_error *why)
{
    const char *directory = db_files(v->tx.db);
    int fd = -1;
    if (v->options->artifacts)
        return blob_check(directory, file->name, file->bytes, file->sha256, why);
    if (!blob_open(directory, file->name, file->bytes, &fd, why))
        return false;
    close(fd);
    return true;
}

// Whether its row is there still: the row goes first, and then the file.
static bool still_there(struct verifying *v, const struct file *file, bool *there,
                        struct pawl_error *err)
{
    struct arena *arena = v->tx.arena;
    struct db *db = v->tx.db;
    int64_t count = 0;
    tx_end(&v->tx);
    if (!tx_begin(db, TX_READ, arena, &v->tx, err))
        return false;
    SCOPED(rows) struct rows rows = {0};
    bool read = sql_ask(&v->tx, &rows, Q_ARTIFACT_HAS_FILE, err, TEXT(file->name))
             && rows_number(&rows, &count, err);
    *there = count > 0;
    return read;
}

bool verify_artifact_files(struct verifying *v, int64_t after, int64_t last,
                           struct pawl_error *err)
{
    struct list files = list_of(v->tx.arena, sizeof(struct file));
    if (!read_files(v, after, last, &files, err))
        return false;
    const struct file *all = files.items;
    for (size_t i = 0; i < files.count; i++) {
        struct pawl_error why = {0};
        bool there = false;
        if (sound(v, &all[i], &why))
            continue;
        if (!still_there(v, &all[i], &there, err))
            return false;
        v->job = all[i].job;
        if (there
            && !verify_report(v, CHECK_ARTIFACT_FILE, err, "artifact %.*s: %s",
                              STR(id_text(v->tx.arena, all[i].id)), why.message))
            return false;
    }
    return true;
}
