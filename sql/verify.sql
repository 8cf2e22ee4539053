-- The invariants of a store: each query answers (job, what is wrong) for what breaks its sentence.
--
-- The name says how it is run, in pages, by engine/verify.c:
--   verify_store_…   once
--   verify_job_…     $1 < key of a job <= $2; the pages together cover all numbers, so that a
--                    record of a job that does not exist is found as well
--   verify_ready_…   ($1, …, $5) < key of a row in `ready` <= ($6, …, $10)
--   verify_key_…     $1 < slot of an idempotency key <= $2
--   verify_artifact_… $1 < key of an artifact <= $2
--   verify_seal_…    $1 < number of a seal <= $2
-- What needs the rules of the model (states, tallies, verdicts, the audit trail, hashes) is checked
-- there in C, from the rows that the queries without an invariant, at the end, answer.

-- ===== the store

-- name: verify_store_file
-- invariant: the database file is sound, or the server keeps none of a lane's places from a claim
-- scans: the file itself, once; on a server the first place of each lane
SELECT 0, quick_check FROM pragma_quick_check WHERE quick_check <> 'ok' --sqlite
--postgres: WITH RECURSIVE lanes AS (
--postgres:   (SELECT queue, type, org, rank, job FROM ready
--postgres:     ORDER BY queue, type, org, rank, job LIMIT 1)
--postgres:   UNION ALL
--postgres:   SELECT n.* FROM lanes l CROSS JOIN LATERAL (
--postgres:     SELECT r.queue, r.type, r.org, r.rank, r.job FROM ready r
--postgres:      WHERE (r.queue, r.type, r.org) > (l.queue, l.type, l.org)
--postgres:      ORDER BY r.queue, r.type, r.org, r.rank, r.job LIMIT 1) n)
--postgres: SELECT l.job, 'its place is not behind the floor of its lane' FROM lanes l
--postgres:   LEFT JOIN LATERAL (SELECT f.id, f.rank, f.job FROM ready_floors f
--postgres:     WHERE f.queue = l.queue AND f.type = l.type AND f.org = l.org
--postgres:     ORDER BY f.id DESC LIMIT 1) f ON true
--postgres:  WHERE f.id IS NULL OR (l.rank, l.job) <= (f.rank, f.job)
;

-- name: verify_store_secret
-- invariant: a store that has jobs has the secret that finds their idempotency keys
-- scans: both look-ups end at the first row
SELECT 0, 'the table `store` has no secret of 32 digits'
 WHERE EXISTS (SELECT 1 FROM jobs)
   AND NOT EXISTS (SELECT 1 FROM store WHERE length(secret) = 32);

-- name: verify_store_policy
-- invariant: the terms of a policy are within their bounds
-- scans: a short table
SELECT 0, 'policy ' || id || ', ' || name
  FROM policies
 WHERE max_attempts < 1 OR step_attempts < 1 OR base_us < 0 OR delay_us_max < base_us
    OR timeout_us <= 0 OR lease_us <= 0 OR key_ttl_us < 0 OR exponential NOT IN (0, 1)
    OR jitter NOT IN (0, 1) OR on_crash NOT IN (0, 1) OR on_timeout NOT IN (0, 1, 2)
    OR dead_letter NOT IN (0, 1);

-- name: verify_store_generation
-- invariant: the newest generation of idempotency keys takes records, and no other
-- scans: a short table
SELECT 0, 'generation ' || g.generation
  FROM idempotency_generations g
 WHERE (g.sweep_at IS NULL)
       <> (g.generation = (SELECT max(n.generation) FROM idempotency_generations n))
UNION ALL
SELECT 0, 'there is no generation'
 WHERE NOT EXISTS (SELECT 1 FROM idempotency_generations);

-- name: verify_store_counts
-- invariant: the numbers of jobs in the places of a queue are those of the records
-- scans: what waits and what runs, once, in one snapshot
WITH places (org, queue, place) AS (
  SELECT org, queue, 'ready' FROM ready
  UNION ALL
  SELECT p.org, coalesce(c.queue, j.queue), p.reason
    FROM parked p
    JOIN jobs j ON j.id = p.job
    LEFT JOIN changes c ON c.job = p.job
  UNION ALL
  SELECT org, queue, 'running' FROM executions WHERE finished_at IS NULL),
counted (org, queue, ready, delayed, blocked, held, backoff, running) AS (
  SELECT org, queue, -ready, -delayed, -blocked, -held, -backoff, -running FROM queue_counts
  UNION ALL
  SELECT d.value ->> 0, d.value ->> 1, -(d.value ->> 2), -(d.value ->> 3), --sqlite
         -(d.value ->> 4), -(d.value ->> 5), -(d.value ->> 6), -(d.value ->> 7) --sqlite
    FROM count_deltas c, json_each(c.changes) d --sqlite
  --postgres: SELECT (d ->> 0)::bigint, (d ->> 1)::bigint, -(d ->> 2)::bigint, -(d ->> 3)::bigint, -(d ->> 4)::bigint, -(d ->> 5)::bigint, -(d ->> 6)::bigint, -(d ->> 7)::bigint FROM count_deltas c, jsonb_array_elements(c.changes::jsonb) d
  UNION ALL
  SELECT 0, d.value ->> 1, -(d.value ->> 2), -(d.value ->> 3), -(d.value ->> 4), --sqlite
         -(d.value ->> 5), -(d.value ->> 6), -(d.value ->> 7) --sqlite
    FROM count_deltas c, json_each(c.changes) d --sqlite
  --postgres: SELECT 0, (d ->> 1)::bigint, -(d ->> 2)::bigint, -(d ->> 3)::bigint, -(d ->> 4)::bigint, -(d ->> 5)::bigint, -(d ->> 6)::bigint, -(d ->> 7)::bigint FROM count_deltas c, jsonb_array_elements(c.changes::jsonb) d
  UNION ALL
  SELECT org, queue, count(*) FILTER (WHERE place = 'ready'),
         count(*) FILTER (WHERE place = 'delayed'), count(*) FILTER (WHERE place = 'blocked'),
         count(*) FILTER (WHERE place = 'held'), count(*) FILTER (WHERE place = 'backoff'),
         count(*) FILTER (WHERE place = 'running')
    FROM places GROUP BY org, queue
  UNION ALL
  SELECT 0, queue, count(*) FILTER (WHERE place = 'ready'),
         count(*) FILTER (WHERE place = 'delayed'), count(*) FILTER (WHERE place = 'blocked'),
         count(*) FILTER (WHERE place = 'held'), count(*) FILTER (WHERE place = 'backoff'),
         count(*) FILTER (WHERE place = 'running')
    FROM places GROUP BY queue)
SELECT 0, 'org ' || org || ', queue ' || queue || ': ready, delayed, blocked, held, backoff, '
          || 'running are off by ' || -sum(ready) || ', ' || -sum(delayed) || ', '
          || -sum(blocked) || ', ' || -sum(held) || ', ' || -sum(backoff) || ', ' || -sum(running)
  FROM counted
 GROUP BY org, queue
