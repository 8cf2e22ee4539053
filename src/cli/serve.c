// pawl serve: starts the server, then waits for signals. They are blocked in every thread and taken
// by this one, so that nothing is ever done inside a signal handler.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/output.h"
#include "server/config.h"
#include "server/log.h"
#include "server/notify.h"
#include "server/server.h"
#include "store/store_url.h"

enum { EXIT_OUTDATED = 6 };  // so that whoever supervises it can tell: start the newer program

// SIGUSR1 is our own: a thread of the server's has something to say.
static void signals_of(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGTERM);
    sigaddset(set, SIGINT);
    sigaddset(set, SIGHUP);
    sigaddset(set, SIGUSR1);
}

static void store_is_newer(void *outdated)
{
    atomic_store((_Atomic bool *)outdated, true);
    kill(getpid(), SIGUSR1);
}

// ----- the log

static void say(struct server_log *log, enum log_level level, const char *event,
                const char *message)
{
    struct log_entry entry = { .level = level, .event = event, .message = str_of(message) };
    log_write(log, &entry);
}

static bool open_log(struct server_log **log, const struct config *config, struct pawl_error *err)
{
    struct log_options options = { .fd = STDERR_FILENO, .level = config->log.level };
    if (!str_eq(config->log.file, S("stderr")))
        options.fd = open(config->log.file.s, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0640);
    if (options.fd < 0)
        return fail(err, PAWL_INVALID, "log.file: cannot write to %.*s: %s",
                    STR(config->log.file), strerror(errno));
    return log_open(log, &options, err);
}

// ----- configuration

// What the command line says goes before the file.
static bool apply_options(struct cli *cli, struct arena *arena, struct config *config,
                          struct pawl_error *err)
{
    const char *store = getenv("PAWL_STORE");
    if (cli->given[OPTION_STORE])
        config->store = cli->value[OPTION_STORE];
    else if (store && *store && config->path.n == 0)
        config->store = str_of(store);
    if (cli->given[OPTION_EXCLUSIVE])
        config->instance = S("exclusive");
    return !cli->given[OPTION_LISTEN]
        || listen_parse(arena, cli->value[OPTION_LISTEN], &config->listen)
        || usage(cli, err, "--listen must be HOST:PORT, such as 127.0.0.1:7319");
}

static bool load(struct cli *cli, struct arena *arena, struct config *config,
                 struct yaml_faults *faults, struct pawl_error *err)
{
    *faults = (struct yaml_faults){0};
    if (!cli->given[OPTION_CONFIG])
        *config = config_default(arena);
    else if (!config_load(arena, str_cstr(arena, cli->value[OPTION_CONFIG]), config, faults, err))
        return false;
    return apply_options(cli, arena, config, err);
}

static void print_faults(struct cli *cli, const struct yaml_faults *faults)
{
    for (size_t i = 0; i < faults->count; i++)
        fprintf(stderr, "%.*s\n",
                STR(safe(&cli->arena, yaml_fault_text(&cli->arena, faults, i))));
}

// Earlier configurations live on: requests under way may still use them. Reloads are rare.
static void reload(struct cli *cli, struct server *server, struct server_log *log)
{
    struct config *config = arena_new(&cli->arena, struct config, 1);
    struct yaml_faults *faults = arena_new(&cli->arena, struct yaml_faults, 1);
    struct pawl_error err = {0};
    if (!config || !faults)
        return;
    if (load(cli, &cli->arena, config, faults, &err) && server_reload(server, config, &err)) {
        say(log, LOG_LEVEL_INFO, "CONFIG_LOADED", "the configuration was read again");
        server_record(server, "config", EVENT_CONFIG_LOADED, "");
        log_set_level(log, config->log.level);
        return;
    }
    const char *why = faults->count ? str_cstr(&cli->arena, yaml_fault_text(&cli->arena, faults, 0))
                                    : err.message;
    print_faults(cli, faults);
    say(log, LOG_LEVEL_WARNING, "CONFIG_REFUSED", err.message);
    server_record(server, "config", EVENT_CONFIG_REFUSED, why);
}

// ----- the server

