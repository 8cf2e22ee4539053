// GET /metrics as a real Prometheus sees it: it scrapes a real server, and is asked what it found.
import { test, before, after } from 'node:test';
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort, scratch, start } from './server.mjs';

const config = `
job_types:
  metrics.good: {run: ["/bin/true"]}
  metrics.bad: {run: ["/bin/sh", "-c", "exit 65"]}
`;

let server;

// Waits until the server's own metrics say that both jobs have ended.
async function ended() {
  for (;;) {
    const { text } = await server.get('/metrics');
    if (/^jobs_succeeded_total\{job_type="metrics.good".* 1$/m.test(text)
        && /^deadletter_total\{job_type="metrics.bad".* 1$/m.test(text)) return text;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

before(async () => {
  server = await start({ config });
  for (const type of ['metrics.good', 'metrics.bad']) {
    const { status, text } = await server.post('/v1/jobs', {
      job_type: type, payload: {}, idempotency_key: `${type}:1`,
    });
    assert.equal(status, 201, text);
  }
});
after(() => server?.stop());

test('OPS-13 the text is of its format and promtool objects to one name only',
     { timeout: 60000 }, async () => {
  const text = await ended();
  const { headers } = await server.get('/metrics');
  assert.match(headers.get('content-type'), /^text\/plain; version=0\.0\.4/);
  const { status, stdout, stderr } = spawnSync('promtool', ['check', 'metrics'],
                                               { input: text, encoding: 'utf8' });
  const said = (stdout + stderr).trim().split('\n');
  assert.equal(said.length, 1, said.join('\n'));
  assert.match(said[0], /^jobs_attempts_histogram /);
  assert.equal(status, 3);
});

// ----- Prometheus itself

class Prometheus {
  async begin() {
    this.directory = scratch();
    this.port = await freePort();
    const file = join(this.directory, 'prometheus.yml');
    mkdirSync(join(this.directory, 'data'));
    writeFileSync(file, `
global: {scrape_interval: 1s}
scrape_configs:
  - job_name: pawl
    static_configs: [{targets: ["127.0.0.1:${server.port}"]}]
`);
    this.child = spawn('prometheus', [`--config.file=${file}`,
                                      `--storage.tsdb.path=${join(this.directory, 'data')}`,
                                      `--web.listen-address=127.0.0.1:${this.port}`],
                       { stdio: 'ignore' });
    this.ended = new Promise((resolve) => this.child.on('close', resolve));
    return this;
  }

  // The value of a query as soon as there is one.
  async value(query) {
    const url = `http://127.0.0.1:${this.port}/api/v1/query?query=${encodeURIComponent(query)}`;
    for (;;) {
      try {
        const { data } = await (await fetch(url)).json();
        if (data?.result.length) return Number(data.result[0].value[1]);
      } catch { /* it has not started yet */ }
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }

  async stop() {
    this.child.kill('SIGKILL');
    await this.ended;
    rmSync(this.directory, { recursive: true, force: true });
  }
}

test('OPS-13 a real Prometheus scrapes the seven metrics with their labels',
     { timeout: 60000 }, async (t) => {
  await ended();
  const prometheus = await new Prometheus().begin();
  t.after(() => prometheus.stop());
  const good = 'job_type="metrics.good",queue="q:default"';
  const bad = 'job_type="metrics.bad",queue="q:default"';
  assert.equal(await prometheus.value('up{job="pawl"}'), 1);
  assert.equal(await prometheus.value(`jobs_enqueued_total{${good}}`), 1);
  assert.equal(await prometheus.value(`jobs_started_total{${bad}}`), 1);
  assert.equal(await prometheus.value(`jobs_succeeded_total{${good}}`), 1);
  assert.equal(await prometheus.value(`jobs_failed_total{${bad},error_class!=""}`), 1);
  assert.equal(await prometheus.value(`jobs_duration_seconds_count{${good}}`), 1);
  assert.equal(await prometheus.value('jobs_attempts_histogram_sum{job_type="metrics.good"}'), 1);
  assert.equal(await prometheus.value(`deadletter_total{${bad}}`), 1);
  assert.ok(await prometheus.value('pawl_store_bytes') > 0);
  assert.ok(await prometheus.value('pawl_commit_seconds_count') > 0);
});
