import type { BatchItem } from 'drizzle-orm/batch';
import { drizzle } from 'drizzle-orm/d1';
import { createDependentSession, type Dependency, type DependentSession } from './dependent-session.ts';
import { createDryRunSession, type DryRunSession, type ObservedQueries } from './dry-run-session.ts';
import { createEventWatchingSession } from './event-session.ts';
import { POLICY_LIMIT_FAILURES, toQuotaFailure } from './failures.ts';
import { createGuardedSession, type GuardedSession } from './guarded-session.ts';
import { openNearestSession } from './nearest-replica.ts';

/**
 * Opens the control database in one D1 session that starts at the primary, so that a revocation is seen by the very next request.
 * D1 has no interactive transactions: a unit of work is one `commit`. @param onWaitingEvents receives the companies with waiting
 * events, after statements that may have written some
 */
export function openControlDb(
  database: D1Database,
  onWaitingEvents: (companyIds: readonly string[]) => void = () => {},
) {
  const session = database.withSession('first-primary');
  const guardedSession = createGuardedSession(createEventWatchingSession(session, onWaitingEvents));
  return drizzle(createDependentSession(createDryRunSession(guardedSession, session)) as unknown as D1Database);
}

/** Opens the control database at the nearest replica: anonymous viewers may read data that is five seconds old. */
export const openNearestControlDb = (database: D1Database, now: () => number): ControlDb =>
  drizzle(createGuardedSession(openNearestSession(database, now)) as unknown as D1Database);

/** Lets commits change access while `work` runs; none is applied after `deadline` (ms). Only for `ctx.changeAccess`. */
export const runAccessChange = <T>(db: ControlDb, deadline: number, work: () => Promise<T>): Promise<T> =>
  (db.$client as unknown as GuardedSession).runAccessChange(deadline, work);

/** Runs a read. @returns its result, and the rows that it read from the control database */
export const recordReads = <T>(db: ControlDb, work: () => Promise<T>) =>
  (db.$client as unknown as DependentSession).recordReads(work);

/** Runs `work`, which writes by `commit`; its first write is applied only if the dependency's rows are unchanged. */
export const runDependentWrite = <T>(db: ControlDb, on: Dependency, work: () => Promise<T>): Promise<T> =>
  (db.$client as unknown as DependentSession).runDependentWrite(on, work);

/** Runs `work` as a dry run: each batch is executed by the database and rolled back, see `DryRunSession`. */
export const runDryRun = <T>(db: ControlDb, observedQueries: ObservedQueries, work: () => Promise<T>): Promise<T> =>
  (db.$client as unknown as DryRunSession).runDryRun(observedQueries, work);

export type ControlDb = ReturnType<typeof openControlDb>;

/** Write or read that can be part of a batch. */
export type Statement = BatchItem<'sqlite'>;

/** Failures by the violated unique index: `table.column`, or the index's expression as SQLite names it. */
export type ConstraintFailures = Record<string, () => Error>;

/** Statements of one batch, by name: some are lists, some are units of another module. */
export interface StatementUnit {
  readonly [name: string]: Statement | readonly Statement[] | StatementUnit;
}

/** Results of a unit, of the same shape as the unit. */
export type Results<Step> = Step extends Statement
  ? Step['_']['result']
  : Step extends readonly (infer One)[]
    ? Results<One>[]
    : { [Name in keyof Step]: Results<Step[Name]> };

/** Applies all statements in order, or none. @returns results by name @throws the matching failure, else D1's error */
export async function commit<const U extends StatementUnit>(
  db: ControlDb,
  unit: U,
  failures: ConstraintFailures = {},
): Promise<Results<U>> {
  try {
    return await runTogether(db, unit);
  } catch (error) {
    throw findConstraintFailure(error, { ...POLICY_LIMIT_FAILURES, ...failures }) ?? error;
  }
}

/** Reads all statements in one round trip, as of one moment. @returns the rows of each under its name */
export const readTogether = <const U extends StatementUnit>(db: ControlDb, reads: U): Promise<Results<U>> =>
  runTogether(db, reads);

/** Runs a batch. D1 keys rows by column name: two columns of one name collide, so one needs an alias. */
async function runTogether<U extends StatementUnit>(db: ControlDb, unit: U): Promise<Results<U>> {
  const statements: Statement[] = [];
  mapStatements(unit, (statement) => statements.push(statement));
  const results = (await db.batch(statements as [Statement, ...Statement[]])).values();
  return mapStatements(unit, () => results.next().value) as Results<U>;
}

/** Copies a unit with the result of `make` in place of each statement, in their order. */
export function mapStatements(step: StatementUnit[string], make: (statement: Statement) => unknown): unknown {
  if (isStatement(step)) return make(step);
  if (Array.isArray(step)) return step.map(make);
  return Object.fromEntries(
    Object.entries<StatementUnit[string]>(step).map(([name, stepStatements]) => [
      name,
      mapStatements(stepStatements, make),
    ]),
  );
}

/** Returns true if a step is a statement: only statements have drizzle's `_prepare`, which a batch calls. */
const isStatement = (step: StatementUnit[string]): step is Statement => '_prepare' in step;

function findConstraintFailure(error: unknown, failures: ConstraintFailures): Error | undefined {
  const message = joinErrorMessages(error);
  if (!/constraint failed/i.test(message)) return undefined;
  const quotaFailure = toQuotaFailure(message);
  if (quotaFailure) return quotaFailure;
  const name = Object.keys(failures).find((constraint) => message.includes(constraint));
  return name === undefined ? undefined : failures[name]?.();
}

/** Joins the messages of an error and of its causes: drizzle wraps D1's own error. */
function joinErrorMessages(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause ? `${error.message} ${joinErrorMessages(error.cause)}` : error.message;
}

/** Returns the number of rows that a write of a batch changed. */
export const countChangedRows = (result: unknown): number => (result as D1Result).meta.changes;

const readsByKey = new WeakMap<ControlDb, Map<string, Promise<unknown>>>();

/** Reads a value once per request, by key: authorization and the handler share one query for a resource. */
export function readOnce<T>(db: ControlDb, key: string, readValue: () => PromiseLike<T>): Promise<T> {
  const knownReads = readsByKey.get(db) ?? new Map<string, Promise<unknown>>();
  readsByKey.set(db, knownReads);
  const foundRead = (knownReads.get(key) as Promise<T> | undefined) ?? Promise.resolve(readValue());
  knownReads.set(key, foundRead);
  return foundRead;
}

/** Forgets what `readOnce` has read, so that it is read anew. */
export const forgetReads = (db: ControlDb): void => {
  readsByKey.delete(db);
};
