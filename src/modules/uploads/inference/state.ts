import type { Dialect } from '../../../formats/csv/dialect.ts';
import type { Escaping, Quoting } from '../../../formats/csv/quoting.ts';
import type { RecordFacts } from '../../../formats/records/facts.ts';
import type { Encoding } from '../../../formats/text/decode.ts';
import type { SheetFacts } from '../../../formats/workbook/choice.ts';
import type { ColumnState, KeptCell } from './columns.ts';
import type { GivenOptions } from './said.ts';
import type { Position, SkippedLine } from './schema.ts';

/** A record that is kept until more of the file shows whether it is header, row or footnote. */
export interface KeptRow {
  line: number;
  start: number;
  end: number;
  /** Number of fields of the record. */
  width: number;
  /** The fields that are not empty. */
  cells: KeptCell[];
  /** The record's text as it stands in the file, cut, if it may be a note; else empty. */
  text: string;
  /** Blank lines precede the record. */
  blankBefore: boolean;
}

/** The state of inference after some blocks of a file: plain data that survives JSON, at most about 1 MB. */
export interface InferenceState {
  fileName: string;
  /** The reading options that a person gave. */
  said: GivenOptions;
  /** Bytes of the file whose complete records have been read: the next block begins here. */
  offset: number;
  /** The 1-based line that starts there. */
  line: number;
  /** The minimum number of bytes of the next block, unless the file ends before. */
  wants: number;
  done: boolean;

  encoding: Encoding | null;
  /** A byte order mark, or bytes that contradict UTF-8, settled the encoding. */
  encodingCertain: boolean;
  /** Letters beyond ASCII were read in this encoding. */
  beyondAscii: boolean;
  /** Bytes that Windows-1252 leaves undefined were read. */
  undefinedBytes: boolean;
  dialect: Dialect | null;
  quoting: Quoting;
  escaping: Escaping;
  /** The workbook's sheet that the text was converted from. */
  sheet: SheetFacts | null;
  /** Facts about the records (JSON or Parquet) that were converted to the text; null for other files. */
  records: RecordFacts | null;
  /** Number of fields of a full record. */
  width: number;
  /** Number of preamble records not yet read. */
  preambleLeft: number;
  rowNames: boolean;
  /** `skippedLines`: number of lines of the preamble. `skipped`: the first of these lines. */
  skippedLines: number;
  skipped: SkippedLine[];

  /** The preamble's last record, if it may be the header of an R table. */
  above: KeptRow | null;
  /** The body's first record: header or row. */
  firstRow: KeptRow | null;
  /** The position where the next record starts. */
  secondRow: Position | null;
  /** Number of rows after the first record, without footnotes. */
  rows: number;
  /** The offset where the last row ends. */
  end: number;
  columns: ColumnState[];
  /** The first rows as they stand in the file, and the sum of their lengths. */
  sampleRows: string[][];
  sampleSize: number;
  /** Records with a single value at the current end: footnotes, unless rows follow. */
  trailing: KeptRow[];
  /** There were more consecutive records with a single value than footnotes can be. */
  manySparse: boolean;

  /** The previous line was blank. */
  blank: boolean;
  /** Blank lines stand between the body's first record and the next. */
  blankBeforeSecond: boolean;
  /** Some row does not stand below a blank line. */
  dense: boolean;
  /** A cell of the first record, which has an empty or repeated one, stands again further down in its column. */
  recurs: boolean;
  /** Postgres's CSV reader would read some record differently. */
  irregular: boolean;
  /** The kinds of line ends so far (EOL_… of records.ts). */
  lineEnds: number;
}

/** Limits of the data in the state, so that a thousand columns of long values stay small. */
export interface Bounds {
  /** Distinct values per column, and characters of each. */
  samples: number;
  sampleLength: number;
  /** Characters of a kept cell. */
  cellLength: number;
}

export function makeBounds(width: number): Bounds {
  return width <= 100
    ? { samples: 10, sampleLength: 100, cellLength: 2000 }
    : { samples: 5, sampleLength: 32, cellLength: 300 };
}

/** Characters of all sample rows together. */
export const SAMPLE_SIZE = 256 * 1024;
export const SAMPLE_ROWS = 20;
/** The maximum size of a record in bytes. */
export const MAX_RECORD_BYTES = 16 * 1024 * 1024;
