/** A picture that the HTML shows as `cid:{contentId}`: mails load nothing from other servers. */
export interface InlinePicture {
  contentId: string;
  filename: string;
  type: string;
  content: Uint8Array<ArrayBuffer>;
}

/** A file attached to a mail. */
export interface AttachedFile {
  filename: string;
  type: string;
  content: Uint8Array<ArrayBuffer>;
}

/** A mail, always both in plain text and in HTML. */
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
  /** Sends a mail. @throws MailRefusedError when the service rejects the mail; any other error when it cannot be reached */
  send(mail: Mail): Promise<void>;
}

export interface Sender {
  name: string;
  email: string;
}

/** Thrown when the mail service rejects a mail. */
export class MailRefusedError extends Error {
  /** The error code of the mail service. */
  readonly code: string;
  /** True if a retry is pointless. */
  readonly isPermanent: boolean;

  constructor(message: string, { code, isPermanent, cause }: { code: string; isPermanent: boolean; cause?: unknown }) {
    super(message, { cause });
    this.name = 'MailRefusedError';
    this.code = code;
    this.isPermanent = isPermanent;
  }
}

/** Parses the sender of mails. @param from an address, or `Name <address>` */
export function parseSender(from: string): Sender {
  const nameAndAddress = /^(.*)<(.+)>$/.exec(from);
  return nameAndAddress
    ? { name: nameAndAddress[1]?.trim() ?? '', email: nameAndAddress[2] ?? '' }
    : { name: '', email: from };
}
