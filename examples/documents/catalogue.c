// Every function is one transaction, or part of the one it is given.
#include "catalogue.h"

#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const tables =
    "CREATE TABLE IF NOT EXISTS files (name TEXT PRIMARY KEY, job_id TEXT NOT NULL)"
    "  STRICT, WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS documents (document TEXT PRIMARY KEY, version INTEGER NOT NULL,"
    "  job_id TEXT NOT NULL, words INTEGER NOT NULL, summary TEXT NOT NULL) STRICT, WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS words (document TEXT NOT NULL REFERENCES documents (document),"
    "  word TEXT NOT NULL, count INTEGER NOT NULL, PRIMARY KEY (document, word))"
    "  STRICT, WITHOUT ROWID";

// ----- statements

static bool refused(sqlite3 *db, const char *sql, struct pawl_error *err)
{
    err->code = PAWL_STORE;
    snprintf(err->message, sizeof(err->message), "%s: %s", sqlite3_errmsg(db), sql);
    return false;
}

// Prepares a statement and binds its parameters: 't' a text, 'n' a number (int64_t).
static bool prepare(sqlite3 *db, sqlite3_stmt **statement, const char *sql, const char *kinds,
                    va_list values)
{
    if (sqlite3_prepare_v2(db, sql, -1, statement, NULL) != SQLITE_OK)
        return false;
    for (int i = 0; kinds[i]; i++) {
        int bound = kinds[i] == 't'
            ? sqlite3_bind_text(*statement, i + 1, va_arg(values, const char *), -1,
                                          SQLITE_TRANSIENT)
            : sqlite3_bind_int64(*statement, i + 1, va_arg(values, int64_t));
        if (bound != SQLITE_OK)
            return false;
    }
    return true;
}

// Runs a statement that answers no rows.
static bool change(sqlite3 *db, struct pawl_error *err, const char *sql, const char *kinds, ...)
{
    sqlite3_stmt *statement = NULL;
    va_list values;
    va_start(values, kinds);
    bool done = prepare(db, &statement, sql, kinds, values)
        && sqlite3_step(statement) == SQLITE_DONE;
    va_end(values);
    if (!done)
        refused(db, sql, err);
    sqlite3_finalize(statement);
    return done;
}

static bool begin(struct pawl *pawl, struct pawl_tx **tx, sqlite3 **db, struct pawl_error *err)
{
    if (!pawl_begin(pawl, tx, err))
        return false;
    *db = pawl_tx_sqlite(*tx);
    return true;
}

// Ends a transaction: for good when all went well so far, else as if it had never been.
static bool end(struct pawl_tx *tx, bool good, struct pawl_error *err)
{
    if (good)
        return pawl_commit(tx, err);
    pawl_rollback(tx);
    return false;
}

bool catalogue_open(struct pawl *pawl, struct pawl_error *err)
{
    struct pawl_tx *tx;
    return pawl_begin(pawl, &tx, err) && end(tx, pawl_tx_execute(tx, tables, err), err);
}

// ----- handing in

bool file_named(struct file *file, const char *path)
{
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    *file = (struct file){ .version = 1 };
    if (strlen(path) >= sizeof(file->path) || strlen(base) >= sizeof(file->name))
        return false;
    snprintf(file->path, sizeof(file->path), "%s", path);
    snprintf(file->name, sizeof(file->name), "%s", base);
    char *type = strrchr(file->name, '.');
    if (type && type != file->name)
        *type = '\0';
    snprintf(file->document, sizeof(file->document), "%s", file->name);
    char *dot = strrchr(file->document, '.'), *rest = NULL;
    long version = dot ? strtol(dot + 1, &rest, 10) : 0;
    if (dot && rest != dot + 1 && *rest == '\0' && version > 0 && version < INT32_MAX) {
        *dot = '\0';
        file->version = (int)version;
    }
    return true;
}

// The run a file was given when it was handed in; `known` says whether it was.
static bool find(sqlite3 *db, struct file *file, struct pawl_error *err)
{
    static const char *const sql = "SELECT job_id FROM files WHERE name = ?1";
    sqlite3_stmt *statement = NULL;
    int found = sqlite3_prepare_v2(db, sql, -1, &statement, NULL);
    if (found == SQLITE_OK)
        found = sqlite3_bind_text(statement, 1, file->name, -1, SQLITE_STATIC);
    if (found == SQLITE_OK)
        found = sqlite3_step(statement);
    file->known = found == SQLITE_ROW;
    if (file->known)
        snprintf(file->job_id, sizeof(file->job_id), "%s", sqlite3_column_text(statement, 0));
    bool good = file->known || found == SQLITE_DONE || refused(db, sql, err);
    sqlite3_finalize(statement);
    return good;
}

