// Every call of libpq fails once while a store is opened, a name is held, the bell is heard, a job
// is enqueued and the application's SQL runs: the connection is cut just before it, or the library
// refuses it as it does without memory; and so does each of our own allocations. Whoever asked is
// told, and what is asked for once more is there once.
//
// NTH_STRIDE=1, or rehearsals, try every call; a sample tries one in so many.
#include <stdio.h>
#include <sys/socket.h>

#include "faults.h"
#include "fixture.h"
#include "process.h"
#include "store/bell.h"
#include "store/guest.h"
#include "store/hold.h"
#include "store/postgres_library.h"
#include "torture.h"

// KIND_ENDED: the library refuses that call and all that follow.
enum kind { KIND_CUT, KIND_REFUSED, KIND_ENDED, KIND_MEMORY, KINDS };
static const char *const kinds[KINDS] = { "cut", "refused", "refused from there on", "memory" };

static struct {
    struct libpq real;
    struct fault_counter faults;
    enum kind kind;
    bool cut_next;  // the connection that is used next, for once
} library;

// Whether the library is to refuse this call. A connection is cut as a wire is: both ends learn of
// it when they use it.
static bool refuses(PGconn *connection)
{
    bool hit = faults_hit(&library.faults);
    if (connection && (library.cut_next || (hit && library.kind == KIND_CUT))) {
        shutdown(library.real.socket(connection), SHUT_RDWR);
        library.cut_next = false;
    }
    return hit && library.kind != KIND_CUT;
}

#define FAILING(type, name, failure, parameters, arguments)           \
    static type name parameters                                       \
    {                                                                 \
        return refuses(c) ? (failure) : library.real.name arguments; \
    }

#define TEXTS const char *const *

// clang-format off
FAILING(int, enterPipelineMode, 0, (PGconn *c), (c))
FAILING(int, pipelineSync, 0, (PGconn *c), (c))
FAILING(int, consumeInput, 0, (PGconn *c), (c))
FAILING(int, sendQuery, 0, (PGconn *c, const char *sql), (c, sql))
FAILING(int, sendPrepare, 0,
        (PGconn *c, const char *name, const char *sql, int n, const Oid *types),
        (c, name, sql, n, types))
FAILING(int, sendQueryPrepared, 0,
        (PGconn *c, const char *name, int n, TEXTS values, const int *lengths, const int *formats,
         int binary),
        (c, name, n, values, lengths, formats, binary))
FAILING(int, sendQueryParams, 0,
        (PGconn *c, const char *sql, int n, const Oid *types, TEXTS values, const int *lengths,
         const int *formats, int binary),
        (c, sql, n, types, values, lengths, formats, binary))
FAILING(char *, escapeLiteral, NULL, (PGconn *c, const char *text, size_t n), (c, text, n))
FAILING(int, exitPipelineMode, 0, (PGconn *c), (c))
FAILING(PGresult *, exec, NULL, (PGconn *c, const char *sql), (c, sql))
FAILING(PGresult *, describePrepared, NULL, (PGconn *c, const char *name), (c, name))
FAILING(PGresult *, prepare, NULL,
        (PGconn *c, const char *name, const char *sql, int n, const Oid *types),
        (c, name, sql, n, types))
FAILING(PGresult *, execPrepared, NULL,
        (PGconn *c, const char *name, int n, TEXTS values, const int *lengths, const int *formats,
         int binary),
        (c, name, n, values, lengths, formats, binary))
// clang-format on

static PGconn *connectdbParams(TEXTS words, TEXTS values, int expand)
{
    return refuses(NULL) ? NULL : library.real.connectdbParams(words, values, expand);
}

static PGconn *connectStartParams(TEXTS words, TEXTS values, int expand)
{
    return refuses(NULL) ? NULL : library.real.connectStartParams(words, values, expand);
}

static PQconninfoOption *conninfoParse(const char *text, char **why)
{
    return refuses(NULL) ? NULL : library.real.conninfoParse(text, why);
}

static PGresult *getResult(PGconn *c)
{
    (void)refuses(c);  // it answers until there is nothing left: it can only be cut off
    return library.real.getResult(c);
}

