// libpq is loaded when the first store on a server is opened: it may be missing or too old, and two
// may want it at once. In a program of its own, because what is loaded stays loaded.
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <string.h>

#include "base/world.h"
#include "store/db.h"
#include "store/postgres_library.h"
#include "test.h"

static struct {
    bool missing, old, contested;
    pthread_t rival;
    sem_t waits;  // the rival does
    bool rival_loaded;
} library;

void *__real_dlopen(const char *name, int how);
void *__wrap_dlopen(const char *name, int how);
void *__real_dlsym(void *from, const char *name);
void *__wrap_dlsym(void *from, const char *name);
void __real_world_sleep(const struct world *world, int64_t us);
void __wrap_world_sleep(const struct world *world, int64_t us);

static void *load_too(void *self)
{
    struct pawl_error err = {0};
    (void)self;
    library.rival_loaded = postgres_load(&err);
    return NULL;
}

void *__wrap_dlopen(const char *name, int how)
{
    if (library.contested) {
        EXPECT_INT(pthread_create(&library.rival, NULL, load_too, NULL), 0);
        EXPECT_INT(sem_wait(&library.waits), 0);
    }
    return library.missing ? NULL : __real_dlopen(name, how);
}

void *__wrap_dlsym(void *from, const char *name)
{
    return library.old && strcmp(name, "PQpipelineSync") == 0 ? NULL : __real_dlsym(from, name);
}

void __wrap_world_sleep(const struct world *world, int64_t us)
{
    sem_post(&library.waits);
    __real_world_sleep(world, us);
}

TEST(SLOT_11_a_client_library_that_is_missing_or_too_old_is_named)
{
    struct pawl_error err = {0};
    library.missing = true;
    struct db *db = NULL;
    EXPECT_REFUSED(PAWL_STORE, db_open(&db, &(struct db_options){ .url = S("postgres://h/d") },
                                       &err));
    EXPECT(strstr(err.message, "install libpq5") != NULL);
    library.missing = false;
    library.old = true;
    EXPECT_REFUSED(PAWL_STORE, postgres_load(&err));
    EXPECT(strstr(err.message, "too old: it has no PQpipelineSync") != NULL);
    library.old = false;
}

// What was refused above is asked for once more.
TEST(SLOT_11_two_who_want_the_client_library_at_once_load_it_once)
{
    struct pawl_error err = {0};
    EXPECT_INT(sem_init(&library.waits, 0, 0), 0);
    library.contested = true;
    MUST(postgres_load(&err));
    EXPECT_INT(pthread_join(library.rival, NULL), 0);
    EXPECT(library.rival_loaded);
    library.contested = false;
    library.missing = true;  // nobody looks for it any more
    MUST(postgres_load(&err));
    EXPECT(pq.connectdbParams != NULL);
    library.missing = false;
}
