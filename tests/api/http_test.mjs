// What the protocol itself may be: how long a request line and headers are, how many connections
// one address has, and HEAD where there is GET.
import { test, before, after } from 'node:test';
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { request, send } from './raw.mjs';
import { start } from './server.mjs';

const TARGET = 4 << 10;
const HEADERS = 8 << 10;
const timeout = 40000;

let server;
before(async () => { server = await start(); });
after(() => server?.stop());

const get = (path, ...headers) => send(server.port, request({ method: 'GET', path, headers }));
// How many requests were answered with this status, of whatever route.
const counted = async (status) => {
  const { text } = await server.get('/metrics');
  const series = text.matchAll(/^pawl_http_requests_total\{.*status="(\d+)"\} (\d+)$/gm);
  return [...series].filter(([, of]) => of === String(status))
    .reduce((sum, [, , count]) => sum + Number(count), 0);
};

function refused(answer, status, code, allowed) {
  assert.equal(answer.status, status, answer.text);
  assert.equal(answer.headers.get('content-type'), 'application/problem+json');
  assert.equal(answer.headers.get('connection'), 'close');
  assert.equal(answer.body.code, code);
  assert.match(answer.body.detail, allowed);
  assert.equal(answer.body.request_id, answer.headers.get('x-request-id'));
}

// ----- lengths

test('OPS_12_a_url_that_is_too_long_is_a_problem_with_an_id_and_is_counted', { timeout },
     async () => {
  const query = '/healthz?';
  const most = await get(query + 'x'.repeat(TARGET - query.length));
  assert.equal(most.status, 422, 'it is read, and has an odd parameter');
  for (const bytes of [TARGET + 1, 2 * TARGET, 3 * TARGET]) {
    const before = await counted(414);
    refused(await get(query + 'x'.repeat(bytes - query.length)), 414, 'uri_too_long', /4096 bytes/);
    assert.equal(await counted(414), before + 1);
  }
});

test('OPS_12_headers_that_are_too_long_are_a_problem_with_an_id_and_are_counted', { timeout },
     async () => {
  assert.equal((await get('/healthz', `X-A: ${'b'.repeat(HEADERS - 200)}`)).status, 200);
  for (const headers of [[`X-A: ${'b'.repeat(HEADERS)}`], [`X-A: ${'b'.repeat(11 << 10)}`],
                         Array.from({ length: 45 }, (_, i) => `X-${i}: ${'b'.repeat(200)}`),
                         Array.from({ length: 65 }, (_, i) => `X-${i}: b`)]) {
    const before = await counted(431);
    refused(await get('/healthz', ...headers), 431, 'headers', /at most 64 .*8192 bytes/);
    assert.equal(await counted(431), before + 1);
  }
});

// Past the memory of a connection the protocol library answers by itself, and closes.
test('OPS_13_what_the_protocol_library_refuses_by_itself_is_counted', { timeout }, async () => {
  const all = async () => [await counted(414), await counted(431), await counted(505)];
  const before = await all();
  assert.equal((await get(`/${'x'.repeat(60000)}`)).status, 414);
  assert.equal((await get('/healthz', `X-A: ${'b'.repeat(60000)}`)).status, 431);
  assert.equal((await send(server.port, 'GET / HTTP/2.0\r\nHost: a\r\n\r\n')).status, 505);
  assert.deepEqual(await all(), before.map((count) => count + 1));
});

// ----- connections of one address

// A connection that is open, has a request or none on it, and may be closed.
function open(port, bytes = '') {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1' });
    socket.on('error', () => {});
    socket.on('close', () => { socket.over = true; });
    socket.once('connect', () => { socket.write(bytes); resolve(socket); });
    socket.once('error', reject);
  });
}

async function until(what) {
  for (let found; ; await new Promise((resolve) => setTimeout(resolve, 20)))
    if ((found = await what())) return found;
}

const LIMIT = 5;
const health = request({ method: 'GET', path: '/healthz' });

