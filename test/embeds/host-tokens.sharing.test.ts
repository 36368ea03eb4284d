import { env } from 'cloudflare:test';
import { generateKeyPair, SignJWT, UnsecuredJWT } from 'jose';
import { describe, expect, it } from 'vitest';
import { expectTypes } from '../share-activity/support.ts';
import { createSalesDashboard, createSalesTable, listDistinctRegions } from '../shares/support.ts';
import { callApi } from '../support/api.ts';
import { advanceClock } from '../support/clock.ts';
import { createOwnedCompany, createProvisionedCompany } from '../support/companies.ts';
import { createCountingD1 } from '../support/counting-d1.ts';
import { sendDuringRace } from '../support/race.ts';
import {
  createEmbedClient,
  createEmbedToken,
  createSigningKey,
  hostToken,
  REVOCATION_PATH,
  readStatus,
  SIGNING_KEYS_PATH,
} from './support.ts';

const company = await createProvisionedCompany();
await createSalesTable(company);
const sales = await createSalesDashboard(company);
const dashboard = sales.dashboard._id;
const visualization = sales.rows._id;
const key = await createSigningKey(company);

const getEpochSeconds = (offsetSeconds = 0) => Math.floor(Date.now() / 1000) + offsetSeconds;
const signClaims = (claims: Record<string, unknown> = {}, by = key) =>
  hostToken(by, { dashboard_id: dashboard, ...claims });
const readDashboardStatus = async (claims: Record<string, unknown> = {}, by = key) =>
  readStatus('d', await signClaims(claims, by));
const expectInvalidToken = async (token: string, kind: 'd' | 'v' = 'd') => {
  for (const { status, body } of [
    await createEmbedClient(kind, token).info(),
    await createEmbedClient(kind, token).execute(),
  ]) {
    expect([status, body.error_code]).toEqual([401, 'TOKEN_INVALID']);
  }
};

describe('a signing key for tokens of a host', () => {
  it('shows its secret once, is listed without it, and ends with its tokens', async () => {
    const ownCompany = await createOwnedCompany();
    const ownDashboardId = (await createSalesDashboard(ownCompany)).dashboard._id;
    const { status, body } = await ownCompany.as.post(SIGNING_KEYS_PATH);
    expect([status, body]).toEqual([
      201,
      {
        id: expect.stringMatching(`^${ownCompany.id}-`),
        secret: expect.stringMatching(/^[\w-]{43}$/),
        created_at: expect.any(String),
      },
    ]);
    const token = await hostToken(body, { dashboard_id: ownDashboardId });
    expect(await readStatus('d', token)).toBe(200);
    const { id, created_at } = body;
    expect((await ownCompany.as.get(SIGNING_KEYS_PATH)).body).toEqual({
      total: 1,
      page: 1,
      per_page: 20,
      records: [{ id, created_at }],
    });
    const storedKey = await env.CONTROL_DB.prepare('select secret from embed_signing_keys where id = ?')
      .bind(id)
      .first('secret');
    expect(storedKey).toMatch(/^v1:/);
    expect(storedKey).not.toContain(body.secret);
    expect((await ownCompany.as.delete(`${SIGNING_KEYS_PATH}/${id}`)).status).toBe(204);
    await expectInvalidToken(token);
    expect((await ownCompany.as.delete(`${SIGNING_KEYS_PATH}/${id}`)).body.error_code).toBe('NOT_FOUND');
    await expectTypes(ownCompany, 'type=embed.signing_key_created', ['embed.signing_key_created']);
    await expectTypes(ownCompany, 'type=embed.signing_key_deleted', ['embed.signing_key_deleted']);
  });

  it('is refused if there are already two, also if two are created at the same time', async () => {
    const ownCompany = await createOwnedCompany();
    const first = await createSigningKey(ownCompany);
    const lateAnswer = await sendDuringRace(
      /insert into "embed_signing_keys"/i,
      () => createSigningKey(ownCompany),
      (racingEnv) => ownCompany.as.post(SIGNING_KEYS_PATH, { env: racingEnv }),
    );
    expect([lateAnswer.status, lateAnswer.body.error_code]).toEqual([409, 'EMBED_SIGNING_KEY_LIMIT']);
    await ownCompany.as.delete(`${SIGNING_KEYS_PATH}/${first.id}`);
    await createSigningKey(ownCompany);
  });
});

