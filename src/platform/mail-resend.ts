import { MINUTE_MS } from '../kernel/clock.ts';
import { readBounded } from './bounded.ts';
import { type AttachedFile, type Mail, type Mailer, MailRefused, type Sender } from './mail.ts';

const TIMEOUT_MS = 10_000;
const FILES_TIMEOUT_MS = MINUTE_MS;
const MAX_RESPONSE_BYTES = 64 * 1024;
/** Resend takes mails of 40 MB; not every mailbox does. */
const MAX_FILE_BYTES = 10 * 1024 * 1024;

/** Statuses after which a retry may help. */
const TRANSIENT = new Set([408, 409, 425, 429]);

/** The settings of a service that has Resend's API for sending. */
export interface ResendSettings {
  /** The address, without a slash at the end. */
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
      if (!response.ok) throw refusal(response.status, body);
    },
  };
}

type Attached = AttachedFile & { content_id?: string };

/** Bytes of a file that are encoded at once; divisible by three, so that base64 needs no padding in between. */
const PIECE = 48 * 1024;

/** JSON, with the files in base64. These are written as they are taken: in one text they would be held three times over. */
function buildBody(mail: object, attachments: readonly Attached[]): BodyInit {
  if (attachments.length === 0) return JSON.stringify(mail);
  const encoder = new TextEncoder();
  const parts = attachments.map(({ content, type, ...rest }, at) => {
    const facts = JSON.stringify({ ...rest, content_type: type });
    return { before: encoder.encode(`${at === 0 ? '' : ','}${facts.slice(0, -1)},"content":"`), content };
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
  const write = async () => {
    const writer = writable.getWriter();
    await writer.write(head);
    for (const { before, content } of parts) {
      await writer.write(before);
      for (let at = 0; at < content.length; at += PIECE) {
        await writer.write(encoder.encode(Buffer.from(content.subarray(at, at + PIECE)).toString('base64')));
      }
      await writer.write(end);
    }
    await writer.write(tail);
    await writer.close();
  };
  // Where the service hangs up, the request fails by itself.
  write().catch(() => undefined);
  return readable;
}

/** The failure of a mail, with the name of Resend's error, but not its message, which may hold an address. */
function refusal(status: number, body: Uint8Array | null): MailRefused {
  const code = `${status} ${readErrorName(body) ?? 'unknown'}`;
  const permanent = status >= 400 && status < 500 && !TRANSIENT.has(status);
  return new MailRefused(`The mail service did not take the mail: ${code}.`, { code, permanent });
}

function readErrorName(body: Uint8Array | null): string | undefined {
  try {
    const { name } = JSON.parse(new TextDecoder().decode(body ?? undefined)) as { name?: unknown };
    return typeof name === 'string' ? name.slice(0, 100) : undefined;
  } catch {
    return undefined;
  }
}
