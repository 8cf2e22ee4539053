// SQLite has no memory left, or ours is at an end: while a store is opened, copied and written. Who
// asked is told so, and asked once more it is done.
//
// Of what takes thousands of allocations a sample fails, among the first and the last of them; with
// REHEARSALS each does.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "faults.h"
#include "fixture.h"
#include "process.h"
#include "store/copy.h"
#include "store/counts.h"
#include "store/driver.h"
#include "store/names.h"
#include "torture.h"

__attribute__((constructor)) static void count_memory(void)
{
    memory_faults_install();
}

struct deed {
    const char *name;
    bool (*run)(struct box *box, struct pawl_error *err);
    bool is_long;
};

enum { FEW = 150, STRIDE = 11 };

static bool is_sampled(const struct deed *deed)
{
    return deed->is_long && torture_asked("REHEARSALS", 0) == 0;
}

static int64_t allocations_of(struct box *box, const struct deed *deed)
{
    struct pawl_error err = {0};
    MUST(deed->run(box, &err));  // what is remembered from now on is not asked for again
    memory_faults = (struct fault_counter){0};
    MUST(deed->run(box, &err));
    return memory_faults.calls;
}

// The words of SQLite for an error that it does not know of.
static bool tells(const struct pawl_error *err)
{
    return err->code != PAWL_OK && err->message[0] && !strstr(err->message, "not an error");
}

static void fail_each(struct box *box, const struct deed *deed)
{
    int64_t count = allocations_of(box, deed), told = 0;
    bool sampled = is_sampled(deed);
    for (int64_t n = 1; n <= count; n += sampled ? STRIDE : 1) {
        struct pawl_error err = {0};
        if (sampled && n > FEW && n < count - FEW)
            n = count - FEW;
        memory_faults = (struct fault_counter){ .fail_at = n };
        bool done = deed->run(box, &err);
        memory_faults = (struct fault_counter){0};
        if (!done && !tells(&err))
            print_error("%s, %lld: `%s`\n", deed->name, (long long)n, err.message);
        EXPECT(done || tells(&err));
        told += !done;
        MUST(deed->run(box, &err));
    }
    EXPECT(told > 0);
}

static bool open_with(const struct db_options *options, struct pawl_error *err)
{
    struct db *db = NULL;
    bool opened = db_open(&db, options, err);
    db_close(db);
    return opened;
}

static bool open_to_write(struct box *box, struct pawl_error *err)
{
    return open_with(&(struct db_options){ .url = box->url, .any_version = true }, err);
}

static bool open_to_read(struct box *box, struct pawl_error *err)
{
    struct db_options options = { .url = box->url, .any_version = true, .read_only = true };
    return open_with(&options, err);
}

static bool open_to_lend(struct box *box, struct pawl_error *err)
{
    struct db_options options = {
        .url = box->url,
        .any_version = true,
        .shared = true,
        .fleeting = true,
    };
    return open_with(&options, err);
}

static bool copy(struct box *box, struct pawl_error *err)
{
    const char *path = str_format(test_arena(), "%s/copy.db", box->directory).s;
    bool copied = db_copy(box->db, path, NULL, err);
    unlink(path);
    return copied;
}

static bool settle(struct box *box, struct pawl_error *err)
{
    return store_settle(box->url.s + strlen("sqlite:"), err);
}

static bool overwrite(struct box *box, struct pawl_error *err)
{
    SCOPED(tx) struct tx tx = {0};
    return tx_begin(box->db, TX_WRITE, test_arena(), &tx, err) && tx_overwrite(&tx, err);
}

enum { ROWS = 32 };  // so many are one statement

static bool enqueue_many(struct db *db, struct box *box, struct pawl_error *err)
{
    SCOPED(tx) struct tx tx = {0};
    if (!tx_begin(db, TX_WRITE, test_arena(), &tx, err))
        return false;
    tx.caller = &box->caller;
    bool done = true;
    for (int i = 0; i < ROWS && done; i++) {
        struct contract contract = contract_for(box, "report");
        struct job job;
        bool known;
        done = job_enqueue(&tx, &contract, &job, &known, err);
    }
    return done && tx_wrap_up(&tx, err);
}

