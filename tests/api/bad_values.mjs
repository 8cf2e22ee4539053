// Values that are wrong, by the field they are wrong for.

const word = (n) => 'x'.repeat(n);
const notText = [0, 7, -1.5, true, false, [], ['a'], {}];
const badKey = [...notText, '', word(257), 'a\u0001b', 'a\nb', 'a\u007fb'];
const badName = [...notText, '', ' ', 'a b', 'a/b', 'é', word(129)];
const badWhole = ['7', true, [], {}, 1.5];
const badTime = [7, true, [], {}, '', 'now', '2026-08-22', '2026-13-22T11:00:00Z',
                 '2026-02-30T11:00:00Z', '2026-08-22T25:00:00Z', '10000-01-01T00:00:00Z'];

const badDuration = [7, true, [], {}, '', '30', '-30s', '1.5s', '99999999999999999999s'];

export const goodJob = { job_type: 'a.b', payload: {}, idempotency_key: 'bad-requests' };

// Each field a caller may send with a job (the contract of 004), and what it must not be.
export const badJob = {
  job_type: [...badName, null, '.a', '-a'],
  payload: [null, 0, 'text', true, [], [{}]],
  idempotency_key: [...badKey, null],
  org_id: [7, {}, '', 'other', '01900000-0000-7000-8000-000000000001'],
  project_id: [...notText, '', 'p', '01900000-0000-7000-8000-00000000000g'],
  actor_type: [...notText, '', 'User', 'root'],
  actor_id: badKey,
  request_id: badKey,
  correlation_id: badKey,
  scheduled_for: badTime,
  traceparent: [7, {}, '', '00-0', 'ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
                '00-00000000000000000000000000000000-b7ad6b7169203331-01'],
  queue: [...badName, 'q:deadletter', '*'],
  priority: [...badWhole, -101, 101, 2147483648, Number.MAX_SAFE_INTEGER],
  serial_key: badKey,
  policy: [...notText, '', 'nope', 'Default'],
  max_wait: [7, true, {}, '', '30', '-30s', '0s', '1.5s', '366d', '99999999999999999999s'],
  after: [7, 'text', {}, '01900000-0000-7000-8000-00000000000a'],
  batch_id: [...notText, '', 'x'],  // one that there is not: a known key answers before it is asked
  submit: [0, 1, 'true', [], {}],
  authorized_by: badKey,
  limit_key: badKey,
};

// What only the server says of a job, and what nobody does.
export const unknownNames = [
  'job_id', 'created_at', 'state', 'attempt', 'max_attempts', 'category', 'origin', 'result',
  'lease_owner', 'org', 'jobType', 'JOB_TYPE', 'job-type', 'payloads', '__proto__', 'é', ' ', 'x',
];

