import type { Decode } from '../text/decode.ts';
import { S_N, SIM_NAO, T_F, TRUE_FALSE, V_F, VERDADEIRO_FALSO, Y_N, YES_NO } from './forms.ts';

/** Boolean words in lower case, with the forms of each and the value it means. */
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
const MAX_WORD_BYTES = 10;

/** Looks up a boolean word (any case, trimmed); undefined for any other word. */
function findBooleanWord(word: string): [forms: number, says: boolean] | undefined {
  const lowerWord = word.normalize('NFC').toLowerCase();
  return Object.hasOwn(BOOLEAN_WORDS, lowerWord) ? BOOLEAN_WORDS[lowerWord] : undefined;
}

/** Words of ASCII letters, packed five bits a letter, so that most values are looked up without making a string. */
const PACKED_WORDS = new Map<number, [forms: number, says: boolean]>();
for (const [word, meaning] of Object.entries(BOOLEAN_WORDS)) {
  const bytes = new TextEncoder().encode(word);
  const key = packWord(bytes, 0, bytes.length);
  if (key > 0) PACKED_WORDS.set(key, meaning);
}

/** Packs a word's ASCII letters into one number, in either case; 0 for another ASCII byte, -1 for a byte beyond ASCII. */
function packWord(bytes: Uint8Array, start: number, end: number): number {
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

/** Looks up the trimmed boolean word between two offsets, as {@link findBooleanWord} does. */
export function findBooleanAt(
  bytes: Uint8Array,
  from: number,
  to: number,
  decode: Decode,
): [forms: number, says: boolean] | undefined {
  if (to - from > MAX_WORD_BYTES) return undefined;
  const key = packWord(bytes, from, to);
  return key < 0 ? findBooleanWord(decode(bytes, from, to)) : PACKED_WORDS.get(key);
}
