// pawl import through a server: the same report as on the store, whatever is in the file.
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cli, withServer } from './cli.mjs';
import { defaultOrg, makeKey, scratch, start } from './server.mjs';

const line = (n, more = {}) => JSON.stringify(
  { job_type: 'bulk', payload: { n }, idempotency_key: `bulk-${n}`, ...more });
const deep = (levels) => JSON.parse('{"a":'.repeat(levels) + '{}' + '}'.repeat(levels));
const count = (n, make) => Array.from({ length: n }, (_, i) => make(i));

// Imports the file twice, through a server and on a store of its own, and compares what was said.
async function both(lines, { config, twice = true } = {}) {
  const told = [];
  await withServer({ config }, async (server) => {
    writeFileSync(join(server.directory, 'jobs.jsonl'), lines.join('\n'));
    for (let round = 0; round < (twice ? 2 : 1); round++) {
      const more = { cwd: server.directory };
      const far = await cli(['import', 'jobs.jsonl', '--server', server.url], more);
      const near = await cli(['import', 'jobs.jsonl', '--store', 'sqlite:other.db'], more);
      const tidy = ({ status, out, err }) => ({
        status, out, err: err.replace(/[0-9a-f-]{36}/g, 'ID').trim().split('\n') });
      assert.deepEqual(tidy(far), tidy(near));
      told.push(far);
    }
    const jobs = await cli(['jobs', '--limit', '10000', '--json', '--server', server.url]);
    told.stored = JSON.parse(jobs.out).items;
  });
  return told;
}

test('OPS-4 lines of all kinds, twice', { timeout: 60000 }, async () => {
  const [first, second] = await both([
    line(1), line(2), '',
    '{"job_type":"bulk","payload":[],"priority":"high","nonsense":1}',
    'not json', '[]', '"text"', '7',
    '{"job_type":"bulk","payload":{"without":"a key"}}',
    line(1, { payload: { n: 'another' } }),
    line(3, { org_id: '11111111-2222-4333-8444-555555555555' }),
    line(4, { org_id: defaultOrg }),
    '{"job_type":"bulk","payload":{},"idempotency_key":null,"queue":"q:exports"}\r',
    '{"payload":{}}',
    line(1),
    `{"job_type":"bulk","payload":{"x":"${'x'.repeat(1 << 20)}"}}`,
    line(5, { payload: deep(29) }),
    line(6, { payload: deep(30) }),
    line(7, { payload: deep(40) }),
  ]);
  assert.deepEqual([first.status, first.out], [1, '7 new, 1 known, 10 refused\n'], first.err);
  assert.deepEqual([second.status, second.out], [1, '0 new, 8 known, 10 refused\n']);
  assert.match(first.err, /^jobs\.jsonl:4: payload: must be an object/m);
  assert.match(first.err, /^jobs\.jsonl:10: idempotency key bulk-1 belongs to job/m);
});

test('every problem of every line is told, also of thousands', { timeout: 60000 }, async () => {
  const lines = count(700, (n) => n % 3 === 0
    ? `{"job_type":"a b","payload":[],"queue":"x/y","idempotency_key":"k${n}"}` : line(n));
  const [{ out, err }] = await both(lines, { twice: false });
  assert.equal(out, '466 new, 0 known, 234 refused\n');
  assert.equal(err.trim().split('\n').length, 3 * 234);
});

test('a server that takes fewer at once gets fewer', { timeout: 60000 }, async () => {
  const config = 'limits: {bulk_jobs: 7, body: 2MiB}\n';
  const big = count(5, (n) => line(`big-${n}`, { payload: { n, x: 'x'.repeat(900000) } }));
  const told = await both([...count(40, line), ...big, '{"job_type":"bulk"}'], { config });
  assert.equal(told[0].out, '45 new, 0 known, 1 refused\n');
  assert.equal(told.stored.length, 45);
});

test('--json, standard input, nothing at all', { timeout: 60000 }, async () => {
  await withServer({}, async ({ url }) => {
    const told = await cli(['import', '-', '--json', '--server', url],
                           { input: `${line(1)}\n${line(2)}` });
    assert.deepEqual(JSON.parse(told.out), { new: 2, known: 0, refused: 0 });
    const none = await cli(['import', '-', '--server', url]);
    assert.deepEqual([none.status, none.out], [0, '0 new, 0 known, 0 refused\n']);
  });
});

test('OPS-4 the server is killed in the middle: run again it goes on', { timeout: 120000 },
     async () => {
  const total = 20000;
  const directory = scratch();
  const path = join(directory, 'all.jsonl');
  const stored = async (server) => (await server.get('/v1/queues')).body.items
    .find((queue) => queue.name === 'q:default')?.jobs.ready ?? 0;
  writeFileSync(path, count(total, (n) => line(n)).join('\n'));
  const first = await start({ directory });
  const importing = cli(['import', path, '--server', first.url]);
  while (await stored(first) < 1000) { /* it goes on */ }
  await first.kill();
  const broken = await importing;
  assert.equal(broken.status, 1);
  assert.match(broken.err, /^pawl: .*all\.jsonl:\d+: .*http:\/\/127\.0\.0\.1:\d+: nobody answers/m);
  await withServer({ directory }, async (server) => {
    const before = await stored(server);
    assert.ok(before >= 1000 && before < total, `${before}`);
    const again = await cli(['import', path, '--server', server.url]);
    assert.equal(again.out, `${total - before} new, ${before} known, 0 refused\n`, again.err);
    assert.equal(await stored(server), total);
  });
  rmSync(directory, { recursive: true });
});

test('OPS-10 a key is derived for the org of the API key', { timeout: 60000 }, async () => {
  const directory = scratch();
  const org = '11111111-2222-4333-8444-555555555555';
  const { key } = makeKey(directory, 'producer', { org });
  const input = '{"job_type":"bulk","payload":{"a":1}}\n';
  await withServer({ directory }, async ({ url }) => {
    const far = await cli(['import', '-', '--server', url], { input, env: { PAWL_API_KEY: key } });
    assert.equal(far.out, '1 new, 0 known, 0 refused\n', far.err);
    const near = await cli(['import', '-', '--store', `sqlite:${directory}/pawl.db`, '--org', org],
                           { input });
    assert.equal(near.out, '0 new, 1 known, 0 refused\n', near.err);
  });
  rmSync(directory, { recursive: true });
});