// Routes that take a body by fields: a body that would do, and values of each field that do not.
// `{id}` is the execution that a worker holds, `{job}` its job.
const who = { worker_id: 'w', attempt: 1 };
const badWho = {
  worker_id: [...notText, '', word(257), null],
  attempt: [...badWhole, 0, -1, 2147483648, null],
};
export const bodies = [
  { path: '/v1/leases', good: { worker_id: 'w', queues: ['q:none'] }, bad: {
    worker_id: badWho.worker_id,
    queues: [null, 7, 'q', {}, [], [7], [''], Array(65).fill('q')],
    job_types: [7, 't', {}, [7], [''], Array(257).fill('t')],
    max: [...badWhole, 0, -1, 1001],
    lease_ms: badWhole, wait_ms: badWhole,
    start: [0, 'true', []],
  } },
  { path: '/v1/executions/{id}/start', good: who, bad: badWho },
  { path: '/v1/executions/{id}/done', good: who, bad: badWho },
  { path: '/v1/executions/{id}/release', good: who, bad: badWho },
  { path: '/v1/executions/{id}/heartbeat', good: who, bad: {
    ...badWho,
    progress: [7, 'text', []],
    'progress.percent': [{ message: 'm' }, { percent: -1 }, { percent: 101 }, { percent: '7' }],
    'progress.message': [{ percent: 1, message: 7 }, { percent: 1, message: word(5000) }],
    'progress.eta': [{ percent: 1, eta: 1 }],
  } },
  { path: '/v1/executions/{id}/commit', good: who, bad: {
    ...badWho,
    enqueue: [7, {}, [7]],
    'enqueue[0].job_type': [[{ payload: {}, idempotency_key: 'k' }]],
    'enqueue[1].state': [[goodJob, { ...goodJob, state: 'X' }]],
    annotations: [7, {}, [7], Array(101).fill({})],
    rows_processed: [...badWhole, -1],
    finish: [0, 'true'], done: [0, 'true'],
  } },
  { path: '/v1/executions/{id}/fail',
    good: { ...who, error: { class: 'transient', message: 'm' } }, bad: {
      ...badWho,
      error: [null, 7, 'text', []],
      'error.class': [{ message: 'm' }, { class: 'nope', message: 'm' },
                      { class: 7, message: 'm' }, { class: 'crash', message: 'm' }],
      'error.message': [{ class: 'transient' }, { class: 'transient', message: 7 }],
      'error.stack': [{ class: 'transient', message: 'm', stack: '' }],
      retry_after_ms: [...badWhole, -1, 86400001],
    } },
  { path: '/v1/executions/batch', good: { operations: [{ op: 'start', exec_id: '{id}', ...who }] },
    bad: {
      operations: [null, 7, {}, [], [7], Array(1001).fill({})],
      'operations[0].op': [[{ exec_id: '{id}', ...who }], [{ op: 'nope', exec_id: '{id}', ...who }],
                           [{ op: 7, exec_id: '{id}', ...who }]],
      'operations[0].exec_id': [[{ op: 'start', ...who }], [{ op: 'start', exec_id: 'x', ...who }]],
      'operations[0].worker_id': [[{ op: 'done', exec_id: '{id}', attempt: 1 }],
                                  [{ op: 'done', exec_id: 'x', attempt: 1 }]],
      'operations[0].nonsense': [[{ op: 'done', exec_id: '{id}', ...who, nonsense: 1 }]],
    } },
  { method: 'PUT', path: '/v1/executions/{id}/steps/s', good: { ...who, result: 1 }, bad: {
    ...badWho,
    error: [7, 'text', []],
  } },
  { method: 'PATCH', path: '/v1/jobs/{job}', good: { priority: 1 }, bad: {
    priority: [...badWhole, -101, 101],
    scheduled_for: badTime,
    queue: [...notText, '', word(129)],
  } },
  ...['/v1/jobs/cancel', '/v1/jobs/retry'].map((path) => ({
    path, good: { queue: 'q:none', dry_run: true }, bad: {
      state: [7, [], 'NOPE', 'queued'],
      limit: [...badWhole, 0, -1, 501],
      dry_run: [0, 'true'],
      job_type: notText, serial_key: notText, correlation_id: notText, project_id: notText,
      batch_id: [...notText, 'x'], cursor: [...notText, 'x'],
    } })),
  { path: '/v1/batches', good: { jobs: [goodJob] }, bad: {
    jobs: [null, 7, {}, [], [7], Array(1001).fill({})],
    'jobs[1].priority': [[goodJob, { ...goodJob, priority: 101 }]],
    'jobs[0].batch_id': [[{ ...goodJob, batch_id: '01900000-0000-7000-8000-00000000000a' }]],
    'jobs[0].after[1]': [[{ ...goodJob,
                            after: ['{job}', '01900000-0000-7000-8000-00000000000a'] }]],
    callback: [7, 'text', []],
    'callback.job_type': [{ payload: {} }],
    'callback.payload.batch': [{ job_type: 'a', payload: { batch: 1 } }],
    ...Object.fromEntries(Object.entries({
      idempotency_key: 'k', max_wait: '1s', submit: false, authorized_by: 'me', limit_key: 'l',
      after: ['01900000-0000-7000-8000-00000000000a'],
      batch_id: '01900000-0000-7000-8000-00000000000a',
    }).map(([name, value]) => [`callback.${name}`,
                               [{ job_type: 'a', payload: {}, [name]: value }]])),
    name: [...notText, '', word(257), 'a\u0001'],
    idempotency_key: [...notText, '', word(257), 'a\u0001'],
    project_id: [...notText, 'p', '01900000-0000-7000-8000-00000000000A'],
  } },
  ...['/v1/deadletter/replay', '/v1/deadletter/discard'].map((path) => ({
    path, good: { queue: 'q:none', dry_run: true,
                  ...(path.endsWith('discard') ? { reason: 'r' } : {}) }, bad: {
      job_type: notText, queue: notText,
      fingerprint: [...notText, 'x', '0123456789a', '0123456789abc', '0123456789AB'],
      limit: [...badWhole, 0, -1, 501],
      dry_run: [0, 'true'],
      ...(path.endsWith('discard') ? { reason: [...notText, null, '', word(1001)] } : {}),
    } })),
  { path: '/v1/deadletter/{job}/discard', good: { reason: 'r' }, bad: {
    reason: [...notText, null, '', word(1001)] } },
  { path: '/v1/deadletter/{job}/fix', good: { payload: {} }, bad: {
    payload: [null, 7, 'text', []],
    dry_run: [0, 'true'] } },
  { path: '/v1/keys', good: { role: 'viewer' }, bad: {
    role: [...notText, null, '', 'root', 'Admin'],
    name: [...notText, word(129)],
    projects: [7, 'p', {}, [7], ['p']],
    expires_at: badTime,
  } },
  { method: 'PUT', path: '/v1/schedules/s',
    good: { job_type: 'a', cron: '* * * * *', coalesce: true, misfire_grace_time: '5m',
            max_instances: 1, expected_max_runtime: '1m' }, bad: {
      job_type: [...badName, null],
      payload: [7, 'text', []],
      cron: [...notText, '', '*', '61 * * * *', '* * * * * * *', '0 0 30 2 *', '@never', word(300)],
      every: [...badDuration, '1s', '500ms', '367d'],
      timezone: [...notText, '', 'Mars/Base', 'Europe/../UTC', '/etc/passwd', 'Europe/'],
      coalesce: [null, 0, 'true', []],
      misfire_grace_time: [...badDuration, null, '0s', '367d'],
      max_instances: [...badWhole, null, 0, -1, 1001],
      expected_max_runtime: [...badDuration, null, '0s', '16d'],
      catch_up: [...badWhole, 0, 101],
      jitter: [...badDuration, '25h'],
      project_id: [...notText, '', 'p'],
      policy: [...notText, 'nope'],
      queue: [...notText, 'a b', 'q:deadletter'],
      paused: [0, 'true'],
    } },
  { path: '/v1/schedules/s/trigger', good: { scheduled_for: '2026-01-01T00:00:00Z' },
    bad: { scheduled_for: [...badTime, null, '2026-01-01T00:00:00.5Z'] } },
  { path: '/v1/schedules/s/backfill',
    good: { from: '2026-01-01T00:00:00Z', to: '2026-01-02T00:00:00Z' }, bad: {
      from: [...badTime, null],
      to: [...badTime, null, '2025-12-31T00:00:00Z'],
      dry_run: [0, 'true'],
    } },
  { path: '/v1/queues/q:none/purge', good: { dry_run: true }, bad: { dry_run: [0, 'true', []] } },
];

