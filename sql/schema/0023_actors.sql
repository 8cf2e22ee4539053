-- Who did it, when that is Pawl itself (OPS-19).
--
-- What a worker of Pawl's own does to a job says so by actor_type alone, for it is most of what
-- there is: the name of the system is not stored with each event. Those of before were read in the
-- name of whoever created the job, and still are: they are sealed like that.
DROP VIEW pawl_audit;
CREATE VIEW pawl_audit AS
SELECT
  a.id, a.at, n.name AS event, o.org_id, coalesce(j.project_id, r.project_id) AS project_id,
  CASE WHEN coalesce(j.id, r.id) IS NOT NULL THEN --sqlite
  printf('%08x-%04x-7%03x-%04x-%012x', a.job >> 28, (a.job >> 12) & 65535, a.job & 4095, --sqlite
    ((coalesce(j.id_low, r.id_low) >> 48) & 16383) | 32768, --sqlite
    coalesce(j.id_low, r.id_low) & 281474976710655) END AS job_id, --sqlite
  --postgres: pawl_uuid(a.job, coalesce(j.id_low, r.id_low)) AS job_id,
  t.name AS job_type, a.attempt,
  CASE coalesce(a.actor_type, j.actor_type, r.actor_type) WHEN 0 THEN 'user' WHEN 1 THEN 'system'
       ELSE 'api_key' END AS actor_type,
  coalesce(a.actor_id, CASE a.actor_type WHEN 1 THEN 'pawl' END, j.actor_id, r.actor_id)
    AS actor_id,
  coalesce(a.request_id, j.request_id, r.request_id) AS request_id,
  coalesce(a.correlation_id, j.correlation_id, r.correlation_id) AS correlation_id,
  a.detail, a.subject
FROM audit_events a
JOIN audit_event_names n ON n.event = a.event
LEFT JOIN orgs o ON o.id = a.org
LEFT JOIN jobs j ON j.id = a.job
LEFT JOIN removed_jobs r ON r.id = a.job
LEFT JOIN job_types t ON t.id = coalesce(j.type, r.type);

-- What concerns the whole store, which is little among the events of jobs: for whoever asks for it.
CREATE INDEX audit_of_store ON audit_events (id) WHERE org = 0;
