import type { PrincipalContext } from '../../../context.ts';
import { Failure, isInvalid } from '../../../kernel/failure.ts';
import { runAllUserSql, type UserSqlLimits } from '../../../tenant-sql/user-sql.ts';
import { openReadonlyDatabase } from '../../managed-database/service.ts';
import { compileDimension } from './compile.ts';
import type { Item } from './definition.ts';
import type { ValueType } from './expression.ts';
import { mayRead, type PreparedQuery } from './prepare.ts';
import { readQueryItems } from './resolve.ts';
import { equalValuesSql, sampleSql, similarValuesSql, type ValuesSql } from './values.ts';

/** The limits of one statement that reads values. A sample looks at few rows; a lookup looks at all of them. */
const SAMPLE_LIMITS: UserSqlLimits = { rows: 100, bytes: 64 * 1024, milliseconds: 500 };
const LOOKUP_LIMITS: UserSqlLimits = { rows: 200, bytes: 256 * 1024, milliseconds: 3_000 };
/**
 * The maximum number of values that are looked up at once, and the maximum number of similar ones that are suggested for those
 * that are missing.
 */
const MAX_LOOKUP_VALUES = 50;
const MAX_SIMILAR_VALUES = 5;
const MAX_DESCRIBED_VALUES = 3;

/** Runs statements under the read-only login. @returns the values that each has found; undefined for one that failed */
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
      statements.map(({ statement }) => ({ statement, limits: { ...limits, ours: true } })),
    );
    const settled = await Promise.allSettled(runs);
    return settled.map((each) => {
      if (each.status === 'fulfilled') return each.value.rows.map(([value]) => String(value));
      if (each.reason instanceof Failure) return undefined;
      throw each.reason;
    });
  } finally {
    ctx.defer(database.close());
  }
}

/** The type of a dimension, and samples of its values. */
export interface DimensionSample {
  type: ValueType;
  /** Some values of a dimension of texts; empty for a caller who may not read its tables. */
  values: string[];
}

/** Samples the values of dimensions, by id. Those that cannot be computed are left out. */
export async function sampleValues(
  ctx: PrincipalContext,
  ids: readonly string[],
  limits: { count: number; length: number },
): Promise<Map<string, DimensionSample>> {
  const none = { metrics: [], filters: [], time_grain: null, order_by: [], limit: 1 };
  const { model, found } = await readQueryItems(ctx, [{ ...none, dimensions: [...ids] }]);
  const sampled = new Map<string, DimensionSample>();
  const samples: { id: string; sample: ValuesSql }[] = [];
  for (const id of ids) {
    const item = found.all.get(id);
    const type = item && undefinedIfInvalid(() => compileDimension(model, item).type);
    if (!item || !type) continue;
    sampled.set(id, { type, values: [] });
    const sample = type === 'text' ? undefinedIfInvalid(() => sampleSql(model, item, limits)) : undefined;
    if (sample && mayRead(ctx, sample.tables)) samples.push({ id, sample });
  }
  const values = await readValues(
    ctx,
    samples.map(({ sample }) => sample),
    SAMPLE_LIMITS,
  );
  for (const [index, { id }] of samples.entries()) sampled.set(id, { type: 'text', values: values[index] ?? [] });
  return sampled;
}

/** Returns the result of `read`; undefined where an item cannot be computed. */
function undefinedIfInvalid<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (isInvalid(error)) return undefined;
    throw error;
  }
}

type Filter = PreparedQuery['query']['filters'][number];
const EXACT_OPERATORS: ReadonlySet<string> = new Set(['eq', 'ne', 'in', 'nin']);

/**
 * Looks up the values in a query's filters on texts, for a caller who may read its tables. A value that no row has is a problem.
 * @returns for each filter its values in the letter case of the data, and the problems
 */
export async function checkValues(
  ctx: PrincipalContext,
  { query: { filters }, model }: PreparedQuery,
): Promise<{ values: (readonly string[])[]; problems: string[] }> {
  const isOfTexts = ({ dimension, operator }: Filter) =>
    operator !== 'is_null' && compileDimension(model, dimension).type === 'text';
  const looked = filters.map((filter, index) => ({ filter, index })).filter(({ filter }) => isOfTexts(filter));
  const problems = looked
    .filter(({ filter }) => filter.values.length > MAX_LOOKUP_VALUES)
    .map(({ index }) => `filters.${index}.values: must be ${MAX_LOOKUP_VALUES} values at most`);
  if (problems.length > 0) return { values: [], problems };
  const found = await readValues(
    ctx,
    looked.map(({ filter: { dimension, operator, values } }) =>
      operator === 'contains' || operator === 'starts_with'
        ? similarValuesSql(model, dimension, operator, values[0] as string, 1)
        : equalValuesSql(model, dimension, values, LOOKUP_LIMITS.rows),
    ),
    LOOKUP_LIMITS,
  );
  const values: (readonly string[])[] = filters.map((filter) => filter.values);
  const missing: { dimension: Item; value: string }[] = [];
  for (const [at, { filter, index }] of looked.entries()) {
    const { dimension, operator } = filter;
    const known = found[at];
    if (!known) problems.push(`filters.${index}: the values of "${dimension.name}" could not be looked up in time`);
    else if (!EXACT_OPERATORS.has(operator)) {
      if (known.length === 0) problems.push(`filters.${index}: no value of "${dimension.name}" fits`);
    } else {
      const fitting = filter.values.map((value) => findMatchingValue(known, value));
      values[index] = fitting.map((value, position) => value ?? (filter.values[position] as string));
      missing.push(
        ...filter.values
          .filter((_, position) => fitting[position] === undefined)
          .map((value) => ({ dimension, value })),
      );
    }
  }
  return { values, problems: [...problems, ...(await describeMissing(ctx, model, missing))] };
}

/** The value itself, or else the one that differs in case alone. */
function findMatchingValue(known: readonly string[], value: string): string | undefined {
  if (known.includes(value)) return value;
  const [one, other] = known.filter((each) => each.toLowerCase() === value.toLowerCase());
  return other === undefined ? one : undefined;
}

async function describeMissing(
  ctx: PrincipalContext,
  model: PreparedQuery['model'],
  missing: readonly { dimension: Item; value: string }[],
): Promise<string[]> {
  const told = missing.slice(0, MAX_DESCRIBED_VALUES);
  const similar = await readValues(
    ctx,
    told.map(({ dimension, value }) => similarValuesSql(model, dimension, 'contains', value, MAX_SIMILAR_VALUES)),
    LOOKUP_LIMITS,
  );
  return told.map(({ dimension, value }, index) => {
    const others = similar[index] ?? [];
    const like = others.length > 0 ? `; it has ${others.map((each) => JSON.stringify(each)).join(', ')}` : '';
    return `"${dimension.name}" has no value ${JSON.stringify(value)}${like}`;
  });
}
