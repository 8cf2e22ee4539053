// Who may do what: every route with every kind of key, from one table of roles; and every way to
// ask for what is another tenant's or another project's, which must look as if it did not exist.
import { test, before, after } from 'node:test';
import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { makeKey, run, scratch, start } from './server.mjs';

// ----- the tables

const may = {
  producer: ['enqueue', 'read', 'cancel', 'retry', 'artifact', 'payload'],
  worker: ['lease', 'read', 'artifact', 'payload'],
  viewer: ['read'],
  operator: ['read', 'cancel', 'retry', 'change', 'queues', 'deadletter', 'schedules',
             'artifact'],
  admin: ['enqueue', 'read', 'cancel', 'retry', 'change', 'queues', 'deadletter', 'schedules',
          'lease', 'keys', 'artifact', 'payload'],
};

// Method, path, what it needs, and a request that would do. {job}, {exec}, {letter}, {schedule} and
// {artifact} stand for what a tenant or project has and another must not find.
const who = { worker_id: 'worker-a', attempt: 1 };
const job = (key) => ({ job_type: 'type.a', payload: {}, idempotency_key: key, queue: 'qa' });
const yearly = { job_type: 'type.a', cron: '0 0 1 1 *', coalesce: true, max_instances: 1,
                 misfire_grace_time: '5m', expected_max_runtime: '1m' };
