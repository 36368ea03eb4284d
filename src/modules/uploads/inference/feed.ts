import { newColumn } from './columns.ts';
import { sniff, sniffSheet } from './dialect.ts';
import {
  beginningEncoding,
  controlCharacter,
  decoderOf,
  hasHighBytes,
  isUtf8,
  sourceLength,
  unreadable,
  workingBytes,
} from './encoding.ts';
import { InferenceError, tooManyColumns } from './errors.ts';
import { HEAD_BYTES } from './head.ts';
import { NEVER_QUOTE } from './quoting.ts';
import { scan } from './records.ts';
import { QuotesBroken, RecordFold } from './rows.ts';
import type { Dialect } from './schema.ts';
import { linesBefore } from './skipped.ts';
import { type InferenceState, MAX_RECORD_BYTES, MAX_WIDTH, type Quoting } from './state.ts';
import type { Decode } from './types.ts';

/** The state before a text's first block. @param hint its name, and whether it was made of a workbook's sheet */
export function beginInference({ fileName, sheet = false }: { fileName: string; sheet?: boolean }): InferenceState {
  return {
    fileName,
    sheet,
    offset: 0,
    line: 1,
    wants: HEAD_BYTES,
    done: false,
    encoding: sheet ? 'utf-8' : null,
    encodingCertain: sheet,
    beyondAscii: false,
    undefinedBytes: false,
    dialect: null,
    quoting: sheet ? 'kept' : 'open',
    width: 0,
    preambleLeft: 0,
    rowNames: false,
    skippedLines: 0,
    skipped: [],
    above: null,
    firstRow: null,
    secondRow: null,
    rows: 0,
    end: 0,
    columns: [],
    sampleRows: [],
    sampleSize: 0,
    trailing: [],
    sparseRows: 0,
    manySparse: false,
    blank: false,
    blankBeforeSecond: false,
    irregular: false,
    lineEnds: 0,
  };
}

/**
 * Takes in the bytes of the file from `state.offset` on, as far as they are whole records, and returns the state to go
 * on with: the next block begins at its `offset` and has at least `wants` bytes unless the file ends. Up to three times
 * in a file's life the answer may be a fresh start (`offset` 0): bytes showed that it is not UTF-8 as it had seemed, or
 * that its quotes are none, or that it cannot be read without them after all.
 * @param isLast the block reaches the end of the file.
 * @throws InferenceError naming file and line.
 */
export function feed(state: InferenceState, block: Uint8Array, isLast: boolean): InferenceState {
  try {
    return take(state, block, isLast);
  } catch (error) {
    const quoting = otherQuoting(state, error);
    if (quoting !== null) return startOver(state, quoting);
    if (!(error instanceof InferenceError)) throw error;
    throw new InferenceError(error.code, error.message, { file: state.fileName, ...error.where });
  }
}

function take(state: InferenceState, block: Uint8Array, isLast: boolean): InferenceState {
  let bytes = block;
  if (state.encoding === null) {
    const { encoding, mark } = beginningEncoding(block);
    state.encoding = encoding;
    state.encodingCertain = mark > 0 || encoding !== 'utf-8';
    state.offset += mark;
    bytes = block.subarray(mark);
  }
  const working = workingBytes(bytes, state.encoding, isLast, state.line);
  const restart = checkBytes(state, working, isLast);
  if (restart !== null) return restart;

  const decode = decoderOf(state.encoding);
  if (state.dialect === null) {
    if (!isLast && block.length < state.wants) return state;
    const head = working.subarray(0, state.wants);
    const whole = isLast && head.length === working.length;
    const { dialect, layout, records, bodyLine, bodyStart, quoting } = state.sheet
      ? sniffSheet(head, whole, decode)
      : sniff(head, whole, decode, state.quoting);
    // Of a header alone nobody can tell.
    if (records < 2 && !whole && state.wants < MAX_RECORD_BYTES) return atLeast(state, state.wants * 4);
    if (layout.width > MAX_WIDTH) throw tooManyColumns(state.fileName, layout.width);
    state.dialect = dialect;
    state.quoting = quoting;
    state.width = layout.width;
    state.preambleLeft = layout.preamble;
    state.rowNames = layout.rowNames;
    if (layout.preamble > 0) {
      state.skippedLines = bodyLine - 1;
      state.skipped = linesBefore(head, bodyStart, decode);
    }
    state.columns = Array.from({ length: layout.width }, newColumn);
  }
  const taken = takeRecords(state, working, isLast, state.dialect, decode);
  state.offset += sourceLength(working, taken, state.encoding);
  if (isLast) state.done = true;
  else if (taken === 0) {
    if (block.length >= MAX_RECORD_BYTES) throw recordTooLarge(state.line);
    return atLeast(state, Math.min(block.length * 2, MAX_RECORD_BYTES));
  }
  state.wants = 1;
  return state;
}

/**
 * How else to read the file when its quotes cannot be read by the rules, or it cannot be read without quotes. A record
 * that has too many fields without them decides for quotes, whatever else is wrong with them.
 */
