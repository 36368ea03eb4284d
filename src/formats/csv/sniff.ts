import type { Decode } from '../text/decode.ts';
import { type Delimiter, type Dialect, type GivenDialect, SHEET_DIALECT } from './dialect.ts';
import { HEAD_BYTES, type Head, type HeadRecord, readHead } from './head.ts';
import { countWidths, findLayout, findLayoutFromFirst, type Layout } from './layout.ts';
import { type Escaping, hasEscaped, type Quoting } from './quoting.ts';
import { findSheetLayout, type SheetShape } from './sheet-layout.ts';

const DELIMITERS: Delimiter[] = [',', ';', '\t', '|'];
const QUOTES: ('"' | "'")[] = ['"', "'"];

/** Dialect, and where the table begins when the head is read in it. */
export interface SniffedDialect {
  dialect: Dialect;
  layout: Layout;
  /** Number of records read from the head. */
  recordCount: number;
  /** Offset in the head after the last record read from it. */
  recordsEnd: number;
  /** Line of the file at which the body's first record begins. */
  bodyLine: number;
  /** Offset in the head at which the body's first record begins. */
  bodyStart: number;
  /** Use of quotes in the whole file, as far as the head decides it. */
  quoting: Quoting;
  /** True if the first record has more fields than can be read. */
  hasTooManyFields: boolean;
  /** Number of fields up to the last one with a value, in the record with most. */
  effectiveWidth: number;
}

/**
 * Finds a file's dialect from its head (the approach of CleverCSV and DuckDB's sniffer): reads the head in every dialect whose
 * delimiter or quote occurs in it, and takes the one whose records agree most in width and whose fields look most like values.
 * On a tie the more common dialect wins, which is tried first. If the quotes break the rules of quoting with every delimiter,
 * and the head read without quotes is a table, the file has no quotes. Backslashes are read as escapes of delimiters only if
 * all records then have the same number of fields, and if their numbers of fields differ when backslashes are read as ordinary
 * characters.
 * @param quoting whether the file may be, or has to be, read without quotes
 * @param escaping whether backslashes may, or have to, escape delimiters
 * @param givenDialect properties that a person set, which are not detected; the lines that are to be skipped are no part of the
 * head
 * @param furtherRecords records from behind the head that show what the head does not: they are read as if they stood at its
 * end
 */
export function sniffDialect(
  head: Uint8Array,
  isLast: boolean,
  decode: Decode,
  quoting: Quoting,
  escaping: Escaping = 'undecided',
  givenDialect: GivenDialect = {},
  furtherRecords?: Uint8Array,
): SniffedDialect {
  const delimiters = givenDialect.delimiter === undefined ? DELIMITERS : [givenDialect.delimiter];
  const listUnquotedDialects = () => delimiters.map((delimiter): Dialect => ({ ...UNQUOTED_DIALECT, delimiter }));
  const tryDialect = (dialect: Dialect): DialectTrial => {
    const parsedHead = readHead(head, isLast, dialect, decode, furtherRecords);
    const findBestLayout = (records: HeadRecord[]) =>
      givenDialect.skip_lines === undefined
        ? findLayout(records, dialect, givenDialect.delimiter !== undefined)
        : findLayoutFromFirst(records);
    const { records, ownCount } = parsedHead;
    let layout = findBestLayout(records);
    // The table does not begin behind the head.
    if (layout.preambleCount >= ownCount) layout = findBestLayout(records.slice(0, ownCount));
    return { dialect, head: parsedHead, layout, score: computePlausibility(parsedHead, layout) };
  };
  const tryEscapes = (dialect: Dialect): DialectTrial[] => {
    const plainTrial = tryDialect(dialect);
    if (escaping === 'plain' || (escaping === 'undecided' && !hasEscaped(head, 0, head.length, dialect.delimiter)))
      return [plainTrial];
    const escapedTrial = tryDialect({ ...dialect, escapesDelimiters: true });
    if (escaping === 'escaped') return [escapedTrial];
    return hasEvenWidth(escapedTrial) && !hasEvenWidth(plainTrial) ? [escapedTrial] : [plainTrial];
  };
  if (quoting === 'unquoted')
    return toSniffedDialect(chooseBestTrial(listUnquotedDialects().flatMap(tryEscapes)), quoting);
  const texts = [head.subarray(0, HEAD_BYTES), furtherRecords].map((bytes) => new TextDecoder('latin1').decode(bytes));
  const trials = listCandidates(texts.join('\n'), delimiters, givenDialect.quote).flatMap(tryEscapes);
  const quotedTrial = chooseBestTrial(trials);
  if (quoting === 'quoted') return toSniffedDialect(quotedTrial, quoting);
  if (!isDoubtful(quotedTrial)) return toSniffedDialect(quotedTrial, getQuoting(quotedTrial));
  const unquotedTrial = chooseBestTrial(listUnquotedDialects().flatMap(tryEscapes));
  // What breaks the rules may be the delimiter: then quotes and line ends of another one's values would split these.
  const ruleKeepingTrials = trials.filter((trial) => {
    const { delimiter, quote } = trial.dialect;
    const isUnquotedDelimiter = delimiter === unquotedTrial.dialect.delimiter && unquotedTrial.layout.width > 1;
    return (
      quote === quotedTrial.dialect.quote && hasProperQuotes(trial) && (isUnquotedDelimiter || isConsistent(trial))
    );
  });
  if (ruleKeepingTrials.length > 0) {
    const bestRuleTrial = chooseBestTrial(ruleKeepingTrials);
    return toSniffedDialect(bestRuleTrial, getQuoting(bestRuleTrial));
  }
  return isEqualTable(unquotedTrial, quotedTrial)
    ? toSniffedDialect(unquotedTrial, 'undecided')
    : toSniffedDialect(quotedTrial, 'quoted');
}

