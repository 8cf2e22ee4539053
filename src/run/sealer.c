// One round: read and hash, hand the seals to the pipeline, rest for nine times as long.
#include "run/sealer.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/hash.h"
#include "engine/seal.h"
#include "run/handle.h"

enum { SEALS_MAX = 2,      // in one round: a thread that wakes up may have to wait until it is over
       REST_SHARE = 9,     // of the time that the round took
       TOLD_EVERY_S = 3600 };

struct sealer {
    struct pawl *pawl;
    struct db *reader;  // NULL until it is needed, and after it failed
    int64_t told_at;    // monotonic; when the head was logged last
    pthread_t thread;
    pthread_mutex_t mutex;  // guards `closing`
    pthread_cond_t leave;
    bool closing;
};

struct putting {
    struct operation operation;
    const struct seals *seals;
};

static bool put(struct tx *tx, struct operation *self, struct pawl_error *err)
{
    return seals_put(tx, ((struct putting *)self)->seals, err);
}

static bool make(struct sealer *s, struct arena *arena, struct seals *seals,
                 struct pawl_error *err)
{
    struct db_options options = {
        .url = str_of(s->pawl->options.store),
        .world = s->pawl->world,
        .read_only = true,
    };
    SCOPED(tx) struct tx tx = {0};
    return db_begin_read(&s->reader, &options, arena, &tx, err)
        && seals_make(&tx, SEALS_MAX, false, seals, err) && tx_commit(&tx, err);
}

// Whoever keeps the log elsewhere has with it a hash to compare the chain with.
static void tell(struct sealer *s, const struct seals *seals)
{
    int64_t now = world_monotonic(s->pawl->world);
    if (s->told_at && now - s->told_at < SECONDS(TOLD_EVERY_S))
        return;
    s->told_at = now;
    const struct seal *head = &seals->at[seals->count - 1];
    journal_write(&s->pawl->journal, AUDIT_SEALED, NULL,
                  "the audit trail is sealed to event %lld: seal %lld has the hash %.*s",
                  (long long)head->last_id, (long long)head->number, STR(head->hash));
}

// How long to rest.
static int64_t seal(struct sealer *s)
{
    SCOPED(arena) struct arena arena = {0};
    struct seals seals = {0};
    struct pawl_error err = {0};
    struct putting putting = {
        .operation = { .run = put, .arena = &arena, .always = true },
        .seals = &seals,
    };
    int64_t began = world_monotonic(s->pawl->world);
    if (!make(s, &arena, &seals, &err)) {
        db_close(s->reader);  // whatever it was: a fresh one may do better
        s->reader = NULL;
        return SEAL_AFTER_US;
    }
    // A refusal leaves the trail to whoever sealed it meanwhile, or to the next round.
    if (seals.count > 0 && pipeline_do(s->pawl->pipeline, &putting.operation, &err))
        tell(s, &seals);
    return seals.more ? REST_SHARE * (world_monotonic(s->pawl->world) - began) : SEAL_AFTER_US;
}

static bool rest(struct sealer *s, int64_t microseconds)
{
    int64_t until = world_monotonic(s->pawl->world) + microseconds;
    struct timespec time = { until / SECONDS(1), until % SECONDS(1) * 1000 };
    pthread_mutex_lock(&s->mutex);
    while (!s->closing && pthread_cond_timedwait(&s->leave, &s->mutex, &time) == 0) {}
    bool closing = s->closing;
    pthread_mutex_unlock(&s->mutex);
    return !closing;
}

static void *sealer_main(void *self)
{
    struct sealer *s = self;
    sum_prepare();
    for (int64_t pause = SEAL_AFTER_US; rest(s, pause);)
        pause = seal(s);
    return NULL;
}

bool sealer_open(struct sealer **opened, struct pawl *pawl, struct pawl_error *err)
{
    struct sealer *s = calloc(1, sizeof *s);
    pthread_condattr_t monotonic;
    if (!s)
        return fail(err, PAWL_NO_MEMORY, "no memory to seal the audit trail");
    s->pawl = pawl;
    pthread_mutex_init(&s->mutex, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&s->leave, &monotonic);
    pthread_condattr_destroy(&monotonic);
    if (pthread_create(&s->thread, NULL, sealer_main, s) == 0)
        return *opened = s, true;
    pthread_cond_destroy(&s->leave);
    pthread_mutex_destroy(&s->mutex);
    free(s);
    return fail(err, PAWL_NO_MEMORY, "no thread to seal the audit trail");
}

void sealer_close(struct sealer *s)
{
    if (!s)
        return;
    pthread_mutex_lock(&s->mutex);
    s->closing = true;
    pthread_cond_signal(&s->leave);
    pthread_mutex_unlock(&s->mutex);
    pthread_join(s->thread, NULL);
    db_close(s->reader);
    pthread_cond_destroy(&s->leave);
    pthread_mutex_destroy(&s->mutex);
    free(s);
}
