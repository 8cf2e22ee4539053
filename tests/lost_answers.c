// Commits that are done and reported failed, under programs that know nothing of it.
//
// A program linked with `--wrap` of db_open and db_close (see meson.build) loses the answer to one
// in STORE_ANSWERS_LOST of its commits, by dice that ANSWERS_SEED begins. Whoever committed must
// find out what became of it: open the store again and look. Migrations and the faults that a test
// asks for itself are left alone.
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "store/sqlite.h"

struct loser {
    struct faults faults;
    const struct faults *asked;  // those of the test
    struct db *db;
    bool writes;                 // the transaction that is about to be committed
};

bool __real_db_open(struct db **db, const struct db_options *options, struct pawl_error *err);
bool __wrap_db_open(struct db **db, const struct db_options *options, struct pawl_error *err);
void __real_db_close(struct db *db);
void __wrap_db_close(struct db *db);

static int64_t from_environment(const char *name)
{
    const char *text = getenv(name);
    int64_t number = 0;
    return text && str_int(str_of(text), &number) ? number : 0;
}

// One in so many, at places that differ from seed to seed.
static bool answer_lost(void)
{
    static _Atomic uint64_t commits;
    uint64_t one_in = (uint64_t)from_environment("STORE_ANSWERS_LOST"),
             x = (uint64_t)from_environment("ANSWERS_SEED") * 0x9e3779b97f4a7c15U
               + (atomic_fetch_add(&commits, 1) + 1) * 0xbf58476d1ce4e5b9U;
    x = (x ^ (x >> 31)) * 0x94d049bb133111ebU;
    x = (x ^ (x >> 29)) * 0xbf58476d1ce4e5b9U;
    return one_in > 0 && (x >> 16) % one_in == 0;
}

// Leaves a file behind, for who counts in how many programs it happened.
static void note(void)
{
    const char *path = getenv("ANSWERS_NOTE");
    FILE *file = path ? fopen(path, "w") : NULL;
    if (file)
        fclose(file);
}

static bool lose(struct pawl_error *err)
{
    note();
    return fail(err, PAWL_IN_DOUBT, "the answer to a commit was lost, by the environment");
}

static bool pass(void *self, enum fault_point point, struct pawl_error *err)
{
    struct loser *loser = self;
    if (point == FAULT_BEFORE_COMMIT)
        loser->writes = sqlite_of(loser->db)->writing;
    if (loser->asked && !loser->asked->pass(loser->asked->self, point, err))
        return false;
    return point != FAULT_AFTER_COMMIT || !loser->writes || !answer_lost()
        || lose(err);
}

bool __wrap_db_open(struct db **db, const struct db_options *options, struct pawl_error *err)
{
    if (!__real_db_open(db, options, err))
        return false;
    if (options->read_only || from_environment("STORE_ANSWERS_LOST") < 1)
        return true;
    struct loser *loser = calloc(1, sizeof *loser);
    if (!loser)
        abort();
    *loser = (struct loser){ { loser, pass }, options->faults, *db, false };
    (*db)->faults = &loser->faults;
    return true;
}

void __wrap_db_close(struct db *db)
{
    struct loser *loser = db && db->faults && db->faults->pass == pass ? db->faults->self : NULL;
    __real_db_close(db);
    free(loser);
}
