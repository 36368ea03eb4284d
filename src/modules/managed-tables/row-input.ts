import type { FieldProblem } from '../../kernel/failure.ts';
import type { Column } from '../../tenant-sql/columns.ts';
import { EXPECTATIONS, toPostgresText } from '../../tenant-sql/values.ts';
import { MAX_ROW_PROBLEMS, valuesDoNotFit } from './failures.ts';

/** The input of `insertRows` of `tenant-sql/rows.ts`. */
export interface EncodedRows {
  /** The columns for which any row has a value. */
  columns: Column[];
  /** For each row, its texts by position in `columns`. */
  rows: Record<number, string>[];
}

/** Validates JSON rows and encodes their values for a table's columns. */
export function encodeRows(columns: Column[], rows: unknown[]): EncodedRows {
  const byName = new Map(columns.map((column) => [column.name, column]));
  const required = columns.filter(({ nullable }) => !nullable);
  const positions = new Map<string, number>();
  const used: Column[] = [];
  const problems: FieldProblem[] = [];
  const report = (row: number, field: string, message: string) => {
    problems.push({ row, field, message });
    if (problems.length === MAX_ROW_PROBLEMS) throw valuesDoNotFit(problems);
  };

  const encoded = rows.map((row, index) => {
    const texts: Record<number, string> = {};
    if (!isObject(row)) {
      report(index, '', 'must be an object of column names and values');
      return texts;
    }
    for (const [name, value] of Object.entries(row)) {
      const column = byName.get(name);
      if (!column) {
        report(index, name, notAColumn(name));
      } else if (value === null) {
        if (!column.nullable) report(index, name, NOT_NULL);
      } else {
        const text = toPostgresText(column.type, value);
        if (text === undefined) {
          report(index, name, EXPECTATIONS[column.type]);
          continue;
        }
        let position = positions.get(name);
        if (position === undefined) {
          position = used.push(column) - 1;
          positions.set(name, position);
        }
        texts[position] = text;
      }
    }
    for (const { name } of required) if (!Object.hasOwn(row, name)) report(index, name, NOT_NULL);
    return texts;
  });
  if (problems.length > 0) throw valuesDoNotFit(problems);
  return { columns: used, rows: encoded };
}

/** Validates the changed fields of a row, at least one, and encodes their values. */
export function encodeChanges(
  columns: Column[],
  changes: Record<string, unknown>,
): { column: Column; text: string | null }[] {
  const byName = new Map(columns.map((column) => [column.name, column]));
  const problems: FieldProblem[] = [];
  const encoded: { column: Column; text: string | null }[] = [];
  for (const [name, value] of Object.entries(changes).slice(0, columns.length + MAX_ROW_PROBLEMS)) {
    const column = byName.get(name);
    const text = column && value !== null ? toPostgresText(column.type, value) : null;
    if (!column) problems.push({ field: name, message: notAColumn(name) });
    else if (text === undefined) problems.push({ field: name, message: EXPECTATIONS[column.type] });
    else if (text === null && !column.nullable) problems.push({ field: name, message: NOT_NULL });
    else encoded.push({ column, text });
  }
  if (problems.length > 0) throw valuesDoNotFit(problems.slice(0, MAX_ROW_PROBLEMS));
  if (encoded.length === 0) throw valuesDoNotFit([{ field: '', message: 'must name at least one column to change' }]);
  return encoded;
}

const NOT_NULL = 'must not be null: the column is not nullable';

const notAColumn = (name: string): string =>
  name === 'id' ? 'is given by the database and never changes' : 'is no column of the table';

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
