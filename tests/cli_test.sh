#!/usr/bin/env bash
# The command line as a person and a script meet it: every command, every exit status, bad input.
pawl=${PAWL:?the binary under test}
worker=${BUILD:?the build directory}/tests/programs/stepper
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/shell.sh"
export TERM=xterm WIDTH=200
out='' err=''

pawl() { # runs it; what it said is in $out, $err and $status
    run "$pawl" "$@"
    out=$(tr -d '\000' <"$here/.out") err=$(tr -d '\000' <"$here/.err")
}

sql() { # a statement on the store, behind the engine's back
    python3 -c 'import sqlite3, sys
db = sqlite3.connect(sys.argv[1], timeout=10, isolation_level=None)
for row in db.execute(sys.argv[2]): print(*row)' "$1" "$2"
}

on_terminal() { # runs pawl on a terminal of its own; what it showed is in .out
    python3 -c 'import os, pty, sys
shown = b""
def read(fd):
    global shown
    data = os.read(fd, 4096)
    shown += data
    return data
wide = "stty columns " + os.environ["WIDTH"]
status = pty.spawn(["sh", "-c", wide + "; exec \"$@\"", "sh"] + sys.argv[2:], read)
open(sys.argv[1], "wb").write(shown)
sys.exit(os.waitstatus_to_exitcode(status))' "$here/.out" "$pawl" "$@" </dev/null >/dev/null
    status=$?
    out=$(tr -d '\000' <"$here/.out") err=
}

id() { printf '%s' "${out:0:36}"; }
is_not() { [ "$1" != "$2" ]; }
absent() { [ -z "$(compgen -G "$1")" ]; }
mute() { [ -z "$out$err" ]; }
has_escape() { grep -q $'\x1b\\[' "$here/.out"; }
no_escape() { ! has_escape; }
raw='[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\xaa-\xae]'
no_raw() { ! LC_ALL=C grep -qP "$raw" "$@"; }
jobs_in() { "$pawl" jobs --limit 10000 --json --store "$1" | python3 -c \
    'import json, sys; print(len(json.load(sys.stdin)["items"]))'; }

nowhere=0198c7a2-5b1e-7000-8000-3c1f0a9d2e44
other_org=11111111-2222-4333-8444-555555555555

# ----- help, version, usage

expect version 0 '^pawl [0-9]+\.[0-9]+\.[0-9]+$' --version
expect help_of_the_program 0 '^Example:' --help
expect help_lists_exit_statuses 0 '4 refused' --help
for command in enqueue import jobs show submit cancel retry change verify migrate help; do
    expect "help_lists_$command" 0 "^  $command +[a-z]" --help
    expect "help_of_${command}_has_an_example" 0 '^  pawl ' "$command" --help
    check "help_of_${command}_has_a_usage" grep -q "^Usage: pawl $command" "$here/.out"
    before=$out
    expect "help_${command}_is_the_same_page" 0 '^Example:' help "$command"
    check "help_${command}_word_for_word" is "$out" "$before"
done
check nothing_so_far_made_a_file absent '*.db*'

while IFS='|' read -r name wanted pattern words; do
    read -r -a words <<<"$words"
    expect "$name" "$wanted" "$pattern" "${words[@]}"
