import { env } from 'cloudflare:test';
import { CompactEncrypt, decodeJwt, exportJWK, generateKeyPair, SignJWT, UnsecuredJWT } from 'jose';
import { beforeAll, describe, expect, it } from 'vitest';
import { aContext, anOutsider, dashboardGrant } from '../share-portal/support.ts';
import { aSalesDashboard, aShare, someSales } from '../shares/support.ts';
import { type ApiResponse, call, createCaller } from '../support/api.ts';
import { otherSpellings } from '../support/spellings.ts';
import { aCompany, aProvisionedCompany, type Company } from '../support/worlds.ts';
import { createEmbed, makeEmbedRoutes } from './support.ts';

/** Everything that tokens are tried on, and what they are tried with. */
interface World {
  company: Company;
  victim: Company;
  dashboard: string;
  visualization: string;
  /** Of the company that attacks, and good. */
  own: string;
  /** Of the company that is attacked. */
  theirs: string;
  visualizationToken: string;
  share: string;
  outsider: { access_token: string; refresh_token: string };
  contextId: string;
}

const world = {} as World;
beforeAll(async () => {
  world.company = await aProvisionedCompany();
  world.victim = await aProvisionedCompany();
  await someSales(world.victim);
  const made = await aSalesDashboard(world.victim);
  world.dashboard = made.dashboard._id;
  world.visualization = made.rows._id;
  world.theirs = await createEmbed(world.victim, 'dashboards', world.dashboard, {
    fixed_params: { regions: ['north'] },
    allowed_params: ['days'],
    required_params: ['days'],
  });
  world.visualizationToken = await createEmbed(world.victim, 'visualizations', world.visualization);
  const mine = await aSalesDashboard(world.company);
  world.own = await createEmbed(world.company, 'dashboards', mine.dashboard._id);
  world.share = (await aShare(world.victim, world.dashboard)).token;
  const email = 'mallory@x.test';
  world.contextId = (await aContext(world.victim, [dashboardGrant(world.dashboard)], [email])).id;
  world.outsider = (await anOutsider(world.victim, email)).tokens;
});

const encode = (value: unknown): string =>
  btoa(typeof value === 'string' ? value : JSON.stringify(value))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '');
const splitToken = (token: string) => token.split('.') as [string, string, string];
const decodePayload = (token: string) => decodeJwt(token) as Record<string, unknown>;
/** The token with members of its payload changed, and the signature it had. */
const changePayload = (token: string, change: Record<string, unknown>): string => {
  const [header, , signature] = splitToken(token);
  return [header, encode({ ...decodePayload(token), ...change }), signature].join('.');
};
const replaceHeader = (token: string, header: Record<string, unknown>): string => {
  const [, payload, signature] = splitToken(token);
  return [encode(header), payload, signature].join('.');
};
const signToken = (
  secret: string | Uint8Array,
  payload: Record<string, unknown>,
  header: Record<string, unknown> = {},
) =>
  new SignJWT(payload)
    .setProtectedHeader({ alg: 'HS256', kid: '1', typ: 'JWT', ...header })
    .sign(typeof secret === 'string' ? new TextEncoder().encode(secret.padEnd(32, '-')) : secret);

type Attack = [what: string, token: (w: World) => string | Promise<string>];

