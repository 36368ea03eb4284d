import type { Notice } from '../../db/schema/mails.ts';
import type { Locale } from '../../kernel/locales.ts';
import type { Mail } from '../../platform/mail.ts';
import { MAIL_TEXTS, type MailTexts } from '../../texts/mails/languages.ts';
import { type Content, compose } from './layout.ts';
import type { MailLook } from './look.ts';
import { nameInMail } from './names.ts';

/** The company that a mail is about, in whose language and colours it is. */
export interface MailedCompany {
  name: string;
  locale: Locale;
  look?: MailLook;
}

/** Whom a mail goes to, and which company it is about. */
export interface Receiver {
  to: string;
  name: string;
  company: MailedCompany;
}

type Words = Omit<Content, 'to' | 'locale' | 'look' | 'greeting'>;

/** A mail in the language of the company; `words` is given the name to call the company by. */
export function mailTo({ to, name, company }: Receiver, words: (texts: MailTexts, company: string) => Words): Mail {
  const { locale, look } = company;
  const texts = MAIL_TEXTS[locale];
  return compose({
    to,
    locale,
    look,
    greeting: texts.greeting(nameInMail(name, '')),
    ...words(texts, nameInMail(company.name, texts.aCompany)),
  });
}

/** The code of a sign-in without a password. */
export const signInCodeMail = ({ code, minutes, ...receiver }: Receiver & { code: string; minutes: number }): Mail =>
  mailTo(receiver, ({ signInCode, codeRules }, company) => ({
    subject: signInCode.subject(company),
    before: signInCode.before(company),
    code,
    after: [codeRules(minutes), signInCode.unasked],
  }));

/** The code of an outsider who wants to see what a company shares with them. */
export const portalCodeMail = ({ code, minutes, ...receiver }: Receiver & { code: string; minutes: number }): Mail =>
  mailTo(receiver, ({ portalCode, codeRules }, company) => ({
    subject: portalCode.subject(company),
    before: portalCode.before(company),
    code,
    after: [codeRules(minutes), portalCode.unasked],
  }));

/** The link that sets a new password. */
export const passwordResetMail = ({ url, minutes, ...receiver }: Receiver & { url: string; minutes: number }): Mail =>
  mailTo(receiver, ({ passwordReset }, company) => ({
    subject: passwordReset.subject(company),
    before: passwordReset.before(company),
    link: { label: passwordReset.label, url },
    after: [passwordReset.rules(minutes), passwordReset.unasked],
  }));

/** The link by which an invited person joins a company. `inviter` is the name of who invited them. */
export const invitationMail = ({
  inviter,
  url,
  days,
  ...receiver
}: Receiver & { inviter: string; url: string; days: number }): Mail =>
  mailTo(receiver, ({ invitation, somebody }, company) => ({
    subject: invitation.subject(company),
    before: invitation.before(nameInMail(inviter, somebody), company),
    link: { label: invitation.label(company), url },
    after: [invitation.rules(days), invitation.unasked],
  }));

/** Tells the owner and administrators what a user changed. */
export const noticeMail = ({ notice, ...receiver }: Receiver & { notice: Notice }): Mail =>
  mailTo(receiver, ({ notice: { subject, events, why, unmeant }, aServiceAccount }, company) => ({
    subject: subject(company),
    before: events[notice.event](notice.by || aServiceAccount, company, timeIn(receiver.company.locale, notice.at)),
    after: [why, unmeant],
  }));

export type SecurityChange = keyof MailTexts['security']['changes'];

/** Tells a user what was changed about how they sign in. */
export const securityMail = (change: SecurityChange, receiver: Receiver): Mail =>
  mailTo(receiver, ({ security: { changes, sessions, unmeant } }, company) => ({
    subject: `${changes[change].subject}: ${company}`,
    before: changes[change].sentence(company),
    after: [sessions, unmeant],
  }));

/** A time (ms), in UTC. */
const timeIn = (locale: Locale, time: number): string =>
  new Intl.DateTimeFormat(locale, { dateStyle: 'long', timeStyle: 'long', timeZone: 'UTC' }).format(time);
