import type { CompiledSql } from '../../../sql-templates/compiled.ts';
import { type FilterOperator, textBindings } from '../../../tenant-sql/row-filters.ts';
import type { Item } from './definition.ts';
import { type Expression, ExpressionError, isTime, sql, type Table, TextBudget } from './expression.ts';
import { type Condition, type Fact, factSql, type Grouping, groupFacts, groupName } from './fact.ts';
import { semanticItemUnknown } from './failures.ts';
import { truncateTime } from './functions.ts';
import { Measures, resultType } from './measures.ts';
import type { Model } from './model.ts';

export const TIME_GRAINS = ['day', 'week', 'month', 'quarter', 'year'] as const;
export type TimeGrain = (typeof TIME_GRAINS)[number];

/** A metric query whose items are found and whose values are read. */
export interface MetricQuery {
  metrics: readonly Item[];
  dimensions: readonly Item[];
  filters: readonly { dimension: Item; operator: FilterOperator; values: readonly string[] }[];
  /** The unit that dates and times are truncated to. */
  timeGrain: TimeGrain | null;
  /** The sort order: `column` is the index of a result column, of which dimensions come first. */
  orderBy: readonly { column: number; descending: boolean }[];
  /** The maximum number of rows; one more is selected, to find out whether there are more. */
  limit: number;
}

/** The statement of a metric query. */
export interface CompiledQuery {
  statement: CompiledSql;
  /** The item in each result column, in order. */
  columns: Item[];
  /** The metrics, those that they build on, the dimensions, and the dimensions of filters. */
  used: Item[];
  /** The tables that it reads. */
  tables: Table[];
}

/** The maximum number of characters of a statement, which Postgres has to plan. */
export const MAX_SQL_LENGTH = 400_000;

/**
 * Compiles a metric query to one statement, as `docs/metrics.md` explains. All values are bound: the text holds only our own
 * words and the names of tables and columns.
 * @throws the failures of `compileFailures`
 */
export function compileQuery(model: Model, query: MetricQuery): CompiledQuery {
  try {
    return compileWithin(new TextBudget(MAX_SQL_LENGTH), model, query);
  } catch (error) {
    throw error instanceof ExpressionError ? queryTooLong(query, error) : error;
  }
}

function compileWithin(budget: TextBudget, model: Model, query: MetricQuery): CompiledQuery {
  const { values, bind } = textBindings();
  const groupings = query.dimensions.map((item) => compileGrouping(model, item, query.timeGrain));
  const conditions = query.filters.map(({ dimension, operator, values }): Condition => {
    const value = compileDimension(model, dimension);
    return { item: dimension, value, type: value.type as Condition['type'], operator, values };
  });
  const measures = new Measures(model, budget);
  const formulas = query.metrics.map((item) => measures.compileFormula(item, bind));
  const facts = groupFacts(measures.all);
  const statements = facts.map((fact) => factSql(model, fact, { groupings, conditions }, { bind, budget }));
  const groups = groupings.map((_, index) => groupName(index));
  const named = [
    ...statements.map(({ text }, index) => `f${index + 1} AS (\n    ${text})`),
    ...(facts.length > 1 ? [`facts AS (\n    ${joinFacts(facts, groups)})`] : []),
  ];
  const text = [
    `WITH ${named.join(',\n  ')}`,
    `SELECT ${[...groups, ...formulas.map((formula, index) => `${formula} AS m${index + 1}`)].join(', ')}`,
    `FROM ${facts.length > 1 ? 'facts' : 'f1'}`,
    `${compileOrder(query, groups)}LIMIT ${bind(query.limit + 1)}::bigint`,
  ].join('\n');
  const items = [
    ...query.metrics,
    ...measures.items.values(),
    ...query.dimensions,
    ...conditions.map(({ item }) => item),
  ];
  return {
    statement: { text, values },
    columns: [...query.dimensions, ...query.metrics],
    used: uniqueById(items),
    tables: uniqueById(statements.flatMap(({ tables }) => tables)),
  };
}

const uniqueById = <T extends { id: string }>(all: readonly T[]): T[] => [
  ...new Map(all.map((each) => [each.id, each])).values(),
];

const queryTooLong = ({ metrics: [item] }: MetricQuery, { message }: ExpressionError) =>
  semanticItemUnknown('metric', (item as Item).name, `the statement is too large: ${message}`);

/** The value of a dimension for each row: null where its filters do not hold. */
export function compileDimension(model: Model, item: Item): Expression {
  const { value, filters } = model.dimension(item);
  const [first, ...others] = filters;
  if (!first) return value;
  const holds = others.reduce((left, right) => sql('boolean')`${left} AND ${right}`, first);
  return sql(value.type)`CASE WHEN ${holds} THEN ${value} END`;
}

/** The grouping by a dimension: dates and times become the first day of their grain, in UTC. */
function compileGrouping(model: Model, item: Item, grain: TimeGrain | null): Grouping {
  const value = compileDimension(model, item);
  if (grain === null || !isTime(value.type)) return { item, value };
  const first = truncateTime(grain, value);
  return { item, value: value.type === 'date' ? first : sql('date')`(${first} AT TIME ZONE 'UTC')::date` };
}

/** Joins facts into one row for each group of any of them. A fact has one row for a group at most, so nothing counts twice. */
function joinFacts(facts: readonly Fact[], groups: readonly string[]): string {
  const measures = facts.flatMap((fact) => fact.measures);
  const union = facts.map((fact, index) => {
    const columns = measures.map((measure) =>
      fact.measures.includes(measure) ? measure.name : `NULL::${resultType(measure)} AS ${measure.name}`,
    );
    return `SELECT ${[...groups, ...columns].join(', ')} FROM f${index + 1}`;
  });
  const values = measures.map(({ name }) => `any_value(${name}) AS ${name}`);
  const grouped = groups.length > 0 ? `\n    GROUP BY ${groups.join(', ')}` : '';
  return `SELECT ${[...groups, ...values].join(', ')}\n    FROM (${union.join('\n    UNION ALL ')}) AS parts${grouped}`;
}

function compileOrder({ orderBy, dimensions }: MetricQuery, groups: readonly string[]): string {
  const named = orderBy.map(({ column, descending }) => `${column + 1}${descending ? ' DESC' : ''} NULLS LAST`);
  const ordered = new Set(orderBy.map(({ column }) => column));
  // Ties are broken, so that the same query has the same rows.
  const ties = dimensions.flatMap((_, index) => (ordered.has(index) ? [] : [`${index + 1} NULLS LAST`]));
  const order = [...named, ...ties];
  return order.length > 0 && groups.length > 0 ? `ORDER BY ${order.join(', ')}\n` : '';
}