const slot = '2026-01-01T00:00:00Z';
const written = [
  ['GET', '/healthz', 'open'],
  ['GET', '/readyz', 'open'],
  ['GET', '/openapi.json', 'open'],
  ['GET', '/metrics', 'open'],  // on loopback
  ['POST', '/v1/jobs', 'enqueue', () => job('again')],
  ['GET', '/v1/jobs', 'read'],
  ['GET', '/v1/jobs/{job}', 'read'],
  ['GET', '/v1/jobs/{job}/executions', 'read'],
  ['GET', '/v1/jobs/{job}/audit', 'read'],
  ['GET', '/v1/jobs/{job}/steps', 'read'],
  ['GET', '/v1/jobs/{job}/logs', 'read'],
  ['GET', '/v1/jobs/{job}/explain', 'read'],
  ['GET', '/v1/jobs/{job}/artifacts', 'read'],
  ['POST', '/v1/artifacts', 'artifact', () => ({})],
  ['GET', '/v1/artifacts', 'read'],
  ['GET', '/v1/artifacts/{artifact}', 'payload'],
  ['GET', '/v1/artifacts/{artifact}/about', 'read'],
  ['DELETE', '/v1/artifacts/{artifact}', 'change'],
  ['POST', '/v1/jobs/{job}/submit', 'enqueue', () => ({})],
  ['POST', '/v1/jobs/{job}/retry', 'retry', () => ({})],
  ['PATCH', '/v1/jobs/{job}', 'change', () => ({ priority: 3 })],
  ['POST', '/v1/jobs/{job}/cancel', 'cancel', () => ({})],
  ['POST', '/v1/jobs/cancel', 'cancel', () => ({ queue: 'qa', dry_run: true })],
  ['POST', '/v1/jobs/retry', 'retry', () => ({ queue: 'qa', dry_run: true })],
  ['POST', '/v1/leases', 'lease', () => ({ worker_id: 'worker-a', queues: ['nowhere'] })],
  ['POST', '/v1/executions/{exec}/start', 'lease', () => who],
  ['POST', '/v1/executions/{exec}/heartbeat', 'lease', () => who],
  ['GET', '/v1/executions/{exec}/steps/s', 'lease', undefined, '?worker_id=worker-a&attempt=1'],
  ['PUT', '/v1/executions/{exec}/steps/s', 'lease', () => ({ ...who, result: 1 })],
  ['POST', '/v1/executions/{exec}/commit', 'lease', () => who],
  ['POST', '/v1/executions/{exec}/done', 'lease', () => who],
  ['POST', '/v1/executions/{exec}/fail', 'lease',
   () => ({ ...who, error: { class: 'transient', message: 'm' } })],
  ['POST', '/v1/executions/{exec}/release', 'lease', () => who],
  ['POST', '/v1/executions/batch', 'lease',
   (at) => ({ operations: [{ op: 'heartbeat', exec_id: at.exec, ...who }] })],
  ['GET', '/v1/limits', 'read'],
  ['POST', '/v1/job_types/{type}/resume', 'queues', () => ({})],
  ['GET', '/v1/queues', 'read'],
  ['POST', '/v1/queues/{queue}/pause', 'queues', () => ({})],
  ['POST', '/v1/queues/{queue}/resume', 'queues', () => ({})],
  ['POST', '/v1/queues/{queue}/purge', 'queues', () => ({ dry_run: true })],
  ['GET', '/v1/deadletter', 'read'],
  ['GET', '/v1/deadletter/groups', 'read'],
  ['GET', '/v1/deadletter/{letter}', 'read'],
  ['POST', '/v1/deadletter/{letter}/replay', 'deadletter', () => ({})],
  ['POST', '/v1/deadletter/{letter}/discard', 'deadletter', () => ({ reason: 'r' })],
  ['POST', '/v1/deadletter/{letter}/fix', 'deadletter', () => ({ payload: { n: 1 } })],
  ['POST', '/v1/deadletter/replay', 'deadletter', () => ({ queue: 'qa', dry_run: true })],
  ['POST', '/v1/deadletter/discard', 'deadletter',
   () => ({ queue: 'qa', dry_run: true, reason: 'r' })],
  ['POST', '/v1/jobs', 'enqueue', (at) => ({ ...job(`after ${at.job}`), after: [at.job] })],
  ['POST', '/v1/jobs', 'enqueue', (at) => ({ ...job(`in ${at.batch}`), batch_id: at.batch })],
  ['POST', '/v1/batches', 'enqueue',
   (at) => ({ jobs: [{ ...job(`of ${at.job}`), after: [at.job] }] })],
  ['GET', '/v1/batches/{batch}', 'read'],
  ['GET', '/v1/schedules', 'read'],
  ['GET', '/v1/schedules/{schedule}', 'read'],
  ['GET', '/v1/schedules/{schedule}/next', 'read'],
  ['GET', '/v1/schedules/{schedule}/runs', 'read'],
  ['GET', '/v1/schedules/{schedule}/skips', 'read'],
  ['POST', '/v1/schedules/{schedule}/pause', 'schedules', () => ({})],
  ['POST', '/v1/schedules/{schedule}/resume', 'schedules', () => ({})],
  ['POST', '/v1/schedules/{schedule}/trigger', 'schedules', () => ({ scheduled_for: slot })],
  ['POST', '/v1/schedules/{schedule}/backfill', 'schedules', () => ({ from: slot, to: slot })],
  ['DELETE', '/v1/schedules/{schedule}', 'schedules'],
  ['PUT', '/v1/schedules/{schedule}', 'schedules', () => ({ ...yearly, project_id: P1 })],
  ['GET', '/v1/stats', 'read'],
  ['GET', '/v1/workers', 'read'],
  ['GET', '/v1/audit', 'read'],
  ['GET', '/v1/audit/seal', 'keys'],
  ['POST', '/v1/jobs/{job}/annotations', 'change', () => ({ text: 't' })],
  ['POST', '/v1/audit/{event}/annotations', 'change', () => ({ text: 't' })],
  ['POST', '/v1/jobs/{job}/erase', 'keys', () => ({})],
  ['GET', '/v1/config', 'read'],
  ['GET', '/v1/session', 'read'],
  ['GET', '/v1/events', 'read'],
  ['POST', '/v1/keys', 'keys', () => ({ role: 'viewer' })],
  ['GET', '/v1/keys', 'keys'],
  ['DELETE', '/v1/keys/{key}', 'keys'],
];
const heads = written.filter(([method, path]) => method === 'GET' && path !== '/v1/events')
  .map(([, ...route]) => ['HEAD', ...route]);
const routes = [...written, ...heads];

// ----- two tenants, one of them with two projects

const A = '01900000-0000-7000-8000-00000000000a';
const B = '01900000-0000-7000-8000-00000000000b';
const P1 = '01900000-0000-7000-8000-0000000000a1';
const P2 = '01900000-0000-7000-8000-0000000000a2';
const nobody = { job: '019f0000-0000-7000-8000-000000000001',
                 exec: '019f0000-0000-7000-8000-000000000002',
                 letter: '019f0000-0000-7000-8000-000000000003',
                 batch: '019f0000-0000-7000-8000-000000000004',
                 artifact: '019f0000-0000-7000-8000-000000000005',
                 queue: 'q-nobody', key: 'AAAAAAAAAA', schedule: 's-nobody', event: '9000000',
                 type: 't-nobody' };

