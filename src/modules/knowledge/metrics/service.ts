import type { PrincipalContext } from '../../../context.ts';
import { retryOnConcurrentChange } from '../../../db/failures.ts';
import { queryFailed } from '../../../tenant-sql/failures.ts';
import { runUserSql, STANDARD_LIMITS, type UserSqlResult } from '../../../tenant-sql/user-sql.ts';
import { openReadonlyDatabase } from '../../managed-database/service.ts';
import type { CompiledQuery } from './compile.ts';
import { type PreparedQuery, prepareForReader, requireReadableTables } from './prepare.ts';
import type { MetricQueryInput } from './query.ts';
import { areTablesUnchanged } from './tables.ts';

/** The result of a metric query, with its SQL and the items that it used. */
export type MetricResult = UserSqlResult & Pick<CompiledQuery, 'used'> & { sql: string };

/**
 * Runs a metric query, for a caller who may read every table that it reads. It is compiled for the current tables; if one was
 * renamed meanwhile, so that other tables were read, their rows are never returned.
 */
export const queryMetrics = async (ctx: PrincipalContext, input: MetricQueryInput): Promise<MetricResult> =>
  runMetrics(ctx, input, await prepareForReader(ctx, input));

/** Runs a metric query that was just compiled. */
export function runMetrics(
  ctx: PrincipalContext,
  input: MetricQueryInput,
  preparedQuery: PreparedQuery,
): Promise<MetricResult> {
  let currentQuery: PreparedQuery | undefined = preparedQuery;
  return retryOnConcurrentChange(async () => {
    const compiledQuery = currentQuery ?? (await prepareForReader(ctx, input));
    currentQuery = undefined;
    requireReadableTables(ctx, compiledQuery.tables);
    const outcome = await runStatement(ctx, compiledQuery, compiledQuery.query.limit).catch((error: unknown) => {
      if (queryFailed.matches(error)) return error;
      throw error;
    });
    if (!(await areTablesUnchanged(ctx, compiledQuery.tables))) return undefined;
    if (outcome instanceof Error) throw outcome;
    const columns = outcome.columns.map((column, index) => ({
      ...column,
      name: compiledQuery.columns[index]?.name ?? column.name,
    }));
    return { ...outcome, columns, sql: compiledQuery.statement.text, used: compiledQuery.used };
  });
}

async function runStatement(
  ctx: PrincipalContext,
  { statement }: CompiledQuery,
  rowCount: number,
): Promise<UserSqlResult> {
  const database = await openReadonlyDatabase(ctx);
  try {
    return await runUserSql(database, statement, { ...STANDARD_LIMITS, maxRows: rowCount });
  } finally {
    // The answer need not wait for it.
    ctx.defer(database.close());
  }
}
