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
import { readHeldMemory } from './heap.ts';
import { type System, startSystem } from './system.ts';
import { Callers } from './traffic/callers.ts';
import {
  type Activity,
  actAsAutomation,
  actAsPerson,
  actAsUploader,
  actAsViewer,
  createScene,
} from './traffic/work.ts';
import { readResidentMemory } from './usage.ts';
import { computeMedian, makeUpperLimit, printVerdict } from './verdict.ts';

const MINUTES = Number(process.argv[2] ?? 10);
const MEMORY_LIMIT = 1.25;
const MINUTE_MS = 60_000;
const SAMPLE_MS = MINUTE_MS / 12;
const AUDIT_PATIENCE_MS = 60_000;
/** How long a pool may keep connections open after the last request. */
const SETTLE_MS = 5000;

const system = await startSystem();
try {
  const scene = await createScene(system);
  const callers = new Callers(system, system.serviceAccount, await system.logIn());
  const connectionsBefore = await countConnections(system);
  const began = new Date();
  const end = Date.now() + MINUTES * MINUTE_MS;

  let signIns = 0;
  const memory: number[] = [];
  const failures: string[] = [];
  await Promise.all([
    ...[
      actAsAutomation(callers),
      actAsAutomation(callers),
      actAsPerson(callers, scene),
      actAsPerson(callers, scene),
    ].map(repeat),
    ...[
      actAsViewer(callers, scene),
      actAsViewer(callers, scene),
      actAsViewer(callers, scene),
      actAsUploader(callers),
    ].map(repeat),
    watch(),
    keepTime(),
  ]);

  async function repeat(work: Activity): Promise<void> {
    for (let turn = 0; Date.now() < end; turn += 1) {
      await work(turn).catch((error: Error) => {
        failures.push(error.message);
      });
    }
  }

  /** Samples memory and prints progress. */
  async function watch(): Promise<void> {
    // Once there is no traffic, an isolate hears nothing of what its inspector asks.
    for (let sample = 1; Date.now() < end - 2 * SAMPLE_MS; sample += 1) {
      await sleep(SAMPLE_MS);
      const held = await readHeldMemory(system.inspectorPort);
      memory.push(held);
      if (sample % 12 > 0) continue;
      const { now: resident } = await readResidentMemory(await system.workerd());
      console.log(
        `minute ${sample / 12}: ${callers.answered} answers; the Worker holds ${held.toFixed(1)} MB, workerd ${resident.toFixed(0)} MB`,
      );
    }
  }

  /** The scheduled handler runs every minute, as in production; the person has signed in anew by then. */
  async function keepTime(): Promise<void> {
    for (; Date.now() < end; await sleep(MINUTE_MS)) {
      await system.runScheduled();
      callers.token = await system.logIn();
      signIns += 1;
    }
  }

  const ended = new Date();
  await sleep(SETTLE_MS);
  const missing = await countMissingAudit(callers.answered + signIns, began, ended);
  const leaked = (await countConnections(system)) - connectionsBefore;
  const fifth = memory.length / 5;
  const growth = computeMedian(memory.slice(-fifth)) / computeMedian(memory.slice(fifth, 2 * fifth));

  let refused = 0;
  const said = [...failures];
  for (const [kind, { times, statuses, surprises }] of callers.tallies) {
    const sorted = times.toSorted((a, b) => a - b);
    const at = (share: number) => `${sorted[Math.floor(share * (sorted.length - 1))]?.toFixed(0)} ms`;
    const counts = [...statuses].map(([status, count]) => `${count} × ${status}`).join(', ');
    console.log(`${kind.padEnd(8)} ${counts}; half within ${at(0.5)}, 99 of 100 within ${at(0.99)}`);
    for (const [status, count] of statuses) if (status < 200 || status > 299) refused += count;
    said.push(...surprises);
  }
  for (const what of said) console.log(`  ${what}`);
  printVerdict(
    'answers to mixed traffic that were not a success',
    refused,
    makeUpperLimit(0),
    `of ${callers.answered}`,
  );
  printVerdict('uploads amid it that went wrong', failures.length, makeUpperLimit(0), 'in all');
  printVerdict('connections to Postgres left over', leaked, makeUpperLimit(0), 'in all');
  printVerdict('audit records missing', Math.abs(missing), makeUpperLimit(0), `of ${callers.answered}`);
  printVerdict(
    'memory that the Worker holds in the last fifth, against the second',
    growth,
    makeUpperLimit(MEMORY_LIMIT),
  );
} finally {
  await system.stop();
}

/** The number of connections to the company's Postgres. */
async function countConnections({ postgresUrl }: System): Promise<number> {
  const client = new Client({ connectionString: postgresUrl });
  await client.connect();
  const { rows } = await client.query(
    `SELECT count(*)::int AS open FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`,
  );
  await client.end();
  return rows[0].open;
}

/** The number of requests in a time range without an audit record, after the queue had time to deliver it. */
async function countMissingAudit(sent: number, from: Date, to: Date): Promise<number> {
  const query = `from=${from.toISOString()}&to=${to.toISOString()}&quantity=1`;
  const patience = Date.now() + AUDIT_PATIENCE_MS;
  for (;;) {
    const url = `${system.baseUrl}/admin/audit-events?${query}`;
    const response = await fetch(await signedRequest(system.serviceAccount, 'GET', url));
    const { total } = (await response.json()) as { total: number };
    if (total === sent || Date.now() > patience) return sent - total;
    await sleep(1000);
  }
}
