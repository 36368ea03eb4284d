import type { FieldProblem } from '../../kernel/failure.ts';
import { shorten } from '../../kernel/text.ts';
import type { UnreadObject } from '../../kernel/unread-json.ts';
import { MAX_COLUMNS, type TableColumnDefinition } from '../../tenant-sql/columns.ts';
import type { RowTexts } from '../../tenant-sql/rows.ts';
import { EXPECTED_VALUES, toPostgresText } from '../../tenant-sql/values.ts';
import { MAX_ROW_PROBLEMS, makeValuesFailure } from './failures.ts';

/** Rows with valid values: the input of `insertRows` of `tenant-sql/rows.ts`. */
export interface EncodedRows {
  /** The columns for which any row has a value. */
  columns: TableColumnDefinition[];
  count: number;
  /** Yields the texts of one row after another, by position in `columns`. Each call encodes them again: they are not stored. */
  encodeTexts(): Iterable<RowTexts>;
}

/** The maximum number of characters shown of an unknown column's name. */
const MAX_SHOWN_NAME_LENGTH = 100;

/** The maximum number of fields of a row: more cannot be columns of a table. */
const MAX_ROW_FIELDS = 2 * MAX_COLUMNS;

/** Validates JSON rows, and encodes their values for a table's columns. */
export function encodeRows(columns: TableColumnDefinition[], rows: readonly (UnreadObject | null)[]): EncodedRows {
  const columnsByName = new Map(columns.map((column) => [column.name, column]));
  const requiredColumns = columns.filter(({ nullable }) => !nullable);
  const positions = new Map<string, number>();
  const usedColumns: TableColumnDefinition[] = [];
  const problems: FieldProblem[] = [];
  const reportProblem = (row: number, field: string, message: string) => {
    problems.push({ row, field: shorten(field, MAX_SHOWN_NAME_LENGTH), message });
    if (problems.length === MAX_ROW_PROBLEMS) throw makeValuesFailure(problems);
  };
  const findPosition = (column: TableColumnDefinition) => {
    const knownPosition = positions.get(column.name);
    if (knownPosition !== undefined) return knownPosition;
    const position = usedColumns.push(column) - 1;
    positions.set(column.name, position);
    return position;
  };

  const encodeRow = (unreadRow: UnreadObject | null, index: number): RowTexts => {
    const texts: RowTexts = {};
    if (unreadRow === null || unreadRow.fieldCount > MAX_ROW_FIELDS) {
      reportProblem(
        index,
        '',
        unreadRow === null ? NOT_AN_OBJECT_MESSAGE : `must have at most ${MAX_ROW_FIELDS} fields`,
      );
      return texts;
    }
    const row = unreadRow.parseFields();
    for (const [name, value] of Object.entries(row)) {
      const column = columnsByName.get(name);
      if (!column) {
        reportProblem(index, name, describeUnknownColumn(name));
      } else if (value === null) {
        if (!column.nullable) reportProblem(index, name, NOT_NULL_MESSAGE);
      } else {
        const text = toPostgresText(column.type, value);
        if (text === undefined) reportProblem(index, name, EXPECTED_VALUES[column.type]);
        else texts[findPosition(column)] = text;
      }
    }
    for (const { name } of requiredColumns) if (!Object.hasOwn(row, name)) reportProblem(index, name, NOT_NULL_MESSAGE);
    return texts;
  };

  for (const [index, row] of rows.entries()) encodeRow(row, index);
  if (problems.length > 0) throw makeValuesFailure(problems);
  return {
    columns: usedColumns,
    count: rows.length,
    *encodeTexts() {
      for (const [index, row] of rows.entries()) yield encodeRow(row, index);
    },
  };
}

/** Validates the changed fields of a row, at least one, and encodes their values. */
export function encodeChanges(
  columns: TableColumnDefinition[],
  rowId: string,
  changes: Record<string, unknown>,
): { column: TableColumnDefinition; text: string | null }[] {
  const columnsByName = new Map(columns.map((column) => [column.name, column]));
  const problems: FieldProblem[] = [];
  const encodedFields: { column: TableColumnDefinition; text: string | null }[] = [];
  for (const [name, value] of Object.entries(changes).slice(0, columns.length + MAX_ROW_PROBLEMS)) {
    if (name === 'id' && value === rowId) continue;
    const column = columnsByName.get(name);
    const text = column && value !== null ? toPostgresText(column.type, value) : null;
    if (!column) problems.push({ field: shorten(name, MAX_SHOWN_NAME_LENGTH), message: describeUnknownColumn(name) });
    else if (text === undefined) problems.push({ field: name, message: EXPECTED_VALUES[column.type] });
    else if (text === null && !column.nullable) problems.push({ field: name, message: NOT_NULL_MESSAGE });
    else encodedFields.push({ column, text });
  }
  if (problems.length > 0) throw makeValuesFailure(problems.slice(0, MAX_ROW_PROBLEMS));
  if (encodedFields.length === 0)
    throw makeValuesFailure([{ field: '', message: 'must name at least one column to change' }]);
  return encodedFields;
}

const NOT_AN_OBJECT_MESSAGE = 'must be an object of column names and values';

const NOT_NULL_MESSAGE = 'must not be null: the column is not nullable';

const describeUnknownColumn = (name: string): string =>
  name === 'id' ? 'is set by the database and cannot be changed' : 'is not a column of the table';
