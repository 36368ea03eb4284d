import { expect, vi } from 'vitest';
import { postForm } from '../../oauth/support.ts';
import { BASE_URL } from '../../support/api.ts';
import { createAllowedUser, createProvisionedCompany } from '../../support/companies.ts';
import { readLink, readNewestMail } from '../../support/mail.ts';
import { expectSuccess, makeAllow } from '../../support/signed.ts';
import { createSalesTable, postVisualization } from '../../visualizations/support.ts';
import { type Step, walkRoutes } from '../walk.ts';
import { SECOND_FACTOR_STEPS, SESSION_STEPS, SIGN_IN_STEPS } from './sign-in.ts';

const storeIdAs = (name: string) => (body: { _id: string }) => ({ [name]: body._id });

/** An environment without a console URL: links in mails lead to the API itself. */
const NO_CONSOLE = { CONSOLE_URL: BASE_URL };

const USER_STEPS: Step[] = [
  {
    route: 'POST /v1/groups',
    json: () => ({ name: 'Analysts', slug: 'analysts', description: 'They look at figures.' }),
    getStoredValues: storeIdAs('group'),
  },
  { route: 'GET /v1/groups', query: () => ({ per_page: '1' }) },
  { route: 'GET /v1/groups/{id}', params: { id: 'group' } },
  { route: 'PUT /v1/groups/{id}', params: { id: 'group' }, json: () => ({ description: 'They read the figures.' }) },
  {
    route: 'POST /v1/users/invite',
    json: ({ group }) => ({ email: 'bruno@acme.test', group_ids: [group] }),
    getStoredValues: storeIdAs('user'),
    strangerStatus: 'never',
  },
  {
    route: 'GET /v1/users/invitation',
    query: () => ({ token: readLink(readNewestMail('bruno@acme.test')).searchParams.get('token') as string }),
  },
  {
    route: 'GET /accept-invitation',
    query: () => ({ token: readLink(readNewestMail('bruno@acme.test')).searchParams.get('token') as string }),
    env: () => NO_CONSOLE,
    isNoExample: true,
  },
  {
    route: 'POST /v1/users/accept-invitation',
    json: () => ({
      token: readLink(readNewestMail('bruno@acme.test')).searchParams.get('token'),
      name: 'Bruno',
      password: 'quiet-harbour-lantern',
    }),
  },
  { route: 'GET /v1/users', query: () => ({ include: 'groups' }) },
  { route: 'GET /v1/users/{id}', params: { id: 'user' } },
  { route: 'PUT /v1/users/{id}', params: { id: 'user' }, json: () => ({ name: 'Bruno Braga', team_ids: ['finance'] }) },
  { route: 'GET /v1/groups/{id}/members', params: { id: 'group' } },
  { route: 'DELETE /v1/users/{id}/groups', params: { id: 'user' }, json: ({ group }) => ({ group_ids: [group] }) },
  { route: 'POST /v1/users/{id}/groups', params: { id: 'user' }, json: ({ group }) => ({ group_ids: [group] }) },
  { route: 'PUT /v1/users/{id}/groups', params: { id: 'user' }, json: ({ group }) => ({ group_ids: [group] }) },
  { route: 'POST /v1/users/{id}/deactivate', params: { id: 'user' } },
  { route: 'POST /v1/users/{id}/activate', params: { id: 'user' } },
  { route: 'POST /v1/users/reset-password/request', json: () => ({ email: 'bruno@acme.test' }) },
  {
    route: 'POST /v1/users/reset-password/confirm',
    prepareStep: async ({ storedValues }) => {
      storedValues.reset = readLink(readNewestMail('bruno@acme.test')).searchParams.get('token') as string;
    },
    json: ({ reset }) => ({ token: reset, password: 'another-quiet-harbour' }),
  },
  { route: 'GET /reset-password', env: () => NO_CONSOLE, isNoExample: true },
  {
    route: 'DELETE /v1/users/{id}',
    params: { id: 'leaver' },
    prepareStep: async ({ company, storedValues }) => {
      storedValues.leaver = (await createAllowedUser(company)).id;
    },
  },
];

