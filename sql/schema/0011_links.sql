-- What the end of one job means to others: to jobs that wait for it, and to the batch it is in.
--
-- A job whose end concerns nobody has no row here, and whoever ends it learns that from the
-- statement that ends it. A job that waits for others is parked as blocked, with the empty serial
-- key, which no job can have.

-- A set of jobs, and the job that is made when all of them have ended.
CREATE TABLE job_batches (
  id INTEGER PRIMARY KEY CHECK (id > 0),
  id_low INTEGER NOT NULL,
  org INTEGER NOT NULL REFERENCES orgs (id),
  project_id TEXT,
  name TEXT CHECK (name <> ''),
  idempotency_key TEXT CHECK (idempotency_key <> ''),
  content TEXT NOT NULL,           -- a hash of what was asked for
  created_at INTEGER NOT NULL,
  actor_type INTEGER NOT NULL CHECK (actor_type BETWEEN 0 AND 2),
  actor_id TEXT NOT NULL,
  request_id TEXT NOT NULL,
  correlation_id TEXT NOT NULL,
  jobs INTEGER NOT NULL CHECK (jobs >= 0),    -- in it so far
  succeeded INTEGER NOT NULL DEFAULT 0,       -- and how those ended that have
  failed INTEGER NOT NULL DEFAULT 0,
  timed_out INTEGER NOT NULL DEFAULT 0,
  ended_at INTEGER,                -- all have: nothing can join it any more
  callback_type TEXT,              -- NULL: there is none, nor are the others
  callback_queue TEXT,
  callback_policy INTEGER REFERENCES policies (id),
  callback_priority INTEGER,
  callback_serial_key TEXT,
  callback_payload TEXT,
  callback_job INTEGER,            -- that was made
  callback_at INTEGER,             -- it could not be made yet: try again then
  CHECK (succeeded + failed + timed_out <= jobs),
  CHECK (callback_job IS NULL OR ended_at IS NOT NULL),
  CHECK (callback_at IS NULL OR (ended_at IS NOT NULL AND callback_job IS NULL)),
  UNIQUE (id, org),
  FOREIGN KEY (callback_job, org) REFERENCES jobs (id, org)
)
STRICT --sqlite
;
CREATE UNIQUE INDEX job_batches_key ON job_batches (org, coalesce(project_id, ''), idempotency_key)
  WHERE idempotency_key IS NOT NULL;
CREATE INDEX job_batches_due ON job_batches (callback_at) WHERE callback_at IS NOT NULL;

CREATE TABLE job_links (
  job INTEGER PRIMARY KEY,
  org INTEGER NOT NULL,
  batch INTEGER,
  batch_low INTEGER,               -- the other half of its id
  after_jobs TEXT,                 -- the jobs it was to wait for: a JSON list of ids
  pending INTEGER NOT NULL DEFAULT 0 CHECK (pending >= 0),  -- those that have not succeeded yet
  fulfilled_at INTEGER,            -- when the last of them did
  doom TEXT,                       -- it is held, one of them failed, and this is what to say
  CHECK ((batch IS NULL) = (batch_low IS NULL)),
  CHECK (pending = 0 OR after_jobs IS NOT NULL),
  FOREIGN KEY (job, org) REFERENCES jobs (id, org),
  FOREIGN KEY (batch, org) REFERENCES job_batches (id, org)
)
STRICT --sqlite
;
CREATE INDEX job_links_batch ON job_links (batch, job) WHERE batch IS NOT NULL;

-- Who waits for whom, until that one has ended. The key keeps a job that somebody waits for.
CREATE TABLE job_waits (
  awaited INTEGER NOT NULL,
  job INTEGER NOT NULL,
  org INTEGER NOT NULL,
  PRIMARY KEY (awaited, job),
  FOREIGN KEY (awaited, org) REFERENCES jobs (id, org),
  FOREIGN KEY (job, org) REFERENCES jobs (id, org)
)
STRICT, WITHOUT ROWID --sqlite
;
CREATE INDEX job_waits_job ON job_waits (job);

-- Jobs that have ended and of which those that wait for them are still to be told.
CREATE TABLE job_endings (
  job INTEGER PRIMARY KEY,
  org INTEGER NOT NULL,
  FOREIGN KEY (job, org) REFERENCES jobs (id, org)
)
STRICT --sqlite
;

INSERT INTO audit_event_names (event, name) VALUES
  (43, 'batch.created'), (44, 'batch.ended');
