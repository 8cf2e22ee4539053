// The published document is valid, and what the server really answers is what it says: every route
// with a good answer, and every refusal that can be provoked from outside.
import { test, before, after } from 'node:test';
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { makeKey, pawl, scratch, start } from './server.mjs';
import { Conformance, enough, night, nowhere, operations, otherMethods, raw,
         who } from './conformance.mjs';
import { problems, resolve, schemaProblems } from './schema.mjs';

const roles = ['producer', 'worker', 'viewer', 'operator', 'admin'];
const config = `
limits: {payload: 4KiB, body: 16KiB}
job_types:
  say: {run: ["/bin/sh", "-c", "echo to the log >&2; echo 1"]}
  annotate: {category: audit}
  slow: {on_rate_limited: pause, max_running: 5, rate: 100/s}
schedules:
  configured: {job_type: none, every: 300d, coalesce: true, misfire_grace_time: 5m,
               max_instances: 1, expected_max_runtime: 1m, paused: true}
`;

const nextYear = new Date(Date.now() + 365 * 86400e3).toISOString();
const directory = scratch();
const keys = {};
let server, open, document, conformance;

// By the role of the one who asks.
const as = (role, method, path, json) =>
  conformance.ask(server, method, path, json, { key: keys[role] });

let number = 0;
const newJob = (more = {}) =>
  ({ job_type: 'a', payload: { n: 1 }, idempotency_key: `key ${number++}`, ...more });

async function stored(more) {
  const { status, body } = await as('producer', 'POST', '/v1/jobs', newJob(more));
  assert.equal(status, 201);
  return body;
}

// A job that a worker holds; with `start` it is at work.
async function leased({ begin = true, ...more } = {}) {
  const job = await stored({ job_type: `lease.${number}`, ...more });
  const { body } = await as('worker', 'POST', '/v1/leases', {
    worker_id: 'w', queues: [job.queue], job_types: [job.job_type], max: 1, lease_ms: 60000,
    start: begin,
  });
  assert.equal(body.executions.length, 1);
  return body.executions[0];
}

const call = (lease, verb, more = {}) =>
  as('worker', 'POST', `/v1/executions/${lease.exec_id}/${verb}`,
     { worker_id: 'w', attempt: lease.attempt, ...more });

before(async () => {
  for (const role of roles) keys[role] = makeKey(directory, role).key;
  server = await start({ directory, config });
  open = await start();
  ({ body: document } = await server.get('/openapi.json'));
  conformance = new Conformance(document);
});
after(async () => {
  const ends = await Promise.allSettled([server?.stop(), open?.stop()]);
  rmSync(directory, { recursive: true, force: true });
  assert.deepEqual(ends.filter((end) => end.reason).map((end) => end.reason.message), []);
});

// ----- the document

test('the document is OpenAPI 3.1: its own rules hold', () => {
  assert.match(document.openapi, /^3\.1\.\d+$/);
  assert.ok(document.info.title && document.info.version);
  const ids = new Set();
  const all = operations(document);
  assert.ok(all.length >= 30);
  for (const { name, path, operation } of all) {
    assert.match(path, /^\/[a-z0-9_/{}.]*$/, name);
    assert.ok(!ids.has(operation.operationId), `${operation.operationId} is there twice`);
    ids.add(operation.operationId);
    const declared = operation.parameters.filter((one) => one.in === 'path');
    assert.deepEqual(declared.map((one) => `{${one.name}}`), path.match(/\{\w+\}/g) ?? [], name);
    assert.ok(declared.every((one) => one.required === true && one.description), name);
    const named = operation.parameters.map((one) => `${one.in} ${one.name}`);
    assert.equal(new Set(named).size, named.length, `${name} has a parameter twice`);
    assert.ok(operation.summary && operation.description, name);
    assert.ok(Object.keys(operation.responses).some((status) => status < 300), name);
    for (const need of operation.security.flatMap((one) => Object.keys(one))) {
      assert.ok(need in document.components.securitySchemes, need);
    }
  }
});

