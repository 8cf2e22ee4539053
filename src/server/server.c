// The parts in the order they depend on each other; closing goes the other way round.
#include "server/server.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/artifact.h"
#include "model/weight.h"
#include "server/alerter.h"
#include "server/aside.h"
#include "server/command.h"
#include "server/command_files.h"
#include "server/exchange.h"
#include "server/http.h"
#include "server/hub.h"
#include "server/log.h"
#include "server/metrics.h"
#include "server/post.h"
#include "server/retention.h"
#include "server/route.h"
#include "server/tracer.h"
#include "store/names.h"

// ----- what each commit tells

static void observe(void *self, const struct observed *observed)
{
    struct server *s = self;
    metrics_observe(s->metrics, observed);
    hub_observe(s->hub, observed);
    alerter_observe(s->alerter, observed);
    tracer_observe(s->tracer, observed);
}

// ----- opening

// Weights and limits of queues; the earlier ones live on, a transaction may still use them.
static struct queue_terms *terms_of(struct server *s, const struct config *config)
{
    struct queue_terms *terms = arena_new(&s->arena, struct queue_terms, 1);
    struct queue_term *rows = arena_new(&s->arena, struct queue_term, config->queue_count + 1);
    if (!terms || !rows)
        return NULL;
    for (size_t i = 0; i < config->queue_count; i++)
        rows[i] = (struct queue_term){ .name = config->queues[i].name,
                                       .weight = config->queues[i].weight,
                                       .depth_max = config->queues[i].depth };
    *terms = (struct queue_terms){ rows, config->queue_count };
    return terms;
}

static struct str instance_of(const struct config *config, struct arena *arena,
                              const char *suffix)
{
    char host[256] = "localhost";
    if (config->instance.n)
        return str_format(arena, "%.*s%s", STR(config->instance), suffix);
    gethostname(host, sizeof host - 1);
    return str_format(arena, "%s:%lld%s", host, (long long)config->listen.port, suffix);
}

static struct str instance_name(struct server *s, struct arena *arena)
{
    static const char *const suffixes[] = {
        [SERVER_ALL] = "",
        [SERVER_API] = "/api",
        [SERVER_WORKER] = "/worker",
    };
    return instance_of(atomic_load(&s->config), arena, suffixes[s->only]);
}

// Both services of one configuration set its limits in one name.
static bool use_limits(struct server *s, const struct config *config, struct pawl_error *err)
{
    SCOPED(arena) struct arena arena = {0};
    return server_limit(s, config, instance_of(config, &arena, ""), err);
}

static bool open_store(struct server *s, const struct server_options *from,
                       struct pawl_error *err)
{
    SCOPED(arena) struct arena arena = {0};
    const struct config *config = atomic_load(&s->config);
    const struct config_limits *limits = &config->limits;
    struct pawl_options options = {
        .store = str_cstr(&arena, config->store),
        .actor_id = "pawl serve",
        .instance = str_cstr(&arena, instance_name(s, &arena)),
        .workers = (int)limits->workers,
        .grace_us = limits->grace_us,
        .waiting_max = (size_t)limits->waiting,
        .log = log_of_library,
        .log_context = s->log,
    };
    if (!pawl_open(&s->pawl, &options, err))
        return false;
    s->pawl->outdated = from->outdated;
    s->pawl->outdated_self = from->outdated_self;
    return true;
}

// execve asks for texts it may change and does not.
static char *const *arguments(const char *const *texts)
{
    union {
        const char *const *ours;
        char *const *theirs;
    } same = { .ours = texts };
    return same.theirs;
}

static bool use_command(struct server *s, const struct config *config,
                        const struct config_type *type, struct pawl_handler *handler,
                        struct pawl_error *err)
{
    struct command_type *command = arena_new(&s->arena, struct command_type, 1);
    if (!command)
        return fail(err, PAWL_NO_MEMORY, "no memory for a command");
    *command = (struct command_type){
        .job_type = str_cstr(&s->arena, type->type.name),
        .run = arguments(type->run),
        .commit = arguments(type->commit),
        .directory = type->directory,
        .environment = arguments(type->environment.all),
        .secrets = arguments(type->environment.taken),
        .timeout_us = type->type.timeout_us,
        .grace_us = type->grace_us,
        .result_bytes_max = (size_t)config->limits.result_bytes,
        .log_bytes_max = (size_t)config->limits.log_bytes,
        .artifact_bytes_max = config->limits.artifact_bytes,
        .needs_artifact = effects_required(type->type.policy.category) & EFFECT_ARTIFACTS,
    };
    return command_handler(s->pawl, command, &s->arena, handler, err);
}

