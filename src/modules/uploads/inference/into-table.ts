import type { TableColumnDefinition } from '../../../tenant-sql/columns.ts';
import { InferenceError } from './errors.ts';
import { toColumnName } from './names.ts';
import type { InferredColumn } from './schema.ts';

/** Lists the names by which a header may refer to a column of the table: its name, and its display name as a column name. */
export function listHeaderNames(table: TableColumnDefinition[]): string[] {
  return table.flatMap(({ name, display_name }) => [name, toColumnName(display_name)]).filter((name) => name !== '');
}

/** Tells whether an upsert finds rows by their own ids. */
export const isKeyedById = (keyColumns: readonly string[] | null): boolean =>
  keyColumns?.length === 1 && keyColumns[0] === 'id';

/** Tells whether this is the column of row ids, by the header that exports give it. */
const isIdColumn = ({ display_name }: InferredColumn): boolean => display_name.trim().toLowerCase() === 'id';

/**
 * Matches the table's columns with the files' columns, and returns the files' columns that match none. A column's name goes
 * before its display name. @param keyColumns the key of an upsert, whose files may lack columns that may not be null; by `id` they must
 * have a column of ids @throws InferenceError `NO_COLUMN_MATCHES`, or `COLUMN_MISSING` for a column that may not be null
 */
export function matchTable(
  table: TableColumnDefinition[],
  inferredColumns: InferredColumn[],
  file: string,
  keyColumns: readonly string[] | null = null,
): { columns: InferredColumn[]; ignoredColumns: InferredColumn[]; idColumn: InferredColumn | undefined } {
  const unmatchedColumns = new Map(inferredColumns.map((column) => [column.name, column]));
  const ids = isKeyedById(keyColumns) ? inferredColumns.find(isIdColumn) : undefined;
  if (isKeyedById(keyColumns) && !ids) throw columnMissing(file, 'id');
  if (ids) unmatchedColumns.delete(ids.name);
  const sources = new Map<string, InferredColumn>();
  const matchColumn = (target: TableColumnDefinition, name: string) => {
    const source = unmatchedColumns.get(name);
    if (!source || sources.has(target.name)) return;
    unmatchedColumns.delete(name);
    sources.set(target.name, source);
  };
  for (const target of table) matchColumn(target, target.name);
  for (const target of table) matchColumn(target, toColumnName(target.display_name));

  if (sources.size === 0) throw noColumnMatches(file);
  const missingColumn = table.find(({ name, nullable }) => !nullable && !sources.has(name));
  if (missingColumn && keyColumns === null) throw columnMissing(file, missingColumn.name);
  const columns = table.map(({ name, display_name, type, nullable }) => {
    const source = sources.get(name);
    const evidence = source?.evidence ?? { format: type, nulls: 0, distinct_sample: [], counter_example: null };
    return { name, display_name, type, nullable, source_index: source?.source_index ?? null, evidence };
  });
  return { columns, ignoredColumns: inferredColumns.filter(({ name }) => unmatchedColumns.has(name)), idColumn: ids };
}

const noColumnMatches = (file: string) =>
  new InferenceError('NO_COLUMN_MATCHES', `Nenhuma coluna do arquivo ${file} corresponde a uma coluna da tabela.`, {
    file,
  });

const columnMissing = (file: string, column: string) =>
  new InferenceError(
    'COLUMN_MISSING',
    column === 'id'
      ? `O arquivo ${file} não tem a coluna id, que identifica as linhas da tabela.`
      : `O arquivo ${file} não tem a coluna ${column}, que não aceita valores vazios na tabela.`,
    { file, column },
  );
