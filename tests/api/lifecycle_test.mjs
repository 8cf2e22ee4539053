// The life of a server: start, drain, reload, split, death.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chmodSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { execFileSync, spawn } from 'node:child_process';
import { join } from 'node:path';
import { freePort, makeKey, pawl, run, scratch, start } from './server.mjs';

const job = (n, more = {}) => ({ job_type: 'life.test', payload: { n },
                                 idempotency_key: `life-${n}`, ...more });

function config(directory, script = 'cat') {
  const program = join(directory, 'work');
  writeFileSync(program, `#!/bin/sh\n${script}\n`);
  chmodSync(program, 0o755);
  return `job_types:\n  life.test:\n    run: ["${program}"]\n    grace: 1s\n`;
}

test('OPS_9_an_answer_is_on_disk_also_when_the_server_dies_at_once', async () => {
  const directory = scratch();
  let server = await start({ directory });
  const { status, body } = await server.post('/v1/jobs', job(1));
  assert.equal(status, 201);
  await server.kill();
  server = await start({ directory });
  const again = await server.get(`/v1/jobs/${body.job_id}`);
  assert.equal(again.body.state, 'QUEUED');
  const repeated = await server.post('/v1/jobs', job(1));
  assert.equal(repeated.status, 200);
  assert.equal(repeated.body.deduplicated, true);
  assert.equal(repeated.body.job_id, body.job_id);
  await server.stop();
  rmSync(directory, { recursive: true });
});

test('OPS_1_a_command_of_the_configuration_runs_and_its_result_is_kept', async () => {
  const directory = scratch();
  const server = await start({ directory, config: config(directory) });
  const { body } = await server.post('/v1/jobs', job(7));
  const done = await server.get(`/v1/jobs/${body.job_id}?wait_ms=20000`);
  assert.equal(done.body.state, 'SUCCEEDED');
  assert.deepEqual(done.body.result, { n: 7 });
  await server.stop();
  rmSync(directory, { recursive: true });
});

test('RUN_1_a_graceful_stop_lets_what_runs_end_and_burns_no_attempt', async () => {
  const directory = scratch();
  const slow = 'touch begun; read -r line; sleep 1; echo "$line"';
  let server = await start({ directory, config: config(directory, slow) });
  const { body } = await server.post('/v1/jobs', job(1));
  while (!readdirSync(directory).includes('begun'))
    await new Promise((resolve) => setTimeout(resolve, 20));
  await server.stop();
  assert.match(run(directory, 'show', body.job_id, '--json'), /"state":"SUCCEEDED"/);
  rmSync(directory, { recursive: true });
});

test('OPS_9_while_it_drains_it_is_not_ready_and_waiting_workers_are_answered', async () => {
  const server = await start();
  const poll = server.post('/v1/leases', { worker_id: 'w', queues: ['q:default'],
                                           wait_ms: 30000 });
  await new Promise((resolve) => setTimeout(resolve, 300));
  const stopped = server.stop();
  const { status, body } = await poll;
  assert.equal(status, 200);
  assert.deepEqual(body, { executions: [] });
  await stopped;
});

test('SLOT_1_the_api_never_runs_a_job_and_a_worker_on_the_same_store_does', async () => {
  const directory = scratch();
  const text = config(directory);
  const api = await start({ directory, config: text, words: ['--only', 'api'] });
  const { body } = await api.post('/v1/jobs', job(3));
  const waited = await api.get(`/v1/jobs/${body.job_id}?wait_ms=1500`);
  assert.equal(waited.body.state, 'QUEUED');
  const worker = spawn(pawl, ['serve', '--only', 'worker', '--config', join(directory, 'pawl.yaml'),
                              '--store', `sqlite:${directory}/pawl.db`], { stdio: 'ignore' });
  const ended = new Promise((resolve) => worker.on('close', resolve));
  const done = await api.get(`/v1/jobs/${body.job_id}?wait_ms=20000`);
  assert.equal(done.body.state, 'SUCCEEDED');
  const executions = await api.get(`/v1/jobs/${body.job_id}/executions`);
  assert.equal(executions.body.items.length, 1);
  worker.kill('SIGTERM');
  assert.equal(await ended, 0);
  await api.stop();
  rmSync(directory, { recursive: true });
});

