-- The sealed audit trail, jobs that were removed, contents that were erased.

-- A seal is over the events between the one before it and `last_id`. Its hash is over its own
-- columns and the hash of the seal before it, so that none can be changed, left out or put in
-- between; `contents` is the hash of its events. Seals stay when their events are pruned.
CREATE TABLE audit_seals (
  seal INTEGER PRIMARY KEY CHECK (seal > 0),
  first_id INTEGER NOT NULL,
  last_id INTEGER NOT NULL,
  events INTEGER NOT NULL CHECK (events > 0),
  newest_at INTEGER NOT NULL,      -- of its last event
  sealed_at INTEGER NOT NULL,
  contents TEXT NOT NULL CHECK (length(contents) = 64),
  hash TEXT NOT NULL CHECK (length(hash) = 64),
  marks TEXT,                      -- the first digits of each event's hash; NULL: pruned
  pruned_at INTEGER,
  CHECK (first_id <= last_id),
  CHECK ((marks IS NULL) = (pruned_at IS NOT NULL))
)
STRICT --sqlite
;
CREATE INDEX audit_seals_pruned ON audit_seals (seal) WHERE pruned_at IS NOT NULL;

-- Up to which time events may be gone; 0: all are there.
CREATE VIEW audit_pruned AS
SELECT coalesce((SELECT s.newest_at FROM audit_seals s
                  WHERE s.seal = (SELECT max(p.seal) FROM audit_seals p
                                   WHERE p.pruned_at IS NOT NULL)), 0) AS at;

CREATE TRIGGER audit_seals_kept BEFORE DELETE ON audit_seals --sqlite
BEGIN SELECT RAISE(ABORT, 'seals are kept'); END; --sqlite
CREATE TRIGGER audit_seals_stay BEFORE UPDATE ON audit_seals --sqlite
WHEN OLD.pruned_at IS NOT NULL OR (NEW.seal, NEW.first_id, NEW.last_id, NEW.events, --sqlite
  NEW.newest_at, NEW.sealed_at, NEW.contents, NEW.hash) IS NOT (OLD.seal, OLD.first_id, --sqlite
  OLD.last_id, OLD.events, OLD.newest_at, OLD.sealed_at, OLD.contents, OLD.hash) --sqlite
BEGIN SELECT RAISE(ABORT, 'a seal never changes'); END; --sqlite
--postgres: CREATE TRIGGER audit_seals_kept BEFORE DELETE ON audit_seals FOR EACH ROW EXECUTE FUNCTION pawl_refuse('seals are kept');
--postgres: CREATE TRIGGER audit_seals_stay BEFORE UPDATE ON audit_seals FOR EACH ROW WHEN (OLD.pruned_at IS NOT NULL OR (NEW.seal, NEW.first_id, NEW.last_id, NEW.events, NEW.newest_at, NEW.sealed_at, NEW.contents, NEW.hash) IS DISTINCT FROM (OLD.seal, OLD.first_id, OLD.last_id, OLD.events, OLD.newest_at, OLD.sealed_at, OLD.contents, OLD.hash)) EXECUTE FUNCTION pawl_refuse('a seal never changes');

-- What the audit trail needs of a job that retention removed: events have it through their job.
CREATE TABLE removed_jobs (
  id INTEGER PRIMARY KEY,
  id_low INTEGER NOT NULL,
  org INTEGER NOT NULL,
  type INTEGER NOT NULL,
  project_id TEXT,
  actor_type INTEGER NOT NULL,
  actor_id TEXT NOT NULL,
  request_id TEXT NOT NULL,
  correlation_id TEXT NOT NULL,
  removed_at INTEGER NOT NULL
)
STRICT --sqlite
;
CREATE INDEX removed_jobs_at ON removed_jobs (removed_at, id);

-- The newest job of which not even that is left. The record of an idempotency key can outlive it.
CREATE TABLE forgotten_jobs (
  only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
  newest INTEGER NOT NULL
)
STRICT --sqlite
;
INSERT INTO forgotten_jobs (only_row, newest) VALUES (1, 0);

-- Whose payload, result, errors and logs were erased on request. While it is `under_way`, within
-- one transaction, what is otherwise written once may be overwritten.
CREATE TABLE erasures (
  job INTEGER PRIMARY KEY,
  org INTEGER NOT NULL,
  erased_at INTEGER NOT NULL,
  under_way INTEGER NOT NULL CHECK (under_way IN (0, 1))
)
STRICT --sqlite
;