// By a connection that has prepared nothing yet. One that failed is used again.
static bool write_rows(struct box *box, struct pawl_error *err)
{
    static struct db *db;
    struct db_options options = { .url = box->url, .world = &box->world.world };
    bool done = (db || db_open(&db, &options, err)) && enqueue_many(db, box, err);
    if (done) {
        db_close(db);
        db = NULL;
    }
    return done;
}

enum first { FIRST_TOLD, FIRST_OPENED, FIRST_UNDISTURBED, FIRST_SILENT };

static enum first open_without(const struct db_options *options, int64_t n)
{
    struct pawl_error err = {0};
    memory_faults = (struct fault_counter){ .fail_at = n };
    bool opened = open_with(options, &err), reached = memory_faults.failed > 0;
    memory_faults = (struct fault_counter){0};
    if (!reached)
        return FIRST_UNDISTURBED;
    return opened ? FIRST_OPENED : tells(&err) ? FIRST_TOLD
                                               : FIRST_SILENT;
}

// In a copy of this process, which has opened none: what the first one makes, the others find.
static enum first open_first(const struct db_options *options, int64_t n)
{
    int status = 0;
    pid_t copy = fork();
    EXPECT(copy >= 0);
    if (copy == 0)
        exit((int)open_without(options, n));
    EXPECT(waitpid(copy, &status, 0) == copy && WIFEXITED(status));
    return (enum first)WEXITSTATUS(status);
}

TEST(OPS_9_without_memory_the_first_store_of_a_process_is_not_opened)
{
    struct scratch scratch = scratch_open();
    struct db_options options = { .url = str_of(scratch.url), .any_version = true };
    enum first became = FIRST_TOLD;
    int64_t told = 0;
    for (int64_t n = 1; became != FIRST_UNDISTURBED; n++) {
        became = open_first(&options, n);
        EXPECT(became != FIRST_SILENT);
        told += became == FIRST_TOLD;
    }
    EXPECT(told > 0);
    scratch_close(&scratch);
}

TEST_EACH_DB(OPS_9_without_memory_a_store_is_not_opened_and_says_so)
{
    static const struct deed deeds[] = {
        { "open to write", open_to_write, true },
        { "open to read", open_to_read, true },
        { "open to lend", open_to_lend, true },
    };
    must_enqueue(box, "report");
    for (size_t i = 0; i < countof(deeds); i++)
        fail_each(box, &deeds[i]);
}

TEST_EACH_DB(OPS_9_without_memory_a_store_is_not_copied_and_says_so)
{
    must_enqueue(box, "report");
    fail_each(box, &(struct deed){ "copy", copy, true });
    db_close(box->db);
    fail_each(box, &(struct deed){ "settle", settle, true });
    box->db = box_second(box, false);
}

TEST_EACH_DB(OPS_9_without_memory_nothing_is_written_and_it_says_so)
{
    fail_each(box, &(struct deed){ "overwrite", overwrite, false });
    fail_each(box, &(struct deed){ "write rows", write_rows, true });
}

static void leave_open(struct box *box, struct tx *tx)
{
    struct pawl_error err = {0};
    struct contract contract = contract_for(box, "report");
    struct job job;
    bool known;
    box_begin(box, tx);
    MUST(job_enqueue(tx, &contract, &job, &known, &err) && tx_settle(tx, &err));
}

// It would be in the way of all that come after it.
TEST_EACH_DB(OPS_9_a_transaction_that_fails_is_taken_back_without_memory_too)
{
    for (int fails_on = 0; fails_on < 2; fails_on++) {
        bool reached = true;
        for (int64_t n = 1; reached; n++) {
            struct pawl_error err = {0};
            struct tx tx = {0};
            leave_open(box, &tx);
            memory_faults = (struct fault_counter){ .fail_at = n, .fails_on = fails_on };
            tx_end(&tx);
            reached = memory_faults.failed > 0;
            if (fails_on && reached)
                EXPECT_REFUSED(PAWL_NO_MEMORY,
                               tx_begin(box->db, TX_WRITE, test_arena(), &tx, &err));
            memory_faults = (struct fault_counter){0};
            box_begin(box, &tx);
            tx_end(&tx);
        }
    }
    EXPECT_INT(box_number(box, "SELECT count(*) FROM jobs"), 0);
}

