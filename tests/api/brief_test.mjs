// The Daily Brief's three jobs: run twice, and killed in the middle. The worker is a real process.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Place, sampleFeeds, sampleTime } from './brief.mjs';

const april = '2026-04-20T18:00:00Z';  // everything in the sample is older than 30 days

async function within(body) {
  const place = new Place();
  try {
    await body(place);
  } finally {
    place.remove();
  }
}

test('SLOT_10_the_sample_edition_is_read', () => within(async (place) => {
  const run = await place.must();
  assert.match(run.out, /^The Daily Brief {2}Saturday 14 March 2026$/m);
  assert.match(run.out, /^40 articles, 15 events, 8 feeds$/m);
  assert.match(run.out, /^ 1\. Ferry Solveig Maren runs aground off Calder Bay$/m);
  assert.match(run.out, /^Not read: Old Town Gazette \(line 13: no element found\)$/m);
  assert.equal(place.ask('SELECT group_concat(DISTINCT kind) FROM feeds WHERE kind IS NOT NULL'),
               'RSS 2.0,Atom,RSS 1.0');
  assert.equal(place.number('SELECT count(*) FROM raw_articles'), 62);
  // Too old to be kept, and one that is in two feeds under one address.
  const count = (where) => place.number(`SELECT count(*) FROM raw_articles WHERE ${where}`);
  assert.equal(count("url LIKE '%january%'"), 0);
  assert.equal(count("url LIKE '%/interest-rate'"), 1);
  assert.equal(count("url LIKE '%utm_%' OR summary LIKE '%<%'"), 0);
  assert.match(place.ask('SELECT title FROM raw_articles'), /Schoolgirl\u2019s photograph/);
}));

test('SLOT_12_articles_about_one_event_are_in_one_cluster', () => within(async (place) => {
  await place.must();
  const sizes = place.ask('SELECT article_count FROM event_clusters ORDER BY 1 DESC').split('\n');
  assert.deepEqual(sizes.map(Number), [6, 5, ...Array(7).fill(4), ...Array(4).fill(3),
                                       ...Array(11).fill(1)]);
  assert.equal(place.number(`SELECT count(*) FROM event_clusters c WHERE article_count <>
    (SELECT count(*) FROM cluster_articles l WHERE l.cluster_id = c.id)`), 0);
  const words = { 1: 'Solveig Maren|ferry', 2: 'Tarle|Wexcombe' };
  for (const [position, pattern] of Object.entries(words)) {
    const texts = place.ask(`SELECT title || ' ' || summary FROM raw_articles WHERE id IN
      (SELECT raw_article_id FROM cluster_articles WHERE cluster_id =
        (SELECT id FROM event_clusters ORDER BY article_count DESC LIMIT 1
         OFFSET ${position - 1}))`);
    for (const text of texts.split('\n')) assert.match(text, new RegExp(pattern, 'i'));
  }
}));

test('SLOT_10_12_13_run_twice_it_changes_nothing', () => within(async (place) => {
  const first = await place.must();
  const rows = place.dump();
  const second = await place.must();
  assert.equal(place.dump(), rows);
  assert.equal(second.out, first.out);
  for (const job of ['ingest', 'cluster', 'retain'])
    assert.match(second.log, new RegExp(`brief\\.${job} end .* s, 0 rows$`, 'm'));
}));

test('SLOT_9_start_end_duration_rows_and_errors_are_logged', () => within(async (place) => {
  const { log } = await place.must();
  for (const job of ['ingest', 'cluster', 'retain']) {
    const start = log.match(new RegExp(`^\\S+Z brief\\.${job} start +job=(\\S+) `, 'm'));
    assert.ok(start, log);
    assert.match(log, new RegExp(`^\\S+Z brief\\.${job} end +job=${start[1]} succeeded after `
                                 + '\\d+\\.\\d{3} s, \\d+ rows$', 'm'));
  }
  assert.match(log, /brief\.ingest end .* 62 rows$/m);
  assert.match(log, /brief\.ingest note .* 8 feeds read, 1 of them bad; 62 articles stored/);
  assert.match(log, /brief\.ingest warn .* feed "Old Town Gazette": line 13: no element found$/m);
}));

