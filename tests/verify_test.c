// Verify is silent on good stores, and names what is wrong with each kind of bad one.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "damage.h"
#include "rich_store.h"

struct findings {
    const char *wanted;  // the name of an invariant
    size_t count, of_wanted;
    bool print;
    struct str job_id;
};

static void collect(void *self, const struct violation *violation)
{
    struct findings *findings = self;
    findings->count++;
    bool wanted = findings->wanted && strcmp(findings->wanted, violation->name) == 0;
    findings->of_wanted += wanted;
    if (wanted)
        findings->job_id = str_dup(test_arena(), violation->job_id);
    if (findings->print)
        print_error("%s: job %.*s: %.*s\n", violation->invariant, STR(violation->job_id),
                    STR(violation->detail));
}

static struct verified run_verify(struct db *db, int64_t page_jobs, struct findings *findings)
{
    struct verified verified;
    struct pawl_error err = {0};
    struct verify_options options = { .self = findings, .found = collect, .page_jobs = page_jobs };
    MUST(verify(db, &options, &verified, &err));
    EXPECT_INT(verified.violations, (int64_t)findings->count);
    return verified;
}

TEST_EACH_DB(EXEC_8_verify_is_silent_on_a_good_store_of_every_kind_of_job)
{
    rich_store(box);
    for (int phase = 0; phase < JOB_PHASES; phase++) {
        struct job_list list;
        bool met = false;
        OK(job_find(tx, &(struct job_filter){ .limit = 1000 }, &list, err));
        for (size_t i = 0; i < list.count; i++)
            met = met || list.jobs[i].phase == (enum job_phase)phase;
        EXPECT(met);
    }
    static const int64_t pages[] = { 0, 1, 2, 7, 100000 };
    for (size_t i = 0; i < countof(pages); i++) {
        struct findings findings = { .print = true };
        struct verified verified = run_verify(box->db, pages[i], &findings);
        EXPECT_INT(findings.count, 0);
        EXPECT_INT(verified.jobs, box_number(box, "SELECT count(*) FROM jobs"));
        EXPECT_INT(verified.executions, box_number(box, "SELECT count(*) FROM executions"));
    }
}

TEST_EACH_DB(EXEC_8_verify_needs_no_right_to_write)
{
    rich_store(box);
    struct db *reader = box_second(box, true);
    struct findings findings = { .print = true };
    run_verify(reader, 5, &findings);
    EXPECT_INT(findings.count, 0);
    db_close(reader);
}

TEST_EACH_DB(EXEC_8_verify_of_an_empty_store_finds_nothing)
{
    struct findings findings = { .print = true };
    EXPECT_INT(run_verify(box->db, 0, &findings).jobs, 0);
    EXPECT_INT(findings.count, 0);
}

struct reported {
    int64_t calls, done, total;
};

static void note_progress(void *self, int64_t jobs_done, int64_t jobs_total)
{
    struct reported *reported = self;
    reported->calls++;
    EXPECT(jobs_done >= reported->done && jobs_done <= jobs_total);
    reported->done = jobs_done;
    reported->total = jobs_total;
}

TEST_EACH_DB(EXEC_8_verify_tells_how_far_it_is)
{
    rich_store(box);
    struct reported reported = {0};
    struct verified verified;
    struct pawl_error err = {0};
    struct verify_options options = {
        .self = &reported,
        .page_jobs = 10,
        .progress = note_progress,
    };
    MUST(verify(box->db, &options, &verified, &err));
    EXPECT(reported.calls > verified.jobs / 10);
    EXPECT_INT(reported.done, verified.jobs);
    EXPECT_INT(reported.total, verified.jobs);
}

// ----- damage

static bool damage_found(const struct damage *damage)
{
    struct box box;
    struct findings small = { .wanted = damage->invariant };
    struct findings large = { .wanted = damage->invariant };
    box_open(&box);
    rich_store(&box);
    box.damaged = true;
    box_sql(&box, str_cstr(test_arena(), str_format(test_arena(), "%s%s", no_guards, damage->sql)));
    run_verify(box.db, 1, &small);
    run_verify(box.db, 0, &large);
    box_close(&box);
    if (large.of_wanted == 0)
        print_error("%s is not reported after: %s\n", damage->invariant, damage->sql);
    if (small.count != large.count)
        print_error("%zu violations in small pages, %zu in large ones after: %s\n", small.count,
                    large.count, damage->sql);
    return large.of_wanted > 0 && small.count == large.count;
}

SQLITE_ONLY(EXEC_8_verify_reports_each_kind_of_damage,
            "its damage is in SQLite's words; what finds it is the same SQL on both")
