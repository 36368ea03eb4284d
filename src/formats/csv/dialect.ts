/** One ASCII character: `,`, `;`, tab or `|` where it is found, any of {@link DELIMITER_PATTERN} where a person sets it. */
export type Delimiter = string;

/** The characters that may separate fields: no letter, digit, quote, backslash, space, or sign of numbers. */
export const DELIMITER_PATTERN = /^[\t!#$%\x26*,\x2f:;<=>?@\x5e_`\x7c~]$/;

/** The properties of a file's dialect that a person sets. The rest is found. */
export interface GivenDialect {
  delimiter?: Delimiter | undefined;
  quote?: Dialect['quote'] | undefined;
  /** The number of lines at the file's beginning that are neither header nor rows. */
  skip_lines?: number | undefined;
}

/** The rules by which a CSV file splits into records and fields. Plain data. */
export interface Dialect {
  delimiter: Delimiter;
  /** Null where quotes are ordinary characters. */
  quote: '"' | "'" | null;
  /** The escape of a quote inside a quoted field: doubled, or by a backslash. */
  escape: 'doubled' | 'backslash';
  /** Spaces may stand between a delimiter and an opening quote. */
  spaceBeforeQuote: boolean;
  /** A backslash outside of quotes escapes the delimiter after it. */
  escapesDelimiters?: true;
  /**
   * The text was converted from a workbook's sheet: each record is a row and counts as one line, whatever its values
   * hold. Values without quotes were numbers, dates or booleans in the sheet, so numbers among them have a decimal
   * point.
   */
  sheet?: true;
  /** Besides: the text was made of records. Only an empty line is none; one whose values are all null is a row. */
  records?: true;
}

/** The dialect in which a workbook's sheet is converted to text. */
export const SHEET: Dialect = { delimiter: ',', quote: '"', escape: 'doubled', spaceBeforeQuote: false, sheet: true };

/** The dialect in which records are written as text. */
export const RECORDS: Dialect = { ...SHEET, records: true };
