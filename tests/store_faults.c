// A driver in front of SQLite's. It is put there when a store is opened, so that the schema is
// looked at and migrated through it as well.
#include "faults.h"

#include "store/sqlite.h"

struct fault_counter store_faults;

bool faults_hit(struct fault_counter *faults)
{
    int64_t call = ++faults->calls;
    bool hit = faults->fail_at
            && (faults->fails_on ? call >= faults->fail_at : call == faults->fail_at);
    faults->failed += hit;
    return hit;
}

static bool refuse(struct pawl_error *err)
{
    return fail(err, PAWL_STORE, "the store failed, on purpose");
}

// Whether the call fails, and whether it has to be done first.
struct hit {
    bool fails, executes;
};

static struct hit hit(void)
{
    bool fails = faults_hit(&store_faults);
    return (struct hit){ fails, !fails || store_faults.executes };
}

static bool begin(struct db *db, enum tx_mode mode, struct pawl_error *err)
{
    struct hit now = hit();
    if (now.fails)  // one that began would have to be ended
        return refuse(err);
    return sqlite_driver.begin(db, mode, err);
}

static bool commit(struct db *db, struct pawl_error *err)
{
    struct hit now = hit();
    if (now.executes && !sqlite_driver.commit(db, err))
        return false;
    if (!now.fails)
        return true;
    return now.executes ? fail(err, PAWL_IN_DOUBT, "the answer to a commit was lost, on purpose")
                        : refuse(err);
}

static bool execute(struct db *db, const char *sql, struct pawl_error *err)
{
    struct hit now = hit();
    return (!now.executes || sqlite_driver.execute(db, sql, err)) && (!now.fails || refuse(err));
}

static bool execute_application(struct db *db, const char *sql, struct pawl_error *err)
{
    struct hit now = hit();
    return (!now.executes || sqlite_driver.execute_application(db, sql, err))
        && (!now.fails || refuse(err));
}

static bool start(struct db *db, enum query query, const struct value *values, size_t count,
                  void **statement, struct pawl_error *err)
{
    if (hit().fails)  // nothing runs before the first row is asked for
        return refuse(err);
    return sqlite_driver.start(db, query, values, count, statement, err);
}

static bool next(struct db *db, void *statement, bool *row, struct pawl_error *err)
{
    struct hit now = hit();
    return (!now.executes || sqlite_driver.next(db, statement, row, err))
        && (!now.fails || refuse(err));
}

static bool run_many(struct db *db, enum query query, const struct value *values, size_t rows,
                     struct pawl_error *err)
{
    struct hit now = hit();
    return (!now.executes || sqlite_driver.run_many(db, query, values, rows, err))
        && (!now.fails || refuse(err));
}

static bool checkpoint(struct db *db, bool whole)
{
    struct hit now = hit();
    return (!now.executes || sqlite_driver.checkpoint(db, whole)) && !now.fails;
}

static bool copy(struct db *db, const char *path, const struct copy_watch *watch,
                 struct pawl_error *err)
{
    struct hit now = hit();
    return (!now.executes || sqlite_driver.copy(db, path, watch, err))
        && (!now.fails || refuse(err));
}

bool __real_sqlite_open(struct db **db, const struct db_options *options, struct pawl_error *err);
bool __wrap_sqlite_open(struct db **db, const struct db_options *options, struct pawl_error *err);

bool __wrap_sqlite_open(struct db **db, const struct db_options *options, struct pawl_error *err)
{
    static struct db_driver shim;
    if (!__real_sqlite_open(db, options, err))
        return false;
    shim = sqlite_driver;
    shim.begin = begin;
    shim.commit = commit;
    shim.execute = execute;
    shim.execute_application = execute_application;
    shim.start = start;
    shim.next = next;
    shim.run_many = run_many;
    shim.checkpoint = checkpoint;
    shim.copy = copy;
    (*db)->driver = &shim;
    return true;
}
