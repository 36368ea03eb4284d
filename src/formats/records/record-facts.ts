import type { Encoding } from '../text/decode.ts';

/** Type of a column that a file itself states. */
export type KnownType = 'text' | 'integer' | 'decimal' | 'boolean' | 'date' | 'datetime';

/**
 * Facts about a text that was written from records: of files that state their columns, and which values are texts. Each line is a
 * record, an empty one none. Values without quotes were numbers, booleans or dates. Plain data.
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
