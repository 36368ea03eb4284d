import { describe, expect, it } from 'vitest';
import type { NoticeEvent } from '../../src/db/schema/mails.ts';
import { composeConsentMail } from '../../src/modules/mails/schedules.ts';
import {
  composeCodeMail,
  composeInvitationMail,
  composeNoticeMail,
  composePasswordResetMail,
  composeSecurityMail,
  type SecurityChange,
} from '../../src/modules/mails/texts.ts';
import type { MailTheme } from '../../src/modules/mails/theme.ts';
import { toMailName, toOutsiderText } from '../../src/modules/mails/user-text.ts';
import { LOCALES, type Locale } from '../../src/texts/locales.ts';
import { MAIL_TEXTS } from '../../src/texts/mails/languages.ts';
import { decodePicture, PICTURES } from '../formats/image/pictures.ts';

const receiver = { to: 'ina@example.com', name: 'Ina' };
const url = 'https://console.test/x?token=abc';
const HOSTILE_NAME = '<img src=x onerror=alert(1)>"\'&\r\nBcc: everybody@example.com';

const SECURITY_CHANGES = Object.keys(MAIL_TEXTS.en.security.changes) as SecurityChange[];
const NOTICE_EVENTS = Object.keys(MAIL_TEXTS.en.notice.events) as NoticeEvent[];

interface MailOverrides {
  name?: string;
  company?: string;
  inviter?: string;
  by?: string;
  locale?: Locale;
}

/** Composes every kind of mail. */
const composeMails = ({
  company: name = 'Acme',
  locale = 'en',
  inviter = 'Olga',
  by = 'olga@acme.test',
  ...over
}: MailOverrides = {}) => {
  const to = { ...receiver, ...over, company: { name, locale } };
  return [
    composeCodeMail('signInCode', { ...to, code: '012345', minutes: 10 }),
    composePasswordResetMail({ ...to, url, minutes: 60 }),
    composeInvitationMail({ ...to, inviter, url, days: 7 }),
    composeCodeMail('portalCode', { ...to, code: '01234567', minutes: 10 }),
    ...NOTICE_EVENTS.map((event) =>
      composeNoticeMail({ ...to, notice: { event, by, at: Date.UTC(2026, 4, 6, 13, 5) } }),
    ),
    ...SECURITY_CHANGES.map((change) => composeSecurityMail(change, to)),
  ];
};

describe('every mail', () => {
  it('says the same in plain text and in HTML', () => {
    for (const { text, html } of composeMails()) {
      const visibleText = html.replaceAll(/<(style|title)[\s\S]*?<\/\1>|<[^>]+>/g, ' ').replaceAll(/\s+/g, ' ');
      for (const line of text.split('\n').filter(Boolean)) expect(visibleText).toContain(line);
    }
  });

  it('greets by name and names the company in its subject', () => {
    for (const { text, subject } of composeMails()) {
      expect(text.startsWith('Hello Ina,\n')).toBe(true);
      expect(subject).toContain('Acme');
    }
  });

  it('contains names neither as markup nor as header lines', () => {
    for (const { subject, text, html } of composeMails({
      name: HOSTILE_NAME,
      company: HOSTILE_NAME,
      inviter: HOSTILE_NAME,
    })) {
      expect(subject).not.toMatch(/[\r\n]/);
      expect(text).not.toMatch(/^Bcc/m);
      expect(html).not.toContain('<img');
      expect(html).not.toMatch(/^Bcc/m);
    }
  });
});

/** Lines that are the same in every language: codes and addresses. */
const DATA_LINES = new Set(['012345', '01234567', url]);

describe('a mail in another language', () => {
  const OTHER_LOCALES = LOCALES.filter((locale) => locale !== 'en');
  it.each(OTHER_LOCALES)('contains no English text: %s', (locale) => {
    const englishMails = composeMails();
    for (const [at, { subject, text, html }] of composeMails({ locale }).entries()) {
      expect(html).toContain(`<html lang="${locale}">`);
      const other = englishMails[at];
      const allowedLines = new Set([other?.subject, ...(other?.text.split('\n') ?? [])]);
      const remainingLines = [subject, ...text.split('\n')].filter(
        (line) => line !== '' && !DATA_LINES.has(line) && allowedLines.has(line),
      );
      expect(remainingLines).toEqual([]);
      for (const [, label = ''] of html.matchAll(/<a [^>]*>([^<]*)<\/a>/g)) expect(other?.html).not.toContain(label);
    }
  });

  it.each(OTHER_LOCALES)('has no English words where names are missing: %s', (locale) => {
    const emptyNames = { name: ' ', company: ' ', inviter: ' ', by: '' };
    const words = new Set(composeMails(emptyNames).flatMap(({ text }) => text.split('\n').filter(Boolean)));
    for (const { subject, text } of composeMails({ ...emptyNames, locale })) {
      for (const line of [subject, ...text.split('\n')]) if (!DATA_LINES.has(line)) expect(words).not.toContain(line);
      expect(`${subject} ${text}`).not.toMatch(/\b(there|a company|somebody|service account)\b/i);
    }
  });

  it('writes times and numbers in the format of that language', () => {
    const [notice] = NOTICE_EVENTS.map((_event, at) => at + 4);
    const composeNotice = (locale: Locale) => composeMails({ locale })[notice as number]?.text ?? '';
    expect(composeNotice('en')).toContain('at May 6, 2026 at 1:05:00 PM UTC.');
    expect(composeNotice('pt-BR')).toContain('em 6 de maio de 2026 às 13:05:00 UTC.');
    expect(composeNotice('es')).toContain(', el 6 de mayo de 2026 a las 13:05:00 UTC.');
    const resetInput = { ...receiver, url, minutes: 1 };
    const composeReset = (locale: Locale) =>
      composePasswordResetMail({ ...resetInput, company: { name: 'Acme', locale } }).text;
    expect(composeReset('en')).toContain('for 1 minute.');
    expect(composeReset('pt-BR')).toContain('por 1 minuto.');
    expect(composeReset('es')).toContain('durante 1 minuto.');
  });
});

