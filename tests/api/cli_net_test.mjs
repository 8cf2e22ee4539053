// The command line and the network: which way a command takes, keys, certificates, and servers that
// are not what they should be.
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cli, json, pretender, withServer } from './cli.mjs';
import { freePort, makeKey, pawl, scratch } from './server.mjs';

const job = { job_id: '0198c7a2-5b1e-7000-8000-3c1f0a9d2e44', job_type: 't', queue: 'q:default',
              state: 'QUEUED' };
const nobody = 'http://127.0.0.1:1';

async function withPretender(answer, work) {
  const server = await pretender(answer);
  try {
    await work(server);
  } finally {
    server.stop();
  }
}

// ----- which way

test('options and environment say which way', { timeout: 60000 }, async () => {
  const here = scratch();
  const refuse = (request, response) => json(response, 500, {});
  await withPretender(refuse, async ({ url, asked }) => {
    const store = { PAWL_STORE: 'sqlite:env.db' }, server = { PAWL_SERVER: url };
    const tried = async (words, env) => (await cli(words, { env, cwd: here })).status;
    assert.equal(await tried(['enqueue', 't', '--server', url, '--store', 'sqlite:a.db']), 2);
    assert.equal(await tried(['enqueue', 't'], { ...store, ...server }), 2);
    assert.equal(await tried(['enqueue', 't', '--org', '11111111-2222-4333-8444-555555555555'],
                             server), 2);
    assert.equal(await tried(['enqueue', 't', '--store', 'sqlite:a.db', '--key-file', 'k']), 2);
    assert.equal(await tried(['enqueue', 't', '--store', 'sqlite:a.db'], server), 0);
    assert.equal(await tried(['enqueue', 't'], store), 0);
    assert.equal(await tried(['enqueue', 't'], { PAWL_SERVER: '' }), 0);
    assert.equal(await tried(['verify'], { ...store, ...server }), 0);
    assert.deepEqual(asked, [], 'whoever names a store never touches the network');
    assert.deepEqual(['a.db', 'env.db', 'pawl.db'].map((name) => existsSync(join(here, name))),
                     [true, true, true]);
    assert.equal(await tried(['jobs', '--server', url], store), 1);
    assert.equal(await tried(['jobs'], server), 1);
    assert.equal(asked.length, 2);
  });
  rmSync(here, { recursive: true });
});

// In a network of its own the default address is free, whoever listens on this machine.
const alone = ['unshare', ['--map-root-user', '--net']];
const apart = spawnSync(alone[0], [...alone[1], 'true']).status === 0;

test('with neither, the server on the default address if one answers, else the store',
     { timeout: 60000, skip: !apart && 'no network of its own here' }, async () => {
  const here = scratch();
  writeFileSync(join(here, 'script'), `
    set -eu
    unset PAWL_SERVER PAWL_STORE PAWL_API_KEY
    python3 -c 'import fcntl, socket, struct
s = socket.socket()
fcntl.ioctl(s, 0x8914, struct.pack("16sh14x", b"lo", 0x41))'   # the loopback interface up
    "$PAWL" enqueue before
    mkdir elsewhere && "$PAWL" serve --store sqlite:elsewhere/pawl.db >elsewhere/log 2>&1 &
    server=$!
    until "$PAWL" enqueue to-the-server --key once --server http://127.0.0.1:7319; do
        sleep 0.1
    done
    "$PAWL" enqueue by-default
    "$PAWL" enqueue for-an-org --org 11111111-2222-4333-8444-555555555555
    PAWL_SERVER= "$PAWL" enqueue told-not-to
    kill $server && wait $server
    "$PAWL" enqueue after
    for store in pawl.db elsewhere/pawl.db; do
        "$PAWL" jobs --store sqlite:$store --json | python3 -c 'import json, sys
print(*sorted(j["job_type"] for j in json.load(sys.stdin)["items"]))' >$store.types
    done
    cat pawl.db.types elsewhere/pawl.db.types >types
  `);
  const ran = spawnSync(alone[0], [...alone[1], 'sh', 'script'],
                        { cwd: here, env: { ...process.env, PAWL: pawl }, encoding: 'utf8' });
  assert.equal(ran.status, 0, ran.stderr);
  const types = spawnSync('cat', ['types'], { cwd: here, encoding: 'utf8' }).stdout;
  assert.equal(types, 'after before told-not-to\nby-default to-the-server\n');
  rmSync(here, { recursive: true });
});

