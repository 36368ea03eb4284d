import { quoteIdentifier, quoteLiteral, quoteQualified } from '../../tenant-sql/identifiers.ts';

/** The staging table of a load, and the table of schema `public` that its rows go into. */
export interface Upsert {
  table: string;
  stagingId: string;
  /** The key columns: no two staged rows have the same values of them, none of them null; or `ROW_ID_COLUMN` alone. */
  keyColumns: string[];
  /** The staged columns that are not in the key. */
  otherColumns: string[];
}

const formatStagingTable = ({ stagingId }: Upsert): string => `${quoteQualified('console', stagingId)} AS staged`;
const formatTargetTable = ({ table }: Upsert): string => `${quoteQualified('public', table)} AS present`;
/** The staged column that holds the ids of the table's rows as texts. No column of a table can have this name. */
export const ROW_ID_COLUMN = '$id';

const UUID_PATTERN = '^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$';

/** Makes the SQL of a staged row's key value; null for a row id that is no UUID. @param source the alias of the staged table */
function makeKeyValueSql(source: string, name: string): string {
  const value = `${source}.${quoteIdentifier(name)}`;
  return name === ROW_ID_COLUMN
    ? `CASE WHEN btrim(${value}) ~ '${UUID_PATTERN}' THEN btrim(${value})::uuid END`
    : value;
}

const makeKeySql = (source: string, keyColumns: string[]): string =>
  keyColumns.map((name) => makeKeyValueSql(source, name)).join(', ');
const qualifyColumns = (source: string, names: string[]): string =>
  names.map((name) => `${source}.${quoteIdentifier(name)}`).join(', ');
const makeSameKeySql = ({ keyColumns }: Upsert): string =>
  keyColumns
    .map(
      (name) => `present.${quoteIdentifier(name === ROW_ID_COLUMN ? 'id' : name)} = ${makeKeyValueSql('staged', name)}`,
    )
    .join(' AND ');
const makeIsNewSql = (upsert: Upsert): string =>
  `NOT EXISTS (SELECT FROM ${formatTargetTable(upsert)} WHERE ${makeSameKeySql(upsert)})`;

/** Selects a row if any two staged rows have the same key. */
export const selectAnyDuplicateKey = (upsert: Upsert): string =>
  `SELECT FROM ${formatStagingTable(upsert)} GROUP BY ${makeKeySql('staged', upsert.keyColumns)} HAVING count(*) > 1 LIMIT 1`;

/** Selects the first staged row whose key an earlier row has: its number in the load, from 1, and its key as texts. */
export const selectFirstDuplicateKey = (upsert: Upsert): string => `
  SELECT numbered."$row" AS row, ${makeTextArraySql('numbered', upsert.keyColumns)} AS key FROM (
    SELECT staged.*, row_number() OVER (ORDER BY staged."id") AS "$row",
      row_number() OVER (PARTITION BY ${makeKeySql('staged', upsert.keyColumns)} ORDER BY staged."id") AS "$nth"
    FROM ${formatStagingTable(upsert)}
  ) AS numbered WHERE numbered."$nth" = 2 ORDER BY numbered."$row" LIMIT 1`;

/** Selects the first staged row whose key no row of the table has, with the columns of `selectFirstDuplicateKey`. */
export const selectFirstNewRow = (upsert: Upsert): string => `
  SELECT staged."$row" AS row, ${makeTextArraySql('staged', upsert.keyColumns)} AS key FROM (
    SELECT staged.*, row_number() OVER (ORDER BY staged."id") AS "$row" FROM ${formatStagingTable(upsert)}
  ) AS staged WHERE ${makeIsNewSql(upsert)} ORDER BY staged."$row" LIMIT 1`;

const makeTextArraySql = (source: string, names: string[]): string =>
  `ARRAY[${names.map((name) => `${source}.${quoteIdentifier(name)}::text`).join(', ')}]`;

/** Builds the statement that updates rows with a staged row's key but other values. There must be columns beside the key. */
export function buildUpdateExisting(upsert: Upsert): string {
  const { otherColumns } = upsert;
  const assignments = otherColumns
    .map((name) => `${quoteIdentifier(name)} = staged.${quoteIdentifier(name)}`)
    .join(', ');
  const isDifferentSql = `ROW(${qualifyColumns('present', otherColumns)}) IS DISTINCT FROM ROW(${qualifyColumns('staged', otherColumns)})`;
  return `UPDATE ${formatTargetTable(upsert)} SET ${assignments} FROM ${formatStagingTable(upsert)} WHERE ${makeSameKeySql(upsert)} AND ${isDifferentSql}`;
}

/**
 * Builds the statement that inserts the staged rows whose key no row of the table has, in their order. @param idPrefix the first
 * characters of their ids (see `SELECT_ID_PREFIX_SQL`)
 */
export function buildInsertNew(upsert: Upsert, idPrefix: string): string {
  const names = [...upsert.keyColumns, ...upsert.otherColumns];
  return `INSERT INTO ${quoteQualified('public', upsert.table)} ("id", ${names.map(quoteIdentifier).join(', ')})
    SELECT (${quoteLiteral(idPrefix)} || right(staged."id"::text, 12))::uuid, ${qualifyColumns('staged', names)}
    FROM ${formatStagingTable(upsert)} WHERE ${makeIsNewSql(upsert)} ORDER BY staged."id"`;
}
