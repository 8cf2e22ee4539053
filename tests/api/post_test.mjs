// Types whose work is done by a service over HTTP, against real servers that misbehave.
import { test, before, after } from 'node:test';
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { createServer } from 'node:http';
import { createServer as createSocket } from 'node:net';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeKey, scratch, start } from './server.mjs';

const secret = 'a secret of enough bytes';
const policy = 'policies: {quick: {max_attempts: 3, base: 1ms, max_delay: 1ms, jitter: false}}';

// What came, and how each path answers: `answers[path](request, response, count of its requests)`.
const came = [];
const answers = {};
const service = createServer((request, response) => {
  let body = '';
  request.on('data', (text) => { body += text; });
  request.on('end', () => {
    const path = request.url.slice(1);
    came.push({ path, body, headers: request.headers, method: request.method });
    answers[path](response, came.filter((one) => one.path === path).length);
  });
});

// Reads the request and breaks the connection off.
const rude = createSocket((socket) => {
  socket.on('error', () => {});
  socket.on('data', () => socket.resetAndDestroy());
});

const listen = (server) => new Promise((resolve) => {
  server.listen(0, '127.0.0.1', () => resolve(server.address().port));
});

const say = (status, body = '', headers = {}) => (response) => {
  response.writeHead(status, headers);
  response.end(body);
};

// One type for each thing that an answer can be; see docs/post.md.
const good = {
  json: [say(200, '{"sent": true}', { 'content-type': 'application/json' }), { sent: true }],
  text: [say(201, 'sent\n', { 'content-type': 'text/html' }), 'sent'],
  nothing: [say(204), null],
  broken: [say(200, '{"sent": ', { 'content-type': 'application/json' }), '{"sent": '],
  bytes: [say(200, Buffer.from([0xff, 0x00, 0x41])), '\ufffd\ufffdA'],
};
const bad = {
  moved: [say(302, '', { location: '/json' }), 'configuration'],
  unknown: [say(404), 'configuration'],
  who: [say(401, 'password=hunter2'), 'authorization'],
  taken: [say(409), 'business_rule'],
  large: [say(413), 'resource_limit'],
  wrong: [say(422, '{"field": "to"}'), 'validation'],
  odd: [say(418), 'invalid_input'],
  huge: [(response) => {
    response.writeHead(200);
    response.on('error', () => {});
    const piece = Buffer.alloc(1 << 16, 'x');
    const more = () => { while (!response.destroyed && response.write(piece)); };
    response.on('drain', more);
    more();
  }, 'resource_limit'],
};
const again = {
  late: [408, 'timeout'], early: [425, 'transient'], broke: [500, 'dependency'],
  gateway: [502, 'dependency'], busy: [503, 'overload'],
};

const directory = scratch();
let server, key;

before(async () => {
  const port = await listen(service), rudePort = await listen(rude);
  const url = (path) => `http://127.0.0.1:${port}/${path}`;
  for (const [name, [answer]] of Object.entries({ ...good, ...bad })) answers[name] = answer;
  for (const [name, [status]] of Object.entries(again)) answers[name] = say(status, 'later');
  writeFileSync(join(directory, 'secret'), secret);
  writeFileSync(join(directory, 'headers'), 'Authorization: Bearer abc\n');
  const types = Object.keys(answers).map(
    (name) => `  ${name}: {post: "${url(name)}", policy: quick}`);
  key = makeKey(directory, 'admin').key;
  server = await start({ directory, config: `${policy}
limits: {result: 4KiB}
job_types:
${types.join('\n')}
  signed: {post: "${url('json')}?who=me", policy: quick, headers_file: headers,
           secret_file: secret}
  rude: {post: "http://127.0.0.1:${rudePort}/", policy: quick}
  nobody: {post: "http://127.0.0.1:1/", policy: quick}
  slow: {post: "${url('slow')}", policy: quick, timeout: 300ms}
  hangs: {post: "${url('hangs')}", policy: quick}
  asked: {post: "${url('asked')}", policy: quick}
` });
});
after(async () => {
  await server?.stop();
  service.closeAllConnections();
  service.close();
  rude.close();
  rmSync(directory, { recursive: true, force: true });
});

let number = 0;
async function enqueue(job_type, payload = { to: 'ada' }, more = {}) {
  const { status, body, text } = await server.post('/v1/jobs', {
    job_type, payload, idempotency_key: `post ${number++}`, ...more }, { key });
  assert.equal(status, 201, text);
  return body;
}

async function ended({ job_id: id }) {
  let job;
  do {
    ({ body: job } = await server.get(`/v1/jobs/${id}?wait_ms=30000`, { key }));
  } while (!job.completed_at);
  return job;
}

async function classes({ job_id: id }) {
  const { body } = await server.get(`/v1/jobs/${id}/executions`, { key });
  return body.items.map(({ error }) => error?.class);
}

