import type { Dialect } from '../../../formats/csv/dialect.ts';
import type { Escaping, Quoting } from '../../../formats/csv/quoting.ts';
import type { RecordFacts } from '../../../formats/records/record-facts.ts';
import type { Encoding } from '../../../formats/text/decode.ts';
import type { SheetFacts } from '../../../formats/workbook/choice.ts';
import type { ColumnState, KeptCell } from './columns.ts';
import type { GivenOptions } from './given-options.ts';
import type { Position, SkippedLine } from './schema.ts';

/** A record that is kept until more of the file shows whether it is header, row or footnote. */
export interface KeptRow {
  line: number;
  start: number;
  end: number;
  /** The number of fields of the record. */
  width: number;
  /** The fields that are not empty. */
  cells: KeptCell[];
  /** The record's text in the file, cut, if it may be a footnote; else empty. */
  text: string;
  /** Whether blank lines precede the record. */
  blankBefore: boolean;
}

/** Record from behind the head that may change how the file is read. Plain data. */
export interface DecidingRecord {
  /** The reason to decide the dialect again; only the first record for each reason is kept. */
  reason: 'backslash' | 'space' | 'width' | 'row-name';
  /** The record's bytes, in Base64. */
  bytes: string;
}

/** The maximum size of a deciding record in bytes. */
export const MAX_DECIDING_BYTES = 64 * 1024;

/** The state of inference after some blocks of a file: plain data that survives JSON, at most about 1 MB. */
export interface InferenceState {
  fileName: string;
  /** The reading options that a person gave. */
  said: GivenOptions;
  /** The number of bytes of the file whose complete records have been read: the next block begins here. */
  offset: number;
  /** The 1-based line that starts at `offset`. */
  line: number;
  /** The minimum number of bytes of the next block, unless the file ends before. */
  wants: number;
  /** Whether the whole file was read. */
  done: boolean;

  /** The encoding of the file; null before it is known. */
  encoding: Encoding | null;
  /** Whether a byte order mark, or bytes that contradict UTF-8, settled the encoding. */
  encodingCertain: boolean;
  /** Whether letters beyond ASCII were read in this encoding. */
  beyondAscii: boolean;
  /** Whether bytes that Windows-1252 leaves undefined were read. */
  undefinedBytes: boolean;
  dialect: Dialect | null;
  /** Whether the file uses quotes, as far as that is decided. */
  quoting: Quoting;
  /** Whether backslashes escape delimiters, as far as that is decided. */
  escaping: Escaping;
  /** The offset in the file after the records that the dialect was decided by at first. */
  headEnd?: number;
  /** The records from behind the head that the dialect is decided by, besides the head. */
  decidingRecords?: DecidingRecord[];
  /** The workbook's sheet that the text was converted from. */
  sheet: SheetFacts | null;
  /** Facts about the records (JSON or Parquet) that were converted to the text; null for other files. */
  records: RecordFacts | null;
  /** The number of fields of a full record. */
  width: number;
  /** The number of preamble records not yet read. */
  preambleLeft: number;
  /** Whether the last record of the preamble may name all columns but the first, which holds names of rows. */
  rowNames: boolean;
  /** The number of lines of the preamble. */
  skippedLines: number;
  /** The first lines of the preamble. */
  skipped: SkippedLine[];

  /** The preamble's last record, if it may be the header of an R table. */
  above: KeptRow | null;
  /** The body's first record: header or row. */
  firstRow: KeptRow | null;
  /** The position where the first row after `firstRow` starts; null until that row is read. */
  secondRow: Position | null;
  /** The number of rows after the first record, without footnotes. */
  rows: number;
  /** The offset where the last row ends. */
  end: number;
  columns: ColumnState[];
  /** The first rows as they stand in the file. */
  sampleRows: string[][];
  /** The sum of the lengths of the sample rows, in characters. */
  sampleSize: number;
  /** The records with a single value at the current end: footnotes, unless rows follow. */
  trailing: KeptRow[];
  /** Whether there were more consecutive records with a single value than footnotes can be. */
  manySparse: boolean;

  /** Whether the previous line was blank. */
  blank: boolean;
  /** Whether blank lines stand between the body's first record and the next. */
  blankBeforeSecond: boolean;
  /** Whether some row after the first record directly follows a line that is not blank. */
  dense: boolean;
  /** Whether a cell of the first record, which has an empty or repeated cell, recurs further down in its column. */
  recurs: boolean;
  /** Whether Postgres's CSV reader would read some record differently. */
  irregular: boolean;
  /** The kinds of line ends so far (EOL_… of records.ts). */
  lineEnds: number;
}

/** Limits of the data in the state, so that a thousand columns of long values stay small. */
export interface Bounds {
  /** The maximum number of distinct values per column. */
  maxSamples: number;
  /** The maximum number of characters of each distinct value. */
  maxSampleLength: number;
  /** The maximum number of characters of a kept cell. */
  maxCellLength: number;
}

export function makeBounds(width: number): Bounds {
  return width <= 100
    ? { maxSamples: 10, maxSampleLength: 100, maxCellLength: 2000 }
    : { maxSamples: 5, maxSampleLength: 32, maxCellLength: 300 };
}

/** The maximum number of characters of all sample rows together. */
export const MAX_SAMPLE_LENGTH = 256 * 1024;
export const MAX_SAMPLE_ROWS = 20;
/** The maximum size of a record in bytes. */
export const MAX_RECORD_BYTES = 16 * 1024 * 1024;
