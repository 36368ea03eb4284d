/**
 * Returns the network that an address is counted under: an IPv4 address itself, or the /64 network of an IPv6 address, which
 * belongs to one client. A text that is not an address is returned as it is.
 */
export function toNetwork(address: string): string {
  const url = `http://[${address}]`;
  if (!address.includes(':') || !URL.canParse(url)) return address;
  const [left = [], right = []] = new URL(url).hostname
    .slice(1, -1)
    .split('::')
    .map((groupList) => (groupList === '' ? [] : groupList.split(':')));
  const groups = [...left, ...Array<string>(8 - left.length - right.length).fill('0'), ...right];
  const [sixth, high = '0', low = '0'] = groups.slice(5);
  if (sixth === 'ffff' && groups.slice(0, 5).every((group) => group === '0')) {
    return [high, low]
      .flatMap((group) => [Number.parseInt(group, 16) >> 8, Number.parseInt(group, 16) & 255])
      .join('.');
  }
  return `${groups.slice(0, 4).join(':')}::/64`;
}

/** Networks that are not public according to IANA, and multicast: https://www.iana.org/assignments/iana-ipv4-special-registry */
const SPECIAL_IPV4_NETWORKS = [
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12', '192.0.0.0/24'],
  ...['192.0.2.0/24', '192.31.196.0/24', '192.52.193.0/24', '192.88.99.0/24', '192.168.0.0/16', '192.175.48.0/24'],
  ...['198.18.0.0/15', '198.51.100.0/24', '203.0.113.0/24', '224.0.0.0/4', '240.0.0.0/4'],
].map((text) => parseNetwork(text, parseIpv4Bits, 32));

/** The public networks: https://www.iana.org/assignments/ipv6-unicast-address-assignments */
const PUBLIC_IPV6_NETWORKS = [
  ...['2001::/16', '2003::/18', '2400::/12', '2410::/12', '2600::/12', '2610::/23', '2620::/23', '2630::/12'],
  ...['2800::/12', '2a00::/12', '2a10::/12', '2c00::/12'],
].map((text) => parseNetwork(text, parseIpv6Bits, 128));

/** Special-use networks within the public ones: https://www.iana.org/assignments/iana-ipv6-special-registry */
const SPECIAL_IPV6_NETWORKS = ['2001::/23', '2001:db8::/32', '2620:4f:8000::/48'].map((text) =>
  parseNetwork(text, parseIpv6Bits, 128),
);

/** Returns true if an IPv4 address is public. @param address in dotted decimal */
export const isPublicIpv4 = (address: string): boolean =>
  !SPECIAL_IPV4_NETWORKS.some((specialNetwork) => containsAddress(specialNetwork, parseIpv4Bits(address)));

/** Returns true if an IPv6 address, in hexadecimal groups without brackets, is public; `::` may stand once. */
export function isPublicIpv6(address: string): boolean {
  const bits = parseIpv6Bits(address);
  const isInAnyNetwork = (networks: Network[]) => networks.some((candidate) => containsAddress(candidate, bits));
  return isInAnyNetwork(PUBLIC_IPV6_NETWORKS) && !isInAnyNetwork(SPECIAL_IPV6_NETWORKS);
}

/** Returns the IPv4 addresses written in a host name, with dots or hyphens, as wildcard DNS services read them. */
export function findEmbeddedIpv4(name: string): string[] {
  // Looked for from every place: in `1.10.0.0.1` two stand, one over the other.
  return [...name.matchAll(/(?<!\d)(?=(\d{1,3})([.-])(\d{1,3})\2(\d{1,3})\2(\d{1,3})(?!\d))/g)]
    .map(([, first, , second, third, fourth]) => [first, second, third, fourth])
    .filter((parts) => parts.every((octet) => Number(octet) <= 255))
    .map((parts) => parts.join('.'));
}

interface Network {
  firstAddress: bigint;
  /** The number of host bits: those of an address after the network prefix. */
  hostBits: bigint;
}

const containsAddress = ({ firstAddress, hostBits }: Network, bits: bigint): boolean =>
  bits >> hostBits === firstAddress >> hostBits;

function parseNetwork(text: string, parseBits: (address: string) => bigint, size: number): Network {
  const [address, length] = text.split('/') as [string, string];
  return { firstAddress: parseBits(address), hostBits: BigInt(size - Number(length)) };
}

function parseIpv4Bits(address: string): bigint {
  return address.split('.').reduce((bits, octet) => (bits << 8n) | BigInt(octet), 0n);
}

function parseIpv6Bits(address: string): bigint {
  const [head = '', tail = ''] = address.split('::');
  const [leadingGroups, trailingGroups] = [head, tail].map((groupsText) =>
    groupsText === '' ? [] : groupsText.split(':'),
  ) as [string[], string[]];
  const zeros = Array<string>(8 - leadingGroups.length - trailingGroups.length).fill('0');
  return [...leadingGroups, ...zeros, ...trailingGroups].reduce(
    (bits, group) => (bits << 16n) | BigInt(`0x${group}`),
    0n,
  );
}
