// GET /v1/events: everything that happens, in its order, to those it belongs to.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { start } from './server.mjs';

const job = (n) => ({ job_type: 'event.test', payload: { n }, idempotency_key: `event-${n}` });

// Reads a stream until `enough` says so.
async function follow(server, path, enough) {
  const stop = new AbortController();
  const answer = await fetch(server.url + path, { signal: stop.signal });
  assert.equal(answer.status, 200);
  assert.equal(answer.headers.get('content-type'), 'text/event-stream');
  let text = '';
  for await (const piece of answer.body) {
    text += Buffer.from(piece).toString();
    if (enough(text)) break;
  }
  stop.abort();
  return text.split('\n\n').filter((part) => part.includes('data: '))
    .map((part) => ({ id: Number(part.match(/^id: (\d+)$/m)[1]),
                      event: part.match(/^event: (.+)$/m)[1],
                      data: JSON.parse(part.match(/^data: (.+)$/m)[1]) }));
}

test('OPS_11_a_stream_misses_nothing_however_far_behind_it_begins', async () => {
  const server = await start();
  const jobs = Array.from({ length: 700 }, (_, n) => job(n));
  assert.equal((await server.post('/v1/jobs', { jobs })).status, 200);
  const last = (text) => (text.match(/event: job\.enqueued/g) ?? []).length === 700;
  const events = await follow(server, '/v1/events?last_event_id=0', last);
  const enqueued = events.filter(({ event }) => event === 'job.enqueued');
  assert.equal(new Set(enqueued.map(({ data }) => data.job_id)).size, 700);
  const ids = events.map(({ id }) => id);
  assert.deepEqual(ids, [...ids].sort((a, b) => a - b));
  await server.stop();
});

test('OPS_11_a_stream_tells_what_happens_while_it_is_open', async () => {
  const server = await start();
  const said = follow(server, '/v1/events', (text) => text.includes('job.cancelled'));
  await new Promise((resolve) => setTimeout(resolve, 300));
  const { body } = await server.post('/v1/jobs', job(1));
  await server.post(`/v1/jobs/${body.job_id}/cancel`);
  const events = (await said).filter(({ data }) => data.job_id === body.job_id)
    .map(({ event }) => event);
  assert.deepEqual(events, ['job.created', 'job.enqueued', 'job.cancel_requested',
                            'job.cancelled']);
  await server.stop();
});

test('OPS_11_open_streams_end_when_the_server_does', async () => {
  const server = await start();
  const answer = await fetch(`${server.url}/v1/events`);
  const over = (async () => { for await (const piece of answer.body) void piece; })();
  await new Promise((resolve) => setTimeout(resolve, 200));
  await server.stop();
  await over.catch(() => {});
});
