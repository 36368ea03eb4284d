import { describe, expect, inject, it } from 'vitest';
import { BASE_URL, callApi } from '../support/api.ts';
import { createOwnedCompany } from '../support/companies.ts';

const makeForgerUrl = (kind: string) => `${inject('forgerUrl')}/${kind}`;

const company = await createOwnedCompany();
const providers = [
  { issuer: makeForgerUrl('plain'), audience: 'pages' },
  { issuer: makeForgerUrl('plain'), audience: 'mobile-app' },
  { issuer: makeForgerUrl('form'), audience: 'pages' },
  { issuer: makeForgerUrl('impostor'), audience: 'pages' },
];
expect((await company.as.put('/v1/auth/social/config', { json: { providers } })).status).toBe(200);

const start = (issuer: string, slug = company.slug) =>
  callApi('GET', `/v1/auth/social/${slug}/start?${new URLSearchParams({ issuer })}`);

describe('a sign-in at an identity provider, from our own page', () => {
  it('asks for an ID token in the fragment, for the first audience, with a new state and nonce each time', async () => {
    const [first, second] = [(await start(makeForgerUrl('plain'))).body, (await start(makeForgerUrl('plain'))).body];
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
    const answer = await start(makeForgerUrl(kind));
    expect([answer.status, answer.body.error]).toEqual([status, error]);
  });

  it('is not started for an unknown company', async () => {
    expect((await start(makeForgerUrl('plain'), 'nobody-at-all')).status).toBe(404);
  });
});
