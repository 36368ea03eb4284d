import { requireAction } from '../../../access/requirements.ts';
import type { CompanyContext, PrincipalContext } from '../../../context.ts';
import { retryOnConcurrentChange } from '../../../db/failures.ts';
import { Failure } from '../../../kernel/failure.ts';
import { queryFailed } from '../../../tenant-sql/failures.ts';
import { runUserSql, STANDARD_LIMITS, type UserSqlResult } from '../../../tenant-sql/user-sql.ts';
import { openReadonlyDatabase } from '../../managed-database/service.ts';
import { type CompiledQuery, compileQuery, type MetricQuery } from './compile.ts';
import type { Table } from './expression.ts';
import type { AskedMetrics } from './query.ts';
import { readAll, resolve, resolveIn } from './resolve.ts';
import { readTables } from './tables.ts';

/** What a metric query was answered, and how. */
export type MetricResult = UserSqlResult & Pick<CompiledQuery, 'used'> & { sql: string };

/** A query that is compiled for the tables as they are. */
export type PreparedQuery = CompiledQuery & { query: MetricQuery };

/** @throws the failures of `compileFailures`; `invalid` naming the field */
export async function prepareMetrics(ctx: CompanyContext, asked: AskedMetrics): Promise<PreparedQuery> {
  const { model, query } = await resolve(ctx, asked);
  return { ...compileQuery(model, query), query };
}

/** Compiles several queries, which are read together. @returns for each what is wrong with it, or null */
export async function problemsOfQueries(
  ctx: CompanyContext,
  asked: readonly AskedMetrics[],
): Promise<(string | null)[]> {
  const problemOf = (work: () => unknown): string | null => {
    try {
      work();
      return null;
    } catch (error) {
      if (error instanceof Failure && error.kind === 'invalid') return sentenceOf(error);
      throw error;
    }
  };
  let readings: Awaited<ReturnType<typeof readAll>>;
  try {
    readings = await readAll(ctx, asked);
  } catch (error) {
    return asked.map(() =>
      problemOf(() => {
        throw error;
      }),
    );
  }
  return asked.map((each) =>
    problemOf(() => {
      const { model, query } = resolveIn(readings, each);
      compileQuery(model, query);
    }),
  );
}

/** What is wrong with a query, in one text. */
export const sentenceOf = ({ message, detail: { problems } }: Failure): string =>
  problems ? problems.map(({ field, message }) => `${field}: ${message}`).join('; ') : message;

/** Refuses who may not read every table that a query reads. */
export function requireTables({ actor }: PrincipalContext, tables: readonly Table[]): void {
  for (const { id } of tables) requireAction(actor, 'managed-tables:data-read', id);
}

/**
 * Answers a metric query, for somebody who may read every table that it reads. It is compiled for the tables as they are,
 * and what was read of other ones, because a table was renamed meanwhile, is never answered.
 */
export function queryMetrics(ctx: PrincipalContext, asked: AskedMetrics): Promise<MetricResult> {
  return retryOnConcurrentChange(async () => {
    const compiled = await prepareMetrics(ctx, asked);
    requireTables(ctx, compiled.tables);
    const outcome = await run(ctx, compiled, compiled.query.limit).catch((error: unknown) => {
      if (queryFailed.matches(error)) return error;
      throw error;
    });
    if (!(await areUnchanged(ctx, compiled.tables))) return undefined;
    if (outcome instanceof Error) throw outcome;
    const columns = outcome.columns.map((column, index) => ({
      ...column,
      name: compiled.columns[index]?.name ?? column.name,
    }));
    return { ...outcome, columns, sql: compiled.statement.text, used: compiled.used };
  });
}

async function run(ctx: PrincipalContext, { statement }: CompiledQuery, rows: number): Promise<UserSqlResult> {
  const database = await openReadonlyDatabase(ctx);
  try {
    return await runUserSql(database, statement, { ...STANDARD_LIMITS, rows });
  } finally {
    // The answer need not wait for it.
    ctx.defer(database.close());
  }
}

/** Whether tables still have the names, columns and unique indexes that a statement was compiled for. */
async function areUnchanged(ctx: PrincipalContext, tables: readonly Table[]): Promise<boolean> {
  const now = await readTables(
    ctx,
    tables.map(({ id }) => id),
  );
  const shapes = (all: readonly Table[]) =>
    all.map(({ id, name, version, unique }) => JSON.stringify([id, name, version, [...unique].sort()])).sort();
  return shapes(tables).join() === shapes(now).join();
}
