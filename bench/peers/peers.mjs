// Lifecycles a second of two job queues on PostgreSQL, each as it does it best or by default:
//
//   node peers.mjs JOBS URL      prints JSON
//
// A lifecycle is enqueue, claim, an empty handler, done. Both record far less per job than Pawl.
import { run, makeWorkerUtils, Logger } from 'graphile-worker';
import { PgBoss } from 'pg-boss';

const [count, url] = [Number(process.argv[2]), process.argv[3]];
const BATCH = 1000;
const payload = { document: 'x'.repeat(180) };
const seconds = () => Number(process.hrtime.bigint()) / 1e9;

function* batches() {
  for (let left = count; left > 0; left -= BATCH) yield Math.min(left, BATCH);
}

// The default configuration: one job at a time, each fetched and completed by itself. Jobs are
// added in batches all the same.
async function graphileWorker() {
  const logger = new Logger(() => () => {});
  const utils = await makeWorkerUtils({ connectionString: url, logger });
  await utils.migrate();
  const start = seconds();
  for (const n of batches())
    await utils.addJobs(Array.from({ length: n }, () => ({ identifier: 'nothing', payload })));
  let left = count, done;
  const ended = new Promise((resolve) => { done = resolve; });
  const runner = await run({
    connectionString: url, logger, noHandleSignals: true,
    taskList: { nothing: async () => { if (--left === 0) done(); } },
  });
  await ended;
  await runner.stop();
  const took = seconds() - start;
  await utils.release();
  return count / took;
}

// Its best: batches for everything.
async function pgBoss() {
  const boss = new PgBoss({ connectionString: url, supervise: false, schedule: false });
  boss.on('error', (error) => { throw error; });
  await boss.start();
  await boss.createQueue('nothing');
  const start = seconds();
  for (const n of batches())
    await boss.insert('nothing', Array.from({ length: n }, () => ({ data: payload })));
  for (let left = count; left > 0;) {
    const jobs = await boss.fetch('nothing', { batchSize: BATCH });
    await boss.complete('nothing', jobs.map((job) => job.id));
    left -= jobs.length;
  }
  const took = seconds() - start;
  await boss.stop({ graceful: false });
  return count / took;
}

const figures = { graphile_worker_per_s: await graphileWorker(), pg_boss_per_s: await pgBoss() };
console.log(JSON.stringify(figures));
process.exit(0);