test('addresses that are none are bad usage', async () => {
  for (const url of ['ftp://a', 'localhost:7319', 'http://', 'nonsense', 'http://u:p@h',
                     'http://h?x', 'http://h/#f', 'file:///etc/passwd', 'http://h:99999']) {
    const { status, err } = await cli(['jobs', '--server', url]);
    assert.equal(status, 2, `${url}: ${err}`);
    assert.match(err, /server/);
  }
});

test('a server that is not there: which one, and what to do', async () => {
  const { status, err } = await cli(['jobs', '--server', nobody]);
  assert.equal(status, 1);
  assert.match(err, /^pawl: http:\/\/127\.0\.0\.1:1: nobody answers .*pawl serve.*--store\n$/);
  const proxied = await cli(['jobs', '--server', nobody], { env: { http_proxy: 'http://h:1' } });
  const timeless = (text) => text.replace(/after \d+ ms/, '');
  assert.equal(timeless(proxied.err), timeless(err),
               'a proxy is not asked for an address of this machine');
});

// ----- keys

test('OPS-18 keys: from the environment or a file, never shown, 401 and 403 are status 5',
     { timeout: 60000 }, async () => {
  const directory = scratch();
  const admin = makeKey(directory, 'admin').key;
  const viewer = makeKey(directory, 'viewer').key;
  const other = makeKey(directory, 'admin',
                        { org: '11111111-2222-4333-8444-555555555555' }).key;
  await withServer({ directory }, async ({ url }) => {
    const ask = (words, key) => cli([...words, '--server', url],
                                    { env: key ? { PAWL_API_KEY: key } : {} });
    const wrong = `${admin.slice(0, -1)}${admin.endsWith('a') ? 'b' : 'a'}`;
    const none = await ask(['jobs']);
    assert.equal(none.status, 5);
    assert.match(none.err, /PAWL_API_KEY, or say --key-file/);
    for (const key of [wrong, 'nonsense']) {
      const refused = await ask(['jobs'], key);
      assert.equal(refused.status, 5, refused.err);
      assert.ok(!refused.err.includes(key));
    }
    for (const key of ['two words', 'line\nbreak', 'caf\u00e9']) {
      const refused = await ask(['jobs'], key);
      assert.equal(refused.status, 1, refused.err);
      assert.ok(!refused.err.includes(key));
    }
    assert.equal((await ask(['enqueue', 't'], viewer)).status, 5);
    const made = await ask(['enqueue', 't'], admin);
    assert.equal(made.status, 0, made.err);
    const id = made.out.slice(0, 36);
    for (const word of ['show', 'explain', 'cancel', 'retry', 'submit'])
      assert.equal((await ask([word, id], other)).status, 3, 'OPS-10 another org');
    assert.equal((await ask(['jobs'], other)).out, 'no jobs\n');

    writeFileSync(join(directory, 'key'), `${admin}\n`);
    const filed = (...more) => cli(['jobs', '--server', url, '--key-file', join(directory, 'key'),
                                    ...more]);
    assert.equal((await filed()).status, 0);
    assert.equal((await filed('--json')).status, 0);
    const missing = await cli(['jobs', '--server', url, '--key-file', join(directory, 'none')]);
    assert.equal(missing.status, 3);

    const created = await ask(['key', 'create', '--role', 'producer', '--name', 'n', '--expires',
                               '90d', '--json'], admin);
    const key = JSON.parse(created.out);
    assert.equal((await ask(['enqueue', 't'], key.key)).status, 0);
    const plain = await ask(['key', 'create', '--role', 'worker'], admin);
    assert.match(plain.out, /^pawl_live_\w+\n$/);
    const listed = await ask(['key', 'list'], admin);
    assert.match(listed.out, new RegExp(`^${key.key_id} +producer +good +n +all `, 'm'));
    assert.ok(!listed.out.includes(key.key));
    assert.match((await ask(['key', 'revoke', key.key_id], admin)).out, /is revoked$/m);
    assert.equal((await ask(['enqueue', 't'], key.key)).status, 5);
    assert.equal((await ask(['key', 'list'], viewer)).status, 5);
  });
  rmSync(directory, { recursive: true });
});

