// The objects of the interface, field by field, in the order in which they are written.
#include "base/text.h"
#include "server/schema.h"

// clang-format off
static const struct schema_field job_fields[] = {
    { "job_id", SCHEMA_ID, 0, NULL, NULL, "its name for ever" },
    { "job_type", SCHEMA_TEXT, 0, NULL, NULL, "what is to be done" },
    { "org_id", SCHEMA_ID, 0, NULL, NULL, "whose it is" },
    { "project_id", SCHEMA_ID, NULLABLE, NULL, NULL, "the project it belongs to" },
    { "actor_type", SCHEMA_TEXT, 0, words_actor_type, NULL, "what asked for it" },
    { "actor_id", SCHEMA_TEXT, 0, NULL, NULL, "who asked for it" },
    { "request_id", SCHEMA_TEXT, 0, NULL, NULL, "the request that made it" },
    { "correlation_id", SCHEMA_TEXT, 0, NULL, NULL, "what it belongs together with" },
    { "idempotency_key", SCHEMA_TEXT, 0, NULL, NULL, "the same key is the same job" },
    { "created_at", SCHEMA_TIME, 0, NULL, NULL, "when it was stored" },
    { "payload", SCHEMA_OBJECT, NULLABLE, NULL, NULL,
      "what it is about; null for a role that may not see it" },
    { "scheduled_for", SCHEMA_TIME, NULLABLE, NULL, NULL, "not before this time" },
    { "traceparent", SCHEMA_TEXT, NULLABLE, NULL, NULL, "W3C trace context of the request" },
    { "category", SCHEMA_TEXT, 0, words_category, NULL, "what kind of work it is" },
    { "queue", SCHEMA_TEXT, 0, NULL, NULL, "where it is" },
    { "origin_queue", SCHEMA_TEXT, 0, NULL, NULL,
      "where it was put first; of a dead letter: where it was when it ended" },
    { "priority", SCHEMA_NUMBER, 0, NULL, NULL, "-100 to 100, higher first" },
    { "serial_key", SCHEMA_TEXT, NULLABLE, NULL, NULL, "one at a time of those with this key" },
    { "limit_key", SCHEMA_TEXT, NULLABLE, NULL, NULL, "what limits per key of its type go by" },
    { "policy", SCHEMA_TEXT, 0, NULL, NULL, "how often and when it is tried" },
    { "max_wait", SCHEMA_TEXT, NULLABLE, NULL, NULL, "how long it may wait, such as 30s" },
    { "after", SCHEMA_ID, NULLABLE | LIST, NULL, NULL,
      "the jobs that must succeed before it runs" },
    { "batch_id", SCHEMA_ID, NULLABLE, NULL, NULL, "the batch it is in" },
    { "parent_job_id", SCHEMA_ID, NULLABLE, NULL, NULL, "the job it was made from" },
    { "origin", SCHEMA_TEXT, NULLABLE, words_origin, NULL, "how it was made from that" },
    { "state", SCHEMA_TEXT, 0, words_job_state, NULL, "how far it is" },
    { "coarse_state", SCHEMA_TEXT, 0, words_coarse_state, NULL, "the same in four words" },
    { "phase", SCHEMA_TEXT, 0, words_job_phase, NULL, "the same in nine" },
    { "attempt", SCHEMA_NUMBER, 0, NULL, NULL, "executions so far" },
    { "attempts_used", SCHEMA_NUMBER, 0, NULL, NULL, "those that count" },
    { "max_attempts", SCHEMA_NUMBER, 0, NULL, NULL, "how many may count" },
    { "retry_count", SCHEMA_NUMBER, 0, NULL, NULL, "attempts after the first" },
    { "max_retries", SCHEMA_NUMBER, 0, NULL, NULL, "how many of these there may be" },
    { "run_at", SCHEMA_TIME, NULLABLE, NULL, NULL, "when it is or was due" },
    { "updated_at", SCHEMA_TIME, 0, NULL, NULL, "when it last changed" },
    { "started_at", SCHEMA_TIME, NULLABLE, NULL, NULL, "its first start" },
    { "completed_at", SCHEMA_TIME, NULLABLE, NULL, NULL, "its end" },
    { "last_error", SCHEMA_TEXT, NULLABLE, NULL, NULL, "why the last attempt failed" },
    { "error_type", SCHEMA_TEXT, NULLABLE, words_error_type, NULL,
      "whether another attempt could help" },
    { "failure_type", SCHEMA_TEXT, NULLABLE, words_failure_type, NULL, "why it ended badly" },
    { "cancel_requested_at", SCHEMA_TIME, NULLABLE, NULL, NULL, "when somebody wanted it to stop" },
    { "progress", SCHEMA_OBJECT, NULLABLE, NULL, "Progress", "how far it says it is" },
    { "result", SCHEMA_VALUE, NULLABLE, NULL, NULL,
      "what came out of it; null for a role that may not see it" },
    { "authoritative", SCHEMA_FLAG, 0, NULL, NULL,
      "true: its result and artifacts are the truth; false: derived from it" },
    { "dead_letter", SCHEMA_TEXT, NULLABLE, words_dead_letter, NULL,
      "what became of it as a dead letter; null: it is none" },
};

