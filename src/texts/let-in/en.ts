/** The texts of the page on which people let programs in, besides those of all pages; the other languages have the same. */
export const texts = {
  title: 'Let a program in',
  wants: (program: string) => `${program} asks for access`,

  companyAsked: 'Which company do you belong to? It is the short name that you sign in with.',
  company: 'Company',
  next: 'Continue',
  noSuchCompany: 'There is no such company.',

  signIn: (company: string) => `Sign in to ${company}`,
  password: 'Password',
  signInAction: 'Sign in',
  otherWays: 'Other ways to sign in',
  mailCode: 'Mail me a code',
  sso: 'Sign in with the identity provider',
  ssoOnly: 'Everybody signs in by the identity provider here; only the owner of the company has another way.',
  passwordInstead: 'Sign in as the owner',
  anotherCompany: 'Another company',
  ssoFailed: 'The identity provider did not sign you in. Try again, or ask an administrator.',

  codeTitle: 'Look into your mailbox',
  codeSent: (email: string) => `If ${email} can sign in, a code is on its way there. It is good for ten minutes.`,
  code: 'Code',

  factorTitle: 'Second step',
  factorAsked: 'Type the code of your authenticator app, or one of your backup codes.',
  setupTitle: 'Set up a second step',
  setupAsked: 'Your company asks for it. Add this key to an authenticator app, then type the code that it shows.',
  setupKey: 'Key',
  setupLink: 'Open in the app',
  backupTitle: 'Your backup codes',
  backupText: 'Keep them where you find them without your phone. Each works once; they are not shown again.',

  deviceTitle: 'Connect a device',
  deviceAsked: 'Type the code that the device or program shows. Only go on if you began this yourself.',
  deviceCode: 'Code',

  consentTitle: (program: string) => `Let ${program} in?`,
  signedInAs: (email: string, company: string) => `You are signed in to ${company} as ${email}.`,
  registered: (company: string) => `Registered by the administrators of ${company}.`,
  fromHost: (host: string) => `It comes from ${host}.`,
  unknownHost: 'Where it comes from is not known.',
  warning:
    'Nobody has checked this program. Its name may be made up: let it in only if you know it and began this yourself.',
  may: 'It may do this, as far as you may:',
  onlyReads: 'It can read, and change nothing.',
  changes: 'It can also change things.',
  tools: 'By the tools for agents alone.',
  howLong: 'For as long as it uses the access, until you end it. You can do so at any time.',
  allow: 'Let it in',
  deny: 'Do not let it in',

  doneTitle: 'It is let in',
  done: 'You can go back to the device. This page can be closed.',
  deniedTitle: 'It is not let in',
  denied: 'This page can be closed.',
  going: 'You are taken back to the program.',

  badTitle: 'This cannot go on',
  badClient: 'The program that sent you here is not known. It may have to register itself anew.',
  badRedirect: 'The program asks to lead you to an address that it has not registered.',
  nothing: 'Begin again in the program that you want to let in.',

  failures: {
    INVALID_CREDENTIALS: 'The e-mail address or the password is wrong.',
    INVALID_CODE: 'The code is wrong or has expired.',
    INVALID_2FA_CODE: 'The code is wrong, or was used before.',
    INVALID_SSO_CODE: 'This sign-in took too long. Try again.',
    SSO_REQUIRED: 'Sign in with the identity provider of your company.',
    SSO_NOT_CONFIGURED: 'This company has no identity provider.',
    FORBIDDEN: 'You may not do this, or not at this company.',
    COMPANY_SUSPENDED: 'This company is suspended. Nothing of it is lost.',
    UNAUTHORIZED: 'You are signed out. Load the page again.',
    OAUTH_REQUEST_ENDED: 'This was answered already, or has expired. Begin again in the program.',
  } as Readonly<Record<string, string>>,
};

export type LetInTexts = typeof texts;
