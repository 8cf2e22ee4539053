// Limits of the configuration, put into the store: all of them or, when one is refused, none.
#include "engine/limit.h"
#include "server/server.h"

struct applying {
    struct operation operation;
    const struct limit_wish *wishes;
    size_t count;
    struct str set_by;
};

static bool apply(struct tx *tx, struct operation *self, struct pawl_error *err)
{
    const struct applying *a = (const struct applying *)self;
    struct pawl_error why = {0};
    if (!tx_mark(tx, err))
        return false;
    if (limits_set_all(tx, a->wishes, a->count, a->set_by, &why))
        return tx_keep(tx, err);
    return tx_take_back(tx, err) && fail(err, why.code, "%s", why.message);
}

bool server_limit(struct server *s, const struct config *config, struct str set_by,
                  struct pawl_error *err)
{
    SCOPED(arena) struct arena arena = {0};
    struct limit_wish *wishes = NULL;
    size_t count = 0;
    config_limits(&arena, config, &wishes, &count);
    struct applying a = {
        .operation = { .run = apply, .arena = &arena, .caller = &caller_pawl },
        .wishes = wishes,
        .count = count,
        .set_by = set_by,
    };
    return (!arena.failed || fail(err, PAWL_NO_MEMORY, "no memory for the limits"))
        && pipeline_do(s->pawl->pipeline, &a.operation, err);
}
