import type { Decode } from '../text/decode.ts';
import { type Delimiter, type Dialect, type GivenDialect, SHEET } from './dialect.ts';
import { type Head, readHead } from './head.ts';
import { findLayout, type Layout, layoutFromFirst } from './layout.ts';
import { type Escaping, escapesDelimiter, type Quoting } from './quoting.ts';
import { type SheetShape, sheetLayout } from './sheet-layout.ts';

const DELIMITERS: Delimiter[] = [',', ';', '\t', '|'];
const QUOTES: ('"' | "'")[] = ['"', "'"];

/** A dialect, and where the table begins when the head is read in it. */
export interface SniffedDialect {
  dialect: Dialect;
  layout: Layout;
  /** Records of the head. */
  records: number;
  /** The body's first record: its place among the file's lines, and in the head. */
  bodyLine: number;
  bodyStart: number;
  /** Whether the head's quotes settle how the rest of the file is quoted. */
  quoting: Quoting;
  /** The first record has more fields than can be read. */
  overflows: boolean;
  /** The number of fields up to the last one with a value, of the record with most. */
  effective: number;
}

/**
 * Finds a file's dialect from its head (the approach of CleverCSV and DuckDB's sniffer): reads the head in every
 * dialect whose delimiter or quote occurs in it, and takes the one whose records agree most in width and whose fields
 * look most like values. On a tie the more common dialect wins, which stands first. Where its quotes break the rules,
 * the head is read without quotes, if that yields a table and they break them with every delimiter. Backslashes escape
 * delimiters only where all records have the same number of fields then, and not otherwise.
 * @param quoting whether the file may be, or has to be, read without quotes
 * @param escaping whether backslashes may, or have to, escape delimiters
 * @param said what is not to be found; the lines that are to be skipped are no part of the head
 */
export function sniff(
  head: Uint8Array,
  isLast: boolean,
  decode: Decode,
  quoting: Quoting,
  escaping: Escaping = 'undecided',
  said: GivenDialect = {},
): SniffedDialect {
  const delimiters = said.delimiter === undefined ? DELIMITERS : [said.delimiter];
  const withoutQuotes = () => delimiters.map((delimiter): Dialect => ({ ...UNQUOTED, delimiter }));
  const tryDialect = (dialect: Dialect): DialectTrial => {
    const read = readHead(head, isLast, dialect, decode);
    const layout =
      said.skip_lines === undefined
        ? findLayout(read.records, dialect, said.delimiter !== undefined)
        : layoutFromFirst(read.records);
    return { dialect, head: read, layout, score: plausibility(read, layout) };
  };
  const read = (dialect: Dialect): DialectTrial[] => {
    const plain = tryDialect(dialect);
    if (escaping === 'plain' || (escaping === 'undecided' && !escapesDelimiter(head, 0, head.length, dialect)))
      return [plain];
    const escaped = tryDialect({ ...dialect, escapesDelimiters: true });
    if (escaping === 'escaped') return [escaped];
    return isEven(escaped) && !isEven(plain) ? [escaped] : [plain];
  };
  if (quoting === 'unquoted') return toSniffedDialect(chooseBestTrial(withoutQuotes().flatMap(read)), quoting);
  const trials = candidates(head, delimiters, said.quote).flatMap(read);
  const quoted = chooseBestTrial(trials);
  if (quoting === 'quoted') return toSniffedDialect(quoted, quoting);
  if (!isDoubtful(quoted)) return toSniffedDialect(quoted, getQuoting(quoted));
  const bare = chooseBestTrial(withoutQuotes().flatMap(read));
  // What breaks the rules may be the delimiter: then quotes and line ends of another one's values would split these.
  const ruled = trials.filter((trial) => {
    const { delimiter, quote } = trial.dialect;
    const isOfBare = delimiter === bare.dialect.delimiter && bare.layout.width > 1;
    return quote === quoted.dialect.quote && quotesByRules(trial) && (isOfBare || isWhole(trial));
  });
  if (ruled.length > 0) {
    const own = chooseBestTrial(ruled);
    return toSniffedDialect(own, getQuoting(own));
  }
  const quotesNothing = !bare.head.quotes.usual && makesTable(bare, quoted);
  return quotesNothing ? toSniffedDialect(bare, 'undecided') : toSniffedDialect(quoted, 'quoted');
}

/** Finds where the table is in the head of a sheet's text. */
export function sniffSheet(
  bytes: Uint8Array,
  isLast: boolean,
  decode: Decode,
  shape: SheetShape,
  said: GivenDialect = {},
): SniffedDialect & { titles: SheetTitle[] } {
  const head = readHead(bytes, isLast, SHEET, decode);
  const layout = sheetLayout(head.records, shape, said.skip_lines !== undefined);
  const titles = head.records.slice(0, layout.preamble).map(({ line, start }, index) => ({
    line,
    start,
    end: head.records[index + 1]?.start ?? start,
  }));
  return { ...toSniffedDialect({ dialect: SHEET, head, layout, score: 1 }, 'quoted'), titles };
}

