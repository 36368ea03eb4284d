import { hasEndOfData, NO_QUOTE_BYTE } from '../../../formats/copy/csv.ts';
import { type Dialect, RECORDS_DIALECT } from '../../../formats/csv/dialect.ts';
import { HEAD_BYTES } from '../../../formats/csv/head.ts';
import type { Escaping, Quoting } from '../../../formats/csv/quoting.ts';
import { MAX_FIELDS, scanRecords } from '../../../formats/csv/records.ts';
import { sniffDialect, sniffSheet } from '../../../formats/csv/sniff.ts';
import {
  createDecoder,
  type Decode,
  type Encoding,
  measureEncodedLength,
  toScannableBytes,
} from '../../../formats/text/decode.ts';
import {
  countLineEnds,
  guessEncoding,
  hasHighBytes,
  hasUndefined1252Byte,
  isUtf8,
  takeReadableBytes,
} from '../../../formats/text/detect.ts';
import { concatBytes } from '../../../kernel/bytes.ts';
import { MAX_COLUMNS } from '../../../tenant-sql/columns.ts';
import { makeColumn } from './columns.ts';
import {
  bytesUnreadable,
  delimiterNotFound,
  fileWithoutRows,
  InferenceError,
  nulByteFound,
  recordTooLarge,
  toInferenceError,
  tooManyColumns,
  unclosedQuote,
} from './errors.ts';
import { findLineOffset } from './given-options.ts';
import { BrokenQuotesError, DialectDoubtedError, EscapedDelimiterError, RecordFold } from './rows.ts';
import { UnevenEscapesError } from './sample-rows.ts';
import { readLinesBefore, toSkippedLines } from './skipped-lines.ts';
import { type InferenceState, MAX_RECORD_BYTES } from './state.ts';

/**
 * Makes the state before a text's first block. `sheet`, `records`: facts about the workbook's sheet, or the records, that the
 * text was converted from; `said`: the reading options that a person gave.
 */
export function beginInference({
  fileName,
  sheet = null,
  records = null,
  said = {},
}: Pick<InferenceState, 'fileName'> & Partial<InferenceState>): InferenceState {
  const isConverted = sheet !== null || records !== null;
  return {
    fileName,
    said,
    sheet,
    records,
    offset: 0,
    line: 1,
    wants: records ? 1 : HEAD_BYTES,
    done: false,
    encoding: isConverted ? 'utf-8' : null,
    encodingCertain: isConverted,
    beyondAscii: false,
    undefinedBytes: false,
    dialect: records && RECORDS_DIALECT,
    quoting: isConverted || said.quote ? 'quoted' : said.quote === null ? 'unquoted' : 'undecided',
    escaping: isConverted ? 'plain' : 'undecided',
    width: records?.names.length ?? 0,
    preambleLeft: 0,
    rowNames: false,
    skippedLines: 0,
    skipped: [],
    above: null,
    firstRow: null,
    secondRow: null,
    rows: 0,
    end: 0,
    columns: (records?.names ?? []).map(makeColumn),
    sampleRows: [],
    sampleSize: 0,
    trailing: [],
    manySparse: false,
    blank: false,
    blankBeforeSecond: false,
    dense: false,
    // No record is searched for cells of the first: the file says what its columns are.
    recurs: records !== null,
    irregular: false,
    lineEnds: 0,
  };
}

/**
 * Reads the complete records of the next block, which begins at `state.offset`, and returns the new state. The next block
 * begins at the new state's `offset` and has at least `wants` bytes unless the file ends before. The new state may start over
 * (`offset` 0), at most nine times a file: when bytes show that the file is not UTF-8 after all, that its quotes are ordinary
 * characters, or that it cannot be read without quotes; that backslashes escape its delimiters, or do not; or when a record
 * behind the head is the first one with a reason to decide the dialect again (see `DecidingRecord`). @param isLast the block
 * reaches the end of the file
 * @throws InferenceError with file and line
 */
export function inferFromBlock(state: InferenceState, block: Uint8Array, isLast: boolean): InferenceState {
  try {
    return readBlockRecords(state, block, isLast);
  } catch (caughtError) {
    if (caughtError instanceof DialectDoubtedError)
      return restartInference({ ...state, decidingRecords: [...(state.decidingRecords ?? []), caughtError.record] });
    const error = toInferenceError(caughtError);
    const otherEscaping = tryOtherEscaping(state, error);
    if (otherEscaping !== null) return restartInference({ ...state, escaping: otherEscaping });
    const otherQuoting = tryOtherQuoting(state, error);
    if (otherQuoting !== null) return restartInference({ ...state, quoting: otherQuoting });
    if (!(error instanceof InferenceError)) throw error;
    throw new InferenceError(error.code, error.message, { file: state.fileName, ...error.location });
  }
}

