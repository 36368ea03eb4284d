import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { type ApiResponse, call } from '../support/api.ts';
import { aCompany, type Company } from '../support/worlds.ts';
import { sendWire, signRequest, type WireRequest } from './support.ts';

let company: Company;
beforeAll(async () => {
  company = await aCompany();
});

const PATH = '/groups';
const QUERY = 'dry=1&order_by=-name';
const BODY = JSON.stringify({ name: 'Tampered', description: 'Never to be made' });

/** What nobody may accept; nor may it be our fault. */
function expectRefused({ status, body, headers }: ApiResponse): void {
  expect([400, 401, 404, 405, 413]).toContain(status);
  expect(body).toMatchObject({ error: expect.any(String), message: expect.any(String) });
  expect(headers.get('x-correlation-id')).not.toBeNull();
}

const signFresh = () => signRequest(company.apiKey, { method: 'POST', path: `${PATH}?${QUERY}`, body: BODY });

/** The text with the character at `at` (a fraction of its length) replaced by another one of `alphabet`. */
function changeCharacter(text: string, at: number, pick: number, alphabet: string): string {
  const index = Math.min(Math.floor(at * text.length), text.length - 1);
  const others = [...alphabet].filter((character) => character !== text[index]);
  return text.slice(0, index) + others[Math.floor(pick * others.length)] + text.slice(index + 1);
}

const HEX = '0123456789abcdefABCDEFg';
const PRINTABLE = Array.from({ length: 94 }, (_, index) => String.fromCharCode(33 + index)).join('');
const UNRESERVED = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~!$&()*+,;=:@';

type Change = (wire: WireRequest, at: number, pick: number) => WireRequest;
const changeHeader =
  (
    name: string,
    alphabet: string,
    part: (value: string) => readonly [before: string, target: string, after: string] = (value) => ['', value, ''],
  ): Change =>
  (wire, at, pick) => {
    const headers = new Headers(wire.headers);
    const [before, target, after] = part(headers.get(name) as string);
    headers.set(name, before + changeCharacter(target, at, pick, alphabet) + after);
    return { ...wire, headers };
  };
/** One of the three parts of the header, with what stands before and after it. */
const changeAuthorization = (part: 'scheme' | 'accessKey' | 'signature') => (value: string) => {
  const {
    scheme = '',
    accessKey = '',
    signature = '',
  } = /^(?<scheme>HMAC) (?<accessKey>.*):(?<signature>.*)$/.exec(value)?.groups ?? {};
  if (part === 'scheme') return ['', scheme, ` ${accessKey}:${signature}`] as const;
  if (part === 'accessKey') return [`${scheme} `, accessKey, `:${signature}`] as const;
  return [`${scheme} ${accessKey}:`, signature, ''] as const;
};

const CHANGES: [part: string, change: Change][] = [
  ['path', (wire, at, pick) => ({ ...wire, path: `/${changeCharacter('groups', at, pick, UNRESERVED)}?${QUERY}` })],
  ['query', (wire, at, pick) => ({ ...wire, path: `${PATH}?${changeCharacter(QUERY, at, pick, `${UNRESERVED}/?%`)}` })],
  ['date', changeHeader('x-date', PRINTABLE)],
  ['nonce', changeHeader('x-nonce', PRINTABLE)],
  ['digest', changeHeader('x-content-sha256', HEX)],
  ['body', (wire, at, pick) => ({ ...wire, body: changeCharacter(wire.body, at, pick, `${PRINTABLE} \n`) })],
  ['scheme', changeHeader('authorization', PRINTABLE, changeAuthorization('scheme'))],
  ['access key', changeHeader('authorization', PRINTABLE, changeAuthorization('accessKey'))],
  ['signature', changeHeader('authorization', HEX, changeAuthorization('signature'))],
];

