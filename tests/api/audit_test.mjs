// The sealed audit trail, retention and erasing, against a real server.
import { test, before, after } from 'node:test';
import assert from 'node:assert/strict';
import { readFileSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { makeKey, run, scratch, start } from './server.mjs';

const own = '00000000-0000-7000-8000-000000000001';
const secret = 'ada-lovelace-1815';

let server;
before(async () => { server = await start({ config: 'retention: {jobs: 1s, logs: 1s}' }); });
after(() => server?.stop());

// Nobody else ends it: each wait is for something that comes by itself.
async function until(look) {
  for (;;) {
    const found = await look();
    if (found) return found;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

function store(...words) {
  return run(server.directory, ...words);
}

function inFiles(text) {
  return readdirSync(server.directory).filter((name) => name.startsWith('pawl.db'))
    .some((name) => readFileSync(join(server.directory, name)).includes(text));
}

async function cancelled(payload) {
  const { body: job } = await server.post('/v1/jobs', { job_type: 'note', payload,
                                                        idempotency_key: `k${Math.random()}` });
  assert.equal((await server.post(`/v1/jobs/${job.job_id}/cancel`, {})).status, 200);
  return job.job_id;
}

test('OPS_25_an_erased_job_keeps_its_state_and_its_trail_and_nothing_else', async () => {
  const { body: waits } = await server.post('/v1/jobs', { job_type: 'note', payload: {},
                                                          idempotency_key: 'waits' });
  const refused = await server.post(`/v1/jobs/${waits.job_id}/erase`, {});
  assert.equal(refused.status, 409);
  const id = await cancelled({ name: secret });
  assert.ok(inFiles(secret));
  const { status, body } = await server.post(`/v1/jobs/${id}/erase`, {});
  assert.equal(status, 200);
  assert.deepEqual([body.state, body.payload], ['FAILED', { erased: true }]);
  assert.equal((await server.post(`/v1/jobs/${id}/erase`, {})).status, 200);
  assert.equal((await server.post(`/v1/jobs/${id}/retry`, {})).status, 409);
  const { body: trail } = await server.get(`/v1/jobs/${id}/audit`);
  assert.equal(trail.items.filter(({ event }) => event === 'job.erased').length, 1);
  // The server empties its log by itself, at a tick.
  await until(() => !inFiles(secret));
  const missing = await server.post('/v1/jobs/0198c7a2-5b1e-7000-8000-3c1f0a9d2e44/erase', {});
  assert.equal(missing.status, 404);
});

test('OPS_11_the_server_seals_its_trail_and_tells_the_head', async () => {
  await cancelled({});
  const { hash } = await until(async () => {
    const { body } = await server.get('/v1/audit/seal');
    return body.seal > 0 && body;
  });
  assert.match(hash, /^[0-9a-f]{64}$/);
  const checked = JSON.parse(store('audit', 'verify', '--head', hash, '--json'));
  assert.deepEqual(checked.findings, []);
  const lines = store('audit', 'export').trim().split('\n').map((line) => JSON.parse(line));
  const ids = lines.map(({ event_id: id }) => id);
  assert.deepEqual(ids, [...ids].sort((a, b) => a - b));
  assert.ok(lines.some(({ seal_hash: sealed }) => sealed === hash));
  const rest = store('audit', 'export', '--after-event', String(ids[2])).trim().split('\n');
  assert.equal(JSON.parse(rest[0]).event_id, ids[3]);
});

test('OPS_11_a_note_is_shown_where_people_look_and_sealed_with_the_rest', async () => {
  const id = await cancelled({});
  const words = 'the customer called: leave it';
  const noted = await server.post(`/v1/jobs/${id}/annotations`, { text: words });
  assert.equal(noted.status, 201);
  assert.deepEqual([noted.body.event, noted.body.job_id, noted.body.detail],
                   ['job.annotated', id, { text: words }]);
  const event = noted.body.event_id;
  assert.match(store('audit', 'annotate', String(event), 'and again: password=hunter2'),
               /^event \d+: and again: password=\*\*\*\n$/);
  for (const what of ['pause', 'resume'])
    assert.equal((await server.post(`/v1/queues/q:default/${what}`, {})).status, 200);
  const { body: list } = await server.get('/v1/audit?event=queue.paused');
  const [{ event_id: paused }] = list.items;
  const about = await server.post(`/v1/audit/${paused}/annotations`, { text: 'for the move' });
  assert.deepEqual([about.body.event, about.body.subject, about.body.detail],
                   ['audit.annotated', `event:${paused}`,
                    { event_id: paused, text: 'for the move' }]);
  assert.match(store('show', id), new RegExp(words));
  assert.match(store('audit', 'list'), /audit\.annotated.*for the move/);
  await until(() => JSON.parse(store('audit', 'verify', '--json')).unsealed === 0);
  const lines = store('audit', 'export').trim().split('\n').map((line) => JSON.parse(line));
  const notes = lines.filter(({ event: name }) => /annotated/.test(name));
  assert.deepEqual(notes.map(({ detail }) => detail),
                   [{ text: words }, { event_id: event, text: 'and again: password=***' },
                    { event_id: paused, text: 'for the move' }]);
  assert.ok(notes.every(({ seal_hash: sealed }) => sealed));
  assert.deepEqual(JSON.parse(store('audit', 'verify', '--json')).findings, []);
});

test('OPS_11_a_bad_note_is_refused_and_leaves_nothing', async () => {
  const id = await cancelled({});
  const { body: before } = await server.get(`/v1/jobs/${id}/audit`);
  for (const body of [{}, { text: '' }, { text: 7 }, { text: 'x'.repeat(4097) },
                      { text: 'a', more: 1 }]) {
    const refused = await server.post(`/v1/jobs/${id}/annotations`, body);
    assert.equal(refused.status, 422, refused.text);
  }
  for (const event of ['0', '-1', 'x', '9999999', '99999999999999999999']) {
    const { status } = await server.post(`/v1/audit/${event}/annotations`, { text: 'x' });
    assert.equal(status, 404, event);
  }
  const { body: after } = await server.get(`/v1/jobs/${id}/audit`);
  assert.deepEqual(after, before);
});

test('OPS_25_retention_is_a_scheduled_job_that_can_be_seen_and_tried', async () => {
  const { items } = JSON.parse(store('schedules', '--org', own, '--json'));
  assert.deepEqual(items.map(({ name }) => name), ['pawl.retention']);
  store('schedule', 'trigger', 'pawl.retention', '--slot', '2026-01-01T00:00:00Z', '--org', own);
  const job = await until(() => JSON.parse(store('jobs', '--org', own, '--json')).items
    .find(({ state }) => state === 'SUCCEEDED'));
  assert.equal(job.result.more, false);
  const dry = JSON.parse(store('retention', '--dry-run', '--json'));
  assert.deepEqual([dry.dry_run, dry.jobs], [true, 0]);  // keys count for a week
  assert.match(store('verify'), /0 violations/);
});

test('OPS_25_nobody_else_can_run_retention', async () => {
  const { body: job } = await server.post('/v1/jobs', { job_type: 'pawl.retention', payload: {},
                                                        idempotency_key: 'mine' });
  const { body: ended } = await server.get(`/v1/jobs/${job.job_id}?wait_ms=30000`);
  assert.equal(ended.state, 'FAILED');
  assert.match(ended.last_error, /Pawl's own/);
});

test('OPS_25_only_an_admin_erases', async () => {
  const directory = scratch();
  const roles = [['operator', 403], ['producer', 403], ['worker', 403], ['admin', 200]]
    .map(([role, wanted]) => ({ role, wanted, ...makeKey(directory, role) }));
  const closed = await start({ directory });
  const { key: admin } = roles.at(-1);
  const { body: job } = await closed.post('/v1/jobs', { job_type: 'note', payload: {},
                                                        idempotency_key: 'k' }, { key: admin });
  await closed.post(`/v1/jobs/${job.job_id}/cancel`, {}, { key: admin });
  for (const { role, wanted, key } of roles) {
    const { status } = await closed.post(`/v1/jobs/${job.job_id}/erase`, {}, { key });
    assert.equal(status, wanted, role);
  }
  await closed.stop();
  rmSync(directory, { recursive: true });
});

test('OPS_11_events_of_a_job_belong_together_whoever_did_them', async () => {
  const { body: job } = await server.post('/v1/jobs', {
    job_type: 'together', payload: {}, idempotency_key: 'together', correlation_id: 'order-7' });
  const asked = { worker_id: 'w', queues: ['q:default'], job_types: ['together'], start: true };
  const { body: { executions: [run] } } = await server.post('/v1/leases', asked);
  assert.equal(run.job.job_id, job.job_id);
  const { status } = await server.post(`/v1/executions/${run.exec_id}/commit`,
                                       { worker_id: 'w', attempt: 1, done: true });
  assert.equal(status, 200);
  const { body: trail } = await server.get(`/v1/jobs/${job.job_id}/audit`);
  assert.deepEqual(trail.items.map(({ correlation_id }) => correlation_id),
                   Array(4).fill('order-7'));
  assert.notEqual(trail.items[3].request_id, trail.items[0].request_id);
});
