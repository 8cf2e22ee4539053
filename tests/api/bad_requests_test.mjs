// 2,000 bad requests, drawn from families of what can be wrong: each gets the status that is right
// for it, or a clean end of its connection where it is no request at all; each 422 names the field;
// the server lives on with the memory and descriptors it had, and nothing is stored.
//
// PAWL_SEED draws others; a failure names the seed and the request.
import { test, before, after } from 'node:test';
import assert from 'node:assert/strict';
import { badJob, bodies, goodJob, notJson, queries, unknownNames } from './bad_values.mjs';
import { chunked, dice, request, send, usage } from './raw.mjs';
import { defaultOrg, run, start } from './server.mjs';

const REQUESTS = 2000;
const AT_ONCE = 8;
const MIB = 1 << 20;
const seed = Number(process.env.PAWL_SEED ?? 4);

let server, held;

before(async () => {
  server = await start({ config: 'limits: {header_time: 1s, idle_time: 1s}' });
  await server.post('/v1/jobs', goodJob);
  const { body } = await server.post('/v1/leases', { worker_id: 'w', queues: ['q:default'],
                                                     lease_ms: 3600000 });
  held = body.executions[0];
});
after(() => server?.stop());

const filled = (text) => text.replaceAll('{id}', held.exec_id).replaceAll('{job}', held.job.job_id);
const json = (value) => filled(JSON.stringify(value));
const answers = (...statuses) => ({ statuses });
const names = (field) => ({ statuses: [422], field });
const ends = { statuses: [0, 408], closed: true };
const none = 'Transfer-Encoding: chunked';

// A value of a member in the order it is written: JSON.stringify drops `__proto__`.
const withMember = (object, name, value) =>
  `${JSON.stringify(object).slice(0, -1)},${JSON.stringify(name)}:${JSON.stringify(value)}}`;

// Each family draws one request: [bytes, what is right, how it is sent].
const paths = ['/v1/jobs', '/v1/leases', '/v1/executions/batch', '/v1/keys', '/v1/queues',
               '/v1/jobs/{job}', '/v1/executions/{id}/start', '/v1/audit', '/healthz'];
