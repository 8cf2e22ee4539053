// Artifacts over HTTP: bytes in, the same bytes out, for whom they are; and what jobs have to do
// with them.
import { test, before, after } from 'node:test';
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync, readdirSync, rmSync, truncateSync, unlinkSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { makeKey, run, sanitized, scratch, start } from './server.mjs';

const config = `
limits: {artifact_bytes: 1MiB}
job_types:
  plan.week: {category: planning}
  plan.act: {category: planning, may_write: true}
  rows.import: {category: transfer}
  mail.send: {category: notification}
  ledger.close: {authoritative: true}
`;

const sha256 = (bytes) => createHash('sha256').update(bytes).digest('hex');
const files = (at) => readdirSync(join(at.directory, 'pawl.db.artifacts'));

// A refused upload may be answered a moment before its file is removed.
async function untilFiles(count) {
  while (files(server).length !== count) await new Promise((done) => setTimeout(done, 5));
}

// One request with a body of bytes, or of chunks when they come as a list.
function upload(at, bytes, { query = '', headers = {}, key } = {}) {
  const chunked = Array.isArray(bytes);
  return fetch(`${at.url}/v1/artifacts${query}`, {
    method: 'POST',
    body: chunked ? Readable.from(bytes) : bytes,
    ...(chunked ? { duplex: 'half' } : {}),
    headers: { 'content-type': 'text/csv', ...headers,
               ...(key ? { authorization: `Bearer ${key}` } : {}) },
  }).then(async (answer) => ({ status: answer.status, headers: answer.headers,
                               body: JSON.parse(await answer.text()) }));
}

async function stored(at, bytes, options) {
  const { status, body } = await upload(at, bytes, options);
  assert.equal(status, 201, JSON.stringify(body));
  return body;
}

let server;
before(async () => { server = await start({ config }); });
after(() => server?.stop());

const download = (id, options) => server.get(`/v1/artifacts/${id}`, options);

// ----- bytes

test('OPS_24_what_is_uploaded_comes_back_with_its_checksum', async () => {
  const bytes = Buffer.from(Array.from({ length: 70000 }, (_, i) => i * 7 % 256));
  const made = await stored(server, bytes, { query: '?name=r%C3%A9sum%C3%A9%20%22x%22.csv' });
  assert.equal(made.sha256, sha256(bytes));
  assert.deepEqual([made.bytes, made.content_type, made.name, made.job_id, made.authoritative],
                   [70000, 'text/csv', 'résumé "x".csv', null, false]);
  const answer = await fetch(`${server.url}/v1/artifacts/${made.artifact_id}`);
  assert.equal(answer.status, 200);
  assert.equal(sha256(Buffer.from(await answer.arrayBuffer())), made.sha256);
  assert.equal(answer.headers.get('etag'), `"${made.sha256}"`);
  assert.equal(answer.headers.get('content-type'), 'text/csv');
  assert.equal(answer.headers.get('content-length'), '70000');
  assert.equal(answer.headers.get('x-content-type-options'), 'nosniff');
  assert.equal(answer.headers.get('content-disposition'),
               'attachment; filename*=UTF-8\'\'r%C3%A9sum%C3%A9%20%22x%22.csv');
  const about = await server.get(`/v1/artifacts/${made.artifact_id}/about`);
  assert.deepEqual(about.body, made);
  const [newest] = (await server.get('/v1/artifacts?limit=1')).body.items;
  assert.deepEqual(newest, made);
});

test('OPS_24_an_empty_body_and_one_in_chunks_are_artifacts_too', async () => {
  assert.equal((await stored(server, '')).sha256, sha256(''));
  const made = await stored(server, ['ab', 'c', 'd'.repeat(100000)]);
  assert.equal(made.sha256, sha256(`abc${'d'.repeat(100000)}`));
});

test('OPS_24_a_checksum_that_is_wrong_is_refused_and_nothing_stays', async () => {
  const before = files(server).length;
  const good = await stored(server, 'abc', { headers: { 'x-content-sha256': sha256('abc') } });
  assert.equal(good.sha256, sha256('abc'));
  for (const said of [sha256('abd'), 'abc', sha256('abc').toUpperCase()]) {
    const { status, body } = await upload(server, 'abc', {
      headers: { 'x-content-sha256': said } });
    assert.equal(status, 422);
    assert.deepEqual(body.errors.map(({ field }) => field), ['X-Content-SHA256']);
  }
  assert.equal(files(server).length, before + 1);
});

