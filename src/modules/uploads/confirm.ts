import { type FieldProblem, invalid } from '../../kernel/failure.ts';
import type { InferredColumn, InferredSchema } from './inference/index.ts';
import type { Confirmation, ConfirmedColumn } from './job.ts';

type Sent = Confirmation['columns'][number];

/** What is wrong with the confirmed columns, and which columns of the files were given away. */
class Matching {
  readonly problems: FieldProblem[] = [];
  readonly #taken = new Set<number>();

  refuse(place: number, member: string, message: string): [] {
    this.problems.push({ field: `columns.${place}.${member}`, message });
    return [];
  }

  /** Whether the column of the files is still to be had; it is not any more then. */
  take(place: number, source: number): boolean {
    const free = !this.#taken.has(source);
    this.#taken.add(source);
    if (!free) this.refuse(place, 'source_index', 'is the column of the files that another one has');
    return free;
  }

  /** @throws Failure `request.invalid` */
  end(): void {
    if (this.problems.length > 0) throw invalid(this.problems, 'The columns do not match those of the files.');
  }
}

const NO_SOURCE = 'is no column of the files';

/**
 * Ties each confirmed column to its column in the files: by `source_index`, without it by its inferred name, else by its
 * place when there are as many as were inferred. Inferred columns that none is tied to are left out of the table.
 * @throws Failure `request.invalid` naming the columns that are none of the files', or the same one twice
 */
export function matchColumns(confirmed: Sent[], inferred: InferredColumn[]): ConfirmedColumn[] {
  const matching = new Matching();
  const matched = confirmed.flatMap((column, place) => {
    const source = sourceOf(column, place, confirmed.length, inferred)?.source_index;
    const isNamed = column.source_index !== undefined;
    if (source === undefined || source === null) {
      return isNamed
        ? matching.refuse(place, 'source_index', NO_SOURCE)
        : matching.refuse(place, 'name', `${NO_SOURCE}: say which one with source_index`);
    }
    return matching.take(place, source) ? [{ ...column, source_index: source }] : [];
  });
  matching.end();
  return matched;
}

function sourceOf(column: Sent, place: number, count: number, inferred: InferredColumn[]): InferredColumn | undefined {
  if (column.source_index !== undefined) return inferred.find((source) => source.source_index === column.source_index);
  const named = inferred.find((source) => source.name === column.name);
  return named ?? (count === inferred.length ? inferred[place] : undefined);
}

/**
 * Ties each confirmed column of an existing table, known by its name, to a column of the files: the one that
 * `source_index` says (null: none), else the one that was found for it. Columns that are not confirmed stay null.
 * @throws Failure `request.invalid` naming columns that are not the table's, other types than the table's, columns of no
 *   file, and columns that would be null and may not
 */
export function matchTableColumns(confirmed: Sent[], schema: InferredSchema): ConfirmedColumn[] {
  const matching = new Matching();
  const inFiles = new Set([...schema.columns, ...(schema.ignored_columns ?? [])].map((column) => column.source_index));
  const matched = confirmed.flatMap((column, place) => {
    const target = schema.columns.find(({ name }) => name === column.name);
    if (!target) return matching.refuse(place, 'name', 'is no column of the table');
    if (column.type !== target.type) return matching.refuse(place, 'type', `is ${target.type} in the table`);
    const source = column.source_index === undefined ? target.source_index : column.source_index;
    if (source !== null && !inFiles.has(source)) return matching.refuse(place, 'source_index', NO_SOURCE);
    if (source !== null && !matching.take(place, source)) return [];
    const { name, display_name, type, nullable } = target;
    return [{ name, display_name, type, nullable, source_index: source }];
  });
  matching.end();
  const filled = matched.filter(({ source_index }) => source_index !== null).map(({ name }) => name);
  const empty = schema.columns.filter(({ name, nullable }) => !nullable && !filled.includes(name));
  const problems = empty.map(({ name }) => ({ field: 'columns', message: `"${name}" may not be null in the table` }));
  if (filled.length === 0) problems.push({ field: 'columns', message: 'must take some column from the files' });
  if (problems.length > 0) throw invalid(problems, 'The columns do not match those of the table.');
  return matched;
}
