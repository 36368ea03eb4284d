import type { PrincipalContext } from '../../../context.ts';
import { Failure, isInvalidInput } from '../../../kernel/failure.ts';
import { runAllUserSql, type UserSqlLimits } from '../../../tenant-sql/user-sql.ts';
import { openReadonlyDatabase } from '../../managed-database/service.ts';
import { compileDimension } from './compile.ts';
import type { SemanticItem } from './definition.ts';
import type { ValueType } from './expression.ts';
import { mayReadTables, type PreparedQuery } from './prepare.ts';
import { readQueryItems } from './resolve.ts';
import { areTablesUnchanged } from './tables.ts';
import { makeEqualValuesSql, makeSampleSql, makeSimilarValuesSql, type ValuesSql } from './values.ts';

/** The limits of a statement that samples values, which reads few rows. */
const SAMPLE_LIMITS: UserSqlLimits = { maxRows: 100, maxBytes: 64 * 1024, milliseconds: 500 };
/** The limits of a statement that looks up values, which reads all rows. */
const LOOKUP_LIMITS: UserSqlLimits = { maxRows: 200, maxBytes: 256 * 1024, milliseconds: 3_000 };
/** The maximum number of values that are looked up at once. */
const MAX_LOOKUP_VALUES = 50;
/** The maximum number of similar values that are suggested for a missing value. */
const MAX_SIMILAR_VALUES = 5;
const MAX_DESCRIBED_VALUES = 3;

/**
 * Runs statements under the read-only login. @returns the values that each has found; undefined for one that failed, and for all if
 * a table was renamed or changed meanwhile, so that another table may have been read
 */
async function readValues(
  ctx: PrincipalContext,
  statements: readonly ValuesSql[],
  limits: UserSqlLimits,
): Promise<(string[] | undefined)[]> {
  if (statements.length === 0) return [];
  const database = await openReadonlyDatabase(ctx);
  try {
    const runs = runAllUserSql(
      database,
      statements.map(({ statement }) => ({ statement, limits: { ...limits, isInternal: true } })),
    );
    const settledRuns = await Promise.allSettled(runs);
    const tables = statements.flatMap((statement) => statement.tables);
    if (!(await areTablesUnchanged(ctx, tables))) return statements.map(() => undefined);
    return settledRuns.map((settledRun) => {
      if (settledRun.status === 'fulfilled') return settledRun.value.rows.map(([value]) => String(value));
      if (settledRun.reason instanceof Failure) return undefined;
      throw settledRun.reason;
    });
  } finally {
    ctx.defer(database.close());
  }
}

/** The type of a dimension, and samples of its values. */
export interface DimensionSample {
  type: ValueType;
  /** Some values of a text dimension; empty for a caller who may not read its tables. */
  values: string[];
}

/** Samples the values of dimensions, by id. Dimensions that cannot be computed are left out. */
export async function sampleValues(
  ctx: PrincipalContext,
  ids: readonly string[],
  limits: { count: number; length: number },
): Promise<Map<string, DimensionSample>> {
  const emptyQuery = { metrics: [], filters: [], time_grain: null, order_by: [], limit: 1 };
  const { model, itemIndex } = await readQueryItems(ctx, [{ ...emptyQuery, dimensions: [...ids] }]);
  const sampledDimensions = new Map<string, DimensionSample>();
  const samples: { id: string; sample: ValuesSql }[] = [];
  for (const id of ids) {
    const item = itemIndex.itemsById.get(id);
    const type = item && readUnlessInvalid(() => compileDimension(model, item).type);
    if (!item || !type) continue;
    sampledDimensions.set(id, { type, values: [] });
    const sample = type === 'text' ? readUnlessInvalid(() => makeSampleSql(model, item, limits)) : undefined;
    if (sample && mayReadTables(ctx, sample.tables)) samples.push({ id, sample });
  }
  const values = await readValues(
    ctx,
    samples.map(({ sample }) => sample),
    SAMPLE_LIMITS,
  );
  for (const [index, { id }] of samples.entries())
    sampledDimensions.set(id, { type: 'text', values: values[index] ?? [] });
  return sampledDimensions;
}