test('OPS_24_every_problem_of_an_upload_is_named_before_its_bytes_are_taken', async () => {
  const before = files(server).length;
  const bad = await upload(server, 'abc', { query: '?name=a/b&project_id=x',
                                            headers: { 'content-type': 'csv' } });
  assert.equal(bad.status, 422);
  assert.deepEqual(bad.body.errors.map(({ field }) => field).sort(),
                   ['Content-Type', 'name', 'project_id']);
  assert.equal((await upload(server, 'abc', { query: '?what=1' })).status, 422);
  assert.equal((await upload(server, 'abc', { headers: { 'content-encoding': 'gzip' } })).status,
               415);
  assert.equal(files(server).length, before);
});

// A server that refuses does not read on. A client that still writes may hear of the closed
// connection before it looks for the answer: then it asks again.
async function answered(ask) {
  for (let tries = 0; tries < 300; tries++) {
    try {
      return await ask();
    } catch (error) {
      if (error.message !== 'fetch failed') throw error;
      await new Promise((done) => setTimeout(done, 10));
    }
  }
  throw new Error('never answered');
}

test('OPS_24_more_than_the_limit_is_refused_whether_it_is_announced_or_not', async () => {
  const before = files(server).length;
  const most = await stored(server, Buffer.alloc(1 << 20));
  assert.equal(most.bytes, 1 << 20);
  const chunks = Array.from({ length: 17 }, () => Buffer.alloc(1 << 16));
  for (const body of [Buffer.alloc((1 << 20) + 1), chunks]) {
    assert.equal((await answered(() => upload(server, body))).status, 413);
  }
  await untilFiles(before + 1);
});

test('OPS_24_an_upload_that_breaks_off_leaves_nothing', async () => {
  const before = files(server).length;
  const half = request(`${server.url}/v1/artifacts`, { method: 'POST',
                                                       headers: { 'content-length': 100000 } });
  half.on('error', () => {});
  half.write(Buffer.alloc(50000));
  while (files(server).length === before) await new Promise((done) => setTimeout(done, 5));
  half.destroy();
  await untilFiles(before);
  assert.ok((await server.get('/v1/artifacts')).body.items.every(({ bytes }) => bytes !== 50000));
});

test('OPS_24_a_file_that_was_cut_or_is_gone_is_told_and_verify_finds_it', async () => {
  const other = await start();
  const [cut, gone] = [await stored(other, 'cut short'), await stored(other, 'gone')];
  for (const name of files(other)) {
    const path = join(other.directory, 'pawl.db.artifacts', name);
    if (readFileSync(path, 'utf8') === 'gone') unlinkSync(path);
    else truncateSync(path, 3);
  }
  const answers = await Promise.all([cut, gone].map(
    ({ artifact_id }) => other.get(`/v1/artifacts/${artifact_id}`)));
  assert.deepEqual(answers.map(({ status }) => status), [500, 404]);
  assert.match(answers[1].body.detail, /its file is gone/);
  await other.stop();
});

// ----- for whom

test('OPS_24_an_artifact_is_for_its_org_its_project_and_who_may_see_payloads', async () => {
  const directory = scratch();
  const A = '01900000-0000-7000-8000-00000000000a', B = '01900000-0000-7000-8000-00000000000b';
  const P1 = '01900000-0000-7000-8000-0000000000a1', P2 = '01900000-0000-7000-8000-0000000000a2';
  const key = (role, more) => makeKey(directory, role, { org: A, ...more }).key;
  const keys = { worker: key('worker'), viewer: key('viewer'), b: key('admin', { org: B }),
                 p1: key('worker', { projects: [P1] }), p2: key('worker', { projects: [P2] }) };
  const own = await start({ directory });
  const made = await stored(own, 'mine', { key: keys.p1 });
  assert.equal(made.project_id, P1, 'the only project of the key');
  const elsewhere = await upload(own, 'x', { key: keys.p1, query: `?project_id=${P2}` });
  assert.equal(elsewhere.status, 422);
  assert.equal((await upload(own, 'x', { key: keys.viewer })).status, 403);
  assert.equal((await upload(own, 'x')).status, 401);
  const expected = { worker: [200, 200], p1: [200, 200], viewer: [403, 200], b: [404, 404],
                     p2: [404, 404] };
  for (const [name, statuses] of Object.entries(expected)) {
    const path = `/v1/artifacts/${made.artifact_id}`;
    const bytes = await own.get(path, { key: keys[name] });
    const about = await own.get(`${path}/about`, { key: keys[name] });
    assert.deepEqual([bytes.status, about.status], statuses, name);
  }
  await own.stop();
  const shown = await start({ directory, config: 'auth: {viewer_sees_payload: true}' });
  const seen = await shown.get(`/v1/artifacts/${made.artifact_id}`, { key: keys.viewer });
  assert.deepEqual([seen.status, seen.text], [200, 'mine']);
  await shown.stop();
  rmSync(directory, { recursive: true });
});