static void library_wrap(void)
{
    library.real = pq;
    pq.enterPipelineMode = enterPipelineMode;
    pq.pipelineSync = pipelineSync;
    pq.consumeInput = consumeInput;
    pq.sendQuery = sendQuery;
    pq.sendPrepare = sendPrepare;
    pq.sendQueryPrepared = sendQueryPrepared;
    pq.sendQueryParams = sendQueryParams;
    pq.escapeLiteral = escapeLiteral;
    pq.exitPipelineMode = exitPipelineMode;
    pq.exec = exec;
    pq.describePrepared = describePrepared;
    pq.prepare = prepare;
    pq.execPrepared = execPrepared;
    pq.connectdbParams = connectdbParams;
    pq.connectStartParams = connectStartParams;
    pq.conninfoParse = conninfoParse;
    pq.getResult = getResult;
}

// ----- what is asked for

static bool enqueue(struct box *box, struct db *db, const char *key, struct pawl_error *err)
{
    SCOPED(arena) struct arena arena = {0};
    SCOPED(tx) struct tx tx = {0};
    struct contract contract = contract_for(box, "report");
    struct job job;
    bool known = false;
    contract.idempotency_key = str_of(key);
    if (!tx_begin(db, TX_WRITE, &arena, &tx, err))
        return false;
    tx.caller = &box->caller;
    return job_enqueue(&tx, &contract, &job, &known, err) && tx_commit(&tx, err);
}

// By the database's clock.
static bool use_store(struct box *box, const char *key, struct pawl_error *err)
{
    struct db *db = NULL;
    bool done = db_open(&db, &(struct db_options){ .url = box->url }, err)
             && enqueue(box, db, key, err) && db_scrub(db, true, err);
    db_close(db);
    return done;
}

// In a schema of its own, which is there when it is asked for once more.
static bool make_store(struct box *box, const char *key, struct pawl_error *err)
{
    struct db *db = NULL;
    SCOPED(arena) struct arena arena = {0};
    struct str url = str_format(&arena, "%.*s&schema=s_%s", STR(box->url), key);
    if (arena.failed)
        return fail(err, PAWL_NO_MEMORY, "no memory to name a store");
    bool done = db_open(&db, &(struct db_options){ .url = url, .any_version = true }, err);
    db_close(db);
    return done;
}

// What is begun ahead is taken back, taken up, and left to the server.
static bool begin_ahead(struct box *box, const char *key, struct pawl_error *err)
{
    struct db *db = NULL;
    bool done = db_open(&db, &(struct db_options){ .url = box->url, .world = &box->world.world },
                        err);
    if (done) {
        db_begin_ahead(db);
        db_begin_back(db);
        db_begin_ahead(db);
        done = enqueue(box, db, key, err);
        db_begin_ahead(db);
    }
    db_close(db);
    return done;
}

// In one that is lent to the application, and shared with its threads.
static bool let_guest_in(struct box *box, const char *key, struct pawl_error *err)
{
    SCOPED(arena) struct arena arena = {0};
    struct db *db = NULL;
    struct db_options options = { .url = box->url, .world = &box->world.world, .shared = true };
    bool done = db_open(&db, &options, err);
    if (done) {
        SCOPED(tx) struct tx tx = {0};
        const char *sql = str_format(&arena, "INSERT INTO notes SELECT '%s' WHERE NOT EXISTS"
                                             " (SELECT FROM notes WHERE text = '%s')",
                                     key, key)
                              .s;
        db_hold(db);
        done = tx_begin(db, TX_WRITE, &arena, &tx, err);
        if (done)
            guest_enter(&tx, SECONDS(60));
        done = done && guest_execute(&tx, sql, err) && guest_leave(&tx, err)
            && tx_commit(&tx, err);
        tx_end(&tx);
        db_release(db);
    }
    db_close(db);
    return done;
}

static bool look_behind_wall(struct box *box, const char *key, struct pawl_error *err)
{
    SCOPED(arena) struct arena arena = {0};
    struct db *db = NULL;
    (void)key;  // it makes nothing
    bool done = db_open(&db, &(struct db_options){ .url = box->url, .read_only = true }, err);
    if (done) {
        SCOPED(tx) struct tx tx = {0};
        done = tx_begin(db, TX_READ, &arena, &tx, err);
        tx.caller = &box->caller;
        done = done && caller_wall(&tx, err) && tx_commit(&tx, err);
    }
    db_close(db);
    return done;
}