function readBlockRecords(state: InferenceState, block: Uint8Array, isLast: boolean): InferenceState {
  let bytes = block;
  if (state.encoding === null) {
    const guess = guessEncoding(block);
    const encoding = state.said.encoding ?? guess.encoding;
    // Three bytes that mark UTF-8 are no text, whatever is said.
    const markLength = guess.encoding === encoding || guess.encoding === 'utf-8' ? guess.markLength : 0;
    state.encoding = encoding;
    state.encodingCertain = markLength > 0 || encoding !== 'utf-8' || state.said.encoding !== undefined;
    state.offset += markLength;
    bytes = block.subarray(markLength);
  }
  let scannableBytes = toScannableBytes(bytes, state.encoding, isLast);
  if (scannableBytes === null) throw bytesUnreadable(state.line + countReadableLines(bytes, state.encoding), 'UTF-16');
  const restartState = checkTextBytes(state, scannableBytes, isLast);
  if (restartState !== null) return restartState;

  const decode = createDecoder(state.encoding);
  if (state.dialect === null) {
    if (!isLast && block.length < state.wants) return state;
    const start = scannableBytes.subarray(0, state.wants);
    const isWholeFile = isLast && start.length === scannableBytes.length;
    const { skip_lines: skipLines = 0, delimiter } = state.said;
    const skipOffset = findLineOffset(start, skipLines, state.sheet !== null);
    if (skipOffset < 0 && isWholeFile) throw fileWithoutRows(state.fileName);
    // The line feed of a line end may be behind the bytes.
    if (!isWholeFile && (skipOffset < 0 || (skipOffset > 0 && skipOffset === start.length))) {
      if (state.wants >= MAX_RECORD_BYTES) throw recordTooLarge(state.line);
      return waitForBytes(state, state.wants * 4);
    }
    const head = start.subarray(skipOffset);
    const isDelimiterGiven = delimiter !== undefined && !state.said.delimiterOfKind;
    if (isDelimiterGiven && !state.sheet && !head.includes(delimiter.charCodeAt(0)))
      throw delimiterNotFound(state.fileName, delimiter);
    const sheet = state.sheet && sniffSheet(head, isWholeFile, decode, state.sheet, state.said);
    const {
      dialect,
      layout,
      recordCount: records,
      recordsEnd,
      bodyLine,
      bodyStart,
      quoting,
      hasTooManyFields,
      effectiveWidth,
    } = sheet ??
    sniffDialect(head, isWholeFile, decode, state.quoting, state.escaping, state.said, joinDecidingRecords(state));
    if (hasTooManyFields) throw tooManyColumns(state.fileName, `mais de ${MAX_FIELDS}`);
    // A header alone does not tell the layout.
    if (records < 2 && !isWholeFile && state.wants < MAX_RECORD_BYTES) return waitForBytes(state, state.wants * 4);
    // Some exports end all lines with as many delimiters as a sheet may have columns.
    const width = layout.width > MAX_COLUMNS ? effectiveWidth : layout.width;
    if (width > MAX_COLUMNS) throw tooManyColumns(state.fileName, width);
    state.dialect = dialect;
    state.headEnd = state.offset + measureEncodedLength(scannableBytes, skipOffset + recordsEnd, state.encoding);
    state.quoting = quoting;
    state.width = width;
    state.preambleLeft = layout.preambleCount;
    state.rowNames = layout.hasRowNames;
    if (skipLines > 0) {
      state.skippedLines = skipLines;
      state.skipped = readLinesBefore(start, skipOffset, decode, state.sheet !== null);
      state.line += skipLines;
      state.offset += measureEncodedLength(scannableBytes, skipOffset, state.encoding);
      scannableBytes = scannableBytes.subarray(skipOffset);
    } else if (sheet) {
      state.skippedLines = layout.preambleCount;
      state.skipped = toSkippedLines(head, sheet.titleRows, decode);
    } else if (layout.preambleCount > 0) {
      state.skippedLines = bodyLine - 1;
      state.skipped = readLinesBefore(head, bodyStart, decode, false);
    }
    state.columns = Array.from({ length: state.width }, makeColumn);
  }
  const readByteCount = addRecords(state, scannableBytes, isLast, state.dialect, decode);
  state.offset += measureEncodedLength(scannableBytes, readByteCount, state.encoding);
  if (isLast) {
    state.done = true;
    delete state.decidingRecords;
  } else if (readByteCount === 0) {
    if (block.length >= MAX_RECORD_BYTES) throw recordTooLarge(state.line);
    return waitForBytes(state, Math.min(block.length * 2, MAX_RECORD_BYTES));
  }
  state.wants = 1;
  return state;
}