// ----- large ones

const resident = (pid) =>
  Number(readFileSync(`/proc/${pid}/status`, 'utf8').match(/VmHWM:\s+(\d+)/)[1]);

test('OPS_24_300_MiB_go_through_a_server_that_does_not_grow', { timeout: 120000 }, async () => {
  const large = await start();
  const block = Buffer.alloc(1 << 20, 'pawl'), count = 300;
  const hash = createHash('sha256');
  for (let i = 0; i < count; i++) hash.update(block);
  const wanted = hash.digest('hex');
  await stored(large, 'small');
  const before = resident(large.child.pid);
  const made = await stored(large, Array.from({ length: count }, () => block));
  assert.deepEqual([made.bytes, made.sha256], [count << 20, wanted]);
  const answer = await fetch(`${large.url}/v1/artifacts/${made.artifact_id}`);
  const back = createHash('sha256');
  for await (const part of answer.body) back.update(part);
  assert.equal(back.digest('hex'), wanted);
  const grown = resident(large.child.pid) - before;
  console.log(`# resident ${before} kB, ${grown} kB more after 300 MiB in and out`);
  assert.ok(sanitized || grown < 8 << 10, `${grown} kB`);
  await large.stop();
});

// ----- jobs

let number = 0;
async function enqueue(job_type, payload = {}, more = {}) {
  return server.post('/v1/jobs', { job_type, payload, idempotency_key: `k${++number}`, ...more });
}

const who = { worker_id: 'w' };
async function started(job_type, more) {
  const made = await enqueue(job_type, {}, { queue: `q-${++number}`, ...more });
  assert.equal(made.status, 201, made.text);
  const { body } = await server.post('/v1/leases', { ...who, queues: [made.body.queue],
                                                     start: true });
  const [{ exec_id, attempt }] = body.executions;
  const commit = (content) => server.post(`/v1/executions/${exec_id}/commit`,
                                          { ...who, attempt, done: true, ...content });
  return { id: made.body.job_id, commit };
}

test('OPS_23_a_plan_is_an_artifact_and_nothing_else', async () => {
  const plan = await started('plan.week');
  const artifact = (await stored(server, 'the plan')).artifact_id;
  const enqueue = [{ job_type: 'x', payload: {}, idempotency_key: 'next' }];
  for (const content of [{}, { result: { a: 1 } }, { artifacts: [artifact], enqueue },
                         { artifacts: [artifact], finish: true, done: false }]) {
    const { status, body } = await plan.commit(content);
    assert.deepEqual([status, body.code], [422, 'effect_not_allowed'], JSON.stringify(content));
  }
  assert.equal((await server.get('/v1/jobs?job_type=x')).body.items.length, 0);
  assert.equal((await plan.commit({ artifacts: [artifact], result: { a: 1 } })).status, 200);
  const { items } = (await server.get(`/v1/jobs/${plan.id}/artifacts`)).body;
  assert.deepEqual(items.map((one) => [one.artifact_id, one.job_id, one.authoritative]),
                   [[artifact, plan.id, false]]);
  const job = (await server.get(`/v1/jobs/${plan.id}`)).body;
  assert.deepEqual([job.state, job.authoritative], ['SUCCEEDED', false]);
});

test('OPS_23_a_type_that_may_write_does_so_for_an_authorised_job', async () => {
  const commit = async (more) => {
    const plan = await started('plan.act', more);
    const artifact = (await stored(server, 'the plan')).artifact_id;
    return plan.commit({ artifacts: [artifact], enqueue: [
      { job_type: 'acted', payload: {}, idempotency_key: `acted ${++number}` }] });
  };
  const { status, body } = await commit({});
  assert.deepEqual([status, body.code], [422, 'effect_not_allowed']);
  assert.match(body.detail, /authorized_by/);
  assert.equal((await commit({ authorized_by: 'anna' })).status, 200);
  assert.equal((await server.get('/v1/jobs?job_type=acted')).body.items.length, 1);
});

