import { dateForms, dateSaw } from './dates.ts';
import {
  BLANK,
  S_N,
  SAW_FALSE,
  SAW_TRUE,
  SAW_WIDE_SPACE,
  SIM_NAO,
  T_F,
  TRUE_FALSE,
  V_F,
  VERDADEIRO_FALSO,
  Y_N,
  YES_NO,
} from './forms.ts';
import { numberForms } from './numbers.ts';

/** Turns the bytes between two places into a string, in the file's encoding. */
export type Decode = (bytes: Uint8Array, start: number, end: number) => string;

/** What {@link classify} saw beside the forms in the value it was last called with (`SAW_…`). */
export let saw = 0;

/** The boolean words by their lower-case spelling: forms, and whether it says true. */
const BOOLEAN_WORDS: Record<string, [forms: number, says: boolean]> = {
  true: [TRUE_FALSE, true],
  false: [TRUE_FALSE, false],
  yes: [YES_NO, true],
  no: [YES_NO, false],
  sim: [SIM_NAO, true],
  não: [SIM_NAO, false],
  nao: [SIM_NAO, false],
  verdadeiro: [VERDADEIRO_FALSO, true],
  falso: [VERDADEIRO_FALSO, false],
  t: [T_F, true],
  f: [T_F | V_F, false],
  y: [Y_N, true],
  n: [Y_N | S_N, false],
  s: [S_N, true],
  v: [V_F, true],
};

/** Length of the longest boolean word in bytes. */
const LONGEST_WORD = 10;

/** What a boolean word (any case, trimmed) says, or undefined when it is none. */
function booleanWord(word: string): [forms: number, says: boolean] | undefined {
  const lower = word.normalize('NFC').toLowerCase();
  return Object.hasOwn(BOOLEAN_WORDS, lower) ? BOOLEAN_WORDS[lower] : undefined;
}

/** The words of ASCII letters by their letters, five bits each, so that most values need no string to be looked up. */
const PACKED_WORDS = new Map<number, [forms: number, says: boolean]>();
for (const [word, meaning] of Object.entries(BOOLEAN_WORDS)) {
  const bytes = new TextEncoder().encode(word);
  const key = packed(bytes, 0, bytes.length);
  if (key > 0) PACKED_WORDS.set(key, meaning);
}

/** A word's ASCII letters as one number, alike in either case; 0 when it has another ASCII byte, -1 for a letter beyond. */
function packed(bytes: Uint8Array, start: number, end: number): number {
  let key = 0;
  for (let index = start; index < end; index++) {
    const byte = bytes[index] as number;
    if (byte >= 128) return -1;
    const letter = (byte | 32) - 96;
    if (letter < 1 || letter > 26) return 0;
    key = key * 32 + letter;
  }
  return key;
}

/** What the trimmed boolean word between two places says, as {@link booleanWord} does. */
export function booleanAt(
  bytes: Uint8Array,
  from: number,
  to: number,
  decode: Decode,
): [forms: number, says: boolean] | undefined {
  if (to - from > LONGEST_WORD) return undefined;
  const key = packed(bytes, from, to);
  return key < 0 ? booleanWord(decode(bytes, from, to)) : PACKED_WORDS.get(key);
}

function wordForms(bytes: Uint8Array, from: number, to: number, decode: Decode): number {
  const found = booleanAt(bytes, from, to, decode);
  if (found === undefined) return 0;
  saw |= found[1] ? SAW_TRUE : SAW_FALSE;
  return found[0];
}

/**
 * The forms in which the value between `start` and `end` reads (see forms.ts): 0 for text, {@link BLANK} for spaces
 * alone. Sets {@link saw}. Works on bytes, because turning a million rows into strings costs more than all the rest.
 */
export function classify(bytes: Uint8Array, start: number, end: number, decode: Decode): number {
  saw = 0;
  let from = start;
  let to = end;
  while (from < to && isSpace(bytes[from] as number)) from++;
  if (from === to) return BLANK;
  while (isSpace(bytes[to - 1] as number)) to--;
  const first = bytes[from] as number;
  if (first >= 128 || (bytes[to - 1] as number) >= 128) return classifyWide(bytes, from, to, decode);
  if (first >= 48 && first <= 57) {
    const number = numberForms(bytes, from, to);
    if (number !== 0) return number;
    const date = dateForms(bytes, from, to);
    if (date !== 0) saw = dateSaw;
    return date;
  }
  if (first >= 43 && first <= 46) return numberForms(bytes, from, to);
  return wordForms(bytes, from, to, decode);
}

/** A value with a byte beyond ASCII at an edge. No form has one (`não` ends in ASCII): spaces of Unicode, or text. */
function classifyWide(bytes: Uint8Array, from: number, to: number, decode: Decode): number {
  if (to - from > 128) return 0;
  const value = decode(bytes, from, to);
  const trimmed = value.trim();
  if (trimmed.length === value.length) return 0;
  const forms = classifyString(trimmed);
  saw |= SAW_WIDE_SPACE;
  return forms;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** {@link classify} for a value that is a string already. */
export function classifyString(value: string): number {
  const bytes = encoder.encode(value);
  return classify(bytes, 0, bytes.length, (piece, start, end) => decoder.decode(piece.subarray(start, end)));
}

/** Whether there is nothing but spaces between `start` and `end`: exactly what {@link classify} calls {@link BLANK}. */
export function isBlank(bytes: Uint8Array, start: number, end: number, decode: Decode): boolean {
  for (let at = start; at < end; at++) {
    const byte = bytes[at] as number;
    if (byte >= 128) return classify(bytes, start, end, decode) === BLANK;
    if (!isSpace(byte)) return false;
  }
  return true;
}

/** Whether a byte is a space that Postgres, too, skips around numbers and dates. */
export function isSpace(byte: number): boolean {
  return byte === 32 || (byte >= 9 && byte <= 13);
}
