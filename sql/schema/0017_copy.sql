-- compatible: 16
-- A store that was made by `pawl copy` says of what. While it is not done, schema_migrations has a
-- version that no program knows, so that nobody works on half a store.
CREATE TABLE store_copy (
  only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
  source TEXT NOT NULL,            -- a hash: which store, and how far it had come
  begun_at INTEGER NOT NULL,
  finished_at INTEGER              -- every row was compared, and what it says verified
)
STRICT --sqlite
;