test('SLOT_13_retention_purges_only_what_nothing_needs', () => within(async (place) => {
  await place.must();
  const run = await place.must({ at: april });
  // What was published stays with all of its articles; the rest goes.
  assert.equal(place.ask('SELECT group_concat(day) FROM published_briefs'),
               '2026-03-12,2026-03-13,2026-03-14');
  assert.match(run.log, /brief\.retain end .* 34 rows$/m);
  assert.match(run.log, /brief\.retain note .* deleted 11 of cluster_articles, /);
  assert.match(run.log, / 11 of event_clusters, 11 of raw_articles, 1 of feed_log$/m);
  assert.equal(place.number('SELECT count(*) FROM raw_articles'), 51);
  assert.equal(place.number('SELECT count(*) FROM feeds'), 8);
  assert.equal(place.number(`SELECT count(*) FROM brief_items i
    LEFT JOIN raw_articles a ON a.id = i.raw_article_id
    LEFT JOIN event_clusters c ON c.id = i.cluster_id WHERE a.id IS NULL OR c.id IS NULL`), 0);
  assert.equal(place.number(`SELECT count(*) FROM event_clusters c WHERE article_count <>
    (SELECT count(*) FROM cluster_articles l WHERE l.cluster_id = c.id)`), 0);
  const rows = place.dump();
  const again = await place.must({ at: april });
  assert.match(again.log, /brief\.retain note .* deleted 0 of cluster_articles, 0 of event_cl/);
  assert.equal(place.dump(), rows);
}));

test('SLOT_13_published_briefs_are_immutable', () => within(async (place) => {
  await place.must();
  for (const sql of ['DELETE FROM brief_items', 'UPDATE brief_items SET headline = 1',
                     'DELETE FROM published_briefs', "UPDATE published_briefs SET day = ''"])
    assert.throws(() => place.ask(sql), /a published brief is immutable/);
  assert.throws(() => place.ask('PRAGMA foreign_keys = ON; DELETE FROM cluster_articles;'
    + ' DELETE FROM event_clusters WHERE id IN (SELECT cluster_id FROM brief_items)'),
                /FOREIGN KEY constraint failed/);
}));

// ----- two runs that prepared the same

async function together(place, point, job) {
  const words = ['--feeds', sampleFeeds, '--keep-days', '3650'];  // by the clock: it is old news
  const worker = place.start('brief-worker-mortal', words, { BRIEF_MEETS_AT: point });
  try {
    const ends = await Promise.all([1, 2].map(() => place.enqueue(job)));
    assert.deepEqual(ends, [0, 0], worker.log);
  } finally {
    worker.child.kill('SIGTERM');
    await worker.ended;
  }
  return worker.log;
}

test('SLOT_10_two_ingestions_at_once_store_an_article_once', () => within(async (place) => {
  const log = await together(place, 'ingest.prepared', 'brief.ingest');
  assert.equal(place.number('SELECT count(*) FROM raw_articles'), 64);
  assert.match(log, / 64 articles stored, 1 twice/);
  assert.match(log, / 0 articles stored, 65 twice/);
}));

test('SLOT_12_two_clusterings_at_once_count_a_link_once', () => within(async (place) => {
  await place.once({ diesAt: 'rss_ingestion' });  // articles, and no clusters yet
  assert.equal(place.number('SELECT count(*) FROM cluster_articles'), 0);
  const log = await together(place, 'cluster.prepared', 'brief.cluster');
  assert.match(log, / 62 articles in clusters, 24 clusters new/);
  assert.match(log, / 0 articles in clusters, 0 clusters new/);
  const { march } = await undisturbed();
  for (const table of ['event_clusters', 'cluster_articles'])
    assert.ok(march.includes(place.dump([table])));
}));

// ----- kill -9

