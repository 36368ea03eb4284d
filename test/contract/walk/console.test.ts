import { importJWK, SignJWT } from 'jose';
import { afterAll, inject } from 'vitest';
import { start } from '../../single-sign-on/support.ts';
import { bearer, call } from '../../support/api.ts';
import { resetClock } from '../../support/clock.ts';
import { codeIn, linkIn, mailTo } from '../../support/mail.ts';
import { aSigner } from '../../support/saml-idp.ts';
import { codeOf, nextStep } from '../../support/second-factor.ts';
import { allow, must } from '../../support/signed.ts';
import { aProvisionedCompany, aUser } from '../../support/worlds.ts';
import { aVisualization, someSales } from '../../visualizations/support.ts';
import { type Step, type World, walk } from '../walk.ts';

afterAll(resetClock);

const id = (name: string) => (body: { _id: string }) => ({ [name]: body._id });
const CONSOLE = 'https://console.test/signed-in';
const PASSWORD = 'correct-horse-battery';
const CLIENT = 'our-client';
const issuer = () => `${inject('forgerUrl')}/plain`;
const company = { company_slug: 'company' };

/** An ID token as the identity provider of the tests issues it. */
async function idToken(email: string, audience: string, nonce?: string | null): Promise<string> {
  const now = Math.floor(Date.now() / 1000);
  const claims = {
    iss: issuer(),
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

/** What the identity provider sends the person back with. */
async function comeBack({ company: tenant, kept }: World): Promise<void> {
  const { searchParams } = await start(tenant);
  kept.state = searchParams.get('state') as string;
  kept.code = await idToken(tenant.owner.email, CLIENT, searchParams.get('nonce'));
}
const ssoCode = (_body: unknown, { headers }: { headers: Headers }) => ({
  ssoCode: new URL(headers.get('location') as string).searchParams.get('code') as string,
});

const SIGN_IN: Step[] = [
  { route: 'GET /v1/auth/validate-company', query: () => ({ slug: 'acme' }) },
  {
    route: 'POST /v1/auth/login',
    json: (_, { company: { slug, owner } }) => ({ company_slug: slug, email: owner.email, password: PASSWORD }),
    keep: ({ refresh_token }) => ({ refresh: refresh_token }),
  },
  { route: 'POST /v1/auth/refresh', json: ({ refresh }) => ({ refresh_token: refresh }) },
  { route: 'GET /v1/auth/me' },
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
      code: codeIn(mailTo(owner.email)),
    }),
  },
  {
    route: 'PUT /v1/auth/social/config',
    json: () => ({ providers: [{ issuer: issuer(), audience: 'mobile-app' }] }),
  },
  { route: 'GET /v1/auth/social/config' },
  {
    route: 'POST /v1/auth/social',
    before: async ({ kept, company: { owner } }) => {
      kept.social = await idToken(owner.email, 'mobile-app');
    },
    json: ({ company, social }) => ({ company_slug: company, social_token: social }),
  },
  {
    route: 'PUT /v1/auth/sso/config',
    json: () => ({
      type: 'oidc',
      issuer: issuer(),
      client_id: CLIENT,
      client_secret: 'a secret',
      redirect_uris: [CONSOLE],
    }),
  },
  { route: 'GET /v1/auth/sso/config' },
  {
    route: 'GET /v1/auth/sso/{company_slug}/start',
    params: company,
    query: () => ({ redirect_uri: CONSOLE }),
    unshown: true,
  },
  {
    route: 'GET /v1/auth/sso/{company_slug}/callback',
    params: company,
    before: comeBack,
    query: ({ state, code }) => ({ state: state as string, code: code as string }),
    keep: ssoCode,
    unshown: true,
  },
  {
    route: 'POST /v1/auth/sso/{company_slug}/callback',
    params: company,
    before: comeBack,
    body: ({ state, code }) => new URLSearchParams({ state: state as string, code: code as string }),
    keep: ssoCode,
    unshown: true,
  },
  { route: 'POST /v1/auth/sso/exchange', json: ({ ssoCode }) => ({ code: ssoCode }) },
  {
    route: 'GET /v1/auth/sso/{company_slug}/metadata',
    params: company,
    before: async ({ company: { as } }) => {
      const { certificate } = await aSigner();
      const idp = { idp_entity_id: 'https://id.example.com', idp_sso_url: 'https://id.example.com/sso' };
      const json = { type: 'saml', ...idp, idp_certificates: [certificate], redirect_uris: [CONSOLE] };
      await must(as.put('/v1/auth/sso/config', { json }));
    },
    unshown: true,
  },
  { route: 'DELETE /v1/auth/sso/config' },
];