test('every schema of the document is one, and every reference leads somewhere', () => {
  const wrong = Object.entries(document.components.schemas)
    .flatMap(([name, schema]) => schemaProblems(document, schema, name));
  for (const { name, operation } of operations(document)) {
    const contents = [operation.requestBody, ...Object.values(operation.responses)]
      .filter(Boolean).map((part) => part.$ref ? resolve(document, part.$ref) : part)
      .flatMap((part) => Object.values(part.content));
    for (const { schema } of [...contents, ...operation.parameters]) {
      wrong.push(...schemaProblems(document, schema, name));
    }
  }
  for (const response of Object.values(document.components.responses)) {
    Object.values(response.headers).forEach((header) => resolve(document, header.$ref));
  }
  assert.deepEqual(wrong, []);
});

// Only what can be anything, and what a text holds, has no fields.
test('the schemas of answers allow no other field', () => {
  const any = ['Object', 'Text', 'Bytes', 'EventStream', 'Enqueue', 'Operation'];
  for (const [name, schema] of Object.entries(document.components.schemas)) {
    if (any.includes(name) || schema.oneOf) continue;
    assert.equal(schema.additionalProperties, false, name);
    assert.ok(Object.keys(schema.properties).length > 0, name);
  }
  const { required, properties } = document.components.schemas.Job;
  assert.deepEqual(required, Object.keys(properties));
});

test('a job that is wrong in any one field does not conform', async () => {
  const job = await stored();
  const schema = document.components.schemas.Job;
  assert.deepEqual(problems(document, schema, job), []);
  for (const field of Object.keys(job)) {
    const { [field]: gone, ...rest } = job;
    assert.notDeepEqual(problems(document, schema, rest), [], `without ${field}`);
    const any = field === 'result';
    const bad = problems(document, schema, { ...job, [field]: { odd: true } });
    assert.equal(bad.length === 0, any || field === 'payload', `${field} as an object`);
  }
  assert.notDeepEqual(problems(document, schema, { ...job, extra: 1 }), []);
});

test('the document is the same text every time', async () => {
  const [one, two] = [await server.get('/openapi.json'), await open.get('/openapi.json')];
  assert.equal(one.text, two.text);
});

// ----- the page about it

const source = process.env.SOURCE ?? '.';

test('docs/api.md has the tables of this document', () => {
  const { status, stderr } = spawnSync(join(source, 'tools', 'api-docs'), ['--check', pawl],
                                       { encoding: 'utf8' });
  assert.equal(status, 0, stderr);
});

