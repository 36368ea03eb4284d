/** The maximum length of a name, in characters. */
const MAX_NAME_LENGTH = 80;

/** The pattern for characters of hosts, including the dots of other scripts. */
const [LETTER, DOT] = ['[\\p{L}\\p{M}\\p{N}\\p{So}_-]', '[.。．｡]'];
/** The pattern of a host as mail programs recognize it: the part after its last dot begins with letters. */
const HOST_PATTERN = `(?:${LETTER}+${DOT})+[\\p{L}\\p{M}]{2,}${LETTER}*`;
const IP_PATTERN = '(?:\\d{1,3}\\.){3}\\d{1,3}';

/** The pattern of a web address as people type it: with a scheme, with `www.`, or a host with a path or a port. */
const WEB_ADDRESS_PATTERN = new RegExp(
  `(?:\\p{L}[\\p{L}\\d+.-]*:[/\\\\]{2}|www${DOT})\\S*|(?:${HOST_PATTERN}|${IP_PATTERN})${DOT}?[/\\\\:?#]\\S*`,
  'giu',
);
const BARE_HOST_PATTERN = new RegExp(`${HOST_PATTERN}|${IP_PATTERN}`, 'gu');
/** The pattern of an email address or a bare host. Not the numbers of an IP address, which may be a large number. */
const EMAIL_OR_BARE_HOST_PATTERN = new RegExp(`(?<name>[\\p{L}\\p{M}\\p{N}.%+_-]+@)?${HOST_PATTERN}`, 'gu');

/** Replaces the dots of a host by spaces, so that mail programs do not make it a link. */
const splitHost = (host: string): string => host.replaceAll(/[.。．｡]/gu, ' ');

/**
 * Returns a name as mails show it: on one line, without web addresses. Users choose their own names, their company's
 * name and the recipients of invitations, so a mail must not contain a link from such a name. @param fallback for a
 * name of which nothing is left
 */
export function toMailName(name: string, fallback: string): string {
  const plainText = name.normalize('NFKC').replaceAll(/[\s\p{C}]+/gu, ' ');
  const safeText = plainText
    .replaceAll(WEB_ADDRESS_PATTERN, ' ')
    .replaceAll(BARE_HOST_PATTERN, splitHost)
    .replaceAll(/ +/g, ' ')
    .trim();
  const characters = [...safeText];
  if (characters.length > MAX_NAME_LENGTH) return `${characters.slice(0, MAX_NAME_LENGTH).join('').trimEnd()}…`;
  return safeText === '' ? fallback : safeText;
}

/**
 * Returns a text of a result (a title, the name of a column, a cell) as mails to outsiders show it: without web
 * addresses, else unchanged. Email addresses stay. Use it for short texts only: the running time grows with the square
 * of the length.
 */
export function toOutsiderText(text: string): string {
  // Invisible characters and forms of letters hide an address from us, not from mail programs.
  const plainText = text
    .normalize('NFKC')
    .replaceAll(/\s+/gu, ' ')
    .replaceAll(/\p{C}+/gu, '');
  const safeText = plainText
    .replaceAll(WEB_ADDRESS_PATTERN, '…')
    .replaceAll(EMAIL_OR_BARE_HOST_PATTERN, (host, name?: string) => (name === undefined ? splitHost(host) : host));
  return safeText === plainText ? text : safeText;
}

/** Joins a text to one line: users choose names, which must not add lines, least of all to a header. */
export const toOneLine = (text: string): string => text.replaceAll(/[\s\p{Cc}]+/gu, ' ').trim();