static bool use_post(struct server *s, const struct config *config, const struct config_type *type,
                     struct pawl_handler *handler, struct pawl_error *err)
{
    struct post_type *post = arena_new(&s->arena, struct post_type, 1);
    if (!post)
        return fail(err, PAWL_NO_MEMORY, "no memory for a job type");
    *post = (struct post_type){
        .job_type = str_cstr(&s->arena, type->type.name),
        .url = type->post,
        .headers = type->headers,
        .secret = type->secret,
        .timeout_us = type->type.timeout_us,
        .result_bytes_max = (size_t)config->limits.result_bytes,
    };
    post_handler(post, handler);
    return true;
}

// The commands and addresses of a configuration, as handlers. The API never runs jobs: it has none
// (SLOT-1).
static bool use_types(struct server *s, const struct config *config, struct pawl_error *err)
{
    size_t types = s->only == SERVER_API ? 0 : config->type_count, count = 0;
    struct pawl_handler *handlers = arena_new(&s->arena, struct pawl_handler, types + 2);
    if (!handlers)
        return fail(err, PAWL_NO_MEMORY, "no memory for the job types");
    for (size_t i = 0; i < types; i++) {
        const struct config_type *type = &config->types[i];
        if (!type->run && type->post.n == 0)
            continue;
        if (!(type->run ? use_command : use_post)(s, config, type, &handlers[count++], err))
            return false;
    }
    if (s->only != SERVER_API && !retention_handler(s, config, &handlers[count++], err))
        return false;
    return handle_replace(s->pawl, handlers, count, err);
}

// What follows from a configuration besides what requests read of it. All of it, or nothing.
static bool use_config(struct server *s, const struct config *config, struct pawl_error *err)
{
    struct queue_terms *terms = terms_of(s, config);
    struct contract_rules *rules = arena_new(&s->arena, struct contract_rules, 1);
    if (!terms || !rules)
        return fail(err, PAWL_NO_MEMORY, "no memory for the queues");
    if (!use_types(s, config, err))
        return false;
    atomic_store(&s->terms, terms);
    pipeline_set_terms(s->pawl->pipeline, terms);
    *rules = config_rules(config, NULL, 0, false);
    pipeline_set_rules(s->pawl->pipeline, rules);
    return true;
}

// Without commands the runner only keeps time. The API never schedules (SLOT-1).
static bool start_runner(struct server *s, struct pawl_error *err)
{
    s->pawl->keeps_time = true;
    atomic_store(&s->pawl->schedules, s->only != SERVER_API);
    return pawl_start(s->pawl, err);
}

static bool read_secret(struct server *s, struct pawl_error *err)
{
    SCOPED(arena) struct arena arena = {0};
    struct reading reading;
    const uint8_t *secret = NULL;
    if (!server_begin_read(s, &reading, &arena, err))
        return false;
    bool read = store_secret(&reading.tx, &secret, err);
    if (read)
        memcpy(s->secret, secret, sizeof s->secret);
    s->files = str_cstr(&s->arena, str_of(db_files(reading.db)));
    server_end_read(s, &reading);
    return read;
}

// What a process that died left behind. Whoever is at work meanwhile is not disturbed, and a
// failure is for the next start.
static void tidy_artifacts(struct server *s)
{
    SCOPED(arena) struct arena arena = {0};
    struct reading reading;
    struct pawl_error err = {0};
    size_t removed = 0;
    if (!server_begin_read(s, &reading, &arena, &err))
        return;
    tx_end(&reading.tx);
    bool done = artifacts_tidy(reading.db, &removed, &err);
    command_files_tidy(db_files(reading.db));
    server_end_read(s, &reading);
    if (removed > 0 || !done)
        log_write(s->log, &(struct log_entry){
                              .level = done ? LOG_LEVEL_INFO : LOG_LEVEL_WARNING,
                              .event = "ARTIFACTS_TIDIED",
                              .message = str_of(err.message),
                              .fields = { LOG_INT("removed", (int64_t)removed) },
                          });
}

// A caller without a key is admin, or refused: that tells.
static bool has_no_key(struct server *s, bool *open, struct pawl_error *err)
{
    SCOPED(arena) struct arena arena = {0};
    struct reading reading;
    struct identity nobody = {0};
    if (!server_begin_read(s, &reading, &arena, err))
        return false;
    *open = identity_find(s->identities, &reading.tx, S(""), &nobody, err) && nobody.open;
    server_end_read(s, &reading);
    return *open || err->code == PAWL_UNAUTHORIZED;
}

static bool listen_safely(struct server *s, struct pawl_error *err)
{
    bool open = false;
    return read_secret(s, err) && has_no_key(s, &open, err) && aside_open(&s->aside, err)
        && http_open(&s->http, s, open, err);
}

