// The commit pipeline: isolation, answers after the commit, a bound, and commits in doubt.
#include "fixture.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>

#include "faulty_vfs.h"
#include "run/pipeline.h"
#include "store/driver.h"

// ----- operations

struct enqueue {
    struct operation operation;
    struct arena arena;
    struct contract contract;
    struct job job;
    bool deduplicated;
    int answers;
    int64_t seen;  // jobs another connection could see when it was answered
    struct box *box;
};

static bool run_enqueue(struct tx *tx, struct operation *self, struct pawl_error *err)
{
    struct enqueue *e = (struct enqueue *)self;
    return job_enqueue(tx, &e->contract, &e->job, &e->deduplicated, err);
}

static void count_answer(struct operation *self)
{
    struct enqueue *e = (struct enqueue *)self;
    e->answers++;
    if (e->box)
        e->seen = box_number(e->box, "SELECT count(*) FROM jobs");
}

static struct enqueue enqueue_of(struct box *box, const char *key)
{
    struct enqueue e = {
        .operation = { .run = run_enqueue, .answered = count_answer, .caller = &box->caller },
        .contract = contract_for(box, "report"),
    };
    e.contract.idempotency_key = str_of(key);
    return e;
}

static void submit(struct pipeline *pipeline, struct enqueue *e)
{
    struct pawl_error err = {0};
    e->operation.arena = &e->arena;
    MUST(pipeline_submit(pipeline, &e->operation, &err));
}

static bool run_bad_sql(struct tx *tx, struct operation *self, struct pawl_error *err)
{
    (void)self;
    return tx_execute(tx, "INSERT INTO no_such_table VALUES (1)", err);
}

static struct pipeline *open_by_hand(struct box *box, struct pipeline_options options)
{
    struct pipeline *pipeline = NULL;
    struct pawl_error err = {0};
    options.db.url = box->url;
    options.db.world = &box->world.world;
    options.by_hand = true;
    MUST(pipeline_open(&pipeline, &options, &err));
    return pipeline;
}

// ----- in rounds, by hand

TEST_EACH_DB(OPS_9_many_operations_are_one_commit_and_each_has_its_answer)
{
    enum { COUNT = 50 };
    struct pipeline *pipeline = open_by_hand(box, (struct pipeline_options){0});
    struct enqueue all[COUNT];
    for (int i = 0; i < COUNT; i++) {
        all[i] = enqueue_of(box, "");
        submit(pipeline, &all[i]);
    }
    EXPECT_INT(pipeline_round(pipeline), COUNT);
    EXPECT_INT(pipeline_round(pipeline), 0);
    EXPECT_INT(pipeline_figures(pipeline).groups, 1);
    for (int i = 0; i < COUNT; i++) {
        EXPECT_INT(all[i].answers, 1);
        EXPECT_INT(all[i].operation.error.code, PAWL_OK);
        EXPECT_INT(must_load(box, all[i].job.id).state, JOB_QUEUED);
        arena_end(&all[i].arena);
    }
    pipeline_close(pipeline);
}

static bool enqueue_slowly(struct tx *tx, struct operation *self, struct pawl_error *err)
{
    struct enqueue *e = (struct enqueue *)self;
    world_pass(&e->box->world, SECONDS(1));
    return run_enqueue(tx, self, err);
}

TEST_EACH_DB(RUN_10_what_rides_is_committed_with_what_it_rides_with_however_long_it_takes)
{
    struct pipeline *pipeline = open_by_hand(box, (struct pipeline_options){0});
    struct enqueue rider = enqueue_of(box, "a"), carrier = enqueue_of(box, "b"),
                   next = enqueue_of(box, "c");
    struct enqueue *all[] = { &rider, &carrier, &next };
    for (size_t i = 0; i < countof(all); i++) {
        all[i]->box = box;
        all[i]->operation.run = enqueue_slowly;
        all[i]->operation.rides = all[i] == &rider;
        submit(pipeline, all[i]);
    }
    EXPECT_INT(pipeline_round(pipeline), 2);
    EXPECT_INT(rider.seen, 2);
    EXPECT_INT(next.answers, 0);
    EXPECT_INT(pipeline_round(pipeline), 1);
    for (size_t i = 0; i < countof(all); i++)
        arena_end(&all[i]->arena);
    pipeline_close(pipeline);
}

