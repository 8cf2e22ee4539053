// Commands and artifacts: what a command finds in $PAWL_INPUTS, and what becomes of what it leaves
// in $PAWL_ARTIFACTS.
import { test, before, after } from 'node:test';
import assert from 'node:assert/strict';
import { chmodSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { start } from './server.mjs';

const shell = (text) => `["/bin/sh", "-c", ${JSON.stringify(text)}]`;
const config = `
limits: {artifact_bytes: 1MiB}
job_types:
  report.export:
    category: transfer
    run: ${shell('printf "a,b\\n" > $PAWL_ARTIFACTS/report.csv; '
                 + 'printf x > $PAWL_ARTIFACTS/extra; echo \'{"rows": 1}\'')}
  rows.import:
    category: transfer
    run: ${shell('cat $PAWL_INPUTS/* | wc -c')}
  plan.prints: {category: planning, run: ${shell('echo \'{"steps": 3}\'')}}
  plan.silent: {category: planning, run: ${shell('exit 0')}}
  report.link: {run: ${shell('ln -s /etc/passwd $PAWL_ARTIFACTS/stolen')}}
  report.large: {run: ${shell('head -c 2000000 /dev/zero > $PAWL_ARTIFACTS/large')}}
  report.fails: {run: ${shell('echo x > $PAWL_ARTIFACTS/a; exit 65')}}
`;

let server;
before(async () => { server = await start({ config }); });
after(() => server?.stop());

const directory = () => join(server.directory, 'pawl.db.artifacts');

let number = 0;
async function ended(job_type, payload = {}) {
  const made = await server.post('/v1/jobs', { job_type, payload,
                                               idempotency_key: `k${++number}` });
  assert.equal(made.status, 201, made.text);
  const job = (await server.get(`/v1/jobs/${made.body.job_id}?wait_ms=30000`)).body;
  const { items } = (await server.get(`/v1/jobs/${job.job_id}/artifacts`)).body;
  return { job, artifacts: items };
}

async function stored(bytes) {
  const { body } = await server.ask('POST', '/v1/artifacts', undefined, { body: bytes });
  return body;
}

const rest = () => readdirSync(directory()).filter((name) => name.startsWith('run-'));

test('OPS_24_files_that_a_command_leaves_become_artifacts_of_its_job', async () => {
  const { job, artifacts } = await ended('report.export');
  assert.equal(job.state, 'SUCCEEDED');
  assert.deepEqual(job.result, { rows: 1 });
  assert.deepEqual(artifacts.map(({ name, bytes }) => [name, bytes]),
                   [['extra', 1], ['report.csv', 4]]);
  assert.equal((await server.get(`/v1/artifacts/${artifacts[1].artifact_id}`)).text, 'a,b\n');
  assert.deepEqual(rest(), []);
});

test('OPS_24_a_command_finds_its_inputs_whose_checksum_was_verified', async () => {
  const input = await stored('0123456789');
  const good = await ended('rows.import', { input: { artifact_id: input.artifact_id } });
  assert.equal(good.job.result, 10);
  for (const name of readdirSync(directory())) {
    const path = join(directory(), name);
    if (readFileSync(path, 'utf8') !== '0123456789') continue;
    chmodSync(path, 0o600);
    writeFileSync(path, '012345678X');
  }
  const bad = await ended('rows.import', { input: { artifact_id: input.artifact_id } });
  assert.deepEqual([bad.job.state, bad.job.failure_type], ['FAILED', 'HANDLER_ERROR']);
  assert.match(bad.job.last_error, /other bytes/);
});

test('OPS_23_what_a_planning_command_prints_is_its_plan_and_it_must_have_one', async () => {
  const { job, artifacts } = await ended('plan.prints');
  assert.equal(job.state, 'SUCCEEDED');
  assert.deepEqual(artifacts.map(({ name, content_type }) => [name, content_type]),
                   [['output.json', 'application/json']]);
  const plan = await server.get(`/v1/artifacts/${artifacts[0].artifact_id}`);
  assert.deepEqual(plan.body, { steps: 3 });
  const silent = await ended('plan.silent');
  assert.equal(silent.job.state, 'FAILED');
  assert.match(silent.job.last_error, /must carry artifacts/);
});

test('OPS_24_links_and_what_is_too_large_are_refused_and_nothing_stays', async () => {
  for (const [type, why] of [['report.link', /cannot be read/], ['report.large', /more than/],
                             ['report.fails', /exit status 65/]]) {
    const { job, artifacts } = await ended(type);
    assert.equal(job.state, 'FAILED', type);
    assert.match(job.last_error, why);
    assert.deepEqual(artifacts, []);
  }
  assert.deepEqual(rest(), []);
});

test('OPS_24_what_a_killed_server_left_of_a_run_is_gone_after_the_next_start', async () => {
  const types = `job_types: {slow: {run: ${shell('touch $PAWL_ARTIFACTS/x; sleep 60')}}}`;
  const other = await start({ config: types });
  const left = () => readdirSync(join(other.directory, 'pawl.db.artifacts'));
  await other.post('/v1/jobs', { job_type: 'slow', payload: {}, idempotency_key: 'k' });
  const until = async (holds) => {
    while (!holds()) await new Promise((done) => setTimeout(done, 5));
  };
  await until(() => { try { return left().length > 0; } catch { return false; } });
  const before = left();
  await other.kill();
  const next = await start({ directory: other.directory, config: types, port: other.port });
  await until(() => !left().includes(before[0]));
  await next.stop();
  rmSync(other.directory, { recursive: true });
});