// The first key of a generation that is empty begins a filter. Without one the store is asked.
TEST_EACH_DB(OPS_4_without_memory_for_a_filter_keys_are_looked_up_in_the_store)
{
    bool reached = true;
    int64_t did_without = 0;
    for (int64_t n = 1; reached; n++) {
        struct tx tx = {0};
        struct pawl_error err = {0};
        struct contract contract = contract_for(box, "report");
        struct job job;
        bool known = true;
        struct db *db = box_second(box, false);
        MUST(tx_begin(db, TX_WRITE, test_arena(), &tx, &err));
        tx.caller = &box->caller;
        memory_faults = (struct fault_counter){ .fail_at = n };
        bool done = job_enqueue(&tx, &contract, &job, &known, &err);
        reached = memory_faults.failed > 0;
        memory_faults = (struct fault_counter){0};
        EXPECT(done ? !known : tells(&err));
        did_without += done && reached;
        tx_end(&tx);
        db_close(db);
    }
    EXPECT(did_without > 0);
}

static bool run_rows(struct tx *tx, struct pawl_error *err)
{
    struct value values[ROWS * 6];
    for (size_t i = 0; i < countof(values); i++)
        values[i] = INT(1);
    return db_run_rows(tx, Q_AUDIT_INSERT_PLAIN, values, ROWS, err);
}

// The statement for many rows is made when there are many for the first time.
TEST_EACH_DB(OPS_9_without_memory_rows_are_not_inserted_together_and_it_says_so)
{
    bool reached = true;
    for (int64_t n = 1; reached; n++) {
        struct pawl_error err = {0};
        struct tx tx = {0};
        struct db *db = box_second(box, false);
        MUST(tx_begin(db, TX_WRITE, test_arena(), &tx, &err));
        memory_faults = (struct fault_counter){ .fail_at = n };
        bool done = run_rows(&tx, &err);
        reached = memory_faults.failed > 0;
        memory_faults = (struct fault_counter){0};
        EXPECT(done || (err.code == PAWL_NO_MEMORY && tells(&err)));
        tx_end(&tx);  // SQLite may have ended it
        MUST(tx_begin(db, TX_WRITE, test_arena(), &tx, &err) && run_rows(&tx, &err));
        tx_end(&tx);
        db_close(db);
    }
}

// ----- numbers of jobs

enum { QUEUES = 40, FOLDED = 64 };

static void count_queues(struct box *box, struct tx *tx)
{
    struct pawl_error err = {0};
    int64_t org, queue;
    MUST(name_intern(tx, NAME_ORG, box->caller.org_id, &org, &err));
    for (int i = 0; i < QUEUES; i++) {
        struct str name = str_format(test_arena(), "q:%d", i);
        MUST(name_intern(tx, NAME_QUEUE, name, &queue, &err));
        tx_count(tx, org, queue, PLACE_READY, 1);
        tx_flow(tx, org, queue, FLOW_ENQUEUED);
    }
}

// The last row is the one after which all are added up.
static bool fold(struct tx *tx, struct pawl_error *err)
{
    return counts_settle(tx, err);
}

static bool add_up(struct tx *tx, struct pawl_error *err)
{
    struct queue_count *counts;
    size_t count;
    return counts_of_org(tx, 0, &counts, &count, err) && counts_of_org(tx, 1, &counts, &count, err);
}

static void fail_counting(struct box *box, int rows, bool (*deed)(struct tx *, struct pawl_error *))
{
    bool reached = true;
    for (int64_t n = 0; reached; n++) {  // first none does, and all is prepared
        SCOPED(tx) struct tx tx = {0};
        struct pawl_error err = {0};
        box_begin(box, &tx);
        for (int i = 0; i < rows; i++) {
            count_queues(box, &tx);
            MUST(i + 1 == FOLDED || counts_settle(&tx, &err));
        }
        memory_faults = (struct fault_counter){ .fail_at = n };
        bool done = deed(&tx, &err);
        reached = n == 0 || memory_faults.failed > 0;
        memory_faults = (struct fault_counter){0};
        EXPECT(done || (reached && tells(&err)));
    }
}

TEST_EACH_DB(OPS_9_without_memory_numbers_are_not_added_up_and_it_says_so)
{
    fail_counting(box, FOLDED, fold);
    fail_counting(box, 1, add_up);
}
