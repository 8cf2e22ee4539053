// The page of the Daily Brief: what it shows, what it escapes, and that it only reads.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { Place, rss, serve } from './brief.mjs';

async function within(body) {
  const place = new Place();
  const web = place.start('brief-web', ['--listen', '127.0.0.1:0']);
  try {
    while (!web.out.includes('\n')) {
      const over = await Promise.race([web.ended, new Promise((go) => setTimeout(go, 10))]);
      assert.equal(over, undefined, web.log);
    }
    await body(place, web.out.match(/http:\S+:\d+/)[0]);
  } finally {
    web.child.kill('SIGTERM');
    const { status } = await web.ended;
    place.remove();
    assert.equal(status, 0);
  }
}

test('SLOT_1_the_page_shows_the_brief', () => within(async (place, url) => {
  await place.must();
  const page = await fetch(`${url}/`);
  assert.equal(page.status, 200);
  assert.match(page.headers.get('content-type'), /^text\/html; charset=utf-8$/);
  assert.match(page.headers.get('content-security-policy'), /default-src 'none'/);
  const html = await page.text();
  assert.match(html, /<time datetime="2026-03-14">Saturday 14 March 2026<\/time>/);
  assert.match(html, /<h2>Ferry Solveig Maren runs aground off Calder Bay<\/h2>/);
  assert.match(html, /<p class="count">6 articles from 6 outlets/);
  assert.match(html, /Not read: Old Town Gazette \(line 13/);
  assert.match(html, /href="\/\?day=2026-03-13"/);
  const thursday = await (await fetch(`${url}/?day=2026-03-12`)).text();
  assert.match(thursday, /<h2>Earthquake of magnitude 5\.6/);
  const brief = await (await fetch(`${url}/brief.json`)).json();
  assert.equal(brief.day, '2026-03-14');
  assert.equal(brief.events.length, 15);
  assert.equal(brief.events[0].articles.length, brief.events[0].article_count);
  assert.match(await (await fetch(`${url}/style.css`)).text(), /prefers-color-scheme: dark/);
  assert.equal(await (await fetch(`${url}/healthz`)).text(), 'ok\n');
}));

test('SLOT_1_the_page_escapes_what_feeds_say', () => within(async (place, url) => {
  const evil = '&lt;script>alert(1)&lt;/script>&quot;\' onmouseover=x';
  const atom = '<feed xmlns="http://www.w3.org/2005/Atom"><entry>'
    + `<title>${evil}</title><link href="http://a.example/?a=%22&amp;b='x'"/>`
    + `<summary>${evil}</summary><updated>2026-03-14T10:00:00Z</updated></entry></feed>`;
  const server = await serve({ '/f': (request, response) => response.end(atom) });
  try {
    await place.must({ feeds: place.list([['<i>"outlet"</i>', `${server.url}/f`]]) });
  } finally {
    await server.close();
  }
  const html = await (await fetch(`${url}/`)).text();
  assert.match(html, /&lt;script&gt;alert\(1\)&lt;\/script&gt;&quot;&#39; onmouseover=x/);
  assert.match(html, /&lt;i&gt;&quot;outlet&quot;&lt;\/i&gt;/);
  assert.match(html, /href="http:\/\/a\.example\/\?a=%22&amp;b=(?:%27|&#39;)x(?:%27|&#39;)"/);
  assert.doesNotMatch(html, /<script|<i>/);
}));

test('SLOT_1_the_page_never_writes_and_never_schedules', () => within(async (place, url) => {
  await place.must();
  const jobs = place.number('SELECT count(*) FROM jobs');
  // A reader may make the log when there is none; it stays empty.
  const bytes = () => ['', '-wal'].map((end) => createHash('sha256')
    .update(existsSync(place.file + end) ? readFileSync(place.file + end) : '').digest('hex'))
    .join();
  const before = bytes();
  for (const path of ['/', '/?day=2026-03-13', '/brief.json', '/healthz', '/style.css', '/nothing'])
    await (await fetch(url + path)).text();
  for (const method of ['POST', 'PUT', 'DELETE', 'PATCH']) {
    const answer = await fetch(`${url}/`, { method, body: 'x=1' });
    assert.equal(answer.status, 405);
    assert.equal(answer.headers.get('allow'), 'GET, HEAD');
  }
  assert.equal(bytes(), before);
  assert.equal(place.number('SELECT count(*) FROM jobs'), jobs);
  // It could not: Pawl is not in it.
  const web = join(process.env.BUILD, 'examples/daily-brief/brief-web');
  const worker = join(process.env.BUILD, 'examples/daily-brief/brief-worker');
  const names = (program) => execFileSync('nm', [program], { maxBuffer: 1 << 26 }).toString();
  assert.match(names(worker), /\bpawl_start\b/);
  assert.doesNotMatch(names(web), /\bpawl_/);
}));

test('SLOT_1_the_page_answers_while_the_worker_writes', () => within(async (place, url) => {
  await place.must();
  const worker = place.once({ at: '2026-04-20T18:00:00Z' });
  for (let i = 0; i < 50; i++) assert.equal((await fetch(`${url}/brief.json`)).status, 200);
  assert.equal((await worker).status, 0);
}));

test('what_cannot_be_shown_is_said', () => within(async (place, url) => {
  assert.equal((await fetch(`${url}/`)).status, 503);
  assert.equal((await fetch(`${url}/healthz`)).status, 503);
  assert.equal(existsSync(place.file), false);
  await place.must();
  assert.equal((await fetch(`${url}/healthz`)).status, 200);
  assert.equal((await fetch(`${url}/nothing`)).status, 404);
  for (const day of ['2026-02-30', 'today', '2026-03-14T00:00:00Z', '%3Cscript%3E'])
    assert.equal((await fetch(`${url}/?day=${day}`)).status, 400);
  assert.match(await (await fetch(`${url}/?day=1999-01-01`)).text(), /No news of this day yet/);
  const head = await fetch(`${url}/`, { method: 'HEAD' });
  assert.equal(head.status, 200);
  assert.equal(await head.text(), '');
}));
