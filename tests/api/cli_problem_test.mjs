// With --json what went wrong is an object too, on standard error; the exit status is the same.
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { cli } from './cli.mjs';
import { run, scratch } from './server.mjs';

const unknown = '0198c7a2-5b1e-7000-8000-3c1f0a9d2e44';

const cases = [
  { words: ['show', unknown], status: 3, code: 'not_found', http: 404 },
  { words: ['enqueue', 'a', '{}', '--no-such-option'], status: 2, code: 'usage', http: 400 },
  { words: ['enqueue', 'not a type', '[1]'], status: 1, code: 'contract', http: 422 },
  { words: ['backup', 'pawl.db'], status: 4, code: 'conflict', http: 409 },
];

test('CLI every error is a problem object with --json, and a line without', async () => {
  const directory = scratch(), store = ['--store', 'sqlite:pawl.db'];
  run(directory, 'migrate');
  for (const { words, status, code, http } of cases) {
    const said = await cli([...words, ...store, '--json'], { cwd: directory });
    assert.equal(said.status, status, said.err);
    assert.equal(said.out, '');
    const problem = JSON.parse(said.err);
    assert.deepEqual([problem.code, problem.status], [code, http]);
    assert.ok(problem.detail.length > 10);
    const plain = await cli([...words, ...store], { cwd: directory });
    assert.equal(plain.status, status);
    assert.match(plain.err, /^pawl: /);
  }
  rmSync(directory, { recursive: true });
});

test('CLI every problem of a job is listed', async () => {
  const directory = scratch();
  const { err } = await cli(['enqueue', 'not a type', '{}', '--queue', 'not a queue', '--json',
                             '--store', `sqlite:${directory}/pawl.db`]);
  const { errors } = JSON.parse(err);
  assert.deepEqual(errors.map(({ field }) => field).sort(), ['job_type', 'queue']);
  rmSync(directory, { recursive: true });
});