static const struct schema_field artifact_fields[] = {
    { "artifact_id", SCHEMA_ID, 0, NULL, NULL, "its name for ever" },
    { "org_id", SCHEMA_ID, 0, NULL, NULL, "whose it is" },
    { "project_id", SCHEMA_ID, NULLABLE, NULL, NULL, "the project it belongs to" },
    { "sha256", SCHEMA_TEXT, 0, NULL, NULL, "the checksum of its bytes, in hexadecimal" },
    { "bytes", SCHEMA_NUMBER, 0, NULL, NULL, "how many" },
    { "content_type", SCHEMA_TEXT, 0, NULL, NULL, "as it was uploaded with" },
    { "name", SCHEMA_TEXT, NULLABLE, NULL, NULL, "what people call it" },
    { "made_by", SCHEMA_TEXT, 0, NULL, NULL, "who stored it" },
    { "created_at", SCHEMA_TIME, 0, NULL, NULL, "when it was stored" },
    { "job_id", SCHEMA_ID, NULLABLE, NULL, NULL, "the job whose commit brought it" },
    { "exec_id", SCHEMA_ID, NULLABLE, NULL, NULL, "the execution that did" },
    { "authoritative", SCHEMA_FLAG, 0, NULL, NULL, "true: it is the truth; false: derived" },
};

static const struct schema_field progress_fields[] = {
    { "percent", SCHEMA_NUMBER, 0, NULL, NULL, "0 to 100" },
    { "message", SCHEMA_TEXT, NULLABLE, NULL, NULL, "in words" },
};

static const struct schema_field enqueued_job_fields[] = {
    { "deduplicated", SCHEMA_FLAG, OPTIONAL, NULL, NULL,
      "true: its idempotency_key was known, and this is the job of then" },
};

static const struct schema_field stored_fields[] = {
    { "status", SCHEMA_NUMBER, 0, NULL, NULL, "201: new; 200: known" },
    { "job", SCHEMA_OBJECT, 0, NULL, "EnqueuedJob", "the job" },
};

static const struct schema_field refused_fields[] = {
    { "status", SCHEMA_NUMBER, 0, NULL, NULL, "as the call alone would have answered" },
    { "error", SCHEMA_OBJECT, 0, NULL, "Refusal", "why" },
};

static const struct schema_field refusal_fields[] = {
    { "code", SCHEMA_TEXT, 0, NULL, NULL, "for programs" },
    { "detail", SCHEMA_TEXT, 0, NULL, NULL, "for people" },
};

static const struct schema_field enqueued_jobs_fields[] = {
    { "results", SCHEMA_OBJECT, LIST, NULL, "EnqueuedResult", "one for each job, in their order" },
};

static const struct schema_field bulk_fields[] = {
    { "dry_run", SCHEMA_FLAG, 0, NULL, NULL, "true: nothing was changed" },
    { "count", SCHEMA_NUMBER, 0, NULL, NULL, "how many jobs" },
    { "job_ids", SCHEMA_ID, LIST, NULL, NULL, "which" },
    { "more", SCHEMA_FLAG, 0, NULL, NULL, "there may be others: ask again" },
    { "next_cursor", SCHEMA_TEXT, OPTIONAL | NULLABLE, NULL, NULL,
      "of jobs: `cursor` of the request that goes on with them" },
};

static const struct schema_field job_batch_fields[] = {
    { "batch_id", SCHEMA_ID, 0, NULL, NULL, "its name" },
    { "name", SCHEMA_TEXT, NULLABLE, NULL, NULL, "for people" },
    { "org_id", SCHEMA_ID, 0, NULL, NULL, "whose it is" },
    { "project_id", SCHEMA_ID, NULLABLE, NULL, NULL, "of the batch and its callback" },
    { "idempotency_key", SCHEMA_TEXT, NULLABLE, NULL, NULL, "the same key is the same batch" },
    { "created_at", SCHEMA_TIME, 0, NULL, NULL, "when it was stored" },
    { "ended_at", SCHEMA_TIME, NULLABLE, NULL, NULL, "when the last of its jobs had ended" },
    { "done", SCHEMA_FLAG, 0, NULL, NULL, "all of its jobs have ended: nothing can join it" },
    { "jobs", SCHEMA_NUMBER, 0, NULL, NULL, "how many are in it" },
    { "pending", SCHEMA_NUMBER, 0, NULL, NULL, "of these have not ended" },
    { "succeeded", SCHEMA_NUMBER, 0, NULL, NULL, "have SUCCEEDED" },
    { "failed", SCHEMA_NUMBER, 0, NULL, NULL, "have FAILED, cancelled ones included" },
    { "timed_out", SCHEMA_NUMBER, 0, NULL, NULL, "have TIMED_OUT" },
    { "percent", SCHEMA_NUMBER, 0, NULL, NULL, "of them have ended" },
    { "callback_type", SCHEMA_TEXT, NULLABLE, NULL, NULL, "of the callback; null: it has none" },
    { "callback_job_id", SCHEMA_ID, NULLABLE, NULL, NULL, "the callback, when it is made" },
    { "deduplicated", SCHEMA_FLAG, OPTIONAL, NULL, NULL,
      "true: its idempotency_key was known, and this is the batch of then" },
};

static const struct schema_field letter_fields[] = {
    { "fingerprint", SCHEMA_TEXT, 0, NULL, NULL, "the same for the same error of the same type" },
    { "error_kind", SCHEMA_TEXT, 0, NULL, NULL, "class of its last error; else its failure_type" },
    { "error_pattern", SCHEMA_TEXT, NULLABLE, NULL, NULL,
      "its message without numbers, ids and quoted parts" },
};

