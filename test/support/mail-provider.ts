import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  interface ProvidedContext {
    /** Base URL of a mail service that speaks Resend's API and refuses as Resend does: see `createMailServer`. */
    mailServiceUrl: string;
  }
}

/** The only key that the service accepts. */
export const MAIL_KEY = 're_key_of_the_tests';
/** The only domain that the service sends for. */
export const MAIL_DOMAIN = 'console.test';

/** A mail as the service accepted it. */
export interface AcceptedMail {
  from: string;
  to: string[];
  subject: string;
  text: string;
  html: string;
  attachments?: { filename: string; content: string }[];
}

/** Starts the mail service on a socket of this machine, for the whole run. GET /taken answers every mail that it accepted. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const { url, close } = await startMailService();
  project.provide('mailServiceUrl', url);
  return close;
}

/** Starts the mail service without a run of tests. */
export async function startMailService(): Promise<{ url: string; close(): Promise<void> }> {
  const server = createServer(createMailServer());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/**
 * Creates a server that refuses as https://resend.com/docs/api-reference/errors says. For a valid mail, the local part of the
 * receiver decides the answer: `busy` too many requests, `quota` the day's quota is used up, `down` an internal error, `silent`
 * hangs up.
 */
function createMailServer(): RequestListener {
  const acceptedMails: AcceptedMail[] = [];
  return async (request, response) => {
    const refuse = (status: number, name: string, message: string) =>
      sendAnswer(response, status, { statusCode: status, name, message });
    if (request.method === 'GET' && request.url === '/taken') return sendAnswer(response, 200, acceptedMails);
    if (request.url !== '/emails') return refuse(404, 'not_found', 'The requested endpoint does not exist.');
    if (!request.headers['user-agent']) return void response.writeHead(403).end('error code: 1010');
    if (!request.headers.authorization) return refuse(401, 'missing_api_key', 'Missing API key.');
    if (request.headers.authorization !== `Bearer ${MAIL_KEY}`) {
      return refuse(403, 'invalid_api_key', 'API key is invalid.');
    }
    const mail = await readJson(request);
    if (!mail?.from || !mail.to || !mail.subject) return refuse(422, 'missing_required_field', 'A field is missing.');
    const readAddress = (text: string) => /<([^<>]+)>$/.exec(text)?.[1] ?? text;
    if (!readAddress(mail.from).endsWith(`@${MAIL_DOMAIN}`)) {
      return refuse(403, 'validation_error', 'The domain is not verified.');
    }
    const [receiver = ''] = mail.to;
    if (!/^[^@\s]+@[^@\s]+\.[^@\s]+$/.test(receiver)) return refuse(422, 'validation_error', `Invalid to: ${receiver}`);
    if (receiver.startsWith('busy')) return refuse(429, 'rate_limit_exceeded', 'Too many requests.');
    if (receiver.startsWith('quota')) return refuse(429, 'daily_quota_exceeded', 'Daily quota reached.');
    if (receiver.startsWith('down')) return refuse(500, 'application_error', 'An unexpected error occurred.');
    if (receiver.startsWith('silent')) return void request.socket.destroy();
    acceptedMails.push(mail);
    return sendAnswer(response, 200, { id: '49a3999c-0ce1-4ea6-ab68-afcd6dc2e794' });
  };
}

const sendAnswer = (response: ServerResponse, status: number, body: unknown): void =>
  void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));

async function readJson(request: IncomingMessage): Promise<AcceptedMail | null> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of request) chunks.push(chunk as Uint8Array);
  try {
    return JSON.parse(Buffer.concat(chunks).toString()) as AcceptedMail;
  } catch {
    return null;
  }
}
