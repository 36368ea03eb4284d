import { ARRAY_START, JsonWalker, NestedTooDeepError, OBJECT_START, STRING_START } from '../../kernel/json-walk.ts';
import { RecordTooLong, type RecordWriter } from '../records/writer.ts';
import { isUtf8 } from '../text/detect.ts';
import { JsonProblem } from './problem.ts';

/** Maximum nesting of arrays and objects. */
const MAX_NESTING = 256;
/** Maximum number of characters of a member's name. */
const MAX_NAME_LENGTH = 1000;

const QUOTE = 34;
const BACKSLASH = 92;
const COMMA = 44;
const CAPITAL_E = 69;
const SMALL_E = 101;
const SMALL_N = 0x6e;

const decoder = new TextDecoder();
const encoder = new TextEncoder();

/** Member at a position of the previous objects: most objects of a file have the same members. */
interface ExpectedMember {
  /** Name of the member in quotes, as it is written. */
  quotedName: Uint8Array;
  columnIndex: number;
}

/** Writes objects as records. The members of all objects are the columns, in the order of their first appearance. */
export class ObjectReader {
  /** Names of the columns so far. */
  readonly columnNames: string[];
  readonly #columns: Map<string, number>;
  readonly #maxColumns: number;
  readonly #writer: RecordWriter;
  readonly #expected: ExpectedMember[] = [];
  /** For each column: number of the last object that had the column. */
  readonly #lastObjectNumbers: number[] = [];
  /** For each column: first byte of its value in the last object that had the column. */
  readonly #kinds: number[] = [];
  /** For each column: offset at which its value starts in the last object that had the column. */
  readonly #starts: number[] = [];
  /** For each column: offset at which its value ends in the last object that had the column. */
  readonly #ends: number[] = [];
  /** Number of objects that were read. */
  objectCount = 0;
  #nested = new Uint8Array(1024);

  /** @param names the columns known already @param maxColumns the number of columns allowed */
  constructor(names: string[], maxColumns: number, writer: RecordWriter) {
    this.columnNames = [...names];
    this.#columns = new Map(names.map((name, column) => [name, column]));
    this.#maxColumns = maxColumns;
    this.#writer = writer;
  }

  /**
   * Writes the object in the bytes as a record.
   * @param line the number of the line, for errors
   * @param isAscii whether all bytes are ASCII, and so valid UTF-8
   * @throws JsonProblem
   */
  readObject(bytes: Uint8Array, line: number, isAscii: boolean): void {
    const walker = new JsonWalker(bytes, 0, MAX_NESTING);
    try {
      if (walker.findNextByte() !== OBJECT_START) {
        walker.walkValue();
        throw new JsonProblem('not_object', line);
      }
      this.#readMembers(walker, line);
      walker.findNextByte();
      if (walker.at < bytes.length)
        throw new JsonProblem(bytes[walker.at] === COMMA ? 'trailing_comma' : 'malformed', line);
      if (!isAscii && !isUtf8(bytes, true)) throw new JsonProblem('not_utf8', line);
      this.#writeRecord(bytes, line);
    } catch (error) {
      if (error instanceof NestedTooDeepError) throw new JsonProblem('too_deep', line);
      if (error instanceof RecordTooLong) throw new JsonProblem('too_long', line);
      throw error instanceof SyntaxError ? new JsonProblem('malformed', line) : error;
    }
  }

  #readMembers(walker: JsonWalker, line: number): void {
    const { bytes } = walker;
    const count = ++this.objectCount;
    let position = 0;
    walker.walkMembers((start, end) => {
      const column = this.#findColumn(bytes, start, end, position++, line);
      if (this.#lastObjectNumbers[column] === count)
        throw new JsonProblem('duplicate_member', line, this.columnNames[column]);
      this.#lastObjectNumbers[column] = count;
      this.#kinds[column] = walker.findNextByte();
      this.#starts[column] = walker.at;
      walker.walkValue(1);
      this.#ends[column] = walker.at;
    }, 0);
  }

