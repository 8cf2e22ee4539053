// Limits on what runs and begins, over HTTP, with real workers that die.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { defaultOrg, freePort, run, scratch, start } from './server.mjs';

let made = 0;
const job = (more = {}) => ({ job_type: 'mail', payload: {}, idempotency_key: `l-${++made}`,
                              ...more });
const queues = ['q:default'];

async function add(server, count, more) {
  const jobs = Array.from({ length: count }, () => job(more));
  const { status, body } = await server.post('/v1/jobs', { jobs });
  assert.equal(status, 200);
  return body.results.map((result) => result.job.job_id);
}

async function lease(server, max, more = {}) {
  const { status, body } = await server.post('/v1/leases', {
    worker_id: 'w', queues, max, start: true, ...more });
  assert.equal(status, 200);
  return body.executions;
}

async function commit(server, { exec_id, attempt }) {
  const { status } = await server.post(`/v1/executions/${exec_id}/commit`,
                                       { worker_id: 'w', attempt, done: true });
  assert.equal(status, 200);
}

async function until(what) {
  for (let found; ; await new Promise((resolve) => setTimeout(resolve, 50)))
    if ((found = await what())) return found;
}

test('LIMIT_a_worker_that_waits_is_woken_when_a_run_ends', { timeout: 60000 }, async () => {
  const server = await start({ config: 'job_types: {mail: {max_running: 2}}\n' });
  await add(server, 5);
  const held = await lease(server, 10);
  assert.equal(held.length, 2);
  assert.equal((await lease(server, 10)).length, 0);
  const waits = lease(server, 10, { wait_ms: 30000 });
  await until(async () => /^pawl_http_waiting 1$/m.test((await server.get('/metrics')).text));
  await commit(server, held[0]);
  assert.equal((await waits).length, 1);
  const { text } = await server.get('/metrics');
  assert.match(text, /^pawl_limited_total\{scope="job_type",by="running"\} [1-9]/m);
  await server.stop();
});

test('LIMIT_a_worker_that_waits_is_woken_when_the_rate_has_room', { timeout: 60000 }, async () => {
  const server = await start({ config: 'queues: {q:default: {rate: 60/m burst 1}}\n' });
  await add(server, 3);
  for (let n = 0; n < 3; n++)
    assert.equal((await lease(server, 10, { wait_ms: 30000 })).length, 1);
  await server.stop();
});

test('LIMIT_of_a_key_keeps_its_jobs_one_after_the_other', { timeout: 60000 }, async () => {
  const server = await start({ config: 'job_types: {mail: {max_running_per_key: 1}}\n' });
  const [, second] = await add(server, 3, { limit_key: 'acme' });
  await add(server, 1, { limit_key: 'other' });
  const held = await lease(server, 10);
  assert.deepEqual(held.map((e) => e.job.limit_key).sort(), ['acme', 'other']);
  const { body: why } = await server.get(`/v1/jobs/${second}/explain`);
  assert.equal(why.cause, 'limit_running');
  assert.match(why.sentence, /limit key acme of type mail 1 of 1 jobs/);
  const waits = lease(server, 10, { wait_ms: 30000 });
  await until(async () => /^pawl_http_waiting 1$/m.test((await server.get('/metrics')).text));
  await commit(server, held.find((e) => e.job.limit_key === 'acme'));
  assert.deepEqual((await waits).map((e) => e.job.job_id), [second]);
  await server.stop();
});

test('OPS_7_a_provider_that_says_too_much_pauses_its_type', { timeout: 60000 }, async () => {
  const server = await start({ config: 'job_types: {mail: {on_rate_limited: pause}}\n' });
  const [, second] = await add(server, 2);
  const [held] = await lease(server, 1);
  const { status } = await server.post(`/v1/executions/${held.exec_id}/fail`, {
    worker_id: 'w', attempt: held.attempt, retry_after_ms: 600000,
    error: { class: 'rate_limited', message: '429' } });
  assert.equal(status, 200);
  assert.deepEqual((await lease(server, 10)).map((e) => [e.job.job_id === second, e.attempt]), []);
  const { body } = await server.get('/v1/limits');
  assert.deepEqual(body.pauses.map(({ job_type, org_id }) => [job_type, org_id]),
                   [['mail', defaultOrg]]);
  const { body: why } = await server.get(`/v1/jobs/${second}/explain`);
  assert.equal(why.cause, 'type_paused');
  assert.equal(why.until, body.pauses[0].until);
  const waits = lease(server, 10, { wait_ms: 30000 });
  await until(async () => /^pawl_http_waiting 1$/m.test((await server.get('/metrics')).text));
  assert.equal((await server.post('/v1/job_types/mail/resume')).status, 200);
  assert.deepEqual((await waits).map((e) => e.job.job_id), [second]);
  assert.equal((await server.post('/v1/job_types/mail/resume')).status, 404);
  await server.stop();
});