/** Finds where the table is in the head of a sheet's text. */
export function sniffSheet(
  bytes: Uint8Array,
  isLast: boolean,
  decode: Decode,
  shape: SheetShape,
  givenDialect: GivenDialect = {},
): SniffedDialect & { titleRows: TitleRow[] } {
  const head = readHead(bytes, isLast, SHEET_DIALECT, decode);
  const layout = findSheetLayout(head.records, shape, givenDialect.skip_lines !== undefined);
  const titleRows = head.records.slice(0, layout.preambleCount).map(({ line, start }, index) => ({
    line,
    start,
    end: head.records[index + 1]?.start ?? start,
  }));
  return { ...toSniffedDialect({ dialect: SHEET_DIALECT, head, layout, score: 1 }, 'quoted'), titleRows };
}

/** Row above a sheet's table, and its offset in the head. */
export interface TitleRow {
  line: number;
  start: number;
  end: number;
}

/** Trial of a dialect: the head as read in it. */
interface DialectTrial {
  dialect: Dialect;
  head: Head;
  layout: Layout;
  score: number;
}

/** Returns true if the trial's quotes seem to be ordinary characters. */
function isDoubtful({ head: { quoteStatistics, isUnclosed }, layout }: DialectTrial): boolean {
  const rows = quoteStatistics.foldedWidths.filter((width) => width > 1 && width === layout.width).length;
  return (
    quoteStatistics.brokenQuoteCount + rows > 0 ||
    isUnclosed ||
    (quoteStatistics.strayQuoteCount > 0 && quoteStatistics.properQuoteCount === 0)
  );
}

const hasProperQuotes = (trial: DialectTrial): boolean =>
  trial.head.quoteStatistics.properQuoteCount > 0 && !isDoubtful(trial);

/** Returns true if quotes stand only around values, and the trial makes a table, or has values that need their quotes. */
const isConsistent = ({ head: { quoteStatistics }, layout }: DialectTrial): boolean =>
  quoteStatistics.strayQuoteCount === 0 &&
  (layout.width > 1 || quoteStatistics.isNeeded || quoteStatistics.foldedWidths.length > 0);

const getQuoting = ({ head: { quoteStatistics } }: DialectTrial): Quoting =>
  quoteStatistics.isNeeded || quoteStatistics.foldedWidths.length > 0 ? 'quoted' : 'undecided';

