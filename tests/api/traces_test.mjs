// Traces, received by a real collector: the chain from a caller to the executions of follow-ups,
// and a collector that is down.
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { receive } from './receiver.mjs';
import { freePort, start } from './server.mjs';

const caller = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
const traceId = caller.split('-')[1];
const config = (url, more = '') => `
tracing: {endpoint: "${url}", service_name: jobs${more}}
job_types:
  child: {run: ["/bin/sh", "-c", "echo \\"\\\\\\"$TRACEPARENT\\\\\\"\\""]}
  shaky: {run: ["/bin/sh", "-c", "[ $PAWL_ATTEMPT = 2 ] || exit 75"], policy: quick}
policies: {quick: {base: 10ms, max_attempts: 3}}
`;

// OTLP, decoded as a collector does.
function spansOf(all) {
  return all.flatMap(({ body }) => body.resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) => spans.map((span) => ({
      ...span,
      service: decode(resource.attributes)['service.name'],
      attributes: decode(span.attributes),
    })))));
}

function decode(attributes) {
  return Object.fromEntries(attributes.map(({ key, value }) =>
    [key, value.stringValue ?? Number(value.intValue)]));
}

const named = (all, name) => spansOf(all).filter((span) => span.name === name);

async function metric(server, series) {
  const line = (await server.get('/metrics')).text.split('\n').find((l) => l.startsWith(series));
  return Number(line?.split(' ').pop() ?? 0);
}

let number = 0;
const job = (job_type, more = {}) => ({
  job_type, payload: { card: 'unseen' }, idempotency_key: `trace ${++number}`, ...more });

// Leases the job of a type, and commits it with these follow-ups.
async function work(server, job_type, enqueue = [], headers = {}) {
  const lease = await server.post('/v1/leases', {
    worker_id: 'w', queues: ['q:default'], job_types: [job_type], max: 1, start: true });
  const [held] = lease.body.executions;
  const done = await server.post(`/v1/executions/${held.exec_id}/commit`, {
    worker_id: 'w', attempt: held.attempt, enqueue, done: true }, { headers });
  assert.equal(done.status, 200, done.text);
  return held;
}

test('OPS_14_the_chain_goes_from_the_caller_to_the_executions_of_follow_ups', async () => {
  const collector = await receive(() => 200);
  const server = await start({ config: config(collector.url) });
  const headers = { traceparent: caller };
  const made = await server.post('/v1/jobs', job('parent'), { headers });
  assert.equal(made.headers.get('traceparent'), caller);
  const held = await work(server, 'parent', [job('child')]);
  const all = await collector.until((got) => named(got, 'run child').length === 1
    && named(got, 'run parent').length === 1 && named(got, 'POST /v1/jobs').length === 1);

  const [request] = named(all, 'POST /v1/jobs');
  const [enqueued] = named(all, 'enqueue parent');
  const [claimed] = named(all, 'claim parent');
  const [ran] = named(all, 'run parent');
  const [followed] = named(all, 'enqueue child');
  const [child] = named(all, 'run child');
  for (const span of [request, enqueued, claimed, ran, followed, child]) {
    assert.equal(span.traceId, traceId);
    assert.match(span.spanId, /^[0-9a-f]{16}$/);
    assert.equal(span.service, 'jobs');
    assert.ok(BigInt(span.startTimeUnixNano) <= BigInt(span.endTimeUnixNano));
    assert.deepEqual(span.status, {});
  }
  assert.equal(request.parentSpanId, caller.split('-')[2]);
  assert.equal(enqueued.parentSpanId, request.spanId);
  assert.equal(claimed.parentSpanId, enqueued.spanId);
  assert.equal(ran.parentSpanId, enqueued.spanId);
  assert.deepEqual(ran.links, [{ traceId, spanId: request.spanId }]);
  assert.equal(followed.parentSpanId, ran.spanId);
  assert.equal(child.parentSpanId, followed.spanId);
  assert.deepEqual(child.links, [{ traceId, spanId: ran.spanId }]);
  assert.deepEqual([request.kind, enqueued.kind, claimed.kind, ran.kind], [2, 4, 1, 5]);
  assert.equal(new Set(spansOf(all).map((span) => span.spanId)).size, spansOf(all).length);

  // Whoever works is told the span of its execution.
  assert.equal(held.traceparent, `00-${traceId}-${ran.spanId}-01`);
  assert.equal(held.job.traceparent, `00-${traceId}-${request.spanId}-01`);
  const { body } = await server.get(`/v1/jobs/${child.attributes['pawl.job_id']}`);
  assert.equal(body.result, `00-${traceId}-${child.spanId}-01`);

  assert.equal(request.attributes['http.route'], '/v1/jobs');
  assert.equal(request.attributes['http.response.status_code'], 201);
  assert.deepEqual([ran.attributes['pawl.job_id'], ran.attributes['pawl.job_type'],
                    ran.attributes['pawl.queue'], ran.attributes['pawl.attempt'],
                    ran.attributes['pawl.exec_id'], ran.attributes['pawl.org_id']],
                   [made.body.job_id, 'parent', 'q:default', 1, held.exec_id, made.body.org_id]);
  for (const { text } of all) assert.ok(!text.includes('unseen'));
  await server.stop();
  await collector.close();
});

