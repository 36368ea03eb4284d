import type { Delimiter, Dialect } from '../../../formats/csv/dialect.ts';
import type { Encoding } from '../../../formats/text/decode.ts';

/** The six column types of a managed table (document 3). */
export type ColumnType = 'text' | 'integer' | 'decimal' | 'boolean' | 'date' | 'datetime';

/** A value as a row's JSON shows it (numbers only where a double holds them exactly, else strings). */
export type RowValue = string | number | boolean | null;

/** Why a column got its type. */
export interface ColumnEvidence {
  /** How the values are written, e.g. `integer`, `1.234,56`, `d/m/yyyy`, `sim/não`, `text`; of files that differ, each. */
  format: string;
  /** Rows in which the column is null. */
  nulls: number;
  /** A few distinct values as they stand in the file (bounded in number and length). */
  distinct_sample: string[];
  /** The first value that forced the wider type, and the line its record starts on; null when no value did. */
  counter_example: { value: string; line: number } | null;
}

/** A column as inferred from every row of every file. */
export interface InferredColumn {
  /** Database name: `^[a-z_][a-z0-9_]*$`, at most 63 characters, unique, not reserved. */
  name: string;
  /** The header cell as written, or the name where there is none. */
  display_name: string;
  type: ColumnType;
  /** True, so that a later file with a gap fits: `evidence.nulls` tells of this one, and confirm may tighten it. */
  nullable: boolean;
  /** 0-based position in the first file's records; null for a column of an existing table that the files lack. */
  source_index: number | null;
  evidence: ColumnEvidence;
}

/** What `inferred_schema` of an upload job holds. */
export interface InferredSchema {
  suggested_table_name: string;
  columns: InferredColumn[];
  /** The first rows (up to 20, fewer when they are very large), typed, keyed by column name. */
  sample_rows: Record<string, RowValue>[];
  /** Exact number of rows of all files. */
  total_row_count_estimate: number;
  /** Columns of the files that the existing table has none for; only where there is an existing table. */
  ignored_columns?: InferredColumn[];
  /**
   * How the first file is written. `quote` is null where quotes are characters like any other. `skipped_lines` counts
   * the lines of its preamble and footnotes; `skipped` are the first of them.
   */
  dialect: {
    encoding: Encoding;
    delimiter: Delimiter;
    quote: Dialect['quote'];
    header: boolean;
    skipped_lines: number;
    skipped: SkippedLine[];
  };
}

/** A line that is no row; its text is cut where it is long. */
export interface SkippedLine {
  line: number;
  text: string;
}

/** A place between two records of a file. */
export interface Position {
  /** Bytes from the start of the file. */
  offset: number;
  /** 1-based line that starts there. */
  line: number;
}

/** How the values of a column of one file read as numbers and as dates. */
export interface ColumnFormats {
  decimal: string;
  date: string;
  /** Postgres reads the column's values, as they stand in the file, as the inferred type. */
  asIs: boolean;
  /** A day of year 1 or 9999 is among them: in a time zone it may lie beyond the years that there are. */
  edge?: true;
}

/** What the loader has to know of one file: plain data, stored with the job. */
export interface FileReading {
  fileName: string;
  encoding: Encoding;
  dialect: Dialect;
  /** Where the first row's record starts: after byte order mark, preamble and header. */
  start: Position;
  /** Where the last row's record ends; footnotes follow it. */
  end: number;
  /** Fields of a full record. */
  width: number;
  /** For each inferred column its 0-based field in this file. */
  fields: number[];
  /** For each inferred column how its values read in this file, also where it is retyped. */
  formats: ColumnFormats[];
  rows: number;
  /** Postgres splits the bytes between `start` and `end` into the same records and values as we do. */
  plain: boolean;
}

/** What the loader has to know of a column of the files, by its position in the first one. */
export interface FoundColumn {
  type: ColumnType;
  /** Some row has no value. */
  nullable: boolean;
}

/** What inference found: the schema that people see and what the loader reads by. */
export interface Inference {
  schema: InferredSchema;
  files: FileReading[];
  found: FoundColumn[];
}
