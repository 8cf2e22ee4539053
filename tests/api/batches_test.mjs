// Jobs that wait for others, batches and many jobs at once, from outside.
import { test, before, after } from 'node:test';
import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cli } from './cli.mjs';
import { freePort, run, scratch, start } from './server.mjs';

const config = `
job_types:
  good: {run: ["/bin/sh", "-c", "cat"]}
  bad: {run: ["/bin/sh", "-c", "exit 65"]}
  callback: {run: ["/bin/sh", "-c", "cat"]}
`;

let server;
before(async () => { server = await start({ config }); });
after(() => server?.stop());

let number = 0;
const job = (job_type, more = {}) =>
  ({ job_type, payload: { n: ++number }, idempotency_key: `key ${number}`, ...more });
const stored = async (...words) => {
  const { status, body, text } = await server.post('/v1/jobs', job(...words));
  assert.equal(status, 201, text);
  return body;
};
const ended = async (id) => (await server.get(`/v1/jobs/${id}?wait_ms=30000`)).body;
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

async function batchEnded(id, at = server) {
  for (;;) {
    const { body } = await at.get(`/v1/batches/${id}`);
    if (body.done) return body;
    await pause(20);
  }
}

// ----- after

test('JOB_11_jobs_run_in_the_order_of_what_they_wait_for', async () => {
  const first = await stored('good', { submit: false });
  const second = await stored('good', { after: [first.job_id] });
  const third = await stored('good', { after: [second.job_id, first.job_id] });
  assert.deepEqual([third.state, third.phase, third.after],
                   ['QUEUED', 'blocked', [second.job_id, first.job_id]]);
  const why = (await server.get(`/v1/jobs/${third.job_id}/explain`)).body;
  assert.deepEqual([why.cause, why.related_job_id], ['waits_for_jobs', first.job_id]);
  await server.post(`/v1/jobs/${first.job_id}/submit`, {});
  const jobs = [];
  for (const { job_id } of [first, second, third]) jobs.push(await ended(job_id));
  assert.deepEqual(jobs.map(({ state }) => state), Array(3).fill('SUCCEEDED'));
  for (const at of [1, 2])
    assert.ok(jobs[at].started_at >= jobs[at - 1].completed_at, JSON.stringify(jobs[at]));
});

test('JOB_11_a_chain_fails_with_its_first_job', async () => {
  const first = await stored('bad', { submit: false });
  const second = await stored('good', { after: [first.job_id] });
  const third = await stored('good', { after: [second.job_id] });
  await server.post(`/v1/jobs/${first.job_id}/submit`, {});
  const last = await ended(third.job_id);
  assert.deepEqual([last.state, last.failure_type, last.started_at],
                   ['FAILED', 'DEPENDENCY_FAILED', null]);
  assert.match(last.last_error, new RegExp(second.job_id));
});

test('JOB_11_every_job_that_is_not_there_is_named_and_nothing_is_stored', async () => {
  const nobody = '01900000-0000-7000-8000-00000000000a';
  const { job_id } = await stored('good', { submit: false });
  const one = await server.post('/v1/jobs', job('good', { after: [job_id, nobody],
                                                          batch_id: nobody }));
  assert.deepEqual([one.status, one.body.errors.map(({ field }) => field)],
                   [422, ['after[1]', 'batch_id']]);
  const jobs = [job('good'), job('good', { after: [nobody] }), job('good', { after: [nobody] })];
  const many = await server.post('/v1/jobs', { jobs });
  assert.deepEqual([many.status, many.body.errors.map(({ field }) => field)],
                   [422, ['jobs[1].after[0]', 'jobs[2].after[0]']]);
  const again = await server.post('/v1/jobs', jobs[0]);
  assert.equal(again.status, 201, 'what came before it was stored');
});

test('JOB_11_jobs_of_one_request_may_wait_for_jobs_of_another', async () => {
  const first = await stored('good');
  const jobs = Array.from({ length: 50 }, () => job('good', { after: [first.job_id] }));
  const { status, body } = await server.post('/v1/jobs', { jobs });
  assert.equal(status, 200);
  for (const { job: { job_id } } of body.results)
    assert.equal((await ended(job_id)).state, 'SUCCEEDED');
});