const PERMISSION_STEPS: Step[] = [
  {
    route: 'POST /v1/permissions',
    json: (_, { company: { id: company_id } }) => ({
      name: 'Read users',
      description: 'Lists users and looks at them.',
      target: { company_id, service_name: 'users' },
      actions: ['read'],
    }),
    getStoredValues: storeIdAs('permission'),
    strangerStatus: 'never',
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
      document: { version: '2024-01-01', statements: [makeAllow('managed-tables:list', 'managed-tables:data-read')] },
    }),
    getStoredValues: storeIdAs('policy'),
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
    strangerStatus: 'never',
  },
  {
    route: 'POST /v1/policies/who-can',
    json: () => ({ action: 'managed-tables:list', resource: '*' }),
    strangerStatus: 'never',
  },
  {
    route: 'POST /v1/policies/compare',
    json: () => ({
      before: { documents: [] },
      after: {
        documents: [
          {
            version: '2024-01-01',
            statements: [
              { effect: 'Allow', actions: ['managed-tables:list'], resources: ['arn:svc:managed-tables:*'] },
            ],
          },
        ],
      },
    }),
    strangerStatus: 'never',
  },
  { route: 'DELETE /v1/groups/{id}/policies/{policy_id}', params: { id: 'group', policy_id: 'policy' } },
  { route: 'DELETE /v1/policies/{id}', params: { id: 'policy' } },
  { route: 'DELETE /v1/groups/{id}', params: { id: 'group' } },
];

const MACHINE_STEPS: Step[] = [
  {
    route: 'POST /v1/service-accounts',
    json: () => ({ name: 'Nightly load', description: 'Loads the sales of the day.' }),
    getStoredValues: storeIdAs('robot'),
  },
  { route: 'GET /v1/service-accounts', query: () => ({ per_page: '1' }) },
  { route: 'GET /v1/service-accounts/{id}', params: { id: 'robot' } },
  {
    route: 'PUT /v1/service-accounts/{id}',
    params: { id: 'robot' },
    json: () => ({ description: 'Loads the sales and the returns of the day.' }),
  },
  {
    route: 'POST /v1/service-accounts/{id}/keys',
    params: { id: 'robot' },
    json: () => ({ description: 'On the server that loads.' }),
    getStoredValues: storeIdAs('key'),
  },
  { route: 'GET /v1/service-accounts/{id}/keys', params: { id: 'robot' } },
  { route: 'DELETE /v1/service-accounts/{id}/keys/{key_id}', params: { id: 'robot', key_id: 'key' } },
  { route: 'DELETE /v1/service-accounts/{id}', params: { id: 'robot' } },
  { route: 'GET /v1/personal-data', query: () => ({ email: 'olga@elsewhere.test' }), strangerStatus: 'never' },
  {
    route: 'DELETE /v1/personal-data',
    query: () => ({ email: 'olga@elsewhere.test' }),
    prepareStep: async ({ company }) => {
      await company.as.post('/v1/users/invite', { json: { email: 'olga@elsewhere.test' } });
    },
    strangerStatus: 'never',
  },
  {
    route: 'GET /v1/audit-events',
    query: () => ({ action: 'api_keys:delete', per_page: '1' }),
    // Records are written in batches, behind the requests they are about.
    prepareStep: ({ company }) =>
      vi.waitFor(
        async () => expect((await company.as.get('/v1/audit-events?action=api_keys:delete')).body.total).toBe(2),
        { timeout: 20_000, interval: 200 },
      ),
  },
];

