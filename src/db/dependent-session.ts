import { isWriteStatement } from './access-changes.ts';
import { concurrentChange } from './failures.ts';
import { EXECUTING_METHODS } from './guarded-session.ts';
import { areSameRows, failUnlessUnchanged, isReadConflict, type RecordedRead } from './read-sets.ts';
import type { Query, RehearsingSession } from './rehearsing-session.ts';

/** The reads that writes depend on. */
export interface Dependency {
  /** Reads of the control database with their rows. */
  reads: readonly RecordedRead[];
  /** Reads again after a change by others. @throws if the writes must not be applied to the new state */
  renew(): Promise<readonly RecordedRead[]>;
}

/** A D1 session whose writes can depend on rows that were read before: optimistic, without a lock. */
export interface DependentSession extends RehearsingSession {
  /** Runs `work`, a read. What it writes, such as measurements, is applied. @returns its result and the rows it read */
  recordReads<T>(work: () => Promise<T>): Promise<{ result: T; reads: readonly RecordedRead[] }>;
  /** Runs `work`. Only its first write depends on it, and on enclosing ones: all rows that they read are unchanged. */
  runDependentWrite<T>(on: Dependency, work: () => Promise<T>): Promise<T>;
}

/** The maximum number of tries of a write whose reads others change meanwhile. */
const ATTEMPTS = 5;

const toRows = ({ results }: D1Result): unknown[][] => results.map((row) => Object.values(row as object));

/** Adds the methods of a `DependentSession` to a session. Without a dependency it is the same as before. */
export function createDependentSession(session: RehearsingSession): DependentSession {
  const queries = new WeakMap<D1PreparedStatement, Query>();
  let remembered: RecordedRead[] | null = null;
  let dependency: Dependency | null = null;

  const watch = (statement: D1PreparedStatement, query: Query): D1PreparedStatement => {
    queries.set(statement, query);
    const bind = statement.bind.bind(statement);
    statement.bind = (...values) => watch(bind(...values), { ...query, values });
    const isWrite = isWriteStatement(query.sql);
    if (remembered && !isWrite) recordSingleRead(statement, query, remembered);
    if (!remembered && isWrite) for (const name of EXECUTING_METHODS) Object.assign(statement, { [name]: refuseAlone });
    return statement;
  };

  const write = async (statements: D1PreparedStatement[], { reads, renew }: Dependency): Promise<D1Result[]> => {
    const prepare = ({ sql, values }: Query) => session.prepare(sql).bind(...values);
    const guards = reads.map((read) => prepare(failUnlessUnchanged(read)));
    const results = await session.batch([...guards, ...statements, ...reads.map(prepare)]);
    const own = results.slice(guards.length, guards.length + statements.length);
    const after = results.slice(guards.length + statements.length);
    const next = reads.map((read, index) => ({ ...read, rows: toRows(after[index] as D1Result) }));
    dependency = areSameRows(reads, next) ? { reads: next, renew } : null;
    return own;
  };

  return {
    ...session,
    prepare(sql) {
      const statement = session.prepare(sql);
      return remembered || dependency ? watch(statement, { sql, values: [] }) : statement;
    },
    async batch(statements) {
      if (remembered) {
        const into = remembered;
        const results = await session.batch(statements);
        for (const [index, statement] of statements.entries()) {
          const query = queries.get(statement);
          if (query && !isWriteStatement(query.sql)) into.push({ ...query, rows: toRows(results[index] as D1Result) });
        }
        return results;
      }
      const isWrite = (statement: D1PreparedStatement) => isWriteStatement(queries.get(statement)?.sql ?? '');
      if (!dependency || !statements.some(isWrite)) return session.batch(statements);
      for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
        try {
          return await write(statements, dependency);
        } catch (error) {
          if (!isReadConflict(error)) throw error;
          dependency = { ...dependency, reads: await dependency.renew() };
        }
      }
      throw concurrentChange();
    },
    async recordReads(work) {
      const reads: RecordedRead[] = [];
      remembered = reads;
      try {
        return { result: await work(), reads };
      } finally {
        remembered = null;
      }
    },
    async runDependentWrite(on, work) {
      const around = dependency;
      dependency = around ? combineDependencies(around, on) : on;
      try {
        return await work();
      } finally {
        // A change of what was read has ended both.
        dependency &&= around;
      }
    },
  };
}

const combineDependencies = (one: Dependency, other: Dependency): Dependency => ({
  reads: [...one.reads, ...other.reads],
  renew: async () => [...(await one.renew()), ...(await other.renew())],
});

/** Remembers a read that is no part of a batch. */
function recordSingleRead(statement: D1PreparedStatement, query: Query, into: RecordedRead[]): void {
  const raw = statement.raw.bind(statement) as () => Promise<unknown[][]>;
  const all = statement.all.bind(statement);
  const note = <R>(result: R, rows: unknown[][]): R => {
    into.push({ ...query, rows });
    return result;
  };
  Object.assign(statement, {
    raw: async () => {
      const rows = await raw();
      return note(rows, rows);
    },
    all: async () => {
      const result = await all();
      return note(result, toRows(result));
    },
    run: throwUnsupportedRead,
    first: throwUnsupportedRead,
  });
}

function refuseAlone(): never {
  throw new Error('This depends on what was read: use `commit`.');
}

function throwUnsupportedRead(): never {
  throw new Error('What is remembered is read by a select.');
}