function otherQuoting(state: InferenceState, error: unknown): Quoting | null {
  if (state.quoting === 'kept' || state.dialect === null) return null;
  if (state.dialect.quote === null) return isError(error, 'TOO_MANY_FIELDS') ? 'kept' : null;
  const broken =
    error instanceof QuotesBroken || isError(error, 'UNCLOSED_QUOTE') || isError(error, 'RECORD_TOO_LARGE');
  return broken ? 'without' : null;
}

const isError = (error: unknown, code: InferenceError['code']): boolean =>
  error instanceof InferenceError && error.code === code;

/** The state before the file's first block, with what is certain of it. */
function startOver(state: InferenceState, quoting: Quoting): InferenceState {
  const again = { ...beginInference(state), quoting };
  return state.encoding === 'windows-1252' ? { ...again, encoding: state.encoding, encodingCertain: true } : again;
}

function atLeast(state: InferenceState, bytes: number): InferenceState {
  state.wants = bytes;
  return state;
}

/** Refuses bytes that are no text; answers a fresh start where the bytes contradict UTF-8 after letters of it were read. */
function checkBytes(state: InferenceState, bytes: Uint8Array, isLast: boolean): InferenceState | null {
  const nul = bytes.indexOf(0);
  if (nul >= 0) throw nulByte(state.line + lineEnds(bytes, nul));
  if (!hasHighBytes(bytes)) {
    if (state.encoding === 'windows-1252') checkControls(state, bytes);
    return null;
  }
  if (state.encoding === 'utf-8' && !isUtf8(bytes, isLast)) {
    if (state.encodingCertain) throw unreadable(state.line + linesOfUtf8(bytes), 'UTF-8');
    if (state.beyondAscii) {
      return startOver({ ...state, encoding: 'windows-1252' }, state.quoting);
    }
    state.encoding = 'windows-1252';
    state.encodingCertain = true;
  }
  if (state.encoding === 'windows-1252') checkControls(state, bytes);
  state.beyondAscii = true;
  return null;
}

const UNDEFINED_1252 = [0x81, 0x8d, 0x8f, 0x90, 0x9d];

function checkControls(state: InferenceState, bytes: Uint8Array): void {
  const control = controlCharacter(bytes);
  if (control >= 0) throw unreadable(state.line + lineEnds(bytes, control), 'UTF-8 ou Windows-1252');
  state.undefinedBytes ||= UNDEFINED_1252.some((byte) => bytes.includes(byte));
}

/** Lines at the beginning that are UTF-8. */
function linesOfUtf8(bytes: Uint8Array): number {
  let lines = 0;
  for (let at = 0; ; lines++) {
    const end = bytes.indexOf(10, at) + 1;
    if (end === 0 || !isUtf8(bytes.subarray(at, end), true)) return lines;
    at = end;
  }
}

/** Line ends before `end`: each LF, CRLF and CR. */
function lineEnds(bytes: Uint8Array, end: number): number {
  let count = 0;
  for (let index = 0; index < end; index++) {
    if (bytes[index] === 10 || (bytes[index] === 13 && bytes[index + 1] !== 10)) count++;
  }
  return count;
}

/** Folds the block's whole records into the state; answers how many bytes they are. */
function takeRecords(
  state: InferenceState,
  bytes: Uint8Array,
  isLast: boolean,
  dialect: Dialect,
  decode: Decode,
): number {
  if (hasEndMarker(bytes) || (dialect.quote === null && bytes.includes(NEVER_QUOTE))) state.irregular = true;
  const fold = new RecordFold(state, bytes, dialect, decode);
  const { end, line, unclosed } = scan(bytes, 0, isLast, dialect, state.line, fold.fields, (start, stop, at) =>
    fold.take(start, stop, at),
  );
  if (unclosed) throw unclosedQuote(line);
  state.line = line;
  return end;
}

/** Whether a line is `\.` alone: the end of the data to older versions of Postgres's COPY. */
function hasEndMarker(bytes: Uint8Array): boolean {
  const isEdge = (byte: number | undefined) => byte === undefined || byte === 10 || byte === 13;
  for (let at = bytes.indexOf(92); at >= 0; at = bytes.indexOf(92, at + 1)) {
    if (bytes[at + 1] === 46 && isEdge(bytes[at - 1]) && isEdge(bytes[at + 2])) return true;
  }
  return false;
}

function nulByte(line: number): InferenceError {
  return new InferenceError('NUL_BYTE', `A linha ${line} contém um byte nulo: o arquivo não é um texto válido.`, {
    line,
  });
}

function unclosedQuote(line: number): InferenceError {
  return new InferenceError('UNCLOSED_QUOTE', `As aspas abertas no registro da linha ${line} nunca são fechadas.`, {
    line,
  });
}

function recordTooLarge(line: number): InferenceError {
  return new InferenceError(
    'RECORD_TOO_LARGE',
    `O registro que começa na linha ${line} passa de 16 MiB; talvez falte fechar aspas.`,
    { line },
  );
}
