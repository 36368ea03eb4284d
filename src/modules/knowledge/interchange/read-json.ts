import { ARRAY_START, JsonWalker, NestedTooDeepError, OBJECT_START } from '../../../kernel/json-walk.ts';
import { importUnreadable } from './failures.ts';
import { type LocatedValue, MAX_ENTRIES, makeTooManyEntriesFailure } from './read-knowledge.ts';

const MAX_DEPTH = 100;
/**
 * The maximum number of commas and opening brackets, which bounds the number of values: even an empty list takes memory. One for
 * each ten bytes of the largest document.
 */
const MAX_VALUE_SEPARATORS = 500_000;
const VALUE_SEPARATORS = new Set([...',[{'].map((character) => character.charCodeAt(0)));

/** Parses JSON, with the line numbers of its members, and of the elements of lists among them. */
export function readJson(text: string): LocatedValue {
  const bytes = new TextEncoder().encode(text);
  requireBoundedValues(bytes);
  const lines = new Map<string, number>();
  const walk = new JsonWalker(bytes, 0, MAX_DEPTH);
  const findLineAt = createLineFinder(bytes);
  const decoder = new TextDecoder();
  const walkMembers = () =>
    walk.walkMembers((start, end) => {
      const name: string = JSON.parse(decoder.decode(bytes.subarray(start, end)));
      lines.set(name, findLineAt(start));
      if (walk.findNextByte() !== ARRAY_START) return walk.walkValue(1);
      let index = 0;
      walk.walkElements(() => {
        if (index > MAX_ENTRIES) throw makeTooManyEntriesFailure();
        walk.findNextByte();
        lines.set(`${name}\n${index}`, findLineAt(walk.at));
        index += 1;
        walk.walkValue(2);
      }, 1);
    }, 0);
  try {
    if (walk.findNextByte() === OBJECT_START) walkMembers();
    else walk.walkValue();
    walk.findNextByte();
    if (walk.at < bytes.length) throw new SyntaxError();
  } catch (error) {
    if (error instanceof NestedTooDeepError) throw importUnreadable(`it is nested more than ${MAX_DEPTH} levels deep`);
    if (error instanceof SyntaxError) throw importUnreadable('it is not valid JSON', findLineAt(walk.at));
    throw error;
  }
  return { value: JSON.parse(text), findLine: (...path) => lines.get(path.slice(0, 2).join('\n')) ?? 1 };
}

/** Throws for a document with too many values, counted by commas and opening brackets: most values follow one. */
function requireBoundedValues(bytes: Uint8Array): void {
  let separatorCount = 0;
  for (const byte of bytes) if (VALUE_SEPARATORS.has(byte)) separatorCount += 1;
  if (separatorCount > MAX_VALUE_SEPARATORS)
    throw importUnreadable(`it has more than ${MAX_VALUE_SEPARATORS} commas and opening brackets`);
}

/** Returns a function that finds the line of a byte offset; it must be called with ascending offsets. */
function createLineFinder(bytes: Uint8Array): (at: number) => number {
  let line = 1;
  let countedEnd = 0;
  return (at) => {
    for (; countedEnd < at && countedEnd < bytes.length; countedEnd += 1) if (bytes[countedEnd] === 10) line += 1;
    return line;
  };
}
