import type { FieldProblem } from '../../kernel/failure.ts';
import type { Column } from '../../tenant-sql/columns.ts';
import { columnsRefused } from './failures.ts';

/** A column of the wanted list; `previous_name` if it is renamed. */
export type WantedColumn = Column & { previous_name?: string | undefined };

/** The changes from the current columns to the wanted ones. `index` is the position in the wanted list. */
export interface ColumnPlan {
  dropped: Column[];
  kept: { index: number; from: Column; to: Column }[];
  added: { index: number; column: Column }[];
  /** The columns after the change. */
  columns: Column[];
  /** Whether the plan changes anything. */
  changes: boolean;
}

/**
 * Matches the wanted columns with the current ones: by `previous_name` if given, else by name among the columns that no
 * `previous_name` refers to.
 */
export function planColumns(present: Column[], wanted: WantedColumn[]): ColumnPlan {
  const unclaimed = new Map(present.map((column) => [column.name, column]));
  const sources = new Map<number, Column>();
  const problems: FieldProblem[] = [];

  for (const [index, { previous_name: previous }] of wanted.entries()) {
    if (previous === undefined) continue;
    const source = unclaimed.get(previous);
    if (source) sources.set(index, source);
    else
      problems.push({
        field: `columns.${index}.previous_name`,
        message: `must be a column of the table that no other entry names: "${previous}"`,
      });
    unclaimed.delete(previous);
  }
  if (problems.length > 0) throw columnsRefused(problems);
  for (const [index, { name, previous_name: previous }] of wanted.entries()) {
    const source = previous === undefined ? unclaimed.get(name) : undefined;
    if (!source) continue;
    sources.set(index, source);
    unclaimed.delete(name);
  }

  const columns = wanted.map(({ name, display_name, type, nullable }) => ({ name, display_name, type, nullable }));
  const kept = columns.flatMap((to, index) => {
    const from = sources.get(index);
    return from ? [{ index, from, to }] : [];
  });
  const added = columns.flatMap((column, index) => (sources.has(index) ? [] : [{ index, column }]));
  const changes =
    present.length !== columns.length || present.some((column, index) => !isSameColumn(column, columns[index]));
  return { dropped: [...unclaimed.values()], kept, added, columns, changes };
}

function isSameColumn(a: Column, b: Column | undefined): boolean {
  return a.name === b?.name && a.display_name === b.display_name && a.type === b.type && a.nullable === b.nullable;
}