/**
 * Decides whether to read the file again because its quotes break the rules (then without quotes), or because it cannot be read
 * without quotes. A record that has too many fields without quotes proves that quotes enclose fields.
 */
function tryOtherQuoting(state: InferenceState, error: unknown): Quoting | null {
  if (state.quoting === 'quoted' || state.dialect === null || state.said.quote !== undefined) return null;
  if (state.dialect.quote === null) return isError(error, 'TOO_MANY_FIELDS') ? 'quoted' : null;
  const areQuotesBroken =
    error instanceof BrokenQuotesError || isError(error, 'UNCLOSED_QUOTE') || isError(error, 'RECORD_TOO_LARGE');
  return areQuotesBroken ? 'unquoted' : null;
}

/**
 * Decides whether to read the file again because backslashes escape its delimiters (a record has too many fields unless they
 * do), or because backslashes do not escape them (records have different numbers of fields if they do).
 */
function tryOtherEscaping({ escaping, dialect }: InferenceState, error: unknown): Escaping | null {
  if (error instanceof EscapedDelimiterError) return 'escaped';
  const areFieldsUneven = error instanceof UnevenEscapesError || isError(error, 'TOO_MANY_FIELDS');
  return areFieldsUneven && dialect?.escapesDelimiters && escaping !== 'plain' ? 'plain' : null;
}

const isError = (error: unknown, code: InferenceError['code']): boolean =>
  error instanceof InferenceError && error.code === code;

/** Makes the state before the file's first block, with the facts that are already certain. */
function restartInference(state: InferenceState): InferenceState {
  const { quoting, escaping, decidingRecords } = state;
  const restartState = { ...beginInference(state), quoting, escaping, ...(decidingRecords && { decidingRecords }) };
  return state.encoding === 'windows-1252' && state.said.encoding === undefined
    ? { ...restartState, encoding: state.encoding, encodingCertain: true }
    : restartState;
}

/** Joins the bytes of the deciding records, each once and with a line end; undefined if there are none. */
function joinDecidingRecords({ decidingRecords = [] }: InferenceState): Uint8Array | undefined {
  if (decidingRecords.length === 0) return undefined;
  const texts = new Set(decidingRecords.map(({ bytes }) => bytes));
  return concatBytes([...texts].flatMap((text) => [Uint8Array.fromBase64(text), LINE_END]));
}

const LINE_END = new TextEncoder().encode('\n');

function waitForBytes(state: InferenceState, bytes: number): InferenceState {
  state.wants = bytes;
  return state;
}

/** Rejects bytes that are not text. Starts over when bytes contradict UTF-8 after other bytes were decoded as UTF-8. */
function checkTextBytes(state: InferenceState, bytes: Uint8Array, isLast: boolean): InferenceState | null {
  const nulOffset = bytes.indexOf(0);
  if (nulOffset >= 0) throw nulByteFound(state.line + countLineEnds(bytes, nulOffset));
  if (!hasHighBytes(bytes)) return null;
  if (state.encoding === 'utf-8' && !isUtf8(bytes, isLast)) {
    if (state.encodingCertain) throw bytesUnreadable(state.line + countReadableLines(bytes, 'utf-8'), 'UTF-8');
    if (state.beyondAscii) return restartInference({ ...state, encoding: 'windows-1252' });
    state.encoding = 'windows-1252';
    state.encodingCertain = true;
  }
  if (state.encoding === 'windows-1252') state.undefinedBytes ||= hasUndefined1252Byte(bytes);
  state.beyondAscii = true;
  return null;
}

/** Counts the line ends before the first bytes that are not in the encoding. */
function countReadableLines(bytes: Uint8Array, encoding: Encoding): number {
  const text = takeReadableBytes(bytes, encoding);
  return countLineEnds(text, text.length);
}

/** Adds the block's complete records to the state and returns their number of bytes. */
function addRecords(
  state: InferenceState,
  bytes: Uint8Array,
  isLast: boolean,
  dialect: Dialect,
  decode: Decode,
): number {
  if (hasEndOfData(bytes) || (dialect.quote === null && bytes.includes(NO_QUOTE_BYTE))) state.irregular = true;
  const fold = new RecordFold(state, bytes, dialect, decode);
  const { endIndex, nextLine, isUnclosed } = scanRecords(
    bytes,
    0,
    isLast,
    dialect,
    state.line,
    fold.fields,
    (start, stop, at) => fold.addRecord(start, stop, at),
  );
  if (isUnclosed) throw unclosedQuote(nextLine);
  state.line = nextLine;
  return endIndex;
}