/** A row above a sheet's table, and where it stands in the head. */
export interface SheetTitle {
  line: number;
  start: number;
  end: number;
}

/** The head in one dialect. */
interface DialectTrial {
  dialect: Dialect;
  head: Head;
  layout: Layout;
  score: number;
}

/** Whether its quotes rather are ordinary characters. */
function isDoubtful({ head: { quotes, unclosed }, layout }: DialectTrial): boolean {
  const rows = quotes.folded.filter((width) => width > 1 && width === layout.width).length;
  return quotes.broken + rows > 0 || unclosed || (quotes.stray > 0 && quotes.proper === 0);
}

const quotesByRules = (trial: DialectTrial): boolean => trial.head.quotes.proper > 0 && !isDoubtful(trial);

/** Whether no quote stands anywhere but around a value, and it makes a table, or values that need their quotes. */
const isWhole = ({ head: { quotes }, layout }: DialectTrial): boolean =>
  quotes.stray === 0 && (layout.width > 1 || quotes.needed || quotes.folded.length > 0);

const getQuoting = ({ head: { quotes } }: DialectTrial): Quoting =>
  quotes.usual || quotes.needed || quotes.folded.length > 0 ? 'quoted' : 'undecided';

const chooseBestTrial = (trials: DialectTrial[]): DialectTrial =>
  trials.reduce((first, next) => (next.score > first.score + 1e-9 ? next : first));

/** Whether all records of a table have the same number of fields, but for notes below it. */
function isEven({ head, layout: { width, preamble, rowNames } }: DialectTrial): boolean {
  const body = head.records.slice(preamble);
  const end = body.findLastIndex((record) => record.filled > 1) + 1;
  return width > 1 && !rowNames && body.slice(0, end).every((record) => record.width === width);
}

function toSniffedDialect({ dialect, layout, head }: DialectTrial, quoting: Quoting): SniffedDialect {
  const body = head.records[layout.preamble];
  const { length: records } = head.records;
  const overflows = head.overflows && records === 0;
  const effective = Math.max(1, ...head.records.map((record) => record.effective));
  const place = { bodyLine: body?.line ?? 1, bodyStart: body?.start ?? 0 };
  return { dialect, layout, records, ...place, quoting, overflows, effective };
}

/** More than that of a single column, and less than that of a table with shorter records. */
const OVERFLOW_SCORE = 0.45;

function plausibility(head: Head, layout: Layout): number {
  if (head.overflows && head.records.length === 0) return OVERFLOW_SCORE;
  const columns = layout.width === 1 ? 0.4 : 1 - 0.3 / layout.width;
  const broken = (1 - 0.5 * head.odd) * (head.unclosed ? 0.2 : 1);
  const skipped = 1 - 0.2 * (layout.preamble / Math.max(1, head.records.length));
  return layout.consistency * head.clean * columns * broken * skipped;
}

/** Whether the head read without quotes is as good a table: no record is too wide, and hardly more are short. */
function makesTable(bare: DialectTrial, quoted: DialectTrial): boolean {
  const widths = ({ head, layout }: DialectTrial) => {
    const body = head.records.slice(layout.preamble);
    return {
      over: body.filter(({ effective }) => effective > layout.width).length,
      short: body.filter(({ width }) => width < layout.width).length,
    };
  };
  const { over, short } = widths(bare);
  const tolerated = quoted.head.quotes.broken > 0 ? bare.head.records.length / 50 : 0;
  return over === 0 && short <= widths(quoted).short + tolerated && bare.layout.width >= quoted.layout.width;
}

const UNQUOTED: Omit<Dialect, 'delimiter'> = { quote: null, escape: 'doubled', spaceBeforeQuote: false };

/** The dialects to try: only those whose quote occurs in the head, or the one that a person set. */
function candidates(head: Uint8Array, delimiters: Delimiter[], said: Dialect['quote'] | undefined): Dialect[] {
  const text = new TextDecoder('latin1').decode(head.subarray(0, 64 * 1024));
  const quotes = said ? [said] : QUOTES.filter((quote) => quote === '"' || /(?:^|[,;\t|\r\n]) *'/.test(text));
  const escapes: Dialect['escape'][] = /\\["']/.test(text) ? ['doubled', 'backslash'] : ['doubled'];
  const spaces = delimiters.some((delimiter) => new RegExp(`[${delimiter}] +["']`.replace('[^]', '\\^')).test(text))
    ? [false, true]
    : [false];
  return spaces.flatMap((spaceBeforeQuote) =>
    escapes.flatMap((escaping) =>
      quotes.flatMap((quote) =>
        delimiters.map((delimiter) => ({ delimiter, quote, escape: escaping, spaceBeforeQuote })),
      ),
    ),
  );
}
