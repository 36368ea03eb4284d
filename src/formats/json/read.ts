import type { RecordWriter } from '../records/writer.ts';
import { hasHighBytes } from '../text/detect.ts';
import { ObjectReader } from './objects.ts';
import { JsonProblem } from './problem.ts';

/** The maximum size of an object in bytes. */
export const MAX_OBJECT_BYTES = 16 * 1024 * 1024;

/** The arrangement of the objects in the file: one a line, or in an array. */
export type JsonForm = 'lines' | 'array';

/** The kinds of tokens that may come next in an array. */
type ArrayPlace = 'begin' | 'first' | 'element' | 'separator' | 'end';

/** The progress of reading a file. Plain data. */
export interface JsonState {
  /** The next line, or element of the array, from 1. */
  line: number;
  /** Objects so far. */
  objects: number;
  /** The names of the columns so far. */
  names: string[];
  place: ArrayPlace;
}

export const beginJson = (): JsonState => ({ line: 1, objects: 0, names: [], place: 'begin' });

/** The file after some blocks, and the bytes of the last one that were read. */
export interface JsonRead {
  state: JsonState;
  taken: number;
}

const LINE_FEED = 10;
const OPENING = 0x5b;
const CLOSING = 0x5d;
const COMMA = 0x2c;
const OBJECT = 0x7b;

/** Writes the complete objects in the next bytes as records. @param most columns allowed. @throws JsonProblem */
export function readJson(
  form: JsonForm,
  from: JsonState,
  bytes: Uint8Array,
  isLast: boolean,
  most: number,
  writer: RecordWriter,
): JsonRead {
  const isAscii = !hasHighBytes(bytes);
  const objects = new ObjectReader(from.names, most, writer);
  const read =
    form === 'lines'
      ? readLines(objects, from, bytes, isLast, isAscii, writer)
      : readArray(objects, from, bytes, isLast, isAscii);
  return { ...read, state: { ...read.state, objects: from.objects + objects.count, names: objects.names } };
}

/** A line without an object stays an empty line of the text, so that lines have the same numbers. */
function readLines(
  objects: ObjectReader,
  from: JsonState,
  bytes: Uint8Array,
  isLast: boolean,
  isAscii: boolean,
  writer: RecordWriter,
): JsonRead {
  let { line } = from;
  let taken = 0;
  while (taken < bytes.length) {
    const found = bytes.indexOf(LINE_FEED, taken);
    if (found < 0 && !isLast) break;
    const end = found < 0 ? bytes.length : found;
    if (end - taken > MAX_OBJECT_BYTES) throw new JsonProblem('too_long', line);
    const text = bytes.subarray(taken, end);
    if (isSpace(text)) writer.blank();
    else objects.read(text, line, isAscii);
    taken = found < 0 ? end : end + 1;
    line += 1;
  }
  if (bytes.length - taken > MAX_OBJECT_BYTES) throw new JsonProblem('too_long', line);
  return { state: { ...from, line }, taken };
}

function readArray(
  objects: ObjectReader,
  from: JsonState,
  bytes: Uint8Array,
  isLast: boolean,
  isAscii: boolean,
): JsonRead {
  let { line, place } = from;
  let taken = 0;
  for (;;) {
    const at = spaceEnd(bytes, taken);
    if (at === bytes.length) break;
    const byte = bytes[at];
    if (place === 'end') throw new JsonProblem('more_after_end', line);
    if (place === 'begin') {
      if (byte !== OPENING) throw new JsonProblem('not_array', line);
      place = 'first';
      taken = at + 1;
    } else if (byte === CLOSING && place !== 'element') {
      place = 'end';
      taken = at + 1;
    } else if (place === 'separator') {
      if (byte !== COMMA) throw new JsonProblem('malformed', line);
      place = 'element';
      taken = at + 1;
    } else {
      if (byte === CLOSING) throw new JsonProblem('trailing_comma', line);
      if (byte !== OBJECT) throw new JsonProblem(byte === COMMA ? 'malformed' : 'not_object', line);
      const end = objectEnd(bytes, at);
      if (end < 0 ? bytes.length - at > MAX_OBJECT_BYTES : end - at > MAX_OBJECT_BYTES) {
        throw new JsonProblem('too_long', line);
      }
      if (end < 0 && !isLast) break;
      if (end < 0) throw new JsonProblem('truncated', line);
      objects.read(bytes.subarray(at, end), line, isAscii);
      place = 'separator';
      taken = end;
      line += 1;
    }
  }
  if (isLast && place !== 'end') throw new JsonProblem(place === 'begin' ? 'not_array' : 'truncated', line);
  return { state: { ...from, line, place }, taken };
}

const isSpace = (bytes: Uint8Array): boolean => spaceEnd(bytes, 0) === bytes.length;

function spaceEnd(bytes: Uint8Array, from: number): number {
  let at = from;
  while (at < bytes.length) {
    const byte = bytes[at];
    if (byte !== 32 && byte !== 9 && byte !== 10 && byte !== 13) break;
    at++;
  }
  return at;
}

/** The end of the object that begins at an offset, by its braces alone; -1 where the bytes end before. */
function objectEnd(bytes: Uint8Array, from: number): number {
  let depth = 0;
  for (let at = from; at < bytes.length; at++) {
    switch (bytes[at]) {
      case 0x22:
        for (at++; at < bytes.length && bytes[at] !== 0x22; at++) if (bytes[at] === 0x5c) at++;
        break;
      case OBJECT:
      case OPENING:
        depth++;
        break;
      case CLOSING:
      case 0x7d:
        if (--depth === 0) return at + 1;
    }
  }
  return -1;
}