TEST(EXEC_8_verify_reports_each_kind_of_damage)
{
    size_t missed = 0;
    for (const struct damage *damage = damages; damage->invariant; damage++)
        missed += !damage_found(damage);
    EXPECT_INT(missed, 0);
}

TEST(EXEC_8_every_invariant_is_seen_to_be_broken)
{
    size_t untested = 0;
    for (size_t i = 0; verify_invariant(i).name; i++) {
        struct invariant invariant = verify_invariant(i);
        bool tested = false;
        for (const struct damage *damage = damages; damage->invariant; damage++)
            tested = tested || strcmp(damage->invariant, invariant.name) == 0;
        if (!tested)
            print_error("no damage breaks %s: %s\n", invariant.name, invariant.sentence);
        untested += !tested;
    }
    EXPECT_INT(untested, 0);
}

TEST_EACH_DB(EXEC_8_a_violation_names_its_job)
{
    struct job job = must_enqueue(box, "ready");
    struct findings findings = { .wanted = "verify_ready_attempt" };
    box->damaged = true;
    box_sql(box, "UPDATE ready SET attempt = 3");
    run_verify(box->db, 0, &findings);
    EXPECT_INT(findings.count, 1);
    EXPECT(str_eq(findings.job_id, id_text(test_arena(), job.id)));
}

// Another job may take a key over when its time is over, and its job has ended.
SQLITE_ONLY(EXEC_8_a_key_that_was_taken_over_too_early_is_named, "guards in the words of SQLite")
TEST_EACH_DB(EXEC_8_a_key_that_was_taken_over_too_early_is_named)
{
    static const char *const early[] = {
        "UPDATE outcomes SET ended_at = ended_at + 864000000000 * 300;",
        "UPDATE outcomes SET ended_at = ended_at - 864000000000 * 300;"
        "UPDATE policies SET key_ttl_us = 9223372036854775807;",
    };
    struct contract contract = contract_for(box, "report");
    struct findings before = { .print = true };
    contract.idempotency_key = S("one");
    struct job first = must_add(box, &contract), canceled;
    OK(job_cancel(tx, first.id, &canceled, err));
    pass(box, DAYS(100));
    struct job second = must_add(box, &contract);
    EXPECT(!id_eq(first.id, second.id));
    run_verify(box->db, 0, &before);
    EXPECT_INT(before.count, 0);
    box->damaged = true;
    for (size_t i = 0; i < countof(early); i++) {
        struct findings findings = { .wanted = "check_key_of_job" };
        box_sql(box, i ? early[i] : str_format(test_arena(), "%s%s", no_guards, early[i]).s);
        box_reopen(box);
        run_verify(box->db, 0, &findings);
        EXPECT_INT(findings.of_wanted, 1);
        EXPECT(str_eq(findings.job_id, id_text(test_arena(), first.id)));
    }
}

// ----- while others write

enum { WRITER_ROUNDS = 400 };

// One round of a busy process: some jobs, most of them worked on in one way or another.
static bool write_round(struct db *db, const struct caller *caller, const struct contract *contract,
                        int round, struct pawl_error *err)
{
    SCOPED(arena) struct arena arena = {0};
    SCOPED(tx) struct tx tx = {0};
    struct job job;
    bool deduplicated = false;
    struct execution e;
    struct swept swept;
    struct claimed *claimed = NULL;
    size_t count = 0;
    struct contract mine = *contract;
    mine.serial_key = round % 3 ? S("") : S("one of many");
    struct claim claim = {
        .worker = worker_named("W"),
        .queues = &mine.queue,
        .queue_count = 1,
        .limit = 2,
        .start = true,
    };
    if (!tx_begin(db, TX_WRITE, &arena, &tx, err))
        return false;
    tx.caller = caller;
    for (int i = 0; i < 3; i++)
        if (!job_enqueue(&tx, &mine, &job, &deduplicated, err))
            return false;
    if (!execution_claim(&tx, &claim, &claimed, &count, err) || !sweep(&tx, 10, &swept, err))
        return false;
    for (size_t i = 0; i < count; i++) {
        struct lease lease = lease_of(&claimed[i].execution, &claim.worker);
        struct work_error error = { .class = ERROR_TRANSIENT, .message = S("again") };
        if (round % 4 == 3)
            continue;  // its lease will expire
        if (round % 4 == 2 ? !execution_fail(&tx, &lease, &error, &e, err)
                           : !execution_commit(&tx, &lease, &(struct commit){ .done = true }, &e,
                                               err))
            return false;
    }
    return tx_commit(&tx, err);
}

