import { env } from 'cloudflare:test';
import { importJWK, type JWK, SignJWT } from 'jose';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import { authorizeOauthClient } from '../oauth/support.ts';
import { type ApiResponse, BASE_URL, callApi, createCaller } from '../support/api.ts';
import { advanceClock, resetClock, runScheduled } from '../support/clock.ts';
import { type Company, createAllowedUser, createOwnedCompany } from '../support/companies.ts';
import { readStatusAndCode } from '../support/console.ts';
import { waitForAuditRecord } from '../support/log.ts';
import { readNewestMail } from '../support/mail.ts';
import { countRows, runSql, sendDuringRace } from '../support/race.ts';
import { expectSuccess } from '../support/signed.ts';
import { listOtherSpellings } from '../support/spellings.ts';

const AUDIENCE = 'mobile-app';
const SOCIAL_CONFIG_PATH = '/v1/auth/social/config';

const makeForgerUrl = (kind: string) => `${inject('forgerUrl')}/${kind}`;

const makePlainProvider = () => ({ issuer: makeForgerUrl('plain'), audience: AUDIENCE });

const company = await createOwnedCompany();
const { status } = await company.as.put(SOCIAL_CONFIG_PATH, {
  json: {
    providers: [
      { issuer: makeForgerUrl('plain'), audience: 'another-app' },
      { issuer: makeForgerUrl('plain'), audience: AUDIENCE },
    ],
  },
});
expect(status).toBe(200);

interface TokenChanges {
  claims?: Record<string, unknown>;
  missingClaims?: string[];
  header?: Record<string, unknown>;
  key?: CryptoKey | Uint8Array;
}

/** Creates an ID token as the provider should issue it, except for the given changes. */
async function createIdToken({ claims, missingClaims = [], header, key }: TokenChanges = {}): Promise<string> {
  const now = Math.floor(Date.now() / 1000);
  const allClaims = {
    iss: makeForgerUrl('plain'),
    aud: AUDIENCE,
    sub: 'subject',
    iat: now,
    exp: now + 300,
    jti: crypto.randomUUID(),
    email: company.owner.email,
    email_verified: true,
    ...claims,
  };
  return new SignJWT(Object.fromEntries(Object.entries(allClaims).filter(([name]) => !missingClaims.includes(name))))
    .setProtectedHeader({ alg: 'RS256', kid: 'forger-1', ...header })
    .sign(key ?? (await importJWK(inject('forgerKey'), 'RS256')));
}

const signIn = (social_token: unknown, slug = company.slug): Promise<ApiResponse> =>
  callApi('POST', '/v1/auth/social', { json: { company_slug: slug, social_token } });

