-- Artifacts: bytes in a file beside the store, and here what is known of them (OPS-24).

CREATE TABLE artifacts (
  id INTEGER PRIMARY KEY CHECK (id > 0),
  id_low INTEGER NOT NULL,
  org INTEGER NOT NULL REFERENCES orgs (id),
  project_id TEXT,
  file TEXT NOT NULL UNIQUE CHECK (length(file) = 32),  -- its name; nobody outside learns it
  sha256 TEXT NOT NULL CHECK (length(sha256) = 64),
  bytes INTEGER NOT NULL CHECK (bytes >= 0),
  content_type TEXT NOT NULL,
  name TEXT CHECK (name <> ''),
  made_by TEXT NOT NULL,           -- the actor
  created_at INTEGER NOT NULL,
  job INTEGER,                     -- whose commit brought it; NULL: nobody's yet, or not any more
  execution INTEGER,
  authoritative INTEGER NOT NULL DEFAULT 0 CHECK (authoritative IN (0, 1)),
  CHECK ((job IS NULL) = (execution IS NULL)),
  FOREIGN KEY (job, org) REFERENCES jobs (id, org)
)
STRICT --sqlite
;
CREATE INDEX artifacts_org ON artifacts (org, id);
CREATE INDEX artifacts_job ON artifacts (job) WHERE job IS NOT NULL;
CREATE INDEX artifacts_free ON artifacts (created_at, id) WHERE job IS NULL;

-- What a job works on. The artifact may be gone: then the job ends when it is claimed (JOB-11).
CREATE TABLE artifact_inputs (
  job INTEGER NOT NULL,
  artifact INTEGER NOT NULL,
  artifact_low INTEGER NOT NULL,
  org INTEGER NOT NULL,
  PRIMARY KEY (job, artifact),
  FOREIGN KEY (job, org) REFERENCES jobs (id, org)
)
STRICT, WITHOUT ROWID --sqlite
;
CREATE INDEX artifact_inputs_artifact ON artifact_inputs (artifact);

-- From here on `policies.slot` holds marks, a bit each: 1 of a schedule's jobs, 2 `authoritative`,
-- 4 `may_write`. A column of its own would not be part of the table's unique key, and processes of
-- the version before this one go on with the store.

INSERT INTO audit_event_names (event, name) VALUES
  (46, 'artifact.stored'), (47, 'artifact.removed');
