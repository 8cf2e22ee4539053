-- Every statement of Pawl, by name. One file for both databases: `$1` parameters, times as numbers.
--
-- SQL finds, guards and stores; C decides. A statement that moves a job or an execution says so in
-- `-- moves:`, one that may read a whole table says why in `-- scans:`; tests hold both to it. One
-- whose rows may be lost with the machine says why in `-- fleeting:`.

-- ===== migrations

-- name: migration_table
-- scans: the short list of tables
SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'schema_migrations' --sqlite
--postgres: SELECT 1 FROM pg_tables WHERE tablename = 'schema_migrations' AND schemaname = current_schema()
;

-- name: migration_newest
SELECT coalesce(max(version), 0) FROM schema_migrations;

-- name: migrations_applied
-- scans: one row for each version
SELECT version, name FROM schema_migrations ORDER BY version;

-- name: migration_insert
INSERT INTO schema_migrations (version, name, applied_at) VALUES ($1, $2, $3);

-- name: migration_compatible
INSERT INTO schema_compatible (version, since) VALUES ($1, $2);

-- The first migration after $1 that a program which knows no more than that cannot work with.
-- name: migration_strange
SELECT m.version FROM schema_migrations m
 WHERE m.version > $1
   AND NOT EXISTS (SELECT 1 FROM schema_compatible c WHERE c.version = m.version AND c.since <= $1)
 ORDER BY m.version LIMIT 1;

-- Which table refers to which: one of the application's must not refer to one of ours. On
-- PostgreSQL, where ours are in a schema of their own, the answer is those that do.
-- name: references_all
-- scans: the schema, after the application has changed it
SELECT m.name, r."table" FROM sqlite_schema m, pragma_foreign_key_list(m.name) r --sqlite
 WHERE m.type = 'table' --sqlite
--postgres: SELECT conrelid::regclass::text, confrelid::regclass::text FROM pg_constraint JOIN pg_class here ON here.oid = conrelid JOIN pg_class there ON there.oid = confrelid WHERE contype = 'f' AND there.relnamespace = to_regnamespace(current_schema()) AND here.relnamespace <> there.relnamespace
;

-- ===== the clock

-- Every change leaves an event, so the newest event tells the latest time in the store. And whether
-- any job of the store has a row in `job_links`, and whether there are limits: if not, nobody asks
-- for that of each.
-- name: clock_newest
-- scans: of job_links, job_limits and job_limit_waits their first row
SELECT at, CASE WHEN EXISTS (SELECT 1 FROM job_links) THEN 1 ELSE 0 END,
       CASE WHEN EXISTS (SELECT 1 FROM job_limits) OR EXISTS (SELECT 1 FROM job_limit_waits)
            THEN 1 ELSE 0 END, id
  FROM audit_events WHERE id = (SELECT max(id) FROM audit_events);

-- ===== tenants

-- From here on the transaction sees rows of this org only: see sql/schema/0019_wall.sql.
-- name: wall_up
SELECT $1 --sqlite
--postgres: SELECT set_config('pawl.org', $1::BIGINT::TEXT, true)
;

-- ===== names

-- name: store_secret
-- scans: it has one row
SELECT secret FROM store;

-- name: store_insert
INSERT INTO store (only_row, secret, created_at) VALUES (1, $1, $2);

-- name: org_find
SELECT id FROM orgs WHERE org_id = $1;

-- name: org_insert
INSERT INTO orgs (org_id, created_at) VALUES ($1, $2) ON CONFLICT (org_id) DO NOTHING;

-- name: org_text
SELECT org_id FROM orgs WHERE id = $1;

-- name: job_type_find
SELECT id FROM job_types WHERE name = $1;

-- name: job_type_insert
INSERT INTO job_types (name, created_at) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING;

-- name: job_type_text
SELECT name FROM job_types WHERE id = $1;

-- name: queue_find
SELECT id FROM queues WHERE name = $1;

-- name: queue_insert
INSERT INTO queues (name, created_at) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING;

-- name: queue_text
SELECT name FROM queues WHERE id = $1;

-- name: queue_paused
SELECT coalesce(paused_at, 0) FROM queues WHERE id = $1;

-- name: policy_find
SELECT id FROM policies
 WHERE name = $1 AND category = $2 AND queue = $3 AND max_attempts = $4 AND step_attempts = $5
   AND exponential = $6 AND jitter = $7 AND base_us = $8 AND delay_us_max = $9
   AND timeout_us = $10 AND lease_us = $11 AND on_crash = $12 AND on_timeout = $13
   AND dead_letter = $14 AND key_ttl_us = $15 AND slot = $16;

-- name: policy_insert
INSERT INTO policies (name, category, queue, max_attempts, step_attempts, exponential, jitter,
                      base_us, delay_us_max, timeout_us, lease_us, on_crash, on_timeout,
                      dead_letter, key_ttl_us, slot)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16);

-- name: policy_load
SELECT name, category, queue, max_attempts, step_attempts, exponential, jitter, base_us,
       delay_us_max, timeout_us, lease_us, on_crash, on_timeout, dead_letter, key_ttl_us, slot
  FROM policies WHERE id = $1;

-- name: worker_find
SELECT id FROM workers WHERE org = $1 AND worker_id = $2 AND instance = $3 AND boot_id = $4;

-- name: worker_insert
INSERT INTO workers (org, worker_id, instance, boot_id, first_seen_at) VALUES ($1, $2, $3, $4, $5);

-- name: worker_text
SELECT worker_id FROM workers WHERE id = $1;

-- Who holds executions now; $1 is 0 for every org.
-- name: workers_live
-- scans: live executions only, by their own index
SELECT w.worker_id, w.instance, count(*), w.first_seen_at, max(e.lease_expires_at)
  FROM executions e
  JOIN workers w ON w.id = e.worker
 WHERE e.finished_at IS NULL AND e.finish_at IS NULL AND (e.org = $1 OR $1 = 0)
   AND ($3 IS NULL OR EXISTS (SELECT 1 FROM jobs j WHERE j.id = e.job --sqlite
                                 AND instr($3, j.project_id) > 0)) --sqlite
   --postgres: AND ($3::text IS NULL OR EXISTS (SELECT 1 FROM jobs j WHERE j.id = e.job AND strpos($3, j.project_id) > 0))
 GROUP BY w.id, w.worker_id, w.instance, w.first_seen_at
 ORDER BY count(*) DESC, w.id LIMIT $2;

-- ===== jobs that were enqueued in SQL

-- name: posted_waiting
SELECT id FROM posted_jobs WHERE look_at <= $2 ORDER BY look_at, id LIMIT $1;

-- name: posted_put_off
UPDATE posted_jobs SET look_at = $2 WHERE id = $1;

-- name: posted_load
SELECT id, id_low, org_id, project_id, idempotency_key, job_type, payload, queue, priority,
       serial_key, limit_key, policy, scheduled_for, max_wait_ms, correlation_id, submit,
       posted_by, posted_at
  FROM posted_jobs WHERE id = $1;

-- name: posted_delete
DELETE FROM posted_jobs WHERE id = $1;

-- ===== jobs

-- name: job_newest
SELECT coalesce(max(id), 0) FROM jobs;

-- name: job_insert
-- moves: job CREATED -> QUEUED
INSERT INTO jobs (id, id_low, org, type, queue, priority, policy, created_at, scheduled_for,
                  max_wait_us, serial_key, idempotency_key, project_id, actor_type, actor_id,
                  request_id, correlation_id, traceparent, authorized_by, parent, origin, payload)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19,
        $20, $21, $22);

-- The same with a limit key, which few have.
-- name: job_insert_keyed
-- moves: job CREATED -> QUEUED
INSERT INTO jobs (id, id_low, org, type, queue, priority, policy, created_at, scheduled_for,
                  max_wait_us, serial_key, idempotency_key, project_id, actor_type, actor_id,
                  request_id, correlation_id, traceparent, authorized_by, parent, origin, payload,
                  limit_key)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19,
        $20, $21, $22, $23);

-- A job with everything its state follows from. $2 is NULL for the engine's own look-ups by key.
-- name: job_load
SELECT j.id, j.id_low, j.org, j.type, j.queue, coalesce(c.queue, j.queue), j.policy,
       j.project_id, j.actor_type, j.actor_id, j.request_id, j.correlation_id,
       j.idempotency_key, j.payload, j.scheduled_for, j.traceparent,
       j.serial_key, j.max_wait_us, j.authorized_by, j.limit_key, par.id, par.id_low, j.origin,
       j.created_at, coalesce(c.priority, j.priority), j.priority, coalesce(c.run_at, 0),
       (SELECT count(*) FROM ready r
         WHERE r.queue = coalesce(c.queue, j.queue) AND r.type = j.type AND r.org = j.org
           AND r.rank = -coalesce(c.priority, j.priority) AND r.job = j.id),
       p.reason, p.due_at,
       e.id, e.attempt, e.status, e.attempts_used, e.retry_count, e.crash_count, e.leased_at,
       e.started_at, e.committed_at, e.finished_at, e.cancel_requested_at, e.end_reason,
       e.error_class, e.error_message, e.progress_percent, e.progress_message,
       (SELECT min(f.started_at) FROM executions f WHERE f.job = j.id),
       x.committed_at, x.ended_at, x.state, x.failure_type, x.error, x.dead_letter, x.result,
       x.execution
  FROM jobs j
  LEFT JOIN changes c ON c.job = j.id
  LEFT JOIN jobs par ON par.id = j.parent
  LEFT JOIN parked p ON p.job = j.id
  LEFT JOIN executions e ON e.job = j.id
        AND e.attempt = (SELECT max(n.attempt) FROM executions n WHERE n.job = j.id)
  LEFT JOIN outcomes x ON x.job = j.id
 WHERE j.id = $1 AND j.id_low = coalesce($2, j.id_low) AND j.org = coalesce($3, j.org);

-- A ready job that never ran: the first columns of job_load, for there is nothing else to know, and
-- whether it is in another place too (it is not).
-- name: job_load_new
SELECT j.id, j.id_low, j.org, j.type, j.queue, coalesce(c.queue, j.queue), j.policy,
       j.project_id, j.actor_type, j.actor_id, j.request_id, j.correlation_id,
       j.idempotency_key, j.payload, j.scheduled_for, j.traceparent,
       j.serial_key, j.max_wait_us, j.authorized_by, j.limit_key, par.id, par.id_low, j.origin,
       j.created_at, coalesce(c.priority, j.priority), j.priority, coalesce(c.run_at, 0),
       CASE WHEN p.job IS NULL AND x.job IS NULL THEN 0 ELSE 1 END
  FROM jobs j
  LEFT JOIN changes c ON c.job = j.id
  LEFT JOIN jobs par ON par.id = j.parent
  LEFT JOIN parked p ON p.job = j.id
  LEFT JOIN outcomes x ON x.job = j.id
 WHERE j.id = $1;

-- name: job_project
SELECT project_id FROM jobs WHERE id = $1;

-- name: change_put
INSERT INTO changes (job, org, queue, priority, run_at) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (job) DO UPDATE SET queue = excluded.queue, priority = excluded.priority,
                                run_at = excluded.run_at;

-- The newest jobs first, a bounded number of them: the caller filters and goes on from the last.
-- name: job_page
SELECT id FROM jobs WHERE id < $1 ORDER BY id DESC LIMIT $2;

-- name: job_page_failed
SELECT job FROM outcomes WHERE org = $1 AND state IN ('FAILED', 'TIMED_OUT') AND job < $2
 ORDER BY job DESC LIMIT $3;

-- name: job_page_running
-- scans: live executions only, by their own index
SELECT job FROM executions WHERE finished_at IS NULL AND job < $1 ORDER BY job DESC LIMIT $2;

-- name: job_page_parked
SELECT job FROM parked WHERE job < $1 ORDER BY job DESC LIMIT $2;

-- ===== idempotency keys

-- name: key_find
SELECT job FROM idempotency_keys WHERE slot = $1;

-- name: key_insert
INSERT INTO idempotency_keys (slot, job) VALUES ($1, $2);

-- The key's time to live is over: it is as if it had never been used.
-- name: key_replace
UPDATE idempotency_keys SET job = $2, last_seen_at = NULL WHERE slot = $1;

-- name: key_seen
UPDATE idempotency_keys SET last_seen_at = $2 WHERE slot = $1;

-- The slots of a generation: $1 is its first, $2 the first of the next.
-- name: key_slots
SELECT slot FROM idempotency_keys WHERE slot >= $1 AND slot < $2 ORDER BY slot;

