/** The beginning of a text, without half a surrogate pair at its end, which is no Unicode and breaks who reads next. */
export function cut(text: string, most: number): string {
  if (text.length <= most) return text;
  const last = text.charCodeAt(most - 1);
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? most - 1 : most);
}

/** A text of at most `most` UTF-16 units, which ends in `…` where something was cut off. */
export const shorten = (text: string, most: number): string => (text.length <= most ? text : `${cut(text, most - 1)}…`);

/** The number of characters, Unicode's code points, before an index of a string. An emoji is one, and two units. */
export const charactersBefore = (text: string, index: number): number => [...text.slice(0, index)].length;

/** The index of the string before which a text has this number of characters, Unicode's code points. */
export const indexAfter = (text: string, characters: number): number =>
  [...text].slice(0, Math.max(0, characters)).join('').length;

/** The path, in names and indexes, to the first text of a JSON value that holds half of a surrogate pair, or null. */
export function findIllFormedText(value: unknown): string[] | null {
  if (typeof value === 'string') return value.isWellFormed() ? null : [];
  if (typeof value !== 'object' || value === null) return null;
  for (const [name, field] of Object.entries(value)) {
    const path = name.isWellFormed() ? findIllFormedText(field) : [];
    if (path) return [name, ...path];
  }
  return null;
}

/** For `JSON.parse` and `JSON.stringify`: replaces half of a surrogate pair in a text by U+FFFD. */
export const wellFormed = (_key: string, value: unknown): unknown =>
  typeof value === 'string' ? value.toWellFormed() : value;

/**
 * A text in which at most 30 marks follow one another, as in Unicode's stream-safe form: no language writes more. To normalize
 * marks sorts them, which takes the square of their number. Two letters of Japanese become marks.
 */
export const limitMarks = (text: string): string =>
  text.replaceAll(/([\p{M}\uff9e\uff9f]{30})[\p{M}\uff9e\uff9f]+/gu, '$1');

const MAX_SLUG_LENGTH = 48;

/** A slug made from a name: accents stripped, lower case, hyphens between words; `fallback` when nothing is left. */
export function slugFrom(name: string, fallback: string): string {
  const slug = name
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, MAX_SLUG_LENGTH)
    .replaceAll(/^-+|-+$/g, '');
  return slug === '' ? fallback : slug;
}

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

/** The text as it stands in HTML, in attributes too. */
export const escapeHtml = (text: string): string =>
  text.replaceAll(/[&<>"']/g, (character) => ENTITIES[character] as string);
