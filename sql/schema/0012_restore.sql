-- A store that was put back from a copy says so.
INSERT INTO audit_event_names (event, name) VALUES (45, 'store.restored');