done <<'TABLE'
no_command|2|needs a command.*--help|
unknown_command|2|enqeue. .did you mean enqueue|enqeue x
unknown_command_far_off|2|unknown command .frobnicate.; see .pawl --help|frobnicate
unknown_option|2|--stroe .did you mean --store|jobs --stroe x
unknown_option_hint|2|option --nonsense-option; see .pawl jobs --help|jobs --nonsense-option
unknown_option_of_another_command|2|option --holt; see|jobs --holt
unknown_option_before_the_command|2|--jsn .did you mean --json.*pawl jobs --help|--jsn jobs
unknown_option_letters_swapped|2|--josn .did you mean --json|migrate --josn
unknown_short_option|2|unknown option -x|jobs -x
option_of_another_command|2|jobs takes no option --hold; see .pawl jobs --help|jobs --hold
option_without_command|2|takes no option --json|--json
missing_value_at_the_end|2|--key needs a value.*pawl enqueue --help|enqueue t --key
missing_value_before_an_option|2|--key needs a value|enqueue t --key --hold
value_for_a_flag|2|--hold takes no value; see .pawl enqueue --help|enqueue t --hold=yes
option_given_twice|2|--key is given twice; see .pawl enqueue --help|enqueue t --key a --key b
missing_type|2|enqueue needs TYPE|enqueue
missing_id|2|show needs ID|show
missing_file|2|import needs FILE|import
too_many_words|2|does not know what to do with .c.;|enqueue a {} c
too_many_words_for_jobs|2|does not know what to do with .x.;|jobs x
key_and_dedupe|2|exclude each other|enqueue t --key k --dedupe
key_and_a_time_from_now|2|--at must be an absolute time|enqueue t --key k --at +5m
dedupe_and_a_time_from_now|2|--at must be an absolute time|enqueue t --dedupe --at 5m
hold_and_wait|2|exclude each other|enqueue t --hold --wait
bad_time|2|--at must be a time|enqueue t --at tomorrow
bad_time_without_zone|2|--at must be a time|enqueue t --at 2026-08-22T10:00:00
bad_time_of_the_13th_month|2|--at must be a time|enqueue t --at 2026-13-01T00:00:00Z
bad_duration|2|--at must be a time|enqueue t --at +5
bad_negative_duration|2|--at must be a time|enqueue t --at +-5m
bad_double_plus|2|--at must be a time|enqueue t --at ++5m
bad_max_wait|2|--max-wait must be a duration.*ms s m h d|enqueue t --max-wait soon
zero_max_wait|2|--max-wait must be a duration|enqueue t --max-wait 0s
bad_priority|2|--priority must be a whole number|enqueue t --priority high
priority_with_a_fraction|2|--priority must be a whole number|enqueue t --priority 1.5
priority_out_of_range|2|--priority must be.*-100 to 100|enqueue t --priority 101
priority_overflow|2|--priority must be|enqueue t --priority 99999999999999999999
bad_project|2|--project must be a UUID|enqueue t --project acme
bad_org|2|--org must be a UUID|jobs --org acme
org_in_upper_case|2|UUID in lower case|jobs --org 0000000A-0000-7000-8000-000000000000
bad_state|2|--state must be CREATED|jobs --state DONE
state_in_lower_case|2|--state must be|jobs --state failed
bad_limit|2|--limit must be|jobs --limit 0
limit_too_high|2|--limit must be|jobs --limit 10001
bad_id|2|.nonsense. is no job id: a job id is a full UUID|show nonsense
bad_id_for_cancel|2|is no job id|cancel 0198c7a2
unknown_help|2|unknown command .nonsense.; see .pawl --help|help nonsense
unknown_help_is_guessed|2|did you mean enqueue|help enqueu
help_of_an_unknown_command|2|unknown command .nonsense|nonsense --help
help_beats_other_options|0|^Usage: pawl jobs|jobs --help --json --nonsense
help_beats_a_missing_value|0|^Usage: pawl enqueue|enqueue --key --help
version_as_a_word|0|^pawl [0-9]|version
version_in_short|0|^pawl [0-9]|-v
change_without_a_change|2|at least one of|change 0198c7a2-5b1e-7000-8000-3c1f0a9d2e44
unknown_kind_of_store|2|sqlite:FILE|enqueue t --store mysql:x
store_without_a_kind|2|sqlite:FILE|jobs --store pawl.db
bad_type|1|job_type: must be|enqueue has/slash
type_with_a_leading_dash_after_dashes|1|job_type: must be|enqueue -- -t
bad_json|1|payload: |enqueue t {
json_array|1|payload: must be an object, not an array|enqueue t []
json_text|1|payload: must be an object|enqueue t "x"
json_twice|1|payload: |enqueue t {}{}
json_duplicate_key|1|payload: .*already in the object|enqueue t {"a":1,"a":2}
json_nan|1|payload: |enqueue t {"a":NaN}
json_number_too_large|1|payload: |enqueue t {"a":1e999}
json_secret|1|payload.password|enqueue t {"password":"hunter2"}
empty_key|1|idempotency_key: .*empty|enqueue t --key=
empty_queue|1|queue: .*empty|enqueue t --queue=
bad_queue|1|queue: must be|enqueue t --queue a/b
deadletter_queue|1|nothing can be enqueued to q:deadletter|enqueue t --queue q:deadletter
unknown_policy|1|no policy .nosuch.; built in are default .*scheduled$|enqueue t --policy nosuch
time_too_far_ahead|1|more than 10 years|enqueue t --at 4000d
import_of_nothing|3|cannot open .no-such.jsonl|import no-such.jsonl
import_of_a_directory|1|cannot read line 1 of \.: |import .
no_store_for_jobs|3|there is no store at pawl.db|jobs
no_store_for_show|3|there is no store at pawl.db|show 0198c7a2-5b1e-7000-8000-3c1f0a9d2e44
no_store_for_verify|3|there is no store at pawl.db|verify
no_store_for_migrate_status|3|there is no store at pawl.db|migrate --status
no_store_for_submit|3|there is no store at pawl.db|submit 0198c7a2-5b1e-7000-8000-3c1f0a9d2e44
no_store_for_cancel|3|there is no store at pawl.db|cancel 0198c7a2-5b1e-7000-8000-3c1f0a9d2e44
no_store_for_retry|3|there is no store at pawl.db|retry 0198c7a2-5b1e-7000-8000-3c1f0a9d2e44
no_store_for_change|3|there is no store at|change 0198c7a2-5b1e-7000-8000-3c1f0a9d2e44 --at 5m
TABLE
expect OPS_1_every_problem_is_named 1 'job_type: must' enqueue 'a b' '[]' --queue x/y --policy p
check OPS_1_one_line_per_problem is "$(wc -l <"$here/.err")" 4
expect an_empty_id_is_quoted 2 '.. is no job id' show ''
expect an_argument_that_is_not_utf8 2 'not valid UTF-8' enqueue $'\xff\xfe'
long=$(printf 'k%.0s' {1..300})
expect a_key_of_300_bytes 1 'idempotency_key: .*at most 256' enqueue t --key "$long"
expect control_characters_in_a_key 1 'serial_key: must be' enqueue t --serial-key $'a\x1b[31mb'
head -c 1100000 /dev/zero | tr '\0' ' ' >big
pawl enqueue t - <big
check payload_too_large_on_stdin is "$status" 1
check payload_too_large_is_named grep -q 'payload: has more than 1048576 bytes' "$here/.err"
printf '{"a":"x\0y"}' >nul
pawl enqueue t - <nul
check payload_with_nul_on_stdin is "$status" 1
pawl enqueue t - </dev/null
check payload_of_nothing_on_stdin grep -q 'payload: .*the text is empty' "$here/.err"
expect payload_with_a_byte_order_mark 1 'payload: .*byte order mark' enqueue t $'\ufeff{}'
expect enqueue_help_says_the_limits 0 '1 MiB and 31 levels' enqueue --help
check enqueue_help_lists_the_policies grep -q '^  default critical .*scheduled$' "$here/.out"
check refusals_and_readers_never_create_a_store absent '*.db'
check readers_leave_no_lock_file absent '*-lock*'

# ----- stores that are none

mkdir directory.db
printf 'this is a letter, not a database, however long it gets: %0200d\n' 0 >letter.db
before=$(cksum <letter.db)
python3 -c 'import sqlite3; sqlite3.connect("other.db").execute("CREATE TABLE t (x)")'
for kind in directory letter other; do
    for command in jobs enqueue; do
        words=()
        [ "$command" = jobs ] || words=(t)
        expect "${command}_on_a_$kind" 1 "$kind\.db" "$command" "${words[@]}" \
            --store "sqlite:$kind.db"
    done
done
check another_file_is_not_touched is "$(cksum <letter.db)" "$before"
expect a_store_in_no_directory 1 'no/such' enqueue t --store sqlite:no/such/pawl.db
expect a_store_without_a_name 2 'sqlite:FILE' enqueue t --store sqlite:
expect a_store_in_memory_would_lose_the_job 2 'sqlite:FILE' enqueue t --store sqlite::memory:
check nothing_was_made absent '*memory*'
if [ "$EUID" != 0 ]; then
    mkdir locked && chmod 555 locked
    expect no_permission 1 'locked' enqueue t --store sqlite:locked/pawl.db
    pawl migrate --store sqlite:guarded.db
    chmod 444 guarded.db
    expect no_permission_to_write 1 'cannot write .*Permission denied' \
        enqueue t --store sqlite:guarded.db
    expect reading_is_allowed 0 'no jobs' jobs --store sqlite:guarded.db
    chmod 000 guarded.db
    expect no_permission_to_read 1 'cannot read .*Permission denied' jobs --store sqlite:guarded.db
fi

# ----- migrate

expect migrate_creates 0 'schema version 0 -> [0-9]+ \(created\)' migrate --store sqlite:m.db
expect migrate_again 0 'up to date' migrate --store sqlite:m.db
expect migrate_status 0 'up to date' migrate --status --store=sqlite:m.db
pawl migrate --json --store sqlite:m.db
check migrate_json json 'd["version"] == d["version_known"] == d["version_before"] >= 1'
: >empty.db
expect migrate_status_of_an_empty_file 0 'brings it up to date' \
    migrate --status --store sqlite:empty.db
check migrate_status_only_looks is "$(wc -c <empty.db)" 0
expect a_reader_does_not_migrate 1 'run .pawl migrate' jobs --store sqlite:empty.db
sql m.db "INSERT INTO schema_migrations (version, name, applied_at) VALUES (999, 'x', 1)"
expect a_newer_store_is_refused 1 'newer pawl' enqueue t --store sqlite:m.db
expect a_newer_store_is_recognized 0 'newer pawl' migrate --status --store sqlite:m.db

# ----- enqueue

expect enqueue_makes_the_default_store 0 '^[0-9a-f-]{36}  report  q:default  QUEUED$' enqueue report
check the_default_store_is_pawl_db test -f pawl.db
PAWL_STORE=sqlite:env.db pawl enqueue t
check the_environment_names_the_store test -f env.db
expect an_option_beats_the_environment 0 QUEUED --store sqlite:env.db enqueue t
export PAWL_STORE=sqlite:main.db
expect OPS_4_a_key_is_one_job 0 QUEUED enqueue report '{"n":1}' --key k1
first=$(id)
expect OPS_4_the_same_request_again 0 'QUEUED  already known$' enqueue report '{"n": 1}' --key k1
check OPS_4_is_the_same_job is "$(id)" "$first"
expect OPS_4_other_content_is_refused 4 'k1 belongs to job' enqueue report '{"n":2}' --key k1
expect OPS_4_dedupe_derives_the_key 0 QUEUED enqueue report '{"a":1,"b":2}' --dedupe
derived=$(id)
expect OPS_4_equal_content_is_one_job 0 'already known' enqueue report '{"b":2, "a":1}' --dedupe
check OPS_4_equal_content_has_one_id is "$(id)" "$derived"
expect OPS_4_another_org_has_keys_of_its_own 0 'QUEUED$' \
    enqueue report '{"n":2}' --key k1 --org $other_org
theirs=$(id)
expect RUN_8_without_a_key_each_is_a_new_run 0 'QUEUED$' enqueue doc --policy document
one=$(id)
expect RUN_8_also_with_equal_content 0 'QUEUED$' enqueue doc --policy document
check RUN_8_another_run is_not "$(id)" "$one"
pawl enqueue full '{"x":"ü"}' --queue q:exports --serial-key s1 --at 2027-03-04T05:06:07Z \
    --policy transfer --priority -7 --max-wait 10m \
    --project $other_org --correlation-id c-1 --key full-1 --json
check enqueue_json_is_the_job_object json 'd["job_type"] == "full" and d["payload"] == {"x": "ü"}
    and d["queue"] == "q:exports" and d["serial_key"] == "s1" and d["policy"] == "transfer"
    and d["priority"] == -7 and d["max_wait"] == "10m" and d["correlation_id"] == "c-1"
    and d["idempotency_key"] == "full-1" and d["state"] == "QUEUED" and d["phase"] == "delayed"
    and d["project_id"] == "'$other_org'" and d["deduplicated"] is False'
check enqueue_json_names_the_caller json 'd["actor_type"] == "user" and d["actor_id"]
    and d["request_id"] and d["org_id"] == "00000000-0000-7000-8000-000000000000"'
pawl enqueue report '{"n":1}' --key k1 --json
check enqueue_json_says_deduplicated json 'd["deduplicated"] is True
    and d["job_id"] == "'"$first"'"'
printf '{"from":"stdin"}\n' >payload
pawl enqueue report - --json <payload
check enqueue_reads_stdin json 'd["payload"] == {"from": "stdin"}'
expect options_before_the_command 0 QUEUED --queue=q:planning enqueue report '{"n":9}'
expect options_between_words 0 'q:planning' enqueue report --queue q:planning '{"n":8}'
expect dashes_end_the_options 2 'no job id' show -- --json
expect a_time_in_the_past 1 'scheduled_for: lies more than 60 s' enqueue t --at 2020-01-01T00:00:00Z
expect a_time_in_full 0 QUEUED enqueue later --at 2027-03-04T05:06:07+02:00
expect a_duration_without_plus 0 QUEUED enqueue later --at 10m
expect an_age_is_rounded 0 '\(in 10 min\)' show "$(id)"
expect JOB_9_hold_leaves_it_created 0 'CREATED$' enqueue held --hold
held=$(id)

# ----- submit, cancel, retry, change

expect JOB_9_submit_later 0 "^$held .* QUEUED  submitted$" submit "$held"
expect JOB_9_submit_twice_is_refused 4 'submitted already' submit "$held"
expect JOB_8_cancel_ends_in_failed 0 "^$held .* FAILED  cancelled$" cancel "$held"
pawl show "$held" --json
check JOB_8_cancelled_is_the_failure_type json 'd["job"]["failure_type"] == "CANCELLED"'
expect JOB_2_cancel_again_is_refused 4 'is final' cancel "$held"
expect JOB_2_submit_of_an_ended_job_is_refused 4 . submit "$held"
expect JOB_2_change_of_an_ended_job_is_refused 4 'is final' change "$held" --priority 1
expect retry_of_a_waiting_job_is_refused 4 'only a finished job' retry "$first"
expect RUN_8_retry_makes_a_new_job 0 ' QUEUED  new job$' retry "$held"
again=$(id)
check RUN_8_with_an_id_of_its_own is_not "$again" "$held"
pawl retry "$held" --json
check RUN_8_linked_to_its_parent json 'd["parent_job_id"] == "'"$held"'" and d["origin"] == "retry"'
check RUN_8_with_a_key_of_its_own json 'd["idempotency_key"].endswith("#2")'
expect change_priority 0 'changed$' change "$first" --priority 50
pawl change "$first" --queue q:special --at 2027-01-02T03:04:05Z --json
check change_moves_it json 'd["queue"] == "q:special" and d["priority"] == 50
    and d["phase"] == "delayed" and d["run_at"] == "2027-01-02T03:04:05.000Z"'
expect change_to_the_dead_letters_is_refused 1 deadletter change "$first" --queue q:deadletter
expect change_to_the_past_is_refused 1 \
    '^pawl: scheduled_for: .*60 s in the past' change "$first" --at 2020-01-01T00:00:00Z
expect change_to_no_queue_is_refused 1 '^pawl: queue: is empty$' change "$first" --queue ''
pawl show "$first" --json
check the_audit_trail_tells_what_changed json '[e["detail"] for e in d["audit"]][-2:] == [
    {"priority": [0, 50]}, {"queue": ["q:default", "q:special"], "run_at":
    [d["job"]["created_at"], "2027-01-02T03:04:05.000Z"]}]'
