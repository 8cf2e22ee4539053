// `pawl copy`: a store goes from SQLite to PostgreSQL and back, row for row, whoever is killed.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/seal.h"
#include "engine/transfer.h"
#include "process.h"
#include "rich_store.h"
#include "store/hold.h"
#include "store/store_url.h"

// From here on fixture and outside.h work on this kind of store.
static void on(const char *kind)
{
    EXPECT(setenv("PAWL_TEST_STORE", kind, 1) == 0);
}

static void on_kind_of(struct str url)
{
    on(url_names_server(url) ? "postgres" : "sqlite");
}

// ----- a store in a file, a server to copy it to, and a file to come back to

struct trip {
    struct box box;
    struct scratch scratch;
    struct str file, server, back;
};

static void trip_open(struct trip *trip)
{
    on("sqlite");
    box_open(&trip->box);
    on("postgres");
    trip->scratch = scratch_open();
    trip->file = trip->box.url;
    trip->server = str_of(scratch_store(&trip->scratch));
    trip->back = str_format(test_arena(), "sqlite:%s", scratch_file(&trip->scratch, "back.db"));
}

static void trip_close(struct trip *trip)
{
    on("sqlite");
    box_reopen(&trip->box);
    box_close(&trip->box);
    on("postgres");
    scratch_close(&trip->scratch);
}

#define TEST_TRIP(name)                      \
    static void name##_on(struct trip *trip); \
    TEST(name)                               \
    {                                        \
        struct trip trip;                    \
        trip_open(&trip);                    \
        name##_on(&trip);                    \
        trip_close(&trip);                   \
    }                                        \
    static void name##_on(struct trip *trip)

static void fill(struct trip *trip)
{
    on("sqlite");
    rich_store(&trip->box);
    on("postgres");
    db_close(trip->box.db);  // a process with an open store must not fork
    trip->box.db = NULL;
}

static struct transfer transfer_of(struct str from, struct str to, const struct trip *trip)
{
    return (struct transfer){ .from = from, .to = to, .world = &trip->box.world.world };
}

static struct transfer_report must_copy(struct trip *trip, struct str from, struct str to)
{
    struct pawl_error err = {0};
    struct transfer_report report;
    struct transfer transfer = transfer_of(from, to, trip);
    MUST(transfer_make(&transfer, &report, &err));
    EXPECT_INT(report.found.violations, 0);
    return report;
}

// Why it was refused; PAWL_OK: it was not.
static enum pawl_code refusal(struct trip *trip, struct str from, struct str to)
{
    struct pawl_error err = {0};
    struct transfer_report report;
    struct transfer transfer = transfer_of(from, to, trip);
    return transfer_make(&transfer, &report, &err) ? PAWL_OK : err.code;
}

// ----- what is in a store, seen from outside

static void add_row(void *self, const struct str *texts, size_t count)
{
    struct buf *all = self;
    for (size_t i = 0; i < count; i++) {
        buf_add(all, texts[i].s ? texts[i] : S("~"));
        buf_add_char(all, '|');
    }
    buf_add_char(all, '\n');
}

static struct str contents(struct str url, const struct copied_table *table)
{
    struct buf all = buf_new(test_arena(), (size_t)16 << 20);
    const char *read = queries[table->read].sqlite, *end = strstr(read, " WHERE ");
    EXPECT(end != NULL);
    struct buf sql = buf_new(test_arena(), 8192);
    buf_add(&sql, (struct str){ read, (size_t)(end - read) });
    for (int i = 1; i <= table->keys; i++)
        buf_add(&sql, str_format(test_arena(), "%s%d", i == 1 ? " ORDER BY " : ",", i));
    on_kind_of(url);
    EXPECT(outside_run(url, str_cstr(test_arena(), buf_str(&sql)), add_row, &all));
    on("postgres");
    EXPECT(!all.full);
    return buf_str(&all);
}

static void expect_same_rows(struct str one, struct str other)
{
    for (const struct copied_table *table = copied_tables; table->name; table++) {
        bool same = str_eq(contents(one, table), contents(other, table));
        if (!same)
            print_error("%s differs\n", table->name);
        EXPECT(same);
    }
}

static void run_on(struct str url, const char *sql)
{
    on_kind_of(url);
    EXPECT(outside_run(url, sql, NULL, NULL));
    on("postgres");
}

static bool opens(const struct trip *trip, struct str url, struct db **db, struct pawl_error *err)
{
    return db_open(db, &(struct db_options){ .url = url, .world = &trip->box.world.world }, err);
}

// ----- there and back

TEST_TRIP(a_store_goes_to_a_server_and_back_row_for_row)
{
    fill(trip);
    struct transfer_report there = must_copy(trip, trip->file, trip->server);
    EXPECT(!there.resumed && there.rows > 200 && there.artifacts > 0 && there.seals > 0);
    expect_same_rows(trip->file, trip->server);
    struct transfer_report back = must_copy(trip, trip->server, trip->back);
    EXPECT_INT(back.rows, there.rows);
    expect_same_rows(trip->file, trip->back);
}

