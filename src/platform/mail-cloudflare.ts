import { type Mailer, MailRefusedError, type Sender } from './mail.ts';

/** Errors that no retry helps: https://developers.cloudflare.com/email-service/api/send-emails/workers-api/#error-codes */
const PERMANENT_ERROR_CODES = new Set([
  'E_VALIDATION_ERROR',
  'E_FIELD_MISSING',
  'E_TOO_MANY_RECIPIENTS',
  'E_SENDER_NOT_VERIFIED',
  'E_SENDER_DOMAIN_NOT_AVAILABLE',
  'E_RECIPIENT_NOT_ALLOWED',
  'E_RECIPIENT_SUPPRESSED',
  'E_CONTENT_TOO_LARGE',
  'E_HEADER_NOT_ALLOWED',
  'E_HEADER_USE_API_FIELD',
  'E_HEADER_VALUE_INVALID',
  'E_HEADER_VALUE_TOO_LONG',
  'E_HEADER_NAME_INVALID',
  'E_HEADERS_TOO_LARGE',
  'E_HEADERS_TOO_MANY',
]);

/**
 * The maximum number of bytes of all files of one mail: 5 MiB in base64.
 * https://developers.cloudflare.com/email-service/platform/limits/
 */
const MAX_FILE_BYTES = 3.5 * 1024 * 1024;

/** Creates a mailer that sends through Cloudflare's `send_email` binding. */
export function createCloudflareMailer(binding: SendEmail, sender: Sender): Mailer {
  return {
    maxFileBytes: MAX_FILE_BYTES,
    async send({ pictures = [], files = [], ...mail }) {
      const attachments = [
        ...pictures.map((picture) => ({ disposition: 'inline' as const, ...picture })),
        ...files.map((file) => ({ disposition: 'attachment' as const, ...file })),
      ];
      try {
        await binding.send({ from: sender, ...mail, ...(attachments.length > 0 && { attachments }) });
      } catch (error) {
        const code = (error as { code?: unknown } | null)?.code;
        if (typeof code !== 'string') throw error;
        const message = `Cloudflare did not take the mail: ${code}.`;
        throw new MailRefusedError(message, { code, isPermanent: PERMANENT_ERROR_CODES.has(code), cause: error });
      }
    },
  };
}
