// Stores artifacts one after the other, as a server does, and can be made to die with -9 at a named
// point of it.
//
//     uploader STORE COUNT [POINT TIMES [remove]]
//
// Says each id once its row is committed. A point is the beginning of a statement that is about to
// run, or one of the steps of its file: `created`, `half`, `settled`, `committed`; with `remove`
// each is removed again, and there are `forgotten` and `removed`.
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/id.h"
#include "engine/artifact.h"
#include "store/blob.h"

enum { BYTES = 100000 };

static const char *point;
static long times;

static void reached(const char *here)
{
    if (point && strncmp(here, point, strlen(point)) == 0 && --times == 0)
        kill(getpid(), SIGKILL);
}

static int at_statement(unsigned kind, void *self, void *statement, void *text)
{
    (void)kind, (void)self, (void)text;
    const char *sql = sqlite3_sql(statement);
    reached(sql ? sql : "");
    return 0;
}

static int watch(sqlite3 *db, const char **error, const void *api)
{
    (void)error, (void)api;
    return sqlite3_trace_v2(db, SQLITE_TRACE_STMT, at_statement, NULL);
}

static bool write_file(struct db *db, struct blob *blob, struct pawl_error *err)
{
    static const char bytes[BYTES];
    if (!blob_create(db_files(db), world_real(), blob, err))
        return false;
    reached("created");
    if (!blob_write(blob, bytes, BYTES / 2, err))
        return false;
    reached("half");
    if (!blob_write(blob, bytes, BYTES / 2, err) || !blob_settle(blob, err))
        return false;
    reached("settled");
    return true;
}

static bool remove_one(struct db *db, struct id id, struct pawl_error *err)
{
    SCOPED(arena) struct arena arena = {0};
    SCOPED(tx) struct tx tx = {0};
    struct artifact gone;
    if (!tx_begin(db, TX_WRITE, &arena, &tx, err) || !artifact_remove(&tx, id, &gone, err)
        || !tx_commit(&tx, err))
        return false;
    reached("forgotten");
    if (!blob_remove(db_files(db), gone.file, err))
        return false;
    reached("removed");
    return true;
}

static bool store_one(struct db *db, bool remove, struct pawl_error *err)
{
    SCOPED(arena) struct arena arena = {0};
    SCOPED(tx) struct tx tx = {0};
    struct blob blob = {0};
    struct artifact artifact = { .org_id = DEFAULT_ORG, .content_type = S("text/plain") };
    if (!write_file(db, &blob, err) || !tx_begin(db, TX_WRITE, &arena, &tx, err)
        || !artifact_add(&tx, &blob, &artifact, err) || !tx_commit(&tx, err))
        return false;
    reached("committed");
    blob_keep(&blob);
    printf("%.*s\n", STR(id_text(&arena, artifact.id)));
    fflush(stdout);
    tx_end(&tx);
    return !remove || remove_one(db, artifact.id, err);
}

int main(int argc, char **argv)
{
    struct db *db = NULL;
    struct pawl_error err = {0};
    if (argc < 3)
        return 2;
    if (argc > 4) {
        point = argv[3];
        times = strtol(argv[4], NULL, 10);
    }
    sqlite3_auto_extension((void (*)(void))watch);
    bool done = db_open(&db, &(struct db_options){ .url = str_of(argv[1]) }, &err);
    for (long i = strtol(argv[2], NULL, 10); done && i > 0; i--)
        done = store_one(db, argc > 5, &err);
    if (!done)
        fprintf(stderr, "uploader: %s\n", err.message);
    db_close(db);
    return done ? 0 : 1;
}
