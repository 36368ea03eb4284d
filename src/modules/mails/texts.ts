import type { Notice } from '../../db/schema/mails.ts';
import type { Mail } from '../../platform/mail.ts';
import type { Locale } from '../../texts/locales.ts';
import { MAIL_TEXTS, type MailTexts } from '../../texts/mails/languages.ts';
import { type Content, compose } from './layout.ts';
import type { MailTheme } from './theme.ts';
import { nameInMail } from './user-text.ts';

/** The company that a mail is about, in whose language and colours it is. */
export interface MailedCompany {
  name: string;
  locale: Locale;
  theme?: MailTheme;
}

/** The receiver of a mail, and the company it is about. */
export interface Recipient {
  to: string;
  name: string;
  company: MailedCompany;
}

type Words = Omit<Content, 'to' | 'locale' | 'theme' | 'greeting'>;

/** A mail in the language of the company; `words` is given the name to call the company by. */
export function mailTo({ to, name, company }: Recipient, words: (texts: MailTexts, company: string) => Words): Mail {
  const { locale, theme } = company;
  const texts = MAIL_TEXTS[locale];
  return compose({
    to,
    locale,
    theme,
    greeting: texts.greeting(nameInMail(name, '')),
    ...words(texts, nameInMail(company.name, texts.aCompany)),
  });
}

/** The code of a sign-in without a password. */
export const signInCodeMail = ({ code, minutes, ...recipient }: Recipient & { code: string; minutes: number }): Mail =>
  mailTo(recipient, ({ signInCode, codeRules }, company) => ({
    subject: signInCode.subject(company),
    before: signInCode.before(company),
    code,
    after: [codeRules(minutes), signInCode.unasked],
  }));

/** The code of an outsider who wants to see shared content of a company. */
export const portalCodeMail = ({ code, minutes, ...recipient }: Recipient & { code: string; minutes: number }): Mail =>
  mailTo(recipient, ({ portalCode, codeRules }, company) => ({
    subject: portalCode.subject(company),
    before: portalCode.before(company),
    code,
    after: [codeRules(minutes), portalCode.unasked],
  }));

/** The link that sets a new password. */
export const passwordResetMail = ({ url, minutes, ...recipient }: Recipient & { url: string; minutes: number }): Mail =>
  mailTo(recipient, ({ passwordReset }, company) => ({
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
  ...recipient
}: Recipient & { inviter: string; url: string; days: number }): Mail =>
  mailTo(recipient, ({ invitation, somebody }, company) => ({
    subject: invitation.subject(company),
    before: invitation.before(nameInMail(inviter, somebody), company),
    link: { label: invitation.label(company), url },
    after: [invitation.rules(days), invitation.unasked],
  }));

/** Tells the owner and administrators of a change by a user. */
export const noticeMail = ({ notice, ...recipient }: Recipient & { notice: Notice }): Mail =>
  mailTo(recipient, ({ notice: { subject, events, why, unmeant }, aServiceAccount }, company) => ({
    subject: subject(company),
    before: events[notice.event](
      notice.by || aServiceAccount,
      company,
      formatInUtc(recipient.company.locale, notice.at),
    ),
    after: [why, unmeant],
  }));

/** Tells administrators that a webhook endpoint gets nothing any more. `host` is that of its address. */
export const webhookDisabledMail = ({
  host,
  reason,
  ...recipient
}: Recipient & { host: string; reason: keyof MailTexts['webhookDisabled']['reasons'] }): Mail =>
  mailTo(recipient, ({ webhookDisabled: { subject, reasons, rules } }, company) => ({
    subject: subject(company),
    before: reasons[reason](host, company),
    after: [rules],
  }));

export type SecurityChange = keyof MailTexts['security']['changes'];

/** Tells a user of a change of how they sign in. */
export const securityMail = (change: SecurityChange, recipient: Recipient): Mail =>
  mailTo(recipient, ({ security: { changes, sessions, unmeant } }, company) => ({
    subject: `${changes[change].subject}: ${company}`,
    before: changes[change].sentence(company),
    after: [sessions, unmeant],
  }));

/** Notifies a user that an OAuth client acts for them for the first time. `host` is the client's host, if known; `at` in ms. */
export const composeFirstUseMail = (
  { name, host, at }: { name: string; host: string | null; at: number },
  recipient: Recipient,
): Mail =>
  mailTo(recipient, ({ letIn: { subject, before, from, after } }, company) => {
    const program = nameInMail(name, '');
    // A host stands apart, so that no mail program makes a link of what a stranger has chosen.
    const place = host === null ? '' : from(host.replaceAll('.', ' . '));
    return {
      subject: subject(company),
      before: `${before(program, company, formatInUtc(recipient.company.locale, at))}${place && ` ${place}`}`,
      after: [after],
    };
  });

/** A time (ms), in UTC. */
const formatInUtc = (locale: Locale, time: number): string =>
  new Intl.DateTimeFormat(locale, { dateStyle: 'long', timeStyle: 'long', timeZone: 'UTC' }).format(time);
