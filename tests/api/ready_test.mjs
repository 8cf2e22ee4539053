// /readyz says what is: that the store can be written and takes jobs, or within a second that not.
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, mkdirSync, rmSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { freePort, pawl, scratch, start } from './server.mjs';

const job = (key) => ({ job_type: 'w', payload: { text: 'x'.repeat(100000) },
                        idempotency_key: key });

// Another program that holds the write lock until it is told to end.
const holder = `
import sqlite3, sys
store = sqlite3.connect(sys.argv[1], isolation_level=None)
store.execute('BEGIN IMMEDIATE')
print('held', flush=True)
sys.stdin.read()
`;

test('OPS_9_a_store_that_another_program_holds_is_503_before_a_write_gives_up', async () => {
  const server = await start({});
  const other = spawn('python3', ['-c', holder, `${server.directory}/pawl.db`],
                      { stdio: ['pipe', 'pipe', 'inherit'] });
  await once(other.stdout, 'data');
  const order = [];
  const written = server.post('/v1/jobs', job('held')).then(() => order.push('job'));
  const ready = await server.get('/readyz');
  order.push('ready');
  assert.deepEqual([ready.status, ready.body.status, ready.body.code], [503, 503, 'busy']);
  assert.match(ready.body.detail, /write lock/);
  await written;
  assert.deepEqual(order, ['ready', 'job']);
  other.stdin.end();
  await once(other, 'close');
  while ((await server.get('/readyz')).status !== 200) await pause(20);
  assert.equal((await server.post('/v1/jobs', job('free'))).status, 201);
  await server.stop();
});

// A small file system that only the server and what it starts see.
const onSmallDisk = 'mount --make-rprivate / && mount -t tmpfs -o size=40m none "$0" && exec "$@"';
const mountable = (directory) => spawnSync('unshare', ['-m', 'sh', '-c', onSmallDisk, directory,
                                                       'true']).status === 0;

function fill(path) {
  const pieces = [1 << 20, 4096];
  while (pieces.length)
    try {
      appendFileSync(path, Buffer.alloc(pieces[0]));
    } catch (error) {
      if (error.code !== 'ENOSPC') throw error;
      pieces.shift();
    }
}

test('OPS_9_a_full_disk_is_503_until_there_is_room', async (t) => {
  const directory = scratch();
  const disk = `${directory}/disk`;
  mkdirSync(disk);
  if (!mountable(disk)) return t.skip('a file system of its own cannot be mounted here');
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const child = spawn('unshare', ['-m', 'sh', '-c', onSmallDisk, disk, pawl, 'serve', '--store',
                                  `sqlite:${disk}/pawl.db`, '--listen', `127.0.0.1:${port}`],
                      { stdio: 'ignore', cwd: directory });
  const ended = once(child, 'close');
  const ballast = `/proc/${child.pid}/root${disk}/ballast`;
  const ready = () => fetch(`${url}/readyz`).then(async (answer) => (
    { status: answer.status, body: await answer.json() }), () => ({ status: 0 }));
  const post = async (key) => (await fetch(`${url}/v1/jobs`, {
    method: 'POST', headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(job(key)) })).status;
  while ((await ready()).status !== 200) await pause(20);
  fill(ballast);
  for (let i = 0, status; status !== 507; i++)
    assert.ok([201, 507].includes(status = await post(`full ${i}`)), status);
  const full = await ready();
  assert.deepEqual([full.status, full.body.code], [503, 'disk_full']);
  assert.equal((await fetch(`${url}/healthz`)).status, 200);
  rmSync(ballast);
  while ((await ready()).status !== 200) await pause(20);
  assert.equal(await post('room'), 201);
  child.kill('SIGTERM');
  assert.equal((await ended)[0], 0);
  rmSync(directory, { recursive: true });
});
