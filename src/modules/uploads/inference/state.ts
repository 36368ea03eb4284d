import type { Dialect } from '../../../formats/csv/dialect.ts';
import type { Quoting } from '../../../formats/csv/quoting.ts';
import type { Encoding } from '../../../formats/text/decode.ts';
import type { ColumnState, KeptCell } from './columns.ts';
import type { Position, SkippedLine } from './schema.ts';

/** A record that is kept until more of the file tells what it is: header, first row, or footnote. */
export interface KeptRow {
  line: number;
  /** Byte offsets of the record in the file. */
  start: number;
  end: number;
  /** Fields of the record. */
  width: number;
  /** Its fields that are not empty. */
  cells: KeptCell[];
  /** As it stands in the file, cut, where it may be a note; else empty. */
  text: string;
  /** Lines without any value stand before it. */
  blankBefore: boolean;
}

/** What is known of a file after some of its blocks: plain data that survives JSON, about 1 MB at the very most. */
export interface InferenceState {
  fileName: string;
  /** Bytes from the start of the file up to which whole records are taken in: the next block begins here. */
  offset: number;
  /** 1-based line that starts there. */
  line: number;
  /** The next block should have at least this many bytes, unless the file ends before. */
  wants: number;
  /** The whole file is taken in. */
  done: boolean;

  encoding: Encoding | null;
  /** The encoding is certain: a byte order mark or an earlier contradiction says so. */
  encodingCertain: boolean;
  /** Letters beyond ASCII were read in this encoding. */
  beyondAscii: boolean;
  /** Bytes that Windows-1252 leaves undefined were read. */
  undefinedBytes: boolean;
  dialect: Dialect | null;
  quoting: Quoting;
  /** The text was made of a workbook's sheet. */
  sheet: boolean;
  /** Fields of a full record. */
  width: number;
  /** Records of the preamble still to be passed. */
  preambleLeft: number;
  rowNames: boolean;
  /** Lines of the preamble, and the first of them. */
  skippedLines: number;
  skipped: SkippedLine[];

  /** The preamble's last record, where it may be an R style header. */
  above: KeptRow | null;
  /** The body's first record: header or row. */
  firstRow: KeptRow | null;
  /** Where the record after it starts. */
  secondRow: Position | null;
  /** Rows after the first record, footnotes not counted. */
  rows: number;
  /** Where the last of them ends. */
  end: number;
  columns: ColumnState[];
  /** First rows as written, and their length together. */
  sampleRows: string[][];
  sampleSize: number;
  /** Records with a single value at the (present) end: footnotes, unless rows follow. */
  trailing: KeptRow[];
  /** Rows with a single value that turned out not to be footnotes. */
  sparseRows: number;
  /** More records in a row with a single value than footnotes can be. */
  manySparse: boolean;

  /** A blank line was just passed. */
  blank: boolean;
  /** Blank lines stand between the body's first record and the next. */
  blankBeforeSecond: boolean;
  /** Something that Postgres's CSV reader would take otherwise. */
  irregular: boolean;
  /** Line ends seen (EOL_… of records.ts). */
  lineEnds: number;
}

/** Bounds on what the state keeps, so that a thousand columns of long values stay small. */
export interface Bounds {
  /** Distinct values per column, and characters of each. */
  samples: number;
  sampleLength: number;
  /** Characters of a kept cell. */
  cellLength: number;
}

/** The bounds for a table of that many columns. */
export function boundsOf(width: number): Bounds {
  return width <= 100
    ? { samples: 10, sampleLength: 100, cellLength: 2000 }
    : { samples: 5, sampleLength: 32, cellLength: 300 };
}

/** Characters of all sample rows together. */
export const SAMPLE_SIZE = 256 * 1024;
export const SAMPLE_ROWS = 20;
/** A record is at most this long. */
export const MAX_RECORD_BYTES = 16 * 1024 * 1024;
/** A record may have so many fields more than a table has columns: some exports end all lines with empty ones. */
export const MAX_WIDTH = 2000;
