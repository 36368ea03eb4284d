import { InferenceError } from './errors.ts';
import { columnName } from './names.ts';
import type { ColumnType, InferredColumn } from './schema.ts';

export interface TableColumn {
  name: string;
  display_name: string;
  type: ColumnType;
  nullable: boolean;
}

/** Names by which a header may refer to a column of the table: its name, and its friendly name as a column name. */
export function namesOf(table: TableColumn[]): string[] {
  return table.flatMap(({ name, display_name }) => [name, columnName(display_name)]).filter((name) => name !== '');
}

/**
 * Matches the table's columns with the files' columns, and returns the files' columns that match none. A column's name
 * goes before its friendly name.
 * @param mayLack whether the files may lack columns that may not be null
 * @throws InferenceError `NO_COLUMN_MATCHES`, or `COLUMN_MISSING` for a column that may not be null
 */
export function matchTable(
  table: TableColumn[],
  inferred: InferredColumn[],
  file: string,
  mayLack = false,
): { columns: InferredColumn[]; ignored: InferredColumn[] } {
  const left = new Map(inferred.map((column) => [column.name, column]));
  const sources = new Map<string, InferredColumn>();
  const match = (target: TableColumn, name: string) => {
    const source = left.get(name);
    if (!source || sources.has(target.name)) return;
    left.delete(name);
    sources.set(target.name, source);
  };
  for (const target of table) match(target, target.name);
  for (const target of table) match(target, columnName(target.display_name));

  if (sources.size === 0) throw noneMatches(file);
  const missing = table.find(({ name, nullable }) => !nullable && !sources.has(name));
  if (missing && !mayLack) throw columnMissing(file, missing.name);
  const columns = table.map(({ name, display_name, type, nullable }) => {
    const source = sources.get(name);
    const evidence = source?.evidence ?? { format: type, nulls: 0, distinct_sample: [], counter_example: null };
    return { name, display_name, type, nullable, source_index: source?.source_index ?? null, evidence };
  });
  return { columns, ignored: inferred.filter(({ name }) => left.has(name)) };
}

const noneMatches = (file: string) =>
  new InferenceError('NO_COLUMN_MATCHES', `Nenhuma coluna do arquivo ${file} corresponde a uma coluna da tabela.`, {
    file,
  });

const columnMissing = (file: string, column: string) =>
  new InferenceError(
    'COLUMN_MISSING',
    `O arquivo ${file} não tem a coluna ${column}, que não aceita valores vazios na tabela.`,
    { file, column },
  );
