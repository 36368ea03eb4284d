import type { FieldProblem } from '../../kernel/failure.ts';
import type { TableColumnDefinition } from '../../tenant-sql/columns.ts';
import { makeColumnsRefusedFailure } from './failures.ts';

/** A requested column; `previous_name` if it is renamed. */
export type RequestedColumn = TableColumnDefinition & { previous_name?: string | undefined };

/** The changes from the current columns to the requested ones. `index` is the position in the requested list. */
export interface ColumnPlan {
  droppedColumns: TableColumnDefinition[];
  keptColumns: { index: number; from: TableColumnDefinition; to: TableColumnDefinition }[];
  addedColumns: { index: number; column: TableColumnDefinition }[];
  /** The columns after the change. */
  columns: TableColumnDefinition[];
  /** Whether the plan changes anything. */
  hasChanges: boolean;
}

/** Matches requested columns with current ones: by `previous_name`, else by name among those that no `previous_name` refers to. */
export function planColumns(currentColumns: TableColumnDefinition[], requestedColumns: RequestedColumn[]): ColumnPlan {
  const unmatchedColumns = new Map(currentColumns.map((column) => [column.name, column]));
  const sources = new Map<number, TableColumnDefinition>();
  const problems: FieldProblem[] = [];

  for (const [index, { previous_name: previousName }] of requestedColumns.entries()) {
    if (previousName === undefined) continue;
    const source = unmatchedColumns.get(previousName);
    if (source) sources.set(index, source);
    else
      problems.push({
        field: `columns.${index}.previous_name`,
        message: `must be a column of the table that no other entry names: "${previousName}"`,
      });
    unmatchedColumns.delete(previousName);
  }
  if (problems.length > 0) throw makeColumnsRefusedFailure(problems);
  for (const [index, { name, previous_name: previousName }] of requestedColumns.entries()) {
    const source = previousName === undefined ? unmatchedColumns.get(name) : undefined;
    if (!source) continue;
    sources.set(index, source);
    unmatchedColumns.delete(name);
  }

  const columns = requestedColumns.map(({ previous_name: _, ...column }) => column);
  const keptColumns = columns.flatMap((to, index) => {
    const from = sources.get(index);
    return from ? [{ index, from, to }] : [];
  });
  const addedColumns = columns.flatMap((column, index) => (sources.has(index) ? [] : [{ index, column }]));
  const hasChanges =
    currentColumns.length !== columns.length ||
    currentColumns.some((column, index) => !isSameColumn(column, columns[index]));
  return { droppedColumns: [...unmatchedColumns.values()], keptColumns, addedColumns, columns, hasChanges };
}

function isSameColumn(a: TableColumnDefinition, b: TableColumnDefinition | undefined): boolean {
  return a.name === b?.name && a.display_name === b.display_name && a.type === b.type && a.nullable === b.nullable;
}
