// Ingestion over HTTP, from a real server that behaves well, badly, or not at all.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { Place, rss, serve } from './brief.mjs';

async function within(answers, body) {
  const place = new Place();
  const server = await serve(answers);
  try {
    await body(place, server);
  } finally {
    await server.close();
    place.remove();
  }
}

const send = (body, headers = {}, status = 200) => (request, response) =>
  response.writeHead(status, headers).end(body);
const to = (address) => send('', { location: address }, 302);
const good = rss({ title: 'Ferry runs aground', link: 'http://a.example/ferry' });
const error = (place, name) => place.ask(`SELECT error FROM feeds WHERE name = '${name}'`);

test('SLOT_10_a_feed_is_asked_for_conditionally', () => within({}, async (place, server) => {
  server.answers['/etag'] = (request, response) => {
    if (request.headers['if-none-match'] === '"v1"') response.writeHead(304).end();
    else response.writeHead(200, { etag: '"v1"' }).end(good);
  };
  const day = 'Sat, 14 Mar 2026 10:00:00 GMT';
  server.answers['/date'] = (request, response) => {
    if (request.headers['if-modified-since'] === day) response.writeHead(304).end();
    else response.writeHead(200, { 'last-modified': day })
      .end(rss({ title: 'River floods town', link: 'http://b.example/flood' }));
  };
  const feeds = place.list([['etag', `${server.url}/etag`], ['date', `${server.url}/date`]]);
  await place.must({ feeds });
  const rows = place.dump();
  const second = await place.must({ feeds });
  assert.equal(place.dump(), rows);
  assert.equal(place.number('SELECT count(*) FROM raw_articles'), 2);
  assert.equal(server.of('/etag').at(-1).headers['if-none-match'], '"v1"');
  assert.equal(server.of('/date').at(-1).headers['if-modified-since'], day);
  assert.match(second.log, /2 feeds read, 0 of them bad; 0 articles stored/);
}));

test('SLOT_12_what_comes_later_joins_its_event', () => within({}, async (place, server) => {
  const first = { title: 'Ferry Solveig aground off Calder Bay', link: 'http://a.example/1' };
  const later = { title: 'Inquiry into ferry Solveig, aground off Calder Bay',
                  link: 'http://a.example/2', date: 'Sat, 14 Mar 2026 12:00:00 GMT' };
  server.answers['/f'] = send(rss(first), { etag: '"v1"' });
  const feeds = place.list([['feed', `${server.url}/f`]]);
  await place.must({ feeds });
  server.answers['/f'] = send(rss(later, first), { etag: '"v2"' });
  await place.must({ feeds });
  assert.equal(place.ask('SELECT id, article_count FROM event_clusters'), '1|2');
  await place.must({ feeds });
  assert.equal(place.ask('SELECT id, article_count FROM event_clusters'), '1|2');
  assert.equal(place.ask('SELECT etag FROM feeds'), '"v2"');
}));

test('SLOT_10_bad_feeds_do_not_disturb_the_others', () => within({}, async (place, server) => {
  const big = `<rss><channel>${' '.repeat(5 << 20)}</channel></rss>`;
  const cases = {
    slow: [() => {}, /Timeout was reached/],  // never answers
    trickle: [(request, response) => { response.writeHead(200); response.write('<rss>'); },
              /Timeout was reached/],
    huge: [send(big), /larger than 4 MiB/],
    bomb: [send(gzipSync(big), { 'content-encoding': 'gzip' }), /larger than 4 MiB/],
    gone: [send('', {}, 410), /the server answers 410/],
    broken: [send('', {}, 500), /the server answers 500/],
    empty: [send(''), /line 1: no element found/],
    garbage: [send(Buffer.from([0xff, 0xfe, 0x00, 0x01, 0x02])), /^line 1: /],
    page: [send('<!doctype html><html><body>Hello</body></html>'), /^line 1: /],
    laughs: [send('<!DOCTYPE rss [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]><rss>&b;</rss>'),
             /it declares entities/],
    loop: [to('/loop'), /redirect/i],
    file: [to('file:///etc/passwd'), /protocol/i],
    cut: [(request, response) => {
      response.writeHead(200, { 'content-length': '1000' });
      response.write(good.slice(0, 60));
      response.socket.end();
    }, /Transferred a partial file/],
    reset: [(request) => request.socket.destroy(), /nothing|reset|Failure/i],
  };
  const feeds = [['first', `${server.url}/first`]];
  for (const name of Object.keys(cases)) {
    server.answers[`/${name}`] = cases[name][0];
    feeds.push([name, `${server.url}/${name}`]);
  }
  server.answers['/first'] = send(good);
  server.answers['/moved'] = to('/target/feed.xml');
  server.answers['/target/feed.xml'] = send(rss({ title: 'Moved', link: 'article' }));
  feeds.push(['missing', 'no-such-file.xml'], ['refused', 'http://127.0.0.1:1/'],
             ['moved', `${server.url}/moved`]);
  const list = place.list(feeds);
  const run = await place.must({ feeds: list, words: ['--timeout', '3'] });
  for (const [name, [, why]] of Object.entries(cases))
    assert.match(error(place, name), why, name);
  assert.match(error(place, 'missing'), /No such file/);
  assert.match(error(place, 'refused'), /connect/i);
  assert.equal(error(place, 'first'), '');
  // A relative link counts from where the feed really was.
  assert.equal(place.ask('SELECT url FROM raw_articles ORDER BY id'),
               `http://a.example/ferry\n${server.url}/target/article`);
  for (const name of Object.keys(cases)) assert.match(run.log, new RegExp(`feed "${name}": `));
  // Bad again in the same way is no news; good again is.
  const rows = place.dump();
  await place.must({ feeds: list, words: ['--timeout', '3'] });
  assert.equal(place.dump(), rows);
  server.answers['/gone'] = send(rss({ title: 'Back', link: 'http://c.example/back' }));
  await place.must({ feeds: list, words: ['--timeout', '3'] });
  assert.equal(error(place, 'gone'), '');
  assert.equal(place.ask(`SELECT coalesce(error, 'mended') FROM feed_log
    WHERE feed_id = (SELECT id FROM feeds WHERE name = 'gone') ORDER BY id`),
               'the server answers 410\nmended');
}));

