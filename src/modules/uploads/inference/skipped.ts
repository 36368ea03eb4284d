import type { SheetTitle } from '../../../formats/csv/sniff.ts';
import type { Decode } from '../../../formats/text/decode.ts';
import { shorten } from '../../../kernel/text.ts';
import type { FileWithHeaderDecision } from './files.ts';
import type { SkippedLine } from './schema.ts';

/** The maximum number of skipped lines in the answer, and the maximum number of characters of each. */
const MAX_SHOWN_LINES = 20;
const MAX_SHOWN_LENGTH = 200;

/** Reads the lines before byte `end` that the answer may hold. One of them may still turn out to be the header. */
export function readLinesBefore(bytes: Uint8Array, end: number, decode: Decode): SkippedLine[] {
  const text = decode(bytes, 0, end);
  const lines = text.split(/\r\n|\n|\r/, MAX_SHOWN_LINES + 2);
  // The body follows the last line end.
  if (lines.length < MAX_SHOWN_LINES + 2) lines.pop();
  return lines.map((line, index) => ({ line: index + 1, text: shorten(line, MAX_SHOWN_LENGTH) }));
}

/** Converts the rows above a sheet's table to skipped lines. A row counts as one line, whatever its values hold. */
export const toSkippedLines = (bytes: Uint8Array, titles: SheetTitle[], decode: Decode): SkippedLine[] =>
  titles
    .slice(0, MAX_SHOWN_LINES)
    .map(({ line, start, end }) => ({ line, text: readLineText(bytes, start, end, decode) }));

/** Reads the text of a record that may be a footnote. */
export function readLineText(bytes: Uint8Array, start: number, end: number, decode: Decode): string {
  let stop = end;
  while (stop > start && (bytes[stop - 1] === 10 || bytes[stop - 1] === 13)) stop--;
  return shorten(decode(bytes, start, stop), MAX_SHOWN_LENGTH);
}

/** Counts the lines of the file's preamble and footnotes, and returns the first of them. */
export function countSkippedLines({ state, above }: FileWithHeaderDecision): { count: number; lines: SkippedLine[] } {
  const header = above ? state.above?.line : undefined;
  const footnotes = state.trailing.map(({ line, text }) => ({ line, text }));
  const lines = [...state.skipped.filter(({ line }) => line !== header), ...footnotes];
  return {
    count: state.skippedLines - (above ? 1 : 0) + footnotes.length,
    lines: lines.slice(0, MAX_SHOWN_LINES),
  };
}
