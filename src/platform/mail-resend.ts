import { readBounded } from './bounded.ts';
import { type AttachedFile, type Mail, type Mailer, MailRefused, type Sender } from './mail.ts';

const TIMEOUT_MS = 10_000;
const LARGEST_ANSWER = 64 * 1024;
/** Resend takes mails of 40 MB; not every mailbox does. */
const MAX_FILE_BYTES = 10 * 1024 * 1024;

/** Statuses after which a retry may help. */
const TRANSIENT = new Set([408, 409, 425, 429]);

/** How to reach a service that speaks Resend's API for sending. */
export interface ResendSettings {
  /** Without a slash at the end. */
  baseUrl: string;
  apiKey: string;
  sender: Sender;
}

/** Sends through Resend (https://resend.com/docs/api-reference/emails/send-email), or a service that speaks its API. */
export function resendMailer({ baseUrl, apiKey, sender }: ResendSettings): Mailer {
  const from = sender.name === '' ? sender.email : `${sender.name} <${sender.email}>`;
  return {
    maxFileBytes: MAX_FILE_BYTES,
    async send({ to, subject, text, html, pictures = [], files = [], headers }: Mail) {
      const attached = ({ filename, type, content }: AttachedFile) => ({
        filename,
        content: Buffer.from(content).toString('base64'),
        content_type: type,
      });
      const attachments = [
        ...pictures.map((picture) => ({ ...attached(picture), content_id: picture.contentId })),
        ...files.map(attached),
      ];
      const response = await fetch(`${baseUrl}/emails`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${apiKey}`,
          'content-type': 'application/json',
          // Resend refuses requests without one.
          'user-agent': 'data-console',
        },
        body: JSON.stringify({
          from,
          to: [to],
          subject,
          text,
          html,
          ...(headers && { headers }),
          ...(attachments.length > 0 && { attachments }),
        }),
        redirect: 'manual',
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
      const body = await readBounded(response.body, LARGEST_ANSWER);
      if (!response.ok) throw refusal(response.status, body);
    },
  };
}

/** Has the name of Resend's error (`{ name, message }`), but not its message, which may hold the receiver's address. */
function refusal(status: number, body: Uint8Array | null): MailRefused {
  const code = `${status} ${nameIn(body) ?? 'unknown'}`;
  const permanent = status >= 400 && status < 500 && !TRANSIENT.has(status);
  return new MailRefused(`The mail service did not take the mail: ${code}.`, { code, permanent });
}

function nameIn(body: Uint8Array | null): string | undefined {
  try {
    const { name } = JSON.parse(new TextDecoder().decode(body ?? undefined)) as { name?: unknown };
    return typeof name === 'string' ? name.slice(0, 100) : undefined;
  } catch {
    return undefined;
  }
}