describe('an ID token of an identity provider', () => {
  it('signs in the user of its address, in upper or lower case', async () => {
    for (const email of [company.owner.email, company.owner.email.toUpperCase()]) {
      const { status, body } = await signIn(await createIdToken({ claims: { email } }));
      expect([status, body.user?._id]).toEqual([200, company.owner.id]);
      expect((await createCaller(body.token).get('/v1/auth/me')).status).toBe(200);
    }
  });

  it('is refused in another spelling of its base64', async () => {
    const token = await createIdToken();
    for (const spelledToken of listOtherSpellings(token))
      expect([spelledToken, (await signIn(spelledToken)).status]).toEqual([spelledToken, 401]);
    expect((await signIn(token)).status).toBe(200);
  });

  it('may have several audiences when ours is the authorized party', async () => {
    const aud = [AUDIENCE, 'other'];
    expect((await signIn(await createIdToken({ claims: { aud, azp: AUDIENCE } }))).status).toBe(200);
    expect((await signIn(await createIdToken({ claims: { aud, azp: 'other' } }))).status).toBe(401);
  });

  it.each<[string, TokenChanges]>([
    ['another issuer', { claims: { iss: 'https://elsewhere.test' } }],
    ['no issuer', { missingClaims: ['iss'] }],
    ['another audience', { claims: { aud: 'unknown-app' } }],
    ['an expiry long past', { claims: { iat: 1_600_000_000, exp: 1_600_000_300 } }],
    ['no expiry', { missingClaims: ['exp'] }],
    ['a not-before time to come', { claims: { nbf: Math.floor(Date.now() / 1000) + 600 } }],
    ['no subject', { missingClaims: ['sub'] }],
    ['an empty subject', { claims: { sub: '' } }],
    ['a subject that is no text', { claims: { sub: 7 } }],
    ['a subject of 256 characters', { claims: { sub: 'x'.repeat(256) } }],
    ['an issue time more than ten minutes ago', { claims: { iat: Math.floor(Date.now() / 1000) - 602 } }],
    ['an issue time to come', { claims: { iat: Math.floor(Date.now() / 1000) + 300 } }],
    ['no address', { missingClaims: ['email'] }],
    ['an address that is no text', { claims: { email: [1] } }],
    ['an address that is not verified', { claims: { email_verified: false } }],
    ['an address without email_verified', { missingClaims: ['email_verified'] }],
    ['the type of an access token', { header: { typ: 'at+jwt' } }],
    ['an unknown key id', { header: { kid: 'unknown' } }],
  ])('is refused with %s', async (_what, token) => {
    const { status, body } = await signIn(await createIdToken(token));
    expect([status, body.error]).toEqual([401, 'INVALID_SOCIAL_TOKEN']);
  });

  it('of a provider that does not say whether addresses are verified is accepted where the configuration trusts it', async () => {
    const trustingCompany = await createOwnedCompany();
    const putTrustEmail = (trust_email: boolean) =>
      trustingCompany.as.put(SOCIAL_CONFIG_PATH, { json: { providers: [{ ...makePlainProvider(), trust_email }] } });
    const signInUnverified = async (claims: Record<string, unknown> = {}) =>
      signIn(
        await createIdToken({ claims: { email: trustingCompany.owner.email, email_verified: undefined, ...claims } }),
        trustingCompany.slug,
      );
    expect((await putTrustEmail(true)).body.providers).toEqual([{ ...makePlainProvider(), trust_email: true }]);
    expect((await signInUnverified()).status).toBe(200);
    expect((await signInUnverified({ email_verified: false })).status).toBe(401);
    await putTrustEmail(false);
    const refusedSignIn = await signInUnverified();
    expect([refusedSignIn.status, JSON.stringify(refusedSignIn.body)]).toEqual([
      401,
      expect.stringContaining('`trust_email`'),
    ]);
    expect((await signInUnverified({ xms_edov: true })).status).toBe(200);
  });

  it('is refused when signed with any key but the key of the provider', async () => {
    const { n } = inject('forgerKey') as JWK;
    const publicKey = new TextEncoder().encode(n);
    const { privateKey } = (await crypto.subtle.generateKey(
      { name: 'RSASSA-PKCS1-v1_5', modulusLength: 2048, publicExponent: new Uint8Array([1, 0, 1]), hash: 'SHA-256' },
      false,
      ['sign', 'verify'],
    )) as CryptoKeyPair;
    const validToken = await createIdToken();
    const [header, payload, signature] = validToken.split('.') as [string, string, string];
    const noneHeader = btoa(JSON.stringify({ alg: 'none' })).replaceAll('=', '');
    const tamperedPayload = (await createIdToken({ claims: { email: 'someone@else.test' } })).split('.')[1];
    for (const token of [
      await createIdToken({ header: { alg: 'HS256' }, key: publicKey }),
      await createIdToken({ key: privateKey }),
      `${noneHeader}.${payload}.`,
      `${header}.${tamperedPayload}.${signature}`,
      `${header}.${payload}`,
      'garbage',
      'x'.repeat(20_000),
    ]) {
      const { status, body } = await signIn(token);
      expect([status, body.error]).toEqual([401, 'INVALID_SOCIAL_TOKEN']);
    }
  });

  it('is refused when it is a token of one of our sessions', async () => {
    expect((await signIn(company.token)).body.error).toBe('INVALID_SOCIAL_TOKEN');
  });

  it('signs in neither an unknown person nor an inactive user', async () => {
    const { id, email } = await createAllowedUser(company);
    await runSql('UPDATE users SET is_active = 0 WHERE id = ?', id);
    for (const [address, principalId] of [
      ['stranger@elsewhere.test', null],
      [email, id],
    ]) {
      const answer = await signIn(await createIdToken({ claims: { email: address } }));
      expect(readStatusAndCode(answer)).toEqual([403, 'FORBIDDEN']);
      expect(await waitForAuditRecord(company, answer)).toMatchObject({ principalId });
    }
  });

  it('works only for a company with its provider', async () => {
    const other = await createOwnedCompany();
    const token = await createIdToken({ claims: { email: other.owner.email } });
    expect((await signIn(token, other.slug)).body.error).toBe('INVALID_SOCIAL_TOKEN');
    expect((await signIn(token, 'nobody')).body.error).toBe('COMPANY_NOT_FOUND');
  });

  it('does not sign in a user of a similar address', async () => {
    const { id } = await createAllowedUser(company);
    const email = `kim@${company.slug}.test`;
    await runSql('UPDATE users SET email = ? WHERE id = ?', email, id);
    const { status, body } = await signIn(await createIdToken({ claims: { email: email.replace('k', '\u212A') } }));
    expect([status, body.error]).toEqual([401, 'INVALID_SOCIAL_TOKEN']);
  });

  it('may be ten minutes old', async () => {
    const iat = Math.floor(Date.now() / 1000) - 570;
    expect((await signIn(await createIdToken({ claims: { iat } }))).status).toBe(200);
  });

  it('works once, also if it is used twice at the same time', async () => {
    const token = await createIdToken();
    const lateSignIn = await sendDuringRace(
      /^insert into "spent_social_tokens"/,
      async () => expect((await signIn(token)).status).toBe(200),
      (env) => callApi('POST', '/v1/auth/social', { json: { company_slug: company.slug, social_token: token }, env }),
    );
    expect([lateSignIn.status, lateSignIn.body.error]).toEqual([401, 'INVALID_SOCIAL_TOKEN']);
  });

  it('works once across all companies', async () => {
    const other = await createOwnedCompany();
    expect((await other.as.put(SOCIAL_CONFIG_PATH, { json: { providers: [makePlainProvider()] } })).status).toBe(200);
    const { id } = await createAllowedUser(other);
    await runSql('UPDATE users SET email = ? WHERE id = ?', company.owner.email, id);
    const token = await createIdToken();
    expect((await signIn(token)).status).toBe(200);
    expect((await signIn(token, other.slug)).body.error).toBe('INVALID_SOCIAL_TOKEN');
    expect((await signIn(await createIdToken(), other.slug)).status).toBe(200);
  });

  it('is deleted from the used tokens when it has expired', async () => {
    const countSpentTokens = () =>
      env.CONTROL_DB.prepare('SELECT count(*) AS n FROM spent_social_tokens').first<number>('n');
    await signIn(await createIdToken());
    const spentCountBefore = await countSpentTokens();
    advanceClock(10 * 60_000);
    await runScheduled();
    expect(await countSpentTokens()).toBe(spentCountBefore);
    advanceClock(21 * 60_000);
    await runScheduled();
    resetClock();
    expect(await countSpentTokens()).toBe(0);
  });

  it('asks a user who has a second factor for a code', async () => {
    const { id, email } = await createAllowedUser(company);
    await runSql('UPDATE users SET mfa_enabled = 1 WHERE id = ?', id);
    const { status, body } = await signIn(await createIdToken({ claims: { email } }));
    expect(status).toBe(200);
    expect(body).toMatchObject({ requires_2fa: true, pending_2fa_token: expect.any(String) });
    expect(body).not.toHaveProperty('token');
  });
});

