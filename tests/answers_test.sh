#!/usr/bin/env bash
# A sample of `make torture-answers`: tests that pass although answers to commits are lost. The last
# one shows that they are.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/shell.sh"
cd "$SOURCE" || exit 1

sample() { # ONE_IN PROGRAM...
    tools/torture-answers "$BUILD" --seed 7 --one-in "$@" | tee "$here/sample"
    return "${PIPESTATUS[0]}"
}

check OPS_9_lost_answers_are_found_out_by_the_runner_and_by_loans \
    sample 20 runner_test runner_commit_test loan_test runner_step_test handlers_test
# Its servers make few commits each.
check OPS_9_lost_answers_are_found_out_by_the_server sample 5 api_lifecycle_test
check OPS_9_answers_were_lost grep -q ' 0 programs not reached' "$here/sample"
conclude