const of = (job) => came.filter(({ headers }) => headers['x-pawl-job-id'] === job.job_id);

test('OPS_17_a_post_carries_the_payload_and_who_it_is_for', async () => {
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
  const job = await enqueue('signed', { to: 'ada', n: [1, 2] }, { traceparent });
  answers['json?who=me'] = answers.json;
  assert.equal((await ended(job)).state, 'SUCCEEDED');
  const [one] = of(job);
  assert.deepEqual([one.method, JSON.parse(one.body)], ['POST', { to: 'ada', n: [1, 2] }]);
  const { headers } = one;
  assert.equal(headers['content-type'], 'application/json');
  assert.equal(headers['idempotency-key'], job.job_id);
  assert.equal(headers['x-pawl-attempt'], '1');
  assert.equal(headers['x-pawl-job-type'], 'signed');
  assert.equal(headers['x-pawl-org-id'], job.org_id);
  assert.equal(headers.authorization, 'Bearer abc');
  assert.match(headers.traceparent, /^00-0af7651916cd43dd8448eb211c80319c-/);
  const hmac = createHmac('sha256', secret).update(one.body).digest('hex');
  assert.equal(headers['x-pawl-signature'], `sha256=${hmac}`);
  const { text } = await server.get('/v1/config', { key });
  assert.doesNotMatch(text, /Bearer abc|who=me|of enough bytes/);
});

test('OPS_7_a_good_answer_is_the_result', async () => {
  for (const [name, [, result]] of Object.entries(good)) {
    const job = await ended(await enqueue(name));
    assert.deepEqual([job.state, job.result], ['SUCCEEDED', result], name);
  }
});

test('OPS_7_an_answer_that_will_not_get_better_ends_the_job', async () => {
  for (const [name, [, cause]] of Object.entries(bad)) {
    const made = await enqueue(name);
    const job = await ended(made);
    assert.deepEqual([job.state, job.attempts_used], ['FAILED', 1], `${name} ${job.last_error}`);
    assert.deepEqual(await classes(made), [cause], name);
    assert.doesNotMatch(job.last_error, /hunter2/);
    assert.equal(of(made).length, 1, name);
  }
});

test('OPS_7_an_answer_that_may_get_better_is_tried_again_with_the_same_key', async () => {
  for (const [name, [status, cause]] of Object.entries(again)) {
    const made = await enqueue(name);
    const job = await ended(made);
    assert.deepEqual([job.state, job.attempts_used], ['FAILED', 3], name);
    assert.deepEqual(await classes(made), [cause, cause, cause], name);
    assert.match(job.last_error, new RegExp(`it answered ${status}: later`));
    assert.deepEqual(of(made).map(({ headers }) => headers['x-pawl-attempt']), ['1', '2', '3']);
    assert.equal(new Set(of(made).map(({ headers }) => headers['idempotency-key'])).size, 1);
  }
});

test('OPS_7_retry_after_is_obeyed', async () => {
  answers.asked = (response, count) =>
    say(count === 1 ? 429 : 200, '', count === 1 ? { 'retry-after': '2' } : {})(response);
  const made = await enqueue('asked');
  assert.equal((await ended(made)).state, 'SUCCEEDED');
  assert.deepEqual(await classes(made), ['rate_limited', undefined]);
  const { body } = await server.get(`/v1/jobs/${made.job_id}/executions`, { key });
  const [{ finished_at: failed }, { leased_at: next }] = body.items;
  assert.ok(Date.parse(next) - Date.parse(failed) >= 2000, `${failed} ${next}`);
});

test('OPS_17_a_service_that_is_gone_rude_or_slow_is_a_failure_with_its_class', async () => {
  answers.slow = () => {};  // never
  for (const [name, cause] of [['rude', 'dependency'], ['nobody', 'dependency'],
                               ['slow', 'timeout']]) {
    const made = await enqueue(name);
    const job = await ended(made);
    assert.equal(job.attempts_used, 3, `${name}: ${job.last_error}`);
    if (name !== 'slow') assert.deepEqual(await classes(made), [cause, cause, cause], name);
  }
});

test('OPS_16_a_cancelled_job_breaks_its_request_off', async () => {
  let arrived, left;
  const here = new Promise((resolve) => { arrived = resolve; });
  const gone = new Promise((resolve) => { left = resolve; });
  answers.hangs = (response) => { response.on('close', left); arrived(); };
  const made = await enqueue('hangs');
  await here;
  assert.equal((await server.post(`/v1/jobs/${made.job_id}/cancel`, {}, { key })).status, 202);
  await gone;
  const job = await ended(made);
  assert.deepEqual([job.state, job.failure_type], ['FAILED', 'CANCELLED']);
});
