import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findUrlProblem } from '../../src/kernel/public-address.ts';

describe('an address that the Worker fetches from', () => {
  it.each([
    'https://accounts.google.com',
    'https://login.example.org:8443/tenant/v2.0',
    'https://8.8.8.8/',
    'https://172.15.0.1/',
    'https://[2606:4700::6810:85e5]/',
    'https://idp.localhost.example.org/',
    'https://idp.example.org./',
    'https://8-8-8-8.dns.example.org/',
    'https://release-10-0-0.example.org/',
    'https://[2a02:26f0::1]/',
    'https://[2001:4860:4860::8888]/',
  ])('may be %s', (address) => {
    expect(findUrlProblem(address, false)).toBeNull();
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
    'https://[3ffe::1]',
    'https://[2620:4f:8000::1]',
    'https://[2001:20::1]',
    'https://[2001:1ff:ffff::1]',
    'https://[2004::1]',
    'https://[2d00::1]',
    'https://[5f00::1]',
    'https://[100::1]',
    'https://[64:ff9b:1::1]',
    'https://[fec0::1]',
    'https://[4000::1]',
    'https://192.31.196.1',
    'https://192.52.193.1',
    'https://192.88.99.1',
    'https://192.175.48.1',
    'https://192.0.0.8',
    'https://240.0.0.1',
    'https://localhost..',
    'https://127.0.0.1..',
    'https://idp.example.org..',
    'https://.example.org',
    'https://a..example.org',
    'https://10.0.0.1.nip.io',
    'https://app.7f000001.nip.io.',
    'https://NIP.IO',
    'https://169-254-169-254.sslip.io',
    'https://--1.sslip.io',
    'https://127.0.0.1.xip.io',
    'https://localtest.me',
    'https://anything.lvh.me',
    'https://vcap.me',
    'https://idp.localho.st',
    'https://10.0.0.1.resolver.example.org',
    'https://1.10.0.0.1.example.org',
    'https://app-192-168-0-1.example.org',
    'https://printer.test',
    'https://hidden.onion',
  ])('must not be %s', (address) => {
    expect(findUrlProblem(address, false)).not.toBeNull();
  });

  it('must not be in a private network, however its IPv4 address is written', () => {
    const privateIpv4 = fc.oneof(
      fc.tuple(fc.constantFrom(10, 127, 0), fc.nat(0xffffff)).map(([first, rest]) => first * 2 ** 24 + rest),
      fc.nat(0xffff).map((hostPart) => 0xc0a80000 + hostPart),
      fc.nat(0xfffff).map((hostPart) => 0xac100000 + hostPart),
      fc.nat(0xffff).map((hostPart) => 0xa9fe0000 + hostPart),
    );
    fc.assert(
      fc.property(privateIpv4, (addressBits) => {
        const bytes = [24, 16, 8, 0].map((shift) => Math.floor(addressBits / 2 ** shift) % 256);
        const spellings = [
          bytes.join('.'),
          String(addressBits),
          `0x${addressBits.toString(16)}`,
          bytes.map((byte) => `0${byte.toString(8)}`).join('.'),
          `[::ffff:${bytes.join('.')}]`,
          `${bytes.join('.')}.example.org`,
          `app-${bytes.join('-')}.example.org`,
        ];
        for (const host of spellings) expect(findUrlProblem(`https://${host}/`, false)).not.toBeNull();
      }),
      { numRuns: 300 },
    );
  });

  it.each([
    'http://127.0.0.1:9000',
    'http://localhost:9000',
    'http://[::1]:9000/keys',
    'https://idp.example/sso',
    'https://idp.example.org',
  ])('may be %s in development', (address) => {
    expect(findUrlProblem(address, true)).toBeNull();
  });

  it.each([
    'http://idp.example.org',
    'https://10.0.0.1',
    'http://169.254.169.254/latest',
    'https://localhost..',
    'https://127.0.0.1.nip.io',
    'https://[3ffe::1]',
    'https://idp.internal',
    'file:///etc/passwd',
    'http://user@127.0.0.1',
  ])('must not be %s, even in development', (address) => {
    expect(findUrlProblem(address, true)).not.toBeNull();
  });
});
