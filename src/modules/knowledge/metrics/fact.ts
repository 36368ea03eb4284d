import { type BindValue, type FilterOperator, makeComparison } from '../../../tenant-sql/row-filters.ts';
import type { SemanticItem } from './definition.ts';
import {
  type Expression,
  makeAggregateSql,
  renderSql,
  type SqlRenderer,
  type Table,
  type TableColumn,
} from './expression.ts';
import { JoinedTables } from './joined-tables.ts';
import type { Measure } from './measures.ts';
import type { MetricModel } from './model.ts';

/** A dimension that a query groups by: its value, with its filters and the time grain. */
export interface Grouping {
  item: SemanticItem;
  value: Expression;
}

/** A condition on a dimension. */
export interface Condition {
  item: SemanticItem;
  value: Expression;
  type: TableColumn['type'];
  operator: FilterOperator;
  /** The values, as texts that Postgres parses for the type. */
  values: readonly string[];
}

/**
 * Aggregates that are computed together: all of one table, except that a semi-additive one is computed alone, as only
 * some rows count for it.
 */
export interface Fact {
  rootTable: Table;
  measures: Measure[];
}

/** Groups measures into the facts that they are computed from. */
export function groupFacts(measures: readonly Measure[]): Fact[] {
  const groups = Map.groupBy(measures, (measure) => (measure.semiAdditive ? measure.name : measure.rootTable.id));
  return [...groups.values()].map((group) => ({ rootTable: (group[0] as Measure).rootTable, measures: group }));
}

/** Returns the column name of a grouping. */
export const formatGroupName = (index: number): string => `d${index + 1}`;

/**
 * Makes the statement that computes aggregates of one table for each group, and returns the tables it reads. Each row of the
 * table counts once: a joined table has at most one row for it.
 */
export function makeFactSql(
  model: MetricModel,
  { rootTable, measures }: Fact,
  { groupings, conditions }: { groupings: readonly Grouping[]; conditions: readonly Condition[] },
  { bindValue, budget }: Pick<SqlRenderer, 'budget'> & { bindValue: BindValue },
): { text: string; tables: Table[] } {
  const joinedTables = new JoinedTables(model, rootTable);
  for (const { item, call, filters, semiAdditive } of measures) {
    const parts = [call.argument, call.filter, semiAdditive?.timeExpression].filter((part) => part != null);
    joinedTables.joinTables([item], [...parts, ...filters]);
    for (const { item: dimension, value } of [...groupings, ...conditions])
      joinedTables.joinTables([item, dimension], [value]);
  }
  const as = joinedTables.createRenderer(budget, bindValue);
  const groups = groupings.map(({ value }, index) => `${renderSql(value, as)} AS ${formatGroupName(index)}`);
  const conditionSql = conditions.map(({ value, type, operator, values }) =>
    makeComparison(renderSql(value, as), { type }, operator, values, bindValue),
  );
  // Once each: what is bound must stand in the statement.
  const distinctFilters = new Map(measures.map(({ filterKey, filters }) => [filterKey, filters]));
  const filterSets = new Map(
    [...distinctFilters].map(([key, filters]) => [key, filters.map((filter) => renderSql(filter, as))]),
  );
  const makeAggregates = measures[0]?.semiAdditive ? makeSemiAdditiveSql : makeAggregatesSql;
  const { tables, from } = joinedTables;
  return { text: makeAggregates({ measures, groups, conditionSql, filterSets, from, as }), tables };
}

interface FactParts {
  measures: readonly Measure[];
  groups: readonly string[];
  /** The conditions of the query, as SQL. */
  conditionSql: readonly string[];
  /** The filters of the metrics, by their key. */
  filterSets: ReadonlyMap<string, readonly string[]>;
  from: string;
  as: SqlRenderer;
}

const joinConditions = (conditions: readonly string[]): string => conditions.join(' AND ');
const sumLengths = (texts: readonly string[]): number => texts.reduce((sum, { length }) => sum + length, 0);
const makeWhereSql = (conditions: readonly string[]): string =>
  conditions.length > 0 ? `\n    WHERE ${joinConditions(conditions)}` : '';
const makeGroupBySql = ({ length }: readonly string[]): string =>
  length > 0 ? `\n    GROUP BY ${Array.from({ length }, (_, index) => index + 1).join(', ')}` : '';

/**
 * Makes the SQL of aggregates over rows. A filter that all aggregates share goes into `WHERE`, others into each aggregate; rows
 * that no aggregate counts are excluded, so that they form no group.
 */
function makeAggregatesSql({ measures, groups, conditionSql, filterSets, from, as }: FactParts): string {
  const [first = []] = filterSets.values();
  const isShared = filterSets.size === 1;
  const anyFilterConditions = [...filterSets.values()].every((filters) => filters.length > 0)
    ? [`(${[...filterSets.values()].map((filters) => `(${joinConditions(filters)})`).join(' OR ')})`]
    : [];
  const columns = measures.map((measure) => {
    const { argument, filter } = measure.call;
    const ownConditions = isShared ? [] : (filterSets.get(measure.filterKey) as readonly string[]);
    as.budget.spend(sumLengths(ownConditions));
    const conditions = [...(filter ? [renderSql(filter, as)] : []), ...ownConditions];
    return `${makeAggregateSql(measure.call, argument ? renderSql(argument, as) : '*', conditions)} AS ${measure.name}`;
  });
  const conditions = [...conditionSql, ...(isShared ? first : anyFilterConditions)];
  return `SELECT ${[...groups, ...columns].join(', ')}\n    ${from}${makeWhereSql(conditions)}${makeGroupBySql(groups)}`;
}

/** Makes the SQL of one aggregate over the rows of the last, or first, time of each group. */
function makeSemiAdditiveSql({ measures, groups, conditionSql, filterSets, from, as }: FactParts): string {
  const [measure] = measures;
  const { call, semiAdditive, filterKey, name } = measure as Measure;
  const at = renderSql((semiAdditive as NonNullable<Measure['semiAdditive']>).timeExpression, as);
  const values = [call.argument, call.filter].map((part) => (part ? renderSql(part, as) : 'true'));
  const rankedColumns = [
    ...groups,
    `${values[0]} AS v1, ${values[1]} AS v2`,
    `rank() OVER (${makePartitionBySql(groups)}ORDER BY ${at}${semiAdditive?.moment === 'last' ? ' DESC' : ''}) AS place`,
  ];
  const conditions = [...conditionSql, ...(filterSets.get(filterKey) ?? []), `${at} IS NOT NULL`];
  const names = groups.map((_, index) => formatGroupName(index));
  const column = `${makeAggregateSql(call, call.argument ? 'v1' : '*', call.filter ? ['v2'] : [])} AS ${name}`;
  const rows = `SELECT ${rankedColumns.join(', ')}\n    ${from}${makeWhereSql(conditions)}`;
  return `SELECT ${[...names, column].join(', ')}\n    FROM (${rows}) AS ranked WHERE place = 1${makeGroupBySql(groups)}`;
}

/** Returns `PARTITION BY` with the SQL of the groups, each without its alias; empty without groups. */
function makePartitionBySql(groups: readonly string[]): string {
  const values = groups.map((group, index) => group.slice(0, -` AS ${formatGroupName(index)}`.length));
  return values.length > 0 ? `PARTITION BY ${values.join(', ')} ` : '';
}