-- name: generation_newest
SELECT generation, keys, expires_at FROM idempotency_generations
 WHERE generation = (SELECT max(generation) FROM idempotency_generations);

-- name: generations_before
SELECT generation FROM idempotency_generations WHERE generation < $1 ORDER BY generation;

-- name: generation_count
UPDATE idempotency_generations SET keys = $2, expires_at = $3 WHERE generation = $1;

-- name: generation_seal
UPDATE idempotency_generations SET sweep_at = expires_at WHERE generation = $1;

-- name: generation_insert
INSERT INTO idempotency_generations (generation, keys, expires_at) VALUES ($1, 0, 0);

-- name: generation_due
SELECT generation, swept_to FROM idempotency_generations
 WHERE sweep_at <= $1 ORDER BY sweep_at LIMIT 1;

-- Of the slots of a generation, given as above, the one $3 after the first of them.
-- name: key_slot_after
SELECT slot FROM idempotency_keys WHERE slot >= $1 AND slot < $2 ORDER BY slot LIMIT 1 OFFSET $3;

-- The record of a job that lives, or of a key whose time to live is not over, stays. Retention
-- removes no job before, so the record of a job that is not there is over too.
-- name: key_remove_expired
DELETE FROM idempotency_keys
 WHERE slot >= $1 AND slot < $2
   AND (NOT EXISTS (SELECT 1 FROM jobs g WHERE g.id = idempotency_keys.job)
     OR EXISTS (SELECT 1 FROM outcomes x
                 JOIN jobs j ON j.id = x.job
                 JOIN policies p ON p.id = j.policy
                WHERE x.job = idempotency_keys.job AND x.ended_at IS NOT NULL
                  AND p.key_ttl_us <= $3 - j.created_at));

-- name: generation_swept
UPDATE idempotency_generations SET swept_to = $2, sweep_at = $3 WHERE generation = $1;

-- name: generation_delete
DELETE FROM idempotency_generations WHERE generation = $1;

-- ===== places

-- name: ready_insert
INSERT INTO ready (queue, type, org, rank, job, attempt, serial_key, project)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8);

-- name: ready_delete
DELETE FROM ready WHERE queue = $1 AND type = $2 AND org = $3 AND rank = $4 AND job = $5;

-- What a claim has taken one after the other, where no other claim can take what is between. If
-- nothing is left before it, the lane begins behind it from now on (ready_floors).
-- name: ready_delete_run
--postgres: WITH floor AS MATERIALIZED (
--postgres:   SELECT id, rank, job FROM ready_floors WHERE queue = $1 AND type = $2 AND org = $3
--postgres:    ORDER BY id DESC LIMIT 1),
--postgres: higher AS (
--postgres:   INSERT INTO ready_floors (queue, type, org, rank, job)
--postgres:   SELECT $1, $2, $3, $4, $6
--postgres:    WHERE ($4, $5) = (SELECT r.rank, r.job FROM ready r
--postgres:      WHERE r.queue = $1 AND r.type = $2 AND r.org = $3
--postgres:        AND (r.rank, r.job) > (SELECT f.rank, f.job FROM floor f)
--postgres:      ORDER BY r.rank, r.job LIMIT 1)
--postgres:   RETURNING queue),
--postgres: gone AS (
--postgres:   DELETE FROM ready_floors WHERE queue = (SELECT queue FROM higher) AND type = $2
--postgres:    AND org = $3 AND id = (SELECT id FROM floor))
DELETE FROM ready
 WHERE queue = $1 AND type = $2 AND org = $3 AND rank = $4 AND job BETWEEN $5 AND $6;

-- name: ready_serial
SELECT queue, type, rank, job, attempt, project FROM ready WHERE org = $1 AND serial_key = $2;

-- The queues that have something for a claim. A step through `ready` for each.
-- name: claim_queues
-- scans: the queues that are not empty
WITH RECURSIVE filled (queue) AS (
  SELECT min(queue) FROM ready --sqlite
--postgres: SELECT q FROM pawl_next_lane(0, 0, 0, 9223372036854775807, 9223372036854775807)
  UNION ALL
  SELECT (SELECT min(r.queue) FROM ready r WHERE r.queue > filled.queue) FROM filled --sqlite
--postgres: SELECT n.q FROM filled CROSS JOIN LATERAL pawl_next_lane(filled.queue,
--postgres:   9223372036854775807, 0, 9223372036854775807, 9223372036854775807) n
   WHERE filled.queue IS NOT NULL)
SELECT q.id FROM queues q
 WHERE q.paused_at IS NULL
   AND q.id IN (SELECT queue FROM filled
                UNION
                SELECT queue FROM executions
                 WHERE coalesce(finished_at, 0) = 0 AND finish_at IS NOT NULL AND finish_at <= $1)
 ORDER BY q.id;

-- name: ready_next_type
SELECT coalesce(min(type), 0) FROM ready WHERE queue = $1 AND type > $2 --sqlite
--postgres: SELECT coalesce(t, 0)
--postgres:   FROM pawl_next_lane($1, $2, 9223372036854775807, $1, 9223372036854775807)
;

-- name: org_weight
SELECT weight FROM orgs WHERE id = $1;

-- name: ready_next_org
SELECT coalesce(min(org), 0) FROM ready WHERE queue = $1 AND type = $2 AND org > $3 --sqlite
--postgres: SELECT coalesce(o, 0) FROM pawl_next_lane($1, $2, $3, $1, $2)
;

-- The same two for a worker that is limited to projects: $1 is the org, $2 one project.
-- name: ready_next_type_of_project
SELECT coalesce(min(type), 0) FROM ready
 WHERE org = $1 AND project = $2 AND queue = $3 AND type > $4;

-- name: ready_lane_of_project
SELECT rank, job, attempt, serial_key FROM ready
 WHERE org = $1 AND project = $2 AND queue = $3 AND type = $4 AND (rank, job) > ($5, $6)
 ORDER BY rank, job LIMIT $7;

-- Behind ($4, $5), and on PostgreSQL behind the lane's floor (ready_floors).
-- name: ready_lane
SELECT rank, job, attempt, serial_key FROM ready
 WHERE queue = $1 AND type = $2 AND org = $3
   AND (rank, job) > ($4, $5) --sqlite
--postgres: AND (rank, job) > (SELECT s.rank, s.job
--postgres:   FROM (SELECT $4::bigint AS rank, $5::bigint AS job UNION ALL
--postgres:         (SELECT f.rank, f.job FROM ready_floors f
--postgres:           WHERE f.queue = $1 AND f.type = $2 AND f.org = $3 ORDER BY f.id DESC LIMIT 1)) s
--postgres:  ORDER BY s.rank DESC, s.job DESC LIMIT 1)
 ORDER BY rank, job LIMIT $6;

-- The same with the jobs, for a claim that takes what it reads: behind the columns of the place
-- those of job_load_new.
-- name: ready_lane_jobs
SELECT r.rank, r.job, r.attempt, r.serial_key,
       j.id, j.id_low, j.org, j.type, j.queue, coalesce(c.queue, j.queue), j.policy,
       j.project_id, j.actor_type, j.actor_id, j.request_id, j.correlation_id,
       j.idempotency_key, j.payload, j.scheduled_for, j.traceparent,
       j.serial_key, j.max_wait_us, j.authorized_by, j.limit_key, par.id, par.id_low, j.origin,
       j.created_at, coalesce(c.priority, j.priority), j.priority, coalesce(c.run_at, 0),
       CASE WHEN p.job IS NULL AND x.job IS NULL THEN 0 ELSE 1 END
  FROM ready r
  LEFT JOIN jobs j ON j.id = r.job
  LEFT JOIN changes c ON c.job = r.job
  LEFT JOIN jobs par ON par.id = j.parent
  LEFT JOIN parked p ON p.job = r.job
  LEFT JOIN outcomes x ON x.job = r.job
 WHERE r.queue = $1 AND r.type = $2 AND r.org = $3
   AND (r.rank, r.job) > ($4, $5) --sqlite
--postgres: AND (r.rank, r.job) > (SELECT s.rank, s.job
--postgres:   FROM (SELECT $4::bigint AS rank, $5::bigint AS job UNION ALL
--postgres:         (SELECT f.rank, f.job FROM ready_floors f
--postgres:           WHERE f.queue = $1 AND f.type = $2 AND f.org = $3 ORDER BY f.id DESC LIMIT 1)) s
--postgres:  ORDER BY s.rank DESC, s.job DESC LIMIT 1)
 ORDER BY r.rank, r.job LIMIT $6;

-- name: parked_insert
INSERT INTO parked (job, org, reason, due_at, serial_key) VALUES ($1, $2, $3, $4, $5);

-- name: parked_delete
DELETE FROM parked WHERE job = $1;

-- name: parked_due
SELECT job FROM parked WHERE due_at <= $1 ORDER BY due_at, job LIMIT $2
--postgres: FOR UPDATE SKIP LOCKED
;

-- name: parked_next_due
SELECT coalesce(min(due_at), 0) FROM parked WHERE due_at IS NOT NULL;

-- The oldest job that waits for a serial key, with what its row in `ready` needs.
-- name: parked_serial_head
SELECT p.job, coalesce(c.queue, j.queue), j.type, -coalesce(c.priority, j.priority),
       (SELECT coalesce(max(e.attempt), 0) FROM executions e WHERE e.job = p.job), j.project_id
  FROM parked p
  JOIN jobs j ON j.id = p.job
  LEFT JOIN changes c ON c.job = p.job
 WHERE p.org = $1 AND p.serial_key = $2
 ORDER BY p.job LIMIT 1;

-- name: serial_running
SELECT job FROM executions WHERE org = $1 AND serial_key = $2;

-- name: wait_limit_put
INSERT INTO wait_limits (job, org, expires_at) VALUES ($1, $2, $3)
ON CONFLICT (job) DO UPDATE SET expires_at = excluded.expires_at;

-- name: wait_limit_delete
DELETE FROM wait_limits WHERE job = $1;

-- name: wait_limit_due
SELECT job FROM wait_limits WHERE expires_at <= $1 ORDER BY expires_at, job LIMIT $2;

-- name: wait_limit_next
SELECT coalesce(min(expires_at), 0) FROM wait_limits;

-- ===== executions

-- name: execution_newest
SELECT coalesce(max(id), 0) FROM executions;

-- name: execution_insert
-- moves: job QUEUED -> RUNNING
-- moves: execution LEASED -> IN_PROGRESS
INSERT INTO executions (id, id_low, org, job, attempt, status, worker, queue, type, policy,
                        lease_us, lease_expires_at, leased_at, started_at, deadline_at,
                        attempts_used, retry_count, crash_count, serial_key)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19);

-- The first attempt at a job that has no serial key: most of them.
-- name: execution_insert_first
-- moves: job QUEUED -> RUNNING
-- moves: execution LEASED -> IN_PROGRESS
INSERT INTO executions (id, id_low, org, job, attempt, status, worker, queue, type, policy,
                        lease_us, lease_expires_at, leased_at, started_at, deadline_at,
                        attempts_used, retry_count, crash_count)
VALUES ($1, $2, $3, $4, 1, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, 1, 0, 0);

-- $2 is NULL for the engine's own look-ups, $3 for a caller of every org.
-- name: execution_load
SELECT e.id, e.id_low, j.id, j.id_low, e.org, e.attempt, e.status, e.worker, e.queue, e.type,
       e.policy, e.lease_us, e.lease_expires_at, e.leased_at, e.started_at, e.deadline_at,
       e.committed_at, e.finished_at, e.cancel_requested_at, e.attempts_used, e.retry_count,
       e.crash_count, e.finish, e.finish_failures, e.finish_at, e.end_reason, e.error_class,
       e.error_message,
       e.error_detail, coalesce(e.progress_percent, -1), e.progress_message, e.serial_key
  FROM executions e
  JOIN jobs j ON j.id = e.job
 WHERE e.id = $1 AND e.id_low = coalesce($2, e.id_low) AND e.org = coalesce($3, e.org);

-- name: executions_of_job
SELECT id FROM executions WHERE job = $1 ORDER BY attempt;

-- name: execution_live_of_job
SELECT id FROM executions WHERE job = $1 AND finished_at IS NULL;

-- name: execution_of_attempt
SELECT id FROM executions WHERE job = $1 AND attempt = $2;

-- What went wrong last, when the newest execution has nothing to say about it.
-- name: execution_last_error
SELECT error_class, error_message FROM executions
 WHERE job = $1 AND error_class IS NOT NULL
 ORDER BY attempt DESC LIMIT 1;

