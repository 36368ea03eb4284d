import { type FilteredColumn, type FilterOperator, toComparedText } from '../../tenant-sql/row-filters.ts';
import { EXPECTATIONS } from '../../tenant-sql/values.ts';

/** The maximum number of values of one list. */
const MAX_LIST_VALUES = 1000;

const UUID_PATTERN = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Whether a text is the id of a row. */
export const isRowId = (text: string): boolean => UUID_PATTERN.test(text);

/** The values that a filter compares with, or the problem with them. */
export type ReadValues = { values: string[] } | { problem: string };

/** Reads the text of a filter by the type of its column. */
export function readValues(column: FilteredColumn, operator: FilterOperator, text: string): ReadValues {
  if (operator === 'is_null') {
    return text === 'true' || text === 'false' ? { values: [text] } : { problem: 'must be true or false' };
  }
  const parts = operator === 'in' || operator === 'nin' ? parseList(text) : [text];
  if (parts === undefined) return { problem: NOT_A_LIST };
  if (parts.length > MAX_LIST_VALUES) return { problem: `must hold at most ${MAX_LIST_VALUES} values` };
  const values = parts.map((part) => encodeValue(column, operator, part));
  const fit = values.filter((value) => value !== undefined);
  return fit.length === values.length ? { values: fit } : { problem: describeExpectation(column) };
}

const NOT_A_LIST =
  'must be values separated by commas; put a value that contains a comma or a quote in "…" and double its quotes';

const encodeValue = ({ type }: FilteredColumn, operator: FilterOperator, text: string): string | undefined =>
  type === 'uuid' ? (isRowId(text) ? text : undefined) : toComparedText(type, operator, text);

const describeExpectation = ({ name, type }: FilteredColumn): string =>
  type === 'uuid' ? 'must be ids of rows' : `${EXPECTATIONS[type]}: "${name}" is of type ${type}`;

/** One value of a list and the comma or end behind it: in quotes, doubled within, or without any quote or comma. */
const LIST_ITEM_PATTERN = /(?:"((?:[^"]|"")*)"|([^",]*))(,|$)/y;

/** The values of a comma-separated list; undefined where its quotes are wrong. Spaces count. */
function parseList(text: string): string[] | undefined {
  const values: string[] = [];
  LIST_ITEM_PATTERN.lastIndex = 0;
  for (;;) {
    const item = LIST_ITEM_PATTERN.exec(text);
    if (!item) return undefined;
    values.push(item[1]?.replaceAll('""', '"') ?? item[2] ?? '');
    // One more than may be is enough to refuse.
    if (item[3] === '' || values.length > MAX_LIST_VALUES) return values;
  }
}
