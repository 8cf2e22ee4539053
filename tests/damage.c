// One row or more for each invariant: SQL that breaks it in the store of rich_store.h.
#include "damage.h"

#include <stddef.h>

#define JOB(name) "(SELECT id FROM job WHERE name = '" name "')"
#define OF(name) " WHERE job = " JOB(name) ";"
#define EVENT(name) "(SELECT event FROM audit_event_names WHERE name = '" name "')"
#define NEXT_EVENT "(SELECT max(id) + 1 FROM audit_events)"

const char no_guards[] =
    "PRAGMA ignore_check_constraints = ON;"
    "DROP TRIGGER audit_no_update; DROP TRIGGER audit_no_delete; DROP TRIGGER jobs_no_update;"
    "DROP TRIGGER jobs_kept; DROP TRIGGER executions_kept; DROP TRIGGER executions_stay;"
    "DROP TRIGGER executions_final; DROP TRIGGER outcomes_final; DROP INDEX executions_job;"
    "DROP INDEX executions_live; DROP INDEX executions_serial; DROP INDEX ready_serial;"
    "DROP TRIGGER job_runs_final; DROP TRIGGER outcomes_letter;"
    "CREATE TEMP VIEW job AS SELECT t.name, j.* FROM jobs j JOIN job_types t ON t.id = j.type;";

// clang-format off
const struct damage damages[] = {
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
    { "verify_store_policy", "UPDATE policies SET on_timeout = 7;" },
    { "verify_store_event",
      "UPDATE audit_events SET subject = NULL WHERE event = " EVENT("org.created") ";" },
    { "verify_store_event",
      "UPDATE audit_events SET actor_id = NULL WHERE event = " EVENT("org.created") ";" },
    { "verify_store_event",
      "UPDATE audit_events SET event = 1 WHERE event = " EVENT("org.created") ";" },
    { "verify_store_event",
      "UPDATE audit_events SET org = 99 WHERE event = " EVENT("org.created") ";" },
    { "verify_store_event",
      "UPDATE audit_events SET job = NULL WHERE event = " EVENT("job.created") " AND job = "
      JOB("held") ";" },
    { "verify_store_key", "UPDATE api_keys SET role = 'king';" },
    { "verify_store_key", "UPDATE api_keys SET org = 99;" },
    { "verify_store_key", "UPDATE api_keys SET hash = 'x';" },
    { "verify_store_key", "UPDATE api_keys SET revoked_at = 1 WHERE revoked_at IS NULL;" },
    { "verify_store_key", "UPDATE api_keys SET revoked_at = NULL;" },
    { "verify_store_key",
      "DELETE FROM audit_events WHERE event = " EVENT("key.created") ";" },
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
    { "verify_job_execution_refers", "UPDATE executions SET serial_key = 'K'" OF("done") },
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
    { "verify_job_letter", "UPDATE outcomes SET dead_letter = 'replayed'" OF("failed") },
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
      "INSERT INTO ready SELECT queue, type, org, rank, " JOB("serial_second") ", attempt, "
      "serial_key, project FROM ready" OF("serial_ready")
      "DELETE FROM parked" OF("serial_second") },
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
    { "verify_job_event",
      "UPDATE audit_events SET subject = 'key:x' WHERE event = " EVENT("job.changed") ";" },
    { "verify_job_event",
      "UPDATE audit_events SET event = " EVENT("key.created") " WHERE event = "
      EVENT("job.changed") ";" },
    { "verify_job_slot_open", "UPDATE job_runs SET status = 'running', finished_at = NULL"
      OF("slot_over") },
    { "verify_job_slot_open", "UPDATE job_runs SET finished_at = finished_at + 1"
      OF("slot_over") },
    { "verify_job_slot_open", "UPDATE job_runs SET status = 'failed', finished_at = 1"
      OF("slot_waits") },
    { "verify_job_slot_status", "UPDATE job_runs SET status = 'failed', error_message = 'x'"
      OF("slot_over") },
    { "verify_job_slot_status", "UPDATE job_runs SET error_message = 'x'" OF("slot_over") },
    { "verify_job_slot_time", "UPDATE job_runs SET scheduled_for = 60000000" OF("slot_over") },
    { "verify_job_slot_time", "UPDATE policies SET slot = 0 WHERE slot = 1;" },
    { "verify_ready_place", "UPDATE ready SET project = 'x'" OF("ready") },
    { "verify_ready_job", "INSERT INTO ready VALUES (1, 1, 1, 0, 1, 0, NULL, NULL);" },
    { "verify_ready_job", "UPDATE ready SET org = 2" OF("ready") },
    { "verify_ready_place", "UPDATE ready SET queue = 99" OF("ready") },
    { "verify_ready_place", "UPDATE ready SET rank = 3" OF("ready") },
    { "verify_ready_place",
      "INSERT INTO ready SELECT queue, 99, org, rank, job, attempt, NULL, NULL FROM ready"
      OF("ready") },
    { "verify_ready_place", "DELETE FROM changes" OF("changed") },
    { "verify_ready_attempt", "UPDATE ready SET attempt = 0" OF("released") },
    { "verify_ready_serial_key", "UPDATE ready SET serial_key = NULL" OF("serial_ready") },
    { "verify_key_job", "UPDATE idempotency_keys SET job = 1" OF("ready") },
    { "verify_key_job", "UPDATE idempotency_keys SET last_seen_at = 1" OF("ready") },
    { NULL, NULL },
};
// clang-format on
