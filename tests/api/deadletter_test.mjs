// Dead letters over HTTP and by the command line: found, understood, replayed, fixed, discarded.
import { test, before, after } from 'node:test';
import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { cli, still } from './cli.mjs';
import { freePort, run, scratch, start } from './server.mjs';

// What `fail` in the payload says goes wrong; a job without it succeeds.
const script = 'read -r p; case "$p" in '
  + '*fail*) echo "order $$ of \'bob\' is bad" >&2; exit 65;; esac';
const config = `
job_types:
  report.export:
    run: ["/bin/sh", "-c", ${JSON.stringify(`${script}; echo '{}'`)}]
    runbook: "Check the report service, then replay."
  mail.send:
    run: ["/bin/sh", "-c", "echo 'no template 7' >&2; exit 64"]
`;

let server, places;

before(async () => {
  server = await start({ config });
  places = { server: ['--server', server.url],
             store: ['--store', `sqlite:${server.directory}/pawl.db`] };
});
after(() => server?.stop());

const end = async (id) => (await server.get(`/v1/jobs/${id}?wait_ms=30000`)).body;

let number = 0;
async function ended(job_type, payload = {}) {
  const { body, status, text } = await server.post('/v1/jobs', {
    job_type, payload, idempotency_key: `key ${++number}` });
  assert.equal(status, 201, text);
  return end(body.job_id);
}

async function dead(job_type, payload) {
  const job = await ended(job_type, payload);
  assert.deepEqual([job.state, job.dead_letter, job.queue], ['FAILED', 'open', 'q:deadletter']);
  return job.job_id;
}

const at = (id, what = '') => `/v1/deadletter/${id}${what}`;
const letter = async (id) => (await server.get(at(id))).body;
const open = async (query = '') => (await server.get(`/v1/deadletter${query}`)).body.items;

test('OPS_8_a_letter_shows_every_attempt_and_the_runbook_of_its_type', async () => {
  const id = await dead('report.export', { fail: 1 });
  const one = await letter(id);
  assert.equal(one.runbook, 'Check the report service, then replay.');
  assert.equal(one.executions.length, 1);
  assert.equal(one.executions[0].error.class, 'invalid_input');
  assert.match(one.last_error, /^order \d+ of 'bob' is bad$/);
  assert.equal(one.error_pattern, 'order <n> of <text> is bad');
  assert.deepEqual([one.closed_at, one.replaced_by, one.changes], [null, null, null]);
  assert.equal((await letter(await dead('mail.send'))).runbook, null);
});

test('OPS_8_letters_are_grouped_by_error_and_listed_by_it', async () => {
  const [first, second] = [await dead('report.export', { fail: 1 }),
                           await dead('report.export', { fail: 2 })];
  const { fingerprint } = await letter(first);
  assert.equal((await letter(second)).fingerprint, fingerprint);
  const { body } = await server.get('/v1/deadletter/groups?job_type=report.export');
  const [group] = body.items;
  assert.deepEqual([body.items.length, group.fingerprint, group.newest_job_id, group.count],
                   [1, fingerprint, second, body.letters]);
  const same = await open(`?fingerprint=${fingerprint}&limit=2`);
  assert.deepEqual(same.map(({ job_id }) => job_id), [second, first]);
  assert.deepEqual(await open('?queue=q:none'), []);
});

test('OPS_8_a_replay_is_a_new_job_and_a_closed_letter_is_409', async () => {
  const id = await dead('mail.send', { to: 'a' });
  const { status, body, headers } = await server.post(at(id, '/replay'));
  assert.equal(status, 201);
  assert.equal(headers.get('location'), `/v1/jobs/${body.job_id}`);
  await end(body.job_id);  // badly again: a letter of its own
  assert.deepEqual([body.origin, body.parent_job_id, body.payload], ['replay', id, { to: 'a' }]);
  const closed = await letter(id);
  assert.deepEqual([closed.dead_letter, closed.replaced_by, closed.changes],
                   ['replayed', body.job_id, []]);
  for (const [what, json] of [['/replay'], ['/fix', { payload: {} }],
                              ['/discard', { reason: 'r' }]]) {
    const again = await server.post(at(id, what), json);
    assert.deepEqual([again.status, again.body.code], [409, 'closed']);
  }
  assert.ok(!(await open()).some(({ job_id }) => job_id === id));
});

