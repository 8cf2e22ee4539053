// libpq's pipeline mode. It is entered with the first statement that is sent, and left for plain
// text only, which it does not take.
#include "store/postgres_wire.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ----- parameters

static void bind(struct binding *binding, int i, const struct value *value)
{
    binding->lengths[i] = 0;
    binding->formats[i] = 0;
    binding->values[i] = NULL;
    switch (value->kind) {  // defensive: there are no other kinds
    case VALUE_INT:
        snprintf(binding->numbers[i], NUMBER_BYTES, "%lld", (long long)value->number);
        binding->values[i] = binding->numbers[i];
        return;
    case VALUE_TEXT:  // in binary a text is its bytes, and they need no NUL behind them
        binding->values[i] = value->text.s ? value->text.s : "";
        binding->lengths[i] = (int)value->text.n;
        binding->formats[i] = 1;
        return;
    case VALUE_NONE:
        return;
    }
}

bool wire_bind(struct postgres *postgres, const struct value *values, size_t count,
               struct pawl_error *err)
{
    assert(count <= PARAMETERS_MAX);
    for (size_t i = 0; i < count; i++) {
        if (values[i].kind == VALUE_TEXT && values[i].text.n > INT32_MAX)
            return fail(err, PAWL_STORE, "a text of %zu bytes is too long", values[i].text.n);
        bind(&postgres->binding, (int)i, &values[i]);
    }
    return true;
}

// ----- sending

static bool enter(struct postgres *postgres, struct pawl_error *err)
{
    PGconn *connection = postgres->connection;
    return pq.pipelineStatus(connection) == PQ_PIPELINE_ON || pq.enterPipelineMode(connection)
        || postgres_failed(postgres, NULL, "cannot send", err);
}

static bool note(struct postgres *postgres, struct sent sent, int done, struct pawl_error *err)
{
    if (!done)
        return postgres_failed(postgres, NULL, sent.what, err);
    postgres->sent[postgres->sent_count++] = sent;
    return true;
}

// One place is for the statement that prepares another.
static bool make_room(struct postgres *postgres, struct pawl_error *err)
{
    return postgres->sent_count + 2 <= SENT_MAX || wire_read(postgres, err);
}

bool wire_prepare(struct postgres *postgres, struct phrase phrase, struct pawl_error *err)
{
    struct sent sent = { .what = phrase.name, .changes = ANY_ROWS, .prepared = phrase.prepared };
    if (*phrase.prepared)
        return true;
    if (!make_room(postgres, err) || !enter(postgres, err))
        return false;
    int done = pq.sendPrepare(postgres->connection, phrase.name, phrase.text, 0, NULL);
    *phrase.prepared = note(postgres, sent, done, err);
    return *phrase.prepared;
}

// By its name, or by its text where the session that has prepared it may be somebody else's.
bool wire_send(struct postgres *postgres, struct phrase phrase, size_t count,
               struct answer *answer, struct pawl_error *err)
{
    const struct binding *b = &postgres->binding;
    struct sent sent = { .what = phrase.name, .answer = answer, .changes = ANY_ROWS };
    bool pooled = postgres->url.pooled;
    if (!make_room(postgres, err) || !enter(postgres, err)
        || (!pooled && !wire_prepare(postgres, phrase, err)))
        return false;
    int done = pooled
        ? pq.sendQueryParams(postgres->connection, phrase.text, (int)count, NULL, b->values,
                                      b->lengths, b->formats, 0)
        : pq.sendQueryPrepared(postgres->connection, phrase.name, (int)count, b->values,
                                        b->lengths, b->formats, 0);
    if (answer)
        *answer = (struct answer){ .asked = postgres, .row = -1 };
    return note(postgres, sent, done, err);
}

void wire_expect(struct postgres *postgres, int64_t changes)
{
    assert(postgres->sent_count > 0);
    postgres->sent[postgres->sent_count - 1].changes = changes;
}

bool wire_expects(const struct postgres *postgres)
{
    for (size_t i = 0; i < postgres->sent_count; i++)
        if (postgres->sent[i].changes != ANY_ROWS)
            return true;
    return false;
}