const directory = scratch();
const keys = {};  // of A, by role; b: of B; p1: of A, only P1
let server, bad;

const fill = (path, at) => path.replace(/\{(\w+)\}/g, (_, name) => at[name]);

async function ask([method, path, , body, query = ''], at, key, headers) {
  const controller = new AbortController();
  const url = server.url + fill(path, at) + query;
  const answer = await fetch(url, {
    method, signal: controller.signal,
    headers: { ...(key ? { authorization: `Bearer ${key}` } : {}),
               ...(body ? { 'content-type': 'application/json' } : {}), ...headers },
    body: body && JSON.stringify(body(at)),
  });
  const stream = answer.headers.get('content-type') === 'text/event-stream';
  const text = stream && answer.ok ? '' : await answer.text();
  if (stream) controller.abort();
  return { status: answer.status, headers: answer.headers, text,
           body: text && /json/.test(answer.headers.get('content-type') ?? '') ? JSON.parse(text)
                                                                            : null };
}

// A job of the project in a queue of its own, leased and started by `worker-a`.
let queues = 0;
async function running(project, name) {
  const queue = `qa-${++queues}`;
  const made = await server.post('/v1/jobs', { ...job(name), queue, project_id: project },
                                 { key: keys.admin });
  assert.equal(made.status, 201, made.text);
  const leased = await server.post('/v1/leases', { worker_id: 'worker-a', queues: [queue],
                                                   start: true, lease_ms: 3600000 },
                                   { key: keys.admin });
  const [execution] = leased.body.executions;
  assert.equal(execution.job.job_id, made.body.job_id);
  const { body: trail } = await server.get(`/v1/jobs/${made.body.job_id}/audit`,
                                           { key: keys.admin });
  return { job: made.body.job_id, exec: execution.exec_id, queue,
           event: trail.items[0].event_id };
}

// A job of the project that ended badly.
async function dead(project, name) {
  const { job, exec } = await running(project, name);
  const failed = await server.post(`/v1/executions/${exec}/fail`, {
    ...who, error: { class: 'validation', message: `no ${name}` } }, { key: keys.admin });
  assert.equal(failed.status, 200, failed.text);
  return { letter: job };
}

// A type that is paused for the org.
async function paused(project) {
  const [queue, job_type] = [`qa-${++queues}`, 't-halted'];
  await server.post('/v1/jobs', { ...job(`paused ${queue}`), job_type, queue, project_id: project },
                    { key: keys.admin });
  const { body } = await server.post('/v1/leases', { worker_id: 'worker-a', queues: [queue],
                                                     start: true }, { key: keys.admin });
  for (const { exec_id } of body.executions)  // none: it is paused from the last time
    await server.post(`/v1/executions/${exec_id}/fail`, {
      ...who, error: { class: 'rate_limited', message: '429' }, retry_after_ms: 3600000,
    }, { key: keys.admin });
  return { type: job_type };
}

// A batch of the project.
async function batched(project) {
  const made = await server.post('/v1/batches', { jobs: [job(`batched ${++queues}`)],
                                                  project_id: project }, { key: keys.admin });
  assert.equal(made.status, 201, made.text);
  return { batch: made.body.batch_id };
}

// A schedule of the project, under a name of its own.
async function scheduled(project, more = {}) {
  const name = `s-${++queues}`;
  const made = await server.ask('PUT', `/v1/schedules/${name}`,
                                { ...yearly, project_id: project, ...more }, { key: keys.admin });
  assert.equal(made.status, 201, made.text);
  return { schedule: name };
}

// An artifact of the project.
async function stored(project) {
  const made = await server.ask('POST', `/v1/artifacts?project_id=${project}`, { of: project },
                                { key: keys.admin });
  assert.equal(made.status, 201, made.text);
  return { artifact: made.body.artifact_id };
}

// The last part of a key: the CRC-32 of what is before it, in six digits to the base of 62.
function withChecksum(text) {
  let crc = 0xffffffff;
  for (const byte of Buffer.from(text)) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
  let [left, sum] = [~crc >>> 0, ''];
  for (let i = 0; i < 6; i++, left = Math.floor(left / 62)) sum = digits[left % 62] + sum;
  return `${text}_${sum}`;
}

