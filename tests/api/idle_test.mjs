// 5,000 workers that wait for work cost memory and no threads, and all hear of it when there is
// some, or when their time is over.
import { test, before, after } from 'node:test';
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { connect } from 'node:net';
import { request, usage } from './raw.mjs';
import { sanitized, start } from './server.mjs';

const WAITING = 5000;
const BULK = 1000;
const MIB = 1 << 20;
const descriptors = Number(execFileSync('sh', ['-c', 'ulimit -Hn']).toString()
                             .replace('unlimited', '1048576'));
const skip = descriptors < WAITING + 500 && `ulimit -Hn is ${descriptors}`;

// A runner of tests may ask malloc to write into all it gives: then reserved memory counts as used.
delete process.env.MALLOC_PERTURB_;

let server;
before(async () => { server = await start(); });
after(() => server?.stop());

// The next answer on a connection, whole.
function answer(socket) {
  return new Promise((resolve, reject) => {
    let text = '';
    const hear = (data) => {
      text += data;
      const end = text.indexOf('\r\n\r\n');
      const length = Number(/content-length: (\d+)/i.exec(text)?.[1]);
      if (end < 0 || Buffer.byteLength(text.slice(end + 4)) < length) return;
      socket.off('data', hear);
      resolve({ status: Number(text.split(' ')[1]), body: JSON.parse(text.slice(end + 4)) });
    };
    socket.on('data', hear);
    socket.on('error', reject);
    socket.on('close', () => reject(new Error(`closed after ${text}`)));
  });
}

function lease(wait_ms) {
  const body = JSON.stringify({ worker_id: 'w', queues: ['q:default'], wait_ms });
  return request({ path: '/v1/leases', body });
}

// A connection with a long-poll on it, as a worker keeps it: one that asked before, which costs the
// server more than a first request. `answered` is its whole answer.
async function wait(wait_ms) {
  const socket = connect({ port: server.port, host: '127.0.0.1' });
  socket.write(lease(0));
  assert.equal((await answer(socket)).status, 200);
  socket.write(lease(wait_ms));
  const answered = answer(socket).finally(() => socket.destroy());
  answered.catch(() => {});  // looked at by the test
  return { answered };
}

// In steps: more at once than the backlog of a socket are not let in.
async function waitMany(count, wait_ms) {
  const all = [];
  while (all.length < count) {
    const some = Array.from({ length: Math.min(200, count - all.length) },
                            () => wait(wait_ms));
    all.push(...(await Promise.all(some)).map(({ answered }) => answered));
  }
  return all;
}

// Until so many requests wait in the server.
async function waiting(count) {
  for (;;) {
    const { text } = await server.get('/metrics');
    if (Number(/^pawl_http_waiting (\d+)$/m.exec(text)[1]) === count) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

test(`${WAITING} waiting workers: no threads, under 100 MiB, each answered`,
     { skip, timeout: 120000 }, async (t) => {
  for (const { status, body } of await Promise.all(await waitMany(200, 300)))
    assert.deepEqual({ status, body }, { status: 200, body: { executions: [] } });
  const before = usage(server.child.pid);
  const all = await waitMany(WAITING, 30000);
  await waiting(WAITING);
  const during = usage(server.child.pid);
  t.diagnostic(`${WAITING} long-polls: ${(during.rss / MIB).toFixed(1)} MiB resident, `
               + `${((during.rss - before.rss) / WAITING / 1024).toFixed(1)} KiB each`);
  assert.equal(during.threads, before.threads);
  assert.ok(sanitized || during.rss < 100 * MIB, `${during.rss} bytes are resident`);
  assert.equal((await server.get('/healthz')).status, 200);

  for (let i = 0; i < WAITING; i += BULK) {
    const jobs = Array.from({ length: BULK }, (_, k) => ({ job_type: 'a', payload: {},
                                                           idempotency_key: `k${i + k}` }));
    assert.equal((await server.post('/v1/jobs', { jobs })).status, 200);
  }
  const answers = await Promise.all(all);
  const leased = answers.flatMap(({ body }) => body.executions.map(({ job }) => job.job_id));
  assert.ok(answers.every(({ status, body }) => status === 200 && body.executions.length === 1));
  assert.equal(new Set(leased).size, WAITING);
});
