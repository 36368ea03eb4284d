import { env } from 'cloudflare:test';
import { decodeJwt, decodeProtectedHeader, exportJWK, generateKeyPair, importJWK, jwtVerify, SignJWT } from 'jose';
import { describe, expect, it, vi } from 'vitest';
import { hashPassword, verifyPassword } from '../../src/platform/passwords.ts';
import { callApi, createCaller } from '../support/api.ts';
import { advanceClock } from '../support/clock.ts';
import { createAllowedUser, createOwnedCompany, logIn } from '../support/companies.ts';
import { createRacingEnv, runSql, selectRows } from '../support/race.ts';

const DAY_MS = 24 * 3600_000;

const decomposeText = (text: string) => text.normalize('NFD');

const company = await createOwnedCompany();

it('GET /v1/auth/validate-company answers whether a company of the slug exists', async () => {
  expect((await callApi('GET', `/v1/auth/validate-company?slug=${company.slug}`)).body).toEqual({ exists: true });
  expect((await callApi('GET', '/v1/auth/validate-company?slug=nobody')).body).toEqual({ exists: false });
});

describe('POST /v1/auth/login', () => {
  it('returns tokens and the user', async () => {
    const { status, body } = await logIn(company.slug, company.owner.email.toUpperCase(), company.owner.password);
    expect(status).toBe(200);
    expect(body).toEqual({
      token: expect.any(String),
      expires_in: 600,
      refresh_token: expect.any(String),
      refresh_expires_in: 604_800,
      user: { _id: company.owner.id, email: company.owner.email, name: 'Olga Owner', company_id: company.id },
    });
  });

  it('returns an access token with the claims of the contract, verifiable with the published keys', async () => {
    const { keys } = (await callApi('GET', '/.well-known/jwks.json')).body;
    const { kid, alg } = decodeProtectedHeader(company.token);
    expect(alg).toBe('EdDSA');
    const jwk = keys.find((key: { kid: string }) => key.kid === kid);
    expect(jwk).not.toHaveProperty('d');
    const { payload } = await jwtVerify(company.token, await importJWK(jwk, 'EdDSA'));
    expect(payload).toMatchObject({
      sub: company.owner.id,
      user_id: company.owner.id,
      company_id: company.id,
      team_id: null,
      email: company.owner.email,
      is_owner: true,
      token_type: 'access',
      iss: expect.any(String),
      aud: expect.any(String),
      jti: expect.any(String),
    });
    expect((payload.exp as number) - (payload.iat as number)).toBe(600);
  });

  it('answers an unknown email like a wrong password', async () => {
    const unknownEmailAnswer = await logIn(company.slug, 'nobody@nowhere.test', 'wrong-password');
    const wrongPasswordAnswer = await logIn(company.slug, company.owner.email, 'wrong-password');
    expect([unknownEmailAnswer.status, unknownEmailAnswer.body]).toEqual([400, wrongPasswordAnswer.body]);
    expect(wrongPasswordAnswer.body.error).toBe('INVALID_CREDENTIALS');
  });

  it('answers 404 for an unknown company', async () => {
    const { status, body } = await logIn('nobody', company.owner.email, 'x');
    expect([status, body.error]).toEqual([404, 'COMPANY_NOT_FOUND']);
  });

  it.each([
    [{ company_slug: 'a', email: 'not an email', password: 'x' }, ['email']],
    [{ company_slug: 'a', email: 'a@b.co', password: 'x'.repeat(129) }, ['password']],
  ])('refuses %j', async (json, fields) => {
    const { status, body } = await callApi('POST', '/v1/auth/login', { json });
    expect([status, body.error]).toEqual([422, 'VALIDATION_ERROR']);
    expect(body.details.map(({ field }: { field: string }) => field)).toEqual(fields);
  });

  it.each(['\u0000', '\u0007', 'x'])('answers the password %j like any wrong password', async (password) => {
    const { status, body } = await logIn(company.slug, company.owner.email, password);
    expect([status, body.error]).toEqual([400, 'INVALID_CREDENTIALS']);
  });

  it('refuses an inactive user who sends the right password', async () => {
    const { id, slug, owner } = await createOwnedCompany();
    await runSql('UPDATE users SET is_active = 0 WHERE company_id = ?', id);
    const right = await logIn(slug, owner.email, owner.password);
    expect([right.status, right.body.error]).toEqual([403, 'FORBIDDEN']);
    expect((await logIn(slug, owner.email, 'wrong-password')).status).toBe(400);
  });

  it.each(['owner', 'nobody'])(
    'refuses parallel guesses for %s from the eleventh on, and then the right password',
    async (accountKind) => {
      const { slug, owner } = await createOwnedCompany();
      const email = accountKind === 'owner' ? owner.email : 'nobody@nowhere.test';
      const guesses = await Promise.all(Array.from({ length: 13 }, () => logIn(slug, email, 'wrong-password')));
      const statuses = guesses.map(({ status }) => status).sort();
      expect(statuses).toEqual([...Array(10).fill(400), 429, 429, 429]);
      const refusedSignIn = await logIn(slug, email, owner.password);
      expect([refusedSignIn.status, refusedSignIn.body.error]).toEqual([429, 'RateLimitExceeded']);
      expect(Number(refusedSignIn.headers.get('retry-after'))).toBeGreaterThan(800);
      expect(refusedSignIn.body.message).toMatch(/Try again in [89]\d\d seconds \(1[45] minutes\)\.$/);
    },
  );

  it('accepts a password in every Unicode form, and counts its characters in one form', async () => {
    const longPassword = `${'Çá'.repeat(60)}Straße`;
    const { id, email } = await createAllowedUser(company);
    const readHash = async (password: string) => {
      await runSql('update users set password_hash = ?1 where id = ?2', await hashPassword(password), id);
    };
    for (const [set, typed] of [
      ['NFC', 'NFD'],
      ['NFD', 'NFC'],
    ] as const) {
      await readHash(longPassword.normalize(set));
      const { status } = await logIn(company.slug, email, longPassword.normalize(typed));
      expect([set, typed, status]).toEqual([set, typed, 200]);
    }
    const tooLongAnswer = await logIn(company.slug, email, 'é'.repeat(129));
    expect([tooLongAnswer.status, tooLongAnswer.body.error]).toEqual([422, 'VALIDATION_ERROR']);
    expect((await logIn(company.slug, email, 'é'.repeat(128).normalize('NFD'))).body.error).toBe('INVALID_CREDENTIALS');
  });

  it.each(['NFC', 'NFD'] as const)(
    'accepts a password that was once hashed in decomposed form, typed in %s, and hashes it anew',
    async (normalizeTyped) => {
      const password = 'maçã-verde-após-o-almoço';
      const { id, email } = await createAllowedUser(company);
      const decomposedPassword = decomposeText(password);
      const normalizeSpy = vi.spyOn(String.prototype, 'normalize').mockImplementation(function (this: string) {
        return String(this);
      });
      const formerHash = await hashPassword(decomposedPassword).finally(() => normalizeSpy.mockRestore());
      await runSql('update users set password_hash = ?1 where id = ?2', formerHash, id);
      expect((await logIn(company.slug, email, password.normalize(normalizeTyped))).status).toBe(200);
      const storedHash = await env.CONTROL_DB.prepare('select password_hash from users where id = ?')
        .bind(id)
        .first('password_hash');
      expect(storedHash).not.toBe(formerHash);
      expect(await verifyPassword(password, storedHash as string)).toEqual({ isCorrect: true, isOutdated: false });
      expect((await logIn(company.slug, email, password.normalize(normalizeTyped))).status).toBe(200);
    },
  );

  it('accepts parallel right passwords', async () => {
    const { slug, owner } = await createOwnedCompany();
    const answers = await Promise.all(Array.from({ length: 14 }, () => logIn(slug, owner.email, owner.password)));
    expect(answers.map(({ status }) => status)).toEqual(Array(14).fill(200));
  });
});