const USERS: Step[] = [
  {
    route: 'POST /v1/groups',
    json: () => ({ name: 'Analysts', slug: 'analysts', description: 'They look at figures.' }),
    keep: id('group'),
  },
  { route: 'GET /v1/groups', query: () => ({ per_page: '1' }) },
  { route: 'GET /v1/groups/{id}', params: { id: 'group' } },
  { route: 'PUT /v1/groups/{id}', params: { id: 'group' }, json: () => ({ description: 'They read the figures.' }) },
  {
    route: 'POST /v1/users/invite',
    json: ({ group }) => ({ email: 'bruno@acme.test', group_ids: [group] }),
    keep: id('user'),
    stranger: 'never',
  },
  {
    route: 'POST /v1/users/accept-invitation',
    json: () => ({
      token: linkIn(mailTo('bruno@acme.test')).searchParams.get('token'),
      name: 'Bruno',
      password: 'quiet-harbour-lantern',
    }),
  },
  { route: 'GET /v1/users', query: () => ({ include: 'groups' }) },
  { route: 'GET /v1/users/{id}', params: { id: 'user' } },
  { route: 'DELETE /v1/users/{id}/groups', params: { id: 'user' }, json: ({ group }) => ({ group_ids: [group] }) },
  { route: 'POST /v1/users/{id}/groups', params: { id: 'user' }, json: ({ group }) => ({ group_ids: [group] }) },
  { route: 'PUT /v1/users/{id}/groups', params: { id: 'user' }, json: ({ group }) => ({ group_ids: [group] }) },
  { route: 'POST /v1/users/{id}/deactivate', params: { id: 'user' } },
  { route: 'POST /v1/users/{id}/activate', params: { id: 'user' } },
  { route: 'POST /v1/users/reset-password/request', json: () => ({ email: 'bruno@acme.test' }) },
  {
    route: 'POST /v1/users/reset-password/confirm',
    json: () => ({
      token: linkIn(mailTo('bruno@acme.test')).searchParams.get('token'),
      password: 'another-quiet-harbour',
    }),
  },
];

const PERMISSIONS: Step[] = [
  {
    route: 'POST /v1/permissions',
    json: (_, { company: { id: company_id } }) => ({
      name: 'Read users',
      description: 'Lists users and looks at them.',
      target: { company_id, service_name: 'users' },
      actions: ['read'],
    }),
    keep: id('permission'),
    stranger: 'never',
  },
  { route: 'GET /v1/permissions' },
  { route: 'GET /v1/permissions/{id}', params: { id: 'permission' } },
  { route: 'PUT /v1/permissions/{id}', params: { id: 'permission' }, json: () => ({ name: 'Look at users' }) },
  ...(['POST', 'PUT', 'DELETE'] as const).map(
    (method): Step => ({
      route: `${method} /v1/groups/{id}/permissions`,
      params: { id: 'group' },
      json: ({ permission }) => ({ permissionIds: [permission] }),
    }),
  ),
  { route: 'DELETE /v1/permissions/{id}', params: { id: 'permission' } },
  {
    route: 'POST /v1/policies',
    json: () => ({
      name: 'ReadSales',
      description: 'Reads the tables of sales.',
      document: { version: '2024-01-01', statements: [allow('managed-tables:list', 'managed-tables:data-read')] },
    }),
    keep: id('policy'),
  },
  { route: 'GET /v1/policies', query: () => ({ per_page: '3' }) },
  { route: 'GET /v1/policies/actions' },
  { route: 'GET /v1/policies/{id}', params: { id: 'policy' } },
  { route: 'PUT /v1/policies/{id}', params: { id: 'policy' }, json: () => ({ description: 'Reads tables.' }) },
  { route: 'POST /v1/policies/{id}/clone', params: { id: 'policy' }, json: () => ({ name: 'ReadPurchases' }) },
  { route: 'POST /v1/groups/{id}/policies/{policy_id}', params: { id: 'group', policy_id: 'policy' } },
  {
    route: 'POST /v1/policies/simulate',
    json: ({ user }) => ({
      principal: { type: 'user', id: user },
      checks: [{ action: 'managed-tables:list', resource: '*' }],
    }),
    stranger: 'never',
  },
  { route: 'DELETE /v1/groups/{id}/policies/{policy_id}', params: { id: 'group', policy_id: 'policy' } },
  { route: 'DELETE /v1/policies/{id}', params: { id: 'policy' } },
  { route: 'DELETE /v1/groups/{id}', params: { id: 'group' } },
];