TEST_EACH_DB(OPS_4_a_repeat_while_the_first_is_being_written_gets_the_same_job)
{
    struct pipeline *pipeline = open_by_hand(box, (struct pipeline_options){0});
    struct enqueue first = enqueue_of(box, "k"), repeat = enqueue_of(box, "k"),
                   other = enqueue_of(box, "k");
    other.contract.payload = S("{\"other\":1}");
    submit(pipeline, &first);
    submit(pipeline, &repeat);
    submit(pipeline, &other);
    EXPECT_INT(pipeline_round(pipeline), 3);
    EXPECT_INT(pipeline_figures(pipeline).groups, 1);
    EXPECT(!first.deduplicated && repeat.deduplicated && id_eq(first.job.id, repeat.job.id));
    EXPECT_INT(other.operation.error.code, PAWL_KEY_REUSED);
    EXPECT_INT(box_number(box, "SELECT count(*) FROM jobs"), 1);
    arena_end(&first.arena);
    arena_end(&repeat.arena);
    arena_end(&other.arena);
    pipeline_close(pipeline);
}

TEST_EACH_DB(OPS_9_an_answer_comes_after_the_commit)
{
    struct pipeline *pipeline = open_by_hand(box, (struct pipeline_options){0});
    struct enqueue first = enqueue_of(box, "a"), second = enqueue_of(box, "b");
    first.box = second.box = box;
    submit(pipeline, &first);
    submit(pipeline, &second);
    EXPECT_INT(pipeline_round(pipeline), 2);
    EXPECT_INT(first.seen, 2);  // another connection sees both when the first is told
    EXPECT_INT(second.seen, 2);
    arena_end(&first.arena);
    arena_end(&second.arena);
    pipeline_close(pipeline);
}

TEST_EACH_DB(OPS_9_a_refusal_leaves_its_neighbours_alone)
{
    struct pipeline *pipeline = open_by_hand(box, (struct pipeline_options){0});
    struct enqueue first = enqueue_of(box, "k"), same = enqueue_of(box, "k"),
                   other = enqueue_of(box, "k"), last = enqueue_of(box, "l");
    other.contract.payload = S("{\"other\":1}");
    struct enqueue *all[] = { &first, &same, &other, &last };
    for (size_t i = 0; i < countof(all); i++)
        submit(pipeline, all[i]);
    EXPECT_INT(pipeline_round(pipeline), 4);
    EXPECT_INT(first.operation.error.code, PAWL_OK);
    EXPECT(same.deduplicated && id_eq(same.job.id, first.job.id));
    EXPECT_INT(other.operation.error.code, PAWL_KEY_REUSED);
    EXPECT_INT(last.operation.error.code, PAWL_OK);
    EXPECT_INT(pipeline_figures(pipeline).groups, 1);
    EXPECT_INT(pipeline_figures(pipeline).alone, 0);
    EXPECT_INT(box_number(box, "SELECT count(*) FROM jobs"), 2);
    for (size_t i = 0; i < countof(all); i++)
        arena_end(&all[i]->arena);
    pipeline_close(pipeline);
}

TEST_EACH_DB(OPS_9_a_statement_that_fails_takes_nobody_with_it)
{
    struct pipeline *pipeline = open_by_hand(box, (struct pipeline_options){0});
    struct enqueue first = enqueue_of(box, "a"), bad = enqueue_of(box, "b"),
                   last = enqueue_of(box, "c");
    bad.operation.run = run_bad_sql;
    submit(pipeline, &first);
    submit(pipeline, &bad);
    submit(pipeline, &last);
    while (pipeline_round(pipeline) > 0) {}
    EXPECT_INT(first.operation.error.code, PAWL_OK);
    EXPECT_INT(bad.operation.error.code, PAWL_STORE);
    EXPECT_INT(last.operation.error.code, PAWL_OK);
    EXPECT_INT(first.answers + bad.answers + last.answers, 3);
    EXPECT_INT(box_number(box, "SELECT count(*) FROM jobs"), 2);
    arena_end(&first.arena);
    arena_end(&bad.arena);
    arena_end(&last.arena);
    pipeline_close(pipeline);
}

struct end {
    struct operation operation;
    struct arena arena;
    struct lease lease;
    struct execution known, now;
};