test('OPS_8_of_many_who_replay_one_letter_at_once_one_does', async () => {
  const id = await dead('mail.send');
  const replays = Array.from({ length: 20 }, () => server.post(at(id, '/replay')));
  const answers = await Promise.all(replays);
  const count = (wanted) => answers.filter(({ status }) => status === wanted).length;
  assert.deepEqual([count(201), count(409)], [1, 19]);
  await end(answers.find(({ status }) => status === 201).body.job_id);
});

test('OPS_8_a_fix_runs_with_another_payload_and_says_what_it_changed', async () => {
  const id = await dead('report.export', { fail: 1, month: '2026-08' });
  const payload = { month: '2026-09', lines: [1] };
  const changes = [{ path: '/fail', before: 1, after: null },
                   { path: '/month', before: '2026-08', after: '2026-09' },
                   { path: '/lines', before: null, after: [1] }];
  const dry = await server.post(at(id, '/fix'), { payload, dry_run: true });
  assert.deepEqual([dry.status, dry.body], [200, { dry_run: true, changes }]);
  const { status, body } = await server.post(at(id, '/fix'), { payload });
  assert.deepEqual([status, body.origin, body.parent_job_id, body.payload],
                   [201, 'fix', id, payload]);
  assert.equal((await end(body.job_id)).state, 'SUCCEEDED');
  const closed = await letter(id);
  assert.deepEqual([closed.dead_letter, closed.payload, closed.changes],
                   ['fixed', { fail: 1, month: '2026-08' }, changes]);
});

test('OPS_8_a_fix_keeps_the_contract_and_every_problem_is_named', async () => {
  const id = await dead('mail.send');
  const deep = JSON.parse(`${'{"a":'.repeat(31)}1${'}'.repeat(31)}`);
  const bad = await server.post(at(id, '/fix'), { payload: {
    password: 'hunter2hunter2', a: { api_key: '0123456789abcdef' } } });
  assert.equal(bad.status, 422);
  assert.deepEqual(bad.body.errors.map(({ field }) => field),
                   ['payload.password', 'payload.a.api_key']);
  const large = { text: 'x'.repeat(1 << 20) };
  for (const [payload, wanted] of [[large, 413], [{ deep }, 400]]) {
    const { status, body } = await server.post(at(id, '/fix'), { payload });
    assert.equal(status, wanted, JSON.stringify(body));
  }
  assert.equal((await letter(id)).dead_letter, 'open');
});

test('OPS_8_a_discard_is_audited_with_its_reason', async () => {
  const id = await dead('mail.send');
  assert.equal((await server.post(at(id, '/discard'), {})).status, 422);
  const { body } = await server.post(at(id, '/discard'), { reason: 'the customer left' });
  assert.equal(body.dead_letter, 'discarded');
  const closed = await letter(id);
  assert.deepEqual([closed.closed_reason, closed.replaced_by], ['the customer left', null]);
  assert.ok(closed.closed_at && closed.closed_by);
  const audit = (await server.get(`/v1/jobs/${id}/audit`)).body.items;
  assert.deepEqual(audit.at(-1).detail, { as: 'discarded', reason: 'the customer left' });
});

test('OPS_8_many_are_replayed_or_discarded_by_a_filter_after_a_dry_run', async () => {
  for (let i = 0; i < 5; i++) await dead('mail.send');
  const all = (await open('?job_type=mail.send&limit=500')).length;
  const nothing = await server.post('/v1/deadletter/replay', {});
  assert.equal(nothing.status, 422);
  const bulk = async (what, json) =>
    (await server.post(`/v1/deadletter/${what}`, { job_type: 'mail.send', ...json })).body;
  const dry = await bulk('discard', { dry_run: true, reason: 'r' });
  assert.deepEqual([dry.count, dry.more, dry.job_ids.length], [all, false, all]);
  const two = await bulk('discard', { limit: 2, reason: 'old' });
  assert.deepEqual([two.count, two.more], [2, true]);
  const rest = await bulk('replay', {});
  assert.deepEqual([rest.count, rest.more], [all - 2, false]);
  for (const id of rest.job_ids)
    assert.equal((await end(id)).origin, 'replay');
});

// ----- the command line

const ask = (words, place = 'server', input) => cli([...words, ...places[place]], { input });