function oneKeyEach() {
  for (const role of Object.keys(may)) keys[role] = makeKey(directory, role, { org: A }).key;
  keys.b = makeKey(directory, 'admin', { org: B }).key;
  keys.p1 = makeKey(directory, 'admin', { org: A, projects: [P1] }).key;
  const revoked = makeKey(directory, 'admin', { org: A });
  run(directory, 'key', 'revoke', revoked.key_id, '--org', A);
  const expired = makeKey(directory, 'admin', { org: A, expires: '100ms' });
  while (Date.now() <= Date.parse(expired.expires_at));
  const other = (c) => (c === 'a' ? 'b' : 'a');
  const [, env, id, secret, sum] = keys.admin.split('_');
  assert.equal(withChecksum(`pawl_${env}_${id}_${secret}`), keys.admin);
  bad = {
    none: undefined,
    malformed: 'not-a-key',
    'no secret': `pawl_${env}_${id}`,
    'wrong secret': withChecksum(`pawl_${env}_${id}_${other(secret[0])}${secret.slice(1)}`),
    'wrong checksum': `pawl_${env}_${id}_${secret}_${other(sum[0])}${sum.slice(1)}`,
    'unknown id': withChecksum(`pawl_${env}_${other(id[0])}${id.slice(1)}_${secret}`),
    'empty secret': withChecksum(`pawl_${env}_${id}_`),
    'too much': `${keys.admin} x`,
    revoked: revoked.key,
    expired: expired.key,
  };
}

before(async () => {
  oneKeyEach();
  server = await start({ directory, config: 'job_types: {t-halted: {on_rate_limited: pause}}\n' });
});
after(async () => {
  await server?.stop();
  rmSync(directory, { recursive: true, force: true });
});

// ----- roles

test('the table of routes is the server\'s', async () => {
  const shape = (path) => path.replace(/\{\w+\}/g, '{}').replace('/steps/s', '/steps/{}');
  const like = (path) => new RegExp(`^${shape(path).replaceAll('{}', '[^/]+')}$`);
  const known = (method, path) => assert.ok(
    routes.some(([m, p]) => m === method && like(p).test(shape(path).replaceAll('{}', 'x'))),
    `${method} ${path} is not in the table`);
  for (const path of new Set(routes.map(([, path]) => path))) {
    const { status, headers } = await ask(['OPTIONS', path], nobody, keys.admin);
    assert.equal(status, 405, path);
    for (const method of headers.get('allow').split(', ')) known(method, path);
  }
  for (const path of ['/v1/jobs', '/v1/keys'])  // another method comes before it in the table
    assert.equal((await ask(['GET', path], nobody, keys.admin)).headers.get('allow'), null);
  const { paths } = (await server.get('/openapi.json')).body;
  for (const [path, methods] of Object.entries(paths ?? {}))
    for (const method of Object.keys(methods).filter((word) => word !== 'parameters'))
      known(method.toUpperCase(), path);
});

test('every route with every bad key is 401, and says no more than that', async () => {
  for (const route of routes.filter(([, , needs]) => needs !== 'open'))
    for (const [name, key] of Object.entries(bad)) {
      const answer = await ask(route, nobody, key);
      assert.equal(answer.status, 401, `${route[0]} ${route[1]} with ${name}: ${answer.text}`);
      assert.equal(answer.headers.get('www-authenticate'), 'Bearer');
      assert.ok(!key || !answer.text.includes(key), 'the key is in the answer');
    }
});

test('a wrong secret and an unknown key get the same answer', async () => {
  const [secret, id] = await Promise.all(['wrong secret', 'unknown id'].map(
    (name) => ask(['GET', '/v1/jobs'], nobody, bad[name])));
  assert.deepEqual(seen(secret, {}), seen(id, {}));
});

test('a key that is mistyped or cut is told so, and nothing of it', async () => {
  for (const name of ['wrong checksum', 'no secret', 'empty secret', 'too much']) {
    const { body } = await ask(['GET', '/v1/jobs'], nobody, bad[name]);
    assert.match(body.detail, /^the key is mistyped or cut, its checksum says: copy it again/);
  }
  const { body } = await ask(['GET', '/v1/jobs'], nobody, bad.malformed);
  assert.match(body.detail, /holds no key/);
});

