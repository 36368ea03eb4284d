import { env } from 'cloudflare:test';
import type { Mail } from '../../src/platform/mail.ts';

const sentMails: Mail[] = [];
let isMailDown = false;
let mailRefusal: { code: string; tries: number } | undefined;

/** The mail binding of the tests: the real one, with a copy of every mail it took. */
export const EMAIL = {
  async send(message: Parameters<SendEmail['send']>[0]) {
    if (isMailDown) throw new Error('the mail service is down');
    if (mailRefusal) {
      mailRefusal.tries += 1;
      throw Object.assign(new Error('The mail was refused.'), { code: mailRefusal.code });
    }
    const result = await env.EMAIL.send(message);
    sentMails.push(message as unknown as Mail);
    return result;
  },
} as SendEmail;

/** Every mail to an address so far, newest first. */
export const listMailsTo = (address: string): Mail[] => sentMails.filter(({ to }) => to === address).reverse();

/** The newest mail to an address. */
export function readNewestMail(address: string): Mail {
  const [mail] = listMailsTo(address);
  if (!mail) throw new Error(`There is no mail to ${address}.`);
  return mail;
}

/** The six-digit code of a mail, read as a person would: it stands on a line of its own. */
export function readCode({ text }: Mail): string {
  const [, code] = /^(\d{6})$/m.exec(text) ?? [];
  if (!code) throw new Error(`There is no code in: ${text}`);
  return code;
}

/** The link of a mail, likewise. */
export function readLink({ text }: Mail): URL {
  const [, link] = /^(https?:\/\/\S+)$/m.exec(text) ?? [];
  if (!link) throw new Error(`There is no link in: ${text}`);
  return new URL(link);
}

/** While `work` runs, no mail can be sent. */
export async function whileMailIsDown<T>(work: () => Promise<T>): Promise<T> {
  isMailDown = true;
  try {
    return await work();
  } finally {
    isMailDown = false;
  }
}

/** While `work` runs, every mail is refused with a code of the platform's. @returns how many were tried */
export async function whileMailIsRefused(code: string, work: () => Promise<unknown>): Promise<number> {
  const refusing = { code, tries: 0 };
  mailRefusal = refusing;
  try {
    await work();
    return refusing.tries;
  } finally {
    mailRefusal = undefined;
  }
}
