// pawl doctor from outside: each check of the machine and the file that a test can make fire, its
// exit status, and what is left of it through a server. Those of the records are in health_test.c.
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { openSync, closeSync, rmSync, truncateSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { cli, withServer } from './cli.mjs';
import { pawl, run, scratch, start } from './server.mjs';

// A store in a directory of its own, for the time of `work`.
async function withStore(work) {
  const directory = scratch(), file = join(directory, 'pawl.db');
  try {
    run(directory, 'migrate');
    await work({ directory, file, store: `sqlite:${file}` });
  } finally {
    rmSync(directory, { recursive: true });
  }
}

async function examine(words) {
  const { status, out, err } = await cli(['doctor', '--json', ...words]);
  assert.ok(status === 0 || status === 1, err);
  const answer = JSON.parse(out);
  const of = Object.fromEntries(answer.checks.map((check) => [check.check, check]));
  assert.equal(status, answer.checks.some(({ health }) => health === 'bad') ? 1 : 0);
  for (const { check, health, advice } of answer.checks)
    assert.equal(advice !== null, health !== 'ok', check);
  return of;
}

const sqlite = (file, sql) => execFileSync('sqlite3', [file, sql], { encoding: 'utf8' });

test('DOCTOR a store that is well: nothing is bad, and people see a table', async () => {
  await withStore(async ({ store }) => {
    const found = await examine(['--store', store]);
    for (const check of ['store', 'lock', 'log', 'pages', 'integrity', 'clock', 'full', 'stuck'])
      assert.equal(found[check].health, 'ok', JSON.stringify(found[check]));
    const { status, out } = await cli(['doctor', '--store', store]);
    assert.equal(status, 0);
    assert.match(out, /^CHECK +HEALTH +FOUND\n/);
    assert.match(out, /^integrity +ok +the file is whole$/m);
  });
});

test('DOCTOR a configuration with problems', async () => {
  await withStore(async ({ directory, store }) => {
    const file = join(directory, 'pawl.yaml');
    writeFileSync(file, 'listen: 127.0.0.1:0\nno_such_key: 1\n');
    const { configuration } = await examine(['--store', store, '--config', file]);
    assert.equal(configuration.health, 'bad');
    assert.match(configuration.found, /no_such_key/);
  });
});

test('DOCTOR a store that is not there, that is no store, that is newer', async () => {
  await withStore(async ({ directory, file, store }) => {
    const none = await examine(['--store', `sqlite:${directory}/none.db`]);
    assert.match(none.store.found, /there is no store/);
    writeFileSync(join(directory, 'text.db'), 'this is a text and no database at all\n');
    const text = await examine(['--store', `sqlite:${directory}/text.db`]);
    assert.match(text.store.found, /not a Pawl store/);
    sqlite(file, "INSERT INTO schema_migrations VALUES (999, 'future', 1)");
    const newer = await examine(['--store', store]);
    assert.match(newer.store.found, /999 .* newer pawl/);
    for (const found of [none, text, newer]) assert.equal(found.store.health, 'bad');
  });
});

test('DOCTOR a damaged file', async () => {
  await withStore(async ({ directory, file, store }) => {
    run(directory, 'backup', 'whole.db');  // a file without a log
    const copy = join(directory, 'whole.db'), fd = openSync(copy, 'r+');
    writeSync(fd, 'no page of a tree', 4096 * 9);
    closeSync(fd);
    const { integrity, store: opened } = await examine(['--store', `sqlite:${copy}`]);
    assert.equal((integrity ?? opened).health, 'bad');
    assert.equal((await examine(['--store', store])).integrity.health, 'ok', file);
  });
});

test('DOCTOR a log that is held back', async () => {
  await withStore(async ({ file, store }) => {
    truncateSync(`${file}-wal`, 300 * 1024 * 1024);
    assert.equal((await examine(['--store', store])).log.health, 'warn');
    truncateSync(`${file}-wal`, 800 * 1024 * 1024);
    assert.equal((await examine(['--store', store])).log.health, 'bad');
  });
});

test('DOCTOR a file that is mostly unused', async () => {
  await withStore(async ({ file, store }) => {
    sqlite(file, 'CREATE TABLE mine (x); INSERT INTO mine VALUES (zeroblob(90000000));'
                 + 'DROP TABLE mine');
    const { pages } = await examine(['--store', store]);
    assert.equal(pages.health, 'warn');
    assert.match(pages.found, /9\d % of it unused/);
  });
});

test('DOCTOR a lock that somebody holds', { timeout: 60000 }, async () => {
  await withStore(async ({ file, store }) => {
    const holder = spawn('sqlite3', [file], { stdio: ['pipe', 'pipe', 'inherit'] });
    holder.stdin.write("BEGIN IMMEDIATE; SELECT 'held';\n");
    await new Promise((resolve) => holder.stdout.once('data', resolve));
    const { lock } = await examine(['--store', store]);
    assert.equal(lock.health, 'bad');
    assert.match(lock.found, /another program has held/);
    holder.stdin.end();
    await new Promise((resolve) => holder.once('close', resolve));
  });
});

test('DOCTOR a clock that was set back', async () => {
  await withStore(async ({ directory, file, store }) => {
    run(directory, 'enqueue', 'a');
    const ahead = (Date.now() + 3600000) * 1000;
    sqlite(file, 'INSERT INTO audit_events (org, job, event, attempt, at)'
                 + ` SELECT org, job, 13, 0, ${ahead} FROM audit_events WHERE job > 0 LIMIT 1`);
    const { clock } = await examine(['--store', store]);
    assert.equal(clock.health, 'bad');
    assert.match(clock.found, /in (60 min|1 h)/);
  });
});

test('DOCTOR few file descriptors', async () => {
  await withStore(async ({ store }) => {
    const out = execFileSync('bash', ['-c', 'ulimit -n 1000; exec "$0" doctor --json --store "$1"',
                                      pawl, store], { encoding: 'utf8' });
    assert.equal(JSON.parse(out).checks.find(({ check }) => check === 'files').health, 'warn');
  });
});

test('DOCTOR a queue that is nearly full, then full', async () => {
  await withStore(async ({ directory, store }) => {
    const lines = (from, to) => Array.from({ length: to - from }, (_, i) => JSON.stringify({
      job_type: 'a', payload: { n: from + i }, queue: 'q:critical' })).join('\n');
    writeFileSync(join(directory, 'jobs.jsonl'), lines(0, 950));
    run(directory, 'import', 'jobs.jsonl');
    assert.equal((await examine(['--store', store])).full.health, 'warn');
    writeFileSync(join(directory, 'jobs.jsonl'), lines(950, 1000));
    run(directory, 'import', 'jobs.jsonl');
    const { full } = await examine(['--store', store]);
    assert.equal(full.health, 'bad');
    assert.match(full.found, /q:critical has 1000 jobs of 1000/);
  });
});

test('DOCTOR through a server: what its API tells', { timeout: 60000 }, async () => {
  const config = 'job_types:\n  bad: {run: ["/bin/sh", "-c", "exit 65"]}\n';
  await withServer({ config }, async (server) => {
    const well = await examine(['--server', server.url]);
    assert.equal(well.server.health, 'ok');
    assert.equal(well.letters.health, 'ok');
    const { body } = await server.post('/v1/jobs', {
      job_type: 'bad', payload: {}, idempotency_key: 'k' });
    await server.get(`/v1/jobs/${body.job_id}?wait_ms=30000`);
    assert.equal((await examine(['--server', server.url])).letters.health, 'warn');
  });
  const gone = await start({});
  await gone.stop();
  assert.equal((await examine(['--server', gone.url])).server.health, 'bad');
});
