import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { addressProblem } from '../../src/kernel/public-address.ts';

describe('an address that this service is told to fetch from', () => {
  it.each([
    'https://accounts.google.com',
    'https://login.example.org:8443/tenant/v2.0',
    'https://8.8.8.8/',
    'https://172.15.0.1/',
    'https://[2606:4700::6810:85e5]/',
    'https://idp.localhost.example.org/',
  ])('may be %s', (address) => {
    expect(addressProblem(address, false)).toBeNull();
  });

  it.each([
    '',
    'idp.example.org',
    '//idp.example.org',
    'http://idp.example.org',
    'ftp://idp.example.org',
    'data:application/json,{}',
    'https://user@idp.example.org',
    'https://:password@idp.example.org',
    'https://idp.example.org:80',
    'https://idp.example.org:25',
    'https://localhost',
    'https://LOCALHOST.',
    'https://a.localhost',
    'https://intranet',
    'https://printer.local',
    'https://metadata.google.internal',
    'https://router.home.arpa',
    'https://10.1.2.3',
    'https://100.64.0.1',
    'https://127.0.0.1',
    'https://127.1',
    'https://127.0.0.1.',
    'https://2130706433',
    'https://0x7f000001',
    'https://0x7f.0.0.1',
    'https://0177.0.0.1',
    'https://017700000001',
    'https://①②⑦.0.0.1',
    'https://169.254.169.254',
    'https://172.16.0.1',
    'https://172.31.255.255',
    'https://192.168.0.1',
    'https://198.18.0.1',
    'https://0.0.0.0',
    'https://224.0.0.1',
    'https://255.255.255.255',
    'https://[::]',
    'https://[::1]',
    'https://[0:0:0:0:0:0:0:1]',
    'https://[::127.0.0.1]',
    'https://[::ffff:127.0.0.1]',
    'https://[::ffff:7f00:1]',
    'https://[64:ff9b::10.0.0.1]',
    'https://[fc00::1]',
    'https://[fd12:3456::1]',
    'https://[fe80::1]',
    'https://[ff02::1]',
    'https://[2001::1]',
    'https://[2001:db8::1]',
    'https://[2002:7f00:1::]',
    'https://[3fff::1]',
  ])('must not be %s', (address) => {
    expect(addressProblem(address, false)).not.toBeNull();
  });

  it('is never in a private network, however its IPv4 address is written', () => {
    const privateIpv4 = fc.oneof(
      fc.tuple(fc.constantFrom(10, 127, 0), fc.nat(0xffffff)).map(([first, rest]) => first * 2 ** 24 + rest),
      fc.nat(0xffff).map((rest) => 0xc0a80000 + rest),
      fc.nat(0xfffff).map((rest) => 0xac100000 + rest),
      fc.nat(0xffff).map((rest) => 0xa9fe0000 + rest),
    );
    fc.assert(
      fc.property(privateIpv4, (bits) => {
        const bytes = [24, 16, 8, 0].map((shift) => Math.floor(bits / 2 ** shift) % 256);
        const spellings = [
          bytes.join('.'),
          String(bits),
          `0x${bits.toString(16)}`,
          bytes.map((byte) => `0${byte.toString(8)}`).join('.'),
          `[::ffff:${bytes.join('.')}]`,
        ];
        for (const host of spellings) expect(addressProblem(`https://${host}/`, false)).not.toBeNull();
      }),
      { numRuns: 300 },
    );
  });

  it('may be plain http and private in development, but nothing else', () => {
    expect(addressProblem('http://127.0.0.1:9000', true)).toBeNull();
    expect(addressProblem('file:///etc/passwd', true)).not.toBeNull();
    expect(addressProblem('http://user@127.0.0.1', true)).not.toBeNull();
  });
});
