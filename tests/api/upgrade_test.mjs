// Old and new programs on one store: who goes on beside whom, and who ends.
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cli } from './cli.mjs';
import { run, scratch, start } from './server.mjs';

const sqlite = (file, sql) => execFileSync('sqlite3', [file, sql], { encoding: 'utf8' });

// What a newer pawl leaves in the store: all that an older one ever sees of it.
const future = "CREATE TABLE from_the_future (x); INSERT INTO schema_migrations"
               + " VALUES (999, 'future', 1);";
const compatible = 'INSERT INTO schema_compatible SELECT 999, max(version) FROM schema_migrations'
                   + ' WHERE version < 999;';
const past = 'DROP TABLE from_the_future; DELETE FROM schema_migrations WHERE version = 999;'
             + 'DELETE FROM schema_compatible;';
const migrate = (file, sql) =>
  sqlite(file, `PRAGMA busy_timeout = 10000; BEGIN IMMEDIATE; ${sql} COMMIT`);

const enqueue = (server, key, job_type = 'a') =>
  server.post('/v1/jobs', { job_type, payload: {}, idempotency_key: key });

const ended = async (server, id) => {
  const { body } = await server.get(`/v1/jobs/${id}?wait_ms=30000`);
  return body.state;
};

// Commands that wait to be let go, so that nothing depends on how fast anybody is.
const waiting = (directory) => `job_types:
  hold: {run: ["/bin/sh", "-c", "touch begun; while ! test -e go; do sleep 0.1; done"],
         directory: "${directory}"}
`;

async function until(look) {
  while (!look()) await new Promise((resolve) => setTimeout(resolve, 20));
}

test('OPS-9 a server ends when a newer pawl migrates its store, and the newer one goes on',
     { timeout: 120000 }, async () => {
  const directory = scratch(), file = join(directory, 'pawl.db');
  const config = waiting(directory);
  const server = await start({ directory, config });
  const { body: job } = await enqueue(server, 'before', 'hold');
  await until(() => existsSync(join(directory, 'begun')));
  migrate(file, future);
  // Until it has ended it may refuse, and may be gone: it never takes anything.
  const refused = await enqueue(server, 'after').catch(() => ({ status: 503 }));
  assert.equal(refused.status, 503, refused.text);
  const how = await server.ended;
  assert.deepEqual(how, { status: 6, signal: null }, server.log);
  assert.equal(server.log.match(/STORE_OUTDATED/g).length, 1, server.log);
  assert.match(server.log, /schema version 999 by a newer pawl/);
  assert.equal(sqlite(file, 'SELECT count(*) FROM jobs').trim(), '1');
  // The newer one, played by this one on a store that it knows again.
  migrate(file, past);
  writeFileSync(join(directory, 'go'), '');
  const newer = await start({ directory, config, port: server.port });
  assert.equal(await ended(newer, job.job_id), 'SUCCEEDED');
  assert.match(run(directory, 'verify'), /0 violations/);
  await newer.stop();
  rmSync(directory, { recursive: true });
});

test('OPS-9 an older program does not start on a store that is newer', async () => {
  const directory = scratch();
  run(directory, 'migrate');
  migrate(join(directory, 'pawl.db'), future);
  await assert.rejects(start({ directory }), /use a newer pawl/);
  rmSync(directory, { recursive: true });
});

test('OPS-9 old and new work side by side when the migration leaves the old one as it was',
     { timeout: 120000 }, async () => {
  const directory = scratch(), file = join(directory, 'pawl.db');
  const old = await start({ directory, config: waiting(directory) });
  const { body: job } = await enqueue(old, 'before', 'hold');
  await until(() => existsSync(join(directory, 'begun')));
  migrate(file, future + compatible);
  const newer = await start({ directory });  // a process that opens it only now
  const { body: theirs } = await enqueue(newer, 'theirs', 'hold');
  assert.equal((await enqueue(old, 'ours')).status, 201);
  assert.equal((await old.get('/readyz')).status, 200);
  writeFileSync(join(directory, 'go'), '');
  for (const { job_id: id } of [job, theirs]) assert.equal(await ended(newer, id), 'SUCCEEDED');
  assert.doesNotMatch(old.log, /STORE_OUTDATED/);
  await old.stop();
  await newer.stop();
  migrate(file, past);
  assert.match(run(directory, 'verify'), /0 violations/);
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
