/**
 * Sends mixed traffic to the whole running system for ten minutes: automation signs requests, a person works at the
 * console, viewers open an embed and a public link, and another person uploads files.
 *
 *   npm run bench -- traffic   (or: npx node bench/traffic.ts [minutes])
 *
 * Every answer must be a success; every upload becomes a table of exactly its rows; afterwards Postgres has no more
 * connections than before, and every request has its audit record. In the last fifth the Worker's isolate may retain
 * 1.25 times the memory of the second fifth. The resident memory printed beside it is that of all of workerd, mostly of
 * the simulators of the platform, which do grow. Needs Linux.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { signedRequest } from '../examples/signing/sign.ts';
import { readRetainedMemory } from './heap.ts';
import { type System, startSystem } from './system.ts';
import { Callers } from './traffic/callers.ts';
import {
  type Activity,
  createTrafficObjects,
  makeAutomationActivity,
  makePersonActivity,
  makeUploaderActivity,
  makeViewerActivity,
} from './traffic/work.ts';
import { readResidentMemory } from './usage.ts';
import { computeMedian, makeUpperLimit, printVerdict } from './verdict.ts';

const DURATION_MINUTES = Number(process.argv[2] ?? 10);
const MAX_MEMORY_RATIO = 1.25;
const MINUTE_MS = 60_000;
const SAMPLE_INTERVAL_MS = MINUTE_MS / 12;
const AUDIT_TIMEOUT_MS = 60_000;
/** Longest time for which a pool keeps connections open after the last request (ms). */
const SETTLE_MS = 5000;

const system = await startSystem();
try {
  const trafficObjects = await createTrafficObjects(system);
  const callers = new Callers(system, system.serviceAccountKey, await system.logIn());
  const connectionsBefore = await countConnections(system);
  const startedAt = new Date();
  const end = Date.now() + DURATION_MINUTES * MINUTE_MS;

  let signInCount = 0;
  const memorySamples: number[] = [];
  const failures: string[] = [];
  await Promise.all([
    ...[
      makeAutomationActivity(callers),
      makeAutomationActivity(callers),
      makePersonActivity(callers, trafficObjects),
      makePersonActivity(callers, trafficObjects),
    ].map(repeatActivity),
    ...[
      makeViewerActivity(callers, trafficObjects),
      makeViewerActivity(callers, trafficObjects),
      makeViewerActivity(callers, trafficObjects),
      makeUploaderActivity(callers),
    ].map(repeatActivity),
    sampleMemory(),
    runScheduledTasks(),
  ]);

  async function repeatActivity(activity: Activity): Promise<void> {
    for (let roundIndex = 0; Date.now() < end; roundIndex += 1) {
      await activity(roundIndex).catch((error: Error) => {
        failures.push(error.message);
      });
    }
  }

  /** Samples memory and prints progress. */
  async function sampleMemory(): Promise<void> {
    // Once there is no traffic, an isolate hears nothing of what its inspector asks.
    for (let sample = 1; Date.now() < end - 2 * SAMPLE_INTERVAL_MS; sample += 1) {
      await sleep(SAMPLE_INTERVAL_MS);
      const retainedMb = await readRetainedMemory(system.inspectorPort);
      memorySamples.push(retainedMb);
      if (sample % 12 > 0) continue;
      const { currentMb: residentMb } = await readResidentMemory(await system.findWorkerdPid());
      console.log(
        `minute ${sample / 12}: ${callers.answeredCount} answers; the Worker holds ${retainedMb.toFixed(1)} MB, workerd ${residentMb.toFixed(0)} MB`,
      );
    }
  }

  /** Runs the scheduled handler every minute, as in production, and renews the person's sign-in by then. */
  async function runScheduledTasks(): Promise<void> {
    for (; Date.now() < end; await sleep(MINUTE_MS)) {
      await system.runScheduled();
      callers.token = await system.logIn();
      signInCount += 1;
    }
  }

  const endedAt = new Date();
  await sleep(SETTLE_MS);
  const missingAuditCount = await countMissingAudit(callers.answeredCount + signInCount, startedAt, endedAt);
  const leakedConnections = (await countConnections(system)) - connectionsBefore;
  const fifthOfSamples = memorySamples.length / 5;
  const memoryRatio =
    computeMedian(memorySamples.slice(-fifthOfSamples)) /
    computeMedian(memorySamples.slice(fifthOfSamples, 2 * fifthOfSamples));

  let refusedCount = 0;
  const printedProblems = [...failures];
  for (const [kind, { times, statuses, unexpectedAnswers }] of callers.tallies) {
    const sortedTimes = times.toSorted((a, b) => a - b);
    const formatQuantile = (quantile: number) =>
      `${sortedTimes[Math.floor(quantile * (sortedTimes.length - 1))]?.toFixed(0)} ms`;
    const counts = [...statuses].map(([status, count]) => `${count} × ${status}`).join(', ');
    console.log(
      `${kind.padEnd(8)} ${counts}; half within ${formatQuantile(0.5)}, 99 of 100 within ${formatQuantile(0.99)}`,
    );
    for (const [status, count] of statuses) if (status < 200 || status > 299) refusedCount += count;
    printedProblems.push(...unexpectedAnswers);
  }
  for (const problem of printedProblems) console.log(`  ${problem}`);
  printVerdict(
    'answers to mixed traffic that were not a success',
    refusedCount,
    makeUpperLimit(0),
    `of ${callers.answeredCount}`,
  );
  printVerdict('uploads amid it that went wrong', failures.length, makeUpperLimit(0), 'in all');
  printVerdict('connections to Postgres left over', leakedConnections, makeUpperLimit(0), 'in all');
  printVerdict('audit records missing', Math.abs(missingAuditCount), makeUpperLimit(0), `of ${callers.answeredCount}`);
  printVerdict(
    'memory that the Worker holds in the last fifth, against the second',
    memoryRatio,
    makeUpperLimit(MAX_MEMORY_RATIO),
  );
} finally {
  await system.stop();
}

/** Counts the connections to the company's Postgres. */
async function countConnections({ postgresUrl }: System): Promise<number> {
  const client = new Client({ connectionString: postgresUrl });
  await client.connect();
  const { rows } = await client.query(
    `SELECT count(*)::int AS open FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`,
  );
  await client.end();
  return rows[0].open;
}

/** Counts the requests in a time range without an audit record, after the queue had time to deliver it. */
async function countMissingAudit(sentCount: number, from: Date, to: Date): Promise<number> {
  const query = `from=${from.toISOString()}&to=${to.toISOString()}&quantity=1`;
  const deadline = Date.now() + AUDIT_TIMEOUT_MS;
  for (;;) {
    const url = `${system.baseUrl}/admin/audit-events?${query}`;
    const response = await fetch(await signedRequest(system.serviceAccountKey, 'GET', url));
    const { total } = (await response.json()) as { total: number };
    if (total === sentCount || Date.now() > deadline) return sentCount - total;
    await sleep(1000);
  }
}