describe('a token that a host signs', () => {
  it('opens its dashboard, under the rules of its claims', async () => {
    const allowed_origins = ['https://host.test'];
    const token = await signClaims({
      fixed_params: { regions: ['north', 'south'] },
      allowed_params: ['least'],
      allowed_origins,
    });
    const embed = createEmbedClient('d', token);
    const { status, body } = await embed.info();
    expect([
      status,
      body.embed_options.allowed_origins,
      body.dashboard.filters.map(({ slug }: { slug: string }) => slug),
    ]).toEqual([200, allowed_origins, ['least']]);
    expect(listDistinctRegions((await embed.execute({ least: 25 })).body)).toEqual(expect.arrayContaining(['south']));
    expect(listDistinctRegions((await embed.execute()).body)).toEqual(['north', 'south']);
    const { body: refusedAnswer } = await embed.execute({ regions: ['east'] });
    expect(refusedAnswer.error_code).toBe('SHARE_FILTER_POLICY_VIOLATION');
    const foreignAnswer = await createEmbedClient('d', token, { origin: 'https://other.test' }).info();
    expect(foreignAnswer.body.error_code).toBe('ORIGIN_NOT_ALLOWED');
    const page = await callApi('GET', `/embed/d/${token}`);
    expect([page.status, page.headers.get('content-security-policy')]).toEqual([
      200,
      expect.stringContaining('frame-ancestors https://host.test'),
    ]);
    const visualizationToken = await hostToken(key, { visualization_id: visualization, jti: 'a page view' });
    expect(await readStatus('v', visualizationToken)).toBe(200);
    expect(await readStatus('d', visualizationToken)).toBe(401);
  });

  it('costs one database call, like a token that the service signs', async () => {
    const token = await signClaims();
    const countingDb = createCountingD1();
    expect((await createEmbedClient('d', token).info({ env: countingDb.env })).status).toBe(200);
    expect(countingDb.countCalls()).toBe(1);
  });

  it('ignores claims that it does not know', async () => {
    expect(
      await readDashboardStatus({ allow_downloads: true, theme: { primary_color: '#1d5bd8' }, locale: 'pt-BR' }),
    ).toBe(200);
    expect(await readDashboardStatus({ iss: 'host', sub: 'somebody', nbf: getEpochSeconds(-5), foo: { bar: 1 } })).toBe(
      200,
    );
  });

  const INVALID_CLAIMS: [string, () => Record<string, unknown>][] = [
    ['no audience', () => ({ aud: undefined })],
    ['another audience', () => ({ aud: 'share-portal' })],
    ['no expiry', () => ({ exp: undefined })],
    ['an expiry in a week', () => ({ exp: getEpochSeconds(7 * 86_400) })],
    ['an expiry in a day and half a minute', () => ({ exp: getEpochSeconds(86_430) })],
    [
      'an expiry more than a day ahead of a clock that is half a minute ahead',
      () => ({ iat: getEpochSeconds(30), exp: getEpochSeconds(86_460) }),
    ],
    [
      'an expiry in a week, made in six days',
      () => ({ iat: getEpochSeconds(6 * 86_400), exp: getEpochSeconds(7 * 86_400) }),
    ],
    [
      'an expiry more than a year after it was made',
      () => ({ iat: getEpochSeconds(-366 * 86_400), exp: getEpochSeconds(60) }),
    ],
    ['an expiry that has passed', () => ({ exp: getEpochSeconds(-1) })],
    ['an expiry that is a text', () => ({ exp: String(getEpochSeconds(60)) })],
    ['no time at which it was made', () => ({ iat: undefined })],
    ['a time at which it was made that is to come', () => ({ iat: getEpochSeconds(120) })],
    ['a time from which it is good that is to come', () => ({ nbf: getEpochSeconds(120) })],
    ['neither a dashboard nor a visualization', () => ({ dashboard_id: undefined })],
    ['both a dashboard and a visualization', () => ({ visualization_id: visualization })],
    ['a dashboard that is no id', () => ({ dashboard_id: `${dashboard}' or 1=1` })],
    ['a list of dashboards', () => ({ dashboard_id: [dashboard] })],
    ['a jti that is a number', () => ({ jti: 7 })],
    ['a jti of two hundred and one characters', () => ({ jti: 'x'.repeat(201) })],
    ['a jti in the form of our own token ids', () => ({ jti: `d-${dashboard}-${'0'.repeat(24)}` })],
    ['fixed parameters that are a list', () => ({ fixed_params: [] })],
    ['a fixed parameter that is an object', () => ({ fixed_params: { regions: { north: true } } })],
    ['an unknown fixed parameter', () => ({ fixed_params: { nothing: 1 } })],
    ['an unknown allowed parameter', () => ({ allowed_params: ['nothing'] })],
    ['allowed parameters that are a text', () => ({ allowed_params: 'regions' })],
    [
      'a parameter both fixed and allowed',
      () => ({ fixed_params: { regions: ['north'] }, allowed_params: ['regions'] }),
    ],
    ['a required parameter that is not allowed', () => ({ required_params: ['regions'] })],
    ['downloads that are a text', () => ({ allow_downloads: 'yes' })],
    ['a theme that is a text', () => ({ theme: 'dark' })],
    ['a theme with too little contrast', () => ({ theme: { background: '#ffffff', text_color: '#fefefe' } })],
    ['a locale that is a list', () => ({ locale: ['en'] })],
    ['a locale that is not supported', () => ({ locale: 'fr' })],
    ['a locale that is no tag', () => ({ locale: '../en' })],
    ['an origin with a path', () => ({ allowed_origins: ['https://a.test/x'] })],
    ['an origin with a wildcard in its host', () => ({ allowed_origins: ['https://*.a.test'] })],
    ['ten thousand values', () => ({ fixed_params: { regions: Array.from({ length: 10_000 }, (_, n) => `${n}`) } })],
    ['twenty kilobytes', () => ({ filler: 'x'.repeat(20_000) })],
  ];
  it.each(INVALID_CLAIMS)('with %s is invalid', async (_what, makeClaims) => {
    await expectInvalidToken(await signClaims(makeClaims()));
  });

  it('is valid for a day at most, and until its expiry', async () => {
    const token = await signClaims({ exp: getEpochSeconds(86_400) });
    expect(await readStatus('d', token)).toBe(200);
    advanceClock(86_000_000);
    expect(await readStatus('d', token)).toBe(200);
    advanceClock(86_401_000);
    await expectInvalidToken(token);
  });

  it.each([
    ['a while ago', -3_600, 86_390],
    ['a week ago', -7 * 86_400, 86_390],
    ['by a clock that is half a minute ahead', 30, 86_430],
  ])('is valid if it ends within a day and was made %s', async (_when, issuedAt, expiresAt) => {
    expect(await readDashboardStatus({ iat: getEpochSeconds(issuedAt), exp: getEpochSeconds(expiresAt) })).toBe(200);
  });

  it('is refused unless it is signed with HS256 and the company’s key', async () => {
    const claims = { aud: 'embed', iat: getEpochSeconds(), exp: getEpochSeconds(60), dashboard_id: dashboard };
    const secret = new TextEncoder().encode(key.secret);
    const header = { alg: 'HS256', kid: key.id };
    // Written as a text, a list of one is what it holds.
    const keyIdLists = [[key.id], [[key.id]]] as unknown as string[];
    const [, payload] = (await signClaims()).split('.');
    const encode = (value: unknown) =>
      btoa(JSON.stringify(value)).replaceAll('=', '').replaceAll('+', '-').replaceAll('/', '_');
    const rsaKey = (await generateKeyPair('RS256')).privateKey;
    const other = await createOwnedCompany();
    const otherKey = await createSigningKey(other);
    for (const token of [
      new UnsecuredJWT(claims).encode(),
      `${encode({ alg: 'none', kid: key.id })}.${payload}.`,
      `${encode({ alg: 'none', kid: key.id })}.${payload}.AAAA`,
      await new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid: key.id }).sign(rsaKey),
      await new SignJWT(claims).setProtectedHeader({ ...header, alg: 'HS512' }).sign(secret),
      await new SignJWT(claims).setProtectedHeader(header).sign(new TextEncoder().encode(`${key.secret} `)),
      await new SignJWT(claims).setProtectedHeader(header).sign(new TextEncoder().encode(otherKey.secret)),
      await new SignJWT(claims).setProtectedHeader({ ...header, kid: otherKey.id }).sign(secret),
      await new SignJWT(claims).setProtectedHeader({ ...header, kid: `${company.id}-${'0'.repeat(24)}` }).sign(secret),
      await new SignJWT(claims)
        .setProtectedHeader({ ...header, kid: key.id.replace(company.id, other.id) })
        .sign(secret),
      await new SignJWT(claims).setProtectedHeader({ alg: 'HS256' }).sign(secret),
      ...(await Promise.all(
        keyIdLists.map((kid) => new SignJWT(claims).setProtectedHeader({ ...header, kid }).sign(secret)),
      )),
      `${(await signClaims()).slice(0, -4)}AAAA`,
    ]) {
      await expectInvalidToken(token);
      expect((await callApi('GET', `/embed/d/${token}`)).headers.get('content-security-policy')).toContain(
        "frame-ancestors 'none'",
      );
    }
    // The secret read as the algorithm's public key, under the name of RS256.
    const forgedContent = `${encode({ alg: 'RS256', kid: key.id })}.${payload}`;
    const hmac = await crypto.subtle.importKey('raw', secret, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);
    const signature = new Uint8Array(await crypto.subtle.sign('HMAC', hmac, new TextEncoder().encode(forgedContent)));
    await expectInvalidToken(`${forgedContent}.${signature.toBase64({ alphabet: 'base64url', omitPadding: true })}`);
  });

  it('opens no dashboard of another company', async () => {
    const other = await createOwnedCompany();
    const otherDashboard = (await createSalesDashboard(other)).dashboard._id;
    await expectInvalidToken(await signClaims({ dashboard_id: otherDashboard }));
    await expectInvalidToken(await signClaims({ dashboard_id: otherDashboard }, { ...key, secret: 'x'.repeat(43) }));
  });

  it('ends by its jti, by its dashboard, with all other tokens, and when its dashboard is deleted', async () => {
    const ownCompany = await createOwnedCompany();
    const ownSales = await createSalesDashboard(ownCompany);
    const ownKey = await createSigningKey(ownCompany);
    const signOwnClaims = (claims: Record<string, unknown> = {}) =>
      hostToken(ownKey, { dashboard_id: ownSales.dashboard._id, iat: getEpochSeconds(-10), ...claims });
    const revokeTokens = async (json: unknown) =>
      expect((await ownCompany.as.post(REVOCATION_PATH, { json })).status).toBe(204);
    const firstToken = await signOwnClaims({ jti: 'one' });
    const secondToken = await signOwnClaims({ jti: 'two' });
    const visualizationToken = await hostToken(ownKey, {
      visualization_id: ownSales.rows._id,
      iat: getEpochSeconds(-10),
    });
    await revokeTokens({ token_id: 'one' });
    expect([await readStatus('d', firstToken), await readStatus('d', secondToken)]).toEqual([401, 200]);
    const epochSecond = Math.floor(Date.now() / 1000);
    await revokeTokens({ dashboard_id: ownSales.dashboard._id });
    expect([await readStatus('d', secondToken), await readStatus('v', visualizationToken)]).toEqual([401, 200]);
    // Those of the same second count as made before: their host says no more than the second.
    expect(await readStatus('d', await signOwnClaims({ iat: epochSecond }))).toBe(401);
    advanceClock(2_000);
    expect(await readStatus('d', await signOwnClaims({ iat: getEpochSeconds(2) }))).toBe(200);
    expect((await ownCompany.as.post('/api/v1/embed/rotate-key')).status).toBe(204);
    expect(await readStatus('v', visualizationToken)).toBe(401);
    advanceClock(4_000);
    const lastToken = await signOwnClaims({ iat: getEpochSeconds(4) });
    expect(await readStatus('d', lastToken)).toBe(200);
    await ownCompany.as.delete(`/v1/dashboards/${ownSales.dashboard._id}`);
    expect(await readStatus('d', lastToken)).toBe(401);
  });

  it('has a rate limit of its own, whatever id its host gives it', async () => {
    const limitedEnv = { env: { RATE_LIMIT_TOKEN_PER_MINUTE: '1' } };
    const serviceToken = await createEmbedToken(company, 'dashboards', dashboard);
    const tokenWithId = await signClaims({ jti: 'same' });
    const otherToken = await signClaims({ jti: 'same', iat: getEpochSeconds(-1) });
    const statuses = [];
    for (const token of [tokenWithId, tokenWithId, otherToken, serviceToken])
      statuses.push((await createEmbedClient('d', token).info(limitedEnv)).status);
    expect(statuses).toEqual([200, 429, 200, 200]);
  });

  it('leaves the same events as a token that the service signs', async () => {
    const ownCompany = await createOwnedCompany();
    const ownSales = await createSalesDashboard(ownCompany);
    const ownKey = await createSigningKey(ownCompany);
    await createEmbedClient(
      'd',
      await hostToken(ownKey, {
        dashboard_id: ownSales.dashboard._id,
        jti: 'seen',
        exp: getEpochSeconds(-5),
        iat: getEpochSeconds(-60),
      }),
    ).info();
    await createEmbedClient(
      'd',
      await hostToken({ ...ownKey, secret: 'x' }, { dashboard_id: ownSales.dashboard._id, jti: 'forged' }),
    ).info();
    const [event] = await expectTypes(ownCompany, 'type=embed.denied', ['embed.denied']);
    expect(event).toMatchObject({ target_id: ownSales.dashboard._id, details: { token_id: 'seen' } });
  });
});
