import type { CompiledSql } from '../../../sql-templates/compiled.ts';
import { createTextBindings, type FilterOperator } from '../../../tenant-sql/row-filters.ts';
import type { SemanticItem } from './definition.ts';
import { type Expression, ExpressionError, formatType, isTimeType, sql, type Table, TextBudget } from './expression.ts';
import { type Condition, type Fact, formatGroupName, type Grouping, groupFacts, makeFactSql } from './fact.ts';
import { type ItemKind, semanticItemUnknown } from './failures.ts';
import { truncateTime } from './functions.ts';
import { Measures } from './measures.ts';
import type { MetricModel } from './model.ts';

export const TIME_GRAINS = ['day', 'week', 'month', 'quarter', 'year'] as const;
export type TimeGrain = (typeof TIME_GRAINS)[number];

/** A metric query with its items resolved and its values parsed. */
export interface MetricQuery {
  metrics: readonly SemanticItem[];
  dimensions: readonly SemanticItem[];
  filters: readonly { dimension: SemanticItem; operator: FilterOperator; values: readonly string[] }[];
  /** The time unit that dates and times are truncated to. */
  timeGrain: TimeGrain | null;
  /** The sort order: `column` is the index of a result column; dimensions come first. */
  orderBy: readonly { column: number; descending: boolean }[];
  /** The maximum number of rows; one more is selected, to find out whether there are more. */
  limit: number;
}

/** The compiled statement of a metric query. */
export interface CompiledQuery {
  statement: CompiledSql;
  /** The item in each result column, in order. */
  columns: SemanticItem[];
  /** The metrics, the metrics that they build on, the dimensions, and the dimensions of filters. */
  used: { id: string; kind: ItemKind; name: string }[];
  /** The tables that the statement reads. */
  tables: Table[];
}

/** The maximum length of a statement in characters, as Postgres has to plan it. */
export const MAX_SQL_LENGTH = 400_000;

/**
 * Compiles a metric query to one statement, as `docs/metrics.md` explains. All values are bound: the text contains only our own
 * words and the names of tables and columns. @throws the failures of `compileFailures`
 */
export function compileQuery(model: MetricModel, query: MetricQuery): CompiledQuery {
  try {
    return compileQueryWithinBudget(new TextBudget(MAX_SQL_LENGTH), model, query);
  } catch (error) {
    throw error instanceof ExpressionError ? makeQueryTooLongFailure(query, error) : error;
  }
}

function compileQueryWithinBudget(budget: TextBudget, model: MetricModel, query: MetricQuery): CompiledQuery {
  const { values, bindValue } = createTextBindings();
  const groupings = query.dimensions.map((item) => compileGrouping(model, item, query.timeGrain));
  const conditions = query.filters.map(({ dimension, operator, values }): Condition => {
    const value = compileDimension(model, dimension);
    return { item: dimension, value, type: value.type as Condition['type'], operator, values };
  });
  const measures = new Measures(model, budget);
  const formulas = query.metrics.map((item) => measures.compileFormula(item, bindValue));
  const facts = groupFacts(measures.measures);
  const statements = facts.map((fact) => makeFactSql(model, fact, { groupings, conditions }, { bindValue, budget }));
  const groups = groupings.map((_, index) => formatGroupName(index));
  const withClauses = [
    ...statements.map(({ text }, index) => `f${index + 1} AS (\n    ${text})`),
    ...(facts.length > 1 ? [`facts AS (\n    ${joinFacts(facts, groups)})`] : []),
  ];
  const text = [
    `WITH ${withClauses.join(',\n  ')}`,
    `SELECT ${[...groups, ...formulas.map((formula, index) => `${formula} AS m${index + 1}`)].join(', ')}`,
    `FROM ${facts.length > 1 ? 'facts' : 'f1'}`,
    `${compileOrder(query, groups)}LIMIT ${bindValue(query.limit + 1)}::bigint`,
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
    used: removeDuplicateIds(items).map(({ id, kind, name }) => ({ id, kind: kind as ItemKind, name })),
    tables: removeDuplicateIds(statements.flatMap(({ tables }) => tables)),
  };
}

const removeDuplicateIds = <T extends { id: string }>(items: readonly T[]): T[] => [
  ...new Map(items.map((item) => [item.id, item])).values(),
];

const makeQueryTooLongFailure = ({ metrics: [item] }: MetricQuery, { message }: ExpressionError) =>
  semanticItemUnknown('metric', (item as SemanticItem).name, `the statement is too large: ${message}`);

/** Returns the expression for a dimension's value in each row: null where its filters do not hold. */
export function compileDimension(model: MetricModel, item: SemanticItem): Expression {
  const { value, filters } = model.getDimension(item);
  const [first, ...others] = filters;
  if (!first) return value;
  const filterCondition = others.reduce((left, right) => sql('boolean')`${left} AND ${right}`, first);
  return sql(value.type)`CASE WHEN ${filterCondition} THEN ${value} END`;
}

/** Returns the grouping by a dimension: dates and times become the first day of their grain, in UTC. */
function compileGrouping(model: MetricModel, item: SemanticItem, grain: TimeGrain | null): Grouping {
  const value = compileDimension(model, item);
  if (grain === null || !isTimeType(value.type)) return { item, value };
  const truncatedValue = truncateTime(grain, value);
  return {
    item,
    value: value.type === 'date' ? truncatedValue : sql('date')`(${truncatedValue} AT TIME ZONE 'UTC')::date`,
  };
}

/** Joins facts into one row for each group of any fact. A fact has at most one row for a group, so nothing counts twice. */
function joinFacts(facts: readonly Fact[], groups: readonly string[]): string {
  const measures = facts.flatMap((fact) => fact.measures);
  const unionSelects = facts.map((fact, index) => {
    const columns = measures.map((measure) =>
      fact.measures.includes(measure) ? measure.name : `NULL::${formatType(measure.type)} AS ${measure.name}`,
    );
    return `SELECT ${[...groups, ...columns].join(', ')} FROM f${index + 1}`;
  });
  const values = measures.map(({ name }) => `any_value(${name}) AS ${name}`);
  const groupByClause = groups.length > 0 ? `\n    GROUP BY ${groups.join(', ')}` : '';
  return `SELECT ${[...groups, ...values].join(', ')}\n    FROM (${unionSelects.join('\n    UNION ALL ')}) AS parts${groupByClause}`;
}

function compileOrder({ orderBy, dimensions }: MetricQuery, groups: readonly string[]): string {
  const requestedOrder = orderBy.map(
    ({ column, descending }) => `${column + 1}${descending ? ' DESC' : ''} NULLS LAST`,
  );
  const orderedColumns = new Set(orderBy.map(({ column }) => column));
  // Ties are broken, so that the same query has the same rows.
  const tieBreakers = dimensions.flatMap((_, index) => (orderedColumns.has(index) ? [] : [`${index + 1} NULLS LAST`]));
  const order = [...requestedOrder, ...tieBreakers];
  return order.length > 0 && groups.length > 0 ? `ORDER BY ${order.join(', ')}\n` : '';
}
