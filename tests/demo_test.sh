#!/usr/bin/env bash
# The guided demonstration checks its own claims; here it has to end well, say so, and tidy up.
set -u
cd "${SOURCE:-$(dirname "$0")/..}" || exit 1
here=$(mktemp -d "${TMPDIR:-/tmp}/pawl-demo-test.XXXXXX")
trap 'rm -rf "$here"' EXIT
passed=0
failed=0

check() { # check NAME COMMAND...
    if "${@:2}"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED $1"
        cat "$here/said"
    fi
}
says() { grep -q -- "$1" "$here/said"; }

mkdir "$here/tmp"
TMPDIR=$here/tmp demo/run >"$here/said" 2>&1
check demo_ends_well test $? = 0
check demo_says_so says '^All as told'
check RUN_5_demo_shows_the_recovery says 'ok  the new process recovered the run of the dead one'
check demo_shows_verify says '0 violations'
check demo_is_plain_without_a_terminal test -z "$(grep $'\x1b' "$here/said")"
check demo_leaves_nothing_behind test -z "$(ls -A "$here/tmp")"
echo "pawl-cases: $passed passed, $failed failed"
[ "$failed" = 0 ]
