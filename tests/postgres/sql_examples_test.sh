#!/usr/bin/env bash
# examples/sql as a newcomer meets it: a role that may enqueue and nothing else, orders from psql
# and from Python, and a server that runs their jobs.
set -u
pawl=${PAWL:?the binary under test}
examples=${SOURCE:?the source tree}/examples/sql
here=$(mktemp -d "${TMPDIR:-/tmp}/pawl-sql.XXXXXX")
cd "$here" || exit 1
unset PAWL_STORE
export PAWL_SERVER=
passed=0
failed=0
# psycopg2 is Debian's package, and so of Debian's Python, whichever else comes first in PATH.
python=/usr/bin/python3
"$python" -c 'import psycopg2' 2>/dev/null || python=python3

# shellcheck disable=SC2059  # the URL is a form: %s is the database
url() { printf "${PAWL_TEST_SERVER:?started by tests/postgres/run}" "$1"; }
database=examples_$$
psql -Xq "$(url postgres)" -c "CREATE DATABASE $database TEMPLATE pawl_template" || exit 1
store="$(url "$database")&files=$here/files"
shop=${store/pawl@/shop_$$@}
shop=${shop%&files=*}

server=
finish() {
    [ -z "$server" ] || { kill "$server"; wait "$server"; }
    psql -Xq "$(url postgres)" -c "DROP DATABASE $database WITH (FORCE)" -c "DROP ROLE shop_$$"
    rm -rf "$here"
}
trap finish EXIT

check() { # check NAME COMMAND...
    if "${@:2}"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        printf 'FAILED %s\n' "$1"
        cat said
    fi
}
says() { grep -qE -- "$1" said; }
one() { psql -XAtq "$(url "$database")" -c "$1"; }
is() { [ "$1" = "$2" ] || { printf '  is     %s\n  wanted %s\n' "$1" "$2"; false; }; }
ended() { # ended N: so many jobs have, within a minute
    for _ in $(seq 600); do
        local now
        now=$(one "SELECT count(*) FROM pawl.pawl_jobs WHERE state = 'SUCCEEDED'")
        [ "$now" != "$1" ] || return 0
        sleep 0.1
    done
    "$pawl" jobs --store "$store"
    return 1
}

one "CREATE ROLE shop_$$ LOGIN; GRANT USAGE ON SCHEMA pawl TO shop_$$;
     GRANT EXECUTE ON FUNCTION pawl.enqueue TO shop_$$; GRANT CREATE ON SCHEMA public TO shop_$$"
cat >pawl.yaml <<YAML
listen: 127.0.0.1:0
job_types:
  invoice.send:
    category: transfer
    run: ["/bin/sh", "-c", "cat"]
YAML

psql -X -v customer=ada "$shop" -f "$examples/order.sql" >said 2>&1
check psql_places_an_order says '1 \| ada +\| [0-9a-f]{8}-'
"$python" "$examples/order.py" "$shop" bob >said 2>&1
check python_places_an_order says '^order 2: job [0-9a-f]{8}-'
"$python" "$examples/order.py" "$shop" eve --change-my-mind >said 2>&1
check python_changes_its_mind says 'there is no job$'
check two_orders is "$(one 'SELECT count(*) FROM public.orders')" 2

"$pawl" serve --config pawl.yaml --store "$store" >server.log 2>&1 &
server=$!
cp server.log said
check both_jobs_are_done ended 2
check and_no_other is "$(one 'SELECT count(*) FROM pawl.jobs')" 2
check an_order_has_its_job is "$(one 'SELECT count(*) FROM public.orders o
    JOIN pawl.pawl_jobs j ON j.job_id = o.invoice_job::text')" 2
check a_type_is_as_configured is \
    "$(one "SELECT string_agg(DISTINCT category || ' ' || queue, ',') FROM pawl.pawl_jobs")" \
    'transfer q:exports'
kill "$server"
wait "$server"
server=
"$pawl" verify --store "$store" >said 2>&1
check the_store_is_sound says '^0 violations$'

echo "pawl-cases: $passed passed, $failed failed"
[ "$failed" = 0 ]
