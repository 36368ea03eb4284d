import { env } from 'cloudflare:test';
import { importJWK, SignJWT } from 'jose';
import { afterEach, beforeAll, describe, expect, inject, it } from 'vitest';
import { clock } from '../../src/context.ts';
import { type Answer, bearer, call } from '../support/api.ts';
import { aCompany, aUser, type Company } from '../support/worlds.ts';
import { visit } from './browser.ts';
import {
  answerByForm,
  answerByRedirect,
  CONSOLE,
  callbackUrl,
  configure,
  exchange,
  sentOn,
  start,
  tryStart,
} from './support.ts';

const realNow = clock.now;
afterEach(() => {
  clock.now = realNow;
});

/** Registers a client of ours at the provider, as its administrator would. */
async function registered(company: Company, changes: Record<string, unknown> = {}): Promise<Record<string, unknown>> {
  const response = await fetch(`${inject('oidcIssuer')}/reg`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ redirect_uris: [callbackUrl(company)], ...changes }),
  });
  const { client_id, client_secret } = (await response.json()) as Record<string, string>;
  return { type: 'oidc', issuer: inject('oidcIssuer'), client_id, client_secret };
}

describe('with a complete OpenID Provider', () => {
  let company: Company;
  beforeAll(async () => {
    company = await aCompany();
    await configure(company, await registered(company));
  });

  /** Goes the whole way as a person would. @returns our callback's answer */
  async function signIn(as: string, to = company): Promise<Answer> {
    const back = await visit(await start(to), { login: as, until: callbackUrl(to) });
    return call('GET', back.pathname + back.search);
  }

  it('signs a user in: start, login, callback, exchange', async () => {
    const answer = await signIn(company.owner.email);
    const { to, code, error } = sentOn(answer);
    expect([to, error]).toEqual([CONSOLE, null]);
    expect(answer.headers.get('cache-control')).toBe('no-store');
    const { status, body } = await exchange(code as string);
    expect(status).toBe(200);
    expect(body).toMatchObject({ expires_in: 600, user: { _id: company.owner.id, email: company.owner.email } });
    expect((await bearer(body.token).get('/v1/auth/me')).status).toBe(200);
  });

  it('uses PKCE, a state and a nonce, new each time', async () => {
    const [first, second] = [(await start(company)).searchParams, (await start(company)).searchParams];
    expect(first.get('code_challenge_method')).toBe('S256');
    for (const name of ['state', 'nonce', 'code_challenge']) {
      expect(first.get(name)).toMatch(/^[\w-]{43}$/);
      expect(first.get(name)).not.toBe(second.get(name));
    }
    expect(first.get('redirect_uri')).toBe(callbackUrl(company));
  });

  it('takes a code once, also when it is tried twice at the same time', async () => {
    const { code } = sentOn(await signIn(company.owner.email));
    const answers = await Promise.all([exchange(code as string), exchange(code as string)]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 400]);
    const late = await exchange(code as string);
    expect([late.status, late.body.error]).toEqual([400, 'INVALID_SSO_CODE']);
  });

  it('takes a code for a minute', async () => {
    const { code } = sentOn(await signIn(company.owner.email));
    clock.now = () => realNow() + 60_001;
    expect((await exchange(code as string)).body.error).toBe('INVALID_SSO_CODE');
  });

  it('takes an answer once', async () => {
    const back = await visit(await start(company), { login: company.owner.email, until: callbackUrl(company) });
    const answers = await Promise.all([1, 2].map(() => call('GET', back.pathname + back.search)));
    expect(answers.map(({ status }) => status).sort()).toEqual([302, 400]);
  });

  it('does not let in whom the company does not know', async () => {
    expect(sentOn(await signIn('stranger@elsewhere.test'))).toMatchObject({ code: null, error: 'user_not_found' });
  });

  it('does not let in a user of another company', async () => {
    const other = await aCompany();
    expect(sentOn(await signIn(other.owner.email)).error).toBe('user_not_found');
  });

  it('does not believe an address that is not verified', async () => {
    expect(sentOn(await signIn(`unverified@${company.slug}.test`)).error).toBe('email_not_verified');
  });

  it('does not let in a user who is not active, nor one deactivated before the exchange', async () => {
    const { id, email } = await aUser(company, { can: ['users:list'] });
    const { code } = sentOn(await signIn(email));
    await env.CONTROL_DB.prepare('UPDATE users SET is_active = 0 WHERE id = ?').bind(id).run();
    const deactivated = await exchange(code as string);
    expect([deactivated.status, deactivated.body.error]).toEqual([403, 'FORBIDDEN']);
    expect(sentOn(await signIn(email)).error).toBe('user_not_active');
  });

  it('makes a user of a newcomer where the company wants that', async () => {
    const open = await aCompany();
    await configure(open, { ...(await registered(open)), jit_provisioning: true });
    const email = `newcomer@${open.slug}.test`;
    const { body } = await exchange(sentOn(await signIn(email, open)).code as string);
    expect(body.user).toEqual({ _id: expect.any(String), email, name: 'Petra Provider', company_id: open.id });
    const { body: me } = await bearer(body.token).get('/v1/auth/me');
    expect(me.user).toMatchObject({ status: 'active', group_ids: [] });
    const again = await exchange(sentOn(await signIn(email, open)).code as string);
    expect(again.body.user._id).toBe(body.user._id);
  });

  it('makes one user of two first sign-ins at once', async () => {
    const open = await aCompany();
    await configure(open, { ...(await registered(open)), jit_provisioning: true });
    const login = `twice@${open.slug}.test`;
    const backs = await Promise.all(
      [1, 2].map(async () => visit(await start(open), { login, until: callbackUrl(open) })),
    );
    const answers = await Promise.all(backs.map(({ pathname, search }) => call('GET', pathname + search)));
    const users = await Promise.all(
      answers.map(async (answer) => (await exchange(sentOn(answer).code as string)).body),
    );
    expect(users[0].user._id).toBe(users[1].user._id);
  });
});

