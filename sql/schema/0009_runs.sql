-- The end of a run touches one index of `executions` instead of three, and no trigger.
--
-- The serial key on an execution is the one it holds: with its end it is given back. So neither of
-- these indexes depends on `finished_at`, and a run that has no key and no commit phase leaves both
-- alone.

DROP TRIGGER executions_final; --sqlite
--postgres: ALTER TABLE executions DISABLE TRIGGER executions_final;
UPDATE executions SET serial_key = NULL WHERE serial_key IS NOT NULL AND finished_at IS NOT NULL;
--postgres: ALTER TABLE executions ENABLE TRIGGER executions_final;

-- One RUNNING job per serial key (RUN-2), held until DONE.
DROP INDEX executions_serial;
CREATE UNIQUE INDEX executions_serial ON executions (org, serial_key)
  WHERE serial_key IS NOT NULL;
DROP INDEX executions_finish;
CREATE INDEX executions_finish ON executions (finish_at) WHERE finish_at IS NOT NULL;

-- A finished execution never changes. On SQLite a trigger costs what an index does even when it has
-- nothing to say, so this one is not asked about the columns that the end itself writes: every
-- statement that writes those asks for a status that is not final (a test holds them to it).
CREATE TRIGGER executions_final AFTER UPDATE OF id, id_low, attempt, worker, queue, type, --sqlite
  policy, lease_us, lease_expires_at, leased_at, started_at, deadline_at, --sqlite
  cancel_requested_at, attempts_used, retry_count, crash_count, finish, finish_failures, --sqlite
  finish_at, error_class, error_message, error_detail, progress_percent, progress_message --sqlite
ON executions --sqlite
WHEN OLD.finished_at IS NOT NULL --sqlite
BEGIN SELECT RAISE(ROLLBACK, 'a finished execution never changes'); END; --sqlite
