#!/usr/bin/env bash
# The examples as a newcomer meets them: each is run, and has to do what its first lines promise.
source=$(realpath "${SOURCE:-$(dirname "$0")/..}")
examples=$(realpath "${BUILD:?the build directory}/examples")
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/shell.sh"
mkdir "$here/tmp"
export TMPDIR=$here/tmp

run() { # what it says is in .out, on whatever it says it
    "$@" >"$here/.out" 2>&1
    status=$?
}

says() { grep -q -- "$1" "$here/.out"; }
silent() { ! grep -q -- "$1" "$here/.out"; }
times() { [ "$(grep -c -- "$1" "$here/.out")" = "$2" ]; }
tidy() { [ -z "$(ls -A "$here/tmp")" ]; }

# ----- embed

run "$examples/embed" "to be or not to be"
check embed_ends_well ended 0
check embed_shows_the_result says '"words":6'
run "$examples/embed" "$(printf 'caf\xe9')"
check embed_shows_a_failure says 'the payload has no text'
check embed_fails_with_it ended 1
rm embed.db*

in_readme() { # the program stands in the README as it is
    python3 - "$source/README.md" "$source/examples/embed/embed.c" <<'PYTHON'
import sys
page, program = (open(name, encoding="utf-8").read() for name in sys.argv[1:])
sys.exit(0 if "```c\n" + program + "```\n" in page else 1)
PYTHON
}
short() { [ "$(wc -l <"$1")" -le 60 ]; }
check embed_is_what_the_readme_shows in_readme
check embed_has_sixty_lines short "$source/examples/embed/embed.c"

# ----- testing

run "$examples/testing"
check testing_ends_well ended 0
check testing_runs_every_test times '^ok ' 8
check testing_leaves_nothing_behind tidy

# ----- faults

run "$examples/faults"
check faults_ends_well ended 0
check faults_tries_every_kind times '^ok ' 4
check RUN_5_faults_meets_runs_that_must_be_repeated says 'dies before.*prepared again [1-9]'
check EXEC_6_faults_meets_letters_that_are_sent_again says 'dies before.*letters sent again [1-9]'
check faults_leaves_nothing_behind tidy

# ----- transactional

run "$examples/transactional"
check transactional_ends_well ended 0
check transactional_shows_the_job says 'order 1 of Ada: job .* SUCCEEDED'
check transactional_finds_nothing_wrong silent BAD
run "$examples/transactional" --torture "${TORTURE_CYCLES:-20}"
check RUN_5_transactional_survives_the_torture ended 0
check transactional_died_in_mid_order says 'ok  *and some died in mid-order'
check EXEC_6_transactional_wrote_every_invoice_once says 'ok .*wrote its invoice exactly once'
check transactional_leaves_nothing_behind tidy
run "$examples/transactional" --torture none
check transactional_knows_bad_usage ended 2

# ----- documents

texts=$source/examples/documents/texts
run "$examples/documents" --fast --store sqlite:d.db --flaky lighthouse "$texts"
check documents_ends_well ended 0
check documents_is_plain_without_a_terminal silent $'\x1b'
check RUN_6_documents_shows_the_retried_step says 'lighthouse.*STEP_RETRIED'
check documents_processes_the_good_ones times '^   [a-z].*SUCCEEDED  *1 ' 6
check documents_counts_words says '^   clockmaker  *SUCCEEDED *1 *309 *clock, wheel, tooth, steel'
check documents_refuses_the_empty_one says 'there is nothing in it'
check documents_refuses_what_is_not_text says 'byte 126 is not UTF-8'
check documents_fills_its_own_tables says '5 documents with 1564 words'
run "$examples/documents" --fast --store sqlite:d.db "$texts"
check documents_knows_what_it_has_done says '8 files, 8 of them handed in before'
check documents_shows_it_again times '^   [a-z].*SUCCEEDED  *1 ' 6
run "$examples/documents" --fast --store sqlite:d.db "$here/nowhere"
check documents_says_what_is_missing ended 1
run "$examples/documents" --slow
check documents_knows_bad_usage ended 2
rm d.db*

on_terminal() { # a terminal of its own, 24 lines of 80 columns
    python3 -c 'import fcntl, os, pty, struct, sys, termios
pid, fd = pty.fork()
if pid == 0:
    os.environ["TERM"] = "xterm"
    fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    os.execv(sys.argv[1], sys.argv[1:])
try:
    while data := os.read(fd, 4096):
        sys.stdout.buffer.write(data)
except OSError:
    pass  # the terminal is gone with its last user
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))' "$@"
}
run on_terminal "$examples/documents" --fast --store sqlite:d.db "$texts"
check documents_ends_well_on_a_terminal ended 0
check documents_draws_bars says 'harbour.1  *\[########################\] 100%  done'
check documents_draws_over_them says $'\x1b\\[8A'
NO_COLOR=1 run on_terminal "$examples/documents" --fast --store sqlite:d.db "$texts"
check documents_draws_without_colours silent $'\x1b\\[3[0-9]m'
rm d.db*

# Asked to stop, it gives its runs back: they go on when it is started again, no attempt is burnt.
"$examples/documents" --store sqlite:d.db "$texts" >"$here/.out" 2>&1 &
child=$!
for _ in $(seq 1200); do
    ! says 'clockmaker  *split' || break
    sleep 0.05
done
kill -TERM "$child"
wait "$child"
status=$?
check documents_stops_when_asked says 'Interrupted'
check documents_says_that_it_is_unfinished ended 1
run "$examples/documents" --fast --store sqlite:d.db "$texts"
check documents_goes_on says '5 documents with 1564 words'
check documents_burnt_no_attempt times '^   [a-z].*SUCCEEDED  *[12] ' 6
check documents_left_nothing_running says 'Runs a dead process had left: 0'
rm d.db*

run "$source/examples/documents/run" --fast
check the_tour_ends_well ended 0
check the_tour_says_so says '^All as told'
check RUN_5_the_tour_shows_the_recovery says 'PROCESS_TERMINATED'
check the_tour_ends_with_the_newer_version times '5 documents with 1564 words' 3
check the_tour_shows_verify says '0 violations'
check the_tour_is_plain_without_a_terminal silent $'\x1b'
check the_tour_leaves_nothing_behind tidy

# ----- daily-brief: what it does has tests of its own (tests/brief_*, tests/api/brief_*)

run "$source/examples/daily-brief/run" sqlite:brief.db
check daily_brief_ends_well ended 0
check daily_brief_shows_the_brief says '^ 1\. Ferry Solveig Maren runs aground off Calder Bay'
check daily_brief_says_how_to_see_the_page says '^As a page: .*brief-web --store sqlite:brief.db'
check daily_brief_is_plain_without_a_terminal silent $'\x1b'
rm brief.db*

conclude
