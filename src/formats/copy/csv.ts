import type { Dialect } from '../csv/dialect.ts';
import type { Encoding } from '../text/decode.ts';

/** Quote character that COPY gets for a file without quotes: a control character that occurs in no text. */
export const NO_QUOTE_BYTE = 1;

/** Formats the options with which COPY reads a CSV unchanged, empty values as null. @param columns quoted, in order */
export function formatCsvOptions(dialect: Dialect, encoding: Encoding, columns: string[]): string {
  const quote = quoteLiteral(dialect.quote ?? String.fromCharCode(NO_QUOTE_BYTE));
  return [
    'FORMAT csv',
    `DELIMITER ${quoteLiteral(dialect.delimiter)}`,
    `QUOTE ${quote}`,
    `ESCAPE ${dialect.escape === 'backslash' ? "'\\'" : quote}`,
    `FORCE_NULL (${columns.join(', ')})`,
    `ENCODING '${encoding === 'windows-1252' ? 'WIN1252' : 'UTF8'}'`,
  ].join(', ');
}

const quoteLiteral = (text: string): string =>
  text < ' ' ? `E'\\x0${text.charCodeAt(0)}'` : text === "'" ? "''''" : `'${text}'`;

/** Returns true if a line is `\.` alone, which COPY before version 18 takes for the end of the data, also within quotes. */
export function hasEndOfData(bytes: Uint8Array): boolean {
  const isEdge = (byte: number | undefined) => byte === undefined || byte === 10 || byte === 13;
  for (let at = bytes.indexOf(92); at >= 0; at = bytes.indexOf(92, at + 1)) {
    if (bytes[at + 1] === 46 && isEdge(bytes[at - 1]) && isEdge(bytes[at + 2])) return true;
  }
  return false;
}