test('OPS_24_a_commit_names_artifacts_of_its_own_each_once', async () => {
  const job = await started('report'), other = await started('report');
  const artifact = (await stored(server, 'report')).artifact_id;
  const nobodys = '01900000-0000-7000-8000-000000000001';
  const bad = await job.commit({ artifacts: ['x', artifact] });
  assert.deepEqual(bad.body.errors.map(({ field }) => field), ['artifacts[0]']);
  const unknown = await job.commit({ artifacts: [artifact, nobodys] });
  assert.equal(unknown.status, 422);
  assert.match(unknown.body.detail, /artifacts\[1\]/);
  assert.equal((await job.commit({ artifacts: [artifact] })).status, 200);
  assert.equal((await other.commit({ artifacts: [artifact] })).status, 422);
  assert.equal((await other.commit({})).status, 200);
});

test('OPS_9_results_and_artifacts_are_marked_as_the_type_says', async () => {
  const job = await started('ledger.close');
  const artifact = (await stored(server, 'books')).artifact_id;
  assert.equal((await job.commit({ artifacts: [artifact], result: 1 })).status, 200);
  assert.equal((await server.get(`/v1/jobs/${job.id}`)).body.authoritative, true);
  assert.equal((await server.get(`/v1/artifacts/${artifact}/about`)).body.authoritative, true);
});

test('OPS_24_an_import_names_its_inputs_and_each_that_is_wrong_is_told', async () => {
  const { artifact_id, sha256: sum } = await stored(server, 'a,b\n1,2\n');
  const good = await enqueue('rows.import', { input: { artifact_id, sha256: sum } });
  assert.equal(good.status, 201, good.text);
  const bad = await enqueue('rows.import', {
    input: { artifact_id, sha256: sha256('other') },
    inputs: [{ artifact_id: '01900000-0000-7000-8000-000000000001' }, { artifact_id }] });
  assert.equal(bad.status, 422);
  assert.deepEqual(bad.body.errors.map(({ field }) => field),
                   ['payload.input.sha256', 'payload.inputs[0].artifact_id']);
  const many = await server.post('/v1/jobs', { jobs: [
    { job_type: 'rows.import', payload: {}, idempotency_key: 'of many 1' },
    { job_type: 'rows.import', payload: { input: { artifact_id: 7 } },
      idempotency_key: 'of many 2' }] });
  assert.equal(many.status, 422);
  assert.deepEqual(many.body.errors.map(({ field }) => field),
                   ['jobs[1].payload.input.artifact_id']);
  const again = await server.post('/v1/jobs', { job_type: 'rows.import', payload: {},
                                                idempotency_key: 'of many 1' });
  assert.equal(again.status, 201, 'nothing of many was stored');
});

test('OPS_24_an_artifact_is_removed_for_good_unless_a_job_needs_it', async () => {
  const { artifact_id: id } = await stored(server, 'short lived');
  const count = files(server).length;
  const remove = () => server.ask('DELETE', `/v1/artifacts/${id}`);
  const { body: job } = await enqueue('rows.import', { input: { artifact_id: id } });
  const refused = await remove();
  assert.equal(refused.status, 409);
  assert.ok(refused.body.detail.includes(job.job_id), refused.text);
  assert.equal((await server.post(`/v1/jobs/${job.job_id}/cancel`, {})).status, 200);
  const { status, body } = await remove();
  assert.deepEqual([status, body.artifact_id], [200, id]);
  await untilFiles(count - 1);
  assert.equal((await remove()).status, 404);
  assert.equal((await download(id)).status, 404);
  const { body: trail } = await server.get('/v1/audit?event=artifact.removed');
  assert.equal(trail.items[0].subject, `artifact:${id}`);
  const { artifact_id: other } = await stored(server, 'the same, by hand');
  assert.match(run(server.directory, 'artifact', 'rm', other), /17 bytes {2}removed/);
  await untilFiles(count - 1);
});

test('OPS_2_a_notification_that_is_refused_never_fails_the_commit_and_is_audited', async () => {
  const job = await started('report');
  const { status } = await job.commit({ enqueue: [
    { job_type: 'mail.send', payload: { to: 'a' }, priority: 4000 },
    { job_type: 'mail.send', payload: { to: 'b', template: 't' }, queue: 'q:deadletter' }] });
  assert.equal(status, 200);
  const { items } = (await server.get(`/v1/jobs/${job.id}/audit`)).body;
  const refused = items.filter(({ event }) => event === 'job.annotated');
  assert.deepEqual(refused.map(({ detail }) => detail.follow_up_refused.job_type),
                   ['mail.send', 'mail.send']);
  assert.equal((await server.get(`/v1/jobs/${job.id}`)).body.state, 'SUCCEEDED');
});
