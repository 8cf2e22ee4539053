// Loaded once for the whole process, by whoever comes first; it stays loaded.
#include "store/postgres_library.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <string.h>

#include "base/world.h"

struct libpq pq;

enum { NOT_LOADED, LOADING, LOADED };

static const struct {
    const char *name;
    void (**place)(void);
} functions[] = {
#define PQ_ROW(name) { "PQ" #name, (void (**)(void))&pq.name },
    PQ_FUNCTIONS(PQ_ROW)
#undef PQ_ROW
};

static bool load(struct pawl_error *err)
{
    void *library = dlopen("libpq.so.5", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return fail(err, PAWL_STORE, "a store on PostgreSQL needs its client library, libpq.so.5, "
                                     "which cannot be loaded here: install libpq5");
    for (size_t i = 0; i < countof(functions); i++) {
        void *function = dlsym(library, functions[i].name);
        if (!function) {
            dlclose(library);
            return fail(err, PAWL_STORE, "this libpq is too old: it has no %s", functions[i].name);
        }
        memcpy(functions[i].place, &function, sizeof function);  // ISO C knows no cast for it
    }
    return true;
}

bool postgres_load(struct pawl_error *err)
{
    static atomic_int state;
    int expected = NOT_LOADED;
    while (!atomic_compare_exchange_strong(&state, &expected, LOADING)) {
        if (expected == LOADED)
            return true;
        world_sleep(world_real(), MILLISECONDS(1));
        expected = NOT_LOADED;
    }
    bool loaded = load(err);
    atomic_store(&state, loaded ? LOADED : NOT_LOADED);
    return loaded;
}
