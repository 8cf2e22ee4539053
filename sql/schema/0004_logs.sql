-- What commands said on stderr, line by line.

CREATE TABLE execution_logs (
  job INTEGER NOT NULL,
  seq INTEGER NOT NULL CHECK (seq >= 1),  -- counts within the job, through all its executions
  org INTEGER NOT NULL,
  execution INTEGER NOT NULL,
  at INTEGER NOT NULL,             -- when Pawl read it
  text TEXT NOT NULL,
  PRIMARY KEY (job, seq),
  FOREIGN KEY (job, org) REFERENCES jobs (id, org)
)
STRICT, WITHOUT ROWID --sqlite
;
