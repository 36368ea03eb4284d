import { formatCsvOptions } from '../../../formats/copy/csv.ts';
import { COPY_TEXT_OPTIONS } from '../../../formats/copy/text.ts';
import { createFields, type Fields, scanRecords } from '../../../formats/csv/records.ts';
import { measureEncodedLength, toScannableBytes } from '../../../formats/text/decode.ts';
import type { ZoneEdges } from '../../../formats/values/conversion.ts';
import { DMY_DATES, MDY_DATES, parseForm, YMD_DATES } from '../../../formats/values/forms.ts';
import { quoteIdentifier } from '../../../tenant-sql/identifiers.ts';
import { CopyWriter, type OnMisfit, type WrittenColumn } from './copy-writer.ts';
import { bytesUnreadable } from './errors.ts';
import type { ColumnFormats, ColumnType, FileReading, Position } from './schema.ts';

export interface LoadColumn {
  name: string;
  type: ColumnType;
  nullable: boolean;
  /** The index of the inferred column that fills this one. */
  source: number;
  /** The inferred type. */
  inferredType: ColumnType;
  /** Whether any row is null. */
  hasNulls: boolean;
}

/** The plan for loading one file, plain data. */
export interface LoadPlan {
  /** How the file is loaded: with `raw` its bytes go to COPY unchanged, with `convert` each value is converted. */
  mode: 'raw' | 'convert';
  /** Names of the table's columns in COPY's order. */
  copyColumns: string[];
  /** The options inside of `WITH (…)` after the column list, quoted. */
  copyOptions: string;
  /** The `DateStyle` that the session must have. */
  dateStyle: 'ISO, DMY' | 'ISO, MDY';
  /** The position where the first row starts. */
  start: Position;
  /** The offset after the last row. */
  end: number;
  columns: LoadColumn[];
  file: FileReading;
  /** The session's time zone; null for UTC. */
  zone: ZoneEdges | null;
}

/** The complete records of a block, or as many of them as make a chunk, as input of COPY. */
export interface LoadChunk {
  copyInput: Uint8Array;
  /** Number of rows in `copyInput`. */
  rowCount: number;
  /** The position where the next chunk starts. */
  nextPosition: Position;
  /** The minimum size of the next block; more than 1 if this block held no complete record and nothing was read. */
  minBlockBytes: number;
}

/** Plans how to load a file into a table with these columns. @param zone the session's time zone; null for UTC */
export function planLoad(file: FileReading, columns: LoadColumn[], zone: ZoneEdges | null = null): LoadPlan {
  const dateStyle = chooseDateStyle(file, columns);
  const isRaw =
    file.plain &&
    dateStyle !== null &&
    columns.length === file.width &&
    columns.every((column) => canBeCopiedRaw(file, column, zone));
  const orderedColumns = isRaw ? [...columns].sort((a, b) => getFieldIndex(file, a) - getFieldIndex(file, b)) : columns;
  const names = orderedColumns.map((column) => column.name);
  return {
    mode: isRaw ? 'raw' : 'convert',
    copyColumns: names,
    copyOptions: isRaw ? formatCsvOptions(file.dialect, file.encoding, names.map(quoteIdentifier)) : COPY_TEXT_OPTIONS,
    dateStyle: dateStyle ?? 'ISO, DMY',
    start: file.start,
    end: file.end,
    columns: orderedColumns,
    file,
    zone,
  };
}

function getFieldIndex(file: FileReading, column: LoadColumn): number {
  return file.fields[column.source] as number;
}

function getFormats(file: FileReading, column: LoadColumn): ColumnFormats {
  return file.formats[column.source] as ColumnFormats;
}

/** The types that take every value of a type, for each type, the narrowest first. */
export const WIDER_TYPES: Record<ColumnType, readonly ColumnType[]> = {
  integer: ['decimal', 'text'],
  decimal: ['text'],
  date: ['datetime', 'text'],
  datetime: ['text'],
  boolean: ['text'],
  text: [],
};

/** Tells whether a type takes every value of another. */
export const isCompatible = (type: ColumnType, otherType: ColumnType): boolean =>
  type === otherType || WIDER_TYPES[otherType].includes(type);

