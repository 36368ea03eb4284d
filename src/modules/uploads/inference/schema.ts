import type { Delimiter, Dialect } from '../../../formats/csv/dialect.ts';
import type { Encoding } from '../../../formats/text/decode.ts';
import type { ColumnType } from '../../../tenant-sql/columns.ts';

export type { ColumnType };

/** A value as a row's JSON holds it (numbers only where a double is exact, else strings). */
export type RowValue = string | number | boolean | null;

export interface ColumnEvidence {
  /** The forms of the values, e.g. `integer`, `1.234,56`, `d/m/yyyy`, `sim/não`, `text`; all of them where files differ. */
  format: string;
  /** The number of rows in which the column is null. */
  nulls: number;
  /** Some distinct values in the file's own text (bounded in number and length). */
  distinct_sample: string[];
  /** The first value that forced the wider type, and the line its record starts on; null when no value did. */
  counter_example: { value: string; line: number } | null;
  /** The number of values that are no numbers among the file's numbers (NaN, infinities); absent for none. */
  not_numbers?: number;
}

/** A column inferred from every row of every file. */
export interface InferredColumn {
  /** The name in the database: `^[a-z_][a-z0-9_]*$`, at most 63 characters, unique, not reserved. */
  name: string;
  /** The text of the header cell, or the name if there is none. */
  display_name: string;
  type: ColumnType;
  /** Always true, so that a later file with a gap fits (`evidence.nulls` counts this file's); confirm may set it to false. */
  nullable: boolean;
  /** 0-based position in the first file's records; null for a column of an existing table that the files lack. */
  source_index: number | null;
  evidence: ColumnEvidence;
}

/** The `inferred_schema` of an upload job. */
export interface InferredSchema {
  suggested_table_name: string;
  columns: InferredColumn[];
  /** The first rows (up to 20, fewer when they are very large), typed, keyed by column name. */
  sample_rows: Record<string, RowValue>[];
  /** The exact number of rows of all files, despite the name. */
  total_row_count_estimate: number;
  /** Columns of the files that the existing table does not have; absent for a new table. */
  ignored_columns?: InferredColumn[];
  /** Columns of the files that the existing table lacks, where the load may add them. */
  new_columns?: InferredColumn[];
  /** Columns of the existing table that the load may widen, as their types in `columns` are proposed. */
  changed_columns?: ChangedColumn[];
  /**
   * The dialect of the first file. `quote` is null where quotes are ordinary characters. `skipped_lines` counts the
   * lines of its preamble and footnotes; `skipped` holds the first of them. `sheet` is the name of the workbook's sheet;
   * null for a text, or where the format names none.
   */
  dialect: {
    encoding: Encoding;
    /** The delimiter; null for records, which nothing delimits. */
    delimiter: Delimiter | null;
    quote: Dialect['quote'];
    header: boolean;
    skipped_lines: number;
    skipped: SkippedLine[];
    sheet: string | null;
    /** The names of the workbook's sheets; null for a text. Absent from schemas of earlier versions. */
    sheets?: string[] | null;
  };
  /** The reason why the last reanalysis, with its reading options, failed: the schema is the previous one. */
  problem?: { field: string; message: string };
}

/** A value that does not fit a type, cut if long. `line` is the line on which its record starts. */
export interface Misfit {
  file: string;
  line: number;
  value: string;
}

/** A column of the existing table whose type does not take all values of the files, with the narrowest type that takes them. */
export interface ChangedColumn {
  name: string;
  from: ColumnType;
  to: ColumnType;
  because: Misfit;
}

/** A line that is not a row; `text` is cut if long. */
export interface SkippedLine {
  line: number;
  text: string;
}

/** A position between two records of a file. */
export interface Position {
  /** The number of bytes from the start of the file. */
  offset: number;
  /** The 1-based line that starts at the position. */
  line: number;
}

/** The formats in which a file's values of a column are read, as numbers and as dates. */
export interface ColumnFormats {
  decimal: string;
  date: string;
  /** Whether Postgres reads the column's values in the file as the inferred type without conversion. */
  asIs: boolean;
  /** Set where some value has a day of year 1 or 9999, which a time zone may move out of the supported years. */
  edge?: true;
}

/** The data of one file that the loader needs: plain data, stored with the job. */
export interface FileReading {
  fileName: string;
  encoding: Encoding;
  dialect: Dialect;
  /** The position where the first row's record starts: after byte order mark, preamble and header. */
  start: Position;
  /** The offset where the last row's record ends; footnotes follow it. */
  end: number;
  /** The number of fields of a full record. */
  width: number;
  /** The 0-based index in this file of each inferred column's field. */
  fields: number[];
  /** The formats of each inferred column's values in this file, also for the case that its type is changed. */
  formats: ColumnFormats[];
  /** The number of the file's rows. */
  rows: number;
  /** Whether Postgres splits the bytes between `start` and `end` into the same records and values. */
  plain: boolean;
}

/** The data of a column that the loader needs; the columns are in the order of the first file. */
export interface FoundColumn {
  type: ColumnType;
  /** Whether some row has no value. */
  nullable: boolean;
}

/** The result of inference: the schema shown to people, and the data for the loader. */
export interface Inference {
  schema: InferredSchema;
  /** The 0-based position of the column of row ids, where an upsert finds rows by their ids. */
  ids?: number;
  files: FileReading[];
  /** The data of each column that the loader needs, as found in all files. */
  found: FoundColumn[];
}
