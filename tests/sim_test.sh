#!/usr/bin/env bash
# A sample of the simulator: seeds that failed once, some others twice, and two planted mistakes
# that it must find. `make torture-sim` and `make torture-sim-bugs` are the whole of it.
set -u
sim=${BUILD:?the build directory}/sim/sim
seeds=${SOURCE:?the source tree}/sim/seeds.txt
here=$(mktemp -d "${TMPDIR:-/tmp}/pawl-sim.XXXXXX")
trap 'rm -rf "$here"' EXIT
passed=0
failed=0
last=4
[ "${SANITIZE:-none}" = none ] || last=2  # everything is many times slower there

check() { # check NAME COMMAND...: a case that passes when the command does
    if "${@:2}" >"$here/said" 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        printf 'FAILED %s\n' "$1"
        tail -n 40 "$here/said"
    fi
}
finds() { # finds MISTAKE SEED: a run with the mistake in it fails, and says how to repeat it
    ! "$sim" --seed "$2" --bug "$1" >"$here/found" \
        && grep -q "^sim --seed $2 .*--bug $1" "$here/found"
}
refuses() { # refuses WORD...: bad usage
    "$sim" "$@" 2>"$here/usage"
    [ $? -eq 2 ] && grep -q -- --seeds "$here/usage"
}

check JOB_6_seeds_that_failed_once "$sim" --list "$seeds" --steps 400
check JOB_6_a_seed_is_the_same_run_twice "$sim" --seeds 1..$last --twice
check OPS_9_an_answer_before_the_commit_is_found finds answer-before-commit 1
check EXEC_3_a_missing_fence_is_found finds no-fence 1
check JOB_6_bad_usage_is_said refuses --seeds 5
check JOB_6_unknown_mistakes_are_refused refuses --bug unheard-of
printf 'pawl-cases: %d passed, %d failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ]