const chooseBestTrial = (trials: DialectTrial[]): DialectTrial =>
  trials.reduce((bestTrial, trial) => (trial.score > bestTrial.score + 1e-9 ? trial : bestTrial));

/** Returns true if all records of a table have the same number of fields, except for notes below it. */
function hasEvenWidth({ head, layout: { width, preambleCount, hasRowNames } }: DialectTrial): boolean {
  const body = head.records.slice(preambleCount);
  const end = body.findLastIndex((record) => record.filledCount > 1) + 1;
  return width > 1 && !hasRowNames && body.slice(0, end).every((record) => record.width === width);
}

function toSniffedDialect({ dialect, layout, head }: DialectTrial, quoting: Quoting): SniffedDialect {
  const body = head.records[layout.preambleCount];
  const hasTooManyFields = head.hasTooManyFields && head.ownCount === 0;
  const effectiveWidth = Math.max(1, ...head.records.map((record) => record.effectiveWidth));
  return {
    dialect,
    layout,
    recordCount: head.ownCount,
    recordsEnd: head.ownEnd,
    bodyLine: body?.line ?? 1,
    bodyStart: body?.start ?? 0,
    quoting,
    hasTooManyFields,
    effectiveWidth,
  };
}

/** Score of a trial whose first record has too many fields: above that of a single column, below that of a narrower table. */
const OVERFLOW_SCORE = 0.45;

function computePlausibility(head: Head, layout: Layout): number {
  if (head.hasTooManyFields && head.records.length === 0) return OVERFLOW_SCORE;
  const columns = layout.width === 1 ? 0.4 : 1 - 0.3 / layout.width;
  const brokenFactor = (1 - 0.5 * head.irregularShare) * (head.isUnclosed ? 0.2 : 1);
  const skippedFactor = 1 - 0.2 * (layout.preambleCount / Math.max(1, head.records.length));
  return layout.consistency * head.cleanShare * columns * brokenFactor * skippedFactor;
}

/**
 * Returns true if the head read without quotes is as good a table: at least as wide, with no record too wide and no more
 * records too short; up to 2 % more may be too short if quotes are broken, and fewer must be if quotes enclose delimiters.
 */
function isEqualTable(unquotedTrial: DialectTrial, quotedTrial: DialectTrial): boolean {
  const countTrialWidths = ({ head: { records }, layout: { preambleCount, width } }: DialectTrial) =>
    countWidths(records, preambleCount, width);
  const { over, short } = countTrialWidths(unquotedTrial);
  const { brokenQuoteCount, isNeeded } = quotedTrial.head.quoteStatistics;
  const toleratedCount = isNeeded ? -1 : brokenQuoteCount > 0 ? unquotedTrial.head.records.length / 50 : 0;
  return (
    over === 0 &&
    short <= countTrialWidths(quotedTrial).short + toleratedCount &&
    unquotedTrial.layout.width >= quotedTrial.layout.width
  );
}

const UNQUOTED_DIALECT: Omit<Dialect, 'delimiter'> = { quote: null, escape: 'doubled', spaceBeforeQuote: false };

/** Lists the dialects to try: only those whose quote occurs in the text, or the one that a person set. */
function listCandidates(text: string, delimiters: Delimiter[], givenQuote: Dialect['quote'] | undefined): Dialect[] {
  const quotes = givenQuote
    ? [givenQuote]
    : QUOTES.filter((quote) => quote === '"' || /(?:^|[,;\t|\r\n]) *'/.test(text));
  const escapeChoices: Dialect['escape'][] = /\\["']/.test(text) ? ['doubled', 'backslash'] : ['doubled'];
  const spaceChoices = delimiters.some((delimiter) =>
    new RegExp(`[${delimiter}] +["']`.replace('[^]', '\\^')).test(text),
  )
    ? [false, true]
    : [false];
  return spaceChoices.flatMap((spaceBeforeQuote) =>
    escapeChoices.flatMap((escaping) =>
      quotes.flatMap((quote) =>
        delimiters.map((delimiter) => ({ delimiter, quote, escape: escaping, spaceBeforeQuote })),
      ),
    ),
  );
}