test('OPS_12_wrong_keys_are_in_the_log_once_a_minute', async () => {
  for (let i = 0; i < 20; i++) await ask(['GET', '/v1/jobs'], nobody, bad['unknown id']);
  const lines = server.log.split('\n').filter((line) => line.includes('KEY_REFUSED'));
  assert.ok(lines.length >= 1 && lines.length <= 2, `${lines.length} lines`);
  for (const line of lines) assert.ok(JSON.parse(line).times >= 1, line);
  assert.ok(!server.log.includes(bad['unknown id']));
});

test('every route with every role is allowed or 403 as the table says', async () => {
  for (const route of routes) {
    const [method, path, needs, body] = route;
    for (const role of Object.keys(may)) {
      const at = path.includes('{key}')
        ? { key: makeKey(directory, 'viewer', { org: A }).key_id }
        : path.includes('{schedule}') ? await scheduled(P1)
        : path.includes('{artifact}') ? await stored(P1)
        : path.includes('{type}') ? await paused(P1)
        : path.includes('{letter}') ? await dead(P1, `${role} ${method} ${path}`)
        : path.includes('{batch}') || /at\.batch/.test(body) ? await batched(P1)
        : await running(P1, `${role} ${method} ${path} ${body}`.slice(0, 200));
      const { status, text } = await ask(route, at, keys[role]);
      const what = `${role} ${method} ${path}: ${status} ${text}`;
      if (needs === 'open' || may[role].includes(needs))
        assert.ok(status < 300 || status === 409, what);
      else
        assert.equal(status, 403, what);
    }
  }
});

test('open routes take any key, even a bad one', async () => {
  for (const route of routes.filter(([, , needs]) => needs === 'open'))
    for (const key of Object.values(bad)) assert.equal((await ask(route, nobody, key)).status, 200);
});

// ----- what is another's does not exist

// An answer without what differs between any two requests, and with the ids as names.
function seen({ status, headers, text }, at) {
  let told = text.replace(/"request_id":"[^"]*"/g, '');
  for (const [name, id] of Object.entries(at))
    if (name !== 'event') told = told.replaceAll(id, `{${name}}`);
  const kept = ['content-type', 'location', 'etag', 'allow', 'retry-after', 'www-authenticate'];
  return { status, told, headers: kept.map((name) => headers.get(name)) };
}

// What makes what its path names.
const makes = ([method, path]) => method === 'PUT' && path === '/v1/schedules/{schedule}';

