// Alerts, received by real HTTP servers and commands: what is told, how often, and that nothing is
// lost when a receiver fails or the server is killed.
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { chmodSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cli } from './cli.mjs';
import { receive } from './receiver.mjs';
import { freePort, scratch, start } from './server.mjs';

const types = `
job_types:
  report.export:
    runbook: "Check the report service, then replay."
`;

let number = 0;

// Jobs that a worker fails for good.
async function dead(server, count = 1, message = 'order 7 is bad') {
  const jobs = Array.from({ length: count }, () => ({
    job_type: 'report.export', payload: { card: 'unseen' },
    idempotency_key: `alert ${process.pid} ${++number}` }));
  assert.equal((await server.post('/v1/jobs', { jobs })).status, 200);
  const lease = { worker_id: 'w', queues: ['q:default'], max: count, start: true };
  const { body } = await server.post('/v1/leases', lease);
  assert.equal(body.executions.length, count);
  const operations = body.executions.map(({ exec_id, attempt }) => ({
    op: 'fail', exec_id, attempt, worker_id: 'w', error: { class: 'validation', message } }));
  const done = await server.post('/v1/executions/batch', { operations });
  assert.equal(done.status, 200, done.text);
  return body.executions.map(({ job }) => job.job_id);
}

async function metric(server, series) {
  const line = (await server.get('/metrics')).text.split('\n').find((l) => l.startsWith(series));
  return Number(line?.split(' ').pop() ?? 0);
}

async function logged(server, event) {
  const lines = () => server.log.split('\n').filter((l) => l.includes(`"${event}"`));
  while (lines().length === 0) await new Promise((resolve) => { setTimeout(resolve, 20); });
  return JSON.parse(lines()[0]);
}

test('OPS_8_a_dead_letter_is_told_with_its_context_and_without_its_payload', async () => {
  const receiver = await receive();
  const server = await start({ config: `${types}
alerts:
  - {name: pager, webhook: "${receiver.url}/hook"}
` });
  const [id] = await dead(server);
  const [told] = await receiver.until((all) => all.length === 1);
  assert.deepEqual([told.method, told.url], ['POST', '/hook']);
  assert.equal(told.headers['content-type'], 'application/json');
  assert.equal(told.headers['idempotency-key'], `dead_letter:${id}`);
  const { body } = told;
  assert.equal(body.dedupe_key, `dead_letter:${id}`);
  assert.deepEqual([body.kind, body.job_id, body.job_type, body.queue, body.state, body.attempt],
                   ['dead_letter', id, 'report.export', 'q:default', 'FAILED', 1]);
  assert.equal(body.error.class, 'validation');
  assert.equal(body.error.message, 'order 7 is bad');
  assert.equal(body.runbook, 'Check the report service, then replay.');
  assert.equal(body.links.command, `pawl dead show ${id}`);
  assert.equal((await server.get(body.links.api)).body.fingerprint, body.error.fingerprint);
  assert.match(body.text, /dead letter: report\.export .*validation: order 7 is bad/);
  assert.ok(!told.text.includes('unseen'));
  const line = await logged(server, 'ALERT');
  assert.deepEqual([line.kind, line.dedupe_key, line.job_id, line.job_type],
                   ['dead_letter', `dead_letter:${id}`, id, 'report.export']);
  const made = (await server.get(`/v1/jobs/${id}`)).body;
  assert.ok(made.request_id && made.correlation_id);
  assert.deepEqual([line.request_id, line.correlation_id, line.project_id],
                   [made.request_id, made.correlation_id, null]);
  await logged(server, 'ALERT_DELIVERED');
  assert.equal(await metric(server, 'pawl_alerts_total{kind="dead_letter"}'), 1);
  const delivered = 'pawl_alert_deliveries_total{target="pager",outcome="delivered"}';
  assert.equal(await metric(server, delivered), 1);
  await server.stop();
  await receiver.close();
});