-- Events leave only with their seal, which says so; a job leaves its line in removed_jobs.
DROP TRIGGER audit_no_delete; --sqlite
CREATE TRIGGER audit_no_delete BEFORE DELETE ON audit_events --sqlite
WHEN OLD.id > coalesce((SELECT s.last_id FROM audit_seals s --sqlite
                         WHERE s.seal = (SELECT max(p.seal) FROM audit_seals p --sqlite
                                          WHERE p.pruned_at IS NOT NULL)), 0) --sqlite
BEGIN SELECT RAISE(ABORT, 'audit_events is append-only'); END; --sqlite
DROP TRIGGER jobs_kept; --sqlite
CREATE TRIGGER jobs_kept BEFORE DELETE ON jobs --sqlite
WHEN NOT EXISTS (SELECT 1 FROM removed_jobs r WHERE r.id = OLD.id) --sqlite
BEGIN SELECT RAISE(ABORT, 'a job is removed by retention only'); END; --sqlite
DROP TRIGGER jobs_no_update; --sqlite
CREATE TRIGGER jobs_no_update BEFORE UPDATE ON jobs --sqlite
WHEN NOT EXISTS (SELECT 1 FROM erasures e WHERE e.job = OLD.id AND e.under_way = 1) --sqlite
BEGIN SELECT RAISE(ABORT, 'jobs are written once'); END; --sqlite
DROP TRIGGER executions_final; --sqlite
CREATE TRIGGER executions_final AFTER UPDATE ON executions --sqlite
WHEN OLD.finished_at IS NOT NULL --sqlite
  AND NOT EXISTS (SELECT 1 FROM erasures e WHERE e.job = OLD.job AND e.under_way = 1) --sqlite
BEGIN SELECT RAISE(ROLLBACK, 'a finished execution never changes'); END; --sqlite
DROP TRIGGER outcomes_final; --sqlite
CREATE TRIGGER outcomes_final BEFORE UPDATE ON outcomes --sqlite
WHEN OLD.ended_at IS NOT NULL AND (NEW.job, NEW.org, NEW.execution, NEW.committed_at, --sqlite
  NEW.ended_at, NEW.state, NEW.failure_type, NEW.error, NEW.result) --sqlite
  IS NOT (OLD.job, OLD.org, OLD.execution, OLD.committed_at, OLD.ended_at, OLD.state, --sqlite
  OLD.failure_type, OLD.error, OLD.result) --sqlite
  AND NOT EXISTS (SELECT 1 FROM erasures e WHERE e.job = OLD.job AND e.under_way = 1) --sqlite
BEGIN SELECT RAISE(ABORT, 'a terminal state is final'); END; --sqlite
DROP TRIGGER job_runs_final; --sqlite
CREATE TRIGGER job_runs_final BEFORE UPDATE ON job_runs --sqlite
WHEN OLD.finished_at IS NOT NULL --sqlite
  AND NOT EXISTS (SELECT 1 FROM erasures e WHERE e.job = OLD.job AND e.under_way = 1) --sqlite
