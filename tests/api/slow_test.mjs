// Clients that are slow, silent or too many: each is told so or closed, and nobody else waits.
//
// Nothing here is timed: each test waits for what must come, and fails by the runner's limit when
// that does not come.
import { test, before, after } from 'node:test';
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { request, send, usage } from './raw.mjs';
import { start } from './server.mjs';

const CONNECTIONS = 30;
const JOBS = 10;  // too large for one page
const config = `
limits: {header_time: 1s, body_time: 1s, idle_time: 3s, connections: ${CONNECTIONS}}
`;

let server;
before(async () => { server = await start({ config }); });
after(() => server?.stop());

const timeout = 40000;
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

// Sends byte by byte for ever, until the server has closed: all it said.
async function drip(bytes, first = '') {
  const socket = connect({ port: server.port, host: '127.0.0.1' });
  let said = '';
  let open = true;
  socket.on('data', (data) => { said += data; });
  socket.on('error', () => {});
  socket.on('close', () => { open = false; });
  socket.write(first);
  for (let i = 0; open; i = (i + 1) % bytes.length) {
    if (socket.writable) socket.write(bytes[i]);
    await pause(50);
  }
  return said;
}

async function served() {
  const { status, text } = await send(server.port, request({ method: 'GET', path: '/healthz' }));
  assert.equal(status, 200, text);
}

test('headers that drip are ended with 408, and others are served meanwhile', { timeout },
     async () => {
  let done = false;
  const slow = drip('X-A: b\r\n', 'GET /healthz HTTP/1.1\r\n').finally(() => { done = true; });
  while (!done) await served();
  assert.match(await slow, /^HTTP\/1.1 408 .*"code":"request_timeout"/s);
});

test('a first line that drips is ended with 408', { timeout }, async () => {
  assert.match(await drip('a', 'GET /'), /^HTTP\/1.1 408 /);
});

test('a first line that drips after another request is ended, too', { timeout }, async () => {
  const said = await drip('a', `${request({ method: 'GET', path: '/healthz' })}GET /`);
  assert.match(said, /^HTTP\/1.1 200 .*HTTP\/1.1 408 /s);
});

test('a body that drips is ended with 408, and nothing is stored', { timeout }, async () => {
  const head = request({ headers: ['Content-Type: application/json', 'Content-Length: 100000'] });
  assert.match(await drip(' ', head), /^HTTP\/1.1 408 /);
  const chunks = request({ headers: ['Content-Type: application/json',
                                     'Transfer-Encoding: chunked'] });
  assert.match(await drip('1\r\n \r\n', chunks), /^HTTP\/1.1 408 /);
  assert.deepEqual((await server.get('/v1/jobs')).body.items, []);
});

test('connections that are opened and left are closed', { timeout }, async () => {
  const all = await Promise.all(Array.from({ length: 10 }, () => send(
    server.port, '', { to_end: true, patience_ms: timeout })));
  assert.ok(all.every(({ closed }) => closed));
});

test('a kept connection that stays idle is closed', { timeout }, async () => {
  const answer = await send(server.port, request({ method: 'GET', path: '/healthz' }),
                            { to_end: true, patience_ms: timeout });
  assert.deepEqual([answer.status, answer.closed], [200, true]);
});

test('a page of large jobs is short, and the next goes on', { timeout }, async () => {
  const payload = { text: 'x'.repeat(900000) };
  for (let i = 0; i < JOBS; i++)
    await server.post('/v1/jobs', { job_type: 'a', payload, idempotency_key: `k${i}` });
  const seen = [];
  for (let cursor = ''; cursor !== null;) {
    const { body, text } = await server.get(`/v1/jobs?limit=500${cursor && `&cursor=${cursor}`}`);
    assert.ok(text.length < 6 << 20, `${text.length} bytes`);
    seen.push(...body.items.map(({ job_id }) => job_id));
    cursor = body.next_cursor;
  }
  assert.equal(new Set(seen).size, JOBS);
  assert.equal(seen.length, JOBS);
});

test('a client that never reads its answer is closed', { timeout }, async () => {
  const before = usage(server.child.pid);
  const sockets = Array.from({ length: 5 }, () => {
    const socket = connect({ port: server.port, host: '127.0.0.1' });
    socket.on('error', () => {});
    socket.write(request({ method: 'GET', path: '/v1/jobs?limit=20' }));
    return socket.pause();
  });
  const open = () => usage(server.child.pid).descriptors - before.descriptors;
  while (open() < sockets.length) await pause(20);
  await served();
  while (open() > 0) await pause(50);
  sockets.forEach((socket) => socket.destroy());
});

test('one connection too many is answered 503, and the next is served when there is room',
     { timeout }, async () => {
  const waiting = Array.from({ length: CONNECTIONS + 10 }, () => {
    const socket = connect({ port: server.port, host: '127.0.0.1' });
    const body = JSON.stringify({ worker_id: 'w', queues: ['nowhere'], wait_ms: 3000 });
    socket.on('error', () => {});
    socket.write(request({ path: '/v1/leases', body }));
    return socket;
  });
  const ask = () => send(server.port, request({ method: 'GET', path: '/healthz' }));
  let refused = await ask();
  for (; refused.status === 200; await pause(10)) refused = await ask();  // they are still coming
  assert.equal(refused.status, 503, refused.text);
  assert.equal(refused.body.code, 'connections');
  assert.ok(Number(refused.headers.get('retry-after')) > 0);
  assert.equal(refused.headers.get('connection'), 'close');
  waiting.forEach((socket) => socket.destroy());  // what waits keeps its place until it has waited
  let answer = await ask();
  for (; answer.status === 503; await pause(50)) answer = await ask();
  assert.equal(answer.status, 200);
});
