import type { RecordWriter } from '../records/writer.ts';
import { hasHighBytes } from '../text/detect.ts';
import { ObjectReader } from './objects.ts';
import { JsonProblem } from './problem.ts';

/** The maximum size of an object in bytes. */
export const MAX_OBJECT_BYTES = 16 * 1024 * 1024;

/** The number of bytes of lines after which reading stops: few bytes of sparse objects make long lines. */
const MAX_LINES_BYTES = 4 * 1024 * 1024;

/** Arrangement of the objects in a file: one a line, or in an array. */
export type JsonForm = 'lines' | 'array';

/** Kind of token that may come next in an array. */
type ArrayPosition = 'begin' | 'first' | 'element' | 'separator' | 'end';

/** Progress of reading a file. Plain data. */
export interface JsonState {
  /** Number of the next line, or element of the array, from 1. */
  line: number;
  /** Number of objects read so far. */
  objects: number;
  /** Names of the columns so far. */
  names: string[];
  place: ArrayPosition;
}

export const beginJson = (): JsonState => ({ line: 1, objects: 0, names: [], place: 'begin' });

/** State of the file after some blocks, and the number of bytes of the last block that were read. */
export interface JsonReadResult {
  state: JsonState;
  takenBytes: number;
  /** Whether the writer is full: its lines are to be taken, and the bytes after those that were read passed again. */
  isFull: boolean;
}

const LINE_FEED = 10;
const OPENING_BRACKET = 0x5b;
const CLOSING_BRACKET = 0x5d;
const COMMA = 0x2c;
const OPENING_BRACE = 0x7b;

/**
 * Writes the complete objects in the next bytes as records, until the writer is full. @param maxColumns maximum number of columns
 * @throws JsonProblem
 */
export function readJson(
  jsonForm: JsonForm,
  from: JsonState,
  bytes: Uint8Array,
  isLast: boolean,
  maxColumns: number,
  writer: RecordWriter,
): JsonReadResult {
  const isAscii = !hasHighBytes(bytes);
  const objects = new ObjectReader(from.names, maxColumns, writer);
  const readForm =
    jsonForm === 'lines'
      ? readLines(objects, from, bytes, isLast, isAscii, writer)
      : readArray(objects, from, bytes, isLast, isAscii, writer);
  return {
    ...readForm,
    state: { ...readForm.state, objects: from.objects + objects.objectCount, names: objects.columnNames },
  };
}

/** Reads objects from lines. A line without an object stays an empty line of the text, so that line numbers agree. */
function readLines(
  objects: ObjectReader,
  from: JsonState,
  bytes: Uint8Array,
  isLast: boolean,
  isAscii: boolean,
  writer: RecordWriter,
): JsonReadResult {
  let { line } = from;
  let takenBytes = 0;
  while (takenBytes < bytes.length) {
    if (isFull(writer)) return { state: { ...from, line }, takenBytes, isFull: true };
    const lineEnd = bytes.indexOf(LINE_FEED, takenBytes);
    if (lineEnd < 0 && !isLast) break;
    const end = lineEnd < 0 ? bytes.length : lineEnd;
    if (end - takenBytes > MAX_OBJECT_BYTES) throw new JsonProblem('too_long', line);
    const text = bytes.subarray(takenBytes, end);
    if (isOnlySpace(text)) writer.endBlankLine();
    else objects.readObject(text, line, isAscii);
    takenBytes = lineEnd < 0 ? end : end + 1;
    line += 1;
  }
  if (bytes.length - takenBytes > MAX_OBJECT_BYTES) throw new JsonProblem('too_long', line);
  return { state: { ...from, line }, takenBytes, isFull: false };
}

function readArray(
  objects: ObjectReader,
  from: JsonState,
  bytes: Uint8Array,
  isLast: boolean,
  isAscii: boolean,
  writer: RecordWriter,
): JsonReadResult {
  let { line, place } = from;
  let takenBytes = 0;
  for (;;) {
    if (isFull(writer)) return { state: { ...from, line, place }, takenBytes, isFull: true };
    const at = findSpaceEnd(bytes, takenBytes);
    if (at === bytes.length) break;
    const byte = bytes[at];
    if (place === 'end') throw new JsonProblem('more_after_end', line);
    if (place === 'begin') {
      if (byte !== OPENING_BRACKET) throw new JsonProblem('not_array', line);
      place = 'first';
      takenBytes = at + 1;
    } else if (byte === CLOSING_BRACKET && place !== 'element') {
      place = 'end';
      takenBytes = at + 1;
    } else if (place === 'separator') {
      if (byte !== COMMA) throw new JsonProblem('malformed', line);
      place = 'element';
      takenBytes = at + 1;
    } else {
      if (byte === CLOSING_BRACKET) throw new JsonProblem('trailing_comma', line);
      if (byte !== OPENING_BRACE) throw new JsonProblem(byte === COMMA ? 'malformed' : 'not_object', line);
      const end = findObjectEnd(bytes, at);
      if (end < 0 ? bytes.length - at > MAX_OBJECT_BYTES : end - at > MAX_OBJECT_BYTES) {
        throw new JsonProblem('too_long', line);
      }
      if (end < 0 && !isLast) break;
      if (end < 0) throw new JsonProblem('truncated', line);
      objects.readObject(bytes.subarray(at, end), line, isAscii);
      place = 'separator';
      takenBytes = end;
      line += 1;
    }
  }
  if (isLast && place !== 'end') throw new JsonProblem(place === 'begin' ? 'not_array' : 'truncated', line);
  return { state: { ...from, line, place }, takenBytes, isFull: false };
}

const isFull = ({ endedBytes }: RecordWriter): boolean => endedBytes > MAX_LINES_BYTES;

const isOnlySpace = (bytes: Uint8Array): boolean => findSpaceEnd(bytes, 0) === bytes.length;

function findSpaceEnd(bytes: Uint8Array, from: number): number {
  let at = from;
  while (at < bytes.length) {
    const byte = bytes[at];
    if (byte !== 32 && byte !== 9 && byte !== 10 && byte !== 13) break;
    at++;
  }
  return at;
}

/** Finds the end of the object that begins at an offset, by its braces alone; -1 if the bytes end before. */
function findObjectEnd(bytes: Uint8Array, from: number): number {
  let depth = 0;
  for (let at = from; at < bytes.length; at++) {
    switch (bytes[at]) {
      case 0x22:
        for (at++; at < bytes.length && bytes[at] !== 0x22; at++) if (bytes[at] === 0x5c) at++;
        break;
      case OPENING_BRACE:
      case OPENING_BRACKET:
        depth++;
        break;
      case CLOSING_BRACKET:
      case 0x7d:
        if (--depth === 0) return at + 1;
    }
  }
  return -1;
}
