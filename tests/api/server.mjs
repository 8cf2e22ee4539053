// A real `pawl serve` in a directory of its own, on a free port of the loopback interface.
//
//     const server = await start({ config: 'job_types: {...}' });
//     const { status, body } = await server.post('/v1/jobs', { job_type: 'a', ... });
//     await server.stop();          // SIGTERM, and it must end well
import { spawn, execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export const pawl = process.env.PAWL;

// A build with the address sanitizer keeps what was freed for a while, which is not growth, and has
// room around everything: it takes more memory than anybody has promised.
process.env.ASAN_OPTIONS = `${process.env.ASAN_OPTIONS ?? ''}:quarantine_size_mb=8`;
export const sanitized = (process.env.SANITIZE ?? 'none') !== 'none';

export const defaultOrg = '00000000-0000-7000-8000-000000000000';

export function freePort() {
  return new Promise((resolve) => {
    const probe = createServer().listen(0, '127.0.0.1', () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });
}

export function scratch() {
  return mkdtempSync(join(process.env.TMPDIR ?? tmpdir(), 'pawl-api-'));
}

// A command of the program on this store: its output. Throws when it fails. Where answers to
// commits are lost (tools/torture-answers) a command would say `in doubt`, and rightly: only the
// server has to find out more.
export function run(directory, ...words) {
  return execFileSync(pawl, [...words, '--store', `sqlite:${directory}/pawl.db`],
                      { encoding: 'utf8', cwd: directory,
                        env: { ...process.env, STORE_ANSWERS_LOST: '' } });
}

// A key of the store, made by the command line.
export function makeKey(directory, role, { org = defaultOrg, projects = [], name, expires } = {}) {
  const words = ['key', 'create', '--org', org, '--role', role, '--json'];
  for (const project of projects) words.push('--project', project);
  if (name) words.push('--name', name);
  if (expires) words.push('--expires', expires);
  return JSON.parse(run(directory, ...words));
}

class Server {
  constructor(directory, port, own) {
    Object.assign(this, { directory, port, own, log: '', url: `http://127.0.0.1:${port}` });
  }

  async begin(words) {
    this.child = spawn(pawl, ['serve', '--store', `sqlite:${this.directory}/pawl.db`,
                              '--listen', `127.0.0.1:${this.port}`, ...words],
                       { stdio: ['ignore', 'pipe', 'pipe'], cwd: this.directory });
    this.ended = new Promise((resolve) => {
      this.child.on('close', (status, signal) => resolve({ status, signal }));
    });
    this.child.stdout.on('data', (text) => { this.log += text; });
    this.child.stderr.on('data', (text) => { this.log += text; });
    await this.ready();
    return this;
  }

  // Asks until it answers; a server that ended instead is an error with what it said.
  async ready() {
    let over = null;
    this.ended.then((how) => { over = how; });
    for (let i = 0; i < 3000 && !over; i++) {
      try {
        if ((await fetch(`${this.url}/readyz`)).ok) return;
      } catch { /* not yet */ }
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    throw new Error(`the server is not ready (${JSON.stringify(over)}):\n${this.log}`);
  }

  // One request; the answer's body is read as JSON when it says it is.
  async ask(method, path, json, { key, headers = {}, body } = {}) {
    const answer = await fetch(this.url + path, {
      method,
      headers: {
        ...(json !== undefined || body !== undefined ? { 'content-type': 'application/json' } : {}),
        ...(key ? { authorization: `Bearer ${key}` } : {}),
        ...headers,
      },
      body: body ?? (json === undefined ? undefined : JSON.stringify(json)),
    });
    const text = await answer.text();
    const isJson = /json/.test(answer.headers.get('content-type') ?? '');
    return { status: answer.status, headers: answer.headers, text,
             body: isJson && text ? JSON.parse(text) : undefined };
  }

  get(path, options) { return this.ask('GET', path, undefined, options); }
  post(path, json, options) { return this.ask('POST', path, json ?? {}, options); }

  kill() {
    this.child.kill('SIGKILL');
    return this.ended;
  }

  // Asks it to end and removes its directory, unless the test owns that. A bad end is an error.
  async stop() {
    this.child.kill('SIGTERM');
    const how = await this.ended;
    if (!this.own) rmSync(this.directory, { recursive: true, force: true });
    if (how.status !== 0) throw new Error(`it ended with ${JSON.stringify(how)}:\n${this.log}`);
  }
}

// `directory`: of the test's own, with its store and perhaps keys, and kept; else a new one.
export async function start({ config, directory, port, words = [] } = {}) {
  const place = directory ?? scratch();
  if (config) writeFileSync(join(place, 'pawl.yaml'), config);
  const all = config ? ['--config', join(place, 'pawl.yaml'), ...words] : words;
  return new Server(place, port ?? await freePort(), Boolean(directory)).begin(all);
}