async function good(words, place, input) {
  const { status, out, err } = await ask(words, place, input);
  assert.deepEqual([status, err], [0, ''], `${words}: ${err}`);
  return out;
}

// The same by both ways, but for how long ago it is and for what only a server knows.
async function same(...words) {
  const [one, two] = [await good(words), await good(words, 'store')];
  const known = (text) => still(text)
    .replace('"runbook":"Check the report service, then replay."', '"runbook":null')
    .replace(' Check the report service, then replay.\n', '');
  assert.equal(known(one), known(two));
  return one;
}

test('OPS_8_the_command_line_shows_letters_alike_on_both_ways', async () => {
  const id = await dead('report.export', { fail: 3 });
  const { fingerprint } = await letter(id);
  const list = await same('dead', 'list', '--error', fingerprint);
  assert.match(list, /^ID +TYPE +ERROR +KIND +DIED +MESSAGE +FROM +ATTEMPTS\n/);
  assert.match(list, new RegExp(`^${id} +report.export +${fingerprint} +invalid_input `, 'm'));
  assert.match(await same('dead', 'groups', '--type', 'report.export'),
               new RegExp(`^${fingerprint} +\\d+ +report.export .*order <n> of <text>`, 'm'));
  assert.equal(await same('dead', 'list', '--queue', 'q:none'), 'no dead letters\n');
  assert.match(await same('dead', 'list', '--limit', '1'), /\.\.\. and older ones/);
  const shown = await same('dead', 'show', id);
  assert.match(shown, /^What to do\n {2}Check the report service, then replay\.\n/m);
  assert.match(shown, new RegExp(`pawl dead replay ${id}$`, 'm'));
  for (const words of [['list'], ['groups'], ['show', id]])
    JSON.parse(await same('dead', ...words, '--json'));
});

for (const place of ['server', 'store'])
  test(`OPS_8_the_command_line_closes_letters_on_a_${place}`, async () => {
    const [a, b, c] = [await dead('report.export', { fail: 4 }), await dead('mail.send'),
                       await dead('mail.send')];
    const dry = await good(['dead', 'fix', a, '--payload', '{"n": 1}', '--dry-run'], place);
    assert.equal(dry, '  /fail: 4 -> (nothing)\n  /n: (nothing) -> 1\n');
    const fixed = await good(['dead', 'fix', a, '--payload', '-'], place, '{"n": 1}');
    assert.match(fixed, /\n[0-9a-f-]{36} {2}report.export {2}q:default {2}QUEUED {2}new job\n$/);
    const again = await ask(['dead', 'replay', a], place);
    assert.equal(again.status, 4);
    assert.match(again.err, /was fixed before: a letter is closed once/);
    const bad = '{"password": "hunter2hunter2"}';
    const secret = await ask(['dead', 'fix', b, '--payload', bad], place);
    assert.equal(secret.status, 1);
    assert.match(secret.err, /payload.password: looks like a secret/);
    assert.match(await good(['dead', 'replay', b], place), /new job\n$/);
    assert.match(await good(['dead', 'discard', c, '--reason', 'old'], place), /discarded\n$/);
    assert.match(await good(['dead', 'show', c], place), /^ {2}reason +old$/m);
    await dead('mail.send');
    const many = ['dead', 'discard', '--type', 'mail.send', '--reason', 'old'];
    assert.match(await good([...many, '--dry-run'], place),
                 /^\d+ dead letters? would be discarded\n$/);
    assert.match(await good(many, place), /^\d+ dead letters? discarded\n$/);
  });

test('OPS_8_the_command_line_says_what_is_missing', async () => {
  const unknown = '019f0000-0000-7000-8000-000000000001';
  for (const place of ['server', 'store'])
    for (const [status, wanted, ...words] of [
      [2, /needs an ID, or at least one of --type/, 'replay'],
      [2, /needs an ID, or at least one of --type/, 'discard', '--reason', 'r'],
      [2, /needs --reason/, 'discard', unknown],
      [2, /needs --payload/, 'fix', unknown],
      [2, /exclude each other/, 'replay', unknown, '--type', 'a'],
      [2, /--error must be 12 digits/, 'list', '--error', 'x'],
      [2, /at most 500/, 'replay', '--type', 'a', '--limit', '501'],
      [2, /is no job id/, 'show', 'x'],
      [2, /does not know `bury`/, 'bury', unknown],
      [3, /there is no job/, 'show', unknown],
      [3, /there is no job/, 'replay', unknown],
    ]) {
      const said = await ask(['dead', ...words], place);
      assert.deepEqual([said.status, wanted.test(said.err)], [status, true],
                       `${words}: ${said.err}`);
    }
});