-- The fence: execution, attempt, owner, unexpired lease. No row changed: somebody else owns it. One
-- row at most: OR FAIL undoes as much as the default would, without SQLite's journal for that.
-- name: execution_start
-- moves: execution LEASED -> IN_PROGRESS
UPDATE OR FAIL executions --sqlite
--postgres: UPDATE executions
   SET status = 'IN_PROGRESS', started_at = $4, deadline_at = $5,
                      lease_expires_at = $6
 WHERE id = $1 AND attempt = $2 AND worker = $3 AND lease_expires_at > $4 AND status = 'LEASED';

-- name: execution_renew
UPDATE OR FAIL executions --sqlite
--postgres: UPDATE executions
   SET lease_expires_at = $5
 WHERE id = $1 AND attempt = $2 AND worker = $3 AND lease_expires_at > $4
   AND (status = 'LEASED' OR status IN ('IN_PROGRESS', 'COMMITTED'));

-- Everything a worker holds, extended: a run that has started not past its deadline. $3 are the
-- projects it is limited to, or NULL.
-- name: execution_renew_all
-- scans: live executions only, by their own index
UPDATE executions SET lease_expires_at =
       CASE WHEN committed_at IS NULL AND deadline_at < $2 + lease_us THEN deadline_at
            ELSE $2 + lease_us END
 WHERE finished_at IS NULL AND finish_at IS NULL AND worker = $1 AND lease_expires_at > $2
   AND ($3 IS NULL OR EXISTS (SELECT 1 FROM jobs j WHERE j.id = executions.job --sqlite
                                 AND instr($3, j.project_id) > 0)) --sqlite
   --postgres: AND ($3::text IS NULL OR EXISTS (SELECT 1 FROM jobs j WHERE j.id = executions.job AND strpos($3, j.project_id) > 0))
RETURNING id, id_low, attempt, leased_at, cancel_requested_at;

-- name: execution_held
-- scans: live executions only, by their own index
SELECT id, id_low, attempt, leased_at, cancel_requested_at FROM executions
 WHERE finished_at IS NULL AND finish_at IS NULL AND worker = $1 AND lease_expires_at > $2
   AND ($3 IS NULL OR EXISTS (SELECT 1 FROM jobs j WHERE j.id = executions.job --sqlite
                                 AND instr($3, j.project_id) > 0)) --sqlite
   --postgres: AND ($3::text IS NULL OR EXISTS (SELECT 1 FROM jobs j WHERE j.id = executions.job AND strpos($3, j.project_id) > 0))
;

-- name: execution_progress
UPDATE executions SET progress_percent = $5, progress_message = $6
 WHERE id = $1 AND attempt = $2 AND worker = $3 AND lease_expires_at > $4
   AND status IN ('IN_PROGRESS', 'COMMITTED');

-- name: execution_commit
-- moves: execution IN_PROGRESS -> COMMITTED
UPDATE OR FAIL executions --sqlite
--postgres: UPDATE executions
   SET status = 'COMMITTED', committed_at = $4, finish = $5,
                      lease_expires_at = $6
 WHERE id = $1 AND attempt = $2 AND worker = $3 AND lease_expires_at > $4
   AND status = 'IN_PROGRESS';

-- Commit and done in one, of a run that holds no serial key.
-- name: execution_commit_done
-- moves: execution IN_PROGRESS -> COMMITTED
-- moves: execution COMMITTED -> DONE
UPDATE OR FAIL executions --sqlite
--postgres: UPDATE executions
   SET status = 'DONE', committed_at = $4, finished_at = $4, end_reason = 'done'
 WHERE id = $1 AND attempt = $2 AND worker = $3 AND lease_expires_at > $4
   AND status = 'IN_PROGRESS' AND serial_key IS NULL;

-- name: execution_commit_done_of_key
-- moves: execution IN_PROGRESS -> COMMITTED
-- moves: execution COMMITTED -> DONE
UPDATE OR FAIL executions --sqlite
--postgres: UPDATE executions
   SET status = 'DONE', committed_at = $4, finished_at = $4, end_reason = 'done', serial_key = NULL
 WHERE id = $1 AND attempt = $2 AND worker = $3 AND lease_expires_at > $4
   AND status = 'IN_PROGRESS';

-- name: execution_done
-- moves: execution COMMITTED -> DONE
UPDATE OR FAIL executions --sqlite
--postgres: UPDATE executions
   SET status = 'DONE', finished_at = $4, end_reason = 'done', serial_key = NULL
 WHERE id = $1 AND attempt = $2 AND worker = $3 AND lease_expires_at > $4
   AND status = 'COMMITTED';

-- The sweep and the boot finish what a dead worker committed: no fence, the lease is over.
-- name: execution_finish
-- moves: execution COMMITTED -> DONE
UPDATE executions SET status = 'DONE', finished_at = $2, end_reason = 'done', finish_at = NULL,
                      serial_key = NULL
 WHERE id = $1 AND status = 'COMMITTED';

-- Its worker reports an error or gives it back: behind the fence.
-- name: execution_abort
-- moves: execution LEASED -> ABORTED
-- moves: execution IN_PROGRESS -> ABORTED
UPDATE executions SET status = 'ABORTED', finished_at = $4, end_reason = $5, error_class = $6,
                      error_message = $7, error_detail = $8, serial_key = NULL
 WHERE id = $1 AND attempt = $2 AND worker = $3 AND lease_expires_at > $4
   AND status IN ('LEASED', 'IN_PROGRESS');

-- The sweep and the boot end what its worker does not: the lease is over, or its process is.
-- name: execution_expire
-- moves: execution LEASED -> ABORTED
-- moves: execution IN_PROGRESS -> ABORTED
UPDATE executions SET status = 'ABORTED', finished_at = $4, end_reason = $5, error_class = $6,
                      error_message = $7, error_detail = $8, serial_key = NULL
 WHERE id = $1 AND attempt = $2 AND worker = $3 AND status IN ('LEASED', 'IN_PROGRESS');

-- name: execution_cancel_request
UPDATE executions SET cancel_requested_at = $2
 WHERE id = $1 AND status IN ('LEASED', 'IN_PROGRESS') AND cancel_requested_at IS NULL;

-- A commit phase that failed or was given back: behind the fence, and free to be leased from $5 on.
-- name: execution_finish_give_back
UPDATE executions SET finish_at = $5, finish_failures = $6, lease_expires_at = $4
 WHERE id = $1 AND attempt = $2 AND worker = $3 AND lease_expires_at > $4 AND status = 'COMMITTED';

-- A commit phase whose worker is gone: free to be leased from $3 on.
-- name: execution_finish_free
UPDATE executions SET finish_at = $3, finish_failures = $4, lease_expires_at = $2
 WHERE id = $1 AND status = 'COMMITTED';

-- Those that wait have an index of their own. To be asked whether finished_at IS NULL would lead
-- PostgreSQL to the one of live executions, and past all that have ended since the last vacuum.
-- name: execution_finish_due
SELECT id FROM executions
 WHERE coalesce(finished_at, 0) = 0 AND finish_at IS NOT NULL AND finish_at <= $1
   AND queue = $2 AND (type = $3 OR $3 = 0) AND (org = $4 OR $4 = 0)
   AND NOT EXISTS (SELECT 1 FROM queue_pauses p
                    WHERE p.queue = executions.queue AND p.org = executions.org)
   AND ($6 IS NULL OR EXISTS (SELECT 1 FROM jobs j WHERE j.id = executions.job --sqlite
                                 AND instr($6, j.project_id) > 0)) --sqlite
   --postgres: AND ($6::text IS NULL OR EXISTS (SELECT 1 FROM jobs j WHERE j.id = executions.job AND strpos($6, j.project_id) > 0))
 ORDER BY finish_at, id LIMIT $5;

-- name: execution_finish_lease
UPDATE executions SET finish_at = NULL, worker = $2, lease_us = $3, lease_expires_at = $4
 WHERE id = $1 AND status = 'COMMITTED' AND finish_at IS NOT NULL;

-- name: execution_expired
-- scans: live executions only, by their own index
SELECT id FROM executions
 WHERE finished_at IS NULL AND finish_at IS NULL AND lease_expires_at <= $1
 ORDER BY lease_expires_at, id LIMIT $2
--postgres: FOR UPDATE SKIP LOCKED
;

-- name: execution_next_expiry
-- scans: live executions only, by their own index
SELECT coalesce(min(lease_expires_at), 0) FROM executions
 WHERE finished_at IS NULL AND finish_at IS NULL;

-- name: execution_next_finish
SELECT coalesce(min(finish_at), 0) FROM executions
 WHERE coalesce(finished_at, 0) = 0 AND finish_at IS NOT NULL AND finish_at > $1;

-- Live runs of an earlier boot of this instance.
-- name: execution_orphans
-- scans: live executions only, by their own index
SELECT e.id FROM executions e
  JOIN workers w ON w.id = e.worker
 WHERE e.finished_at IS NULL AND e.finish_at IS NULL AND w.instance = $1 AND w.boot_id <> $2
 ORDER BY e.job LIMIT $3;

-- ===== outcomes

-- The key is the commit boundary: a second commit of one job is refused by the database itself.
-- name: outcome_commit
INSERT INTO outcomes (job, org, execution, committed_at, result) VALUES ($1, $2, $3, $4, $5);

-- name: outcome_commit_done
-- moves: job RUNNING -> SUCCEEDED
INSERT INTO outcomes (job, org, execution, committed_at, result, ended_at, state)
VALUES ($1, $2, $3, $4, $5, $4, 'SUCCEEDED');

-- name: outcome_done
-- moves: job RUNNING -> SUCCEEDED
UPDATE outcomes SET ended_at = $2, state = 'SUCCEEDED'
 WHERE job = $1 AND committed_at IS NOT NULL AND ended_at IS NULL;

-- $4 is FAILED or TIMED_OUT; the move was checked by job_move.
-- name: outcome_fail
-- moves: job RUNNING -> FAILED
-- moves: job RUNNING -> TIMED_OUT
-- moves: job QUEUED -> FAILED
INSERT INTO outcomes (job, org, execution, ended_at, state, failure_type, error, dead_letter)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8);

-- name: outcome_result
SELECT result FROM outcomes WHERE job = $1;

-- ===== dead letters

-- name: dead_letter_close
UPDATE outcomes SET dead_letter = $2 WHERE job = $1 AND dead_letter = 'open';

-- The open letters of an org, newest first, with what a filter and a fingerprint need and without
-- their payloads. The joins are LEFT to keep SQLite from beginning elsewhere.
-- name: letter_page
SELECT x.job, j.id_low, t.name, q.name, j.project_id, x.ended_at, x.failure_type, e.error_class,
       coalesce(e.error_message, x.error)
  FROM outcomes x
  LEFT JOIN jobs j ON j.id = x.job
  LEFT JOIN job_types t ON t.id = j.type
  LEFT JOIN changes c ON c.job = x.job
  LEFT JOIN queues q ON q.id = coalesce(c.queue, j.queue)
  LEFT JOIN executions e ON e.id = x.execution
 WHERE x.org = $1 AND x.dead_letter = 'open' AND x.job < $2
 ORDER BY x.job DESC LIMIT $3;

-- The same of one letter, closed or not.
-- name: letter_row
SELECT x.job, j.id_low, t.name, q.name, j.project_id, x.ended_at, x.failure_type, e.error_class,
       coalesce(e.error_message, x.error)
  FROM outcomes x
  LEFT JOIN jobs j ON j.id = x.job
  LEFT JOIN job_types t ON t.id = j.type
  LEFT JOIN changes c ON c.job = x.job
  LEFT JOIN queues q ON q.id = coalesce(c.queue, j.queue)
  LEFT JOIN executions e ON e.id = x.execution
 WHERE x.job = $1 AND x.dead_letter IS NOT NULL;

-- The job that was made of it, which closed it: the first one.
-- name: letter_successor
SELECT id FROM jobs WHERE parent = $1 AND origin IN ('retry', 'replay', 'fix')
 ORDER BY id LIMIT 1;

-- ===== alerts

-- For every target that wants the kind and that somebody spoke of lately. Said again it is one.
-- name: alert_insert
-- scans: the few targets
INSERT INTO alert_deliveries (target, kind, org, job, job_low, at, due_at)
SELECT t.id, $1, $2, $3, $4, $5, $5 FROM alert_targets t
 WHERE (t.kinds & $6) <> 0 AND t.seen_at > $7
ON CONFLICT (target, kind, job) DO NOTHING;

-- name: alert_about
SELECT project_id, request_id, correlation_id FROM jobs WHERE id = $1 AND org = $2;

