/** Returns the beginning of a text, without half a surrogate pair at its end, which would be invalid Unicode. */
export function truncateText(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text;
  const lastCharCode = text.charCodeAt(maxLength - 1);
  return text.slice(0, lastCharCode >= 0xd800 && lastCharCode <= 0xdbff ? maxLength - 1 : maxLength);
}

/** Returns a text of at most `maxLength` UTF-16 units, which ends in `…` where something was cut off. */
export const shorten = (text: string, maxLength: number): string =>
  text.length <= maxLength ? text : `${truncateText(text, maxLength - 1)}…`;

/** Returns the number of characters (Unicode code points) before an index of a string. An emoji counts as one, not two. */
export const countCharactersBefore = (text: string, index: number): number => [...text.slice(0, index)].length;

/** Returns the string index before which a text has this number of characters (Unicode code points). */
export const findIndexAfter = (text: string, characters: number): number =>
  [...text].slice(0, Math.max(0, characters)).join('').length;

/** Returns the path, in names and indexes, to the first text of a JSON value that holds half of a surrogate pair, or null. */
export function findIllFormedTextPath(value: unknown): string[] | null {
  if (typeof value === 'string') return value.isWellFormed() ? null : [];
  if (typeof value !== 'object' || value === null) return null;
  for (const [name, field] of Object.entries(value)) {
    const path = name.isWellFormed() ? findIllFormedTextPath(field) : [];
    if (path) return [name, ...path];
  }
  return null;
}

/** Replaces half of a surrogate pair in a text by U+FFFD; for `JSON.parse` and `JSON.stringify`. */
export const replaceLoneSurrogates = (_key: string, value: unknown): unknown =>
  typeof value === 'string' ? value.toWellFormed() : value;

/**
 * Returns a text in which at most 30 combining marks follow one another, as in Unicode's stream-safe form: no language
 * writes more. Normalizing sorts marks, which takes quadratic time in their number. Two Japanese letters that
 * normalizing turns into marks count as marks.
 */
export const limitCombiningMarks = (text: string): string =>
  text.replaceAll(/([\p{M}\uff9e\uff9f]{30})[\p{M}\uff9e\uff9f]+/gu, '$1');

/** Returns a text in lower case, for comparisons; the final Greek sigma (ς) becomes σ, as both have one capital. */
export const toComparedText = (text: string): string => text.toLowerCase().replaceAll('ς', 'σ');

const MAX_SLUG_LENGTH = 48;

/** Makes a slug from a name: accents stripped, lower case, hyphens between words; `fallback` when nothing is left. */
export function makeSlug(name: string, fallback: string): string {
  const slug = name
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, MAX_SLUG_LENGTH)
    .replaceAll(/^-+|-+$/g, '');
  return slug === '' ? fallback : slug;
}

const HTML_ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

/** Escapes a text for HTML, including attributes. */
export const escapeHtml = (text: string): string =>
  text.replaceAll(/[&<>"']/g, (character) => HTML_ENTITIES[character] as string);