static const struct schema_field letter_record_fields[] = {
    { "runbook", SCHEMA_TEXT, NULLABLE, NULL, NULL, "what to do, by the configuration" },
    { "executions", SCHEMA_OBJECT, LIST, NULL, "Execution", "every attempt, oldest first" },
    { "closed_at", SCHEMA_TIME, NULLABLE, NULL, NULL, "null: it is open" },
    { "closed_by", SCHEMA_TEXT, NULLABLE, NULL, NULL, "who replayed, fixed or discarded it" },
    { "closed_reason", SCHEMA_TEXT, NULLABLE, NULL, NULL, "why it was discarded" },
    { "replaced_by", SCHEMA_ID, NULLABLE, NULL, NULL, "the job that was made of it" },
    { "changes", SCHEMA_OBJECT, NULLABLE | LIST, NULL, "Change",
      "what differs in that job's payload; null for a role that may not see payloads" },
};

static const struct schema_field change_fields[] = {
    { "path", SCHEMA_TEXT, 0, NULL, NULL, "where in the payload: a JSON pointer" },
    { "before", SCHEMA_VALUE, NULLABLE, NULL, NULL, "null: it was not there" },
    { "after", SCHEMA_VALUE, NULLABLE, NULL, NULL, "null: it is gone" },
};

static const struct schema_field fix_preview_fields[] = {
    { "dry_run", SCHEMA_FLAG, 0, NULL, NULL, "true: nothing was changed" },
    { "changes", SCHEMA_OBJECT, NULLABLE | LIST, NULL, "Change",
      "what would differ; null for a role that may not see payloads" },
};

static const struct schema_field letter_group_fields[] = {
    { "fingerprint", SCHEMA_TEXT, 0, NULL, NULL, "what they have in common" },
    { "job_type", SCHEMA_TEXT, 0, NULL, NULL, "of all of them" },
    { "error_kind", SCHEMA_TEXT, 0, NULL, NULL, "class of their last error; else failure_type" },
    { "error_pattern", SCHEMA_TEXT, NULLABLE, NULL, NULL,
      "their message without numbers, ids and quoted parts" },
    { "count", SCHEMA_NUMBER, 0, NULL, NULL, "how many" },
    { "oldest_at", SCHEMA_TIME, 0, NULL, NULL, "when the first of them ended" },
    { "newest_at", SCHEMA_TIME, 0, NULL, NULL, "when the last of them ended" },
    { "newest_job_id", SCHEMA_ID, 0, NULL, NULL, "the last of them, to look at" },
};

static const struct schema_field letter_groups_fields[] = {
    { "items", SCHEMA_OBJECT, LIST, NULL, "LetterGroup", "the largest first" },
    { "letters", SCHEMA_NUMBER, 0, NULL, NULL, "how many letters were counted" },
    { "more", SCHEMA_FLAG, 0, NULL, NULL, "there are older letters, or more groups" },
};

static const struct schema_field seal_fields[] = {
    { "seal", SCHEMA_NUMBER, 0, NULL, NULL, "its number, from 1; 0 when nothing is sealed" },
    { "last_event_id", SCHEMA_NUMBER, 0, NULL, NULL, "the last event under it" },
    { "sealed_at", SCHEMA_TIME, NULLABLE, NULL, NULL, "when it was put" },
    { "hash", SCHEMA_TEXT, NULLABLE, NULL, NULL, "over it and all before it" },
};

static const struct schema_field execution_fields[] = {
    { "exec_id", SCHEMA_ID, 0, NULL, NULL, "its name" },
    { "job_id", SCHEMA_ID, 0, NULL, NULL, "of this job" },
    { "attempt", SCHEMA_NUMBER, 0, NULL, NULL, "counts from 1" },
    { "lease_owner", SCHEMA_TEXT, 0, NULL, NULL, "the worker that has or had it" },
    { "lease_expires_at", SCHEMA_TIME, 0, NULL, NULL, "unless the worker is heard of before" },
    { "status", SCHEMA_TEXT, 0, words_execution_status, NULL, "how far it is" },
    { "leased_at", SCHEMA_TIME, 0, NULL, NULL, "when it was leased" },
    { "started_at", SCHEMA_TIME, NULLABLE, NULL, NULL, "when the work began" },
    { "committed_at", SCHEMA_TIME, NULLABLE, NULL, NULL, "when the effect was stored" },
    { "finished_at", SCHEMA_TIME, NULLABLE, NULL, NULL, "when it was over" },
    { "end_reason", SCHEMA_TEXT, NULLABLE, words_end_reason, NULL, "how it ended" },
    { "error", SCHEMA_OBJECT, NULLABLE, NULL, "Error", "what the worker said went wrong" },
    { "progress", SCHEMA_OBJECT, NULLABLE, NULL, "Progress", "how far it says it is" },
};

static const struct schema_field error_fields[] = {
    { "class", SCHEMA_TEXT, 0, words_error_class, NULL, "decides whether another attempt follows" },
    { "message", SCHEMA_TEXT, NULLABLE, NULL, NULL, "what happened" },
    { "detail", SCHEMA_TEXT, NULLABLE, NULL, NULL, "more, for who looks into it" },
};

static const struct schema_field held_execution_fields[] = {
    { "cancel_requested", SCHEMA_FLAG, 0, NULL, NULL, "somebody wants the job to stop" },
};

