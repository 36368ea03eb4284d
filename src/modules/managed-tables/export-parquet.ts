import {
  DECIMAL_DIGITS,
  MAX_PARTS,
  type ParquetColumn,
  ParquetFile,
  type ParquetType,
  type ParquetValue,
} from '../../formats/parquet/write.ts';
import { DAY_MS } from '../../kernel/clock.ts';
import type { TenantTx } from '../../tenant-sql/client.ts';
import type { TableColumnDefinition } from '../../tenant-sql/columns.ts';
import type { ExportSelection, ExportWriter } from './export-formats.ts';
import { tooManyRows } from './failures.ts';
import { measureRows, measureScales } from './measure-columns.ts';
import type { RawRow } from './page.ts';
import { computeMaxBatchCount, computeUsualBatchRowCount } from './row-batches.ts';
import type { RowScan } from './row-pages.ts';

/** Number of columns up to which a file holds some ten gigabytes, whatever the values: to measure so much would take too long. */
const MAX_NARROW_COLUMNS = 20;

/** Writes Parquet: each batch of rows is a row group. */
export function createParquetWriter(
  exportSelection: ExportSelection,
  readNextRows: (tx: TenantTx) => Promise<RawRow[]>,
): ExportWriter {
  const { shownColumns } = exportSelection;
  let file: ParquetFile | undefined;
  let columns: ParquetColumn[] = [];
  let isEnded = false;
  const maxGroups = Math.floor(MAX_PARTS / (shownColumns.length + 1));
  const writer: ExportWriter = {
    header: new Uint8Array(),
    maxRows: maxGroups * computeUsualBatchRowCount(shownColumns),
    async readNextBytes(tx) {
      if (isEnded) return null;
      if (!file) {
        await checkGroups(tx, exportSelection, maxGroups);
        columns = await readColumns(tx, exportSelection);
        file = new ParquetFile(columns);
        writer.header = file.writeRowGroup();
      }
      const rows = await readNextRows(tx);
      isEnded = rows.length === 0;
      return isEnded
        ? file.endFile()
        : file.writeRowGroup(columns.map(({ type }, at) => getColumnValues(rows, type, at)));
    },
  };
  return writer;
}

/** Checks that the rows of a wide table, whose values may be long, fit into a number of groups. @throws tooManyRows */
async function checkGroups(tx: TenantTx, rowScan: RowScan, maxGroups: number): Promise<void> {
  if (rowScan.shownColumns.length <= MAX_NARROW_COLUMNS) return;
  const { rowCount, byteCount } = await measureRows(tx, rowScan);
  const groupCount = computeMaxBatchCount(rowCount, byteCount);
  if (groupCount > maxGroups) throw tooManyRows(rowCount, Math.floor((rowCount * maxGroups) / groupCount));
}

/** Returns the values of a column of the file, by its index: the id is at 0, the columns of the table follow. */
export function getColumnValues(rows: RawRow[], type: ParquetType, at: number) {
  const name = at === 0 ? 'id' : `c${at - 1}`;
  return rows.map((row) => toParquetValue(type, row[name] ?? null));
}

/**
 * Reads the columns of the file. A decimal column is a Parquet decimal, with as many digits after the point as the rows need, if
 * all of them fit; otherwise it is text. No digit is lost.
 */
export async function readColumns(
  tx: TenantTx,
  { table, shownColumns, rowSelection }: RowScan,
): Promise<ParquetColumn[]> {
  const decimalColumns = shownColumns.filter(({ type }) => type === 'decimal');
  const scales = await measureScales(tx, table, decimalColumns, rowSelection, DECIMAL_DIGITS);
  const chooseType = ({ name, type }: TableColumnDefinition): ParquetType => {
    if (type !== 'decimal') return type;
    const scale = scales.get(name);
    return scale === undefined ? 'text' : { scale };
  };
  return [
    { name: 'id', type: 'text', nullable: false },
    ...shownColumns.map((column) => ({ name: column.name, type: chooseType(column), nullable: column.nullable })),
  ];
}

/** Converts Postgres's text, from a session in UTC, to the value for a Parquet file. */
function toParquetValue(type: ParquetType, rawValue: string | boolean | null): ParquetValue {
  if (typeof rawValue !== 'string' || type === 'text') return rawValue;
  if (typeof type === 'object') return toUnscaledInteger(rawValue, type.scale);
  if (type === 'integer') return BigInt(rawValue);
  if (type === 'date') return Date.parse(rawValue) / DAY_MS;
  return type === 'datetime' ? toMicroseconds(rawValue) : rawValue;
}

/** Returns the digits of a decimal as a whole number, `scale` of them after the point; further digits must be zeros. */
function toUnscaledInteger(text: string, scale: number): bigint {
  const [whole = '', fraction = ''] = text.split('.');
  return BigInt(whole + fraction.padEnd(scale, '0').slice(0, scale));
}

const TIMESTAMP_PATTERN = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)(?:\.(\d{1,6}))?\+00$/;

function toMicroseconds(text: string): bigint {
  const [, day, time, fraction = ''] = TIMESTAMP_PATTERN.exec(text) ?? [];
  if (day === undefined) throw new Error('a timestamp is not written as expected');
  return BigInt(Date.parse(`${day}T${time}Z`)) * 1000n + BigInt(fraction.padEnd(6, '0'));
}
