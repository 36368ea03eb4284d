import { inject } from 'vitest';
import type { TunnelFault } from '../../local/neon/tunnel-faults.ts';
import { requireDatabase } from '../../src/modules/managed-database/service.ts';
import { inContext } from './context.ts';

const projectOf = (companyId: string): string => `console-${companyId}`;

async function control(
  path: string,
  companyId: string,
  fault?: Omit<TunnelFault, 'project_name'>,
  asked: Record<string, string> = {},
): Promise<unknown> {
  const url = new URL(`/_test/${path}`, inject('neonApiUrl'));
  url.search = new URLSearchParams({ ...asked, project_name: projectOf(companyId) }).toString();
  const body = fault && JSON.stringify({ ...fault, project_name: projectOf(companyId) });
  const response = await fetch(url, body === undefined ? {} : { method: 'POST', body });
  if (response.status !== 200) throw new Error(`/_test/${path} answered ${response.status}`);
  return response.json();
}

/** Disturbs the next message to the company's Postgres that fits, or the opening of the next connection. */
export async function disturb(companyId: string, fault: Omit<TunnelFault, 'project_name'>): Promise<void> {
  await control('faults', companyId, fault);
}

/**
 * Puts the company's Postgres that far away, and runs work.
 * @returns what it came to, and the longest chain of round trips: opening a connection to Neon is three of them
 */
export async function farAway<T>(
  companyId: string,
  milliseconds: number,
  work: () => Promise<T>,
): Promise<{ outcome: T; trips: number }> {
  await place(companyId, milliseconds);
  const outcome = await work();
  const { trips } = (await control('trips', companyId)) as { trips: number };
  await place(companyId, 0);
  return { outcome, trips };
}

/** Suspends the company's compute: the next connection to it wakes it, which takes so long. */
export const suspend = (companyId: string, milliseconds: number): Promise<unknown> =>
  control('suspend', companyId, undefined, { milliseconds: String(milliseconds) });

/** What the company's compute does: sleep, wake, or serve. */
export const computeState = async (companyId: string): Promise<'idle' | 'init' | 'active'> =>
  ((await control('compute', companyId)) as { state: 'idle' | 'init' | 'active' }).state;

/** How many connections to the company's compute are open. */
export const openConnections = async (companyId: string): Promise<number> =>
  ((await control('compute', companyId)) as { connections: number }).connections;

/** Runs work. @returns how many connections to the company's Postgres it opened, and how many of them to its pooler */
export async function connectionsOf(
  companyId: string,
  work: () => Promise<unknown>,
): Promise<{ direct: number; pooled: number }> {
  const opened = () => control('connections', companyId) as Promise<{ direct: number; pooled: number }>;
  const before = await opened();
  await work();
  const after = await opened();
  return { direct: after.direct - before.direct, pooled: after.pooled - before.pooled };
}

const place = (companyId: string, milliseconds: number): Promise<unknown> =>
  control('distance', companyId, undefined, { milliseconds: String(milliseconds) });

/**
 * Runs `rival` just before a statement to the company's Postgres that fits `statement`: the next such message waits in the
 * tunnel until the rival is done, or waits for a lock itself.
 * @returns what the rival came to: a test that does not await it proves nothing
 */
export async function rivalBeforeStatement<T>(
  companyId: string,
  statement: RegExp,
  rival: () => Promise<T>,
): Promise<{ outcome: Promise<T> }> {
  const { outcomes } = await rivalsBeforeStatement(companyId, statement, [rival]);
  return { outcome: outcomes.then(([outcome]) => outcome as T) };
}

/** The same before each of the next such messages: one rival each, in their order. */
export async function rivalsBeforeStatement<T>(
  companyId: string,
  statement: RegExp,
  rivals: (() => Promise<T>)[],
): Promise<{ outcomes: Promise<T[]> }> {
  for (const _ of rivals) await disturb(companyId, { statement: statement.source, effect: 'hold' });
  const run = async () => {
    const outcomes: Promise<T>[] = [];
    for (const rival of rivals) {
      await control('held', companyId);
      let isDone = false;
      const outcome = rival().finally(() => {
        isDone = true;
      });
      await Promise.race([
        outcome.catch(() => undefined),
        untilSessionFits(companyId, `wait_event_type = 'Lock'`, () => isDone),
      ]);
      await control('release', companyId);
      outcomes.push(outcome);
    }
    return Promise.all(outcomes);
  };
  const outcomes = run();
  outcomes.catch(() => undefined);
  return { outcomes };
}

/** Resolves when a statement of the company's sleeps in `pg_sleep`: it sees nothing that is committed from now on. */
export const untilSomebodySleeps = (companyId: string): Promise<void> =>
  untilSessionFits(companyId, `wait_event = 'PgSleep'`);

/** Resolves when a session of the company's fits, or nobody wants to know any more. The owner sees those of all logins. */
const untilSessionFits = (companyId: string, condition: string, enough = () => false): Promise<void> =>
  inContext({ kind: 'system', companyId }, async (ctx) => {
    const database = await requireDatabase(ctx);
    const fitting = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND ${condition}`;
    while (!enough() && (await database.query(fitting)).length === 0) {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  });
