// The program as a child: what it said, and how it ended.
import { spawn } from 'node:child_process';
import { createServer } from 'node:http';
import { pawl, start } from './server.mjs';

// Nothing of the tester's own surroundings decides where a command goes.
const clean = { ...process.env };
for (const name of Object.keys(clean))
  if (/^PAWL_/.test(name) || /_proxy$/i.test(name)) delete clean[name];

export function cli(words, { env = {}, input = '', cwd } = {}) {
  return new Promise((resolve) => {
    const child = spawn(pawl, words, { env: { ...clean, ...env }, cwd });
    let out = '', err = '';
    child.stdout.on('data', (text) => { out += text; });
    child.stderr.on('data', (text) => { err += text; });
    child.stdin.on('error', () => {});  // it need not read what it is given
    child.stdin.end(input);
    child.on('close', (status) => resolve({ status, out, err }));
  });
}

// How long ago something was changes between two looks, and with it the width of its column.
export const still = (text) =>
  text.replace(/\bnow\b|\bin \d+ \w+|\b\d+ \w+ ago\b/g, 'then').replace(/ +/g, ' ');

// A server for the time of `work`; one that lives on would keep the test from ending.
export async function withServer(options, work) {
  const server = await start(options);
  try {
    await work(server);
  } catch (error) {
    await server.kill();
    throw error;
  }
  await server.stop();
}

// A server that is not Pawl: `answer(request, response, body)` may do what it likes. Keeps what it
// was asked.
export async function pretender(answer) {
  const asked = [];
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (text) => { body += text; });
    request.on('end', () => {
      asked.push({ method: request.method, url: request.url, headers: request.headers, body });
      answer(request, response, body, asked.length);
    });
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${server.address().port}`;
  return { url, asked, stop: () => { server.closeAllConnections(); server.close(); } };
}

export function json(response, status, value, headers = {}) {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(value));
}