test('SLOT_1_an_exclusive_worker_refuses_a_second_one', async () => {
  const directory = scratch();
  const words = ['serve', '--only', 'worker', '--exclusive', '--store',
                 `sqlite:${directory}/pawl.db`];
  const first = spawn(pawl, words, { stdio: ['ignore', 'pipe', 'ignore'] });
  const ended = new Promise((resolve) => first.on('close', resolve));
  await new Promise((resolve) => first.stdout.once('data', resolve));
  assert.throws(() => execFileSync(pawl, words, { stdio: 'pipe' }), (error) => {
    assert.match(String(error.stderr), /another `pawl serve --exclusive` works on store .*: stop/);
    return error.status === 4;
  });
  first.kill('SIGTERM');
  assert.equal(await ended, 0);
  rmSync(directory, { recursive: true });
});

// Everybody would be admin, so it may not listen there; a port that is taken is the same.
test('OPS_18_a_server_that_cannot_listen_has_begun_no_job', async () => {
  const directory = scratch();
  writeFileSync(join(directory, 'pawl.yaml'), config(directory, 'echo >>ran; sleep 2'));
  const server = await start({ directory: scratch() });
  run(directory, 'enqueue', 'life.test', '{}');
  for (const [listen, status] of [['0.0.0.0:0', 5], [`127.0.0.1:${server.port}`, 4]]) {
    const words = ['serve', '--config', 'pawl.yaml', '--listen', listen,
                   '--store', 'sqlite:pawl.db'];
    assert.throws(() => execFileSync(pawl, words, { cwd: directory, stdio: 'pipe' }),
                  (error) => error.status === status, listen);
  }
  assert.ok(!readdirSync(directory).includes('ran'));
  const [job] = JSON.parse(run(directory, 'jobs', '--json')).items;
  assert.equal(job.attempt, 0);
  await server.stop();
  rmSync(directory, { recursive: true });
});

test('RUN_5_a_second_server_of_the_same_name_is_refused', async () => {
  const directory = scratch();
  const text = 'instance: only-one\n';
  const server = await start({ directory, config: text });
  const words = ['serve', '--config', join(directory, 'pawl.yaml'), '--listen',
                 `127.0.0.1:${await freePort()}`, '--store', `sqlite:${directory}/pawl.db`];
  assert.throws(() => execFileSync(pawl, words, { stdio: 'pipe', timeout: 20000 }),
                (error) => error.status === 4 && /only-one/.test(String(error.stderr)));
  await server.stop();
  rmSync(directory, { recursive: true });
});

