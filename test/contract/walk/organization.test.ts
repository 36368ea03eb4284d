import { expect, vi } from 'vitest';
import { createExportQueue, deliverUntilEmpty } from '../../company-exports/support.ts';
import { deleteAtOnce, runErasure } from '../../organizations/support.ts';
import { createProvisionedCompany } from '../../support/companies.ts';
import { createSignedCaller, expectSuccess, makeAllow } from '../../support/signed.ts';
import { createSalesTable, makeParameter, postVisualization } from '../../visualizations/support.ts';
import { type Step, walkRoutes } from '../walk.ts';

const storeIdAs = (name: string) => (body: { id: string }) => ({ [name]: body.id });
const account = { id: 'account' };
const SERVICE_ACCOUNT_PARAMS = { id: 'robot' };
const group = { id: 'group' };
const user = { id: 'user' };

const exportQueue = createExportQueue();

const STEPS: Step[] = [
  {
    route: 'POST /admin/organizations',
    json: () => ({
      name: 'Globex',
      slug: 'globex',
      owner: { email: 'olga@globex.test', name: 'Olga Owner', password: 'correct-horse-battery' },
    }),
    getStoredValues: ({ organization }) => ({ organization: organization.id }),
  },
  { route: 'GET /admin/organizations', query: () => ({ search: 'globex', status: 'active' }) },
  { route: 'GET /admin/organizations/{id}', params: { id: 'organization' } },
  {
    route: 'PUT /admin/organizations/{id}/quotas',
    params: { id: 'organization' },
    json: () => ({
      users: 50,
      table_bytes: 20_000_000_000,
      file_bytes: null,
      mails_per_day: 1000,
      model_calls_per_day: 200,
    }),
  },
  {
    route: 'GET /admin/organizations/{id}/usage',
    params: { id: 'organization' },
    query: () => ({ from: '2026-01-30', to: '2026-01-31' }),
  },
  {
    route: 'PATCH /admin/organizations/{id}',
    params: { id: 'organization' },
    json: () => ({ status: 'suspended' }),
  },
  {
    route: 'POST /admin/organizations/{id}/exports',
    params: { id: 'organization' },
    // Its size is another one each time: what is shown waits.
    env: () => exportQueue.env,
    getStoredValues: ({ export_id }) => ({ export: export_id }),
  },
  { route: 'GET /admin/organizations/{id}/exports/{export_id}', params: { id: 'organization', export_id: 'export' } },
  {
    route: 'GET /admin/organizations/{id}/exports/{export_id}',
    params: { id: 'organization', export_id: 'export' },
    prepareStep: () => deliverUntilEmpty(exportQueue),
    getStoredValues: ({ url }) => ({ token: url.split('/').at(-1) }),
    isNoExample: true,
  },
  { route: 'GET /data/archives/{token}', isNoExample: true },
  {
    route: 'DELETE /admin/organizations/{id}',
    params: { id: 'organization' },
    query: () => ({ after_days: '30' }),
  },
  { route: 'POST /admin/organizations/{id}/restore', params: { id: 'organization' } },
  {
    route: 'GET /admin/organizations/{id}/certificate',
    params: { id: 'organization' },
    prepareStep: async ({ storedValues }) => {
      await deleteAtOnce({ id: storedValues.organization as string });
      await runErasure({ id: storedValues.organization as string });
    },
  },
  {
    route: 'POST /accounts',
    json: () => ({ name: 'Lisbon', metadata: { region: 'eu' } }),
    getStoredValues: storeIdAs('account'),
  },
  { route: 'GET /accounts', query: () => ({ quantity: '10', order_by: 'name' }) },
  { route: 'GET /accounts/{id}', params: account },
  { route: 'PATCH /accounts/{id}', params: account, json: () => ({ name: 'Lisboa' }) },
  {
    route: 'POST /service-accounts',
    json: ({ account }) => ({ name: 'Nightly import', account_id: account }),
    getStoredValues: storeIdAs('robot'),
    strangerStatus: 'never',
  },
  { route: 'GET /service-accounts', query: ({ account }) => ({ account_id: account as string }) },
  { route: 'GET /service-accounts/{id}', params: SERVICE_ACCOUNT_PARAMS },
  { route: 'PATCH /service-accounts/{id}', params: SERVICE_ACCOUNT_PARAMS, json: () => ({ name: 'Nightly load' }) },
  {
    route: 'POST /service-accounts/{id}/keys',
    params: SERVICE_ACCOUNT_PARAMS,
    json: () => ({ description: 'The import server.' }),
    getStoredValues: storeIdAs('key'),
  },
  { route: 'GET /service-accounts/{id}/keys', params: SERVICE_ACCOUNT_PARAMS },
  { route: 'DELETE /service-accounts/{id}/keys/{key_id}', params: { ...SERVICE_ACCOUNT_PARAMS, key_id: 'key' } },
  { route: 'POST /tokens', json: () => ({ expires_in: 300 }) },
  {
    route: 'POST /users',
    json: () => ({ email: 'ana@acme.test', password: 'quiet-harbour-lantern' }),
    getStoredValues: storeIdAs('user'),
  },
  { route: 'GET /users', query: () => ({ order_by: 'email' }) },
  { route: 'GET /users/{id}', params: user },
  { route: 'PATCH /users/{id}', params: user, json: () => ({ metadata: { team: 'finance' } }) },
  {
    route: 'POST /groups',
    json: () => ({ name: 'Analysts', description: 'They look at figures.' }),
    getStoredValues: storeIdAs('group'),
  },
  { route: 'GET /groups', query: () => ({ order_by: 'name' }) },
  { route: 'GET /groups/{id}', params: group },
  { route: 'PATCH /groups/{id}', params: group, json: () => ({ description: 'They read the figures.' }) },
  {
    route: 'POST /groups/{id}/bindings',
    params: group,
    json: ({ user, main }) => ({ principal_type: 'user', principal_id: user, account_id: main }),
    prepareStep: async ({ storedValues, company }) => {
      storedValues.main = company.accountId;
    },
    getStoredValues: storeIdAs('binding'),
  },
  { route: 'GET /groups/{id}/bindings', params: group },
  { route: 'DELETE /groups/{id}/bindings/{binding_id}', params: { ...group, binding_id: 'binding' } },
  {
    route: 'POST /groups/{id}/policies/{policy_id}',
    params: { ...group, policy_id: 'policy' },
    prepareStep: async ({ company, storedValues }) => {
      const document = { version: '2024-01-01', statements: [makeAllow('users:list')] };
      storedValues.policy = (await company.as.post('/v1/policies', { json: { name: 'Readers', document } })).body._id;
    },
  },
  { route: 'DELETE /groups/{id}/policies/{policy_id}', params: { ...group, policy_id: 'policy' } },
  { route: 'DELETE /groups/{id}', params: group },
  { route: 'DELETE /users/{id}', params: user },
  { route: 'DELETE /service-accounts/{id}', params: SERVICE_ACCOUNT_PARAMS },
  { route: 'DELETE /accounts/{id}', params: account },
  { route: 'GET /admin/deleted/accounts' },
  { route: 'POST /admin/restore/account/{id}', params: account },
  {
    route: 'GET /admin/audit-events',
    query: () => ({ action: 'accounts:GetAccount', quantity: '2' }),
    // Records are written in batches, behind the requests they are about.
    prepareStep: ({ company }) =>
      vi.waitFor(
        async () => {
          const { body } = await createSignedCaller(company.apiKey).get(
            '/admin/audit-events?action=accounts:GetAccount',
          );
          // Of its step, of a stranger, and of the walk, which looks at what was made and at what it sends back.
          expect(body.total).toBe(4);
        },
        { timeout: 20_000, interval: 200 },
      ),
  },
  { route: 'GET /admin/audit-events/export', query: () => ({ format: 'csv', to: '2026-01-31T00:00:00Z' }) },
  {
    route: 'GET /data/{slug}',
    params: { slug: 'data' },
    query: () => ({ region: 'north' }),
    prepareStep: async ({ company: { as }, storedValues }) => {
      const sql = 'SELECT region, sum(amount) AS amount FROM sales WHERE region = {{region}} GROUP BY region';
      const { _id } = await postVisualization(as, sql, { parameters: [makeParameter('region', 'text')] });
      storedValues.data = 'sales-of-a-region';
      await expectSuccess(
        as.post('/v1/viz-api-endpoints', { json: { name: 'Sales', slug: storedValues.data, visualization_id: _id } }),
      );
    },
  },
  {
    route: 'POST /data/{slug}/jobs',
    params: { slug: 'data' },
    json: () => ({ parameters: { region: 'north' }, format: 'csv' }),
    getStoredValues: ({ job_id }) => ({ job: job_id }),
  },
  {
    route: 'GET /data/jobs/{job_id}',
    params: { job_id: 'job' },
    prepareStep: ({ company, storedValues }) =>
      vi.waitFor(
        async () => {
          const { body } = await createSignedCaller(company.apiKey).get(`/data/jobs/${storedValues.job}`);
          expect(body.status).toBe('succeeded');
        },
        { timeout: 20_000, interval: 200 },
      ),
    getStoredValues: ({ url }) => ({ token: url.split('/').at(-1) }),
  },
  { route: 'GET /data/results/{token}', isNoExample: true },
  { route: 'GET /' },
  { route: 'GET /health' },
  { route: 'GET /openapi.json', isNoExample: true },
  { route: 'GET /docs', isNoExample: true },
];

walkRoutes(
  ['Organization API'],
  'organization',
  async () => {
    const company = await createProvisionedCompany({ slug: 'acme' });
    await createSalesTable(company);
    return { company };
  },
  STEPS,
);
