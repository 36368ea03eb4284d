import {
  type Aggregate,
  type Expression,
  ExpressionError,
  isTime,
  type Table,
  type ValueType,
  walkExpression,
} from './expression.ts';
import { AGGREGATES } from './functions.ts';
import { parseExpression } from './parse.ts';
import { listRelationTables, parseColumnName } from './relations.ts';
import { toType } from './types.ts';

/** A semantic item, with the fields that metric queries read. */
export interface Item {
  id: string;
  kind: 'entity' | 'metric' | 'dimension' | 'mapping';
  name: string;
  formula: string | null;
  filters: readonly string[];
  aggregation: string | null;
  /** Tables by name or id. */
  mapped_tables: readonly string[];
  mapped_columns: readonly string[];
  mapped_relations: readonly string[];
}

/** The fields that define the computation of an item. */
export type ItemDefinition = Omit<Item, 'id' | 'name'>;

/** A dimension: a value of each row. */
export interface Dimension {
  value: Expression;
  /** The filters of rows; other rows have no value. */
  filters: Expression[];
}

/** A metric: a formula of aggregates and of other metrics. */
export interface Metric {
  formula: Expression;
  /** The filters of the rows that count. */
  filters: Expression[];
  /** The tables whose joined rows are counted by a call without a column, such as `count(*)`. */
  tables: Table[];
  /** Null for a metric that all rows count for. */
  semiAdditive: SemiAdditive | null;
}

/** Only the rows of the last, or first, time in each group count: balances, stock. `by` is that time. */
export interface SemiAdditive {
  which: 'last' | 'first';
  by: Expression;
}

/** The names of aggregates in `aggregation`, besides their own. */
const AGGREGATE_ALIASES: ReadonlyMap<string, string> = new Map([
  ['average', 'avg'],
  ['mean', 'avg'],
  ['minimum', 'min'],
  ['maximum', 'max'],
]);
const DISTINCT_NAMES = new Set(['count_distinct', 'count distinct', 'distinct_count', 'distinct count']);

/** The tables that an item names, whole, by their columns or in relations, by name or id; whole ones first. */
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
export function parseDimension(item: ItemDefinition, all: readonly Table[]): Dimension {
  const tables = findTables(all, listTableNames(item).flat());
  const value = item.formula === null ? findOnlyColumn(item, tables) : parseExpression(item.formula, { tables });
  if (value.type === 'interval') throw new ExpressionError('it is a length of time: extract its epoch');
  if (![...walkExpression(value)].some(({ kind }) => kind === 'column'))
    throw new ExpressionError('it names no column');
  return { value, filters: parseFilters(item, tables) };
}

/** Parses a metric. @throws ExpressionError where it cannot be computed */
export function parseMetric(
  item: ItemDefinition,
  all: readonly Table[],
  typeOfMetric: (name: string) => ValueType,
): Metric {
  const [whole = [], ...others] = listTableNames(item).map((names) => findTables(all, names));
  const tables = [...new Set([...whole, ...others.flat()])];
  const formula = item.formula === null ? null : parseExpression(item.formula, { tables, typeOfMetric });
  const aggregated = parseAggregated(item, tables, formula);
  if (aggregated.type === 'interval') throw new ExpressionError('it is a length of time: extract its epoch');
  const [own = []] = [whole, ...others].filter((some) => some.length > 0);
  return {
    formula: aggregated,
    filters: parseFilters(item, tables),
    tables: own,
    semiAdditive: parseSemiAdditive(item, tables),
  };
}

const parseFilters = ({ filters }: ItemDefinition, tables: readonly Table[]): Expression[] =>
  filters.map((filter) => toType('boolean', parseExpression(filter, { tables })));