// Its counters go on after what it has, and everything it had is found again.
TEST_TRIP(a_copy_is_worked_on_as_its_original_would_have_been)
{
    fill(trip);
    must_copy(trip, trip->file, trip->server);
    struct box *box = &(struct box){ .world = trip->box.world, .caller = trip->box.caller };
    struct pawl_error err = {0};
    box->url = trip->server;
    MUST(opens(trip, trip->server, &box->db, &err));
    must_enqueue(box, "after.the.copy");
    struct lease lease = take(box, "after.the.copy", true);
    must_commit(box, &lease);
    must_sweep(box);
    struct seals_checked seals;
    struct verified verified;
    MUST(seals_check(box->db, &(struct seal_check){0}, &seals, &err));
    EXPECT_INT(seals.findings, 0);
    MUST(verify(box->db, &(struct verify_options){ .artifacts = true }, &verified, &err));
    EXPECT_INT(verified.violations, 0);
    db_close(box->db);
}

// ----- the list of tables

static void note_column(void *self, const struct str *texts, size_t count)
{
    EXPECT_INT(count, 2);
    int64_t columns = 0;
    EXPECT(str_int(texts[1], &columns));
    int *left = self;
    const struct copied_table *table = copied_tables;
    while (table->name && !str_eq(texts[0], str_of(table->name)))
        table++;
    if (!table->name)
        ++*left;
    else
        EXPECT_INT(columns, strlen(table->types));
}

TEST_TRIP(every_table_with_every_column_is_copied_on_either_database)
{
    int left = 0, left_in_file = 0;
    run_on(trip->server, "SELECT 1");
    EXPECT(outside_run(trip->server,
                       "SELECT table_name, count(*) FROM information_schema.columns c"
                       " JOIN pg_tables t ON t.schemaname = table_schema AND tablename = table_name"
                       " WHERE table_schema = 'pawl' GROUP BY table_name",
                       note_column, &left));
    on("sqlite");
    EXPECT(outside_run(trip->file,
                       "SELECT m.name, count(*) FROM sqlite_schema m, pragma_table_info(m.name) c"
                       " WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%' GROUP BY m.name",
                       note_column, &left_in_file));
    on("postgres");
    EXPECT_INT(left, 5);  // of each store its own: sql/copy.sql says why
    EXPECT_INT(left_in_file, 4);
}

// ----- killed

struct fuse {
    int64_t rows;
    enum copy_stage stage, now;
};

static void burn(void *self, int64_t done, int64_t total)
{
    const struct fuse *fuse = self;
    (void)total;
    if (fuse->now == fuse->stage && done >= fuse->rows)
        raise(SIGKILL);
}

static void note_stage(void *self, enum copy_stage stage)
{
    struct fuse *fuse = self;
    fuse->now = stage;
    burn(self, 0, 0);
}

// True when it was killed, and not done before.
static bool copy_killed(struct trip *trip, struct str from, struct str to, struct fuse fuse)
{
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        struct transfer transfer = transfer_of(from, to, trip);
        struct transfer_report report;
        transfer.audience = (struct copy_audience){ &fuse, note_stage, burn, NULL };
        _exit(transfer_make(&transfer, &report, NULL) ? 0 : 1);
    }
    int status = 0;
    EXPECT(child > 0 && waitpid(child, &status, 0) == child);
    EXPECT(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
    return WIFSIGNALED(status);
}

static void expect_unusable(struct trip *trip, struct str url)
{
    struct pawl_error err = {0};
    struct db *db = NULL;
    EXPECT_REFUSED(PAWL_CONFLICT, opens(trip, url, &db, &err));
    EXPECT(strstr(err.message, "not done") != NULL);
}

static void kill_again_and_again(struct trip *trip, struct str from, struct str to,
                                 const struct fuse *fuses, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        EXPECT(copy_killed(trip, from, to, fuses[i]));
        expect_unusable(trip, to);
    }
    EXPECT(must_copy(trip, from, to).resumed);
    expect_same_rows(from, to);
}

// So many that one table takes several transactions.
static void add_many(struct box *box)
{
    struct tx tx = {0};
    struct pawl_error err = {0};
    struct contract contract = contract_for(box, "many");
    struct job job;
    bool known = false;
    box_begin(box, &tx);
    for (int i = 0; i < 3000; i++)
        MUST(job_enqueue(&tx, &contract, &job, &known, &err));
    box_commit(&tx);
}