expect change_at_now 0 'changed$' change "$first" --at now
pawl show "$first" --json
check change_at_now_makes_it_ready json 'd["job"]["phase"] == "ready"'
pawl change "$first" --at 2027-01-02T03:04:05Z
pawl submit "$again" --json
check submit_refused_with_json_prints_no_json test -z "$out"
pawl enqueue held2 --hold && held2=$(id) && pawl submit "$held2" --json
check submit_json json 'd["state"] == "QUEUED"'
pawl cancel "$held2" --json
check cancel_json json 'd["state"] == "FAILED" and d["failure_type"] == "CANCELLED"'
for command in show submit cancel retry; do
    expect "${command}_of_an_unknown_id" 3 "there is no job $nowhere" "$command" $nowhere
    expect "${command}_of_a_uuid_that_is_no_job" 3 'there is no job' "$command" $other_org
    expect "OPS_10_${command}_of_another_orgs_job" 3 "there is no job $theirs" "$command" "$theirs"
done
expect change_of_an_unknown_id 3 'there is no job' change $nowhere --priority 1
expect OPS_10_change_of_another_orgs_job 3 'there is no job' change "$theirs" --priority 1
expect OPS_10_its_own_org_sees_it 0 "^$theirs" show "$theirs" --org $other_org

# ----- jobs, show