-- name: alert_target_find
SELECT id FROM alert_targets WHERE name = $1;

-- name: alert_target_put
INSERT INTO alert_targets (name, kinds, seen_at) VALUES ($1, $2, $3)
ON CONFLICT (name) DO UPDATE SET kinds = excluded.kinds, seen_at = excluded.seen_at;

-- name: alert_target_delete
DELETE FROM alert_targets WHERE id = $1;

-- name: alerts_of_target_delete
DELETE FROM alert_deliveries WHERE target = $1;

-- One process delivers: the others find no row while it is not silent.
-- name: alert_target_own
UPDATE alert_targets SET owner = $2, owned_until = $3
 WHERE id = $1 AND (owner = $2 OR owner IS NULL OR owned_until <= $4);

-- name: alert_oldest
SELECT coalesce(summary, id), coalesce(summary, 0), attempts, kind, job, job_low, at
  FROM alert_deliveries WHERE target = $1 AND due_at IS NOT NULL AND due_at <= $2
 ORDER BY due_at, id LIMIT 1;

-- Whether there are two that were never tried: more need not be counted.
-- name: alert_untold
-- scans: those two
SELECT count(*) FROM (SELECT 1 FROM alert_deliveries
                       WHERE target = $1 AND due_at IS NOT NULL AND due_at <= $2
                         AND attempts = 0 AND summary IS NULL
                       LIMIT 2) two;

-- name: alert_gather
UPDATE alert_deliveries SET summary = $3
 WHERE id IN (SELECT id FROM alert_deliveries
               WHERE target = $1 AND due_at IS NOT NULL AND due_at <= $2
                 AND attempts = 0 AND summary IS NULL
               ORDER BY due_at, id LIMIT $4);

-- One alert, or all of a summary.
-- name: alert_settle
UPDATE alert_deliveries
   SET attempts = attempts + 1, due_at = $2, settled_at = $3, given_up = $4, error = $5
 WHERE id IN (SELECT $1 UNION SELECT id FROM alert_deliveries WHERE summary = $1)
   AND due_at IS NOT NULL;

-- Those that are settled, but for the newest.
-- name: alerts_tidy
DELETE FROM alert_deliveries
 WHERE id IN (SELECT id FROM alert_deliveries WHERE settled_at IS NOT NULL
               ORDER BY settled_at DESC LIMIT 5000 OFFSET $1);

-- name: alert_due
SELECT due_at FROM alert_deliveries WHERE target = $1 AND due_at IS NOT NULL
 ORDER BY due_at LIMIT 1;

-- name: alert_load
SELECT a.id, t.name, a.kind, a.job, a.job_low, a.at, a.attempts, a.due_at, a.settled_at,
       a.given_up, a.error, o.org_id, j.project_id, jt.name, q.name, j.request_id,
       j.correlation_id, x.state,
       x.failure_type, e.error_class, coalesce(e.error_message, x.error), e.attempt,
       CASE WHEN a.kind = 'finish_failing'
            THEN (SELECT v.detail FROM audit_events v WHERE v.job = a.job AND v.event = 16
                   ORDER BY v.id DESC LIMIT 1) END
  FROM alert_deliveries a
  LEFT JOIN alert_targets t ON t.id = a.target
  LEFT JOIN orgs o ON o.id = a.org
  LEFT JOIN jobs j ON j.id = a.job
  LEFT JOIN job_types jt ON jt.id = j.type
  LEFT JOIN queues q ON q.id = j.queue
  LEFT JOIN outcomes x ON x.job = a.job
  LEFT JOIN executions e ON e.id = x.execution
 WHERE a.id = $1;

-- name: alerts_newest
-- scans: by their key, and ends at the limit
SELECT id FROM alert_deliveries ORDER BY id DESC LIMIT $1;

-- name: alert_summary
SELECT a.kind, o.org_id, jt.name, e.error_class, x.failure_type,
       coalesce(e.error_message, x.error), a.job, a.job_low
  FROM alert_deliveries a
  LEFT JOIN orgs o ON o.id = a.org
  LEFT JOIN jobs j ON j.id = a.job
  LEFT JOIN job_types jt ON jt.id = j.type
  LEFT JOIN outcomes x ON x.job = a.job
  LEFT JOIN executions e ON e.id = x.execution
 WHERE a.summary = $1
 ORDER BY a.id;

-- ===== traces

-- name: trace_job
SELECT j.id_low, j.traceparent, t.name, q.name, o.org_id
  FROM jobs j
  LEFT JOIN job_types t ON t.id = j.type
  LEFT JOIN queues q ON q.id = j.queue
  LEFT JOIN orgs o ON o.id = j.org
 WHERE j.id = $1;

-- name: trace_execution
SELECT id, id_low, leased_at, started_at, finished_at, status, end_reason, error_class
  FROM executions WHERE job = $1 AND attempt = $2;

-- The job of an execution and the context it was made in.
-- name: trace_made_in
SELECT j.id, j.id_low, j.traceparent FROM executions e
  JOIN jobs j ON j.id = e.job
 WHERE e.id = $1 AND e.id_low = $2;

-- ===== steps

-- name: step_load
SELECT attempt, tries, result, error_message, updated_at FROM steps WHERE job = $1 AND name = $2;

-- name: steps_of_job
SELECT name, attempt, tries, result, error_message, updated_at FROM steps WHERE job = $1
 ORDER BY updated_at, name;

-- name: step_put
INSERT INTO steps (job, name, org, attempt, tries, result, error_message, updated_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
ON CONFLICT (job, name) DO UPDATE SET attempt = excluded.attempt, tries = excluded.tries,
       result = excluded.result, error_message = excluded.error_message,
       updated_at = excluded.updated_at
 WHERE steps.result IS NULL;

-- ===== instances

-- name: instance_load
SELECT boot_id, alive_until, unheld FROM instances WHERE instance = $1;

-- name: instance_put
INSERT INTO instances (instance, boot_id, started_at, alive_until, unheld)
VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (instance) DO UPDATE SET boot_id = excluded.boot_id, unheld = excluded.unheld,
       started_at = excluded.started_at, alive_until = excluded.alive_until;

-- name: instance_renew
-- fleeting: after a power loss nobody of this machine is alive, and an older time says so
UPDATE instances SET alive_until = $3 WHERE instance = $1 AND boot_id = $2;

-- name: instances_alive
-- scans: the short list of processes
SELECT instance, started_at FROM instances WHERE alive_until > $1 ORDER BY started_at, instance
 LIMIT $2;

-- name: instance_leave
UPDATE instances SET alive_until = 0 WHERE instance = $1 AND boot_id = $2 AND alive_until > 0;

-- ===== audit

-- name: audit_insert
INSERT INTO audit_events (org, job, event, attempt, at, actor_type, actor_id, request_id, detail)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9);

-- With nothing to add, by Pawl itself or by who is on the job: most events. $6 is 1 or nothing.
-- name: audit_insert_plain
INSERT INTO audit_events (org, job, event, attempt, at, actor_type)
VALUES ($1, $2, $3, $4, $5, $6);

-- name: audit_newest
SELECT id, job, event, attempt, at FROM audit_events
 WHERE id = (SELECT max(id) FROM audit_events);

-- Behind $1 there is what was added since the transaction began, by it or soon after it.
-- name: audit_witness
SELECT 1 FROM audit_events
 WHERE id > $1 AND coalesce(job, 0) = $2 AND event = $3 AND attempt = $4 AND at = $5
 LIMIT 1;

-- name: audit_of_job
SELECT a.id, a.event, a.attempt, a.at, coalesce(a.actor_type, j.actor_type),
       coalesce(a.actor_id, CASE a.actor_type WHEN 1 THEN 'pawl' END, j.actor_id),
       coalesce(a.request_id, j.request_id), coalesce(a.correlation_id, j.correlation_id), a.detail
  FROM audit_events a
  JOIN jobs j ON j.id = a.job
 WHERE a.job = $1
 ORDER BY a.id;

-- An event of something that is no job.
-- name: audit_insert_subject
INSERT INTO audit_events (org, event, attempt, at, actor_type, actor_id, request_id,
                          correlation_id, detail, subject)
VALUES ($1, $2, 0, $3, $4, $5, $6, $7, $8, $9);

-- The newest events first, a bounded number of them, of every org: the caller filters and goes on
-- from the last. $1 and $2 are the ids between which they lie.
-- name: audit_page
SELECT a.id, a.org, a.event, coalesce(j.project_id, r.project_id), a.attempt, a.at,
       coalesce(a.actor_type, j.actor_type, r.actor_type),
       coalesce(a.actor_id, CASE a.actor_type WHEN 1 THEN 'pawl' END, j.actor_id, r.actor_id),
       coalesce(a.request_id, j.request_id, r.request_id),
       coalesce(a.correlation_id, j.correlation_id, r.correlation_id), a.detail,
       coalesce(j.id, r.id), coalesce(j.id_low, r.id_low), coalesce(j.type, r.type), a.subject
  FROM audit_events a
  LEFT JOIN jobs j ON j.id = a.job
  LEFT JOIN removed_jobs r ON r.id = a.job
 WHERE a.id < $1 AND a.id > $2
 ORDER BY a.id DESC LIMIT $3;

-- The same of one job.
-- name: audit_page_of_job
SELECT a.id, a.org, a.event, j.project_id, a.attempt, a.at, coalesce(a.actor_type, j.actor_type),
       coalesce(a.actor_id, CASE a.actor_type WHEN 1 THEN 'pawl' END, j.actor_id),
       coalesce(a.request_id, j.request_id), coalesce(a.correlation_id, j.correlation_id), a.detail,
       j.id, j.id_low, j.type, a.subject
  FROM audit_events a
  JOIN jobs j ON j.id = a.job
 WHERE a.id < $1 AND a.id > $2 AND a.job = $4
 ORDER BY a.id DESC LIMIT $3;

-- The same of what is no org's: the configuration, processes, whole queues.
-- name: audit_page_of_store
SELECT a.id, a.org, a.event, NULL, a.attempt, a.at, a.actor_type, a.actor_id, a.request_id,
       a.correlation_id, a.detail, NULL, NULL, NULL, a.subject
  FROM audit_events a
 WHERE a.id < $1 AND a.id > $2 AND a.org = 0
 ORDER BY a.id DESC LIMIT $3;

-- The other way round, for whoever follows: the events after $1, oldest first.
-- name: audit_page_after
SELECT a.id, a.org, a.event, coalesce(j.project_id, r.project_id), a.attempt, a.at,
       coalesce(a.actor_type, j.actor_type, r.actor_type),
       coalesce(a.actor_id, CASE a.actor_type WHEN 1 THEN 'pawl' END, j.actor_id, r.actor_id),
       coalesce(a.request_id, j.request_id, r.request_id),
       coalesce(a.correlation_id, j.correlation_id, r.correlation_id), a.detail,
       coalesce(j.id, r.id), coalesce(j.id_low, r.id_low), coalesce(j.type, r.type), a.subject
  FROM audit_events a
  LEFT JOIN jobs j ON j.id = a.job
  LEFT JOIN removed_jobs r ON r.id = a.job
 WHERE a.id > $1
 ORDER BY a.id LIMIT $2;

-- name: audit_event_names
-- scans: a short table of names
SELECT event, name FROM audit_event_names ORDER BY event;

-- ===== logs

-- Whose log it is, and where it goes on.
-- name: log_place
SELECT e.job, e.org, (SELECT coalesce(max(l.seq), 0) FROM execution_logs l WHERE l.job = e.job)
  FROM executions e
 WHERE e.id = $1 AND e.id_low = $2;

-- Whether a line that was numbered so is there: the commit that stored it may have been in doubt.
-- name: log_known
SELECT count(*) FROM execution_logs WHERE job = $1 AND seq = $2 AND execution = $3 AND at = $4;

-- name: log_insert
INSERT INTO execution_logs (job, seq, org, execution, at, text) VALUES ($1, $2, $3, $4, $5, $6);

-- name: logs_of_job
SELECT l.seq, e.id, e.id_low, e.attempt, l.at, l.text
  FROM execution_logs l
  JOIN executions e ON e.id = l.execution
 WHERE l.job = $1 AND l.seq > $2
 ORDER BY l.seq
 LIMIT $3;

-- ===== queues

-- name: count_delta_insert
INSERT INTO count_deltas (changes, period) VALUES ($1, $2) RETURNING id;

-- name: count_deltas
-- scans: it has few rows: every 64th insert folds them into queue_counts
SELECT changes, period FROM count_deltas;

