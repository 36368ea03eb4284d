import type { z } from 'zod';
import { type FieldProblem, invalidInput } from '../../kernel/failure.ts';
import { shorten } from '../../kernel/text.ts';
import type { TableColumnDefinition } from '../../tenant-sql/columns.ts';
import {
  acceptsOperator,
  FILTER_OPERATORS,
  type FilteredColumn,
  type FilterOperator,
  type RowFilter,
  type RowSelection,
} from '../../tenant-sql/row-filters.ts';
import { parseFilterValues } from './filter-values.ts';
import type { selectionQuery } from './selection-query.ts';

/** The requested rows and columns of a table, as sent. */
export type SentSelection = z.output<z.ZodObject<typeof selectionQuery>>;

/** A filter as it was sent: `filter[column][operator]=value`. */
export type SentFilter = SentSelection['filter'][number];

/**
 * Checks the selection of a list or export against the columns of the table: `makeConditions` of `tenant-sql/row-filters.ts`
 * makes SQL of `rowSelection`. @returns the selection, and the columns to show after `id`, in the order of the request @throws the failure
 * `request.invalid`, which names parameters as they were sent, such as `filter[price][gt]`
 */
export function checkSelection(
  sentSelection: SentSelection,
  columns: TableColumnDefinition[],
): { rowSelection: RowSelection; shownColumns: TableColumnDefinition[] } {
  const columnsByName = new Map<string, FilteredColumn>(columns.map((column) => [column.name, column]));
  columnsByName.set('id', { name: 'id', type: 'uuid' });
  const problems: FieldProblem[] = [];
  const filters = sentSelection.filter.flatMap((filter) => {
    const checkedFilter = checkFilter(filter, columnsByName);
    if ('operator' in checkedFilter) return [checkedFilter];
    problems.push({ field: formatFilter(filter), message: checkedFilter.problem });
    return [];
  });
  const { shownColumns, unknownNames } = chooseFields(sentSelection.fields, columns);
  for (const name of unknownNames) {
    const message = `"${shorten(name, MAX_SHOWN_NAME_LENGTH)}" is not a column of the table`;
    problems.push({ field: 'fields', message });
  }
  if (problems.length > 0) throw invalidInput(problems.slice(0, MAX_PROBLEMS));
  const textColumns = columns.filter(({ type }) => type === 'text').map(({ name }) => name);
  return { rowSelection: { filters, search: sentSelection.search, textColumns }, shownColumns };
}

const MAX_PROBLEMS = 20;
/** The maximum number of characters shown of a sent name: names of columns are not longer. */
const MAX_SHOWN_NAME_LENGTH = 80;

/** Formats the query parameter of a filter, as it was sent. */
const formatFilter = ({ column, operator }: SentFilter): string =>
  `filter[${shorten(column, MAX_SHOWN_NAME_LENGTH)}][${shorten(operator, MAX_SHOWN_NAME_LENGTH)}]`;

function checkFilter(
  { column: name, operator, value }: SentFilter,
  columns: ReadonlyMap<string, FilteredColumn>,
): RowFilter | { problem: string } {
  const column = columns.get(name);
  if (!column) return { problem: 'must name a column of the table' };
  if (!isFilterOperator(operator)) return { problem: `must be one of ${FILTER_OPERATORS.join(', ')}` };
  if (!acceptsOperator(column, operator))
    return { problem: `does not go with "${name}", which is of type ${column.type}` };
  const filterValues = parseFilterValues(column, operator, value);
  return 'problem' in filterValues ? filterValues : { column, operator, values: filterValues.values };
}

const isFilterOperator = (text: string): text is FilterOperator =>
  (FILTER_OPERATORS as readonly string[]).includes(text);

function chooseFields(
  fields: string | undefined,
  columns: TableColumnDefinition[],
): { shownColumns: TableColumnDefinition[]; unknownNames: string[] } {
  if (fields === undefined) return { shownColumns: columns, unknownNames: [] };
  const columnsByName = new Map(columns.map((column) => [column.name, column]));
  const names = [...new Set(fields.split(','))].filter((name) => name !== 'id');
  return {
    shownColumns: names.flatMap((name) => columnsByName.get(name) ?? []),
    unknownNames: names.filter((name) => !columnsByName.has(name)),
  };
}
