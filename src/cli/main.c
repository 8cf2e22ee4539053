// pawl: reads the command line, runs one command, says what went wrong, exits with its status.
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "cli/backend.h"
#include "cli/client.h"
#include "cli/output.h"
#include "cli/session.h"
#include "server/supervisor.h"

static void cli_end(struct cli *cli)
{
    session_close(cli);
    client_close(cli->client);
    arena_end(&cli->arena);
}

static bool needs_backend(const struct cli *cli)
{
    const struct command *command = cli->command;
    bool offline = command->offline && cli->word_count > 0
        && str_eq(cli->words[0], str_of(command->offline));
    return command_offers(command, OPTION_SERVER) && !offline;
}

static bool run_command(struct cli *cli, struct pawl_error *err)
{
    if (cli->given[OPTION_VERSION]) {
        puts("pawl " PAWL_VERSION);
        return true;
    }
    if (cli->given[OPTION_HELP]) {
        if (cli->command)
            help_command(cli->command);
        else
            help_program();
        return true;
    }
    if (!cli->command)
        return usage(cli, err, "pawl needs a command");
    session_caller(cli);
    backend_say_store(cli);
    return (!needs_backend(cli) || backend_choose(cli, err)) && cli->command->act(cli, err);
}

// A full disk behind standard output shows only when the last of it is written; a table that had no
// memory is incomplete.
static bool flush(const struct cli *cli, struct pawl_error *err)
{
    if (cli->arena.failed)
        return fail(err, PAWL_NO_MEMORY, "out of memory: the output is incomplete");
    bool written = fflush(stdout) == 0 && !ferror(stdout);
    return written || fail(err, PAWL_STORE, "cannot write the output: %s", strerror(errno));
}

// As the server says it (RFC 9457), in one line.
static bool complain_json(struct cli *cli, const struct pawl_error *err, bool listed)
{
    const struct pawl_code_row *row = pawl_code(err->code);
    SCOPED(json) json_t *problem = json_pack("{s:i, s:s, s:s}", "status", row->http, "detail",
                                             err->message, "code", row->word);
    json_t *errors = listed ? json_array() : NULL;
    for (size_t i = 0; listed && i < cli->problems.count; i++) {
        const struct problem *p = &cli->problems.list[i];
        json_array_append_new(errors, json_pack("{s:s%, s:s%}", "field", p->field.s, p->field.n,
                                                "message", p->message.s, p->message.n));
    }
    if (errors)
        json_object_set_new(problem, "errors", errors);
    struct str text = problem ? safe(&cli->arena, json_text(&cli->arena, problem)) : S("");
    fprintf(stderr, "%.*s\n", STR(text));
    return text.n > 0;
}

static int complain(struct cli *cli, const struct pawl_error *err)
{
    const struct problems *problems = &cli->problems;
    bool listed = err->code == PAWL_INVALID && problems->count > 0;
    fflush(stdout);
    if (cli->given[OPTION_JSON] && complain_json(cli, err, listed))
        return pawl_code(err->code)->exit;
    if (!listed)
        fprintf(stderr, "pawl: %.*s\n", STR(safe(&cli->arena, str_of(err->message))));
    for (size_t i = 0; listed && i < problems->count; i++)
        print_problem(&cli->arena, S("pawl"), &problems->list[i]);
    return pawl_code(err->code)->exit;
}

int main(int argc, char **argv)
{
    if (supervisor_asked(argc, argv))
        return supervisor_main(argc, argv);
    SCOPED(cli) struct cli cli = { .world = world_real() };
    struct pawl_error err = {0};
    cli.problems.arena = &cli.arena;
    signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is an error like a full disk
    bool done = cli_parse(&cli, argc, argv, &err) && run_command(&cli, &err) && flush(&cli, &err);
    return done ? cli.status : complain(&cli, &err);
}
