// Random sequences of operations, each answered by the engine and by the reference model.
//
//     SEQUENCE_COUNT=100000 build/tests/sequence_test    more of them
//     SEQUENCE_SEED=4711 build/tests/sequence_test       one, told operation by operation
//
// On PostgreSQL every look at a job is a round trip, and after each operation all jobs are looked
// at: a sequence takes 20 times as long there, so they are fewer.
#include "sequence.h"

#include <stdio.h>
#include <stdlib.h>

// The sanitizers make everything many times slower: a sample is enough there.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { SEQUENCES = 500 };
#else
enum { SEQUENCES = 10000 };
#endif

enum {
    SEQUENCES_ON_POSTGRES = 60,
    SEQUENCES_PER_STORE = 50,
    SEQUENCES_FOR_ALL = 5000,  // so many go everywhere
    VERIFIED_PER_STORE = 3,  // by themselves; the others when their store is closed
    FLAW_SEQUENCES = 2000,
    DRAIN_ROUNDS_MAX = 300,
    LOOK_AT_STORE = 1500,  // one operation in so many is followed on the whole store ...
    TAKE_BACK = 40,        // ... and one in so many does not come to its commit
};

// ----- one sequence

// A refusal changes nothing, anywhere in the store.
static void operate_watched(struct sequence *s)
{
    moment_over(s);
    struct str before = box_contents(s->box);
    operate(s);
    moment_over(s);
    if (s->match.code != PAWL_OK && !str_eq(before, box_contents(s->box)))
        differ(&s->match, "a refusal changed the store");
}

// An operation whose transaction is rolled back has not happened, neither in the store nor in what
// a connection remembers of it.
static void operate_in_vain(struct sequence *s, struct sequence *kept)
{
    moment_over(s);
    *kept = *s;
    operate(s);
    if (s->match.unlike || s->commits != kept->commits)
        return;  // it differs, or committed by itself: a moment has passed
    tx_end(&s->tx);
    kept->dice = s->dice;
    kept->arena = s->arena;
    kept->operations = s->operations;
    *s = *kept;
    if (s->verbose)
        print_message("      taken back\n");
}

static void run_sequence(struct sequence *s, struct sequence *kept)
{
    size_t length = 10 + pick(s, 1 + pick(s, 51));  // 10 to 60, more often short
    while (s->operations < length && !s->match.unlike) {
        if (pick(s, LOOK_AT_STORE) == 0)
            operate_watched(s);
        else if (pick(s, TAKE_BACK) == 0)
            operate_in_vain(s, kept);
        else
            operate(s);
        if (!s->match.unlike)
            compare_all(s, s->operations == length);
        if (s->one_by_one)
            moment_over(s);
    }
}

// ----- the end of every job

static bool all_ended(const struct sequence *s)
{
    for (size_t i = 0; i < s->match.model.job_count; i++)
        if (s->match.model.jobs[i].where != REF_ENDED)
            return false;
    return true;
}

static void submit_held(struct sequence *s)
{
    for (size_t i = 0; i < s->match.model.job_count; i++) {
        struct ref_job *m = &s->match.model.jobs[i];
        struct job job;
        if (m->where != REF_HELD)
            continue;
        bool done = job_submit(moment(s, m->contract.org_id), m->id, &job, &s->match.err);
        answered(s, "submit", done, ref_submit(&s->match.model, m->id));
    }
}

// Takes what there is; then succeeds, fails or falls silent, as the sequence's last worker is.
static size_t work_off(struct sequence *s, size_t manner)
{
    static const struct str queues[] = {
        { "q:critical", 10 }, { "q:default", 9 }, { "q:notifications", 15 }, { "q:planning", 10 },
        { "q:exports", 9 }, { "q:maintenance", 13 }, { "q:own", 5 },
    };
    struct claim claim = {
        .worker = s->workers[3],
        .queues = queues,
        .queue_count = countof(queues),
        .in_order = true,
        .limit = 5,
        .start = true,
    };
    size_t first = s->given_count;
    moment(s, S(""));
    claim_with(s, &claim);
    for (size_t i = first; i < s->given_count && !s->match.unlike; i++) {
        struct lease *lease = &s->given[i].lease;
        struct execution e;
        bool finish = execution_load(moment(s, S("")), lease->execution, &e, &s->match.err)
                   && e.status == EXECUTION_COMMITTED;
        if (finish) {
            bool done = execution_done(&s->tx, lease, &e, &s->match.err);
            answered(s, "done", done, ref_done(&s->match.model, lease));
        } else if (manner == 0) {
            fail_with(s, lease, &(struct work_error){ ERROR_TRANSIENT, S("never"), S(""), 0 });
        } else if (manner > 1) {
            for (size_t j = 0; j < s->match.model.job_count; j++)
                if (id_eq(e.job, s->match.model.jobs[j].id))
                    s->match.focus = j;
            commit_with(s, lease, &(struct commit){ .done = true });
        }
    }
    return s->given_count - first;
}