/** Returns the result of `read`; undefined where an item cannot be computed. */
function readUnlessInvalid<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (isInvalidInput(error)) return undefined;
    throw error;
  }
}

type Filter = PreparedQuery['query']['filters'][number];
const EXACT_OPERATORS: ReadonlySet<string> = new Set(['eq', 'ne', 'in', 'nin']);

/**
 * Looks up the values in a query's text filters, for a caller who may read its tables. A value that no row has is a problem.
 * @returns for each filter its values in the letter case of the data, and the problems
 */
export async function checkValues(
  ctx: PrincipalContext,
  { query: { filters }, model }: PreparedQuery,
): Promise<{ values: (readonly string[])[]; problems: string[] }> {
  const isTextFilter = ({ dimension, operator }: Filter) =>
    operator !== 'is_null' && compileDimension(model, dimension).type === 'text';
  const textFilters = filters.map((filter, index) => ({ filter, index })).filter(({ filter }) => isTextFilter(filter));
  const problems = textFilters
    .filter(({ filter }) => filter.values.length > MAX_LOOKUP_VALUES)
    .map(({ index }) => `filters.${index}.values: must be ${MAX_LOOKUP_VALUES} values at most`);
  if (problems.length > 0) return { values: [], problems };
  const foundValues = await readValues(
    ctx,
    textFilters.map(({ filter: { dimension, operator, values } }) =>
      operator === 'contains' || operator === 'starts_with'
        ? makeSimilarValuesSql(model, dimension, operator, values[0] as string, 1)
        : makeEqualValuesSql(model, dimension, values, LOOKUP_LIMITS.maxRows),
    ),
    LOOKUP_LIMITS,
  );
  const values: (readonly string[])[] = filters.map((filter) => filter.values);
  const missingValues: { dimension: SemanticItem; value: string }[] = [];
  for (const [at, { filter, index }] of textFilters.entries()) {
    const { dimension, operator } = filter;
    const existingValues = foundValues[at];
    if (!existingValues)
      problems.push(`filters.${index}: the values of "${dimension.name}" could not be looked up in time`);
    else if (!EXACT_OPERATORS.has(operator)) {
      if (existingValues.length === 0) problems.push(`filters.${index}: no value of "${dimension.name}" fits`);
    } else {
      const matchingValues = filter.values.map((value) => findMatchingValue(existingValues, value));
      values[index] = matchingValues.map((value, position) => value ?? (filter.values[position] as string));
      missingValues.push(
        ...filter.values
          .filter((_, position) => matchingValues[position] === undefined)
          .map((value) => ({ dimension, value })),
      );
    }
  }
  return { values, problems: [...problems, ...(await describeMissingValues(ctx, model, missingValues))] };
}

/** Returns the value itself, or else the only one that differs in case alone. */
function findMatchingValue(existingValues: readonly string[], value: string): string | undefined {
  if (existingValues.includes(value)) return value;
  const [firstMatch, secondMatch] = existingValues.filter(
    (existingValue) => existingValue.toLowerCase() === value.toLowerCase(),
  );
  return secondMatch === undefined ? firstMatch : undefined;
}

async function describeMissingValues(
  ctx: PrincipalContext,
  model: PreparedQuery['model'],
  missingValues: readonly { dimension: SemanticItem; value: string }[],
): Promise<string[]> {
  const describedValues = missingValues.slice(0, MAX_DESCRIBED_VALUES);
  const similarValues = await readValues(
    ctx,
    describedValues.map(({ dimension, value }) =>
      makeSimilarValuesSql(model, dimension, 'contains', value, MAX_SIMILAR_VALUES),
    ),
    LOOKUP_LIMITS,
  );
  return describedValues.map(({ dimension, value }, index) => {
    const alternatives = (similarValues[index] ?? []).map((alternative) => JSON.stringify(alternative)).join(', ');
    const hint = alternatives === '' ? '' : `; it has ${alternatives}`;
    return `"${dimension.name}" has no value ${JSON.stringify(value)}${hint}`;
  });
}
