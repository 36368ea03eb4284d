import { inject } from 'vitest';
import type { TunnelFault } from '../../local/neon/tunnel-faults.ts';
import { requireDatabase } from '../../src/modules/managed-database/service.ts';
import { runInContext } from './context.ts';

const makeProjectName = (companyId: string): string => `console-${companyId}`;

async function controlTunnel(
  path: string,
  companyId: string,
  fault?: Omit<TunnelFault, 'project_name'>,
  extraParameters: Record<string, string> = {},
): Promise<unknown> {
  const url = new URL(`/_test/${path}`, inject('neonApiUrl'));
  url.search = new URLSearchParams({ ...extraParameters, project_name: makeProjectName(companyId) }).toString();
  const body = fault && JSON.stringify({ ...fault, project_name: makeProjectName(companyId) });
  const response = await fetch(url, body === undefined ? {} : { method: 'POST', body });
  if (response.status !== 200) throw new Error(`/_test/${path} answered ${response.status}`);
  return response.json();
}

/** Disturbs the next matching message to the company's Postgres, or the opening of the next connection. */
export async function disturbTunnel(companyId: string, fault: Omit<TunnelFault, 'project_name'>): Promise<void> {
  await controlTunnel('faults', companyId, fault);
}

/**
 * Runs `work` while each message to the company's Postgres is delayed. @returns the result of `work`, and the longest chain of
 * round trips: opening a connection to Neon is three of them
 */
export async function runWithLatency<T>(
  companyId: string,
  milliseconds: number,
  work: () => Promise<T>,
): Promise<{ outcome: T; tripCount: number }> {
  await setLatency(companyId, milliseconds);
  const outcome = await work();
  const { trips } = (await controlTunnel('trips', companyId)) as { trips: number };
  await setLatency(companyId, 0);
  return { outcome, tripCount: trips };
}

/** Suspends the company's compute: the next connection wakes it, which takes the given number of milliseconds. */
export const suspendCompute = (companyId: string, milliseconds: number): Promise<unknown> =>
  controlTunnel('suspend', companyId, undefined, { milliseconds: String(milliseconds) });

/** Returns the state of the company's compute: asleep, waking, or serving. */
export const readComputeState = async (companyId: string): Promise<'idle' | 'init' | 'active'> =>
  ((await controlTunnel('compute', companyId)) as { state: 'idle' | 'init' | 'active' }).state;

/** Counts the open connections to the company's compute. */
export const countOpenConnections = async (companyId: string): Promise<number> =>
  ((await controlTunnel('compute', companyId)) as { connections: number }).connections;

/** Runs `work`. @returns how many connections to the company's Postgres it opened, and how many of them to its pooler */
export async function countOpenedConnections(
  companyId: string,
  work: () => Promise<unknown>,
): Promise<{ direct: number; pooled: number }> {
  const readConnectionCounts = () =>
    controlTunnel('connections', companyId) as Promise<{ direct: number; pooled: number }>;
  const countsBefore = await readConnectionCounts();
  await work();
  const countsAfter = await readConnectionCounts();
  return { direct: countsAfter.direct - countsBefore.direct, pooled: countsAfter.pooled - countsBefore.pooled };
}

const setLatency = (companyId: string, milliseconds: number): Promise<unknown> =>
  controlTunnel('distance', companyId, undefined, { milliseconds: String(milliseconds) });

/**
 * Runs `concurrentWork` just before the next statement to the company's Postgres that matches `statement`: that message waits in
 * the tunnel until `concurrentWork` is done, or waits for a lock itself. @returns the outcome of `concurrentWork`: a test that
 * does not await it proves nothing
 */
export async function runBeforeNextStatement<T>(
  companyId: string,
  statement: RegExp,
  concurrentWork: () => Promise<T>,
): Promise<{ outcome: Promise<T> }> {
  const { outcomes } = await runEachBeforeStatement(companyId, statement, [concurrentWork]);
  return { outcome: outcomes.then(([outcome]) => outcome as T) };
}

/** Runs one of `concurrentWorks` before each of the next statements that match `statement`, in order. */
export async function runEachBeforeStatement<T>(
  companyId: string,
  statement: RegExp,
  concurrentWorks: (() => Promise<T>)[],
): Promise<{ outcomes: Promise<T[]> }> {
  for (const _ of concurrentWorks) await disturbTunnel(companyId, { statement: statement.source, effect: 'hold' });
  const runInOrder = async () => {
    const outcomes: Promise<T>[] = [];
    for (const concurrentWork of concurrentWorks) {
      await controlTunnel('held', companyId);
      let isDone = false;
      const outcome = concurrentWork().finally(() => {
        isDone = true;
      });
      await Promise.race([
        outcome.catch(() => undefined),
        waitForSession(companyId, `wait_event_type = 'Lock'`, () => isDone),
      ]);
      await controlTunnel('release', companyId);
      outcomes.push(outcome);
    }
    return Promise.all(outcomes);
  };
  const outcomes = runInOrder();
  outcomes.catch(() => undefined);
  return { outcomes };
}

/** Waits until a statement of the company's sleeps in `pg_sleep`, which does not see commits from then on. */
export const waitForSleep = (companyId: string): Promise<void> => waitForSession(companyId, `wait_event = 'PgSleep'`);

/**
 * Waits until a session of the company's matches `condition`, or `shouldStop` returns true. The owner sees the sessions of all logins.
 */
const waitForSession = (companyId: string, condition: string, shouldStop = () => false): Promise<void> =>
  runInContext({ kind: 'system', companyId }, async (ctx) => {
    const database = await requireDatabase(ctx);
    const matchingSessions = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND ${condition}`;
    while (!shouldStop() && (await database.query(matchingSessions)).length === 0) {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  });
