import { spreadHeaders } from './headers.ts';
import type { Merge } from './merges.ts';

const decoder = new TextDecoder();
const encoder = new TextEncoder();
/** Number of rows searched for headers. */
const MAX_ROWS = 100;

/** Spreads merged headers (see `spreadHeaders`) in the first rows of a sheet's text. */
export function withHeaders(text: Uint8Array, merges: Merge[], first: number): Uint8Array {
  if (!merges.some(({ left, right }) => right > left)) return text;
  const { rows, end } = readRows(decoder.decode(text));
  const before = rows.map((row) => row.join('\0'));
  if (!spreadHeaders(rows, merges, first)) return text;
  const whole = decoder.decode(text);
  const ends = endsOf(whole, rows.length);
  const lines = rows.map((row, index) =>
    row.join('\0') === before[index]
      ? whole.slice(ends[index - 1] ?? 0, ends[index])
      : `${row.map(quoted).join(',')}\n`,
  );
  return encoder.encode(lines.join('') + whole.slice(end));
}

const quoted = (cell: string): string => (cell === '' ? '' : `"${cell.replaceAll('"', '""')}"`);

/** Splits the first rows into fields without their quotes, and returns where the rows end. */
export function readRows(text: string, limit = MAX_ROWS): { rows: string[][]; end: number } {
  const ends = endsOf(text, limit);
  const rows = ends.map((end, index) => {
    const line = text.slice(ends[index - 1] ?? 0, end - 1);
    if (line === '') return [];
    return [...line.matchAll(/(?:^|,)(?:"([^"]*(?:""[^"]*)*)"|([^,]*))/g)].map(
      ([, inside, bare]) => inside?.replaceAll('""', '"') ?? bare ?? '',
    );
  });
  return { rows, end: ends.at(-1) ?? 0 };
}

/** The offset after each of the first rows, line feed included. A line feed within quotes does not end a row. */
function endsOf(text: string, limit: number): number[] {
  const ends: number[] = [];
  let inQuotes = false;
  for (let at = 0; at < text.length && ends.length < limit; at++) {
    if (text[at] === '"') inQuotes = !inQuotes;
    else if (text[at] === '\n' && !inQuotes) ends.push(at + 1);
  }
  return ends;
}
