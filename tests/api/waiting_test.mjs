// Waiting without a thread: what wakes whom, and what waiting costs.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readFileSync, rmSync, writeFileSync, chmodSync, readdirSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { makeKey, run, scratch, start } from './server.mjs';

const job = (n, more = {}) => ({ job_type: 'wait.test', payload: { n },
                                 idempotency_key: `wait-${n}`, ...more });
const bulk = (from, count) => ({ jobs: Array.from({ length: count }, (_, i) => job(from + i)) });

// How many requests wait now.
async function waiting(server, key) {
  const { text } = await server.get('/metrics', { key });
  return Number(text.match(/^pawl_http_waiting (\d+)$/m)[1]);
}

async function untilWaiting(server, count, key) {
  while (await waiting(server, key) !== count)
    await new Promise((resolve) => setTimeout(resolve, 20));
}

// The events of a stream until one of them is `last`.
async function streamed(server, query, last, headers = {}) {
  const stop = new AbortController();
  const answer = await fetch(`${server.url}/v1/events${query}`, { headers, signal: stop.signal });
  const events = [];
  let text = '';
  for await (const part of answer.body) {
    text += Buffer.from(part).toString('utf8');
    for (let end; (end = text.indexOf('\n\n')) >= 0; text = text.slice(end + 2)) {
      const data = text.slice(0, end).match(/^data: (.*)$/m);
      if (data) events.push(JSON.parse(data[1]));
    }
    if (events.some(last)) break;
  }
  stop.abort();
  return events;
}

// ----- streams

test('a stream that is far behind misses no event', { timeout: 60000 }, async () => {
  const server = await start();
  for (let i = 0; i < 3; i++)
    assert.equal((await server.post('/v1/jobs', bulk(i * 500, 500))).status, 200);
  const { body } = await server.post('/v1/jobs', job('last'));
  const events = await streamed(server, '?last_event_id=0',
                                (e) => e.job_id === body.job_id && e.event === 'job.enqueued');
  const enqueued = events.filter((e) => e.event === 'job.enqueued').map((e) => e.job_id);
  assert.equal(new Set(enqueued).size, 1501);
  assert.equal(enqueued.length, 1501);
  const ids = events.map((e) => e.event_id);
  assert.deepEqual(ids, [...ids].sort((a, b) => a - b));
  await server.stop();
});

test('OPS_10_a_stream_finds_its_few_events_among_many_of_others', { timeout: 60000 }, async () => {
  const directory = scratch();
  const other = '00000000-0000-7000-8000-00000000000b';
  const busy = makeKey(directory, 'admin').key;
  const quiet = makeKey(directory, 'admin', { org: other }).key;
  const server = await start({ directory });
  const first = await server.post('/v1/jobs', job('first'), { key: quiet });
  for (let i = 0; i < 3; i++)
    assert.equal((await server.post('/v1/jobs', bulk(i * 1000, 1000), { key: busy })).status, 200);
  const last = await server.post('/v1/jobs', job('last'), { key: quiet });
  const events = await streamed(server, '?last_event_id=0',
                                (e) => e.job_id === last.body.job_id && e.event === 'job.enqueued',
                                { authorization: `Bearer ${quiet}` });
  assert.deepEqual(events.filter((e) => e.event === 'job.enqueued').map((e) => e.job_id),
                   [first.body.job_id, last.body.job_id]);
  await server.stop();
  rmSync(directory, { recursive: true });
});

// ----- keys that are revoked meanwhile

test('OPS_10_a_revoked_key_ends_its_stream_and_gets_nothing_it_waited_for', { timeout: 60000 },
     async () => {
  const directory = scratch();
  const key = makeKey(directory, 'admin').key;
  const made = makeKey(directory, 'admin');
  const server = await start({ directory });
  const stream = await fetch(`${server.url}/v1/events`,
                             { headers: { authorization: `Bearer ${made.key}` } });
  const poll = server.post('/v1/leases', { worker_id: 'w', queues: ['q:default'],
                                           wait_ms: 30000 }, { key: made.key });
  const { body } = await server.post('/v1/jobs', job('held', { queue: 'q:held' }), { key });
  const wait = server.get(`/v1/jobs/${body.job_id}?wait_ms=30000`, { key: made.key });
  await untilWaiting(server, 3, key);
  assert.equal((await server.ask('DELETE', `/v1/keys/${made.key_id}`, undefined, { key })).status,
               200);
  for await (const part of stream.body) assert.ok(part);  // until the server ends it
  await server.post('/v1/jobs', job('news'), { key });
  await server.post(`/v1/jobs/${body.job_id}/cancel`, {}, { key });
  assert.equal((await poll).status, 401);
  assert.equal((await wait).status, 401);
  await server.stop();
  rmSync(directory, { recursive: true });
});

