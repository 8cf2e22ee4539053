// Schedules on real servers: what comes by the clock runs once and is on record, whoever dies,
// changes the terms, pauses or takes over. Nothing here is judged by how long it took: a test waits
// until the records say so, and then looks at all of them.
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cli, withServer } from './cli.mjs';
import { makeKey, run, sanitized, scratch, start } from './server.mjs';

const terms = { coalesce: true, misfire_grace_time: '300s', max_instances: 1,
                expected_max_runtime: '30s' };

// A type `tick` that does this, and these schedules.
function config(script, schedules) {
  return JSON.stringify({  // which is YAML too
    limits: { grace: '1s' },
    job_types: { tick: { run: ['/bin/sh', '-c', script] } },
    schedules,
  });
}

const secondly = (more = {}) => ({ job_type: 'tick', every: '1s', ...terms, ...more });
const never = (more = {}) => ({ job_type: 'tick', cron: '0 0 29 2 *', ...terms, ...more });

async function until(what, look) {
  for (let i = 0; i < 3000; i++) {
    const found = await look();
    if (found) return found;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error(`never: ${what}`);
}

async function all(server, path) {
  const items = [];
  for (let cursor = ''; ;) {
    const { status, body, text } = await server.get(`${path}?limit=500${cursor}`);
    assert.equal(status, 200, text);
    items.push(...body.items);
    if (!body.next_cursor) return items;
    cursor = `&cursor=${body.next_cursor}`;
  }
}

const runsOf = (server, name) => all(server, `/v1/schedules/${name}/runs`);
const skipsOf = (server, name) => all(server, `/v1/schedules/${name}/skips`);
const ended = (runs) => runs.filter(({ status }) => status !== 'running');

async function ran(server, name, count, status = 'success') {
  return until(`${count} runs of ${name} are ${status}`, async () => {
    const runs = await runsOf(server, name);
    return runs.filter((one) => one.status === status).length >= count && runs;
  });
}

// Every second from the first slot on record to the last was claimed or skipped, and none of them
// both or twice.
async function accounted(server, name) {
  const seconds = [];
  const at = (time) => Date.parse(time) / 1000;
  for (const { scheduled_for } of await runsOf(server, name)) seconds.push(at(scheduled_for));
  for (const skip of await skipsOf(server, name))
    for (let second = at(skip.scheduled_for); second <= at(skip.until); second++)
      seconds.push(second);
  seconds.sort((a, b) => a - b);
  const want = seconds.map((_, i) => seconds[0] + i);
  assert.deepEqual(seconds, want, `${name} lost or repeated a slot`);
  return seconds.length;
}

async function reload(server, text) {
  const before = server.log.length;
  writeFileSync(join(server.directory, 'pawl.yaml'), text);
  server.child.kill('SIGHUP');
  return until('the configuration was read again', () =>
    server.log.slice(before).match(/CONFIG_LOADED|CONFIG_REFUSED/)?.[0]);
}

const metric = async (server, name) => Number(
  (await server.get('/metrics')).text.match(new RegExp(`^${name} (.*)$`, 'm'))?.[1]);

async function inScratch(work) {
  const directory = scratch();
  const servers = [];
  const begin = async (options) => {
    const server = await start({ directory, ...options });
    servers.push(server);
    return server;
  };
  try {
    await work(begin, directory);
    assert.match(run(directory, 'verify'), /^0 violations$/m);
  } finally {
    for (const { child } of servers) child.kill('SIGKILL');
    await Promise.all(servers.map((server) => server.ended));
    rmSync(directory, { recursive: true, force: true });
  }
}

// ----- the terms

test('SLOT_7_a_schedule_that_leaves_a_term_out_is_refused_with_its_place', async () => {
  const directory = scratch();
  const file = join(directory, 'pawl.yaml');
  for (const term of Object.keys(terms)) {
    const rest = Object.entries(secondly()).filter(([key]) => key !== term);
    writeFileSync(file, `schedules:\n  nightly:\n${rest.map(([key, value]) =>
      `    ${key}: ${value}\n`).join('')}`);
    for (const words of [['config', 'check', file], ['serve', '--config', file]]) {
      const { status, err } = await cli(words, { cwd: directory });
      assert.equal(status, 1, err);
      assert.match(err, new RegExp(`pawl.yaml:2:3: schedules.nightly: ${term}: must be said`));
    }
  }
  rmSync(directory, { recursive: true });
});

test('SLOT_7_over_HTTP_a_schedule_is_refused_with_every_problem_it_has', async () => {
  await withServer({}, async (server) => {
    const put = (name, json) => server.ask('PUT', `/v1/schedules/${name}`, json);
    const fields = ({ body }) => body.errors.map(({ field }) => field).sort();
    const empty = await put('nightly', {});
    assert.deepEqual(fields(empty), ['coalesce', 'cron', 'expected_max_runtime', 'job_type',
                                     'max_instances', 'misfire_grace_time']);
    const wrong = await put('nightly', { ...never(), cron: '61 * * * *', timezone: 'Mars/Base',
                                         policy: 'schedled', jitter: 7, nope: 1, queue: 'a b',
                                         payload: { smtp: { password: 'hunter2' } } });
    assert.deepEqual(fields(wrong), ['cron', 'jitter', 'nope', 'payload.smtp.password', 'policy',
                                     'queue', 'timezone']);
    assert.match(JSON.stringify(wrong.body), /minute `61`: may be 0 to 59/);
    assert.ok(!wrong.text.includes('hunter2'));
    assert.deepEqual(fields(await put('x'.repeat(129), never())), ['name']);
    assert.equal((await put('x'.repeat(128), never())).status, 201);
    assert.equal((await server.get('/v1/schedules')).body.items.length, 1);
  });
});

// ----- runs

test('SLOT_5_a_schedule_of_the_configuration_runs_its_command_and_its_rows_say_success',
     async () => {
  await withServer({ config: config('cat', { fast: secondly({ payload: { n: 7 } }) }) },
                   async (server) => {
    const [newest] = ended(await ran(server, 'fast', 3));
    const { body } = await server.get(`/v1/jobs/${newest.job_id}`);
    assert.deepEqual([body.state, body.policy, body.category, body.queue, body.scheduled_for],
                     ['SUCCEEDED', 'scheduled', 'maintenance', 'q:maintenance',
                      newest.scheduled_for]);
    assert.deepEqual(body.result, { n: 7 });
    assert.equal(newest.finished_at, body.completed_at);
    assert.match(newest.worker_instance, /:/);
    assert.ok(await accounted(server, 'fast') >= 3);
    assert.equal(await metric(server, 'pawl_scheduler_leads'), 1);
    assert.ok(await metric(server, 'pawl_slots_claimed_total') >= 3);
    assert.match(server.log, /RUN_ENDED.*succeeded after [\d.]+ s/);
  });
});

test('SLOT_5_a_job_that_fails_closes_its_row_with_what_it_said', async () => {
  await withServer({ config: config('echo no luck >&2; exit 65', { bad: secondly() }) },
                   async (server) => {
    const runs = await ran(server, 'bad', 1, 'failed');
    assert.match(ended(runs)[0].error_message, /no luck/);
  });
});

test('SLOT_6_killed_in_a_run_its_row_is_failed_at_the_next_start', async () => {
  await inScratch(async (begin) => {
    const hang = 'touch begun; sleep 600';
    const text = config(hang, { slow: secondly() });
    const first = await begin({ config: text });
    await until('it runs', () => existsSync(join(first.directory, 'begun')));
    const [{ scheduled_for }] = await runsOf(first, 'slow');
    await first.kill();
    const second = await begin({ config: text, port: first.port });
    const found = (await runsOf(second, 'slow')).find((one) => one.scheduled_for === scheduled_for);
    assert.deepEqual([found.status, found.error_message], ['failed', 'worker_startup_recovery']);
    assert.ok(found.finished_at);
    const { body } = await second.get(`/v1/jobs/${found.job_id}`);
    assert.deepEqual([body.state, body.failure_type], ['FAILED', 'PROCESS_TERMINATED']);
    assert.equal(await metric(second, 'pawl_runner_recovered_total'), 1);
    assert.equal(await metric(second, 'pawl_slots_recovered_total'), 1);
    assert.match(second.log, /SLOTS_RECOVERED.*1 slots that an earlier process/);
    await until('it goes on', async () => (await runsOf(second, 'slow'))[0].status === 'running');
    await accounted(second, 'slow');
    await second.stop();
  });
});

// ----- who schedules

test('SLOT_1_of_two_servers_one_schedules_and_the_other_takes_over_when_it_is_killed',
     async () => {
  await inScratch(async (begin) => {
    const text = config('cat', { fast: secondly() });
    const both = [await begin({ config: text }), await begin({ config: text })];
    const leads = (server) => metric(server, 'pawl_scheduler_leads');
    await ran(both[0], 'fast', 2);
    const first = await leads(both[0]);
    assert.equal(await leads(both[1]), 1 - first);
    const [one, two] = first ? both : both.reverse();
    const had = await runsOf(two, 'fast');
    await one.kill();
    await until('the other leads', async () => await leads(two) === 1);
    await until('it says so', () => /SCHEDULER_LEADS.*term 2/.test(two.log));
    await ran(two, 'fast', had.length + 2);
    await accounted(two, 'fast');
    const three = await begin({ config: text, port: one.port });
    await two.stop();  // gives the lead up
    await until('the third leads', async () => await leads(three) === 1);
    await accounted(three, 'fast');
    await three.stop();
  });
});

test('SLOT_1_the_API_alone_never_schedules_and_a_worker_does', async () => {
  await inScratch(async (begin) => {
    const text = config('cat', { fast: secondly(), other: never() });
    const api = await begin({ config: text, words: ['--only', 'api'] });
    const made = await api.ask('PUT', '/v1/schedules/made', secondly());
    assert.equal(made.status, 201);
    await until('its first slot has passed', () => Date.now() > Date.parse(made.body.next) + 1000);
    assert.deepEqual((await api.get('/v1/schedules')).body.items.map(({ name }) => name), ['made']);
    assert.deepEqual(await runsOf(api, 'made'), []);
    assert.deepEqual([await metric(api, 'pawl_scheduler_leads'),
                      await metric(api, 'pawl_slots_claimed_total')], [0, 0]);
    const worker = await begin({ config: text, words: ['--only', 'worker'] });
    await ran(api, 'made', 1);
    await ran(api, 'fast', 1);
    await accounted(api, 'made');
    assert.equal(await metric(worker, 'pawl_scheduler_leads'), 1);
    await worker.stop();
    await api.stop();
  });
});

// ----- changes

test('SLOT_3_changed_by_HTTP_and_by_reload_no_slot_is_lost_and_none_comes_twice', async () => {
  const text = (n) => config('cat', { file: secondly({ expected_max_runtime: `${n}s` }) });
  await inScratch(async (begin) => {
    const server = await begin({ config: text(5) });
    const put = (n) => server.ask('PUT', '/v1/schedules/made', secondly({ max_instances: n }));
    assert.equal((await put(1)).status, 201);
    for (let n = 2; n < 40; n++) {
      assert.equal((await put(n)).status, 200);
      if (n % 10 === 0) assert.equal(await reload(server, text(n)), 'CONFIG_LOADED');
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    const { body } = await server.get('/v1/schedules/file');
    assert.equal(body.expected_max_runtime, '30s');
    for (const name of ['made', 'file']) {
      await ran(server, name, 2);
      await accounted(server, name);
    }
    await server.stop();
  });
});

test('SLOT_3_what_the_configuration_has_is_changed_there_and_taken_back_with_it', async () => {
  await inScratch(async (begin) => {
    const server = await begin({ config: config('cat', { file: never(), gone: secondly() }) });
    const names = async () => (await server.get('/v1/schedules')).body.items
      .map(({ name, source }) => `${name} ${source}`);
    const asked = ['PUT', 'DELETE'].map((method) =>
      server.ask(method, '/v1/schedules/file', method === 'PUT' ? never() : undefined));
    for (const { status, body } of await Promise.all(asked))
      assert.deepEqual([status, body.code], [409, 'conflict']);
    await server.ask('PUT', '/v1/schedules/made', never());
    const runs = await ran(server, 'gone', 1);

    const clash = config('cat', { added: never(), made: never() });
    assert.equal(await reload(server, clash), 'CONFIG_REFUSED');
    assert.match(server.log, /CONFIG_REFUSED.*schedules\.made: schedule made comes from the api/);
    assert.deepEqual(await names(), ['file config', 'gone config', 'made api']);

    assert.equal(await reload(server, config('cat', { file: never() })), 'CONFIG_LOADED');
    assert.deepEqual(await names(), ['file config', 'made api']);
    assert.equal((await server.get('/v1/schedules/gone')).status, 404);
    assert.ok((await runsOf(server, 'gone')).length >= runs.length);
    assert.equal((await server.ask('DELETE', '/v1/schedules/made')).status, 200);
    assert.equal((await server.ask('PUT', '/v1/schedules/gone', never())).status, 201);
    assert.ok((await runsOf(server, 'gone')).length >= runs.length);
    await server.stop();
  });
});

test('SLOT_7_a_pause_outlives_reloads_and_restarts_and_its_slots_keep_that_reason', async () => {
  await inScratch(async (begin) => {
    const text = config('cat', { fast: secondly(), born: never({ paused: true }) });
    const first = await begin({ config: text });
    await ran(first, 'fast', 1);
    const { body } = await first.post('/v1/schedules/fast/pause');
    assert.deepEqual([body.paused, typeof body.paused_by], [true, 'string']);
    const since = new Date().toISOString();  // a busy machine may have skipped one before
    assert.equal((await first.post('/v1/schedules/born/resume')).body.paused, false);
    assert.equal(await reload(first, text), 'CONFIG_LOADED');
    await first.kill();
    const second = await begin({ config: text, port: first.port });
    const paused = async (name) => (await second.get(`/v1/schedules/${name}`)).body.paused;
    assert.deepEqual([await paused('fast'), await paused('born')], [true, false]);
    const before = (await runsOf(second, 'fast')).length;
    const skips = await until('slots are skipped', async () => {
      const found = (await skipsOf(second, 'fast')).filter((skip) => skip.scheduled_for > since);
      return found.length >= 2 && found;
    });
    assert.deepEqual([...new Set(skips.map(({ reason }) => reason))], ['paused']);
    assert.equal((await runsOf(second, 'fast')).length, before);
    await second.post('/v1/schedules/fast/resume');
    await ran(second, 'fast', before + 1);
    await accounted(second, 'fast');
    await second.stop();
  });
});

test('SLOT_7_a_slot_that_finds_the_last_one_running_is_skipped_and_the_command_line_says_why',
     async () => {
  await withServer({ config: config('sleep 2.5', { slow: secondly() }) }, async (server) => {
    const skips = await until('slots are skipped', async () => {
      const found = await skipsOf(server, 'slow');
      return found.length >= 2 && found;
    });
    assert.ok(skips.every(({ reason }) => reason === 'max_instances'));
    assert.ok(await metric(server, 'pawl_slots_skipped_total{reason="max_instances"}') >= 2);
    assert.equal(await metric(server, 'pawl_slots_missed_total'), 0);
    await accounted(server, 'slow');
    const { out } = await cli(['schedule', 'skips', 'slow', '--server', server.url]);
    assert.match(out, /max_instances +as many as may run at once still ran/);
    assert.match(out, /What to do\n {2}max_instances: see `pawl schedule runs`/);
  });
});

// ----- by hand

test('SLOT_8_whoever_triggers_a_slot_at_the_same_time_one_gets_it', async () => {
  await withServer({ config: config('cat', { slow: never({ max_instances: 50 }) }) },
                   async (server) => {
    const at = '/v1/schedules/slow/trigger';
    for (const slot of ['2026-01-01T00:00:00Z', '2026-01-02T00:00:00Z']) {
      const answers = await Promise.all(Array.from({ length: 10 }, () =>
        server.post(at, { scheduled_for: slot })));
      const codes = answers.map(({ status, body }) => `${status} ${body.code ?? ''}`).sort();
      assert.deepEqual(codes, ['201 ', ...Array(9).fill('409 slot_claimed')]);
    }
    const runs = await ran(server, 'slow', 2);
    assert.equal(runs.length, 2);
    for (const slot of ['2026-01-01T00:00:00.5Z', '2099-01-01T00:00:00Z'])
      assert.equal((await server.post(at, { scheduled_for: slot })).status, 422);
  });
});

test('SLOT_8_a_backfill_runs_the_slots_of_a_range_that_nobody_ran', async () => {
  await inScratch(async (begin) => {
    const script = 'read -r line; echo "$line" >>ran';
    const server = await begin({ config: config(script, {
      daily: { job_type: 'tick', cron: '0 3 * * *', timezone: 'Europe/Berlin', ...terms } }) });
    const at = '/v1/schedules/daily';
    await server.post(`${at}/trigger`, { scheduled_for: '2026-03-29T01:00:00Z' });
    await ran(server, 'daily', 1);
    const range = { from: '2026-03-27T00:00:00Z', to: '2026-03-31T00:00:00Z' };
    const plan = await server.post(`${at}/backfill`, { ...range, dry_run: true });
    const times = ['2026-03-27T02:00:00.000Z', '2026-03-28T02:00:00.000Z',
                   '2026-03-30T01:00:00.000Z'];
    assert.deepEqual(plan.body.claimed, times.map((scheduled_for) =>
      ({ scheduled_for, job_id: null })));
    assert.deepEqual(plan.body.taken, ['2026-03-29T01:00:00.000Z']);
    const done = await server.post(`${at}/backfill`, range);
    assert.deepEqual(done.body.claimed.map((one) => one.scheduled_for), times);
    await ran(server, 'daily', 4);
    assert.equal(readFileSync(join(server.directory, 'ran'), 'utf8').trim().split('\n').length, 4);
    const again = await server.post(`${at}/backfill`, range);
    assert.deepEqual([again.body.count, again.body.taken.length], [0, 4]);
    const many = await server.post(`${at}/backfill`, { ...range, from: '2020-01-01T00:00:00Z' });
    assert.equal(many.status, 413);
    await server.stop();
  });
});

// Earlier configurations live on, so each is no larger than what it says.
test('SLOT_7_a_configuration_read_again_keeps_no_copy_of_a_time_zone_for_each_schedule',
     { skip: sanitized }, async () => {
  const schedules = {};
  for (let i = 0; i < 1000; i++) schedules[`s${i}`] = never({ timezone: 'Europe/Berlin' });
  const text = config('true', schedules);
  await inScratch(async (begin) => {
    const server = await begin({ config: text });
    const bytes = () => 1024 * Number(
      readFileSync(`/proc/${server.child.pid}/status`, 'utf8').match(/^RssAnon:\s+(\d+)/m)[1]);
    await reload(server, text);  // what the allocator keeps for itself is there now
    const before = bytes();
    for (let i = 0; i < 8; i++) assert.equal(await reload(server, text), 'CONFIG_LOADED');
    const each = (bytes() - before) / 8;
    assert.ok(each < 4e6, `${each} bytes for 1,000 schedules`);
  });
});

test('OPS_10_the_configuration_shows_no_schedule_of_another_org', async () => {
  const directory = scratch();
  const org = '01900000-0000-7000-8000-00000000000a';
  const key = makeKey(directory, 'admin', { org }).key, other = makeKey(directory, 'admin').key;
  const server = await start({ directory,
                               config: config('true', { theirs: never({ org }), ours: never() }) });
  const names = async (asks) =>
    Object.keys((await server.get('/v1/config', { key: asks })).body.schedules);
  assert.deepEqual(await names(key), ['theirs']);
  assert.deepEqual(await names(other), ['ours']);
  await server.stop();
  rmSync(directory, { recursive: true });
});
