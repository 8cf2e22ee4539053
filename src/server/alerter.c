// A courier per target: look what is due, take it, tell it, settle it. Between two rounds it sleeps
// until something was raised here, something is due again, or other processes may have raised
// something.
#include "server/alerter.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "engine/alert.h"
#include "server/alert_json.h"
#include "server/alert_target.h"
#include "server/log.h"
#include "server/metrics.h"
#include "server/server.h"

#define LOOK_US SECONDS(5)       // for what other processes raise
#define TROUBLE_US SECONDS(5)    // after the store has refused
#define LEASE_BEYOND_US SECONDS(10)
#define PUT_AGAIN_US HOURS(1)

struct courier {
    struct alerter *alerter;
    const struct config_alert *config;
    struct alert_target target;
    struct allowance allowance;
    struct alert_teller *teller;
    int64_t put_at;          // monotonic: when the store was last told that it is a target
    pthread_t thread;
    bool runs;
};

struct alerter {
    struct server *server;
    struct str owner;        // of the lease on a target: the instance, so that after a restart it
                             // need not wait for itself
    struct courier couriers[ALERT_TARGETS_MAX];
    size_t count;
    const struct config *config;  // whose targets they are; NULL: none

    pthread_mutex_t mutex;   // guards `news`; taken for a moment only
    pthread_cond_t wake;
    uint64_t news;
    _Atomic bool stopping;
};

// ----- operations of the pipeline

struct job_of_store {
    struct operation operation;  // first: the pipeline gives it back
    struct courier *courier;
    struct parcel parcel;
    struct alert_outcome outcome;
    const struct config *dropped_from, *dropped_to;
};

static bool run_put(struct tx *tx, struct operation *operation, struct pawl_error *err)
{
    struct courier *c = ((struct job_of_store *)operation)->courier;
    return alert_target_put(tx, &c->target, err);
}

static bool run_take(struct tx *tx, struct operation *operation, struct pawl_error *err)
{
    struct job_of_store *job = (struct job_of_store *)operation;
    struct courier *c = job->courier;
    int64_t now = world_monotonic(c->alerter->server->pawl->world);
    struct alert_taking taking = {
        .target = c->target.id,
        .owner = c->alerter->owner,
        .lease_us = c->config->timeout_us + LEASE_BEYOND_US,
        .allowance = allowance_left(&c->allowance, now),
    };
    return alert_take(tx, &taking, &job->parcel, err);
}

static bool run_settle(struct tx *tx, struct operation *operation, struct pawl_error *err)
{
    struct job_of_store *job = (struct job_of_store *)operation;
    return alert_settle(tx, &job->parcel, &job->outcome, err);
}

static bool do_in_store(struct alerter *alerter, struct job_of_store *job, struct arena *arena,
                        bool (*run)(struct tx *, struct operation *, struct pawl_error *),
                        struct pawl_error *err)
{
    job->operation = (struct operation){ .run = run, .arena = arena, .caller = &caller_pawl };
    return pipeline_do(alerter->server->pawl->pipeline, &job->operation, err);
}

// ----- one round

static void say(const struct courier *c, enum log_level level, const char *event,
                struct str message, struct str key)
{
    log_write(c->alerter->server->log, &(struct log_entry){
                                           .level = level,
                                           .event = event,
                                           .message = message,
                                           .fields = { LOG_TEXT("target", c->config->name),
                                                       LOG_TEXT("dedupe_key", key) },
                                       });
}

static bool next_due(struct courier *c, struct arena *arena, int64_t *wait_us,
                     struct pawl_error *err)
{
    struct reading reading;
    pawl_time due = 0;
    if (!server_begin_read(c->alerter->server, &reading, arena, err))
        return false;
    bool read = alert_due(&reading.tx, c->target.id, &due, err);
    *wait_us = due ? due - reading.tx.now : LOOK_US;
    server_end_read(c->alerter->server, &reading);
    return read;
}

// The message, in a read transaction of its own: the writer does not wait for it.
static bool compose(struct courier *c, const struct parcel *parcel, struct arena *arena,
                    struct str *body, struct pawl_error *err)
{
    const struct config *config = atomic_load(&c->alerter->server->config);
    struct reading reading;
    struct alert alert = {0};
    struct alert_summary *summary = arena_new(arena, struct alert_summary, 1);
    if (!summary)
        return fail(err, PAWL_NO_MEMORY, "no memory for an alert");
    if (!server_begin_read(c->alerter->server, &reading, arena, err))
        return false;
    bool read = parcel->summary ? alert_summarise(&reading.tx, parcel->first, summary, err)
                                : alert_load(&reading.tx, parcel->first, &alert, err);
    const struct config_type *type = config_type(config, alert.job_type);
    *body = parcel->summary
              ? alert_summary_text(arena, parcel, summary)
              : alert_text(arena, &alert, type ? type->type.runbook : S(""));
    server_end_read(c->alerter->server, &reading);
    return read && (body->n > 0 || fail(err, PAWL_NO_MEMORY, "no memory for an alert"));
}