expect jobs_lists_newest_first 0 '^ID +STATE +PHASE' jobs
check jobs_lists_all is "$(grep -c '^0' "$here/.out")" "$(jobs_in sqlite:main.db)"
expect jobs_limit 0 'older ones' jobs --limit 1
check jobs_limit_is_kept is "$(grep -c '^0' "$here/.out")" 1
expect jobs_by_state 0 "$held" jobs --state FAILED
check jobs_by_state_only_those is "$(grep -c QUEUED "$here/.out")" 0
expect jobs_by_type 0 'later' jobs --type later
check jobs_by_type_only_those is "$(grep -c '^0' "$here/.out")" 2
expect jobs_by_queue 0 "$first" jobs --queue q:special
expect jobs_by_serial_key 0 'full' jobs --serial-key s1
expect jobs_none 0 '^no jobs$' jobs --type nothing-of-this-type
expect OPS_10_jobs_of_another_org 0 "$theirs" jobs --org $other_org
check OPS_10_only_theirs is "$(grep -c '^0' "$here/.out")" 1
expect OPS_10_an_unknown_org_has_no_jobs 0 '^no jobs$' \
    jobs --org 99999999-2222-4333-8444-555555555555
pawl jobs --json --state FAILED
check jobs_json json 'all(j["state"] == "FAILED" for j in d["items"]) and len(d["items"]) == 2'
pawl jobs --json --type nothing-of-this-type
check jobs_json_none json 'd == {"items": []}'
expect show_tells_the_audit_trail 0 'job\.created' show "$first"
check show_tells_of_changes grep -q 'job\.changed' "$here/.out"
check show_tells_the_key grep -q 'key  *k1$' "$here/.out"
pawl show "$first" --json
check show_json json '[e["event"] for e in d["audit"]][:2] == ["job.created", "job.enqueued"]
    and d["job"]["job_id"] == "'"$first"'" and d["executions"] == [] and d["steps"] == []'
