/** Names that only mean something inside a network. */
const PRIVATE_SUFFIXES = ['localhost', 'local', 'internal', 'intranet', 'private', 'corp', 'home', 'lan', 'arpa'];

/** IPv4 networks that are not public (IANA special-purpose registry), as first address and prefix length. */
const PRIVATE_IPV4 = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 3],
] as const;

/**
 * What is wrong with an address that this service is told to fetch from, or null when it may.
 *
 * It must be https on a public host. The host is judged as the URL standard reads it, so `127.1`, `0x7f000001` and
 * `2130706433` are 127.0.0.1 here as they are for fetch. A name is not resolved: in production the Worker runs outside
 * of any private network.
 * @param allowPrivate for development: plain http and any host are good too
 */
export function addressProblem(address: string, allowPrivate: boolean): string | null {
  if (!URL.canParse(address)) return 'must be an absolute URL';
  const url = new URL(address);
  if (url.protocol !== 'https:' && !(allowPrivate && url.protocol === 'http:')) return 'must be an https URL';
  if (url.username !== '' || url.password !== '') return 'must not carry a user name or password';
  if (allowPrivate) return null;
  if (!isPublicHost(url.hostname)) return 'must be on a public host';
  const port = url.port === '' ? 443 : Number(url.port);
  return port === 443 || port >= 1024 ? null : 'must be on port 443 or on an unprivileged one';
}

/** @param hostname as `URL.hostname` gives it: IPv4 in dotted decimal, IPv6 in brackets, names in ASCII and lower case */
function isPublicHost(hostname: string): boolean {
  if (hostname.startsWith('[')) return isPublicIpv6(hostname.slice(1, -1));
  if (/^\d+\.\d+\.\d+\.\d+$/.test(hostname)) return isPublicIpv4(hostname);
  const labels = hostname.replace(/\.$/, '').split('.');
  return labels.length > 1 && !PRIVATE_SUFFIXES.includes(labels.at(-1) as string);
}

function isPublicIpv4(address: string): boolean {
  const bits = ipv4Bits(address);
  return !PRIVATE_IPV4.some(([network, length]) => bits >>> (32 - length) === ipv4Bits(network) >>> (32 - length));
}

const ipv4Bits = (address: string): number =>
  address.split('.').reduce((bits, part) => ((bits << 8) | Number(part)) >>> 0, 0);

/** Global unicast (2000::/3) without the parts that stand for something else: mappings, tunnels, documentation. */
function isPublicIpv6(address: string): boolean {
  const [first = 0, second = 0] = (address.startsWith('::') ? '0' : address)
    .split(':')
    .map((group) => parseInt(group || '0', 16));
  if (first < 0x2000 || first > 0x3fff) return false;
  if (first === 0x2001) return second >= 0x0200 && second !== 0x0db8;
  return first !== 0x2002 && first !== 0x3fff;
}
