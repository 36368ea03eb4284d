import { MINUTE_MS } from '../kernel/clock.ts';
import { readBounded } from './bounded.ts';
import { type AttachedFile, type Mail, type Mailer, MailRefusedError, type Sender } from './mail.ts';

const TIMEOUT_MS = 10_000;
const FILES_TIMEOUT_MS = MINUTE_MS;
const MAX_RESPONSE_BYTES = 64 * 1024;
/** The maximum number of bytes of all files of one mail. Resend accepts mails of 40 MB; not every mailbox does. */
const MAX_FILE_BYTES = 10 * 1024 * 1024;

/** The statuses after which a retry may help. */
const TRANSIENT_STATUSES = new Set([408, 409, 425, 429]);

/** The settings of a mail service with Resend's API for sending. */
export interface ResendSettings {
  /** The base URL, without a slash at the end. */
  baseUrl: string;
  apiKey: string;
  sender: Sender;
}

/** Creates a mailer for Resend's API: https://resend.com/docs/api-reference/emails/send-email */
export function createResendMailer({ baseUrl, apiKey, sender }: ResendSettings): Mailer {
  const from = sender.name === '' ? sender.email : `${sender.name} <${sender.email}>`;
  return {
    maxFileBytes: MAX_FILE_BYTES,
    async send({ to, subject, text, html, pictures = [], files = [], headers }: Mail) {
      const attachments = [...pictures.map(({ contentId, ...file }) => ({ ...file, content_id: contentId })), ...files];
      const response = await fetch(`${baseUrl}/emails`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${apiKey}`,
          'content-type': 'application/json',
          // Resend refuses requests without one.
          'user-agent': 'data-console',
        },
        body: buildBody({ from, to: [to], subject, text, html, ...(headers && { headers }) }, attachments),
        redirect: 'manual',
        signal: AbortSignal.timeout(files.length > 0 ? FILES_TIMEOUT_MS : TIMEOUT_MS),
      });
      const body = await readBounded(response.body, MAX_RESPONSE_BYTES);
      if (!response.ok) throw createMailRefusedError(response.status, body);
    },
  };
}

type ResendAttachment = AttachedFile & { content_id?: string };

/** The number of bytes of a file that are encoded at a time; divisible by three, so that base64 needs no padding in between. */
const PIECE_BYTES = 48 * 1024;

/** Builds a JSON body with files in base64, written while it is read: a single text would hold them in memory three times. */
function buildBody(mail: object, attachments: readonly ResendAttachment[]): BodyInit {
  if (attachments.length === 0) return JSON.stringify(mail);
  const encoder = new TextEncoder();
  const parts = attachments.map(({ content, type, ...rest }, at) => {
    const attachmentJson = JSON.stringify({ ...rest, content_type: type });
    return { before: encoder.encode(`${at === 0 ? '' : ','}${attachmentJson.slice(0, -1)},"content":"`), content };
  });
  const [head, end, tail] = [`${JSON.stringify(mail).slice(0, -1)},"attachments":[`, '"}', ']}'].map((text) =>
    encoder.encode(text),
  ) as [Uint8Array, Uint8Array, Uint8Array];
  const partLengths = parts.map(
    ({ before, content }) => before.length + Math.ceil(content.length / 3) * 4 + end.length,
  );
  const { readable, writable } = new FixedLengthStream(
    head.length + partLengths.reduce((sum, length) => sum + length, 0) + tail.length,
  );
  const writeBody = async () => {
    const writer = writable.getWriter();
    await writer.write(head);
    for (const { before, content } of parts) {
      await writer.write(before);
      for (let at = 0; at < content.length; at += PIECE_BYTES) {
        await writer.write(encoder.encode(Buffer.from(content.subarray(at, at + PIECE_BYTES)).toString('base64')));
      }
      await writer.write(end);
    }
    await writer.write(tail);
    await writer.close();
  };
  // Where the service hangs up, the request fails by itself.
  writeBody().catch(() => undefined);
  return readable;
}

/** Makes the error of a rejected mail, with the name of Resend's error, but not its message, which may hold an address. */
function createMailRefusedError(status: number, body: Uint8Array | null): MailRefusedError {
  const code = `${status} ${readErrorName(body) ?? 'unknown'}`;
  const isPermanent = status >= 400 && status < 500 && !TRANSIENT_STATUSES.has(status);
  return new MailRefusedError(`The mail service did not take the mail: ${code}.`, { code, isPermanent });
}

function readErrorName(body: Uint8Array | null): string | undefined {
  try {
    const { name } = JSON.parse(new TextDecoder().decode(body ?? undefined)) as { name?: unknown };
    return typeof name === 'string' ? name.slice(0, 100) : undefined;
  } catch {
    return undefined;
  }
}
