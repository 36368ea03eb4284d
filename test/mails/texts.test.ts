import { describe, expect, it } from 'vitest';
import { invitationMail, passwordResetMail, signInCodeMail } from '../../src/modules/mails/texts.ts';

const receiver = { to: 'ina@example.com', name: 'Ina', company: 'Acme' };
const url = 'https://console.test/x?token=abc';
const HOSTILE = '<img src=x onerror=alert(1)>"\'&\r\nBcc: everybody@example.com';

const mails = (over: { name?: string; company?: string; inviter?: string } = {}) => [
  signInCodeMail({ ...receiver, ...over, code: '012345', minutes: 10 }),
  passwordResetMail({ ...receiver, ...over, url, minutes: 60 }),
  invitationMail({ ...receiver, inviter: 'Olga', ...over, url, days: 7 }),
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

  it('makes neither markup nor header lines of names', () => {
    for (const { subject, text, html } of mails({ name: HOSTILE, company: HOSTILE, inviter: HOSTILE })) {
      expect(subject).not.toMatch(/[\r\n]/);
      expect(text).not.toMatch(/^Bcc/m);
      expect(html).not.toContain('<img');
      expect(html).not.toMatch(/^Bcc/m);
    }
  });
});

it('a code and a link stand on a line of their own', () => {
  const [code, reset, invitation] = mails();
  expect(code?.text.split('\n')).toContain('012345');
  expect(reset?.text.split('\n')).toContain(url);
  expect(invitation?.text.split('\n')).toContain(url);
});
