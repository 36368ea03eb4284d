import { env } from 'cloudflare:test';
import type { Mail } from '../../src/platform/mail.ts';

const sentMails: Mail[] = [];
let isMailDown = false;
let mailRefusal: { code: string; tryCount: number } | undefined;

/** The mail binding of the tests: the real binding, which also stores a copy of every mail sent. */
export const EMAIL = {
  async send(message: Parameters<SendEmail['send']>[0]) {
    if (isMailDown) throw new Error('the mail service is down');
    if (mailRefusal) {
      mailRefusal.tryCount += 1;
      throw Object.assign(new Error('The mail was refused.'), { code: mailRefusal.code });
    }
    const result = await env.EMAIL.send(message);
    sentMails.push(message as unknown as Mail);
    return result;
  },
} as SendEmail;

/** Lists every mail to an address so far, the newest first. */
export const listMailsTo = (address: string): Mail[] => sentMails.filter(({ to }) => to === address).reverse();

/** Returns the newest mail to an address. */
export function readNewestMail(address: string): Mail {
  const [mail] = listMailsTo(address);
  if (!mail) throw new Error(`There is no mail to ${address}.`);
  return mail;
}

/** Reads the six-digit code of a mail, as a person would: it stands on a line of its own. */
export function readCode({ text }: Mail): string {
  const [, code] = /^(\d{6})$/m.exec(text) ?? [];
  if (!code) throw new Error(`There is no code in: ${text}`);
  return code;
}

/** Reads the link of a mail, as a person would: it stands on a line of its own. */
export function readLink({ text }: Mail): URL {
  const [, link] = /^(https?:\/\/\S+)$/m.exec(text) ?? [];
  if (!link) throw new Error(`There is no link in: ${text}`);
  return new URL(link);
}

/** Runs `work` while no mail can be sent. */
export async function runWhileMailIsDown<T>(work: () => Promise<T>): Promise<T> {
  isMailDown = true;
  try {
    return await work();
  } finally {
    isMailDown = false;
  }
}

/** Runs `work` while every mail is refused with a code of the platform's. @returns the number of mails tried */
export async function runWhileMailIsRefused(code: string, work: () => Promise<unknown>): Promise<number> {
  const refusal = { code, tryCount: 0 };
  mailRefusal = refusal;
  try {
    await work();
    return refusal.tryCount;
  } finally {
    mailRefusal = undefined;
  }
}
