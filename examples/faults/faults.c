// What becomes of your program when its store fails or its process dies: every commit of a story is
// made to go wrong, one after another, in each way there is, and the end has to be the same.
//
// The story: a transfer is asked for, its payment is booked in a table of the program's own, and a
// letter tells of it. Right is one payment, and letters that all carry the same key, so that
// whoever prints them prints one.
#include <assert.h>
#include <ftw.h>
#include <pawl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef NDEBUG
#error "these tests are made of asserts"
#endif

#define SECONDS(n) (INT64_C(1000000) * (n))
#define MINUTES(n) (SECONDS(n) * 60)

enum { LETTERS_MAX = 8, KEY_BYTES = 64 };

// ----- the application: in your project this is a file of its own

struct office {
    struct pawl *pawl;
    int prepared;
    int letters;
    char key[LETTERS_MAX][KEY_BYTES];  // of each letter that was sent
};

static bool look_up(struct pawl_run *run, void *context)
{
    (void)context;
    return pawl_step_result(run, "{\"account\":7}");
}

static bool prepare(struct pawl_run *run, void *context)
{
    ((struct office *)context)->prepared++;
    return pawl_step(run, "look_up", look_up, context, NULL)
        && pawl_result(run, "{\"booked\":true}");
}

// The table has no key that would refuse a second payment: it would show.
static bool book(struct pawl_run *run, struct pawl_tx *tx, void *context)
{
    (void)context;
    struct pawl_error err = {0};
    return pawl_tx_execute(tx, "INSERT INTO payments (cents) VALUES (500)", &err)
        || pawl_fail(run, PAWL_TRANSIENT, "%s", err.message);
}

static bool send_letter(struct pawl_run *run, void *context)
{
    struct office *office = context;
    assert(office->letters < LETTERS_MAX);
    snprintf(office->key[office->letters++], KEY_BYTES, "%s", pawl_effect_key(run));
    return true;
}

// ----- helpers

// A call that has to work, else the test ends with what went wrong.
#define MUST(call)                                                                      \
    do {                                                                                \
        struct pawl_error err = {0};                                                    \
        if (!(call)) {                                                                  \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, err.message); \
            abort();                                                                    \
        }                                                                               \
    } while (0)

static void make_table(struct pawl *pawl)
{
    struct pawl_tx *tx = NULL;
    MUST(pawl_begin(pawl, &tx, &err));
    MUST(pawl_tx_execute(tx, "CREATE TABLE payments (cents INTEGER NOT NULL) STRICT", &err));
    MUST(pawl_commit(tx, &err));
}

static int payments(struct pawl *pawl)
{
    struct pawl_tx *tx = NULL;
    sqlite3_stmt *count = NULL;
    MUST(pawl_begin(pawl, &tx, &err));
    int result = sqlite3_prepare_v2(pawl_tx_sqlite(tx), "SELECT count(*) FROM payments", -1,
                                    &count, NULL);
    assert(result == SQLITE_OK && sqlite3_step(count) == SQLITE_ROW);
    int found = sqlite3_column_int(count, 0);
    sqlite3_finalize(count);
    pawl_rollback(tx);
    return found;
}

// A process that died is started again; otherwise a moment passes, and it goes on.
static void go_on_after(struct office *office, const struct pawl_error *why, bool crash)
{
    assert(why->code == PAWL_DISK_FULL || why->code == PAWL_IN_DOUBT || why->code == PAWL_STORE);
    if (crash)
        MUST(pawl_test_restart(office->pawl, &err));
}

// Whoever was not told yes asks again, with the same key: the first lesson of these tests.
static void ask(struct office *office, struct pawl_ticket *ticket, bool crash)
{
    struct pawl_job job = {
        .job_type = "transfer",
        .policy = "lifecycle",
        .idempotency_key = "transfer-7",
    };
    struct pawl_error why = {0};
    while (!pawl_enqueue(office->pawl, &job, ticket, &why))
        go_on_after(office, &why, crash);
}

// Time enough for every lease to expire and every retry to come due.
static void work(struct office *office, bool crash)
{
    struct pawl_error why = {0};
    while (!pawl_advance(office->pawl, MINUTES(10), &why))
        go_on_after(office, &why, crash);
}

// ----- the story, with one commit that goes wrong

static const struct fault {
    const char *name;
    enum pawl_fault fault;
    bool crash;
} faults[] = {
    { "the disk is full", PAWL_FAULT_REFUSE, false },
    { "an answer is lost", PAWL_FAULT_LOSE_ANSWER, false },
    { "the process dies before a commit", PAWL_FAULT_CRASH_BEFORE, true },
    { "the process dies after a commit", PAWL_FAULT_CRASH_AFTER, true },
};

static void check(struct office *office, const struct pawl_ticket *ticket)
{
    struct pawl_status status;
    MUST(pawl_get(office->pawl, ticket->job_id, &status, &err));
    assert(strcmp(status.state, "SUCCEEDED") == 0);
    assert(payments(office->pawl) == 1);
    assert(office->letters >= 1);
    for (int i = 1; i < office->letters; i++)
        assert(strcmp(office->key[0], office->key[i]) == 0);
}

// How often the story was told, and how much of it had to be done again.
struct sum {
    int told, prepared_again, letters_again;
};

// Answers whether there was such a commit at all.
static bool tell(const struct fault *fault, int64_t nth, const char *store, struct sum *sum)
{
    struct office office = {0};
    struct pawl_ticket ticket;
    struct pawl_options options = { .store = store, .virtual_time = true, .instance = "office" };
    struct pawl_handler handler = {
        .job_type = "transfer",
        .prepare = prepare,
        .commit = book,
        .finish = send_letter,
        .context = &office,
    };
    MUST(pawl_open(&office.pawl, &options, &err));
    MUST(pawl_handle(office.pawl, &handler, &err));
    make_table(office.pawl);

    MUST(pawl_test_fault(office.pawl, fault->fault, nth, &err));
    ask(&office, &ticket, fault->crash);
    work(&office, fault->crash);
    bool met = !pawl_test_fault_waits(office.pawl);
    MUST(pawl_test_fault(office.pawl, PAWL_FAULT_NONE, 1, &err));
    work(&office, fault->crash);
    check(&office, &ticket);
    pawl_close(office.pawl);
    sum->told += met;
    sum->prepared_again += office.prepared - 1;
    sum->letters_again += office.letters - 1;
    return met;
}

// ----- each on a store of its own

static int remove_one(const char *path, const struct stat *stat, int type, struct FTW *where)
{
    (void)stat, (void)type, (void)where;
    return remove(path);
}

int main(void)
{
    char directory[256], store[300];
    const char *base = getenv("TMPDIR");
    snprintf(directory, sizeof(directory), "%s/pawl-faults.XXXXXX", base ? base : "/tmp");
    if (!mkdtemp(directory)) {
        perror(directory);
        return 1;
    }
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
        struct sum sum = {0};
        do
            snprintf(store, sizeof(store), "sqlite:%s/%zu-%d.db", directory, i, sum.told);
        while (tell(&faults[i], sum.told + 1, store, &sum));
        printf("ok  %s: at each of %d commits; prepared again %d times, letters sent again %d\n",
               faults[i].name, sum.told, sum.prepared_again, sum.letters_again);
    }
    nftw(directory, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    return 0;
}
