import { env } from 'cloudflare:test';
import { decodeJwt, decodeProtectedHeader, exportJWK, generateKeyPair, importJWK, jwtVerify, SignJWT } from 'jose';
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { hashPassword, verifyPassword } from '../../src/platform/passwords.ts';
import { call, createCaller } from '../support/api.ts';
import { advanceClock, resetClock } from '../support/clock.ts';
import { createRivalEnv } from '../support/rival.ts';
import { aCompany, aUser, type Company, logIn } from '../support/worlds.ts';

const DAY = 24 * 3600_000;

const decomposed = (text: string) => text.normalize('NFD');

let company: Company;
beforeAll(async () => {
  company = await aCompany();
});

afterEach(resetClock);

describe('GET /v1/auth/validate-company', () => {
  it('answers whether a company of the slug exists', async () => {
    expect((await call('GET', `/v1/auth/validate-company?slug=${company.slug}`)).body).toEqual({ exists: true });
    expect((await call('GET', '/v1/auth/validate-company?slug=nobody')).body).toEqual({ exists: false });
  });
});

describe('POST /v1/auth/login', () => {
  it('answers tokens and the user', async () => {
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

  it('answers an access token with the claims of the contract, verifiable with the published keys', async () => {
    const { keys } = (await call('GET', '/.well-known/jwks.json')).body;
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
    const unknown = await logIn(company.slug, 'nobody@nowhere.test', 'wrong-password');
    const wrong = await logIn(company.slug, company.owner.email, 'wrong-password');
    expect([unknown.status, unknown.body]).toEqual([400, wrong.body]);
    expect(wrong.body.error).toBe('INVALID_CREDENTIALS');
  });

  it('answers 404 for an unknown company', async () => {
    const { status, body } = await logIn('nobody', company.owner.email, 'x');
    expect([status, body.error]).toEqual([404, 'COMPANY_NOT_FOUND']);
  });

  it.each([
    [{}, ['company_slug', 'email', 'password']],
    [{ company_slug: 'a', email: 'not an email', password: 'x' }, ['email']],
    [{ company_slug: 'a', email: 'a@b.co', password: 7 }, ['password']],
    [{ company_slug: 'a', email: 'a@b.co', password: 'x'.repeat(129) }, ['password']],
  ])('refuses %j', async (json, fields) => {
    const { status, body } = await call('POST', '/v1/auth/login', { json });
    expect([status, body.error]).toEqual([422, 'VALIDATION_ERROR']);
    expect(body.details.map(({ field }: { field: string }) => field)).toEqual(fields);
  });

  it.each(['\u0000', '\u0007', 'x'])('answers the password %j like any wrong one', async (password) => {
    const { status, body } = await logIn(company.slug, company.owner.email, password);
    expect([status, body.error]).toEqual([400, 'INVALID_CREDENTIALS']);
  });

  it('refuses an inactive user who sends the right password', async () => {
    const { id, slug, owner } = await aCompany();
    await env.CONTROL_DB.prepare('UPDATE users SET is_active = 0 WHERE company_id = ?').bind(id).run();
    const right = await logIn(slug, owner.email, owner.password);
    expect([right.status, right.body.error]).toEqual([403, 'FORBIDDEN']);
    expect((await logIn(slug, owner.email, 'wrong-password')).status).toBe(400);
  });

  it.each(['owner', 'nobody'])(
    'refuses parallel guesses for %s from the eleventh on, and then the right password',
    async (who) => {
      const { slug, owner } = await aCompany();
      const email = who === 'owner' ? owner.email : 'nobody@nowhere.test';
      const guesses = await Promise.all(Array.from({ length: 13 }, () => logIn(slug, email, 'wrong-password')));
      const statuses = guesses.map(({ status }) => status).sort();
      expect(statuses).toEqual([...Array(10).fill(400), 429, 429, 429]);
      const refused = await logIn(slug, email, owner.password);
      expect([refused.status, refused.body.error]).toEqual([429, 'RateLimitExceeded']);
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(800);
      expect(refused.body.message).toMatch(/Try again in [89]\d\d seconds \(1[45] minutes\)\.$/);
    },
  );

  it('accepts a password in every Unicode form, and counts its characters in one form', async () => {
    const words = `${'Çá'.repeat(60)}Straße`;
    const { id, email } = await aUser(company);
    const hash = async (password: string) => {
      await env.CONTROL_DB.prepare('update users set password_hash = ?1 where id = ?2')
        .bind(await hashPassword(password), id)
        .run();
    };
    for (const [set, typed] of [
      ['NFC', 'NFD'],
      ['NFD', 'NFC'],
    ] as const) {
      await hash(words.normalize(set));
      const { status } = await logIn(company.slug, email, words.normalize(typed));
      expect([set, typed, status]).toEqual([set, typed, 200]);
    }
    const tooLong = await logIn(company.slug, email, 'é'.repeat(129));
    expect([tooLong.status, tooLong.body.error]).toEqual([422, 'VALIDATION_ERROR']);
    expect((await logIn(company.slug, email, 'é'.repeat(128).normalize('NFD'))).body.error).toBe('INVALID_CREDENTIALS');
  });

  it.each(['NFC', 'NFD'] as const)(
    'accepts a password that was once hashed in decomposed form, typed in %s, and hashes it anew',
    async (typed) => {
      const password = 'maçã-verde-após-o-almoço';
      const { id, email } = await aUser(company);
      const raw = decomposed(password);
      const asTyped = vi.spyOn(String.prototype, 'normalize').mockImplementation(function (this: string) {
        return String(this);
      });
      const former = await hashPassword(raw).finally(() => asTyped.mockRestore());
      await env.CONTROL_DB.prepare('update users set password_hash = ?1 where id = ?2').bind(former, id).run();
      expect((await logIn(company.slug, email, password.normalize(typed))).status).toBe(200);
      const kept = await env.CONTROL_DB.prepare('select password_hash from users where id = ?')
        .bind(id)
        .first('password_hash');
      expect(kept).not.toBe(former);
      expect(await verifyPassword(password, kept as string)).toEqual({ isRight: true, isOutdated: false });
      expect((await logIn(company.slug, email, password.normalize(typed))).status).toBe(200);
    },
  );

  it('accepts parallel right passwords', async () => {
    const { slug, owner } = await aCompany();
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
      async () => forged('HS256', new TextEncoder().encode(JSON.stringify(await publicKey()))),
    ],
    ['a foreign key', async () => forged('EdDSA', (await generateKeyPair('EdDSA')).privateKey)],
    ['another audience', () => resigned({ aud: 'share-portal' })],
    ['another issuer', () => resigned({ iss: 'somebody' })],
    ['another company', async () => resigned({ company_id: (await aCompany()).id })],
    ['an unknown session', () => resigned({ sid: 'f'.repeat(24) })],
    ['an expired token', () => resigned({ exp: 1_000_000 })],
  ];

  it.each(refusals)('refuses %s', async (_what, token) => {
    const { status, body } = await createCaller(await token()).get('/v1/auth/me');
    expect([status, body.error]).toEqual([401, 'UNAUTHORIZED']);
  });

  const publicKey = async () =>
    exportJWK(await importJWK((await call('GET', '/.well-known/jwks.json')).body.keys[0], 'EdDSA'));
  const forged = (alg: string, key: CryptoKey | Uint8Array) =>
    new SignJWT(decodeJwt(company.token)).setProtectedHeader({ alg, kid: 'test-1' }).sign(key);
  const resigned = async (claims: Record<string, unknown>) => {
    const [jwk] = JSON.parse(env.JWT_PRIVATE_KEYS);
    return new SignJWT({ ...decodeJwt(company.token), ...claims })
      .setProtectedHeader({ alg: 'EdDSA', kid: jwk.kid })
      .sign(await importJWK(jwk, 'EdDSA'));
  };
});

describe('POST /v1/auth/refresh', () => {
  const refresh = (token: string) => call('POST', '/v1/auth/refresh', { json: { refresh_token: token } });

  it('answers a new pair, whose use ends the old refresh token', async () => {
    const { refreshToken } = await aCompany();
    const first = await refresh(refreshToken);
    expect(first.status).toBe(200);
    expect(Object.keys(first.body).sort()).toEqual(['expires_in', 'refresh_expires_in', 'refresh_token', 'token']);
    expect((await createCaller(first.body.token).get('/v1/auth/me')).status).toBe(200);
    const second = await refresh(first.body.refresh_token);
    expect(second.status).toBe(200);
    expect((await refresh(refreshToken)).status).toBe(401);
    expect((await createCaller(second.body.token).get('/v1/auth/me')).status).toBe(401);
    expect((await refresh(second.body.refresh_token)).status).toBe(401);
  });

  it('answers a retry within ten seconds with the same new token, until that is used', async () => {
    const { refreshToken } = await aCompany();
    const lost = await refresh(refreshToken);
    advanceClock(9_000);
    const retried = await refresh(refreshToken);
    expect([retried.status, retried.body.refresh_token]).toEqual([200, lost.body.refresh_token]);
    expect((await createCaller(retried.body.token).get('/v1/auth/me')).status).toBe(200);
    const { status, body } = await refresh(lost.body.refresh_token);
    expect(status).toBe(200);
    expect((await refresh(refreshToken)).status).toBe(401);
    expect((await refresh(body.refresh_token)).status).toBe(401);
  });

  it('keeps the session when two tabs refresh at once', async () => {
    const { refreshToken } = await aCompany();
    let second: string | undefined;
    const rival = createRivalEnv(/update "sessions"/, async () => {
      second = (await refresh(refreshToken)).body.refresh_token;
    });
    const first = await call('POST', '/v1/auth/refresh', { json: { refresh_token: refreshToken }, env: rival.env });
    expect(rival.hasRun()).toBe(true);
    expect([first.status, first.body.refresh_token]).toEqual([200, second]);
    expect((await refresh(first.body.refresh_token)).status).toBe(200);
    expect((await refresh(second as string)).status).toBe(200);
  });

  it('ends the session thirty days after the sign-in, however often it is refreshed', async () => {
    const { refreshToken } = await aCompany();
    let token = refreshToken;
    for (let day = 6; day <= 24; day += 6) {
      advanceClock(day * DAY);
      const { status, body } = await refresh(token);
      expect([day, status, body.refresh_expires_in]).toEqual([day, 200, day === 24 ? 6 * 86_400 : 604_800]);
      token = body.refresh_token;
    }
    advanceClock(30 * DAY - 60_000);
    const last = await refresh(token);
    expect(last.status).toBe(200);
    expect(last.body.refresh_expires_in).toBeLessThanOrEqual(60);
    advanceClock(30 * DAY + 1000);
    expect((await refresh(last.body.refresh_token)).status).toBe(401);
    expect((await createCaller(last.body.token).get('/v1/auth/me')).status).toBe(401);
  });

  it('refuses what is no token, of any length', async () => {
    for (const token of ['x', 'x'.repeat(5000)]) expect((await refresh(token)).status).toBe(401);
  });

  it('ends the session when a used token is presented after ten seconds', async () => {
    const { refreshToken } = await aCompany();
    const { body } = await refresh(refreshToken);
    advanceClock(10_001);
    expect((await refresh(refreshToken)).status).toBe(401);
    expect((await createCaller(body.token).get('/v1/auth/me')).status).toBe(401);
    expect((await refresh(body.refresh_token)).status).toBe(401);
  });

  it('refuses an access token, and a refresh token that is seven days old', async () => {
    const { token, refreshToken } = await aCompany();
    expect((await refresh(token)).body.error).toBe('UNAUTHORIZED');
    advanceClock(7 * 24 * 3600_000 + 1000);
    expect((await refresh(refreshToken)).status).toBe(401);
  });

  it('stores refresh tokens only as digests', async () => {
    const { refreshToken } = await aCompany();
    const dump = JSON.stringify((await env.CONTROL_DB.prepare('SELECT * FROM sessions').all()).results);
    expect(dump).not.toContain(decodeJwt(refreshToken).jti as string);
    expect(dump).not.toContain(refreshToken);
  });
});

describe('POST /v1/auth/logout', () => {
  it('ends the session and both its tokens', async () => {
    const { as, refreshToken } = await aCompany();
    const { status, body } = await as.post('/v1/auth/logout');
    expect([status, body]).toEqual([200, { success: true }]);
    expect((await as.get('/v1/auth/me')).status).toBe(401);
    expect((await call('POST', '/v1/auth/refresh', { json: { refresh_token: refreshToken } })).status).toBe(401);
  });

  it.each<Record<string, string>>([{}, { authorization: 'Bearer garbage' }])(
    'succeeds without a valid token (%j)',
    async (headers) => {
      const { status, body } = await call('POST', '/v1/auth/logout', { headers });
      expect([status, body]).toEqual([200, { success: true }]);
    },
  );
});