test('OPS_17_a_receiver_that_fails_or_is_slow_is_told_again_under_the_same_key', async () => {
  const answers = [500, null, { status: 503, headers: { 'retry-after': '1' } }, 204];
  const receiver = await receive((_, count) => answers[count]);
  const server = await start({ config: `${types}
alerts: [{name: pager, webhook: "${receiver.url}", timeout: 300ms}]
` });
  const [id] = await dead(server);
  const all = await receiver.until((got) => got.length === 4);
  assert.deepEqual(new Set(all.map((one) => one.headers['idempotency-key'])),
                   new Set([`dead_letter:${id}`]));
  assert.equal(new Set(all.map((one) => one.text)).size, 1);
  await logged(server, 'ALERT_DELIVERED');
  const failed = 'pawl_alert_deliveries_total{target="pager",outcome="failed"}';
  assert.equal(await metric(server, failed), 3);
  assert.match(server.log, /"status 500"/);
  assert.match(server.log, /"there was no answer in time"/);
  await server.stop();
  await receiver.close();
});

test('OPS_17_an_alert_is_given_up_after_its_attempts_and_counted', async () => {
  const receiver = await receive(() => 404);
  const server = await start({ config: `${types}
alerts: [{name: pager, webhook: "${receiver.url}", attempts: 2}]
` });
  await dead(server);
  const line = await logged(server, 'ALERT_GIVEN_UP');
  assert.equal(line.message, 'status 404');
  assert.equal(receiver.all.length, 2);
  const given_up = 'pawl_alert_deliveries_total{target="pager",outcome="given_up"}';
  assert.equal(await metric(server, given_up), 1);
  await server.stop();
  await receiver.close();
});

test('OPS_17_an_alert_outlives_a_killed_server_and_keeps_its_key', async () => {
  const receiver = await receive((_, count) => (count === 0 ? null : 204));
  const directory = scratch();
  const port = await freePort();
  const config = `${types}
alerts: [{name: pager, webhook: "${receiver.url}", timeout: 30s}]
`;
  const first = await start({ config, directory, port });
  const [id] = await dead(first);
  await receiver.until((all) => all.length === 1);  // received, never acknowledged
  await first.kill();
  const second = await start({ config, directory, port });
  const [before, again] = await receiver.until((all) => all.length === 2);
  assert.equal(again.headers['idempotency-key'], `dead_letter:${id}`);
  assert.equal(again.text, before.text);
  await logged(second, 'ALERT_DELIVERED');
  await second.stop();
  rmSync(directory, { recursive: true });
  await receiver.close();
});

test('OPS_17_a_dead_letter_made_while_nobody_delivers_is_told_after_the_start', async () => {
  const receiver = await receive();
  const directory = scratch();
  const config = `${types}
alerts: [{name: pager, webhook: "${receiver.url}"}]
`;
  const refused = await freePort();
  const down = config.replace(`${receiver.port}`, `${refused}`);
  const first = await start({ config: down, directory });
  const [id] = await dead(first);
  await logged(first, 'ALERT_NOT_DELIVERED');
  await first.kill();
  const second = await start({ config, directory });
  const [told] = await receiver.until((all) => all.length === 1);
  assert.equal(told.body.dedupe_key, `dead_letter:${id}`);
  await second.stop();
  rmSync(directory, { recursive: true });
  await receiver.close();
});

test('OPS_17_several_servers_on_a_store_deliver_each_alert_once', async () => {
  const receiver = await receive();
  const directory = scratch();
  const config = `${types}
alerts: [{name: pager, webhook: "${receiver.url}"}]
`;
  const servers = [await start({ config, directory }), await start({ config, directory })];
  const ids = [];
  for (let i = 0; i < 6; i++) ids.push(...await dead(servers[i % 2]));
  const keys = (all) => new Set(all.map((one) => one.body.dedupe_key));
  const all = await receiver.until((got) => keys(got).size === 6);
  assert.deepEqual(keys(all), new Set(ids.map((id) => `dead_letter:${id}`)));
  for (const server of servers) await server.stop();
  assert.equal(receiver.all.length, 6);
  rmSync(directory, { recursive: true });
  await receiver.close();
});

