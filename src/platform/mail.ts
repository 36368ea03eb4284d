/** A mail as people get it: always both in plain text and in HTML. */
export interface Mail {
  to: string;
  subject: string;
  text: string;
  html: string;
}

/** The one way mail leaves the system. */
export interface Mailer {
  /** @throws MailRefused when the service says why it does not take the mail; anything else when it says nothing */
  send(mail: Mail): Promise<void>;
}

/** Who mails are from. */
export interface Sender {
  name: string;
  email: string;
}

/** A mail service did not take a mail. */
export class MailRefused extends Error {
  /** As the service names it. */
  readonly code: string;
  /** It would not take the mail later either: somebody has to change something first. */
  readonly permanent: boolean;

  constructor(message: string, { code, permanent, cause }: { code: string; permanent: boolean; cause?: unknown }) {
    super(message, { cause });
    this.name = 'MailRefused';
    this.code = code;
    this.permanent = permanent;
  }
}

/** @param from an address, or `Name <address>` */
export function senderOf(from: string): Sender {
  const named = /^(.*)<(.+)>$/.exec(from);
  return named ? { name: named[1]?.trim() ?? '', email: named[2] ?? '' } : { name: '', email: from };
}
