import { type FieldProblem, invalid } from '../../kernel/failure.ts';
import type { InferredColumn, InferredSchema } from './inference/index.ts';
import type { Confirmation, ConfirmedColumn, ConfirmedSchema, PlannedEvolution } from './job.ts';

type SentColumn = Confirmation['columns'][number];

/** Collects the problems of confirmed columns, and the columns of the files that are taken. */
class ColumnMatcher {
  readonly problems: FieldProblem[] = [];
  readonly #taken = new Set<number>();

  refuse(place: number, property: string, message: string): [] {
    this.problems.push({ field: `columns.${place}.${property}`, message });
    return [];
  }

  /** Takes a column of the files. @returns false when another confirmed column has it already */
  take(place: number, source: number): boolean {
    const free = !this.#taken.has(source);
    this.#taken.add(source);
    if (!free) this.refuse(place, 'source_index', 'is taken by another column');
    return free;
  }

  throwProblems(): void {
    if (this.problems.length > 0) throw invalid(this.problems, 'The columns do not match those of the files.');
  }
}

const NO_SOURCE = 'is not a column of the files';

/**
 * Matches each confirmed column with a column of the files: by `source_index`, without it by the inferred name, else by its
 * place when as many were confirmed as were inferred. Other columns of the files are left out of the table.
 * A column that matches none, or one that another has, is invalid.
 */
export function matchColumns(confirmed: SentColumn[], inferred: InferredColumn[]): ConfirmedColumn[] {
  const matching = new ColumnMatcher();
  const matched = confirmed.flatMap((column, place) => {
    const source = findSource(column, place, confirmed.length, inferred)?.source_index;
    const isNamed = column.source_index !== undefined;
    if (source === undefined || source === null) {
      return isNamed
        ? matching.refuse(place, 'source_index', NO_SOURCE)
        : matching.refuse(place, 'name', 'is not a column of the files: say which one with source_index');
    }
    return matching.take(place, source) ? [{ ...column, source_index: source }] : [];
  });
  matching.throwProblems();
  return matched;
}

function findSource(
  column: SentColumn,
  place: number,
  count: number,
  inferred: InferredColumn[],
): InferredColumn | undefined {
  if (column.source_index !== undefined) return inferred.find((source) => source.source_index === column.source_index);
  const named = inferred.find((source) => source.name === column.name);
  return named ?? (count === inferred.length ? inferred[place] : undefined);
}

/**
 * Matches each confirmed column of an existing table, known by its name, with a column of the files: by `source_index` (null:
 * none), else the one that was inferred for it. Columns that are not confirmed stay null.
 * With a key its columns must be filled; others that may not be null need not, as rows may all be there already.
 * Where columns may be added, one of another name is new; one that may be widened keeps its old type if that is confirmed.
 * A column that is not in the table, of another type, not in the files, or null where it must not be is invalid.
 */
export function matchTableColumns(
  confirmed: SentColumn[],
  schema: InferredSchema,
  key: string[] | null = null,
): Pick<ConfirmedSchema, 'columns' | 'evolution'> {
  const matching = new ColumnMatcher();
  const { new_columns: offered, ignored_columns: ignored = [], changed_columns: changed = [] } = schema;
  const inFiles = new Set([...schema.columns, ...ignored, ...(offered ?? [])].map((column) => column.source_index));
  const evolution: PlannedEvolution = { added: [], widened: [] };
  const matched = confirmed.flatMap((column, place) => {
    const target = schema.columns.find(({ name }) => name === column.name);
    if (!target) {
      const source = column.source_index ?? offered?.find(({ name }) => name === column.name)?.source_index ?? null;
      if (!offered || source === null) return matching.refuse(place, 'name', 'is not a column of the table');
      if (!inFiles.has(source)) return matching.refuse(place, 'source_index', NO_SOURCE);
      if (!column.nullable) return matching.refuse(place, 'nullable', 'must be true for a new column');
      if (!matching.take(place, source)) return [];
      evolution.added.push(column.name);
      return [{ ...column, source_index: source }];
    }
    const change = changed.find(({ name }) => name === column.name);
    if (column.type !== target.type && column.type !== change?.from) {
      const why = change
        ? `is ${change.from} in the table, and ${change.to} as proposed`
        : `is ${target.type} in the table`;
      return matching.refuse(place, 'type', why);
    }
    const source = column.source_index === undefined ? target.source_index : column.source_index;
    if (source !== null && !inFiles.has(source)) return matching.refuse(place, 'source_index', NO_SOURCE);
    if (source !== null && !matching.take(place, source)) return [];
    const { name, display_name, nullable } = target;
    if (change && column.type === change.to) evolution.widened.push({ name, from: change.from });
    return [{ name, display_name, type: column.type, nullable, source_index: source }];
  });
  matching.throwProblems();
  const filled = matched.filter(({ source_index }) => source_index !== null).map(({ name }) => name);
  const isNeeded = ({ name, nullable }: InferredColumn) => (key ? key.includes(name) : !nullable);
  const empty = schema.columns.filter((column) => isNeeded(column) && !filled.includes(column.name));
  const refuse = (name: string) =>
    key
      ? `"${name}" is part of the key, so the files must fill it`
      : `"${name}" cannot be null in the table, so the files must fill it`;
  const problems = empty.map(({ name }) => ({ field: 'columns', message: refuse(name) }));
  if (filled.length === 0)
    problems.push({ field: 'columns', message: 'must include at least one column that the files fill' });
  if (problems.length > 0) throw invalid(problems, 'The columns do not match those of the table.');
  const isChanged = evolution.added.length + evolution.widened.length > 0;
  return { columns: matched, ...(isChanged && { evolution }) };
}
