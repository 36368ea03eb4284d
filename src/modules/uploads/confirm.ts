import { type FieldProblem, invalidInput } from '../../kernel/failure.ts';
import type { InferredColumn, InferredSchema } from './inference/index.ts';
import type { Confirmation, ConfirmedColumn, ConfirmedSchema, PlannedEvolution } from './job.ts';

type SentColumn = Confirmation['columns'][number];

/** Collects the problems of confirmed columns, and the file columns that are already matched. */
class ColumnMatcher {
  readonly problems: FieldProblem[] = [];
  readonly #taken = new Set<number>();

  addProblem(index: number, property: string, message: string): [] {
    this.problems.push({ field: `columns.${index}.${property}`, message });
    return [];
  }

  /** Matches a column of the files. @returns false when another confirmed column already has it */
  takeSource(index: number, sourceIndex: number): boolean {
    const isFree = !this.#taken.has(sourceIndex);
    this.#taken.add(sourceIndex);
    if (!isFree) this.addProblem(index, 'source_index', 'is taken by another column');
    return isFree;
  }

  throwProblems(): void {
    if (this.problems.length > 0) throw invalidInput(this.problems, 'The columns do not match those of the files.');
  }
}

const NO_SOURCE_MESSAGE = 'is not a column of the files';

/**
 * Matches each confirmed column with a column of the files: by `source_index`, else by the inferred name, else by its position
 * when as many columns were confirmed as were inferred. Other columns of the files are left out of the table. A confirmed column
 * without a match, or with a match that another column has, is invalid.
 */
export function matchColumns(confirmedColumns: SentColumn[], inferredColumns: InferredColumn[]): ConfirmedColumn[] {
  const matcher = new ColumnMatcher();
  const matchedColumns = confirmedColumns.flatMap((column, index) => {
    const source = findSource(column, index, confirmedColumns.length, inferredColumns)?.source_index;
    const hasSourceIndex = column.source_index !== undefined;
    if (source === undefined || source === null) {
      return hasSourceIndex
        ? matcher.addProblem(index, 'source_index', NO_SOURCE_MESSAGE)
        : matcher.addProblem(index, 'name', 'is not a column of the files: say which one with source_index');
    }
    return matcher.takeSource(index, source) ? [{ ...column, source_index: source }] : [];
  });
  matcher.throwProblems();
  return matchedColumns;
}

function findSource(
  column: SentColumn,
  index: number,
  count: number,
  inferredColumns: InferredColumn[],
): InferredColumn | undefined {
  if (column.source_index !== undefined)
    return inferredColumns.find((source) => source.source_index === column.source_index);
  const sameNamedColumn = inferredColumns.find((source) => source.name === column.name);
  return sameNamedColumn ?? (count === inferredColumns.length ? inferredColumns[index] : undefined);
}

/**
 * Matches each confirmed column of an existing table, known by its name, with a column of the files: by `source_index`
 * (null: none), else the one that was inferred for it. Columns that are not confirmed stay null. The columns of a key
 * must be filled; other columns that may not be null need not be, as all rows may exist already. Where columns may be
 * added, a confirmed name that the table lacks is a new column; a column that may be widened keeps its old type if that
 * is confirmed. A column that is not in the table, of another type, not in the files, or null where it must not be is
 * invalid.
 */
export function matchTableColumns(
  confirmedColumns: SentColumn[],
  schema: InferredSchema,
  keyColumns: string[] | null = null,
): Pick<ConfirmedSchema, 'columns' | 'evolution'> {
  const matcher = new ColumnMatcher();
  const {
    new_columns: newColumns,
    ignored_columns: ignoredColumns = [],
    changed_columns: changedColumns = [],
  } = schema;
  const fileColumnIndexes = new Set(
    [...schema.columns, ...ignoredColumns, ...(newColumns ?? [])].map((column) => column.source_index),
  );
  const evolution: PlannedEvolution = { added: [], widened: [] };
  const matchedColumns = confirmedColumns.flatMap((column, index) => {
    const target = schema.columns.find(({ name }) => name === column.name);
    if (!target) {
      const source = column.source_index ?? newColumns?.find(({ name }) => name === column.name)?.source_index ?? null;
      if (!newColumns || source === null) return matcher.addProblem(index, 'name', 'is not a column of the table');
      if (!fileColumnIndexes.has(source)) return matcher.addProblem(index, 'source_index', NO_SOURCE_MESSAGE);
      if (!column.nullable) return matcher.addProblem(index, 'nullable', 'must be true for a new column');
      if (!matcher.takeSource(index, source)) return [];
      evolution.added.push(column.name);
      return [{ ...column, source_index: source }];
    }
    const change = changedColumns.find(({ name }) => name === column.name);
    if (column.type !== target.type && column.type !== change?.from) {
      const reason = change
        ? `is ${change.from} in the table, and ${change.to} as proposed`
        : `is ${target.type} in the table`;
      return matcher.addProblem(index, 'type', reason);
    }
    const source = column.source_index === undefined ? target.source_index : column.source_index;
    if (source !== null && !fileColumnIndexes.has(source))
      return matcher.addProblem(index, 'source_index', NO_SOURCE_MESSAGE);
    if (source !== null && !matcher.takeSource(index, source)) return [];
    const { name, display_name, nullable } = target;
    if (change && column.type === change.to) evolution.widened.push({ name, from: change.from });
    return [{ name, display_name, type: column.type, nullable, source_index: source }];
  });
  matcher.throwProblems();
  const filledNames = matchedColumns.filter(({ source_index }) => source_index !== null).map(({ name }) => name);
  const mustBeFilled = ({ name, nullable }: InferredColumn) => (keyColumns ? keyColumns.includes(name) : !nullable);
  const missingColumns = schema.columns.filter((column) => mustBeFilled(column) && !filledNames.includes(column.name));
  const formatMissingColumn = (name: string) =>
    keyColumns
      ? `"${name}" is part of the key, so the files must fill it`
      : `"${name}" cannot be null in the table, so the files must fill it`;
  const problems = missingColumns.map(({ name }) => ({ field: 'columns', message: formatMissingColumn(name) }));
  if (filledNames.length === 0)
    problems.push({ field: 'columns', message: 'must include at least one column that the files fill' });
  if (problems.length > 0) throw invalidInput(problems, 'The columns do not match those of the table.');
  const isChanged = evolution.added.length + evolution.widened.length > 0;
  return { columns: matchedColumns, ...(isChanged && { evolution }) };
}