// The job and the row that knows it. The serial key is what keeps versions of one document apart.
static bool enqueue(struct pawl_tx *tx, struct file *file, const char *policy,
                    struct pawl_error *err)
{
    json_t *payload = json_pack("{s:s, s:s, s:i}", "path", file->path, "document", file->document,
                                "version", file->version);
    char *text = json_dumps(payload, JSON_COMPACT);
    struct pawl_job job = {
        .job_type = "document.process", .payload = text,
        .serial_key = file->document, .policy = policy,
    };
    struct pawl_ticket ticket;
    bool good = pawl_tx_enqueue(tx, &job, &ticket, err)
        && change(pawl_tx_sqlite(tx), err,
                  "INSERT INTO files (name, job_id) VALUES (?1, ?2)"
                  " ON CONFLICT (name) DO UPDATE SET job_id = excluded.job_id",
                  "tt", file->name, ticket.job_id);
    if (good)
        snprintf(file->job_id, sizeof(file->job_id), "%s", ticket.job_id);
    free(text);
    json_decref(payload);
    return good;
}

bool catalogue_submit(struct pawl *pawl, struct file *file, const char *policy,
                      struct pawl_error *err)
{
    struct pawl_tx *tx;
    sqlite3 *db;
    return begin(pawl, &tx, &db, err)
        && end(tx, find(db, file, err) && (file->known || enqueue(tx, file, policy, err)), err);
}

bool catalogue_submit_again(struct pawl *pawl, struct file *file, const char *policy,
                            struct pawl_error *err)
{
    struct pawl_tx *tx;
    return pawl_begin(pawl, &tx, err) && end(tx, enqueue(tx, file, policy, err), err);
}

// ----- what came out

static bool store_words(sqlite3 *db, const char *document, json_t *counts, struct pawl_error *err)
{
    const char *word;
    json_t *count;
    if (!change(db, err, "DELETE FROM words WHERE document = ?1", "t", document))
        return false;
    json_object_foreach (counts, word, count)
        if (!change(db, err, "INSERT INTO words (document, word, count) VALUES (?1, ?2, ?3)",
                    "ttn", document, word, (int64_t)json_integer_value(count)))
            return false;
    return true;
}

bool catalogue_store(struct pawl_tx *tx, const char *job_id, const json_t *result,
                     struct pawl_error *err)
{
    sqlite3 *db = pawl_tx_sqlite(tx);
    const char *document = json_string_value(json_object_get(result, "document"));
    const json_t *summary = json_array_get(json_object_get(result, "summary"), 0);
    if (!change(db, err,
                "INSERT INTO documents (document, version, job_id, words, summary)"
                " VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (document) DO UPDATE SET"
                " version = excluded.version, job_id = excluded.job_id, words = excluded.words,"
                " summary = excluded.summary WHERE excluded.version >= version",
                "tntnt", document, (int64_t)json_integer_value(json_object_get(result, "version")),
                job_id, (int64_t)json_integer_value(json_object_get(result, "words")),
                json_string_value(summary)))
        return false;
    // No change: a newer version was faster, as after a crash. It stays.
    return sqlite3_changes(db) == 0
        || store_words(db, document, json_object_get(result, "counts"), err);
}

bool catalogue_totals(struct pawl *pawl, struct totals *totals, struct pawl_error *err)
{
    static const char *const sql = "SELECT (SELECT count(*) FROM documents),"
                                   " coalesce(sum(count), 0), count(DISTINCT word) FROM words";
    struct pawl_tx *tx;
    sqlite3 *db;
    sqlite3_stmt *statement = NULL;
    if (!begin(pawl, &tx, &db, err))
        return false;
    bool good = sqlite3_prepare_v2(db, sql, -1, &statement, NULL) == SQLITE_OK
        && sqlite3_step(statement) == SQLITE_ROW;
    if (good)
        *totals = (struct totals){ .documents = sqlite3_column_int64(statement, 0),
                                   .words = sqlite3_column_int64(statement, 1),
                                   .distinct = sqlite3_column_int64(statement, 2) };
    else
        refused(db, sql, err);
    sqlite3_finalize(statement);
    pawl_rollback(tx);  // nothing was written
    return good;
}