describe('the provider identity of a user', () => {
  const createOtherSubject = (email: string) => createIdToken({ claims: { email, sub: 'another' } });
  const FORBIDDEN_ERROR = [403, 'FORBIDDEN'];

  it('is stored at the first sign-in, after which another identity with the same address is refused', async () => {
    const { email } = await createAllowedUser(company);
    expect((await signIn(await createIdToken({ claims: { email } }))).status).toBe(200);
    expect(readStatusAndCode(await signIn(await createOtherSubject(email)))).toEqual(FORBIDDEN_ERROR);
    expect((await signIn(await createIdToken({ claims: { email } }))).status).toBe(200);
  });

  it('belongs to one provider, and the same subject of another provider is refused', async () => {
    const other = await createOwnedCompany();
    const providers = [makePlainProvider(), { ...makePlainProvider(), issuer: makeForgerUrl('form') }];
    expect((await other.as.put(SOCIAL_CONFIG_PATH, { json: { providers } })).status).toBe(200);
    const claims = { email: other.owner.email };
    expect((await signIn(await createIdToken({ claims }), other.slug)).status).toBe(200);
    const otherProviderToken = await createIdToken({ claims: { ...claims, iss: makeForgerUrl('form') } });
    expect(readStatusAndCode(await signIn(otherProviderToken, other.slug))).toEqual(FORBIDDEN_ERROR);
  });

  it('is stored from the first of two sign-ins at the same time', async () => {
    const { id, email } = await createAllowedUser(company);
    const first = await createIdToken({ claims: { email } });
    const json = { company_slug: company.slug, social_token: await createOtherSubject(email) };
    const lateSignIn = await sendDuringRace(
      /^insert into "spent_social_tokens"/,
      async () => expect((await signIn(first)).status).toBe(200),
      (env) => callApi('POST', '/v1/auth/social', { json, env }),
    );
    expect(readStatusAndCode(lateSignIn)).toEqual(FORBIDDEN_ERROR);
    expect(await countRows('user_identities where user_id = ?', id)).toBe(1);
  });

  it('can be deleted with users:update, and is stored again by the next sign-in', async () => {
    const { id, email } = await createAllowedUser(company);
    const { as } = await createAllowedUser(company, { can: ['users:update'] });
    await signIn(await createIdToken({ claims: { email } }));
    const token = await createOtherSubject(email);
    expect(readStatusAndCode(await signIn(token))).toEqual(FORBIDDEN_ERROR);
    const path = `/v1/users/${id}/identities`;
    expect((await (await createAllowedUser(company, { can: ['users:get'] })).as.delete(path)).status).toBe(403);
    expect((await (await createOwnedCompany()).as.delete(path)).status).toBe(404);
    expect(readStatusAndCode(await signIn(token))).toEqual(FORBIDDEN_ERROR);
    expect((await as.delete(path)).status).toBe(204);
    // A token that was refused is still good.
    expect((await signIn(token)).status).toBe(200);
    expect(readStatusAndCode(await signIn(await createIdToken({ claims: { email } })))).toEqual(FORBIDDEN_ERROR);
    expect((await as.delete(path)).status).toBe(204);
    expect((await as.delete(path)).status).toBe(204);
    expect((await as.delete(`/v1/users/${'0'.repeat(24)}/identities`)).status).toBe(404);
  });
});

