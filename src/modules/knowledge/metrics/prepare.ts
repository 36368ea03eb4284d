import { isAllowed, requireAction } from '../../../access/requirements.ts';
import type { CompanyContext, PrincipalContext } from '../../../context.ts';
import { type Failure, isInvalid } from '../../../kernel/failure.ts';
import { type CompiledQuery, compileDimension, compileQuery, type MetricQuery } from './compile.ts';
import { isTime, type Table } from './expression.ts';
import type { Model } from './model.ts';
import type { MetricQueryInput } from './query.ts';
import { readQueryItems, readTablesOfItems, resolveQuery, resolveWithItems } from './resolve.ts';

/** A query that is compiled for the current tables. */
export interface PreparedQuery extends CompiledQuery {
  query: MetricQuery;
  model: Model;
  /** The ids of dimensions that are dates or times. */
  times: ReadonlySet<string>;
}

/** Finds the items of a query and compiles it. @throws the failures of `compileFailures`; `invalid` naming the field */
export async function prepareMetrics(ctx: CompanyContext, input: MetricQueryInput): Promise<PreparedQuery> {
  const { model, query } = await resolveQuery(ctx, input);
  const dimensions = [...query.dimensions, ...query.filters.map(({ dimension }) => dimension)];
  const times = dimensions.filter((item) => isTime(compileDimension(model, item).type)).map(({ id }) => id);
  return { ...compileQuery(model, query), query, model, times: new Set(times) };
}

/**
 * Compiles a query as `prepareMetrics` does. Its problems are only reported to callers who may read its tables.
 * @throws accessDenied for others
 */
export async function prepareForReader(ctx: PrincipalContext, input: MetricQueryInput): Promise<PreparedQuery> {
  try {
    return await prepareMetrics(ctx, input);
  } catch (error) {
    if (isInvalid(error)) requireTables(ctx, await readTablesOfItems(ctx, input));
    throw error;
  }
}

/** The same query with other values of its filters, which are of the same types. */
export const replaceFilterValues = (prepared: PreparedQuery, values: readonly (readonly string[])[]): PreparedQuery => {
  const filters = prepared.query.filters.map((filter, index) => ({
    ...filter,
    values: values[index] ?? filter.values,
  }));
  const query = { ...prepared.query, filters };
  return { ...prepared, ...compileQuery(prepared.model, query), query };
};

/** Compiles several queries, which are read together. @returns the problem of each, or null */
export async function findQueryProblems(
  ctx: CompanyContext,
  inputs: readonly MetricQueryInput[],
): Promise<(string | null)[]> {
  const findProblem = (work: () => unknown): string | null => {
    try {
      work();
      return null;
    } catch (error) {
      if (isInvalid(error)) return toSentence(error);
      throw error;
    }
  };
  let readings: Awaited<ReturnType<typeof readQueryItems>>;
  try {
    readings = await readQueryItems(ctx, inputs);
  } catch (error) {
    return inputs.map(() =>
      findProblem(() => {
        throw error;
      }),
    );
  }
  return inputs.map((each) =>
    findProblem(() => {
      const { model, query } = resolveWithItems(readings, each);
      compileQuery(model, query);
    }),
  );
}

/** The problems of a query, in one text. */
export const toSentence = ({ message, detail: { problems } }: Failure): string =>
  problems ? problems.map(({ field, message }) => `${field}: ${message}`).join('; ') : message;

/** Whether the caller may read all of these tables. */
export const mayRead = ({ actor }: PrincipalContext, tables: readonly Pick<Table, 'id'>[]): boolean =>
  tables.every(({ id }) => isAllowed(actor, 'managed-tables:data-read', id));

/** Refuses a caller who may not read every table that a query reads. */
export function requireTables({ actor }: PrincipalContext, tables: readonly Table[]): void {
  for (const { id } of tables) requireAction(actor, 'managed-tables:data-read', id);
}
