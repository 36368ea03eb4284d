import { type FieldProblem, invalid } from '../../kernel/failure.ts';
import { shorten } from '../../kernel/text.ts';
import type { Column } from '../../tenant-sql/columns.ts';
import {
  FILTER_OPERATORS,
  type FilteredColumn,
  type FilterOperator,
  type RowFilter,
  type RowSelection,
  takesOperator,
} from '../../tenant-sql/row-filters.ts';
import { readValues } from './filter-values.ts';

/** A filter as it was sent: `filter[column][operator]=value`. */
export interface SentFilter {
  column: string;
  operator: string;
  value: string;
}

/** The rows and columns of a table that are asked for, as sent. */
export interface SentSelection {
  filter: SentFilter[];
  search: string;
  /** Names with commas between them; all columns where absent. */
  fields?: string | undefined;
}

/** The rows and columns that are asked for, checked against the columns of the table. */
export interface ReadSelection {
  rows: RowSelection;
  /** The columns to show after `id`, in the order of the request. */
  shown: Column[];
}

/**
 * Checks the selection of a list or export against the columns of the table: `makeConditions` of
 * `tenant-sql/row-filters.ts` makes SQL of `rows`.
 * @throws the failure `request.invalid`, which names parameters as they were sent, such as `filter[price][gt]`
 */
export function readSelection(asked: SentSelection, columns: Column[]): ReadSelection {
  const byName = new Map<string, FilteredColumn>(columns.map((column) => [column.name, column]));
  byName.set('id', { name: 'id', type: 'uuid' });
  const problems: FieldProblem[] = [];
  const filters = asked.filter.flatMap((filter) => {
    const read = readFilter(filter, byName);
    if ('operator' in read) return [read];
    problems.push({ field: formatFilter(filter), message: read.problem });
    return [];
  });
  const { shown, unknown } = chooseFields(asked.fields, columns);
  for (const name of unknown)
    problems.push({
      field: 'fields',
      message: `"${shorten(name, MAX_SHOWN_NAME_LENGTH)}" is not a column of the table`,
    });
  if (problems.length > 0) throw invalid(problems.slice(0, MAX_PROBLEMS));
  const texts = columns.filter(({ type }) => type === 'text').map(({ name }) => name);
  return { rows: { filters, search: asked.search, texts }, shown };
}

const MAX_PROBLEMS = 20;
/** The maximum number of characters of a sent name that are shown: names of columns are not longer. */
const MAX_SHOWN_NAME_LENGTH = 80;

/** The parameter of a filter, as it was sent. */
const formatFilter = ({ column, operator }: SentFilter): string =>
  `filter[${shorten(column, MAX_SHOWN_NAME_LENGTH)}][${shorten(operator, MAX_SHOWN_NAME_LENGTH)}]`;

function readFilter(
  { column: name, operator, value }: SentFilter,
  columns: ReadonlyMap<string, FilteredColumn>,
): RowFilter | { problem: string } {
  const column = columns.get(name);
  if (!column) return { problem: 'must name a column of the table' };
  if (!isOperator(operator)) return { problem: `must be one of ${FILTER_OPERATORS.join(', ')}` };
  if (!takesOperator(column, operator))
    return { problem: `does not go with "${name}", which is of type ${column.type}` };
  const read = readValues(column, operator, value);
  return 'problem' in read ? read : { column, operator, values: read.values };
}

const isOperator = (text: string): text is FilterOperator => (FILTER_OPERATORS as readonly string[]).includes(text);

function chooseFields(fields: string | undefined, columns: Column[]): { shown: Column[]; unknown: string[] } {
  if (fields === undefined) return { shown: columns, unknown: [] };
  const byName = new Map(columns.map((column) => [column.name, column]));
  const names = [...new Set(fields.split(','))].filter((name) => name !== 'id');
  return {
    shown: names.flatMap((name) => byName.get(name) ?? []),
    unknown: names.filter((name) => !byName.has(name)),
  };
}