-- name: count_deltas_delete
-- scans: as above
DELETE FROM count_deltas;

-- name: queue_count_add
INSERT INTO queue_counts (org, queue, ready, delayed, blocked, held, backoff, running)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
ON CONFLICT (org, queue) DO UPDATE SET ready = queue_counts.ready + excluded.ready,
       delayed = queue_counts.delayed + excluded.delayed,
       blocked = queue_counts.blocked + excluded.blocked,
       held = queue_counts.held + excluded.held,
       backoff = queue_counts.backoff + excluded.backoff,
       running = queue_counts.running + excluded.running;

-- name: queue_counts_of_org
SELECT queue, ready, delayed, blocked, held, backoff, running FROM queue_counts WHERE org = $1;

-- name: queue_flow_add
-- A period that comes to the place of an earlier one begins with what is added.
INSERT INTO queue_flows (org, queue, place, period, enqueued, ended)
VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (org, queue, place) DO UPDATE SET
       enqueued = excluded.enqueued
         + CASE WHEN queue_flows.period = excluded.period THEN queue_flows.enqueued ELSE 0 END,
       ended = excluded.ended
         + CASE WHEN queue_flows.period = excluded.period THEN queue_flows.ended ELSE 0 END,
       period = excluded.period;

-- name: queue_flows_of_org
SELECT queue, period, enqueued, ended FROM queue_flows WHERE org = $1;

-- name: queue_page
SELECT id, name FROM queues WHERE id > $1 ORDER BY id LIMIT $2;

-- name: queue_pause
UPDATE queues SET paused_at = $2 WHERE id = $1 AND paused_at IS NULL;

-- name: queue_resume
UPDATE queues SET paused_at = NULL WHERE id = $1 AND paused_at IS NOT NULL;

-- name: share_pause
INSERT INTO queue_pauses (queue, org, paused_at, paused_by) VALUES ($1, $2, $3, $4)
ON CONFLICT (queue, org) DO NOTHING;

-- name: share_resume
DELETE FROM queue_pauses WHERE queue = $1 AND org = $2;

-- name: share_paused
SELECT paused_at, paused_by FROM queue_pauses WHERE queue = $1 AND org = $2;

-- name: shares_of_org
SELECT queue, paused_at, paused_by FROM queue_pauses WHERE org = $1;

-- Whether anybody paused a share of this queue.
-- name: queue_has_pauses
SELECT 1 FROM queue_pauses WHERE queue = $1 LIMIT 1;

-- The oldest job in a queue: a step through `ready` for each type, org and rank, at most $2.
-- name: queue_oldest_ready
-- scans: types, orgs and ranks, so many of them
WITH RECURSIVE lanes (type, org, rank, job, steps) AS (
  SELECT * FROM (SELECT r.type, r.org, r.rank, r.job, CAST(1 AS INTEGER) FROM ready r
                  WHERE r.queue = $1 ORDER BY r.type, r.org, r.rank, r.job LIMIT 1) first_lane
  UNION ALL
  SELECT n.type, n.org, n.rank, n.job, l.steps + 1 FROM lanes l
    JOIN ready n ON n.queue = $1 AND (n.type, n.org, n.rank, n.job) = (
      SELECT f.type, f.org, f.rank, f.job FROM ready f
       WHERE f.queue = $1
         AND (f.type, f.org, f.rank, f.job) > (l.type, l.org, l.rank, 9223372036854775807)
       ORDER BY f.type, f.org, f.rank, f.job LIMIT 1)
   WHERE l.steps < $2)
SELECT coalesce(min(job), 0) FROM lanes;

-- The same of one org ($2), at most $3 rows into each type.
-- name: queue_oldest_ready_of_org
-- scans: types, so many rows of each
WITH RECURSIVE types (type) AS (
  SELECT min(type) FROM ready WHERE queue = $1
  UNION ALL
  SELECT (SELECT min(r.type) FROM ready r WHERE r.queue = $1 AND r.type > t.type) FROM types t
   WHERE t.type IS NOT NULL)
SELECT coalesce(min((SELECT min(h.job)
                       FROM (SELECT r.job FROM ready r
                              WHERE r.queue = $1 AND r.type = t.type AND r.org = $2
                              ORDER BY r.rank, r.job LIMIT $3) h)), 0)
  FROM types t;

-- Since when a ready job could be claimed.
-- name: job_ready_since
SELECT max(j.created_at, coalesce(j.scheduled_for, 0), coalesce(c.run_at, 0), --sqlite
           coalesce((SELECT l.fulfilled_at FROM job_links l WHERE l.job = j.id), 0), --sqlite
           coalesce((SELECT max(e.finished_at) FROM executions e WHERE e.job = j.id), 0)) --sqlite
--postgres: SELECT greatest(j.created_at, j.scheduled_for, c.run_at, (SELECT l.fulfilled_at FROM job_links l WHERE l.job = j.id), (SELECT max(e.finished_at) FROM executions e WHERE e.job = j.id))
  FROM jobs j
  LEFT JOIN changes c ON c.job = j.id
 WHERE j.id = $1;

-- What is ready in a queue, the next $6 after ($2, $3, $4, $5); then what one org has there of one
-- type.
-- name: purge_ready
SELECT type, org, rank, job FROM ready
 WHERE queue = $1 AND (type, org, rank, job) > ($2, $3, $4, $5)
 ORDER BY type, org, rank, job LIMIT $6;

-- name: purge_ready_of_org
SELECT type, org, rank, job FROM ready
 WHERE queue = $1 AND type = $2 AND org = $3 AND (rank, job) > ($4, $5)
 ORDER BY rank, job LIMIT $6;

-- name: purge_parked
SELECT p.job, p.org, coalesce(c.queue, j.queue) FROM parked p
  JOIN jobs j ON j.id = p.job
  LEFT JOIN changes c ON c.job = p.job
 WHERE p.job > $1 AND p.job <= $2 ORDER BY p.job LIMIT $3;

-- ===== keys

-- name: api_key_insert
INSERT INTO api_keys (org, key_id, hash, role, name, projects, created_at, expires_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8);

-- name: api_key_find
SELECT k.id, k.key_id, o.org_id, k.role, k.name, k.projects, k.created_at, k.expires_at,
       k.revoked_at, k.last_used_at, o.disabled_at, k.hash
  FROM api_keys k
  JOIN orgs o ON o.id = k.org
 WHERE k.key_id = $1;

-- The keys of an org, newest first.
-- name: api_key_page
SELECT k.id, k.key_id, o.org_id, k.role, k.name, k.projects, k.created_at, k.expires_at,
       k.revoked_at, k.last_used_at, o.disabled_at, NULL
  FROM api_keys k
  JOIN orgs o ON o.id = k.org
 WHERE k.org = $1 AND k.id < $2
 ORDER BY k.id DESC LIMIT $3;

-- name: api_key_revoke
UPDATE api_keys SET revoked_at = $2 WHERE key_id = $1 AND revoked_at IS NULL;

-- name: api_key_used
UPDATE api_keys SET last_used_at = $2
 WHERE key_id = $1 AND (last_used_at IS NULL OR last_used_at <= $3);

-- name: api_key_any
-- scans: it ends at the first row
SELECT count(*) FROM (SELECT 1 FROM api_keys LIMIT 1) AS first;

-- name: org_page
SELECT o.id, o.org_id, o.created_at, o.disabled_at, o.erased_at,
       (SELECT count(*) FROM api_keys k
         WHERE k.org = o.id AND k.revoked_at IS NULL
           AND (k.expires_at IS NULL OR k.expires_at > $3)),
       o.weight
  FROM orgs o
 WHERE o.id > $1
 ORDER BY o.id LIMIT $2;

-- name: org_load
SELECT o.id, o.org_id, o.created_at, o.disabled_at, o.erased_at,
       (SELECT count(*) FROM api_keys k
         WHERE k.org = o.id AND k.revoked_at IS NULL
           AND (k.expires_at IS NULL OR k.expires_at > $2)),
       o.weight
  FROM orgs o
 WHERE o.org_id = $1;

-- name: org_disable
UPDATE orgs SET disabled_at = $2 WHERE id = $1 AND disabled_at IS NULL;

-- name: org_weigh
UPDATE orgs SET weight = $2 WHERE id = $1;

-- ===== schedules

-- name: schedule_insert
INSERT INTO schedules (org, name, source, job_type, payload, cron, every_us, timezone, "coalesce",
                       misfire_grace_us, max_instances, expected_us, catch_up, jitter_us,
                       project_id, queue, policy, created_at, updated_at, considered_to, next_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $18, $18,
        $19);

-- The new terms count from now on; what it was paused for stays, unless it comes back.
-- name: schedule_update
UPDATE schedules
   SET source = $2, job_type = $3, payload = $4, cron = $5, every_us = $6, timezone = $7,
       "coalesce" = $8, misfire_grace_us = $9, max_instances = $10, expected_us = $11,
       catch_up = $12, jitter_us = $13, project_id = $14, queue = $15, policy = $16,
       updated_at = $17, considered_to = $17, next_at = $18, removed_at = NULL,
       paused_at = CASE WHEN removed_at IS NULL THEN paused_at END,
       paused_by = CASE WHEN removed_at IS NULL THEN paused_by END
 WHERE id = $1;

-- name: schedule_remove
UPDATE schedules SET removed_at = $2, updated_at = $2, next_at = NULL
 WHERE id = $1 AND removed_at IS NULL;

-- name: schedule_pause
UPDATE schedules SET paused_at = $2, paused_by = $3, updated_at = $2
 WHERE id = $1 AND paused_at IS NULL;

-- name: schedule_resume
UPDATE schedules SET paused_at = NULL, paused_by = NULL, updated_at = $2
 WHERE id = $1 AND paused_at IS NOT NULL;

-- name: schedule_considered
UPDATE schedules SET considered_to = $2, next_at = $3 WHERE id = $1;

-- name: schedule_postpone
UPDATE schedules SET next_at = $2 WHERE id = $1;

-- The schedule of a name; $1 is 0 for every org, which may have one each.
-- name: schedule_ids
-- scans: the short list of schedules, and only for a caller of every org
SELECT id FROM schedules WHERE org = $1 AND name = $2
UNION ALL
SELECT id FROM schedules WHERE $1 = 0 AND name = $2
ORDER BY 1 LIMIT 2;

-- name: schedule_load
SELECT s.id, s.org, o.org_id, o.disabled_at, s.name, s.source, s.job_type, s.payload, s.cron,
       s.every_us, s.timezone, s."coalesce", s.misfire_grace_us, s.max_instances, s.expected_us,
       s.catch_up, s.jitter_us, s.project_id, s.queue, s.policy, s.created_at, s.updated_at,
       s.paused_at, s.paused_by, s.removed_at, s.considered_to, s.next_at,
       (SELECT count(*) FROM job_runs r
         WHERE r.org = s.org AND r.job_name = s.name AND r.finished_at IS NULL),
       (SELECT count(DISTINCT r.submission) FROM job_runs r
         WHERE r.org = s.org AND r.job_name = s.name AND r.finished_at IS NULL
           AND r.scheduled_for <= $2),
       (SELECT count(*) FROM job_runs r
         WHERE r.org = s.org AND r.job_name = s.name AND r.finished_at IS NULL
           AND r.scheduled_for > $2)
  FROM schedules s
  JOIN orgs o ON o.id = s.org
 WHERE s.id = $1;

-- $1 is 0 for every org.
-- name: schedules_of_org
-- scans: the short list of schedules, and only for a caller of every org
SELECT id, name FROM schedules WHERE org = $1 AND name > $2 AND removed_at IS NULL
UNION ALL
SELECT id, name FROM schedules WHERE $1 = 0 AND name > $2 AND removed_at IS NULL
ORDER BY 2, 1 LIMIT $3;

-- name: schedules_of_source
-- scans: the short list of schedules, when a configuration is loaded
SELECT id FROM schedules WHERE source = $1 AND removed_at IS NULL;

-- name: schedules_due
SELECT id FROM schedules WHERE next_at <= $1 ORDER BY next_at LIMIT $2;

-- name: schedules_next
SELECT coalesce(min(next_at), 0) FROM schedules WHERE next_at IS NOT NULL;

-- ===== slots

-- The claim of a slot: whoever comes second changes nothing (SLOT-3).
-- name: run_claim
INSERT INTO job_runs (org, job_name, scheduled_for, started_at, status, worker_instance,
                      submission, stale_at)
VALUES ($1, $2, $3, $4, 'running', $5, $6, $7)
ON CONFLICT (org, job_name, scheduled_for) DO NOTHING;