describe('with a provider that answers what it should not', () => {
  let company: Company;
  const CLIENT = 'our-client';
  const configuration = (kind: string) => ({
    type: 'oidc',
    issuer: `${inject('forgerUrl')}/${kind}`,
    client_id: CLIENT,
    client_secret: 'a secret',
  });
  beforeAll(async () => {
    company = await aCompany();
    await configure(company, configuration('plain'));
  });

  interface Forged {
    claims?: Record<string, unknown>;
    without?: string[];
    sign?: (token: SignJWT) => Promise<string>;
    kind?: string;
  }

  const signed = async (token: SignJWT) =>
    token.setProtectedHeader({ alg: 'RS256', kid: 'forger-1' }).sign(await importJWK(inject('forgerKey'), 'RS256'));

  /** An ID token as the provider should issue it, but for what is said. */
  async function idToken(nonce: string | null, { claims, without = [], sign = signed, kind = 'plain' }: Forged) {
    const now = Math.floor(Date.now() / 1000);
    const all = {
      iss: `${inject('forgerUrl')}/${kind}`,
      aud: CLIENT,
      sub: 'subject',
      iat: now,
      exp: now + 300,
      nonce,
      email: company.owner.email,
      email_verified: true,
      ...claims,
    };
    return sign(new SignJWT(Object.fromEntries(Object.entries(all).filter(([name]) => !without.includes(name)))));
  }

  async function answer(forged: Forged): Promise<Answer> {
    const { searchParams } = await start(company);
    const code = await idToken(searchParams.get('nonce'), forged);
    return answerByRedirect(company, { code, state: searchParams.get('state') as string });
  }

  it('accepts what is right, by redirect and by form', async () => {
    expect(sentOn(await answer({})).code).toBeTruthy();
    const { searchParams } = await start(company);
    const code = await idToken(searchParams.get('nonce'), {});
    const byForm = await answerByForm(company, { code, state: searchParams.get('state') as string });
    expect(sentOn(byForm).code).toBeTruthy();
  });

  it('sends the secret in the form to a provider that wants it there', async () => {
    await configure(company, configuration('form'));
    expect(sentOn(await answer({ kind: 'form' })).code).toBeTruthy();
    await configure(company, configuration('plain'));
  });

  it.each<[string, Forged]>([
    ['another nonce', { claims: { nonce: 'another' } }],
    ['no nonce', { without: ['nonce'] }],
    ['another audience', { claims: { aud: 'another-client' } }],
    ['several audiences and another authorized party', { claims: { aud: [CLIENT, 'other'], azp: 'other' } }],
    ['another issuer', { claims: { iss: 'https://elsewhere.test' } }],
    ['a time long past', { claims: { iat: 1_600_000_000, exp: 1_600_000_300 } }],
    ['no expiry', { without: ['exp'] }],
    ['no subject', { without: ['sub'] }],
    [
      'another key',
      { sign: async (token) => token.setProtectedHeader({ alg: 'RS256', kid: 'forger-1' }).sign(await anotherKey()) },
    ],
    [
      'an unknown key id',
      {
        sign: async (token) =>
          token.setProtectedHeader({ alg: 'RS256', kid: 'other' }).sign(await importJWK(inject('forgerKey'), 'RS256')),
      },
    ],
    ['a changed payload', { sign: async (token) => tampered(await signed(token)) }],
    ['no signature', { sign: async (token) => unsigned(await signed(token)) }],
  ])('refuses an ID token with %s', async (_what, forged) => {
    expect(sentOn(await answer(forged))).toEqual({ to: CONSOLE, code: null, error: 'invalid_response' });
  });

  it.each<[string, Forged, string]>([
    ['not verified', { claims: { email_verified: false } }, 'email_not_verified'],
    ['of unknown standing', { without: ['email_verified'] }, 'email_not_verified'],
    ['that is none', { claims: { email: 'not an address' } }, 'email_missing'],
    ['that is a list', { claims: { email: ['a@b.test'] } }, 'email_missing'],
  ])('refuses an address %s', async (_what, forged, error) => {
    expect(sentOn(await answer(forged)).error).toBe(error);
  });

  it('refuses algorithms without a private key even where the provider lists them', async () => {
    await configure(company, configuration('weak'));
    const secret = new TextEncoder().encode('a secret');
    for (const sign of [
      (token: SignJWT) => token.setProtectedHeader({ alg: 'HS256' }).sign(secret),
      async (token: SignJWT) => unsigned(await signed(token)),
    ]) {
      expect(sentOn(await answer({ sign, kind: 'weak' })).error).toBe('invalid_response');
    }
    await configure(company, configuration('plain'));
  });

  it('tells the console that the person was turned away', async () => {
    const state = (await start(company)).searchParams.get('state') as string;
    const { error } = sentOn(await answerByRedirect(company, { error: 'access_denied', state }));
    expect(error).toBe('access_denied');
  });

  it('refuses an answer in the name of another issuer', async () => {
    const { searchParams } = await start(company);
    const code = await idToken(searchParams.get('nonce'), {});
    const answered = { code, state: searchParams.get('state') as string, iss: 'https://elsewhere.test' };
    expect(sentOn(await answerByRedirect(company, answered)).error).toBe('invalid_response');
  });

  it.each([
    ['an unknown state', { state: 'unknown', code: 'x' }],
    ['no state', { code: 'x' }],
  ])('answers 400 to %s', async (_what, parameters) => {
    const { status, body } = await answerByRedirect(company, parameters as Record<string, string>);
    expect([status, body.error]).toEqual([400, 'INVALID_SSO_STATE']);
  });

  it('does not take the state of another company, nor one that is ten minutes old', async () => {
    const other = await aCompany();
    await configure(other, configuration('plain'));
    const { searchParams } = await start(company);
    const answered = {
      code: await idToken(searchParams.get('nonce'), {}),
      state: searchParams.get('state') as string,
    };
    expect((await answerByRedirect(other, answered)).status).toBe(400);
    clock.now = () => realNow() + 10 * 60_000 + 1;
    expect((await answerByRedirect(company, answered)).status).toBe(400);
  });

  it('ends sign-ins under way when the configuration changes', async () => {
    const { searchParams } = await start(company);
    const answered = { code: await idToken(searchParams.get('nonce'), {}), state: searchParams.get('state') as string };
    await configure(company, configuration('plain'));
    expect((await answerByRedirect(company, answered)).status).toBe(400);
  });

  it.each(['impostor', 'moved', 'huge', 'absent'])('does not begin with a provider that is %s', async (kind) => {
    const other = await aCompany();
    await configure(other, configuration(kind));
    const { status, body } = await tryStart(other.slug, CONSOLE);
    expect([status, body.error]).toEqual([503, 'SSO_PROVIDER_UNAVAILABLE']);
  });
});