HAVING sum(ready) <> 0 OR sum(delayed) <> 0 OR sum(blocked) <> 0 OR sum(held) <> 0
    OR sum(backoff) <> 0 OR sum(running) <> 0;

-- name: verify_store_event
-- invariant: an audit event without a job says what it is about and who did it, and is of no job
SELECT 0, 'event ' || a.id || ' of kind ' || a.event
  FROM audit_events a
 WHERE a.job IS NULL
   AND (a.subject IS NULL OR a.actor_type IS NULL OR a.actor_id IS NULL OR a.attempt <> 0
     OR a.actor_type NOT BETWEEN 0 AND 2
     OR NOT EXISTS (SELECT 1 FROM audit_event_names n
                     WHERE n.event = a.event AND n.name NOT LIKE 'job.%'
                       AND n.name NOT LIKE 'step.%')
     OR (a.org <> 0 AND NOT EXISTS (SELECT 1 FROM orgs o WHERE o.id = a.org)));

-- name: verify_store_key
-- invariant: an API key has an org, a known role and a hash, and the audit trail tells of it, once
-- scans: a short table
SELECT 0, 'key ' || k.key_id
  FROM api_keys k
 WHERE NOT EXISTS (SELECT 1 FROM orgs o WHERE o.id = k.org)
    OR k.role NOT IN ('producer', 'worker', 'viewer', 'operator', 'admin')
    OR length(k.key_id) <> 10 OR length(k.hash) <> 64
    OR (k.created_at > (SELECT at FROM audit_pruned)
        AND 1 <> (SELECT count(*) FROM audit_events a
                    JOIN audit_event_names n ON n.event = a.event
                   WHERE a.subject = 'key:' || k.key_id AND a.org = k.org
                     AND n.name = 'key.created' AND a.at = k.created_at))
    OR (coalesce(k.revoked_at, k.created_at) > (SELECT at FROM audit_pruned)
        AND coalesce(k.revoked_at, 0) <> (SELECT coalesce(sum(a.at), 0) FROM audit_events a
                                       JOIN audit_event_names n ON n.event = a.event
                                      WHERE a.subject = 'key:' || k.key_id AND a.org = k.org
                                        AND n.name = 'key.revoked'));

-- ===== what belongs together

-- name: verify_job_id
-- invariant: ids of jobs and executions are the two halves of a UUIDv7: 60 bits and 62 bits
SELECT j.id, 'job, low half ' || j.id_low
  FROM jobs j
 WHERE j.id > $1 AND j.id <= $2
   AND (j.id NOT BETWEEN 1 AND 1152921504606846975
     OR j.id_low NOT BETWEEN 0 AND 4611686018427387903)
UNION ALL
SELECT e.job, 'execution ' || e.id || ', low half ' || e.id_low
  FROM executions e
 WHERE e.job > $1 AND e.job <= $2
   AND (e.id NOT BETWEEN 1 AND 1152921504606846975
     OR e.id_low NOT BETWEEN 0 AND 4611686018427387903);

-- name: verify_job_refers
-- invariant: a job's org, type, queue and policy exist
SELECT j.id, 'org ' || j.org || ', type ' || j.type || ', queue ' || j.queue || ', policy '
             || j.policy
  FROM jobs j
 WHERE j.id > $1 AND j.id <= $2
   AND (NOT EXISTS (SELECT 1 FROM orgs o WHERE o.id = j.org)
     OR NOT EXISTS (SELECT 1 FROM job_types t WHERE t.id = j.type)
     OR NOT EXISTS (SELECT 1 FROM queues q WHERE q.id = j.queue)
     OR NOT EXISTS (SELECT 1 FROM policies p WHERE p.id = j.policy));

-- name: verify_job_contract
-- invariant: a job says who asked for it, and its priority and max_wait are within their bounds
SELECT j.id, 'actor ' || j.actor_type || ' ' || j.actor_id || ', priority ' || j.priority
  FROM jobs j
 WHERE j.id > $1 AND j.id <= $2
   AND (j.actor_type NOT BETWEEN 0 AND 2 OR j.actor_id = '' OR j.request_id = ''
     OR j.correlation_id = '' OR j.idempotency_key = '' OR j.serial_key = ''
     OR j.priority NOT BETWEEN -100 AND 100 OR j.max_wait_us <= 0);

-- name: verify_job_exists
-- invariant: every record of a job belongs to a job that exists
SELECT c.job, 'changes' FROM changes c
 WHERE c.job > $1 AND c.job <= $2 AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.id = c.job)
UNION ALL
SELECT p.job, 'parked' FROM parked p
 WHERE p.job > $1 AND p.job <= $2 AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.id = p.job)
UNION ALL
SELECT w.job, 'wait_limits' FROM wait_limits w
 WHERE w.job > $1 AND w.job <= $2 AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.id = w.job)
UNION ALL
SELECT e.job, 'executions, attempt ' || e.attempt FROM executions e
 WHERE e.job > $1 AND e.job <= $2 AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.id = e.job)
UNION ALL
SELECT x.job, 'outcomes' FROM outcomes x
 WHERE x.job > $1 AND x.job <= $2 AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.id = x.job)
UNION ALL
SELECT s.job, 'steps, ' || s.name FROM steps s
 WHERE s.job > $1 AND s.job <= $2 AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.id = s.job)
UNION ALL
SELECT a.job, 'audit_events, ' || a.id FROM audit_events a
 WHERE a.job > $1 AND a.job <= $2 AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.id = a.job)
   AND NOT EXISTS (SELECT 1 FROM removed_jobs r WHERE r.id = a.job);

-- name: verify_job_org
-- invariant: every record of a job carries the org of the job
SELECT c.job, 'changes' FROM changes c JOIN jobs j ON j.id = c.job
 WHERE c.job > $1 AND c.job <= $2 AND j.org <> c.org
UNION ALL
SELECT p.job, 'parked' FROM parked p JOIN jobs j ON j.id = p.job
 WHERE p.job > $1 AND p.job <= $2 AND j.org <> p.org
UNION ALL
SELECT w.job, 'wait_limits' FROM wait_limits w JOIN jobs j ON j.id = w.job
 WHERE w.job > $1 AND w.job <= $2 AND j.org <> w.org
UNION ALL
SELECT e.job, 'executions, attempt ' || e.attempt FROM executions e JOIN jobs j ON j.id = e.job
 WHERE e.job > $1 AND e.job <= $2 AND j.org <> e.org
UNION ALL
SELECT x.job, 'outcomes' FROM outcomes x JOIN jobs j ON j.id = x.job
 WHERE x.job > $1 AND x.job <= $2 AND j.org <> x.org
UNION ALL
SELECT s.job, 'steps, ' || s.name FROM steps s JOIN jobs j ON j.id = s.job
 WHERE s.job > $1 AND s.job <= $2 AND j.org <> s.org
UNION ALL
SELECT a.job, 'audit_events, ' || a.id FROM audit_events a JOIN jobs j ON j.id = a.job
 WHERE a.job > $1 AND a.job <= $2 AND j.org <> a.org;

