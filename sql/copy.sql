-- `pawl copy`: the tables of a store, and what is asked about them when it is copied into another.
--
-- A line `-- table:` is a table that is copied, in this order: what a foreign key points at comes
-- first. From it tools/embed_sql.py makes the statements copy_count_X, copy_read_X, copy_last_X and
-- copy_insert_X, with the columns that the migrations give the table, those of its key first; where
-- they are needed copy_empty_X and copy_counter_X. A line `-- left:` is a table that each store has
-- of its own. A table in neither, or in both, stops the build.
--
-- table: store
-- table: orgs
-- table: job_types
-- table: queues
-- table: policies
-- table: instances
-- table: workers
-- table: leader
-- table: api_keys
-- table: jobs
-- table: changes
-- table: idempotency_generations
-- table: idempotency_keys
-- table: ready
-- table: parked
-- table: wait_limits
-- table: executions
-- table: outcomes
-- table: steps
-- table: execution_logs
-- table: job_batches
-- table: job_links
-- table: job_waits
-- table: job_endings
-- table: schedules
-- table: job_runs
-- table: slot_skips
-- table: artifacts
-- table: artifact_inputs
-- table: queue_counts
-- table: count_deltas
-- table: queue_pauses
-- table: queue_flows
-- table: alert_targets
-- table: alert_deliveries
-- table: job_limits
-- table: job_limit_buckets
-- table: job_limit_holds
-- table: job_limit_waits
-- table: job_type_pauses
-- table: posted_jobs
-- table: removed_jobs
-- table: forgotten_jobs
-- table: erasures
-- table: audit_events
-- table: audit_seals
-- left: schema_migrations  how this store came to its tables
-- left: schema_compatible  the same
-- left: audit_event_names  written by the migrations
-- left: store_copy         whether this store is a copy
-- PostgreSQL has ready_floors besides, which follows from what is put into `ready`.

-- What the store is and how far it has come: not the same before and after anything happened.
-- name: copy_source
-- scans: it has one row
SELECT s.secret, s.created_at, coalesce((SELECT max(id) FROM audit_events), 0) FROM store s;

-- name: copy_state
-- scans: it has one row
SELECT source, begun_at, coalesce(finished_at, 0) FROM store_copy;

-- name: copy_begin
INSERT INTO store_copy (only_row, source, begun_at) VALUES (1, $1, $2);

-- name: copy_finish
UPDATE store_copy SET finished_at = $1 WHERE only_row = 1;

-- name: copy_unmark
DELETE FROM schema_migrations WHERE version = $1;

-- The version of an unfinished copy's tables: $1 is the mark.
-- name: copy_version
SELECT coalesce(max(version), 0) FROM schema_migrations WHERE version < $1;

-- Who seems to be working on the store.
-- name: copy_instances
-- scans: one row for each name of an instance
SELECT instance, unheld FROM instances WHERE alive_until > $1 ORDER BY instance;

-- The transaction that keeps everybody else off the source waits while the target is checked.
-- name: copy_hold
SELECT 0 --sqlite
--postgres: SELECT set_config('idle_in_transaction_session_timeout', '0', true)
;
