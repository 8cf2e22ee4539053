// The server killed with -9 under load, again and again: no acknowledged job is lost, and a request
// that is repeated with its key never makes a second one. The checker counts in the store itself.
//
//     SERVER_KILLS=300   as `make torture-server` does; a sample otherwise
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { freePort, run, scratch, start } from './server.mjs';

const kills = Number(process.env.SERVER_KILLS ?? 8);
const clients = 20;

// Small and seeded: what happens when can be told again.
let seed = Number(process.env.SERVER_SEED ?? 20261116);
const dice = (n) => { seed = (seed * 1103515245 + 12345) % 2147483648; return seed % n; };
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

const acknowledged = new Map();  // key -> job id, as the first answer said
const figures = { requests: 0, cut: 0, repeated: 0, leased: 0, committed: 0 };

// Repeats a request until it is answered, whoever dies meanwhile.
async function enqueue(server, key) {
  for (let again = false; !server.over; again = true) {
    try {
      figures.requests++;
      figures.repeated += again;
      const { status, body } = await server.now.post('/v1/jobs', {
        job_type: 'kill.test', payload: { key }, idempotency_key: key });
      assert.ok(status === 201 || status === 200, `${status}`);
      const known = acknowledged.get(key);
      assert.ok(!known || known === body.job_id, `${key}: ${known} and ${body.job_id}`);
      acknowledged.set(key, body.job_id);
      return;
    } catch (error) {
      if (error.code === 'ERR_ASSERTION') throw error;
      figures.cut++;
      await pause(5 + dice(20));
    }
  }
}

async function produce(server, name) {
  for (let n = 0; !server.over; n++) {
    await enqueue(server, `${name}-${n}`);
    if (dice(4) === 0) await enqueue(server, `${name}-${dice(n + 1)}`);
  }
}

// Leases and commits; what is cut off in between is left to the leases.
async function work(server, name) {
  const who = { worker_id: name };
  while (!server.over) {
    try {
      const { body } = await server.now.post('/v1/leases', {
        ...who, queues: ['q:default'], max: 5, start: true, wait_ms: 200, lease_ms: 1000 });
      for (const { exec_id, attempt, job } of body.executions ?? []) {
        figures.leased++;
        const { status } = await server.now.post(`/v1/executions/${exec_id}/commit`, {
          ...who, attempt, result: { by: job.payload.key }, done: true });
        figures.committed += status === 200;
        assert.ok(status === 200 || status === 409, `${status}`);
      }
    } catch (error) {
      if (error.code === 'ERR_ASSERTION') throw error;
      await pause(10);
    }
  }
}

test(`OPS_4_killed_${kills}_times_under_load_it_loses_and_doubles_nothing`, async () => {
  const directory = scratch();
  const port = await freePort();
  const server = { now: await start({ directory, port }), over: false };
  const busy = [];
  for (let i = 0; i < clients; i++) busy.push(produce(server, `p${i}`));
  for (let i = 0; i < 4; i++) busy.push(work(server, `w${i}`));
  for (let i = 0; i < kills; i++) {
    await pause(150 + dice(400));
    await server.now.kill();
    server.now = await start({ directory, port });
  }
  server.over = true;
  await Promise.all(busy);
  await server.now.stop();

  const db = join(directory, 'pawl.db');
  const ask = (sql) => execFileSync('sqlite3', [db, sql], { encoding: 'utf8', maxBuffer: 1 << 28 });
  const stored = new Map(ask('SELECT idempotency_key, job_id FROM pawl_jobs').trim().split('\n')
    .map((line) => line.split('|')));
  const jobs = Number(ask('SELECT count(*) FROM jobs'));
  const lost = [...acknowledged].filter(([key, id]) => stored.get(key) !== id);
  console.log(`# ${kills} kills, ${JSON.stringify(figures)}, acknowledged ${acknowledged.size}, `
              + `stored ${jobs}, keys ${stored.size}, lost ${lost.length}`);
  console.log(`# server: ${kills} tried, ${kills} survived, ${lost.length} found, `
              + `${figures.cut > 0 ? 0 : 1} not reached`);
  assert.deepEqual(lost, []);
  assert.equal(jobs, stored.size, 'a key has two jobs');
  assert.match(run(directory, 'verify'), /^0 violations$/m);
  assert.ok(acknowledged.size > 0 && figures.cut > 0, 'there was no load');
  rmSync(directory, { recursive: true });
});
