// pawl completion: the table of commands as tables of the shell, and a function that looks into
// them, so that completing a word starts no program. bash and zsh write such tables alike.
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/verb.h"

static void print_names(void)
{
    for (size_t i = 0; command_at(i); i++)
        printf("%s%s", i ? " " : "", command_at(i)->name);
}

static void print_options(const struct command *command)
{
    for (size_t i = 0; i < command->offer_count; i++)
        printf("%s--%s", i ? " " : "", option_row(command->offers[i].option)->name);
}

// What the first word after a command can be.
static void print_words(const struct command *command)
{
    if (command->act == command_help)
        print_names();
    else if (command->verbs)
        fputs(command->verbs, stdout);
    else if (strstr(command->words, "FILE"))
        fputs("FILE", stdout);
}

// What the second can be: so far only a file.
static void print_more(const struct command *command)
{
    if (command->verbs && strstr(command->words, "FILE"))
        fputs("FILE", stdout);
}

static void print_table(const char *name, void (*entry)(const struct command *command))
{
    printf("typeset -gA %s=(\n", name);
    for (size_t i = 0; command_at(i); i++) {
        printf("    [%s]='", command_at(i)->name);
        entry(command_at(i));
        puts("'");
    }
    puts(")");
}

// The options that take a value, with what that can be.
static void print_values(void)
{
    puts("typeset -gA _pawl_values=(");
    for (unsigned i = 0; i < OPTIONS; i++) {
        const struct option_row *row = option_row((enum option)i);
        if (!row->value)
            continue;
        const char *values = strcmp(row->value, "FILE") == 0 ? "FILE" : row->values;
        printf("    [--%s]='%s'\n", row->name, values ? values : "");
    }
    puts(")");
}

static void print_tables(void)
{
    printf("_pawl_commands='");
    print_names();
    puts("'");
    print_table("_pawl_options", print_options);
    print_table("_pawl_words", print_words);
    print_table("_pawl_more", print_more);
    print_values();
}

static bool print_bash(struct cli *cli, struct pawl_error *err)
{
    (void)cli, (void)err;
    puts("# bash completion for pawl, printed by `pawl completion bash`.");
    print_tables();
    puts("_pawl_offer() # LIST, or FILE for files\n"
         "{\n"
         "    if [ \"$1\" = FILE ]; then\n"
         "        compopt -o filenames 2>/dev/null\n"
         "        mapfile -t COMPREPLY < <(compgen -f -- \"$2\")\n"
         "    else\n"
         "        mapfile -t COMPREPLY < <(compgen -W \"$1\" -- \"$2\")\n"
         "    fi\n"
         "}\n"
         "_pawl()\n"
         "{\n"
         "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}\n"
         "    local command='' at=0 i said\n"
         "    COMPREPLY=()\n"
         "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
         "        said=${COMP_WORDS[i]}\n"
         "        if [[ $said == -* ]]; then\n"
         "            [ -z \"${_pawl_values[$said]+set}\" ] || i=$((i + 1))\n"
         "        else\n"
         "            at=$((at + 1)) command=${command:-$said}\n"
         "        fi\n"
         "    done\n"
         "    if [ -n \"${_pawl_values[$before]+set}\" ]; then\n"
         "        _pawl_offer \"${_pawl_values[$before]}\" \"$word\"\n"
         "    elif [[ $word == -* ]]; then\n"
         "        _pawl_offer \"${_pawl_options[${command:-none}]:---help --version}\" \"$word\"\n"
         "    else\n"
         "        case $at in\n"
         "            0) _pawl_offer \"$_pawl_commands\" \"$word\" ;;\n"
         "            1) _pawl_offer \"${_pawl_words[$command]}\" \"$word\" ;;\n"
         "            2) _pawl_offer \"${_pawl_more[$command]}\" \"$word\" ;;\n"
         "        esac\n"
         "    fi\n"
         "}\n"
         "complete -F _pawl pawl");
    return true;
}

static bool print_zsh(struct cli *cli, struct pawl_error *err)
{
    (void)cli, (void)err;
    puts("#compdef pawl\n"
         "# zsh completion for pawl, printed by `pawl completion zsh`.");
    print_tables();
    puts("_pawl_offer() # LIST, or FILE for files\n"
         "{\n"
         "    if [ \"$1\" = FILE ]; then _files; else compadd -- ${=1}; fi\n"
         "}\n"
         "_pawl()\n"
         "{\n"
         "    local word=$words[CURRENT] before=$words[CURRENT-1] command='' said\n"
         "    integer at=0 i\n"
         "    for ((i = 2; i < CURRENT; i++)); do\n"
         "        said=$words[i]\n"
         "        if [[ $said == -* ]]; then\n"
         "            (( ! ${+_pawl_values[$said]} )) || (( i += 1 ))\n"
         "        else\n"
         "            (( at += 1 ))\n"
         "            command=${command:-$said}\n"
         "        fi\n"
         "    done\n"
         "    if (( ${+_pawl_values[$before]} )); then\n"
         "        _pawl_offer \"$_pawl_values[$before]\"\n"
         "    elif [[ $word == -* ]]; then\n"
         "        _pawl_offer \"${_pawl_options[${command:-none}]:---help --version}\"\n"
         "    else\n"
         "        case $at in\n"
         "            0) _pawl_offer \"$_pawl_commands\" ;;\n"
         "            1) _pawl_offer \"$_pawl_words[$command]\" ;;\n"
         "            2) _pawl_offer \"$_pawl_more[$command]\" ;;\n"
         "        esac\n"
         "    fi\n"
         "}\n"
         "if [ \"$funcstack[1]\" = _pawl ]; then _pawl \"$@\"; else compdef _pawl pawl; fi");
    return true;
}

bool command_completion(struct cli *cli, struct pawl_error *err)
{
    static const struct verb verbs[] = {
        { "bash", 1, print_bash },
        { "zsh", 1, print_zsh },
    };
    return verb_act(cli, verbs, countof(verbs), err);
}