// Work begins when it is known that there will be a server: one that may not listen, or cannot, has
// started no job that it would have to end at once. Requests are answered last.
static bool open_parts(struct server *s, const struct server_options *options,
                       struct pawl_error *err)
{
    bool listens = options->only != SERVER_WORKER || options->listens;
    if (!open_store(s, options, err))
        return false;
    const struct config *config = atomic_load(&s->config);
    struct identity_options identity = { .world = s->pawl->world, .rate = config->auth.rate };
    s->started_at = world_wall(s->pawl->world);
    s->metrics = metrics_open(s->pawl->world);
    if (!s->metrics)
        return fail(err, PAWL_NO_MEMORY, "no memory for the server");
    if (!identities_open(&s->identities, &identity, err) || !hub_open(&s->hub, s, err)
        || !alerter_open(&s->alerter, s, err) || !tracer_open(&s->tracer, s, err))
        return false;
    s->pawl->traces_per_million = tracer_share(s->tracer);
    pawl_observe(s->pawl, observe, s);
    tidy_artifacts(s);
    return use_config(s, config, err) && use_limits(s, config, err)
        && (!listens || listen_safely(s, err)) && start_runner(s, err)
        && server_schedule(s, config, err) && alerter_use(s->alerter, config, err)
        && (!listens || http_start(s->http, err));
}

bool server_open(struct server **opened, const struct server_options *options,
                 struct pawl_error *err)
{
    struct server *s = calloc(1, sizeof *s);
    *opened = NULL;
    if (!s)
        return fail(err, PAWL_NO_MEMORY, "no memory for the server");
    atomic_store(&s->config, options->config);
    s->only = options->only;
    s->log = options->log;
    pthread_mutex_init(&s->reading, NULL);
    if (!open_parts(s, options, err)) {
        server_close(s, 0);
        return false;
    }
    server_record(s, "instance", EVENT_INSTANCE_STARTED, "");
    s->recorded = true;
    *opened = s;
    return true;
}

struct str server_address(const struct server *s)
{
    return s->http ? http_address(s->http) : S("");
}

// The store is closed last of all that is told of its commits: until then they may come.
void server_close(struct server *s, int64_t wait_us)
{
    if (!s)
        return;
    atomic_store(&s->draining, true);
    if (s->hub)
        hub_drain(s->hub);
    if (s->pawl)
        pawl_stop(s->pawl, wait_us);
    http_close(s->http);
    aside_close(s->aside);
    if (s->recorded)
        server_record(s, "instance", EVENT_INSTANCE_STOPPED, "");
    alerter_stop(s->alerter);
    tracer_stop(s->tracer);
    pawl_close(s->pawl);
    hub_close(s->hub);
    alerter_close(s->alerter);
    tracer_close(s->tracer);
    for (size_t i = 0; i < s->reader_count; i++)
        db_close(s->readers[i]);
    metrics_close(s->metrics);
    identities_close(s->identities);
    pthread_mutex_destroy(&s->reading);
    arena_end(&s->arena);
    free(s);
}

// ----- reloading

static bool same(struct str a, struct str b)
{
    return str_eq(a, b);
}

static bool same_listen(const struct config *a, const struct config *b)
{
    return same(a->listen.host, b->listen.host) && a->listen.port == b->listen.port;
}

bool server_reload(struct server *s, const struct config *config, struct pawl_error *err)
{
    const struct config *old = atomic_load(&s->config);
    const struct config_limits *was = &old->limits, *now = &config->limits;
    const struct {
        const char *what;
        bool same;
    } fixed[] = {
        { "store", same(old->store, config->store) },
        { "listen", same_listen(old, config) },
        { "instance", same(old->instance, config->instance) },
        { "tls", same(old->tls.certificate, config->tls.certificate)
                     && same(old->tls.key, config->tls.key) },
        { "tracing", same(old->tracing.endpoint, config->tracing.endpoint)
                         && same(old->tracing.service_name, config->tracing.service_name)
                         && old->tracing.per_million == config->tracing.per_million },
        { "log.file", same(old->log.file, config->log.file) },
        { "limits.workers", was->workers == now->workers },
        { "limits.connections", was->connections == now->connections },
        { "limits.connections_per_address",
          was->connections_per_address == now->connections_per_address },
        { "limits.header_time", was->header_us == now->header_us },
        { "limits.body_time", was->body_us == now->body_us },
        { "limits.idle_time", was->idle_us == now->idle_us },
        { "limits.waiting", was->waiting == now->waiting },
        { "limits.grace", was->grace_us == now->grace_us },
    };
    struct problems problems = { .arena = &s->arena };
    for (size_t i = 0; i < countof(fixed); i++)
        if (!fixed[i].same)
            problem_add(&problems, fixed[i].what, "can only be changed by a restart");
    if (problems.count > 0)
        return problems_none(&problems, err);
    if (!server_schedule(s, config, err) || !use_limits(s, config, err)
        || !use_config(s, config, err)
        || !alerter_use(s->alerter, config, err))
        return false;
    identities_rate(s->identities, config->auth.rate);
    atomic_store(&s->config, config);
    return true;
}
