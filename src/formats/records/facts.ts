import type { Encoding } from '../text/decode.ts';

/** The types that a file may say of a column itself. */
export type KnownType = 'text' | 'integer' | 'decimal' | 'boolean' | 'date' | 'datetime';

/**
 * Facts about a text that was made of records: of files that tell their columns, and which values are texts. Each line is a
 * record, an empty one none. Values without quotes were numbers, booleans or dates. Plain data.
 */
export interface RecordFacts {
  /** The names of the columns, in the order of the fields. A line may have fewer fields. */
  names: string[];
  /** The types of the columns, where the file says them. */
  types?: KnownType[];
  /** For each column, how many values were no numbers among numbers (NaN, infinities); these are null. */
  notNumbers?: number[];
  /** The encoding of the file. */
  encoding: Encoding;
}