static bool run_end(struct tx *tx, struct operation *self, struct pawl_error *err)
{
    struct end *e = (struct end *)self;
    struct commit commit = { .done = true, .known = &e->known };
    return execution_commit(tx, &e->lease, &commit, &e->now, err);
}

static void ignore(struct operation *self)
{
    (void)self;
}

static struct end end_of(struct box *box, struct lease lease)
{
    return (struct end){ .operation = { .run = run_end,
                                        .answered = ignore,
                                        .caller = &box->caller },
                         .lease = lease,
                         .known = must_execution(box, lease.execution) };
}

// Where keys are hoped to be new, the insert finds out, and the group is run together once more.
TEST_EACH_DB(OPS_4_a_known_key_in_a_group_is_found_and_the_others_are_stored)
{
    struct pipeline *pipeline = open_by_hand(box, (struct pipeline_options){0});
    struct enqueue all[] = { enqueue_of(box, "a"), enqueue_of(box, "known"), enqueue_of(box, "b") };
    struct contract known = contract_for(box, "report");
    known.idempotency_key = S("known");
    struct job first = must_add(box, &known);
    for (size_t i = 0; i < countof(all); i++)
        submit(pipeline, &all[i]);
    EXPECT_INT(pipeline_round(pipeline), countof(all));
    for (size_t i = 0; i < countof(all); i++) {
        EXPECT_INT(all[i].operation.error.code, PAWL_OK);
        EXPECT_INT(all[i].deduplicated, i == 1);
    }
    EXPECT(id_eq(all[1].job.id, first.id));
    EXPECT_INT(pipeline_figures(pipeline).alone, 0);
    EXPECT_INT(box_number(box, "SELECT count(*) FROM jobs"), 3);
    for (size_t i = 0; i < countof(all); i++)
        arena_end(&all[i].arena);
    pipeline_close(pipeline);
}

// Where it is hoped that all of them hold their leases, the hope fails and nobody is the worse.
TEST_EACH_DB(EXEC_3_a_stalled_worker_in_a_group_is_refused_and_the_others_are_not)
{
    enum { COUNT = 5, STALLED = 2 };
    struct end all[COUNT];
    struct pipeline *pipeline = open_by_hand(box, (struct pipeline_options){0});
    must_enqueue(box, "report");
    all[STALLED] = end_of(box, must_start(box, "A"));
    pass(box, HOURS(1));
    must_sweep(box);
    for (int i = 0; i < COUNT; i++) {
        struct pawl_error err = {0};
        if (i != STALLED) {
            must_enqueue(box, "report");
            all[i] = end_of(box, must_start(box, "B"));
        }
        all[i].operation.arena = &all[i].arena;
        MUST(pipeline_submit(pipeline, &all[i].operation, &err));
    }
    EXPECT_INT(pipeline_round(pipeline), COUNT);
    for (int i = 0; i < COUNT; i++) {
        enum execution_status status = must_execution(box, all[i].lease.execution).status;
        EXPECT_INT(all[i].operation.error.code, i == STALLED ? PAWL_FENCED : PAWL_OK);
        EXPECT_INT(status, i == STALLED ? EXECUTION_ABORTED : EXECUTION_DONE);
        arena_end(&all[i].arena);
    }
    EXPECT_INT(box_number(box, "SELECT count(*) FROM outcomes WHERE state = 'SUCCEEDED'"),
               COUNT - 1);
    pipeline_close(pipeline);
}

TEST_EACH_DB(OPS_9_a_full_pipeline_refuses_at_once)
{
    struct pipeline *pipeline = open_by_hand(box, (struct pipeline_options){ .waiting_max = 2 });
    struct enqueue a = enqueue_of(box, "a"), b = enqueue_of(box, "b"), c = enqueue_of(box, "c");
    struct pawl_error err = {0};
    submit(pipeline, &a);
    submit(pipeline, &b);
    c.operation.arena = &c.arena;
    EXPECT_REFUSED(PAWL_FULL, pipeline_submit(pipeline, &c.operation, &err));
    EXPECT_INT(pipeline_figures(pipeline).refused, 1);
    EXPECT_INT(pipeline_round(pipeline), 2);
    submit(pipeline, &c);
    pipeline_close(pipeline);  // answers what was handed over
    EXPECT_INT(c.answers, 1);
    EXPECT_INT(box_number(box, "SELECT count(*) FROM jobs"), 3);
    arena_end(&a.arena);
    arena_end(&b.arena);
    arena_end(&c.arena);
}