describe('a signed request with one byte changed', () => {
  it('is authenticated when nothing is changed, and then refused for its unknown parameter', async () => {
    const { status, body } = await sendWire(await signFresh());
    expect([status, body.error]).toEqual([422, 'ValidationError']);
  });

  it.each(CHANGES)(
    'is refused when that is in its %s',
    async (_part, change) => {
      const fraction = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
      await fc.assert(
        fc.asyncProperty(fraction, fraction, async (at, pick) => {
          expectRefused(await sendWire(change(await signFresh(), at, pick)));
        }),
        { numRuns: 60 },
      );
    },
    120_000,
  );

  it.each([
    ['GET', 'DELETE'],
    ['GET', 'PATCH'],
    ['PATCH', 'DELETE'],
    ['PATCH', 'GET'],
    ['DELETE', 'GET'],
    ['DELETE', 'PATCH'],
  ])('is refused when it was signed as %s and is sent as %s', async (from, to) => {
    const wire = await signRequest(company.apiKey, { method: from, path: `/groups/${'a'.repeat(24)}` });
    const { status, body } = await sendWire({ ...wire, method: to });
    expect([status, body.details.reason]).toEqual([401, 'bad_signature']);
  });

  it.each(['authorization', 'x-date', 'x-nonce', 'x-content-sha256'])(
    'is refused with any text for %s',
    async (name) => {
      const value = fc
        .string({ unit: 'binary-ascii', maxLength: 200 })
        .map((text) => text.replaceAll(/[^\x20-\x7e\t]/g, ''));
      await fc.assert(
        fc.asyncProperty(value, async (text) => {
          const wire = await signFresh();
          wire.headers.set(name, text);
          const answer = await sendWire(wire);
          expect(answer.status).toBe(401);
          expect(['missing_header', 'malformed', 'clock_skew', 'body_digest_mismatch', 'bad_signature']).toContain(
            answer.body.details.reason,
          );
        }),
        { numRuns: 60 },
      );
    },
  );
});

describe('a hostile request', () => {
  it.each(['authorization', 'x-date', 'x-nonce', 'x-content-sha256'])('is refused with a huge %s', async (name) => {
    const wire = await signFresh();
    wire.headers.set(name, `${wire.headers.get(name)}${'9'.repeat(60_000)}`);
    const { status, body } = await sendWire(wire);
    expect([status, body.details.reason]).toEqual([401, 'malformed']);
  });

  it('is refused with a body over the limit before that is hashed', async () => {
    const { status, body } = await sendWire(
      await signRequest(company.apiKey, { method: 'POST', path: PATH, body: 'x'.repeat(1024 * 1024 + 1) }),
    );
    expect([status, body.error]).toEqual([413, 'PayloadTooLarge']);
  });

  it('is read up to the limit when it has no Content-Length', async () => {
    const stream = (text: string) => new Blob([text]).stream();
    const sendStream = async (wire: WireRequest, text: string) =>
      call(wire.method, wire.path, { headers: Object.fromEntries(wire.headers), body: stream(text) });
    const name = JSON.stringify({ name: 'Streamed' });
    expect(
      (await sendStream(await signRequest(company.apiKey, { method: 'POST', path: PATH, body: name }), name)).status,
    ).toBe(201);
    expect((await sendStream(await signFresh(), name)).body.details.reason).toBe('body_digest_mismatch');
    const long = 'x'.repeat(1024 * 1024 + 1);
    expect((await sendStream(await signFresh(), long)).status).toBe(413);
  });

  it('is refused with a session token', async () => {
    const wire = await signFresh();
    wire.headers.set('authorization', `Bearer ${company.token}`);
    const { status, body } = await sendWire(wire);
    expect([status, body.details.reason]).toEqual([401, 'malformed']);
  });

  it('is refused with the headers of another request', async () => {
    const other = await signRequest(company.apiKey, { path: '/users' });
    expectRefused(await sendWire({ ...(await signFresh()), headers: other.headers }));
  });

  it('is answered with the string to sign, and without the secret key', async () => {
    const wire = await signFresh();
    wire.headers.set('x-nonce', 'another-nonce');
    const { body } = await sendWire(wire);
    const [word, method, path, query, ...rest] = body.details.string_to_sign.split('\n');
    expect([word, method, path, query]).toEqual(['HMAC-SHA256', 'POST', PATH, QUERY]);
    expect(rest).toEqual([wire.headers.get('x-date'), 'another-nonce', wire.headers.get('x-content-sha256')]);
    expect(JSON.stringify(body)).not.toContain(company.apiKey.secret_key);
  });
});
