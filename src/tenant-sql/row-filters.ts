import { formatArrayLiteral } from '../sql-templates/compiled.ts';
import { type ColumnType, POSTGRES_TYPES } from './columns.ts';
import { quoteIdentifier } from './identifiers.ts';
import { toPostgresText } from './values.ts';

/** The comparisons of a filter. `in` and `nin` take several values, `is_null` takes `true` or `false`. */
export const FILTER_OPERATORS = [
  'eq',
  'ne',
  'gt',
  'gte',
  'lt',
  'lte',
  'in',
  'nin',
  'contains',
  'starts_with',
  'is_null',
] as const;

export type FilterOperator = (typeof FILTER_OPERATORS)[number];

const TEXT_OPERATORS: ReadonlySet<FilterOperator> = new Set(['contains', 'starts_with']);
const ID_OPERATORS: ReadonlySet<FilterOperator> = new Set(['eq', 'in']);

/** Tells whether values of a type can be compared with an operator. */
export function acceptsOperator({ type }: Pick<FilteredColumn, 'type'>, operator: FilterOperator): boolean {
  if (type === 'uuid') return ID_OPERATORS.has(operator);
  return type === 'text' || !TEXT_OPERATORS.has(operator);
}

/** The time of a day's last moment that a column can hold, in the form that follows the date in a text. */
export const END_OF_DAY = ' 23:59:59.999999+00';

/** Makes the text that a column is compared with; for a datetime column, a date with `lte` or `gt` means the day's end. */
export function toComparedText(type: ColumnType, operator: FilterOperator, value: unknown): string | undefined {
  const text = toPostgresText(type, value);
  const comparesWithDayEnd = type === 'datetime' && (operator === 'lte' || operator === 'gt');
  return text !== undefined && comparesWithDayEnd && /^\d{4}-\d\d-\d\d$/.test(String(value))
    ? `${value}${END_OF_DAY}`
    : text;
}

/** A column by which rows are selected; `id` is a uuid. */
export interface FilteredColumn {
  name: string;
  type: ColumnType | 'uuid';
}

/** A condition on one column. */
export interface RowFilter {
  column: FilteredColumn;
  operator: FilterOperator;
  /** The texts that Postgres reads for the column's type (see `toPostgresText`): one, or those of the list. */
  values: string[];
}

/** A selection of the rows of a table that match all filters and contain the search text. */
export interface RowSelection {
  filters: RowFilter[];
  /** A literal substring to find in any of the `textColumns`, case-insensitively; empty for no search. */
  search: string;
  /** The names of the table's text columns. */
  textColumns: string[];
}

/** Tells whether a selection may leave rows out. */
export const isSelective = ({ filters, search }: RowSelection): boolean => filters.length > 0 || search !== '';

/** A function that adds a value to a statement and returns the `$n` to which the value is bound. */
export type BindValue = (value: unknown) => string;

/** Creates the list of values of a statement that is being written, and the function that adds one. */
export function createBindings(): { values: unknown[]; bindValue: BindValue } {
  const values: unknown[] = [];
  return { values, bindValue: (value) => `$${values.push(value)}` };
}

/** Creates the list of a statement's values, all sent as text, lists as array literals, and the function that adds one. */
export function createTextBindings(): { values: string[]; bindValue: BindValue } {
  const values: string[] = [];
  return {
    values,
    bindValue: (value) => `$${values.push(Array.isArray(value) ? formatArrayLiteral(value) : String(value))}`,
  };
}

/**
 * Makes the conditions of a selection, as SQL over the table's alias `source`. No value becomes part of the text. Conditions that
 * an index can answer are written so that it does: the column alone on its side, compared in its own type.
 */
export function makeConditions({ filters, search, textColumns }: RowSelection, bindValue: BindValue): string[] {
  const conditions = filters.map(({ column, operator, values }) =>
    makeComparison(makeSourceColumn(column.name), column, operator, values, bindValue),
  );
  if (search !== '') conditions.push(makeSearchCondition(textColumns, bindValue(search)));
  return conditions;
}

/** Makes a `WHERE` clause with all of the conditions; an empty text without any. */
export const makeWhereClause = (conditions: string[]): string =>
  conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`;

/** Makes the SQL of a column of the table that is selected from. */
export const makeSourceColumn = (name: string): string => `source.${quoteIdentifier(name)}`;

/** Returns the name of a column's type in Postgres. */
export const getTypeName = ({ type }: Pick<FilteredColumn, 'type'>): string =>
  type === 'uuid' ? 'uuid' : POSTGRES_TYPES[type];

const COMPARISON_SIGNS = { eq: '=', gt: '>', gte: '>=', lt: '<', lte: '<=' } as const;

/** Makes the SQL of a comparison. @param values as Postgres reads them (`toPostgresText`): one, or those of the list */
export function makeComparison(
  comparedSql: string,
  type: Pick<FilteredColumn, 'type'>,
  operator: FilterOperator,
  values: readonly string[],
  bindValue: BindValue,
): string {
  const bindFirst = () => `${bindValue(values[0])}::${getTypeName(type)}`;
  const bindList = () => `${bindValue(values)}::${getTypeName(type)}[]`;
  switch (operator) {
    case 'in':
      return `${comparedSql} = ANY (${bindList()})`;
    // Everything else: nulls, too.
    case 'nin':
      return `(${comparedSql} IS NULL OR ${comparedSql} <> ALL (${bindList()}))`;
    case 'ne':
      return `${comparedSql} IS DISTINCT FROM ${bindFirst()}`;
    case 'contains':
      return makeContainsSql(comparedSql, bindFirst());
    case 'starts_with':
      return `starts_with(${makeCaseFoldedSql(comparedSql)}, ${makeCaseFoldedSql(bindFirst())})`;
    case 'is_null':
      return `${comparedSql} IS ${values[0] === 'true' ? '' : 'NOT '}NULL`;
    default:
      return `${comparedSql} ${COMPARISON_SIGNS[operator]} ${bindFirst()}`;
  }
}

function makeSearchCondition(texts: string[], placeholder: string): string {
  const containsConditions = texts.map((name) => makeContainsSql(makeSourceColumn(name), `${placeholder}::text`));
  // A table without text holds none. Its parameter must have a type all the same.
  return containsConditions.length === 0 ? `${placeholder}::text IS NULL` : `(${containsConditions.join(' OR ')})`;
}

/** Makes SQL that tells whether a text contains another, literally and in any case. */
export const makeContainsSql = (text: string, searchedText: string): string =>
  `position(${makeCaseFoldedSql(searchedText)} IN ${makeCaseFoldedSql(text)}) > 0`;

/** Makes SQL that folds a text's case by Unicode, whatever the database's collation: ß is SS, both small sigmas are one. */
export const makeCaseFoldedSql = (text: string): string => `casefold(${text} COLLATE "pg_unicode_fast")`;