static bool hold_name_of(struct box *box, const char *key, struct pawl_error *err)
{
    struct hold hold = {0};
    bool done = hold_take(&hold, box->url, str_of(key), err)
             && hold_keep(&hold, str_of(key), err);
    hold_give(&hold);
    return done;
}

// The session is lost, and another one takes the name.
static bool hold_name_again(struct box *box, const char *key, struct pawl_error *err)
{
    struct hold hold = {0};
    bool done = hold_take(&hold, box->url, str_of(key), err);
    if (done) {
        library.cut_next = true;
        done = hold_keep(&hold, str_of(key), err);
        library.cut_next = false;
    }
    hold_give(&hold);
    return done;
}

static bool hear_bell(struct box *box, const char *key, struct pawl_error *err)
{
    struct bell *bell = NULL;
    (void)key;  // a bell has no name
    bool done = bell_open(&bell, box->url, err);
    if (done)
        bell_wait(bell, 0);
    bell_close(bell);
    return done;
}

static const struct deed {
    bool (*run)(struct box *box, const char *key, struct pawl_error *err);
    const char *made;  // that it makes one of, of a key; NULL: none
} deeds[] = {
    { use_store, "pawl_jobs WHERE idempotency_key" },
    { begin_ahead, "pawl_jobs WHERE idempotency_key" },
    { let_guest_in, "notes WHERE text" },
    { make_store, NULL },
    { look_behind_wall, NULL },
    { hold_name_of, NULL },
    { hold_name_again, NULL },
    { hear_bell, NULL },
};

static int64_t made(struct box *box, const struct deed *deed, const char *key)
{
    char sql[128];
    snprintf(sql, sizeof sql, "SELECT count(*) FROM %s = '%s'", deed->made, key);
    return box_number(box, sql);
}

// One try with its n-th call failing. False: it was not come to.
static bool fail_nth(struct box *box, const struct deed *deed, enum kind kind, int64_t n,
                     struct torture *t)
{
    struct pawl_error told = {0}, err = {0};
    char key[32];
    snprintf(key, sizeof key, "%d_%d_%lld", (int)(deed - deeds), (int)kind, (long long)n);
    library.kind = kind;
    struct fault_counter *faults = kind == KIND_MEMORY ? &memory_faults : &library.faults;
    *faults = (struct fault_counter){ .fail_at = n, .fails_on = kind == KIND_ENDED };
    bool done = deed->run(box, key, &told), reached = faults->failed > 0;
    *faults = (struct fault_counter){0};
    if (!reached)
        return false;
    bool again = deed->run(box, key, &err);
    for (int i = 0; i < 100 && !again && err.code == PAWL_CONFLICT; i++) {
        wait_ms(50);  // the server has not noticed yet that the one before is gone
        again = deed->run(box, key, &err);
    }
    bool survived = (done || (told.code != PAWL_OK && told.message[0])) && again
                 && (!deed->made || made(box, deed, key) == 1);
    if (!survived)
        print_message("deed %d, %s, call %lld: %s (after `%s`)\n", (int)(deed - deeds),
                      kinds[kind], (long long)n, err.message, told.message);
    torture_count(t, survived);
    return true;
}

TEST_EACH_DB(OPS_9_whichever_call_of_the_library_fails_somebody_is_told_and_nothing_is_there_twice)
{
    struct torture t = { .name = "calls of libpq" };
    bool every = torture_asked("REHEARSALS", 0) > 0;
    int64_t stride = torture_asked("NTH_STRIDE", every ? 1 : 9);
    box_sql(box, "CREATE TABLE public.notes (text TEXT)");
    library_wrap();
    for (size_t i = 0; i < countof(deeds); i++)
        for (enum kind kind = 0; kind < KINDS; kind++)
            for (int64_t n = 1; fail_nth(box, &deeds[i], kind, n, &t); n += stride) {}
    EXPECT_INT(torture_end(&t), 0);
    EXPECT(t.tried > 0);
}
