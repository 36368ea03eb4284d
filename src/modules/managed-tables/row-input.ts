import type { FieldProblem } from '../../kernel/failure.ts';
import { shorten } from '../../kernel/text.ts';
import type { UnreadObject } from '../../kernel/unread-json.ts';
import { type Column, MAX_COLUMNS } from '../../tenant-sql/columns.ts';
import type { RowTexts } from '../../tenant-sql/rows.ts';
import { EXPECTATIONS, toPostgresText } from '../../tenant-sql/values.ts';
import { MAX_ROW_PROBLEMS, valuesDoNotFit } from './failures.ts';

/** Rows whose values fit: the input of `insertRows` of `tenant-sql/rows.ts`. */
export interface EncodedRows {
  /** The columns for which any row has a value. */
  columns: Column[];
  count: number;
  /** The texts of one row after another, by position in `columns`. Each call encodes them anew: they are held nowhere. */
  texts(): Iterable<RowTexts>;
}

/** The maximum number of characters of an unknown column's name that are shown. */
const MAX_SHOWN_NAME_LENGTH = 100;

/** The maximum number of fields of a row: more cannot be columns of a table. */
const MAX_FIELDS = 2 * MAX_COLUMNS;

/** Validates JSON rows, and encodes their values for a table's columns. */
export function encodeRows(columns: Column[], rows: readonly (UnreadObject | null)[]): EncodedRows {
  const byName = new Map(columns.map((column) => [column.name, column]));
  const required = columns.filter(({ nullable }) => !nullable);
  const positions = new Map<string, number>();
  const used: Column[] = [];
  const problems: FieldProblem[] = [];
  const report = (row: number, field: string, message: string) => {
    problems.push({ row, field: shorten(field, MAX_SHOWN_NAME_LENGTH), message });
    if (problems.length === MAX_ROW_PROBLEMS) throw valuesDoNotFit(problems);
  };
  const findPosition = (column: Column) => {
    const known = positions.get(column.name);
    if (known !== undefined) return known;
    const position = used.push(column) - 1;
    positions.set(column.name, position);
    return position;
  };

  const encode = (unread: UnreadObject | null, index: number): RowTexts => {
    const texts: RowTexts = {};
    if (unread === null || unread.fields > MAX_FIELDS) {
      report(index, '', unread === null ? NOT_AN_OBJECT : `must have at most ${MAX_FIELDS} fields`);
      return texts;
    }
    const row = unread.read();
    for (const [name, value] of Object.entries(row)) {
      const column = byName.get(name);
      if (!column) {
        report(index, name, describeUnknownColumn(name));
      } else if (value === null) {
        if (!column.nullable) report(index, name, NOT_NULL);
      } else {
        const text = toPostgresText(column.type, value);
        if (text === undefined) report(index, name, EXPECTATIONS[column.type]);
        else texts[findPosition(column)] = text;
      }
    }
    for (const { name } of required) if (!Object.hasOwn(row, name)) report(index, name, NOT_NULL);
    return texts;
  };

  for (const [index, row] of rows.entries()) encode(row, index);
  if (problems.length > 0) throw valuesDoNotFit(problems);
  return {
    columns: used,
    count: rows.length,
    *texts() {
      for (const [index, row] of rows.entries()) yield encode(row, index);
    },
  };
}

/** Validates the changed fields of a row, at least one, and encodes their values. */
export function encodeChanges(
  columns: Column[],
  rowId: string,
  changes: Record<string, unknown>,
): { column: Column; text: string | null }[] {
  const byName = new Map(columns.map((column) => [column.name, column]));
  const problems: FieldProblem[] = [];
  const encoded: { column: Column; text: string | null }[] = [];
  for (const [name, value] of Object.entries(changes).slice(0, columns.length + MAX_ROW_PROBLEMS)) {
    if (name === 'id' && value === rowId) continue;
    const column = byName.get(name);
    const text = column && value !== null ? toPostgresText(column.type, value) : null;
    if (!column) problems.push({ field: shorten(name, MAX_SHOWN_NAME_LENGTH), message: describeUnknownColumn(name) });
    else if (text === undefined) problems.push({ field: name, message: EXPECTATIONS[column.type] });
    else if (text === null && !column.nullable) problems.push({ field: name, message: NOT_NULL });
    else encoded.push({ column, text });
  }
  if (problems.length > 0) throw valuesDoNotFit(problems.slice(0, MAX_ROW_PROBLEMS));
  if (encoded.length === 0) throw valuesDoNotFit([{ field: '', message: 'must name at least one column to change' }]);
  return encoded;
}

const NOT_AN_OBJECT = 'must be an object of column names and values';

const NOT_NULL = 'must not be null: the column is not nullable';

const describeUnknownColumn = (name: string): string =>
  name === 'id' ? 'is set by the database and cannot be changed' : 'is not a column of the table';
