// The command line against a server says what it says on the store, and ends the same way.
import { test, before, after } from 'node:test';
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cli, still } from './cli.mjs';
import { defaultOrg, makeKey, scratch, start } from './server.mjs';

const config = `
job_types:
  good: {run: ["/bin/echo", '{"answer": 42}']}
  bad: {run: ["/bin/sh", "-c", "exit 65"]}
  heap: {allow_delay: true}
policies:
  patient: {max_attempts: 8}
`;
const nowhere = '0198c7a2-5b1e-7000-8000-3c1f0a9d2e44';

let server;
const byServer = (words, more) => cli([...words, '--server', server.url], more);
const byStore = (words, more) => cli([...words, '--store', `sqlite:${server.directory}/pawl.db`],
                                     more);

async function must(words, more) {
  const { status, out, err } = await byServer(words, more);
  assert.equal(status, 0, `${words.join(' ')}: ${err}`);
  return out;
}
const made = async (...words) => JSON.parse(await must(['enqueue', ...words, '--json']));
const file = (name, lines) => {
  const path = join(server.directory, name);
  writeFileSync(path, lines.map((line) => `${line}\n`).join(''));
  return path;
};

before(async () => { server = await start({ config }); });
after(() => server?.stop());

async function same(words, wanted) {
  const [far, near] = [await byServer(words), await byStore(words)];
  assert.equal(still(far.out), still(near.out), words.join(' '));
  assert.equal(still(far.err), still(near.err), words.join(' '));
  assert.equal(far.status, near.status, words.join(' '));
  assert.equal(far.status, wanted, words.join(' ') + far.err);
  return far;
}

test('what is read reads the same through both', { timeout: 60000 }, async () => {
  const job = await made('plain', '{"x": "ü \\u001b[2J", "n": 1.5}', '--queue', 'q:exports',
                         '--serial-key', 's 1&2', '--priority', '7', '--max-wait', '10m');
  const held = await made('plain', '--hold');
  await must(['enqueue', 'good', '--wait']);
  const ended = JSON.parse(await must(['jobs', '--type', 'good', '--json'])).items[0];
  for (const words of [['jobs'], ['jobs', '--json'], ['jobs', '--limit', '1'],
                       ['jobs', '--state', 'SUCCEEDED'], ['jobs', '--type', 'nothing'],
                       ['jobs', '--type', 'nothing', '--json'], ['jobs', '--queue', 'q:exports'],
                       ['jobs', '--serial-key', 's 1&2', '--json'],
                       ['show', job.job_id], ['show', job.job_id, '--json'],
                       ['show', ended.job_id], ['show', ended.job_id, '--json'],
                       ['explain', held.job_id], ['explain', held.job_id, '--json'],
                       ['explain', ended.job_id], ['explain', ended.job_id, '--json']])
    await same(words, 0);
  assert.equal(JSON.parse(await must(['jobs', '--serial-key', 's 1&2', '--json'])).items.length, 1);
  assert.match(await must(['show', ended.job_id]), /Executions[^]*DONE[^]*Audit trail/);
  assert.match(await must(['explain', held.job_id]),
               /CREATED  held\n  why   It was created[^]*\n  do    Submit it: pawl submit /);
  assert.match(await must(['explain', ended.job_id]), /SUCCEEDED  ended\n  why   It succeeded at /);
});

test('a list goes on over pages of the server', { timeout: 60000 }, async () => {
  const lines = Array.from({ length: 260 }, (_, n) =>
    JSON.stringify({ job_type: 'page', payload: { n }, idempotency_key: `page-${n}` }));
  assert.equal(await must(['import', file('pages.jsonl', lines)]),
               '260 new, 0 known, 0 refused\n');
  await same(['jobs', '--type', 'page', '--limit', '250', '--json'], 0);
  const { items } = JSON.parse(await must(['jobs', '--type', 'page', '--limit', '250', '--json']));
  assert.equal(new Set(items.map((job) => job.job_id)).size, 250);
});

test('refusals have the same words and the same exit status', { timeout: 60000 }, async () => {
  const held = await made('held', '--hold', '--key', 'held-1');
  const ended = await made('bad', '--wait').catch(() => null) ?? JSON.parse(
    await must(['jobs', '--type', 'bad', '--json'])).items[0];
  await same(['show', nowhere], 3);
  await same(['explain', nowhere], 3);
  for (const word of ['submit', 'cancel', 'retry']) await same([word, nowhere], 3);
  await same(['change', nowhere, '--priority', '1'], 3);
  await same(['cancel', ended.job_id], 4);
  await same(['submit', ended.job_id], 4);
  await same(['change', ended.job_id, '--priority', '1'], 4);
  await same(['retry', held.job_id], 4);
  await same(['enqueue', 'held', '{"other": 1}', '--hold', '--key', 'held-1'], 4);
  await same(['change', held.job_id, '--queue', 'q:deadletter'], 1);
  await same(['change', held.job_id, '--at', '2020-01-01T00:00:00Z'], 1);
  await same(['enqueue', 'a b', '[]', '--queue', 'x/y'], 1);
  await same(['enqueue', 't', '{"password": "hunter2"}'], 1);
  await same(['enqueue', 't', '{'], 1);
  await same(['enqueue', 't', '--key', 'k', '--dedupe'], 2);
  await same(['show', 'nonsense'], 2);
  await same(['explain', 'nonsense'], 2);
  await same(['change', held.job_id], 2);
  await same(['queue', 'pause', 'q:nobody-used-it'], 3);
  await same(['queue', 'stop', 'q:default'], 2);
  await same(['key', 'revoke', 'nonsense'], 3);
  const { err } = await same(['enqueue', 'a b', '[]', '--queue', 'x/y'], 1);
  assert.equal(err.trim().split('\n').length, 3, 'one line per problem');
});

