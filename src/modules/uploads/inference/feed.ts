import { newColumn } from './columns.ts';
import { SHEET, sniff } from './dialect.ts';
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
import { InferenceError } from './errors.ts';
import { HEAD_BYTES } from './head.ts';
import { scan } from './records.ts';
import { RecordFold } from './rows.ts';
import type { Dialect } from './schema.ts';
import { type InferenceState, MAX_COLUMNS, MAX_RECORD_BYTES } from './state.ts';
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
    width: 0,
    preambleLeft: 0,
    rowNames: false,
    skippedLines: 0,
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
 * on with: the next block begins at its `offset` and has at least `wants` bytes unless the file ends. Once in a file's
 * life the answer may be a fresh start (`offset` 0): bytes showed that it is not UTF-8 as it had seemed.
 * @param isLast the block reaches the end of the file.
 * @throws InferenceError naming file and line.
 */
export function feed(state: InferenceState, block: Uint8Array, isLast: boolean): InferenceState {
  try {
    return take(state, block, isLast);
  } catch (error) {
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
    if (!isLast && block.length < HEAD_BYTES) return atLeast(state, HEAD_BYTES * 2);
    const whole = isLast && working.length <= HEAD_BYTES;
    const { dialect, layout, bodyLine } = sniff(
      working.subarray(0, HEAD_BYTES),
      whole,
      decode,
      state.sheet ? SHEET : null,
    );
    if (layout.width > MAX_COLUMNS) throw tooManyColumns(layout.width);
    state.dialect = dialect;
    state.width = layout.width;
    state.preambleLeft = layout.preamble;
    state.rowNames = layout.rowNames;
    state.skippedLines = layout.preamble === 0 ? 0 : bodyLine - 1;
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

function atLeast(state: InferenceState, bytes: number): InferenceState {
  state.wants = bytes;
  return state;
}

/** Refuses bytes that are no text; answers a fresh start where the bytes contradict UTF-8 after letters of it were read. */
function checkBytes(state: InferenceState, bytes: Uint8Array, isLast: boolean): InferenceState | null {
  const nul = bytes.indexOf(0);
  if (nul >= 0) throw nulByte(state.line + lineFeeds(bytes, nul));
  if (!hasHighBytes(bytes)) {
    if (state.encoding === 'windows-1252') checkControls(state, bytes);
    return null;
  }
  if (state.encoding === 'utf-8' && !isUtf8(bytes, isLast)) {
    if (state.encodingCertain) throw unreadable(state.line + linesOfUtf8(bytes), 'UTF-8');
    if (state.beyondAscii) {
      return { ...beginInference(state), encoding: 'windows-1252', encodingCertain: true };
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
  if (control >= 0) throw unreadable(state.line + lineFeeds(bytes, control), 'UTF-8 ou Windows-1252');
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

function lineFeeds(bytes: Uint8Array, end: number): number {
  let count = 0;
  for (let index = 0; index < end; index++) if (bytes[index] === 10) count++;
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
  if (hasEndMarker(bytes)) state.irregular = true;
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

function tooManyColumns(width: number): InferenceError {
  return new InferenceError('TOO_MANY_COLUMNS', `O arquivo tem ${width} colunas; o máximo é ${MAX_COLUMNS}.`, {
    line: 1,
  });
}