test('OPS_13_one_connection_too_many_of_an_address_is_refused_and_counted', { timeout },
     async () => {
  const few = await start({ config: `limits: {connections_per_address: ${LIMIT}}` });
  try {
    const held = [];
    const ask = () => send(few.port, health);
    await until(async () => {  // those that `start` has used may still be open
      held.push(await open(few.port));
      return held.filter((socket) => !socket.over).length >= LIMIT && (await ask()).status === 503;
    });
    const refused = await ask();
    assert.equal(refused.status, 503, refused.text);
    assert.equal(refused.body.code, 'connections_per_address');
    assert.match(refused.body.detail, new RegExp(`at most ${LIMIT} `));
    assert.ok(Number(refused.headers.get('retry-after')) > 0);
    assert.equal(refused.headers.get('connection'), 'close');
    const crowd = await Promise.all(
      Array.from({ length: 40 }, () => open(few.port).catch(() => null)));
    await until(() => crowd.filter((socket) => !socket || socket.over).length >= 40 - LIMIT - 8);
    crowd.forEach((socket) => socket?.destroy());
    held.forEach((socket) => socket.destroy());
    const answer = await until(async () => {
      const one = await ask();
      return one.status === 200 && one;
    });
    assert.equal(answer.status, 200);
    const { text } = await until(async () => {
      const one = await few.get('/metrics');
      return one.status === 200 && one;
    });
    const [, count] = /^pawl_http_refused_total\{reason="connections_per_address"\} (\d+)$/m
      .exec(text);
    assert.ok(Number(count) >= 20, count);
    const lines = few.log.split('\n').filter((line) => line.includes('CONNECTIONS_REFUSED'));
    assert.equal(lines.length, 1, 'one line a minute');
    assert.match(lines[0], /limits\.connections_per_address/);
  } finally {
    await few.stop();
  }
});

// ----- HEAD

test('OPS_13_head_is_get_without_the_body', { timeout }, async () => {
  const made = await server.post('/v1/jobs', { job_type: 'a', payload: {}, idempotency_key: 'h' });
  const stored = await server.ask('POST', '/v1/artifacts', undefined, {
    body: 'some bytes', headers: { 'content-type': 'text/plain' } });
  const differ = ['date', 'x-request-id', 'connection', 'keep-alive'];
  const told = ({ headers }) => [...headers].filter(([name]) => !differ.includes(name));
  for (const path of ['/healthz', '/readyz', '/openapi.json', '/v1/jobs', '/v1/queues', '/v1/keys',
                      `/v1/jobs/${made.body.job_id}`, `/v1/artifacts/${stored.body.artifact_id}`,
                      '/v1/jobs?odd=1', '/v1/jobs/nope', '/nowhere']) {
    const [get, head] = [await server.get(path), await server.ask('HEAD', path).catch((e) => e)];
    assert.equal(head.status, get.status, path);
    assert.equal(head.text, '');
    assert.deepEqual(told(head), told(get), path);
  }
  const metrics = await server.ask('HEAD', '/metrics');
  assert.deepEqual([metrics.status, metrics.text], [200, '']);
  const last = Buffer.from('GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n');
  const both = Buffer.concat([request({ method: 'HEAD', path: '/metrics' }), last]);
  const { status, text, rest } = await send(server.port, both, { to_end: true });
  assert.equal(status, 200);
  assert.match(text + rest, /^HTTP\/1.1 200 /, 'the connection goes on right after it');
});

test('OPS_13_a_stream_and_what_writes_have_no_head', { timeout }, async () => {
  for (const [path, allow] of [['/v1/events', 'GET'], ['/v1/leases', 'POST']]) {
    const { status, headers } = await server.ask('HEAD', path);
    assert.deepEqual([status, headers.get('allow')], [405, allow]);
  }
  const { headers } = await server.ask('OPTIONS', '/v1/jobs');
  assert.deepEqual(headers.get('allow').split(', ').sort(), ['GET', 'HEAD', 'POST']);
});
