import { expect, it } from 'vitest';
import { toNetwork } from '../../src/kernel/networks.ts';

it.each([
  ['203.0.113.9', '203.0.113.9'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:0DB8:0001:0002::1', '2001:db8:1:2::/64'],
  ['2001:db8::1', '2001:db8:0:0::/64'],
  ['2001:db8:1:2::', '2001:db8:1:2::/64'],
  ['::1', '0:0:0:0::/64'],
  ['::', '0:0:0:0::/64'],
  // IPv4 as it is written in IPv6.
  ['::ffff:203.0.113.9', '203.0.113.9'],
  ['::ffff:cb00:7109', '203.0.113.9'],
  ['unknown', 'unknown'],
  ['no:address', 'no:address'],
  ['', ''],
])('the IP address %s is rate limited together with %s', (address, expectedNetwork) => {
  expect(toNetwork(address)).toBe(expectedNetwork);
});
