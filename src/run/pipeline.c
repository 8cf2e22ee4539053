// A line with a lock around it, and one thread behind it that owns the store.
//
// A COMMIT that fails has an unknown outcome. The writer then opens the store again and looks for
// its witness (reach.h). If it is there, the answers stand; if not, the operations are run again.
// Operations that leave no event (heartbeats, steps, lines of a log) may be run twice without harm.
#include "run/pipeline.h"

#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "run/line.h"
#include "run/reach.h"

enum { WAITING_MAX = 10000,
       GROUP_MAX = 1000 };

#define GROUP_US_MAX MILLISECONDS(5)
#define QUIET_US MILLISECONDS(5)           // nobody came for so long
#define RETURN_US_MAX MILLISECONDS(2)      // who was answered is waited for so long ...
enum { RETURN_SHARE = 4 };                 // ... and no longer than this part of a group takes
#define LOG_BYTES ((int64_t)16 << 20)      // worth copying back
#define LOG_BYTES_MAX ((int64_t)64 << 20)  // copied back whoever waits

struct pipeline {
    struct pipeline_options options;
    const struct world *world;
    pthread_t writer;

    pthread_mutex_t mutex;  // guards what follows up to the blank line
    pthread_cond_t news;    // something waits, or it is time to stop
    struct line waiting;
    size_t wanted;          // the writer sleeps until so many wait
    bool closing;
    struct pipeline_figures figures;
    pipeline_more more;
    void *more_self;
    bool asking;            // the writer is in `more`
    pthread_cond_t asked;   // ... and has left it

    _Atomic(const struct queue_terms *) terms;
    _Atomic(const struct contract_rules *) rules;

    struct reach store;  // the writer's
    struct arena arena;
    size_t left;         // how many waited when the last group was answered
    size_t returning;    // how many of those who were answered came again in time
    bool in_round;  // by hand, the caller's thread is the writer's while a round lasts
};

static void count(struct pipeline *p, int64_t *figure)
{
    pthread_mutex_lock(&p->mutex);
    *figure += 1;
    pthread_mutex_unlock(&p->mutex);
}

// ----- one operation

// Runs it in the transaction. True when the transaction may go on: it was done, or refused without
// a trace. False when the store failed under it, or memory did: the transaction is spoilt.
static bool attempt(struct tx *tx, struct operation *operation)
{
    tx->arena = operation->arena;
    tx->caller = operation->caller;
    operation->error = (struct pawl_error){0};
    bool done = operation->run(tx, operation, &operation->error);
    if (operation->arena->failed)
        return fail(&operation->error, PAWL_NO_MEMORY, "out of memory: nothing was stored");
    if (done)
        operation->error.code = PAWL_OK;
    return done || pawl_code(operation->error.code)->refusal;
}

static void set_error(struct line *group, const struct pawl_error *error)
{
    for (struct operation *o = group->first; o; o = o->next)
        o->error = *error;
}

// Those that were to be done get the error of the commit; those that were refused keep theirs.
static void set_error_of_done(struct line *group, const struct pawl_error *error)
{
    for (struct operation *o = group->first; o; o = o->next)
        if (o->error.code == PAWL_OK)
            o->error = *error;
}

// Opens the store again and looks whether the transaction of the witness is in it.
static bool look_up(struct pipeline *p, const struct witness *witness, bool *committed,
                    struct pawl_error *err)
{
    count(p, &p->figures.doubts);
    return reach_look_up(&p->store, witness, committed, err);
}

// ----- groups

// What became of a group: its operations have their answers, or must be run one by one, or first
// together once more, without the hopes of which one has failed.
enum group_end { GROUP_ANSWERED,
                 GROUP_SPOILT,
                 GROUP_DISAPPOINTED };

static enum group_end spoilt(const struct tx *tx, const struct line *group)
{
    return tx->hoped && group->count > 1 ? GROUP_DISAPPOINTED : GROUP_SPOILT;
}

