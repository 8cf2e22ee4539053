-- Notes of people to events of no job. Those to a job are `job.annotated`.
INSERT INTO audit_event_names (event, name) VALUES (53, 'audit.annotated');

-- Migrations that leave older programs as they are: whoever knows the version `since`, or a later
-- one, may go on beside them. A migration that has no row here ends the work of older programs.
CREATE TABLE schema_compatible (
  version INTEGER PRIMARY KEY,
  since INTEGER NOT NULL,
  CHECK (since < version)
)
STRICT --sqlite
;