TEST_EACH_DB(OPS_9_a_group_ends_when_it_is_full)
{
    enum { COUNT = 7 };
    struct pipeline *pipeline = open_by_hand(box, (struct pipeline_options){ .group_max = 3 });
    struct enqueue all[COUNT];
    for (int i = 0; i < COUNT; i++) {
        all[i] = enqueue_of(box, "");
        submit(pipeline, &all[i]);
    }
    EXPECT_INT(pipeline_round(pipeline), 3);
    EXPECT_INT(pipeline_round(pipeline), 3);
    EXPECT_INT(pipeline_round(pipeline), 1);
    for (int i = 0; i < COUNT; i++)
        arena_end(&all[i].arena);
    pipeline_close(pipeline);
}

// ----- commits in doubt

static struct pipeline *open_on_faulty_disk(struct box *box)
{
    faulty_vfs_install();
    return open_by_hand(box, (struct pipeline_options){0});
}

static void close_faulty(struct pipeline *pipeline)
{
    faulty_vfs.fail_syncs = 0;
    pipeline_close(pipeline);
    faulty_vfs_remove();
}

SQLITE_ONLY(OPS_9_a_commit_in_doubt_is_looked_up_and_answered_truly,
            "a disk that fails, by a file system of SQLite")
TEST_EACH_DB(OPS_9_a_commit_in_doubt_is_looked_up_and_answered_truly)
{
    struct pipeline *pipeline = open_on_faulty_disk(box);
    struct enqueue first = enqueue_of(box, ""), second = enqueue_of(box, "b");
    submit(pipeline, &first);
    submit(pipeline, &second);
    faulty_vfs.fail_syncs = 1;
    EXPECT_INT(pipeline_round(pipeline), 2);
    EXPECT_INT(pipeline_figures(pipeline).doubts, 1);
    EXPECT_INT(first.operation.error.code, PAWL_OK);
    EXPECT_INT(second.operation.error.code, PAWL_OK);
    EXPECT_INT(box_number(box, "SELECT count(*) FROM jobs"), 2);  // once each, whatever happened
    EXPECT_INT(must_load(box, first.job.id).state, JOB_QUEUED);   // and this is the one
    EXPECT_INT(first.answers + second.answers, 2);
    arena_end(&first.arena);
    arena_end(&second.arena);
    close_faulty(pipeline);
}

static struct db_driver losing;
static const struct db_driver *sound;

static bool commit_unheard(struct db *db, struct pawl_error *err)
{
    expect_done(sound->commit(db, err), err, PLACE("commit"));
    return fail(err, PAWL_IN_DOUBT, "the answer was lost");
}

// The answer to the commit of this operation is lost. What it added last was taken back.
static bool run_with_a_part_in_vain(struct tx *tx, struct operation *self, struct pawl_error *err)
{
    struct enqueue *e = (struct enqueue *)self;
    struct job other;
    sound = tx->db->driver;
    losing = *sound;
    losing.commit = commit_unheard;
    tx->db->driver = &losing;
    return run_enqueue(tx, self, err) && tx_mark(tx, err)
        && job_enqueue(tx, &e->contract, &other, &e->deduplicated, err) && tx_take_back(tx, err);
}

TEST_EACH_DB(OPS_9_a_commit_in_doubt_is_found_by_what_was_not_taken_back)
{
    struct pipeline *pipeline = open_by_hand(box, (struct pipeline_options){0});
    struct enqueue only = enqueue_of(box, "");
    only.operation.run = run_with_a_part_in_vain;
    submit(pipeline, &only);
    EXPECT_INT(pipeline_round(pipeline), 1);
    EXPECT_INT(only.operation.error.code, PAWL_OK);
    EXPECT_INT(pipeline_figures(pipeline).doubts, 1);
    EXPECT_INT(box_number(box, "SELECT count(*) FROM jobs"), 1);
    EXPECT_INT(must_load(box, only.job.id).state, JOB_QUEUED);
    arena_end(&only.arena);
    pipeline_close(pipeline);
}

SQLITE_ONLY(OPS_9_what_cannot_be_found_out_is_called_in_doubt,
            "a disk that fails, by a file system of SQLite")