const families = {
  wrong_method: (d) => [request({ method: d.pick(['TRACE', 'PROPFIND', 'get', 'LINK',
                                                  'OPTIONS', d.word(1 + d.below(20))]),
                                  path: filled(d.pick(paths)) }), { statuses: [405], allow: true }],
  unknown_path: (d) => [request({ method: d.pick(['GET', 'POST']),
                                  path: `/${d.word(d.below(9))}${d.pick(['', '/v1/jobs', '/..'])}/x` }),
                        answers(404)],
  slashes: (d) => [request({ method: 'GET', path: d.pick([`${filled(d.pick(paths))}/`,
                                                          `/${filled(d.pick(paths))}`,
                                                          '/v1//jobs', '/v1/jobs//', '//', '/v1'])}),
                   answers(404)],
  percent: (d) => [request({ method: 'GET', path: d.pick(['/v1/jobs', '/v1/', '/v1/jobs?queue='])
                             + d.pick(['%00', '%', '%4', '%zz', '%g1', '%1g', 'a%00b', '%u0041']) }),
                   { statuses: [400], closed: true }],
  percent_slash: (d) => [request({ method: 'GET', path: `/v1${d.pick(['%2f', '%2F'])}jobs` }),
                         answers(400)],
  bad_utf8_path: (d) => [request({ method: 'GET', path: `/v1/${d.pick(['%ff', '%c0%af', '%ed%a0%80'])}` }),
                         answers(404)],
  raw_path: (d) => [request({ method: 'GET', path: `/v1/jobs${d.pick([' x', '\x7f', '\xe9', '\x01'])}` }),
                    answers(400)],
  content_type: (d) => [request({ body: json(goodJob), headers: [
    `Content-Type: ${d.pick(['text/plain', 'application/xml', 'application/x-www-form-urlencoded',
                             'multipart/form-data; boundary=x', 'application/jsonx', '', 'json',
                             'application/json; charset=utf-16', 'application/json;charset=latin1',
                             'text/json', 'application/problem+json'])}`] }), answers(415)],
  content_encoding: (d) => [request({ body: json(goodJob), headers: [
    `Content-Encoding: ${d.pick(['gzip', 'deflate', 'br', 'zstd', 'x-gzip', 'gzip, identity'])}`] }),
                            answers(415)],
  not_json: (d) => [request({ body: d.pick(notJson), path: filled(d.pick(['/v1/jobs', '/v1/leases',
                              '/v1/executions/{id}/commit', '/v1/executions/batch', '/v1/keys'])) }),
                    answers(400)],
  cut_json: (d) => { const text = json(goodJob);
                     return [request({ body: text.slice(0, 1 + d.below(text.length - 1)) }),
                             answers(400)]; },
  no_body: () => [request({ headers: ['Content-Type: application/json', 'Content-Length: 0'] }),
                  answers(400)],
  unwanted_body: (d) => [request({ method: 'GET', path: filled(d.pick(['/v1/jobs', '/v1/audit',
                                   '/healthz', '/v1/jobs/{job}'])), body: '{}' }),
                         { statuses: [400], closed: true }],
  declared_size: (d) => [request({ length: false, headers: [
    `Content-Length: ${d.pick(['8388609', '9000000000', '9223372036854775807',
                               '99999999999999999999999'])}`] }),
                         { statuses: [413], closed: true }],
  chunked_size: () => [Buffer.concat([request({ path: '/v1/leases', headers: [none,
                         'Content-Type: application/json'] }), chunked(Buffer.alloc(MIB + (80 << 10)))]),
                       answers(413)],
  cut_body: (d) => { const whole = request({ body: json(goodJob) });
                     return [whole.subarray(0, whole.length - 1 - d.below(20)), ends, { half: true }]; },
  cut_headers: (d) => { const whole = request({ body: json(goodJob) });
                        return [whole.subarray(0, 1 + d.below(60)), ends, { half: true }]; },
  cut_chunks: (d) => { const whole = Buffer.concat([request({ headers: [none,
                         'Content-Type: application/json'] }), chunked(json(goodJob))]);
                       return [whole.subarray(0, whole.length - 1 - d.below(20)), ends,
                               { half: true }]; },
  chunk_size: (d) => [Buffer.concat([request({ headers: [none, 'Content-Type: application/json'] }),
                      Buffer.from(`${d.pick(['zz', '-1', '0x35', 'g', ' ', '+1', '1 2',
                        'fffffffffffffffff'])}\r\n${json(goodJob)}\r\n0\r\n\r\n`)]),
                      { statuses: [400, 413, 0], closed: true }],
  two_lengths: (d) => [request({ body: json(goodJob), headers: [
    d.pick(['Content-Length: 3', `Content-Length: ${json(goodJob).length}`, none,
            'transfer-encoding: chunked', 'Content-Length : 3', 'Transfer-Encoding : chunked'])] }),
                       { statuses: [400], closed: true }],
  bad_length: (d) => [request({ length: false, body: json(goodJob), headers: [
    `Content-Length: ${d.pick(['-1', '+3', '0x3', '3, 3', '3 3', '', 'x', '1e1', '3;',
                                '9223372036854775808', '18446744073709551615'])}`] }),
                      { statuses: [400], closed: true }],
  transfer: (d) => [request({ length: false, body: json(goodJob), headers: [
    `Transfer-Encoding: ${d.pick(['gzip', 'gzip, chunked', 'identity', 'chunked, identity', 'xchunked',
                                  'chunked;q=1', ''])}`] }), { statuses: [400], closed: true }],
  old_chunks: () => [Buffer.concat([request({ version: 'HTTP/1.0', headers: [none] }),
                                    chunked(json(goodJob))]), { statuses: [400], closed: true }],
  hosts: (d) => [Buffer.from(d.pick(['GET /v1/jobs HTTP/1.1\r\n\r\n',
                   'GET /v1/jobs HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n'])),
                 { statuses: [400], closed: true }],
  header_names: (d) => [request({ method: 'GET', headers: [d.pick(['X-A : b', 'X A: b', 'Host : b'])] }),
                        { statuses: [400], closed: true }],
  header_without_colon: (d) => [request({ method: 'GET', headers: [d.word(1 + d.below(30))] }),
                                { statuses: [400, 0], closed: true }],
  large_header: (d) => [request({ method: 'GET', headers: [`X-A: ${d.word(20000 + d.below(9000))}`] }),
                        { statuses: [431], closed: true }],
  many_headers: (d) => [request({ method: 'GET', headers: Array.from({ length: 101 + d.below(100) },
                                  (_, i) => `X-${i}: b`) }), answers(431)],
  long_line: (d) => [request({ method: 'GET', path: `/${d.word(20000)}` }),
                     { statuses: [414, 431], closed: true }],
  two_keys: () => [request({ method: 'GET', headers: ['Authorization: Bearer a',
                             'Authorization: Bearer b'] }), answers(401)],
  no_protocol: (d) => [Buffer.from(d.pick(['GET /healthz\r\n\r\n', 'GET\r\n\r\n', 'hello\r\n\r\n',
                         'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'GET / HTTP/2.0\r\nHost: a\r\n\r\n',
                         'GET / HTTP/11\r\nHost: a\r\n\r\n', 'GET / FTP/1.1\r\nHost: a\r\n\r\n',
                         '\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03', '\0\xff\xfe\r\n\r\n', '{}\r\n\r\n',
                         `${d.word(d.below(300))}\r\n\r\n`]), 'latin1'),
                       { statuses: [400, 408, 505, 0], closed: true }, { half: true, to_end: true }],
  pipelined_garbage: (d) => [Buffer.concat([request({ method: 'GET', path: '/healthz' }),
                               Buffer.from(`${d.pick(['\0\x01', 'x', 'POST'])}${d.word(9)}\r\n\r\n`)]),
                             { statuses: [200], closed: true }, { half: true, to_end: true }],
  expect: (d) => [request({ body: d.pick(['{', '[]', '{"a":1,"a":1}']),
                            headers: ['Expect: 100-continue'] }), answers(400)],
  job_field: (d) => { const field = d.pick(Object.keys(badJob));
                      return [request({ body: json({ ...goodJob, [field]: d.pick(badJob[field]) }) }),
                              names(field)]; },
  bulk_field: (d) => { const field = d.pick(Object.keys(badJob));
                       const jobs = Array.from({ length: 1 + d.below(5) }, () => goodJob);
                       const at = d.below(jobs.length);
                       jobs[at] = { ...goodJob, [field]: d.pick(badJob[field]) };
                       return [request({ body: json({ jobs }) }), names(`jobs[${at}].${field}`)]; },
  bulk: (d) => [request({ body: json(d.pick([{ jobs: [] }, { jobs: {} }, { jobs: 7 },
                  { jobs: Array(1001).fill(0) }, { jobs: [goodJob], queue: 'q' }])) }),
                names('jobs')],
  unknown_field: (d) => { const name = d.pick(unknownNames);
                          return [request({ body: withMember(goodJob, name, 1) }), names(name)]; },
  body_field: (d) => { const { method, path, good, bad } = d.pick(bodies);
                       const field = d.pick(Object.keys(bad));
                       const body = json({ ...good, [field.split(/[.[]/)[0]]: d.pick(bad[field]) });
                       return [request({ method, path: filled(path), body }), names(field)]; },
  body_unknown: (d) => { const { method, path, good } = d.pick(bodies);
                         const name = d.pick(unknownNames.filter((n) => !(n in good) && n !== 'attempt'
                                                                  && n !== 'state' && n !== 'result'));
                         return [request({ method, path: filled(path),
                                           body: filled(withMember(good, name, 1)) }), names(name)]; },
  query: (d) => { const { path, bad } = d.pick(queries);
                  const field = d.pick(Object.keys(bad));
                  return [request({ method: 'GET',
                                    path: `${filled(path)}?${field}=${d.pick(bad[field])}` }),
                          names(field)]; },
  query_unknown: (d) => { const name = d.pick(['x', 'Limit', 'offset', 'org_id', d.word(300)]);
                          return [request({ method: 'GET',
                                            path: `${filled(d.pick(queries).path)}?${name}=1` }),
                                  names(name)]; },
  query_twice: (d) => [request({ method: 'GET', path: `/v1/jobs?limit=${1 + d.below(9)}&limit=2` }),
                       names('limit')],
  query_utf8: (d) => [request({ method: 'GET', path: `/v1/jobs?queue=${d.pick(['%ff', '%c0%af'])}` }),
                      names('query')],
  bad_id: (d) => [request({ method: 'GET', path: `/v1/jobs/${d.pick(['x', '7', '%ff', '-', defaultOrg,
                    '01900000-0000-7000-8000-00000000000a', '..', "'%20OR%201=1"])}` }), answers(404)],
};

function check([bytes, right], answer) {
  assert.ok(right.statuses.includes(answer.status),
            `status ${answer.status}, not ${right.statuses}: ${answer.text}`);
  if (right.closed) assert.ok(answer.closed || answer.headers.get('connection') === 'close', 'open');
  if (right.allow) assert.ok(answer.headers.get('allow'), 'no Allow');
  if (!answer.body || answer.status < 400) return;
  assert.equal(answer.headers.get('content-type'), 'application/problem+json');
  assert.equal(answer.body.status, answer.status);
  for (const name of ['title', 'detail', 'code']) assert.equal(typeof answer.body[name], 'string');
  if (answer.status !== 422) return;
  assert.ok(answer.body.errors.every(({ field, message }) => typeof field === 'string' && message));
  if (right.field !== undefined)
    assert.ok(answer.body.errors.some(({ field }) => field === right.field),
              `${right.field} is not named: ${answer.text}`);
}

async function ask(name, drawn) {
  const answer = await send(server.port, drawn[0], drawn[2]);
  try {
    check(drawn, answer);
  } catch (error) {
    const shown = drawn[0].subarray(0, 600).toString('latin1');
    throw new Error(`${name} (seed ${seed}): ${error.message}\n--- sent\n${shown}`);
  }
}

const stored = async () => ({
  jobs: (await server.get('/v1/jobs')).body.items.map((job) => [job.job_id, job.state, job.updated_at]),
  audit: (await server.get('/v1/audit')).body.items.map((event) => event.event_id ?? event),
  keys: (await server.get('/v1/keys')).body.items,
});

test(`${REQUESTS} bad requests: the right status each, nothing stored, memory and descriptors flat`,
     { timeout: 120000 }, async () => {
  const d = dice(seed);
  const all = Object.entries(families);
  const drawn = Array.from({ length: REQUESTS }, (_, i) => {
    const [name, draw] = i < 4 * all.length ? all[i % all.length] : d.pick(all);
    return [name, draw(d)];
  });
  const failures = [];
  const some = async (requests) => {
    const queue = [...requests];
    await Promise.all(Array.from({ length: AT_ONCE }, async () => {
      for (let next; (next = queue.shift());)
        await ask(...next).catch((error) => failures.push(error.message));
    }));
  };

  await some(drawn.slice(0, REQUESTS / 4));  // buffers and connections to the store as they will be
  const [had, used] = [await stored(), usage(server.child.pid)];
  await some(drawn.slice(REQUESTS / 4));
  const now = usage(server.child.pid);

  assert.deepEqual(failures.slice(0, 5), [], `${failures.length} of ${REQUESTS} went wrong`);
  assert.deepEqual(await stored(), had);
  assert.equal(had.jobs.length, 1);
  assert.ok(now.rss - used.rss < 16 * MIB, `resident memory grew from ${used.rss} to ${now.rss}`);
  assert.ok(now.descriptors - used.descriptors <= AT_ONCE,
            `descriptors grew from ${used.descriptors} to ${now.descriptors}`);
  assert.equal(now.threads, used.threads);
  const held_now = (await server.get(`/v1/jobs/${held.job.job_id}/executions`)).body.items;
  assert.deepEqual(held_now.map((e) => [e.status, e.attempt]), [['LEASED', 1]]);
  assert.equal(JSON.parse(run(server.directory, 'verify', '--json')).jobs, 1);
});