async function until(what) {
  for (let i = 0; i < 500; i++) {
    if (await what()) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  assert.fail(`never: ${what}`);
}

test('OPS_19_a_reload_takes_a_good_file_and_refuses_a_bad_one_and_both_are_on_record', async () => {
  const directory = scratch();
  const file = join(directory, 'pawl.yaml');
  const server = await start({ directory, config: 'job_types: {a: {category: default}}\n' });
  const late = { ...job(1), job_type: 'a', scheduled_for: '2030-01-01T00:00:00Z' };
  assert.equal((await server.post('/v1/jobs', late)).status, 422);

  writeFileSync(file, 'job_types: {a: {category: default, allow_delay: true}}\n');
  server.child.kill('SIGHUP');
  await until(() => server.log.includes('CONFIG_LOADED'));
  assert.equal((await server.post('/v1/jobs', late)).status, 201);

  writeFileSync(file, 'job_types: {a: {category: nonsense}}\nfoo: 1\n');
  server.child.kill('SIGHUP');
  await until(() => server.log.includes('CONFIG_REFUSED'));
  assert.match(server.log, /pawl\.yaml:2:1/);
  assert.equal((await server.post('/v1/jobs', { ...late, idempotency_key: 'x' })).status, 201);

  writeFileSync(file, 'listen: 127.0.0.1:1\njob_types: {a: {category: default}}\n');
  server.child.kill('SIGHUP');
  await server.stop();
  const trail = JSON.parse(run(directory, 'audit', 'list', '--system', '--limit', '100',
                               '--json')).items;
  for (const event of ['instance.started', 'config.loaded', 'config.refused', 'instance.stopped']) {
    const told = trail.find((one) => one.event === event && one.detail.part === 'all');
    assert.ok(told, `${event} in ${JSON.stringify(trail)}`);
    assert.equal(told.actor_type, 'system');
    assert.ok(told.detail.instance && told.detail.version);
  }
  assert.match(trail.findLast((one) => one.event === 'config.refused').detail.text,
               /nonsense|pawl\.yaml:/);
  assert.ok(trail.every((one) => one.org_id === null && one.job_id === null));
  rmSync(directory, { recursive: true });
});

test('OPS_19_a_reload_refuses_what_it_cannot_change_and_names_it', async () => {
  const directory = scratch();
  const file = join(directory, 'pawl.yaml');
  const text = config(directory);
  const server = await start({ directory, config: text });
  writeFileSync(file, text + 'limits: {waiting: 5, workers: 3}\n');
  server.child.kill('SIGHUP');
  await until(() => server.log.includes('CONFIG_REFUSED'));
  assert.match(server.log, /limits\.waiting/);
  assert.match(server.log, /limits\.workers/);
  await server.stop();
  rmSync(directory, { recursive: true });
});

const commands = (...types) => 'job_types:\n' + types.map(([type, script]) =>
  `  ${type}:\n    run: ["/bin/sh", "-c", ${JSON.stringify(script)}]\n`).join('');

async function reload(server, directory, text) {
  const said = () => server.log.split('CONFIG_LOADED').length;
  const before = said();
  writeFileSync(join(directory, 'pawl.yaml'), text);
  server.child.kill('SIGHUP');
  await until(() => said() > before);
}

async function result(server, id) {
  const { body } = await server.get(`/v1/jobs/${id}?wait_ms=20000`);
  assert.equal(body.state, 'SUCCEEDED');
  return body.result;
}

test('OPS_19_a_reload_adds_changes_and_removes_commands', async () => {
  const directory = scratch();
  const server = await start({ directory, config: 'job_types: {a: {category: default}}\n' });
  const enqueue = async (job_type, n) =>
    (await server.post('/v1/jobs', { ...job(n), job_type })).body.job_id;

  const waiting = await enqueue('a', 1);  // nobody runs it yet, and no worker thread is there
  await reload(server, directory, commands(['a', 'echo one']));
  assert.equal(await result(server, waiting), 'one');

  await reload(server, directory, commands(['a', 'echo two'], ['b', 'echo b']));
  assert.equal(await result(server, await enqueue('a', 2)), 'two');
  assert.equal(await result(server, await enqueue('b', 3)), 'b');

  await reload(server, directory, commands(['a', 'echo three']));
  const left = await enqueue('b', 4);
  assert.equal(await result(server, await enqueue('a', 5)), 'three');
  const { body } = await server.post('/v1/leases', { worker_id: 'w', queues: ['q:default'],
                                                     job_types: ['b'] });
  assert.deepEqual(body.executions.map((held) => held.job.job_id), [left]);
  await server.stop();
  rmSync(directory, { recursive: true });
});

test('OPS_19_a_command_that_runs_during_a_reload_keeps_the_terms_it_began_with', async () => {
  const directory = scratch();
  const wait = 'touch begun; while ! [ -e go ]; do sleep 0.05; done; echo';
  const server = await start({ directory, config: commands(['life.test', `${wait} old`]) });
  const { body: first } = await server.post('/v1/jobs', job(1));
  await until(() => readdirSync(directory).includes('begun'));
  await reload(server, directory, commands(['life.test', 'echo new']));
  const { body: second } = await server.post('/v1/jobs', job(2));
  assert.equal(await result(server, second.job_id), 'new');
  writeFileSync(join(directory, 'go'), '');
  assert.equal(await result(server, first.job_id), 'old');
  await server.stop();
  rmSync(directory, { recursive: true });
});

test('SLOT_1_a_reload_gives_the_api_no_commands', async () => {
  const directory = scratch();
  const server = await start({ directory, words: ['--only', 'api'],
                               config: commands(['a', 'echo']) });
  const { body } = await server.post('/v1/jobs', { ...job(1), job_type: 'a' });
  await reload(server, directory, commands(['a', 'echo two']));
  const { body: held } = await server.post('/v1/leases', { worker_id: 'w', queues: ['q:default'] });
  assert.deepEqual(held.executions.map((one) => one.job.job_id), [body.job_id]);
  await server.stop();
  rmSync(directory, { recursive: true });
});

test('OPS_9_a_reload_changes_the_rate_of_keys', async () => {
  const directory = scratch();
  const key = makeKey(directory, 'admin').key;
  const server = await start({ directory, config: 'auth: {rate: 0}\n' });
  writeFileSync(join(directory, 'pawl.yaml'), 'auth: {rate: 1}\n');
  server.child.kill('SIGHUP');
  await until(() => server.log.includes('CONFIG_LOADED'));
  await until(async () => (await server.get('/v1/stats', { key })).status === 429);
  await server.stop();
  rmSync(directory, { recursive: true });
});

test('OPS_10_without_a_key_it_refuses_to_listen_to_other_machines', async () => {
  const directory = scratch();
  const words = ['serve', '--listen', `0.0.0.0:${await freePort()}`, '--store',
                 `sqlite:${directory}/pawl.db`];
  assert.throws(() => execFileSync(pawl, words, { stdio: 'pipe', timeout: 20000 }),
                (error) => error.status === 5 && /pawl key create/.test(String(error.stderr)));
  rmSync(directory, { recursive: true });
});

test('RUN_1_the_service_manager_is_told_when_it_is_ready_and_when_it_stops', async () => {
  const directory = scratch();
  const path = join(directory, 'notify');
  // Node has no unix datagram sockets: python3 listens.
  const listener = spawn('python3', ['-c', `
import socket
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(${JSON.stringify(path)})
print('listening', flush=True)
while True:
    text = s.recv(100).decode()
    print(text, flush=True)
    if text == 'STOPPING=1': break
`], { stdio: ['ignore', 'pipe', 'inherit'] });
  let heard = '';
  listener.stdout.on('data', (text) => { heard += text; });
  const over = new Promise((resolve) => listener.on('close', resolve));
  await until(() => heard.includes('listening'));
  process.env.NOTIFY_SOCKET = path;
  const server = await start({ directory });
  delete process.env.NOTIFY_SOCKET;
  await until(() => heard.includes('READY=1'));
  await server.stop();
  await over;
  assert.match(heard, /READY=1[^]*STOPPING=1/);
  rmSync(directory, { recursive: true });
});

test('OPS_10_with_a_certificate_it_speaks_tls_and_nothing_else', async () => {
  const directory = scratch();
  const [key, certificate] = ['key.pem', 'certificate.pem'].map((name) => join(directory, name));
  execFileSync('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt',
    'ec_paramgen_curve:prime256v1', '-nodes', '-subj', '/CN=localhost', '-days', '2',
    '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1', '-keyout', key, '-out', certificate],
               { stdio: 'ignore' });
  chmodSync(key, 0o600);
  writeFileSync(join(directory, 'pawl.yaml'),
                `tls: {certificate: "${certificate}", key: "${key}"}\n`);
  const port = await freePort();
  const child = spawn(pawl, ['serve', '--config', join(directory, 'pawl.yaml'), '--listen',
    `127.0.0.1:${port}`, '--store', `sqlite:${directory}/pawl.db`], { stdio: 'ignore' });
  const ended = new Promise((resolve) => child.on('close', resolve));
  const ask = (protocol) => new Promise((resolve) => {
    const options = { ca: readFileSync(certificate), host: '127.0.0.1', port, path: '/readyz' };
    protocol.get(options, (answer) => { answer.resume(); resolve(answer.statusCode); })
      .on('error', () => resolve(0));
  });
  const [https, http] = await Promise.all([import('node:https'), import('node:http')]);
  await until(async () => await ask(https) === 200);
  assert.notEqual(await ask(http), 200);
  child.kill('SIGTERM');
  assert.equal(await ended, 0);
  rmSync(directory, { recursive: true });
});