test('OPS_14_every_attempt_has_a_span_and_a_failed_one_says_so', async () => {
  const collector = await receive(() => 200);
  const server = await start({ config: config(collector.url) });
  const made = await server.post('/v1/jobs', job('shaky'));
  const all = await collector.until((got) => named(got, 'run shaky').length === 2
    && named(got, 'POST /v1/jobs').length === 1);
  const [first, second] = named(all, 'run shaky');
  assert.deepEqual([first.attributes['pawl.attempt'], first.status],
                   [1, { code: 2, message: 'transient' }]);
  assert.deepEqual([second.attributes['pawl.attempt'], second.status], [2, {}]);
  assert.equal(first.parentSpanId, second.parentSpanId);
  // Nobody had sent a trace: the request began one.
  const [request] = named(all, 'POST /v1/jobs');
  assert.equal(request.parentSpanId, undefined);
  assert.equal(made.body.traceparent, `00-${request.traceId}-${request.spanId}-01`);
  assert.equal(first.traceId, request.traceId);
  assert.equal(named(all, 'enqueue shaky').length, 1);
  await server.stop();
  await collector.close();
});

test('OPS_14_a_worker_that_traces_is_the_parent_of_its_follow_ups', async () => {
  const collector = await receive(() => 200);
  const server = await start({ config: config(collector.url) });
  await server.post('/v1/jobs', job('parent'));
  const headers = { traceparent: `00-${traceId}-00f067aa0ba902b7-01` };
  await work(server, 'parent', [job('child')], headers);
  const route = 'POST /v1/executions/{id}/commit';
  const all = await collector.until((got) => named(got, 'run child').length === 1
    && named(got, route).length === 1);
  assert.equal(named(all, route)[0].parentSpanId, '00f067aa0ba902b7');
  assert.equal(named(all, 'enqueue child')[0].parentSpanId, named(all, route)[0].spanId);
  assert.equal(named(all, 'run child')[0].traceId, traceId);
  await server.stop();
  await collector.close();
});

test('OPS_14_what_nobody_wants_to_see_is_not_sent', async () => {
  const collector = await receive(() => 200);
  const server = await start({ config: config(collector.url, ', sample: 0') });
  await server.post('/v1/jobs', job('parent', { traceparent: caller.replace(/01$/, '00') }));
  await server.post('/v1/jobs', job('parent'));
  await work(server, 'parent');
  await work(server, 'parent');
  const wanted = await server.post('/v1/jobs', job('child'), { headers: { traceparent: caller } });
  const all = await collector.until((got) => named(got, 'run child').length === 1
    && named(got, 'POST /v1/jobs').length === 1);
  assert.equal(named(all, 'run parent').length + named(all, 'enqueue parent').length, 0);
  for (const span of spansOf(all)) assert.equal(span.traceId, traceId);
  assert.equal(wanted.body.traceparent.split('-')[1], traceId);
  await server.stop();
  await collector.close();
});

test('OPS_14_a_collector_that_is_down_costs_spans_and_nothing_else', async () => {
  const port = await freePort();
  const server = await start({ config: config(`http://127.0.0.1:${port}`) });
  const jobs = () => Array.from({ length: 1000 }, () => job('waits'));
  for (let i = 0; i < 10; i++) {
    const { status } = await server.post('/v1/jobs', { jobs: jobs() });
    assert.equal(status, 200);
  }
  const dropped = () => metric(server, 'pawl_spans_dropped_total{reason="full"}');
  while (await dropped() === 0) await new Promise((resolve) => { setTimeout(resolve, 50); });
  assert.ok(await dropped() <= 10000 - 8192 + 20);
  assert.equal(await metric(server, 'pawl_spans_exported_total'), 0);

  const collector = await receive(() => 200, { port });
  await collector.until((got) => named(got, 'enqueue waits').length >= 8192);
  await server.post('/v1/jobs', job('child'));
  await collector.until((got) => named(got, 'run child').length === 1);
  assert.match(server.log, /"TRACES_NOT_SENT"/);
  assert.match(server.log, /"TRACES_SENT_AGAIN"/);
  assert.ok(await metric(server, 'pawl_spans_exported_total') >= 8192);
  await server.stop();
  await collector.close();
});

test('OPS_14_a_collector_that_refuses_is_not_asked_again_with_the_same', async () => {
  const collector = await receive((_, count) => (count === 0 ? 400 : 200));
  const server = await start({ config: config(`${collector.url}/v1/traces`) });
  await server.post('/v1/jobs', job('waits'));
  await collector.until((got) => got.length === 1);
  const refused = 'pawl_spans_dropped_total{reason="refused"}';
  while (await metric(server, refused) < 1) await new Promise((resolve) => {
    setTimeout(resolve, 20); });
  await server.post('/v1/jobs', job('child'));
  const all = await collector.until((got) => named(got, 'run child').length === 1);
  assert.equal(named(all.slice(1), 'enqueue waits').length, 0);
  assert.deepEqual(new Set(all.map((one) => one.url)), new Set(['/v1/traces']));
  await server.stop();
  await collector.close();
});

test('OPS_14_a_server_that_ends_sends_what_it_has', async () => {
  const collector = await receive(() => 200);
  const server = await start({ config: config(collector.url) });
  await server.post('/v1/jobs', job('waits'));
  await server.stop();
  assert.equal(named(collector.all, 'enqueue waits').length, 1);
  await collector.close();
});

test('OPS_14_without_tracing_the_context_is_handed_on_as_it_is', async () => {
  const server = await start({ config: config('http://127.0.0.1:9').replace(/^tracing.*$/m, '') });
  const headers = { traceparent: caller };
  const { body } = await server.post('/v1/jobs', job('parent'), { headers });
  assert.equal(body.traceparent, caller);
  const held = await work(server, 'parent', [job('child')]);
  assert.equal(held.traceparent, undefined);
  const { body: { items } } = await server.get('/v1/jobs?job_type=child');
  assert.equal(items[0].traceparent, caller);
  const end = await server.get(`/v1/jobs/${items[0].job_id}?wait_ms=30000`);
  assert.equal(end.body.result, caller);
  assert.equal((await server.post('/v1/jobs', job('parent'))).body.traceparent, null);
  await server.stop();
});