test('OPS_8_a_storm_is_told_in_a_few_messages_and_summaries', async () => {
  const receiver = await receive();
  const server = await start({ config: `${types}
alerts: [{name: pager, webhook: "${receiver.url}", rate: 60, burst: 5}]
` });
  const ids = await dead(server, 300);
  const counted = (all) => all.reduce((sum, one) => sum + (one.body.count ?? 1), 0);
  const all = await receiver.until((got) => counted(got) >= 300);
  assert.equal(counted(all), 300);
  assert.ok(all.length < 20, `${all.length} messages for 300 letters`);
  const summaries = all.filter((one) => one.body.kind === 'summary');
  const [{ body }] = summaries;
  assert.match(body.dedupe_key, /^summary:dead_letter:[0-9a-f-]{36}$/);
  assert.ok(ids.includes(body.groups[0].job_id));
  assert.deepEqual([body.groups[0].job_type, body.groups[0].error_kind, body.groups[0].count],
                   ['report.export', 'validation', body.count]);
  assert.equal(new Set(all.map((one) => one.body.dedupe_key)).size, all.length);
  assert.equal(await metric(server, 'pawl_alerts_total{kind="dead_letter"}'), 300);
  await server.stop();
  await receiver.close();
});

test('OPS_8_a_command_is_told_on_its_standard_input_and_kinds_are_chosen', async () => {
  const directory = scratch();
  const out = join(directory, 'told');
  const script = join(directory, 'page');
  writeFileSync(script, `#!/bin/sh\nprintf '%s ' "$PAWL_ALERT_KEY" > ${out}.new\n`
                        + `cat >> ${out}.new && mv ${out}.new ${out}\n`);
  chmodSync(script, 0o755);
  const receiver = await receive();
  const server = await start({ directory, config: `${types}
alerts:
  - command: ["./page"]
  - {webhook: "${receiver.url}", kinds: [scheduled_failed]}
` });
  const [id] = await dead(server);
  assert.equal((await logged(server, 'ALERT_DELIVERED')).target, 'page');
  const [key, ...rest] = readFileSync(out, 'utf8').split(' ');
  assert.equal(key, `dead_letter:${id}`);
  assert.equal(JSON.parse(rest.join(' ')).job_id, id);
  assert.equal(receiver.all.length, 0);
  await server.stop();
  rmSync(directory, { recursive: true });
  await receiver.close();
});

test('OPS_17_a_command_that_takes_too_long_is_ended_and_run_again', async () => {
  const directory = scratch();
  const mark = join(directory, 'mark');
  const once = `[ -e ${mark} ] || { touch ${mark}; sleep 600; }`;
  const server = await start({ directory, config: `${types}
alerts:
  - {name: slow, timeout: 1s, command: ["/bin/sh", "-c", "${once}"]}
` });
  await dead(server);
  assert.match((await logged(server, 'ALERT_NOT_DELIVERED')).message, /longer than its timeout/);
  await logged(server, 'ALERT_DELIVERED');
  assert.ok(existsSync(mark));
  await server.stop();
  rmSync(directory, { recursive: true });
});

test('OPS_17_a_message_is_signed_with_the_secret_of_its_target', async () => {
  const receiver = await receive();
  const directory = scratch();
  writeFileSync(join(directory, 'secret'), 'a secret of some length\n');
  writeFileSync(join(directory, 'headers'), 'Authorization: Bearer t0ken\nX-Team: jobs\n');
  const server = await start({ directory, config: `${types}
alerts: [{webhook: "${receiver.url}", secret_file: secret, headers_file: headers}]
` });
  await dead(server);
  const [told] = await receiver.until((all) => all.length === 1);
  const expected = createHmac('sha256', 'a secret of some length').update(told.text).digest('hex');
  assert.equal(told.headers['x-pawl-signature'], `sha256=${expected}`);
  assert.deepEqual([told.headers.authorization, told.headers['x-team']], ['Bearer t0ken', 'jobs']);
  const shown = (await server.get('/v1/config')).text;
  assert.ok(!shown.includes('t0ken') && !shown.includes('a secret of some length'));
  await server.stop();
  rmSync(directory, { recursive: true });
  await receiver.close();
});