// JOB-6: with a worker and a sweep every job comes to its end, in bounded time.
static void drain(struct sequence *s)
{
    size_t manner = pick(s, 12);
    pawl_time began = s->match.model.now;
    for (size_t round = 0; round < DRAIN_ROUNDS_MAX && !s->match.unlike; round++) {
        submit_held(s);
        sweep_with(s, 1000);
        size_t taken = work_off(s, manner);
        compare_all(s, false);
        pawl_time next = ref_next(&s->match.model, true);
        if (all_ended(s) && next == 0)
            break;
        if (taken == 0 && next)  // limits to waits that are over lie hours ahead at most
            pass_to(s, all_ended(s) ? s->match.model.now + HOURS(4) : next);
    }
    compare_all(s, true);
    if (!s->match.unlike && !all_ended(s))
        differ(&s->match, "a job does not come to its end");
    if (s->match.model.now - began > DAYS(10))
        differ(&s->match, "the end took too long");
}

// ----- many of them

// What the sequences have met, to know that they go everywhere.
struct met {
    size_t events[EVENTS], ends[FAILURE_TYPES];
};

struct batch {
    struct box box;
    struct sequence *sequence;
    struct sequence *kept;  // the same before an operation that is taken back
    int64_t effects;
    struct met met;
};

static void batch_open(struct batch *b)
{
    box_open(&b->box);
    sequence_meet_orgs(&b->box);
    box_sql(&b->box, "CREATE TABLE effects (made INTEGER DEFAULT 1)");
    b->effects = 0;
}

static void batch_close(struct batch *b)
{
    EXPECT_INT(box_number(&b->box, "SELECT count(*) FROM effects"), b->effects);
    box_close(&b->box);
}

static void keep_violation(void *self, const struct violation *violation)
{
    struct sequence *s = self;
    differ(&s->match, "verify: %s: job %.*s: %.*s", violation->invariant, STR(violation->job_id),
           STR(violation->detail));
}

// In the middle of things: with leases, waits and commits under way.
static void verify_now(struct sequence *s)
{
    struct verified verified = {0};
    struct verify_options options = { .self = s, .found = keep_violation };
    moment_over(s);
    if (!verify(s->box->db, &options, &verified, &s->match.err))
        differ(&s->match, "verify: %s", s->match.err.message);
}

// False when engine and model differ: the store is then of no further use.
static bool batch_run(struct batch *b, uint64_t seed, enum ref_flaw flaw, bool verbose)
{
    struct sequence *s = b->sequence;
    sequence_begin(s, &b->box, seed);
    s->match.model.flaw = flaw;
    s->verbose = verbose;
    run_sequence(s, b->kept);
    if ((seed - 1) % SEQUENCES_PER_STORE < VERIFIED_PER_STORE && !s->match.unlike)
        verify_now(s);
    if (!s->match.unlike)
        drain(s);
    sequence_end(s);
    b->effects += s->effects;
    for (size_t i = 0; i < s->match.model.job_count; i++) {
        const struct ref_job *job = &s->match.model.jobs[i];
        b->met.ends[job->failure_type]++;
        for (size_t event = 0; event < EVENTS; event++)
            b->met.events[event] += job->events[event];
    }
    return !s->match.unlike;
}

static int64_t number_from(const char *name, int64_t otherwise)
{
    int64_t number = otherwise;
    const char *given = getenv(name);
    return given && str_int(str_of(given), &number) ? number : otherwise;
}

static struct sequence *new_sequence(void)
{
    struct sequence *s = calloc(1, sizeof *s);
    EXPECT(s != NULL);
    return s;
}

