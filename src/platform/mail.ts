/** A picture that the HTML shows as `cid:{contentId}`: mails load nothing from elsewhere. */
export interface InlinePicture {
  contentId: string;
  filename: string;
  type: string;
  content: Uint8Array<ArrayBuffer>;
}

/** A file that comes with a mail. */
export interface AttachedFile {
  filename: string;
  type: string;
  content: Uint8Array<ArrayBuffer>;
}

/** Always both in plain text and in HTML. */
export interface Mail {
  to: string;
  subject: string;
  text: string;
  html: string;
  pictures?: InlinePicture[];
  files?: AttachedFile[];
  headers?: Record<string, string>;
}

export interface Mailer {
  /** The maximum number of bytes of all files of one mail together. */
  readonly maxFileBytes: number;
  /** @throws MailRefused when the service refuses the mail; any other error when it cannot be reached */
  send(mail: Mail): Promise<void>;
}

export interface Sender {
  name: string;
  email: string;
}

/** The mail service refuses a mail. */
export class MailRefused extends Error {
  /** The service's own. */
  readonly code: string;
  /** Whether a retry is pointless. */
  readonly permanent: boolean;

  constructor(message: string, { code, permanent, cause }: { code: string; permanent: boolean; cause?: unknown }) {
    super(message, { cause });
    this.name = 'MailRefused';
    this.code = code;
    this.permanent = permanent;
  }
}

/** @param from an address, or `Name <address>` */
export function parseSender(from: string): Sender {
  const named = /^(.*)<(.+)>$/.exec(from);
  return named ? { name: named[1]?.trim() ?? '', email: named[2] ?? '' } : { name: '', email: from };
}