static const struct schema_field lease_fields[] = {
    { "phase", SCHEMA_TEXT, 0, words_lease_phase, NULL,
      "finish: it is committed, only what follows the commit is to be done" },
    { "traceparent", SCHEMA_TEXT, OPTIONAL, NULL, NULL,
      "its span, for what the worker does; there when the server keeps traces" },
    { "job", SCHEMA_OBJECT, 0, NULL, "Job", "what to work on" },
};

static const struct schema_field leases_fields[] = {
    { "executions", SCHEMA_OBJECT, LIST, NULL, "Lease", "none when there was nothing to do" },
};

static const struct schema_field called_fields[] = {
    { "status", SCHEMA_NUMBER, 0, NULL, NULL, "200" },
    { "execution", SCHEMA_OBJECT, 0, NULL, "HeldExecution", "as it is now" },
};

static const struct schema_field batch_fields[] = {
    { "results", SCHEMA_OBJECT, LIST, NULL, "BatchResult",
      "one for each operation, in their order" },
};

static const struct schema_field step_fields[] = {
    { "name", SCHEMA_TEXT, 0, NULL, NULL, "its name within the job" },
    { "done", SCHEMA_FLAG, 0, NULL, NULL, "it has a result" },
    { "result", SCHEMA_VALUE, NULLABLE, NULL, NULL,
      "what came out of it; null for a role that may not see it" },
    { "attempt", SCHEMA_NUMBER, 0, NULL, NULL, "of the execution that wrote it" },
    { "tries", SCHEMA_NUMBER, 0, NULL, NULL, "that failed in that execution" },
    { "error_message", SCHEMA_TEXT, NULLABLE, NULL, NULL, "of the last of these" },
    { "updated_at", SCHEMA_TIME, NULLABLE, NULL, NULL, "null: nobody has touched it" },
};

static const struct schema_field held_step_fields[] = {
    { "may_retry", SCHEMA_FLAG, 0, NULL, NULL, "after a failed try: another is allowed" },
};

static const struct schema_field event_fields[] = {
    { "event_id", SCHEMA_NUMBER, 0, NULL, NULL, "grows with time" },
    { "event", SCHEMA_TEXT, 0, words_event, NULL, "what happened" },
    { "at", SCHEMA_TIME, 0, NULL, NULL, "when" },
    { "org_id", SCHEMA_ID, NULLABLE, NULL, NULL, "whose; null: of the whole store" },
    { "project_id", SCHEMA_ID, NULLABLE, NULL, NULL, "of the job" },
    { "actor_type", SCHEMA_TEXT, 0, words_actor_type, NULL, "what did it" },
    { "actor_id", SCHEMA_TEXT, NULLABLE, NULL, NULL, "who did it" },
    { "request_id", SCHEMA_TEXT, NULLABLE, NULL, NULL, "by which request" },
    { "correlation_id", SCHEMA_TEXT, NULLABLE, NULL, NULL, "what it belongs together with" },
    { "job_id", SCHEMA_ID, NULLABLE, NULL, NULL, "to which job; null: to something else" },
    { "job_type", SCHEMA_TEXT, NULLABLE, NULL, NULL, "of that job" },
    { "attempt", SCHEMA_NUMBER, 0, NULL, NULL, "of that job; 0: none" },
    { "subject", SCHEMA_TEXT, NULLABLE, NULL, NULL, "to what else: `queue:q:default`" },
    { "detail", SCHEMA_VALUE, NULLABLE, NULL, NULL, "more, by event" },
};

static const struct schema_field log_fields[] = {
    { "at", SCHEMA_TIME, 0, NULL, NULL, "when it was said" },
    { "attempt", SCHEMA_NUMBER, 0, NULL, NULL, "by which attempt" },
    { "exec_id", SCHEMA_ID, 0, NULL, NULL, "the same by its name" },
    { "text", SCHEMA_TEXT, 0, NULL, NULL, "one line, secrets made unreadable" },
};

static const struct schema_field key_fields[] = {
    { "key_id", SCHEMA_TEXT, 0, NULL, NULL, "its name; not a secret" },
    { "org_id", SCHEMA_ID, 0, NULL, NULL, "for which org" },
    { "role", SCHEMA_TEXT, 0, words_role, NULL, "what its holder may do" },
    { "projects", SCHEMA_ID, LIST, NULL, NULL, "only these; none: all of the org" },
    { "name", SCHEMA_TEXT, NULLABLE, NULL, NULL, "for people" },
    { "created_at", SCHEMA_TIME, 0, NULL, NULL, "when it was made" },
    { "expires_at", SCHEMA_TIME, NULLABLE, NULL, NULL, "good until then" },
    { "revoked_at", SCHEMA_TIME, NULLABLE, NULL, NULL, "ended then" },
    { "last_used_at", SCHEMA_TIME, NULLABLE, NULL, NULL, "to the minute" },
    { "org_disabled_at", SCHEMA_TIME, NULLABLE, NULL, NULL, "no key of its org is good since" },
};

static const struct schema_field session_fields[] = {
    { "org_id", SCHEMA_ID, 0, NULL, NULL, "the caller's org" },
    { "role", SCHEMA_TEXT, 0, words_role, NULL, "what the caller may do" },
    { "projects", SCHEMA_ID, LIST, NULL, NULL, "only these; none: all of the org" },
    { "key_id", SCHEMA_TEXT, NULLABLE, NULL, NULL, "of the key; none: the store has no keys" },
};

