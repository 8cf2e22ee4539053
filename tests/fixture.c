// The store is one of its own, its files in a temporary directory; what looks at it from outside is
// not the engine.
#include "fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "store/blob.h"

static const struct caller tester = {
    .org_id = { "00000000-0000-7000-8000-000000000000", 36 },
    .actor_type = ACTOR_USER,
    .actor_id = { "tester", 6 },
    .request_id = { "request-1", 9 },
    .correlation_id = { "correlation-1", 13 },
};

static struct box *current;  // whose transaction began last

static struct db *open_db(struct box *box, bool read_only)
{
    struct db *db = NULL;
    struct pawl_error err = {0};
    struct db_options options = {
        .url = box->url,
        .world = &box->world.world,
        .read_only = read_only,
        .generation_keys = box->generation_keys,
    };
    MUST(db_open(&db, &options, &err));
    return db;
}

void box_open(struct box *box)
{
    *box = (struct box){ .caller = tester };
    const char *memory = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    snprintf(box->directory, sizeof box->directory, "%s/pawl-test-XXXXXX", memory);
    EXPECT(mkdtemp(box->directory) != NULL);
    virtual_world_init(&box->world, SECONDS(1800000000), 42);
    box->url = outside_make(box->directory);
    box->db = open_db(box, false);
}

static void remove_artifacts(struct box *box)
{
    struct blob_names names = {0};
    struct pawl_error err = {0};
    const char *files = str_format(test_arena(), "%s/pawl.db.artifacts", box->directory).s;
    MUST(blobs_list(files, test_arena(), &names, &err));
    for (size_t i = 0; i < names.count; i++)
        MUST(blob_remove(files, names.at[i], &err));
    rmdir(files);
}

static void remove_files(struct box *box)
{
    remove_artifacts(box);
    static const char *const names[] = { "pawl.db", "pawl.db-wal", "pawl.db-shm", "pawl.db-lock",
                                         "pawl.db-aside" };
    for (size_t i = 0; i < countof(names); i++)
        unlink(str_cstr(test_arena(), str_format(test_arena(), "%s/%s", box->directory, names[i])));
    rmdir(box->directory);
}

static void print_violation(void *self, const struct violation *violation)
{
    (void)self;
    print_error("%s: job %.*s: %.*s\n", violation->invariant, STR(violation->job_id),
                STR(violation->detail));
}

void box_close(struct box *box)
{
    struct pawl_error err = {0};
    struct verified verified = {0};
    if (!box->damaged) {
        MUST(verify(box->db, &(struct verify_options){ .found = print_violation }, &verified,
                    &err));
        EXPECT_INT(verified.violations, 0);
    }
    db_close(box->db);
    outside_remove(box->url);
    remove_files(box);
}

void box_reopen(struct box *box)
{
    db_close(box->db);
    box->db = open_db(box, false);
}

// A trigger that migration 10 replaced, so that it is there to be replaced again.
#define IDLE(name, when)    \
    "DROP TRIGGER " name ";" \
    "CREATE TRIGGER " name " " when " WHEN 0 BEGIN SELECT 1; END;"