// Lists, and what their queries must not have.
const badLimit = ['', '0', '-1', '501', '1.5', 'x', '9223372036854775808', '1e2'];
const badCursor = ['x', '-', '1-', '-00000000', '1-00000000', 'ffffffffffffffff-00000000', '%20'];
export const queries = [
  { path: '/v1/jobs', bad: { limit: badLimit, cursor: badCursor,
                             state: ['x', 'queued', '7'], batch_id: ['x', '7'] } },
  { path: '/v1/audit', bad: { limit: badLimit, cursor: badCursor, event: ['x', 'job.'],
                              job_id: ['x', '7', '01900000-0000-4000-8000-00000000000a'] } },
  { path: '/v1/keys', bad: { limit: badLimit, cursor: badCursor } },
  { path: '/v1/deadletter', bad: { limit: badLimit, cursor: badCursor,
                                   fingerprint: ['x', '0123456789a', '0123456789AB'] } },
  { path: '/v1/schedules', bad: { limit: badLimit, cursor: [...badCursor, '00000000.s'] } },
  { path: '/v1/schedules/s/runs', bad: { limit: badLimit, cursor: badCursor } },
  { path: '/v1/schedules/s/skips', bad: { limit: badLimit, cursor: badCursor } },
  { path: '/v1/schedules/s/next', bad: { count: ['', '0', '-1', '10001', 'x'],
                                         after: ['', 'x', '2026-08-22', '7'] } },
  { path: '/v1/jobs/{job}/logs', bad: { limit: ['', '0', '-1', '10001', 'x'], cursor: badCursor } },
  { path: '/v1/jobs/{job}', bad: { wait_ms: ['', 'x', '1.5', '9223372036854775808'] } },
  { path: '/v1/events', bad: { last_event_id: ['x', '-1', '1.5', '9223372036854775808'] } },
];

// Texts that are no JSON, or none that is taken. Bytes.
const latin = (text) => Buffer.from(text, 'latin1');
const deep = (n) => `${'['.repeat(n)}${']'.repeat(n)}`;
export const notJson = [
  '{', '}', '{"a"}', '{"a":}', '{"a":1,}', '{a:1}', "{'a':1}", '{"a":1}}', '{"a":1} x', '{} {}',
  'nul', 'NaN', '{"a":NaN}', '{"a":Infinity}', '{"a":01}', '{"a":+1}', '{"a":.5}', '{"a":5.}',
  '{"a":0x10}', '{"a":1e400}', '{"a":9223372036854775808}', '{"a":-9223372036854775809}',
  '{"a":"\\x41"}', '{"a":"\\u12"}', '{"a":"\\ud800"}', '{"a":"b\\u0000c"}', '{"a\\u0000":1}',
  '{"a":1,"a":1}', '{"a":{"b":1,"b":2}}', '{"a":"open', `{"a":${deep(32)}}`, deep(100000),
  '{"a":'.repeat(50000), `{"${'k'.repeat(257)}":1}`, '//\n{}', '{}\0', '\0', ' ', '\r\n', 'null',
  'true', '7', '"text"', '[]', '[{}]', '<a/>', 'a=b', '{"a":"\x01"}',
].map(latin).concat([
  '\xef\xbb\xbf{}', '{"a":"\xff"}', '{"a":"\xc0\xaf"}', '{"a":"\xed\xa0\x80"}', '{"a":"\xe2\x82"}',
  '{"a":"\xf4\x90\x80\x80"}', '\xff\xfe{\0}\0', '\0{\0}', '\x1f\x8b\x08\0\0\0\0\0',
].map(latin));
