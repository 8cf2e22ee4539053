#!/usr/bin/env bash
# `pawl config` as a person and a script meet it, and the commands of the sample configuration.
pawl=${PAWL:?the binary under test}
sample=$(realpath "${SOURCE:-$(dirname "$0")/..}/examples/server")
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/shell.sh"

silent() { [ ! -s "$1" ]; }


# ----- pawl config check

run "$pawl" config check "$sample/pawl.yaml"
check CONFIG_a_good_file_is_fine ended 0
check CONFIG_a_good_file_is_counted \
    prints "$sample/pawl.yaml: fine (3 job types, 1 policies of your own, 6 queues, 1 schedules)"

printf 'limits:\n  wait: soon\nnonsense: 1\n' >bad.yaml
run "$pawl" config check bad.yaml
check CONFIG_a_bad_file_ends_with_1 ended 1
check CONFIG_a_problem_has_line_column_and_key \
    says 'bad.yaml:2:9: limits.wait: must be a duration such as 500ms, 5s, 2m, 1h, 7d'
check CONFIG_every_problem_is_printed says 'bad.yaml:3:1: nonsense: unknown key'
check CONFIG_problems_are_counted says 'bad.yaml: 2 problems'
check CONFIG_problems_are_no_output silent .out

run "$pawl" config check bad.yaml --json
check CONFIG_a_bad_file_ends_with_1_as_json_too ended 1
check CONFIG_problems_as_json json 'd["valid"] is False and d["file"] == "bad.yaml"
    and [(p["line"], p["column"], p["key"]) for p in d["problems"]]
        == [(2, 9, "limits.wait"), (3, 1, "nonsense")]'
run "$pawl" config check "$sample/pawl.yaml" --json
check CONFIG_a_good_file_as_json json 'd["valid"] and d["problems"] == [] and d["job_types"] == 3'

run "$pawl" config check nowhere.yaml
check CONFIG_a_file_that_is_not_there_ends_with_3 ended 3
printf 'x\033[2Jy: 1\n' >escape.yaml
run "$pawl" config check escape.yaml
check CONFIG_nothing_in_a_file_reaches_the_terminal bash -c '! grep -q $'"'\\033'"' .out .err'
for words in '' 'check' 'check a b' 'chek a' 'keys a'; do
    # shellcheck disable=SC2086  # words
    run "$pawl" config $words
    check "CONFIG_config_${words// /_}_is_bad_usage" ended 2
done

run "$pawl" config keys
check CONFIG_keys_end_well ended 0
check CONFIG_keys_are_explained grep -q 'max_attempts.* number from 1 to 1000 ' .out

# ----- the commands of the sample

cd "$sample" || exit 1
said() { # said TEXT COMMAND...: what it prints when TEXT is on its standard input
    printf '%s' "$1" | "${@:2}" 2>/dev/null
}
export OUTBOX=$here/outbox PAWL_EFFECT_KEY=effect-1
words=$(wc -w <pawl.yaml)
check the_report_counts_words grep -q "\"words\": $words," \
    <(said '{"document":"pawl.yaml"}' ./report-export)
said '{"document":"/x"}' ./report-export
status=$?
check a_report_of_another_directory_is_refused ended 65
said '{"document":"nowhere"}' ./report-export
status=$?
check a_report_of_nothing_is_refused ended 66
said '{"recipient":"ada","template":"hi"}' ./mail-send deliver
said '{"recipient":"ada","template":"hi"}' ./mail-send deliver
check mail_is_delivered_once test "$(ls -A "$OUTBOX")" = effect-1.txt
check mail_has_its_recipient grep -q '^To: ada$' "$OUTBOX/effect-1.txt"
check a_thumbnail_says_its_widths test \
    "$(said '{"image":"a.png"}' ./thumbnail 64)" = '{"image": "a.png", "widths": [64]}'

conclude