void wire_hurry(struct postgres *postgres)
{
    assert(postgres->sent_count > 0);
    struct sent *last = postgres->sent + postgres->sent_count - 1;
    assert(!last->synced);
    last->synced = pq.pipelineSync(postgres->connection);
}

void wire_let_go(struct postgres *postgres)
{
    for (size_t i = 0; i < postgres->sent_count; i++)
        postgres->sent[i].let_go = true;
    wire_hurry(postgres);
}

// ----- reading

static bool is_fine(const PGresult *result)
{
    ExecStatusType status = pq.resultStatus(result);
    return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
}

// Behind each answer there is a NULL; when the connection is lost there is nothing else any more.
static PGresult *next_result(PGconn *connection)
{
    PGresult *result = pq.getResult(connection), *more;
    // defensive: a statement that was sent has one result, or none when the connection is lost
    while (result && (more = pq.getResult(connection)))
        pq.clear(more);
    return result;
}

// Takes the result over. ANY_ROWS: however many it changed.
static bool accept(struct postgres *postgres, const struct sent *sent, PGresult *result,
                   struct pawl_error *err)
{
    if (!is_fine(result)) {
        const char *state = pq.resultErrorField(result, PG_DIAG_SQLSTATE);
        postgres->refused = state ? sent->what : NULL;
        postgres->by_constraint = state && strncmp(state, "23", 2) == 0;
        return postgres_failed(postgres, result, sent->what, err);
    }
    postgres->changed = strtoll(pq.cmdTuples(result), NULL, 10);
    if (sent->changes != ANY_ROWS && sent->changes != postgres->changed) {
        pq.clear(result);
        return fail(err, PAWL_STORE, "%s: somebody else was faster", sent->what);
    }
    if (sent->answer)
        *sent->answer = (struct answer){ .result = result, .row = -1, .rows = pq.ntuples(result) };
    else
        pq.clear(result);
    return true;
}

static void was_in_vain(const struct sent *sent, bool done)
{
    if (sent->prepared)
        *sent->prepared = done;
    if (sent->answer)
        *sent->answer = (struct answer){ .failed = true };
}

static void read_sync(PGconn *connection)
{
    pq.clear(pq.getResult(connection));
}

// Behind one that was refused, those up to the next sync were not done.
static bool read_all(struct postgres *postgres, struct pawl_error *err)
{
    struct pawl_error unseen;
    bool fine = true;
    for (size_t i = 0; i < postgres->sent_count; i++) {
        const struct sent *sent = &postgres->sent[i];
        PGresult *result = next_result(postgres->connection);
        bool done = is_fine(result);
        bool good = fine && accept(postgres, sent, result, sent->let_go ? &unseen : err);
        if (!fine)
            pq.clear(result);
        if (!good)
            was_in_vain(sent, done);
        if (sent->synced)
            read_sync(postgres->connection);
        fine = fine && (good || sent->let_go);
    }
    return fine;
}

bool wire_read(struct postgres *postgres, struct pawl_error *err)
{
    size_t count = postgres->sent_count;
    if (count == 0)
        return true;
    bool ends = postgres->sent[count - 1].synced;
    if (!ends && !pq.pipelineSync(postgres->connection))
        postgres_hang_up(postgres);  // and so say the answers
    bool fine = read_all(postgres, err);
    if (!ends)
        read_sync(postgres->connection);
    postgres->sent_count = 0;
    return fine;
}

bool wire_clear(struct postgres *postgres, struct pawl_error *err)
{
    bool fine = wire_read(postgres, err);
    if (pq.pipelineStatus(postgres->connection) != PQ_PIPELINE_OFF)
        fine &= pq.exitPipelineMode(postgres->connection)
             || (fine && postgres_failed(postgres, NULL, "cannot receive", err));
    return fine;
}

void wire_forget(struct answer *answer)
{
    struct postgres *postgres = answer->asked;
    for (size_t i = 0; postgres && i < postgres->sent_count; i++)
        if (postgres->sent[i].answer == answer)
            postgres->sent[i].answer = NULL;
    pq.clear(answer->result);
    *answer = (struct answer){0};
}
