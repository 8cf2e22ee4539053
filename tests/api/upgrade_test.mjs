// A server whose store a newer pawl migrates: it writes no more, says why, and can be ended.
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { cli } from './cli.mjs';
import { scratch, start } from './server.mjs';

const sqlite = (file, sql) => execFileSync('sqlite3', [file, sql], { encoding: 'utf8' });

test('OPS-9 a server of an older version stops writing when its store is migrated',
     { timeout: 60000 }, async () => {
  const directory = scratch(), file = join(directory, 'pawl.db');
  const server = await start({ directory });
  const enqueue = (key) => server.post('/v1/jobs', {
    job_type: 'a', payload: {}, idempotency_key: key });
  assert.equal((await enqueue('before')).status, 201);
  sqlite(file, 'PRAGMA busy_timeout = 10000; BEGIN IMMEDIATE; CREATE TABLE from_the_future (x);'
               + "INSERT INTO schema_migrations VALUES (999, 'future', 1); COMMIT");
  const refused = await enqueue('after');
  assert.equal(refused.status, 500);
  assert.match(refused.body.detail, /schema version 999 by a newer pawl/);
  assert.equal((await server.get('/readyz')).status, 500);
  assert.equal(sqlite(file, 'SELECT count(*) FROM jobs').trim(), '1');
  await server.stop();  // it ends well
  rmSync(directory, { recursive: true });
});

test('OPS-9 migrate says what is applied and pending, and refuses a newer store', async () => {
  const directory = scratch(), store = `sqlite:${directory}/pawl.db`;
  const ask = async (...words) => cli(['migrate', '--store', store, '--json', ...words]);
  assert.equal((await ask('--status')).status, 3);  // there is none
  const made = JSON.parse((await ask()).out);
  assert.equal(made.version_before, 0);
  assert.equal(made.applied.length, made.version_known);
  assert.deepEqual(made.pending, []);
  const tried = JSON.parse((await ask('--dry-run')).out);
  assert.deepEqual([tried.version_before, tried.version, tried.violations],
                   [made.version, made.version, 0]);
  sqlite(join(directory, 'pawl.db'), "INSERT INTO schema_migrations VALUES (999, 'future', 1)");
  assert.equal(JSON.parse((await ask('--status')).out).version, 999);
  for (const words of [[], ['--dry-run']]) {
    const { status, err } = await ask(...words);
    assert.equal(status, 1);
    assert.match(err, /use a newer pawl/);
  }
  rmSync(directory, { recursive: true });
});
