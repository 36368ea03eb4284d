import type { BatchItem } from 'drizzle-orm/batch';
import { drizzle } from 'drizzle-orm/d1';
import { POLICY_LIMIT_FAILURES } from './failures.ts';

/**
 * The control database through one D1 session that starts at the primary, so that a revocation is seen by the very
 * next request. D1 has no interactive transactions: a unit of work is one `commit`.
 */
export function openControlDb(database: D1Database) {
  return drizzle(database.withSession('first-primary') as unknown as D1Database);
}

/** The same, answered by the nearest replica: what anonymous viewers read may be a moment old. */
export function openNearestControlDb(database: D1Database): ControlDb {
  return drizzle(database.withSession('first-unconstrained') as unknown as D1Database);
}

export type ControlDb = ReturnType<typeof openControlDb>;

/** A write or read that can stand in a batch. */
export type Statement = BatchItem<'sqlite'>;

/** Which failure a violated unique index means: `table.column` (or the index's expression as SQLite names it) → failure. */
export type ConstraintFailures = Record<string, () => Error>;

/** The statements of a unit of work by name; a list is a step whose number of statements depends on the input. */
export type Unit = Readonly<Record<string, Statement | readonly Statement[]>>;

/** What each statement of a unit answered, under its name. */
export type Results<U extends Unit> = {
  [Name in keyof U]: U[Name] extends Statement ? U[Name]['_']['result'] : unknown[];
};

/**
 * Runs the statements as one unit, in their order: all are applied or none.
 *
 * D1 answers a batch with rows keyed by column name. A join that selects two columns of one name (`users.id` and
 * `companies.id`) loses one of them and shifts the rest: give one an alias, or select only one.
 * @returns each statement's result, under its name
 * @throws the failure that `failures` names for a violated constraint, else the database's own error
 */
export async function commit<const U extends Unit>(
  db: ControlDb,
  unit: U,
  failures: ConstraintFailures = {},
): Promise<Results<U>> {
  const statements = Object.values(unit).flat() as unknown as [Statement, ...Statement[]];
  try {
    const results: unknown[] = await db.batch(statements);
    const steps = Object.entries(unit).map(([name, step]) => [
      name,
      Array.isArray(step) ? results.splice(0, step.length) : results.shift(),
    ]);
    return Object.fromEntries(steps) as Results<U>;
  } catch (error) {
    throw constraintFailure(error, { ...POLICY_LIMIT_FAILURES, ...failures }) ?? error;
  }
}

function constraintFailure(error: unknown, failures: ConstraintFailures): Error | undefined {
  const message = errorText(error);
  if (!/constraint failed/i.test(message)) return undefined;
  const name = Object.keys(failures).find((constraint) => message.includes(constraint));
  return name === undefined ? undefined : failures[name]?.();
}

/** The message of an error and of its causes: drizzle wraps D1's own. */
function errorText(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause ? `${error.message} ${errorText(error.cause)}` : error.message;
}

/** How many rows a write of a batch changed. */
export function changes(result: unknown): number {
  return (result as D1Result).meta.changes;
}
