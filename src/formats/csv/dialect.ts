export type Delimiter = ',' | ';' | '\t' | '|';

/** How the bytes of a CSV file split into records and fields. Plain data. */
export interface Dialect {
  delimiter: Delimiter;
  /** Null where quotes are ordinary characters. */
  quote: '"' | "'" | null;
  /** How a quote inside a quoted field is escaped: doubled, or by a backslash. */
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
}

/** The dialect in which a workbook's sheet is converted to text. */
export const SHEET: Dialect = {
  delimiter: ',',
  quote: '"',
  escape: 'doubled',
  spaceBeforeQuote: false,
  sheet: true,
};