static struct alert_outcome judge(struct courier *c, const struct parcel *parcel,
                                  const struct told *told)
{
    int64_t attempts = parcel->attempts + 1;
    return (struct alert_outcome){
        .delivered = told->delivered,
        .give_up = attempts >= c->config->attempts,
        .delay_us = alert_delay_us(attempts, told->asked_us),
        .error = str_of(told->detail),
    };
}

static void report(struct courier *c, const struct alert_outcome *outcome, struct str key)
{
    static const struct {
        const char *outcome, *event;
        enum log_level level;
    } rows[] = {
        { "failed", "ALERT_NOT_DELIVERED", LOG_LEVEL_WARNING },
        { "given_up", "ALERT_GIVEN_UP", LOG_LEVEL_WARNING },
        { "delivered", "ALERT_DELIVERED", LOG_LEVEL_INFO },
    };
    size_t row = outcome->give_up;
    if (outcome->delivered)
        row = 2;
    metrics_alert(c->alerter->server->metrics, c->config->name, rows[row].outcome);
    say(c, rows[row].level, rows[row].event, outcome->error, key);
}

// A try that was cut short because we stop does not count: whoever comes next tries it again.
static bool tell(struct courier *c, struct job_of_store *job, struct arena *arena,
                 struct pawl_error *err)
{
    struct str key = alert_parcel_key(arena, &job->parcel), body = S("");
    struct told told;
    if (!compose(c, &job->parcel, arena, &body, err))
        return false;
    struct str kind = job->parcel.summary ? S("summary")
                                          : str_of(alert_kind_name(job->parcel.kind));
    allowance_spend(&c->allowance, world_monotonic(c->alerter->server->pawl->world));
    teller_tell(c->teller, &(struct telling){ kind, key, body }, &told);
    if (!told.delivered && atomic_load(&c->alerter->stopping))
        return true;
    job->outcome = judge(c, &job->parcel, &told);
    report(c, &job->outcome, key);
    return do_in_store(c->alerter, job, arena, run_settle, err);
}

static bool put_again(struct courier *c, struct arena *arena, struct pawl_error *err)
{
    int64_t now = world_monotonic(c->alerter->server->pawl->world);
    struct job_of_store job = { .courier = c };
    if (c->target.id && now - c->put_at < PUT_AGAIN_US)
        return true;
    c->put_at = now;
    return do_in_store(c->alerter, &job, arena, run_put, err);
}

// Answers how long nothing needs to be done, unless something is raised.
static bool round_of(struct courier *c, struct arena *arena, int64_t *wait_us,
                     struct pawl_error *err)
{
    const struct world *world = c->alerter->server->pawl->world;
    struct job_of_store job = { .courier = c };
    if (!put_again(c, arena, err) || !next_due(c, arena, wait_us, err))
        return false;
    int64_t allowed_in = allowance_wait_us(&c->allowance, world_monotonic(world));
    if (*wait_us <= 0)
        *wait_us = allowed_in;
    if (*wait_us > 0)
        return true;
    if (!do_in_store(c->alerter, &job, arena, run_take, err))
        return false;
    *wait_us = job.parcel.first ? 0 : LOOK_US;  // else another process delivers
    return job.parcel.first == 0 || tell(c, &job, arena, err);
}

// ----- the thread

static uint64_t news_of(struct alerter *alerter)
{
    pthread_mutex_lock(&alerter->mutex);
    uint64_t news = alerter->news;
    pthread_mutex_unlock(&alerter->mutex);
    return news;
}

static void sleep_for(struct alerter *alerter, uint64_t seen, int64_t wait_us)
{
    struct timespec until;
    int64_t wait = wait_us < LOOK_US ? wait_us : LOOK_US;
    int64_t end = world_end_of(world_real(), wait);
    until = (struct timespec){ .tv_sec = end / SECONDS(1), .tv_nsec = end % SECONDS(1) * 1000 };
    pthread_mutex_lock(&alerter->mutex);
    while (alerter->news == seen && !atomic_load(&alerter->stopping)
           && pthread_cond_timedwait(&alerter->wake, &alerter->mutex, &until) == 0) {}
    pthread_mutex_unlock(&alerter->mutex);
}

static void *deliver(void *self)
{
    struct courier *c = self;
    struct alerter *alerter = c->alerter;
    while (!atomic_load(&alerter->stopping)) {
        SCOPED(arena) struct arena arena = {0};
        struct pawl_error err = {0};
        uint64_t seen = news_of(alerter);
        int64_t wait_us = 0;
        if (!round_of(c, &arena, &wait_us, &err)) {
            say(c, LOG_LEVEL_WARNING, "ALERTS_DELAYED", str_of(err.message), S(""));
            seen = news_of(alerter);  // news do not make the store better
            wait_us = TROUBLE_US;
        }
        if (wait_us > 0)
            sleep_for(alerter, seen, wait_us);
    }
    return NULL;
}

