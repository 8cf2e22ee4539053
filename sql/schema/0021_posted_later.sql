-- compatible: 16
-- A job that came in SQL and whose queue is full is looked at again later, so that those of other
-- queues and tenants behind it are not kept waiting.
ALTER TABLE posted_jobs ADD COLUMN look_at INTEGER NOT NULL DEFAULT 0;
CREATE INDEX posted_jobs_look ON posted_jobs (look_at, id);
