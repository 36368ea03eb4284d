import type { Encoding } from '../text/decode.ts';

/** Type of a column that a file itself states. */
export type KnownType = 'text' | 'integer' | 'decimal' | 'boolean' | 'date' | 'datetime';

/**
 * Facts about a text into which a file's records were converted. Each line is a record; an empty line is none. Values
 * in quotes were texts, and values without quotes were numbers, booleans or dates. Plain data.
 */
export interface RecordFacts {
  /** Names of the columns, in the order of the fields. A line may have fewer fields. */
  names: string[];
  /** Types of the columns, if the file states them. */
  types?: KnownType[];
  /** For each column, the number of values that were no numbers (NaN, infinities) in a numeric column; these are null. */
  notNumbers?: number[];
  /** Encoding of the file. */
  encoding: Encoding;
}