describe('the pinned identity of a user with more permissions than the caller', () => {
  it.each([
    ['the owner', async () => company.owner.id],
    ['a user with wider permissions', async () => (await createAllowedUser(company, { can: ['groups:*'] })).id],
  ])('is not deleted by a caller with users:update alone: %s', async (_who, find) => {
    const { as } = await createAllowedUser(company, { can: ['users:update'] });
    expect((await as.delete(`/v1/users/${await find()}/identities`)).status).toBe(403);
  });

  it('can be deleted by an administrator for the owner, but not by a program of theirs within scopes', async () => {
    const { as, owner } = await createOwnedCompany();
    await runSql('DELETE FROM group_bindings WHERE principal_id = ?', owner.id);
    const { program } = await authorizeOauthClient(as, { scope: 'users:update' });
    expect((await program.delete(`/v1/users/${owner.id}/identities`)).status).toBe(403);
    expect((await as.delete(`/v1/users/${owner.id}/identities`)).status).toBe(204);
  });
});

it('a company that signs in by single sign-on alone answers SSO_REQUIRED to an invalid token, as it does to every password', async () => {
  const other = await createOwnedCompany();
  await expectSuccess(other.as.put('/v1/company/settings', { json: { sso_only: true } }));
  expect(readStatusAndCode(await signIn('x.y.z', other.slug))).toEqual([403, 'SSO_REQUIRED']);
});

describe('the signing keys of an identity provider', () => {
  async function createCompanyWithProvider(provider: Record<string, unknown>): Promise<Company> {
    const other = await createOwnedCompany();
    expect((await other.as.put(SOCIAL_CONFIG_PATH, { json: { providers: [provider] } })).status).toBe(200);
    return other;
  }

  it('are read from a configured address without discovery', async () => {
    const issuer = makeForgerUrl('absent');
    const other = await createCompanyWithProvider({
      issuer,
      audience: AUDIENCE,
      jwks_uri: makeForgerUrl('plain/jwks'),
    });
    const token = await createIdToken({ claims: { iss: issuer, email: other.owner.email } });
    expect((await signIn(token, other.slug)).status).toBe(200);
  });

  it.each(['absent', 'impostor', 'moved', 'huge'])('are not read from a provider that is %s', async (kind) => {
    const issuer = makeForgerUrl(kind);
    const other = await createCompanyWithProvider({ issuer, audience: AUDIENCE });
    const token = await createIdToken({ claims: { iss: issuer, email: other.owner.email } });
    const { status, body } = await signIn(token, other.slug);
    expect([status, body.error]).toEqual([503, 'SERVICE_UNAVAILABLE']);
  });

  it('are not read from an address without keys', async () => {
    for (const jwks_uri of [makeForgerUrl('absent'), makeForgerUrl('plain/.well-known/openid-configuration')]) {
      const other = await createCompanyWithProvider({ issuer: makeForgerUrl('plain'), audience: AUDIENCE, jwks_uri });
      const token = await createIdToken({ claims: { email: other.owner.email } });
      expect((await signIn(token, other.slug)).status).toBe(503);
    }
  });

  it('are not read from a private address in production, even where one was configured', async () => {
    const json = { company_slug: company.slug, social_token: await createIdToken() };
    const { status } = await callApi('POST', '/v1/auth/social', { json, env: { ALLOW_PRIVATE_ISSUERS: 'false' } });
    expect(status).toBe(503);
  });
});

