import { appendFile, readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { listen, sendJson } from './servers.ts';

/** Mail as the Worker sent it. */
export interface SentMail {
  to: string;
  subject: string;
  text: string;
  html: string;
  headers: Record<string, string>;
  /** The attached files, without the pictures that the HTML shows. `content` is base64. */
  attachments: { filename: string; content_type: string; content: string }[];
  /** Time at which the mail was sent, in ISO 8601. */
  sent_at: string;
}

/** Mail to deliver, before it is stored. */
export type OutgoingMail = Pick<SentMail, 'to' | 'subject' | 'text' | 'html'> &
  Partial<Pick<SentMail, 'headers' | 'attachments'>>;

/** Store of the mails of local development. */
export interface Mailbox {
  /** `GET {url}?to=ADDRESS` answers every mail to that address, newest first, as JSON; without `to` all mails. */
  url: string;
  deliverMail(mail: OutgoingMail): Promise<void>;
  close(): Promise<void>;
}

/** Opens the mailbox in `file` (one JSON object a line) and serves it on a free port of 127.0.0.1. */
export async function openMailbox(file: string): Promise<Mailbox> {
  const storedLines = await readFile(file, 'utf8').catch(() => '');
  const mails = parseLines(storedLines);
  if (storedLines !== '' && !storedLines.endsWith('\n')) await appendFile(file, '\n');
  const server = createServer((request, response) => {
    const url = URL.parse(request.url ?? '/', 'http://mailbox');
    if (request.method !== 'GET' || url?.pathname !== '/') return sendJson(response, 404, { error: 'GET / only' });
    const to = url.searchParams.get('to')?.toLowerCase();
    sendJson(response, 200, mails.filter((mail) => to === undefined || mail.to.toLowerCase() === to).reverse());
  });
  const port = await listen(server);
  return {
    url: `http://127.0.0.1:${port}/`,
    deliverMail: async ({ to, subject, text, html, headers = {}, attachments = [] }) => {
      const mail = { to, subject, text, html, headers, attachments, sent_at: new Date().toISOString() };
      mails.push(mail);
      await appendFile(file, `${JSON.stringify(mail)}\n`, { mode: 0o600 });
    },
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Parses one mail a line; skips a last line that is incomplete because the process was killed. */
function parseLines(lines: string): SentMail[] {
  return lines.split('\n').flatMap((line) => {
    try {
      return [JSON.parse(line) as SentMail];
    } catch {
      return [];
    }
  });
}
