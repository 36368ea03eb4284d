import { parseExactJson } from './exact-json.ts';
import { ARRAY, JsonWalk, OBJECT, STRING } from './json-walk.ts';

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** An object of a JSON body, left in UTF-8 until it is read: values would take several times the memory. */
export class UnreadObject {
  /** The number of the object's fields, those of the same name included. */
  readonly fields: number;
  readonly #bytes: Uint8Array;
  readonly #start: number;
  readonly #end: number;
  /** Whether an array or an object stands in it. */
  readonly #isNested: boolean;

  constructor(bytes: Uint8Array, start: number, end: number, fields: number, isNested: boolean) {
    this.#bytes = bytes;
    this.#start = start;
    this.#end = end;
    this.fields = fields;
    this.#isNested = isNested;
  }

  /** The length of the object in the body, in bytes. */
  get bytes(): number {
    return this.#end - this.#start;
  }

  /** Returns the object's fields as `parseExactJson` does, but each array or object among them empty. */
  read(): Record<string, unknown> {
    const text = this.#isNested ? this.#flatText() : this.#text(this.#start, this.#end);
    return parseExactJson(text) as Record<string, unknown>;
  }

  #text(start: number, end: number): string {
    return decoder.decode(this.#bytes.subarray(start, end));
  }

  #flatText(): string {
    let text = '';
    let done = this.#start;
    const walk = new JsonWalk(this.#bytes, this.#start, Number.POSITIVE_INFINITY);
    const flatten = () => {
      const first = walk.next();
      const start = walk.at;
      walk.value();
      if (first !== OBJECT && first !== ARRAY) return;
      text += `${this.#text(done, start)}[]`;
      done = walk.at;
    };
    walk.members(flatten, 0);
    return text + this.#text(done, this.#end);
  }
}

/** The list of a body whose objects are left unread. */
export interface UnreadList {
  /** The field of the body that is the list of them. */
  list: string;
  /** The maximum number of objects. Of a longer list only one more is looked at, as it is too long. */
  most: number;
}

const BOM = [0xef, 0xbb, 0xbf];

/** The number of other fields whose names are read. */
const MAX_OTHERS = 100;

/**
 * Checks that bytes are JSON, and reads no more of an object than one field, the list of `unread`: its objects are
 * `UnreadObject`s, and all else in it is null. Of other fields stand their names, with null. In place of a value that is no
 * object, or of a list that is none, stands an empty value of its type.
 * @throws SyntaxError, NestedTooDeep, and TypeError for bytes that are no UTF-8
 */
export function readUnread(bytes: Uint8Array, unread: UnreadList, deepest: number): unknown {
  requireUtf8(bytes);
  const walk = new JsonWalk(bytes, BOM.every((byte, index) => bytes[index] === byte) ? BOM.length : 0, deepest);
  const body: Record<string, unknown> = Object.create(null);
  let others = 0;
  const first = walk.next();
  if (first === OBJECT) {
    walk.members((start, end) => {
      if (isCalled(unread.list, bytes, start, end)) body[unread.list] = readList(walk, unread.most);
      else {
        others += 1;
        if (others <= MAX_OTHERS) body[JSON.parse(decoder.decode(bytes.subarray(start, end)))] = null;
        walk.value(1);
      }
    }, 0);
  } else walk.value();
  walk.next();
  if (walk.at < bytes.length) throw new SyntaxError();
  return first === OBJECT ? body : makeEmpty(first);
}

/** The number of bytes that are decoded at a time, only to find out whether they are UTF-8. */
const PIECE_BYTES = 256 * 1024;

function requireUtf8(bytes: Uint8Array): void {
  const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  for (let at = 0; at < bytes.length; at += PIECE_BYTES)
    strict.decode(bytes.subarray(at, at + PIECE_BYTES), { stream: true });
  strict.decode();
}

function readList(walk: JsonWalk, most: number): unknown {
  const first = walk.next();
  if (first !== ARRAY) {
    walk.value(1);
    return makeEmpty(first);
  }
  const objects: (UnreadObject | null)[] = [];
  walk.elements(() => {
    const object = readObject(walk);
    if (objects.length <= most) objects.push(object);
  }, 1);
  return objects;
}

function readObject(walk: JsonWalk): UnreadObject | null {
  if (walk.next() !== OBJECT) {
    walk.value(2);
    return null;
  }
  const start = walk.at;
  let fields = 0;
  let isNested = false;
  walk.members(() => {
    fields += 1;
    const first = walk.next();
    isNested ||= first === OBJECT || first === ARRAY;
    walk.value(3);
  }, 2);
  return new UnreadObject(walk.bytes, start, walk.at, fields, isNested);
}

/** Whether the name of a field, which can be escaped, is this one. */
function isCalled(name: string, bytes: Uint8Array, start: number, end: number): boolean {
  const longest = name.length * '\\u0000'.length + 2;
  return end - start <= longest && JSON.parse(decoder.decode(bytes.subarray(start, end))) === name;
}

function makeEmpty(first: number): unknown {
  switch (first) {
    case OBJECT:
      return {};
    case ARRAY:
      return [];
    case STRING:
      return '';
    case 0x6e:
      return null;
    default:
      return first === 0x74 || first === 0x66 ? false : 0;
  }
}
