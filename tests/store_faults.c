// A driver in front of the real one.
#include "faults.h"

#include "store/driver.h"

struct fault_counter store_faults;

static const struct db_driver *real;  // of the stores that have faults: one kind at a time
static struct db_driver shim;

bool faults_hit(struct fault_counter *faults)
{
    int64_t call = ++faults->calls;
    if (faults->about_to)
        faults->about_to(faults);
    bool hit = faults->fail_at
            && (faults->fails_on ? call >= faults->fail_at : call == faults->fail_at);
    faults->failed += hit;
    return hit;
}

static bool refuse(struct pawl_error *err)
{
    enum pawl_code code = store_faults.code ? store_faults.code : PAWL_STORE;
    return fail(err, code, "the store failed, on purpose");
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
    return real->begin(db, mode, err);
}

static bool commit(struct db *db, struct pawl_error *err)
{
    struct hit now = hit();
    if (now.executes && !real->commit(db, err))
        return false;
    if (!now.fails)
        return true;
    return now.executes ? fail(err, PAWL_IN_DOUBT, "the answer to a commit was lost, on purpose")
                        : refuse(err);
}

static bool execute(struct db *db, const char *sql, struct pawl_error *err)
{
    struct hit now = hit();
    return (!now.executes || real->execute(db, sql, err)) && (!now.fails || refuse(err));
}

static bool execute_application(struct db *db, const char *sql, struct pawl_error *err)
{
    struct hit now = hit();
    return (!now.executes || real->execute_application(db, sql, err))
        && (!now.fails || refuse(err));
}

static bool start(struct db *db, enum query query, const struct value *values, size_t count,
                  void **statement, struct pawl_error *err)
{
    if (hit().fails)  // nothing runs before the first row is asked for
        return refuse(err);
    return real->start(db, query, values, count, statement, err);
}

static bool next(struct db *db, void *statement, bool *row, struct pawl_error *err)
{
    struct hit now = hit();
    return (!now.executes || real->next(db, statement, row, err))
        && (!now.fails || refuse(err));
}

static bool run_many(struct db *db, enum query query, const struct value *values, size_t rows,
                     struct pawl_error *err)
{
    struct hit now = hit();
    return (!now.executes || real->run_many(db, query, values, rows, err))
        && (!now.fails || refuse(err));
}

static bool checkpoint(struct db *db, bool whole)
{
    struct hit now = hit();
    return (!now.executes || real->checkpoint(db, whole)) && !now.fails;
}

static bool copy(struct db *db, const char *path, const struct copy_watch *watch,
                 struct pawl_error *err)
{
    struct hit now = hit();
    return (!now.executes || real->copy(db, path, watch, err))
        && (!now.fails || refuse(err));
}

static bool send(struct db *db, enum query query, const struct value *values, size_t count,
                 struct pawl_error *err)
{
    struct hit now = hit();
    return (!now.executes || real->send(db, query, values, count, err))
        && (!now.fails || refuse(err));
}

void store_faults_begin(struct db *db, store_commit *instead)
{
    real = db->driver;
    shim = *real;
    shim.begin = begin;
    shim.commit = instead ? instead : commit;
    shim.execute = execute;
    shim.execute_application = execute_application;
    shim.start = start;
    shim.next = next;
    shim.run_many = run_many;
    shim.send = real->send ? send : NULL;
    shim.checkpoint = checkpoint;
    shim.copy = copy;
    db->driver = &shim;
}

void store_faults_end(struct db *db)
{
    db->driver = real;
}

bool store_faults_in(const struct db *db)
{
    return db->driver == &shim;
}
