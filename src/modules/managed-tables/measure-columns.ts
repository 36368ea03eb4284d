import type { TenantTx } from '../../tenant-sql/client.ts';
import type { TableColumnDefinition } from '../../tenant-sql/columns.ts';
import {
  createBindings,
  makeConditions,
  makeSourceColumn,
  makeWhereClause,
  type RowSelection,
} from '../../tenant-sql/row-filters.ts';
import { makeRowBytesSql, makeSelectList } from '../../tenant-sql/rows.ts';
import { makeFormulaSafeSql } from './row-batches.ts';
import { makeFromSql, type RowScan } from './row-pages.ts';

/**
 * Measures the digits after the point that the selected rows need, by the names of decimal columns. Columns whose values do not
 * all fit into `digits` digits are left out. Reads all rows.
 */
export async function measureScales(
  tx: TenantTx,
  table: string,
  columns: TableColumnDefinition[],
  rows: RowSelection,
  digits: number,
): Promise<Map<string, number>> {
  if (columns.length === 0) return new Map();
  const { values, bindValue } = createBindings();
  // One entry for each column, as Postgres selects at most 1,664: the scale, and the greatest absolute value.
  const scaleExpressions = columns.map(({ name }, at) => {
    const value = makeSourceColumn(name);
    return `ARRAY[coalesce(max(min_scale(${value})), 0), coalesce(max(abs(${value})), 0)] AS m${at}`;
  });
  // NaN and infinity are more than any number.
  const fitConditions = columns.map(
    (_, at) =>
      `CASE WHEN m${at}[1] <= ${digits} AND m${at}[2] < 10::numeric ^ (${digits} - least(m${at}[1], ${digits})) THEN m${at}[1]::int END AS c${at}`,
  );
  const text = `
    SELECT ${fitConditions.join(', ')} FROM (
      SELECT ${scaleExpressions.join(', ')} FROM ${makeFromSql(table)} ${makeWhereClause(makeConditions(rows, bindValue))}
    ) AS found`;
  const [row] = await tx.query<Record<string, number | null>>(text, values);
  const scales = columns.map(({ name }, at) => [name, row?.[`c${at}`] ?? null] as const);
  return new Map(scales.filter((scale): scale is [string, number] => scale[1] !== null));
}

/**
 * Finds a column with a value of more than `maxCharacters` UTF-16 characters among the selected rows. Reads all rows, but only
 * the length of long texts.
 * @param options.escapesFormulas whether texts are written as by `makeFormulaSafeSql`
 */
export async function findLongColumn(
  tx: TenantTx,
  table: string,
  columns: TableColumnDefinition[],
  rows: RowSelection,
  { maxCharacters, escapesFormulas }: { maxCharacters: number; escapesFormulas: boolean },
): Promise<string | undefined> {
  const textLikeColumns = columns.filter(({ type }) => type === 'text' || type === 'decimal');
  if (textLikeColumns.length === 0) return undefined;
  const { values, bindValue } = createBindings();
  const longExpressions = textLikeColumns.map(({ name, type }, at) => {
    const value =
      escapesFormulas && type === 'text' ? makeFormulaSafeSql(makeSourceColumn(name)) : makeSourceColumn(name);
    // Digits have a byte each. Characters beyond the first 65,536 are two of UTF-16, and four bytes.
    const isLong =
      type === 'decimal'
        ? `octet_length(${value}::text) > ${maxCharacters}`
        : `CASE WHEN octet_length(${value}) > ${maxCharacters}
            THEN length(${value}) + length(regexp_replace(${value}, '[^\\U00010000-\\U0010ffff]', '', 'g')) > ${maxCharacters} END`;
    return `bool_or(${isLong}) AS c${at}`;
  });
  const text = `SELECT ${longExpressions.join(', ')} FROM ${makeFromSql(table)} ${makeWhereClause(makeConditions(rows, bindValue))}`;
  const [row] = await tx.query<Record<string, boolean | null>>(text, values);
  return textLikeColumns.find((_, at) => row?.[`c${at}`] === true)?.name;
}

/** Measures the selected rows: their number, and their bytes as `selectBatch` counts them. Reads all rows, but no long texts. */
export async function measureRows(
  tx: TenantTx,
  { table, rowSelection, shownColumns }: RowScan,
): Promise<{ rowCount: number; byteCount: number }> {
  const { values, bindValue } = createBindings();
  const rowsSql = `SELECT ${makeSelectList(shownColumns)} FROM ${makeFromSql(table)} ${makeWhereClause(makeConditions(rowSelection, bindValue))}`;
  const text = `SELECT count(*)::float8 AS "rowCount", coalesce(sum((${makeRowBytesSql(shownColumns)})::float8), 0) AS "byteCount" FROM (${rowsSql}) AS part`;
  const [row] = await tx.query<{ rowCount: number; byteCount: number }>(text, values);
  return row ?? { rowCount: 0, byteCount: 0 };
}
