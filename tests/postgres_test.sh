#!/usr/bin/env bash
# The same SQL file serves both databases: PostgreSQL accepts the schema, prepares every named query
# and holds the same guards. A server of its own: private directory, unix socket only, unprivileged
# user, stopped at the end.
set -euo pipefail

: "${BUILD:=build}"
passed=0 failed=0
box=$(mktemp -d "${TMPDIR:-/tmp}/pawl-postgres.XXXXXX")
chmod 755 "$box"
bin=$(find /usr/lib/postgresql -maxdepth 2 -name bin 2>/dev/null | sort -V | tail -n 1)

# PostgreSQL refuses to run as root.
as_nobody() {
    if [ "$(id -u)" = 0 ]; then
        setpriv --reuid=65534 --regid=65534 --clear-groups env HOME="$box" "$@"
    else
        "$@"
    fi
}

stop() {
    as_nobody "$bin/pg_ctl" -D "$box/data" -m immediate stop >/dev/null 2>&1 || true
    rm -rf "$box"
}
trap stop EXIT

sql() {  # reads statements from standard input; stops at the first that is refused
    as_nobody "$bin/psql" -h "$box" -U pawl -d postgres -X -q -v ON_ERROR_STOP=1 "$@"
}

check() {  # check NAME COMMAND...
    local status
    set +e  # not in an `if`, where the commands inside would go on after a failure
    (set -e; "${@:2}") >"$box/said" 2>&1
    status=$?
    set -e
    if [ "$status" = 0 ]; then
        passed=$((passed + 1))
        echo "ok: $1"
    else
        failed=$((failed + 1))
        echo "FAILED: $1"
        head -n 20 "$box/said"
    fi
}

start() {
    [ "$(id -u)" != 0 ] || chown 65534:65534 "$box"
    as_nobody "$bin/initdb" -D "$box/data" -U pawl -A trust -E UTF8 --no-sync >/dev/null
    as_nobody "$bin/pg_ctl" -D "$box/data" -l "$box/log" -w -t 60 \
        -o "-c listen_addresses='' -c unix_socket_directories='$box' -c fsync=off" start >/dev/null
}

the_schema_is_accepted() { sql <"$BUILD/schema.postgres.sql"; }

every_query_is_prepared() {
    local named prepared
    named=$(grep -c '^PREPARE ' "$BUILD/queries.postgres.sql")
    prepared=$({
        cat "$BUILD/queries.postgres.sql"
        echo 'SELECT count(*) FROM pg_prepared_statements;'
    } | sql -t -A)
    echo "named $named, prepared $prepared"
    [ "$named" = "$prepared" ] && [ "$named" -gt 60 ]
}

no_parameter_is_too_narrow() {
    # A time or an id that the planner takes for a 32-bit number would be refused when it is bound.
    local narrow
    narrow=$({ cat "$BUILD/queries.postgres.sql"
        echo "SELECT name FROM pg_prepared_statements
              WHERE 'integer'::regtype = ANY (parameter_types);"
    } | sql -t -A)
    echo "$narrow"
    [ -z "$narrow" ]
}

refused() { ! printf '%s\n' "$1" | sql; }

the_guards_hold() {
    sql <<'SQL'
INSERT INTO orgs (id, org_id, created_at) VALUES
  (1, '00000000-0000-7000-8000-000000000000', 1), (2, '00000000-0000-7000-8000-000000000001', 1);
INSERT INTO job_types (id, name, created_at) VALUES (1, 'report', 1);
INSERT INTO queues (id, name, created_at) VALUES (1, 'q:default', 1);
INSERT INTO policies VALUES
  (1, 'default', 'default', 'q:default', 5, 2, 1, 1, 1, 2, 3, 4, 1, 1, 1, 5);
INSERT INTO jobs (id, id_low, org, type, queue, priority, policy, created_at, idempotency_key,
                  actor_type, actor_id, request_id, correlation_id, payload)
VALUES (7, 1, 1, 1, 1, 0, 1, 1, 'k', 0, 'a', 'r', 'c', '{}');
INSERT INTO audit_events (org, job, event, attempt, at) VALUES (1, 7, 1, 0, 1);
INSERT INTO outcomes (job, org, ended_at, state, failure_type)
VALUES (7, 1, 1, 'FAILED', 'CANCELLED');
SQL
    refused "UPDATE jobs SET payload = '[]';"
    refused "DELETE FROM audit_events;"
    refused "UPDATE outcomes SET state = 'TIMED_OUT';"
    refused "INSERT INTO parked (job, org, reason) VALUES (7, 2, 'held');"
    refused "INSERT INTO outcomes (job, org, ended_at, state, failure_type)
             VALUES (7, 1, 1, 'FAILED', 'CANCELLED');"
}

the_views_answer() {
    [ "$(echo 'SELECT job_id, state FROM pawl_jobs' | sql -t -A)" = \
        "00000000-0000-7007-8000-000000000001|FAILED" ]
    echo 'SELECT * FROM pawl_executions; SELECT * FROM pawl_audit' | sql
}

start
check "the schema is accepted" the_schema_is_accepted
check "every named query is prepared" every_query_is_prepared
check "no parameter is narrower than our numbers" no_parameter_is_too_narrow
check "the guards hold" the_guards_hold
check "the views answer" the_views_answer
echo "pawl-cases: $passed passed, $failed failed"
[ "$failed" = 0 ]