// The sequences go everywhere: each event of a job and each way to end was met.
static void expect_all_met(const struct met *met)
{
    for (size_t i = EVENT_JOB_CREATED; i < EVENT_KEY_CREATED; i++)
        if (met->events[i] == 0) {
            print_error("no sequence had %s\n", event_name((enum event)i));
            EXPECT(met->events[i] > 0);
        }
    for (size_t i = 0; i < FAILURE_DEPENDENCY_FAILED; i++) {
        if (met->ends[i] == 0)
            print_error("no sequence ended with %s\n", failure_type_name((enum failure_type)i));
        EXPECT(met->ends[i] > 0);
    }
}

static void expect_alike(const struct sequence *s)
{
    if (s->match.unlike)
        print_error("SEQUENCE_SEED=%llu, operation %zu: %s\n", (unsigned long long)s->seed,
                    s->operations, s->match.problem);
    EXPECT(!s->match.unlike);
}

TEST(JOB_6_every_sequence_is_answered_as_the_model_says_and_every_job_reaches_an_end)
{
    struct batch b = { .sequence = new_sequence(), .kept = new_sequence() };
    bool one = getenv("SEQUENCE_SEED") != NULL;
    uint64_t first = one ? (uint64_t)number_from("SEQUENCE_SEED", 1) : 1;
    int64_t sample = on_postgres() ? SEQUENCES_ON_POSTGRES : SEQUENCES;
    uint64_t count = one ? 1 : (uint64_t)number_from("SEQUENCE_COUNT", sample);
    size_t operations = 0;
    for (uint64_t i = 0; i < count; i++) {
        if (i % SEQUENCES_PER_STORE == 0)
            batch_open(&b);
        batch_run(&b, first + i, FLAW_NONE, one);
        expect_alike(b.sequence);
        operations += b.sequence->operations;
        if ((i + 1) % SEQUENCES_PER_STORE == 0 || i + 1 == count)
            batch_close(&b);
    }
    print_message("%llu sequences, %zu operations\n", (unsigned long long)count, operations);
    if (count >= SEQUENCES_FOR_ALL)
        expect_all_met(&b.met);
    arena_end(&b.sequence->arena);
    free(b.sequence);
    free(b.kept);
}

// ----- does the comparison see?

// How many sequences it takes to notice that the model has one rule wrong; 0: never noticed.
static size_t sequences_until_noticed(enum ref_flaw flaw)
{
    struct batch b = { .sequence = new_sequence(), .kept = new_sequence() };
    size_t noticed = 0;
    for (size_t i = 0; i < FLAW_SEQUENCES && !noticed; i++) {
        if (i % SEQUENCES_PER_STORE == 0)
            batch_open(&b);
        if (!batch_run(&b, i + 1, flaw, false))
            noticed = i + 1;
        if (noticed || (i + 1) % SEQUENCES_PER_STORE == 0)
            box_close(&b.box);
    }
    if (noticed)
        print_message("noticed after %zu sequences: %s\n", noticed, b.sequence->match.problem);
    arena_end(&b.sequence->arena);
    free(b.sequence);
    free(b.kept);
    return noticed;
}

TEST(JOB_4_an_attempt_counted_at_its_failure_would_be_noticed)
{
    EXPECT(sequences_until_noticed(FLAW_ATTEMPT_COUNTED_AT_FAILURE) > 0);
}

TEST(EXEC_3_a_fence_that_ignores_the_attempt_would_be_noticed)
{
    EXPECT(sequences_until_noticed(FLAW_FENCE_IGNORES_ATTEMPT) > 0);
}

TEST(EXEC_7_a_sweep_that_aborts_what_is_committed_would_be_noticed)
{
    EXPECT(sequences_until_noticed(FLAW_SWEEP_ABORTS_COMMITTED) > 0);
}

TEST(JOB_4_a_release_counted_as_a_retry_would_be_noticed)
{
    EXPECT(sequences_until_noticed(FLAW_RELEASE_COUNTS_AS_RETRY) > 0);
}

TEST(RUN_2_a_serial_key_held_while_retrying_would_be_noticed)
{
    EXPECT(sequences_until_noticed(FLAW_RETRYING_HOLDS_SERIAL_KEY) > 0);
}

TEST(EXEC_5_refusing_a_repeated_commit_would_be_noticed)
{
    EXPECT(sequences_until_noticed(FLAW_REPEATED_COMMIT_REFUSED) > 0);
}