// ----- batches

test('JOB_6_a_batch_of_a_thousand_has_one_callback_with_its_numbers', async () => {
  const jobs = Array.from({ length: 1000 }, (_, i) => job(i % 100 ? 'good' : 'bad',
                                                          { queue: 'of-batch' }));
  const made = await server.post('/v1/batches',
                                 { jobs, name: 'big', callback: { job_type: 'callback',
                                                                  payload: { mine: 1 } } });
  assert.equal(made.status, 201, made.text);
  // Remote workers, four at once: commands would be a thousand processes.
  const { batch_id } = made.body;
  await Promise.all(Array.from({ length: 4 }, async (_, w) => {
    for (;;) {
      const { body } = await server.post('/v1/leases', {
        worker_id: `w${w}`, queues: ['of-batch'], max: 50, start: true, lease_ms: 60000 });
      if (!body.executions.length) return;
      const operations = body.executions.map(({ exec_id, attempt, job: { job_type } }) =>
        (job_type === 'bad'
          ? { op: 'fail', exec_id, attempt, worker_id: `w${w}`,
              error: { class: 'validation', message: 'm' } }
          : { op: 'commit', exec_id, attempt, worker_id: `w${w}`, done: true }));
      await server.post('/v1/executions/batch', { operations });
    }
  }));
  const batch = await batchEnded(batch_id);
  assert.deepEqual([batch.jobs, batch.succeeded, batch.failed, batch.percent],
                   [1000, 990, 10, 100]);
  const callback = await ended(batch.callback_job_id);
  assert.deepEqual(callback.payload, { mine: 1, batch: {
    batch_id, name: 'big', jobs: 1000, succeeded: 990, failed: 10, timed_out: 0 } });
  const { body } = await server.get('/v1/jobs?job_type=callback&limit=500');
  assert.equal(body.items.filter(({ payload }) => payload.batch.batch_id === batch_id).length, 1);
});

test('OPS_19_a_batch_leaves_its_traces', async () => {
  const { body } = await server.post('/v1/batches', { jobs: [job('good')] });
  await batchEnded(body.batch_id);
  for (const event of ['batch.created', 'batch.ended']) {
    const { items } = (await server.get(`/v1/audit?event=${event}&limit=500`)).body;
    assert.equal(items.filter(({ subject }) => subject === `batch:${body.batch_id}`).length, 1);
  }
});

// ----- the command line, on the server and on the store itself

test('OPS_16_cancel_and_retry_of_many_by_the_command_line', async () => {
  const directory = scratch();
  const places = { server: ['--server', server.url],
                   store: ['--store', `sqlite:${directory}/s.db`] };
  for (const [name, place] of Object.entries(places)) {
    const type = `many.${name}`;
    const lines = Array.from({ length: 12 }, (_, n) => JSON.stringify({ job_type: type,
                                                                        payload: { n } }));
    writeFileSync(join(directory, 'jobs.jsonl'), `${lines.join('\n')}\n`);
    const file = join(directory, 'jobs.jsonl');
    const made = await cli(['batch', 'create', file, '--callback', `${type}.over`, '--json',
                            ...place]);
    assert.equal(made.status, 0, made.err);
    const { batch_id } = JSON.parse(made.out);
    const dry = await cli(['cancel', '--batch-id', batch_id, '--dry-run', ...place]);
    assert.match(dry.out, /\n12 jobs would be cancelled\n$/);
    assert.equal((await cli(['cancel', '--type', type, ...place])).status, 2, 'without --yes');
    assert.equal((await cli(['cancel', ...place])).status, 2, 'without a filter');
    const done = await cli(['cancel', '--batch-id', batch_id, '--yes', '--json', ...place]);
    assert.equal(JSON.parse(done.out).count, 12, done.err);
    const shown = await cli(['batch', 'show', batch_id, '--wait', '--json', ...place]);
    assert.deepEqual([shown.status, JSON.parse(shown.out).failed], [1, 12]);
    const again = await cli(['retry', '--batch-id', batch_id, '--yes', ...place]);
    assert.equal(again.out, '12 jobs retried\n');
    const once = await cli(['retry', '--batch-id', batch_id, '--yes', ...place]);
    assert.equal(once.out, '0 jobs retried\n');
    const listed = await cli(['jobs', '--batch-id', batch_id, '--json', '--limit', '99', ...place]);
    assert.equal(JSON.parse(listed.out).items.length, 12);
    const next = await cli(['enqueue', 'x', '--batch-id', batch_id, ...place]);
    assert.equal(next.status, 4, next.err);
  }
  rmSync(directory, { recursive: true });
});