BEGIN SELECT RAISE(ABORT, 'a closed slot never changes'); END; --sqlite
--postgres: DROP TRIGGER audit_no_update ON audit_events;
--postgres: CREATE TRIGGER audit_no_update BEFORE UPDATE ON audit_events FOR EACH ROW EXECUTE FUNCTION pawl_refuse('audit_events is append-only');
--postgres: CREATE FUNCTION pawl_pruned_to() RETURNS BIGINT STABLE LANGUAGE sql RETURN (SELECT coalesce(max(last_id), 0) FROM audit_seals WHERE pruned_at IS NOT NULL);
--postgres: CREATE TRIGGER audit_no_delete BEFORE DELETE ON audit_events FOR EACH ROW WHEN (OLD.id > pawl_pruned_to()) EXECUTE FUNCTION pawl_refuse('audit_events is append-only');
--postgres: CREATE FUNCTION pawl_erasing(of_job BIGINT) RETURNS BOOLEAN STABLE LANGUAGE sql RETURN EXISTS (SELECT 1 FROM erasures WHERE job = of_job AND under_way = 1);
--postgres: CREATE FUNCTION pawl_removing(of_job BIGINT) RETURNS BOOLEAN STABLE LANGUAGE sql RETURN EXISTS (SELECT 1 FROM removed_jobs WHERE id = of_job);
--postgres: CREATE TRIGGER jobs_kept BEFORE DELETE ON jobs FOR EACH ROW WHEN (NOT pawl_removing(OLD.id)) EXECUTE FUNCTION pawl_refuse('a job is removed by retention only');
--postgres: DROP TRIGGER jobs_no_update ON jobs;
--postgres: CREATE TRIGGER jobs_no_update BEFORE UPDATE ON jobs FOR EACH ROW WHEN (NOT pawl_erasing(OLD.id)) EXECUTE FUNCTION pawl_refuse('jobs are written once');
--postgres: DROP TRIGGER executions_final ON executions;
--postgres: CREATE TRIGGER executions_final BEFORE UPDATE ON executions FOR EACH ROW WHEN (OLD.finished_at IS NOT NULL AND NOT pawl_erasing(OLD.job)) EXECUTE FUNCTION pawl_refuse('a finished execution never changes');
--postgres: DROP TRIGGER outcomes_final ON outcomes;
--postgres: CREATE TRIGGER outcomes_final BEFORE UPDATE ON outcomes FOR EACH ROW WHEN (OLD.ended_at IS NOT NULL AND NOT pawl_erasing(OLD.job) AND (NEW.job, NEW.org, NEW.execution, NEW.committed_at, NEW.ended_at, NEW.state, NEW.failure_type, NEW.error, NEW.result) IS DISTINCT FROM (OLD.job, OLD.org, OLD.execution, OLD.committed_at, OLD.ended_at, OLD.state, OLD.failure_type, OLD.error, OLD.result)) EXECUTE FUNCTION pawl_refuse('a terminal state is final');
--postgres: DROP TRIGGER job_runs_final ON job_runs;
--postgres: CREATE TRIGGER job_runs_final BEFORE UPDATE ON job_runs FOR EACH ROW WHEN (OLD.finished_at IS NOT NULL AND NOT pawl_erasing(OLD.job)) EXECUTE FUNCTION pawl_refuse('a closed slot never changes');

ALTER TABLE orgs ADD COLUMN erased_at INTEGER;

-- A job that a batch called back with is kept as long as the batch.
CREATE INDEX job_batches_callback ON job_batches (callback_job) WHERE callback_job IS NOT NULL;

INSERT INTO audit_event_names (event, name) VALUES
  (48, 'job.erased'), (49, 'jobs.removed'), (50, 'audit.pruned'), (51, 'org.enabled'),
  (52, 'org.erased');

DROP VIEW pawl_audit;
CREATE VIEW pawl_audit AS
SELECT
  a.id, a.at, n.name AS event, o.org_id, coalesce(j.project_id, r.project_id) AS project_id,
  CASE WHEN coalesce(j.id, r.id) IS NOT NULL THEN --sqlite
  printf('%08x-%04x-7%03x-%04x-%012x', a.job >> 28, (a.job >> 12) & 65535, a.job & 4095, --sqlite
    ((coalesce(j.id_low, r.id_low) >> 48) & 16383) | 32768, --sqlite
    coalesce(j.id_low, r.id_low) & 281474976710655) END AS job_id, --sqlite
  --postgres: pawl_uuid(a.job, coalesce(j.id_low, r.id_low)) AS job_id,
  t.name AS job_type, a.attempt,
  CASE coalesce(a.actor_type, j.actor_type, r.actor_type) WHEN 0 THEN 'user' WHEN 1 THEN 'system'
       ELSE 'api_key' END AS actor_type,
  coalesce(a.actor_id, j.actor_id, r.actor_id) AS actor_id,
  coalesce(a.request_id, j.request_id, r.request_id) AS request_id,
  coalesce(a.correlation_id, j.correlation_id, r.correlation_id) AS correlation_id,
  a.detail, a.subject
FROM audit_events a
JOIN audit_event_names n ON n.event = a.event
LEFT JOIN orgs o ON o.id = a.org
LEFT JOIN jobs j ON j.id = a.job
LEFT JOIN removed_jobs r ON r.id = a.job
LEFT JOIN job_types t ON t.id = coalesce(j.type, r.type);
