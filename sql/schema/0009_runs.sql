-- The end of a run touches one index of `executions` instead of three.
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

CREATE TRIGGER executions_final AFTER UPDATE ON executions --sqlite
WHEN OLD.finished_at IS NOT NULL --sqlite
BEGIN SELECT RAISE(ROLLBACK, 'a finished execution never changes'); END; --sqlite
