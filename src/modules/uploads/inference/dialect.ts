import { type Head, readHead } from './head.ts';
import { findLayout, type Layout } from './preamble.ts';
import type { Delimiter, Dialect } from './schema.ts';
import type { Decode } from './types.ts';

const DELIMITERS: Delimiter[] = [',', ';', '\t', '|'];
const QUOTES: ('"' | "'")[] = ['"', "'"];

/** How the text of a workbook's sheet is written. */
export const SHEET: Dialect = {
  delimiter: ',',
  quote: '"',
  escape: 'doubled',
  newline: 'lf',
  spaceBeforeQuote: false,
  sheet: true,
};

/** A dialect, and the table it makes of the head. */
export interface Sniffed {
  dialect: Dialect;
  layout: Layout;
  /** The first record's place among the file's lines, and the body's. */
  bodyLine: number;
}

/**
 * Finds how a file is written from its head (the approach of CleverCSV and DuckDB's sniffer): every dialect that the
 * signs in the head allow reads it; the one whose records agree most in width, and whose fields look most like values,
 * is taken. On a tie the more usual one, which stands first.
 * @param known the dialect, where only the layout is to be found
 */
export function sniff(head: Uint8Array, isLast: boolean, decode: Decode, known: Dialect | null): Sniffed {
  let best: Sniffed | null = null;
  let bestScore = -1;
  for (const dialect of known ? [known] : candidates(head)) {
    const read = readHead(head, isLast, dialect, decode);
    const layout = findLayout(read.records);
    const score = plausibility(read, layout);
    if (score <= bestScore + 1e-9) continue;
    bestScore = score;
    best = { dialect, layout, bodyLine: read.records[layout.preamble]?.line ?? 1 };
  }
  return best as Sniffed;
}

function plausibility(head: Head, layout: Layout): number {
  const columns = layout.width === 1 ? 0.4 : 1 - 0.3 / layout.width;
  const broken = (1 - 0.5 * head.odd) * (head.unclosed ? 0.2 : 1);
  const skipped = 1 - 0.2 * (layout.preamble / Math.max(1, head.records.length));
  return layout.consistency * head.clean * columns * broken * skipped;
}

/** The dialects worth a try: a sign that the head does not show needs none. */
function candidates(head: Uint8Array): Dialect[] {
  const text = new TextDecoder('latin1').decode(head.subarray(0, 64 * 1024));
  const quotes = QUOTES.filter((quote) => quote === '"' || /(?:^|[,;\t|\r\n]) *'/.test(text));
  const escapes: Dialect['escape'][] = /\\["']/.test(text) ? ['doubled', 'backslash'] : ['doubled'];
  const spaces = /[,;\t|] +["']/.test(text) ? [false, true] : [false];
  const lineFeeds = text.includes('\n');
  const loneReturns = /\r[^\r\n]/.test(text);
  const newlines: Dialect['newline'][] = lineFeeds ? (loneReturns ? ['lf', 'cr'] : ['lf']) : ['cr'];
  return newlines.flatMap((newline) =>
    spaces.flatMap((spaceBeforeQuote) =>
      escapes.flatMap((escaping) =>
        quotes.flatMap((quote) =>
          DELIMITERS.map((delimiter) => ({ delimiter, quote, escape: escaping, newline, spaceBeforeQuote })),
        ),
      ),
    ),
  );
}