-- name: verify_job_parent
-- invariant: a job made from another is of the same org and came later
SELECT j.id, coalesce(j.origin, 'nothing') || ' of ' || coalesce(CAST(j.parent AS TEXT), 'nothing')
  FROM jobs j
  LEFT JOIN jobs p ON p.id = j.parent AND p.org = j.org AND p.id < j.id
 WHERE j.id > $1 AND j.id <= $2
   AND ((j.parent IS NULL) <> (j.origin IS NULL) OR (j.parent IS NOT NULL AND p.id IS NULL)
     OR j.origin NOT IN ('retry', 'replay', 'fix', 'follow_up'));

-- name: verify_job_parent_ended
-- invariant: follow-ups exist because their parent committed, retries because it had ended
SELECT j.id, j.origin || ' of ' || j.parent
  FROM jobs j
  LEFT JOIN outcomes x ON x.job = j.parent
 WHERE j.id > $1 AND j.id <= $2 AND j.parent IS NOT NULL
   AND j.created_at < coalesce(CASE j.origin WHEN 'follow_up' THEN x.committed_at
                                             ELSE x.ended_at END, 9223372036854775807);

-- name: verify_job_change
-- invariant: a changed job says so in its audit trail, and its new queue and priority are valid
-- scans: the newest pruned seal, one row
SELECT c.job, 'queue ' || c.queue || ', priority ' || c.priority
  FROM changes c
  LEFT JOIN jobs j ON j.id = c.job
 WHERE c.job > $1 AND c.job <= $2
   AND (c.priority NOT BETWEEN -100 AND 100
     OR NOT EXISTS (SELECT 1 FROM queues q WHERE q.id = c.queue)
     OR (j.created_at > (SELECT at FROM audit_pruned)  -- the events of older ones may be gone
         AND NOT EXISTS (SELECT 1 FROM audit_events a
                           JOIN audit_event_names n ON n.event = a.event
                          WHERE a.job = c.job AND n.name = 'job.changed')));

-- ===== executions

-- name: verify_job_execution_refers
-- invariant: an execution has its job's type, policy and serial key, and a worker of its org
SELECT e.job, 'attempt ' || e.attempt
  FROM executions e
  JOIN jobs j ON j.id = e.job
  LEFT JOIN changes c ON c.job = e.job
  LEFT JOIN workers w ON w.id = e.worker AND w.org IN (0, e.org)
 WHERE e.job > $1 AND e.job <= $2
   AND (e.type <> j.type OR e.policy <> j.policy
     OR e.serial_key IS DISTINCT FROM CASE WHEN e.finished_at IS NULL THEN j.serial_key END
     OR w.id IS NULL OR NOT EXISTS (SELECT 1 FROM queues q WHERE q.id = e.queue)
     OR (e.finished_at IS NULL AND e.queue <> coalesce(c.queue, j.queue)));

-- name: verify_job_attempts
-- invariant: the attempts of a job are numbered from 1 without a gap
SELECT e.job, count(*) || ' executions, attempts ' || min(e.attempt) || ' to ' || max(e.attempt)
  FROM executions e
 WHERE e.job > $1 AND e.job <= $2
 GROUP BY e.job
HAVING min(e.attempt) <> 1 OR max(e.attempt) <> count(*);

-- name: verify_job_one_commit
-- invariant: at most one execution of a job has committed
SELECT e.job, count(*) || ' are COMMITTED or DONE'
  FROM executions e
 WHERE e.job > $1 AND e.job <= $2 AND e.status IN ('COMMITTED', 'DONE')
 GROUP BY e.job
HAVING count(*) > 1;

-- name: verify_job_one_live
-- invariant: at most one execution of a job holds a lease
SELECT e.job, count(*) || ' are LEASED, IN_PROGRESS or COMMITTED'
  FROM executions e
 WHERE e.job > $1 AND e.job <= $2 AND e.status IN ('LEASED', 'IN_PROGRESS', 'COMMITTED')
 GROUP BY e.job
HAVING count(*) > 1;

-- name: verify_job_successor
-- invariant: an attempt follows an aborted one, and only after that one had finished
SELECT e.job, 'attempt ' || e.attempt || ' after ' || p.attempt || ', which is ' || p.status
  FROM executions e
  JOIN executions p ON p.job = e.job AND p.attempt = e.attempt - 1
 WHERE e.job > $1 AND e.job <= $2
   AND (p.status <> 'ABORTED' OR p.finished_at > e.leased_at OR p.id >= e.id);

-- name: verify_job_times
-- invariant: created, leased, started, committed and finished follow one another
SELECT e.job, 'attempt ' || e.attempt
  FROM executions e
  JOIN jobs j ON j.id = e.job
 WHERE e.job > $1 AND e.job <= $2
   AND (e.leased_at < j.created_at OR e.started_at < e.leased_at
     OR e.committed_at < e.started_at OR e.finished_at < e.committed_at
     OR e.finished_at < e.started_at OR e.finished_at < e.leased_at
     OR e.lease_expires_at < e.leased_at
     OR e.cancel_requested_at < e.leased_at OR e.cancel_requested_at > e.committed_at
     OR e.cancel_requested_at > e.finished_at);

-- name: verify_job_scheduled
-- invariant: no job is leased before its time
SELECT e.job, 'attempt ' || e.attempt
  FROM executions e
  JOIN jobs j ON j.id = e.job
 WHERE e.job > $1 AND e.job <= $2 AND e.leased_at < j.scheduled_for
   AND NOT EXISTS (SELECT 1 FROM changes c WHERE c.job = e.job);

-- name: verify_job_deadline
-- invariant: a run has its policy's timeout from its start, and its lease never outlives it
SELECT e.job, 'attempt ' || e.attempt
  FROM executions e
  JOIN policies p ON p.id = e.policy
 WHERE e.job > $1 AND e.job <= $2
   AND (e.deadline_at IS DISTINCT FROM e.started_at + p.timeout_us
     OR (e.status = 'IN_PROGRESS' AND e.lease_expires_at > e.deadline_at)
     OR e.lease_us NOT BETWEEN 1000000 AND 3600000000);

-- name: verify_job_finish
-- invariant: only a committed execution has a commit phase
SELECT e.job, 'attempt ' || e.attempt || ' is ' || e.status
  FROM executions e
 WHERE e.job > $1 AND e.job <= $2
   AND (e.finish NOT IN (0, 1) OR e.finish_failures < 0
     OR (e.finish = 0 AND (e.finish_failures > 0 OR e.finish_at IS NOT NULL))
     OR (e.finish = 1 AND e.status NOT IN ('COMMITTED', 'DONE'))
     OR (e.finish_at IS NOT NULL AND e.status <> 'COMMITTED'));

-- name: verify_job_error
-- invariant: what aborted an execution is on record, and nothing else has an error
SELECT e.job, 'attempt ' || e.attempt || ': ' || coalesce(e.end_reason, 'live') || ', '
              || coalesce(e.error_class, 'no error')
  FROM executions e
 WHERE e.job > $1 AND e.job <= $2
   AND (CASE coalesce(e.end_reason, 'live')
        WHEN 'error' THEN e.error_class IS NULL OR e.error_class = 'cancelled'
        WHEN 'timeout' THEN e.error_class IS DISTINCT FROM 'timeout'
        WHEN 'lease_expired' THEN e.error_class IS DISTINCT FROM 'crash'
        WHEN 'process_terminated' THEN e.error_class IS DISTINCT FROM 'crash'
        WHEN 'cancelled' THEN e.error_class IS DISTINCT FROM 'cancelled'
                              AND e.cancel_requested_at IS NULL
        ELSE e.error_class IS NOT NULL OR e.error_message IS NOT NULL
             OR e.error_detail IS NOT NULL END);