// clang-format off
// How each migration is undone, where a test needs that.
static const char *const undo[] = {
    [3] = "DROP VIEW pawl_idempotency_keys; DROP TABLE queue_counts; DROP TABLE queue_pauses;"
          "DROP TABLE count_deltas;",
    [4] = "DROP TABLE execution_logs;",
    [5] = "DROP VIEW pawl_job_runs; DROP TABLE job_runs; DROP TABLE slot_skips;"
          "DROP TABLE schedules; DROP TABLE leader;"
          "DELETE FROM audit_event_names WHERE event BETWEEN 34 AND 41;",
    [6] = "DROP TABLE queue_flows; ALTER TABLE count_deltas DROP COLUMN period;",
    [7] = "DROP INDEX outcomes_open; DROP TRIGGER outcomes_letter;",
    [8] = "ALTER TABLE orgs DROP COLUMN weight; DELETE FROM audit_event_names WHERE event = 42;",
    [9] = "DROP INDEX executions_serial; DROP INDEX executions_finish;"
          "CREATE UNIQUE INDEX executions_serial ON executions (org, serial_key)"
          " WHERE finished_at IS NULL AND serial_key IS NOT NULL;"
          "CREATE INDEX executions_finish ON executions (finish_at)"
          " WHERE finished_at IS NULL AND finish_at IS NOT NULL;",
    [10] = "DROP TABLE alert_deliveries; DROP TABLE alert_targets;",
    [11] = "UPDATE parked SET reason = 'delayed', due_at = 1 << 55, serial_key = NULL"
           " WHERE serial_key = '';"
           "DROP TABLE job_endings; DROP TABLE job_waits; DROP TABLE job_links;"
           "DROP TABLE job_batches;"
           "DELETE FROM audit_event_names WHERE event IN (43, 44);",
    [12] = "DELETE FROM audit_event_names WHERE event = 45;",
    [13] = "DROP TABLE artifact_inputs; DROP TABLE artifacts;"
           "DELETE FROM audit_event_names WHERE event BETWEEN 46 AND 47;",
    [14] = "DROP VIEW pawl_audit; CREATE VIEW pawl_audit AS SELECT * FROM audit_events;"
          IDLE("audit_no_delete", "BEFORE DELETE ON audit_events")
          IDLE("jobs_kept", "BEFORE DELETE ON jobs")
          IDLE("jobs_no_update", "BEFORE UPDATE ON jobs")
          IDLE("executions_final", "AFTER UPDATE ON executions")
          IDLE("outcomes_final", "BEFORE UPDATE ON outcomes")
          IDLE("job_runs_final", "BEFORE UPDATE ON job_runs")
          "DROP INDEX job_batches_callback;"
          "DROP VIEW audit_pruned; DROP TABLE forgotten_jobs; DROP TABLE audit_seals;"
          "DROP TABLE removed_jobs; DROP TABLE erasures; ALTER TABLE orgs DROP COLUMN erased_at;"
          "DELETE FROM audit_event_names WHERE event BETWEEN 48 AND 52;",
    [15] = "DROP TABLE schema_compatible; DELETE FROM audit_event_names WHERE event = 53;",
    [16] = "DROP TABLE job_limits; DROP TABLE job_limit_buckets; DROP TABLE job_limit_holds;"
           "DROP TABLE job_limit_waits; DROP TABLE job_type_pauses;"
           "ALTER TABLE jobs DROP COLUMN limit_key;"
           "DELETE FROM audit_event_names WHERE event BETWEEN 54 AND 57;",
    [17] = "DROP TABLE store_copy; DELETE FROM schema_compatible WHERE version = 17;",
    [18] = "DROP TABLE posted_jobs; DELETE FROM schema_compatible WHERE version = 18;",
    [19] = "DELETE FROM schema_compatible WHERE version = 19;",
    [20] = "ALTER TABLE instances DROP COLUMN unheld;"
           "DELETE FROM schema_compatible WHERE version = 20;",
    [21] = "DROP INDEX posted_jobs_look; ALTER TABLE posted_jobs DROP COLUMN look_at;"
           "DELETE FROM schema_compatible WHERE version = 21;",
    [22] = "DELETE FROM schema_compatible WHERE version = 22;",
    [23] = "DROP INDEX audit_of_store;",
};
// clang-format on

void box_as_of(struct box *box, int version)
{
    EXPECT_INT(schema_version_known(), countof(undo) - 1);
    for (int i = schema_version_known(); i > version; i--) {
        char row[80];
        snprintf(row, sizeof row, "DELETE FROM schema_migrations WHERE version = %d", i);
        if (undo[i])
            box_sql(box, undo[i]);
        box_sql(box, row);
    }
}

struct db *box_second(struct box *box, bool read_only)
{
    return open_db(box, read_only);
}

void box_begin(struct box *box, struct tx *tx)
{
    struct pawl_error err = {0};
    MUST(tx_begin(box->db, TX_WRITE, test_arena(), tx, &err));
    tx->caller = &box->caller;
    current = box;
}

// A commit whose answer was lost (lost_answers.c) is there, so the test goes on with it; what the
// connection knew is gone, as for anybody who has to open the store again.
bool box_answer_lost(struct box *box, struct tx *tx, const struct pawl_error *err)
{
    if (err->code != PAWL_IN_DOUBT || !answers_are_lost())
        return false;
    tx_end(tx);
    box_reopen(box);
    return true;
}

void box_commit(struct tx *tx)
{
    struct pawl_error err = {0};
    expect_done(tx_commit(tx, &err) || box_answer_lost(current, tx, &err), &err,
                PLACE("the commit"));
}

static void add_row(void *self, const struct str *texts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        buf_addf(self, "%.*s|", STR(texts[i].s ? texts[i] : S("-")));
    buf_add_char(self, '\n');
}

static void add_table(void *self, const struct str *texts, size_t count)
{
    (void)count;
    buf_addf(self, "SELECT '== %.*s'; SELECT * FROM %.*s ORDER BY 1;", STR(texts[0]),
             STR(texts[0]));
}

