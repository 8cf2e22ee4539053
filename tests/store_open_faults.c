// Stores that fail from their opening on, so that the schema is looked at and migrated through them
// as well: in a program linked with `--wrap=sqlite_open` (see meson.build).
#include "faults.h"
#include "store/driver.h"

bool __real_sqlite_open(struct db **db, const struct db_options *options, struct pawl_error *err);
bool __wrap_sqlite_open(struct db **db, const struct db_options *options, struct pawl_error *err);

bool __wrap_sqlite_open(struct db **db, const struct db_options *options, struct pawl_error *err)
{
    if (!__real_sqlite_open(db, options, err))
        return false;
    store_faults_begin(*db, NULL);
    return true;
}