-- name: verify_job_progress
-- invariant: only work that has started makes progress, of 0 to 100 percent
SELECT e.job, 'attempt ' || e.attempt
  FROM executions e
 WHERE e.job > $1 AND e.job <= $2
   AND (e.progress_percent NOT BETWEEN 0 AND 100
     OR (e.progress_percent IS NOT NULL AND e.started_at IS NULL)
     OR (e.progress_message IS NOT NULL AND e.progress_percent IS NULL));

-- name: verify_job_step
-- invariant: a step was written by a run of its job while that run was at work
SELECT s.job, 'step ' || s.name || ', attempt ' || s.attempt
  FROM steps s
  LEFT JOIN executions e ON e.job = s.job AND e.attempt = s.attempt
 WHERE s.job > $1 AND s.job <= $2
   AND (e.started_at IS NULL OR s.updated_at < e.started_at OR s.updated_at > e.finished_at
     OR s.tries < 0 OR (s.result IS NULL AND s.tries = 0));

-- ===== the end

-- name: verify_job_outcome
-- invariant: an outcome has a commit, an end or both, and what its state asks for
SELECT x.job, coalesce(x.state, 'committed') || ', ' || coalesce(x.failure_type, 'no failure')
  FROM outcomes x
  JOIN jobs j ON j.id = x.job
 WHERE x.job > $1 AND x.job <= $2
   AND ((x.state IS NULL) <> (x.ended_at IS NULL)
     OR (x.ended_at IS NULL AND x.committed_at IS NULL)
     OR (coalesce(x.state, 'SUCCEEDED') = 'SUCCEEDED') <> (x.committed_at IS NOT NULL)
     OR (coalesce(x.state, 'SUCCEEDED') = 'SUCCEEDED') <> (x.failure_type IS NULL)
     OR (x.result IS NOT NULL AND x.committed_at IS NULL)
     OR (x.error IS NOT NULL AND x.execution IS NOT NULL)
     OR x.ended_at < j.created_at OR x.ended_at < x.committed_at);

-- name: verify_job_commit
-- invariant: SUCCEEDED means DONE: the outcome names the execution that committed, and its times
SELECT x.job, coalesce(x.state, 'committed') || ', its execution is '
              || coalesce(e.status, 'missing')
  FROM outcomes x
  LEFT JOIN executions e ON e.id = x.execution AND e.job = x.job
 WHERE x.job > $1 AND x.job <= $2 AND x.committed_at IS NOT NULL
   AND (e.id IS NULL OR e.status NOT IN ('COMMITTED', 'DONE')
     OR (e.status = 'DONE') <> (x.ended_at IS NOT NULL)
     OR e.committed_at IS DISTINCT FROM x.committed_at
     OR e.finished_at IS DISTINCT FROM x.ended_at);

-- name: verify_job_commit_recorded
-- invariant: a committed execution has the outcome of its job
SELECT e.job, 'attempt ' || e.attempt || ' is ' || e.status
  FROM executions e
  LEFT JOIN outcomes x ON x.job = e.job AND x.execution = e.id AND x.committed_at IS NOT NULL
 WHERE e.job > $1 AND e.job <= $2 AND e.status IN ('COMMITTED', 'DONE') AND x.job IS NULL;

-- name: verify_job_failure
-- invariant: a bad end is that of the last execution, which aborted, or of a job that waited
SELECT x.job, x.state || ', ' || coalesce(x.failure_type, 'no failure')
  FROM outcomes x
  LEFT JOIN executions e ON e.id = x.execution AND e.job = x.job
 WHERE x.job > $1 AND x.job <= $2 AND x.state IN ('FAILED', 'TIMED_OUT')
   AND (EXISTS (SELECT 1 FROM executions n WHERE n.job = x.job
                 AND (n.status <> 'ABORTED' OR n.attempt > e.attempt))
     OR (x.execution IS NOT NULL
         AND (e.id IS NULL OR e.finished_at IS DISTINCT FROM x.ended_at))
     OR (x.execution IS NULL
         AND (x.state <> 'FAILED' OR x.failure_type NOT IN
              ('CANCELLED', 'RESOURCE_EXHAUSTED', 'DEPENDENCY_FAILED'))));

-- name: verify_job_dead_letter
-- invariant: a dead letter is what failed, unless it was cancelled or its policy has none
SELECT x.job, coalesce(x.dead_letter, 'none') || ', ' || coalesce(x.failure_type, 'no failure')
  FROM outcomes x
  JOIN jobs j ON j.id = x.job
  JOIN policies p ON p.id = j.policy
 WHERE x.job > $1 AND x.job <= $2
   AND ((x.dead_letter IS NOT NULL)
        <> (p.dead_letter = 1 AND coalesce(x.failure_type, 'CANCELLED') <> 'CANCELLED')
     OR x.dead_letter NOT IN ('open', 'replayed', 'fixed', 'discarded'));

-- ===== places

-- name: verify_job_parked
-- invariant: a parked job has the time or the serial key that its reason asks for
SELECT p.job, p.reason
  FROM parked p
 WHERE p.job > $1 AND p.job <= $2
   AND (p.reason NOT IN ('held', 'delayed', 'backoff', 'blocked')
     OR (p.due_at IS NOT NULL) <> (p.reason IN ('delayed', 'backoff'))
     OR (p.serial_key IS NOT NULL) <> (p.reason = 'blocked'));

-- name: verify_job_parked_time
-- invariant: a job waits for a time that came after it was created or had failed
SELECT p.job, p.reason
  FROM parked p
  JOIN jobs j ON j.id = p.job
 WHERE p.job > $1 AND p.job <= $2
   AND (p.due_at < j.created_at
     OR EXISTS (SELECT 1 FROM executions e WHERE e.job = p.job AND e.finished_at > p.due_at));

-- name: verify_job_blocked
-- invariant: a blocked job waits for its own serial key, or for other jobs
SELECT p.job, coalesce(p.serial_key, 'none') || ' for ' || coalesce(j.serial_key, 'none')
  FROM parked p
  JOIN jobs j ON j.id = p.job
 WHERE p.job > $1 AND p.job <= $2 AND p.reason = 'blocked'
   AND coalesce(p.serial_key, 'none') <> '' AND p.serial_key IS DISTINCT FROM j.serial_key;

-- name: verify_job_key_free
-- invariant: no job is blocked while nobody of its serial key is ready or running
SELECT p.job, p.serial_key
  FROM parked p
 WHERE p.job > $1 AND p.job <= $2 AND p.serial_key <> ''
   AND NOT EXISTS (SELECT 1 FROM ready r WHERE r.org = p.org AND r.serial_key = p.serial_key)
   AND NOT EXISTS (SELECT 1 FROM executions e WHERE e.org = p.org AND e.serial_key = p.serial_key
                    AND e.finished_at IS NULL);

