import type { Notice, NoticeEvent } from '../../db/schema/mails.ts';
import type { Mail } from '../../platform/mail.ts';
import { compose } from './layout.ts';
import { nameInMail } from './names.ts';

/** Whom a mail goes to, and which company it is about. */
interface Receiver {
  to: string;
  name: string;
  company: string;
}

const namesInMail = ({ to, name, company }: Receiver) => ({
  receiver: { to, name: nameInMail(name, 'there') },
  company: nameInMail(company, 'a company'),
});

/** The code of a sign-in without a password. */
export function signInCodeMail({ code, minutes, ...names }: Receiver & { code: string; minutes: number }): Mail {
  const { receiver, company } = namesInMail(names);
  return compose({
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
}

/** The code of an outsider who wants to see what a company shares with them. */
export function portalCodeMail({ code, minutes, ...names }: Receiver & { code: string; minutes: number }): Mail {
  const { receiver, company } = namesInMail(names);
  return compose({
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
}

/** The link that sets a new password. */
export function passwordResetMail({ url, minutes, ...names }: Receiver & { url: string; minutes: number }): Mail {
  const { receiver, company } = namesInMail(names);
  return compose({
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
}

/** The link by which an invited person joins a company. `inviter` is the name of who invited them. */
export function invitationMail({
  inviter,
  url,
  days,
  ...names
}: Receiver & { inviter: string; url: string; days: number }): Mail {
  const { receiver, company } = namesInMail(names);
  return compose({
    ...receiver,
    subject: `You are invited to ${company}`,
    before: `${nameInMail(inviter, 'Somebody')} has invited you to ${company}. Open this link to choose a password and join:`,
    link: { label: `Join ${company}`, url },
    after: [
      `It works once, for ${days} days. A newer invitation replaces it.`,
      'Do you not know who this is from? Then delete this mail: no account can be used until somebody opens the link.',
    ],
  });
}

/** What a user did, as the mail words it. */
const ACTIONS: Record<NoticeEvent, string> = {
  sso_changed: 'has set the identity provider by which people sign in to',
  sso_removed: 'has taken away the identity provider by which people signed in to',
  social_changed: 'has set the providers whose sign-ins are accepted by',
};

/** Tells the owner and administrators what a user changed. */
export function noticeMail({ notice, ...names }: Receiver & { notice: Notice }): Mail {
  const { receiver, company } = namesInMail(names);
  return compose({
    ...receiver,
    subject: `The way people sign in to ${company} was changed`,
    before: `${notice.by} ${ACTIONS[notice.event]} ${company}, at ${new Date(notice.at).toUTCString()}.`,
    after: [
      'Whoever controls a provider can sign in as anybody whose address it vouches for. You get this mail because you are ' +
        'the owner or an administrator.',
      'Was this not meant to happen? Then set the right provider in the console, end the sessions of whoever did it, and ' +
        'look through the audit trail.',
    ],
  });
}

export type SecurityChange =
  | 'password_changed'
  | 'second_factor_enabled'
  | 'second_factor_disabled'
  | 'second_factor_reset'
  | 'backup_codes_renewed';

const CHANGES: Record<SecurityChange, { subject: string; sentence: (company: string) => string }> = {
  password_changed: {
    subject: 'Your password was changed',
    sentence: (company) => `Your password for ${company} was changed.`,
  },
  second_factor_enabled: {
    subject: 'Your second factor was enabled',
    sentence: (company) => `Signing in to ${company} takes a code of your authenticator app from now on.`,
  },
  second_factor_disabled: {
    subject: 'Your second factor was disabled',
    sentence: (company) => `Signing in to ${company} takes no second factor any more.`,
  },
  second_factor_reset: {
    subject: 'Your second factor was reset',
    sentence: (company) => `An administrator of ${company} has taken your second factor away.`,
  },
  backup_codes_renewed: {
    subject: 'You have new backup codes',
    sentence: (company) =>
      `A new set of backup codes was made for your account at ${company}; the old ones stopped working.`,
  },
};

/** Tells a user what was changed about how they sign in. */
export function securityMail(change: SecurityChange, names: Receiver): Mail {
  const { receiver, company } = namesInMail(names);
  const { subject, sentence } = CHANGES[change];
  return compose({
    ...receiver,
    subject: `${subject}: ${company}`,
    before: sentence(company),
    after: [
      'Wherever else you were signed in, you have to sign in again.',
      'Was this not you? Then set a new password at once, and tell an administrator of your company.',
    ],
  });
}
