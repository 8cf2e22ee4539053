# What the shell tests share: a directory of their own, commands whose words are kept, and cases
# that pass or fail. A test sources it first, and its last line is `conclude`.
#
# What the last command said is in the files .out and .err of the directory, and how it ended in
# $status.
# shellcheck shell=bash
set -u
unset PAWL_STORE PAWL_API_KEY NO_COLOR
export PAWL_SERVER=  # whoever has a server on the default address is not asked
export LC_ALL=C.UTF-8
here=$(mktemp -d "${TMPDIR:-/tmp}/pawl-$(basename "$0" _test.sh).XXXXXX")
trap 'rm -rf "$here"' EXIT
cd "$here" || exit 1
touch .out .err
passed=0 failed=0 status=0

# ----- commands

run() {
    "$@" >"$here/.out" 2>"$here/.err"
    status=$?
}

pawl() { run "${PAWL:?the binary under test}" "$@"; }

ended() { [ "$status" = "$1" ]; }
prints() { [ "$(cat "$here/.out")" = "$1" ]; }  # that, and nothing else
says() { grep -qF -- "$1" "$here/.err"; }
json() { # the expression holds of the JSON value `d` that was printed
    python3 -c 'import json, sys
d = json.load(open(sys.argv[1], encoding="utf-8"))
sys.exit(0 if eval("(" + sys.argv[2] + ")") else 1)' "$here/.out" "$1"
}
is() { [ "$1" = "$2" ] || { printf '  is     %s\n  wanted %s\n' "$1" "$2"; false; }; }

# ----- cases

pass() { passed=$((passed + 1)); }
miss() {
    failed=$((failed + 1))
    printf 'FAILED %s\n  status %s\n' "$1" "$status"
    tail -c 3000 "$here/.out" "$here/.err"
}

check() { # check NAME COMMAND...: a case that passes when the command does
    if "${@:2}"; then pass; else miss "$1"; fi
}

quietly() { # quietly NAME COMMAND...: the same, and what it says is only shown when it fails
    run "${@:2}"
    check "$1" ended 0
}

expect() { # expect NAME STATUS PATTERN WORDS...: the pattern is searched in all that pawl says
    pawl "${@:4}"
    if ended "$2" && grep -qE -- "$3" "$here/.out" "$here/.err"; then
        pass
    else
        miss "$1 (wanted $2 and /$3/)"
    fi
}

conclude() {
    echo "pawl-cases: $passed passed, $failed failed"
    [ "$failed" = 0 ]
}
