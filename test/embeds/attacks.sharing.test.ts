import { env } from 'cloudflare:test';
import { CompactEncrypt, decodeJwt, exportJWK, generateKeyPair, SignJWT, UnsecuredJWT } from 'jose';
import { describe, expect, it } from 'vitest';
import { createShareContext, makeDashboardGrant, signInOutsider } from '../share-portal/support.ts';
import { createSalesDashboard, createSalesTable, createShare } from '../shares/support.ts';
import { type ApiResponse, callApi, createCaller } from '../support/api.ts';
import { type Company, createOwnedCompany, createProvisionedCompany } from '../support/companies.ts';
import { listOtherSpellings } from '../support/spellings.ts';
import { createEmbedClient, createEmbedToken } from './support.ts';

/** The companies and tokens with which the tests attack, and the resources that they attack. */
interface AttackSetup {
  company: Company;
  victim: Company;
  dashboardId: string;
  visualizationId: string;
  /** A valid embed token of the attacking company. */
  ownToken: string;
  /** A valid embed token of the attacked company. */
  victimToken: string;
  visualizationToken: string;
  shareToken: string;
  outsiderTokens: { access_token: string; refresh_token: string };
  contextId: string;
}

const setup = {} as AttackSetup;
setup.company = await createProvisionedCompany();
setup.victim = await createProvisionedCompany();
await createSalesTable(setup.victim);
const victimSales = await createSalesDashboard(setup.victim);
setup.dashboardId = victimSales.dashboard._id;
setup.visualizationId = victimSales.rows._id;
setup.victimToken = await createEmbedToken(setup.victim, 'dashboards', setup.dashboardId, {
  fixed_params: { regions: ['north'] },
  allowed_params: ['days'],
  required_params: ['days'],
});
setup.visualizationToken = await createEmbedToken(setup.victim, 'visualizations', setup.visualizationId);
const ownSales = await createSalesDashboard(setup.company);
setup.ownToken = await createEmbedToken(setup.company, 'dashboards', ownSales.dashboard._id);
setup.shareToken = (await createShare(setup.victim, setup.dashboardId)).token;
const email = 'mallory@x.test';
setup.contextId = (await createShareContext(setup.victim, [makeDashboardGrant(setup.dashboardId)], [email])).id;
setup.outsiderTokens = (await signInOutsider(setup.victim, email)).tokens;

const encodeBase64Url = (value: unknown): string =>
  btoa(typeof value === 'string' ? value : JSON.stringify(value))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '');
const splitToken = (token: string) => token.split('.') as [string, string, string];
const decodePayload = (token: string) => decodeJwt(token) as Record<string, unknown>;
/** Returns the token with members of its payload changed, and its old signature. */
const changePayload = (token: string, change: Record<string, unknown>): string => {
  const [header, , signature] = splitToken(token);
  return [header, encodeBase64Url({ ...decodePayload(token), ...change }), signature].join('.');
};
const replaceHeader = (token: string, header: Record<string, unknown>): string => {
  const [, payload, signature] = splitToken(token);
  return [encodeBase64Url(header), payload, signature].join('.');
};
const signToken = (
  secret: string | Uint8Array,
  payload: Record<string, unknown>,
  header: Record<string, unknown> = {},
) =>
  new SignJWT(payload)
    .setProtectedHeader({ alg: 'HS256', kid: '1', typ: 'JWT', ...header })
    .sign(typeof secret === 'string' ? new TextEncoder().encode(secret.padEnd(32, '-')) : secret);

type ForgedToken = [title: string, token: (w: AttackSetup) => string | Promise<string>];

