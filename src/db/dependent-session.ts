import { isWriteStatement } from './access-changes.ts';
import type { DryRunSession, Query } from './dry-run-session.ts';
import { concurrentChange } from './failures.ts';
import { changeStatement, refuseOutsideBatch } from './guarded-session.ts';

/** Reads that writes depend on. */
export interface Dependency {
  /** Recorded reads of the control database with their rows. */
  reads: readonly RecordedRead[];
  /** Reads again after a concurrent change. @throws if the writes must not be applied to the new state */
  readAgain(): Promise<readonly RecordedRead[]>;
}

/** D1 session whose writes can depend on rows that were read before: optimistic, without a lock. */
export interface DependentSession extends DryRunSession {
  /** Runs a read; writes that it makes are applied. @returns its result, and the rows that were read */
  recordReads<T>(work: () => Promise<T>): Promise<{ result: T; reads: readonly RecordedRead[] }>;
  /** Runs `work`, whose first write is applied only if the rows of this and the outer dependencies are unchanged. */
  runDependentWrite<T>(on: Dependency, work: () => Promise<T>): Promise<T>;
}

/** Maximum number of tries of a write whose reads are changed concurrently. */
const MAX_ATTEMPTS = 5;

const toRows = ({ results }: D1Result): unknown[][] => results.map((row) => Object.values(row as object));

/** Adds the methods of a `DependentSession` to a session. Without a dependency the session behaves as before. */
export function createDependentSession(session: DryRunSession): DependentSession {
  const queries = new WeakMap<D1PreparedStatement, Query>();
  let recordedReads: RecordedRead[] | null = null;
  let dependency: Dependency | null = null;

  const prepareWatched = (sql: string): D1PreparedStatement =>
    changeStatement(session.prepare(sql), (statement, values) => {
      queries.set(statement, { sql, values });
      const isWrite = isWriteStatement(sql);
      if (recordedReads && !isWrite) recordSingleRead(statement, { sql, values }, recordedReads);
      if (!recordedReads && isWrite) refuseOutsideBatch(statement, 'This depends on what was read: use `commit`.');
    });

  const writeDependently = async (
    statements: D1PreparedStatement[],
    { reads, readAgain }: Dependency,
  ): Promise<D1Result[]> => {
    const prepareQuery = ({ sql, values }: Query) => session.prepare(sql).bind(...values);
    const guardStatements = reads.map((read) => prepareQuery(makeUnchangedCheck(read)));
    const results = await session.batch([...guardStatements, ...statements, ...reads.map(prepareQuery)]);
    const ownResults = results.slice(guardStatements.length, guardStatements.length + statements.length);
    const resultsAfter = results.slice(guardStatements.length + statements.length);
    const nextReads = reads.map((read, index) => ({ ...read, rows: toRows(resultsAfter[index] as D1Result) }));
    dependency = areSameRows(reads, nextReads) ? { reads: nextReads, readAgain } : null;
    return ownResults;
  };

  return {
    ...session,
    prepare: (sql) => (recordedReads || dependency ? prepareWatched(sql) : session.prepare(sql)),
    async batch(statements) {
      if (recordedReads) {
        const currentReads = recordedReads;
        const results = await session.batch(statements);
        for (const [index, statement] of statements.entries()) {
          const query = queries.get(statement);
          if (query && !isWriteStatement(query.sql))
            currentReads.push({ ...query, rows: toRows(results[index] as D1Result) });
        }
        return results;
      }
      const isWrite = (statement: D1PreparedStatement) => isWriteStatement(queries.get(statement)?.sql ?? '');
      if (!dependency || !statements.some(isWrite)) return session.batch(statements);
      for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
        try {
          return await writeDependently(statements, dependency);
        } catch (error) {
          if (!isReadConflict(error)) throw error;
          dependency = { ...dependency, reads: await dependency.readAgain() };
        }
      }
      throw concurrentChange();
    },
    async recordReads(work) {
      const reads: RecordedRead[] = [];
      recordedReads = reads;
      try {
        return { result: await work(), reads };
      } finally {
        recordedReads = null;
      }
    },
    async runDependentWrite(on, work) {
      const outerDependency = dependency;
      dependency = outerDependency ? combineDependencies(outerDependency, on) : on;
      try {
        return await work();
      } finally {
        // A change of what was read has ended both.
        dependency &&= outerDependency;
      }
    },
  };
}

const combineDependencies = (firstDependency: Dependency, otherDependency: Dependency): Dependency => ({
  reads: [...firstDependency.reads, ...otherDependency.reads],
  readAgain: async () => [...(await firstDependency.readAgain()), ...(await otherDependency.readAgain())],
});

/** Makes a read outside of a batch record its rows. */
function recordSingleRead(statement: D1PreparedStatement, query: Query, recordedReads: RecordedRead[]): void {
  const raw = statement.raw.bind(statement) as () => Promise<unknown[][]>;
  const allRows = statement.all.bind(statement);
  const recordRows = <R>(result: R, rows: unknown[][]): R => {
    recordedReads.push({ ...query, rows });
    return result;
  };
  Object.assign(statement, {
    raw: async () => {
      const rows = await raw();
      return recordRows(rows, rows);
    },
    all: async () => {
      const result = await allRows();
      return recordRows(result, toRows(result));
    },
    run: throwUnsupportedRead,
    first: throwUnsupportedRead,
  });
}

function throwUnsupportedRead(): never {
  throw new Error('What is remembered is read by a select.');
}

/** Read of the control database with the rows that it returned. */
interface RecordedRead {
  sql: string;
  values: readonly unknown[];
  rows: readonly (readonly unknown[])[];
}

/** SQL expression that fails with `integer overflow`, an error that no other statement raises. */
const FAILING_SQL = 'abs(-9223372036854775808)';

/** Returns true if a batch was refused by a statement of `makeUnchangedCheck`. */
const isReadConflict = (error: unknown): boolean => /integer overflow/.test(String(error));

/** Makes a statement that fails, and its batch with it, if a read returns other rows than before, in whatever order. */
function makeUnchangedCheck({ sql, values, rows }: RecordedRead): { sql: string; values: unknown[] } {
  const [first] = rows;
  if (!first) return { sql: `select case when exists (${sql}) then ${FAILING_SQL} end`, values: [...values] };
  const columns = first.map((_, index) => `c${index}`).join(', ');
  const columnValues = first.map((_, index) => `value ->> ${index}`).join(', ');
  return {
    sql: `with now_read(${columns}) as (${sql}),
        was_read(${columns}) as (select ${columnValues} from json_each(?)),
        now_counted as (select *, count(*) from now_read group by ${columns}),
        was_counted as (select *, count(*) from was_read group by ${columns})
      select case when exists (select * from now_counted except select * from was_counted)
        or exists (select * from was_counted except select * from now_counted) then ${FAILING_SQL} end`,
    values: [...values, JSON.stringify(rows)],
  };
}

/** Returns true if two lists of reads returned the same rows. */
const areSameRows = (firstReads: readonly RecordedRead[], otherReads: readonly RecordedRead[]): boolean =>
  JSON.stringify(firstReads.map(({ rows }) => rows)) === JSON.stringify(otherReads.map(({ rows }) => rows));