describe('the mail that asks for consent to scheduled mails', () => {
  const composeQuestion = (locale: Locale, company = 'Acme') =>
    composeConsentMail({
      ...receiver,
      name: '',
      company: { name: company, locale },
      agreeUrl: url,
      unsubscribeUrl: url,
    });

  it('is in the language of the company, with no English line left', () => {
    const englishLines = new Set(composeQuestion('en').text.split('\n'));
    for (const locale of LOCALES.filter((listedLocale) => listedLocale !== 'en')) {
      const remainingWords = composeQuestion(locale)
        .text.split('\n')
        .filter((line) => line !== '' && !DATA_LINES.has(line) && englishLines.has(line));
      expect(remainingWords).toEqual([]);
    }
  });

  it('names the company without a web address', () => {
    const { subject, text, html } = composeQuestion('en', 'Prize at evil.example/x');
    for (const part of [subject, text, html]) expect(part).not.toContain('evil');
  });
});

describe('a mail of a company with a brand', () => {
  const theme: MailTheme = {
    name: 'Aves <Cia>',
    primary_color: '#ffd166',
    background: '#101820',
    text_color: '#f4f4f4',
    font: 'serif',
    radius: 3,
  };
  const logo = { type: 'image/png', width: 896, height: 96, bytes: decodePicture(PICTURES.png) } as const;
  const composeThemed = (more: MailTheme) =>
    composeInvitationMail({
      ...receiver,
      inviter: 'Olga',
      url,
      days: 7,
      company: { name: 'Acme', locale: 'en', theme: more },
    });

  it('has its colours, its font and its name, in inline styles only', () => {
    const { html, text, pictures } = composeThemed(theme);
    expect(html).toContain('background-color: #101820');
    expect(html).toContain('color: #f4f4f4');
    // The label of the button can be read on it.
    expect(html).toMatch(/border-radius: 3px; background-color: #ffd166; color: #000000/);
    expect(html).toContain('Georgia');
    expect(html).toContain('>Aves &lt;Cia&gt;</p>');
    expect(html).not.toMatch(/<style|<script|<link/);
    expect(pictures).toBeUndefined();
    expect(text).toBe(composeThemed({}).text);
  });

  it('attaches its logo, and loads nothing from elsewhere', () => {
    const { html, pictures } = composeThemed({ ...theme, logo });
    expect(html).toContain('<img src="cid:logo" alt="Aves &lt;Cia&gt;" width="224" height="24"');
    expect(pictures).toEqual([{ contentId: 'logo', filename: 'logo.png', type: 'image/png', content: logo.bytes }]);
    expect([...html.matchAll(/src="([^"]*)"/g)].map(([, source]) => source)).toEqual(['cid:logo']);
    expect(html).not.toMatch(/url\(|background=|srcset/);
  });

  it('leaves light and dark mode to the mail client if the brand has no colours', () => {
    expect(composeThemed({ font: 'mono', primary_color: '#063970' }).html).not.toMatch(
      /background-color: #ffffff|; color: #172033/,
    );
  });
});

it('a code or a link in a mail is on a line of its own', () => {
  const [code, reset, invitation] = composeMails();
  expect(code?.text.split('\n')).toContain('012345');
  expect(reset?.text.split('\n')).toContain(url);
  expect(invitation?.text.split('\n')).toContain(url);
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
    ['q\u0331.example, evil_.example and ❤.example', 'q\u0331 example, evil_ example and ❤ example'],
    ['at 10.20.30.40 or 1.2.3.4:80 or \\\\x', 'at 10 20 30 40 or or \\\\x'],
    ['J. P. Morgan & Co., Inc.', 'J. P. Morgan & Co., Inc.'],
    ['Nº 5.2 Größe 株式会社', 'No 5.2 Größe 株式会社'],
    ['a\u202Eb\u200Bc', 'a b c'],
    ['x'.repeat(200), `${'x'.repeat(80)}…`],
    ['🏠'.repeat(81), `${'🏠'.repeat(80)}…`],
    [' \n ', 'a company'],
  ])('have no web addresses: %j', (name, expectedName) => {
    expect(toMailName(name, 'a company')).toBe(expectedName);
  });

  it('have no web addresses in any kind of mail', () => {
    const page = 'Prize at https://evil.example/x or evil.example';
    for (const { subject, text, html } of composeMails({ name: page, company: page, inviter: page })) {
      for (const part of [subject, text, html]) expect(part).not.toContain('evil.example');
    }
  });
});

describe('text from a query result in a mail to an outsider', () => {
  it.each([
    ['https://evil.example/x?y', '…'],
    ['see evil.example now', 'see evil example now'],
    ['evil.example/prize and WWW.evil.example', '… and …'],
    ['evil\u200b.exam\u00adple', 'evil example'],
    ['ｅｖｉｌ．ｅｘａｍｐｌｅ', 'evil example'],
  ])('has no web address: %j', (text, expectedText) => {
    expect(toOutsiderText(text)).toBe(expectedText);
  });

  it.each([
    ['12.50', '1.234.123.210', '1,234.56 €', '24/7 9.30:45', 'Nº ½ m²', 'J. P. Morgan & Co., Inc.', 'a\u200bb'],
    ['ana.silva@customer.example', 'josé@customer.example'],
  ])('is otherwise unchanged', (...texts) => {
    expect(texts.map(toOutsiderText)).toEqual(texts);
  });
});
