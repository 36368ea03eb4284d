import { importJWK, SignJWT } from 'jose';
import { inject } from 'vitest';
import { createExportQueue } from '../../company-exports/support.ts';
import { decodePicture, PICTURES } from '../../formats/image/pictures.ts';
import { getSecretOfState, startSignIn } from '../../single-sign-on/support.ts';
import { callApi, createCaller } from '../../support/api.ts';
import { createAllowedUser, logIn, PASSWORD } from '../../support/companies.ts';
import { readCode, readNewestMail } from '../../support/mail.ts';
import { type Authenticator, createAuthenticator } from '../../support/passkeys.ts';
import { createSigner } from '../../support/saml-idp.ts';
import { computeCode, enrolAuthenticator, goToNextStep } from '../../support/second-factor.ts';
import { expectSuccess } from '../../support/signed.ts';
import type { Step, WalkState } from '../walk.ts';

const CONSOLE_URL = 'https://console.test/signed-in';
const CLIENT_ID = 'our-client';
const getIssuer = () => `${inject('forgerUrl')}/plain`;
const company = { company_slug: 'company' };

/** Signs an ID token like the identity provider of the tests. */
async function signIdToken(email: string, audience: string, nonce?: string | null): Promise<string> {
  const now = Math.floor(Date.now() / 1000);
  const claims = {
    iss: getIssuer(),
    aud: audience,
    sub: 'subject',
    iat: now,
    exp: now + 300,
    email,
    email_verified: true,
  };
  return new SignJWT({ ...claims, ...(nonce && { nonce }) })
    .setProtectedHeader({ alg: 'RS256', kid: 'forger-1' })
    .sign(await importJWK(inject('forgerKey'), 'RS256'));
}

/** Starts a sign-in at the identity provider, and stores the state, secret and code of its redirect. */
async function signInAtProvider({ company: tenant, storedValues }: WalkState): Promise<void> {
  const { searchParams } = await startSignIn(tenant);
  storedValues.state = searchParams.get('state') as string;
  storedValues.exchange = getSecretOfState(storedValues.state);
  storedValues.code = await signIdToken(tenant.owner.email, CLIENT_ID, searchParams.get('nonce'));
}
const getAuthenticator = (storedValues: WalkState['storedValues']) =>
  storedValues.authenticator as unknown as Authenticator;
const readSsoCode = (_body: unknown, { headers }: { headers: Headers }) => ({
  ssoCode: new URL(headers.get('location') as string).searchParams.get('code') as string,
});

