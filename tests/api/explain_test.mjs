// Why jobs are where they are, asked of a running server with real workers.
import assert from 'node:assert/strict';
import { test, before, after } from 'node:test';
import { start } from './server.mjs';

const config = `
job_types:
  fails: {run: ["/bin/sh", "-c", "echo no such report >&2; exit 65"]}
`;

let server;
let number = 0;
const add = async (more = {}) => {
  number += 1;
  const { status, body } = await server.post('/v1/jobs', {
    job_type: 'remote', payload: {}, idempotency_key: `explain-${number}`, ...more });
  assert.equal(status, 201);
  return body.job_id;
};
const explain = async (id) => {
  const { status, body } = await server.get(`/v1/jobs/${id}/explain`);
  assert.equal(status, 200);
  assert.equal(body.job_id, id);
  return body;
};
const lease = async (queue) => (await server.post('/v1/leases', {
  worker_id: 'worker-a', queues: [queue], max: 1, start: true })).body.executions[0];

before(async () => { server = await start({ config }); });
after(() => server?.stop());

test('EXPLAIN_a_held_job_over_http', async () => {
  const body = await explain(await add({ submit: false }));
  assert.equal(body.cause, 'held');
  assert.equal(body.state, 'CREATED');
  assert.match(body.advice, new RegExp(`pawl submit ${body.job_id}`));
});

test('EXPLAIN_a_job_behind_its_serial_key_names_the_other_one', async () => {
  const first = await add({ serial_key: 'k', queue: 'serial' });
  const second = await add({ serial_key: 'k', queue: 'serial' });
  assert.equal((await explain(second)).cause, 'blocked_by_ready');
  const held = await lease('serial');
  const body = await explain(second);
  assert.equal(body.cause, 'blocked_by_running');
  assert.equal(body.related_job_id, first);
  const running = await explain(first);
  assert.equal(running.cause, 'running');
  assert.equal(running.worker_id, 'worker-a');
  await server.post(`/v1/executions/${held.exec_id}/commit`,
                    { worker_id: 'worker-a', attempt: 1, done: true });
  assert.equal((await explain(first)).cause, 'succeeded');
});

test('EXPLAIN_a_paused_share_over_http', async () => {
  const id = await add({ queue: 'asleep' });
  assert.equal((await server.post('/v1/queues/asleep/pause', {})).status, 200);
  const body = await explain(id);
  assert.equal(body.cause, 'share_paused');
  assert.ok(body.since);
  assert.equal((await server.post('/v1/queues/asleep/resume', {})).status, 200);
  assert.notEqual((await explain(id)).cause, 'share_paused');
});

test('EXPLAIN_why_a_command_failed_and_what_became_of_it', async () => {
  const id = await add({ job_type: 'fails' });
  await server.get(`/v1/jobs/${id}?wait_ms=30000`);
  const body = await explain(id);
  assert.equal(body.cause, 'handler_error');
  assert.ok(body.also.some((reason) => reason.cause === 'dead_letter_open'));
  const again = await server.post(`/v1/jobs/${id}/retry`, {});
  assert.equal(again.status, 201);
  const later = await explain(id);
  assert.equal(later.related_job_id, again.body.job_id);
  assert.ok(later.also.some((reason) => reason.cause === 'retried_as'));
});

test('EXPLAIN_a_job_that_does_not_exist', async () => {
  const { status } = await server.get('/v1/jobs/0198c7a2-5b1e-7000-8000-3c1f0a9d2e44/explain');
  assert.equal(status, 404);
});
