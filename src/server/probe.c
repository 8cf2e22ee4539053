// Two own a probe, who asked and the pipeline: the last one frees it.
#include "server/probe.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "server/hub.h"
#include "server/server.h"

struct probe {
    struct operation operation;  // first: the pipeline gives it back
    struct arena arena;
    struct caller caller;
    struct hub *hub;
    struct id topic;             // the job it would be, for who waits in the hub
    _Atomic int owners;
    _Atomic bool done;
};

static bool run(struct tx *tx, struct operation *self, struct pawl_error *err)
{
    (void)self;
    return !db_is_short(tx->db)
        || fail(err, PAWL_DISK_FULL, "the disk of the store is full: no new jobs are taken until "
                                     "there is room");
}

static void answered(struct operation *self)
{
    struct probe *probe = (struct probe *)self;
    atomic_store(&probe->done, true);
    hub_ended(probe->hub, probe->topic);
    probe_end(probe);
}

struct probe *probe_begin(struct exchange *x, struct pawl_error *err)
{
    const struct world *world = x->server->pawl->world;
    struct probe *probe = calloc(1, sizeof *probe);
    if (!probe) {
        (void)!fail(err, PAWL_NO_MEMORY, "no memory to ask the store");  // NULL says it
        return NULL;
    }
    probe->operation = (struct operation){ .run = run,
                                           .answered = answered,
                                           .arena = &probe->arena,
                                           .caller = &probe->caller };
    probe->hub = x->server->hub;
    probe->topic = id_after(0, world_wall(world), world_random(world));
    atomic_store(&probe->owners, 2);
    if (hub_enter_job(x, probe->topic, err)
        && pipeline_submit(x->server->pawl->pipeline, &probe->operation, err))
        return probe;
    free(probe);
    return NULL;
}

void probe_end(struct probe *probe)
{
    if (!probe || atomic_fetch_sub(&probe->owners, 1) > 1)
        return;
    arena_end(&probe->arena);
    free(probe);
}

bool probe_done(const struct probe *probe)
{
    return atomic_load(&probe->done);
}

struct pawl_error probe_error(const struct probe *probe)
{
    return probe->operation.error;
}
