// Verify is silent on good stores, and names what is wrong with each kind of bad one.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

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

#define JOB(name) "(SELECT id FROM job WHERE name = '" name "')"
#define OF(name) " WHERE job = " JOB(name) ";"
#define EVENT(name) "(SELECT event FROM audit_event_names WHERE name = '" name "')"
#define NEXT_EVENT "(SELECT max(id) + 1 FROM audit_events)"

// What keeps damage out is taken away first: triggers, unique indexes, CHECKs.
static const char no_guards[] =
    "PRAGMA ignore_check_constraints = ON;"
    "DROP TRIGGER audit_no_update; DROP TRIGGER audit_no_delete; DROP TRIGGER jobs_no_update;"
    "DROP TRIGGER executions_final; DROP TRIGGER outcomes_final; DROP INDEX executions_job;"
    "DROP INDEX executions_live; DROP INDEX executions_serial; DROP INDEX ready_serial;"
    "CREATE TEMP VIEW job AS SELECT t.name, j.* FROM jobs j JOIN job_types t ON t.id = j.type;";

// clang-format off
static const struct damage {
    const char *invariant;
    const char *sql;
} damages[] = {
    { "check_state", "DELETE FROM ready" OF("ready") },
    { "check_state",
      "INSERT INTO parked (job, org, reason) SELECT id, org, 'held' FROM job WHERE name = "
      "'ready';" },
    { "check_state", "DELETE FROM outcomes" OF("failed") },
    { "check_state", "UPDATE parked SET reason = 'held', due_at = NULL" OF("backoff") },
    { "check_state", "UPDATE parked SET reason = 'lost'" OF("held") },
    { "check_state", "UPDATE outcomes SET state = 'RUNNING'" OF("failed") },
    { "check_state", "UPDATE executions SET cancel_requested_at = finished_at" OF("backoff") },
    { "check_words", "UPDATE executions SET status = 'LOST'" OF("running") },
    { "check_words", "UPDATE executions SET end_reason = 'bored'" OF("backoff") },
    { "check_words", "UPDATE executions SET error_class = 'bad_luck'" OF("backoff") },
    { "check_words", "UPDATE outcomes SET failure_type = 'BAD_LUCK'" OF("failed") },
    { "check_execution",
      "UPDATE executions SET started_at = NULL, deadline_at = NULL" OF("done") },
    { "check_execution", "UPDATE executions SET committed_at = NULL" OF("finishing") },
    { "check_execution", "UPDATE executions SET finished_at = leased_at" OF("running") },
    { "check_execution", "UPDATE executions SET end_reason = 'error'" OF("done") },
    { "check_tally", "UPDATE executions SET attempts_used = 2" OF("running") },
    { "check_tally", "UPDATE executions SET retry_count = 0" OF("exhausted") },
    { "check_tally", "UPDATE executions SET crash_count = 1" OF("released") },
    { "check_verdict", "UPDATE executions SET error_class = 'validation'" OF("backoff") },
    { "check_verdict", "UPDATE outcomes SET failure_type = 'HANDLER_ERROR'" OF("exhausted") },
    { "check_verdict", "UPDATE outcomes SET state = 'FAILED'" OF("timed_out") },
    { "check_verdict", "UPDATE outcomes SET failure_type = 'LEASE_EXPIRED'" OF("terminated") },
    { "check_trail",
      "DELETE FROM audit_events WHERE event = " EVENT("job.created") " AND job = " JOB("held")
      ";" },
    { "check_trail", "DELETE FROM audit_events" OF("held") },
    { "check_trail",
      "DELETE FROM audit_events WHERE event = " EVENT("job.succeeded") " AND job = "
      JOB("done") ";" },
    { "check_trail",
      "DELETE FROM audit_events WHERE event = " EVENT("job.enqueued") " AND job = "
      JOB("ready") ";" },
    { "check_trail",
      "DELETE FROM audit_events WHERE event = " EVENT("job.started") " AND job = "
      JOB("running") ";" },
    { "check_trail",
      "DELETE FROM audit_events WHERE event = " EVENT("job.cancelled") " AND job = "
      JOB("cancelled_held") ";" },
    { "check_trail",
      "INSERT INTO audit_events (org, job, event, attempt, at) SELECT org, job, event, "
      "attempt, at FROM audit_events WHERE event = " EVENT("job.succeeded") ";" },
    { "check_trail",
      "INSERT INTO audit_events (org, job, event, attempt, at) SELECT org, id, "
      EVENT("job.succeeded") ", 0, created_at FROM job WHERE name = 'ready';" },
    { "check_trail",
      "UPDATE audit_events SET attempt = 2 WHERE event = " EVENT("job.started") " AND job = "
      JOB("running") ";" },
    { "check_trail",
      "UPDATE audit_events SET id = " NEXT_EVENT " WHERE event = " EVENT("job.created") " "
      "AND job = " JOB("held") ";UPDATE audit_events SET id = " NEXT_EVENT " WHERE event = "
      EVENT("job.started") " AND job = " JOB("parent") ";" },
    { "check_trail",
      "UPDATE audit_events SET at = at - 1 WHERE event = " EVENT("job.changed") " AND job = "
      JOB("changed") ";" },
    { "check_payload", "UPDATE jobs SET payload = '[1]' WHERE id = " JOB("ready") ";" },
    { "check_payload", "UPDATE jobs SET payload = '{' WHERE id = " JOB("ready") ";" },
    { "check_payload",
      "UPDATE jobs SET payload = '{\"a\":\"' || hex(zeroblob(600000)) || '\"}' WHERE id = "
      JOB("ready") ";" },
    { "check_result", "UPDATE outcomes SET result = '{\"n\":'" OF("done") },
    { "check_key_of_job", "DELETE FROM idempotency_keys" OF("ready") },
    { "check_key_of_job",
      "UPDATE jobs SET idempotency_key = (SELECT idempotency_key FROM jobs WHERE id = "
      JOB("ready") ") WHERE id = " JOB("held") ";" },
    { "check_key_of_job",
      "UPDATE policies SET key_ttl_us = key_ttl_us + 999999999999 WHERE id = (SELECT policy "
      "FROM job WHERE name = 'old_key');" },
    { "check_key_of_job", "UPDATE idempotency_keys SET job = " JOB("old_key") OF("new_key") },
    { "check_key_record", "UPDATE idempotency_keys SET slot = slot - 5" OF("ready") },
    { "check_key_record",
      "INSERT INTO idempotency_keys (slot, job) SELECT slot - 5, job FROM idempotency_keys"
      OF("ready") },
    { "check_key_record",
      "INSERT INTO idempotency_generations (generation, keys, expires_at) VALUES (2, 1, 1);"
      "INSERT INTO idempotency_keys (slot, job) SELECT slot + (1 << 40), job FROM idempotency_keys"
      OF("ready") },
    { "verify_store_generation", "DELETE FROM idempotency_generations;" },
    { "verify_store_generation", "UPDATE idempotency_generations SET sweep_at = 1;" },
    { "verify_key_generation",
      "UPDATE idempotency_keys SET slot = slot + (1 << 40)" OF("ready") },
    { "check_step", "UPDATE steps SET result = '{' WHERE name = 'load';" },
    { "check_event_names", "UPDATE audit_event_names SET name = 'job.lost' WHERE event = 9;" },
    { "check_event_names", "DELETE FROM audit_event_names WHERE event = 17;" },
    { "verify_store_file", "UPDATE orgs SET org_id = 'short' WHERE id = 1;" },
    { "verify_store_secret", "DELETE FROM store;" },
    { "verify_store_counts", "UPDATE queue_counts SET ready = ready + 1;"
                             "INSERT INTO count_deltas (changes) VALUES ('[[1,1,0,0,1,0,0,0]]');" },
    { "verify_store_counts", "DELETE FROM count_deltas;" },
    { "verify_ready_shelf", "UPDATE ready SET queue = -(queue << 31 | org)" OF("ready") },
    { "verify_store_policy", "UPDATE policies SET on_timeout = 7;" },
    { "verify_job_id", "UPDATE jobs SET id_low = -1 WHERE id = " JOB("ready") ";" },
    { "verify_job_id", "UPDATE executions SET id = -id" OF("exhausted") },
    { "verify_job_refers", "UPDATE jobs SET type = 99 WHERE id = " JOB("ready") ";" },
    { "verify_job_refers", "UPDATE jobs SET policy = 99 WHERE id = " JOB("ready") ";" },
    { "verify_job_refers", "UPDATE jobs SET queue = 99 WHERE id = " JOB("ready") ";" },
    { "verify_job_refers", "DELETE FROM orgs WHERE id = 2;" },
    { "verify_job_contract", "UPDATE jobs SET priority = 101 WHERE id = " JOB("held") ";" },
    { "verify_job_contract", "UPDATE jobs SET actor_id = '' WHERE id = " JOB("held") ";" },
    { "verify_job_exists",
      "INSERT INTO changes (job, org, queue, priority) VALUES (1, 1, 1, 0);" },
    { "verify_job_exists",
      "INSERT INTO parked (job, org, reason) VALUES (9223372036854775807, 1, 'held');" },
    { "verify_job_exists", "INSERT INTO wait_limits VALUES (-1, 1, 1);" },
    { "verify_job_exists", "UPDATE executions SET job = 1" OF("done") },
    { "verify_job_exists", "DELETE FROM jobs WHERE id = " JOB("failed") ";" },
    { "verify_job_exists", "UPDATE steps SET job = job + 1000000" OF("running") },
    { "verify_job_exists", "UPDATE audit_events SET job = 9000000000000000000" OF("held") },
    { "verify_job_org", "UPDATE changes SET org = 2" OF("changed") },
    { "verify_job_org", "UPDATE parked SET org = 2" OF("held") },
    { "verify_job_org", "UPDATE wait_limits SET org = 2;" },
    { "verify_job_org", "UPDATE executions SET org = 2" OF("done") },
    { "verify_job_org", "UPDATE outcomes SET org = 2" OF("done") },
    { "verify_job_org", "UPDATE steps SET org = 2;" },
    { "verify_job_org", "UPDATE audit_events SET org = 2" OF("held") },
    { "verify_job_parent",
      "UPDATE jobs SET parent = " JOB("other_org") " WHERE id = " JOB("child") ";" },
    { "verify_job_parent", "UPDATE jobs SET parent = id WHERE id = " JOB("child") ";" },
    { "verify_job_parent", "UPDATE jobs SET origin = 'magic' WHERE id = " JOB("child") ";" },
    { "verify_job_parent_ended",
      "UPDATE jobs SET parent = " JOB("retried") " WHERE id = " JOB("child") ";" },
    { "verify_job_change", "DELETE FROM audit_events WHERE event = " EVENT("job.changed") ";" },
    { "verify_job_change", "UPDATE changes SET queue = 99" OF("changed") },
    { "verify_job_change", "UPDATE changes SET priority = 101" OF("held_changed") },
    { "verify_job_execution_refers",
      "UPDATE executions SET policy = 1 + policy % 2" OF("done") },
    { "verify_job_execution_refers", "UPDATE executions SET worker = 99" OF("done") },
    { "verify_job_execution_refers",
      "UPDATE executions SET worker = (SELECT id FROM workers WHERE org = 2)" OF("done") },
    { "verify_job_execution_refers",
      "UPDATE executions SET serial_key = NULL" OF("serial_running") },
    { "verify_job_execution_refers",
      "UPDATE executions SET queue = (SELECT id FROM queues WHERE name = 'q:exports')"
      OF("running") },
    { "verify_job_attempts", "UPDATE executions SET attempt = 2" OF("done") },
    { "verify_job_attempts",
      "DELETE FROM executions WHERE attempt = 2 AND job = " JOB("exhausted") ";" },
    { "verify_job_one_commit",
      "UPDATE executions SET status = 'DONE', committed_at = started_at" OF("exhausted") },
    { "verify_job_one_live",
      "UPDATE executions SET status = 'IN_PROGRESS', finished_at = NULL" OF("exhausted") },
    { "verify_job_successor",
      "UPDATE executions SET leased_at = leased_at - 9000000 WHERE attempt = 2 AND job = "
      JOB("exhausted") ";" },
    { "verify_job_successor",
      "UPDATE executions SET status = 'DONE' WHERE attempt = 2 AND job = " JOB("exhausted")
      ";" },
    { "verify_job_times", "UPDATE executions SET started_at = leased_at - 1" OF("running") },
    { "verify_job_times", "UPDATE executions SET leased_at = 1" OF("leased") },
    { "verify_job_times", "UPDATE executions SET committed_at = finished_at + 1" OF("done") },
    { "verify_job_times",
      "UPDATE executions SET cancel_requested_at = leased_at - 1" OF("asked_to_stop") },
    { "verify_job_scheduled",
      "UPDATE jobs SET scheduled_for = created_at + 999999999 WHERE id = " JOB("done") ";" },
    { "verify_job_deadline",
      "UPDATE executions SET lease_expires_at = deadline_at + 1" OF("running") },
    { "verify_job_deadline", "UPDATE executions SET deadline_at = deadline_at + 1" OF("done") },
    { "verify_job_deadline", "UPDATE executions SET lease_us = 1" OF("leased") },
    { "verify_job_finish", "UPDATE executions SET finish = 1" OF("running") },
    { "verify_job_finish", "UPDATE executions SET finish_at = leased_at" OF("finishing") },
    { "verify_job_error", "UPDATE executions SET error_class = NULL" OF("backoff") },
    { "verify_job_error", "UPDATE executions SET error_message = 'it did not work'" OF("done") },
    { "verify_job_error",
      "UPDATE executions SET cancel_requested_at = NULL" OF("cancelled_running") },
    { "verify_job_progress", "UPDATE executions SET progress_percent = 101" OF("running") },
    { "verify_job_progress", "UPDATE executions SET progress_percent = 1" OF("leased") },
    { "verify_job_step", "UPDATE steps SET attempt = 2 WHERE name = 'load';" },
    { "verify_job_step", "UPDATE steps SET updated_at = 1 WHERE name = 'load';" },
    { "verify_job_step", "UPDATE steps SET tries = 0 WHERE name = 'store';" },
    { "verify_job_outcome", "UPDATE outcomes SET state = NULL" OF("failed") },
    { "verify_job_outcome", "UPDATE outcomes SET failure_type = NULL" OF("failed") },
    { "verify_job_outcome", "UPDATE outcomes SET committed_at = NULL" OF("done") },
    { "verify_job_outcome", "UPDATE outcomes SET result = '{}'" OF("failed") },
    { "verify_job_outcome", "UPDATE outcomes SET ended_at = 1" OF("cancelled") },
    { "verify_job_commit",
      "UPDATE outcomes SET execution = (SELECT id FROM executions WHERE job = " JOB("parent")
      ")" OF("done") },
    { "verify_job_commit", "UPDATE outcomes SET committed_at = committed_at + 1" OF("done") },
    { "verify_job_commit",
      "UPDATE outcomes SET ended_at = committed_at, state = 'SUCCEEDED'" OF("finishing") },
    { "verify_job_commit", "UPDATE executions SET status = 'ABORTED'" OF("done") },
    { "verify_job_commit_recorded", "DELETE FROM outcomes" OF("done") },
    { "verify_job_commit_recorded",
      "UPDATE outcomes SET state = 'FAILED', failure_type = 'TIMEOUT', committed_at = NULL"
      OF("done") },
    { "verify_job_failure",
      "UPDATE outcomes SET state = 'FAILED', failure_type = 'TIMEOUT', committed_at = NULL, "
      "result = NULL" OF("done") },
    { "verify_job_failure", "UPDATE outcomes SET execution = NULL" OF("failed") },
    { "verify_job_failure",
      "UPDATE outcomes SET execution = (SELECT id FROM executions WHERE attempt = 1 AND job "
      "= " JOB("exhausted") ")" OF("exhausted") },
    { "verify_job_dead_letter", "UPDATE outcomes SET dead_letter = NULL" OF("failed") },
    { "verify_job_dead_letter", "UPDATE outcomes SET dead_letter = 'open'" OF("cancelled") },
    { "verify_job_dead_letter",
      "UPDATE outcomes SET dead_letter = 'open'" OF("failed_quietly") },
    { "verify_job_dead_letter", "UPDATE outcomes SET dead_letter = 'lost'" OF("failed") },
    { "verify_job_parked", "UPDATE parked SET due_at = NULL" OF("backoff") },
    { "verify_job_parked", "UPDATE parked SET due_at = 1" OF("held") },
    { "verify_job_parked", "UPDATE parked SET serial_key = 'K'" OF("held") },
    { "verify_job_parked_time", "UPDATE parked SET due_at = 1" OF("delayed") },
    { "verify_job_parked_time",
      "UPDATE parked SET due_at = (SELECT finished_at - 1 FROM executions WHERE job = "
      "parked.job)" OF("backoff") },
    { "verify_job_blocked", "UPDATE parked SET serial_key = 'R'" OF("serial_blocked") },
    { "verify_job_key_free", "DELETE FROM ready" OF("serial_ready") },
    { "verify_job_key_free",
      "UPDATE executions SET finished_at = leased_at" OF("serial_running") },
    { "verify_job_key_turn",
      "UPDATE ready SET job = " JOB("serial_second") OF("serial_ready") "UPDATE parked SET "
      "job = " JOB("serial_ready") OF("serial_second") },
    { "verify_job_key_once",
      "INSERT INTO ready SELECT queue, type, rank, " JOB("serial_second") ", org, attempt, "
      "serial_key FROM ready" OF("serial_ready") "DELETE FROM parked" OF("serial_second") },
    { "verify_job_key_once",
      "UPDATE executions SET serial_key = 'K' WHERE finished_at IS NULL;UPDATE jobs SET "
      "serial_key = 'K' WHERE id IN (SELECT job FROM executions WHERE finished_at IS NULL);" },
    { "verify_job_wait_limit",
      "INSERT INTO wait_limits SELECT id, org, created_at FROM job WHERE name = 'ready';" },
    { "verify_job_wait_limit", "UPDATE wait_limits SET expires_at = 1;" },
    { "verify_job_wait_limited", "DELETE FROM wait_limits" OF("limited") },
    { "verify_job_event",
      "UPDATE audit_events SET event = 99 WHERE event = " EVENT("job.changed") ";" },
    { "verify_job_event",
      "UPDATE audit_events SET actor_type = 3 WHERE event = " EVENT("job.changed") ";" },
    { "verify_job_event_time",
      "UPDATE audit_events SET at = at + 1 WHERE event = " EVENT("job.succeeded") " AND job "
      "= " JOB("done") ";" },
    { "verify_job_event_time",
      "UPDATE audit_events SET at = at + 1 WHERE event = " EVENT("job.created") " AND job = "
      JOB("held") ";" },
    { "verify_job_event_kind",
      "UPDATE audit_events SET event = " EVENT("job.released") " WHERE event = "
      EVENT("job.retried") " AND job = " JOB("backoff") ";" },
    { "verify_job_event_kind",
      "UPDATE audit_events SET event = " EVENT("job.failed") " WHERE event = "
      EVENT("job.cancelled") " AND job = " JOB("cancelled") ";" },
    { "verify_job_event_kind", "DELETE FROM changes" OF("held_changed") },
    { "verify_job_event_missing",
      "DELETE FROM audit_events WHERE event = " EVENT("job.deadlettered") " AND job = "
      JOB("failed") ";" },
    { "verify_job_event_missing",
      "DELETE FROM audit_events WHERE event = " EVENT("job.cancel_requested") " AND job = "
      JOB("asked_to_stop") ";" },
    { "verify_ready_job", "INSERT INTO ready VALUES (1, 1, 0, 1, 1, 0, NULL);" },
    { "verify_ready_job", "UPDATE ready SET org = 2" OF("ready") },
    { "verify_ready_place", "UPDATE ready SET queue = 99" OF("ready") },
    { "verify_ready_place", "UPDATE ready SET rank = 3" OF("ready") },
    { "verify_ready_place",
      "INSERT INTO ready SELECT queue, 99, rank, job, org, attempt, NULL FROM ready"
      OF("ready") },
    { "verify_ready_place", "DELETE FROM changes" OF("changed") },
    { "verify_ready_attempt", "UPDATE ready SET attempt = 0" OF("released") },
    { "verify_ready_serial_key", "UPDATE ready SET serial_key = NULL" OF("serial_ready") },
    { "verify_key_job", "UPDATE idempotency_keys SET job = 1" OF("ready") },
    { "verify_key_job", "UPDATE idempotency_keys SET last_seen_at = 1" OF("ready") },
};
// clang-format on

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

TEST(EXEC_8_verify_reports_each_kind_of_damage)
{
    size_t missed = 0;
    for (size_t i = 0; i < countof(damages); i++)
        missed += !damage_found(&damages[i]);
    EXPECT_INT(missed, 0);
}

TEST(EXEC_8_every_invariant_is_seen_to_be_broken)
{
    size_t untested = 0;
    for (size_t i = 0; verify_invariant(i).name; i++) {
        struct invariant invariant = verify_invariant(i);
        bool tested = false;
        for (size_t k = 0; k < countof(damages); k++)
            tested = tested || strcmp(damages[k].invariant, invariant.name) == 0;
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

enum { MANY_JOBS = 20000, JOBS_PER_TX = 500, LARGE_BYTES = 2000 };

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
