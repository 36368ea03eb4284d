/** The longest name, in characters. */
const MAX_NAME_LENGTH = 80;

/** The characters of hosts, the dots of other scripts included. */
const [LETTER, DOT] = ['[\\p{L}\\p{M}\\p{N}\\p{So}_-]', '[.。．｡]'];
/** A host as mail programs recognize one: what follows its last dot begins with letters. */
const HOST_PATTERN = `(?:${LETTER}+${DOT})+[\\p{L}\\p{M}]{2,}${LETTER}*`;
const IP_PATTERN = '(?:\\d{1,3}\\.){3}\\d{1,3}';

/** An address of a page as people type it: with a scheme, with `www.`, or a host with a path or a port. */
const WEB_ADDRESS_PATTERN = new RegExp(
  `(?:\\p{L}[\\p{L}\\d+.-]*:[/\\\\]{2}|www${DOT})\\S*|(?:${HOST_PATTERN}|${IP_PATTERN})${DOT}?[/\\\\:?#]\\S*`,
  'giu',
);
const BARE_HOST = new RegExp(`${HOST_PATTERN}|${IP_PATTERN}`, 'gu');
/** An email address or a bare host. Not the numbers of an IP address, which may be a large number. */
const EMAIL_OR_BARE_HOST = new RegExp(`(?<name>[\\p{L}\\p{M}\\p{N}.%+_-]+@)?${HOST_PATTERN}`, 'gu');

/** Replaces the dots of a host by spaces, so that mail programs do not make it a link. */
const splitHost = (host: string): string => host.replaceAll(/[.。．｡]/gu, ' ');

/**
 * A name as mails show it: on one line, without addresses of pages. Users choose the names of themselves and their company, and
 * whom an invitation goes to: it must not carry a link of theirs.
 * @param fallback for a name of which nothing is left
 */
export function toMailName(name: string, fallback: string): string {
  const plain = name.normalize('NFKC').replaceAll(/[\s\p{C}]+/gu, ' ');
  const safe = plain
    .replaceAll(WEB_ADDRESS_PATTERN, ' ')
    .replaceAll(BARE_HOST, splitHost)
    .replaceAll(/ +/g, ' ')
    .trim();
  const characters = [...safe];
  if (characters.length > MAX_NAME_LENGTH) return `${characters.slice(0, MAX_NAME_LENGTH).join('').trimEnd()}…`;
  return safe === '' ? fallback : safe;
}

/**
 * A text of a result (a title, the name of a column, a cell) as mails to outsiders show it: without addresses of pages, else
 * as it is. Email addresses stay. For short texts: it takes the square of the length.
 */
export function toOutsiderText(text: string): string {
  // Invisible characters and forms of letters hide an address from us, not from mail programs.
  const plain = text
    .normalize('NFKC')
    .replaceAll(/\s+/gu, ' ')
    .replaceAll(/\p{C}+/gu, '');
  const safe = plain
    .replaceAll(WEB_ADDRESS_PATTERN, '…')
    .replaceAll(EMAIL_OR_BARE_HOST, (host, name?: string) => (name === undefined ? splitHost(host) : host));
  return safe === plain ? text : safe;
}

/** Users choose names: they must not add lines, least of all to a header. */
export const toOneLine = (text: string): string => text.replaceAll(/[\s\p{Cc}]+/gu, ' ').trim();
