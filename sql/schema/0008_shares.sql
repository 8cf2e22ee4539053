-- Orgs that have jobs ready in one queue take turns, by weight.
ALTER TABLE orgs ADD COLUMN weight INTEGER NOT NULL DEFAULT 1 CHECK (weight BETWEEN 1 AND 100);

INSERT INTO audit_event_names (event, name) VALUES (42, 'org.weighed');