/** Steps through every sign-in method. */
export const SIGN_IN_STEPS: Step[] = [
  { route: 'GET /v1/auth/validate-company', query: () => ({ slug: 'acme' }) },
  {
    route: 'POST /v1/auth/login',
    json: (_, { company: { slug, owner } }) => ({ company_slug: slug, email: owner.email, password: PASSWORD }),
    getStoredValues: ({ refresh_token }) => ({ refresh: refresh_token }),
  },
  { route: 'POST /v1/auth/refresh', json: ({ refresh }) => ({ refresh_token: refresh }) },
  { route: 'GET /v1/auth/me' },
  { route: 'PUT /v1/auth/me', json: () => ({ name: 'Olga Owner' }) },
  { route: 'GET /v1/auth/permissions' },
  { route: 'GET /.well-known/jwks.json' },
  {
    route: 'POST /v1/auth/passwordless/request',
    json: (_, { company: { slug, owner } }) => ({ company_slug: slug, email: owner.email }),
  },
  {
    route: 'POST /v1/auth/passwordless/verify',
    json: (_, { company: { slug, owner } }) => ({
      company_slug: slug,
      email: owner.email,
      code: readCode(readNewestMail(owner.email)),
    }),
  },
  {
    route: 'PUT /v1/auth/social/config',
    json: () => ({ providers: [{ issuer: getIssuer(), audience: 'mobile-app' }] }),
  },
  { route: 'GET /v1/auth/social/config' },
  {
    route: 'GET /v1/auth/social/{company_slug}/start',
    params: company,
    query: () => ({ issuer: getIssuer() }),
    isNoExample: true,
  },
  {
    route: 'POST /v1/auth/social',
    prepareStep: async ({ storedValues, company: { owner } }) => {
      storedValues.social = await signIdToken(owner.email, 'mobile-app');
    },
    json: ({ company, social }) => ({ company_slug: company, social_token: social }),
  },
  {
    route: 'PUT /v1/auth/sso/config',
    json: () => ({
      type: 'oidc',
      issuer: getIssuer(),
      client_id: CLIENT_ID,
      client_secret: 'a secret',
      redirect_uris: [CONSOLE_URL],
    }),
  },
  { route: 'GET /v1/auth/sso/config' },
  {
    route: 'GET /v1/auth/sso/{company_slug}/start',
    params: company,
    query: () => ({ redirect_uri: CONSOLE_URL }),
    isNoExample: true,
  },
  {
    route: 'GET /v1/auth/sso/{company_slug}/callback',
    params: company,
    prepareStep: signInAtProvider,
    query: ({ state, code }) => ({ state: state as string, code: code as string }),
    getStoredValues: readSsoCode,
    isNoExample: true,
  },
  {
    route: 'POST /v1/auth/sso/{company_slug}/callback',
    params: company,
    prepareStep: signInAtProvider,
    body: ({ state, code }) => new URLSearchParams({ state: state as string, code: code as string }),
    getStoredValues: readSsoCode,
    isNoExample: true,
  },
  {
    route: 'POST /v1/auth/sso/exchange',
    json: ({ ssoCode, exchange }) => ({ code: ssoCode, exchange_secret: exchange }),
  },
  {
    route: 'GET /v1/auth/sso/{company_slug}/metadata',
    params: company,
    prepareStep: async ({ company: { as } }) => {
      const { certificate } = await createSigner();
      const idpSettings = { idp_entity_id: 'https://id.example.com', idp_sso_url: 'https://id.example.com/sso' };
      const json = { type: 'saml', ...idpSettings, idp_certificates: [certificate], redirect_uris: [CONSOLE_URL] };
      await expectSuccess(as.put('/v1/auth/sso/config', { json }));
    },
    isNoExample: true,
  },
  { route: 'DELETE /v1/auth/sso/config' },
  {
    route: 'DELETE /v1/users/{id}/identities',
    params: { id: 'owner' },
    prepareStep: async ({ storedValues, company }) => {
      storedValues.owner = company.owner.id;
    },
  },
];

/** Steps about sessions and about the company's sign-in settings. */
export const SESSION_STEPS: Step[] = [
  {
    route: 'GET /v1/auth/sessions',
    as: ({ callers }) => callers.roamer as never,
    prepareStep: async ({ company, callers, storedValues }) => {
      const roamingUser = await createAllowedUser(company);
      callers.roamer = roamingUser.as;
      storedValues.roamer = roamingUser.id;
      await logIn(company.slug, roamingUser.email, PASSWORD);
    },
    getStoredValues: ({ records }) => ({
      otherSession: records.find(({ current }: { current: boolean }) => !current)._id,
    }),
  },
  {
    route: 'DELETE /v1/auth/sessions/{id}',
    as: ({ callers }) => callers.roamer as never,
    params: { id: 'otherSession' },
  },
  { route: 'DELETE /v1/auth/sessions', as: ({ callers }) => callers.roamer as never },
  {
    route: 'POST /v1/auth/password',
    as: ({ callers }) => callers.roamer as never,
    json: () => ({ current_password: PASSWORD, new_password: 'another-horse-battery' }),
  },
  {
    route: 'POST /v1/auth/passkeys/registration-options',
    as: ({ callers }) => callers.keyholder as never,
    prepareStep: async ({ company, callers, storedValues }) => {
      callers.keyholder = (await createAllowedUser(company)).as;
      storedValues.authenticator = (await createAuthenticator()) as never;
    },
    json: () => ({ password: PASSWORD }),
    getStoredValues: (options) => ({ creation: options }),
  },
  {
    route: 'POST /v1/auth/passkeys',
    as: ({ callers }) => callers.keyholder as never,
    prepareStep: async ({ storedValues }) => {
      storedValues.created = (await getAuthenticator(storedValues).create(storedValues.creation)) as never;
    },
    json: ({ created }) => ({ name: 'Work laptop', response: created, password: PASSWORD }),
    getStoredValues: ({ _id }) => ({ passkey: _id }),
  },
  { route: 'GET /v1/auth/passkeys', as: ({ callers }) => callers.keyholder as never },
  {
    route: 'GET /v1/auth/passkeys/{id}',
    as: ({ callers }) => callers.keyholder as never,
    params: { id: 'passkey' },
  },
  {
    route: 'PATCH /v1/auth/passkeys/{id}',
    as: ({ callers }) => callers.keyholder as never,
    params: { id: 'passkey' },
    json: () => ({ name: 'Laptop at home' }),
  },
  {
    route: 'POST /v1/auth/passkeys/authentication-options',
    json: (_, { company: { slug } }) => ({ company_slug: slug }),
    getStoredValues: (options) => ({ request: options }),
  },
  {
    route: 'POST /v1/auth/passkeys/verify',
    prepareStep: async ({ storedValues }) => {
      storedValues.signed = (await getAuthenticator(storedValues).get(storedValues.request as never)) as never;
    },
    json: ({ signed }, { company: { slug } }) => ({ company_slug: slug, response: signed }),
  },
  {
    route: 'DELETE /v1/auth/passkeys/{id}',
    as: ({ callers }) => callers.keyholder as never,
    params: { id: 'passkey' },
    json: () => ({ password: PASSWORD }),
  },
  { route: 'DELETE /v1/users/{id}/sessions', params: { id: 'roamer' } },
  { route: 'GET /v1/company/usage', query: () => ({ from: '2026-01-30', to: '2026-01-31' }) },
  { route: 'GET /v1/company/settings' },
  { route: 'PUT /v1/company/settings', json: () => ({ locale: 'pt-BR' }) },
  {
    route: 'PUT /v1/company/branding',
    json: () => ({ name: 'Acme', primary_color: '#7a1f3d', font: 'serif', radius: 4, chart_palette: ['#7a1f3d'] }),
  },
  { route: 'PUT /v1/company/branding/logo', body: () => decodePicture(PICTURES.png) },
  { route: 'GET /v1/company/branding' },
  // Its size is another one each time: what is shown waits.
  {
    route: 'POST /v1/company/exports',
    env: () => createExportQueue().env,
    getStoredValues: ({ export_id }) => ({ export: export_id }),
  },
  { route: 'GET /v1/company/exports/{export_id}', params: { export_id: 'export' } },
];