TEST_EACH_DB(OPS_9_what_cannot_be_found_out_is_called_in_doubt)
{
    struct pipeline *pipeline = open_on_faulty_disk(box);
    struct enqueue lost = enqueue_of(box, "a"), later = enqueue_of(box, "b");
    submit(pipeline, &lost);
    faulty_vfs.fail_syncs = 1;
    faulty_vfs.fail_opens = true;
    EXPECT_INT(pipeline_round(pipeline), 1);
    EXPECT_INT(lost.operation.error.code, PAWL_IN_DOUBT);
    faulty_vfs.fail_opens = false;
    submit(pipeline, &later);  // and the pipeline recovers by itself
    EXPECT_INT(pipeline_round(pipeline), 1);
    EXPECT_INT(later.operation.error.code, PAWL_OK);
    arena_end(&lost.arena);
    arena_end(&later.arena);
    close_faulty(pipeline);
}

// After a sync that failed nobody knows what the disk has. Nothing is called done, or not done, and
// nothing is built on it, before the log was made to end where the disk is known to have it.
SQLITE_ONLY(OPS_9_a_commit_that_was_not_synced_is_in_doubt_until_the_disk_is_well,
            "a disk that fails, by a file system of SQLite")
TEST_EACH_DB(OPS_9_a_commit_that_was_not_synced_is_in_doubt_until_the_disk_is_well)
{
    struct pipeline *pipeline = open_on_faulty_disk(box);
    struct enqueue lost = enqueue_of(box, "a"), later = enqueue_of(box, "b");
    struct enqueue again = enqueue_of(box, "a"), before = enqueue_of(box, "c");
    db_close(box->db);  // with nobody else there the log is read anew
    box->db = NULL;
    submit(pipeline, &before);
    EXPECT_INT(pipeline_round(pipeline), 1);
    submit(pipeline, &lost);
    faulty_vfs.fail_syncs = 1000;
    EXPECT_INT(pipeline_round(pipeline), 1);
    EXPECT_INT(lost.operation.error.code, PAWL_IN_DOUBT);
    submit(pipeline, &later);
    EXPECT_INT(pipeline_round(pipeline), 1);
    EXPECT(later.operation.error.code != PAWL_OK);
    faulty_vfs.fail_syncs = 0;
    submit(pipeline, &again);  // the disk is well again: so is the pipeline
    EXPECT_INT(pipeline_round(pipeline), 1);
    EXPECT_INT(again.operation.error.code, PAWL_OK);
    EXPECT(!again.deduplicated);
    box_reopen(box);
    EXPECT_INT(box_number(box, "SELECT count(*) FROM jobs"), 2);
    arena_end(&before.arena);
    arena_end(&lost.arena);
    arena_end(&later.arena);
    arena_end(&again.arena);
    close_faulty(pipeline);
}

SQLITE_ONLY(OPS_9_on_a_full_disk_everybody_is_told_and_nothing_is_stored,
            "a disk that fails, by a file system of SQLite")
TEST_EACH_DB(OPS_9_on_a_full_disk_everybody_is_told_and_nothing_is_stored)
{
    struct pipeline *pipeline = open_on_faulty_disk(box);
    struct enqueue first = enqueue_of(box, "a"), again = enqueue_of(box, "a");
    submit(pipeline, &first);
    faulty_vfs.full = true;
    EXPECT_INT(pipeline_round(pipeline), 1);
    EXPECT_INT(first.operation.error.code, PAWL_DISK_FULL);
    EXPECT_INT(box_number(box, "SELECT count(*) FROM jobs"), 0);
    faulty_vfs.full = false;
    submit(pipeline, &again);
    EXPECT_INT(pipeline_round(pipeline), 1);
    EXPECT_INT(again.operation.error.code, PAWL_OK);
    arena_end(&first.arena);
    arena_end(&again.arena);
    close_faulty(pipeline);
}

// ----- with its thread

enum { THREADS = 8,
       JOBS_EACH = 100 };

struct producer {
    struct pipeline *pipeline;
    struct box *box;
    int number;
    int stored;
};

