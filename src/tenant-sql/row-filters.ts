import { arrayLiteral } from '../sql-templates/compiled.ts';
import { type ColumnType, POSTGRES_TYPES } from './columns.ts';
import { quoted } from './identifiers.ts';
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

const FOR_TEXTS: ReadonlySet<FilterOperator> = new Set(['contains', 'starts_with']);
const FOR_IDS: ReadonlySet<FilterOperator> = new Set(['eq', 'in']);

/** Whether values of a type can be compared so. */
export function takesOperator({ type }: Pick<FilteredColumn, 'type'>, operator: FilterOperator): boolean {
  if (type === 'uuid') return FOR_IDS.has(operator);
  return type === 'text' || !FOR_TEXTS.has(operator);
}

/** The time of a day's last moment that a column can hold, as it follows the date in a text. */
export const END_OF_DAY = ' 23:59:59.999999+00';

/** The text that a column is compared with; for a datetime column, a date with `lte` or `gt` is the day's end. */
export function toComparedText(type: ColumnType, operator: FilterOperator, value: unknown): string | undefined {
  const text = toPostgresText(type, value);
  const meansWholeDay = type === 'datetime' && (operator === 'lte' || operator === 'gt');
  return text !== undefined && meansWholeDay && /^\d{4}-\d\d-\d\d$/.test(String(value))
    ? `${value}${END_OF_DAY}`
    : text;
}

/** A column that rows are selected by; `id` is a uuid. */
export interface FilteredColumn {
  name: string;
  type: ColumnType | 'uuid';
}

/** A condition on one column. */
export interface RowFilter {
  column: FilteredColumn;
  operator: FilterOperator;
  /** Texts that Postgres reads for the column's type (see `toPostgresText`): one, or those of the list. */
  values: string[];
}

/** The rows of a table that fit all filters and hold the text. */
export interface RowSelection {
  filters: RowFilter[];
  /** A literal substring to find in any of the `texts` columns, case-insensitively; empty for no search. */
  search: string;
  /** The names of the table's text columns. */
  texts: string[];
}

/** Whether a selection may leave rows out. */
export const isSelective = ({ filters, search }: RowSelection): boolean => filters.length > 0 || search !== '';

/** Gives a value its place in a statement: the `$n` that it is bound as. */
export type Bind = (value: unknown) => string;

/** The values of a statement that is being written, and the function that adds one. */
export function bindings(): { values: unknown[]; bind: Bind } {
  const values: unknown[] = [];
  return { values, bind: (value) => `$${values.push(value)}` };
}

/** The values of a statement that are all sent as text, a list as that of an array, and the function that adds one. */
export function textBindings(): { values: string[]; bind: Bind } {
  const values: string[] = [];
  return { values, bind: (value) => `$${values.push(Array.isArray(value) ? arrayLiteral(value) : String(value))}` };
}

/**
 * The conditions of a selection, as SQL over the table's alias `source`. No value becomes part of the text. Conditions that an
 * index can answer are written so that it does: the column alone on its side, compared in its own type.
 */
export function makeConditions({ filters, search, texts }: RowSelection, bind: Bind): string[] {
  const conditions = filters.map((filter) => makeCondition(filter, bind));
  if (search !== '') conditions.push(searchIn(texts, bind(search)));
  return conditions;
}

/** A `WHERE` with all of the conditions; an empty text without any. */
export const where = (conditions: string[]): string =>
  conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`;

/** A column of the table that is selected from. */
export const ofSource = (name: string): string => `source.${quoted(name)}`;

/** The name of a column's type in Postgres. */
export const typeName = ({ type }: Pick<FilteredColumn, 'type'>): string =>
  type === 'uuid' ? 'uuid' : POSTGRES_TYPES[type];

const COMPARISONS = { eq: '=', gt: '>', gte: '>=', lt: '<', lte: '<=' } as const;

const makeCondition = ({ column, operator, values }: RowFilter, bind: Bind): string =>
  comparison(ofSource(column.name), column, operator, values, bind);

/** The SQL of a comparison. @param values as Postgres reads them (`toPostgresText`): one, or those of the list */
export function comparison(
  compared: string,
  type: Pick<FilteredColumn, 'type'>,
  operator: FilterOperator,
  values: readonly string[],
  bind: Bind,
): string {
  const value = () => `${bind(values[0])}::${typeName(type)}`;
  const list = () => `${bind(values)}::${typeName(type)}[]`;
  switch (operator) {
    case 'in':
      return `${compared} = ANY (${list()})`;
    // Everything else: nulls, too.
    case 'nin':
      return `(${compared} IS NULL OR ${compared} <> ALL (${list()}))`;
    case 'ne':
      return `${compared} IS DISTINCT FROM ${value()}`;
    case 'contains':
      return containsText(compared, value());
    case 'starts_with':
      return `starts_with(${caseFolded(compared)}, ${caseFolded(value())})`;
    case 'is_null':
      return `${compared} IS ${values[0] === 'true' ? '' : 'NOT '}NULL`;
    default:
      return `${compared} ${COMPARISONS[operator]} ${value()}`;
  }
}

function searchIn(texts: string[], placeholder: string): string {
  const found = texts.map((name) => containsText(ofSource(name), `${placeholder}::text`));
  // A table without text holds none. Its parameter must have a type all the same.
  return found.length === 0 ? `${placeholder}::text IS NULL` : `(${found.join(' OR ')})`;
}

const containsText = (text: string, part: string): string => `position(${caseFolded(part)} IN ${caseFolded(text)}) > 0`;

/** SQL that folds a text's case by Unicode, whatever the database's collation: ß is SS, both small sigmas are one. */
export const caseFolded = (text: string): string => `casefold(${text} COLLATE "pg_unicode_fast")`;
