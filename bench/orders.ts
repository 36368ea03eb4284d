import { type ColumnSource, fileWriter, ParquetWriter, schemaFromColumnData } from 'hyparquet-writer';
import { type Cell, makeSheetWorkbook } from '../test/uploads/workbooks.ts';

/** The columns of {@link writeOrdersCsv} in Postgres. */
export const ORDERS_COLUMNS_SQL = `(id uuid PRIMARY KEY DEFAULT uuidv7(), pedido bigint, cliente text, cidade text, quantidade bigint,
  valor numeric, pago boolean, vencimento date, criado_em timestamptz, nota text)`;

const HEADER = ['pedido', 'cliente', 'cidade', 'quantidade', 'valor', 'pago', 'vencimento', 'criado_em', 'nota'];

/** Values of an order as in CSV, without quotes; '' for a missing value. */
type Order = [string, string, string, string, string, string, string, string, string];

/** Names of the numeric columns: JSON writes their values without quotes. */
const NUMBER_COLUMNS = new Set(['pedido', 'quantidade', 'valor']);

/** Yields orders, the same ones every time: values of all six types, some of them missing. */
function* makeOrders(rows: number): Generator<Order> {
  let seed = 20_240_131;
  const makeRandomNumber = (exclusiveMax: number): number => {
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) & 0x7fffffff;
    return seed % exclusiveMax;
  };
  const padToTwo = (number: number): string => String(number).padStart(2, '0');
  for (let row = 1; row <= rows; row++) {
    yield [
      String(row),
      `Cliente ${makeRandomNumber(50_000)}`,
      `São ${makeRandomNumber(900)}`,
      String(makeRandomNumber(100)),
      `${makeRandomNumber(100_000)}.${padToTwo(makeRandomNumber(100))}`,
      makeRandomNumber(2) === 0 ? 'true' : 'false',
      makeRandomNumber(20) === 0
        ? ''
        : `20${padToTwo(10 + makeRandomNumber(15))}-${padToTwo(1 + makeRandomNumber(12))}-${padToTwo(1 + makeRandomNumber(28))}`,
      `2024-${padToTwo(1 + makeRandomNumber(12))}-${padToTwo(1 + makeRandomNumber(28))}T${padToTwo(makeRandomNumber(24))}:${padToTwo(makeRandomNumber(60))}:${padToTwo(makeRandomNumber(60))}Z`,
      makeRandomNumber(3) === 0 ? 'entregar, se possível' : 'sem observação',
    ];
  }
}

/** Writes the orders of `makeOrders` as CSV, about 99 bytes a row. */
export function writeOrdersCsv(rows: number): Uint8Array<ArrayBuffer> {
  const encoder = new TextEncoder();
  const bytes = new Uint8Array(rows * 110 + 1024);
  let length = 0;
  const writeLine = (values: string[]): void => {
    const line = values.map((value) => (value.includes(',') ? `"${value}"` : value)).join(',');
    length += encoder.encodeInto(`${line}\n`, bytes.subarray(length)).written;
  };
  writeLine(HEADER);
  for (const order of makeOrders(rows)) writeLine(order);
  return bytes.subarray(0, length);
}

/** Yields the orders of `makeOrders` as NDJSON, about 190 bytes each, in pieces of many lines. */
export function* writeOrdersNdjson(rows: number): Generator<string> {
  const formatMember = (name: string, value: string): string => {
    if (value === '') return `"${name}":null`;
    return `"${name}":${NUMBER_COLUMNS.has(name) || name === 'pago' ? value : JSON.stringify(value)}`;
  };
  let lines: string[] = [];
  for (const order of makeOrders(rows)) {
    lines.push(`{${order.map((value, at) => formatMember(HEADER[at] as string, value)).join(',')}}\n`);
    if (lines.length < 10_000) continue;
    yield lines.join('');
    lines = [];
  }
  yield lines.join('');
}

const ROW_GROUP_SIZE = 100_000;

/** Writes the orders of `makeOrders` as Parquet, with the types of that format, in row groups of 100,000. */
export function writeOrdersParquet(filename: string, rows: number): void {
  const writer = fileWriter(filename);
  let parquet: ParquetWriter | undefined;
  let group: Order[] = [];
  const writeRowGroup = () => {
    const columnData = toColumns(group);
    parquet ??= new ParquetWriter({ writer, schema: schemaFromColumnData({ columnData }) });
    parquet.write({ columnData, rowGroupSize: ROW_GROUP_SIZE });
    group = [];
  };
  for (const order of makeOrders(rows)) {
    group.push(order);
    if (group.length === ROW_GROUP_SIZE) writeRowGroup();
  }
  if (group.length > 0) writeRowGroup();
  parquet?.finish();
}

function toColumns(orders: Order[]): ColumnSource[] {
  return HEADER.map((name, at) => {
    const values = orders.map((order) => order[at] as string);
    if (name === 'pedido' || name === 'quantidade') return { name, type: 'INT64', data: values.map(BigInt) };
    if (name === 'valor') return { name, type: 'DOUBLE', data: values.map(Number) };
    if (name === 'pago') return { name, type: 'BOOLEAN', data: values.map((value) => value === 'true') };
    if (name === 'vencimento' || name === 'criado_em')
      return { name, type: 'TIMESTAMP', data: values.map((value) => (value === '' ? null : new Date(value))) };
    return { name, type: 'STRING', data: values };
  });
}

const DAY_MS = 24 * 60 * 60 * 1000;
/** Ids of Excel's built-in number formats for days and for timestamps. */
const DATE_FORMAT_IDS = [14, 22];

/** Returns the days since 1899-12-30, the epoch of workbooks. */
const toSerialDate = (timestamp: string): number => (Date.parse(timestamp) - Date.UTC(1899, 11, 30)) / DAY_MS;

/** Writes the orders of `makeOrders` as an Excel workbook, as Excel does: each text once, timestamps as numbers of days. */
export function writeOrdersWorkbook(rows: number): Uint8Array<ArrayBuffer> {
  const sharedTextIndexes = new Map<string, number>();
  const makeTextCell = (value: string): Cell => {
    if (!sharedTextIndexes.has(value)) sharedTextIndexes.set(value, sharedTextIndexes.size);
    return { t: 's', v: String(sharedTextIndexes.get(value)) };
  };
  const makeTimestampCell = (value: string, s: number): Cell =>
    value === '' ? null : { s, v: String(toSerialDate(value)) };
  const sheet = [
    HEADER.map(makeTextCell),
    ...makeOrders(rows).map(([number, client, city, quantity, value, paid, due, created, note]): Cell[] => [
      Number(number),
      makeTextCell(client),
      makeTextCell(city),
      Number(quantity),
      Number(value),
      paid === 'true',
      makeTimestampCell(due, 1),
      makeTimestampCell(created, 2),
      makeTextCell(note),
    ]),
  ];
  return makeSheetWorkbook(sheet, {
    formats: DATE_FORMAT_IDS,
    strings: [...sharedTextIndexes.keys()].map((value) => `<t>${value}</t>`),
  });
}
