import { parseExactJson } from './exact-json.ts';
import { ARRAY_START, JsonWalker, OBJECT_START, STRING_START } from './json-walk.ts';

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** An object of a JSON body, left in UTF-8 until it is read: parsed values would take several times the memory. */
export class UnreadObject {
  /** The number of the object's fields, counting duplicate names. */
  readonly fieldCount: number;
  readonly #bytes: Uint8Array;
  readonly #start: number;
  readonly #end: number;
  /** Whether the object contains an array or an object. */
  readonly #isNested: boolean;

  constructor(bytes: Uint8Array, start: number, end: number, fieldCount: number, isNested: boolean) {
    this.#bytes = bytes;
    this.#start = start;
    this.#end = end;
    this.fieldCount = fieldCount;
    this.#isNested = isNested;
  }

  /** The length of the object in the body, in bytes. */
  get byteCount(): number {
    return this.#end - this.#start;
  }

  /** Returns the object's fields as `parseExactJson` does, but with each array or object among them empty. */
  parseFields(): Record<string, unknown> {
    const text = this.#isNested ? this.#flatText() : this.#text(this.#start, this.#end);
    return parseExactJson(text) as Record<string, unknown>;
  }

  #text(start: number, end: number): string {
    return decoder.decode(this.#bytes.subarray(start, end));
  }

  #flatText(): string {
    let text = '';
    let copiedEnd = this.#start;
    const walker = new JsonWalker(this.#bytes, this.#start, Number.POSITIVE_INFINITY);
    const flattenMember = () => {
      const firstByte = walker.findNextByte();
      const start = walker.at;
      walker.walkValue();
      if (firstByte !== OBJECT_START && firstByte !== ARRAY_START) return;
      text += `${this.#text(copiedEnd, start)}[]`;
      copiedEnd = walker.at;
    };
    walker.walkMembers(flattenMember, 0);
    return text + this.#text(copiedEnd, this.#end);
  }
}

/** The list field of a body whose objects are left unparsed. */
export interface UnreadList {
  /** The name of the body's field that holds the list. */
  list: string;
  /** The maximum number of objects. Of a longer list only one more is read, to know that it is too long. */
  maxObjects: number;
}

const BOM = [0xef, 0xbb, 0xbf];

/** The maximum number of other fields whose names are read. */
const MAX_OTHER_FIELDS = 100;

/**
 * Checks that bytes are JSON. Of an object, parses only one field, the list that `unreadList` names: each object in the list
 * becomes an `UnreadObject`, and each other element null. The other fields keep their names, with null as value. A value that
 * is not an object, or a list that is not a list, is replaced by an empty value of its type.
 * @throws SyntaxError, NestedTooDeepError, and TypeError for bytes that are not UTF-8
 */
export function readBodyWithUnreadList(bytes: Uint8Array, unreadList: UnreadList, maxDepth: number): unknown {
  requireUtf8(bytes);
  const walker = new JsonWalker(bytes, BOM.every((byte, index) => bytes[index] === byte) ? BOM.length : 0, maxDepth);
  const body: Record<string, unknown> = Object.create(null);
  let otherFieldCount = 0;
  const firstByte = walker.findNextByte();
  if (firstByte === OBJECT_START) {
    walker.walkMembers((start, end) => {
      if (isFieldNamed(unreadList.list, bytes, start, end))
        body[unreadList.list] = readList(walker, unreadList.maxObjects);
      else {
        otherFieldCount += 1;
        if (otherFieldCount <= MAX_OTHER_FIELDS) body[JSON.parse(decoder.decode(bytes.subarray(start, end)))] = null;
        walker.walkValue(1);
      }
    }, 0);
  } else walker.walkValue();
  walker.findNextByte();
  if (walker.at < bytes.length) throw new SyntaxError();
  return firstByte === OBJECT_START ? body : makeEmptyValue(firstByte);
}

/** The number of bytes decoded at a time when only checking that they are UTF-8. */
const PIECE_BYTES = 256 * 1024;

function requireUtf8(bytes: Uint8Array): void {
  const strictDecoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  for (let at = 0; at < bytes.length; at += PIECE_BYTES)
    strictDecoder.decode(bytes.subarray(at, at + PIECE_BYTES), { stream: true });
  strictDecoder.decode();
}

function readList(walker: JsonWalker, maxObjects: number): unknown {
  const firstByte = walker.findNextByte();
  if (firstByte !== ARRAY_START) {
    walker.walkValue(1);
    return makeEmptyValue(firstByte);
  }
  const objects: (UnreadObject | null)[] = [];
  walker.walkElements(() => {
    const object = readObject(walker);
    if (objects.length <= maxObjects) objects.push(object);
  }, 1);
  return objects;
}

function readObject(walker: JsonWalker): UnreadObject | null {
  if (walker.findNextByte() !== OBJECT_START) {
    walker.walkValue(2);
    return null;
  }
  const start = walker.at;
  let fieldCount = 0;
  let isNested = false;
  walker.walkMembers(() => {
    fieldCount += 1;
    const firstByte = walker.findNextByte();
    isNested ||= firstByte === OBJECT_START || firstByte === ARRAY_START;
    walker.walkValue(3);
  }, 2);
  return new UnreadObject(walker.bytes, start, walker.at, fieldCount, isNested);
}

/** Tells whether the name of a field, which can be escaped, equals this name. */
function isFieldNamed(name: string, bytes: Uint8Array, start: number, end: number): boolean {
  const maxNameBytes = name.length * '\\u0000'.length + 2;
  return end - start <= maxNameBytes && JSON.parse(decoder.decode(bytes.subarray(start, end))) === name;
}

function makeEmptyValue(firstByte: number): unknown {
  switch (firstByte) {
    case OBJECT_START:
      return {};
    case ARRAY_START:
      return [];
    case STRING_START:
      return '';
    case 0x6e:
      return null;
    default:
      return firstByte === 0x74 || firstByte === 0x66 ? false : 0;
  }
}