  /** Finds the column of the member whose name stands between two offsets. */
  #findColumn(bytes: Uint8Array, start: number, end: number, position: number, line: number): number {
    const expectedMember = this.#expected[position];
    if (expectedMember && hasToken(expectedMember.quotedName, bytes, start, end)) return expectedMember.columnIndex;
    if (end - start > MAX_NAME_LENGTH * 6) throw new JsonProblem('long_name', line);
    const name = JSON.parse(decoder.decode(bytes.subarray(start, end))) as string;
    if (!name.isWellFormed()) throw new JsonProblem('not_utf8', line);
    if (name.length > MAX_NAME_LENGTH) throw new JsonProblem('long_name', line);
    if (name.includes('\0')) throw new JsonProblem('nul', line, name.replaceAll('\0', ''));
    let column = this.#columns.get(name);
    if (column === undefined) {
      column = this.columnNames.length;
      if (column === this.#maxColumns) throw new JsonProblem('too_many_members', line, name);
      this.columnNames.push(name);
      this.#columns.set(name, column);
    }
    this.#expected[position] = { quotedName: bytes.slice(start, end), columnIndex: column };
    return column;
  }

  #writeRecord(bytes: Uint8Array, line: number): void {
    const writer = this.#writer;
    for (let column = 0; column < this.columnNames.length; column++) {
      const kind = this.#lastObjectNumbers[column] === this.objectCount ? this.#kinds[column] : SMALL_N;
      const start = this.#starts[column] as number;
      const end = this.#ends[column] as number;
      if (kind === SMALL_N) writer.writeNull();
      else if (kind === STRING_START) this.#writeText(bytes, start, end, line, column);
      else if (kind === OBJECT_START || kind === ARRAY_START) this.#writeJson(bytes, start, end);
      else writer.writeUnquoted(lowerExponent(bytes, start, end), start, end);
    }
    writer.endRecord();
  }

  /** Writes a text; an empty one is null. */
  #writeText(bytes: Uint8Array, start: number, end: number, line: number, column: number): void {
    if (end - start === 2) {
      this.#writer.writeNull();
      return;
    }
    for (let at = start + 1; at < end - 1; at++) {
      if (bytes[at] !== BACKSLASH) continue;
      const text: string = JSON.parse(decoder.decode(bytes.subarray(start, end)));
      if (text.includes('\0')) throw new JsonProblem('nul', line, this.columnNames[column]);
      // Half of a surrogate pair can only be written as an escape.
      if (!text.isWellFormed()) throw new JsonProblem('not_utf8', line, this.columnNames[column]);
      const encodedText = encoder.encode(text);
      this.#writer.writeQuoted(encodedText, 0, encodedText.length);
      return;
    }
    this.#writer.writeQuoted(bytes, start + 1, end - 1);
  }

  /** Writes an array or object as it is written in the file, without the space around its parts. */
  #writeJson(bytes: Uint8Array, start: number, end: number): void {
    if (this.#nested.length < end - start) this.#nested = new Uint8Array((end - start) * 2);
    const outputBytes = this.#nested;
    let length = 0;
    let isInText = false;
    for (let at = start; at < end; at++) {
      const byte = bytes[at] as number;
      if (isInText && byte === BACKSLASH) {
        outputBytes[length++] = byte;
        outputBytes[length++] = bytes[++at] as number;
        continue;
      }
      if (byte === QUOTE) isInText = !isInText;
      if (isInText || byte > 32) outputBytes[length++] = byte;
    }
    this.#writer.writeQuoted(outputBytes, 0, length);
  }
}

function hasToken(token: Uint8Array, bytes: Uint8Array, start: number, end: number): boolean {
  if (token.length !== end - start) return false;
  for (let index = 0; index < token.length; index++) if (token[index] !== bytes[start + index]) return false;
  return true;
}

/** Writes the exponent of a number with a small `e`: `1E5` is a code in texts of tables. Changes the bytes. */
function lowerExponent(bytes: Uint8Array, start: number, end: number): Uint8Array {
  for (let at = start; at < end; at++) if (bytes[at] === CAPITAL_E) bytes[at] = SMALL_E;
  return bytes;
}
