/** In characters. */
const MAX_NAME_LENGTH = 80;

/** A web address as people type it: with a scheme, with `www.`, or a host with a path. */
const WEB_ADDRESS = /(?:\p{L}[\p{L}\d+.-]*:\/\/|www[.。．｡])\S*|[\p{L}\d-]+(?:[.。．｡][\p{L}\d-]+)+[/:?#]\S*/giu;

/** The dot in a word that mail programs would make a link of. */
const DOT_IN_HOST = /(?<=[\p{L}\d])[.。．｡](?=[\p{L}\d-]{2})/gu;

/**
 * A name as mails show it: on one line, without web addresses. Users choose the names of themselves and their company, and
 * whom an invitation goes to: it must not carry a link of theirs.
 * @param fallback for a name of which nothing is left
 */
export function nameInMail(name: string, fallback: string): string {
  const plain = name.normalize('NFKC').replaceAll(/[\s\p{C}]+/gu, ' ');
  const safe = plain.replaceAll(WEB_ADDRESS, ' ').replaceAll(DOT_IN_HOST, ' ').replaceAll(/ +/g, ' ').trim();
  const characters = [...safe];
  if (characters.length > MAX_NAME_LENGTH) return `${characters.slice(0, MAX_NAME_LENGTH).join('').trimEnd()}…`;
  return safe === '' ? fallback : safe;
}

/** Users choose names: they must not add lines, least of all to a header. */
export const oneLine = (text: string): string => text.replaceAll(/[\s\p{Cc}]+/gu, ' ').trim();

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

export const escapeHtml = (text: string): string =>
  text.replaceAll(/[&<>"']/g, (character) => ENTITIES[character] as string);