test('EXEC_4_a_worker_that_left_while_it_waited_gets_no_lease', async () => {
  const server = await start();
  const { connect } = await import('node:net');
  const text = JSON.stringify({ worker_id: 'gone', queues: ['q:default'], wait_ms: 30000 });
  for (let i = 0; i < 5; i++) {
    const socket = connect(server.port, '127.0.0.1');
    socket.write(`POST /v1/leases HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n`
                 + `Content-Length: ${text.length}\r\n\r\n${text}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
    socket.destroy();
  }
  const poll = server.post('/v1/leases', { worker_id: 'here', queues: ['q:default'], start: true,
                                           wait_ms: 20000 });
  const { body } = await server.post('/v1/jobs', job(1));
  const [lease] = (await poll).body.executions;
  assert.equal(lease.job.job_id, body.job_id);
  assert.equal(lease.attempt, 1);
  await server.stop();
});

test('SLOT_1_a_worker_that_listens_answers_health_and_metrics_and_nothing_else', async () => {
  const server = await start({ words: ['--only', 'worker'] });
  for (const path of ['/healthz', '/readyz', '/metrics'])
    assert.equal((await server.get(path)).status, 200, path);
  for (const path of ['/v1/jobs', '/v1/queues', '/v1/events', '/v1/config'])
    assert.equal((await server.get(path)).status, 404, path);
  assert.equal((await server.post('/v1/jobs', job(1))).status, 404);
  assert.equal((await server.post('/v1/leases', { worker_id: 'w', queues: ['q:default'] })).status,
               404);
  await server.stop();
});
