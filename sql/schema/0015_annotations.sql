-- Notes of people to events of no job. Those to a job are `job.annotated`.
INSERT INTO audit_event_names (event, name) VALUES (53, 'audit.annotated');