test('what docs/api.md sends in its examples is what the routes take', () => {
  const page = readFileSync(join(source, 'docs', 'api.md'), 'utf8');
  const calls = [...page.matchAll(/curl -s (?:-X (\w+) )?"?\$URL([^\s"]+)([^'\n]*-d '([^']*)')?/g)];
  assert.ok(calls.length >= 10);
  for (const [, method, path, sends, text] of calls) {
    const where = path.replace(/\$\w+/, '01890000-0000-7000-8000-000000000000');
    const found = conformance.find(method ?? (sends ? 'POST' : 'GET'), where.split('?')[0]);
    assert.ok(found, `${method} ${path}`);
    conformance.requested(found, where, sends ? JSON.parse(text) : undefined);
  }
});

// ----- good answers

test('jobs: stored, known, many, listed, looked at', async () => {
  const job = newJob({ serial_key: 's', priority: 3, max_wait: '2h', correlation_id: 'c' });
  const made = await as('producer', 'POST', '/v1/jobs', job);
  assert.equal(made.status, 201);
  assert.equal(made.headers.get('location'), `/v1/jobs/${made.body.job_id}`);
  assert.equal((await as('producer', 'POST', '/v1/jobs', job)).status, 200);
  const many = await as('producer', 'POST', '/v1/jobs',
                        { jobs: [newJob(), job, { ...job, payload: { n: 2 } }] });
  assert.deepEqual(many.body.results.map((one) => one.status), [201, 200, 409]);
  const first = await as('viewer', 'GET', '/v1/jobs?limit=1&state=QUEUED');
  assert.ok(first.body.next_cursor);
  await as('viewer', 'GET', `/v1/jobs?limit=1&state=QUEUED&cursor=${first.body.next_cursor}`);
  for (const role of roles) await as(role, 'GET', `/v1/jobs/${made.body.job_id}`);
});

test('jobs: submitted, changed, cancelled, retried', async () => {
  const held = await stored({ submit: false });
  assert.equal((await as('producer', 'POST', `/v1/jobs/${held.job_id}/submit`)).status, 200);
  const change = { priority: 5, queue: 'other', scheduled_for: nextYear };
  assert.equal((await as('operator', 'PATCH', `/v1/jobs/${held.job_id}`, change)).status, 200);
  assert.equal((await as('producer', 'POST', `/v1/jobs/${held.job_id}/cancel`)).status, 200);
  assert.equal((await as('producer', 'POST', `/v1/jobs/${held.job_id}/retry`, {})).status, 201);
  assert.equal((await as('admin', 'POST', `/v1/jobs/${held.job_id}/erase`)).status, 200);
  const lease = await leased();
  assert.equal((await as('operator', 'POST', `/v1/jobs/${lease.job_id}/cancel`)).status, 202);
  assert.equal((await as('admin', 'POST', `/v1/jobs/${lease.job_id}/erase`)).status, 409);
  await call(lease, 'fail', { error: { class: 'cancelled', message: 'as asked' } });
  for (const dry_run of [true, false]) {
    for (const what of ['cancel', 'retry']) {
      const answer = await as('operator', 'POST', `/v1/jobs/${what}`,
                              { job_type: lease.job.job_type, dry_run });
      assert.equal(answer.status, 200);
    }
  }
});

test('executions: from lease to done, by single calls and in a batch', async () => {
  const lease = await leased({ begin: false });
  await call(lease, 'start');
  await call(lease, 'heartbeat', { progress: { percent: 50, message: 'half' } });
  const step = `/v1/executions/${lease.exec_id}/steps/one`;
  const who = { worker_id: 'w', attempt: 1 };
  await as('worker', 'GET', `${step}?worker_id=w&attempt=1`);
  await as('worker', 'PUT', step, { ...who, error: { message: 'not yet' } });
  await as('worker', 'PUT', step, { ...who, result: { rows: 2 } });
  await call(lease, 'commit', { result: [1], enqueue: [newJob()], annotations: [{ by: 'me' }],
                                rows_processed: 7 });
  assert.equal((await call(lease, 'done')).body.status, 'DONE');
  await call(await leased(), 'release');
  const [one, two] = [await leased(), await leased()];
  const { body } = await as('worker', 'POST', '/v1/executions/batch', { operations: [
    { op: 'heartbeat', exec_id: one.exec_id, ...who },
    { op: 'commit', exec_id: one.exec_id, ...who, done: true },
    { op: 'fail', exec_id: two.exec_id, ...who, retry_after_ms: 1000,
      error: { class: 'transient', message: 'm', detail: 'd' } },
    { op: 'start', exec_id: one.exec_id, ...who },
  ] });
  assert.deepEqual(body.results.map((each) => each.status), [200, 200, 200, 409]);
  for (const job of [lease.job_id, two.job_id]) {
    for (const part of ['', '/executions', '/audit', '/steps', '/logs', '/explain']) {
      for (const role of ['viewer', 'admin']) await as(role, 'GET', `/v1/jobs/${job}${part}`);
    }
  }
});

test('a job that ran as a command, with its log', async () => {
  const job = await stored({ job_type: 'say' });
  const { body } = await as('producer', 'GET', `/v1/jobs/${job.job_id}?wait_ms=30000`);
  assert.equal(body.state, 'SUCCEEDED');
  const log = await as('producer', 'GET', `/v1/jobs/${job.job_id}/logs?limit=1`);
  assert.deepEqual(log.body.items.map((line) => line.text), ['to the log']);
});

test('queues, workers, audit, keys, configuration, health', async () => {
  const job = await stored({ queue: 'to.purge' });
  for (const [what, more] of [['pause'], ['resume'], ['purge', { dry_run: true }], ['purge', {}]]) {
    assert.equal((await as('operator', 'POST', `/v1/queues/to.purge/${what}`, more)).status, 200);
  }
  await leased();
  const held = await leased({ job_type: 'slow' });
  await call(held, 'fail', { error: { class: 'rate_limited', message: '429' } });
  for (const path of ['/v1/limits', '/v1/queues', '/v1/stats', '/v1/workers', '/v1/config',
                      '/v1/session', '/v1/audit?limit=500', '/v1/audit?event=queue.paused',
                      '/metrics', '/healthz', '/readyz', '/openapi.json']) {
    assert.equal((await as('viewer', 'GET', path)).status, 200);
  }
  assert.equal((await as('operator', 'POST', '/v1/job_types/slow/resume')).status, 200);
  assert.equal((await as('admin', 'GET', '/v1/audit/seal')).status, 200);
  const { body: trail } = await as('viewer', 'GET', '/v1/audit?event=queue.paused');
  for (const about of [`jobs/${job.job_id}`, `audit/${trail.items[0].event_id}`]) {
    const noted = await as('operator', 'POST', `/v1/${about}/annotations`, { text: 'seen' });
    assert.equal(noted.status, 201);
  }
  const project = '0189abcd-0000-7000-8000-000000000001';
  const { status, body } = await as('admin', 'POST', '/v1/keys', {
    role: 'viewer', name: 'for a screen', projects: [project], expires_at: nextYear,
  });
  assert.equal(status, 201);
  await as('admin', 'GET', '/v1/keys?limit=2');
  assert.equal((await as('admin', 'DELETE', `/v1/keys/${body.key_id}`)).status, 200);
});

test('batches, and jobs that wait for others', async () => {
  const first = await stored();
  const { job_type, payload } = newJob();
  const request = { name: 'n', idempotency_key: `b ${first.job_id}`,
                    jobs: [newJob({ after: [first.job_id] })],
                    callback: { job_type, payload } };
  const made = await as('producer', 'POST', '/v1/batches', request);
  assert.deepEqual([made.status, made.headers.get('location')],
                   [201, `/v1/batches/${made.body.batch_id}`]);
  assert.equal((await as('producer', 'POST', '/v1/batches', request)).body.deduplicated, true);
  assert.equal((await as('producer', 'POST', '/v1/batches', { ...request, name: 'm' })).status,
               409);
  const joined = await stored({ batch_id: made.body.batch_id });
  assert.equal(joined.batch_id, made.body.batch_id);
  const { body } = await as('viewer', 'GET', `/v1/jobs?batch_id=${made.body.batch_id}`);
  assert.deepEqual(body.items.map((job) => job.after), [null, [first.job_id]]);
  assert.equal((await as('viewer', 'GET', `/v1/jobs/${body.items[1].job_id}/explain`)).body.cause,
               'waits_for_job');
  const cancelled = await as('producer', 'POST', '/v1/jobs/cancel',
                             { batch_id: made.body.batch_id });
  assert.deepEqual([cancelled.body.count, cancelled.body.next_cursor], [2, null]);
  const over = await as('viewer', 'GET', `/v1/batches/${made.body.batch_id}`);
  assert.deepEqual([over.body.done, over.body.failed, over.body.percent], [true, 2, 100]);
  assert.equal((await as('viewer', 'GET', `/v1/jobs/${over.body.callback_job_id}`)).status, 200);
});

// A job that ended badly.
async function dead(more) {
  const lease = await leased(more);
  await call(lease, 'fail', { error: { class: 'validation', message: 'order 41 is bad' } });
  return lease.job_id;
}

test('dead letters: listed, grouped, replayed, fixed, discarded', async () => {
  const [replayed, fixed, discarded] = [await dead(), await dead(), await dead()];
  const at = (id, what) => `/v1/deadletter/${id}${what}`;
  const first = await as('viewer', 'GET', '/v1/deadletter?limit=1');
  assert.equal(first.body.items[0].job_id, discarded);
  assert.equal((await as('viewer', 'GET',
                         `/v1/deadletter?cursor=${first.body.next_cursor}`)).status, 200);
  assert.ok((await as('viewer', 'GET', '/v1/deadletter/groups')).body.letters >= 3);
  assert.equal((await as('admin', 'GET', at(replayed, ''))).body.dead_letter, 'open');
  assert.equal((await as('operator', 'POST', at(replayed, '/replay'))).status, 201);
  const payload = { n: 2 };
  for (const role of ['operator', 'admin'])
    assert.equal((await as(role, 'POST', at(fixed, '/fix'), { payload, dry_run: true })).status,
                 200);
  assert.equal((await as('operator', 'POST', at(fixed, '/fix'), { payload })).status, 201);
  const { body } = await as('operator', 'POST', at(discarded, '/discard'), { reason: 'old' });
  assert.equal(body.dead_letter, 'discarded');
  for (const id of [replayed, fixed, discarded])
    for (const role of ['viewer', 'admin']) await as(role, 'GET', at(id, ''));
  await dead({ queue: 'bulk.dead' });
  for (const [what, more] of [['replay', { dry_run: true }], ['discard', { reason: 'old' }],
                              ['replay', {}]]) {
    const { status } = await as('operator', 'POST', at(what, ''), { queue: 'bulk.dead', ...more });
    assert.equal(status, 200);
  }
});

const terms = { job_type: 'nobody.runs', payload: { n: 1 }, cron: '0 3 * * mon-fri',
                timezone: 'Europe/Berlin', coalesce: false, misfire_grace_time: '300s',
                max_instances: 1, expected_max_runtime: '5m', catch_up: 3, jitter: '30s',
                policy: 'maintenance', queue: 'q:default', paused: true };

test('schedules: put, changed, listed, run by hand, paused, removed', async () => {
  const at = '/v1/schedules/nightly';
  const made = await as('operator', 'PUT', at, terms);
  assert.deepEqual([made.status, made.headers.get('location'), made.body.paused], [201, at, true]);
  assert.equal((await as('operator', 'PUT', at, { ...terms, max_instances: 2 })).status, 200);
  const { cron, timezone, paused, ...others } = terms;
  const interval = { ...others, every: '1h' };
  assert.equal((await as('operator', 'PUT', '/v1/schedules/hourly', interval)).status, 201);
  const first = await as('viewer', 'GET', '/v1/schedules?limit=1');
  assert.deepEqual(first.body.items.map(({ name }) => name), ['configured']);
  const rest = await as('viewer', 'GET', `/v1/schedules?cursor=${first.body.next_cursor}`);
  assert.deepEqual(rest.body.items.map(({ name }) => name), ['hourly', 'nightly']);
  const next = await as('viewer', 'GET', `${at}/next?count=3&after=2026-03-27T12:00:00Z`);
  assert.deepEqual(next.body.items.map((slot) => slot.local_time),
                   ['2026-03-30T03:00:00+02:00', '2026-03-31T03:00:00+02:00',
                    '2026-04-01T03:00:00+02:00']);
  const job = await as('operator', 'POST', `${at}/trigger`, { scheduled_for: night });
  assert.deepEqual([job.status, job.body.scheduled_for], [201, night]);
  const range = { from: '2026-03-02T00:00:00.000Z', to: '2026-03-04T12:00:00.000Z' };
  for (const dry_run of [true, false]) {
    const { body } = await as('operator', 'POST', `${at}/backfill`, { ...range, dry_run });
    assert.deepEqual([body.count, body.taken], [2, [night]]);
  }
  for (const what of ['resume', 'pause', 'pause']) {
    const { status, body } = await as('operator', 'POST', `${at}/${what}`);
    assert.deepEqual([status, body.paused], [200, what === 'pause']);
  }
  const runs = await as('viewer', 'GET', `${at}/runs?limit=2`);
  assert.equal(runs.body.items.length, 2);
  await as('viewer', 'GET', `${at}/runs?cursor=${runs.body.next_cursor}`);
  await as('viewer', 'GET', `${at}/skips`);
  assert.equal((await as('viewer', 'GET', at)).body.payload, null);
  for (const name of ['nightly', 'hourly'])
    assert.equal((await as('operator', 'DELETE', `/v1/schedules/${name}`)).status, 200);
  assert.equal((await as('viewer', 'GET', `${at}/runs`)).body.items.length, 3);
});

test('artifacts: bytes in and out, and what is known of them', async () => {
  const made = await conformance.ask(server, 'POST', '/v1/artifacts?name=a.bin', undefined, {
    key: keys.worker, body: 'some bytes',
    headers: { 'content-type': 'application/octet-stream' } });
  const at = `/v1/artifacts/${made.body.artifact_id}`;
  assert.deepEqual([made.status, made.headers.get('location')], [201, at]);
  assert.equal((await as('worker', 'GET', at)).text, 'some bytes');
  const { body: known } = await as('viewer', 'GET', `${at}/about`);
  assert.deepEqual((await as('viewer', 'GET', '/v1/artifacts?limit=1')).body.items, [known]);
  const lease = await leased();
  await call(lease, 'commit', { artifacts: [known.artifact_id] });
  const { items: [own] } = (await as('viewer', 'GET', `/v1/jobs/${lease.job_id}/artifacts`)).body;
  assert.deepEqual(own, { ...known, job_id: lease.job_id, exec_id: lease.exec_id });
  assert.equal((await as('operator', 'DELETE', at)).status, 409);
  await call(lease, 'done');
  assert.equal((await as('operator', 'DELETE', at)).status, 200);
});

test('events: a stream of them, each as the document says', async () => {
  const stop = new AbortController();
  const answer = await fetch(`${server.url}/v1/events?last_event_id=0`, {
    headers: { authorization: `Bearer ${keys.viewer}` }, signal: stop.signal,
  });
  let text = '';
  for await (const part of answer.body) {
    text += Buffer.from(part);
    if (text.includes('\n\n')) break;
  }
  stop.abort();
  const fields = Object.fromEntries(text.split('\n\n')[0].split('\n')
    .map((line) => line.split(/: (.*)/s).slice(0, 2)));
  const event = JSON.parse(fields.data);
  assert.deepEqual(problems(document, document.components.schemas.Event, event), []);
  assert.deepEqual([fields.id, fields.event], [String(event.event_id), event.event]);
  const { status, headers } = answer;
  conformance.answered('GET', '/v1/events', { status, headers, text });
});

// ----- refusals of any route

const withKey = () => conformance.all.filter((one) => one.operation.security.length > 0
  && !one.operation.security.some((need) => Object.keys(need).length === 0));
const body = (one) => one.operation.requestBody ? {} : undefined;

test('401: no key, a wrong one, and two', async () => {
  const two = await raw(server.port, ['GET /v1/jobs HTTP/1.1', 'Host: localhost',
                                      ...Array(2).fill(`Authorization: Bearer ${keys.admin}`)]);
  assert.equal(two.status, 401);
  conformance.answered('GET', '/v1/jobs', two);
  for (const one of withKey()) {
    for (const key of [undefined, 'pawl_live_not-a-key']) {
      const answer = await conformance.ask(server, one.method, nowhere(one.path), body(one),
                                           { key });
      assert.equal(answer.status, 401, one.name);
      assert.equal(answer.headers.get('www-authenticate'), 'Bearer');
    }
  }
});

test('403: each role meets what it may not do', async () => {
  for (const one of withKey()) {
    const [, may] = one.operation.description.match(/Roles: ([^.]*)\./);
    for (const role of roles) {
      const { status } = await as(role, one.method, `${nowhere(one.path)}?odd=1`, body(one));
      assert.equal(status, may.split(', ').includes(role) ? 422 : 403, `${one.name} by ${role}`);
    }
  }
});

test('403 and 421: without keys no other site and no other host', async () => {
  for (const one of withKey()) {
    const ask = async (more) => {
      const answer = await raw(open.port, [`${one.method} ${nowhere(one.path)} HTTP/1.1`, ...more]);
      conformance.answered(one.method, nowhere(one.path), answer);
      return answer.status;
    };
    assert.equal(await ask(['Host: elsewhere.example']), 421, one.name);
    assert.equal(await ask(['Host: localhost', 'Sec-Fetch-Site: cross-site']), 403, one.name);
  }
});

test('404 and 405: nothing there, and another method', async () => {
  const nothing = await server.get('/v1/nothing', { key: keys.admin });
  conformance.conforms(document.components.responses[404], nothing, 'a path that is not there');
  for (const path of Object.keys(document.paths)) {
    for (const method of otherMethods(document, path)) {
      if (conformance.find(method, nowhere(path))) continue;  // another path's name covers it
      const answer = await server.ask(method, nowhere(path), undefined, { key: keys.admin });
      assert.equal(answer.status, 405, `${method} ${path}`);
      conformance.conforms(document.components.responses[405], answer, `${method} ${path}`);
      const allowed = conformance.all.filter((one) => conformance.fits(one, nowhere(path)))
        .flatMap(({ method }) => (method === 'GET' && path !== '/v1/events' ? ['GET', 'HEAD']
                                                                            : [method]));
      assert.deepEqual(answer.headers.get('allow').split(', ').sort(), allowed.sort());
    }
  }
});

test('400, 413, 414, 415, 422, 431: what cannot be read', async () => {
  for (const one of conformance.all) {
    const path = nowhere(one.path);
    const ask = async (where, options, json) =>
      (await conformance.ask(server, one.method, where, json, { key: keys.admin, ...options }))
        .status;
    const head = [`${one.method} ${path} HTTP/1.1`, 'Host: localhost',
                  `Authorization: Bearer ${keys.admin}`, 'Content-Type: application/json'];
    const long = `${one.method} ${path}?${'x'.repeat(9000)} HTTP/1.1`;
    for (const [status, lines] of [
      [one.operation.requestBody ? 413 : 400, [...head, 'Content-Length: 9999999999']],
      [414, [long, ...head.slice(1)]],
      [431, [...head, ...Array(100).fill('X-More: 1')]],
      [400, [...head, 'Content-Length: 1', 'Content-Length: 2']]]) {
      const answer = await raw(server.port, lines);
      assert.equal(answer.status, status, one.name);
      conformance.answered(one.method, path, answer);
    }
    assert.equal(await ask(`${path}?odd=1`, {}, body(one)), 422, one.name);
    if (!one.operation.requestBody) continue;
    assert.equal(await ask(path, { headers: { 'content-encoding': 'gzip' } }, {}), 415, one.name);
    if (!one.operation.requestBody.content['application/json']) continue;
    assert.equal(await ask(path, { body: '{"a":1,"a":2}' }), 400, one.name);
    assert.equal(await ask(path, { body: 'a=1', headers: { 'content-type': 'text/plain' } }), 415);
    assert.equal(await ask(path, {}, { odd: 1 }), 422, one.name);
  }
});

test('429: too many requests of one key', async () => {
  const place = scratch();
  const key = makeKey(place, 'admin').key;
  const slow = await start({ directory: place, config: 'auth: {rate: 1}' });
  try {
    for (const one of withKey()) {
      let answer;
      do {
        answer = await slow.ask(one.method, `${nowhere(one.path)}?odd=1`, body(one), { key });
      } while (answer.status !== 429);
      conformance.answered(one.method, nowhere(one.path), answer);
    }
  } finally {
    await slow.stop();
    rmSync(place, { recursive: true, force: true });
  }
});

// ----- refusals of some

test('404: what is not there', async () => {
  for (const one of conformance.all.filter(({ operation }) => operation.responses[404])) {
    const inPath = one.path.startsWith('/v1/executions/');
    const json = body(one) && (enough[one.path] ?? (inPath ? who : {}));
    const query = one.method === 'GET' && inPath ? '?worker_id=w&attempt=1'
      : one.path === '/v1/audit' ? '?job_id=01890000-0000-7000-8000-000000000000' : '';
    const { status } = await as('admin', one.method, nowhere(one.path) + query, json);
    assert.equal(status, 404, one.name);
  }
});

test('409: each conflict by its code', async () => {
  const refused = async (code, asked) => {
    const { status, body: problem } = await asked;
    assert.deepEqual([status, problem.code], [409, code]);
  };
  const job = newJob();
  await as('producer', 'POST', '/v1/jobs', job);
  await refused('key_reused', as('producer', 'POST', '/v1/jobs', { ...job, payload: {} }));
  const lease = await leased({ begin: false });
  await refused('not_started', call(lease, 'commit'));
  await refused('lease_lost', call(lease, 'start', { worker_id: 'another' }));
  const { error } = enough['/v1/executions/{id}/fail'];
  for (const [verb, more] of [['heartbeat'], ['done'], ['release'], ['fail', { error }]]) {
    await refused('lease_lost', call(lease, verb, { worker_id: 'another', ...more }));
  }
  const step = `/v1/executions/${lease.exec_id}/steps/s`;
  await refused('lease_lost', as('worker', 'GET', `${step}?worker_id=another&attempt=1`));
  await call(lease, 'start');
  await as('worker', 'PUT', step, { ...who, result: 1 });
  await refused('conflict', as('worker', 'PUT', step, { ...who, result: 2 }));
  await refused('conflict', as('operator', 'PATCH', `/v1/jobs/${lease.job_id}`, { priority: 1 }));
  await call(lease, 'commit', { done: true });
  await refused('already_committed', call(lease, 'commit', { result: 'another' }));
  await refused('terminal', as('producer', 'POST', `/v1/jobs/${lease.job_id}/cancel`));
  await refused('terminal', as('producer', 'POST', `/v1/jobs/${lease.job_id}/submit`));
  const single = '/v1/schedules/single';
  await refused('conflict', as('operator', 'PUT', '/v1/schedules/configured', terms));
  await refused('conflict', as('operator', 'DELETE', '/v1/schedules/configured'));
  await as('operator', 'PUT', single, terms);
  await as('operator', 'POST', `${single}/trigger`, { scheduled_for: night });
  await refused('slot_claimed', as('operator', 'POST', `${single}/trigger`,
                                   { scheduled_for: '2026-03-02T03:00:00+01:00' }));
  await refused('max_instances', as('operator', 'POST', `${single}/trigger`,
                                    { scheduled_for: '2026-03-03T02:00:00Z' }));
  await refused('max_instances', as('operator', 'POST', `${single}/backfill`,
                                    { from: night, to: '2026-03-04T12:00:00Z' }));
  const letter = `/v1/deadletter/${await dead()}`;
  await as('operator', 'POST', `${letter}/replay`);
  for (const [what, more] of [['replay', {}], ['fix', { payload: {} }],
                              ['discard', { reason: 'r' }]])
    await refused('closed', as('operator', 'POST', `${letter}/${what}`, more));
  const waiting = await stored();
  await refused('conflict', as('producer', 'POST', `/v1/jobs/${waiting.job_id}/retry`));
});

test('422: an effect that the category does not allow', async () => {
  const job = await stored({ job_type: 'annotate' });
  const { body: { executions: [lease] } } = await as('worker', 'POST', '/v1/leases', {
    worker_id: 'w', queues: [job.queue], job_types: ['annotate'], start: true });
  const answer = await call(lease, 'commit', { result: 1 });
  assert.deepEqual([answer.status, answer.body.code], [422, 'effect_not_allowed']);
});

// ----- all together

// What no request from outside can provoke on a healthy server, or only by waiting.
const never = ['408', '500', '503', '507'];
const notProvoked = ['401', '403', '421', '429'].map((status) => `${status} GET /metrics`);
const codesNotProvoked = { 400: ['usage'] };  // of the command line

test('every route gave every status it documents, but for those listed here', () => {
  const missing = conformance.all.flatMap(({ name, operation }) => Object.keys(operation.responses)
    .filter((status) => !conformance.seen.get(name).has(status) && !never.includes(status))
    .map((status) => `${status} ${name}`));
  assert.deepEqual(missing.sort(), notProvoked);
  const codes = Object.entries(document.components.responses)
    .filter(([status]) => !never.includes(status))
    .map(([status, response]) => [status, response['x-pawl-codes']
      .filter((code) => !conformance.codes.get(status)?.has(code))]);
  assert.deepEqual(Object.fromEntries(codes.filter(([, list]) => list.length)), codesNotProvoked);
});