static const struct schema_field new_key_fields[] = {
    { "key", SCHEMA_TEXT, 0, NULL, NULL, "the key itself, shown this once" },
};

static const struct schema_field queue_fields[] = {
    { "name", SCHEMA_TEXT, 0, NULL, NULL, "its name" },
    { "paused", SCHEMA_FLAG, 0, NULL, NULL, "nothing of the org can be leased from it" },
    { "queue_paused_at", SCHEMA_TIME, NULLABLE, NULL, NULL, "the whole queue, by who runs Pawl" },
    { "share_paused_at", SCHEMA_TIME, NULLABLE, NULL, NULL, "the share of the org" },
    { "share_paused_by", SCHEMA_TEXT, NULLABLE, NULL, NULL, "by whom" },
    { "waiting", SCHEMA_NUMBER, 0, NULL, NULL, "jobs of the org that wait" },
    { "jobs", SCHEMA_COUNTS, 0, words_queue_place, NULL, "the same by phase, and those that run" },
    { "oldest_ready_at", SCHEMA_TIME, NULLABLE, NULL, NULL,
      "since when the oldest ready job could be leased" },
    { "enqueued_per_minute", SCHEMA_NUMBER, 0, NULL, NULL,
      "jobs of the org that came in the last minute" },
    { "ended_per_minute", SCHEMA_NUMBER, 0, NULL, NULL,
      "jobs of the org that ended in the last minute, well or badly" },
    { "weight", SCHEMA_NUMBER, 0, NULL, NULL, "its share of the claims when all have jobs" },
    { "depth_max", SCHEMA_NUMBER, NULLABLE, NULL, NULL, "how many jobs may wait in it" },
    { "max_running", SCHEMA_NUMBER, NULLABLE, NULL, NULL, "how many of its jobs may run at once" },
    { "rate", SCHEMA_TEXT, NULLABLE, NULL, NULL, "how many may begin per time: 10/m" },
};

static const struct schema_field limit_fields[] = {
    { "scope", SCHEMA_TEXT, 0, words_limit_scope, NULL, "what it is for" },
    { "name", SCHEMA_TEXT, NULLABLE, NULL, NULL,
      "the queue, the type (a `key` is one of its jobs') or the org; null: every org without one" },
    { "max_running", SCHEMA_NUMBER, NULLABLE, NULL, NULL, "how many may run at once" },
    { "running", SCHEMA_NUMBER, NULLABLE, NULL, NULL, "how many do; null: not for the caller" },
    { "rate", SCHEMA_TEXT, NULLABLE, NULL, NULL, "how many may begin per time: 10/m" },
    { "on_rate_limited", SCHEMA_TEXT, 0, words_rate_limited, NULL,
      "what becomes of the type when a job of it ends rate_limited" },
    { "set_by", SCHEMA_TEXT, NULLABLE, NULL, NULL, "the instance whose configuration says so" },
    { "set_at", SCHEMA_TIME, 0, NULL, NULL, "when" },
};

static const struct schema_field type_pause_fields[] = {
    { "job_type", SCHEMA_TEXT, 0, NULL, NULL, "which" },
    { "org_id", SCHEMA_TEXT, NULLABLE, NULL, NULL, "for whom; null: for every org" },
    { "since", SCHEMA_TIME, 0, NULL, NULL, "since when" },
    { "until", SCHEMA_TIME, 0, NULL, NULL, "until when" },
};

static const struct schema_field limits_fields[] = {
    { "limits", SCHEMA_OBJECT, LIST, NULL, "Limit", "those that hold for the org" },
    { "pauses", SCHEMA_OBJECT, LIST, NULL, "TypePause", "types that are paused for the org" },
};

static const struct schema_field type_resumed_fields[] = {
    { "job_type", SCHEMA_TEXT, 0, NULL, NULL, "which" },
    { "paused", SCHEMA_FLAG, 0, NULL, NULL, "as it is now" },
};

static const struct schema_field paused_fields[] = {
    { "queue", SCHEMA_TEXT, 0, NULL, NULL, "which" },
    { "paused", SCHEMA_FLAG, 0, NULL, NULL, "as it is now" },
};

static const struct schema_field purged_fields[] = {
    { "queue", SCHEMA_TEXT, 0, NULL, NULL, "which" },
    { "dry_run", SCHEMA_FLAG, 0, NULL, NULL, "true: nothing was changed" },
    { "count", SCHEMA_NUMBER, 0, NULL, NULL, "how many jobs were ended, or would be" },
    { "more", SCHEMA_FLAG, 0, NULL, NULL, "there may be others: ask again" },
};

