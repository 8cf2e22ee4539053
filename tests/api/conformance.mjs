// Real answers held against the published document, and a record of which were seen.
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { problems, resolve } from './schema.mjs';

const methods = ['get', 'post', 'put', 'patch', 'delete'];

export function operations(document) {
  return Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => {
      assert.ok(methods.includes(method), method);
      return { name: `${method.toUpperCase()} ${path}`, method: method.toUpperCase(), path,
               operation };
    }));
}

export function otherMethods(document, path) {
  return methods.filter((method) => !(method in document.paths[path]))
    .map((method) => method.toUpperCase());
}

// A path with something in place of its names; what is there does not exist.
export function nowhere(path) {
  return path.replace('{id}', '01890000-0000-7000-8000-000000000000').replace('{name}', 'none');
}

export class Conformance {
  constructor(document) {
    this.document = document;
    this.all = operations(document);
    this.seen = new Map();  // 'POST /v1/jobs' -> Set of statuses
    this.codes = new Map(); // '409' -> Set of codes
    for (const { name } of this.all) this.seen.set(name, new Set());
  }

  fits(one, path) {
    return new RegExp(`^${one.path.replace(/\{\w+\}/g, '[^/]+')}$`).test(path);
  }

  // A path without names goes before one with.
  find(method, path) {
    return this.all.filter((one) => one.method === method && this.fits(one, path))
      .sort((a, b) => a.path.includes('{') - b.path.includes('{'))[0];
  }

  resolved(part) { return part.$ref ? resolve(this.document, part.$ref) : part; }

  // The answer of a route: its status is documented, and it looks as that says.
  answered(method, path, answer) {
    const found = this.find(method, path.split('?')[0]);
    assert.ok(found, `${method} ${path} is not documented`);
    const what = `${found.name} answered ${answer.status}: ${answer.text}`;
    const response = found.operation.responses[answer.status];
    assert.ok(response, `${what}: that status is not documented`);
    this.conforms(this.resolved(response), answer, what);
    this.seen.get(found.name).add(String(answer.status));
    return found;
  }

  conforms(response, answer, what) {
    const [type] = (answer.headers.get('content-type') ?? 'none').split(';');
    const content = response.content[type];
    assert.ok(content, `${what}: ${type} is not documented`);
    const value = /json/.test(type) ? JSON.parse(answer.text) : answer.text;
    assert.deepEqual(problems(this.document, content.schema, value), [], what);
    assert.ok(answer.headers.get('x-request-id'), `${what}: it names no request`);
    if (answer.status >= 400) this.refused(response, answer, value, what);
  }

  refused(response, answer, problem, what) {
    assert.equal(problem.status, answer.status, what);
    assert.ok(response['x-pawl-codes'].includes(problem.code),
              `${what}: ${problem.code} is not among ${response['x-pawl-codes']}`);
    assert.equal('errors' in problem, answer.status === 422, what);
    if (answer.status === 429 || answer.status === 503) {
      assert.ok(Number(answer.headers.get('retry-after')) > 0, what);
    }
    const codes = this.codes.get(String(answer.status)) ?? new Set();
    this.codes.set(String(answer.status), codes.add(problem.code));
  }

  // What a good answer was given to is a request as the document has it.
  requested({ name, operation }, path, json) {
    const known = operation.parameters.filter((one) => one.in === 'query').map((one) => one.name);
    for (const query of new URL(path, 'http://here').searchParams.keys()) {
      assert.ok(known.includes(query), `${name} takes ${query}, which is not documented`);
    }
    if (json === undefined) return;
    assert.ok(operation.requestBody, `${name} takes a body, which is not documented`);
    const { schema } = operation.requestBody.content['application/json'];
    assert.deepEqual(problems(this.document, schema, json), [], `what ${name} took`);
  }

  // Asks, and checks question and answer.
  async ask(server, method, path, json, options) {
    const answer = await server.ask(method, path, json, options);
    const found = this.answered(method, path, answer);
    if (answer.status < 400) this.requested(found, path, json);
    return answer;
  }
}

// A request as it is written, for what an honest client cannot send.
export function raw(port, lines) {
  return new Promise((done, failed) => {
    let said = '';
    const socket = connect(port, '127.0.0.1', () => socket.write(`${lines.join('\r\n')}\r\n\r\n`));
    socket.on('data', (data) => {
      said += data;
      const end = said.indexOf('\r\n\r\n');
      const length = Number(said.match(/^content-length: (\d+)/im)?.[1] ?? -1);
      if (end >= 0 && length >= 0 && Buffer.byteLength(said.slice(end + 4)) >= length) {
        socket.destroy();
      }
    });
    socket.on('error', failed);
    socket.on('close', () => {
      const [head, ...body] = said.split('\r\n\r\n');
      const [first, ...rest] = head.split('\r\n');
      const headers = new Headers(rest.map((line) => line.split(/: (.*)/s).slice(0, 2)));
      done({ status: Number(first.split(' ')[1]), headers, text: body.join('\r\n\r\n') });
    });
  });
}

// Fields that get past the reading of a body, for routes that need some.
export const who = { worker_id: 'w', attempt: 1 };
export const night = '2026-03-02T02:00:00.000Z';
export const enough = {
  '/v1/executions/{id}/fail': { ...who, error: { class: 'transient', message: 'm' } },
  '/v1/executions/{id}/steps/{name}': { ...who, result: 1 },
  '/v1/jobs/{id}': { priority: 1 },
  '/v1/deadletter/{id}/discard': { reason: 'r' },
  '/v1/deadletter/{id}/fix': { payload: {} },
  '/v1/jobs/{id}/annotations': { text: 't' },
  '/v1/audit/{id}/annotations': { text: 't' },
  '/v1/schedules/{name}/trigger': { scheduled_for: night },
  '/v1/schedules/{name}/backfill': { from: night, to: night },
};