static enum group_end group_doubt(struct pipeline *p, struct line *group, const struct tx *tx)
{
    bool committed = false;
    struct pawl_error error = {0};
    if (!look_up(p, &tx->witness, &committed, &error)) {
        error.code = PAWL_IN_DOUBT;  // it could not be found out: say so
        set_error_of_done(group, &error);
        return GROUP_ANSWERED;
    }
    // Without an event of its own the transaction has no witness, and may be repeated.
    return committed && tx->has_witness ? GROUP_ANSWERED : GROUP_SPOILT;
}

// One of them was refused by the database at last.
static enum group_end group_refused(const struct tx *tx, struct line *group,
                                    const struct pawl_error *error)
{
    if (group->count > 1 || tx->hopeful)
        return spoilt(tx, group);
    set_error_of_done(group, error);
    return GROUP_ANSWERED;
}

static enum group_end group_commit(struct pipeline *p, struct tx *tx, struct line *group)
{
    struct pawl_error error = {0};
    tx->arena = &p->arena;
    tx->operations = group->count;
    if (!tx_wrap_up(tx, &error))
        return group_refused(tx, group, &error);
    if (tx_commit(tx, &error))
        return GROUP_ANSWERED;
    tx_end(tx);
    if (error.code == PAWL_IN_DOUBT)
        return group_doubt(p, group, tx);
    if (db_refused(p->store.db))
        return group_refused(tx, group, &error);
    set_error_of_done(group, &error);
    bool has_room_now = error.code == PAWL_DISK_FULL && db_gave_way(p->store.db);
    return has_room_now ? GROUP_SPOILT : GROUP_ANSWERED;
}

// What somebody wants to add to the group before it is committed.
static struct operation *ask_for_more(struct pipeline *p, struct tx *tx)
{
    pthread_mutex_lock(&p->mutex);
    pipeline_more more = p->more;
    void *self = p->more_self;
    p->asking = more != NULL;
    pthread_mutex_unlock(&p->mutex);
    if (!more)
        return NULL;
    struct operation *added = more(self, tx);
    pthread_mutex_lock(&p->mutex);
    p->asking = false;
    pthread_cond_broadcast(&p->asked);
    pthread_mutex_unlock(&p->mutex);
    return added;
}

static bool begin_once(struct pipeline *p, struct tx *tx, struct pawl_error *err)
{
    return reach_open(&p->store, err) && tx_begin(p->store.db, TX_WRITE, &p->arena, tx, err);
}

// A connection that was lost while nobody used it is noticed here, before anything was done.
static bool group_begin(struct pipeline *p, struct tx *tx, struct pawl_error *err)
{
    bool was_open = p->store.db != NULL;
    return begin_once(p, tx, err)
        || (was_open && p->store.db && db_lost(p->store.db) && begin_once(p, tx, err));
}

// Runs operations until none is left or the transaction has lasted long enough; what was not run
// stays in `rest`. One that rides is not parted from what it rides with. The first time they hope,
// and may be joined by more.
static enum group_end group_run(struct pipeline *p, struct line *rest, struct line *group,
                                bool first)
{
    struct pawl_error error = {0};
    SCOPED(tx) struct tx tx = {0};
    if (!group_begin(p, &tx, &error)) {
        for (struct operation *o; (o = line_take(rest));)
            line_add(group, o);
        set_error(group, &error);
        return GROUP_ANSWERED;
    }
    tx.queue_terms = atomic_load(&p->terms);
    tx.rules = atomic_load(&p->rules);
    tx.hopeful = first;
    int64_t end = world_monotonic(p->world) + p->options.group_us_max;
    struct operation *operation;
    do {
        operation = line_take(rest);
        line_add(group, operation);
        if (!attempt(&tx, operation))
            return spoilt(&tx, group);
    } while (rest->first && (operation->rides || world_monotonic(p->world) < end));
    struct operation *more = first ? ask_for_more(p, &tx) : NULL;
    if (more) {
        line_add(group, more);
        if (!attempt(&tx, more))
            return spoilt(&tx, group);
    }
    return group_commit(p, &tx, group);
}

