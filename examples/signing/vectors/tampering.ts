import { type Draft, type InvalidVector, ORIGIN, type Reason, signed } from './vector.ts';

/** Function that changes a correctly signed request; the members that it returns replace those of the request. */
export type Tamper = (request: Signed) => Tampered | Promise<Tampered>;

/** Description of an invalid request: how the signed draft is changed, and the reason of the expected refusal. */
export type Case = [name: string, explanation: string, reason: Reason, tamper: Tamper, draft?: Draft];

type Signed = Awaited<ReturnType<typeof signed>>;
type Tampered = Partial<Pick<InvalidVector, 'method' | 'url' | 'body' | 'headers'>>;

export const HEADERS = ['authorization', 'x-date', 'x-nonce', 'x-content-sha256'] as const;

/** Draft of a request with a body. */
export const POST: Draft = { method: 'POST', url: `${ORIGIN}/groups`, body: '{"name":"analysts"}' };

/** Formats the signature headers as lines of HTTP. */
export const formatHeaderLines = (headers: Signed['headers']): string[] =>
  HEADERS.map((name) => `${name}: ${headers[name]}`);

const isOf = (name: string) => (line: string) => line.startsWith(`${name}: `);

/** Leaves the request unchanged: the draft itself is at fault. */
export const untouched: Tamper = () => ({});

export const without =
  (name: string): Tamper =>
  ({ headers }) => ({ headers: formatHeaderLines(headers).filter((line) => !isOf(name)(line)) });

export const twice =
  (name: string): Tamper =>
  ({ headers }) => ({
    headers: formatHeaderLines(headers).flatMap((line) => (isOf(name)(line) ? [line, line] : [line])),
  });

export const replaced =
  (name: (typeof HEADERS)[number], change: (value: string) => string): Tamper =>
  ({ headers }) => ({ headers: formatHeaderLines({ ...headers, [name]: change(headers[name]) }) });

export const authorization = (change: (value: string) => string): Tamper => replaced('authorization', change);

/** Changes the last digit of a text. */
export const changeLastDigit = (text: string): string => `${text.slice(0, -1)}${text.endsWith('0') ? '1' : '0'}`;

/** Replaces the body, and the digest by that of the new body; the signature remains that of the old one. */
export const otherBody: Tamper = async ({ headers }) => {
  const body = '{"name":"admins"}';
  const other = await signed('another', { body });
  return { body, headers: formatHeaderLines({ ...headers, 'x-content-sha256': other.headers['x-content-sha256'] }) };
};
