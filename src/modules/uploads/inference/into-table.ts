import type { TableColumnDefinition } from '../../../tenant-sql/columns.ts';
import { InferenceError } from './errors.ts';
import { makeColumnNames, toColumnName } from './names.ts';
import type { InferredColumn } from './schema.ts';

/**
 * Lists the names by which a header may refer to a column of the table: its name, and its display name as a column name; and
 * the header of row ids in exports.
 */
export function listHeaderNames(table: TableColumnDefinition[]): string[] {
  const names = table.flatMap(({ name, display_name }) => [name, toColumnName(display_name)]);
  return ['id', ...names.filter((name) => name !== '')];
}

/** Tells whether an upsert finds rows by their own ids. */
export const isKeyedById = (keyColumns: readonly string[] | null): boolean =>
  keyColumns?.length === 1 && keyColumns[0] === 'id';

/** Tells whether this is the column of row ids, by the header that exports give it. */
const isIdColumn = ({ display_name }: InferredColumn): boolean => display_name.trim().toLowerCase() === 'id';

/**
 * Matches the table's columns with the files' columns, and returns the files' columns that match none. A header that is a
 * column's very name goes first, as in exports, where `id` stands beside `source_id`; then a column's name goes before its
 * display name. @param keyColumns the key of an upsert, whose files may lack columns that may not be null; by `id` they must
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
  const matchColumn = (target: TableColumnDefinition, name: string | undefined) => {
    const source = name === undefined ? undefined : unmatchedColumns.get(name);
    if (!source || sources.has(target.name)) return;
    unmatchedColumns.delete(source.name);
    sources.set(target.name, source);
  };
  // Of equal headers the first counts.
  const columnsByHeader = new Map(inferredColumns.toReversed().map((column) => [column.display_name.trim(), column]));
  for (const target of table) {
    if (ids || !isHeaderOfAnother(table, target.name, columnsByHeader))
      matchColumn(target, columnsByHeader.get(target.name)?.name);
  }
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
  return { columns, ignoredColumns: renameTaken([...unmatchedColumns.values()], table), idColumn: ids };
}

/**
 * Tells whether a header that equals one column's name is meant as the display name of another, which has no header of its own
 * name: so it is in a file like the one from which the table was made.
 */
const isHeaderOfAnother = (
  table: TableColumnDefinition[],
  header: string,
  headers: ReadonlyMap<string, unknown>,
): boolean => table.some(({ name, display_name }) => name !== header && display_name === header && !headers.has(name));

/** Gives file columns that match no column of the table other names where a column of the table has their name. */
function renameTaken(unmatchedColumns: InferredColumn[], table: TableColumnDefinition[]): InferredColumn[] {
  const tableNames = table.map(({ name }) => name);
  const names = unmatchedColumns.map(({ name }) => name);
  return unmatchedColumns.map((column) => {
    if (!tableNames.includes(column.name)) return column;
    const otherNames = names.filter((name) => name !== column.name);
    return { ...column, name: makeColumnNames([...tableNames, ...otherNames, column.name]).at(-1) as string };
  });
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