// In a process of its own, which has no test to fail: its exit status tells.
static _Noreturn void writer(struct box *box)
{
    struct db *db = NULL;
    struct pawl_error err = {0};
    struct db_options options = { .url = box->url, .world = &box->world.world };
    struct contract contract = contract_for(box, "busy");
    bool fine = db_open(&db, &options, &err);
    for (int i = 0; i < WRITER_ROUNDS && fine; i++) {
        world_pass(&box->world, SECONDS(4));
        fine = write_round(db, &box->caller, &contract, i, &err);
    }
    if (!fine)
        fprintf(stderr, "writer: %s\n", err.message);
    db_close(db);
    _exit(fine ? 0 : 1);
}

TEST_EACH_DB(EXEC_8_verify_works_while_another_process_writes)
{
    NEEDS_EVERY_ANSWER("its writer is a bare connection, with nobody who would open it again");
    rich_store(box);
    int64_t before = box_number(box, "SELECT count(*) FROM jobs");
    db_close(box->db);  // a connection must not be carried into another process
    box->db = NULL;
    pid_t pid = fork();
    if (pid == 0)
        writer(box);
    EXPECT(pid > 0);
    struct db *reader = box_second(box, true);  // takes no lock: in virtual time nobody can wait
    int status = 0;
    int64_t jobs = before;
    struct findings findings = { .print = true };
    do {
        struct verified verified = run_verify(reader, 20, &findings);
        EXPECT(verified.jobs >= jobs);
        jobs = verified.jobs;
    } while (waitpid(pid, &status, WNOHANG) == 0);  // the writer's rounds are counted
    db_close(reader);
    box_reopen(box);
    EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    EXPECT_INT(findings.count, 0);
    EXPECT(box_number(box, "SELECT count(*) FROM jobs") > before);
}

// ----- in bounded memory

enum { MANY_JOBS = 4000, JOBS_PER_TX = 500, LARGE_BYTES = 10000 };

static void enqueue_many(struct box *box, const struct contract *contract)
{
    for (int done = 0; done < MANY_JOBS; done += JOBS_PER_TX) {
        SCOPED(arena) struct arena arena = {0};
        SCOPED(tx) struct tx tx = {0};
        struct pawl_error err = {0};
        struct job job;
        bool deduplicated = false;
        MUST(tx_begin(box->db, TX_WRITE, &arena, &tx, &err));
        for (int i = 0; i < JOBS_PER_TX; i++)
            MUST(job_enqueue(&tx, contract, &job, &deduplicated, &err));
        MUST(tx_commit(&tx, &err));
    }
}

// Starts the kernel's record of the most memory used over again.
static void forget_peak(void)
{
    FILE *file = fopen("/proc/self/clear_refs", "w");
    if (file) {
        fputs("5", file);
        fclose(file);
    }
}

static int64_t peak_kib(void)
{
    static const char label[] = "VmHWM:";
    char line[128];
    int64_t kib = 0;
    FILE *file = fopen("/proc/self/status", "r");
    EXPECT(file != NULL);
    while (kib == 0 && fgets(line, sizeof line, file))
        if (strncmp(line, label, sizeof label - 1) == 0)
            kib = strtoll(line + sizeof label - 1, NULL, 10);
    fclose(file);
    EXPECT(kib > 0);
    return kib;
}

// The sanitizers keep what was freed, to find who still uses it: there the peak says nothing.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
static const int64_t kib_max = INT64_MAX;
#else
static const int64_t kib_max = (int64_t)24 * 1024;  // SQLite's own cache takes up to 16 MiB
#endif

// 40 MB of payloads alone: what is kept from page to page, or from job to job, would show.
TEST_EACH_DB(EXEC_8_verify_of_many_jobs_takes_little_memory)
{
    struct contract contract = contract_for(box, "large");
    struct buf payload = buf_new(test_arena(), LARGE_BYTES + 100);
    buf_add(&payload, S("{\"text\":\""));
    while (payload.n < LARGE_BYTES)
        buf_add_char(&payload, 'x');
    buf_add(&payload, S("\"}"));
    contract.payload = buf_str(&payload);
    enqueue_many(box, &contract);
    struct findings findings = { .print = true };
    forget_peak();
    int64_t before = peak_kib();
    EXPECT_INT(run_verify(box->db, 100, &findings).jobs, MANY_JOBS);
    EXPECT_INT(run_verify(box->db, MANY_JOBS, &findings).jobs, MANY_JOBS);
    EXPECT_INT(findings.count, 0);
    EXPECT(peak_kib() - before < kib_max);
}
