import type { RunProblem } from '../../db/schema/schedules.ts';
import type { AttachedFile, Mail } from '../../platform/mail.ts';
import type { Locale } from '../../texts/locales.ts';
import type { MailSection } from './sections.ts';
import { composeMailTo, type Recipient } from './texts.ts';
import { toMailName } from './user-text.ts';

/** The mail of a schedule to one recipient. */
export interface ScheduledMail extends Recipient {
  schedule: { name: string; timeZone: string; isAlert: boolean };
  /** When the data was read, in milliseconds. */
  asOf: number;
  sections: MailSection[];
  notes: string[];
  files: AttachedFile[];
  /** A text that names the files left out because the mail would be too large. */
  tooLargeText?: string | undefined;
  /** The URL at which the recipient sees the whole dashboard or visualization. */
  viewUrl: string;
  /** The URL for unsubscribing, from a page and from a mail client. */
  unsubscribeUrl: string;
}

/** Composes the mail of a schedule. */
export function composeScheduledMail({
  schedule,
  asOf,
  sections,
  notes,
  files,
  tooLargeText,
  viewUrl,
  unsubscribeUrl,
  ...to
}: ScheduledMail): Mail {
  const mail = composeMailTo(to, ({ schedule: texts }, company) => {
    const name = toMailName(schedule.name, texts.aReport);
    const time = formatInZone(to.company.locale, schedule.timeZone, asOf);
    return {
      subject: texts.subject(name, company),
      introduction: (schedule.isAlert ? texts.alert : texts.before)(name, company, time),
      sections,
      closingParagraphs: [
        ...notes,
        ...(tooLargeText ? [{ text: tooLargeText, link: { label: texts.seeAll, url: viewUrl } }] : []),
      ],
      footer: { text: texts.why(company), link: { label: texts.unsubscribe, url: unsubscribeUrl } },
    };
  });
  return {
    ...mail,
    ...(files.length > 0 && { files }),
    headers: makeUnsubscribeHeaders(unsubscribeUrl),
  };
}

/**
 * Composes the mail that asks an external address for consent to scheduled mails of a company. The mail contains no text that
 * users of the company wrote, except its name.
 */
export const composeConsentMail = ({
  agreeUrl,
  unsubscribeUrl,
  ...recipient
}: Recipient & { agreeUrl: string; unsubscribeUrl: string }): Mail => ({
  ...composeMailTo(recipient, ({ scheduleConsent: texts }, company) => ({
    subject: texts.subject(company),
    introduction: texts.before(company),
    link: { label: texts.label, url: agreeUrl },
    closingParagraphs: [texts.otherwise(company)],
    footer: { text: texts.why(company), link: { label: texts.never, url: unsubscribeUrl } },
  })),
  headers: makeUnsubscribeHeaders(unsubscribeUrl),
});

/** Makes the headers of RFC 8058: mail programs unsubscribe with one click, by a POST. */
const makeUnsubscribeHeaders = (url: string) => ({
  'List-Unsubscribe': `<${url}>`,
  'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
});

/** Formats a time (ms) by the clock of a time zone, and names the zone. */
const formatInZone = (locale: Locale, timeZone: string, time: number): string =>
  new Intl.DateTimeFormat(locale, {
    year: 'numeric',
    month: 'long',
    day: 'numeric',
    hour: 'numeric',
    minute: '2-digit',
    timeZoneName: 'short',
    timeZone,
  }).format(time);

/**
 * The problems that the mail reports: without those that are no failures, and without the problem that a condition was
 * not met, which the recipient may not be allowed to know.
 */
export type MailedProblem = Exclude<
  RunProblem,
  'condition_not_met' | 'files_too_large' | 'not_agreed' | 'too_many_mails' | 'quota_exceeded'
>;

/** Composes the mail that tells the maker of a schedule, or instead of them an administrator, that it failed too often. */
export const composeSchedulePausedMail = ({
  schedule,
  isMaker,
  problems,
  ...recipient
}: Recipient & { schedule: string; isMaker: boolean; problems: readonly MailedProblem[] }): Mail =>
  composeMailTo(recipient, ({ schedule: { aReport }, schedulePaused: texts }, company) => {
    const name = toMailName(schedule, aReport);
    return {
      subject: texts.subject(name, company),
      introduction: isMaker ? texts.before(name, company) : texts.beforeToAdministrators(name, company),
      closingParagraphs: [
        ...problems.map((problem) => texts.problems[problem]),
        texts.what,
        ...(isMaker ? [] : [texts.whyAdministrators]),
      ],
    };
  });
