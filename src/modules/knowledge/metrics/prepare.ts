import { isAllowed, requireAction } from '../../../access/requirements.ts';
import type { CompanyContext, PrincipalContext } from '../../../context.ts';
import { type Failure, isInvalidInput } from '../../../kernel/failure.ts';
import { type CompiledQuery, compileDimension, compileQuery, type MetricQuery } from './compile.ts';
import { isTimeType, type Table } from './expression.ts';
import type { MetricModel } from './model.ts';
import type { MetricQueryInput } from './query.ts';
import { readQueryItems, readQueryTables, resolveQuery } from './resolve.ts';

/** A query that is compiled for the current tables. */
export interface PreparedQuery extends CompiledQuery {
  query: MetricQuery;
  model: MetricModel;
  /** The ids of dimensions that are dates or times. */
  timeDimensionIds: ReadonlySet<string>;
}

/** Resolves the items of a query and compiles it. @throws the failures of `compileFailures`; `invalid` naming the field */
export async function prepareMetrics(ctx: CompanyContext, input: MetricQueryInput): Promise<PreparedQuery> {
  const { model, itemIndex } = await readQueryItems(ctx, [input]);
  const query = resolveQuery(input, model, itemIndex);
  const dimensions = [...query.dimensions, ...query.filters.map(({ dimension }) => dimension)];
  const timeDimensionIds = dimensions
    .filter((item) => isTimeType(compileDimension(model, item).type))
    .map(({ id }) => id);
  return { ...compileQuery(model, query), query, model, timeDimensionIds: new Set(timeDimensionIds) };
}

/**
 * Compiles a query as `prepareMetrics` does. Its problems are only reported to callers who may read its tables. @throws
 * accessDenied for other callers
 */
export async function prepareForReader(ctx: PrincipalContext, input: MetricQueryInput): Promise<PreparedQuery> {
  try {
    return await prepareMetrics(ctx, input);
  } catch (error) {
    if (isInvalidInput(error)) requireReadableTables(ctx, await readQueryTables(ctx, input));
    throw error;
  }
}

/** Returns the query with other values of its filters, which are of the same types. */
export const replaceFilterValues = (
  preparedQuery: PreparedQuery,
  values: readonly (readonly string[])[],
): PreparedQuery => {
  const filters = preparedQuery.query.filters.map((filter, index) => ({
    ...filter,
    values: values[index] ?? filter.values,
  }));
  const query = { ...preparedQuery.query, filters };
  return { ...preparedQuery, ...compileQuery(preparedQuery.model, query), query };
};

/** Compiles several queries, whose items are read together. @returns the problem of each, or null */
export async function findQueryProblems(
  ctx: CompanyContext,
  inputs: readonly MetricQueryInput[],
): Promise<(string | null)[]> {
  const toProblem = (error: unknown): string => {
    if (isInvalidInput(error)) return joinProblems(error);
    throw error;
  };
  try {
    const { model, itemIndex } = await readQueryItems(ctx, inputs);
    return inputs.map((input) => {
      try {
        compileQuery(model, resolveQuery(input, model, itemIndex));
        return null;
      } catch (error) {
        return toProblem(error);
      }
    });
  } catch (error) {
    const problem = toProblem(error);
    return inputs.map(() => problem);
  }
}

/** Returns the problems of a query in one text. */
export const joinProblems = ({ message, detail: { problems } }: Failure): string =>
  problems ? problems.map(({ field, message }) => `${field}: ${message}`).join('; ') : message;

/** Tells whether the caller may read all of these tables. */
export const mayReadTables = ({ actor }: PrincipalContext, tables: readonly Pick<Table, 'id'>[]): boolean =>
  tables.every(({ id }) => isAllowed(actor, 'managed-tables:data-read', id));

/** Throws for a caller who may not read every table that a query reads. */
export function requireReadableTables({ actor }: PrincipalContext, tables: readonly Table[]): void {
  for (const { id } of tables) requireAction(actor, 'managed-tables:data-read', id);
}
