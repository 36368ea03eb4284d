import type { Notice } from '../../db/schema/mails.ts';
import type { Mail } from '../../platform/mail.ts';
import type { Locale } from '../../texts/locales.ts';
import { MAIL_TEXTS, type MailTexts } from '../../texts/mails/languages.ts';
import { composeMail, type MailContent } from './layout.ts';
import type { MailTheme } from './theme.ts';
import { toMailName } from './user-text.ts';

/** The company that a mail is about; the mail has its language and colours. */
export interface MailedCompany {
  name: string;
  locale: Locale;
  theme?: MailTheme;
}

/** The recipient of a mail, and the company it is about. */
export interface Recipient {
  to: string;
  name: string;
  company: MailedCompany;
}

type MailText = Omit<MailContent, 'to' | 'locale' | 'theme' | 'greeting'>;

/** Composes a mail in the language of the company; `makeMailText` receives the name by which to call the company. */
export function composeMailTo(
  { to, name, company }: Recipient,
  makeMailText: (texts: MailTexts, company: string) => MailText,
): Mail {
  const { locale, theme } = company;
  const texts = MAIL_TEXTS[locale];
  return composeMail({
    to,
    locale,
    theme,
    greeting: texts.greeting(toMailName(name, '')),
    ...makeMailText(texts, toMailName(company.name, texts.aCompany)),
  });
}

/**
 * Composes the mail with a code: `signInCode` of a sign-in without a password, `portalCode` of an outsider who wants to see shared
 * content of a company.
 */
export const composeCodeMail = (
  purpose: 'signInCode' | 'portalCode',
  { code, minutes, ...recipient }: Recipient & { code: string; minutes: number },
): Mail =>
  composeMailTo(recipient, ({ codeRules, [purpose]: { subject, before, unasked } }, company) => ({
    subject: subject(company),
    introduction: before(company),
    code,
    closingParagraphs: [codeRules(minutes), unasked],
  }));

/** Composes the mail with the link that sets a new password. */
export const composePasswordResetMail = ({
  url,
  minutes,
  ...recipient
}: Recipient & { url: string; minutes: number }): Mail =>
  composeMailTo(recipient, ({ passwordReset }, company) => ({
    subject: passwordReset.subject(company),
    introduction: passwordReset.before(company),
    link: { label: passwordReset.label, url },
    closingParagraphs: [passwordReset.rules(minutes), passwordReset.unasked],
  }));

/** Composes the mail with the link by which an invited person joins a company. `inviter` is the inviting user's name. */
export const composeInvitationMail = ({
  inviter,
  url,
  days,
  ...recipient
}: Recipient & { inviter: string; url: string; days: number }): Mail =>
  composeMailTo(recipient, ({ invitation, somebody }, company) => ({
    subject: invitation.subject(company),
    introduction: invitation.before(toMailName(inviter, somebody), company),
    link: { label: invitation.label(company), url },
    closingParagraphs: [invitation.rules(days), invitation.unasked],
  }));

/** Composes the mail that tells the owner and administrators of a change by a user. */
export const composeNoticeMail = ({ notice, ...recipient }: Recipient & { notice: Notice }): Mail =>
  composeMailTo(recipient, ({ notice: { subject, events, why, unmeant }, aServiceAccount }, company) => ({
    subject: subject(company),
    introduction: events[notice.event](
      notice.by || aServiceAccount,
      company,
      formatInUtc(recipient.company.locale, notice.at),
    ),
    closingParagraphs: [why, unmeant],
  }));

/** Composes the mail that tells administrators that a webhook endpoint was disabled. `host` is the host of its URL. */
export const composeWebhookDisabledMail = ({
  host,
  reason,
  ...recipient
}: Recipient & { host: string; reason: keyof MailTexts['webhookDisabled']['reasons'] }): Mail =>
  composeMailTo(recipient, ({ webhookDisabled: { subject, reasons, rules } }, company) => ({
    subject: subject(company),
    introduction: reasons[reason](host, company),
    closingParagraphs: [rules],
  }));

export type SecurityChange = keyof MailTexts['security']['changes'];

/** Composes the mail that tells a user of a change in how they sign in. */
export const composeSecurityMail = (change: SecurityChange, recipient: Recipient): Mail =>
  composeMailTo(recipient, ({ security: { changes, sessions, unmeant } }, company) => ({
    subject: `${changes[change].subject}: ${company}`,
    introduction: changes[change].sentence(company),
    closingParagraphs: [sessions, unmeant],
  }));

/** Composes the mail that an OAuth client acts for the user for the first time. `host` is the client's, if known; `at` in ms. */
export const composeFirstUseMail = (
  { name, host, at }: { name: string; host: string | null; at: number },
  recipient: Recipient,
): Mail =>
  composeMailTo(recipient, ({ letIn: { subject, before, from, after } }, company) => {
    const program = toMailName(name, '');
    // A host stands apart, so that no mail program makes a link of what a stranger has chosen.
    const hostText = host === null ? '' : from(host.replaceAll('.', ' . '));
    return {
      subject: subject(company),
      introduction: `${before(program, company, formatInUtc(recipient.company.locale, at))}${hostText && ` ${hostText}`}`,
      closingParagraphs: [after],
    };
  });

/** Formats a time (ms) in UTC. */
const formatInUtc = (locale: Locale, time: number): string =>
  new Intl.DateTimeFormat(locale, { dateStyle: 'long', timeStyle: 'long', timeZone: 'UTC' }).format(time);