// ----- death

test('OPS_8_killed_while_letters_are_replayed_each_has_one_new_job_or_none', async () => {
  const directory = scratch();
  const port = await freePort();
  let now = await start({ directory, port });
  const ids = [];
  for (let i = 0; i < 60; i++) {
    const { body } = await now.post('/v1/jobs', {
      job_type: 'a', payload: { i }, idempotency_key: `k${i}` });
    ids.push(body.job_id);
  }
  const who = { worker_id: 'w' };
  const { body } = await now.post('/v1/leases', {
    ...who, queues: ['q:default'], max: 60, start: true });
  for (const { exec_id, attempt } of body.executions)
    await now.post(`/v1/executions/${exec_id}/fail`, {
      ...who, attempt, error: { class: 'validation', message: 'no' } });
  const acknowledged = new Map();
  for (let round = 0; round < 6; round++) {
    const some = ids.slice(round * 10, round * 10 + 10);
    const asked = some.map(async (id, i) => {
      const done = i % 2 ? await now.post(at(id, '/replay'))
        : await now.post(at(id, '/fix'), { payload: { fixed: 1 } });
      assert.equal(done.status, 201, done.text);
      acknowledged.set(id, done.body.job_id);
    });
    await asked[round];  // some are answered, some are under way
    const killed = now.kill();
    await Promise.allSettled(asked);
    await killed;
    now = await start({ directory, port });
  }
  const jobs = [];
  for (let cursor = ''; cursor !== null;) {
    const page = (await now.get(`/v1/jobs?limit=500${cursor}`)).body;
    jobs.push(...page.items);
    cursor = page.next_cursor && `&cursor=${page.next_cursor}`;
  }
  for (const id of ids) {
    const made = jobs.filter(({ parent_job_id }) => parent_job_id === id);
    const old = jobs.find(({ job_id }) => job_id === id);
    assert.equal(made.length, old.dead_letter === 'open' ? 0 : 1, `${id} is ${old.dead_letter}`);
    if (acknowledged.has(id)) assert.equal(made[0].job_id, acknowledged.get(id));
  }
  assert.ok(acknowledged.size >= 6);
  await now.stop();
  assert.match(run(directory, 'verify'), /^0 violations$/m);
  rmSync(directory, { recursive: true });
});

test('OPS_8_closing_many_is_bounded_in_rate_for_each_org', async () => {
  const slow = await start({ config: 'limits: {bulk_letters: 1}\njob_types: {a: {run: ["false"]}}\n'
                             + 'policies: {once: {max_attempts: 1}}\n' });
  const add = async (count) => {
    const jobs = Array.from({ length: count }, (_, i) => ({
      job_type: 'a', payload: {}, policy: 'once', idempotency_key: `${count} ${i}` }));
    const { body } = await slow.post('/v1/jobs', { jobs });
    for (const { job } of body.results) await slow.get(`/v1/jobs/${job.job_id}?wait_ms=30000`);
  };
  await add(6);
  const close = (dry_run = false) => slow.post('/v1/deadletter/discard', {
    job_type: 'a', limit: 4, reason: 'a test', dry_run });
  assert.equal((await close()).body.count, 4);
  const refused = await close();
  assert.deepEqual([refused.status, refused.body.code], [429, 'rate_limited']);
  assert.match(refused.headers.get('retry-after'), /^[1-4]$/);
  assert.equal((await close(true)).body.count, 2);  // looking is free
  const words = ['dead', 'discard', '--type', 'a', '--reason', 'x', '--server', slow.url, '--json'];
  const paced = JSON.parse((await cli([...words, '--rate', '1/s'])).out);
  assert.deepEqual([paced.count, paced.more, paced.job_ids.length], [2, false, 2]);
  assert.equal((await cli([...words, '--rate', '1'])).status, 2);
  assert.equal((await cli([...words, '--limit', '600'])).status, 2);
  await slow.stop();
});