test('OPS_8_the_command_line_lists_alerts_and_tries_every_target', async () => {
  const good = await receive();
  const bad = await receive(() => 403);
  const directory = scratch();
  const port = await freePort();
  const config = `${types}
alerts:
  - {name: good, webhook: "${good.url}"}
  - {name: bad, webhook: "${bad.url}", attempts: 1}
  - {name: down, webhook: "http://127.0.0.1:${port}", timeout: 2s}
`;
  const server = await start({ directory, config });
  const [id] = await dead(server);
  await logged(server, 'ALERT_DELIVERED');
  await logged(server, 'ALERT_GIVEN_UP');
  await logged(server, 'ALERT_NOT_DELIVERED');
  await server.stop();

  const words = ['alerts', 'list', '--store', `sqlite:${directory}/pawl.db`];
  const listed = JSON.parse((await cli([...words, '--json'])).out).items;
  assert.deepEqual(Object.fromEntries(listed.map((a) => [a.target, a.delivery])),
                   { good: 'delivered', bad: 'given_up', down: 'failing' });
  assert.deepEqual(new Set(listed.map((a) => a.job_id)), new Set([id]));
  assert.equal(listed.find((a) => a.target === 'bad').delivery_error, 'status 403');
  assert.match((await cli(words)).out, /dead_letter +report\.export +good +delivered/);

  const tried = await cli(['alerts', 'test', '--config', join(directory, 'pawl.yaml')]);
  assert.equal(tried.status, 1);
  assert.match(tried.out, /^good: delivered \(status 204\)$/m);
  assert.match(tried.out, /^bad: NOT delivered \(status 403\)$/m);
  assert.match(tried.out, /^down: NOT delivered \(nobody answers\)$/m);
  assert.equal(good.all.at(-1).body.kind, 'test');
  assert.match(good.all.at(-1).headers['idempotency-key'], /^test:/);
  assert.equal((await cli(['alerts', 'test'])).status, 2);
  rmSync(directory, { recursive: true });
  await good.close();
  await bad.close();
});

test('OPS_17_targets_of_alerts_are_checked_with_the_configuration', async () => {
  const directory = scratch();
  const file = join(directory, 'pawl.yaml');
  writeFileSync(join(directory, 'short'), 'short\n');
  writeFileSync(join(directory, 'headers'), 'no colon\n');
  writeFileSync(file, `alerts:
  - {webhook: "ftp://x.example/"}
  - {webhook: "https://me:word@x.example/"}
  - {webhook: "https://x.example/", command: ["/bin/true"]}
  - {webhook: "https://y.example/", kinds: [all], timeout: 1h}
  - {webhook: "https://y.example/other"}
  - {webhook: "https://z.example/", secret_file: short}
  - {webhook: "https://a.example/", headers_file: headers}
  - {name: nothing}
`);
  const { status, err } = await cli(['config', 'check', file]);
  assert.equal(status, 1);
  for (const problem of [
    /:2:.* alerts\[0\]\.webhook: must be http:\/\/\.\.\. or https/,
    /:3:.* alerts\[1\]\.webhook: must be without a user and a password/,
    /:4:.* alerts\[2\]: needs one of webhook, webhook_file and command/,
    /:5:.* alerts\[3\]\.kinds: must be dead_letter, scheduled_failed or finish_failing/,
    /:5:.* alerts\[3\]\.timeout: must be a duration .* from 100ms to 1m/,
    /:6:.* alerts\[4\]: another target is called y\.example: give it a name/,
    /:7:.* alerts\[5\]\.secret_file: must hold at least 16 bytes/,
    /:8:.* alerts\[6\]\.headers_file: must hold at most 32 lines/,
    /:9:.* alerts\[7\]: needs one of/,
  ]) assert.match(err, problem);
  rmSync(directory, { recursive: true });
});

test('OPS_8_targets_follow_the_configuration_when_it_is_read_again', async () => {
  const old = await receive();
  const other = await receive();
  const directory = scratch();
  const to = (name, receiver) => `${types}
alerts: [{name: ${name}, webhook: "${receiver.url}"}]
`;
  const server = await start({ directory, config: to('old', old) });
  await dead(server);
  await old.until((all) => all.length === 1);
  writeFileSync(join(directory, 'pawl.yaml'), to('other', other));
  server.child.kill('SIGHUP');
  await logged(server, 'CONFIG_LOADED');
  const [id] = await dead(server);
  await other.until((all) => all.some((one) => one.body.job_id === id));
  assert.equal(old.all.length, 1);
  await server.stop();
  rmSync(directory, { recursive: true });
  await old.close();
  await other.close();
});