check OPS_11_events_say_who_and_which_request json 'all(e["actor_id"] and e["request_id"]
    and e["correlation_id"] and e["org_id"] and e["at"] for e in d["audit"])'
"$pawl" jobs >/dev/full 2>"$here/.err"
check a_full_disk_behind_stdout_is_no_success is $? 1
"$pawl" jobs --limit 10000 --json 2>"$here/.err" | head -c 1 >/dev/null
check a_reader_that_stops_reading_is_no_news is "$(cat "$here/.err")" ''
err=$(ulimit -f 1; "$pawl" enqueue t --store sqlite:limited.db 2>&1)
status=$?
check a_limit_of_the_file_size_is_an_error is "$status ${err:0:5}" '1 pawl:'
for words in '' --json; do
    "$pawl" enqueue a $words >/dev/full 2>"$here/.err"
    check "enqueue_to_a_full_disk_$words" is $? 1
    check "enqueue_says_why_and_what_is_stored_$words" \
        grep -qE 'No space left on device; job [0-9a-f-]{36} is stored' "$here/.err"
done

# ----- what strangers wrote cannot command a terminal

pawl enqueue evil - --json <<<'{"x":"\u009b31m \u202e \u007f ü \u001b[2J"}'
check json_output_has_no_raw_control_characters no_raw "$here/.out"
check json_output_keeps_the_value json 'd["payload"]["x"] == "\x9b31m \u202e \x7f ü \x1b[2J"'
evil=$(python3 -c 'import json; print(json.load(open(".out"))["job_id"])')
pawl show "$evil"
check human_output_has_no_raw_control_characters no_raw "$here/.out"
check human_output_shows_them_escaped grep -qF '\u009b31m \u202e' "$here/.out"
check human_output_keeps_other_letters grep -q 'ü' "$here/.out"
printf '{"job_type":"t","payload":{},"\\u001b[31mred":1}\n' >evil.jsonl
pawl import evil.jsonl
check errors_have_no_raw_control_characters no_raw "$here/.err"
check errors_are_about_the_field grep -q 'red: unknown field' "$here/.err"
expect an_escape_in_an_argument 2 'unknown command' $'\x1b[31mred'
check errors_about_arguments_are_escaped no_raw "$here/.err"

