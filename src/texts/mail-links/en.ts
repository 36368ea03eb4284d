/**
 * The English texts of the pages that links in mails lead to, without the texts of all pages; other languages have the same keys.
 */
export const texts = {
  name: 'Your name',
  password: 'Password',
  newPassword: 'New password',
  passwordRules:
    'At least 12 characters. Not one of the most common passwords, and not made of your name, e-mail or company.',
  show: 'Show',
  hide: 'Hide',
  showPassword: 'Show password',
  hidePassword: 'Hide password',
  sending: 'One moment …',
  checkFields: 'Check what is marked above.',

  invitation: {
    title: 'Accept an invitation',
    join: (company: string) => `Join ${company}`,
    invited: (company: string, email: string) => [
      `You are invited to ${company} as `,
      email,
      '. Choose a password to sign in with.',
    ],
    invitedWithSso: (company: string, email: string) => [
      `You are invited to ${company} as `,
      email,
      '. Everybody signs in by the company’s identity provider there; a password is set all the same, in case that changes.',
    ],
    goodUntil: (time: string) => `The invitation is good until ${time}.`,
    action: 'Join',
    done: (company: string) => `Welcome to ${company}`,
    doneText: 'Your password is set. You can sign in now.',
    dead: 'This invitation cannot be used',
    deadWhy: 'It was accepted already, has expired, or was replaced by a newer one.',
    deadWhatNow:
      'Have you accepted it? Then sign in, or set a new password. If not, ask whoever invited you for a new invitation.',
    incomplete: 'Part of the link is missing. Open the link in the invitation mail again, or copy all of it.',
  },

  reset: {
    title: 'Set a new password',
    intro: (company: string, email: string) => [
      'For ',
      email,
      ` at ${company}. When it is set, you are signed out everywhere.`,
    ],
    action: 'Set password',
    done: 'Your new password is set',
    doneText: 'You were signed out everywhere. Sign in with the new password.',
    dead: 'This link cannot be used',
    deadWhy: 'It was used already, has expired, or was replaced by a newer one. Have a new one sent to you:',
    request: 'We send you a link with which you choose a new password.',
    requestAction: 'Send me a link',
    requested: 'Look into your mailbox',
    requestedText: (email: string) => [
      'If ',
      email,
      ' can sign in with a password, a link is on its way there. It works once, for an hour.',
    ],
    ssoOnly: 'There is no password to set',
  },

  bySso: (company: string) => `Sign in by the identity provider of ${company}.`,
  secondFactor: 'When you sign in for the first time, you set up a second factor, such as an app that shows codes.',
  appsAsk: 'Apps that work with this system ask for these, and for your password:',
  company: 'Company',
  server: 'Server',
  howToSignIn: 'How apps sign in',
};

export type MailLinkTexts = typeof texts;