-- name: verify_job_key_turn
-- invariant: of the jobs of a serial key the oldest that is due is the one that is ready
SELECT p.job, p.serial_key
  FROM parked p
 WHERE p.job > $1 AND p.job <= $2 AND p.serial_key <> ''
   AND EXISTS (SELECT 1 FROM ready r WHERE r.org = p.org AND r.serial_key = p.serial_key
                AND r.job > p.job);

-- name: verify_job_key_once
-- invariant: of the jobs of a serial key at most one is ready or running
SELECT j.id, j.serial_key
  FROM jobs j
  LEFT JOIN changes c ON c.job = j.id
 WHERE j.id > $1 AND j.id <= $2 AND j.serial_key IS NOT NULL
   AND (EXISTS (SELECT 1 FROM executions e WHERE e.job = j.id AND e.finished_at IS NULL)
     OR EXISTS (SELECT 1 FROM ready r
                 WHERE r.queue = coalesce(c.queue, j.queue) AND r.type = j.type
                   AND r.rank = -coalesce(c.priority, j.priority) AND r.job = j.id))
   AND (SELECT count(*) FROM executions e WHERE e.org = j.org AND e.serial_key = j.serial_key
         AND e.finished_at IS NULL)
     + (SELECT count(*) FROM ready r WHERE r.org = j.org AND r.serial_key = j.serial_key) > 1;

-- name: verify_job_wait_limit
-- invariant: a limit to the wait is that of a job with max_wait, counted from its submission
SELECT w.job, 'expires at ' || w.expires_at
  FROM wait_limits w
  JOIN jobs j ON j.id = w.job
 WHERE w.job > $1 AND w.job <= $2
   AND (j.max_wait_us IS NULL OR w.expires_at < j.created_at + j.max_wait_us);

-- name: verify_job_wait_limited
-- invariant: a job with max_wait that waits for its first claim has a limit
SELECT j.id, 'max_wait of ' || j.max_wait_us || ' us'
  FROM jobs j
 WHERE j.id > $1 AND j.id <= $2 AND j.max_wait_us IS NOT NULL
   AND NOT EXISTS (SELECT 1 FROM wait_limits w WHERE w.job = j.id)
   AND NOT EXISTS (SELECT 1 FROM executions e WHERE e.job = j.id)
   AND NOT EXISTS (SELECT 1 FROM outcomes x WHERE x.job = j.id)
   AND NOT EXISTS (SELECT 1 FROM parked p WHERE p.job = j.id AND p.reason = 'held');

-- ===== the audit trail

-- name: verify_job_event
-- invariant: an audit event of a job is one with a name, by a known kind of actor
SELECT a.job, 'event ' || a.id || ' of kind ' || a.event
  FROM audit_events a
 WHERE a.job > $1 AND a.job <= $2
   AND (NOT EXISTS (SELECT 1 FROM audit_event_names n
                     WHERE n.event = a.event AND (n.name LIKE 'job.%' OR n.name LIKE 'step.%'))
     OR a.actor_type NOT BETWEEN 0 AND 2 OR a.subject IS NOT NULL);

-- The event and the record it tells of were written in one transaction, which had one time.
-- name: verify_job_event_time
-- invariant: an audit event has the time of the record it tells of
SELECT a.job, 'event ' || a.id || ', ' || n.name
  FROM audit_events a
  JOIN audit_event_names n ON n.event = a.event
  JOIN jobs j ON j.id = a.job
  LEFT JOIN executions e ON e.job = a.job AND e.attempt = a.attempt
  LEFT JOIN outcomes x ON x.job = a.job
 WHERE a.job > $1 AND a.job <= $2
   AND (a.at < j.created_at
     OR a.at IS DISTINCT FROM CASE n.name
        WHEN 'job.created' THEN j.created_at
        WHEN 'job.leased' THEN e.leased_at
        WHEN 'job.started' THEN e.started_at
        WHEN 'job.committed' THEN e.committed_at
        WHEN 'job.succeeded' THEN x.ended_at
        WHEN 'job.retried' THEN e.finished_at
        WHEN 'job.released' THEN e.finished_at
        WHEN 'job.failed' THEN x.ended_at
        WHEN 'job.deadlettered' THEN x.ended_at
        WHEN 'job.cancelled' THEN x.ended_at
        ELSE a.at END);

-- name: verify_job_event_kind
-- invariant: what an audit event says became of a job or a run did become of it
SELECT a.job, 'event ' || a.id || ', ' || n.name
  FROM audit_events a
  JOIN audit_event_names n ON n.event = a.event
  JOIN jobs j ON j.id = a.job
  LEFT JOIN executions e ON e.job = a.job AND e.attempt = a.attempt
  LEFT JOIN outcomes x ON x.job = a.job
 WHERE a.job > $1 AND a.job <= $2
   AND CASE n.name
       WHEN 'job.retried' THEN coalesce(e.end_reason, 'released') = 'released'
       WHEN 'job.released' THEN coalesce(e.end_reason, 'live') <> 'released'
       WHEN 'job.failed' THEN coalesce(x.failure_type, 'CANCELLED') = 'CANCELLED'
       WHEN 'job.cancelled' THEN coalesce(x.failure_type, 'none') <> 'CANCELLED'
       WHEN 'job.deadlettered' THEN x.dead_letter IS NULL
       WHEN 'job.changed' THEN NOT EXISTS (SELECT 1 FROM changes c WHERE c.job = a.job)
       WHEN 'job.cancel_requested' THEN a.at IS DISTINCT FROM e.cancel_requested_at
                                        AND a.at IS DISTINCT FROM x.ended_at
       ELSE 1 = 0 END;

-- name: verify_job_letter
-- invariant: a dead letter is closed once, and the audit trail has it
-- scans: a view of one row
SELECT x.job, x.dead_letter
  FROM outcomes x
 WHERE x.job > $1 AND x.job <= $2 AND x.dead_letter IS NOT NULL
   AND x.ended_at > (SELECT at FROM audit_pruned)
   AND (SELECT count(*) FROM audit_events a
          JOIN audit_event_names n ON n.event = a.event
         WHERE a.job = x.job AND n.name = 'job.letter_closed')
       <> CASE WHEN x.dead_letter = 'open' THEN 0 ELSE 1 END;

-- name: verify_job_event_missing
-- invariant: requests to cancel and dead letters are in the audit trail, once
-- scans: a view of one row
SELECT e.job, 'attempt ' || e.attempt || ': job.cancel_requested'
  FROM executions e
 WHERE e.job > $1 AND e.job <= $2 AND e.cancel_requested_at > (SELECT at FROM audit_pruned)
   AND (SELECT count(*) FROM audit_events a
          JOIN audit_event_names n ON n.event = a.event
         WHERE a.job = e.job AND n.name = 'job.cancel_requested' AND a.attempt = e.attempt) <> 1
