// Uploads against a server that is killed with -9, and one whose disk is full: what was answered is
// there, whole, and nothing else is left.
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readdirSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { freePort, pawl, run, scratch, start } from './server.mjs';

const kills = 6, clients = 6;
const sha256 = (bytes) => createHash('sha256').update(bytes).digest('hex');
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const files = (directory) => readdirSync(join(directory, 'pawl.db.artifacts'));

async function upload(url, bytes) {
  const answer = await fetch(`${url}/v1/artifacts`, { method: 'POST', body: bytes });
  return { status: answer.status, body: JSON.parse(await answer.text()) };
}

test(`OPS_24_killed_${kills}_times_during_uploads_it_keeps_what_it_answered`, async () => {
  const directory = scratch();
  const port = await freePort();
  const state = { server: await start({ directory, port }), over: false };
  const stored = new Map();
  const work = async (name) => {
    for (let n = 0; !state.over; n++) {
      const bytes = Buffer.alloc(200000, `${name} ${n}`);
      try {
        const { status, body } = await upload(state.server.url, bytes);
        assert.equal(status, 201);
        stored.set(body.artifact_id, sha256(bytes));
      } catch (error) {
        if (error.code === 'ERR_ASSERTION') throw error;
        await pause(5);
      }
    }
  };
  const busy = Array.from({ length: clients }, (_, i) => work(`c${i}`));
  for (let i = 0; i < kills; i++) {
    await pause(150 + 37 * i);
    // One that is under way for certain: half of it has come.
    const half = request(`${state.server.url}/v1/artifacts`,
                         { method: 'POST', headers: { 'content-length': 1000000 } });
    half.on('error', () => {});
    await new Promise((resolve) => half.write(Buffer.alloc(500000), resolve));
    await state.server.kill();
    state.server = await start({ directory, port });
  }
  state.over = true;
  await Promise.all(busy);
  assert.ok(stored.size > 0);
  for (const [id, sum] of stored) {
    const answer = await fetch(`${state.server.url}/v1/artifacts/${id}`);
    assert.equal(sha256(Buffer.from(await answer.arrayBuffer())), sum, id);
  }
  await state.server.stop();
  const last = await start({ directory, port });  // what the last kill left is gone as well
  await last.stop();
  const rows = [];
  for (let cursor = ''; cursor !== null;) {
    const page = await listed(directory, port, cursor);
    rows.push(...page.items);
    cursor = page.next_cursor;
  }
  assert.equal(files(directory).length, rows.length, 'a file without a row, or a row without one');
  assert.match(run(directory, 'verify', '--artifacts'), /^0 violations$/m);
  rmSync(directory, { recursive: true });
});

async function listed(directory, port, cursor) {
  const server = await start({ directory, port });
  const { body } = await server.get(`/v1/artifacts?limit=500${cursor && `&cursor=${cursor}`}`);
  await server.stop();
  return body;
}

// A limit on the size of files stands for a disk that has no room: the store's own files are
// smaller.
test('OPS_24_a_full_disk_is_507_and_nothing_is_left', async () => {
  const directory = scratch();
  const port = await freePort();
  const limited = 'ulimit -f 4000; exec "$@"';  // blocks of 1,024 bytes
  const child = spawn('bash', ['-c', limited, 'bash', pawl, 'serve', '--store',
                               `sqlite:${directory}/pawl.db`, '--listen', `127.0.0.1:${port}`],
                      { stdio: 'ignore', cwd: directory });
  const ended = new Promise((resolve) => child.on('close', resolve));
  const url = `http://127.0.0.1:${port}`;
  for (let i = 0; i < 1000; i++) {
    if (await fetch(`${url}/readyz`).then(({ ok }) => ok, () => false)) break;
    await pause(10);
  }
  const before = await upload(url, Buffer.alloc(1000000));
  assert.equal(before.status, 201);
  const full = await upload(url, Buffer.alloc(8000000));
  assert.deepEqual([full.status, full.body.code], [507, 'disk_full']);
  assert.equal(files(directory).length, 1);
  assert.equal((await upload(url, Buffer.alloc(1000000))).status, 201);
  child.kill('SIGTERM');
  assert.equal(await ended, 0);
  rmSync(directory, { recursive: true });
});
