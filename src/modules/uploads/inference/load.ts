import { csvOptions } from '../../../formats/copy/csv.ts';
import { TEXT_OPTIONS } from '../../../formats/copy/text.ts';
import { type Fields, newFields, scan } from '../../../formats/csv/records.ts';
import { encodedLength, scannableBytes } from '../../../formats/text/decode.ts';
import type { ZoneEdges } from '../../../formats/values/conversion.ts';
import { DMY, formOf, MDY, YMD } from '../../../formats/values/forms.ts';
import { CopyWriter, type WrittenColumn } from './copy-writer.ts';
import { unreadable } from './errors.ts';
import type { ColumnFormats, ColumnType, FileReading, Position } from './schema.ts';

/** A column of the table to load. */
export interface LoadColumn {
  name: string;
  type: ColumnType;
  nullable: boolean;
  /** Index of the inferred column it is filled from. */
  source: number;
  /** The type that was inferred for it, and whether any of its rows is null. */
  inferredType: ColumnType;
  hasNulls: boolean;
}

/** How one file is loaded: plain data. */
export interface LoadPlan {
  /** `raw`: stretches of the file go to COPY as they are; `convert`: values are converted and written anew. */
  mode: 'raw' | 'convert';
  /** Names of the table's columns in the order in which COPY gets them. */
  copyColumns: string[];
  /** Inside of `WITH (…)` after the column list, identifiers and literals quoted. */
  copyOptions: string;
  /** Value of `DateStyle` that the session must have. */
  dateStyle: 'ISO, DMY' | 'ISO, MDY';
  /** Where the first row starts, and the byte after the last. */
  start: Position;
  end: number;
  columns: LoadColumn[];
  file: FileReading;
  /** The session's time zone, where it is not UTC. */
  zone: ZoneEdges | null;
}

/** A stretch of whole records as COPY takes it. */
export interface LoadChunk {
  data: Uint8Array;
  /** Rows in it. */
  rows: number;
  /** Where the next chunk starts. */
  position: Position;
  /** Nothing was taken because the block holds no whole record: come again from the same position with this much. */
  wants: number;
}

/**
 * How to load a file into a table with these columns.
 * @param zone the session's time zone, where it is not UTC
 */
export function planLoad(file: FileReading, columns: LoadColumn[], zone: ZoneEdges | null = null): LoadPlan {
  const style = dateStyle(file, columns);
  const raw =
    file.plain &&
    style !== null &&
    columns.length === file.width &&
    columns.every((column) => goesRaw(file, column, zone));
  const ordered = raw ? [...columns].sort((a, b) => fieldOf(file, a) - fieldOf(file, b)) : columns;
  const names = ordered.map((column) => column.name);
  return {
    mode: raw ? 'raw' : 'convert',
    copyColumns: names,
    copyOptions: raw ? csvOptions(file.dialect, file.encoding, names) : TEXT_OPTIONS,
    dateStyle: style ?? 'ISO, DMY',
    start: file.start,
    end: file.end,
    columns: ordered,
    file,
    zone,
  };
}

function fieldOf(file: FileReading, column: LoadColumn): number {
  return file.fields[column.source] as number;
}

function formatsOf(file: FileReading, column: LoadColumn): ColumnFormats {
  return file.formats[column.source] as ColumnFormats;
}

/** Types that hold every value of another as Postgres reads it. */
const HOLDS: Record<ColumnType, ColumnType[]> = {
  text: ['text', 'integer', 'decimal', 'boolean', 'date', 'datetime'],
  integer: ['integer'],
  decimal: ['decimal', 'integer'],
  boolean: ['boolean'],
  date: ['date'],
  datetime: ['datetime', 'date'],
};

function goesRaw(file: FileReading, column: LoadColumn, zone: ZoneEdges | null): boolean {
  if (!column.nullable && column.hasNulls) return false;
  return column.type === 'text' || isReadAsIs(file, column, zone);
}

/** Postgres reads the values as we do. It knows more years than there are here. */
function isReadAsIs(file: FileReading, { type, inferredType, source }: LoadColumn, zone: ZoneEdges | null): boolean {
  const { asIs, edge } = file.formats[source] as ColumnFormats;
  const mayLeave = type === 'datetime' && zone !== null && edge === true;
  return asIs && !mayLeave && HOLDS[type].includes(inferredType);
}

/** The `DateStyle` under which Postgres reads all the date columns; null when they need different ones. */
function dateStyle(file: FileReading, columns: LoadColumn[]): LoadPlan['dateStyle'] | null {
  let forms = 0;
  for (const column of columns) {
    if (column.type === 'date' || column.type === 'datetime') forms |= formOf(formatsOf(file, column).date);
  }
  if ((forms & DMY) !== 0 && (forms & MDY) !== 0) return null;
  return (forms & MDY) !== 0 ? 'ISO, MDY' : 'ISO, DMY';
}

let shared: Fields | null = null;

/**
 * The rows that start in `block`, which holds the file's bytes from `position` on, as far as they are whole.
 * @param isLast the block reaches the end of the file
 * @throws InferenceError `VALUE_DOES_NOT_FIT` naming file, line, column and value
 */
export function nextChunk(plan: LoadPlan, position: Position, block: Uint8Array, isLast: boolean): LoadChunk {
  const { file } = plan;
  const left = plan.end - position.offset;
  const bytes = block.length > left ? block.subarray(0, left) : block;
  const whole = isLast || block.length >= left;
  const working = scannableBytes(bytes, file.encoding, whole);
  if (working === null) throw unreadable(position.line, 'UTF-16');
  shared ??= newFields();
  const fields = shared;
  const writer = plan.mode === 'convert' ? new CopyWriter(plan, columnsToWrite(plan), working, fields) : null;
  let records = 0;
  const { end, line } = scan(working, 0, whole, file.dialect, position.line, fields, (_start, _end, at) => {
    records++;
    writer?.write(at);
  });
  return {
    data: writer?.data() ?? working.subarray(0, end),
    // Sent as they are, all records are rows: a file with blank lines is not plain.
    rows: writer?.rows ?? records,
    position: { offset: position.offset + encodedLength(working, end, file.encoding), line },
    wants: end === 0 && !whole ? block.length * 2 : 1,
  };
}

/** The columns as the writer needs them. Dates that do not begin with the year are converted: all columns share one order. */
function columnsToWrite(plan: LoadPlan): WrittenColumn[] {
  return plan.columns.map((column) => {
    const formats = formatsOf(plan.file, column);
    const ordered = column.type !== 'date' && column.type !== 'datetime' ? true : (formOf(formats.date) & YMD) !== 0;
    return {
      name: column.name,
      type: column.type,
      nullable: column.nullable,
      field: fieldOf(plan.file, column),
      formats,
      asIs: column.type !== 'text' && ordered && isReadAsIs(plan.file, column, plan.zone),
    };
  });
}
