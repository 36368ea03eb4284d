import type { TableColumnDefinition } from '../../tenant-sql/columns.ts';
import { makeSortFailure } from './failures.ts';
import type { RowOrder } from './row-pages.ts';

const SORT_PATTERN = /^(?:-([a-z_][a-z0-9_]*)(?: desc)?|([a-z_][a-z0-9_]*)(?: (asc|desc))?)$/i;

/** Parses a `sort_by` to a column and a direction; without one returns those of insertion order. @throws makeSortFailure */
export function parseColumnSort(sortBy: string | undefined): Pick<RowOrder, 'column' | 'descending'> {
  if (sortBy === undefined) return { column: 'id', descending: false };
  const parts = SORT_PATTERN.exec(sortBy);
  if (!parts) throw makeSortFailure('must be written as "field", "field ASC", "field DESC", "-field" or "-field DESC"');
  const [, reversed, plain, direction] = parts;
  return { column: reversed ?? plain ?? '', descending: reversed !== undefined || direction?.toLowerCase() === 'desc' };
}

/**
 * Parses `sort_by`: `field`, `field ASC`, `field DESC`, `-field` or `-field DESC`, the direction in any case. Returns null
 * without one, which means insertion order.
 */
export function parseSort(sortBy: string | undefined, columns: TableColumnDefinition[]): RowOrder | null {
  if (sortBy === undefined) return null;
  const { column, descending } = parseColumnSort(sortBy);
  const type = column === 'id' ? 'uuid' : columns.find(({ name }) => name === column)?.type;
  if (type === undefined) throw makeSortFailure('must name a column of the table or "id"');
  return { column, type, descending };
}
