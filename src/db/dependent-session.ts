import { isWriteStatement } from './access-changes.ts';
import type { DryRunSession, Query } from './dry-run-session.ts';
import { concurrentChange } from './failures.ts';
import { EXECUTING_METHODS } from './guarded-session.ts';
import { areSameRows, isReadConflict, makeUnchangedCheck, type RecordedRead } from './read-sets.ts';

/** Reads that writes depend on. */
export interface Dependency {
  /** Recorded reads of the control database with their rows. */
  reads: readonly RecordedRead[];
  /** Reads again after a concurrent change. @throws if the writes must not be applied to the new state */
  readAgain(): Promise<readonly RecordedRead[]>;
}

/** D1 session whose writes can depend on rows that were read before: optimistic, without a lock. */
export interface DependentSession extends DryRunSession {
  /**
   * Runs a read. Writes that the read makes, such as measurements, are applied.
   * @returns the result, and the rows that were read
   */
  recordReads<T>(work: () => Promise<T>): Promise<{ result: T; reads: readonly RecordedRead[] }>;
  /**
   * Runs `work`, whose first write is applied only if the rows of this dependency and of the enclosing ones are
   * unchanged.
   */
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

  const wrapStatement = (statement: D1PreparedStatement, query: Query): D1PreparedStatement => {
    queries.set(statement, query);
    const bindValues = statement.bind.bind(statement);
    statement.bind = (...values) => wrapStatement(bindValues(...values), { ...query, values });
    const isWrite = isWriteStatement(query.sql);
    if (recordedReads && !isWrite) recordSingleRead(statement, query, recordedReads);
    if (!recordedReads && isWrite)
      for (const name of EXECUTING_METHODS) Object.assign(statement, { [name]: throwOutsideBatch });
    return statement;
  };

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
    prepare(sql) {
      const statement = session.prepare(sql);
      return recordedReads || dependency ? wrapStatement(statement, { sql, values: [] }) : statement;
    },
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

function throwOutsideBatch(): never {
  throw new Error('This depends on what was read: use `commit`.');
}

function throwUnsupportedRead(): never {
  throw new Error('What is remembered is read by a select.');
}
