-- Open dead letters, found and counted without a look at those that were closed.
CREATE INDEX outcomes_open ON outcomes (org, job) WHERE dead_letter = 'open';

CREATE TRIGGER outcomes_letter BEFORE UPDATE OF dead_letter ON outcomes --sqlite
WHEN OLD.dead_letter IS NOT 'open' AND OLD.ended_at IS NOT NULL --sqlite
  AND NEW.dead_letter IS NOT OLD.dead_letter --sqlite
BEGIN SELECT RAISE(ABORT, 'a closed dead letter never changes'); END; --sqlite
--postgres: CREATE TRIGGER outcomes_letter BEFORE UPDATE OF dead_letter ON outcomes FOR EACH ROW WHEN (OLD.dead_letter IS DISTINCT FROM 'open' AND OLD.ended_at IS NOT NULL AND NEW.dead_letter IS DISTINCT FROM OLD.dead_letter) EXECUTE FUNCTION pawl_refuse('a closed dead letter never changes');