static const struct schema_field schedule_fields[] = {
    { "name", SCHEMA_TEXT, 0, NULL, NULL, "its name within the org" },
    { "org_id", SCHEMA_ID, 0, NULL, NULL, "whose it is" },
    { "source", SCHEMA_TEXT, 0, words_schedule_source, NULL, "who defined it" },
    { "job_type", SCHEMA_TEXT, 0, NULL, NULL, "of the jobs it makes" },
    { "payload", SCHEMA_OBJECT, NULLABLE, NULL, NULL,
      "of each of them; null for a role that may not see it" },
    { "cron", SCHEMA_TEXT, NULLABLE, NULL, NULL, "when; null: by `every`" },
    { "every", SCHEMA_TEXT, NULLABLE, NULL, NULL, "how often, such as 15m; null: by `cron`" },
    { "timezone", SCHEMA_TEXT, 0, NULL, NULL, "of `cron`" },
    { "coalesce", SCHEMA_FLAG, 0, NULL, NULL, "several slots due at once become one, the last" },
    { "misfire_grace_time", SCHEMA_TEXT, 0, NULL, NULL, "how late a slot may still run" },
    { "max_instances", SCHEMA_NUMBER, 0, NULL, NULL, "how many of its jobs may run at once" },
    { "expected_max_runtime", SCHEMA_TEXT, 0, NULL, NULL,
      "one that takes twice as long is ended" },
    { "catch_up", SCHEMA_NUMBER, 0, NULL, NULL,
      "without coalesce: how many of the slots due at once run" },
    { "jitter", SCHEMA_TEXT, 0, NULL, NULL, "over how long those are spread" },
    { "project_id", SCHEMA_ID, NULLABLE, NULL, NULL, "of its jobs" },
    { "queue", SCHEMA_TEXT, 0, NULL, NULL, "where its jobs wait" },
    { "policy", SCHEMA_TEXT, 0, NULL, NULL, "how its jobs are retried" },
    { "created_at", SCHEMA_TIME, 0, NULL, NULL, "when it was made" },
    { "updated_at", SCHEMA_TIME, 0, NULL, NULL, "when its terms last changed, or its pause" },
    { "paused", SCHEMA_FLAG, 0, NULL, NULL, "its slots are skipped" },
    { "paused_at", SCHEMA_TIME, NULLABLE, NULL, NULL, "since when" },
    { "paused_by", SCHEMA_TEXT, NULLABLE, NULL, NULL, "by whom" },
    { "next", SCHEMA_TIME, NULLABLE, NULL, NULL, "the next slot; null: none will come" },
    { "running", SCHEMA_NUMBER, 0, NULL, NULL, "claimed slots that have not ended" },
};

static const struct schema_field slot_run_fields[] = {
    { "id", SCHEMA_NUMBER, 0, NULL, NULL, "grows with time" },
    { "job_name", SCHEMA_TEXT, 0, NULL, NULL, "the schedule" },
    { "scheduled_for", SCHEMA_TIME, 0, NULL, NULL, "the slot" },
    { "started_at", SCHEMA_TIME, 0, NULL, NULL, "when its job started; until then, its claim" },
    { "finished_at", SCHEMA_TIME, NULLABLE, NULL, NULL, "when its job ended" },
    { "status", SCHEMA_TEXT, 0, words_run_status, NULL, "what became of it" },
    { "worker_instance", SCHEMA_TEXT, NULLABLE, NULL, NULL, "who has or had it" },
    { "error_message", SCHEMA_TEXT, NULLABLE, NULL, NULL, "why it failed" },
    { "job_id", SCHEMA_ID, NULLABLE, NULL, NULL, "its job" },
};

static const struct schema_field slot_skip_fields[] = {
    { "id", SCHEMA_NUMBER, 0, NULL, NULL, "grows with time" },
    { "job_name", SCHEMA_TEXT, 0, NULL, NULL, "the schedule" },
    { "scheduled_for", SCHEMA_TIME, 0, NULL, NULL, "the slot, or the first of several in a row" },
    { "until", SCHEMA_TIME, 0, NULL, NULL, "the last of them" },
    { "slots", SCHEMA_NUMBER, NULLABLE, NULL, NULL, "how many; null: too many to count" },
    { "reason", SCHEMA_TEXT, 0, words_skip_reason, NULL, "why it was not run" },
    { "recorded_at", SCHEMA_TIME, 0, NULL, NULL, "when that was decided" },
};

static const struct schema_field slot_fields[] = {
    { "scheduled_for", SCHEMA_TIME, 0, NULL, NULL, "the slot" },
    { "local_time", SCHEMA_TEXT, 0, NULL, NULL, "the same in the schedule's time zone" },
    { "clock_change", SCHEMA_TEXT, NULLABLE, words_clock_change, NULL,
      "after_gap: its time does not come, so it is due when the gap is over; first_of_two: its "
      "time comes twice, and this is the first" },
};

static const struct schema_field claimed_slot_fields[] = {
    { "scheduled_for", SCHEMA_TIME, 0, NULL, NULL, "the slot" },
    { "job_id", SCHEMA_ID, NULLABLE, NULL, NULL, "its job; null: it is a dry run" },
};

static const struct schema_field backfill_fields[] = {
    { "dry_run", SCHEMA_FLAG, 0, NULL, NULL, "true: nothing was changed" },
    { "count", SCHEMA_NUMBER, 0, NULL, NULL, "how many slots were claimed, or would be" },
    { "claimed", SCHEMA_OBJECT, LIST, NULL, "ClaimedSlot", "which" },
    { "taken", SCHEMA_TIME, LIST, NULL, NULL, "slots that had been claimed before" },
};

static const struct schema_field stats_fields[] = {
    { "jobs", SCHEMA_COUNTS, 0, words_queue_place, NULL, "of the org, in all queues" },
    { "uptime_seconds", SCHEMA_NUMBER, 0, NULL, NULL, "of this process" },
    { "runner_workers", SCHEMA_NUMBER, 0, NULL, NULL, "jobs this process can run at once" },
};

