-- compatible: 16
-- Jobs that an application enqueues in SQL, inside its own transaction: `pawl.enqueue(…)`.
--
-- The function only puts a row here, so that a transaction of the application's, however long it
-- lasts, keeps nobody waiting; it has no part in the lock, the counters and the audit trail, which
-- are one writer's at a time. Once it is committed a process of Pawl's takes it in, with the one
-- implementation of enqueueing there is, under the id that the function has answered. Ids that are
-- made here are odd, those that the engine makes for jobs are even: they never meet.
--
-- What these constraints say is refused to the caller; what only the contract says makes the job
-- end FAILED when it is taken in.
CREATE TABLE posted_jobs (
  id INTEGER PRIMARY KEY CHECK (id > 0),
  id_low INTEGER NOT NULL,
  org_id TEXT NOT NULL CHECK (length(org_id) = 36),
  project_id TEXT CHECK (length(project_id) = 36),
  idempotency_key TEXT NOT NULL CHECK (length(idempotency_key) BETWEEN 1 AND 232),
  job_type TEXT NOT NULL CHECK (length(job_type) BETWEEN 1 AND 128),
  payload TEXT NOT NULL CHECK (length(payload) <= 1048576),
  queue TEXT CHECK (length(queue) BETWEEN 1 AND 128 AND queue <> 'q:deadletter'),
  priority INTEGER NOT NULL CHECK (priority BETWEEN -100 AND 100),
  serial_key TEXT CHECK (length(serial_key) BETWEEN 1 AND 256),
  limit_key TEXT CHECK (length(limit_key) BETWEEN 1 AND 256),
  policy TEXT CHECK (length(policy) BETWEEN 1 AND 128),
  scheduled_for INTEGER,
  max_wait_ms INTEGER CHECK (max_wait_ms > 0),
  correlation_id TEXT CHECK (length(correlation_id) BETWEEN 1 AND 256),
  submit INTEGER NOT NULL CHECK (submit IN (0, 1)),
  posted_by TEXT NOT NULL,         -- the role
  --postgres: CHECK (org_id ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'),
  --postgres: CHECK (project_id ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'),
  --postgres: CHECK (job_type ~ '^[A-Za-z0-9][A-Za-z0-9._:-]*$'),
  --postgres: CHECK (queue ~ '^[A-Za-z0-9._:-]+$'),
  --postgres: CHECK (octet_length(idempotency_key) <= 232 AND idempotency_key !~ '[[:cntrl:]]'),
  --postgres: CHECK (octet_length(payload) <= 1048576),
  posted_at INTEGER NOT NULL
)
STRICT --sqlite
;
-- One job for each key (OPS-2), also among those that nobody has taken in yet.
CREATE UNIQUE INDEX posted_jobs_key
  ON posted_jobs (org_id, coalesce(project_id, ''), idempotency_key);

-- The key table is found by the store's own hash: SipHash-2-4 of the texts, as src/base/hash.c has
-- it. Numbers of 64 bits are added without an overflow, and read with their lowest byte first.
--postgres: CREATE FUNCTION pawl_add64(a BIGINT, b BIGINT) RETURNS BIGINT IMMUTABLE LANGUAGE sql
--postgres: RETURN (((a >> 32) + (b >> 32) + (((a & 4294967295) + (b & 4294967295)) >> 32)) << 32)
--postgres:      | (((a & 4294967295) + (b & 4294967295)) & 4294967295);
--postgres: CREATE FUNCTION pawl_turn64(a BIGINT, n INTEGER) RETURNS BIGINT IMMUTABLE LANGUAGE sql
--postgres: RETURN (a << n) | ((a >> (64 - n)) & ((1::BIGINT << n) - 1));
--postgres: CREATE FUNCTION pawl_word(b BYTEA, n INTEGER) RETURNS BIGINT IMMUTABLE LANGUAGE sql
--postgres: RETURN get_byte(b, n)::BIGINT | (get_byte(b, n + 1)::BIGINT << 8)
--postgres:   | (get_byte(b, n + 2)::BIGINT << 16) | (get_byte(b, n + 3)::BIGINT << 24)
--postgres:   | (get_byte(b, n + 4)::BIGINT << 32) | (get_byte(b, n + 5)::BIGINT << 40)
--postgres:   | (get_byte(b, n + 6)::BIGINT << 48) | (get_byte(b, n + 7)::BIGINT << 56);
--postgres: CREATE FUNCTION pawl_bytes(n BIGINT) RETURNS BYTEA IMMUTABLE LANGUAGE sql
--postgres: RETURN set_byte(set_byte(set_byte(set_byte(set_byte(set_byte(set_byte(set_byte(
--postgres:   '\x0000000000000000'::BYTEA, 0, (n & 255)::INTEGER), 1, (n >> 8 & 255)::INTEGER),
--postgres:   2, (n >> 16 & 255)::INTEGER), 3, (n >> 24 & 255)::INTEGER), 4, (n >> 32 & 255)::INTEGER),
--postgres:   5, (n >> 40 & 255)::INTEGER), 6, (n >> 48 & 255)::INTEGER), 7, (n >> 56 & 255)::INTEGER);
--postgres: CREATE FUNCTION pawl_sip(message BYTEA, secret BYTEA) RETURNS BIGINT IMMUTABLE LANGUAGE plpgsql
--postgres: SET search_path FROM CURRENT AS $$
--postgres: DECLARE
--postgres:   v0 BIGINT := pawl_word(secret, 0) # 8317987319222330741;
--postgres:   v1 BIGINT := pawl_word(secret, 8) # 7237128888997146477;
--postgres:   v2 BIGINT := pawl_word(secret, 0) # 7816392313619706465;
--postgres:   v3 BIGINT := pawl_word(secret, 8) # 8387220255154660723;
--postgres:   n INTEGER := length(message);
--postgres:   padded BYTEA := message || substring('\x00000000000000'::BYTEA FOR 7 - n % 8)
--postgres:                || set_byte('\x00'::BYTEA, 0, n & 255);
--postgres:   words INTEGER := length(padded) / 8;
--postgres:   m BIGINT := 0;
--postgres: BEGIN
--postgres:   FOR i IN 0 .. words LOOP
--postgres:     IF i < words THEN
--postgres:       m := pawl_word(padded, i * 8);
--postgres:       v3 := v3 # m;
--postgres:     ELSE
--postgres:       v2 := v2 # 255;
--postgres:     END IF;
--postgres:     FOR round IN 1 .. CASE WHEN i < words THEN 2 ELSE 4 END LOOP
--postgres:       v0 := pawl_add64(v0, v1);
--postgres:       v1 := pawl_turn64(v1, 13) # v0;
--postgres:       v0 := pawl_turn64(v0, 32);
--postgres:       v2 := pawl_add64(v2, v3);
--postgres:       v3 := pawl_turn64(v3, 16) # v2;
--postgres:       v0 := pawl_add64(v0, v3);
--postgres:       v3 := pawl_turn64(v3, 21) # v0;
--postgres:       v2 := pawl_add64(v2, v1);
--postgres:       v1 := pawl_turn64(v1, 17) # v2;
--postgres:       v2 := pawl_turn64(v2, 32);
--postgres:     END LOOP;
--postgres:     IF i < words THEN
--postgres:       v0 := v0 # m;
--postgres:     END IF;
--postgres:   END LOOP;
--postgres:   RETURN v0 # v1 # v2 # v3;
--postgres: END $$;
-- Where src/store/key_index.c has the record of a key, without its generation.
--postgres: CREATE FUNCTION pawl_key_hash(VARIADIC parts TEXT[]) RETURNS BIGINT STABLE LANGUAGE plpgsql
--postgres: SET search_path FROM CURRENT AS $$
--postgres: DECLARE
--postgres:   secret BYTEA := (SELECT decode(s.secret, 'hex') FROM store s);
--postgres:   list BYTEA := '';
--postgres:   bytes BYTEA;
--postgres: BEGIN
--postgres:   FOR i IN 1 .. array_length(parts, 1) LOOP
--postgres:     bytes := convert_to(coalesce(parts[i], ''), 'UTF8');
--postgres:     list := list || pawl_bytes(length(bytes)) || pawl_bytes(pawl_sip(bytes, secret));
--postgres:   END LOOP;
--postgres:   RETURN pawl_sip(list, secret) & 1099511627775;
--postgres: END $$;
-- The job that has the key, if its time to live is not over (src/engine/enqueue.c).
--postgres: CREATE FUNCTION pawl_key_holder(hash BIGINT, of_org TEXT, of_project TEXT, of_key TEXT) RETURNS jobs
--postgres: LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
--postgres: DECLARE
--postgres:   now_us BIGINT := (extract(epoch FROM clock_timestamp()) * 1000000)::BIGINT;
--postgres:   holder jobs;
--postgres: BEGIN
--postgres:   SELECT j.* INTO holder
--postgres:     FROM idempotency_generations g
--postgres:     JOIN idempotency_keys k ON k.slot = ((g.generation << 40) | hash)
--postgres:     JOIN jobs j ON j.id = k.job
--postgres:     JOIN orgs o ON o.id = j.org AND o.org_id = of_org
--postgres:     JOIN policies p ON p.id = j.policy
--postgres:     LEFT JOIN outcomes x ON x.job = j.id
--postgres:    WHERE j.idempotency_key = of_key AND coalesce(j.project_id, '') = coalesce(of_project, '')
--postgres:      AND (x.ended_at IS NULL OR j.created_at + p.key_ttl_us > now_us)
--postgres:    ORDER BY k.slot DESC LIMIT 1;
--postgres:   RETURN holder;
--postgres: END $$;
--postgres: CREATE FUNCTION pawl_key_reused(of_key TEXT, id BIGINT, low BIGINT) RETURNS VOID LANGUAGE plpgsql
--postgres: SET search_path FROM CURRENT AS $$
--postgres: BEGIN
--postgres:   RAISE unique_violation USING MESSAGE = format('key_reused: idempotency key %s belongs to job %s, '
--postgres:     'whose type, payload, serial key or time is another: use a new key for a new job', of_key,
--postgres:     pawl_uuid(id, low));
--postgres: END $$;
-- Looks again after it has put a row: whoever had one of this key before may just have been taken
-- in. Nobody may call it before somebody says GRANT.
--postgres: CREATE FUNCTION enqueue(job_type TEXT, payload JSONB DEFAULT '{}',
--postgres:   idempotency_key TEXT DEFAULT NULL,
--postgres:   org_id TEXT DEFAULT '00000000-0000-7000-8000-000000000000', project_id TEXT DEFAULT NULL,
--postgres:   queue TEXT DEFAULT NULL, priority INTEGER DEFAULT 0, serial_key TEXT DEFAULT NULL,
--postgres:   limit_key TEXT DEFAULT NULL, policy TEXT DEFAULT NULL, scheduled_for TIMESTAMPTZ DEFAULT NULL,
--postgres:   max_wait INTERVAL DEFAULT NULL, correlation_id TEXT DEFAULT NULL, submit BOOLEAN DEFAULT true)
--postgres: RETURNS UUID LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
--postgres: DECLARE
--postgres:   now_us BIGINT;
--postgres:   at_us BIGINT := floor(extract(epoch FROM scheduled_for) * 1000)::BIGINT * 1000;
--postgres:   wait_ms BIGINT := ceil(extract(epoch FROM max_wait) * 1000)::BIGINT;
--postgres:   hash BIGINT := CASE WHEN idempotency_key IS NOT NULL THEN pawl_key_hash(org_id, project_id, idempotency_key) END;
--postgres:   new_id BIGINT;
--postgres:   new_low BIGINT;
--postgres:   holder jobs;
--postgres:   posted posted_jobs;
--postgres: BEGIN
--postgres:   IF jsonb_typeof(payload) IS DISTINCT FROM 'object' THEN
--postgres:     RAISE invalid_parameter_value USING MESSAGE = 'payload: must be a JSON object';
--postgres:   END IF;
--postgres:   IF scheduled_for < clock_timestamp() - interval '60 s' THEN
--postgres:     RAISE invalid_parameter_value USING MESSAGE = 'scheduled_for: lies more than 60 s in the past';
--postgres:   END IF;
--postgres:   FOR attempt IN 1 .. 100 LOOP
--postgres:     IF idempotency_key IS NOT NULL THEN
--postgres:       holder := pawl_key_holder(hash, org_id, project_id, idempotency_key);
--postgres:     END IF;
--postgres:     IF holder.id IS NOT NULL THEN
--postgres:       IF (SELECT t.name FROM job_types t WHERE t.id = holder.type) <> job_type
--postgres:         OR holder.payload::JSONB <> payload
--postgres:         OR holder.serial_key IS DISTINCT FROM serial_key
--postgres:         OR holder.scheduled_for IS DISTINCT FROM at_us THEN
--postgres:         PERFORM pawl_key_reused(idempotency_key, holder.id, holder.id_low);
--postgres:       END IF;
--postgres:       DELETE FROM posted_jobs p WHERE p.id = new_id;
--postgres:       RETURN pawl_uuid(holder.id, holder.id_low)::UUID;
--postgres:     END IF;
--postgres:     IF posted.id IS NOT NULL THEN
--postgres:       RETURN pawl_uuid(posted.id, posted.id_low)::UUID;
--postgres:     END IF;
--postgres:     now_us := (extract(epoch FROM clock_timestamp()) * 1000000)::BIGINT;
--postgres:     new_id := ((now_us / 1000) << 12) | (floor(random() * 2048)::BIGINT << 1) | 1;
--postgres:     new_low := ('x' || right(replace(gen_random_uuid()::TEXT, '-', ''), 16))::BIT(64)::BIGINT
--postgres:       & 4611686018427387903;
--postgres:     INSERT INTO posted_jobs AS p (id, id_low, org_id, project_id, idempotency_key, job_type,
--postgres:       payload, queue, priority, serial_key, limit_key, policy, scheduled_for, max_wait_ms,
--postgres:       correlation_id, submit, posted_by, posted_at)
--postgres:     SELECT new_id, new_low, org_id, project_id,
--postgres:       coalesce(idempotency_key, pawl_uuid(new_id, new_low)), job_type, payload::TEXT, queue,
--postgres:       priority, serial_key, limit_key, policy, at_us, wait_ms, correlation_id, submit::INTEGER,
--postgres:       session_user, now_us
--postgres:      WHERE NOT EXISTS (SELECT 1 FROM jobs j WHERE j.id = new_id)
--postgres:     ON CONFLICT DO NOTHING
--postgres:     RETURNING p.* INTO posted;
--postgres:     IF posted.id IS NOT NULL AND idempotency_key IS NULL THEN
--postgres:       RETURN pawl_uuid(new_id, new_low)::UUID;
--postgres:     END IF;
--postgres:     CONTINUE WHEN posted.id IS NOT NULL;
--postgres:     SELECT p.* INTO posted FROM posted_jobs p
--postgres:      WHERE p.org_id = enqueue.org_id AND coalesce(p.project_id, '') = coalesce(enqueue.project_id, '')
--postgres:        AND p.idempotency_key = enqueue.idempotency_key;
--postgres:     IF posted.id IS NOT NULL AND (posted.job_type <> job_type OR posted.payload::JSONB <> payload
--postgres:       OR posted.serial_key IS DISTINCT FROM serial_key
--postgres:       OR posted.scheduled_for IS DISTINCT FROM at_us) THEN
--postgres:       PERFORM pawl_key_reused(idempotency_key, posted.id, posted.id_low);
--postgres:     END IF;
--postgres:   END LOOP;
--postgres:   RAISE serialization_failure USING MESSAGE = 'the job could not be stored: try again';
--postgres: END $$;
--postgres: REVOKE ALL ON FUNCTION enqueue FROM PUBLIC;
