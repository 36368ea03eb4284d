import { Failure } from '../../kernel/failure.ts';
import type { CompiledSql } from '../../sql-templates/compiled.ts';
import type { TenantSql } from '../../tenant-sql/client.ts';
import { resultTooLarge } from '../../tenant-sql/failures.ts';
import { listNamesToCheck, noteExecution, type UserSqlResult, UserSqlRun } from '../../tenant-sql/user-sql.ts';
import { makeFetchSteps, makeOpeningSteps, type UserSqlSteps } from '../../tenant-sql/user-sql-steps.ts';

/** The number of rows in the first batch; the bytes of each batch decide the number of rows in the next. */
const INITIAL_BATCH_ROWS = 100;
/** The maximum number of rows of a batch. */
export const MAX_ROWS = 10_000;
/** The target number of bytes per batch. Two batches are held in memory at once. */
const BATCH_BYTES = 1024 * 1024;
/** The maximum number of bytes per batch. */
const MAX_BATCH_BYTES = 16 * 1024 * 1024;

/**
 * Runs user SQL as `runUserSql` does, and yields its rows batch by batch, from one snapshot, in memory that does not
 * depend on the number of rows. While a batch is processed, the next one is fetched. The first batch may be empty.
 * @param sql opened with the read-only login and used for nothing else; to be closed afterwards, which ends the
 * transaction
 * @param limits.rowsPerBatch the maximum number of rows of a batch
 * @throws resultTooLarge where a batch has too many bytes: with fewer `rowsPerBatch` the rows may fit
 */
export async function* streamUserSql(
  sql: TenantSql,
  statement: CompiledSql,
  { milliseconds, rowsPerBatch }: { milliseconds: number; rowsPerBatch: number },
): AsyncGenerator<Pick<UserSqlResult, 'columns' | 'rows'>> {
  const names = listNamesToCheck(statement);
  if (names instanceof Failure) throw names;
  const client = await sql.connect();
  const endsAt = performance.now() + milliseconds;
  const fetchRows = (rowCount: number, firstSteps: UserSqlSteps = []) => {
    const limits = { maxRows: rowCount, maxBytes: MAX_BATCH_BYTES, milliseconds, endsAt };
    const run = new UserSqlRun([...firstSteps, ...makeFetchSteps(rowCount)], limits, () => sql.drop());
    run.setClient(client, []);
    client.query(run);
    // Whoever stops reading leaves the batch that is under way behind.
    run.resultPromise.catch(() => undefined);
    return { run, wanted: rowCount };
  };
  let { run, wanted } = fetchRows(
    Math.min(INITIAL_BATCH_ROWS, rowsPerBatch),
    makeOpeningSteps(statement, names, Math.ceil(milliseconds)),
  );
  for (let isFirst = true; ; isFirst = false) {
    const { columns, rows, truncated } = await (isFirst ? noteExecution(sql, run.resultPromise) : run.resultPromise);
    if (truncated) throw resultTooLarge();
    const isLast = rows.length < wanted;
    if (!isLast) ({ run, wanted } = fetchRows(Math.min(rowsPerBatch, computeNextRowCount(rows.length, run.bytes))));
    yield { columns, rows };
    if (isLast) return;
  }
}

/** Returns the number of rows to fetch after a batch of `rowCount` rows with `bytes` bytes; at most four times as many. */
const computeNextRowCount = (rowCount: number, bytes: number): number =>
  Math.max(1, Math.min(rowCount * 4, Math.floor((BATCH_BYTES * rowCount) / Math.max(1, bytes))));
