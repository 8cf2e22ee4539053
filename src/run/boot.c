// One operation of the pipeline after another: enter, then a piece of recovery until none is left.
#include "run/boot.h"

#include "base/id.h"
#include "engine/slot.h"

// Runs recovered in one transaction: a few milliseconds in which nobody else writes.
enum { PIECE = 100 };

struct boot {
    struct operation operation;
    struct arena arena;
    const struct instance *instance;
    bool held;
    struct recovered piece;
};

static bool enter(struct tx *tx, struct operation *self, struct pawl_error *err)
{
    struct boot *boot = (struct boot *)self;
    return instance_enter(tx, boot->instance, boot->held, err);
}

static bool recover(struct tx *tx, struct operation *self, struct pawl_error *err)
{
    struct boot *boot = (struct boot *)self;
    return boot_recover(tx, boot->instance, PIECE, &boot->piece, err);
}

static bool recover_slots(struct tx *tx, struct operation *self, struct pawl_error *err)
{
    struct boot *boot = (struct boot *)self;
    boot->piece = (struct recovered){0};
    return slots_recover(tx, boot->instance, PIECE, &boot->piece, err);
}

static bool leave(struct tx *tx, struct operation *self, struct pawl_error *err)
{
    const struct instance *instance = ((struct boot *)self)->instance;
    return leader_leave(tx, instance, err) && instance_leave(tx, instance, err);
}

static bool perform(struct pipeline *pipeline, struct boot *boot,
                    bool (*run)(struct tx *tx, struct operation *self, struct pawl_error *err),
                    struct pawl_error *err)
{
    boot->operation = (struct operation){ .run = run, .arena = &boot->arena, .always = true };
    bool done = pipeline_do(pipeline, &boot->operation, err);
    arena_reset(&boot->arena);
    return done;
}

// What is damaged stays, and every piece meets it again: it is counted once.
static void add(struct recovered *total, const struct recovered *piece)
{
    total->ended += piece->ended;
    total->finished += piece->finished;
    total->slots += piece->slots;
    if (total->damaged < piece->damaged)
        total->damaged = piece->damaged;
}

static bool recover_all(struct pipeline *pipeline, struct boot *boot,
                        bool (*piece)(struct tx *tx, struct operation *self,
                                      struct pawl_error *err),
                        struct recovered *total, struct pawl_error *err)
{
    do {
        if (!perform(pipeline, boot, piece, err))
            return false;
        add(total, &boot->piece);
    } while (boot->piece.more);
    return true;
}

struct str boot_id_new(const struct world *world, struct arena *arena)
{
    return id_text(arena, id_after(0, world_wall(world), world_random(world)));
}

bool boot_enter(struct pipeline *pipeline, const struct instance *instance, bool held,
                struct recovered *total, struct pawl_error *err)
{
    struct boot boot = { .instance = instance, .held = held };
    *total = (struct recovered){0};
    bool done = perform(pipeline, &boot, enter, err)
             && recover_all(pipeline, &boot, recover, total, err)
             && recover_all(pipeline, &boot, recover_slots, total, err);
    arena_end(&boot.arena);
    return done;
}

bool boot_leave(struct pipeline *pipeline, const struct instance *instance, struct pawl_error *err)
{
    struct boot boot = { .instance = instance };
    bool done = perform(pipeline, &boot, leave, err);
    arena_end(&boot.arena);
    return done;
}