/** Forged tokens, none of which may open the dashboard of the victim. */
const FORGED_TOKENS: ForgedToken[] = [
  ['nothing but dots', () => '%2E%2E%2E'],
  ['one part', () => 'eyJhbGciOiJIUzI1NiJ9'],
  ['two parts', ({ victimToken }) => splitToken(victimToken).slice(0, 2).join('.')],
  ['four parts', ({ victimToken }) => `${victimToken}.x`],
  ['no signature', ({ victimToken }) => `${splitToken(victimToken).slice(0, 2).join('.')}.`],
  ['a cut signature', ({ victimToken }) => victimToken.slice(0, -2)],
  ['a lengthened signature', ({ victimToken }) => `${victimToken}AA`],
  [
    'another signature',
    ({ victimToken, ownToken }) => [...splitToken(victimToken).slice(0, 2), splitToken(ownToken)[2]].join('.'),
  ],
  [
    'a changed last character',
    ({ victimToken }) => victimToken.slice(0, -5) + (victimToken.at(-5) === 'A' ? 'B' : 'A') + victimToken.slice(-4),
  ],
  ['alg none', ({ victimToken }) => new UnsecuredJWT(decodePayload(victimToken)).encode()],
  ['alg None', ({ victimToken }) => `${encodeBase64Url({ alg: 'None', kid: '1' })}.${splitToken(victimToken)[1]}.`],
  ['alg none with the old signature', ({ victimToken }) => replaceHeader(victimToken, { alg: 'none', kid: '1' })],
  ['alg HS512', ({ victimToken }) => replaceHeader(victimToken, { alg: 'HS512', kid: '1' })],
  ['alg RS256', ({ victimToken }) => replaceHeader(victimToken, { alg: 'RS256', kid: '1' })],
  ['no alg', ({ victimToken }) => replaceHeader(victimToken, { kid: '1' })],
  ['an alg that is no text', ({ victimToken }) => replaceHeader(victimToken, { alg: ['HS256'], kid: '1' })],
  ['no kid', ({ victimToken }) => replaceHeader(victimToken, { alg: 'HS256' })],
  ['an unknown kid', ({ victimToken }) => replaceHeader(victimToken, { alg: 'HS256', kid: '99' })],
  ['kid __proto__', ({ victimToken }) => replaceHeader(victimToken, { alg: 'HS256', kid: '__proto__' })],
  ['kid constructor', ({ victimToken }) => replaceHeader(victimToken, { alg: 'HS256', kid: 'constructor' })],
  ['a kid that is a path', ({ victimToken }) => replaceHeader(victimToken, { alg: 'HS256', kid: '../../dev/null' })],
  ['a kid that is an object', ({ victimToken }) => replaceHeader(victimToken, { alg: 'HS256', kid: {} })],
  [
    'a key of its own in the header',
    ({ victimToken }) => replaceHeader(victimToken, { alg: 'HS256', kid: '1', jwk: { kty: 'oct', k: 'AA' } }),
  ],
  [
    'a jku',
    ({ victimToken }) => replaceHeader(victimToken, { alg: 'HS256', kid: '1', jku: 'https://evil.test/jwks.json' }),
  ],
  [
    'a critical extension',
    ({ victimToken }) => replaceHeader(victimToken, { alg: 'HS256', kid: '1', crit: ['x'], x: 1 }),
  ],
  ['b64 false', ({ victimToken }) => replaceHeader(victimToken, { alg: 'HS256', kid: '1', b64: false, crit: ['b64'] })],
  ['an empty secret', ({ victimToken }) => signToken('', decodePayload(victimToken))],
  ['a guessed secret', ({ victimToken }) => signToken('secret', decodePayload(victimToken))],
  ['the company’s id as a secret', ({ victimToken, victim }) => signToken(victim.id, decodePayload(victimToken))],
  [
    'the public key of sessions as a secret',
    async ({ victimToken }) => {
      const { body } = await callApi('GET', '/.well-known/jwks.json');
      return signToken(JSON.stringify(body.keys[0]), decodePayload(victimToken));
    },
  ],
  [
    'a key pair of the attacker',
    async ({ victimToken }) => {
      const { privateKey, publicKey } = await generateKeyPair('EdDSA');
      const header = { alg: 'EdDSA', kid: '1', jwk: await exportJWK(publicKey) };
      return new SignJWT(decodePayload(victimToken)).setProtectedHeader(header).sign(privateKey);
    },
  ],
  [
    'a token of the attacker that names another company',
    ({ ownToken, victim }) => changePayload(ownToken, { com: victim.id }),
  ],
  [
    'a token of the attacker that names another dashboard',
    ({ ownToken, dashboardId }) => changePayload(ownToken, { sub: dashboardId }),
  ],
  ['another dashboard', ({ victimToken }) => changePayload(victimToken, { sub: '0'.repeat(24) })],
  ['a later expiry', ({ victimToken }) => changePayload(victimToken, { exp: 9_999_999_999 })],
  ['no expiry', ({ victimToken }) => changePayload(victimToken, { exp: undefined })],
  ['no fixed parameters', ({ victimToken }) => changePayload(victimToken, { fix: undefined })],
  ['more allowed parameters', ({ victimToken }) => changePayload(victimToken, { alw: ['days', 'regions'] })],
  ['no required parameters', ({ victimToken }) => changePayload(victimToken, { req: [] })],
  ['other origins', ({ victimToken }) => changePayload(victimToken, { org: ['https://evil.test'] })],
  ['another count of key rotations', ({ victimToken }) => changePayload(victimToken, { rot: 1 })],
  ['a count of key rotations that is a text', ({ victimToken }) => changePayload(victimToken, { rot: 'x' })],
  ['a negative count of key rotations', ({ victimToken }) => changePayload(victimToken, { rot: -1 })],
  ['a company that is no id', ({ victimToken }) => changePayload(victimToken, { com: '*' })],
  ['a company that is a list', ({ victimToken }) => changePayload(victimToken, { com: [] })],
  [
    'a payload that is a list',
    ({ victimToken }) => [splitToken(victimToken)[0], encodeBase64Url([]), splitToken(victimToken)[2]].join('.'),
  ],
  [
    'a payload that is null',
    ({ victimToken }) => [splitToken(victimToken)[0], encodeBase64Url('null'), splitToken(victimToken)[2]].join('.'),
  ],
  [
    'a payload that is not JSON',
    ({ victimToken }) => [splitToken(victimToken)[0], encodeBase64Url('{'), splitToken(victimToken)[2]].join('.'),
  ],
  [
    'a header that is not JSON',
    ({ victimToken }) => [encodeBase64Url('{'), ...splitToken(victimToken).slice(1)].join('.'),
  ],
  ['base64 with padding', ({ victimToken }) => `${victimToken}==`],
  [
    'characters that are no base64',
    ({ victimToken }) => `${splitToken(victimToken)[0]}.%E2%82%AC.${splitToken(victimToken)[2]}`,
  ],
  ['a NUL', ({ victimToken }) => `${victimToken}%00`],
  ['8,000 characters', () => `${'A'.repeat(4000)}.${'A'.repeat(4000)}.A`],
  [
    'an encrypted token',
    async ({ victimToken }) =>
      new CompactEncrypt(new TextEncoder().encode(victimToken))
        .setProtectedHeader({ alg: 'dir', enc: 'A256GCM' })
        .encrypt(new Uint8Array(32)),
  ],
  ['the token of a visualization', ({ visualizationToken }) => visualizationToken],
  ['the token of a share', ({ shareToken }) => shareToken],
  ['an outsider’s token', ({ outsiderTokens }) => outsiderTokens.access_token],
  ['a session token', ({ victim }) => victim.token],
  ['SQL', () => encodeURIComponent("' or 1=1 --")],
];

