// Both manuals say the same in the same order; what differs is how a text is escaped and marked.
#include "cli/manual.h"

#include <stdio.h>

#include "cli/backend.h"

// What concerns all commands: a name, and what it is.
struct topic {
    const char *name, *text;
};

static const char about[] =
    "Pawl keeps background jobs in a store and runs each to its end, also when the power goes out "
    "in between. One program is server, worker and command line.";

static const struct topic environment[] = {
    { "PAWL_SERVER", "the server to ask; set to nothing: none is looked for" },
    { "PAWL_API_KEY", "the key for that server; it is never taken from the command line" },
    { "PAWL_CACERT", "a file with certificates of authorities that may sign the server's" },
    { "PAWL_STORE", "the store to work on, such as sqlite:/var/lib/pawl/pawl.db" },
    { "NO_COLOR", "set to anything: no colours on a terminal" },
};

static const struct topic statuses[] = {
    { "0", "done; with --wait: the job SUCCEEDED" },
    { "1", "it failed, the job was invalid, or the answer is no; the reason is on standard error" },
    { "2", "bad usage" },
    { "3", "not found" },
    { "4", "refused: conflict, wrong state, lease lost" },
    { "5", "not allowed: no key, a wrong one, or one whose role may not do this" },
    { "6", "of serve: a newer pawl has migrated the store. Start that one" },
};

static const char where[] =
    "Commands on jobs, keys and queues ask a server (--server URL) or work on a store (--store "
    "URL), with the same output and the same exit status. Without these options $PAWL_SERVER or "
    "$PAWL_STORE decides. With neither of them the server at " SERVER_DEFAULT " is asked if one "
    "answers there within 200 ms, else the store is sqlite:pawl.db. A server takes the org from "
    "the key, so --org is for stores only. Keys travel in the clear over http: use https beyond "
    "this machine.";

static void print_policies(void)
{
    for (size_t i = 0; policy_builtin_at(i); i++)
        printf("%s%.*s", i ? " " : "", STR(policy_builtin_at(i)->name));
    putchar('\n');
}

// ----- roff

// A minus is a minus, a backslash a backslash, and no text starts a request by accident.
static void roff(struct str text)
{
    bool line_starts = true;
    for (size_t i = 0; i < text.n; i++) {
        char c = text.s[i];
        if (line_starts && (c == '.' || c == '\''))
            fputs("\\&", stdout);
        if (c == '\\')
            fputs("\\e", stdout);
        else if (c == '-')
            fputs("\\-", stdout);
        else if (c == '\'')
            fputs("\\(aq", stdout);
        else if (c == '`')
            fputs("\\(ga", stdout);
        else if (c == '~')
            fputs("\\(ti", stdout);
        else if (c == '^')
            fputs("\\(ha", stdout);
        else
            putchar(c);
        line_starts = c == '\n';
    }
}

static void roff_block(const char *text)
{
    fputs(".nf\n", stdout);
    roff(str_of(text));
    fputs(".fi\n", stdout);
}

static void roff_offer(const struct offer *offer)
{
    const struct option_row *row = option_row(offer->option);
    fputs(".TP\n\\fB\\-\\-", stdout);
    roff(str_of(row->name));
    fputs("\\fR", stdout);
    if (row->value) {
        fputs(" \\fI", stdout);
        roff(str_of(row->value));
        fputs("\\fR", stdout);
    }
    putchar('\n');
    roff(str_of(offer->help));
    putchar('\n');
}

static void roff_command(const struct command *command)
{
    printf(".SS ");
    roff(str_of(command->name));
    fputs("\n\\fBpawl ", stdout);
    roff(str_of(command->name));
    fputs("\\fR", stdout);
    if (*command->words) {
        fputs(" \\fI", stdout);
        roff(str_of(command->words));
        fputs("\\fR", stdout);
    }
    fputs(" [options]\n.PP\n", stdout);
    roff(str_of(command->summary));
    puts(".");
    if (*command->details) {
        puts(".PP");
        roff_block(command->details);
    }
    for (size_t i = 0; i < command->offer_count; i++)
        roff_offer(&command->offers[i]);
    fputs(".PP\nExample:\n.PP\n.RS 4\n.nf\n", stdout);
    roff(str_of(command->example));
    fputs("\n.fi\n.RE\n", stdout);
}

static void roff_topics(const char *title, const struct topic *topics, size_t count)
{
    printf(".SH %s\n", title);
    for (size_t i = 0; i < count; i++) {
        fputs(".TP\n\\fB", stdout);
        roff(str_of(topics[i].name));
        fputs("\\fR\n", stdout);
        roff(str_of(topics[i].text));
        puts(".");
    }
}

static void roff_section(const char *title, const char *text)
{
    printf(".SH %s\n", title);
    roff(str_of(text));
    putchar('\n');
}

void manual_roff(void)
{
    puts(".TH PAWL 1 \"\" \"pawl " PAWL_VERSION "\" \"User Commands\"\n"
         ".SH NAME\n"
         "pawl \\- durable background jobs\n"
         ".SH SYNOPSIS\n"
         "\\fBpawl\\fR \\fICOMMAND\\fR [words] [options]");
    roff_section("DESCRIPTION", about);
    puts(".SH COMMANDS");
    for (size_t i = 0; command_at(i); i++)
        roff_command(command_at(i));
    puts(".SH POLICIES\n"
         "Built in, for \\fB\\-\\-policy\\fR; a server may have more by its configuration:");
    print_policies();
    roff_section("SERVER OR STORE", where);
    roff_topics("ENVIRONMENT", environment, countof(environment));
    roff_topics("EXIT STATUS", statuses, countof(statuses));
}

// ----- Markdown

// In a cell of a table: a line is a line, and a bar does not end it.
static void cell(const char *text)
{
    for (; *text; text++)
        if (*text == '|')
            fputs("\\|", stdout);
        else if (*text == '\n')
            putchar(' ');
        else
            putchar(*text);
}

static void markdown_command(const struct command *command)
{
    printf("\n## pawl %s\n\n", command->name);
    printf("`pawl %s%s%s [options]` — %s.\n\n", command->name, *command->words ? " " : "",
           command->words, command->summary);
    if (*command->details)
        printf("```text\n%s```\n\n", command->details);
    puts("| option | means |\n|---|---|");
    for (size_t i = 0; i < command->offer_count; i++) {
        const struct option_row *row = option_row(command->offers[i].option);
        printf("| `--%s%s%s` | ", row->name, row->value ? " " : "", row->value ? row->value : "");
        cell(command->offers[i].help);
        puts(" |");
    }
    printf("\n```sh\n%s\n```\n", command->example);
}

static void markdown_topics(const char *title, const struct topic *topics, size_t count)
{
    printf("\n## %s\n\n| | |\n|---|---|\n", title);
    for (size_t i = 0; i < count; i++)
        printf("| `%s` | %s |\n", topics[i].name, topics[i].text);
}

void manual_markdown(void)
{
    printf("# The command line\n\n"
           "%s `pawl help --markdown` prints this page from the table of commands.\n\n"
           "## Server or store\n\n%s\n",
           about, where);
    puts("\n## Policies\n\nBuilt in, for `--policy`; a server may have more by its configuration:");
    print_policies();
    markdown_topics("Environment", environment, countof(environment));
    markdown_topics("Exit status", statuses, countof(statuses));
    for (size_t i = 0; command_at(i); i++)
        markdown_command(command_at(i));
}
