import { describe, expect, it } from 'vitest';
import { nameInMail } from '../../src/modules/mails/names.ts';
import {
  invitationMail,
  noticeMail,
  passwordResetMail,
  portalCodeMail,
  signInCodeMail,
} from '../../src/modules/mails/texts.ts';

const receiver = { to: 'ina@example.com', name: 'Ina', company: 'Acme' };
const url = 'https://console.test/x?token=abc';
const HOSTILE = '<img src=x onerror=alert(1)>"\'&\r\nBcc: everybody@example.com';

const mails = (over: { name?: string; company?: string; inviter?: string } = {}) => [
  signInCodeMail({ ...receiver, ...over, code: '012345', minutes: 10 }),
  passwordResetMail({ ...receiver, ...over, url, minutes: 60 }),
  invitationMail({ ...receiver, inviter: 'Olga', ...over, url, days: 7 }),
  portalCodeMail({ ...receiver, ...over, code: '01234567', minutes: 10 }),
  noticeMail({ ...receiver, ...over, notice: { event: 'sso_changed', by: 'olga@acme.test', at: 0 } }),
];

describe('every mail', () => {
  it('says the same in plain text and in HTML', () => {
    for (const { text, html } of mails()) {
      const shown = html.replaceAll(/<(style|title)[\s\S]*?<\/\1>|<[^>]+>/g, ' ').replaceAll(/\s+/g, ' ');
      for (const line of text.split('\n').filter(Boolean)) expect(shown).toContain(line);
    }
  });

  it('greets by name and names the company in its subject', () => {
    for (const { text, subject } of mails()) {
      expect(text.startsWith('Hello Ina,\n')).toBe(true);
      expect(subject).toContain('Acme');
    }
  });

  it('holds names neither as markup nor as header lines', () => {
    for (const { subject, text, html } of mails({ name: HOSTILE, company: HOSTILE, inviter: HOSTILE })) {
      expect(subject).not.toMatch(/[\r\n]/);
      expect(text).not.toMatch(/^Bcc/m);
      expect(html).not.toContain('<img');
      expect(html).not.toMatch(/^Bcc/m);
    }
  });
});

describe('a code or a link', () => {
  it('has a line of its own', () => {
    const [code, reset, invitation] = mails();
    expect(code?.text.split('\n')).toContain('012345');
    expect(reset?.text.split('\n')).toContain(url);
    expect(invitation?.text.split('\n')).toContain(url);
  });
});

describe('the names in a mail', () => {
  it.each([
    ['Acme, see https://evil.example/login?x=1 now', 'Acme, see now'],
    ['HTTPS://EVIL.EXAMPLE', 'a company'],
    ['hxxp-like ftp+x://evil.example/a b', 'hxxp-like b'],
    ['Go to www.evil.example', 'Go to'],
    ['Win at evil.example/prize today', 'Win at today'],
    ['Win at evil.example:8443 today', 'Win at today'],
    ['Visit evil.example', 'Visit evil example'],
    ['Visit evil．example or evil。example', 'Visit evil example or evil example'],
    ['write to prize@evil.example', 'write to prize@evil example'],
    ['Booking.com', 'Booking com'],
    ['J. P. Morgan & Co., Inc.', 'J. P. Morgan & Co., Inc.'],
    ['Nº 5.2 Größe 株式会社', 'No 5.2 Größe 株式会社'],
    ['a\u202Eb\u200Bc', 'a b c'],
    ['x'.repeat(200), `${'x'.repeat(80)}…`],
    ['🏠'.repeat(81), `${'🏠'.repeat(80)}…`],
    [' \n ', 'a company'],
  ])('have no web addresses: %j', (name, shown) => {
    expect(nameInMail(name, 'a company')).toBe(shown);
  });

  it('have no web addresses in any kind of mail', () => {
    const page = 'Prize at https://evil.example/x or evil.example';
    for (const { subject, text, html } of mails({ name: page, company: page, inviter: page })) {
      for (const part of [subject, text, html]) expect(part).not.toContain('evil.example');
    }
  });
});
