#!/usr/bin/env bash
# A sample of the simulator: seeds that failed once, some others twice, and two planted mistakes
# that it must find. `make torture-sim` and `make torture-sim-bugs` are the whole of it.
sim=${BUILD:?the build directory}/sim/sim
seeds=${SOURCE:?the source tree}/sim/seeds.txt
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/shell.sh"
last=4
steps=1000
[ "${SANITIZE:-none}" = none ] || { last=2 && steps=400; }  # everything is far slower there

finds() { # finds MISTAKE SEED: a run with the mistake in it fails, and says how to repeat it
    ! "$sim" --seed "$2" --bug "$1" >"$here/found" \
        && grep -q "^sim --seed $2 .*--bug $1" "$here/found"
}
refuses() { # refuses WORD...: bad usage
    "$sim" "$@" 2>"$here/usage"
    [ $? -eq 2 ] && grep -q -- --seeds "$here/usage"
}

quietly JOB_6_seeds_that_failed_once "$sim" --list "$seeds" --steps $steps
quietly JOB_6_a_seed_is_the_same_run_twice "$sim" --seeds 1..$last --twice
quietly OPS_9_an_answer_before_the_commit_is_found finds answer-before-commit 1
quietly EXEC_3_a_missing_fence_is_found finds no-fence 1
quietly JOB_6_bad_usage_is_said refuses --seeds 5
quietly JOB_6_unknown_mistakes_are_refused refuses --bug unheard-of
conclude