# ----- colours only on a terminal, and not with NO_COLOR

pawl jobs
check no_colour_in_a_file no_escape
on_terminal jobs
check colour_on_a_terminal has_escape
NO_COLOR=1 on_terminal jobs
check NO_COLOR_is_respected no_escape
for term in dumb ''; do
    TERM=$term on_terminal jobs
    check "a_dumb_terminal_gets_no_colour_$term" no_escape
done
on_terminal show "$first"
check titles_are_bold_on_a_terminal grep -q $'\x1b\\[1mAudit trail' "$here/.out"
WIDTH=200 on_terminal jobs
check jobs_on_a_wide_terminal_shows_all grep -q CREATED "$here/.out"
for width in 100 80 60; do
    NO_COLOR=1 WIDTH=$width on_terminal jobs
    check "jobs_fits_into_$width" is "$(tr -d '\r' <"$here/.out" | awk "length > $width" | wc -l)" 0
    check "jobs_in_${width}_shows_ids_and_states" grep -q '^ID  *STATE' "$here/.out"
done
on_terminal jobs --json
check json_has_no_colour no_escape

# ----- import

lines() { # lines FIRST LAST
    seq "$1" "$2" | sed 's/.*/{"job_type":"bulk","payload":{"n":&},"idempotency_key":"bulk-&"}/'
}
export PAWL_STORE=sqlite:import.db
{
    lines 1 3
    echo
    echo '{"job_type":"bulk","payload":[],"priority":"high","nonsense":1}'
    echo 'not json'
    echo '{"job_type":"bulk","payload":{"without":"a key"}}'
    echo '{"job_type":"bulk","payload":{"n":"another"},"idempotency_key":"bulk-1"}'
    echo '{"job_type":"bulk","payload":{},"org_id":"'$other_org'"}'
    printf '{"job_type":"bulk","payload":{},"queue":"q:exports"}\r\n'
    printf '{"job_type":"last","payload":{"no":"line end"}}'
} >some.jsonl
expect import_counts 1 '^6 new, 0 known, 4 refused$' import some.jsonl
check import_names_the_line_and_the_field grep -q '^some.jsonl:5: payload: must be' "$here/.err"
check import_names_every_problem is "$(grep -c '^some.jsonl:5: ' "$here/.err")" 3
check import_says_what_is_no_json grep -q '^some.jsonl:6: ' "$here/.err"
check import_says_that_a_key_is_reused grep -q '^some.jsonl:8: .*bulk-1 belongs' "$here/.err"
check OPS_10_import_for_another_org_is_refused \
    grep -q "^some.jsonl:9: org_id: is not the caller's org" "$here/.err"
check import_reports_in_the_order_of_lines \
    is "$(cut -d: -f2 "$here/.err" | tr '\n' ' ')" '5 5 5 6 8 9 '
check import_stores_the_rest is "$(jobs_in sqlite:import.db)" 6
expect OPS_4_import_again_is_harmless 1 '^0 new, 6 known, 4 refused$' import some.jsonl
check OPS_4_and_stores_nothing is "$(jobs_in sqlite:import.db)" 6
pawl import some.jsonl --json
check import_json json 'd == {"new": 0, "known": 6, "refused": 4}'
"$pawl" import --help | grep '^  [a-z]*_' | tr -s ' ' '\n' | grep . \
    | sed 's/.*/{"job_type":"f","payload":{},"&":null}/' >fields.jsonl