// A key that is limited to projects may do nothing with queues, whose numbers are the whole org's.
async function looksUnknown(at, key, queue_status) {
  for (const route of routes) {
    const [method, path, needs, body] = route;
    if (makes(route) || (!/\{/.test(path) && !body?.length)) continue;
    const theirs = seen(await ask(route, at, key), at);
    const unknown = seen(await ask(route, nobody, key), nobody);
    assert.deepEqual(theirs, unknown, `${method} ${path}`);
    if (/\{/.test(path))
      assert.equal(theirs.status, needs === 'queues' ? queue_status : 404, `${method} ${path}`);
  }
}

test('another tenant\'s ids answer as unknown ones do, on every route', async () => {
  const at = { ...await running(P1, 'of a'), ...await scheduled(P1), ...await dead(P1, 'dead a'),
               ...await batched(P1), ...await stored(P1), ...await paused(P1),
               key: makeKey(directory, 'viewer', { org: A }).key_id };
  await looksUnknown(at, keys.b, 404);
  const mine = await ask(['GET', '/v1/jobs/{job}'], at, keys.admin);
  assert.equal(mine.body.state, 'RUNNING');
});

test('another project\'s ids answer as unknown ones do, on every route', async () => {
  const at = { ...await running(P2, 'of p2'), ...await scheduled(P2), ...await dead(P2, 'dead p2'),
               ...await batched(P2), ...await stored(P2), ...await paused(P2),
               key: makeKey(directory, 'viewer', { org: A, projects: [P2] }).key_id };
  await looksUnknown(at, keys.p1, 403);
  const mine = await ask(['GET', '/v1/jobs/{job}'], at, keys.admin);
  assert.equal(mine.body.state, 'RUNNING');
});

test('a schedule\'s name is taken within its org, and free in every other', async () => {
  const at = await scheduled(P2);
  const put = (key, json) => server.ask('PUT', `/v1/schedules/${at.schedule}`, json, { key });
  assert.equal((await put(keys.b, { ...yearly, job_type: 'type.b' })).status, 201);
  const taken = await put(keys.p1, yearly);
  assert.deepEqual([taken.status, taken.body.code], [409, 'conflict']);
  assert.equal((await put(keys.p1, { ...yearly, project_id: P2 })).status, 422);
  const mine = await server.get(`/v1/schedules/${at.schedule}`, { key: keys.admin });
  assert.equal(mine.body.project_id, P2);
});

test('waiting for another tenant\'s job does not wait', async () => {
  const at = await running(P1, 'waited for');
  const { status } = await ask(['GET', '/v1/jobs/{job}', , , '?wait_ms=30000'], at, keys.b);
  assert.equal(status, 404);
});

// ----- lists, counts, cursors

const lists = ['/v1/jobs', '/v1/queues', '/v1/deadletter', '/v1/deadletter/groups', '/v1/schedules',
               '/v1/stats', '/v1/workers', '/v1/audit', '/v1/keys', '/v1/artifacts'];

async function listed(key, query = '') {
  const all = {};
  for (const path of lists)
    all[path] = (await server.get(path + (path === '/v1/jobs' ? query : ''), { key })).body;
  for (const refused of Object.values(all)) delete refused.request_id;
  delete all['/v1/stats'].uptime_seconds;
  for (const item of all['/v1/keys'].items) delete item.last_used_at;
  return all;
}

test('what a tenant does changes nothing in another\'s lists and counts', async () => {
  const before = await listed(keys.b);
  const at = { ...await running(P1, 'unseen'), ...await dead(P1, 'unseen death'),
               ...await stored(P1) };
  await server.post(`/v1/queues/${at.queue}/pause`, {}, { key: keys.admin });
  await server.post('/v1/keys', { role: 'viewer', name: 'unseen' }, { key: keys.admin });
  const { schedule } = await scheduled(P1, { payload: { unseen: 1 } });
  await server.post(`/v1/schedules/${schedule}/trigger`, { scheduled_for: slot },
                    { key: keys.admin });
  const now = await listed(keys.b);
  assert.deepEqual(now, before);
  const text = JSON.stringify(now);
  for (const mark of [A, P1, P2, at.job, at.exec, at.letter, at.artifact, 'worker-a', 'type.a',
                      '"qa', 'unseen'])
    assert.ok(!text.includes(mark), `${mark} is in another tenant's lists`);
});

test('what happens in a project changes nothing in the lists of another\'s key', async () => {
  const before = await listed(keys.p1);
  const at = { ...await running(P2, 'unseen by p1'), ...await scheduled(P2),
               ...await dead(P2, 'death unseen by p1'), ...await stored(P2) };
  const now = await listed(keys.p1);
  assert.deepEqual(now, before);
  for (const mark of [P2, at.job, at.exec, at.letter, at.artifact, `"${at.schedule}"`])
    assert.ok(!JSON.stringify(now).includes(mark), `${mark} is in another project's lists`);
  const asked = await listed(keys.p1, `?project_id=${P2}`);
  assert.deepEqual(asked['/v1/jobs'].items, []);
});

test('a cursor of one tenant is none of another', async () => {
  for (let i = 0; i < 3; i++) await server.post('/v1/jobs', job(`page ${i}`), { key: keys.b });
  for (const path of ['/v1/jobs', '/v1/audit', '/v1/keys', '/v1/schedules', '/v1/deadletter',
                      '/v1/artifacts']) {
    const { body } = await server.get(`${path}?limit=1`, { key: keys.admin });
    assert.ok(body.next_cursor, path);
    const [theirs, wrong] = await Promise.all([body.next_cursor, '1-00000000'].map(
      (cursor) => server.get(`${path}?limit=1&cursor=${cursor}`, { key: keys.b })));
    assert.equal(theirs.status, 422);
    assert.deepEqual({ ...theirs.body, request_id: 0 }, { ...wrong.body, request_id: 0 });
  }
});

test('the same idempotency key in two orgs and two projects is three jobs', async () => {
  const made = await Promise.all([[keys.admin, P1], [keys.admin, P2], [keys.b, P1]].map(
    ([key, project_id]) => server.post('/v1/jobs', { ...job('shared'), project_id }, { key })));
  assert.deepEqual(made.map(({ status }) => status), [201, 201, 201]);
  assert.equal(new Set(made.map(({ body }) => body.job_id)).size, 3);
  for (const { headers, body } of made)
    assert.equal(headers.get('location'), `/v1/jobs/${body.job_id}`);
});

test('nobody enqueues for another tenant or project', async () => {
  const other = await server.post('/v1/jobs', { ...job('for a'), org_id: A }, { key: keys.b });
  assert.equal(other.status, 422);
  assert.deepEqual(other.body.errors.map(({ field }) => field), ['org_id']);
  const [there, nowhere] = await Promise.all([P2, '01900000-0000-7000-8000-0000000000ff'].map(
    (project_id) => server.post('/v1/jobs', { ...job('for p2'), project_id }, { key: keys.p1 })));
  assert.equal(there.status, 422);
  assert.deepEqual({ ...there.body, request_id: 0 }, { ...nowhere.body, request_id: 0 });
});

test('workers get their own tenant\'s and project\'s jobs only', async () => {
  const lease = (key) => server.post('/v1/leases', { worker_id: 'w', queues: ['qb'] }, { key });
  const made = await server.post('/v1/jobs', { ...job('for work'), queue: 'qb', project_id: P2 },
                                 { key: keys.admin });
  assert.equal(made.status, 201, made.text);
  assert.deepEqual((await lease(keys.b)).body.executions, []);
  assert.deepEqual((await lease(keys.p1)).body.executions, []);
  assert.equal((await lease(keys.worker)).body.executions[0].job.job_id, made.body.job_id);
});

test('a tenant\'s pause and purge leave another\'s share of the queue alone', async () => {
  const made = await server.post('/v1/jobs', { ...job('shared queue'), queue: 'qs' },
                                 { key: keys.admin });
  await server.post('/v1/jobs', { ...job('shared queue'), queue: 'qs' }, { key: keys.b });
  assert.equal((await server.post('/v1/queues/qs/purge', {}, { key: keys.b })).body.count, 1);
  assert.equal((await server.post('/v1/queues/qs/pause', {}, { key: keys.b })).status, 200);
  const leased = await server.post('/v1/leases', { worker_id: 'w', queues: ['qs'] },
                                   { key: keys.worker });
  assert.equal(leased.body.executions[0].job.job_id, made.body.job_id);
});

test('payloads are for those who may see them', async () => {
  const at = { ...await running(P1, 'payload'), ...await scheduled(P1),
               ...await dead(P1, 'dead payload') };
  for (const [role, sees] of [['viewer', false], ['operator', false], ['producer', true],
                              ['worker', true], ['admin', true]]) {
    const { body } = await ask(['GET', '/v1/jobs/{job}'], at, keys[role]);
    assert.equal(body.payload !== null, sees, role);
    const schedule = await ask(['GET', '/v1/schedules/{schedule}'], at, keys[role]);
    assert.equal(schedule.body.payload !== null, sees, role);
    const letter = await ask(['GET', '/v1/deadletter/{letter}'], at, keys[role]);
    assert.equal(letter.body.payload !== null, sees, role);
  }
});

// ----- events

// The text of a stream until it holds `mark`.
async function streamed(key, mark, act) {
  const controller = new AbortController();
  const answer = await fetch(`${server.url}/v1/events`, {
    headers: { authorization: `Bearer ${key}` }, signal: controller.signal });
  await act();
  let text = '';
  for await (const part of answer.body) {
    text += Buffer.from(part).toString('utf8');
    if (text.includes(mark)) break;
  }
  controller.abort();
  return text;
}

for (const [name, key, project] of [['tenant', 'b', P1], ['project', 'p1', P2]])
  test(`a stream of events shows nothing of another ${name}`, { timeout: 20000 }, async () => {
    const seen_at = {};
    const text = await streamed(keys[key], 'type.last', async () => {
      Object.assign(seen_at, await running(project, `streamed past ${name}`));
      await server.post('/v1/jobs', { ...job('last'), job_type: 'type.last', queue: 'ql' },
                        { key: keys[key] });
    });
    for (const id of Object.values(seen_at)) assert.ok(!text.includes(id), text);
  });
