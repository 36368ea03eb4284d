import type { SemanticItem as StoredItem } from '../semantic/item.ts';
import {
  type Aggregate,
  type Expression,
  ExpressionError,
  isTimeType,
  type Table,
  type ValueType,
  walkExpression,
} from './expression.ts';
import { AGGREGATES } from './functions.ts';
import { parseExpression } from './parse.ts';
import { listRelationTables, parseColumnName } from './relations.ts';
import { convertToType } from './types.ts';

/** The fields of a semantic item that define its computation. */
export type ItemDefinition = Pick<
  StoredItem,
  'kind' | 'formula' | 'filters' | 'aggregation' | 'mapped_tables' | 'mapped_columns' | 'mapped_relations'
>;

/**
 * An item of the semantic model (an entity, a metric, a dimension or a mapping), with the fields that metric queries read.
 */
export type SemanticItem = ItemDefinition & Pick<StoredItem, 'name'> & { id: string };

/** A dimension: an expression for a value of each row. */
export interface Dimension {
  value: Expression;
  /** The filters of rows; rows that do not match have no value. */
  filters: Expression[];
}

/** A metric: a formula of aggregates and other metrics. */
export interface Metric {
  formula: Expression;
  /** The filters of the rows that count. */
  filters: Expression[];
  /** The tables whose joined rows are counted by a call without a column, such as `count(*)`. */
  tables: Table[];
  /** The time that limits the counted rows; null for a metric that counts all rows. */
  semiAdditive: SemiAdditive | null;
}

/** The time by which only the rows of the last, or first, moment in each group count, as for balances or stock. */
export interface SemiAdditive {
  moment: 'last' | 'first';
  timeExpression: Expression;
}

/** The other names of aggregates that `aggregation` accepts. */
const AGGREGATE_ALIASES: ReadonlyMap<string, string> = new Map([
  ['average', 'avg'],
  ['mean', 'avg'],
  ['minimum', 'min'],
  ['maximum', 'max'],
]);
const DISTINCT_NAMES = new Set(['count_distinct', 'count distinct', 'distinct_count', 'distinct count']);

/** Returns the tables that an item names, by whole table, by column or in relations, by name or id; whole tables first. */
export function listTableNames({ mapped_tables, mapped_columns, mapped_relations }: ItemDefinition): string[][] {
  return [
    [...mapped_tables],
    mapped_columns.flatMap((text) => parseColumnName(text)?.table ?? []),
    mapped_relations.flatMap(listRelationTables),
  ];
}

/** Finds the tables with these names or ids, each once, in the order of the names. */
const findTables = (tables: readonly Table[], names: readonly string[]): Table[] => [
  ...new Set(names.flatMap((name) => tables.find((table) => table.id === name || table.name === name) ?? [])),
];

/** Parses a dimension. @throws ExpressionError where it cannot be computed */
export function parseDimension(item: ItemDefinition, allTables: readonly Table[]): Dimension {
  const tables = findTables(allTables, listTableNames(item).flat());
  const value = item.formula === null ? requireOnlyColumn(item, tables) : parseExpression(item.formula, { tables });
  if (value.type === 'interval') throw new ExpressionError('it is a length of time: extract its epoch');
  if (![...walkExpression(value)].some(({ kind }) => kind === 'column'))
    throw new ExpressionError('it names no column');
  return { value, filters: parseFilters(item, tables) };
}

/** Parses a metric. @throws ExpressionError where it cannot be computed */
export function parseMetric(
  item: ItemDefinition,
  allTables: readonly Table[],
  getMetricType: (name: string) => ValueType,
): Metric {
  const [whole = [], ...others] = listTableNames(item).map((names) => findTables(allTables, names));
  const tables = [...new Set([...whole, ...others.flat()])];
  const formula = item.formula === null ? null : parseExpression(item.formula, { tables, getMetricType });
  const aggregatedFormula = parseAggregated(item, tables, formula);
  if (aggregatedFormula.type === 'interval') throw new ExpressionError('it is a length of time: extract its epoch');
  const [ownTables = []] = [whole, ...others].filter((tableGroup) => tableGroup.length > 0);
  return {
    formula: aggregatedFormula,
    filters: parseFilters(item, tables),
    tables: ownTables,
    semiAdditive: parseSemiAdditive(item, tables),
  };
}

const parseFilters = ({ filters }: ItemDefinition, tables: readonly Table[]): Expression[] =>
  filters.map((filter) => convertToType('boolean', parseExpression(filter, { tables })));