-- name: run_job
UPDATE job_runs SET job = $4 WHERE org = $1 AND job_name = $2 AND scheduled_for = $3;

-- name: run_is_claimed
SELECT 1 FROM job_runs WHERE org = $1 AND job_name = $2 AND scheduled_for = $3;

-- name: run_started
UPDATE job_runs
   SET started_at = $2, stale_at = $3,
       worker_instance = (SELECT substr(CASE WHEN w.instance = '' THEN w.worker_id
                                             ELSE w.instance END, 1, 128)
                            FROM workers w WHERE w.id = $4)
 WHERE job = $1 AND finished_at IS NULL;

-- name: run_close
UPDATE job_runs SET status = $2, finished_at = $3, error_message = $4
 WHERE job = $1 AND finished_at IS NULL;

-- name: run_close_row
UPDATE job_runs SET status = $2, finished_at = $3, error_message = $4
 WHERE id = $1 AND finished_at IS NULL;

-- name: run_postpone
UPDATE job_runs SET stale_at = $2 WHERE id = $1 AND finished_at IS NULL;

-- name: runs_stale
SELECT id FROM job_runs WHERE finished_at IS NULL AND stale_at <= $1 ORDER BY stale_at LIMIT $2;

-- name: runs_stale_of
SELECT id FROM job_runs
 WHERE org = $1 AND job_name = $2 AND finished_at IS NULL AND stale_at <= $3 LIMIT $4;

-- name: run_stale_next
SELECT coalesce(min(stale_at), 0) FROM job_runs WHERE finished_at IS NULL;

-- When the turn of a slot came: now, while one that was claimed with it and before it is open; else
-- when the last of those that began ended. 0: none of them did, or it is the first.
-- name: run_turn
SELECT CASE WHEN EXISTS (SELECT 1 FROM job_runs b
                          WHERE b.org = r.org AND b.job_name = r.job_name
                            AND b.finished_at IS NULL AND b.submission = r.submission
                            AND b.scheduled_for < r.scheduled_for)
            THEN $2
            ELSE coalesce((SELECT max(b.finished_at) FROM job_runs b
                            WHERE b.org = r.org AND b.job_name = r.job_name
                              AND b.scheduled_for >= r.submission
                              AND b.scheduled_for < r.scheduled_for
                              AND b.submission = r.submission
                              AND EXISTS (SELECT 1 FROM executions e WHERE e.job = b.job)),
                          0) END
  FROM job_runs r WHERE r.id = $1;

-- name: run_job_of
SELECT coalesce(job, 0) FROM job_runs WHERE id = $1;

-- Rows of an instance whose job has ended, or that have none (SLOT-6).
-- name: runs_abandoned
SELECT r.id, r.org, r.job_name, r.scheduled_for FROM job_runs r
 WHERE r.finished_at IS NULL AND r.stale_at > 0 AND r.worker_instance = $1
   AND (r.job IS NULL OR EXISTS (SELECT 1 FROM outcomes x
                                  WHERE x.job = r.job AND x.ended_at IS NOT NULL))
 ORDER BY r.stale_at LIMIT $2;

-- name: runs_of_name
SELECT r.id, r.job_name, r.scheduled_for, r.started_at, r.finished_at, r.status,
       r.worker_instance, r.error_message, j.id, j.id_low
  FROM job_runs r
  LEFT JOIN jobs j ON j.id = r.job
 WHERE r.org = $1 AND r.job_name = $2 AND r.id < $3
 ORDER BY r.id DESC LIMIT $4;

-- One that was claimed by hand before its time is not skipped.
-- name: skip_insert
INSERT INTO slot_skips (org, job_name, scheduled_for, until, slots, reason, recorded_at)
SELECT $1, $2, $3, $4, $5, $6, $7
 WHERE NOT EXISTS (SELECT 1 FROM job_runs r
                    WHERE r.org = $1 AND r.job_name = $2 AND r.scheduled_for = $3 AND $3 = $4);

-- name: skips_of_name
SELECT id, job_name, scheduled_for, until, slots, reason, recorded_at
  FROM slot_skips
 WHERE org = $1 AND job_name = $2 AND id < $3
 ORDER BY id DESC LIMIT $4;

-- ===== artifacts

-- name: artifact_newest
SELECT coalesce(max(id), 0) FROM artifacts;

-- name: artifact_insert
INSERT INTO artifacts (id, id_low, org, project_id, file, sha256, bytes, content_type, name,
                       made_by, created_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11);

-- name: artifact_load
SELECT a.id, a.id_low, a.org, a.project_id, a.file, a.sha256, a.bytes, a.content_type, a.name,
       a.made_by, a.created_at, j.id, j.id_low, e.id, e.id_low, a.authoritative
  FROM artifacts a
  LEFT JOIN jobs j ON j.id = a.job
  LEFT JOIN executions e ON e.id = a.execution
 WHERE a.id = $1 AND a.id_low = $2 AND (a.org = $3 OR $3 = 0);

-- name: artifact_page
SELECT a.id, a.id_low, a.org, a.project_id, a.file, a.sha256, a.bytes, a.content_type, a.name,
       a.made_by, a.created_at, j.id, j.id_low, e.id, e.id_low, a.authoritative
  FROM artifacts a
  LEFT JOIN jobs j ON j.id = a.job
  LEFT JOIN executions e ON e.id = a.execution
 WHERE a.org = $1 AND a.id < $2
 ORDER BY a.id DESC LIMIT $3;

-- What a job's commit brought, oldest first.
-- name: artifacts_of_job
SELECT a.id, a.id_low, a.org, a.project_id, a.file, a.sha256, a.bytes, a.content_type, a.name,
       a.made_by, a.created_at, j.id, j.id_low, e.id, e.id_low, a.authoritative
  FROM artifacts a
  LEFT JOIN jobs j ON j.id = a.job
  LEFT JOIN executions e ON e.id = a.execution
 WHERE a.job = $1 AND a.job IS NOT NULL
 ORDER BY a.id;

-- One that the job may have as its output: of its org, of its project or none, and of no job yet.
-- name: artifact_take
UPDATE artifacts SET job = $3, execution = $4, authoritative = $5
 WHERE id = $1 AND id_low = $2 AND job IS NULL
   AND EXISTS (SELECT 1 FROM jobs j
                WHERE j.id = $3 AND j.org = artifacts.org
                  AND (artifacts.project_id IS NULL OR artifacts.project_id = j.project_id));

-- name: artifact_delete
DELETE FROM artifacts WHERE id = $1;

-- A job that works on it, or brought it, and has not ended.
-- name: artifact_needed_by
SELECT u.job, j.id_low
  FROM (SELECT i.job FROM artifact_inputs i WHERE i.artifact = $1
        UNION ALL
        SELECT a.job FROM artifacts a WHERE a.id = $1 AND a.job IS NOT NULL) u
  JOIN jobs j ON j.id = u.job
  LEFT JOIN outcomes o ON o.job = u.job
 WHERE o.ended_at IS NULL
 LIMIT 1;

-- Older than $1, and of no job that is there.
-- name: artifacts_unused
SELECT a.id, a.id_low, a.org, a.file FROM artifacts a
 WHERE a.job IS NULL AND a.created_at < $1
   AND NOT EXISTS (SELECT 1 FROM artifact_inputs i WHERE i.artifact = a.id)
 ORDER BY a.created_at, a.id LIMIT $2;

-- name: retention_artifacts_count
-- scans: once, when somebody asks what would go
SELECT count(*) FROM artifacts a
 WHERE a.job IS NULL AND a.created_at < $1
   AND NOT EXISTS (SELECT 1 FROM artifact_inputs i WHERE i.artifact = a.id);

-- name: artifact_has_file
SELECT count(*) FROM artifacts WHERE file = $1;

-- name: artifacts_leave_job
UPDATE artifacts SET job = NULL, execution = NULL WHERE job = $1 AND job IS NOT NULL;

-- name: artifact_input_insert
INSERT INTO artifact_inputs (job, artifact, artifact_low, org) VALUES ($1, $2, $3, $4)
ON CONFLICT (job, artifact) DO NOTHING;

-- name: artifact_inputs_delete
DELETE FROM artifact_inputs WHERE job = $1;

-- name: artifact_inputs_of_job
SELECT i.artifact, i.artifact_low, a.file, a.bytes, a.sha256
  FROM artifact_inputs i
  LEFT JOIN artifacts a ON a.id = i.artifact AND a.org = i.org
 WHERE i.job = $1;

-- name: job_authorized_by
SELECT authorized_by FROM jobs WHERE id = $1;

-- ===== explain

-- name: instance_any_alive
-- scans: the short list of processes
SELECT count(*) FROM (SELECT 1 FROM instances WHERE alive_until > $1 LIMIT 1) AS first;

-- What of its org a claim takes before the job of this place, the nearest first: $6 rows.
-- name: ready_lane_before
SELECT rank, project FROM ready
 WHERE queue = $1 AND type = $2 AND org = $3 AND (rank, job) < ($4, $5)
 ORDER BY rank DESC, job DESC LIMIT $6;

-- How many hold a job of this type from this queue now; $4 is 0 for every org.
-- name: executions_of_lane
-- scans: live executions only, by their own index
SELECT count(*) FROM executions
 WHERE finished_at IS NULL AND finish_at IS NULL AND lease_expires_at > $3
   AND queue = $1 AND type = $2 AND (org = $4 OR $4 = 0)
   AND ($5 IS NULL OR EXISTS (SELECT 1 FROM jobs j WHERE j.id = executions.job --sqlite
                                 AND instr($5, j.project_id) > 0)) --sqlite
   --postgres: AND ($5::text IS NULL OR EXISTS (SELECT 1 FROM jobs j WHERE j.id = executions.job AND strpos($5, j.project_id) > 0))
;

-- How many of the newest $6 executions are of this type and queue and began after $3.
-- name: executions_of_lane_newest
-- scans: so many rows from the end
SELECT count(*) FROM (SELECT n.queue, n.type, n.org, n.job, n.leased_at FROM executions n
                       ORDER BY n.id DESC LIMIT $6) e
 WHERE e.queue = $1 AND e.type = $2 AND e.leased_at > $3 AND (e.org = $4 OR $4 = 0)
   AND ($5 IS NULL OR EXISTS (SELECT 1 FROM jobs j WHERE j.id = e.job --sqlite
                                 AND instr($5, j.project_id) > 0)) --sqlite
   --postgres: AND ($5::text IS NULL OR EXISTS (SELECT 1 FROM jobs j WHERE j.id = e.job AND strpos($5, j.project_id) > 0))
;

-- Who waits longer for a serial key.
-- name: parked_serial_before
SELECT j.project_id FROM parked p
  JOIN jobs j ON j.id = p.job
 WHERE p.org = $1 AND p.serial_key = $2 AND p.job < $3
 ORDER BY p.job DESC LIMIT $4;

-- name: wait_limit_of_job
SELECT expires_at FROM wait_limits WHERE job = $1;

-- Who paused a whole queue last.
-- name: queue_paused_by
SELECT actor_id FROM audit_events
 WHERE subject = $1 AND org = 0 AND event = $2
 ORDER BY id DESC LIMIT 1;

-- How a job ended that no execution ended.
-- name: outcome_error
SELECT coalesce(execution, 0), error FROM outcomes WHERE job = $1;

-- The newest job that was made to do its work again.
-- name: job_made_again
SELECT id, id_low, origin, project_id FROM jobs
 WHERE parent = $1 AND parent IS NOT NULL AND origin <> 'follow_up'
 ORDER BY id DESC LIMIT 1;

-- name: run_of_job
SELECT job_name, scheduled_for FROM job_runs WHERE job = $1;

-- ===== the lead

-- name: leader_load
SELECT instance, boot_id, term, expires_at FROM leader WHERE name = 'scheduler';

-- name: leader_take
INSERT INTO leader (name, instance, boot_id, term, expires_at) VALUES ('scheduler', $1, $2, $3, $4)
ON CONFLICT (name) DO UPDATE
   SET instance = excluded.instance, boot_id = excluded.boot_id, term = excluded.term,
       expires_at = excluded.expires_at
 WHERE leader.term < excluded.term;

-- name: leader_renew
-- fleeting: after a power loss its leader is gone, and an older time says so
UPDATE leader SET expires_at = $3 WHERE name = 'scheduler' AND boot_id = $1 AND term = $2;

-- name: leader_leave
UPDATE leader SET expires_at = $3 WHERE name = 'scheduler' AND instance = $1 AND boot_id = $2;

-- ===== links

