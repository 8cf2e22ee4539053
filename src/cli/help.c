// Help is printed from the table of commands, so it says what the program does.
#include <stdio.h>
#include <string.h>

#include "cli/backend.h"
#include "cli/manual.h"

static size_t commands_width(void)
{
    size_t width = 0;
    for (size_t i = 0; command_at(i); i++)
        if (strlen(command_at(i)->name) > width)
            width = strlen(command_at(i)->name);
    return width;
}

void help_program(void)
{
    puts("pawl " PAWL_VERSION ": durable background jobs\n\n"
         "Usage: pawl COMMAND [words] [options]\n\n"
         "Commands:");
    for (size_t i = 0; command_at(i); i++)
        printf("  %-*s  %s\n", (int)commands_width(), command_at(i)->name,
               command_at(i)->summary);
    puts("\nOptions:\n"
         "  --help     this page; after a command, what that command takes\n"
         "  --version  which pawl this is\n\n"
         "Commands on jobs, keys and queues ask a server or work on a store: --server URL or\n"
         "--store URL, else $PAWL_SERVER or $PAWL_STORE. With neither they ask the server\n"
         "at " SERVER_DEFAULT " if one answers, else they work on sqlite:pawl.db;\n"
         "with --org, or with PAWL_SERVER set to nothing, no server is looked for. The key\n"
         "for a server is $PAWL_API_KEY or in --key-file. NO_COLOR is respected.\n"
         "Exit status: 0 done, 1 it failed, or the job was invalid, 2 bad usage, 3 not found,\n"
         "4 refused, 5 not allowed (with keys), 6 serve: the store is for a newer pawl.\n\n"
         "Example:\n"
         "  pawl enqueue report.export '{\"month\": \"2026-08\"}' && pawl jobs");
}

static void print_offer(const struct offer *offer)
{
    const struct option_row *row = option_row(offer->option);
    char shown[64];
    snprintf(shown, sizeof(shown), "--%s%s%s", row->name, row->value ? " " : "",
             row->value ? row->value : "");
    struct str line, rest = str_of(offer->help);
    for (bool more = true; more; shown[0] = '\0') {
        more = str_cut(rest, '\n', &line, &rest);
        printf("  %-20s  %.*s\n", shown, STR(line));
    }
}

static bool takes_policy(const struct command *command)
{
    for (size_t i = 0; i < command->offer_count; i++)
        if (command->offers[i].option == OPTION_POLICY)
            return true;
    return false;
}

static void print_policies(void)
{
    fputs("\nPolicies:\n ", stdout);
    for (size_t i = 0; policy_builtin_at(i); i++)
        printf(" %.*s", STR(policy_builtin_at(i)->name));
    putchar('\n');
}

void help_command(const struct command *command)
{
    printf("Usage: pawl %s%s%s [options]\n\n", command->name, *command->words ? " " : "",
           command->words);
    printf("%s: %s.\n", command->name, command->summary);
    if (*command->details)
        printf("\n%s", command->details);
    puts("\nOptions:");
    for (size_t i = 0; i < command->offer_count; i++)
        print_offer(&command->offers[i]);
    if (takes_policy(command))
        print_policies();
    printf("\nExample:\n  %s\n", command->example);
}

// The manual of everything, in the form that was asked for; NULL: in none.
static void (*whole_manual(const struct cli *cli))(void)
{
    if (cli->given[OPTION_MAN])
        return manual_roff;
    return cli->given[OPTION_MARKDOWN] ? manual_markdown : NULL;
}

bool command_help(struct cli *cli, struct pawl_error *err)
{
    void (*manual)(void) = whole_manual(cli);
    if (cli->word_count == 0) {
        (manual ? manual : help_program)();
        return true;
    }
    if (manual)
        return usage(cli, err, "the manual is of all commands: leave `%.*s` out",
                     STR(cli->words[0]));
    const struct command *command = command_find(cli->words[0]);
    if (!command)
        return unknown_command(cli, cli->words[0], err);
    help_command(command);
    return true;
}
