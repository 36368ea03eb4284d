import { type Bind, comparison, type FilterOperator } from '../../../tenant-sql/row-filters.ts';
import type { Item } from './definition.ts';
import { aggregateSql, type Expression, type Rendering, render, type Table, type TableColumn } from './expression.ts';
import { JoinedTables } from './joined.ts';
import type { Measure } from './measures.ts';
import type { Model } from './model.ts';

/** A dimension as it is grouped by: its value, with its filters and the grain. */
export interface Grouping {
  item: Item;
  value: Expression;
}

/** A condition on a dimension. */
export interface Condition {
  item: Item;
  value: Expression;
  type: TableColumn['type'];
  operator: FilterOperator;
  /** Texts that Postgres reads for the type. */
  values: readonly string[];
}

/** The groupings and conditions that all fact tables of a query share. */
export interface QueryScope {
  groupings: readonly Grouping[];
  conditions: readonly Condition[];
}

/** Aggregates that are computed together: all of one table; a semi-additive one by itself, as only some rows count for it. */
export interface Fact {
  root: Table;
  measures: Measure[];
}

/** The facts that measures are computed from. */
export function groupFacts(measures: readonly Measure[]): Fact[] {
  const facts = new Map<string, Fact>();
  for (const measure of measures) {
    const key = measure.semiAdditive ? measure.name : measure.root.id;
    const fact = facts.get(key) ?? { root: measure.root, measures: [] };
    fact.measures.push(measure);
    facts.set(key, fact);
  }
  return [...facts.values()];
}

/** The name of the column of a grouping. */
export const groupName = (index: number): string => `d${index + 1}`;

/**
 * The statement that computes aggregates of one table for each group, and the tables it reads. Each row of the table
 * counts once: a joined table has at most one row for it.
 */
export function factSql(
  model: Model,
  { root, measures }: Fact,
  { groupings, conditions }: QueryScope,
  { bind, budget }: Pick<Rendering, 'budget'> & { bind: Bind },
): { text: string; tables: Table[] } {
  const joined = new JoinedTables(model, root);
  for (const { item, call, filters, semiAdditive } of measures) {
    const parts = [call.argument, call.filter, semiAdditive?.by].filter((part) => part != null);
    joined.join([item], [...parts, ...filters]);
    for (const { item: dimension, value } of [...groupings, ...conditions]) joined.join([item, dimension], [value]);
  }
  const as: Rendering = {
    budget,
    bind,
    column: (table, column) => joined.column(table, column),
    aggregate: rejectNestedAggregate,
    metric: rejectNestedAggregate,
  };
  const groups = groupings.map(({ value }, index) => `${render(value, as)} AS ${groupName(index)}`);
  const conditionSql = conditions.map(({ value, type, operator, values }) =>
    comparison(render(value, as), { type }, operator, values, bind),
  );
  // Once each: what is bound must stand in the statement.
  const distinct = new Map(measures.map(({ filterKey, filters }) => [filterKey, filters]));
  const sets = new Map([...distinct].map(([key, filters]) => [key, filters.map((filter) => render(filter, as))]));
  const write = measures[0]?.semiAdditive ? semiAdditiveSql : aggregatesSql;
  return { text: write({ measures, groups, conditionSql, sets, from: joined.from, as }), tables: joined.tables };
}

const rejectNestedAggregate = () => {
  throw new Error('an aggregate within an aggregate');
};

interface FactParts {
  measures: readonly Measure[];
  groups: readonly string[];
  /** The conditions of the query, as SQL. */
  conditionSql: readonly string[];
  /** The filters of the metrics, by their key. */
  sets: ReadonlyMap<string, readonly string[]>;
  from: string;
  as: Rendering;
}

const joinConditions = (conditions: readonly string[]): string => conditions.join(' AND ');
const sumLengths = (texts: readonly string[]): number => texts.reduce((sum, { length }) => sum + length, 0);
const whereSql = (conditions: readonly string[]): string =>
  conditions.length > 0 ? `\n    WHERE ${joinConditions(conditions)}` : '';
const groupBySql = ({ length }: readonly string[]): string =>
  length > 0 ? `\n    GROUP BY ${Array.from({ length }, (_, index) => index + 1).join(', ')}` : '';

/**
 * Makes the SQL of aggregates over rows. A filter that all of them share goes into `WHERE`, others into each aggregate; rows
 * that no aggregate counts are excluded, so that they form no group.
 */
function aggregatesSql({ measures, groups, conditionSql, sets, from, as }: FactParts): string {
  const [first = []] = sets.values();
  const isShared = sets.size === 1;
  const some = [...sets.values()].every((filters) => filters.length > 0)
    ? [`(${[...sets.values()].map((filters) => `(${joinConditions(filters)})`).join(' OR ')})`]
    : [];
  const columns = measures.map((measure) => {
    const { argument, filter } = measure.call;
    const own = isShared ? [] : (sets.get(measure.filterKey) as readonly string[]);
    as.budget.spend(sumLengths(own));
    const conditions = [...(filter ? [render(filter, as)] : []), ...own];
    return `${aggregateSql(measure.call, argument ? render(argument, as) : '*', conditions)} AS ${measure.name}`;
  });
  const conditions = [...conditionSql, ...(isShared ? first : some)];
  return `SELECT ${[...groups, ...columns].join(', ')}\n    ${from}${whereSql(conditions)}${groupBySql(groups)}`;
}

/** The SQL of one aggregate over the rows of the last, or first, time of each group. */
function semiAdditiveSql({ measures: [measure], groups, conditionSql, sets, from, as }: FactParts): string {
  const { call, semiAdditive, filterKey, name } = measure as Measure;
  const at = render((semiAdditive as NonNullable<Measure['semiAdditive']>).by, as);
  const values = [call.argument, call.filter].map((part) => (part ? render(part, as) : 'true'));
  const ranked = [
    ...groups,
    `${values[0]} AS v1, ${values[1]} AS v2`,
    `rank() OVER (${partitionBySql(groups)}ORDER BY ${at}${semiAdditive?.which === 'last' ? ' DESC' : ''}) AS place`,
  ];
  const conditions = [...conditionSql, ...(sets.get(filterKey) ?? []), `${at} IS NOT NULL`];
  const names = groups.map((_, index) => groupName(index));
  const column = `${aggregateSql(call, call.argument ? 'v1' : '*', call.filter ? ['v2'] : [])} AS ${name}`;
  const rows = `SELECT ${ranked.join(', ')}\n    ${from}${whereSql(conditions)}`;
  return `SELECT ${[...names, column].join(', ')}\n    FROM (${rows}) AS ranked WHERE place = 1${groupBySql(groups)}`;
}

/** The SQL of the groups, without their names. */
function partitionBySql(groups: readonly string[]): string {
  const values = groups.map((group, index) => group.slice(0, -` AS ${groupName(index)}`.length));
  return values.length > 0 ? `PARTITION BY ${values.join(', ')} ` : '';
}