UNION ALL
SELECT x.job, 'job.deadlettered'
  FROM outcomes x
 WHERE x.job > $1 AND x.job <= $2 AND x.dead_letter IS NOT NULL
   AND x.ended_at > (SELECT at FROM audit_pruned)
   AND (SELECT count(*) FROM audit_events a
          JOIN audit_event_names n ON n.event = a.event
         WHERE a.job = x.job AND n.name = 'job.deadlettered') <> 1;

-- name: verify_job_slot_open
-- invariant: a slot runs as long as its job, and is closed with it
SELECT r.job, r.job_name || ' is ' || r.status
  FROM job_runs r
  LEFT JOIN outcomes x ON x.job = r.job AND x.ended_at IS NOT NULL
 WHERE r.job > $1 AND r.job <= $2
   AND ((r.finished_at IS NULL) <> (x.job IS NULL) OR r.finished_at <> x.ended_at);

-- name: verify_job_slot_status
-- invariant: a slot was a success if its job was
SELECT r.job, r.job_name || ' is ' || r.status || ', its job ' || x.state
  FROM job_runs r
  JOIN outcomes x ON x.job = r.job AND x.ended_at IS NOT NULL
 WHERE r.job > $1 AND r.job <= $2 AND r.finished_at IS NOT NULL
   AND ((r.status = 'success') <> (x.state = 'SUCCEEDED')
     OR (r.status = 'success') <> (r.error_message IS NULL));

-- name: verify_job_slot_time
-- invariant: the job of a slot is its org's, has its time, and its policy's mark
SELECT r.job, r.job_name
  FROM job_runs r
  JOIN jobs j ON j.id = r.job
  LEFT JOIN policies p ON p.id = j.policy
 WHERE r.job > $1 AND r.job <= $2
   AND (j.org <> r.org OR j.scheduled_for IS DISTINCT FROM r.scheduled_for
     OR p.slot % 2 <> 1);

-- ===== links

-- name: verify_job_link_refers
-- invariant: what links jobs to each other and to batches is of jobs that exist, and of their org
SELECT l.job, 'links' FROM job_links l
 WHERE l.job > $1 AND l.job <= $2
   AND (NOT EXISTS (SELECT 1 FROM jobs j WHERE j.id = l.job AND j.org = l.org)
     OR (l.batch IS NOT NULL
         AND NOT EXISTS (SELECT 1 FROM job_batches b WHERE b.id = l.batch AND b.org = l.org
                            AND b.id_low = l.batch_low)))
UNION ALL
SELECT w.job, 'waits for ' || w.awaited FROM job_waits w
 WHERE w.job > $1 AND w.job <= $2
   AND (NOT EXISTS (SELECT 1 FROM jobs j WHERE j.id = w.job AND j.org = w.org)
     OR NOT EXISTS (SELECT 1 FROM jobs j WHERE j.id = w.awaited AND j.org = w.org)
     OR w.awaited >= w.job)
UNION ALL
SELECT e.job, 'endings' FROM job_endings e
 WHERE e.job > $1 AND e.job <= $2
   AND NOT EXISTS (SELECT 1 FROM outcomes x WHERE x.job = e.job AND x.org = e.org
                      AND x.ended_at IS NOT NULL);

-- name: verify_job_awaited
-- invariant: nobody waits for a job that has ended and of which nobody will be told
SELECT w.job, 'waits for ' || w.awaited FROM job_waits w
 WHERE w.job > $1 AND w.job <= $2
   AND (NOT EXISTS (SELECT 1 FROM job_links l WHERE l.job = w.awaited)
     OR (EXISTS (SELECT 1 FROM outcomes x WHERE x.job = w.awaited AND x.ended_at IS NOT NULL)
         AND NOT EXISTS (SELECT 1 FROM job_endings e WHERE e.job = w.awaited)));

-- name: verify_job_pending
-- invariant: a job that has not ended waits for as many jobs as it says, unless one has failed
SELECT l.job, l.pending || ' pending' FROM job_links l
 WHERE l.job > $1 AND l.job <= $2
   AND (l.pending < 0
     OR (l.doom IS NULL
         AND NOT EXISTS (SELECT 1 FROM outcomes x WHERE x.job = l.job AND x.ended_at IS NOT NULL)
         AND l.pending <> (SELECT count(*) FROM job_waits w WHERE w.job = l.job))
     OR (l.doom IS NOT NULL
         AND NOT EXISTS (SELECT 1 FROM outcomes x WHERE x.job = l.job AND x.ended_at IS NOT NULL)
         AND NOT EXISTS (SELECT 1 FROM parked p WHERE p.job = l.job AND p.reason = 'held')))
UNION ALL
SELECT w.job, 'waits for ' || w.awaited || ', and has ended or says nothing of it' FROM job_waits w
 WHERE w.job > $1 AND w.job <= $2
   AND (EXISTS (SELECT 1 FROM outcomes x WHERE x.job = w.job)
     OR NOT EXISTS (SELECT 1 FROM job_links l WHERE l.job = w.job AND l.doom IS NULL));

-- name: verify_job_waits
-- invariant: a job is kept from running by others exactly as long as it waits for one of them
SELECT p.job, 'blocked by jobs, and waits for none' FROM parked p
 WHERE p.job > $1 AND p.job <= $2 AND p.reason = 'blocked' AND p.serial_key = ''
   AND NOT EXISTS (SELECT 1 FROM job_links l WHERE l.job = p.job AND l.pending > 0)
   AND NOT EXISTS (SELECT 1 FROM job_limit_waits w WHERE w.job = p.job)
UNION ALL
SELECT l.job, 'waits for ' || l.pending || ' jobs, and is not parked' FROM job_links l
 WHERE l.job > $1 AND l.job <= $2 AND l.pending > 0
   AND NOT EXISTS (SELECT 1 FROM outcomes x WHERE x.job = l.job AND x.ended_at IS NOT NULL)
   AND NOT EXISTS (SELECT 1 FROM parked p
                    WHERE p.job = l.job
                      AND (p.reason IN ('held', 'delayed')
                        OR (p.reason = 'blocked' AND p.serial_key = '')));

-- name: verify_job_limit_waits
-- invariant: a job that waits for its limit key is parked, and somebody will look at the key
SELECT w.job, 'waits for its limit key, and is not parked' FROM job_limit_waits w
 WHERE w.job > $1 AND w.job <= $2
   AND NOT EXISTS (SELECT 1 FROM parked p
                    WHERE p.job = w.job AND p.reason = 'blocked' AND p.serial_key = '')
UNION ALL
SELECT w.job, 'waits for another limit key than its own' FROM job_limit_waits w
  JOIN jobs j ON j.id = w.job
 WHERE w.job > $1 AND w.job <= $2
   AND (w.type <> j.type OR w.org <> j.org OR w.limit_key IS DISTINCT FROM j.limit_key)
UNION ALL
SELECT w.job, 'waits for its limit key, and nobody will look at it' FROM job_limit_waits w
 WHERE w.job > $1 AND w.job <= $2
   AND NOT EXISTS (SELECT 1 FROM job_limit_buckets b
                    WHERE b.scope = 3 AND b.subject = w.type AND b.org = w.org
                      AND b.limit_key = w.limit_key AND b.wake_at IS NOT NULL);