TEST_TRIP(a_copy_that_is_killed_at_any_point_is_taken_up_where_it_was)
{
    static const struct fuse there[] = {
        { 1, STAGE_COPY, 0 },    { 90, STAGE_COPY, 0 },  { 1000, STAGE_COPY, 0 },
        { 9000, STAGE_COPY, 0 }, { 1, STAGE_CHECK, 0 },  { 0, STAGE_PLACE, 0 },
    };
    static const struct fuse back[] = { { 200, STAGE_COPY, 0 }, { 9000, STAGE_COPY, 0 } };
    add_many(&trip->box);
    fill(trip);
    kill_again_and_again(trip, trip->file, trip->server, there, countof(there));
    kill_again_and_again(trip, trip->server, trip->back, back, countof(back));
    expect_same_rows(trip->file, trip->back);
}

TEST_TRIP(a_copy_is_not_done_when_one_of_its_rows_is_another)
{
    fill(trip);
    EXPECT(copy_killed(trip, trip->file, trip->server, (struct fuse){ 0, STAGE_CHECK, 0 }));
    run_on(trip->server, "UPDATE queues SET created_at = created_at + 1");
    EXPECT_INT(refusal(trip, trip->file, trip->server), PAWL_DAMAGED);
    expect_unusable(trip, trip->server);
    run_on(trip->server, "UPDATE queues SET created_at = created_at - 1");
    must_copy(trip, trip->file, trip->server);
}

TEST_TRIP(a_copy_is_not_done_when_one_of_its_rows_is_missing)
{
    fill(trip);
    EXPECT(copy_killed(trip, trip->file, trip->server, (struct fuse){ 0, STAGE_CHECK, 0 }));
    run_on(trip->server, "DELETE FROM idempotency_keys"
                         " WHERE slot = (SELECT min(slot) FROM idempotency_keys)");
    EXPECT_INT(refusal(trip, trip->file, trip->server), PAWL_DAMAGED);
    expect_unusable(trip, trip->server);
}

// ----- refused

TEST_TRIP(a_copy_is_not_taken_up_after_somebody_has_worked_on_the_source)
{
    fill(trip);
    EXPECT(copy_killed(trip, trip->file, trip->server, (struct fuse){ 90, STAGE_COPY, 0 }));
    on("sqlite");
    box_reopen(&trip->box);
    must_enqueue(&trip->box, "meanwhile");
    on("postgres");
    EXPECT_INT(refusal(trip, trip->file, trip->server), PAWL_CONFLICT);
    expect_unusable(trip, trip->server);
}

TEST_TRIP(a_store_that_is_not_empty_is_no_target)
{
    struct db *db = NULL;
    struct pawl_error err = {0};
    fill(trip);
    must_copy(trip, trip->file, trip->server);
    EXPECT_INT(refusal(trip, trip->file, trip->server), PAWL_CONFLICT);
    EXPECT_INT(refusal(trip, trip->file, trip->file), PAWL_CONFLICT);
    MUST(opens(trip, trip->server, &db, &err));  // and is as usable as before
    db_close(db);
}

static void expect_refused_while_it_lives(struct trip *trip, struct str from, struct str to)
{
    struct hold hold = {0};
    struct pawl_error err = {0};
    run_on(from, "INSERT INTO instances (instance, boot_id, started_at, alive_until)"
                 " VALUES ('I', 'b', 1, 9000000000000000)");
    MUST(hold_take(&hold, from, S("I"), &err));
    EXPECT_INT(refusal(trip, from, to), PAWL_CONFLICT);
    hold_give(&hold);
    must_copy(trip, from, to);  // dead, though its row says otherwise
}

TEST_TRIP(a_source_on_which_an_instance_lives_is_refused)
{
    fill(trip);
    expect_refused_while_it_lives(trip, trip->file, trip->server);
    run_on(trip->server, "DELETE FROM instances WHERE instance = 'I'");
    expect_refused_while_it_lives(trip, trip->server, trip->back);
}

struct intruder {
    struct trip *trip;
    struct str url;
    int tried;
};

static void try_to_write(void *self, enum copy_stage stage)
{
    struct intruder *intruder = self;
    struct db_options options = {
        .url = intruder->url,
        .world = &intruder->trip->box.world.world,
        .busy_us = MILLISECONDS(1),
    };
    struct db *db = NULL;
    struct tx tx = {0};
    struct pawl_error err = {0};
    (void)stage;
    EXPECT_REFUSED(PAWL_BUSY, db_open(&db, &options, &err)
                                  && tx_begin(db, TX_WRITE, test_arena(), &tx, &err));
    db_close(db);
    intruder->tried++;
}

TEST_TRIP(nobody_writes_to_the_source_while_it_is_copied)
{
    const struct str urls[] = { trip->file, trip->server, trip->back };
    fill(trip);
    for (size_t i = 0; i + 1 < countof(urls); i++) {
        struct intruder intruder = { trip, urls[i], 0 };
        struct transfer transfer = transfer_of(urls[i], urls[i + 1], trip);
        struct transfer_report report;
        struct pawl_error err = {0};
        transfer.audience = (struct copy_audience){ .self = &intruder, .stage = try_to_write };
        MUST(transfer_make(&transfer, &report, &err));
        EXPECT_INT(intruder.tried, 5);
    }
}