static const struct schema_field worker_fields[] = {
    { "worker_id", SCHEMA_TEXT, 0, NULL, NULL, "as it names itself" },
    { "instance", SCHEMA_TEXT, NULLABLE, NULL, NULL, "a process of Pawl; null: a remote worker" },
    { "executions", SCHEMA_NUMBER, 0, NULL, NULL, "how many it holds of the org" },
    { "first_seen_at", SCHEMA_TIME, NULLABLE, NULL, NULL, "its first lease, or its start" },
    { "lease_expires_at", SCHEMA_TIME, NULLABLE, NULL, NULL,
      "the latest of their ends; null: it holds none" },
};

static const struct schema_field health_fields[] = {
    { "status", SCHEMA_TEXT, 0, NULL, NULL, "ok" },
    { "version", SCHEMA_TEXT, 0, NULL, NULL, "of Pawl" },
};

static const struct schema_field ready_fields[] = {
    { "status", SCHEMA_TEXT, 0, NULL, NULL, "ready" },
};

static const struct schema_field problem_fields[] = {
    { "title", SCHEMA_TEXT, 0, NULL, NULL, "the status in words" },
    { "status", SCHEMA_NUMBER, 0, NULL, NULL, "of the answer" },
    { "detail", SCHEMA_TEXT, 0, NULL, NULL, "what is wrong and what is allowed, for people" },
    { "code", SCHEMA_TEXT, 0, NULL, NULL, "what is wrong, for programs" },
    { "errors", SCHEMA_OBJECT, LIST | OPTIONAL, NULL, "FieldProblem",
      "with 422, and with 413 of a field: every problem of what was sent, the first 100 of "
      "them" },
    { "errors_left_out", SCHEMA_NUMBER, OPTIONAL, NULL, NULL,
      "how many more problems there are; else there are no more" },
    { "request_id", SCHEMA_TEXT, OPTIONAL, NULL, NULL, "to find it in the log" },
};

static const struct schema_field field_problem_fields[] = {
    { "field", SCHEMA_TEXT, 0, NULL, NULL,
      "such as `jobs[3].payload`; `body` or `query`: the whole" },
    { "message", SCHEMA_TEXT, 0, NULL, NULL, "what is wrong with it" },
};

static const struct schema_field reason_fields[] = {
    { "cause", SCHEMA_TEXT, 0, words_cause, NULL, "for programs" },
    { "sentence", SCHEMA_TEXT, 0, NULL, NULL, "for people" },
    { "advice", SCHEMA_TEXT, NULLABLE, NULL, NULL,
      "what to do next; null: nothing can be done, or need be" },
};

static const struct schema_field explanation_fields[] = {
    { "job_id", SCHEMA_ID, 0, NULL, NULL, "the job" },
    { "job_type", SCHEMA_TEXT, 0, NULL, NULL, "what is to be done" },
    { "queue", SCHEMA_TEXT, 0, NULL, NULL, "where it is" },
    { "state", SCHEMA_TEXT, NULLABLE, words_job_state, NULL,
      "how far it is; null: its records are damaged" },
    { "phase", SCHEMA_TEXT, NULLABLE, words_job_phase, NULL, "where it is, in nine words" },
    { "cause", SCHEMA_TEXT, 0, words_cause, NULL, "why, for programs" },
    { "sentence", SCHEMA_TEXT, 0, NULL, NULL, "why, for people" },
    { "advice", SCHEMA_TEXT, NULLABLE, NULL, NULL,
      "what to do next; null: nothing can be done, or need be" },
    { "since", SCHEMA_TIME, NULLABLE, NULL, NULL, "since when that is so" },
    { "until", SCHEMA_TIME, NULLABLE, NULL, NULL, "when it changes at the latest, or is tried" },
    { "worker_id", SCHEMA_TEXT, NULLABLE, NULL, NULL, "who has it" },
    { "related_job_id", SCHEMA_ID, NULLABLE, NULL, NULL,
      "the job it waits for, or that was made of it" },
    { "ahead", SCHEMA_NUMBER, NULLABLE, NULL, NULL,
      "jobs before it that the caller may see; null: that is not what it waits for" },
    { "ahead_more", SCHEMA_FLAG, 0, NULL, NULL, "there are others that were not looked at" },
    { "also", SCHEMA_OBJECT, LIST, NULL, "Reason", "what is true besides" },
};

#define FIELDS_OF(rows) .fields = (rows), .count = countof(rows)

