import { type FilteredColumn, type FilterOperator, toComparedText } from '../../tenant-sql/row-filters.ts';
import { EXPECTED_VALUES } from '../../tenant-sql/values.ts';

/** The maximum number of values of one list. */
const MAX_LIST_VALUES = 1000;

const UUID_PATTERN = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Tells whether a text is the id of a row. */
export const isRowId = (text: string): boolean => UUID_PATTERN.test(text);

/** Parses the text of a filter by the type of its column. @returns the values that it compares with, or the problem with them */
export function parseFilterValues(
  column: FilteredColumn,
  operator: FilterOperator,
  text: string,
): { values: string[] } | { problem: string } {
  if (operator === 'is_null') {
    return text === 'true' || text === 'false' ? { values: [text] } : { problem: 'must be true or false' };
  }
  const parts = operator === 'in' || operator === 'nin' ? parseList(text) : [text];
  if (parts === undefined) return { problem: NOT_A_LIST_MESSAGE };
  if (parts.length > MAX_LIST_VALUES) return { problem: `must hold at most ${MAX_LIST_VALUES} values` };
  const values = parts.map((valueText) => encodeValue(column, operator, valueText));
  const validValues = values.filter((value) => value !== undefined);
  return validValues.length === values.length ? { values: validValues } : { problem: describeExpectation(column) };
}

const NOT_A_LIST_MESSAGE =
  'must be values separated by commas; put a value that contains a comma or a quote in "…" and double its quotes';

const encodeValue = ({ type }: FilteredColumn, operator: FilterOperator, text: string): string | undefined =>
  type === 'uuid' ? (isRowId(text) ? text : undefined) : toComparedText(type, operator, text);

const describeExpectation = ({ name, type }: FilteredColumn): string =>
  type === 'uuid' ? 'must be ids of rows' : `${EXPECTED_VALUES[type]}: "${name}" is of type ${type}`;

/** The pattern of a list value and the following comma or end: quoted, with doubled quotes inside, or without quote or comma. */
const LIST_ITEM_PATTERN = /(?:"((?:[^"]|"")*)"|([^",]*))(,|$)/y;

/** Parses the values of a comma-separated list; undefined where its quotes are wrong. Spaces count. */
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