test('OPS_4_the_same_batch_twice_is_one_by_its_key', async () => {
  const directory = scratch();
  const file = join(directory, 'jobs.jsonl');
  writeFileSync(file, '{"job_type":"nobody.runs","payload":{}}\n');
  const words = ['batch', 'create', file, '--key', `k ${++number}`, '--json'];
  const ids = [];
  for (let i = 0; i < 2; i++) {
    const { out, err } = await cli([...words, '--server', server.url]);
    ids.push(JSON.parse(out || err).batch_id);
  }
  assert.equal(ids[0], ids[1]);
  writeFileSync(file, '{"job_type":"nobody.runs","payload":{"other":1}}\n');
  assert.equal((await cli([...words, '--server', server.url])).status, 4);
  rmSync(directory, { recursive: true });
});

// ----- death

// Whenever the server dies: a batch ends once, has one callback, and nobody waits for ever.
test('JOB_6_no_kill_strands_a_job_that_waits_or_makes_a_second_callback', async () => {
  const directory = scratch();
  const port = await freePort();
  const begin = () => start({ directory, port, config, words: [] });
  let victim = await begin();
  const post = (path, body) => victim.post(path, body);
  const seed = (await post('/v1/jobs', job('good', { submit: false }))).body.job_id;
  const doomed = (await post('/v1/jobs', job('bad', { submit: false }))).body.job_id;
  const jobs = Array.from({ length: 300 }, (_, i) =>
    job('nobody.runs', { after: [i % 2 ? seed : doomed], queue: 'dies' }));
  const { batch_id } = (await post('/v1/batches', {
    jobs, callback: { job_type: 'callback', payload: {} } })).body;
  for (const id of [seed, doomed]) await post(`/v1/jobs/${id}/submit`, {});
  for (let kills = 0; kills < 6; kills++) {
    await pause(kills * 40);
    await victim.kill();
    victim = await begin();
    // Some of what may run does; what was cut off comes back when its lease is over.
    const { body } = await post('/v1/leases', { worker_id: `w${kills}`, queues: ['dies'], max: 40,
                                                start: true, lease_ms: 1000 });
    const operations = body.executions.map(({ exec_id, attempt }) =>
      ({ op: 'commit', exec_id, attempt, worker_id: `w${kills}`, done: true }));
    const answered = operations.length ? post('/v1/executions/batch', { operations }) : null;
    await answered?.catch(() => null);
  }
  for (let over = false; !over;) {
    const { body } = await post('/v1/leases', { worker_id: 'last', queues: ['dies'], max: 100,
                                                start: true, lease_ms: 60000, wait_ms: 500 });
    const operations = body.executions.map(({ exec_id, attempt }) =>
      ({ op: 'commit', exec_id, attempt, worker_id: 'last', done: true }));
    if (operations.length) await post('/v1/executions/batch', { operations });
    over = (await victim.get(`/v1/batches/${batch_id}`)).body.done;
  }
  const batch = await batchEnded(batch_id, victim);
  assert.deepEqual([batch.jobs, batch.succeeded, batch.failed], [300, 150, 150]);
  const { body } = await victim.get('/v1/jobs?job_type=callback');
  assert.deepEqual(body.items.map(({ job_id }) => job_id), [batch.callback_job_id]);
  await victim.stop();
  assert.match(run(directory, 'verify'), /^0 violations$/m);
  rmSync(directory, { recursive: true, force: true });
});
