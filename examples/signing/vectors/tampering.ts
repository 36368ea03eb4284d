import { type Draft, type InvalidVector, ORIGIN, type Reason, signed } from './vector.ts';

/** What happens to a well-signed request on its way; the members it names replace those of the request. */
export type Tamper = (request: Signed) => Tampered | Promise<Tampered>;

/** One bad vector before it is made. */
export type Case = [name: string, explanation: string, reason: Reason, tamper: Tamper, draft?: Draft];

type Signed = Awaited<ReturnType<typeof signed>>;
type Tampered = Partial<Pick<InvalidVector, 'method' | 'url' | 'body' | 'headers'>>;

export const HEADERS = ['authorization', 'x-date', 'x-nonce', 'x-content-sha256'] as const;

/** A draft with a body. */
export const POST: Draft = { method: 'POST', url: `${ORIGIN}/groups`, body: '{"name":"analysts"}' };

/** The signature headers as lines. */
export const lines = (headers: Signed['headers']): string[] => HEADERS.map((name) => `${name}: ${headers[name]}`);

const isOf = (name: string) => (line: string) => line.startsWith(`${name}: `);

/** Sends it as it is: the draft itself is at fault. */
export const untouched: Tamper = () => ({});

export const without =
  (name: string): Tamper =>
  ({ headers }) => ({ headers: lines(headers).filter((line) => !isOf(name)(line)) });

export const twice =
  (name: string): Tamper =>
  ({ headers }) => ({ headers: lines(headers).flatMap((line) => (isOf(name)(line) ? [line, line] : [line])) });

export const replaced =
  (name: (typeof HEADERS)[number], change: (value: string) => string): Tamper =>
  ({ headers }) => ({ headers: lines({ ...headers, [name]: change(headers[name]) }) });

export const authorization = (change: (value: string) => string): Tamper => replaced('authorization', change);

/** A text with its last digit changed. */
export const changed = (text: string): string => `${text.slice(0, -1)}${text.endsWith('0') ? '1' : '0'}`;

/** Another body, with the digest that belongs to it. */
export const otherBody: Tamper = async ({ headers }) => {
  const body = '{"name":"admins"}';
  const other = await signed('another', { body });
  return { body, headers: lines({ ...headers, 'x-content-sha256': other.headers['x-content-sha256'] }) };
};