// Signals are for the thread that waits for them.
static bool start_thread(struct courier *c, struct pawl_error *err)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    c->runs = pthread_create(&c->thread, NULL, deliver, c) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return c->runs || fail(err, PAWL_FULL, "no thread for the alerts");
}

// ----- targets of a configuration

static bool start_courier(struct alerter *alerter, const struct config_alert *config,
                          struct pawl_error *err)
{
    SCOPED(arena) struct arena arena = {0};
    struct courier *c = &alerter->couriers[alerter->count++];
    *c = (struct courier){
        .alerter = alerter,
        .config = config,
        .target = { .name = config->name, .kinds = config->kinds },
        .allowance = { .per_minute = config->rate, .burst = config->burst },
    };
    return put_again(c, &arena, err)  // before anything can be raised
        && teller_open(&c->teller, config, &alerter->stopping, err) && start_thread(c, err);
}

static bool is_target(const struct config *config, struct str name)
{
    for (size_t i = 0; i < config->alert_count; i++)
        if (str_eq(config->alerts[i].name, name))
            return true;
    return false;
}

static bool run_drop(struct tx *tx, struct operation *operation, struct pawl_error *err)
{
    const struct job_of_store *job = (struct job_of_store *)operation;
    const struct config *from = job->dropped_from;
    for (size_t i = 0; i < from->alert_count; i++)
        if (!is_target(job->dropped_to, from->alerts[i].name)
            && !alert_target_drop(tx, from->alerts[i].name, err))
            return false;
    return true;
}

void alerter_stop(struct alerter *alerter)
{
    if (!alerter)
        return;
    pthread_mutex_lock(&alerter->mutex);
    atomic_store(&alerter->stopping, true);
    pthread_cond_broadcast(&alerter->wake);
    pthread_mutex_unlock(&alerter->mutex);
    for (size_t i = 0; i < alerter->count; i++) {
        if (alerter->couriers[i].runs)
            pthread_join(alerter->couriers[i].thread, NULL);
        teller_close(alerter->couriers[i].teller);
    }
    alerter->count = 0;
}

bool alerter_use(struct alerter *alerter, const struct config *config, struct pawl_error *err)
{
    SCOPED(arena) struct arena arena = {0};
    struct job_of_store job = { .dropped_from = alerter->config, .dropped_to = config };
    alerter_stop(alerter);
    atomic_store(&alerter->stopping, false);
    alerter->config = config;
    if (job.dropped_from && job.dropped_from->alert_count > 0
        && !do_in_store(alerter, &job, &arena, run_drop, err))
        return false;
    for (size_t i = 0; i < config->alert_count; i++)
        if (!start_courier(alerter, &config->alerts[i], err))
            return false;
    return true;
}

// ----- the whole

bool alerter_open(struct alerter **opened, struct server *server, struct pawl_error *err)
{
    struct alerter *alerter = *opened = calloc(1, sizeof *alerter);
    pthread_condattr_t monotonic;
    if (!alerter)
        return fail(err, PAWL_NO_MEMORY, "no memory for the alerts");
    alerter->server = server;
    alerter->owner = str_of(server->pawl->options.instance);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&alerter->mutex, NULL);
    pthread_cond_init(&alerter->wake, &monotonic);
    pthread_condattr_destroy(&monotonic);
    return true;
}

void alerter_close(struct alerter *alerter)
{
    if (!alerter)
        return;
    pthread_cond_destroy(&alerter->wake);
    pthread_mutex_destroy(&alerter->mutex);
    free(alerter);
}

static void log_alert(struct alerter *alerter, const struct observation *event)
{
    SCOPED(arena) struct arena arena = {0};
    struct str class = str_of(error_class_name(event->error_class));
    struct log_entry entry = {
        .level = LOG_LEVEL_WARNING,
        .event = "ALERT",
        .message = str_of(alert_kind_meaning(event->alert)),
        .about = { .job_id = id_text(&arena, event->job),
                   .job_type = event->job_type,
                   .org_id = event->org_id,
                   .project_id = event->project_id,
                   .request_id = event->request_id,
                   .correlation_id = event->correlation_id,
                   .attempt = event->attempt },
        .fields = { LOG_TEXT("kind", str_of(alert_kind_name(event->alert))),
                    LOG_TEXT("dedupe_key", alert_key(&arena, event->alert, event->job)),
                    LOG_TEXT("queue", event->queue_name), LOG_TEXT("error_class", class) },
    };
    log_write(alerter->server->log, &entry);
}

void alerter_observe(struct alerter *alerter, const struct observed *observed)
{
    bool raised = observed->incomplete;
    for (size_t i = 0; i < observed->count; i++)
        if (observed->events[i].alert) {
            log_alert(alerter, &observed->events[i]);
            raised = true;
        }
    if (!raised)
        return;
    pthread_mutex_lock(&alerter->mutex);
    alerter->news++;
    pthread_cond_broadcast(&alerter->wake);
    pthread_mutex_unlock(&alerter->mutex);
}