test('SLOT_10_a_feed_without_sense_is_asked_for_again', () => within({}, async (place, server) => {
  server.answers['/f'] = send('garbage', { etag: '"v1"' });
  const feeds = place.list([['feed', `${server.url}/f`]]);
  await place.must({ feeds });
  server.answers['/f'] = (request, response) => {
    response.writeHead(request.headers['if-none-match'] ? 304 : 200, { etag: '"v1"' });
    response.end(request.headers['if-none-match'] ? '' : good);
  };
  await place.must({ feeds });
  assert.equal(place.number('SELECT count(*) FROM raw_articles'), 1);
}));

test('SLOT_10_what_is_too_much_is_the_next_runs', () => within({}, async (place, server) => {
  const words = 'word '.repeat(140);
  const items = (feed) => Array.from({ length: 150 }, (_, i) => (
    { title: `Article ${i} of ${feed}`, link: `http://a.example/${feed}/${i}`, text: words }));
  const feeds = [];
  for (let feed = 0; feed < 18; feed++) {
    server.answers[`/${feed}`] = send(rss(...items(feed)), { etag: `"${feed}"` });
    feeds.push([`feed ${feed}`, `${server.url}/${feed}`]);
  }
  const list = place.list(feeds);
  await place.must({ feeds: list });
  const some = place.number('SELECT count(*) FROM raw_articles');
  assert.ok(some > 500 && some < 2700, `${some}`);  // two runs, if a slot came meanwhile
  for (let runs = 0; runs < 4; runs++) await place.must({ feeds: list });
  assert.equal(place.number('SELECT count(*) FROM raw_articles'), 2700);
  assert.equal(place.number('SELECT count(*) FROM cluster_articles'), 2700);
}));

test('SLOT_10_only_links_of_the_web_are_stored', () => within({}, async (place, server) => {
  server.answers['/f'] = send(rss({ title: 'Bad', link: 'javascript:alert(1)' },
                                  { title: 'Worse', link: 'data:text/html,x' },
                                  { title: 'Good', link: 'https://a.example/x' }));
  await place.must({ feeds: place.list([['feed', `${server.url}/f`]]) });
  assert.equal(place.ask('SELECT url FROM raw_articles'), 'https://a.example/x');
}));

test('SLOT_10_killed_while_a_server_keeps_it_waiting', () => within({}, async (place, server) => {
  let asked;
  const waiting = new Promise((resolve) => { asked = resolve; });
  server.answers['/good'] = send(good);
  server.answers['/slow'] = () => asked();
  const feeds = place.list([['good', `${server.url}/good`], ['slow', `${server.url}/slow`]]);
  const worker = place.start('brief-worker', ['--feeds', feeds, '--once', '--as-of',
                                              '2026-03-14T18:00:00Z']);
  await waiting;
  worker.child.kill('SIGKILL');
  await worker.ended;
  assert.equal(place.number('SELECT count(*) FROM raw_articles'), 0);
  server.answers['/slow'] = send(rss({ title: 'Awake', link: 'http://b.example/awake' }));
  await place.must({ feeds });
  assert.equal(place.number('SELECT count(*) FROM raw_articles'), 2);
  assert.match(place.verify(), /^0 violations$/m);
}));
