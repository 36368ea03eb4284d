import { importJWK, SignJWT } from 'jose';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { type ApiResponse, callApi } from '../support/api.ts';
import { advanceClock } from '../support/clock.ts';
import { type Company, createOwnedCompany } from '../support/companies.ts';
import {
  answerByForm,
  answerByRedirect,
  CONSOLE_RETURN_URL,
  configureSso,
  readRedirect,
  requestSignInStart,
  startSignIn,
} from './support.ts';

describe('an OpenID Provider whose answers may be forged', () => {
  let company: Company;
  const CLIENT_ID = 'our-client';
  const makeConfiguration = (kind: string) => ({
    type: 'oidc',
    issuer: `${inject('forgerUrl')}/${kind}`,
    client_id: CLIENT_ID,
    client_secret: 'a secret',
  });
  beforeAll(async () => {
    company = await createOwnedCompany();
    await configureSso(company, makeConfiguration('plain'));
  });

  interface TokenForgery {
    claims?: Record<string, unknown>;
    missingClaims?: string[];
    sign?: (token: SignJWT) => Promise<string>;
    kind?: string;
  }

  const signToken = async (token: SignJWT) =>
    token.setProtectedHeader({ alg: 'RS256', kid: 'forger-1' }).sign(await importJWK(inject('forgerKey'), 'RS256'));

  /** Creates an ID token as the provider should issue it, except for the given changes. */
  async function createIdToken(
    nonce: string | null,
    { claims, missingClaims = [], sign = signToken, kind = 'plain' }: TokenForgery,
  ) {
    const now = Math.floor(Date.now() / 1000);
    const allClaims = {
      iss: `${inject('forgerUrl')}/${kind}`,
      aud: CLIENT_ID,
      sub: 'subject',
      iat: now,
      exp: now + 300,
      nonce,
      email: company.owner.email,
      email_verified: true,
      ...claims,
    };
    return sign(
      new SignJWT(Object.fromEntries(Object.entries(allClaims).filter(([name]) => !missingClaims.includes(name)))),
    );
  }

  async function answerWithForgery(forgery: TokenForgery): Promise<ApiResponse> {
    const { searchParams } = await startSignIn(company);
    const code = await createIdToken(searchParams.get('nonce'), forgery);
    return answerByRedirect(company, { code, state: searchParams.get('state') as string });
  }

  it('is accepted when its answer is right, by redirect and by form', async () => {
    expect(readRedirect(await answerWithForgery({})).code).toBeTruthy();
    const { searchParams } = await startSignIn(company);
    const code = await createIdToken(searchParams.get('nonce'), {});
    const formAnswer = await answerByForm(company, { code, state: searchParams.get('state') as string });
    expect(readRedirect(formAnswer).code).toBeTruthy();
  });

  it('is sent the client secret in the form if it requires that', async () => {
    await configureSso(company, makeConfiguration('form'));
    expect(readRedirect(await answerWithForgery({ kind: 'form' })).code).toBeTruthy();
    await configureSso(company, makeConfiguration('plain'));
  });

  it.each<[string, TokenForgery]>([
    ['another nonce', { claims: { nonce: 'another' } }],
    ['no nonce', { missingClaims: ['nonce'] }],
    ['another audience', { claims: { aud: 'another-client' } }],
    ['several audiences and another authorized party', { claims: { aud: [CLIENT_ID, 'other'], azp: 'other' } }],
    ['another issuer', { claims: { iss: 'https://elsewhere.test' } }],
    ['a time long past', { claims: { iat: 1_600_000_000, exp: 1_600_000_300 } }],
    ['no expiry', { missingClaims: ['exp'] }],
    ['no subject', { missingClaims: ['sub'] }],
    [
      'another key',
      {
        sign: async (token) =>
          token.setProtectedHeader({ alg: 'RS256', kid: 'forger-1' }).sign(await generateOtherKey()),
      },
    ],
    [
      'an unknown key id',
      {
        sign: async (token) =>
          token.setProtectedHeader({ alg: 'RS256', kid: 'other' }).sign(await importJWK(inject('forgerKey'), 'RS256')),
      },
    ],
    ['a changed payload', { sign: async (token) => tamperToken(await signToken(token)) }],
    ['no signature', { sign: async (token) => removeSignature(await signToken(token)) }],
  ])('is refused for an ID token with %s', async (_what, forgery) => {
    expect(readRedirect(await answerWithForgery(forgery))).toEqual({
      to: CONSOLE_RETURN_URL,
      code: null,
      error: 'invalid_response',
    });
  });

  it.each<[string, TokenForgery, string]>([
    ['not verified', { claims: { email_verified: false } }, 'email_not_verified'],
    ['not said to be verified', { missingClaims: ['email_verified'] }, 'email_not_verified'],
    ['that is invalid', { claims: { email: 'not an address' } }, 'email_missing'],
    ['that is a list', { claims: { email: ['a@b.test'] } }, 'email_missing'],
    ['with a Kelvin sign for a k', { claims: { email: '\u212Aim@console.test' } }, 'email_missing'],
  ])('is refused for an address %s', async (_what, forgery, error) => {
    expect(readRedirect(await answerWithForgery(forgery)).error).toBe(error);
  });

  describe('whose ID token does not say that the address is verified', () => {
    const getOwnerEmail = () => company.owner.email;
    const makeUserInfo = (claims: Record<string, unknown>) =>
      `info.${btoa(JSON.stringify({ sub: 'subject', ...claims }))
        .replaceAll('+', '-')
        .replaceAll('/', '_')
        .replaceAll('=', '')}`;
    afterAll(() => configureSso(company, makeConfiguration('plain')));

    it.each<[title: string, expected: boolean, kind: () => string, trust: boolean, claims: Record<string, unknown>]>([
      ['there is none', false, () => 'plain', false, {}],
      ['the configuration trusts it', true, () => 'plain', true, {}],
      ['the token says that it is not', false, () => 'plain', true, { email_verified: 'false' }],
      ['xms_edov says so', true, () => 'plain', false, { xms_edov: '1' }],
      ['xms_edov says that it is not', false, () => 'plain', true, { xms_edov: false }],
      ['UserInfo says so', true, () => makeUserInfo({ email: getOwnerEmail(), email_verified: true }), false, {}],
      [
        'UserInfo says so, and the token null',
        true,
        () => makeUserInfo({ email: getOwnerEmail(), email_verified: true }),
        false,
        { email_verified: null },
      ],
      [
        'UserInfo says so of the address in capitals',
        true,
        () => makeUserInfo({ email: getOwnerEmail().toUpperCase(), email_verified: true }),
        false,
        {},
      ],
      [
        'UserInfo says that it is not',
        false,
        () => makeUserInfo({ email: getOwnerEmail(), email_verified: false }),
        true,
        {},
      ],
      ['UserInfo verifies another', false, () => makeUserInfo({ email: 'x@y.test', email_verified: true }), false, {}],
      ['UserInfo says nothing', true, () => makeUserInfo({ email: getOwnerEmail() }), true, {}],
      ['UserInfo is about somebody else', false, () => makeUserInfo({ sub: 'x', email_verified: true }), true, {}],
    ])(
      'is accepted or refused according to the userinfo response and trust_email: %s',
      async (_what, expectedOutcome, kind, trust_email, claims) => {
        await configureSso(company, { ...makeConfiguration(kind()), trust_email });
        const { code } = readRedirect(
          await answerWithForgery({
            kind: kind(),
            claims,
            missingClaims: 'email_verified' in claims ? [] : ['email_verified'],
          }),
        );
        expect(code !== null).toBe(expectedOutcome);
      },
    );

    it('is refused with the name of the setting trust_email', async () => {
      await configureSso(company, makeConfiguration('plain'));
      const { headers } = await answerWithForgery({ missingClaims: ['email_verified'] });
      const sentParameters = new URL(headers.get('location') as string).searchParams;
      expect(sentParameters.get('error')).toBe('email_not_verified');
      expect(sentParameters.get('error_description')).toContain('`trust_email`');
    });
  });

  it('is refused for algorithms without a private key, even if it lists them', async () => {
    await configureSso(company, makeConfiguration('weak'));
    const secret = new TextEncoder().encode('a secret');
    for (const signForgedToken of [
      (token: SignJWT) => token.setProtectedHeader({ alg: 'HS256' }).sign(secret),
      async (token: SignJWT) => removeSignature(await signToken(token)),
    ]) {
      expect(readRedirect(await answerWithForgery({ sign: signForgedToken, kind: 'weak' })).error).toBe(
        'invalid_response',
      );
    }
    await configureSso(company, makeConfiguration('plain'));
  });

  it('is reported to the console when it denies access', async () => {
    const state = (await startSignIn(company)).searchParams.get('state') as string;
    const { error } = readRedirect(await answerByRedirect(company, { error: 'access_denied', state }));
    expect(error).toBe('access_denied');
  });

  it('is reported to the console even if the description of its denial is not UTF-8, or long', async () => {
    for (const description of ['acc%E8s%20refus%E9', 'x'.repeat(10_000)]) {
      const state = (await startSignIn(company)).searchParams.get('state') as string;
      const query = `error=access_denied&state=${state}&error_description=${description}&session_state=%E9`;
      const answer = await callApi('GET', `/v1/auth/sso/${company.slug}/callback?${query}`);
      expect(readRedirect(answer).error).toBe('access_denied');
    }
  });

  it('is refused for an answer of another issuer', async () => {
    const { searchParams } = await startSignIn(company);
    const code = await createIdToken(searchParams.get('nonce'), {});
    const answerParameters = { code, state: searchParams.get('state') as string, iss: 'https://elsewhere.test' };
    expect(readRedirect(await answerByRedirect(company, answerParameters)).error).toBe('invalid_response');
  });

  it.each([
    ['an unknown state', { state: 'unknown', code: 'x' }],
    ['no state', { code: 'x' }],
  ])('is answered 400 for %s', async (_what, parameters) => {
    const { status, body } = await answerByRedirect(company, parameters as Record<string, string>);
    expect([status, body.error]).toEqual([400, 'INVALID_SSO_STATE']);
  });

  it('is refused with the state of another company, or one that is ten minutes old', async () => {
    const other = await createOwnedCompany();
    await configureSso(other, makeConfiguration('plain'));
    const { searchParams } = await startSignIn(company);
    const answerParameters = {
      code: await createIdToken(searchParams.get('nonce'), {}),
      state: searchParams.get('state') as string,
    };
    expect((await answerByRedirect(other, answerParameters)).status).toBe(400);
    advanceClock(10 * 60_000 + 1);
    expect((await answerByRedirect(company, answerParameters)).status).toBe(400);
  });

  it('is refused when the configuration was changed since the sign-in began', async () => {
    const { searchParams } = await startSignIn(company);
    const answerParameters = {
      code: await createIdToken(searchParams.get('nonce'), {}),
      state: searchParams.get('state') as string,
    };
    await configureSso(company, makeConfiguration('plain'));
    expect((await answerByRedirect(company, answerParameters)).status).toBe(400);
  });

  it.each(['impostor', 'moved', 'huge', 'absent'])('is not used when its metadata is %s', async (kind) => {
    const other = await createOwnedCompany();
    await configureSso(other, makeConfiguration(kind));
    const { status, body } = await requestSignInStart(other.slug, CONSOLE_RETURN_URL);
    expect([status, body.error]).toEqual([503, 'SSO_PROVIDER_UNAVAILABLE']);
  });
});

async function generateOtherKey(): Promise<CryptoKey> {
  const { privateKey } = (await crypto.subtle.generateKey(
    { name: 'RSASSA-PKCS1-v1_5', modulusLength: 2048, publicExponent: new Uint8Array([1, 0, 1]), hash: 'SHA-256' },
    true,
    ['sign', 'verify'],
  )) as CryptoKeyPair;
  return privateKey;
}

const encodeJson = (value: unknown) =>
  btoa(JSON.stringify(value)).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');

function tamperToken(token: string): string {
  const [header, payload, signature] = token.split('.') as [string, string, string];
  const claims = JSON.parse(atob(payload.replaceAll('-', '+').replaceAll('_', '/')));
  return [header, encodeJson({ ...claims, email: `other-${claims.email}` }), signature].join('.');
}

const removeSignature = (token: string): string => `${encodeJson({ alg: 'none' })}.${token.split('.')[1]}.`;
