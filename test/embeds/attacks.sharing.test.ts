import { env } from 'cloudflare:test';
import { CompactEncrypt, decodeJwt, exportJWK, generateKeyPair, SignJWT, UnsecuredJWT } from 'jose';
import { beforeAll, describe, expect, it } from 'vitest';
import { createShareContext, makeDashboardGrant, signInOutsider } from '../share-portal/support.ts';
import { createSalesDashboard, createSalesTable, createShare } from '../shares/support.ts';
import { type ApiResponse, callApi, createCaller } from '../support/api.ts';
import { listOtherSpellings } from '../support/spellings.ts';
import { type Company, createOwnedCompany, createProvisionedCompany } from '../support/worlds.ts';
import { createEmbedToken, makeEmbedRoutes } from './support.ts';

/** The companies and tokens with which the tests attack, and the resources that they attack. */
interface AttackSetup {
  company: Company;
  victim: Company;
  dashboard: string;
  visualization: string;
  /** A valid embed token of the attacking company. */
  own: string;
  /** A valid embed token of the attacked company. */
  victimToken: string;
  visualizationToken: string;
  share: string;
  outsider: { access_token: string; refresh_token: string };
  contextId: string;
}

const setup = {} as AttackSetup;
beforeAll(async () => {
  setup.company = await createProvisionedCompany();
  setup.victim = await createProvisionedCompany();
  await createSalesTable(setup.victim);
  const victimSales = await createSalesDashboard(setup.victim);
  setup.dashboard = victimSales.dashboard._id;
  setup.visualization = victimSales.rows._id;
  setup.victimToken = await createEmbedToken(setup.victim, 'dashboards', setup.dashboard, {
    fixed_params: { regions: ['north'] },
    allowed_params: ['days'],
    required_params: ['days'],
  });
  setup.visualizationToken = await createEmbedToken(setup.victim, 'visualizations', setup.visualization);
  const ownSales = await createSalesDashboard(setup.company);
  setup.own = await createEmbedToken(setup.company, 'dashboards', ownSales.dashboard._id);
  setup.share = (await createShare(setup.victim, setup.dashboard)).token;
  const email = 'mallory@x.test';
  setup.contextId = (await createShareContext(setup.victim, [makeDashboardGrant(setup.dashboard)], [email])).id;
  setup.outsider = (await signInOutsider(setup.victim, email)).tokens;
});

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

type ForgedToken = [what: string, token: (w: AttackSetup) => string | Promise<string>];

