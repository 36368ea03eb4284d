import { createCountFormatter } from '../plurals.ts';

const formatCount = createCountFormatter('en');
const formatMinutes = (count: number) => formatCount(count, { one: 'minute', other: 'minutes' });
const formatDays = (count: number) => formatCount(count, { one: 'day', other: 'days' });

/** The texts of the mails; the other languages have the same. */
export const texts = {
  /** The greeting, without a name where no part of the name can be shown. */
  greeting: (name: string) => `Hello ${name === '' ? 'there' : name},`,
  yes: 'Yes',
  no: 'No',
  aCompany: 'a company',
  somebody: 'Somebody',
  aServiceAccount: 'A service account',
  codeRules: (minutes: number) => `It works once, for ${formatMinutes(minutes)}. A newer code replaces it.`,

  signInCode: {
    subject: (company: string) => `Your sign-in code for ${company}`,
    before: (company: string) => `This is your code to sign in to ${company}:`,
    unasked:
      'Did you not ask for a code? Then somebody else has typed your address. Nobody can sign in without the code: tell it to no one, and you need do nothing else.',
  },
  portalCode: {
    subject: (company: string) => `Your code for the dashboards of ${company}`,
    before: (company: string) => `This is your code to see the dashboards that ${company} shares with you:`,
    unasked:
      'Did you not ask for a code? Then somebody else has typed your address. Nobody gets in without the code: tell it to no one, and you need do nothing else.',
  },
  passwordReset: {
    subject: (company: string) => `Set a new password for ${company}`,
    before: (company: string) => `Open this link to set a new password for ${company}:`,
    label: 'Set a new password',
    rules: (minutes: number) =>
      `It works once, for ${formatMinutes(minutes)}. When the new password is set, you are signed out everywhere.`,
    unasked:
      'Did you not ask for this? Then somebody else has typed your address. Your password stays as it is: delete this mail, and you need do nothing else.',
  },
  invitation: {
    subject: (company: string) => `You are invited to ${company}`,
    before: (inviter: string, company: string) =>
      `${inviter} has invited you to ${company}. Open this link to choose a password and join:`,
    label: (company: string) => `Join ${company}`,
    rules: (days: number) => `It works once, for ${formatDays(days)}. A newer invitation replaces it.`,
    unasked:
      'Do you not know who this is from? Then delete this mail: no account can be used until somebody opens the link.',
  },
  /** The texts of the mails about a change by a user to how all users of a company sign in. */
  notice: {
    subject: (company: string) => `The way people sign in to ${company} was changed`,
    events: {
      sso_changed: (by: string, company: string, time: string) =>
        `${by} has set the identity provider by which people sign in to ${company}, at ${time}.`,
      sso_removed: (by: string, company: string, time: string) =>
        `${by} has taken away the identity provider by which people signed in to ${company}, at ${time}.`,
      social_changed: (by: string, company: string, time: string) =>
        `${by} has set the providers whose sign-ins are accepted by ${company}, at ${time}.`,
    },
    why: 'Whoever controls a provider can sign in as anybody whose address it vouches for. You get this mail because you are the owner or an administrator.',
    unmeant:
      'Was this not meant to happen? Then set the right provider in the console, end the sessions of whoever did it, and look through the audit trail.',
  },
  webhookDisabled: {
    subject: (company: string) => `A webhook endpoint of ${company} is disabled`,
    reasons: {
      gone: (host: string, company: string) =>
        `The webhook endpoint of ${company} at ${host} is disabled: it answered that it is gone (410).`,
      failing: (host: string, company: string) =>
        `The webhook endpoint of ${company} at ${host} is disabled: for days it answered nothing but failures.`,
    },
    rules:
      'It is sent nothing until somebody sets its status to active. What failed can then be sent again for 30 days. You get this mail because you are the owner or an administrator.',
  },
  /** The texts of the mails about a change to how one user signs in. */
  security: {
    changes: {
      password_changed: {
        subject: 'Your password was changed',
        sentence: (company: string) => `Your password for ${company} was changed.`,
      },
      second_factor_enabled: {
        subject: 'Your second factor was enabled',
        sentence: (company: string) => `Signing in to ${company} takes a code of your authenticator app from now on.`,
      },
      second_factor_disabled: {
        subject: 'Your second factor was disabled',
        sentence: (company: string) => `Signing in to ${company} takes no second factor any more.`,
      },
      second_factor_reset: {
        subject: 'Your second factor was reset',
        sentence: (company: string) => `An administrator of ${company} has taken your second factor away.`,
      },
      backup_codes_renewed: {
        subject: 'You have new backup codes',
        sentence: (company: string) =>
          `A new set of backup codes was made for your account at ${company}; the old ones stopped working.`,
      },
      passkey_added: {
        subject: 'You have a new passkey',
        sentence: (company: string) =>
          `A passkey was added to your account at ${company}. It signs you in without a password.`,
      },
      passkey_renamed: {
        subject: 'A passkey of yours was renamed',
        sentence: (company: string) => `A passkey of your account at ${company} has another name now.`,
      },
      passkey_removed: {
        subject: 'A passkey of yours was deleted',
        sentence: (company: string) =>
          `A passkey of your account at ${company} was deleted. It signs nobody in any more.`,
      },
    },
    sessions: 'Wherever else you were signed in, you have to sign in again.',
    unmeant: 'Was this not you? Then set a new password at once, and tell an administrator of your company.',
  },
  /** The mail about a program that acts for a user for the first time. */
  letIn: {
    subject: (company: string) => `A program was let in: ${company}`,
    before: (program: string, company: string, time: string) =>
      `On ${time} “${program}” was let in to ${company} in your name. It may do what you agreed to, for as long as it uses it.`,
    from: (host: string) => `It says that it comes from: ${host}`,
    after:
      'Was this not you? Then end its access at once, set a new password, and tell an administrator of your company.',
  },
  /** The texts of the mail of a schedule. */
  schedule: {
    subject: (name: string, company: string) => `${name}: ${company}`,
    aReport: 'A report',
    before: (name: string, company: string, time: string) => `This is “${name}” of ${company}, as of ${time}.`,
    alert: (name: string, company: string, time: string) =>
      `The condition of “${name}” of ${company} is met, as of ${time}.`,
    empty: 'No rows.',
    failed: 'This could not be computed.',
    notShown: 'You may not see this.',
    moreRows: (count: number) => `${formatCount(count, { one: 'more row', other: 'more rows' })}.`,
    atLeastMoreRows: (count: number) => `At least ${formatCount(count, { one: 'more row', other: 'more rows' })}.`,
    moreColumns: (count: number) => `${formatCount(count, { one: 'more column', other: 'more columns' })}.`,
    leftOut: (names: string) => `Not in this mail, which would be too long: ${names}.`,
    attached: (names: string) => `Attached: ${names}.`,
    cut: 'The file has the first rows only.',
    tooLarge: (names: string, mebibytes: number) =>
      `Too large for a mail, whose files can have ${mebibytes} MiB together: ${names}.`,
    seeAll: 'See all of it',
    noFiles: 'You may see this but not download it: here is the summary in place of files.',
    why: (company: string) => `You get this mail because somebody at ${company} has scheduled it for you.`,
    unsubscribe: 'Unsubscribe',
  },
  /** The mail that asks an address from outside for consent before its first scheduled mail. */
  scheduleConsent: {
    subject: (company: string) => `Would you like to get mails from ${company}?`,
    before: (company: string) =>
      `Somebody at ${company} wants to send you reports by mail. Open this link if you would like to get them:`,
    label: 'Say yes or no',
    otherwise: (company: string) =>
      `If you do nothing, ${company} sends you no reports, and you are not asked again. Do you not know ${company}? Then delete this mail.`,
    why: (company: string) => `You get this mail once, because somebody at ${company} has entered your address.`,
    never: 'Never get reports from this company',
  },
  /** The mail about a schedule that failed too often. */
  schedulePaused: {
    subject: (name: string, company: string) => `“${name}” is paused: ${company}`,
    before: (name: string, company: string) =>
      `“${name}”, which you have scheduled at ${company}, failed three times in a row. It is paused: nobody gets it any more.`,
    beforeToAdministrators: (name: string, company: string) =>
      `“${name}”, a schedule of ${company}, failed three times in a row. It is paused: nobody gets it any more.`,
    problems: {
      target_deleted: 'What it sends is deleted.',
      left: 'A recipient has left the company.',
      not_allowed: 'A recipient may not see what it sends.',
      parameters: 'Its parameters do not fit what it sends any more.',
      query_failed: 'What it sends could not be computed.',
      condition_failed: 'Its condition could not be checked: the column is gone, or of another type.',
      unavailable: 'The database could not be reached.',
      mail_refused: 'The mail service did not take the mail.',
      unconfirmed: 'The mail service did not say whether it took the mail.',
    },
    what: 'Check it in the console, then activate it again.',
    whyAdministrators:
      'You get this mail because you are the owner or an administrator, and who scheduled it gets no mail: a program, or a user who is not active.',
  },
  /** The texts of the pages to which the links of scheduled mails lead. */
  pages: {
    unsubscribe: {
      title: 'Unsubscribe',
      question: 'Do you want to stop getting this mail?',
      questionAll: (company: string) => `Do you want to get no reports from ${company} by mail, now and later?`,
      button: 'Unsubscribe',
      buttonAll: (company: string) => `Stop all reports from ${company}`,
      done: 'You are unsubscribed: you will not get this mail again.',
      doneAll: (company: string) => `Done: you will get no reports from ${company} by mail any more.`,
      unknown: 'There is nothing to unsubscribe from: this link is incomplete, or you are no longer on the list.',
    },
    consent: {
      title: 'Reports by mail',
      question: (company: string) =>
        `${company} would like to send you reports by mail. Do you want to get them? Each can be ended with one click.`,
      yes: 'Yes, send them to me',
      no: (company: string) => `No, never from ${company}`,
      done: (company: string) => `Thank you: from now on ${company} can send you reports. Each has a link to end them.`,
      unknown: 'There is nothing to answer here: this link is incomplete, or you have ended these mails.',
    },
  },
};

export type MailTexts = typeof texts;