-- A job that may be named in `after`: in this org, if $3 is one.
-- name: link_target
SELECT j.project_id, x.state, x.failure_type
  FROM jobs j
  LEFT JOIN outcomes x ON x.job = j.id AND x.ended_at IS NOT NULL
 WHERE j.id = $1 AND j.id_low = $2 AND j.org = $3;

-- name: link_insert
INSERT INTO job_links (job, org, batch, batch_low, after_jobs, pending, doom)
VALUES ($1, $2, $3, $4, $5, $6, $7);

-- A job that somebody waits for from now on.
-- name: link_awaited
INSERT INTO job_links (job, org) VALUES ($1, $2) ON CONFLICT (job) DO NOTHING;

-- name: link_load
SELECT pending, after_jobs, batch, batch_low, doom FROM job_links WHERE job = $1;

-- name: link_doom
UPDATE job_links SET doom = $2 WHERE job = $1;

-- One of the jobs it waits for has succeeded: how many are left.
-- name: link_fulfil
UPDATE job_links SET pending = pending - 1,
       fulfilled_at = CASE WHEN pending = 1 THEN $2 ELSE fulfilled_at END
 WHERE job = $1 AND pending > 0;

-- name: wait_insert
INSERT INTO job_waits (awaited, job, org) VALUES ($1, $2, $3);

-- name: wait_delete
DELETE FROM job_waits WHERE awaited = $1 AND job = $2;

-- name: waits_delete_of
DELETE FROM job_waits WHERE job = $1;

-- name: waits_for
SELECT job FROM job_waits WHERE awaited = $1 ORDER BY job LIMIT $2;

-- What a job waits for, the oldest first.
-- name: waits_of
SELECT awaited FROM job_waits WHERE job = $1 ORDER BY awaited LIMIT $2;

-- Only if somebody waits for it.
-- name: ending_insert
INSERT INTO job_endings (job, org)
SELECT w.awaited, w.org FROM job_waits w WHERE w.awaited = $1 LIMIT 1;

-- name: ending_first
-- scans: its first row
SELECT e.job, j.id_low, x.state, x.failure_type
  FROM job_endings e
  JOIN jobs j ON j.id = e.job
  JOIN outcomes x ON x.job = e.job
 ORDER BY e.job LIMIT 1;

-- name: ending_delete
DELETE FROM job_endings WHERE job = $1;

-- ===== batches

-- name: batch_newest
SELECT coalesce(max(id), 0) FROM job_batches;

-- It counts as one of its jobs until it is made, so that it cannot end before.
-- name: batch_insert
INSERT INTO job_batches (id, id_low, org, project_id, name, idempotency_key, content, created_at,
                     actor_type, actor_id, request_id, correlation_id, jobs, callback_type,
                     callback_queue, callback_policy, callback_priority, callback_serial_key,
                     callback_payload)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, 1, $13, $14, $15, $16, $17, $18);

-- name: batch_of_key
SELECT id, id_low, content FROM job_batches
 WHERE org = $1 AND coalesce(project_id, '') = $2 AND idempotency_key = $3;

-- name: batch_load
SELECT b.id, b.id_low, b.org, o.org_id, b.project_id, b.name, b.idempotency_key, b.created_at,
       b.actor_type, b.actor_id, b.request_id, b.correlation_id, b.jobs, b.succeeded, b.failed,
       b.timed_out, b.ended_at, b.callback_type, b.callback_queue, b.callback_policy,
       b.callback_priority, b.callback_serial_key, b.callback_payload, j.id, j.id_low
  FROM job_batches b
  JOIN orgs o ON o.id = b.org
  LEFT JOIN jobs j ON j.id = b.callback_job
 WHERE b.id = $1 AND b.id_low = coalesce($2, b.id_low) AND b.org = coalesce($3, b.org);

-- name: batch_join
UPDATE job_batches SET jobs = jobs + $2 WHERE id = $1 AND ended_at IS NULL;

-- How many of its jobs have not ended.
-- name: batch_count
UPDATE job_batches SET succeeded = succeeded + $2, failed = failed + $3, timed_out = timed_out + $4
 WHERE id = $1
RETURNING jobs - succeeded - failed - timed_out;

-- name: batch_end
UPDATE job_batches SET ended_at = $2 WHERE id = $1 AND ended_at IS NULL;

-- name: batch_called_back
UPDATE job_batches SET callback_job = $2, callback_at = NULL WHERE id = $1 AND callback_job IS NULL;

-- name: batch_call_later
UPDATE job_batches SET callback_at = $2 WHERE id = $1 AND callback_job IS NULL;

-- name: batch_due
SELECT id FROM job_batches WHERE callback_at <= $1 ORDER BY callback_at LIMIT $2;

-- name: batch_next
SELECT coalesce(min(callback_at), 0) FROM job_batches WHERE callback_at IS NOT NULL;

-- name: job_page_batch
SELECT job FROM job_links WHERE batch = $1 AND job < $2 ORDER BY job DESC LIMIT $3;

-- ===== the file

-- name: file_check
-- scans: all of it: that is its purpose
SELECT integrity_check FROM pragma_integrity_check --sqlite
--postgres: SELECT 'ok'
;

-- The same without comparing indexes with their tables.
-- name: file_check_quick
-- scans: all of it: that is its purpose
SELECT quick_check FROM pragma_quick_check --sqlite
--postgres: SELECT 'ok'
;

-- name: file_pages
-- scans: two numbers of the file's first page
SELECT page_count, freelist_count FROM pragma_page_count, pragma_freelist_count --sqlite
--postgres: SELECT 0, 0
;

-- ===== doctor: how many there are before or after a time, and the time of one of them

-- name: doctor_leases
-- scans: live executions only, by their own index
SELECT count(*), min(lease_expires_at) FROM executions
 WHERE finished_at IS NULL AND finish_at IS NULL AND lease_expires_at < $1;

-- name: doctor_due
-- scans: the first thousand that are due
SELECT count(*), min(due_at)
  FROM (SELECT due_at FROM parked WHERE due_at IS NOT NULL AND due_at < $1
         ORDER BY due_at LIMIT 1000) AS few;

-- name: doctor_committed
-- scans: live executions only, by their own index
SELECT count(*), min(committed_at) FROM executions
 WHERE finished_at IS NULL AND status = 'COMMITTED' AND committed_at < $1;

-- name: doctor_schedules_due
SELECT count(*), min(next_at) FROM schedules WHERE next_at IS NOT NULL AND next_at < $1;

-- name: doctor_slots_stale
SELECT count(*), min(stale_at) FROM job_runs WHERE finished_at IS NULL AND stale_at < $1;

-- name: doctor_slots_missed
-- scans: the newest thousand skips
SELECT count(*), max(scheduled_for)
  FROM (SELECT reason, recorded_at, scheduled_for FROM slot_skips ORDER BY id DESC LIMIT 1000)
       AS newest
 WHERE reason = 'misfire' AND recorded_at > $1;

-- Those that end in the two weeks before a time.
-- name: doctor_keys
-- scans: the short list of keys
SELECT count(*), min(expires_at) FROM api_keys
 WHERE revoked_at IS NULL AND expires_at > $1 - 1209600000000 AND expires_at <= $1;

-- name: doctor_letters
-- scans: a thousand open letters at most
SELECT count(*), max(ended_at)
  FROM (SELECT ended_at FROM outcomes WHERE dead_letter = 'open' AND ended_at < $1 LIMIT 1000)
       AS few;

-- name: doctor_pauses
-- scans: the short lists of queues and pauses
SELECT count(*), min(paused_at)
  FROM (SELECT paused_at FROM queues WHERE paused_at < $1
         UNION ALL
        SELECT paused_at FROM queue_pauses WHERE paused_at < $1) AS few;

-- name: doctor_instances
-- scans: the short list of processes
SELECT instance, alive_until FROM instances
 WHERE alive_until > 0 ORDER BY alive_until DESC, instance LIMIT 100;

-- Types of which jobs are ready, nobody holds one, and nobody took one after $1 as far as the
-- newest executions tell: with their oldest job.
-- name: doctor_types_waiting
-- scans: the short lists of queues and types, live executions and the newest thousand
SELECT t.name, q.name, j.id, j.id_low
  FROM queues q
  JOIN job_types t ON true
  JOIN jobs j ON j.id = (SELECT r.job FROM ready r WHERE r.queue = q.id AND r.type = t.id
                          ORDER BY r.org, r.rank, r.job LIMIT 1)
 WHERE q.paused_at IS NULL
   AND NOT EXISTS (SELECT 1 FROM executions e
                    WHERE e.finished_at IS NULL AND e.finish_at IS NULL AND e.type = t.id)
   AND NOT EXISTS (SELECT 1 FROM (SELECT type, leased_at FROM executions
                                   ORDER BY id DESC LIMIT 1000) AS n
                    WHERE n.type = t.id AND n.leased_at > $1)
 LIMIT 5;
-- ===== seals

-- name: seal_newest
SELECT seal, first_id, last_id, events, newest_at, sealed_at, contents, hash, marks, pruned_at
  FROM audit_seals WHERE seal = (SELECT max(seal) FROM audit_seals);

-- name: seal_load
SELECT seal, first_id, last_id, events, newest_at, sealed_at, contents, hash, marks, pruned_at
  FROM audit_seals WHERE seal = $1;

-- name: seals_after
SELECT seal, first_id, last_id, events, newest_at, sealed_at, contents, hash, marks, pruned_at
  FROM audit_seals WHERE seal > $1 ORDER BY seal LIMIT $2;

-- name: seal_insert
INSERT INTO audit_seals (seal, first_id, last_id, events, newest_at, sealed_at, contents, hash,
                         marks)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9);

-- name: seal_of_hash
-- scans: the seals, a short row for 500 events, when somebody compares a hash that was kept
SELECT seal FROM audit_seals WHERE hash = $1;

-- name: seals_total
-- scans: the seals, a short row for 500 events, for the progress bar
SELECT coalesce(sum(events), 0) FROM audit_seals WHERE pruned_at IS NULL;

-- Whatever is not sealed yet.
-- name: audit_unsealed
SELECT count(*) FROM audit_events WHERE id > $1;

-- Whether an event of this kind is about this subject, and where.
-- name: audit_of_subject
SELECT id FROM audit_events WHERE subject = $1 AND event = $2 AND org = 0
 ORDER BY id DESC LIMIT 1;

-- name: seal_newest_pruned
SELECT seal, first_id, last_id, events, newest_at, sealed_at, contents, hash, marks, pruned_at
  FROM audit_seals WHERE seal = (SELECT max(seal) FROM audit_seals WHERE pruned_at IS NOT NULL);

-- The first event from an id on.
-- name: audit_from
SELECT id, at FROM audit_events WHERE id >= $1 ORDER BY id LIMIT 1;

-- The seal over an event, which is not before the seal $1.
-- name: seal_over
SELECT seal, first_id, last_id, events, newest_at, sealed_at, contents, hash, marks, pruned_at
  FROM audit_seals WHERE seal >= $1 AND last_id >= $2 ORDER BY seal LIMIT 1;

-- ===== retention

-- Ended jobs after the job $1, a bounded number of them, and whether each may go: it ended before
-- $3, as a closed dead letter before $4, its key is free, and no job that is there was made of it.
-- name: retention_jobs
SELECT x.job,
       CASE WHEN x.ended_at IS NOT NULL AND x.dead_letter IS DISTINCT FROM 'open'
             AND ((x.dead_letter IS NULL AND x.ended_at <= $3)
               OR (x.dead_letter IS NOT NULL AND x.ended_at <= $4))
             AND p.key_ttl_us <= $5 - j.created_at
             AND NOT EXISTS (SELECT 1 FROM jobs c WHERE c.parent = x.job)
             AND NOT EXISTS (SELECT 1 FROM job_waits w WHERE w.awaited = x.job)
             AND NOT EXISTS (SELECT 1 FROM job_endings n WHERE n.job = x.job)
             AND NOT EXISTS (SELECT 1 FROM job_batches b WHERE b.callback_job = x.job)
             AND NOT EXISTS (SELECT 1 FROM job_links l JOIN job_batches b ON b.id = l.batch
                              WHERE l.job = x.job AND b.ended_at IS NULL) THEN 1 ELSE 0 END
  FROM outcomes x
  LEFT JOIN jobs j ON j.id = x.job
  LEFT JOIN policies p ON p.id = j.policy
 WHERE x.job > $1 AND x.job < $2
 ORDER BY x.job LIMIT $6;

-- name: removed_insert
INSERT INTO removed_jobs (id, id_low, org, type, project_id, actor_type, actor_id, request_id,
                          correlation_id, removed_at)