struct serving {
    struct server *server;
    struct server_log *log;
    _Atomic bool outdated;
};

static void greet(struct cli *cli, struct server *server)
{
    struct str address = server_address(server);
    const struct config *config = atomic_load(&server->config);
    const char *scheme = config->tls.certificate.n ? "https" : "http";
    struct str store = safe(&cli->arena, url_shown(&cli->arena, config->store));
    if (address.n == 0) {
        printf("pawl %s works on %.*s\n", PAWL_VERSION, STR(store));
    } else {
        printf("pawl %s on %s://%.*s, store %.*s\n", PAWL_VERSION, scheme, STR(address),
               STR(store));
        printf("The API is described at %s://%.*s/openapi.json\n", scheme, STR(address));
    }
    fflush(stdout);
}

// True: go on.
static bool obey(struct cli *cli, struct serving *s, int signal_number)
{
    struct server *server = s->server;
    struct server_log *log = s->log;
    if (signal_number == SIGUSR1)
        return !atomic_load(&s->outdated);
    if (signal_number != SIGHUP)
        return false;
    notify(S("RELOADING=1"));
    reload(cli, server, log);
    notify(S("READY=1"));
    return true;
}

static void wait_for_the_end(struct cli *cli, struct serving *s)
{
    sigset_t set;
    int signal_number = 0;
    signals_of(&set);
    do {
        while (sigwait(&set, &signal_number) != 0) {}
    } while (obey(cli, s, signal_number));
    sigdelset(&set, SIGHUP);
    sigdelset(&set, SIGUSR1);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);  // a second one ends it at once, as a kill would
}

static enum server_part part_of(const struct cli *cli)
{
    if (!cli->given[OPTION_ONLY])
        return SERVER_ALL;
    return str_eq(cli->value[OPTION_ONLY], S("api")) ? SERVER_API : SERVER_WORKER;
}

// When nothing can be written any more there is nothing to wait for.
static void stop(struct cli *cli, struct serving *s, int64_t grace_us)
{
    bool outdated = atomic_load(&s->outdated);
    notify(S("STOPPING=1"));
    say(s->log, outdated ? LOG_LEVEL_WARNING : LOG_LEVEL_INFO, "SERVER_STOPPING",
        outdated ? "the store is for a newer pawl: start that one" : "no new work is taken");
    cli->status = outdated ? EXIT_OUTDATED : 0;
    server_close(s->server, outdated ? 0 : grace_us);
}

// The name is held by another one with --exclusive: no name of its own would help.
static bool start(struct cli *cli, struct serving *s, const struct server_options *options,
                  struct pawl_error *err)
{
    struct pawl_error why = {0};
    if (server_open(&s->server, options, &why))
        return true;
    if (cli->given[OPTION_EXCLUSIVE] && why.code == PAWL_CONFLICT
        && str_starts(str_of(why.message), S("instance ")))
        return fail(err, why.code, "another `pawl serve --exclusive` works on store %.*s: stop "
                                   "that one first, or start both without --exclusive to have "
                                   "them share the work",
                    STR(url_shown(&cli->arena, options->config->store)));
    return fail(err, why.code, "%s", why.message);
}

bool command_serve(struct cli *cli, struct pawl_error *err)
{
    struct config config;
    struct yaml_faults faults;
    struct serving serving = {0};
    sigset_t set;
    signals_of(&set);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    if (!load(cli, &cli->arena, &config, &faults, err)) {
        print_faults(cli, &faults);
        return false;
    }
    struct server_options options = {
        .config = &config,
        .only = part_of(cli),
        .listens = cli->given[OPTION_LISTEN],
        .outdated = store_is_newer,
        .outdated_self = &serving.outdated,
    };
    if (!open_log(&serving.log, &config, err))
        return false;
    options.log = serving.log;
    bool opened = start(cli, &serving, &options, err);
    if (opened) {
        greet(cli, serving.server);
        notify(S("READY=1"));
        wait_for_the_end(cli, &serving);
        stop(cli, &serving, config.limits.grace_us);
    }
    log_close(serving.log, SECONDS(1));
    return opened;
}