// The first run of the command is told so; what follows waits until an operator knows better.
test('OPS_7_a_command_that_is_told_to_wait_pauses_its_type', { timeout: 60000 }, async () => {
  const said = { error: { class: 'rate_limited', message: 'no more today' },
                 retry_after_ms: 3600000 };
  const server = await start({ config: `
job_types:
  mail:
    run: [/bin/sh, -c, "printf %s '${JSON.stringify(said).replaceAll('"', '\\"')}'; exit 75"]
    on_rate_limited: pause
` });
  const [first] = await add(server, 1);
  const failed = await until(async () => {
    const { body } = await server.get(`/v1/jobs/${first}`);
    return body.state === 'RETRYING' && body;
  });
  assert.equal(failed.last_error, 'no more today');
  const [{ since, until: end }] = (await server.get('/v1/limits')).body.pauses;
  assert.equal(Date.parse(end) - Date.parse(since), said.retry_after_ms);
  const [second] = await add(server, 1);
  const { body } = await server.get(`/v1/jobs/${second}/explain`);
  assert.equal(body.cause, 'type_paused');
  assert.equal((await server.get(`/v1/jobs/${second}`)).body.attempt, 0);
  assert.equal((await server.post('/v1/job_types/mail/resume')).status, 200);
  await until(async () => (await server.get(`/v1/jobs/${second}`)).body.state === 'RETRYING');
  await server.stop();
});

test('LIMIT_a_reload_changes_them_and_a_bad_one_changes_nothing', { timeout: 60000 }, async () => {
  const server = await start({ config: 'job_types: {mail: {max_running: 1}}\n' });
  const file = join(server.directory, 'pawl.yaml');
  const limits = async () => (await server.get('/v1/limits')).body.limits
    .map(({ scope, name, max_running }) => [scope, name, max_running]);
  await add(server, 5);
  assert.equal((await lease(server, 10)).length, 1);
  assert.deepEqual(await limits(), [['job_type', 'mail', 1]]);
  writeFileSync(file, 'job_types: {mail: {max_running: none}}\n');
  server.child.kill('SIGHUP');
  await until(() => /must be a whole number/.test(server.log));
  assert.deepEqual(await limits(), [['job_type', 'mail', 1]]);
  writeFileSync(file, 'queues: {q:default: {max_running: 3}}\n');
  const waits = lease(server, 10, { wait_ms: 30000 });
  server.child.kill('SIGHUP');
  assert.equal((await waits).length, 2);
  assert.deepEqual(await limits(), [['queue', 'q:default', 3]]);
  await server.stop();
});

test('LIMIT_of_an_org_is_set_from_the_command_line', { timeout: 60000 }, async () => {
  const server = await start({ config: 'limits: {org_max_running: 1}\n' });
  await add(server, 5);
  assert.equal((await lease(server, 10)).length, 1);
  run(server.directory, 'org', 'limit', defaultOrg, '--max-running', '3', '--rate', '100/h');
  assert.equal((await lease(server, 10)).length, 2);
  assert.match(run(server.directory, 'limits'), /^org +0{8}-.*\b3 +3 +100\/h/m);
  run(server.directory, 'org', 'limit', defaultOrg, '--max-running', '0', '--rate', 'none');
  assert.equal((await lease(server, 10)).length, 0);
  await server.stop();
});

// The most executions that were live at one time.
function mostAtOnce(executions) {
  const steps = executions.flatMap((e) => [[e.leased_at, 1], [e.finished_at, -1]]);
  steps.sort(([a, x], [b, y]) => (a < b ? -1 : a > b ? 1 : x - y));
  let now = 0;
  return Math.max(...steps.map(([, step]) => (now += step)));
}

test('LIMIT_two_processes_keep_it_together_and_a_killed_one_gives_its_places_back',
     { timeout: 120000 }, async () => {
  const config = `
policies: {quick: {max_attempts: 8, base: 10ms, backoff: fixed, lease: 1s}}
job_types: {mail: {policy: quick, max_running: 3, run: ["/bin/sleep", "0.1"], key: content}}
`;
  const directory = scratch();
  const first = await start({ config, directory });
  const second = await start({ config, directory, port: await freePort() });
  const ids = await add(first, 30);
  await until(async () => {
    const { body } = await first.get('/v1/queues');
    return body.items.find(({ name }) => name === 'q:default').jobs.ready < 20;
  });
  await second.kill();
  const ended = await until(async () => {
    const { body } = await first.get('/v1/jobs?state=SUCCEEDED&limit=100');
    return body.items.length === ids.length;
  });
  assert.ok(ended);
  const executions = [];
  for (const id of ids)
    executions.push(...(await first.get(`/v1/jobs/${id}/executions`)).body.items);
  assert.equal(mostAtOnce(executions), 3);
  assert.match(run(directory, 'verify'), /0 violations/);
  await first.stop();
  rmSync(directory, { recursive: true, force: true });
});
