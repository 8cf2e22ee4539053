// A file is left behind when its writer died between its first byte and the commit of its row.
#include <unistd.h>

#include "engine/artifact.h"
#include "store/blob.h"

static bool has_row(struct db *db, struct str file, bool *has, struct pawl_error *err)
{
    SCOPED(arena) struct arena arena = {0};
    SCOPED(tx) struct tx tx = {0};
    int64_t count = 0;
    if (!tx_begin(db, TX_READ, &arena, &tx, err))
        return false;
    SCOPED(rows) struct rows rows = {0};
    bool read = sql_ask(&tx, &rows, Q_ARTIFACT_HAS_FILE, err, TEXT(file))
             && rows_number(&rows, &count, err);
    *has = count > 0;
    return read;
}

// Who holds the file may be about to commit its row: so it is asked for again once we hold it, and
// what is then not in the store never will be.
static bool tidy_one(struct db *db, struct str file, size_t *removed, struct pawl_error *err)
{
    bool has = false;
    int fd = -1;
    if (!has_row(db, file, &has, err))
        return false;
    if (has || !blob_forsaken(db_files(db), file, &fd))
        return true;
    bool done = has_row(db, file, &has, err)
             && (has || blob_remove(db_files(db), file, err));
    close(fd);
    *removed += done && !has;
    return done;
}

bool artifacts_tidy(struct db *db, size_t *removed, struct pawl_error *err)
{
    SCOPED(arena) struct arena arena = {0};
    struct blob_names names;
    *removed = 0;
    if (!blobs_list(db_files(db), &arena, &names, err))
        return false;
    for (size_t i = 0; i < names.count; i++)
        if (!tidy_one(db, names.at[i], removed, err))
            return false;
    return true;
}