function canBeCopiedRaw(file: FileReading, column: LoadColumn, zone: ZoneEdges | null): boolean {
  if (!column.nullable && column.hasNulls) return false;
  return column.type === 'text' || isReadAsIs(file, column, zone);
}

/** Tells whether Postgres reads the values as inference did. Postgres accepts more years than a managed table. */
function isReadAsIs(file: FileReading, { type, inferredType, source }: LoadColumn, zone: ZoneEdges | null): boolean {
  const { asIs, edge } = file.formats[source] as ColumnFormats;
  const mayLeaveYears = type === 'datetime' && zone !== null && edge === true;
  return asIs && !mayLeaveYears && isCompatible(type, inferredType);
}

/** Chooses the `DateStyle` under which Postgres reads all date columns; null if they need different ones. */
function chooseDateStyle(file: FileReading, columns: LoadColumn[]): LoadPlan['dateStyle'] | null {
  let formMask = 0;
  for (const column of columns) {
    if (column.type === 'date' || column.type === 'datetime') formMask |= parseForm(getFormats(file, column).date);
  }
  if ((formMask & DMY_DATES) !== 0 && (formMask & MDY_DATES) !== 0) return null;
  return (formMask & MDY_DATES) !== 0 ? 'ISO, MDY' : 'ISO, DMY';
}

let sharedFields: Fields | null = null;

/**
 * Converts the complete rows that start in `block`, which holds the file's bytes from `position` on, until they are a whole chunk.
 * @param isLast the block reaches the end of the file
 * @param onMisfit called for each value that does not fit; the rows are then not to be loaded, and come without data
 * @throws InferenceError `VALUE_DOES_NOT_FIT` with file, line, column and value
 */
export function convertNextChunk(
  plan: LoadPlan,
  position: Position,
  block: Uint8Array,
  isLast: boolean,
  onMisfit?: OnMisfit,
): LoadChunk {
  const { file } = plan;
  const remainingBytes = plan.end - position.offset;
  const bytes = block.length > remainingBytes ? block.subarray(0, remainingBytes) : block;
  const isWholeRest = isLast || block.length >= remainingBytes;
  const scannableBytes = toScannableBytes(bytes, file.encoding, isWholeRest);
  if (scannableBytes === null) throw bytesUnreadable(position.line, 'UTF-16');
  sharedFields ??= createFields();
  const fields = sharedFields;
  const writer =
    plan.mode === 'convert' ? new CopyWriter(plan, listWrittenColumns(plan), scannableBytes, fields, onMisfit) : null;
  let recordCount = 0;
  const { endIndex, nextLine } = scanRecords(
    scannableBytes,
    0,
    isWholeRest,
    file.dialect,
    position.line,
    fields,
    (_start, _end, at) => {
      recordCount++;
      writer?.writeRow(at);
      return writer?.isFull;
    },
  );
  return {
    copyInput: writer?.getBytes() ?? scannableBytes.subarray(0, endIndex),
    // In raw mode every record is a row, because a file with blank lines is not `plain`.
    rowCount: writer?.rowCount ?? recordCount,
    nextPosition: {
      offset: position.offset + measureEncodedLength(scannableBytes, endIndex, file.encoding),
      line: nextLine,
    },
    minBlockBytes: endIndex === 0 && !isWholeRest ? block.length * 2 : 1,
  };
}

/** Lists the columns to write; dates that do not begin with the year are converted: a session's columns share one order. */
function listWrittenColumns(plan: LoadPlan): WrittenColumn[] {
  return plan.columns.map((column) => {
    const formats = getFormats(plan.file, column);
    const isOrderUnambiguous =
      column.type !== 'date' && column.type !== 'datetime' ? true : (parseForm(formats.date) & YMD_DATES) !== 0;
    return {
      name: column.name,
      type: column.type,
      nullable: column.nullable,
      fieldIndex: getFieldIndex(plan.file, column),
      formats,
      isVerbatim: column.type !== 'text' && isOrderUnambiguous && isReadAsIs(plan.file, column, plan.zone),
    };
  });
}
