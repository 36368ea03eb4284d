import { isWriteStatement } from './access-changes.ts';
import { changeStatement, type GuardedSession, refuseOutsideBatch } from './guarded-session.ts';

/** SQL statement with its values. */
export interface Query {
  sql: string;
  values: readonly unknown[];
}

/** Queries that a dry run reads before a rehearsed batch, and again as if the batch had been applied. */
export interface ObservedQueries {
  queries: readonly Query[];
  /** Rows of each query before the latest batch; null if there was no batch. */
  rowsBefore: unknown[][][] | null;
  /** Rows of each query after the latest batch; null if there was no batch. */
  rowsAfter: unknown[][][] | null;
}

/** A D1 session whose batches can be rehearsed. */
export interface DryRunSession extends GuardedSession {
  /**
   * Runs `work` as a dry run: each batch is executed by the database, constraints and triggers included, and rolled back. `work`
   * receives the results that it would have received, except that rows returned by writes are empty. @param observedQueries receives the
   * rows of its queries before the batch and after it
   */
  runDryRun<T>(observedQueries: ObservedQueries, work: () => Promise<T>): Promise<T>;
}

/**
 * Makes the batch fail with an error that contains the rows read before: D1 has neither transactions nor savepoints, and only a
 * failing batch is rolled back. The text is deliberately an invalid JSON path, because the database quotes such a path in its
 * error message.
 */
const REPORT_SQL = `select json_extract('{}', 'rehearsed:' || hex(json_array(`;
const REPORT_PATTERN = /rehearsed:((?:[0-9A-F]{2})+)/;

/** Always fails, so that the batch is rolled back even if the statement before it unexpectedly succeeds. */
const FAILING_SQL = 'select abs(-9223372036854775808)';

/** Placeholder row with more columns than any statement returns. */
const EMPTY_ROW = Object.fromEntries(Array.from({ length: 100 }, (_, at) => [`c${at}`, null]));

/** Adds `runDryRun` to a session. The rehearsed batches go to `database`, without the checks of the session. */
export function createDryRunSession(session: GuardedSession, database: D1DatabaseSession): DryRunSession {
  const queries = new WeakMap<D1PreparedStatement, Query>();
  let currentDryRun: ObservedQueries | null = null;

  const prepareRehearsed = (sql: string): D1PreparedStatement =>
    changeStatement(database.prepare(sql), (statement, values) => {
      queries.set(statement, { sql, values });
      if (isWriteStatement(sql)) refuseOutsideBatch(statement, 'What is rehearsed is written by `commit`.');
    });
  const prepareQuery = ({ sql, values }: Query) => database.prepare(sql).bind(...values);

  /** Runs the queries and then these reads, and rolls everything back. @returns the rows of the reads */
  const readAfterQueries = async (
    precedingQueries: readonly Query[],
    reads: readonly Query[],
  ): Promise<unknown[][][]> => {
    const jsonReads = await Promise.all(reads.map((read) => toJsonQuery(database, read)));
    const reportQuery = {
      sql: `${REPORT_SQL}${jsonReads.map(({ sql }) => `json((${sql}))`).join(', ')})))`,
      values: jsonReads.flatMap(({ values }) => values),
    };
    try {
      await database.batch([...precedingQueries, reportQuery, { sql: FAILING_SQL, values: [] }].map(prepareQuery));
    } catch (error) {
      const [, hex] = REPORT_PATTERN.exec(String(error)) ?? [];
      if (hex === undefined) throw error;
      return JSON.parse(new TextDecoder().decode(Uint8Array.fromHex(hex)));
    }
    throw new Error('What was rehearsed was not undone.');
  };

  const dryRunBatch = async (batch: readonly Query[], observedQueries: ObservedQueries): Promise<D1Result[]> => {
    const firstWriteIndex = batch.findIndex(({ sql }) => isWriteStatement(sql));
    const results = firstWriteIndex > 0 ? await database.batch(batch.slice(0, firstWriteIndex).map(prepareQuery)) : [];
    for (const [at, query] of batch.entries()) {
      if (at < firstWriteIndex) continue;
      if (!isWriteStatement(query.sql)) {
        const [rows = []] = await readAfterQueries(batch.slice(0, at), [query]);
        results.push(
          makeResult(rows.map((row) => Object.fromEntries(row.map((value, column) => [`c${column}`, value])))),
        );
        continue;
      }
      const [[[changes] = []] = []] = await readAfterQueries(batch.slice(0, at + 1), [
        { sql: 'select changes()', values: [] },
      ]);
      const returnedRowCount = / returning /i.test(query.sql) ? Number(changes) : 0;
      results.push(makeResult(Array(returnedRowCount).fill(EMPTY_ROW), Number(changes)));
    }
    observedQueries.rowsBefore = await readAfterQueries([], observedQueries.queries);
    observedQueries.rowsAfter = await readAfterQueries(batch, observedQueries.queries);
    return results;
  };

  return {
    ...session,
    prepare: (sql) => (currentDryRun ? prepareRehearsed(sql) : session.prepare(sql)),
    batch(statements) {
      const batch = statements.flatMap((statement) => queries.get(statement) ?? []);
      if (!currentDryRun) return session.batch(statements);
      // Of what was prepared before, nobody knows whether it writes.
      if (batch.length < statements.length) throw new Error('What is rehearsed is prepared within the rehearsal.');
      if (!batch.some(({ sql }) => isWriteStatement(sql))) return session.batch(statements);
      return dryRunBatch(batch, currentDryRun);
    },
    async runDryRun(observedQueries, work) {
      currentDryRun = observedQueries;
      try {
        return await work();
      } finally {
        currentDryRun = null;
      }
    },
  };
}

const makeResult = (results: unknown[], changes = 0) =>
  ({ success: true, results, meta: { changes } }) as unknown as D1Result;

/** Rewrites a read so that it returns all rows as one JSON text: a list of lists. */
async function toJsonQuery(database: D1DatabaseSession, { sql, values }: Query): Promise<Query> {
  const [names = []] = await database
    .prepare(`select * from (${sql}) limit 0`)
    .bind(...values)
    .raw({ columnNames: true });
  const columns = names.map((_, at) => `c${at}`);
  // Text that holds JSON stays text.
  const plainColumns = columns.map((column) => `iif(typeof(${column}) = 'text', ${column} || '', ${column})`);
  return {
    sql: `with told(${columns.join(', ')}) as (${sql}) select json_group_array(json_array(${plainColumns.join(', ')})) from told`,
    values,
  };
}
