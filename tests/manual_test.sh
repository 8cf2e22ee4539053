#!/usr/bin/env bash
# The manual, the page in docs/ and the completions come from the table of commands: they name all
# of it, and the shells and formatters they are for take them.
pawl=${PAWL:?the binary under test}
source=${SOURCE:?the source tree}
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/shell.sh"

holds() { grep -qF -- "$2" "$1"; }

"$pawl" help --man >pawl.1
"$pawl" help --markdown >cli.md
"$pawl" completion bash >pawl.bash
"$pawl" completion zsh >_pawl
commands=$("$pawl" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p')
check there_are_commands test "$(wc -w <<<"$commands")" -gt 15

# ----- the manual

for command in $commands; do
    check "manual_has_$command" holds pawl.1 ".SS $command"
    check "page_has_$command" holds cli.md "## pawl $command"
    for option in $("$pawl" help "$command" | grep -oE '^  --[a-z-]+' | tr -d ' '); do
        check "manual_has_${command}_$option" \
            holds <(sed -n "/^\.SS $command\$/,/^\.S[SH] /p" pawl.1) "\\fB${option//-/\\-}\\fR"
        check "page_has_${command}_$option" \
            holds <(sed -n "/^## pawl $command\$/,/^## /p" cli.md) "| \`$option"
    done
done
check manual_has_only_requests_that_are_meant \
    is "$(grep -oE "^[.'][^ ]*" pawl.1 | sort -u | tr '\n' ' ')" \
    '.PP .RE .RS .SH .SS .TH .TP .fi .nf '
check manual_starts_with_a_title is "$(head -c 9 pawl.1)" '.TH PAWL '
if command -v groff >/dev/null; then
    check groff_warns_of_nothing is "$(groff -man -Tutf8 -ww -z pawl.1 2>&1)" ''
    groff -man -Tascii -P-cbou pawl.1 >shown
    check the_example_is_shown_as_it_is_typed \
        holds shown "pawl enqueue report.export '{\"month\": \"2026-08\"}' --key export-2026-08"
fi
check docs_cli_md_is_what_the_program_prints cmp "$source/docs/cli.md" cli.md
"$pawl" help --man enqueue >/dev/null 2>&1
check the_manual_is_of_all_commands is $? 2
"$pawl" completion fish >/dev/null 2>err
check an_unknown_shell_is_bad_usage is $? 2

# ----- bash

# Completes the last of the words as bash does for `pawl WORDS`.
offered() {
    bash --norc -c 'source ./pawl.bash
        COMP_WORDS=(pawl "$@") COMP_CWORD=$#
        _pawl 2>&1
        printf "%s\n" "${COMPREPLY[@]}"' bash "$@" | sort | tr '\n' ' ' | sed 's/ $//'
}
touch jobs.jsonl
check bash_takes_the_script bash -n pawl.bash
check bash_registers_it is "$(bash --norc -c 'source ./pawl.bash; complete -p pawl')" \
    'complete -F _pawl pawl'
check commands_that_begin_with_re is "$(offered re)" 'restore retention retry'
check all_commands is "$(offered '')" "$(sort <<<"$commands" | tr '\n' ' ' | sed 's/ $//')"
check options_before_a_command is "$(offered --)" '--help --version'
check options_of_a_command is "$(offered change --p)" '--priority'
check options_after_words_and_values is "$(offered jobs --state FAILED --li)" '--limit'
check no_options_of_others is "$(offered show --pri)" ''
check states is "$(offered jobs --state R)" 'RETRYING RUNNING'
check roles is "$(offered key create --role '')" 'admin operator producer viewer worker'
check parts_of_serve is "$(offered serve --only '')" 'api worker'
check modes_of_bench is "$(offered bench --mode h)" 'http'
check verbs is "$(offered queue p)" 'pause purge'
check verbs_also_after_options is "$(offered queue --json r)" 'resume'
check commands_to_explain is "$(offered help enq)" 'enqueue'
check files_to_import is "$(offered import jobs)" 'jobs.jsonl'
check files_for_an_option is "$(offered jobs --key-file jobs)" 'jobs.jsonl'
check files_to_check is "$(offered config check jobs)" 'jobs.jsonl'
check nothing_where_anything_goes is "$(offered enqueue --key '')" ''

# ----- zsh

if command -v zsh >/dev/null; then
    zsh_offered() { # what it would give to the shell's own functions
        zsh -fc 'compdef() { :; }; source ./_pawl
            compadd() { shift; print -l -- "$@"; }; _files() { print FILES; }
            words=(pawl "$@") CURRENT=$(($# + 1))
            _pawl' zsh "$@" | tr '\n' ' ' | sed 's/ $//'
    }
    check zsh_takes_the_script zsh -n _pawl
    check zsh_commands is "$(zsh_offered '')" "$(tr '\n' ' ' <<<"$commands" | sed 's/ $//')"
    check zsh_states is "$(zsh_offered jobs --json --state '')" \
        'CREATED QUEUED RUNNING RETRYING SUCCEEDED FAILED TIMED_OUT'
    check zsh_verbs is "$(zsh_offered --json queue '')" 'pause resume purge'
    check zsh_files is "$(zsh_offered import '')" 'FILES'
    check zsh_options is "$(zsh_offered help --)" '--man --markdown --help'
    check zsh_options_before_a_command is "$(zsh_offered --)" '--help --version'
fi
check zsh_knows_whom_it_is_for is "$(head -1 _pawl)" '#compdef pawl'

# ----- when to use a job

guide=$source/docs/when-to-use-a-job.md
for words in '300 ms as a rule' '2 s at worst' 'talks to something outside' \
    'derived from other data' 'tried again later' '**Do it in the request**' \
    'short, deterministic write'; do
    check "OPS_21_the_docs_say_${words//[^a-z0-9]/_}" holds "$guide" "$words"
done
check OPS_21_the_first_page_leads_to_it holds "$source/docs/getting-started.md" when-to-use-a-job.md

conclude
