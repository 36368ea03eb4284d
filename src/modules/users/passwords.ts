import list from './common-passwords/list.txt';

/** The minimum number of characters that a password must have in addition to publicly known words about its owner. */
const MIN_REMAINING_LENGTH = 8;
/** The minimum length of a known word that is searched for: shorter words occur in too many passwords by chance. */
const MIN_WORD_LENGTH = 3;

/**
 * Tells whether a password is little more than known words about its owner. Case, separators and digits after them do not
 * matter.
 */
export function consistsOfKnownWords(password: string, knownTexts: readonly string[]): boolean {
  const words = knownTexts
    .flatMap((text) => [normalizeText(text), ...text.split(/[^\p{L}\p{N}]+/u).map(normalizeText)])
    .filter((word) => word.length >= MIN_WORD_LENGTH)
    .toSorted((a, b) => b.length - a.length);
  const normalizedPassword = normalizeText(password);
  const remainder = words.reduce((remainingText, word) => remainingText.replaceAll(word, ''), normalizedPassword);
  return remainder !== normalizedPassword && (remainder.length < MIN_REMAINING_LENGTH || /^\p{N}+$/u.test(remainder));
}

/** Normalizes a text for comparison: only letters and digits, without accents, in lower case. */
const normalizeText = (text: string): string =>
  text
    .normalize('NFKD')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]/gu, '');

let commonPasswords: Set<string> | undefined;

/**
 * Tells whether this is one of the 10,000 most common passwords, in any case. Such a password is the first that anyone tries, so
 * it is rejected whatever its length. The list is SecLists' (its licence lies beside it), of ten million leaked passwords.
 */
export function isCommonPassword(password: string): boolean {
  commonPasswords ??= new Set(list.toLowerCase().split(/\r?\n/));
  return commonPasswords.has(password.toLowerCase());
}