static const struct schema schemas[] = {
    { "Job", "A job: what was asked for, where it is, what became of it.", FIELDS_OF(job_fields) },
    { "JobPage", .page_of = "Job" },
    { "Progress", NULL, FIELDS_OF(progress_fields) },
    { "EnqueuedJob", "A job as enqueueing answers it.", "Job", FIELDS_OF(enqueued_job_fields) },
    { "Enqueued", "The job, or one result for each of `jobs`.",
      .either = { "EnqueuedJob", "EnqueuedJobs" } },
    { "EnqueuedJobs", NULL, FIELDS_OF(enqueued_jobs_fields) },
    { "EnqueuedResult", NULL, .either = { "Stored", "Refused" } },
    { "Stored", NULL, FIELDS_OF(stored_fields) },
    { "Refused", NULL, FIELDS_OF(refused_fields) },
    { "Refusal", NULL, FIELDS_OF(refusal_fields) },
    { "Bulk", "Which jobs were changed, or would be.", FIELDS_OF(bulk_fields) },
    { "JobBatch", "Jobs that belong together, and how far they are.",
      FIELDS_OF(job_batch_fields) },
    { "Letter", "A dead letter: a job that ended badly, and what its error is like.", "Job",
      FIELDS_OF(letter_fields) },
    { "LetterPage", .page_of = "Letter" },
    { "LetterRecord", "A dead letter with all that is known about it.", "Letter",
      FIELDS_OF(letter_record_fields) },
    { "Change", "What differs between two payloads.", FIELDS_OF(change_fields) },
    { "Fixed", "The new job, or in a dry run what would change.",
      .either = { "Job", "FixPreview" } },
    { "FixPreview", NULL, FIELDS_OF(fix_preview_fields) },
    { "LetterGroup", "Dead letters with the same error.", FIELDS_OF(letter_group_fields) },
    { "LetterGroups", NULL, FIELDS_OF(letter_groups_fields) },
    { "Seal", "The newest seal of the audit trail.", FIELDS_OF(seal_fields) },
    { "Execution", "One attempt at a job.", FIELDS_OF(execution_fields) },
    { "ExecutionPage", .page_of = "Execution" },
    { "Error", NULL, FIELDS_OF(error_fields) },
    { "HeldExecution", "An execution as its worker sees it.", "Execution",
      FIELDS_OF(held_execution_fields) },
    { "Lease", "An execution that was just leased, with its job.", "Execution",
      FIELDS_OF(lease_fields) },
    { "Leases", NULL, FIELDS_OF(leases_fields) },
    { "Batch", NULL, FIELDS_OF(batch_fields) },
    { "BatchResult", NULL, .either = { "Called", "Refused" } },
    { "Called", NULL, FIELDS_OF(called_fields) },
    { "Artifact", "Bytes with a checksum, which jobs work on and bring about.",
      FIELDS_OF(artifact_fields) },
    { "ArtifactPage", .page_of = "Artifact" },
    { "Bytes", "Bytes as they are.", .kind = SCHEMA_TEXT },
    { "Step", "A part of a job whose result is durable.", FIELDS_OF(step_fields) },
    { "StepPage", .page_of = "Step" },
    { "HeldStep", "A step as its worker sees it.", "Step", FIELDS_OF(held_step_fields) },
    { "Event", "What was done, by whom, to what.", FIELDS_OF(event_fields) },
    { "EventPage", .page_of = "Event" },
    { "LogLine", "What a command said on standard error.", FIELDS_OF(log_fields) },
    { "LogPage", .page_of = "LogLine" },
    { "Explanation", "Why a job is where it is, or ended as it did.",
      FIELDS_OF(explanation_fields) },
    { "Reason", NULL, FIELDS_OF(reason_fields) },
    { "Key", "An API key, without its text.", FIELDS_OF(key_fields) },
    { "KeyPage", .page_of = "Key" },
    { "NewKey", "An API key that was just made.", "Key", FIELDS_OF(new_key_fields) },
    { "Queue", "A queue, as far as the org's own jobs go.", FIELDS_OF(queue_fields) },
    { "QueuePage", .page_of = "Queue" },
    { "Limits", "What may run at once and begin per time.", FIELDS_OF(limits_fields) },
    { "Limit", NULL, FIELDS_OF(limit_fields) },
    { "TypePause", "No job of the type begins until then.", FIELDS_OF(type_pause_fields) },
    { "TypeResumed", NULL, FIELDS_OF(type_resumed_fields) },
    { "Session", "Who the caller is.", FIELDS_OF(session_fields) },
    { "Paused", NULL, FIELDS_OF(paused_fields) },
    { "Purged", NULL, FIELDS_OF(purged_fields) },
    { "Schedule", "Jobs that come by the clock.", FIELDS_OF(schedule_fields) },
    { "SchedulePage", .page_of = "Schedule" },
    { "SlotRun", "A slot that was claimed.", FIELDS_OF(slot_run_fields) },
    { "SlotRunPage", .page_of = "SlotRun" },
    { "SlotSkip", "A slot that was not run, or several in a row.", FIELDS_OF(slot_skip_fields) },
    { "SlotSkipPage", .page_of = "SlotSkip" },
    { "Slot", "A slot that will come.", FIELDS_OF(slot_fields) },
    { "SlotPage", .page_of = "Slot" },
    { "ClaimedSlot", NULL, FIELDS_OF(claimed_slot_fields) },
    { "Backfill", "What a backfill claimed, or would.", FIELDS_OF(backfill_fields) },
    { "Stats", "Numbers for an overview.", FIELDS_OF(stats_fields) },
    { "Worker", "Who holds leases, or could.", FIELDS_OF(worker_fields) },
    { "WorkerPage", .page_of = "Worker" },
    { "Health", NULL, FIELDS_OF(health_fields) },
    { "Ready", NULL, FIELDS_OF(ready_fields) },
    { "Problem", "Why something was refused (RFC 9457).", FIELDS_OF(problem_fields) },
    { "FieldProblem", NULL, FIELDS_OF(field_problem_fields) },
    { "Object", "Any object.", .kind = SCHEMA_OBJECT },
    { "Text", "Text.", .kind = SCHEMA_TEXT },
    { "EventStream", "Server-sent events: `id` is event_id, `event` its name, `data` an Event.",
      .kind = SCHEMA_TEXT },
};
// clang-format on

const struct schema *schema_at(size_t index)
{
    return index < countof(schemas) ? &schemas[index] : NULL;
}