const DASHBOARD_STEPS: Step[] = [
  {
    route: 'POST /v1/visualizations',
    json: () => ({
      name: 'Sales by region',
      sql: 'SELECT region, sum(amount) AS amount FROM sales [[WHERE region = ANY({{regions}})]] GROUP BY region ORDER BY region',
      chart: { type: 'bar', x: 'region', y: ['amount'] },
      parameters: [{ slug: 'regions', label: 'Regions', kind: 'multi_select' }],
    }),
    getStoredValues: storeIdAs('visualization'),
    strangerStatus: 'never',
  },
  {
    route: 'POST /v1/visualizations/preview',
    json: () => ({
      sql: 'SELECT region, sum(amount) AS amount FROM sales [[WHERE region = {{region}}]] GROUP BY region',
      parameters: [{ slug: 'region', label: 'Region', kind: 'text' }],
      values: { region: 'north' },
    }),
    strangerStatus: 'never',
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
    getStoredValues: ({ _id, filters }) => ({ dashboard: _id, filter: filters[0].slug }),
    strangerStatus: 'never',
  },
  { route: 'GET /v1/dashboards', query: () => ({ search: 'over' }) },
  { route: 'GET /v1/dashboards/{id}', params: { id: 'dashboard' }, query: () => ({ include: 'charts' }) },
  {
    route: 'GET /v1/dashboards/{id}/filters/{slug}/options',
    params: { id: 'dashboard', slug: 'filter' },
    query: () => ({ search: 'nor' }),
  },
  { route: 'PUT /v1/dashboards/{id}', params: { id: 'dashboard' }, json: () => ({ cache_seconds: 300 }) },
  {
    route: 'POST /v1/dashboards/{id}/execute',
    params: { id: 'dashboard' },
    json: () => ({ parameters: { regions: ['north'] } }),
  },
  {
    route: 'POST /v1/schedules',
    json: ({ visualization, dashboard }, { company: { owner } }) => ({
      name: 'Sales every morning',
      target_type: 'dashboard',
      target_id: dashboard,
      cron: '0 8 * * 1-5',
      time_zone: 'America/Sao_Paulo',
      recipients: [{ user_id: owner.id }],
      condition: { visualization_id: visualization, column: 'amount', op: 'gt', value: 100 },
    }),
    getStoredValues: storeIdAs('schedule'),
  },
  { route: 'GET /v1/schedules' },
  { route: 'GET /v1/schedules/{id}', params: { id: 'schedule' } },
  { route: 'PUT /v1/schedules/{id}', params: { id: 'schedule' }, json: () => ({ format: 'xlsx' }) },
  { route: 'POST /v1/schedules/{id}/run', params: { id: 'schedule' } },
  { route: 'DELETE /v1/schedules/{id}', params: { id: 'schedule' } },
  { route: 'DELETE /v1/dashboards/{id}', params: { id: 'dashboard' } },
  {
    route: 'POST /v1/viz-api-endpoints',
    json: ({ visualization }) => ({ name: 'Sales', slug: 'sales-by-region', visualization_id: visualization }),
    getStoredValues: storeIdAs('endpoint'),
  },
  { route: 'GET /v1/viz-api-endpoints' },
  { route: 'GET /v1/viz-api-endpoints/{id}', params: { id: 'endpoint' } },
  { route: 'PUT /v1/viz-api-endpoints/{id}', params: { id: 'endpoint' }, json: () => ({ cache_seconds: 300 }) },
  { route: 'DELETE /v1/viz-api-endpoints/{id}', params: { id: 'endpoint' } },
  {
    route: 'DELETE /v1/visualizations/{id}',
    params: { id: 'lone' },
    prepareStep: async ({ company: { as }, storedValues }) => {
      storedValues.lone = (await postVisualization(as, 'SELECT 1 AS one'))._id;
    },
  },
];

/** A webhook URL at which no server listens: each event fails, and waits for its next attempt. */
const HOOK_URL = 'http://127.0.0.1:9/hooks';