function requireOnlyColumn({ mapped_columns }: ItemDefinition, tables: readonly Table[]): Expression {
  const [text, ...others] = mapped_columns;
  if (text === undefined || others.length > 0) {
    throw new ExpressionError('it needs a formula or exactly one mapped column');
  }
  const mappedColumn = parseColumnName(text);
  const [table] = mappedColumn ? findTables(tables, [mappedColumn.table]) : [];
  const column = table?.columns.find(({ name }) => name === mappedColumn?.column);
  if (!table || !column) throw new ExpressionError(`column "${text}" does not exist in the mapped tables`);
  return { kind: 'column', type: column.type, table, column: column.name };
}

/** Returns the formula, wrapped in the aggregation where it has no aggregates of its own. */
function parseAggregated(item: ItemDefinition, tables: readonly Table[], formula: Expression | null): Expression {
  const parts = formula ? [...walkOutsideAggregates(formula)] : [];
  const isAggregated = parts.some(({ kind }) => kind === 'aggregate' || kind === 'metric');
  const unaggregatedColumn = parts.find(({ kind }) => kind === 'column');
  if (formula && isAggregated) {
    if (unaggregatedColumn?.kind === 'column')
      throw new ExpressionError(`column "${unaggregatedColumn.column}" must be inside an aggregate`);
    return formula;
  }
  const aggregation = parseAggregation(item);
  if (aggregation === undefined) {
    throw new ExpressionError(
      formula ? 'it aggregates nothing: use an aggregate, or set `aggregation`' : 'it has no formula',
    );
  }
  if (!formula && aggregation.name === 'count' && !aggregation.isDistinct && item.mapped_columns.length !== 1) {
    return { kind: 'aggregate', type: 'integer', call: { ...aggregation, argument: null, filter: null } };
  }
  const argument = formula ?? requireOnlyColumn(removeTimeColumn(item, tables), tables);
  const type = (AGGREGATES.get(aggregation.name) as (value: Expression) => ValueType)(argument);
  return { kind: 'aggregate', type, call: { ...aggregation, argument, filter: null } };
}

/** Yields an expression and its parts, but no parts of aggregates. */
function* walkOutsideAggregates(expression: Expression): Generator<Expression> {
  yield expression;
  if (expression.kind !== 'sql') return;
  for (const part of expression.parts) if (typeof part !== 'string') yield* walkOutsideAggregates(part);
}

function parseAggregation({ aggregation }: ItemDefinition): Pick<Aggregate, 'name' | 'isDistinct'> | undefined {
  const aggregationName = (aggregation ?? '').trim().toLowerCase();
  if (DISTINCT_NAMES.has(aggregationName)) return { name: 'count', isDistinct: true };
  if (aggregationName === 'last' || aggregationName === 'first') return { name: 'sum', isDistinct: false };
  const name = AGGREGATE_ALIASES.get(aggregationName) ?? aggregationName;
  return AGGREGATES.has(name) ? { name, isDistinct: false } : undefined;
}

/** For `last` and `first`, removes the time column from the mapped columns: the other columns are added up. */
function removeTimeColumn(item: ItemDefinition, tables: readonly Table[]): ItemDefinition {
  const time = parseSemiAdditive(item, tables)?.timeExpression;
  if (time?.kind !== 'column') return item;
  const isTimeColumn = (text: string): boolean => {
    const mappedColumn = parseColumnName(text);
    return (
      mappedColumn?.column === time.column &&
      (mappedColumn.table === time.table.id || mappedColumn.table === time.table.name)
    );
  };
  return { ...item, mapped_columns: item.mapped_columns.filter((text) => !isTimeColumn(text)) };
}

/** Parses the aggregations `last` and `first`, which make a metric semi-additive over the only mapped date or time column. */
function parseSemiAdditive(item: ItemDefinition, tables: readonly Table[]): SemiAdditive | null {
  const aggregation = (item.aggregation ?? '').trim().toLowerCase();
  if (aggregation !== 'last' && aggregation !== 'first') return null;
  const timeColumns = item.mapped_columns.flatMap((text) => {
    const column = requireOnlyColumn({ ...item, mapped_columns: [text] }, tables);
    return isTimeType(column.type) ? [column] : [];
  });
  const [by, another] = timeColumns;
  if (!by || another)
    throw new ExpressionError(`\`${aggregation}\` takes one date or datetime among the mapped columns`);
  return { moment: aggregation, timeExpression: by };
}