/** Steps about the second factor. Each goes further ahead of the time than the one before: a TOTP code is valid only once. */
export const SECOND_FACTOR_STEPS: Step[] = [
  {
    route: 'POST /v1/auth/2fa/setup',
    as: ({ callers }) => callers.member as never,
    prepareStep: async ({ company, callers, storedValues }) => {
      const { as, email } = await createAllowedUser(company);
      callers.member = as;
      storedValues.member = email;
    },
    json: () => ({ password: PASSWORD }),
    getStoredValues: ({ secret }) => ({ secret }),
  },
  {
    route: 'POST /v1/auth/2fa/enable',
    as: ({ callers }) => callers.member as never,
    json: ({ secret }) => ({ totp_token: computeCode(secret as string), password: PASSWORD }),
  },
  {
    route: 'POST /v1/auth/2fa/login',
    prepareStep: async ({ company: { slug, owner }, storedValues }) => {
      goToNextStep();
      const json = { company_slug: slug, email: storedValues.member, password: owner.password };
      storedValues.pending = (await callApi('POST', '/v1/auth/login', { json })).body.pending_2fa_token;
    },
    json: ({ pending, secret }) => ({ pending_2fa_token: pending, totp_token: computeCode(secret as string) }),
    getStoredValues: ({ token }) => ({ session: token }),
  },
  {
    route: 'POST /v1/auth/2fa/backup-codes',
    as: ({ storedValues }) => createCaller(storedValues.session as string),
    prepareStep: async () => goToNextStep(2),
    json: ({ secret }) => ({ totp_token: computeCode(secret as string) }),
  },
  {
    route: 'POST /v1/auth/2fa/disable',
    as: ({ storedValues }) => createCaller(storedValues.session as string),
    json: () => ({ password: PASSWORD }),
  },
  {
    route: 'DELETE /v1/users/{id}/2fa',
    params: { id: 'enrolled' },
    prepareStep: async ({ company, storedValues }) => {
      const { id, as } = await createAllowedUser(company);
      await enrolAuthenticator(as);
      storedValues.enrolled = id;
    },
  },
  { route: 'POST /v1/auth/logout', as: ({ storedValues }) => createCaller(storedValues.session as string) },
];
