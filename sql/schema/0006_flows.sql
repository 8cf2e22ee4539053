-- How many jobs of an org came into a queue and ended in it of late; org 0 is all of them together.
-- A ring: a period of ten seconds takes the row of the one eight periods before it, so nothing has
-- to be removed.
CREATE TABLE queue_flows (
  org INTEGER NOT NULL,
  queue INTEGER NOT NULL,
  place INTEGER NOT NULL CHECK (place BETWEEN 0 AND 7),  -- the period's, in the ring
  period INTEGER NOT NULL,                               -- since 1970
  enqueued INTEGER NOT NULL,
  ended INTEGER NOT NULL,
  PRIMARY KEY (org, queue, place)
)
STRICT, WITHOUT ROWID --sqlite
;

-- The lists of changes have two numbers more, [..., running, enqueued, ended], and the rows the
-- period they were written in.
ALTER TABLE count_deltas ADD COLUMN period INTEGER NOT NULL DEFAULT 0;
UPDATE count_deltas
   SET changes = replace(replace(changes, '],[', ',0,0],['), ']]', ',0,0]]');
