import type { Mail } from '../../platform/mail.ts';
import { compose } from './layout.ts';

/** Whom a mail goes to, and which company it is about. */
interface Receiver {
  to: string;
  name: string;
  company: string;
}

/** The code of a sign-in without a password. */
export const signInCodeMail = ({
  company,
  code,
  minutes,
  ...receiver
}: Receiver & { code: string; minutes: number }): Mail =>
  compose({
    ...receiver,
    subject: `Your sign-in code for ${company}`,
    before: `This is your code to sign in to ${company}:`,
    code,
    after: [
      `It works once, for ${minutes} minutes. A newer code replaces it.`,
      'Did you not ask for a code? Then somebody else has typed your address. Nobody can sign in without the code: ' +
        'tell it to no one, and you need do nothing else.',
    ],
  });

/** The code of an outsider who wants to see what a company shares with them. */
export const portalCodeMail = ({ company, code, minutes, ...receiver }: Receiver & { code: string; minutes: number }) =>
  compose({
    ...receiver,
    subject: `Your code for the dashboards of ${company}`,
    before: `This is your code to see the dashboards that ${company} shares with you:`,
    code,
    after: [
      `It works once, for ${minutes} minutes. A newer code replaces it.`,
      'Did you not ask for a code? Then somebody else has typed your address. Nobody gets in without the code: tell it to ' +
        'no one, and you need do nothing else.',
    ],
  });

/** The link that sets a new password. */
export const passwordResetMail = ({
  company,
  url,
  minutes,
  ...receiver
}: Receiver & { url: string; minutes: number }): Mail =>
  compose({
    ...receiver,
    subject: `Set a new password for ${company}`,
    before: `Open this link to set a new password for ${company}:`,
    link: { label: 'Set a new password', url },
    after: [
      `It works once, for ${minutes} minutes. When the new password is set, you are signed out everywhere.`,
      'Did you not ask for this? Then somebody else has typed your address. Your password stays as it is: delete this ' +
        'mail, and you need do nothing else.',
    ],
  });

/** The link by which an invited person joins a company. `inviter` is who invited them, by name or address. */
export const invitationMail = ({
  company,
  inviter,
  url,
  days,
  ...receiver
}: Receiver & { inviter: string; url: string; days: number }): Mail =>
  compose({
    ...receiver,
    subject: `You are invited to ${company}`,
    before: `${inviter} has invited you to ${company}. Open this link to choose a password and join:`,
    link: { label: `Join ${company}`, url },
    after: [
      `It works once, for ${days} days. A newer invitation replaces it.`,
      'Do you not know who this is from? Then delete this mail: no account can be used until somebody opens the link.',
    ],
  });