test('a policy of the configuration is known to the server', { timeout: 60000 }, async () => {
  const job = await made('p', '--policy', 'patient');
  assert.equal(job.max_attempts, 8);
});

test('OPS-4 keys: given, derived, or one of its own', { timeout: 60000 }, async () => {
  const first = await made('keyed', '{"a": 1, "b": 2}', '--key', 'k-1');
  assert.equal(first.deduplicated, false);
  const again = await made('keyed', '{"b": 2, "a": 1}', '--key', 'k-1');
  assert.deepEqual([again.job_id, again.deduplicated], [first.job_id, true]);
  const derived = await made('keyed', '{"a": 1}', '--dedupe');
  assert.match(derived.idempotency_key, new RegExp(`^keyed:${defaultOrg}::[0-9a-f]{32}$`));
  const local = JSON.parse((await byStore(['enqueue', 'keyed', '{"a": 1}', '--dedupe',
                                           '--json'])).out);
  assert.deepEqual([local.job_id, local.deduplicated], [derived.job_id, true],
                   'the store derives the same key');
  const [one, two] = [await made('keyed'), await made('keyed')];
  assert.notEqual(one.job_id, two.job_id);
  assert.match(await must(['enqueue', 'keyed', '{"a":1,"b":2}', '--key', 'k-1']),
               /already known$/m);
});

test('one job through its life', { timeout: 60000 }, async () => {
  const { job_id: id } = await made('life', '--hold');
  assert.match(await must(['submit', id]), new RegExp(`^${id}  life  q:default  QUEUED  submitted$`,
                                                     'm'));
  const changed = JSON.parse(await must(['change', id, '--priority', '-5', '--queue', 'q:special',
                                         '--at', '+1h', '--json']));
  assert.deepEqual([changed.queue, changed.priority, changed.phase], ['q:special', -5, 'delayed']);
  assert.match(await must(['cancel', id]), /FAILED  cancelled$/m);
  const child = JSON.parse(await must(['retry', id, '--json']));
  assert.deepEqual([child.parent_job_id, child.origin], [id, 'retry']);
});

test('--wait follows a job to its end', { timeout: 60000 }, async () => {
  const good = await byServer(['enqueue', 'good', '--wait']);
  assert.equal(good.status, 0, good.err);
  assert.match(good.out, /QUEUED\n.*SUCCEEDED\nresult: \{"answer":42\}\n$/);
  assert.match(good.err, /^waiting for [0-9a-f-]{36} \.\.\.$/m);
  const told = await byServer(['enqueue', 'good', '--wait', '--json']);
  assert.deepEqual(JSON.parse(told.out).result, { answer: 42 });
  const bad = await byServer(['enqueue', 'bad', '--wait']);
  assert.equal(bad.status, 1);
  assert.match(bad.out, /FAILED\nerror: \w+: .+\n$/);
});

test('queues: list, pause, resume, purge', { timeout: 60000 }, async () => {
  for (let n = 0; n < 3; n++) await made('heap', '--queue', 'q:heap');
  await made('heap', '--queue', 'q:heap', '--at', '+1h');
  await made('heap', '--queue', 'q:heap', '--hold');
  const far = await byServer(['queues', '--json']);
  const near = await byStore(['queues', '--json', '--org', defaultOrg]);
  const names = ({ out }) => JSON.parse(out).items.map((queue) => queue.name);
  assert.ok(names(far).includes('q:heap'));
  assert.deepEqual(JSON.parse(far.out).items.find((queue) => queue.name === 'q:heap'),
                   JSON.parse(near.out).items.find((queue) => queue.name === 'q:heap'));
  assert.equal(await must(['queue', 'pause', 'q:heap']), 'q:heap paused\n');
  assert.match(await must(['queues']), /^q:heap +its share /m);
  assert.equal(await must(['queue', 'resume', 'q:heap']), 'q:heap resumed\n');
  assert.equal(await must(['queue', 'purge', 'q:heap']),
               'q:heap not purged without --yes: 5 jobs\n');
  assert.deepEqual(JSON.parse(await must(['queue', 'purge', 'q:heap', '--yes', '--json'])),
                   { queue: 'q:heap', done: 'purged', jobs: 5 });
  assert.equal(await must(['queue', 'purge', 'q:heap', '--yes']), 'q:heap purged: 0 jobs\n');
});

test('a purge passes over what other queues have parked', { timeout: 60000 }, async () => {
  const lines = Array.from({ length: 2500 }, (_, n) => JSON.stringify(
    { job_type: 'parked', payload: { n }, submit: false, idempotency_key: `parked-${n}` }));
  assert.match(await must(['import', file('parked.jsonl', lines)]), /^2500 new/);
  await made('heap', '--queue', 'q:behind', '--hold');
  assert.equal(await must(['queue', 'purge', 'q:behind', '--yes']), 'q:behind purged: 1 job\n');
});

test('verify, migrate, bench, serve and org are for a store', async () => {
  for (const command of [['verify'], ['migrate'], ['bench'], ['serve'], ['org', 'list']]) {
    const { status, err } = await cli([...command, '--server', server.url]);
    assert.equal(status, 2);
    assert.match(err, /works on a store itself, not through a server: say --store/);
  }
});
