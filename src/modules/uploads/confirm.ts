import { type FieldProblem, invalid } from '../../kernel/failure.ts';
import type { InferredColumn } from './inference/index.ts';
import type { Confirmation, ConfirmedColumn } from './job.ts';

/**
 * Ties each confirmed column to its column in the files: by `source_index`, without it by its inferred name, else by its
 * place when there are as many as were inferred. Inferred columns that none is tied to are left out of the table.
 * @throws Failure `request.invalid` naming the columns that are none of the files', or the same one twice
 */
export function matchColumns(confirmed: Confirmation['columns'], inferred: InferredColumn[]): ConfirmedColumn[] {
  const problems: FieldProblem[] = [];
  const taken = new Set<number>();
  const matched = confirmed.flatMap((column, place) => {
    const source = sourceOf(column, place, confirmed.length, inferred);
    const problem = (member: string, message: string) => {
      problems.push({ field: `columns.${place}.${member}`, message });
      return [];
    };
    if (!source && column.source_index !== undefined) return problem('source_index', 'is no column of the files');
    if (!source) return problem('name', 'is no column of the files: say which one with source_index');
    if (taken.has(source.source_index))
      return problem('source_index', 'is the column of the files that another one has');
    taken.add(source.source_index);
    return [{ ...column, source_index: source.source_index }];
  });
  if (problems.length > 0) throw invalid(problems, 'The columns do not match those of the files.');
  return matched;
}

function sourceOf(
  column: Confirmation['columns'][number],
  place: number,
  count: number,
  inferred: InferredColumn[],
): InferredColumn | undefined {
  if (column.source_index !== undefined) return inferred.find((source) => source.source_index === column.source_index);
  const named = inferred.find((source) => source.name === column.name);
  return named ?? (count === inferred.length ? inferred[place] : undefined);
}
