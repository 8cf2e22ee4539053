// The port's half of copying.
#include "store/copy.h"

#include "store/driver.h"

bool db_copy(struct db *db, const char *path, const struct copy_watch *watch,
             struct pawl_error *err)
{
    static const struct copy_watch nobody;
    return db->driver->copy(db, path, watch ? watch : &nobody, err);
}

// The answer is one row `ok`, or a row for each thing that is wrong.
bool db_intact(struct db *db, bool quick, struct pawl_error *err)
{
    SCOPED(arena) struct arena arena = {0};
    SCOPED(tx) struct tx tx = {0};
    SCOPED(rows) struct rows rows = {0};
    if (!tx_begin(db, TX_READ, &arena, &tx, err)
        || !sql_ask_plain(&tx, &rows, quick ? Q_FILE_CHECK_QUICK : Q_FILE_CHECK, err))
        return false;
    struct str first = rows_next(&rows) ? row_text(&rows) : S("it cannot be read");
    if (!rows_ok(&rows, err))
        return false;
    return str_eq(first, S("ok"))
        || fail(err, PAWL_DAMAGED, "the file is damaged: %.*s", STR(first));
}
