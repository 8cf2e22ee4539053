// A 422 names every problem of a request at once: fields that are unknown or of the wrong kind, and
// values of the others that are not allowed. Each field that could not be read is named once.
import { test, before, after } from 'node:test';
import assert from 'node:assert/strict';
import { goodJob } from './bad_values.mjs';
import { start } from './server.mjs';

let server, held, who;

before(async () => {
  server = await start({});
  await server.post('/v1/jobs', goodJob);
  const { body } = await server.post('/v1/leases', { worker_id: 'w', queues: ['q:default'],
                                                     lease_ms: 3600000, start: true });
  [held] = body.executions;
  who = { worker_id: 'w', attempt: held.attempt };
});
after(() => server?.stop());

// Every field that is named, in alphabetical order.
async function named(method, path, body) {
  const init = body === undefined ? { method } : {
    method, body: JSON.stringify(body), headers: { 'Content-Type': 'application/json' } };
  const answer = await fetch(server.url + path, init);
  const problem = await answer.json();
  assert.equal(answer.status, 422, `${method} ${path}: ${JSON.stringify(problem)}`);
  return problem.errors.map(({ field }) => field).sort();
}

const of = (verb, body) => ['POST', `/v1/executions/${held.exec_id}/${verb}`, { ...who, ...body }];
const day = (n) => `2026-03-0${n}T08:00:00Z`;

const queries = [
  ['/v1/jobs?state=NOPE&bogus=1&limit=0&cursor=x', ['bogus', 'cursor', 'limit', 'state']],
  ['/v1/audit?event=nope&limit=0&job_id=x', ['event', 'job_id', 'limit']],
  ['/v1/deadletter?fingerprint=zz&bogus=1', ['bogus', 'fingerprint']],
  ['/v1/keys?cursor=x&limit=0', ['cursor', 'limit']],
  ['/v1/schedules?cursor=x&limit=0', ['cursor', 'limit']],
  ['/v1/events?last_event_id=x&bogus=1', ['bogus', 'last_event_id']],
];

test('OPS_1_a_query_with_unknown_fields_and_bad_values_is_told_of_all', async () => {
  for (const [path, fields] of queries) assert.deepEqual(await named('GET', path), fields, path);
});

const bodies = () => [
  [['PATCH', `/v1/jobs/${held.job.job_id}`, { priority: 500, queue: 'q:deadletter', nope: 1 }],
   ['nope', 'priority', 'queue']],
  [['PATCH', `/v1/jobs/${held.job.job_id}`, { priority: 500 }], ['priority']],
  [['POST', '/v1/keys', { role: 'boss', zz: 1 }], ['role', 'zz']],
  [['POST', '/v1/keys', { role: 5 }], ['role']],
  [['POST', '/v1/leases', { worker_id: 'w', queues: ['q:deadletter'], max: 5000 }],
   ['max', 'queues']],
  [['POST', '/v1/leases', { worker_id: 'w', queues: ['q:deadletter'] }], ['queues']],
  [['POST', '/v1/leases', { worker_id: '\u0001', wait_ms: 1000 }], ['queues', 'worker_id']],
  [['POST', '/v1/jobs/cancel', { state: 'NOPE', zz: 1 }], ['state', 'zz']],
  [['POST', '/v1/deadletter/replay', { limit: 0, fingerprint: 'x' }], ['fingerprint', 'limit']],
  [['POST', '/v1/batches', { jobs: [{ ...goodJob, payload: 5 }], zz: 1 }],
   ['jobs[0].payload', 'zz']],
  [['POST', '/v1/batches', { jobs: 5, name: '\u0001' }], ['jobs', 'name']],
  [['POST', '/v1/schedules/none/trigger', { scheduled_for: '2026-03-01T08:00:00.5Z', zz: 1 }],
   ['scheduled_for', 'zz']],
  [['POST', '/v1/schedules/none/backfill', { from: day(2), to: day(1), zz: 1 }], ['to', 'zz']],
  [['POST', '/v1/schedules/none/backfill', { from: day(2), to: 'soon' }], ['to']],
];

test('OPS_1_a_body_with_unknown_fields_and_bad_values_is_told_of_all', async () => {
  for (const [[method, path, body], fields] of bodies())
    assert.deepEqual(await named(method, path, body), fields, `${path} ${JSON.stringify(body)}`);
});

const calls = [
  ['commit', { enqueue: [{ job_type: 'w', payload: 5, idempotency_key: 'k' }], rows_processed: -1 },
   ['enqueue[0].payload', 'rows_processed']],
  ['commit', { finish: true, done: true, artifacts: ['x'], zz: 1 }, ['artifacts[0]', 'done', 'zz']],
  ['commit', { artifacts: ['x', 5] }, ['artifacts']],
  ['fail', { error: { class: 'zz', message: 'm' }, retry_after_ms: -5 },
   ['error.class', 'retry_after_ms']],
  ['fail', { error: { class: 'zz' } }, ['error.class', 'error.message']],
  ['fail', { error: { message: 5 } }, ['error.class', 'error.message']],
  ['fail', { error: 5, zz: 1 }, ['error', 'zz']],
  ['heartbeat', { progress: { percent: 101, message: '\u0001' }, zz: 1 },
   ['progress.message', 'progress.percent', 'zz']],
  ['heartbeat', { progress: 5 }, ['progress']],
];

test('OPS_1_a_call_of_a_worker_is_told_of_all_problems_alone_and_in_a_batch', async () => {
  for (const [verb, body, fields] of calls) {
    assert.deepEqual(await named(...of(verb, body)), fields, `${verb} ${JSON.stringify(body)}`);
    const operations = [{ op: 'nope', exec_id: 5 },
                        { op: verb, exec_id: held.exec_id, ...who, ...body }];
    const inBatch = [...fields.map((field) => `operations[1].${field}`),
                     'operations[0].exec_id', 'operations[0].op', 'zz'].sort();
    assert.deepEqual(await named('POST', '/v1/executions/batch', { operations, zz: 1 }), inBatch);
  }
});

test('OPS_1_an_upload_is_told_of_all_problems_of_its_query', async () => {
  const fields = ['bogus', 'project_id'];
  assert.deepEqual(await named('POST', '/v1/artifacts?project_id=x&bogus=1'), fields);
  assert.deepEqual(await named('POST', '/v1/artifacts?project_id=x&bogus=1', {}), fields);
});

test('OPS_1_a_bulk_is_told_how_many_problems_are_not_in_the_list', async () => {
  const bad = (count) => ({ jobs: Array.from({ length: count }, (_, i) => (
    { ...goodJob, idempotency_key: `k${i}`, payload: 5 })) });
  const some = await server.post('/v1/jobs', bad(100));
  assert.deepEqual([some.status, some.body.errors.length, some.body.errors_left_out],
                   [422, 100, undefined]);
  const many = await server.post('/v1/jobs', bad(137));
  assert.deepEqual([many.status, many.body.errors.length, many.body.errors_left_out],
                   [422, 100, 37]);
  for (const error of many.body.errors)
    assert.deepEqual(Object.keys(error).sort(), ['field', 'message']);
  const alone = await server.post('/v1/jobs', { ...bad(1), zz: 1 });
  assert.deepEqual(alone.body.errors.map(({ field }) => field), ['jobs', 'jobs[0].payload']);
});