const deaths = ['ingest.fetched', 'ingest.prepared', 'ingest.half', 'ingest.stored',
                'rss_ingestion', 'cluster.read', 'cluster.prepared', 'cluster.half',
                'cluster.stored', 'event_clustering', 'retain.prepared', 'retain.half',
                'retain.stored', 'retention_cleanup'];

// The undisturbed tables, of the sample's day and of a day on which all of it is old.
let expected;
async function undisturbed() {
  if (expected) return expected;
  await within(async (place) => {
    await place.must();
    const march = place.dump();
    await place.must({ at: april });
    expected = { march, april: place.dump() };
  });
  return expected;
}

for (const point of deaths) {
  const number = { r: point.startsWith('rss') ? 10 : 13, i: 10, c: 12, e: 12 }[point[0]];
  test(`SLOT_${number}_killed_at_${point.replace('.', '_')}_and_started_again`,
       () => within(async (place) => {
    const { march, april: later } = await undisturbed();
    let dead = await place.once({ diesAt: point });
    assert.equal(dead.signal, 'SIGKILL', dead.log);
    await place.must();
    assert.equal(place.dump(), march);
    dead = await place.once({ at: april, diesAt: point });
    if (!/\.half$/.test(point) || point === 'retain.half')  // nothing new: no row to stop at
      assert.equal(dead.signal, 'SIGKILL', dead.log);
    await place.must({ at: april });
    assert.equal(place.dump(), later);
    assert.match(place.verify(), /^0 violations$/m);
  }));
}

test('SLOT_8_each_run_by_hand_claims_a_slot', () => within(async (place) => {
  await place.must();
  await place.must();
  const runs = 'SELECT job_name, status, count(DISTINCT scheduled_for) FROM job_runs GROUP BY 1, 2';
  assert.equal(place.ask(`${runs} ORDER BY 1`), 'event_clustering|success|2\n'
    + 'retention_cleanup|success|2\nrss_ingestion|success|2');
}));

test('SLOT_6_a_run_that_died_is_closed_by_the_next_worker', () => within(async (place) => {
  await place.once({ diesAt: 'ingest.half' });
  assert.equal(place.ask('SELECT job_name, status FROM job_runs'), 'rss_ingestion|running');
  await place.must();
  assert.equal(place.ask(`SELECT status, error_message FROM job_runs
    WHERE job_name = 'rss_ingestion' ORDER BY id`), 'failed|worker_startup_recovery\nsuccess|');
}));

test('SLOT_1_the_worker_schedules_until_it_is_told_to_end', () => within(async (place) => {
  const worker = place.start('brief-worker', []);
  while (!/SCHEDULER_LEADS/.test(worker.log)) {
    const over = await Promise.race([worker.ended, new Promise((go) => setTimeout(go, 20))]);
    assert.equal(over, undefined, worker.log);
  }
  worker.child.kill('SIGTERM');
  const { status } = await worker.ended;
  assert.equal(status, 0);
  assert.equal(place.ask('SELECT name, cron, coalesce, max_instances FROM schedules ORDER BY 1'),
               'event_clustering|5,20,35,50 * * * *|1|1\nretention_cleanup|30 3 * * *|1|1\n'
               + 'rss_ingestion|*/15 * * * *|1|1');
}));

test('bad_usage_is_said', () => within(async (place) => {
  for (const words of [['--as-of', sampleTime], ['--once', '--as-of', 'soon'], ['--keep-days', '0'],
                       ['--timeout', 'x'], ['word']]) {
    const run = await place.start('brief-worker', words).ended;
    assert.equal(run.status, 2);
    assert.match(run.log, /^usage: /m);
  }
  for (const program of ['brief-worker', 'brief-web']) {
    const asked = await place.start(program, ['--help']).ended;
    assert.equal(asked.status, 0);
    assert.match(asked.out, /^usage: .*--store URL/m);
  }
  const list = place.list([['good', 'a.xml'], ['no bar'], ['bad', 'ftp://a.example/'], ['', 'x']]);
  const run = await place.once({ feeds: list });
  assert.equal(run.status, 1);
  assert.match(run.log, /see line 2, 3, 4$/m);
}));