const expectRefused = ({ status, body }: ApiResponse, label: string) =>
  expect([label, status, body.error_code]).toEqual([label, 401, 'TOKEN_INVALID']);

describe('an embed token', () => {
  it('opens the dashboard if it is unchanged', async () => {
    expect((await createEmbedClient('d', setup.victimToken).info()).status).toBe(200);
    expect((await createEmbedClient('d', setup.ownToken).info()).status).toBe(200);
  });

  it.each(FORGED_TOKENS)('is refused with %s', async (tokenKind, makeToken) => {
    const embed = createEmbedClient('d', await makeToken(setup));
    expectRefused(await embed.info(), tokenKind);
    expectRefused(await embed.options('days'), tokenKind);
    expectRefused(await embed.execute({ days: { from: '2024-01-01' } }), tokenKind);
  });

  it('opens no visualization if it is for a dashboard', async () => {
    const embed = createEmbedClient('v', setup.victimToken);
    expectRefused(await embed.info(), 'info');
    expectRefused(await embed.execute(), 'execute');
  });

  it('is refused when another environment signed it', async () => {
    const otherEnvironment = {
      env: { EMBED_SECRETS: JSON.stringify({ 1: 'the master secret of another environment' }) },
    };
    const { body } = await setup.victim.as.post(`/api/v1/embed/dashboards/${setup.dashboardId}`, {
      json: {},
      ...otherEnvironment,
    });
    expect((await createEmbedClient('d', body.token).info(otherEnvironment)).status).toBe(200);
    expectRefused(await createEmbedClient('d', body.token).info(), 'elsewhere');
  });

  it('is still verified correctly after 50 forged tokens in the same isolate', async () => {
    for (let n = 0; n < 50; n++)
      await createEmbedClient('d', changePayload(setup.victimToken, { rot: n, com: setup.company.id })).info();
    expect((await createEmbedClient('d', setup.victimToken).info()).status).toBe(200);
    expectRefused(
      await createEmbedClient('d', changePayload(setup.victimToken, { exp: 9_999_999_999 })).info(),
      'after',
    );
  });
});