/** Forged tokens, none of which may open the dashboard of the victim. */
const FORGED_TOKENS: ForgedToken[] = [
  ['nothing but dots', () => '%2E%2E%2E'],
  ['one part', () => 'eyJhbGciOiJIUzI1NiJ9'],
  ['two parts', ({ victimToken: theirs }) => splitToken(theirs).slice(0, 2).join('.')],
  ['four parts', ({ victimToken: theirs }) => `${theirs}.x`],
  ['no signature', ({ victimToken: theirs }) => `${splitToken(theirs).slice(0, 2).join('.')}.`],
  ['a cut signature', ({ victimToken: theirs }) => theirs.slice(0, -2)],
  ['a lengthened signature', ({ victimToken: theirs }) => `${theirs}AA`],
  [
    'another signature',
    ({ victimToken: theirs, own }) => [...splitToken(theirs).slice(0, 2), splitToken(own)[2]].join('.'),
  ],
  [
    'a changed last character',
    ({ victimToken: theirs }) => theirs.slice(0, -5) + (theirs.at(-5) === 'A' ? 'B' : 'A') + theirs.slice(-4),
  ],
  ['alg none', ({ victimToken: theirs }) => new UnsecuredJWT(decodePayload(theirs)).encode()],
  ['alg None', ({ victimToken: theirs }) => `${encodeBase64Url({ alg: 'None', kid: '1' })}.${splitToken(theirs)[1]}.`],
  ['alg none with the old signature', ({ victimToken: theirs }) => replaceHeader(theirs, { alg: 'none', kid: '1' })],
  ['alg HS512', ({ victimToken: theirs }) => replaceHeader(theirs, { alg: 'HS512', kid: '1' })],
  ['alg RS256', ({ victimToken: theirs }) => replaceHeader(theirs, { alg: 'RS256', kid: '1' })],
  ['no alg', ({ victimToken: theirs }) => replaceHeader(theirs, { kid: '1' })],
  ['an alg that is no text', ({ victimToken: theirs }) => replaceHeader(theirs, { alg: ['HS256'], kid: '1' })],
  ['no kid', ({ victimToken: theirs }) => replaceHeader(theirs, { alg: 'HS256' })],
  ['an unknown kid', ({ victimToken: theirs }) => replaceHeader(theirs, { alg: 'HS256', kid: '99' })],
  ['kid __proto__', ({ victimToken: theirs }) => replaceHeader(theirs, { alg: 'HS256', kid: '__proto__' })],
  ['kid constructor', ({ victimToken: theirs }) => replaceHeader(theirs, { alg: 'HS256', kid: 'constructor' })],
  ['a kid that is a path', ({ victimToken: theirs }) => replaceHeader(theirs, { alg: 'HS256', kid: '../../dev/null' })],
  ['a kid that is an object', ({ victimToken: theirs }) => replaceHeader(theirs, { alg: 'HS256', kid: {} })],
  [
    'a key of its own in the header',
    ({ victimToken: theirs }) => replaceHeader(theirs, { alg: 'HS256', kid: '1', jwk: { kty: 'oct', k: 'AA' } }),
  ],
  [
    'a jku',
    ({ victimToken: theirs }) => replaceHeader(theirs, { alg: 'HS256', kid: '1', jku: 'https://evil.test/jwks.json' }),
  ],
  [
    'a critical extension',
    ({ victimToken: theirs }) => replaceHeader(theirs, { alg: 'HS256', kid: '1', crit: ['x'], x: 1 }),
  ],
  [
    'b64 false',
    ({ victimToken: theirs }) => replaceHeader(theirs, { alg: 'HS256', kid: '1', b64: false, crit: ['b64'] }),
  ],
  ['an empty secret', ({ victimToken: theirs }) => signToken('', decodePayload(theirs))],
  ['a guessed secret', ({ victimToken: theirs }) => signToken('secret', decodePayload(theirs))],
  ['the company’s id as a secret', ({ victimToken: theirs, victim }) => signToken(victim.id, decodePayload(theirs))],
  [
    'the public key of sessions as a secret',
    async ({ victimToken: theirs }) => {
      const { body } = await callApi('GET', '/.well-known/jwks.json');
      return signToken(JSON.stringify(body.keys[0]), decodePayload(theirs));
    },
  ],
  [
    'a key pair of the attacker',
    async ({ victimToken: theirs }) => {
      const { privateKey, publicKey } = await generateKeyPair('EdDSA');
      const header = { alg: 'EdDSA', kid: '1', jwk: await exportJWK(publicKey) };
      return new SignJWT(decodePayload(theirs)).setProtectedHeader(header).sign(privateKey);
    },
  ],
  ['a token of the attacker that names another company', ({ own, victim }) => changePayload(own, { com: victim.id })],
  [
    'a token of the attacker that names another dashboard',
    ({ own, dashboard }) => changePayload(own, { sub: dashboard }),
  ],
  ['another dashboard', ({ victimToken: theirs }) => changePayload(theirs, { sub: '0'.repeat(24) })],
  ['a later expiry', ({ victimToken: theirs }) => changePayload(theirs, { exp: 9_999_999_999 })],
  ['no expiry', ({ victimToken: theirs }) => changePayload(theirs, { exp: undefined })],
  ['no fixed parameters', ({ victimToken: theirs }) => changePayload(theirs, { fix: undefined })],
  ['more allowed parameters', ({ victimToken: theirs }) => changePayload(theirs, { alw: ['days', 'regions'] })],
  ['no required parameters', ({ victimToken: theirs }) => changePayload(theirs, { req: [] })],
  ['other origins', ({ victimToken: theirs }) => changePayload(theirs, { org: ['https://evil.test'] })],
  ['another count of key rotations', ({ victimToken: theirs }) => changePayload(theirs, { rot: 1 })],
  ['a count of key rotations that is a text', ({ victimToken: theirs }) => changePayload(theirs, { rot: 'x' })],
  ['a negative count of key rotations', ({ victimToken: theirs }) => changePayload(theirs, { rot: -1 })],
  ['a company that is no id', ({ victimToken: theirs }) => changePayload(theirs, { com: '*' })],
  ['a company that is a list', ({ victimToken: theirs }) => changePayload(theirs, { com: [] })],
  [
    'a payload that is a list',
    ({ victimToken: theirs }) => [splitToken(theirs)[0], encodeBase64Url([]), splitToken(theirs)[2]].join('.'),
  ],
  [
    'a payload that is null',
    ({ victimToken: theirs }) => [splitToken(theirs)[0], encodeBase64Url('null'), splitToken(theirs)[2]].join('.'),
  ],
  [
    'a payload that is not JSON',
    ({ victimToken: theirs }) => [splitToken(theirs)[0], encodeBase64Url('{'), splitToken(theirs)[2]].join('.'),
  ],
  [
    'a header that is not JSON',
    ({ victimToken: theirs }) => [encodeBase64Url('{'), ...splitToken(theirs).slice(1)].join('.'),
  ],
  ['base64 with padding', ({ victimToken: theirs }) => `${theirs}==`],
  [
    'characters that are no base64',
    ({ victimToken: theirs }) => `${splitToken(theirs)[0]}.%E2%82%AC.${splitToken(theirs)[2]}`,
  ],
  ['a NUL', ({ victimToken: theirs }) => `${theirs}%00`],
  ['8,000 characters', () => `${'A'.repeat(4000)}.${'A'.repeat(4000)}.A`],
  [
    'an encrypted token',
    async ({ victimToken: theirs }) =>
      new CompactEncrypt(new TextEncoder().encode(theirs))
        .setProtectedHeader({ alg: 'dir', enc: 'A256GCM' })
        .encrypt(new Uint8Array(32)),
  ],
  ['the token of a visualization', ({ visualizationToken }) => visualizationToken],
  ['the token of a share', ({ share }) => share],
  ['an outsider’s token', ({ outsider }) => outsider.access_token],
  ['a session token', ({ victim }) => victim.token],
  ['SQL', () => encodeURIComponent("' or 1=1 --")],
];

