// Requests as bytes, for what no honest client sends.
//
//     const answer = await send(port, 'GET / HTTP/1.1\r\n...', { half: true });
//     answer.status        // 0: none came before the connection ended
//     answer.closed        // the server has ended the connection
import { connect } from 'node:net';
import { readdirSync, readFileSync } from 'node:fs';

const END_OF_HEADERS = Buffer.from('\r\n\r\n');

// The first answer in the bytes, past any `100 Continue`; undefined when it is not all there.
function parse(bytes, closed) {
  const end = bytes.indexOf(END_OF_HEADERS);
  if (end < 0) return undefined;
  const [line, ...lines] = bytes.subarray(0, end).toString('latin1').split('\r\n');
  const status = Number(line.split(' ')[1]);
  if (status === 100) return parse(bytes.subarray(end + 4), closed);
  const headers = new Map(lines.map((text) => {
    const colon = text.indexOf(':');
    return [text.slice(0, colon).toLowerCase(), text.slice(colon + 1).trim()];
  }));
  const length = Number(headers.get('content-length') ?? (closed ? bytes.length - end - 4 : 0));
  const body = bytes.subarray(end + 4);
  if (body.length < length && !closed) return undefined;
  const text = body.subarray(0, length).toString('utf8');
  return { status, headers, text, rest: body.subarray(length).toString('latin1') };
}

function read_json(answer) {
  const is_json = /json/.test(answer.headers.get('content-type') ?? '');
  if (answer.text && is_json) answer.body = JSON.parse(answer.text);
  return answer;
}

// Sends, and reads the first answer, or until the connection ends. `half`: sends no more after the
// bytes. `to_end`: reads on until the server closes, and keeps what came after the first answer.
// A server that says nothing for long is left; then neither `status` nor `closed` is set.
export function send(port, bytes, { half = false, to_end = false, patience_ms = 20000 } = {}) {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    let got = Buffer.alloc(0);
    let closed = false;
    const silent = setTimeout(() => done(), patience_ms);
    const done = () => {
      clearTimeout(silent);
      const answer = parse(got, closed) ?? { status: 0, headers: new Map(), text: '', rest: '' };
      socket.destroy();
      resolve(read_json({ ...answer, closed }));
    };
    const over = () => { closed = true; done(); };
    socket.on('data', (data) => {
      got = Buffer.concat([got, data]);
      if (!to_end && parse(got, false)) done();
    });
    socket.on('end', over);
    socket.on('error', over);
    socket.on('connect', () => {
      socket.write(bytes);
      if (half) socket.end();
    });
  });
}

// A request that is well formed but for what the caller changed.
export function request({ method = 'POST', path = '/v1/jobs', version = 'HTTP/1.1',
                          headers = [], body = '', length = true } = {}) {
  const bytes = Buffer.isBuffer(body) ? body : Buffer.from(body);
  const has = (name) => headers.some((line) => line.toLowerCase().startsWith(`${name}:`));
  const lines = [`${method} ${path} ${version}`];
  if (!has('host')) lines.push('Host: localhost');
  if (bytes.length && !has('content-type')) lines.push('Content-Type: application/json');
  if (bytes.length && length) lines.push(`Content-Length: ${bytes.length}`);
  return Buffer.concat([Buffer.from([...lines, ...headers, '', ''].join('\r\n'), 'latin1'), bytes]);
}

export function chunked(body, bytes_each = 65536) {
  const parts = [];
  const all = Buffer.from(body);
  for (let i = 0; i < all.length; i += bytes_each) {
    const part = all.subarray(i, i + bytes_each);
    parts.push(Buffer.from(`${part.length.toString(16)}\r\n`), part, Buffer.from('\r\n'));
  }
  return Buffer.concat([...parts, Buffer.from('0\r\n\r\n')]);
}

// What the server's process uses: resident bytes, threads, descriptors.
export function usage(pid) {
  const text = readFileSync(`/proc/${pid}/status`, 'utf8');
  const number = (name) => Number(text.match(new RegExp(`^${name}:\\s+(\\d+)`, 'm'))[1]);
  return { rss: number('VmRSS') * 1024, threads: number('Threads'),
           descriptors: readdirSync(`/proc/${pid}/fd`).length };
}

// A generator of numbers that is the same for the same seed (mulberry32).
export function dice(seed) {
  let a = seed >>> 0;
  const next = () => {
    a = (a + 0x6d2b79f5) >>> 0;
    let t = Math.imul(a ^ (a >>> 15), 1 | a);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return (t ^ (t >>> 14)) >>> 0;
  };
  const below = (n) => next() % n;
  return { below, pick: (list) => list[below(list.length)],
           word: (n) => Array.from({ length: n }, () => 'abcdefghij'[below(10)]).join('') };
}