const WEBHOOK_STEPS: Step[] = [
  { route: 'GET /v1/webhook-event-types' },
  {
    route: 'POST /v1/webhook-endpoints',
    json: () => ({ url: HOOK_URL, description: 'Ours', event_types: ['company.updated', 'audit.records'] }),
    getStoredValues: storeIdAs('hook'),
    strangerStatus: 'never',
  },
  { route: 'GET /v1/webhook-endpoints' },
  { route: 'GET /v1/webhook-endpoints/{id}', params: { id: 'hook' } },
  { route: 'PUT /v1/webhook-endpoints/{id}', params: { id: 'hook' }, json: () => ({ description: 'All of ours' }) },
  { route: 'POST /v1/webhook-endpoints/{id}/rotate-secret', params: { id: 'hook' } },
  {
    route: 'POST /v1/webhook-endpoints/{id}/test',
    params: { id: 'hook' },
    json: () => ({ event_type: 'user.invited' }),
    getStoredValues: ({ delivery_id }) => ({ delivery: delivery_id }),
  },
  {
    route: 'GET /v1/webhook-endpoints/{id}/deliveries',
    params: { id: 'hook' },
    query: () => ({ event_type: 'user.invited' }),
    prepareStep: async ({ company: { as }, storedValues }) => {
      const path = `/v1/webhook-endpoints/${storedValues.hook}/deliveries/${storedValues.delivery}`;
      await expect.poll(async () => (await as.get(path)).body.status).toBe('failed');
    },
  },
  {
    route: 'GET /v1/webhook-endpoints/{id}/deliveries/{delivery_id}',
    params: { id: 'hook', delivery_id: 'delivery' },
  },
  {
    route: 'POST /v1/webhook-endpoints/{id}/deliveries/{delivery_id}/resend',
    params: { id: 'hook', delivery_id: 'delivery' },
  },
  {
    route: 'POST /v1/webhook-endpoints/{id}/resend-failed',
    params: { id: 'hook' },
    json: () => ({ since: '2026-01-01T00:00:00Z' }),
  },
  {
    route: 'POST /v1/webhook-endpoints/{id}/backfill',
    params: { id: 'hook' },
    json: () => ({ from: '2026-01-01T00:00:00Z', to: '2026-01-31T00:00:00Z' }),
  },
  { route: 'DELETE /v1/webhook-endpoints/{id}', params: { id: 'hook' } },
];

const REDIRECT_URL = 'https://program.example.com/callback';

const OAUTH_STEPS: Step[] = [
  {
    route: 'POST /v1/oauth-clients',
    json: () => ({ name: 'Sheets', redirect_uris: [REDIRECT_URL] }),
    getStoredValues: ({ _id, client_id }) => ({ client: _id, clientId: client_id }),
    strangerStatus: 'never',
  },
  { route: 'GET /v1/oauth-clients' },
  { route: 'GET /v1/oauth-clients/{id}', params: { id: 'client' } },
  {
    route: 'POST /v1/oauth-devices',
    prepareStep: async ({ storedValues }) => {
      const startedRequest = await expectSuccess(
        postForm('/oauth/device_authorization', { client_id: storedValues.clientId as string, scope: 'groups:list' }),
      );
      Object.assign(storedValues, { userCode: startedRequest.user_code, deviceCode: startedRequest.device_code });
    },
    json: ({ userCode }) => ({ user_code: userCode }),
    getStoredValues: ({ request }) => ({ request }),
  },
  { route: 'POST /v1/oauth-grants', json: ({ request }) => ({ request, allow: true }) },
  {
    route: 'GET /v1/oauth-grants',
    prepareStep: ({ storedValues }) =>
      expectSuccess(
        postForm('/oauth/token', {
          grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
          client_id: storedValues.clientId as string,
          device_code: storedValues.deviceCode as string,
        }),
      ),
    getStoredValues: ({ records: [{ _id }] }) => ({ grant: _id }),
  },
  { route: 'DELETE /v1/oauth-grants/{id}', params: { id: 'grant' } },
  { route: 'DELETE /v1/oauth-clients/{id}', params: { id: 'client' } },
];

walkRoutes(
  ['Console API'],
  'console',
  async () => {
    const company = await createProvisionedCompany({ slug: 'acme' });
    await createSalesTable(company);
    return { company };
  },
  [
    ...SIGN_IN_STEPS,
    ...SESSION_STEPS,
    ...USER_STEPS,
    ...PERMISSION_STEPS,
    ...MACHINE_STEPS,
    ...DASHBOARD_STEPS,
    ...WEBHOOK_STEPS,
    ...OAUTH_STEPS,
    ...SECOND_FACTOR_STEPS,
  ],
);