check import_help_names_the_fields is "$(wc -l <fields.jsonl)" 19
pawl import fields.jsonl --store sqlite:fields.db
check import_help_names_no_other_fields is "$(grep -c 'unknown field' "$here/.err")" 0
lines 1 10 >ten.jsonl
expect import_without_refusals 0 '^7 new, 3 known, 0 refused$' import ten.jsonl
pawl import - <ten.jsonl
check import_from_stdin is "$status $out" '0 0 new, 10 known, 0 refused'
: >empty.jsonl
expect import_of_an_empty_file 0 '^0 new, 0 known, 0 refused$' import empty.jsonl
{
    printf '{"job_type":"bulk","payload":{"x":"'
    head -c 9000000 /dev/zero | tr '\0' x
    printf '"},"idempotency_key":"huge"}\n'
    lines 11 11
    head -c 8388608 /dev/zero | tr '\0' ' '
    echo
    printf '{"job_type":"bulk",%*s"payload":{},"idempotency_key":"spaced"}\n' 3000000 ''
    printf '{"job_type":"bulk","payload":{"x":"'
    head -c 1048576 /dev/zero | tr '\0' x
    printf '"}}\n'
} >long.jsonl
expect import_passes_over_a_line_too_long 1 '^2 new, 0 known, 2 refused$' import long.jsonl
check import_says_which_line_is_too_long grep -q '^long.jsonl:1: .*8 MiB' "$here/.err"
check import_says_which_payload_is_too_large grep -q '^long.jsonl:5: payload: has' "$here/.err"
expect a_long_line_without_end 1 '^0 new, 0 known, 1 refused$' import <(head -c 9000000 /dev/zero)
python3 -c 'for n in range(100): print("""{"job_type":"big","payload":{"n":%d,"x":"%s"}}"""
    % (n, "x" * 900000))' >many.jsonl
memory_kib=300000
! grep -q __asan_init "$pawl" || memory_kib=unlimited
check import_in_bounded_memory is \
    "$(ulimit -v $memory_kib; "$pawl" import many.jsonl --store sqlite:big.db 2>&1)" \
    '100 new, 0 known, 0 refused'
rm many.jsonl big.db*
on_terminal import ten.jsonl
check import_shows_a_bar_on_a_terminal grep -q '\[#*-*\]' "$here/.out"
WIDTH=30 on_terminal import ten.jsonl
check the_bar_fits_into_30_columns grep -q 'import \[###############\] 100%' "$here/.out"
WIDTH=20 on_terminal import ten.jsonl
check a_narrow_terminal_gets_the_percentage grep -q $'\x1b\\[K100%' "$here/.out"
pawl import ten.jsonl
check import_shows_no_bar_in_a_file test -z "$err"

# Killed in the middle: it has stored some batches and waits for more lines, and so cannot finish.
export PAWL_STORE=sqlite:killed.db
pawl migrate
lines 1 3000 >all.jsonl
mkfifo pipe
"$pawl" import pipe >/dev/null 2>&1 &
importer=$!
exec 9>pipe
head -n 1700 all.jsonl >&9
for _ in {1..600}; do
    [ "$(jobs_in sqlite:killed.db)" -lt 1500 ] || break
    sleep 0.1
done
kill -9 $importer
wait $importer 2>/dev/null
exec 9>&-
stored=$(jobs_in sqlite:killed.db)
check OPS_4_a_killed_import_has_stored_whole_batches is "$stored" 1500
expect OPS_4_run_again_it_goes_on 0 "^$((3000 - stored)) new, $stored known, 0 refused\$" \
    import all.jsonl
check OPS_4_every_line_is_one_job is "$(jobs_in sqlite:killed.db)" 3000

# ----- a command that knows no server

PAWL_SERVER=http://127.0.0.1:1 expect verify_says_that_it_works_on_the_store 0 \
    '^pawl: verify works on the store sqlite:.* itself, not through .PAWL_SERVER$' verify
PAWL_SERVER=http://127.0.0.1:1 pawl verify --store "$PAWL_STORE"
check verify_of_a_store_says_nothing_of_a_server [ -z "$err" ]

# ----- wait

