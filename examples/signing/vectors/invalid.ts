import { stringToSign } from '../sign.ts';
import { MALFORMED } from './malformed.ts';
import {
  authorization,
  type Case,
  changeLastDigit,
  formatHeaderLines,
  otherBody,
  POST,
  replaced,
  untouched,
} from './tampering.ts';
import { type InvalidVector, KEY, NOW, ORIGIN, signed } from './vector.ts';

const date: Case[] = [
  [
    '301 seconds late',
    'One second past the last date that is accepted.',
    'clock_skew',
    untouched,
    { date: '2026-01-31T11:54:59.000Z' },
  ],
  [
    '301 seconds early',
    'One second before the first date that is accepted.',
    'clock_skew',
    untouched,
    { date: '2026-01-31T12:05:01.000Z' },
  ],
  ['a millisecond too late', 'The limit is exact.', 'clock_skew', untouched, { date: '2026-01-31T11:54:59.999Z' }],
  ['a year late', 'A request recorded long ago.', 'clock_skew', untouched, { date: '2025-01-31T12:00:00Z' }],
  ['the epoch', 'A clock that was never set.', 'clock_skew', untouched, { date: '1970-01-01T00:00:00Z' }],
];

const body: Case[] = [
  [
    'body changed',
    'Headers of one body, bytes of another.',
    'body_digest_mismatch',
    () => ({ body: '{"name":"admins"}' }),
    POST,
  ],
  [
    'body reformatted',
    'The same JSON in other bytes.',
    'body_digest_mismatch',
    () => ({ body: '{ "name": "analysts" }' }),
    POST,
  ],
  ['body removed', 'Headers of a body that does not come.', 'body_digest_mismatch', () => ({ body: '' }), POST],
  [
    'body added',
    'Headers of no body.',
    'body_digest_mismatch',
    () => ({ body: '{"name":"x"}' }),
    { method: 'POST', url: `${ORIGIN}/groups` },
  ],
  [
    'digest of another body',
    'Well-formed, of something else.',
    'body_digest_mismatch',
    replaced('x-content-sha256', changeLastDigit),
    POST,
  ],
];

const key: Case[] = [
  [
    'key that does not exist',
    'One character of the access key changed.',
    'unknown_key',
    authorization((value) => value.replace('2345:', '2346:')),
  ],
  [
    'key of another form',
    'Nothing of that name was ever issued.',
    'unknown_key',
    authorization((value) => value.replace(KEY.access_key, 'AKIDEXAMPLE')),
  ],
];

const signature: Case[] = [
  ['signature changed', 'Its last digit.', 'bad_signature', authorization(changeLastDigit)],
  [
    'signature of zeros',
    'Sixty-four of them.',
    'bad_signature',
    authorization((value) => value.replace(/:.*/, `:${'0'.repeat(64)}`)),
  ],
  [
    'another secret',
    'Signed with the secret of another key.',
    'bad_signature',
    untouched,
    { key: { ...KEY, secret_key: `${KEY.secret_key}x` } },
  ],
  ['method changed', 'Signed as GET.', 'bad_signature', () => ({ method: 'DELETE' }), { url: `${ORIGIN}/users/x` }],
  ['path changed', 'Signed for /users.', 'bad_signature', () => ({ url: `${ORIGIN}/groups?quantity=5` })],
  [
    'path in other escapes',
    '`%2F` is not `%2f`.',
    'bad_signature',
    () => ({ url: `${ORIGIN}/users/a%2fb` }),
    { url: `${ORIGIN}/users/a%2Fb` },
  ],
  ['query changed', 'One digit.', 'bad_signature', () => ({ url: `${ORIGIN}/users?quantity=6` })],
  ['query removed', 'Signed with one.', 'bad_signature', () => ({ url: `${ORIGIN}/users` })],
  [
    'query added',
    'Signed without one.',
    'bad_signature',
    () => ({ url: `${ORIGIN}/users?quantity=5` }),
    { url: `${ORIGIN}/users` },
  ],
  [
    'query sorted',
    'The order counts.',
    'bad_signature',
    () => ({ url: `${ORIGIN}/users?page=1&quantity=5` }),
    { url: `${ORIGIN}/users?quantity=5&page=1` },
  ],
  [
    'query decoded',
    '`+` is not `%20`.',
    'bad_signature',
    () => ({ url: `${ORIGIN}/users?order_by=a+b` }),
    { url: `${ORIGIN}/users?order_by=a%20b` },
  ],
  [
    'date changed',
    'By a second, within what the clock allows.',
    'bad_signature',
    replaced('x-date', () => '2026-01-31T12:00:01.000Z'),
  ],
  [
    'date written otherwise',
    'The same moment in other characters.',
    'bad_signature',
    replaced('x-date', () => NOW.replace('.000', '')),
  ],
  ['nonce changed', 'To make a replay look new.', 'bad_signature', replaced('x-nonce', (nonce) => `${nonce}-2`)],
  ['body and digest changed', 'They fit each other, not the signature.', 'bad_signature', otherBody, POST],
];

/**
 * Makes the requests that must be refused. Where several rules are broken, the reason is that of the first check that
 * fails.
 */
export const makeInvalidVectors = (): Promise<InvalidVector[]> =>
  Promise.all(
    [...MALFORMED, ...date, ...body, ...key, ...signature].map(
      async ([name, explanation, reason, tamper, draft = {}]) => {
        const request = await signed(name, draft);
        const { method, url, body } = request;
        const sentRequest = {
          method,
          url,
          body,
          headers: formatHeaderLines(request.headers),
          ...(await tamper(request)),
        };
        const receivedString = reason === 'bad_signature' ? { string_to_sign: expected(sentRequest) } : {};
        return { name, explanation, ...sentRequest, reason, ...receivedString };
      },
    ),
  );

/** Returns the text that a server expects to be signed, from the request that it received. */
function expected({ method, url, headers }: Pick<InvalidVector, 'method' | 'url' | 'headers'>): string {
  const readHeader = (name: string) =>
    headers.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2) ?? '';
  return stringToSign(method, url, readHeader('x-date'), readHeader('x-nonce'), readHeader('x-content-sha256'));
}