describe('GET /v1/auth/me', () => {
  const refusals: [string, () => Promise<string> | string][] = [
    ['no token', () => ''],
    ['garbage', () => 'abc'],
    ['a refresh token', () => company.refreshToken],
    ['a changed token', () => `${company.token.slice(0, -2)}xx`],
    ['alg none', () => `${btoa('{"alg":"none"}')}.${company.token.split('.')[1]}.`],
    [
      'HS256 with the public key',
      async () => forgeToken('HS256', new TextEncoder().encode(JSON.stringify(await readPublicKey()))),
    ],
    ['a foreign key', async () => forgeToken('EdDSA', (await generateKeyPair('EdDSA')).privateKey)],
    ['another audience', () => signChangedClaims({ aud: 'share-portal' })],
    ['another issuer', () => signChangedClaims({ iss: 'somebody' })],
    ['another company', async () => signChangedClaims({ company_id: (await createOwnedCompany()).id })],
    ['an unknown session', () => signChangedClaims({ sid: 'f'.repeat(24) })],
    ['an expired token', () => signChangedClaims({ exp: 1_000_000 })],
  ];

  it.each(refusals)('refuses %s', async (_what, token) => {
    const { status, body } = await createCaller(await token()).get('/v1/auth/me');
    expect([status, body.error]).toEqual([401, 'UNAUTHORIZED']);
  });

  const readPublicKey = async () =>
    exportJWK(await importJWK((await callApi('GET', '/.well-known/jwks.json')).body.keys[0], 'EdDSA'));
  const forgeToken = (alg: string, key: CryptoKey | Uint8Array) =>
    new SignJWT(decodeJwt(company.token)).setProtectedHeader({ alg, kid: 'test-1' }).sign(key);
  const signChangedClaims = async (claims: Record<string, unknown>) => {
    const [jwk] = JSON.parse(env.JWT_PRIVATE_KEYS);
    return new SignJWT({ ...decodeJwt(company.token), ...claims })
      .setProtectedHeader({ alg: 'EdDSA', kid: jwk.kid })
      .sign(await importJWK(jwk, 'EdDSA'));
  };
});

