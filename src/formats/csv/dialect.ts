/**
 * Delimiter of a CSV, one ASCII character: `,`, `;`, tab or `|` if detected, any of {@link DELIMITER_PATTERN} if a person sets
 * it.
 */
export type Delimiter = string;

/** The characters that may separate fields: no letter, digit, quote, backslash, space, or sign of numbers. */
export const DELIMITER_PATTERN = /^[\t!#$%\x26*,\x2f:;<=>?@\x5e_`\x7c~]$/;

/** Properties of a file's dialect that a person sets. The others are detected. */
export interface GivenDialect {
  delimiter?: Delimiter | undefined;
  quote?: Dialect['quote'] | undefined;
  /** The number of lines at the file's beginning that are neither header nor rows. */
  skip_lines?: number | undefined;
}

/** The rules by which a CSV file splits into records and fields. Plain data. */
export interface Dialect {
  delimiter: Delimiter;
  /** Quote character; null if quotes are ordinary characters. */
  quote: '"' | "'" | null;
  /** Escape of a quote inside a quoted field: doubled, or by a backslash. */
  escape: 'doubled' | 'backslash';
  /** True if spaces may stand between a delimiter and an opening quote. */
  spaceBeforeQuote: boolean;
  /** True if a backslash outside of quotes escapes the delimiter after it. */
  escapesDelimiters?: true;
  /**
   * True if the text was converted from a workbook's sheet: each record is a row and counts as one line, whatever its values
   * hold. Values without quotes were numbers, dates or booleans in the sheet, so numbers among them have a decimal point.
   */
  sheet?: true;
  /**
   * True if the text was written from records, in addition to `sheet`: only an empty line is no record; a row of nulls is one.
   */
  records?: true;
}

/** The dialect in which a workbook's sheet is converted to text. */
export const SHEET_DIALECT: Dialect = {
  delimiter: ',',
  quote: '"',
  escape: 'doubled',
  spaceBeforeQuote: false,
  sheet: true,
};

/** Dialect in which records are written as text. */
export const RECORDS_DIALECT: Dialect = { ...SHEET_DIALECT, records: true };
