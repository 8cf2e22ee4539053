#!/usr/bin/env bash
# pawl copy as an operator uses it. Between two files: tests/postgres has what a server adds.
pawl=${PAWL:?the binary under test}
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/shell.sh"

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

conclude
