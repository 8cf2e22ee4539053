// Queues over HTTP: their terms are the configuration's, and no queue starves.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { start } from './server.mjs';

const config = 'job_types: {urgent: {category: critical}}\nqueues: {q:exports: {weight: 20}}\n';

test('OPS_3_workers_that_take_one_job_at_a_time_serve_every_queue', async () => {
  const server = await start({ config });
  const jobs = [];
  for (let n = 0; n < 60; n++)
    for (const job_type of ['urgent', 'plain'])
      jobs.push({ job_type, payload: { n }, idempotency_key: `${job_type}-${n}` });
  assert.equal((await server.post('/v1/jobs', { jobs })).status, 200);
  const taken = { urgent: 0, plain: 0 };
  for (let n = 0; n < 50; n++) {
    const { body } = await server.post('/v1/leases', {
      worker_id: `w${n}`, queues: ['q:critical', 'q:default'], max: 1 });
    taken[body.executions[0].job.job_type]++;
  }
  assert.deepEqual(taken, { urgent: 45, plain: 5 });  // of ten at most nine are critical
  await server.stop();
});

test('OPS_3_the_list_of_queues_says_what_came_and_ended_in_the_last_minute', async () => {
  const server = await start({ config });
  const jobs = [1, 2, 3].map((n) => ({ job_type: 'plain', payload: {}, idempotency_key: `${n}` }));
  await server.post('/v1/jobs', { jobs });
  const { body: held } = await server.post('/v1/leases', {
    worker_id: 'w', queues: ['q:default'], max: 2, start: true });
  const operations = held.executions.map(({ exec_id, attempt }) => (
    { op: 'commit', exec_id, attempt, worker_id: 'w', done: true }));
  await server.post('/v1/executions/batch', { operations });
  const { body } = await server.get('/v1/queues');
  const queue = body.items.find(({ name }) => name === 'q:default');
  assert.equal(queue.enqueued_per_minute, 3);
  assert.equal(queue.ended_per_minute, 2);
  await server.stop();
});

test('OPS_3_the_list_of_queues_shows_the_terms_of_the_configuration', async () => {
  const server = await start({ config });
  const { body } = await server.get('/v1/queues');
  const queue = (name) => body.items.find((item) => item.name === name || item.queue === name);
  assert.equal(queue('q:exports').weight, 20);
  assert.equal(queue('q:default').weight, 10);
  await server.stop();
});