-- name: verify_job_limit_holds
-- invariant: what is counted under a limit is counted as what it is
SELECT h.job, 'held as another' FROM job_limit_holds h
  JOIN executions e ON e.job = h.job AND e.finished_at IS NULL
  JOIN jobs j ON j.id = h.job
 WHERE h.job > $1 AND h.job <= $2
   AND (h.queue <> e.queue OR h.type <> e.type OR h.org <> e.org
     OR h.limit_key <> coalesce(j.limit_key, ''));

-- name: verify_store_batch
-- invariant: a batch has as many jobs, and as many that ended, as it says
-- scans: batches and their jobs, once
SELECT 0, 'batch ' || b.id || ': ' || b.jobs || ' jobs, ' || b.succeeded || ' succeeded, '
          || b.failed || ' failed, ' || b.timed_out || ' timed out'
  FROM job_batches b
  JOIN orgs o ON o.id = b.org
  JOIN (SELECT n.id, count(l.job) AS jobs,
               count(x.job) FILTER (WHERE x.state = 'SUCCEEDED') AS good,
               count(x.job) FILTER (WHERE x.state = 'FAILED') AS bad,
               count(x.job) FILTER (WHERE x.state = 'TIMED_OUT') AS late
          FROM job_batches n
          LEFT JOIN job_links l ON l.batch = n.id
          LEFT JOIN outcomes x ON x.job = l.job
         GROUP BY n.id) c ON c.id = b.id
 WHERE b.jobs < c.jobs OR b.succeeded < c.good OR b.failed < c.bad OR b.timed_out < c.late
    -- Of one that has ended retention may have removed some, of a disabled org an erasure.
    OR (b.ended_at IS NULL AND o.disabled_at IS NULL
        AND (b.jobs <> c.jobs OR b.succeeded <> c.good OR b.failed <> c.bad
          OR b.timed_out <> c.late));

-- name: verify_store_batch_ended
-- invariant: a batch has ended when all its jobs have, and then its callback is made or due
-- scans: a table of batches
SELECT 0, 'batch ' || b.id
  FROM job_batches b
 WHERE (b.ended_at IS NOT NULL) <> (b.jobs = b.succeeded + b.failed + b.timed_out)
    OR (b.ended_at IS NOT NULL AND b.callback_type IS NOT NULL AND b.callback_job IS NULL
        AND b.callback_at IS NULL)
    OR (b.callback_job IS NOT NULL
        AND (b.callback_type IS NULL OR b.ended_at IS NULL
          OR NOT EXISTS (SELECT 1 FROM jobs j WHERE j.id = b.callback_job AND j.org = b.org
                            AND j.created_at >= b.ended_at)));

-- ===== ready

-- name: verify_ready_job
-- invariant: what is ready is a job that exists, of the same org
SELECT r.job, 'ready in queue ' || r.queue || ' as type ' || r.type
  FROM ready r
 WHERE (r.queue, r.type, r.org, r.rank, r.job) > ($1, $2, $3, $4, $5)
   AND (r.queue, r.type, r.org, r.rank, r.job) <= ($6, $7, $8, $9, $10)
   AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.id = r.job AND j.org = r.org);

-- name: verify_ready_place
-- invariant: a ready job stands where its queue, type, priority and project put it
SELECT r.job, 'queue ' || r.queue || ', type ' || r.type || ', rank ' || r.rank
  FROM ready r
  JOIN jobs j ON j.id = r.job
  LEFT JOIN changes c ON c.job = r.job
 WHERE (r.queue, r.type, r.org, r.rank, r.job) > ($1, $2, $3, $4, $5)
   AND (r.queue, r.type, r.org, r.rank, r.job) <= ($6, $7, $8, $9, $10)
   AND (r.queue <> coalesce(c.queue, j.queue) OR r.type <> j.type
     OR r.rank <> -coalesce(c.priority, j.priority) OR r.project IS DISTINCT FROM j.project_id);

-- name: verify_ready_attempt
-- invariant: a ready job knows how many executions it had
SELECT r.job, r.attempt || ' executions'
  FROM ready r
 WHERE (r.queue, r.type, r.org, r.rank, r.job) > ($1, $2, $3, $4, $5)
   AND (r.queue, r.type, r.org, r.rank, r.job) <= ($6, $7, $8, $9, $10)
   AND r.attempt <> (SELECT count(*) FROM executions e WHERE e.job = r.job);

-- name: verify_ready_serial_key
-- invariant: a ready job carries its serial key
SELECT r.job, coalesce(r.serial_key, 'none') || ' for ' || coalesce(j.serial_key, 'none')
  FROM ready r
  JOIN jobs j ON j.id = r.job
 WHERE (r.queue, r.type, r.org, r.rank, r.job) > ($1, $2, $3, $4, $5)
   AND (r.queue, r.type, r.org, r.rank, r.job) <= ($6, $7, $8, $9, $10)
   AND r.serial_key IS DISTINCT FROM j.serial_key;

-- ===== idempotency keys

-- name: verify_key_job
-- invariant: an idempotency key leads to a job that was there when it was seen, or was removed
SELECT k.job, 'slot ' || k.slot
  FROM idempotency_keys k
  LEFT JOIN jobs j ON j.id = k.job
 WHERE k.slot > $1 AND k.slot <= $2
   AND ((j.id IS NULL AND k.job > (SELECT newest FROM forgotten_jobs WHERE only_row = 1)
         AND NOT EXISTS (SELECT 1 FROM removed_jobs r WHERE r.id = k.job))
     OR k.last_seen_at < j.created_at);

-- name: verify_key_generation
-- invariant: the record of an idempotency key is in a generation that is looked at
SELECT k.job, 'slot ' || k.slot
  FROM idempotency_keys k
 WHERE k.slot > $1 AND k.slot <= $2
   AND NOT EXISTS (SELECT 1 FROM idempotency_generations g WHERE g.generation = k.slot >> 40);

-- ===== artifacts

-- name: verify_artifact_refers
-- invariant: an artifact has an org, and what brought it is an execution of a job of that org
SELECT coalesce(a.job, 0), 'artifact ' || a.id
  FROM artifacts a
  LEFT JOIN executions e ON e.id = a.execution AND e.job = a.job AND e.org = a.org
 WHERE a.id > $1 AND a.id <= $2
   AND (NOT EXISTS (SELECT 1 FROM orgs o WHERE o.id = a.org)
     OR (a.job IS NULL) <> (a.execution IS NULL) OR (a.job IS NOT NULL AND e.id IS NULL)
     OR (a.job IS NOT NULL AND e.committed_at IS NULL));

-- name: verify_artifact_value
-- invariant: an artifact has a checksum, a size, a file, a type and a maker
SELECT coalesce(a.job, 0), 'artifact ' || a.id
  FROM artifacts a
 WHERE a.id > $1 AND a.id <= $2
   AND (length(a.sha256) <> 64 OR a.bytes < 0 OR length(a.file) <> 32 OR a.content_type = ''
     OR a.made_by = '' OR a.id_low NOT BETWEEN 0 AND 4611686018427387903);

