/** The start of a loopback redirect URI, whose port the client cannot know in advance (RFC 8252). */
const LOOPBACK = /^http:\/\/(?<host>127\.0\.0\.1|\[::1\]|localhost)(?::\d{1,5})?(?=[/?]|$)/;

const removePort = (uri: string): string => uri.replace(LOOPBACK, 'http://$<host>');

/** Whether a redirect URI equals a registered one; the port of a loopback address may differ. */
export const isSameRedirect = (registered: string, given: string): boolean =>
  registered === given ||
  (LOOPBACK.test(registered) && LOOPBACK.test(given) && removePort(registered) === removePort(given));

/** Schemes that browsers run, read or show by themselves. */
const UNSAFE_SCHEMES =
  /^(javascript|data|vbscript|file|filesystem|blob|about|view-source|ftp|wss?|mailto|tel|http|chrome):$/;

/** Whether a client may register a redirect URI. */
export function isRedirect(uri: string): boolean {
  if (uri.length > 2048 || !/^[\x21-\x5b\x5d-\x7e]+$/.test(uri) || uri.includes('#')) return false;
  const url = URL.parse(uri);
  if (url?.username !== '' || url.password !== '') return false;
  if (url.protocol === 'https:') return /^https:\/\/[^/@]/i.test(uri);
  return LOOPBACK.test(uri) || !UNSAFE_SCHEMES.test(url.protocol);
}

/** The target of a redirect, for people: a host, or the scheme of an app. */
export function getHost(uri: string): string {
  const { host, protocol } = new URL(uri);
  return host || protocol;
}
