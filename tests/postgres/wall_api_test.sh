#!/usr/bin/env bash
# A server on PostgreSQL with two tenants: each sees all that is its own through every read of the
# API, behind the wall, and nothing of the other.
set -u
pawl=${PAWL:?the binary under test}
here=$(mktemp -d "${TMPDIR:-/tmp}/pawl-wall.XXXXXX")
cd "$here" || exit 1
unset PAWL_STORE
export PAWL_SERVER=
passed=0
failed=0

# shellcheck disable=SC2059  # the URL is a form: %s is the database
url() { printf "${PAWL_TEST_SERVER:?started by tests/postgres/run}" "$1"; }
database=wall_$$
psql -Xq "$(url postgres)" -c "CREATE DATABASE $database TEMPLATE pawl_template" || exit 1
store="$(url "$database")&files=$here/files"

server=
finish() {
    [ -z "$server" ] || { kill "$server"; wait "$server"; }
    psql -Xq "$(url postgres)" -c "DROP DATABASE $database WITH (FORCE)"
    rm -rf "$here"
}
trap finish EXIT

a=aaaaaaaa-0000-7000-8000-000000000000
b=bbbbbbbb-0000-7000-8000-000000000000
declare -A key job
for org in $a $b; do
    key[$org]=$("$pawl" key create --org "$org" --role admin --store "$store" --json |
        sed -n 's/.*"key":"\([^"]*\)".*/\1/p')
    job[$org]=$("$pawl" enqueue "type.of.$org" '{}' --key "key-of-$org" --org "$org" \
        --store "$store" | cut -d' ' -f1)
done

"$pawl" serve --store "$store" --listen 127.0.0.1:0 >server.log 2>&1 &
server=$!
for _ in $(seq 300); do
    port=$(sed -n 's/.*127\.0\.0\.1:\([0-9][0-9]*\).*/\1/p' server.log | head -n 1)
    [ -z "$port" ] || break
    sleep 0.1
done

get() { # get ORG PATH: what it answers is in said
    status=$(curl -s -m 20 -o said -w '%{http_code}' -H "Authorization: Bearer ${key[$1]}" \
        "http://127.0.0.1:$port$2")
}
check() { # check NAME COMMAND...
    if "${@:2}"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        printf 'FAILED %s (status %s)\n' "$1" "$status"
        head -c 600 said
    fi
}
own() { [ "$status" = 200 ] && grep -q -- "$1" said && ! grep -q -- "$2" said; }
fine() { [ "$status" = 200 ] && ! grep -q -- "$1" said; }

sees() { # sees ORG OTHER
    local path
    for path in /v1/jobs "/v1/jobs/${job[$1]}" "/v1/jobs/${job[$1]}/audit" \
        "/v1/jobs/${job[$1]}/explain" /v1/audit /v1/keys; do
        get "$1" "$path"
        check "own $path" own "$1" "$2"
    done
    for path in /v1/queues /v1/stats /v1/workers /v1/schedules /v1/deadletter /v1/limits \
        /v1/artifacts "/v1/jobs/${job[$1]}/executions" "/v1/jobs/${job[$1]}/steps"; do
        get "$1" "$path"
        check "only own $path" fine "$2"
    done
    get "$1" "/v1/jobs/${job[$2]}"
    check "not the other's job" [ "$status" = 404 ]
    get "$1" /v1/queues
    check "counts its own" grep -q '"ready":1' said
}
sees $a $b
sees $b $a
# A stream has no end: it is left when what is looked for has come.
curl -s -N -m 60 -H "Authorization: Bearer ${key[$b]}" -H 'Last-Event-ID: 0' \
    "http://127.0.0.1:$port/v1/events" 2>/dev/null | tee said | grep -q "${job[$b]}"
status=200
check "its own events" own "${job[$b]}" "${job[$a]}"

echo "pawl-cases: $passed passed, $failed failed"
[ "$failed" = 0 ]