const expectRefused = ({ status, body }: ApiResponse, label: string) =>
  expect([label, status, body.error_code]).toEqual([label, 401, 'TOKEN_INVALID']);

describe('an embed token', () => {
  it('opens the dashboard if it is unchanged', async () => {
    expect((await makeEmbedRoutes('d', setup.victimToken).info()).status).toBe(200);
    expect((await makeEmbedRoutes('d', setup.own).info()).status).toBe(200);
  });

  it.each(FORGED_TOKENS)('is refused with %s', async (tokenKind, makeToken) => {
    const embed = makeEmbedRoutes('d', await makeToken(setup));
    expectRefused(await embed.info(), tokenKind);
    expectRefused(await embed.options('days'), tokenKind);
    expectRefused(await embed.execute({ days: { from: '2024-01-01' } }), tokenKind);
  });

  it('opens no visualization if it is for a dashboard', async () => {
    const embed = makeEmbedRoutes('v', setup.victimToken);
    expectRefused(await embed.info(), 'info');
    expectRefused(await embed.execute(), 'execute');
  });

  it('is refused when another environment signed it', async () => {
    const otherEnvironment = {
      env: { EMBED_SECRETS: JSON.stringify({ 1: 'the master secret of another environment' }) },
    };
    const { body } = await setup.victim.as.post(`/api/v1/embed/dashboards/${setup.dashboard}`, {
      json: {},
      ...otherEnvironment,
    });
    expect((await makeEmbedRoutes('d', body.token).info(otherEnvironment)).status).toBe(200);
    expectRefused(await makeEmbedRoutes('d', body.token).info(), 'elsewhere');
  });

  it('is still verified correctly after 50 forged tokens in the same isolate', async () => {
    for (let n = 0; n < 50; n++)
      await makeEmbedRoutes('d', changePayload(setup.victimToken, { rot: n, com: setup.company.id })).info();
    expect((await makeEmbedRoutes('d', setup.victimToken).info()).status).toBe(200);
    expectRefused(await makeEmbedRoutes('d', changePayload(setup.victimToken, { exp: 9_999_999_999 })).info(), 'after');
  });
});

describe('a token of a share, embed, portal or session', () => {
  it('opens only what it was issued for', async () => {
    const { victimToken: theirs, share, outsider, victim } = setup;
    const resolveShare = (token: string) => callApi('GET', `/api/v1/public/shares/${token}/resolve`);
    for (const token of [theirs, outsider.access_token, victim.token])
      expectRefused(await resolveShare(token), 'share');
    for (const token of [theirs, share, setup.visualizationToken]) {
      expectRefused(await createCaller(token).get('/api/v1/share-portal/contexts'), 'portal');
      expect((await createCaller(token).get('/v1/auth/me')).status).toBe(401);
    }
    expect((await createCaller(outsider.access_token).get('/v1/auth/me')).status).toBe(401);
    expectRefused(await createCaller(outsider.refresh_token).get('/api/v1/share-portal/contexts'), 'refresh token');
  });

  it('is refused when a claim such as company, user or session is changed', async () => {
    const other = await createOwnedCompany();
    const { access_token: token } = setup.outsider;
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
    ['embed', () => setup.victimToken, (token) => makeEmbedRoutes('d', encodeURIComponent(token)).info()],
    ['portal', () => setup.outsider.access_token, (token) => createCaller(token).get('/api/v1/share-portal/contexts')],
    [
      'portal refresh',
      () => setup.outsider.refresh_token,
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