const DASHBOARDS: Step[] = [
  {
    route: 'POST /v1/visualizations',
    json: () => ({
      name: 'Sales by region',
      sql: 'SELECT region, sum(amount) AS amount FROM sales [[WHERE region = ANY({{regions}})]] GROUP BY region ORDER BY region',
      chart: { type: 'bar', x: 'region', y: ['amount'] },
      parameters: [{ slug: 'regions', label: 'Regions', kind: 'multi_select' }],
    }),
    keep: id('visualization'),
    stranger: 'never',
  },
  { route: 'GET /v1/visualizations' },
  { route: 'GET /v1/visualizations/{id}', params: { id: 'visualization' } },
  { route: 'PUT /v1/visualizations/{id}', params: { id: 'visualization' }, json: () => ({ name: 'Sales' }) },
  {
    route: 'POST /v1/visualizations/{id}/execute',
    params: { id: 'visualization' },
    json: () => ({ parameters: { regions: ['north', 'south'] } }),
  },
  {
    route: 'POST /v1/dashboards',
    json: ({ visualization }) => ({
      name: 'Overview',
      layout: [{ visualization_id: visualization, x: 0, y: 0, w: 6, h: 4 }],
      filters: [
        {
          slug: 'regions',
          label: 'Regions',
          kind: 'multi_select',
          options: { sql: 'SELECT DISTINCT region FROM sales' },
        },
      ],
    }),
    keep: id('dashboard'),
    stranger: 'never',
  },
  { route: 'GET /v1/dashboards', query: () => ({ search: 'over' }) },
  { route: 'GET /v1/dashboards/{id}', params: { id: 'dashboard' } },
  { route: 'PUT /v1/dashboards/{id}', params: { id: 'dashboard' }, json: () => ({ cache_seconds: 300 }) },
  {
    route: 'POST /v1/dashboards/{id}/execute',
    params: { id: 'dashboard' },
    json: () => ({ parameters: { regions: ['north'] } }),
  },
  { route: 'DELETE /v1/dashboards/{id}', params: { id: 'dashboard' } },
  {
    route: 'DELETE /v1/visualizations/{id}',
    params: { id: 'lone' },
    before: async ({ company: { as }, kept }) => {
      kept.lone = (await aVisualization(as, 'SELECT 1 AS one'))._id;
    },
  },
];

/** Last, because the clock stands still from here on: a code of the app is good once. */
const SECOND_FACTOR: Step[] = [
  {
    route: 'POST /v1/auth/2fa/setup',
    as: ({ callers }) => callers.member as never,
    before: async ({ company, callers, kept }) => {
      const { as, email } = await aUser(company);
      callers.member = as;
      kept.member = email;
    },
    keep: ({ secret }) => ({ secret }),
  },
  {
    route: 'POST /v1/auth/2fa/enable',
    as: ({ callers }) => callers.member as never,
    json: ({ secret }) => ({ totp_token: codeOf(secret as string) }),
  },
  {
    route: 'POST /v1/auth/2fa/login',
    before: async ({ company: { slug, owner }, kept }) => {
      nextStep();
      const json = { company_slug: slug, email: kept.member, password: owner.password };
      kept.pending = (await call('POST', '/v1/auth/login', { json })).body.pending_2fa_token;
    },
    json: ({ pending, secret }) => ({ pending_2fa_token: pending, totp_token: codeOf(secret as string) }),
    keep: ({ token }) => ({ session: token }),
  },
  {
    route: 'POST /v1/auth/2fa/backup-codes',
    as: ({ kept }) => bearer(kept.session as string),
    before: async () => nextStep(),
    json: ({ secret }) => ({ totp_token: codeOf(secret as string) }),
  },
  {
    route: 'POST /v1/auth/2fa/disable',
    as: ({ kept }) => bearer(kept.session as string),
    json: () => ({ password: PASSWORD }),
  },
  { route: 'POST /v1/auth/logout', as: ({ kept }) => bearer(kept.session as string) },
];

walk(
  ['Console API'],
  'console',
  async () => {
    const company = await aProvisionedCompany({ slug: 'acme' });
    await someSales(company);
    return { company };
  },
  [...SIGN_IN, ...USERS, ...PERMISSIONS, ...DASHBOARDS, ...SECOND_FACTOR],
);
