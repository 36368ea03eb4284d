import type { GivenDialect } from '../../../formats/csv/dialect.ts';
import type { Encoding } from '../../../formats/text/decode.ts';

/** The options that a person gave for reading a file; the missing ones are inferred. Plain data. */
export interface GivenOptions extends GivenDialect {
  /** True if the first record holds the names of the columns. */
  header?: boolean | undefined;
  encoding?: Encoding | undefined;
  /** Set if the delimiter is the usual one of this kind of file and no choice: a file with a single column lacks it. */
  delimiterOfKind?: true;
}

/**
 * Finds the offset after the first lines of a text, which end with LF, CRLF or CR; -1 where the bytes have fewer. @param isSheet
 * the text was converted from a sheet: a line end within quotes ends no line
 */
export function findLineOffset(bytes: Uint8Array, lineCount: number, isSheet: boolean): number {
  let inQuotes = false;
  let remainingLineCount = lineCount;
  let at = 0;
  for (; remainingLineCount > 0 && at < bytes.length; at++) {
    const byte = bytes[at];
    if (isSheet && byte === QUOTE_BYTE) inQuotes = !inQuotes;
    if (inQuotes || (byte !== LF && byte !== CR)) continue;
    if (byte === CR && bytes[at + 1] === LF) at++;
    remainingLineCount--;
  }
  return remainingLineCount > 0 ? -1 : at;
}

const QUOTE_BYTE = 34;
const LF = 10;
const CR = 13;