// ----- lanes

// A worker that asks for work and is gone without a word.
function abandonedPoll(server) {
  const body = JSON.stringify({ worker_id: 'gone', queues: ['q:default'], wait_ms: 30000 });
  const socket = connect(server.port, '127.0.0.1');
  socket.on('error', () => {});
  socket.write(`POST /v1/leases HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n`
               + `Content-Length: ${body.length}\r\n\r\n${body}`);
  return socket;
}

test('a job is not kept for workers that have left', { timeout: 60000 }, async () => {
  const server = await start();
  const gone = Array.from({ length: 8 }, () => abandonedPoll(server));
  await untilWaiting(server, gone.length);
  const poll = server.post('/v1/leases', { worker_id: 'here', queues: ['q:default'],
                                           wait_ms: 10000 });
  await untilWaiting(server, gone.length + 1);
  for (const socket of gone) socket.destroy();
  await server.post('/v1/jobs', job(1));
  assert.equal((await poll).body.executions.length, 1);
  await server.stop();
});

// ----- other processes

test('RUN_12_each_of_many_waiting_requests_hears_of_another_process', { timeout: 60000 },
     async () => {
  const directory = scratch();
  const server = await start({ directory });
  const made = (await server.post('/v1/jobs', bulk(0, 200))).body.results.map((r) => r.job.job_id);
  const waits = made.map((id) => server.get(`/v1/jobs/${id}?wait_ms=30000`));
  const other = (await server.post('/v1/jobs', job('other', { queue: 'q:other' }))).body.job_id;
  let controlEnded = false;
  const control = server.get(`/v1/jobs/${other}?wait_ms=15000`)
    .then(() => { controlEnded = true; });
  await untilWaiting(server, waits.length + 1);
  run(directory, 'queue', 'purge', 'q:default', '--yes');
  for (const { body } of await Promise.all(waits)) assert.equal(body.state, 'FAILED');
  assert.equal(controlEnded, false);
  await server.post(`/v1/jobs/${other}/cancel`);
  await control;
  await server.stop();
  rmSync(directory, { recursive: true });
});

// ----- memory

const residentKb = (server) => Number(
  readFileSync(`/proc/${server.child.pid}/status`, 'utf8').match(/VmRSS:\s+(\d+)/)[1]);

test('a waiting request does not grow with each look', { timeout: 60000 }, async () => {
  const server = await start();
  const large = (n) => job(`large-${n}`, { payload: { text: 'x'.repeat(200000) } });
  const made = [];
  for (let n = 0; n < 20; n++) made.push((await server.post('/v1/jobs', large(n))).body.job_id);
  const waits = made.map((id) => server.get(`/v1/jobs/${id}?wait_ms=6000`));
  await untilWaiting(server, waits.length);
  const before = residentKb(server);
  let over = false, most = 0;
  const all = Promise.all(waits).then(() => { over = true; });
  for (let n = 0; !over; n++) {
    await server.post('/v1/jobs', job(`news-${n}`, { queue: 'q:news' }));
    if (!over) most = Math.max(most, residentKb(server));
  }
  await all;
  assert.ok(most - before < 60000, `it grew by ${most - before} KB`);
  await server.stop();
});

// ----- the end

test('a second signal ends it at once', { timeout: 60000 }, async () => {
  const directory = scratch();
  const program = join(directory, 'work');
  writeFileSync(program, '#!/bin/sh\ntouch begun\nexec sleep 30\n');
  chmodSync(program, 0o755);
  const config = `limits:\n  grace: 20s\njob_types:\n  wait.test:\n    run: ["${program}"]\n`;
  const server = await start({ directory, config });
  await server.post('/v1/jobs', job(1));
  while (!readdirSync(directory).includes('begun'))
    await new Promise((resolve) => setTimeout(resolve, 20));
  server.child.kill('SIGTERM');
  while (!server.log.includes('SERVER_STOPPING'))
    await new Promise((resolve) => setTimeout(resolve, 20));
  server.child.kill('SIGTERM');
  assert.deepEqual(await server.ended, { status: null, signal: 'SIGTERM' });
  rmSync(directory, { recursive: true });
});