// By itself nobody can spoil an operation but itself: its error is its answer. An operation in
// doubt without a witness is repeated once more and then called what it is.
static void run_alone(struct pipeline *p, struct operation *operation)
{
    for (int tries = 0; tries < 3; tries++) {
        struct line rest, group;
        line_init(&rest);
        line_init(&group);
        line_add(&rest, operation);
        if (group_run(p, &rest, &group, false) == GROUP_ANSWERED)
            return;
        if (operation->error.code != PAWL_OK)
            return;  // the store failed under it
    }
    (void)!fail(&operation->error, PAWL_IN_DOUBT,  // the error is the answer
                "the outcome of its commit was unknown several times in a row");
}

// Those for which there was no time are the first of the rest.
static enum group_end run_without_hope(struct pipeline *p, struct line *rest, struct line *group)
{
    struct line again;
    line_init(&again);
    line_put_back(&again, group);
    enum group_end end = group_run(p, &again, group, false);
    line_put_back(rest, &again);
    return end;
}

static void run_each_alone(struct pipeline *p, struct line *group)
{
    struct line done;
    line_init(&done);
    for (struct operation *o; (o = line_take(group));) {
        run_alone(p, o);
        line_add(&done, o);
    }
    *group = done;
    if (!group->first)
        group->end = &group->first;
}

// ----- rounds

static void take_some(struct pipeline *p, struct line *rest)
{
    line_init(rest);
    pthread_mutex_lock(&p->mutex);
    while (rest->count < p->options.group_max && p->waiting.first)
        line_add(rest, line_take(&p->waiting));
    pthread_mutex_unlock(&p->mutex);
}

static void count_round(struct pipeline *p, struct line *rest, size_t answered, size_t alone)
{
    pthread_mutex_lock(&p->mutex);
    line_put_back(&p->waiting, rest);
    p->left = p->waiting.count;
    p->figures.operations += (int64_t)answered;
    p->figures.groups++;
    p->figures.alone += (int64_t)alone;
    pthread_mutex_unlock(&p->mutex);
}

// Copying the log back is on the path of whoever comes meanwhile. So it waits for a quiet moment,
// unless the log has become as long as it should ever be.
static void maintain(struct pipeline *p, bool quiet)
{
    bool now = p->store.db && (quiet || db_wal_bytes(p->store.db) >= LOG_BYTES_MAX);
    if (now && db_checkpoint(p->store.db))
        count(p, &p->figures.checkpoints);
}

// A database at the end of a wire begins while the answers are given and those who got them make up
// their minds. If they came again the last time: others may wait for its lock.
static void begin_ahead(struct pipeline *p)
{
    if (p->store.db && p->returning > 0 && !p->options.by_hand)
        db_begin_ahead(p->store.db);
}

size_t pipeline_round(struct pipeline *p)
{
    struct line rest, group;
    line_init(&group);
    take_some(p, &rest);
    if (!rest.first)
        return 0;
    size_t alone = 0;
    p->in_round = true;
    enum group_end end = group_run(p, &rest, &group, true);
    if (end == GROUP_DISAPPOINTED)
        end = run_without_hope(p, &rest, &group);
    if (end == GROUP_SPOILT) {
        alone = group.count;
        run_each_alone(p, &group);
    }
    size_t answered = group.count;
    arena_reset(&p->arena);
    p->in_round = false;
    count_round(p, &rest, answered, alone);
    begin_ahead(p);
    for (struct operation *o; (o = line_take(&group));)
        o->answered(o);  // the operation is its owner's again
    maintain(p, p->options.by_hand);
    return answered;
}

// With the mutex held. True when somebody came, or it is time to stop, before the log was to be
// copied back.
static bool wait_a_moment(struct pipeline *p)
{
    int64_t end = world_monotonic(world_real()) + QUIET_US;
    struct timespec at = { .tv_sec = end / SECONDS(1), .tv_nsec = end % SECONDS(1) * 1000 };
    int result = 0;
    while (!p->waiting.first && !p->closing && result == 0)
        result = pthread_cond_timedwait(&p->news, &p->mutex, &at);
    return p->waiting.first || p->closing;
}

