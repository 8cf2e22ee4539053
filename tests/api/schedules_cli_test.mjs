// `pawl schedules` and `pawl schedule`, asked of a server and of its store: both say the same.
import { test, before, after } from 'node:test';
import assert from 'node:assert/strict';
import { cli, still } from './cli.mjs';
import { start } from './server.mjs';

const config = `
job_types:
  count: {run: ["/bin/sh", "-c", "cat"]}
schedules:
  nightly: {job_type: count, payload: {n: 1}, cron: "30 2 * * *", timezone: Europe/Berlin,
            coalesce: true, misfire_grace_time: 5m, max_instances: 3, expected_max_runtime: 1m}
  rare: {job_type: count, every: 300d, coalesce: false, misfire_grace_time: 1h, max_instances: 1,
         expected_max_runtime: 5s, catch_up: 4, jitter: 10s, policy: maintenance, paused: true}
`;

let server, places;

before(async () => {
  server = await start({ config });
  places = { server: ['--server', server.url],
             store: ['--store', `sqlite:${server.directory}/pawl.db`] };
});
after(() => server?.stop());

const ask = (words, place = 'server') => cli([...words, ...places[place]]);

async function good(words, place) {
  const { status, out, err } = await ask(words, place);
  assert.deepEqual([status, err], [0, ''], `${words}: ${err}`);
  return out;
}

// The same by both ways, but for how long ago it is.
async function same(...words) {
  const [one, two] = [await good(words), await good(words, 'store')];
  assert.equal(still(one), still(two));
  return one;
}

async function ended(name) {
  for (;;) {
    const { items } = JSON.parse(await good(['schedule', 'runs', name, '--json']));
    if (items.every(({ status }) => status !== 'running')) return items;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

test('SLOT_8_trigger_needs_a_slot_and_claims_it_once_by_either_way', async () => {
  const none = await ask(['schedule', 'trigger', 'nightly']);
  assert.equal(none.status, 2);
  assert.match(none.err, /needs --slot/);
  const from_now = await ask(['schedule', 'trigger', 'nightly', '--slot', '+5m']);
  assert.equal(from_now.status, 2);
  for (const [place, other, day] of [['server', 'store', '01'], ['store', 'server', '02']]) {
    const words = ['schedule', 'trigger', 'nightly', '--slot', `2026-03-${day}T01:30:00Z`];
    assert.match(await good(words, place), /^[0-9a-f-]{36} {2}count {2}q:maintenance {2}QUEUED\n$/);
    for (const again of [place, other]) {
      const { status, err } = await ask(words, again);
      assert.equal(status, 4);
      assert.match(err, /slot 2026-03-0\dT01:30:00.000Z of schedule nightly is claimed already/);
    }
  }
  assert.equal((await ended('nightly')).length, 2);
});

test('SLOT_8_backfill_says_first_what_it_would_do', async () => {
  const range = ['schedule', 'backfill', 'nightly', '--from', '2026-03-01T00:00:00Z',
                 '--to', '2026-03-04T00:00:00Z'];
  assert.match(await same(...range, '--dry-run'),
               /^SLOT +JOB\n2026-03-03T01:30:00Z +-\n1 slot would be claimed, 2 had been claimed/);
  assert.equal((await ask(range.slice(0, 5))).status, 2);
  assert.match(await good(range, 'store'),
               /^SLOT.*\n2026-03-03T01:30:00Z.*\n1 slot claimed, 2 had/);
  const again = JSON.parse(await good([...range, '--json']));
  assert.deepEqual([again.count, again.claimed, again.taken.length], [0, [], 3]);
  assert.equal((await ended('nightly')).length, 3);
});

test('SLOT_7_lists_show_what_comes_and_what_came', async () => {
  await ended('nightly');
  const list = await same('schedules');
  assert.match(list, /^SCHEDULE +WHEN +NEXT +DUE +PAUSED +RUNNING +TYPE +SOURCE\n/);
  assert.match(list, /^nightly +30 2 \* \* \* Europe\/Berlin +2\S+T0[01]:30:00Z +in .* config$/m);
  assert.match(list, /^rare +every 300d .* yes +0 /m);
  assert.deepEqual(JSON.parse(await same('schedules', '--json')).items.map(({ name }) => name),
                   ['nightly', 'rare']);
  const one = await same('schedules', '--limit', '1');
  assert.match(one, /\.\.\. and more: --limit shows them/);
  const runs = await same('schedule', 'runs', 'nightly', '--limit', '2');
  assert.match(runs, /^2026-03-03T01:30:00Z +success +2\S+ +\d+\.\d s +\S+ +[0-9a-f-]{36} +-$/m);
  assert.match(runs, /\.\.\. and more/);
  await same('schedule', 'runs', 'nightly', '--json');
  assert.equal(await same('schedule', 'skips', 'nightly'), 'no slot of it was skipped\n');
});

test('SLOT_7_next_shows_what_the_clock_does_to_slots', async () => {
  const next = await same('schedule', 'next', 'nightly', '--from', '2026-03-28T00:00:00Z',
                          '--count', '3');
  assert.match(next, /^2026-03-28T01:30:00Z +2026-03-28T02:30:00\+01:00 +.* ago +-$/m);
  assert.match(next, /^2026-03-29T01:00:00Z +2026-03-29T03:00:00\+02:00 .* its time does not/m);
  assert.match(next, /^2026-03-30T00:30:00Z +2026-03-30T02:30:00\+02:00/m);
  const { items } = JSON.parse(await same('schedule', 'next', 'rare', '--json'));
  assert.equal(items.length, 10);
});

test('SLOT_7_show_says_the_terms_in_words_and_pause_and_resume_are_seen', async () => {
  assert.match(await same('schedule', 'show', 'nightly'), /at 2:30, Europe\/Berlin/);
  assert.match(await same('schedule', 'show', 'rare'),
               /several +of several that are due at once the last 4 run, spread over 10s/);
  const { payload } = JSON.parse(await same('schedule', 'show', 'nightly', '--json'));
  assert.deepEqual(payload, { n: 1 });
  for (const place of Object.keys(places)) {
    assert.equal(await good(['schedule', 'pause', 'nightly'], place), 'nightly paused\n');
    assert.match(await same('schedule', 'show', 'nightly'), /paused +\S+ \(.*\) by /);
    assert.equal(JSON.parse(await good(['schedule', 'resume', 'nightly', '--json'], place)).paused,
                 false);
  }
});

test('SLOT_8_what_is_not_there_and_what_is_not_said_is_refused', async () => {
  for (const place of Object.keys(places)) {
    for (const verb of ['show', 'next', 'runs', 'skips', 'pause', 'resume']) {
      const { status, err } = await ask(['schedule', verb, 'nope'], place);
      assert.deepEqual([status, err], [3, 'pawl: there is no schedule nope\n'], `${verb} ${place}`);
    }
  }
  assert.equal((await ask(['schedule', 'smash', 'nightly'])).status, 2);
  assert.equal((await ask(['schedule', 'show'])).status, 2);
});

test('SLOT_8_the_slot_of_a_trigger_may_be_now_in_whole_seconds', async () => {
  const before = Date.now();
  const job = JSON.parse(await good(['schedule', 'trigger', 'nightly', '--slot', 'now', '--json']));
  const { items } = JSON.parse(await good(['schedule', 'runs', 'nightly', '--json']));
  const slot = items.find((run) => run.job_id === job.job_id).scheduled_for;
  assert.match(slot, /:\d\d\.000Z$/);
  assert.ok(Date.parse(slot) > before - 1000 && Date.parse(slot) <= Date.now(), slot);
});