describe('POST /v1/auth/refresh', () => {
  const refreshTokens = (token: string) => callApi('POST', '/v1/auth/refresh', { json: { refresh_token: token } });

  it('returns a new pair of tokens, whose use ends the old refresh token', async () => {
    const { refreshToken } = await createOwnedCompany();
    const first = await refreshTokens(refreshToken);
    expect(first.status).toBe(200);
    expect(Object.keys(first.body).sort()).toEqual(['expires_in', 'refresh_expires_in', 'refresh_token', 'token']);
    expect((await createCaller(first.body.token).get('/v1/auth/me')).status).toBe(200);
    const secondRefresh = await refreshTokens(first.body.refresh_token);
    expect(secondRefresh.status).toBe(200);
    expect((await refreshTokens(refreshToken)).status).toBe(401);
    expect((await createCaller(secondRefresh.body.token).get('/v1/auth/me')).status).toBe(401);
    expect((await refreshTokens(secondRefresh.body.refresh_token)).status).toBe(401);
  });

  it('answers a retry within ten seconds with the same new token, until the new token is used', async () => {
    const { refreshToken } = await createOwnedCompany();
    const lostRefresh = await refreshTokens(refreshToken);
    advanceClock(9_000);
    const retriedRefresh = await refreshTokens(refreshToken);
    expect([retriedRefresh.status, retriedRefresh.body.refresh_token]).toEqual([200, lostRefresh.body.refresh_token]);
    expect((await createCaller(retriedRefresh.body.token).get('/v1/auth/me')).status).toBe(200);
    const { status, body } = await refreshTokens(lostRefresh.body.refresh_token);
    expect(status).toBe(200);
    expect((await refreshTokens(refreshToken)).status).toBe(401);
    expect((await refreshTokens(body.refresh_token)).status).toBe(401);
  });

  it('keeps the session when two tabs refresh at once', async () => {
    const { refreshToken } = await createOwnedCompany();
    let secondToken: string | undefined;
    const racingEnv = createRacingEnv(/update "sessions"/, async () => {
      secondToken = (await refreshTokens(refreshToken)).body.refresh_token;
    });
    const first = await callApi('POST', '/v1/auth/refresh', {
      json: { refresh_token: refreshToken },
      env: racingEnv.env,
    });
    expect(racingEnv.hasRun()).toBe(true);
    expect([first.status, first.body.refresh_token]).toEqual([200, secondToken]);
    expect((await refreshTokens(first.body.refresh_token)).status).toBe(200);
    expect((await refreshTokens(secondToken as string)).status).toBe(200);
  });

  it('ends the session thirty days after the sign-in, however often it is refreshed', async () => {
    const { refreshToken } = await createOwnedCompany();
    let token = refreshToken;
    for (let day = 6; day <= 24; day += 6) {
      advanceClock(day * DAY_MS);
      const { status, body } = await refreshTokens(token);
      expect([day, status, body.refresh_expires_in]).toEqual([day, 200, day === 24 ? 6 * 86_400 : 604_800]);
      token = body.refresh_token;
    }
    advanceClock(30 * DAY_MS - 60_000);
    const last = await refreshTokens(token);
    expect(last.status).toBe(200);
    expect(last.body.refresh_expires_in).toBeLessThanOrEqual(60);
    advanceClock(30 * DAY_MS + 1000);
    expect((await refreshTokens(last.body.refresh_token)).status).toBe(401);
    expect((await createCaller(last.body.token).get('/v1/auth/me')).status).toBe(401);
  });

  it('refuses any text that is no token, of any length', async () => {
    for (const token of ['x', 'x'.repeat(5000)]) expect((await refreshTokens(token)).status).toBe(401);
  });

  it('ends the session when a used token is presented after ten seconds', async () => {
    const { refreshToken } = await createOwnedCompany();
    const { body } = await refreshTokens(refreshToken);
    advanceClock(10_001);
    expect((await refreshTokens(refreshToken)).status).toBe(401);
    expect((await createCaller(body.token).get('/v1/auth/me')).status).toBe(401);
    expect((await refreshTokens(body.refresh_token)).status).toBe(401);
  });

  it('refuses an access token, and a refresh token that is seven days old', async () => {
    const { token, refreshToken } = await createOwnedCompany();
    expect((await refreshTokens(token)).body.error).toBe('UNAUTHORIZED');
    advanceClock(7 * 24 * 3600_000 + 1000);
    expect((await refreshTokens(refreshToken)).status).toBe(401);
  });

  it('stores refresh tokens only as digests', async () => {
    const { refreshToken } = await createOwnedCompany();
    const sessionsText = JSON.stringify(await selectRows('SELECT * FROM sessions'));
    expect(sessionsText).not.toContain(decodeJwt(refreshToken).jti as string);
    expect(sessionsText).not.toContain(refreshToken);
  });
});

describe('POST /v1/auth/logout', () => {
  it('ends the session and both its tokens', async () => {
    const { as, refreshToken } = await createOwnedCompany();
    const { status, body } = await as.post('/v1/auth/logout');
    expect([status, body]).toEqual([200, { success: true }]);
    expect((await as.get('/v1/auth/me')).status).toBe(401);
    expect((await callApi('POST', '/v1/auth/refresh', { json: { refresh_token: refreshToken } })).status).toBe(401);
  });

  it.each<Record<string, string>>([{}, { authorization: 'Bearer garbage' }])(
    'succeeds without a valid token (%j)',
    async (headers) => {
      const { status, body } = await callApi('POST', '/v1/auth/logout', { headers });
      expect([status, body]).toEqual([200, { success: true }]);
    },
  );
});
