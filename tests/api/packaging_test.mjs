// What lies in packaging/ is checked by the tools it is for, and fits what the server says.
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { withServer } from './cli.mjs';
import { pawl, scratch } from './server.mjs';

const packaging = join(process.env.SOURCE, 'packaging');
const alerts = join(packaging, 'prometheus', 'alerts.yml');
const read = (...path) => readFileSync(join(process.env.SOURCE, ...path), 'utf8');

function run(program, words, options = {}) {
  const { status, stdout, stderr, error } = spawnSync(program, words,
                                                      { encoding: 'utf8', ...options });
  return { status, said: `${stdout ?? ''}${stderr ?? ''}`, missing: error?.code === 'ENOENT' };
}

const alertNames = () => [...read('packaging', 'prometheus', 'alerts.yml')
  .matchAll(/- alert: (\w+)/g)].map((found) => found[1]);

test('OPS-13 promtool takes the alert rules, and they fire when they must', () => {
  const checked = run('promtool', ['check', 'rules', alerts]);
  assert.equal(checked.status, 0, checked.said);
  const tested = run('promtool', ['test', 'rules', 'alerts_test.yml'],
                     { cwd: join(packaging, 'prometheus') });
  assert.equal(tested.status, 0, tested.said);
  const fires = read('packaging', 'prometheus', 'alerts_test.yml');
  for (const name of alertNames())
    assert.match(fires, new RegExp(`alertname="${name}"`), `${name} is never seen to fire`);
});

test('OPS-8 every alert names a runbook that is there, and no runbook is without an alert', () => {
  const headings = [...read('docs', 'operations.md').matchAll(/^### (Pawl\w+)$/gm)]
    .map((found) => found[1]);
  assert.deepEqual(headings, alertNames());
  const rules = read('packaging', 'prometheus', 'alerts.yml');
  for (const name of headings)
    assert.ok(rules.includes(`runbook: docs/operations.md#${name.toLowerCase()}\n`), name);
});

// Words of the query language that look like metrics are told apart by what follows them.
function metricsIn(expression) {
  const bare = expression.replace(/"[^"]*"/g, '""').replace(/\{[^}]*\}/g, '{}')
    .replace(/\b(by|without)\s*\([^)]*\)/g, '');
  return [...bare.matchAll(/\b[a-z][a-z0-9_]*_[a-z0-9_]+\b(?!\s*\()/g)].map((found) => found[0])
    .filter((name) => !name.startsWith('__'));
}

test('OPS-13 every metric of the dashboard and the alerts is one that the server has', async () => {
  await withServer({}, async (server) => {
    const { text } = await server.get('/metrics');
    const known = new Set();
    for (const [, name, kind] of text.matchAll(/^# TYPE (\S+) (\S+)$/gm)) {
      known.add(name);
      if (kind === 'histogram') for (const end of ['bucket', 'sum', 'count'])
        known.add(`${name}_${end}`);
    }
    const board = JSON.parse(read('packaging', 'grafana', 'pawl.json'));
    const expressions = board.panels.flatMap((panel) => panel.targets.map((t) => t.expr));
    const rules = read('packaging', 'prometheus', 'alerts.yml');
    for (const found of rules.matchAll(/expr: (?:\|\n((?: {10}.*\n)+)|(.*)\n)/g))
      expressions.push(found[1] ?? found[2]);
    const used = new Set(expressions.flatMap(metricsIn));
    assert.ok(used.size > 25, [...used].join(' '));
    for (const name of used) assert.ok(known.has(name), `${name} is no metric of the server`);
  });
});

test('the dashboard has a panel of its own at every place', () => {
  const { panels } = JSON.parse(read('packaging', 'grafana', 'pawl.json'));
  const cells = new Set();
  assert.equal(new Set(panels.map((panel) => panel.id)).size, panels.length);
  for (const { title, gridPos: { x, y, w, h } } of panels) {
    assert.ok(x + w <= 24, title);
    for (let i = x; i < x + w; i++) for (let j = y; j < y + h; j++) {
      assert.ok(!cells.has(`${i},${j}`), `${title} lies on another panel`);
      cells.add(`${i},${j}`);
    }
  }
});

test('systemd takes the units, and finds little to object to', (t) => {
  if (run('systemd-analyze', ['--version']).missing) return t.skip('there is no systemd here');
  const directory = scratch(), units = join(packaging, 'systemd');
  mkdirSync(join(directory, 'units'));
  const names = readdirSync(units).filter((name) => name.endsWith('.service'));
  assert.equal(names.length, 3);
  for (const name of names) {
    // The program is not installed where tests run.
    const text = readFileSync(join(units, name), 'utf8').replaceAll('/usr/bin/pawl', pawl);
    writeFileSync(join(directory, 'units', name), text);
  }
  for (const name of names) {
    const file = join(directory, 'units', name);
    const verified = run('systemd-analyze', ['verify', '--man=no', '--recursive-errors=no', file]);
    assert.equal(verified.status, 0, verified.said);
    const judged = run('systemd-analyze', ['security', '--offline=true', '--threshold=15', file]);
    assert.equal(judged.status, 0, judged.said.split('\n').slice(-4).join('\n'));
  }
  rmSync(directory, { recursive: true });
});
