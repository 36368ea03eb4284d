export type Delimiter = ',' | ';' | '\t' | '|';

/** How the bytes of a CSV become records and fields. Plain data. */
export interface Dialect {
  delimiter: Delimiter;
  /** Null where quotes are characters like any other. */
  quote: '"' | "'" | null;
  /** How a quote stands inside a quoted field: doubled, or after a backslash. */
  escape: 'doubled' | 'backslash';
  /** Spaces may stand between a delimiter and an opening quote. */
  spaceBeforeQuote: boolean;
  /**
   * The text was made of a workbook's sheet: each record is a row and counts as one line, whatever stands in it; values
   * without quotes were typed there, so that a number among them has a decimal point.
   */
  sheet?: true;
}

/** How the text of a workbook's sheet is written. */
export const SHEET: Dialect = {
  delimiter: ',',
  quote: '"',
  escape: 'doubled',
  spaceBeforeQuote: false,
  sheet: true,
};
