/** The pattern for the start of a loopback redirect URI, whose port the client cannot know in advance (RFC 8252). */
const LOOPBACK_PATTERN = /^http:\/\/(?<host>127\.0\.0\.1|\[::1\]|localhost)(?::\d{1,5})?(?=[/?]|$)/;

const removePort = (uri: string): string => uri.replace(LOOPBACK_PATTERN, 'http://$<host>');

/** Tells whether a redirect URI equals a registered one; the port of a loopback address may differ. */
export const isSameRedirect = (registeredUri: string, requestedUri: string): boolean =>
  registeredUri === requestedUri ||
  (LOOPBACK_PATTERN.test(registeredUri) &&
    LOOPBACK_PATTERN.test(requestedUri) &&
    // A port beyond 65535 fits the pattern.
    URL.canParse(requestedUri) &&
    removePort(registeredUri) === removePort(requestedUri));

/** Schemes of URLs that browsers execute, read or show by themselves. */
const UNSAFE_SCHEME_PATTERN =
  /^(javascript|data|vbscript|file|filesystem|blob|about|view-source|ftp|wss?|mailto|tel|http|chrome):$/;

/** Tells whether a client may register a redirect URI. */
export function isAllowedRedirect(uri: string): boolean {
  if (uri.length > 2048 || !/^[\x21-\x5b\x5d-\x7e]+$/.test(uri) || uri.includes('#')) return false;
  const url = URL.parse(uri);
  if (url?.username !== '' || url.password !== '') return false;
  if (url.protocol === 'https:') return /^https:\/\/[^/@]/i.test(uri);
  return LOOPBACK_PATTERN.test(uri) || !UNSAFE_SCHEME_PATTERN.test(url.protocol);
}

/** Returns the target of a redirect, for people: a host, or the scheme of an app. */
export function getRedirectHost(uri: string): string {
  const { host, protocol } = new URL(uri);
  return host || protocol;
}
