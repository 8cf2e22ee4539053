// Schedules of the configuration, put into the store: all of them or, when one is refused, none.
#include "engine/schedule.h"
#include "server/retention.h"

struct applying {
    struct operation operation;
    const struct config *config;
};

static bool put_one(struct tx *tx, const struct config_schedule *configured, int64_t *id,
                    struct pawl_error *err)
{
    const struct schedule *schedule = &configured->schedule;
    struct schedule_view view;
    enum schedule_put what;
    struct pawl_error why = {0};
    bool put = schedule_put(tx, schedule, SCHEDULE_FROM_CONFIG, &what, &why)
            && (what != SCHEDULE_MADE || !configured->paused
                || schedule_pause(tx, schedule->name, &why))
            && schedule_load(tx, schedule->name, &view, &why);
    *id = put ? view.id : 0;
    return put || fail(err, why.code, "schedules.%.*s: %s", STR(schedule->name), why.message);
}

static bool put_all(struct tx *tx, const struct config *config, struct pawl_error *err)
{
    const struct caller *caller = tx->caller;
    int64_t *ids = arena_new(tx->arena, int64_t, config->schedule_count + 1);
    size_t removed = 0;
    bool done = ids || fail(err, PAWL_NO_MEMORY, "no memory for the schedules");
    for (size_t i = 0; done && i < config->schedule_count; i++) {
        struct caller by = *caller;
        by.org_id = config->schedules[i].org_id;
        tx->caller = &by;
        done = put_one(tx, &config->schedules[i], &ids[i], err);
        tx->caller = caller;
    }
    return done && retention_schedule(tx, err)
        && schedules_keep_only(tx, SCHEDULE_FROM_CONFIG, ids, config->schedule_count, &removed,
                               err);
}

// A refusal leaves what stood before: so what came before it is taken back.
static bool apply(struct tx *tx, struct operation *self, struct pawl_error *err)
{
    const struct applying *a = (const struct applying *)self;
    struct pawl_error why = {0};
    if (!tx_mark(tx, err))
        return false;
    if (put_all(tx, a->config, &why))
        return tx_keep(tx, err);
    return tx_take_back(tx, err) && fail(err, why.code, "%s", why.message);
}

// The API never schedules (SLOT-1): it leaves them as they are.
bool server_schedule(struct server *s, const struct config *config, struct pawl_error *err)
{
    SCOPED(arena) struct arena arena = {0};
    struct applying a = {
        .operation = { .run = apply, .arena = &arena, .caller = &caller_pawl },
        .config = config,
    };
    return s->only == SERVER_API || pipeline_do(s->pawl->pipeline, &a.operation, err);
}
