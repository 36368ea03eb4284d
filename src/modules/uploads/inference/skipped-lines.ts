import type { TitleRow } from '../../../formats/csv/sniff.ts';
import type { Decode } from '../../../formats/text/decode.ts';
import { readRows } from '../../../formats/workbook/first-rows.ts';
import { shorten } from '../../../kernel/text.ts';
import type { FileWithHeaderDecision } from './files.ts';
import type { SkippedLine } from './schema.ts';

/** The maximum number of skipped lines in a response. */
const MAX_SHOWN_LINES = 20;
/** The maximum number of characters of a skipped line in a response. */
const MAX_SHOWN_LINE_LENGTH = 200;

/**
 * Reads the lines before byte `end` that a response may contain as skipped lines. One of them may still turn out to be
 * the header. @param isSheet the text is a sheet's, in which a row counts as one line, whatever its values hold
 */
export function readLinesBefore(bytes: Uint8Array, end: number, decode: Decode, isSheet: boolean): SkippedLine[] {
  const text = decode(bytes, 0, end);
  const lines = isSheet
    ? formatRows(text).slice(0, MAX_SHOWN_LINES + 1)
    : text.split(/\r\n|\n|\r/, MAX_SHOWN_LINES + 2);
  // The body follows the last line end.
  if (!isSheet && lines.length < MAX_SHOWN_LINES + 2) lines.pop();
  return lines.map((line, index) => ({ line: index + 1, text: shorten(line, MAX_SHOWN_LINE_LENGTH) }));
}

/** Converts the rows above a sheet's table to skipped lines. */
export const toSkippedLines = (bytes: Uint8Array, titleRows: TitleRow[], decode: Decode): SkippedLine[] =>
  titleRows
    .slice(0, MAX_SHOWN_LINES)
    .map(({ line, start, end }) => ({ line, text: readLineText(bytes, start, end, decode, true) }));

/** Reads the text of a record that may be a footnote. */
export function readLineText(bytes: Uint8Array, start: number, end: number, decode: Decode, isSheet: boolean): string {
  let stop = end;
  while (stop > start && (bytes[stop - 1] === 10 || bytes[stop - 1] === 13)) stop--;
  const text = decode(bytes, start, stop);
  return shorten(isSheet ? formatRows(`${text}\n`).join('\n') : text, MAX_SHOWN_LINE_LENGTH);
}

/** Formats the filled cells of each row of a sheet, separated by tabs: nobody has seen the quotes and commas of its text. */
const formatRows = (text: string): string[] =>
  readRows(text).map((cells) => cells.filter((cell) => cell.trim() !== '').join('\t'));

/** Counts the lines of the file's preamble and footnotes, and returns the first of them. */
export function countSkippedLines({ state, isHeaderAbove }: FileWithHeaderDecision): {
  count: number;
  lines: SkippedLine[];
} {
  const header = isHeaderAbove ? state.above?.line : undefined;
  const footnotes = state.trailing.map(({ line, text }) => ({ line, text }));
  const lines = [...state.skipped.filter(({ line }) => line !== header), ...footnotes];
  return {
    count: state.skippedLines - (isHeaderAbove ? 1 : 0) + footnotes.length,
    lines: lines.slice(0, MAX_SHOWN_LINES),
  };
}
