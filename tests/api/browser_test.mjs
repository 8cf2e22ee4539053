// A server without keys trusts this machine's users, and so must not be reached through their
// browsers by other sites: by name (DNS rebinding), or by a request another site makes.
import { test, before, after } from 'node:test';
import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { request, send } from './raw.mjs';
import { makeKey, scratch, start } from './server.mjs';

const directory = scratch();
let open, closed, key;  // without keys, with one

before(async () => {
  open = await start();
  key = makeKey(directory, 'admin').key;
  closed = await start({ directory });
});
after(async () => {
  await Promise.all([open?.stop(), closed?.stop()]);
  rmSync(directory, { recursive: true, force: true });
});

const ask = (server, host, headers = [], method = 'GET') => send(server.port, request({
  method, path: '/v1/jobs', headers: [`Host: ${host}`, ...headers],
  body: method === 'POST' ? '{"job_type":"a","payload":{},"idempotency_key":"k"}' : '' }));

test('without keys only names of this machine are answered', async () => {
  for (const host of ['localhost', '127.0.0.1', '[::1]'])
    for (const port of ['', `:${open.port}`])
      assert.equal((await ask(open, host + port)).status, 200, host + port);
  for (const host of ['evil.example', `evil.example:${open.port}`, 'localhost.evil.example',
                      'localhostevil', '127.0.0.1.evil.example', '127.0.0.11', '0.0.0.0',
                      '[::1', '[::2]', '::1', 'evil@localhost', '10.0.0.1', ' ', '']) {
    const answer = await ask(open, host);
    assert.equal(answer.status, 421, `${host}: ${answer.text}`);
    assert.equal(answer.body.code, 'wrong_host');
  }
  const old = await send(open.port, 'GET /v1/jobs HTTP/1.0\r\n\r\n');
  assert.equal(old.status, 421);
});

// Origin, Sec-Fetch-Site, and whether the request may be.
const here = () => `localhost:${open.port}`;
const sites = [
  [undefined, undefined, true],
  [undefined, 'none', true],
  [undefined, 'same-origin', true],
  [undefined, 'same-site', false],
  [undefined, 'cross-site', false],
  [undefined, 'nonsense', false],
  [() => `http://${here()}`, undefined, true],
  [() => `http://${here()}`, 'same-origin', true],
  [() => `http://${here()}`, 'cross-site', false],
  [() => 'http://evil.example', undefined, false],
  [() => 'http://evil.example', 'same-origin', false],
  [() => 'http://localhost:1', undefined, false],
  [() => `http://localhost:${open.port}.evil.example`, undefined, false],
  [() => `http://evil.example/?://${here()}`, undefined, false],
  [() => 'null', undefined, false],
  [() => 'file://', undefined, false],
  [() => here(), undefined, false],
];

test('without keys no other site may ask, nor write', async () => {
  for (const method of ['GET', 'POST'])
    for (const [origin, site, may] of sites) {
      const headers = [...(origin ? [`Origin: ${origin()}`] : []),
                       ...(site ? [`Sec-Fetch-Site: ${site}`] : [])];
      const answer = await ask(open, here(), headers, method);
      const what = `${method} ${headers}: ${answer.text}`;
      if (may) assert.ok(answer.status < 300, what);
      else assert.deepEqual([answer.status, answer.body.code], [403, 'cross_site'], what);
      assert.equal(answer.headers.get('access-control-allow-origin'), undefined);
    }
});

test('a form of another site cannot write: it cannot say that it sends JSON', async () => {
  for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data'])
    assert.equal((await ask(open, here(), [`Content-Type: ${type}`], 'POST')).status, 415);
});

test('a preflight is not answered with leave to go on', async () => {
  const answer = await send(open.port, request({ method: 'OPTIONS', headers: [
    'Origin: http://evil.example', 'Access-Control-Request-Method: POST'] }));
  assert.equal(answer.status, 405);
  assert.ok(![...answer.headers.keys()].some((name) => name.startsWith('access-control')));
});

test('with a key the name does not matter, and without it no site gets in', async () => {
  const bearer = `Authorization: Bearer ${key}`;
  assert.equal((await ask(closed, 'pawl.example', [bearer])).status, 200);
  assert.equal((await ask(closed, 'localhost', [])).status, 401);
  assert.equal((await ask(closed, 'localhost', ['Sec-Fetch-Site: same-origin'])).status, 401);
});

test('answers are not kept, not sniffed, and name no software', async () => {
  for (const path of ['/healthz', '/v1/jobs', '/nowhere']) {
    const { headers } = await open.get(path);
    assert.equal(headers.get('cache-control'), 'no-store');
    assert.equal(headers.get('x-content-type-options'), 'nosniff');
    assert.equal(headers.get('server'), null);
  }
});

test('ids of the caller come back unless they could do harm', async () => {
  const trace = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
  const headers = { 'x-request-id': 'r-1', traceparent: trace };
  const good = await open.get('/healthz', { headers });
  assert.equal(good.headers.get('x-request-id'), 'r-1');
  assert.equal(good.headers.get('traceparent'), trace);
  for (const id of ['x'.repeat(129), 'a\x01b', '\xff', 'a\x7fb']) {
    const answer = await send(open.port, request({ method: 'GET', path: '/healthz', headers: [
      `X-Request-Id: ${id}`, 'traceparent: 00-0-0-00'] }));
    assert.notEqual(answer.headers.get('x-request-id'), id);
    assert.ok(answer.headers.get('x-request-id'));
    assert.notEqual(answer.headers.get('traceparent'), '00-0-0-00');
  }
});