SELECT id, id_low, org, type, project_id, actor_type, actor_id, request_id, correlation_id, $2
  FROM jobs WHERE id = $1;

-- What links it to others. Of a job that retention removes nobody waits; of an org that is erased
-- all go.
-- name: removed_waits
DELETE FROM job_waits WHERE job = $1 OR awaited = $1;

-- name: removed_ending
DELETE FROM job_endings WHERE job = $1;

-- name: removed_link
DELETE FROM job_links WHERE job = $1;

-- name: removed_callback
UPDATE job_batches SET callback_job = NULL, callback_type = NULL WHERE callback_job = $1;

-- Lines of the log of one job, a bounded number of them.
-- name: removed_logs
DELETE FROM execution_logs
 WHERE job = $1
   AND seq <= (SELECT max(l.seq) FROM (SELECT seq FROM execution_logs WHERE job = $1
                                        ORDER BY seq LIMIT $2) l);

-- name: removed_steps
DELETE FROM steps WHERE job = $1;

-- name: removed_change
DELETE FROM changes WHERE job = $1;

-- name: removed_wait_limit
DELETE FROM wait_limits WHERE job = $1;

-- name: removed_slot
DELETE FROM job_runs WHERE job = $1 AND finished_at IS NOT NULL;

-- name: removed_erasure
DELETE FROM erasures WHERE job = $1;

-- name: removed_job
DELETE FROM jobs WHERE id = $1;

-- name: removed_executions
DELETE FROM executions WHERE job = $1;

-- name: removed_outcome
DELETE FROM outcomes WHERE job = $1;

-- The next job after $1 that has a log, and when it ended.
-- name: retention_log
SELECT l.job, coalesce(x.ended_at, 0)
  FROM execution_logs l
  LEFT JOIN outcomes x ON x.job = l.job
 WHERE l.job > $1 ORDER BY l.job LIMIT 1;

-- Of the oldest slots that were skipped, a bounded number, those recorded before $1.
-- name: retention_skips_count
-- scans: once, when somebody asks what would go
SELECT count(*) FROM (SELECT recorded_at FROM slot_skips WHERE id > $2 ORDER BY id LIMIT $3) s
 WHERE s.recorded_at <= $1;

-- name: retention_skips
-- scans: so many of the oldest
DELETE FROM slot_skips
 WHERE recorded_at <= $1
   AND id <= (SELECT max(s.id) FROM (SELECT id FROM slot_skips ORDER BY id LIMIT $2) s);

-- Batches that ended before $1 and of which no job is left, a bounded number.
-- name: retention_batches
-- scans: batches, once
DELETE FROM job_batches
 WHERE id IN (SELECT b.id FROM job_batches b
               WHERE b.ended_at <= $1 AND b.callback_at IS NULL
                 AND NOT EXISTS (SELECT 1 FROM job_links l WHERE l.batch = b.id)
               ORDER BY b.id LIMIT $2);

-- name: org_batches_delete
-- scans: batches, once for an org
DELETE FROM job_batches WHERE org = $1;

-- name: org_artifacts_delete
DELETE FROM artifacts WHERE org = $1;

-- name: seal_prune
UPDATE audit_seals SET pruned_at = $2, marks = NULL WHERE seal = $1 AND pruned_at IS NULL;

-- The events of a seal that was pruned.
-- name: audit_prune
DELETE FROM audit_events WHERE id > $1 AND id <= $2;

-- Removed jobs of which no event is left: $1 is the time up to which events were pruned.
-- name: forgotten_note
-- scans: a table of one row, and so many of the oldest
UPDATE forgotten_jobs
   SET newest = (SELECT coalesce(max(f.id), 0)
                   FROM (SELECT newest AS id FROM forgotten_jobs
                         UNION ALL
                         SELECT * FROM (SELECT r.id FROM removed_jobs r WHERE r.removed_at < $1
                                         ORDER BY r.removed_at, r.id LIMIT $2) o) f);

-- name: forgotten_delete
DELETE FROM removed_jobs
 WHERE id IN (SELECT r.id FROM removed_jobs r WHERE r.removed_at < $1
               ORDER BY r.removed_at, r.id LIMIT $2);

-- ===== erasing

-- name: erasure_begin
INSERT INTO erasures (job, org, erased_at, under_way) VALUES ($1, $2, $3, 1)
ON CONFLICT (job) DO NOTHING;

-- name: erase_payload
UPDATE jobs SET payload = $2 WHERE id = $1;

-- name: erase_outcome
UPDATE outcomes SET result = NULL, error = CASE WHEN error IS NOT NULL THEN $2 END
 WHERE job = $1;

-- name: erase_executions
UPDATE executions
   SET error_message = CASE WHEN error_message IS NOT NULL THEN $2 END, error_detail = NULL,
       progress_message = NULL
 WHERE job = $1;

-- name: erase_steps
UPDATE steps
   SET result = CASE WHEN result IS NOT NULL THEN 'null' END,
       error_message = CASE WHEN error_message IS NOT NULL THEN $2 END
 WHERE job = $1;

-- name: erase_logs
DELETE FROM execution_logs WHERE job = $1;

-- name: erase_slot
UPDATE job_runs SET error_message = $2 WHERE job = $1 AND error_message IS NOT NULL;

-- name: erasure_end
UPDATE erasures SET under_way = 0 WHERE job = $1;

-- name: org_enable
UPDATE orgs SET disabled_at = NULL WHERE id = $1 AND disabled_at IS NOT NULL;

-- name: org_running
-- scans: live executions only, by their own index
SELECT count(*) FROM executions WHERE finished_at IS NULL AND org = $1;

-- The newest jobs before $1 and whose they are, a bounded number of them.
-- name: org_job_page
SELECT id, org FROM jobs WHERE id < $1 ORDER BY id DESC LIMIT $2;

-- name: org_keys_unname
UPDATE api_keys SET name = NULL WHERE org = $1 AND name IS NOT NULL;

-- name: org_schedules_delete
DELETE FROM schedules WHERE org = $1;

-- name: org_runs_delete
DELETE FROM job_runs WHERE org = $1;

-- name: org_skips_delete
DELETE FROM slot_skips WHERE org = $1;

-- name: org_erased
UPDATE orgs SET erased_at = $2 WHERE id = $1;

-- ===== limits

-- name: limit_load
SELECT max_running, rate, per_us, burst, on_rate_limited, pause_us, set_by, set_at
  FROM job_limits WHERE scope = $1 AND subject = $2;

-- name: limit_page
SELECT scope, subject, max_running, rate, per_us, burst, on_rate_limited, pause_us, set_by, set_at
  FROM job_limits WHERE (scope, subject) > ($1, $2) ORDER BY scope, subject LIMIT $3;

-- name: limit_put
INSERT INTO job_limits (scope, subject, max_running, rate, per_us, burst, on_rate_limited,
                        pause_us, set_by, set_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
ON CONFLICT (scope, subject) DO UPDATE SET max_running = excluded.max_running,
  rate = excluded.rate, per_us = excluded.per_us, burst = excluded.burst,
  on_rate_limited = excluded.on_rate_limited, pause_us = excluded.pause_us,
  set_by = excluded.set_by, set_at = excluded.set_at;

-- name: limit_remove
DELETE FROM job_limits WHERE scope = $1 AND subject = $2;

-- What runs of a scope, and since when the oldest does.
-- name: limit_live_of_queue
SELECT count(*), min(e.leased_at) FROM job_limit_holds h
  JOIN executions e ON e.job = h.job AND e.finished_at IS NULL
 WHERE h.queue = $1;

-- name: limit_live_of_type
SELECT count(*), min(e.leased_at) FROM job_limit_holds h
  JOIN executions e ON e.job = h.job AND e.finished_at IS NULL
 WHERE h.type = $1;

-- name: limit_live_of_org
SELECT count(*), min(e.leased_at) FROM job_limit_holds h
  JOIN executions e ON e.job = h.job AND e.finished_at IS NULL
 WHERE h.org = $1;

-- name: limit_live_of_key
SELECT count(*), min(e.leased_at) FROM job_limit_holds h
  JOIN executions e ON e.job = h.job AND e.finished_at IS NULL
 WHERE h.type = $1 AND h.org = $2 AND h.limit_key = $3;

-- name: limit_hold
INSERT INTO job_limit_holds (job, queue, type, org, limit_key) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (job) DO UPDATE SET queue = excluded.queue;

-- name: limit_hold_end
DELETE FROM job_limit_holds WHERE job = $1 RETURNING limit_key;

-- A limit that is new counts what runs already.
-- name: limit_hold_all
-- scans: what is live, when a limit is set
INSERT INTO job_limit_holds (job, queue, type, org, limit_key)
SELECT e.job, e.queue, e.type, e.org, coalesce(j.limit_key, '')
  FROM executions e JOIN jobs j ON j.id = e.job
 WHERE e.finished_at IS NULL
ON CONFLICT (job) DO NOTHING;

-- name: limit_holds_tidy
-- scans: what was live under a limit, when a limit is set
DELETE FROM job_limit_holds
 WHERE NOT EXISTS (SELECT 1 FROM executions e
                    WHERE e.job = job_limit_holds.job AND e.finished_at IS NULL);

-- name: bucket_load
SELECT full_at FROM job_limit_buckets
 WHERE scope = $1 AND subject = $2 AND org = $3 AND limit_key = $4;

-- name: bucket_put
INSERT INTO job_limit_buckets (scope, subject, org, limit_key, full_at)
VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (scope, subject, org, limit_key) DO UPDATE SET full_at = excluded.full_at;

-- name: bucket_wake
INSERT INTO job_limit_buckets (scope, subject, org, limit_key, full_at, wake_at)
VALUES (3, $1, $2, $3, $4, $5)
ON CONFLICT (scope, subject, org, limit_key) DO UPDATE SET full_at = excluded.full_at,
  wake_at = excluded.wake_at;

-- name: bucket_wake_now
UPDATE job_limit_buckets SET wake_at = $4
 WHERE scope = 3 AND subject = $1 AND org = $2 AND limit_key = $3 AND wake_at IS NOT NULL;

-- Every key of a type that jobs wait for.
-- name: bucket_wake_all
INSERT INTO job_limit_buckets (scope, subject, org, limit_key, full_at, wake_at)
SELECT DISTINCT 3, w.type, w.org, w.limit_key, 0, CAST($2 AS BIGINT)
  FROM job_limit_waits w WHERE w.type = $1
ON CONFLICT (scope, subject, org, limit_key) DO UPDATE SET wake_at = excluded.wake_at;

-- name: bucket_due
SELECT subject, org, limit_key FROM job_limit_buckets
 WHERE wake_at <= $1 ORDER BY wake_at LIMIT $2;

-- name: bucket_next
SELECT coalesce(min(wake_at), 0) FROM job_limit_buckets WHERE wake_at > $1;

-- A bucket that is full says nothing.
-- name: buckets_tidy
DELETE FROM job_limit_buckets
 WHERE (scope, subject, org, limit_key) IN
       (SELECT scope, subject, org, limit_key FROM job_limit_buckets
         WHERE scope = 3 AND full_at < $1 AND wake_at IS NULL ORDER BY full_at LIMIT $2);

-- name: limit_wait_insert
INSERT INTO job_limit_waits (job, type, org, limit_key) VALUES ($1, $2, $3, $4);

-- name: limit_wait_delete
DELETE FROM job_limit_waits WHERE job = $1;

-- name: limit_wait_of_job
SELECT count(*) FROM job_limit_waits WHERE job = $1;

-- name: limit_waits_of_key
SELECT job FROM job_limit_waits
 WHERE type = $1 AND org = $2 AND limit_key = $3 ORDER BY job LIMIT $4;

-- name: type_pauses
-- scans: a row for each pause that is on, or was of late
SELECT type, org, since, until FROM job_type_pauses WHERE until > $1;

-- name: type_pause_load
SELECT since, until FROM job_type_pauses WHERE type = $1 AND org = $2 AND until > $3;

-- name: type_pause_put
INSERT INTO job_type_pauses (type, org, since, until) VALUES ($1, $2, $3, $4)
ON CONFLICT (type, org) DO UPDATE SET since = excluded.since, until = excluded.until;

-- name: type_pause_end
DELETE FROM job_type_pauses WHERE type = $1 AND org = $2;

-- name: type_pauses_end
DELETE FROM job_type_pauses WHERE type = $1;

-- name: type_pauses_tidy
-- scans: a row for each pause that is on, or was of late
DELETE FROM job_type_pauses WHERE until <= $1;
