// Help is printed from the table of commands, so it says what the program does.
#include <stdio.h>
#include <string.h>

#include "cli/command.h"

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
         "The store is --store URL, else $PAWL_STORE, else sqlite:pawl.db. NO_COLOR is respected.\n"
         "Exit status: 0 done, 1 it failed, or the job was invalid, 2 bad usage, 3 not found,\n"
         "4 refused, 5 not allowed (with keys).\n\n"
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

bool command_help(struct cli *cli, struct pawl_error *err)
{
    if (cli->word_count == 0) {
        help_program();
        return true;
    }
    const struct command *command = command_find(cli->words[0]);
    if (!command)
        return unknown_command(cli, cli->words[0], err);
    help_command(command);
    return true;
}