static bool wait_for_news(struct pipeline *p)
{
    const struct db *db = p->store.db;
    bool copies = db && (db_wal_bytes(db) >= LOG_BYTES || db_log_to_empty(db));
    pthread_mutex_lock(&p->mutex);
    if (copies && !wait_a_moment(p)) {
        pthread_mutex_unlock(&p->mutex);
        maintain(p, true);
        pthread_mutex_lock(&p->mutex);
    }
    while (!p->waiting.first && !p->closing)
        pthread_cond_wait(&p->news, &p->mutex);
    bool more = p->waiting.first != NULL;
    pthread_mutex_unlock(&p->mutex);
    return more;
}

// With the mutex held. True when so many wait, or it is time to stop.
static bool wait_for_so_many(struct pipeline *p, size_t wanted, int64_t end)
{
    struct timespec at = { .tv_sec = end / SECONDS(1), .tv_nsec = end % SECONDS(1) * 1000 };
    int result = 0;
    p->wanted = wanted;
    while (p->waiting.count < wanted && !p->closing && result == 0)
        result = pthread_cond_timedwait(&p->news, &p->mutex, &at);
    p->wanted = 0;
    return result == 0;
}

// Whoever was answered mostly has something else to ask at once. Were the writer to begin with the
// first of them, the others would wait for two groups instead of one. As many are waited for as
// came the last time, and some more. True when anybody waits.
static bool wait_for_return(struct pipeline *p, size_t answered, int64_t took_us)
{
    int64_t patience = took_us / RETURN_SHARE;
    size_t hoped = p->returning + p->returning / 4 + 1;
    if (patience > RETURN_US_MAX)
        patience = RETURN_US_MAX;
    if (hoped > answered)
        hoped = answered;
    pthread_mutex_lock(&p->mutex);
    size_t wanted = p->left + hoped;
    if (wanted > p->options.group_max)
        wanted = p->options.group_max;
    bool came = wait_for_so_many(p, wanted, world_monotonic(world_real()) + patience);
    p->returning = came ? hoped : p->waiting.count - p->left;
    bool waits = p->waiting.first != NULL;
    pthread_mutex_unlock(&p->mutex);
    return waits;
}

static void gather(struct pipeline *p, size_t answered, int64_t took_us)
{
    struct db *db = p->store.db;
    if (db && db_is_distant(db) && !wait_for_return(p, answered, took_us))
        db_begin_back(db);
}

static void *write_until_closed(void *self)
{
    struct pipeline *p = self;
    while (wait_for_news(p)) {
        int64_t begun = world_monotonic(world_real());
        size_t answered = pipeline_round(p);
        gather(p, answered, world_monotonic(world_real()) - begun);
    }
    return NULL;
}

// ----- the door

bool pipeline_submit(struct pipeline *p, struct operation *operation, struct pawl_error *err)
{
    assert(operation->run && operation->answered && operation->arena);
    pthread_mutex_lock(&p->mutex);
    bool closing = p->closing;
    bool full = !operation->always && p->waiting.count >= p->options.waiting_max;
    if (!closing && !full)
        line_add(&p->waiting, operation);
    bool tell = !closing && !full && !operation->rides && p->waiting.count >= p->wanted;
    p->figures.refused += full && !closing;
    pthread_mutex_unlock(&p->mutex);
    if (tell)  // after the mutex: the writer would run into it, and sleep once more
        pthread_cond_signal(&p->news);
    if (closing)
        return fail(err, PAWL_FULL, "the store is being closed");
    return !full
        || fail(err, PAWL_FULL, "%zu operations wait for the store already: try again later",
                p->options.waiting_max);
}

// An operation somebody waits for: what is handed over is a cover around it.
struct waiter {
    struct operation operation;
    struct operation *asked;
    sem_t answered;
};

static bool run_asked(struct tx *tx, struct operation *self, struct pawl_error *err)
{
    struct waiter *waiter = (struct waiter *)self;
    return waiter->asked->run(tx, waiter->asked, err);
}

static void wake(struct operation *self)
{
    sem_post(&((struct waiter *)self)->answered);
}

// By hand nobody else writes: this thread does.
static bool answered(struct pipeline *p, struct waiter *waiter)
{
    if (!p->options.by_hand)
        return sem_wait(&waiter->answered) == 0;  // or a signal came in between
    pipeline_round(p);
    return sem_trywait(&waiter->answered) == 0;
}