static void *produce(void *self)
{
    struct producer *producer = self;
    for (int i = 0; i < JOBS_EACH; i++) {
        char key[32];
        snprintf(key, sizeof key, "%d-%d", producer->number, i);
        struct enqueue e = enqueue_of(producer->box, key);
        struct pawl_error err = {0};
        e.operation.arena = &e.arena;
        producer->stored += pipeline_do(producer->pipeline, &e.operation, &err);
        arena_end(&e.arena);
    }
    return NULL;
}

static struct pipeline *open_with_thread(struct box *box)
{
    struct pipeline *pipeline = NULL;
    struct pawl_error err = {0};
    // However slow the machine is, a group ends by its number and not by its time.
    struct pipeline_options options = { .db = { .url = box->url }, .group_us_max = MINUTES(1) };
    MUST(pipeline_open(&pipeline, &options, &err));
    return pipeline;
}

TEST_EACH_DB(OPS_9_every_thread_has_its_answers)
{
    struct pipeline *pipeline = open_with_thread(box);
    pthread_t threads[THREADS];
    struct producer producers[THREADS];
    for (int i = 0; i < THREADS; i++) {
        producers[i] = (struct producer){ pipeline, box, i, 0 };
        EXPECT_INT(pthread_create(&threads[i], NULL, produce, &producers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    EXPECT_INT(pipeline_figures(pipeline).operations, THREADS * JOBS_EACH);
    pipeline_close(pipeline);
    for (int i = 0; i < THREADS; i++)
        EXPECT_INT(producers[i].stored, JOBS_EACH);
    EXPECT_INT(box_number(box, "SELECT count(*) FROM jobs"), THREADS * JOBS_EACH);
}

// Keeps the writer busy until somebody opens the gate.
struct gate {
    struct operation operation;
    struct arena arena;
    sem_t open;
};

static bool wait_at_gate(struct tx *tx, struct operation *self, struct pawl_error *err)
{
    (void)tx;
    (void)err;
    while (sem_wait(&((struct gate *)self)->open) != 0) {}
    return true;
}

static void passed(struct operation *self)
{
    (void)self;
}

TEST_EACH_DB(OPS_9_what_gathers_while_the_writer_is_busy_is_one_commit)
{
    struct pipeline *pipeline = open_with_thread(box);
    struct gate gate = { .operation = { .run = wait_at_gate, .answered = passed } };
    struct pawl_error err = {0};
    gate.operation.arena = &gate.arena;
    sem_init(&gate.open, 0, 0);
    MUST(pipeline_submit(pipeline, &gate.operation, &err));
    while (pipeline_figures(pipeline).waiting > 0)  // until the writer has taken it
        world_sleep(world_real(), MILLISECONDS(1));
    struct enqueue all[THREADS];
    for (int i = 0; i < THREADS; i++) {
        all[i] = enqueue_of(box, "");
        submit(pipeline, &all[i]);
    }
    EXPECT_INT(pipeline_figures(pipeline).waiting, THREADS);
    sem_post(&gate.open);
    pipeline_close(pipeline);  // waits for all
    for (int i = 0; i < THREADS; i++) {
        EXPECT_INT(all[i].answers, 1);
        arena_end(&all[i].arena);
    }
    sem_destroy(&gate.open);
    EXPECT_INT(box_number(box, "SELECT count(*) FROM jobs"), THREADS);
    EXPECT_INT(box_number(box, "SELECT count(DISTINCT created_at) FROM jobs"), 1);  // one `now`
}

SQLITE_ONLY(the_log_is_copied_back_between_groups, "the log of an SQLite file")
TEST_EACH_DB(the_log_is_copied_back_between_groups)
{
    NEEDS_EVERY_ANSWER("a store that is opened again has an empty log");
    struct pipeline *pipeline = open_by_hand(box, (struct pipeline_options){0});
    char payload[3600];
    snprintf(payload, sizeof payload, "{\"text\":\"%03500d\"}", 7);
    int64_t checkpoints = 0;
    for (int i = 0; i < 6000 && checkpoints < 2; i++) {
        struct enqueue e = enqueue_of(box, "");
        e.contract.payload = str_of(payload);
        submit(pipeline, &e);
        EXPECT_INT(pipeline_round(pipeline), 1);
        EXPECT_INT(e.operation.error.code, PAWL_OK);
        arena_end(&e.arena);
        checkpoints = pipeline_figures(pipeline).checkpoints;
    }
    EXPECT_INT(checkpoints, 2);
    pipeline_close(pipeline);
}
