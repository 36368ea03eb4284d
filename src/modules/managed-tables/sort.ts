import type { Column } from '../../tenant-sql/columns.ts';
import type { RowOrder } from '../../tenant-sql/rows.ts';
import { badSort } from './failures.ts';

const GRAMMAR = /^(?:-([a-z_][a-z0-9_]*)(?: desc)?|([a-z_][a-z0-9_]*)(?: (asc|desc))?)$/i;

/**
 * Parses `sort_by`: `field`, `field ASC`, `field DESC`, `-field` or `-field DESC`, the direction in any case. Returns
 * null without one, which means insertion order.
 */
export function parseSort(sortBy: string | undefined, columns: Column[]): RowOrder | null {
  if (sortBy === undefined) return null;
  const parts = GRAMMAR.exec(sortBy);
  if (!parts) throw badSort('must be written as "field", "field ASC", "field DESC", "-field" or "-field DESC"');
  const [, reversed, plain, direction] = parts;
  const column = reversed ?? plain ?? '';
  if (column !== 'id' && !columns.some(({ name }) => name === column)) {
    throw badSort('must name a column of the table or "id"');
  }
  return { column, descending: reversed !== undefined || direction?.toLowerCase() === 'desc' };
}