static bool is_writer(const struct pipeline *p)
{
    return p->options.by_hand ? p->in_round : pthread_equal(pthread_self(), p->writer);
}

bool pipeline_do(struct pipeline *p, struct operation *asked, struct pawl_error *err)
{
    if (is_writer(p))
        return fail(err, PAWL_USAGE, "this thread is writing to the store just now: use the "
                                     "transaction it was given");
    struct waiter waiter = {
        .operation = { .run = run_asked,
                       .answered = wake,
                       .arena = asked->arena,
                       .caller = asked->caller,
                       .always = asked->always },
        .asked = asked,
    };
    sem_init(&waiter.answered, 0, 0);
    bool submitted = pipeline_submit(p, &waiter.operation, err);
    while (submitted && !answered(p, &waiter)) {}
    sem_destroy(&waiter.answered);
    if (!submitted)
        return false;
    asked->error = waiter.operation.error;
    return asked->error.code == PAWL_OK
        || fail(err, asked->error.code, "%s", asked->error.message);
}

void pipeline_set_rules(struct pipeline *p, const struct contract_rules *rules)
{
    atomic_store(&p->rules, rules);
}

void pipeline_set_terms(struct pipeline *p, const struct queue_terms *terms)
{
    atomic_store(&p->terms, terms);
}

void pipeline_set_more(struct pipeline *p, pipeline_more more, void *self)
{
    pthread_mutex_lock(&p->mutex);
    p->more = more;
    p->more_self = self;
    while (p->asking)
        pthread_cond_wait(&p->asked, &p->mutex);
    pthread_mutex_unlock(&p->mutex);
}

struct pipeline_figures pipeline_figures(struct pipeline *p)
{
    pthread_mutex_lock(&p->mutex);
    struct pipeline_figures figures = p->figures;
    figures.waiting = (int64_t)p->waiting.count;
    pthread_mutex_unlock(&p->mutex);
    return figures;
}

static void set_defaults(struct pipeline_options *options)
{
    if (options->waiting_max == 0)
        options->waiting_max = WAITING_MAX;
    if (options->group_max == 0)
        options->group_max = GROUP_MAX;
    if (options->group_us_max == 0)
        options->group_us_max = GROUP_US_MAX;
    options->db.checkpoint_by_hand = true;
}

bool pipeline_open(struct pipeline **pipeline, const struct pipeline_options *options,
                   struct pawl_error *err)
{
    struct pipeline *p = calloc(1, sizeof *p);
    *pipeline = NULL;
    if (!p)
        return fail(err, PAWL_NO_MEMORY, "no memory to open the store");
    p->options = *options;
    p->world = options->db.world ? options->db.world : world_real();
    set_defaults(&p->options);
    p->store = (struct reach){ .options = &p->options.db, .world = p->world };
    line_init(&p->waiting);
    pthread_mutex_init(&p->mutex, NULL);
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&p->news, &monotonic);
    pthread_condattr_destroy(&monotonic);
    pthread_cond_init(&p->asked, NULL);
    bool opened = reach_open(&p->store, err);
    if (opened && !options->by_hand && pthread_create(&p->writer, NULL, write_until_closed, p) != 0)
        opened = fail(err, PAWL_NO_MEMORY, "no thread to write to the store with");
    if (!opened) {
        p->options.by_hand = true;
        pipeline_close(p);
        return false;
    }
    *pipeline = p;
    return true;
}

void pipeline_close(struct pipeline *p)
{
    if (!p)
        return;
    pthread_mutex_lock(&p->mutex);
    p->closing = true;
    pthread_cond_signal(&p->news);
    pthread_mutex_unlock(&p->mutex);
    if (!p->options.by_hand)
        pthread_join(p->writer, NULL);
    while (pipeline_round(p) > 0) {}
    reach_close(&p->store);
    arena_end(&p->arena);
    pthread_cond_destroy(&p->asked);
    pthread_cond_destroy(&p->news);
    pthread_mutex_destroy(&p->mutex);
    free(p);
}
