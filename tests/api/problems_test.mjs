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

test('OPS_1_a_lease_of_a_queue_or_type_that_cannot_be_is_refused_by_name', async () => {
  const least = { worker_id: 'w', queues: ['q:default'] };
  const lease = (more) => ['POST', '/v1/leases', { ...least, ...more }];
  assert.deepEqual(await named(...lease({ queues: ['q:default', 'no queue!', '-/-'] })),
                   ['queues[1]', 'queues[2]']);
  assert.deepEqual(await named(...lease({ queues: ['x'.repeat(129)] })), ['queues[0]']);
  assert.deepEqual(await named(...lease({ job_types: ['a', '-b', 'c d'] })),
                   ['job_types[1]', 'job_types[2]']);
});

test('OPS_1_a_problem_of_the_whole_is_named_by_where_it_is', async () => {
  assert.deepEqual(await named('PATCH', `/v1/jobs/${held.job.job_id}`, {}), ['body']);
  assert.deepEqual(await named('POST', '/v1/jobs/cancel', {}), ['body']);
});

test('OPS_1_what_is_too_large_is_413_and_named', async () => {
  const payload = { text: 'x'.repeat(1 << 20) };
  const large = { ...goodJob, payload, idempotency_key: 'large' };
  const verb = (name) => `/v1/executions/${held.exec_id}/${name}`;
  for (const [path, body, field] of [
    ['/v1/jobs', large, 'payload'],
    ['/v1/jobs', { jobs: [goodJob, large] }, 'jobs[1].payload'],
    ['/v1/batches', { jobs: [large] }, 'jobs[0].payload'],
    [verb('commit'), { ...who, result: payload }, 'result'],
    ['/v1/executions/batch', { operations: [
      { op: 'commit', exec_id: held.exec_id, ...who, result: payload }] }, 'operations[0].result'],
  ]) {
    const answer = await server.post(path, body);
    assert.deepEqual([answer.status, answer.body.code], [413, 'too_large'], answer.text);
    assert.deepEqual(answer.body.errors.map((error) => error.field), [field], path);
    assert.match(answer.body.detail, /at most 1048576 /);
  }
  const both = await server.post('/v1/jobs', { ...large, queue: 'no queue!' });
  assert.deepEqual([both.status, both.body.errors.map(({ field }) => field)],
                   [422, ['payload', 'queue']]);
});

test('OPS_1_a_body_that_cannot_be_read_is_told_what_where_and_what_is_allowed', async () => {
  const deep = (levels) => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`;
  for (const [body, detail] of [
    [deep(33), /^JSON line 1 column 161: nested too deeply, at most 32 levels are allowed$/],
    ['{"a": 1,\n "a": 2}',
     /^JSON line 2 column 4: this key is already in the object: each may be there once$/],
    ['[1]', /^the body is a JSON array: it must be an object$/],
    ['"x"', /^the body is a JSON string: it must be an object$/],
    ['', /^JSON line 1 column 0: the text is empty$/],
    ['{"a": ', /^JSON line 1 column \d+: the text ends before the value does$/],
  ]) {
    const answer = await server.ask('POST', '/v1/jobs', undefined, { body });
    assert.deepEqual([answer.status, answer.body.code], [400, 'not_json'], body);
    assert.match(answer.body.detail, detail);
  }
});

test('OPS_10_what_is_not_there_is_told_with_its_kind', async () => {
  for (const [path, kind] of [['/v1/jobs/nope', 'job'], ['/v1/jobs/nope/explain', 'job'],
                              ['/v1/batches/nope', 'batch'], ['/v1/artifacts/nope', 'artifact'],
                              ['/v1/deadletter/nope', 'job'],
                              ['/v1/executions/nope/steps/a?worker_id=w&attempt=1', 'execution'],
                              ['/v1/schedules/nope', 'schedule']]) {
    const { status, body } = await server.get(path);
    assert.deepEqual([status, body.detail], [404, `there is no ${kind} nope`], path);
  }
});
