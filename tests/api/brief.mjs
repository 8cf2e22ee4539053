// The Daily Brief in a directory of its own: its worker, its page, its tables.
import { spawn, execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const programs = join(process.env.BUILD, 'examples/daily-brief');
export const sampleFeeds = join(process.env.SOURCE, 'examples/daily-brief/feeds/feeds.txt');
export const sampleTime = '2026-03-14T18:00:00Z';
export const tables = ['feeds', 'feed_log', 'raw_articles', 'event_clusters', 'cluster_articles',
                       'published_briefs', 'brief_items'];

export class Place {
  constructor() {
    this.directory = mkdtempSync(join(process.env.TMPDIR ?? tmpdir(), 'pawl-brief-'));
    this.file = join(this.directory, 'brief.db');
    this.store = `sqlite:${this.file}`;
  }

  remove() { rmSync(this.directory, { recursive: true, force: true }); }

  // A list of feeds: [['name', 'address or path'], ...].
  list(feeds) {
    const path = join(this.directory, 'feeds.txt');
    writeFileSync(path, feeds.map((feed) => `${feed.join(' | ')}\n`).join(''));
    return path;
  }

  start(program, words, env = {}) {
    const child = spawn(join(programs, program), ['--store', this.store, ...words],
                        { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, ...env } });
    const run = { child, out: '', log: '' };
    child.stdout.on('data', (text) => { run.out += text; });
    child.stderr.on('data', (text) => { run.log += text; });
    run.ended = new Promise((resolve) => {
      child.on('close', (status, signal) => resolve({ ...run, status, signal }));
    });
    return run;
  }

  // The worker, once. `diesAt`: the point where it is killed.
  once({ feeds = sampleFeeds, at = sampleTime, words = [], diesAt } = {}) {
    return this.start(diesAt ? 'brief-worker-mortal' : 'brief-worker',
                      ['--feeds', feeds, '--once', '--as-of', at, ...words],
                      diesAt ? { BRIEF_DIES_AT: diesAt } : {}).ended;
  }

  async must(options) {
    const run = await this.once(options);
    if (run.status !== 0) throw new Error(`the worker ended with ${run.status}:\n${run.log}`);
    return run;
  }

  // What a statement answers, as lines of text.
  ask(sql) {
    return execFileSync('sqlite3', ['-batch', this.file], { input: sql, encoding: 'utf8' }).trim();
  }

  number(sql) { return Number(this.ask(sql)); }

  // Every row of every table of the brief.
  dump(some = tables) {
    return some.map((table) => `${table}\n${this.ask(`SELECT * FROM ${table} ORDER BY 1, 2`)}`)
      .join('\n');
  }

  // Enqueues a job, waits for its end: 0 when it succeeded.
  enqueue(type) {
    const child = spawn(process.env.PAWL, ['enqueue', type, '{}', '--wait', '--store', this.store],
                        { stdio: 'ignore' });
    return new Promise((resolve) => { child.on('close', resolve); });
  }

  verify() {
    return execFileSync(process.env.PAWL, ['verify', '--store', this.store], { encoding: 'utf8' });
  }
}

// A feed as a server would send it.
export function rss(...items) {
  const texts = items.map(({ title, link, date = 'Sat, 14 Mar 2026 10:00:00 GMT', text = '' }) =>
    `<item><title>${title}</title><link>${link}</link><pubDate>${date}</pubDate>`
    + `<description>${text}</description></item>`);
  return `<?xml version="1.0"?><rss version="2.0"><channel>${texts.join('')}</channel></rss>`;
}

// A real HTTP server on a free port; `answers` is by path, and may be changed at any time.
export async function serve(answers) {
  const requests = [];
  const server = createServer((request, response) => {
    requests.push(request);
    const answer = answers[request.url];
    if (answer) answer(request, response);
    else response.writeHead(404).end();
  });
  await new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve); });
  return {
    answers, requests, url: `http://127.0.0.1:${server.address().port}`,
    of: (path) => requests.filter((request) => request.url === path),
    close: () => new Promise((resolve) => {
      server.close(resolve);
      server.closeAllConnections?.();
    }),
  };
}
