import type { TenantTx } from '../../tenant-sql/client.ts';
import type { Column } from '../../tenant-sql/columns.ts';
import { bindings, makeConditions, ofSource, type RowSelection, where } from '../../tenant-sql/row-filters.ts';
import { withoutFormulaSql } from './row-batches.ts';
import { fromSql } from './row-pages.ts';

/**
 * The digits after the point that the selected rows need, by the names of decimal columns. Columns whose values do not all fit
 * into `digits` digits are left out. Reads all rows.
 */
export async function measureScales(
  tx: TenantTx,
  table: string,
  columns: Column[],
  rows: RowSelection,
  digits: number,
): Promise<Map<string, number>> {
  if (columns.length === 0) return new Map();
  const { values, bind } = bindings();
  const found = columns.map(({ name }, at) => {
    const value = ofSource(name);
    return `coalesce(max(min_scale(${value})), 0) AS s${at}, coalesce(max(abs(${value})), 0) AS m${at}`;
  });
  // NaN and infinity are more than any number.
  const fitting = columns.map(
    (_, at) =>
      `CASE WHEN s${at} <= ${digits} AND m${at} < 10::numeric ^ (${digits} - least(s${at}, ${digits})) THEN s${at} END AS c${at}`,
  );
  const text = `
    SELECT ${fitting.join(', ')} FROM (
      SELECT ${found.join(', ')} FROM ${fromSql(table)} ${where(makeConditions(rows, bind))}
    ) AS found`;
  const [row] = await tx.query<Record<string, number | null>>(text, values);
  const scales = columns.map(({ name }, at) => [name, row?.[`c${at}`] ?? null] as const);
  return new Map(scales.filter((each): each is [string, number] => each[1] !== null));
}

/**
 * Finds a column with a value of more than `characters` UTF-16 characters among the selected rows. Reads all rows, but only the
 * length of long texts.
 * @param safe whether texts are written as by `withoutFormulaSql`
 */
export async function findLongColumn(
  tx: TenantTx,
  table: string,
  columns: Column[],
  rows: RowSelection,
  { characters, safe }: { characters: number; safe: boolean },
): Promise<string | undefined> {
  const written = columns.filter(({ type }) => type === 'text' || type === 'decimal');
  if (written.length === 0) return undefined;
  const { values, bind } = bindings();
  const found = written.map(({ name, type }, at) => {
    const value = safe && type === 'text' ? withoutFormulaSql(ofSource(name)) : ofSource(name);
    // Digits have a byte each. Characters beyond the first 65,536 are two of UTF-16, and four bytes.
    const isLong =
      type === 'decimal'
        ? `octet_length(${value}::text) > ${characters}`
        : `CASE WHEN octet_length(${value}) > ${characters}
            THEN length(${value}) + length(regexp_replace(${value}, '[^\\U00010000-\\U0010ffff]', '', 'g')) > ${characters} END`;
    return `bool_or(${isLong}) AS c${at}`;
  });
  const text = `SELECT ${found.join(', ')} FROM ${fromSql(table)} ${where(makeConditions(rows, bind))}`;
  const [row] = await tx.query<Record<string, boolean | null>>(text, values);
  return written.find((_, at) => row?.[`c${at}`] === true)?.name;
}
