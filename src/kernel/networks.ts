/**
 * The network that an address is counted under: an IPv4 address itself, or the /64 of an IPv6 one, all of which belongs to
 * whoever has one address of it. What is no address stands for itself.
 */
export function networkOf(address: string): string {
  const url = `http://[${address}]`;
  if (!address.includes(':') || !URL.canParse(url)) return address;
  const [left = [], right = []] = new URL(url).hostname
    .slice(1, -1)
    .split('::')
    .map((side) => (side === '' ? [] : side.split(':')));
  const groups = [...left, ...Array<string>(8 - left.length - right.length).fill('0'), ...right];
  const [sixth, high = '0', low = '0'] = groups.slice(5);
  if (sixth === 'ffff' && groups.slice(0, 5).every((group) => group === '0')) {
    return [high, low]
      .flatMap((group) => [Number.parseInt(group, 16) >> 8, Number.parseInt(group, 16) & 255])
      .join('.');
  }
  return `${groups.slice(0, 4).join(':')}::/64`;
}
