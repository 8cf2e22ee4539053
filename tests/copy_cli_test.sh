#!/usr/bin/env bash
# pawl copy as an operator uses it. Between two files: tests/postgres has what a server adds.
set -u
pawl=${PAWL:?the binary under test}
here=$(mktemp -d "${TMPDIR:-/tmp}/pawl-copy.XXXXXX")
trap 'rm -rf "$here"' EXIT
cd "$here" || exit 1
unset PAWL_STORE NO_COLOR
export PAWL_SERVER=  # whoever has a server on the default address is not asked
export LC_ALL=C.UTF-8
passed=0
failed=0

expect() { # expect NAME STATUS PATTERN WORDS...: the pattern is searched in all that is said
    local said status
    said=$("$pawl" "${@:4}" 2>&1)
    status=$?
    if [ "$status" = "$2" ] && grep -qE -- "$3" <<<"$said"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        printf 'FAILED %s: status %s, wanted %s and /%s/\n%s\n' "$1" "$status" "$2" "$3" "$said"
    fi
}

for i in 1 2 3; do "$pawl" enqueue report.export --key "k$i" >/dev/null; done
echo hello >hello.txt
"$pawl" artifact put hello.txt >/dev/null

expect it_needs_two_stores 2 'needs --from URL and --to URL' copy --from sqlite:pawl.db
expect a_store_is_a_url 2 'a store is sqlite:FILE' copy --from pawl.db --to sqlite:b.db
expect there_must_be_a_source 3 'nowhere.db' copy --from sqlite:nowhere.db --to sqlite:b.db
expect it_is_copied 0 ' 3 jobs, 1 artifacts?, .* 0 violations' \
    copy --from sqlite:pawl.db --to sqlite:b.db
expect the_copy_has_the_jobs 0 '^0 violations$' verify --store sqlite:b.db --artifacts
expect a_key_is_known_there 0 'deduplicated|known|already' \
    enqueue report.export --key k2 --store sqlite:b.db --json
expect done_once_is_enough 4 'a copy of this store already' \
    copy --from sqlite:pawl.db --to sqlite:b.db
"$pawl" enqueue report.export --key k4 >/dev/null
expect a_copy_replaces_nothing 4 'not empty: it has rows in orgs' \
    copy --from sqlite:pawl.db --to sqlite:b.db
expect what_it_did_as_json 0 '"resumed":false,"tables":[0-9]+,"rows":[0-9]+,"artifacts":1,' \
    copy --from sqlite:b.db --to sqlite:c.db --json

echo "pawl-cases: $passed passed, $failed failed"
[ "$failed" = 0 ]