describe('a token of a share, embed, portal or session', () => {
  it('opens only what it was issued for', async () => {
    const { victimToken, shareToken, outsiderTokens, victim } = setup;
    const resolveShare = (token: string) => callApi('GET', `/api/v1/public/shares/${token}/resolve`);
    for (const token of [victimToken, outsiderTokens.access_token, victim.token])
      expectRefused(await resolveShare(token), 'share');
    for (const token of [victimToken, shareToken, setup.visualizationToken]) {
      expectRefused(await createCaller(token).get('/api/v1/share-portal/contexts'), 'portal');
      expect((await createCaller(token).get('/v1/auth/me')).status).toBe(401);
    }
    expect((await createCaller(outsiderTokens.access_token).get('/v1/auth/me')).status).toBe(401);
    expectRefused(
      await createCaller(outsiderTokens.refresh_token).get('/api/v1/share-portal/contexts'),
      'refresh token',
    );
  });

  it('is refused when a claim such as company, user or session is changed', async () => {
    const other = await createOwnedCompany();
    const { access_token: token } = setup.outsiderTokens;
    const [header, , signature] = splitToken(token);
    const callPortal = (givenToken: string) => createCaller(givenToken).get('/api/v1/share-portal/contexts');
    expect((await callPortal(token)).body.total).toBe(1);
    for (const change of [
      { company_id: other.id },
      { sub: setup.victim.owner.id },
      { sid: '0'.repeat(24) },
      { email: 'someone@else.test' },
      { aud: 'console' },
      { aud: ['share-portal', 'console'] },
      { token_type: 'refresh' },
      { exp: 9_999_999_999 },
    ]) {
      const forgedToken = [header, encodeBase64Url({ ...decodePayload(token), ...change }), signature].join('.');
      expectRefused(await callPortal(forgedToken), JSON.stringify(change));
      expect((await createCaller(forgedToken).get('/v1/auth/me')).status).toBe(401);
    }
    const keys = JSON.parse(env.JWT_PRIVATE_KEYS) as { kid: string; x: string }[];
    const confusedToken = await signToken(keys[0]?.x ?? '', decodePayload(token), { kid: keys[0]?.kid });
    expectRefused(await callPortal(confusedToken), 'HS256 with the public key');
    expectRefused(await callPortal(new UnsecuredJWT(decodePayload(token)).encode()), 'alg none');
  });
});

describe('a valid token in another spelling', () => {
  const refreshTokens = (path: string, refresh_token: string) => callApi('POST', path, { json: { refresh_token } });

  it.each<[string, () => string, (token: string) => Promise<ApiResponse>]>([
    ['embed', () => setup.victimToken, (token) => createEmbedClient('d', encodeURIComponent(token)).info()],
    [
      'portal',
      () => setup.outsiderTokens.access_token,
      (token) => createCaller(token).get('/api/v1/share-portal/contexts'),
    ],
    [
      'portal refresh',
      () => setup.outsiderTokens.refresh_token,
      (token) => refreshTokens('/api/v1/share-auth/refresh', token),
    ],
    ['session', () => setup.victim.token, (token) => createCaller(token).get('/v1/auth/me')],
    ['refresh', () => setup.victim.refreshToken, (token) => refreshTokens('/v1/auth/refresh', token)],
  ])('is refused as a token of the kind %s', async (_kind, getToken, useToken) => {
    // The first two only add white space around it, which headers lose on the way.
    for (const respelledToken of listOtherSpellings(getToken()).slice(
      _kind === 'portal' || _kind === 'session' ? 2 : 0,
    )) {
      expect([respelledToken, (await useToken(respelledToken)).status]).toEqual([respelledToken, 401]);
    }
    expect((await useToken(getToken())).status).toBe(200);
  });
});