-- name: verify_job_inputs
-- invariant: the inputs of a job are noted under its org
SELECT i.job, 'artifact ' || i.artifact
  FROM artifact_inputs i
  LEFT JOIN jobs j ON j.id = i.job AND j.org = i.org
  LEFT JOIN artifacts a ON a.id = i.artifact
 WHERE i.job > $1 AND i.job <= $2 AND (j.id IS NULL OR a.org <> i.org);

-- ===== schedules

-- name: verify_store_slot
-- invariant: a slot is claimed once, and as long as it runs it has a job
-- scans: the slots, once
SELECT 0, r.job_name || ': ' || count(*) || ' rows for slot ' || r.scheduled_for
  FROM job_runs r
 GROUP BY r.org, r.job_name, r.scheduled_for
HAVING count(*) > 1
UNION ALL
SELECT 0, r.job_name || ': slot ' || r.scheduled_for || ' runs without a job'
  FROM job_runs r
 WHERE r.finished_at IS NULL AND r.job IS NULL;

-- name: verify_store_schedule
-- invariant: a schedule has an org and a policy, and its next slot is one it has not dealt with
-- scans: a short table
SELECT 0, 'schedule ' || s.name
  FROM schedules s
 WHERE NOT EXISTS (SELECT 1 FROM orgs o WHERE o.id = s.org)
    OR NOT EXISTS (SELECT 1 FROM policies p WHERE p.id = s.policy)
    OR s.next_at <= s.considered_to
    OR (s.removed_at IS NOT NULL AND s.next_at IS NOT NULL)
    OR (s.cron IS NULL) = (s.every_us IS NULL);

-- ===== seals, and what was removed

-- name: verify_seal_order
-- invariant: seals are numbered without a gap, and each goes on where the one before it ended
SELECT 0, 'seal ' || s.seal
  FROM audit_seals s
  LEFT JOIN audit_seals p ON p.seal = s.seal - 1
 WHERE s.seal > $1 AND s.seal <= $2
   AND ((s.seal > 1 AND p.seal IS NULL) OR p.last_id >= s.first_id OR s.first_id > s.last_id
     OR p.sealed_at > s.sealed_at OR (s.pruned_at IS NOT NULL AND p.seal IS NOT NULL
                                      AND p.pruned_at IS NULL));

-- The hashes are looked at by `pawl audit verify`; this sees an event that is gone or was put in.
-- name: verify_seal_events
-- invariant: a seal has as many events as it says, or none when they were pruned
SELECT 0, 'seal ' || s.seal || ' over ' || s.events || ' events'
  FROM audit_seals s
  LEFT JOIN audit_seals p ON p.seal = s.seal - 1
 WHERE s.seal > $1 AND s.seal <= $2
   AND CASE WHEN s.pruned_at IS NULL THEN s.events ELSE 0 END
       <> (SELECT count(*) FROM audit_events a
            WHERE a.id > coalesce(p.last_id, 0) AND a.id <= s.last_id);

-- name: verify_job_removed
-- invariant: a job that was removed is gone, and nothing is being erased
SELECT r.id, 'was removed, and is there' FROM removed_jobs r
 WHERE r.id > $1 AND r.id <= $2 AND EXISTS (SELECT 1 FROM jobs j WHERE j.id = r.id)
UNION ALL
SELECT x.job, 'erased for another org, or not to the end' FROM erasures x
  LEFT JOIN jobs j ON j.id = x.job
 WHERE x.job > $1 AND x.job <= $2 AND (x.under_way <> 0 OR j.org <> x.org);

-- name: verify_job_log
-- invariant: a line of a log is of an execution of its job
SELECT l.job, 'line ' || l.seq
  FROM execution_logs l
  LEFT JOIN executions e ON e.id = l.execution AND e.job = l.job AND e.org = l.org
 WHERE l.job > $1 AND l.job <= $2 AND e.id IS NULL;

-- ===== for the checks in C

-- name: verify_seal_end
SELECT seal FROM audit_seals WHERE seal > $1 ORDER BY seal LIMIT 1 OFFSET $2;

-- name: verify_artifact_end
SELECT id FROM artifacts WHERE id > $1 ORDER BY id LIMIT 1 OFFSET $2;

-- name: verify_artifact_rows
SELECT id, id_low, file, bytes, sha256, coalesce(job, 0) FROM artifacts
 WHERE id > $1 AND id <= $2 ORDER BY id;

-- The last row of a page.
-- name: verify_job_end
SELECT id FROM jobs WHERE id > $1 ORDER BY id LIMIT 1 OFFSET $2;

-- name: verify_ready_end
SELECT queue, type, org, rank, job FROM ready
 WHERE (queue, type, org, rank, job) > ($1, $2, $3, $4, $5)
 ORDER BY queue, type, org, rank, job LIMIT 1 OFFSET $6;

-- name: verify_key_end
SELECT slot FROM idempotency_keys WHERE slot > $1 ORDER BY slot LIMIT 1 OFFSET $2;

-- name: verify_job_count
-- scans: once, for the progress bar
SELECT count(*) FROM jobs;

-- The jobs of a page whose org, type, queue and policy are there: the others cannot be loaded.
-- name: verify_job_rows
SELECT j.id
  FROM jobs j
  LEFT JOIN changes c ON c.job = j.id
 WHERE j.id > $1 AND j.id <= $2
   AND EXISTS (SELECT 1 FROM orgs o WHERE o.id = j.org)
   AND EXISTS (SELECT 1 FROM job_types t WHERE t.id = j.type)
   AND EXISTS (SELECT 1 FROM queues q WHERE q.id = j.queue)
   AND EXISTS (SELECT 1 FROM queues q WHERE q.id = coalesce(c.queue, j.queue))
   AND EXISTS (SELECT 1 FROM policies p WHERE p.id = j.policy)
 ORDER BY j.id;

-- The other half of a job's id, if the two are one.
-- name: verify_job_low
SELECT id_low FROM jobs
 WHERE id = $1 AND id BETWEEN 1 AND 1152921504606846975
   AND id_low BETWEEN 0 AND 4611686018427387903;

-- name: verify_executions
SELECT attempt, status, lease_expires_at, leased_at, started_at, committed_at, finished_at,
       cancel_requested_at, attempts_used, retry_count, crash_count, end_reason, error_class
  FROM executions WHERE job = $1 ORDER BY attempt;

-- name: verify_steps
SELECT name, result FROM steps WHERE job = $1 AND result IS NOT NULL;

-- name: verify_outcome
SELECT execution, state, failure_type, dead_letter FROM outcomes WHERE job = $1;

-- name: verify_trail
SELECT event, attempt, at FROM audit_events WHERE job = $1 ORDER BY id;

-- name: verify_key_rows
SELECT k.slot, k.job, o.org_id, j.project_id, j.idempotency_key
  FROM idempotency_keys k
  JOIN jobs j ON j.id = k.job
  JOIN orgs o ON o.id = j.org
 WHERE k.slot > $1 AND k.slot <= $2
 ORDER BY k.slot;

-- name: verify_key_holder
SELECT o.org_id, j.project_id, j.idempotency_key, j.created_at
  FROM jobs j
  JOIN orgs o ON o.id = j.org
 WHERE j.id = $1;
