#!/usr/bin/env bash
# A sample of `make torture-answers`: tests that pass although answers to commits are lost. The last
# one shows that they are.
set -u
cd "$SOURCE" || exit 1
passed=0 failed=0

expect() {
    if "${@:2}"; then
        passed=$((passed + 1))
    else
        echo "failed: $1"
        failed=$((failed + 1))
    fi
}

sample() {
    tools/torture-answers "$BUILD" --one-in 20 --seed 7 "$@" | tee "$BUILD/answers-sample"
    return "${PIPESTATUS[0]}"
}

expect OPS_9_lost_answers_are_found_out_by_the_runner_and_by_loans \
    sample runner_test runner_commit_test loan_test runner_step_test handlers_test
expect OPS_9_lost_answers_are_found_out_by_the_server sample api_lifecycle_test
expect OPS_9_answers_were_lost grep -q ' 0 programs not reached' "$BUILD/answers-sample"
rm -f "$BUILD/answers-sample"
echo "pawl-cases: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
