-- Limits: how many jobs of a queue, a type, an org or a key may run at once and begin per time.
--
-- What runs is what has a live execution; nothing is counted up or down, so nothing is lost count
-- of when a worker dies.

-- What several jobs of one type share, as they name it themselves: a customer, an account.
ALTER TABLE jobs ADD COLUMN limit_key TEXT CHECK (limit_key <> '');

CREATE TABLE job_limits (
  scope INTEGER NOT NULL CHECK (scope BETWEEN 0 AND 3),  -- queue, type, org, key of a type
  subject INTEGER NOT NULL,        -- of that table; org 0: each that has no row of its own
  max_running INTEGER NOT NULL CHECK (max_running >= 0),  -- 0: no limit
  rate INTEGER NOT NULL CHECK (rate >= 0),                -- so many ...; 0: no limit
  per_us INTEGER NOT NULL CHECK (per_us > 0),             -- ... in this time ...
  burst INTEGER NOT NULL CHECK (burst > 0),               -- ... and this many at once
  on_rate_limited INTEGER NOT NULL CHECK (on_rate_limited BETWEEN 0 AND 2),  -- of a type
  pause_us INTEGER NOT NULL CHECK (pause_us >= 0),
  set_by TEXT NOT NULL,            -- the instance whose configuration says so; empty: an operator
  set_at INTEGER NOT NULL,
  PRIMARY KEY (scope, subject)
)
STRICT, WITHOUT ROWID --sqlite
;

-- How far the rate of a limit is used up.
CREATE TABLE job_limit_buckets (
  scope INTEGER NOT NULL,
  subject INTEGER NOT NULL,
  org INTEGER NOT NULL,            -- of a key; else 0
  limit_key TEXT NOT NULL,         -- of a key; else empty
  full_at INTEGER NOT NULL,        -- when all of it is there again: nanoseconds since 1970
  wake_at INTEGER,                 -- jobs wait for the key: look at them then
  PRIMARY KEY (scope, subject, org, limit_key)
)
STRICT, WITHOUT ROWID --sqlite
;
CREATE INDEX job_limit_buckets_wake ON job_limit_buckets (wake_at) WHERE wake_at IS NOT NULL;
CREATE INDEX job_limit_buckets_full ON job_limit_buckets (full_at) WHERE scope = 3;

-- Where to look for what runs under a limit. A row counts while its job has a live execution.
CREATE TABLE job_limit_holds (
  job INTEGER PRIMARY KEY,
  queue INTEGER NOT NULL,
  type INTEGER NOT NULL,
  org INTEGER NOT NULL,
  limit_key TEXT NOT NULL          -- empty: none
)
STRICT --sqlite
;
CREATE INDEX job_limit_holds_queue ON job_limit_holds (queue);
CREATE INDEX job_limit_holds_type ON job_limit_holds (type, org, limit_key);
CREATE INDEX job_limit_holds_org ON job_limit_holds (org);

-- Jobs that a claim met and that wait for their key: parked as blocked, with the empty serial key.
CREATE TABLE job_limit_waits (
  job INTEGER PRIMARY KEY,
  type INTEGER NOT NULL,
  org INTEGER NOT NULL,
  limit_key TEXT NOT NULL,
  FOREIGN KEY (job, org) REFERENCES jobs (id, org)
)
STRICT --sqlite
;
CREATE INDEX job_limit_waits_key ON job_limit_waits (type, org, limit_key, job);

-- A type whose provider said that it is too much: no job of it begins until then.
CREATE TABLE job_type_pauses (
  type INTEGER NOT NULL REFERENCES job_types (id),
  org INTEGER NOT NULL,            -- 0: of every org
  since INTEGER NOT NULL,
  until INTEGER NOT NULL,
  PRIMARY KEY (type, org)
)
STRICT, WITHOUT ROWID --sqlite
;

INSERT INTO audit_event_names (event, name) VALUES
  (54, 'limit.set'), (55, 'limit.removed'), (56, 'type.paused'), (57, 'type.resumed');