export PAWL_STORE=sqlite:wait.db
exec 8< <("$pawl" enqueue report '{"steps":["b","a"]}' --wait 2>"$here/waits"; echo "status $?")
read -r line <&8
check wait_tells_of_the_new_job_at_once grep -q 'QUEUED$' <<<"$line"
"$worker" "$PAWL_STORE" w "$here/log" >"$here/.out" 2>&1
check the_worker_worked is $? 0
read -r line <&8
check wait_tells_of_the_end grep -q 'SUCCEEDED$' <<<"$line"
read -r line <&8
check wait_tells_of_the_result grep -q '^result: {' <<<"$line"
read -r line <&8
check wait_exits_0_when_it_succeeded is "$line" 'status 0'
check wait_says_what_it_waits_for grep -qE '^waiting for [0-9a-f-]{36}' "$here/waits"
done_job=$("$pawl" jobs --state SUCCEEDED | awk 'NR == 2 { print $1 }')
exec 8< <("$pawl" enqueue report --wait 2>/dev/null; echo "status $?")
read -r line <&8
pawl cancel "${line:0:36}"
read -r line <&8
check wait_tells_of_a_bad_end grep -q 'FAILED$' <<<"$line"
read -r line <&8
check wait_tells_of_the_error is "$line" 'error: cancelled before it started'
read -r line <&8
check wait_exits_1_when_it_failed is "$line" 'status 1'
pawl enqueue report '{"steps":["a","b"]}' --key once
"$worker" "$PAWL_STORE" w "$here/log" >"$here/.out" 2>&1
pawl enqueue report '{"steps":["a","b"]}' --key once --wait --json
check wait_for_a_job_that_ended json 'd["state"] == "SUCCEEDED" and d["deduplicated"] is True'
PAWL_STORE=sqlite:shown.db pawl migrate
(sleep 2; "$worker" sqlite:shown.db w "$here/log") >/dev/null 2>&1 &
worked=$!
PAWL_STORE=sqlite:shown.db on_terminal enqueue report '{"steps":["a"]}' --wait
wait $worked
check wait_on_a_terminal_ends_well is "$status" 0
check wait_on_a_terminal_shows_the_state grep -q 'K.*QUEUED (ready)' "$here/.out"
check wait_on_a_terminal_tells_of_the_end grep -q 'SUCCEEDED' "$here/.out"
expect show_tells_of_executions 0 '^ +1 +DONE +w ' show "$done_job"
check show_tells_of_steps grep -qE '^ +a +yes +1 ' "$here/.out"
check show_tells_who_worked grep -qE 'job\.started +1 +system w' "$here/.out"
pawl show "$done_job" --json
check show_json_of_a_run json 'd["executions"][0]["status"] == "DONE" and d["steps"][0]["result"]
    == "done" and d["job"]["result"] == {"steps": 2}'
check show_tells_of_steps_as_they_happened json '[s["name"] for s in d["steps"]] == ["b", "a"]'
expect JOB_2_cancel_of_a_succeeded_job_is_refused 4 'SUCCEEDED, which is final' cancel "$done_job"
expect RUN_8_retry_of_a_succeeded_job 0 'new job$' retry "$done_job"

# A running job is asked to stop, and is not ended over its worker's head.
exec 8< <(exec "$worker" "$PAWL_STORE" w2 "$here/log" a)
hanging=$!
while read -r line <&8; do [[ $line != *computing* ]] || break; done
running=$("$pawl" jobs --state RUNNING | awk 'NR == 2 { print $1 }')
expect JOB_8_cancel_of_a_running_job_asks 0 'RUNNING  asked to stop$' cancel "$running"
expect change_of_a_running_job_is_refused 4 'only a waiting job' change "$running" --priority 1
expect retry_of_a_running_job_is_refused 4 'only a finished job' retry "$running"
expect show_tells_that_a_stop_was_asked 0 'stop asked' show "$running"
kill -9 $hanging
wait $hanging 2>/dev/null
"$worker" "$PAWL_STORE" w2 "$here/log" >"$here/.out" 2>&1
expect JOB_8_after_a_crash_it_is_cancelled 0 'CANCELLED' show "$running"

# ----- verify

for store in main import killed wait; do
    expect "verify_finds_no_violation_in_$store" 0 '^0 violations$' verify --store sqlite:$store.db
done
expect verify_counts_in_words 0 '^checked 1 job and 0 executions$' verify --store sqlite:pawl.db
pawl verify --json --store sqlite:wait.db
check verify_json json 'd["violations"] == [] and d["jobs"] == 4 and d["executions"] == 3'
sql main.db 'DELETE FROM ready'
expect EXEC_8_verify_reports_damage 1 '[1-9][0-9]* violations$' verify --store sqlite:main.db
pawl verify --json --store sqlite:main.db
check EXEC_8_verify_reports_damage_as_json json 'len(d["violations"]) > 0 and all(v["invariant"]
    and "job_id" in v and "detail" in v for v in d["violations"])'
on_terminal verify --store sqlite:killed.db
check verify_shows_a_bar_on_a_terminal grep -q 'verify \[' "$here/.out"
check verify_on_a_terminal_says_the_same grep -q '0 violations' "$here/.out"

conclude
