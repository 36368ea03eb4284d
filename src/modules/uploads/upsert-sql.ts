import { literal, qualified, quoted } from '../../tenant-sql/identifiers.ts';

/** The staging table of a load, and the table of schema `public` that its rows go into. */
export interface Upsert {
  table: string;
  stagingId: string;
  /** Columns of which no two staged rows have the same values, none of them null; or `ROW_ID` alone. */
  key: string[];
  /** The other staged columns. */
  others: string[];
}

const formatStagingTable = ({ stagingId }: Upsert): string => `${qualified('console', stagingId)} AS staged`;
const formatTargetTable = ({ table }: Upsert): string => `${qualified('public', table)} AS present`;
/** The staged column that holds the ids of the table's rows as texts. No column of a table can have this name. */
export const ROW_ID = '$id';

const UUID = '^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$';

/**
 * SQL expression: a key value of a staged row; null for a row id that is not a UUID.
 * @param of the alias of the staged table
 */
function keyValueSql(of: string, name: string): string {
  const value = `${of}.${quoted(name)}`;
  return name === ROW_ID ? `CASE WHEN btrim(${value}) ~ '${UUID}' THEN btrim(${value})::uuid END` : value;
}

const keySql = (of: string, key: string[]): string => key.map((name) => keyValueSql(of, name)).join(', ');
const qualifyColumns = (of: string, names: string[]): string => names.map((name) => `${of}.${quoted(name)}`).join(', ');
const sameKeySql = ({ key }: Upsert): string =>
  key.map((name) => `present.${quoted(name === ROW_ID ? 'id' : name)} = ${keyValueSql('staged', name)}`).join(' AND ');
const isNewSql = (upsert: Upsert): string =>
  `NOT EXISTS (SELECT FROM ${formatTargetTable(upsert)} WHERE ${sameKeySql(upsert)})`;

/** Selects a row if any two staged rows have the same key. */
export const selectAnyDuplicateKey = (upsert: Upsert): string =>
  `SELECT FROM ${formatStagingTable(upsert)} GROUP BY ${keySql('staged', upsert.key)} HAVING count(*) > 1 LIMIT 1`;

/** Selects the first staged row whose key an earlier one has: its number in the load, from 1, and its key as texts. */
export const selectFirstDuplicateKey = (upsert: Upsert): string => `
  SELECT numbered."$row" AS row, ${textSql('numbered', upsert.key)} AS key FROM (
    SELECT staged.*, row_number() OVER (ORDER BY staged."id") AS "$row",
      row_number() OVER (PARTITION BY ${keySql('staged', upsert.key)} ORDER BY staged."id") AS "$nth"
    FROM ${formatStagingTable(upsert)}
  ) AS numbered WHERE numbered."$nth" = 2 ORDER BY numbered."$row" LIMIT 1`;

/** Selects the first staged row whose key no row of the table has, with the columns of `selectFirstDuplicateKey`. */
export const selectFirstNew = (upsert: Upsert): string => `
  SELECT staged."$row" AS row, ${textSql('staged', upsert.key)} AS key FROM (
    SELECT staged.*, row_number() OVER (ORDER BY staged."id") AS "$row" FROM ${formatStagingTable(upsert)}
  ) AS staged WHERE ${isNewSql(upsert)} ORDER BY staged."$row" LIMIT 1`;

const textSql = (of: string, names: string[]): string =>
  `ARRAY[${names.map((name) => `${of}.${quoted(name)}::text`).join(', ')}]`;

/** Updates the rows of the same key whose other values differ. There must be other columns. */
export function updateSame(upsert: Upsert): string {
  const { others } = upsert;
  const sets = others.map((name) => `${quoted(name)} = staged.${quoted(name)}`).join(', ');
  const differs = `ROW(${qualifyColumns('present', others)}) IS DISTINCT FROM ROW(${qualifyColumns('staged', others)})`;
  return `UPDATE ${formatTargetTable(upsert)} SET ${sets} FROM ${formatStagingTable(upsert)} WHERE ${sameKeySql(upsert)} AND ${differs}`;
}

/**
 * Inserts the rows whose key no row of the table has, in their order.
 * @param beginning the first characters of their ids (see `DRAW_BEGINNING`)
 */
export function insertNew(upsert: Upsert, beginning: string): string {
  const names = [...upsert.key, ...upsert.others];
  return `INSERT INTO ${qualified('public', upsert.table)} ("id", ${names.map(quoted).join(', ')})
    SELECT (${literal(beginning)} || right(staged."id"::text, 12))::uuid, ${qualifyColumns('staged', names)}
    FROM ${formatStagingTable(upsert)} WHERE ${isNewSql(upsert)} ORDER BY staged."id"`;
}
