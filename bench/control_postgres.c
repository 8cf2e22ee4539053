// The same on a server: a table in a schema of its own, which is dropped at the end, as is the one
// with the store that is compared with.
#include <stdio.h>
#include <stdlib.h>

#include "bench/control_inside.h"
#include "store/postgres.h"

enum { PARAMETERS = 5, NUMBER = 24 };

#define DROP "DROP SCHEMA IF EXISTS pawl_control, pawl_base CASCADE"

static const char set_up[] =
    DROP "; CREATE SCHEMA pawl_control;"
    "CREATE TABLE pawl_control.jobs (id BIGINT PRIMARY KEY, id_low BIGINT, org BIGINT, type BIGINT,"
    " queue BIGINT, priority BIGINT, policy BIGINT, created_at BIGINT, scheduled_for BIGINT,"
    " max_wait_us BIGINT, serial_key TEXT, idempotency_key TEXT, project_id TEXT,"
    " actor_type BIGINT, actor_id TEXT, request_id TEXT, correlation_id TEXT, traceparent TEXT,"
    " authorized_by TEXT, parent BIGINT, origin TEXT, payload TEXT);"
    "CREATE UNIQUE INDEX jobs_org ON pawl_control.jobs (id, org);"
    "CREATE INDEX jobs_parent ON pawl_control.jobs (parent) WHERE parent IS NOT NULL";

static const char insert[] =
    "INSERT INTO pawl_control.jobs (id, id_low, org, type, queue, priority, policy, created_at,"
    " idempotency_key, actor_type, actor_id, request_id, correlation_id, payload)"
    " VALUES ($1, $2, 1, 1, 1, 0, 1, $3, $4, 0, 'bench', $4, $4, $5)";

static bool good(PGconn *connection, PGresult *result, struct pawl_error *err)
{
    bool fine = pq.resultStatus(result) == PGRES_COMMAND_OK;
    pq.clear(result);
    return fine || fail(err, PAWL_STORE, "the control failed: %s", pq.errorMessage(connection));
}

static bool run_text(void *connection, const char *sql, struct pawl_error *err)
{
    return good(connection, pq.exec(connection, sql), err);
}

static bool insert_row(void *connection, const struct control_row *row, struct str payload,
                       struct pawl_error *err)
{
    char numbers[3][NUMBER];
    const int64_t given[] = { row->id.high, row->id.low, row->now };
    for (size_t i = 0; i < countof(given); i++)
        snprintf(numbers[i], NUMBER, "%lld", (long long)given[i]);
    const char *values[PARAMETERS] = { numbers[0], numbers[1], numbers[2], row->text, payload.s };
    const int lengths[PARAMETERS] = { 0, 0, 0, 0, (int)payload.n };
    const int formats[PARAMETERS] = { 0, 0, 0, 0, 1 };
    PGresult *result = pq.execPrepared(connection, "control", PARAMETERS, values, lengths, formats,
                                       0);
    return good(connection, result, err);
}

static void close_connection(void *connection, bool last)
{
    struct pawl_error unseen;
    if (!connection)
        return;
    if (last && !run_text(connection, DROP, &unseen))
        fprintf(stderr, "pawl bench: %s\n", unseen.message);
    pq.finish(connection);
}

static bool open_connection(void **connection, const char *where, bool first,
                            struct pawl_error *err)
{
    SCOPED(arena) struct arena arena = {0};
    struct server_url url;
    if (!postgres_load(err) || !server_url_parse(&arena, str_of(where), &url, err))
        return false;
    *connection = postgres_connect(&url, err);
    return *connection && (!first || run_text(*connection, set_up, err))
        && good(*connection, pq.prepare(*connection, "control", insert, 0, NULL), err);
}

const struct control_kind control_postgres = {
    .open = open_connection,
    .execute = run_text,
    .insert = insert_row,
    .begin = "BEGIN",
    .close = close_connection,
};
