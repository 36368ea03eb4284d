import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type ApiResponse, callApi } from '../support/api.ts';
import { createOwnedCompany } from '../support/companies.ts';
import { sendWireRequest, signRequest, type WireRequest } from './support.ts';

const company = await createOwnedCompany();

const REQUEST_PATH = '/groups';
const REQUEST_QUERY = 'dry=1&order_by=-name';
const REQUEST_BODY = JSON.stringify({ name: 'Tampered', description: 'Never to be made' });

/** Expects that a response is a refusal, and no server error. */
function expectRefused({ status, body, headers }: ApiResponse): void {
  expect([400, 401, 404, 405, 413]).toContain(status);
  expect(body).toMatchObject({ error: expect.any(String), message: expect.any(String) });
  expect(headers.get('x-correlation-id')).not.toBeNull();
}

const signFreshRequest = () =>
  signRequest(company.apiKey, { method: 'POST', path: `${REQUEST_PATH}?${REQUEST_QUERY}`, body: REQUEST_BODY });

/** Replaces the character at `at` (a fraction of the length) of a text by another character of `alphabet`. */
function changeCharacter(text: string, at: number, choiceFraction: number, alphabet: string): string {
  const index = Math.min(Math.floor(at * text.length), text.length - 1);
  const otherCharacters = [...alphabet].filter((character) => character !== text[index]);
  return (
    text.slice(0, index) + otherCharacters[Math.floor(choiceFraction * otherCharacters.length)] + text.slice(index + 1)
  );
}

const HEX_CHARACTERS = '0123456789abcdefABCDEFg';
const PRINTABLE_CHARACTERS = Array.from({ length: 94 }, (_, index) => String.fromCharCode(33 + index)).join('');
const PATH_CHARACTERS = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~!$&()*+,;=:@';

type RequestChange = (wireRequest: WireRequest, at: number, choiceFraction: number) => WireRequest;
const changeHeader =
  (
    name: string,
    alphabet: string,
    splitValue: (value: string) => readonly [before: string, target: string, after: string] = (value) => [
      '',
      value,
      '',
    ],
  ): RequestChange =>
  (wireRequest, at, choiceFraction) => {
    const headers = new Headers(wireRequest.headers);
    const [before, target, after] = splitValue(headers.get(name) as string);
    headers.set(name, before + changeCharacter(target, at, choiceFraction, alphabet) + after);
    return { ...wireRequest, headers };
  };
/** Changes one of the three parts of the Authorization header, and keeps the text before and after it. */
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

const REQUEST_CHANGES: [part: string, change: RequestChange][] = [
  [
    'path',
    (wireRequest, at, choiceFraction) => ({
      ...wireRequest,
      path: `/${changeCharacter('groups', at, choiceFraction, PATH_CHARACTERS)}?${REQUEST_QUERY}`,
    }),
  ],
  [
    'query',
    (wireRequest, at, choiceFraction) => ({
      ...wireRequest,
      path: `${REQUEST_PATH}?${changeCharacter(REQUEST_QUERY, at, choiceFraction, `${PATH_CHARACTERS}/?%`)}`,
    }),
  ],
  ['date', changeHeader('x-date', PRINTABLE_CHARACTERS)],
  ['nonce', changeHeader('x-nonce', PRINTABLE_CHARACTERS)],
  ['digest', changeHeader('x-content-sha256', HEX_CHARACTERS)],
  [
    'body',
    (wireRequest, at, choiceFraction) => ({
      ...wireRequest,
      body: changeCharacter(wireRequest.body, at, choiceFraction, `${PRINTABLE_CHARACTERS} \n`),
    }),
  ],
  ['scheme', changeHeader('authorization', PRINTABLE_CHARACTERS, changeAuthorization('scheme'))],
  ['access key', changeHeader('authorization', PRINTABLE_CHARACTERS, changeAuthorization('accessKey'))],
  ['signature', changeHeader('authorization', HEX_CHARACTERS, changeAuthorization('signature'))],
];

describe('a signed request with one byte changed', () => {
  it('is authenticated when nothing is changed, and then refused for its unknown parameter', async () => {
    const { status, body } = await sendWireRequest(await signFreshRequest());
    expect([status, body.error]).toEqual([422, 'ValidationError']);
  });

  it.each(REQUEST_CHANGES)(
    'is refused when the changed byte is in its %s',
    async (_part, change) => {
      const fraction = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
      await fc.assert(
        fc.asyncProperty(fraction, fraction, async (at, choiceFraction) => {
          expectRefused(await sendWireRequest(change(await signFreshRequest(), at, choiceFraction)));
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
    const signedRequest = await signRequest(company.apiKey, { method: from, path: `/groups/${'a'.repeat(24)}` });
    const { status, body } = await sendWireRequest({ ...signedRequest, method: to });
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
          const signedRequest = await signFreshRequest();
          signedRequest.headers.set(name, text);
          const answer = await sendWireRequest(signedRequest);
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
    const signedRequest = await signFreshRequest();
    signedRequest.headers.set(name, `${signedRequest.headers.get(name)}${'9'.repeat(60_000)}`);
    const { status, body } = await sendWireRequest(signedRequest);
    expect([status, body.details.reason]).toEqual([401, 'malformed']);
  });

  it('is refused with a body over the limit before the body is hashed', async () => {
    const { status, body } = await sendWireRequest(
      await signRequest(company.apiKey, { method: 'POST', path: REQUEST_PATH, body: 'x'.repeat(1024 * 1024 + 1) }),
    );
    expect([status, body.error]).toEqual([413, 'PayloadTooLarge']);
  });

  it('is read up to the limit when it has no Content-Length', async () => {
    const openStream = (text: string) => new Blob([text]).stream();
    const sendStream = async (wireRequest: WireRequest, text: string) =>
      callApi(wireRequest.method, wireRequest.path, {
        headers: Object.fromEntries(wireRequest.headers),
        body: openStream(text),
      });
    const name = JSON.stringify({ name: 'Streamed' });
    expect(
      (await sendStream(await signRequest(company.apiKey, { method: 'POST', path: REQUEST_PATH, body: name }), name))
        .status,
    ).toBe(201);
    expect((await sendStream(await signFreshRequest(), name)).body.details.reason).toBe('body_digest_mismatch');
    const longBody = 'x'.repeat(1024 * 1024 + 1);
    expect((await sendStream(await signFreshRequest(), longBody)).status).toBe(413);
  });

  it('is refused with a session token', async () => {
    const signedRequest = await signFreshRequest();
    signedRequest.headers.set('authorization', `Bearer ${company.token}`);
    const { status, body } = await sendWireRequest(signedRequest);
    expect([status, body.details.reason]).toEqual([401, 'malformed']);
  });

  it('is refused with the headers of another request', async () => {
    const other = await signRequest(company.apiKey, { path: '/users' });
    expectRefused(await sendWireRequest({ ...(await signFreshRequest()), headers: other.headers }));
  });

  it('is answered with the string to sign, and without the secret key', async () => {
    const signedRequest = await signFreshRequest();
    signedRequest.headers.set('x-nonce', 'another-nonce');
    const { body } = await sendWireRequest(signedRequest);
    const [word, method, path, query, ...rest] = body.details.string_to_sign.split('\n');
    expect([word, method, path, query]).toEqual(['HMAC-SHA256', 'POST', REQUEST_PATH, REQUEST_QUERY]);
    expect(rest).toEqual([
      signedRequest.headers.get('x-date'),
      'another-nonce',
      signedRequest.headers.get('x-content-sha256'),
    ]);
    expect(JSON.stringify(body)).not.toContain(company.apiKey.secret_key);
  });
});
