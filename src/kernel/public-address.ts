import { findEmbeddedIpv4, isPublicIpv4, isPublicIpv6 } from './networks.ts';

/** Host names valid only within a network, or nowhere (RFC 6761 and the IANA registry that continues it). */
const PRIVATE_SUFFIXES = [
  ...['localhost', 'local', 'localdomain', 'internal', 'intranet', 'private', 'corp', 'home', 'lan', 'arpa'],
  ...['onion', 'alt'],
];

/** Host names reserved for examples and tests. */
const EXAMPLE_SUFFIXES = ['test', 'example', 'invalid'];

const LOCAL_HOSTNAMES = ['127.0.0.1', 'localhost', '[::1]'];

/** Public DNS domains that resolve to the private address written in a subdomain, or to the local machine. */
const REBINDING_DOMAINS = [
  ...['nip.io', 'sslip.io', 'xip.io', 'xip.name', 'ip6.name', 'backname.io', 'traefik.me', 'local.gd', 'localdev.me'],
  ...['localtest.me', 'lvh.me', 'vcap.me', 'fuf.me', 'lacolhost.com', 'localho.st', 'smackaho.st', 'yoogle.com'],
  ...[
    'localhost.direct',
    '127-0-0-1.org.uk',
    'lndo.site',
    'ddev.site',
    '1u.ms',
    'rbndr.us',
    'nip.direct',
    'plex.direct',
  ],
];

const HOST_LABEL_PATTERN = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/;

/**
 * Returns the problem with a URL that this service is asked to fetch from, or null for none. It must be https on a public host.
 * The host is judged as the URL standard reads it, so `127.1`, `0x7f000001` and `2130706433` are 127.0.0.1 here as they are for
 * fetch. A host name is judged by its text; the address that it resolves to is looked up when it is called. @param allowPrivateHosts
 * for development: this machine is allowed too, also by plain http, and so are names reserved for examples
 */
export function findUrlProblem(text: string, allowPrivateHosts: boolean): string | null {
  if (text === '') return 'must not be empty';
  if (!URL.canParse(text)) return 'must be an absolute URL';
  const url = new URL(text);
  const isAllowedLocalHost = allowPrivateHosts && isLocalHostname(url.hostname);
  if (url.protocol !== 'https:' && !(isAllowedLocalHost && url.protocol === 'http:')) return 'must be an https URL';
  if (url.username !== '' || url.password !== '') return 'must not carry a user name or password';
  if (isAllowedLocalHost) return null;
  if (!isPublicHost(url.hostname, allowPrivateHosts)) return 'must be on a public host';
  const port = url.port === '' ? 443 : Number(url.port);
  return port === 443 || port >= 1024 ? null : 'must use port 443, or a port from 1024 up';
}

/** Returns true if a host, as `URL.hostname` gives it, is the machine on which this service runs. */
export const isLocalHostname = (hostname: string): boolean => LOCAL_HOSTNAMES.includes(hostname);

/** Tells whether a host, as `URL.hostname` gives it, is an IP address and not a name. */
export const isIpAddress = (hostname: string): boolean =>
  hostname.startsWith('[') || /^\d+\.\d+\.\d+\.\d+$/.test(hostname);

/**
 * Returns true if a host is public, judged by its text alone.
 * @param hostname as `URL.hostname` gives it: IPv4 in dotted decimal, IPv6 in brackets, names in ASCII and lower case
 * @param allowExampleHosts whether names reserved for examples and tests count as public
 */
export function isPublicHost(hostname: string, allowExampleHosts = false): boolean {
  if (isIpAddress(hostname)) {
    return hostname.startsWith('[') ? isPublicIpv6(hostname.slice(1, -1)) : isPublicIpv4(hostname);
  }
  return isPublicName(hostname.replace(/\.$/, ''), allowExampleHosts);
}

function isPublicName(name: string, allowExampleHosts: boolean): boolean {
  const labels = name.split('.');
  const topLevelDomain = labels.at(-1) as string;
  return (
    labels.length > 1 &&
    labels.every((label) => HOST_LABEL_PATTERN.test(label)) &&
    !PRIVATE_SUFFIXES.includes(topLevelDomain) &&
    (allowExampleHosts || !EXAMPLE_SUFFIXES.includes(topLevelDomain)) &&
    !REBINDING_DOMAINS.some((domain) => name === domain || name.endsWith(`.${domain}`)) &&
    findEmbeddedIpv4(name).every(isPublicIpv4)
  );
}
