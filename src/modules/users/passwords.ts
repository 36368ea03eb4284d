import list from './common-passwords/list.txt';

/** Characters of a password that must be left once its person's own words are taken out. */
const ENOUGH = 8;
/** Shorter words stand in too many others. */
const MIN_WORD_LENGTH = 3;

/**
 * Whether a password is little more than words that anybody knows of its person: names, the email, the company. Case,
 * separators and digits after them make no difference.
 */
export function isMadeOf(password: string, known: readonly string[]): boolean {
  const words = known
    .flatMap((text) => [plain(text), ...text.split(/[^\p{L}\p{N}]+/u).map(plain)])
    .filter((word) => word.length >= MIN_WORD_LENGTH)
    .toSorted((a, b) => b.length - a.length);
  const whole = plain(password);
  const rest = words.reduce((left, word) => left.replaceAll(word, ''), whole);
  return rest !== whole && (rest.length < ENOUGH || /^\p{N}+$/u.test(rest));
}

/** Letters and digits alone, as they are whatever the case and the accents. */
const plain = (text: string): string =>
  text
    .normalize('NFKD')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]/gu, '');

let common: Set<string> | undefined;

/**
 * Whether this is one of the 10,000 most common passwords, in any case. Such a password is the first that anyone tries, so
 * it is refused whatever its length. The list is SecLists' (its licence lies beside it), of ten million leaked passwords.
 */
export function isCommonPassword(password: string): boolean {
  common ??= new Set(list.toLowerCase().split(/\r?\n/));
  return common.has(password.toLowerCase());
}