/** None of these may open the dashboard of the victim. */
const FORGED: Attack[] = [
  ['nothing but dots', () => '%2E%2E%2E'],
  ['one part', () => 'eyJhbGciOiJIUzI1NiJ9'],
  ['two parts', ({ theirs }) => splitToken(theirs).slice(0, 2).join('.')],
  ['four parts', ({ theirs }) => `${theirs}.x`],
  ['no signature', ({ theirs }) => `${splitToken(theirs).slice(0, 2).join('.')}.`],
  ['a cut signature', ({ theirs }) => theirs.slice(0, -2)],
  ['a lengthened signature', ({ theirs }) => `${theirs}AA`],
  ['another signature', ({ theirs, own }) => [...splitToken(theirs).slice(0, 2), splitToken(own)[2]].join('.')],
  [
    'a changed last character',
    ({ theirs }) => theirs.slice(0, -5) + (theirs.at(-5) === 'A' ? 'B' : 'A') + theirs.slice(-4),
  ],
  ['alg none', ({ theirs }) => new UnsecuredJWT(decodePayload(theirs)).encode()],
  ['alg None', ({ theirs }) => `${encode({ alg: 'None', kid: '1' })}.${splitToken(theirs)[1]}.`],
  ['alg none with the old signature', ({ theirs }) => replaceHeader(theirs, { alg: 'none', kid: '1' })],
  ['alg HS512', ({ theirs }) => replaceHeader(theirs, { alg: 'HS512', kid: '1' })],
  ['alg RS256', ({ theirs }) => replaceHeader(theirs, { alg: 'RS256', kid: '1' })],
  ['no alg', ({ theirs }) => replaceHeader(theirs, { kid: '1' })],
  ['an alg that is no text', ({ theirs }) => replaceHeader(theirs, { alg: ['HS256'], kid: '1' })],
  ['no kid', ({ theirs }) => replaceHeader(theirs, { alg: 'HS256' })],
  ['an unknown kid', ({ theirs }) => replaceHeader(theirs, { alg: 'HS256', kid: '99' })],
  ['kid __proto__', ({ theirs }) => replaceHeader(theirs, { alg: 'HS256', kid: '__proto__' })],
  ['kid constructor', ({ theirs }) => replaceHeader(theirs, { alg: 'HS256', kid: 'constructor' })],
  ['a kid that is a path', ({ theirs }) => replaceHeader(theirs, { alg: 'HS256', kid: '../../dev/null' })],
  ['a kid that is an object', ({ theirs }) => replaceHeader(theirs, { alg: 'HS256', kid: {} })],
  [
    'a key of its own in the header',
    ({ theirs }) => replaceHeader(theirs, { alg: 'HS256', kid: '1', jwk: { kty: 'oct', k: 'AA' } }),
  ],
  ['a jku', ({ theirs }) => replaceHeader(theirs, { alg: 'HS256', kid: '1', jku: 'https://evil.test/jwks.json' })],
  ['a critical extension', ({ theirs }) => replaceHeader(theirs, { alg: 'HS256', kid: '1', crit: ['x'], x: 1 })],
  ['b64 false', ({ theirs }) => replaceHeader(theirs, { alg: 'HS256', kid: '1', b64: false, crit: ['b64'] })],
  ['an empty secret', ({ theirs }) => signToken('', decodePayload(theirs))],
  ['a guessed secret', ({ theirs }) => signToken('secret', decodePayload(theirs))],
  ['the company’s id as a secret', ({ theirs, victim }) => signToken(victim.id, decodePayload(theirs))],
  [
    'the public key of sessions as a secret',
    async ({ theirs }) => {
      const { body } = await call('GET', '/.well-known/jwks.json');
      return signToken(JSON.stringify(body.keys[0]), decodePayload(theirs));
    },
  ],
  [
    'a key pair of the attacker',
    async ({ theirs }) => {
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
  ['another dashboard', ({ theirs }) => changePayload(theirs, { sub: '0'.repeat(24) })],
  ['a later expiry', ({ theirs }) => changePayload(theirs, { exp: 9_999_999_999 })],
  ['no expiry', ({ theirs }) => changePayload(theirs, { exp: undefined })],
  ['no fixed parameters', ({ theirs }) => changePayload(theirs, { fix: undefined })],
  ['more allowed parameters', ({ theirs }) => changePayload(theirs, { alw: ['days', 'regions'] })],
  ['no required parameters', ({ theirs }) => changePayload(theirs, { req: [] })],
  ['other origins', ({ theirs }) => changePayload(theirs, { org: ['https://evil.test'] })],
  ['another count of key rotations', ({ theirs }) => changePayload(theirs, { rot: 1 })],
  ['a count of key rotations that is a text', ({ theirs }) => changePayload(theirs, { rot: 'x' })],
  ['a negative count of key rotations', ({ theirs }) => changePayload(theirs, { rot: -1 })],
  ['a company that is no id', ({ theirs }) => changePayload(theirs, { com: '*' })],
  ['a company that is a list', ({ theirs }) => changePayload(theirs, { com: [] })],
  ['a payload that is a list', ({ theirs }) => [splitToken(theirs)[0], encode([]), splitToken(theirs)[2]].join('.')],
  ['a payload that is null', ({ theirs }) => [splitToken(theirs)[0], encode('null'), splitToken(theirs)[2]].join('.')],
  ['a payload that is not JSON', ({ theirs }) => [splitToken(theirs)[0], encode('{'), splitToken(theirs)[2]].join('.')],
  ['a header that is not JSON', ({ theirs }) => [encode('{'), ...splitToken(theirs).slice(1)].join('.')],
  ['base64 with padding', ({ theirs }) => `${theirs}==`],
  ['characters that are no base64', ({ theirs }) => `${splitToken(theirs)[0]}.%E2%82%AC.${splitToken(theirs)[2]}`],
  ['a NUL', ({ theirs }) => `${theirs}%00`],
  ['8,000 characters', () => `${'A'.repeat(4000)}.${'A'.repeat(4000)}.A`],
  [
    'an encrypted token',
    async ({ theirs }) =>
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

const expectRefused = ({ status, body }: ApiResponse, what: string) =>
  expect([what, status, body.error_code]).toEqual([what, 401, 'TOKEN_INVALID']);

describe('an embed token', () => {
  it('opens the dashboard if it is unchanged', async () => {
    expect((await makeEmbedRoutes('d', world.theirs).info()).status).toBe(200);
    expect((await makeEmbedRoutes('d', world.own).info()).status).toBe(200);
  });

  it.each(FORGED)('is refused with %s', async (what, make) => {
    const embed = makeEmbedRoutes('d', await make(world));
    expectRefused(await embed.info(), what);
    expectRefused(await embed.options('days'), what);
    expectRefused(await embed.execute({ days: { from: '2024-01-01' } }), what);
  });

  it('opens no visualization if it is for a dashboard', async () => {
    const embed = makeEmbedRoutes('v', world.theirs);
    expectRefused(await embed.info(), 'info');
    expectRefused(await embed.execute(), 'execute');
  });

  it('is refused when another environment signed it', async () => {
    const elsewhere = { env: { EMBED_SECRETS: JSON.stringify({ 1: 'the master secret of another environment' }) } };
    const { body } = await world.victim.as.post(`/api/v1/embed/dashboards/${world.dashboard}`, {
      json: {},
      ...elsewhere,
    });
    expect((await makeEmbedRoutes('d', body.token).info(elsewhere)).status).toBe(200);
    expectRefused(await makeEmbedRoutes('d', body.token).info(), 'elsewhere');
  });

  it('is still verified correctly after 50 forged ones in the same isolate', async () => {
    for (let n = 0; n < 50; n++)
      await makeEmbedRoutes('d', changePayload(world.theirs, { rot: n, com: world.company.id })).info();
    expect((await makeEmbedRoutes('d', world.theirs).info()).status).toBe(200);
    expectRefused(await makeEmbedRoutes('d', changePayload(world.theirs, { exp: 9_999_999_999 })).info(), 'after');
  });
});

describe('a token of a share, embed, portal or session', () => {
  it('opens only what it was issued for', async () => {
    const { theirs, share, outsider, victim } = world;
    const resolve = (token: string) => call('GET', `/api/v1/public/shares/${token}/resolve`);
    for (const token of [theirs, outsider.access_token, victim.token]) expectRefused(await resolve(token), 'share');
    for (const token of [theirs, share, world.visualizationToken]) {
      expectRefused(await createCaller(token).get('/api/v1/share-portal/contexts'), 'portal');
      expect((await createCaller(token).get('/v1/auth/me')).status).toBe(401);
    }
    expect((await createCaller(outsider.access_token).get('/v1/auth/me')).status).toBe(401);
    expectRefused(await createCaller(outsider.refresh_token).get('/api/v1/share-portal/contexts'), 'refresh token');
  });

  it('is refused when a claim such as company, user or session is changed', async () => {
    const other = await aCompany();
    const { access_token: token } = world.outsider;
    const [header, , signature] = splitToken(token);
    const portal = (given: string) => createCaller(given).get('/api/v1/share-portal/contexts');
    expect((await portal(token)).body.total).toBe(1);
    for (const change of [
      { company_id: other.id },
      { sub: world.victim.owner.id },
      { sid: '0'.repeat(24) },
      { email: 'someone@else.test' },
      { aud: 'console' },
      { aud: ['share-portal', 'console'] },
      { token_type: 'refresh' },
      { exp: 9_999_999_999 },
    ]) {
      const forged = [header, encode({ ...decodePayload(token), ...change }), signature].join('.');
      expectRefused(await portal(forged), JSON.stringify(change));
      expect((await createCaller(forged).get('/v1/auth/me')).status).toBe(401);
    }
    const keys = JSON.parse(env.JWT_PRIVATE_KEYS) as { kid: string; x: string }[];
    const confused = await signToken(keys[0]?.x ?? '', decodePayload(token), { kid: keys[0]?.kid });
    expectRefused(await portal(confused), 'HS256 with the public key');
    expectRefused(await portal(new UnsecuredJWT(decodePayload(token)).encode()), 'alg none');
  });
});

describe('a valid token in another spelling', () => {
  const refresh = (path: string, refresh_token: string) => call('POST', path, { json: { refresh_token } });

  it.each<[string, () => string, (token: string) => Promise<ApiResponse>]>([
    ['embed', () => world.theirs, (token) => makeEmbedRoutes('d', encodeURIComponent(token)).info()],
    ['portal', () => world.outsider.access_token, (token) => createCaller(token).get('/api/v1/share-portal/contexts')],
    ['portal refresh', () => world.outsider.refresh_token, (token) => refresh('/api/v1/share-auth/refresh', token)],
    ['session', () => world.victim.token, (token) => createCaller(token).get('/v1/auth/me')],
    ['refresh', () => world.victim.refreshToken, (token) => refresh('/v1/auth/refresh', token)],
  ])('is refused as a token of the kind %s', async (_kind, tokenOf, use) => {
    // The first two only add white space around it, which headers lose on the way.
    for (const spelt of otherSpellings(tokenOf()).slice(_kind === 'portal' || _kind === 'session' ? 2 : 0)) {
      expect([spelt, (await use(spelt)).status]).toEqual([spelt, 401]);
    }
    expect((await use(tokenOf())).status).toBe(200);
  });
});