struct str box_contents(struct box *box)
{
    struct buf all = buf_new(test_arena(), (size_t)64 << 20);
    struct buf sql = buf_new(test_arena(), (size_t)1 << 20);
    EXPECT(outside_run(box->url, outside_tables(), add_table, &sql));
    EXPECT(outside_run(box->url, str_cstr(test_arena(), buf_str(&sql)), add_row, &all));
    EXPECT(!all.full && !sql.full);
    return hash_name(test_arena(), buf_str(&all));
}

static void keep_first(void *self, const struct str *texts, size_t count)
{
    struct str *first = self;
    if (!first->s && count > 0)
        *first = str_dup(test_arena(), texts[0]);
}

// The first column of the first row; the empty text when there is none.
struct str box_text(struct box *box, const char *sql)
{
    struct str text = {0};
    bool done = outside_run(box->url, sql, keep_first, &text);
    return done && text.s ? text : S("");
}

int64_t box_number(struct box *box, const char *sql)
{
    int64_t number = -1;
    return str_int(box_text(box, sql), &number) ? number : -1;
}

void box_sql(struct box *box, const char *sql)
{
    EXPECT(outside_run(box->url, sql, NULL, NULL));
}

void pass(struct box *box, int64_t microseconds)
{
    world_pass(&box->world, microseconds);
}

struct contract contract_with(struct box *box, const char *job_type, const char *policy)
{
    const struct policy *terms = policy_builtin(str_of(policy));
    EXPECT(terms != NULL);
    return (struct contract){
        .job_type = str_of(job_type),
        .org_id = box->caller.org_id,
        .actor_type = box->caller.actor_type,
        .actor_id = box->caller.actor_id,
        .request_id = box->caller.request_id,
        .correlation_id = box->caller.correlation_id,
        .payload = S("{}"),
        .queue = terms->queue,
        .policy = *terms,
    };
}

struct contract contract_for(struct box *box, const char *job_type)
{
    return contract_with(box, job_type, "default");
}

struct job must_add(struct box *box, const struct contract *contract)
{
    struct job job;
    bool deduplicated = false;
    OK(job_enqueue(tx, contract, &job, &deduplicated, err));
    EXPECT(!deduplicated);
    return job;
}

struct job must_enqueue(struct box *box, const char *job_type)
{
    struct contract contract = contract_for(box, job_type);
    return must_add(box, &contract);
}

struct job must_load(struct box *box, struct id id)
{
    struct job job;
    OK(job_load(tx, id, &job, err));
    return job;
}

struct worker worker_named(const char *name)
{
    return (struct worker){ str_of(name), S("test"), S("boot-1") };
}

static size_t claim(struct box *box, const char *worker, size_t limit, bool start,
                    struct claimed **claimed)
{
    const struct str queues[] = { S("q:critical"), S("q:default"), S("q:notifications"),
                                  S("q:planning"), S("q:exports"), S("q:maintenance") };
    struct claim wanted = {
        .worker = worker_named(worker),
        .queues = queues,
        .queue_count = countof(queues),
        .limit = limit,
        .start = start,
    };
    size_t count = 0;
    OK(execution_claim(tx, &wanted, claimed, &count, err));
    return count;
}

size_t claim_some(struct box *box, const char *worker, size_t limit, struct claimed **claimed)
{
    return claim(box, worker, limit, false, claimed);
}

static struct lease claim_one(struct box *box, const char *worker, bool start)
{
    struct claimed *claimed = NULL;
    struct worker who = worker_named(worker);
    EXPECT_INT(claim(box, worker, 1, start, &claimed), 1);
    return lease_of(&claimed[0].execution, &who);
}

struct lease must_claim(struct box *box, const char *worker)
{
    return claim_one(box, worker, false);
}

struct lease must_start(struct box *box, const char *worker)
{
    return claim_one(box, worker, true);
}

struct execution must_execution(struct box *box, struct id id)
{
    struct execution execution;
    OK(execution_load(tx, id, &execution, err));
    return execution;
}

void must_commit(struct box *box, const struct lease *lease)
{
    struct execution execution;
    OK(execution_commit(tx, lease, &(struct commit){ .done = true }, &execution, err));
}

void must_fail(struct box *box, const struct lease *lease, enum error_class class)
{
    struct execution execution;
    struct work_error error = { .class = class, .message = S("it did not work") };
    OK(execution_fail(tx, lease, &error, &execution, err));
}

struct swept must_sweep(struct box *box)
{
    struct swept swept;
    OK(sweep(tx, 1000, &swept, err));
    return swept;
}

size_t events(struct box *box, struct id job, enum event event)
{
    struct audit_event *trail = NULL;
    size_t count = 0, found = 0;
    OK(events_of_job(tx, job.high, &trail, &count, err));
    for (size_t i = 0; i < count; i++)
        found += trail[i].event == event;
    return found;
}