describe('the configuration of social sign-in', () => {
  it('is empty at first, and then returned as it was set', async () => {
    const other = await createOwnedCompany();
    expect((await other.as.get(SOCIAL_CONFIG_PATH)).body).toEqual({ providers: [] });
    const providers = [
      { issuer: 'https://accounts.example.org', audience: 'web' },
      { issuer: 'https://id.example.org', audience: 'web', jwks_uri: 'https://id.example.org/keys' },
    ];
    const { status, body } = await other.as.put(SOCIAL_CONFIG_PATH, { json: { providers } });
    expect([status, body]).toEqual([200, { providers }]);
    expect((await other.as.get(SOCIAL_CONFIG_PATH)).body).toEqual({ providers });
  });

  it('is mailed to the owner and the administrators when it changes', async () => {
    const otherCompany = await createOwnedCompany();
    const administrator = await createAllowedUser(otherCompany, { can: ['*'] });
    expect(
      (await administrator.as.put(SOCIAL_CONFIG_PATH, { json: { providers: [makePlainProvider()] } })).status,
    ).toBe(200);
    for (const email of [otherCompany.owner.email, administrator.email]) {
      expect(readNewestMail(email).text).toContain(
        `${administrator.email} has set the providers whose sign-ins are accepted`,
      );
    }
  });

  it.each<[unknown, string]>([
    [[{ issuer: 'a', audience: 'b' }], 'providers.0.issuer'],
    [[{ issuer: 'http://a.example.org', audience: 'b' }], 'providers.0.issuer'],
    [[{ issuer: 'https://10.0.0.1', audience: 'b' }], 'providers.0.issuer'],
    [
      [{ issuer: 'https://a.example.org', audience: 'b', jwks_uri: 'https://169.254.169.254/keys' }],
      'providers.0.jwks_uri',
    ],
    [Array.from({ length: 21 }, () => ({ issuer: 'https://a.example.org', audience: 'b' })), 'providers'],
  ])('must be valid (%#)', async (providers, field) => {
    const { status, body } = await company.as.put(SOCIAL_CONFIG_PATH, {
      json: { providers },
      env: { ALLOW_PRIVATE_ISSUERS: 'false' },
    });
    expect([status, body.details.map((problem: { field: string }) => problem.field)]).toEqual([422, [field]]);
  });
});

describe('a sign-in at an identity provider, from our own page', () => {
  const makeProvider = (kind: string, audience = 'pages') => ({ issuer: makeForgerUrl(kind), audience });
  let pageCompany: Company;
  beforeAll(async () => {
    pageCompany = await createOwnedCompany();
    const providers = [
      makeProvider('plain'),
      makeProvider('plain', AUDIENCE),
      makeProvider('form'),
      makeProvider('impostor'),
    ];
    await expectSuccess(pageCompany.as.put(SOCIAL_CONFIG_PATH, { json: { providers } }));
  });
  const start = (kind: string, slug = pageCompany.slug) =>
    callApi('GET', `/v1/auth/social/${slug}/start?${new URLSearchParams({ issuer: makeForgerUrl(kind) })}`);

  it('asks for an ID token in the fragment, for the first audience, with a new state and nonce each time', async () => {
    const [first, second] = [(await start('plain')).body, (await start('plain')).body];
    const { searchParams, origin, pathname } = new URL(first.url);
    expect(`${origin}${pathname}`).toBe(`${makeForgerUrl('plain')}/authorize`);
    expect(Object.fromEntries(searchParams)).toEqual({
      response_type: 'id_token',
      response_mode: 'fragment',
      client_id: 'pages',
      redirect_uri: `${BASE_URL}/oauth/signed-in`,
      scope: 'openid email profile',
      state: first.state,
      nonce: first.nonce,
    });
    for (const name of ['state', 'nonce']) {
      expect(first[name]).toMatch(/^[\w-]{43}$/);
      expect(first[name]).not.toBe(second[name]);
    }
  });

  it.each([
    ['that is not configured', 'weak', 404, 'SOCIAL_PROVIDER_NOT_FOUND'],
    ['that issues codes alone', 'form', 409, 'SOCIAL_PROVIDER_UNSUITABLE'],
    ['whose discovery names another issuer', 'impostor', 503, 'SERVICE_UNAVAILABLE'],
  ])('is not started at a provider %s', async (_what, kind, status, error) => {
    const answer = await start(kind);
    expect([answer.status, answer.body.error]).toEqual([status, error]);
  });

  it('is not started for an unknown company', async () => {
    expect((await start('plain', 'nobody-at-all')).status).toBe(404);
  });
});