function findOnlyColumn({ mapped_columns }: ItemDefinition, tables: readonly Table[]): Expression {
  const [text, ...others] = mapped_columns;
  if (text === undefined || others.length > 0) {
    throw new ExpressionError('it needs a formula or exactly one mapped column');
  }
  const mapped = parseColumnName(text);
  const [table] = mapped ? findTables(tables, [mapped.table]) : [];
  const column = table?.columns.find(({ name }) => name === mapped?.column);
  if (!table || !column) throw new ExpressionError(`column "${text}" does not exist in the mapped tables`);
  return { kind: 'column', type: column.type, table, column: column.name };
}

/** The formula, with the aggregation around it where it has no aggregates of its own. */
function parseAggregated(item: ItemDefinition, tables: readonly Table[], formula: Expression | null): Expression {
  const parts = formula ? [...walkOutsideAggregates(formula)] : [];
  const isAggregated = parts.some(({ kind }) => kind === 'aggregate' || kind === 'metric');
  const bare = parts.find(({ kind }) => kind === 'column');
  if (formula && isAggregated) {
    if (bare?.kind === 'column') throw new ExpressionError(`column "${bare.column}" must be inside an aggregate`);
    return formula;
  }
  const word = parseAggregation(item);
  if (word === undefined) {
    throw new ExpressionError(
      formula ? 'it aggregates nothing: use an aggregate, or set `aggregation`' : 'it has no formula',
    );
  }
  if (!formula && word.name === 'count' && !word.isDistinct && item.mapped_columns.length !== 1) {
    return { kind: 'aggregate', type: 'integer', call: { ...word, argument: null, filter: null } };
  }
  const argument = formula ?? findOnlyColumn(removeTimeColumn(item, tables), tables);
  const type = (AGGREGATES.get(word.name) as (value: Expression) => ValueType)(argument);
  return { kind: 'aggregate', type, call: { ...word, argument, filter: null } };
}

/** Yields an expression and its parts, but no parts of aggregates. */
function* walkOutsideAggregates(expression: Expression): Generator<Expression> {
  yield expression;
  if (expression.kind !== 'sql') return;
  for (const part of expression.parts) if (typeof part !== 'string') yield* walkOutsideAggregates(part);
}

function parseAggregation({ aggregation }: ItemDefinition): Pick<Aggregate, 'name' | 'isDistinct'> | undefined {
  const word = (aggregation ?? '').trim().toLowerCase();
  if (DISTINCT_NAMES.has(word)) return { name: 'count', isDistinct: true };
  if (word === 'last' || word === 'first') return { name: 'sum', isDistinct: false };
  const name = AGGREGATE_ALIASES.get(word) ?? word;
  return AGGREGATES.has(name) ? { name, isDistinct: false } : undefined;
}

/** For `last` and `first`, removes the time column from the mapped columns: the others are added up. */
function removeTimeColumn(item: ItemDefinition, tables: readonly Table[]): ItemDefinition {
  const time = parseSemiAdditive(item, tables)?.by;
  if (time?.kind !== 'column') return item;
  const isTheTime = (text: string): boolean => {
    const mapped = parseColumnName(text);
    return mapped?.column === time.column && (mapped.table === time.table.id || mapped.table === time.table.name);
  };
  return { ...item, mapped_columns: item.mapped_columns.filter((text) => !isTheTime(text)) };
}

/** The aggregations `last` and `first` make a metric semi-additive: over the one date or time among its mapped columns. */
function parseSemiAdditive(item: ItemDefinition, tables: readonly Table[]): SemiAdditive | null {
  const which = (item.aggregation ?? '').trim().toLowerCase();
  if (which !== 'last' && which !== 'first') return null;
  const times = item.mapped_columns.flatMap((text) => {
    const column = findOnlyColumn({ ...item, mapped_columns: [text] }, tables);
    return isTime(column.type) ? [column] : [];
  });
  const [by, another] = times;
  if (!by || another) throw new ExpressionError(`\`${which}\` takes one date or datetime among the mapped columns`);
  return { which, by };
}