// ----- TLS

// Node's own client would have to trust the certificate first, so the greeting says it is there.
async function withTlsServer(directory, config, work) {
  const port = await freePort();
  writeFileSync(join(directory, 'pawl.yaml'), config);
  const child = spawn(pawl, ['serve', '--config', 'pawl.yaml', '--listen', `127.0.0.1:${port}`],
                      { cwd: directory, stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = new Promise((resolve) => { child.on('close', resolve); });
  try {
    await Promise.race([ended, new Promise((resolve) => { child.stdout.on('data', resolve); })]);
    await work(`https://127.0.0.1:${port}`);
  } finally {
    child.kill('SIGTERM');
    await ended;
  }
}

const openssl = spawnSync('openssl', ['version']).status === 0;

test('a certificate is verified; an authority of one\'s own is named',
     { timeout: 60000, skip: !openssl && 'no openssl here' }, async () => {
  const directory = scratch();
  spawnSync('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256',
                        '-nodes', '-keyout', 'key.pem', '-out', 'cert.pem', '-days', '2', '-subj',
                        '/CN=pawl', '-addext', 'subjectAltName=IP:127.0.0.1'], { cwd: directory });
  chmodSync(join(directory, 'key.pem'), 0o600);
  const cert = join(directory, 'cert.pem');
  const tls = `tls: {certificate: ${cert}, key: ${join(directory, 'key.pem')}}\n`;
  await withTlsServer(directory, tls, async (url) => {
    const stranger = await cli(['jobs', '--server', url]);
    assert.equal(stranger.status, 1);
    assert.match(stranger.err, /not to be trusted.*--cacert/);
    const known = await cli(['jobs', '--server', url, '--cacert', cert]);
    assert.deepEqual([known.status, known.out], [0, 'no jobs\n'], known.err);
    assert.equal((await cli(['jobs', '--server', url], { env: { PAWL_CACERT: cert } })).status, 0);
    const other = await cli(['jobs', '--server', url.replace('127.0.0.1', 'localhost'), '--cacert',
                             cert]);
    assert.equal(other.status, 1, 'the name must be that of the certificate');
    const plain = await cli(['jobs', '--server', url.replace('https', 'http')]);
    assert.equal(plain.status, 1);
  });
  rmSync(directory, { recursive: true });
});

// ----- servers that are not what they should be

test('what is no Pawl server is said to be none', { timeout: 60000 }, async () => {
  const answers = [
    (response) => response.end('<html>hello</html>'),
    (response) => { response.writeHead(404); response.end('no'); },
    (response) => { response.writeHead(302, { location: 'http://127.0.0.1:1/' }); response.end(); },
    (response) => json(response, 200, ['a', 'list']),
    (response) => json(response, 500, { error: 'x' }),
  ];
  for (const answer of answers)
    await withPretender((_, response) => answer(response), async ({ url, asked }) => {
      const { status, err } = await cli(['show', job.job_id, '--server', url]);
      assert.equal(status, 1);
      assert.match(err, new RegExp(`${url}.*is it the address of a Pawl server`));
      assert.equal(asked.length, 1);
    });
});

test('answers of odd shapes are shown, not trusted', { timeout: 60000 }, async () => {
  const odd = { items: [{}, { job_id: 7, state: 'NEW', payload: '\u001b[2J', created_at: 1 }, [],
                        { ...job, job_type: '\u001b[31m\u202e' }], next_cursor: 5 };
  await withPretender((_, response) => json(response, 200, odd), async ({ url }) => {
    const { status, out } = await cli(['jobs', '--server', url]);
    assert.equal(status, 0);
    assert.ok(!/[\u001b\u202e]/.test(out));
    assert.equal((await cli(['show', job.job_id, '--server', url])).status, 0);
    assert.equal((await cli(['queues', '--server', url])).status, 0);
    assert.equal((await cli(['key', 'list', '--server', url])).status, 0);
  });
  await withPretender((_, response) => json(response, 409, { detail: 'no \u001b[2J', code: 'x' }),
                      async ({ url }) => {
    const { status, err } = await cli(['cancel', job.job_id, '--server', url]);
    assert.equal(status, 4);
    assert.ok(!err.includes('\u001b'));
  });
});

test('an answer has at most 64 MiB', { timeout: 60000 }, async () => {
  const much = Buffer.alloc(1 << 20, ' ');
  const flood = (_, response) => {
    const pour = () => { while (response.write(much)); response.once('drain', pour); };
    pour();
  };
  await withPretender(flood, async ({ url }) => {
    const { status, err } = await cli(['show', job.job_id, '--server', url]);
    assert.equal(status, 1);
    assert.match(err, /larger than 64 MiB/);
  });
});

test('a server that is full is asked again when it says so', { timeout: 60000 }, async () => {
  const busy = (request, response, body, nth) => (nth === 1
    ? json(response, 503, { detail: 'full', code: 'full' }, { 'retry-after': '1' })
    : json(response, 201, job));
  await withPretender(busy, async ({ url, asked }) => {
    assert.equal((await cli(['enqueue', 't', '--server', url])).status, 0);
    assert.equal(asked.length, 2);
    assert.equal(asked[0].body, asked[1].body);
  });
  const shut = (request, response) => json(response, 503, { detail: 'not now', code: 'busy' });
  await withPretender(shut, async ({ url, asked }) => {
    const { status, err } = await cli(['enqueue', 't', '--server', url]);
    assert.deepEqual([status, asked.length], [1, 1]);
    assert.match(err, /not now: try again later/);
  });
});

test('OPS-4 a lost reply to enqueue: sent once more with the same key', { timeout: 60000 },
     async () => {
  const lose = (request, response, body, nth) => {
    const id = request.headers['x-request-id'];
    if (nth === 1) request.socket.destroy();
    else json(response, 200, { ...job, request_id: id, deduplicated: true });
  };
  await withPretender(lose, async ({ url, asked }) => {
    const { status, out } = await cli(['enqueue', 't', '--server', url]);
    assert.equal(status, 0);
    assert.ok(!out.includes('already known'), 'it is this very request that made it');
    assert.equal(asked.length, 2);
    assert.equal(asked[0].body, asked[1].body);
    assert.ok(JSON.parse(asked[0].body).idempotency_key);
  });
  await withPretender((request) => request.socket.destroy(), async ({ url, asked }) => {
    const { status, err } = await cli(['enqueue', 't', '--server', url]);
    assert.deepEqual([status, asked.length], [1, 2]);
    assert.match(err, /it is not known whether this was stored .*send it again with the same key/);
    const cancelled = await cli(['cancel', job.job_id, '--server', url]);
    assert.deepEqual([cancelled.status, asked.length], [1, 3], 'what has no key is not repeated');
  });
});

test('the key and the request id go in headers, and the path is kept', async () => {
  const none = (_, response) => json(response, 200, { items: [] });
  await withPretender(none, async ({ url, asked }) => {
    await cli(['jobs', '--queue', 'q/ä&b', '--server', `${url}/behind/a/proxy/`],
              { env: { PAWL_API_KEY: 'pawl_live_x' } });
    assert.equal(asked[0].url, '/behind/a/proxy/v1/jobs?queue=q%2F%C3%A4%26b&limit=20');
    assert.equal(asked[0].headers.authorization, 'Bearer pawl_live_x');
    assert.match(asked[0].headers['x-request-id'], /^[0-9a-f-]{36}$/);
  });
});