describe('start', () => {
  let company: Company;
  beforeAll(async () => {
    company = await aCompany();
    const issuer = `${inject('forgerUrl')}/plain`;
    await configure(company, { type: 'oidc', issuer, client_id: 'c', client_secret: 's' });
  });

  it.each([
    `${CONSOLE}/`,
    `${CONSOLE}?next=https://evil.test`,
    `${CONSOLE}#x`,
    'https://console.test.evil.test/signed-in',
    'https://console.test@evil.test/signed-in',
    'https://CONSOLE.test/signed-in',
    '//evil.test',
    'javascript:alert(1)',
  ])('sends nobody to %s, which is not in the list', async (redirectUri) => {
    const { status, body } = await tryStart(company.slug, redirectUri);
    expect([status, body.error, body.details[0].field]).toEqual([422, 'VALIDATION_ERROR', 'redirect_uri']);
  });

  it('needs a redirect_uri, a company and a configuration', async () => {
    expect((await call('GET', `/v1/auth/sso/${company.slug}/start`)).status).toBe(422);
    expect((await tryStart('nobody', CONSOLE)).body.error).toBe('COMPANY_NOT_FOUND');
    const bare = await aCompany();
    const { status, body } = await tryStart(bare.slug, CONSOLE);
    expect([status, body.error]).toEqual([404, 'SSO_NOT_CONFIGURED']);
  });
});

async function anotherKey(): Promise<CryptoKey> {
  const { privateKey } = (await crypto.subtle.generateKey(
    { name: 'RSASSA-PKCS1-v1_5', modulusLength: 2048, publicExponent: new Uint8Array([1, 0, 1]), hash: 'SHA-256' },
    true,
    ['sign', 'verify'],
  )) as CryptoKeyPair;
  return privateKey;
}

const encode = (value: unknown) =>
  btoa(JSON.stringify(value)).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');

function tampered(token: string): string {
  const [header, payload, signature] = token.split('.') as [string, string, string];
  const claims = JSON.parse(atob(payload.replaceAll('-', '+').replaceAll('_', '/')));
  return [header, encode({ ...claims, email: `other-${claims.email}` }), signature].join('.');
}

const unsigned = (token: string): string => `${encode({ alg: 'none' })}.${token.split('.')[1]}.`;
