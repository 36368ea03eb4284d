import { expect, vi } from 'vitest';
import { decodePicture, PICTURES } from '../../formats/image/pictures.ts';
import { createSchedule, readUnsubscribeLink, runScheduleNow } from '../../schedules/support.ts';
import { createShareContext, makeDashboardGrant, readPortalCode, signInOutsider } from '../../share-portal/support.ts';
import { createSalesDashboard, createSalesTable, makePolicy } from '../../shares/support.ts';
import { createCaller } from '../../support/api.ts';
import { createProvisionedCompany } from '../../support/companies.ts';
import { listMailsTo, readLink, readNewestMail } from '../../support/mail.ts';
import { expectSuccess } from '../../support/signed.ts';
import { type Step, walkRoutes } from '../walk.ts';

const storeIdAs = (name: string) => (body: { id: string }) => ({ [name]: body.id });
const OUTSIDER_EMAIL = 'carla@customer.test';
const context = { id: 'context' };
const dashboard = { id: 'dashboard' };
const COMPANY_PARAMS = { company_slug: 'company', dashboard_slug: 'dashboardSlug' };
const FILTER_PARAMS = { filter_slug: 'filter' };
const makeContextQuery = ({ context }: Record<string, string>) => ({ context_id: context as string });

const CONTEXT_STEPS: Step[] = [
  {
    route: 'POST /api/v1/share-contexts',
    json: ({ dashboard }) => ({
      name: 'Northern customers',
      grants: [makeDashboardGrant(dashboard as string, [makePolicy('regions', 'selectable', ['north', 'south'])])],
    }),
    getStoredValues: ({ id: contextId, slug }) => ({ context: contextId, contextSlug: slug }),
    strangerStatus: 'never',
  },
  { route: 'GET /api/v1/share-contexts' },
  { route: 'GET /api/v1/share-contexts/{id}', params: context },
  { route: 'PUT /api/v1/share-contexts/{id}', params: context, json: () => ({ description: 'Since 2026.' }) },
  {
    route: 'PUT /api/v1/share-contexts/{id}/grants',
    params: context,
    json: ({ dashboard }) => ({
      grants: [makeDashboardGrant(dashboard as string, [makePolicy('regions', 'selectable', ['north', 'east'])])],
    }),
  },
  {
    route: 'POST /api/v1/share-contexts/{id}/members',
    params: context,
    json: () => ({ member_type: 'external_email', email: OUTSIDER_EMAIL }),
    getStoredValues: storeIdAs('member'),
  },
  { route: 'GET /api/v1/share-contexts/{id}/members', params: context },
];

const SHARE_STEPS: Step[] = [
  { route: 'GET /api/v1/dashboards/{id}/share-filter-candidates', params: dashboard },
  { route: 'GET /api/v1/dashboards/{id}/embed-parameter-candidates', params: dashboard },
  {
    route: 'POST /api/v1/dashboards/{id}/shares',
    params: dashboard,
    json: () => ({
      name: 'For the board',
      share_type: 'link',
      share_filter_policies: [makePolicy('regions', 'selectable', ['north', 'south'])],
    }),
    getStoredValues: ({ id: share, token }) => ({ share, token }),
  },
  { route: 'GET /api/v1/dashboards/{id}/shares', params: dashboard },
  { route: 'GET /api/v1/dashboard-shares' },
  { route: 'GET /api/v1/dashboard-shares/{shareId}', params: { shareId: 'share' } },
  { route: 'PUT /api/v1/dashboard-shares/{shareId}', params: { shareId: 'share' }, json: () => ({ name: 'Board' }) },
  { route: 'GET /api/v1/public/shares/{token}/resolve' },
  { route: 'GET /api/v1/public/shares/{token}/filters/{filter_slug}/options', params: FILTER_PARAMS },
  { route: 'POST /api/v1/public/shares/{token}/execute', json: () => ({ parameters: { regions: ['north'] } }) },
  { route: 'GET /p/{token}', isNoExample: true },
];

const PORTAL_STEPS: Step[] = [
  {
    route: 'POST /api/v1/share-auth/request',
    json: ({ company }) => ({ company_slug: company, email: OUTSIDER_EMAIL }),
  },
  {
    route: 'POST /api/v1/share-auth/verify',
    prepareStep: () => expect.poll(() => listMailsTo(OUTSIDER_EMAIL)).toHaveLength(1),
    json: ({ company }) => ({ company_slug: company, email: OUTSIDER_EMAIL, code: readPortalCode(OUTSIDER_EMAIL) }),
    getStoredValues: ({ refresh_token }) => ({ refresh: refresh_token }),
  },
  {
    route: 'POST /api/v1/share-auth/refresh',
    json: ({ refresh }) => ({ refresh_token: refresh }),
  },
  {
    route: 'GET /api/v1/share-portal/contexts',
    prepareStep: async ({ callers, company }) => {
      callers.external = (await signInOutsider(company, OUTSIDER_EMAIL)).as;
    },
  },
  { route: 'GET /api/v1/share-portal/{company_slug}/contexts', params: { company_slug: 'company' } },
  { route: 'GET /api/v1/share-portal/dashboards', query: makeContextQuery },
  { route: 'GET /api/v1/share-portal/{company_slug}/dashboards', params: { company_slug: 'company' } },
  {
    route: 'GET /api/v1/share-portal/dashboards/{id}',
    params: dashboard,
    query: makeContextQuery,
    strangerStatus: 400,
  },
  {
    route: 'GET /api/v1/share-portal/{company_slug}/dashboards/{dashboard_slug}',
    params: COMPANY_PARAMS,
    query: makeContextQuery,
    strangerStatus: 404,
  },
  {
    route: 'GET /api/v1/share-portal/dashboards/{id}/filters/{filter_slug}/options',
    params: { ...dashboard, ...FILTER_PARAMS },
    query: makeContextQuery,
    strangerStatus: 400,
  },
  {
    route: 'GET /api/v1/share-portal/{company_slug}/dashboards/{dashboard_slug}/filters/{filter_slug}/options',
    params: { ...COMPANY_PARAMS, ...FILTER_PARAMS },
    query: makeContextQuery,
  },
  {
    route: 'POST /api/v1/share-portal/dashboards/{id}/execute',
    params: dashboard,
    json: (storedValues) => ({ ...makeContextQuery(storedValues), parameters: { regions: ['north'] } }),
    strangerStatus: 400,
  },
  {
    route: 'POST /api/v1/share-portal/{company_slug}/dashboards/{dashboard_slug}/execute',
    params: COMPANY_PARAMS,
    json: (storedValues) => ({ ...makeContextQuery(storedValues), parameters: { regions: ['north'] } }),
  },
  { route: 'GET /portal/{company_slug}', params: { company_slug: 'company' }, isNoExample: true },
  {
    route: 'GET /api/v1/public/logos/{company_id}/{logo_id}',
    prepareStep: async ({ company, storedValues }) => {
      const { logo_url } = await expectSuccess(
        company.as.put('/v1/company/branding/logo', { body: decodePicture(PICTURES.png) }),
      );
      [storedValues.logoCompany, storedValues.logo] = new URL(logo_url).pathname.split('/').slice(-2) as [
        string,
        string,
      ];
    },
    params: { company_id: 'logoCompany', logo_id: 'logo' },
    isNoExample: true,
  },
  { route: 'POST /api/v1/share-auth/logout', as: ({ callers }) => callers.external ?? createCaller('none') },
];

const EMBED_STEPS: Step[] = [
  {
    route: 'POST /api/v1/embed/dashboards/{id}',
    params: dashboard,
    json: () => ({
      allowed_params: ['regions'],
      fixed_params: { region: 'north' },
      expires_in: 86_400,
      allowed_origins: ['https://www.customer.test'],
    }),
    getStoredValues: ({ token }) => ({ token }),
  },
  { route: 'GET /api/embed/d/{token}/info' },
  { route: 'GET /api/embed/d/{token}/filters/{filter_slug}/options', params: FILTER_PARAMS },
  { route: 'POST /api/embed/d/{token}/execute', json: () => ({ parameters: { regions: ['north'] } }) },
  { route: 'GET /embed/d/{token}', isNoExample: true },
  {
    route: 'POST /api/v1/embed/visualizations/{id}',
    params: { id: 'visualization' },
    json: () => ({ allowed_params: ['regions'] }),
    getStoredValues: ({ token, id }) => ({ token, tokenId: id }),
  },
  { route: 'GET /api/embed/v/{token}/info' },
  { route: 'POST /api/embed/v/{token}/execute', json: () => ({ parameters: { regions: ['south'] } }) },
  { route: 'GET /embed/v/{token}', isNoExample: true },
  {
    route: 'GET /embed.js',
    getStoredValues: (_, { headers }) => ({ script: headers.get('location')?.split('/').at(-1) as string }),
    isNoExample: true,
  },
  { route: 'GET /embed/{script}', isNoExample: true },
  { route: 'POST /api/v1/embed/revoke', json: ({ tokenId }) => ({ token_id: tokenId }) },
  { route: 'POST /api/v1/embed/signing-keys', getStoredValues: ({ id }) => ({ signingKey: id }) },
  { route: 'GET /api/v1/embed/signing-keys' },
  { route: 'DELETE /api/v1/embed/signing-keys/{id}', params: { id: 'signingKey' } },
  { route: 'POST /api/v1/embed/rotate-key' },
];

const UNSUBSCRIBE_STEPS: Step[] = [
  {
    route: 'GET /unsubscribe/{token}',
    prepareStep: async ({ company: { as, owner }, storedValues }) => {
      const target = await expectSuccess(as.get(`/v1/visualizations/${storedValues.visualization}`));
      const { _id } = await createSchedule(as, target, { recipients: [{ user_id: owner.id }] });
      await runScheduleNow(as, _id);
      storedValues.unsubscribing = readUnsubscribeLink(readNewestMail(owner.email))
        .pathname.split('/')
        .at(-1) as string;
    },
    params: { token: 'unsubscribing' },
    isNoExample: true,
  },
  { route: 'POST /unsubscribe/{token}', params: { token: 'unsubscribing' }, isNoExample: true },
  {
    route: 'GET /mail-consent/{token}',
    prepareStep: async ({ company, storedValues }) => {
      const target = await expectSuccess(company.as.get(`/v1/visualizations/${storedValues.visualization}`));
      const recipientEmail = 'asked@customer.test';
      await createShareContext(
        company,
        [{ target_type: 'visualization', target_id: target._id, filter_policies: [] }],
        [recipientEmail],
      );
      await createSchedule(company.as, target, { recipients: [{ email: recipientEmail }] });
      storedValues.asking = readLink(readNewestMail(recipientEmail)).pathname.split('/').at(-1) as string;
    },
    params: { token: 'asking' },
    isNoExample: true,
  },
  { route: 'POST /mail-consent/{token}', params: { token: 'asking' }, isNoExample: true },
];

const ACTIVITY_STEPS: Step[] = [
  {
    route: 'GET /api/v1/share-events',
    query: () => ({ type: 'share.created' }),
    // Events are written in batches, behind the requests they are about.
    prepareStep: ({ company: { as } }) =>
      vi.waitFor(async () => expect((await as.get('/api/v1/share-events?type=share.created')).body.total).toBe(1), {
        timeout: 20_000,
        interval: 200,
      }),
    getStoredValues: ({ records }) => ({ event: records[0].id }),
  },
  { route: 'GET /api/v1/share-events/{id}', params: { id: 'event' } },
  {
    route: 'GET /api/v1/share-analytics',
    query: () => ({ from: '2026-01-01T00:00:00Z', to: '2026-01-03T00:00:00Z', interval: 'day' }),
  },
  { route: 'DELETE /api/v1/dashboard-shares/{shareId}', params: { shareId: 'share' } },
  { route: 'DELETE /api/v1/share-contexts/{id}/members/{memberId}', params: { ...context, memberId: 'member' } },
  { route: 'DELETE /api/v1/share-contexts/{id}', params: context },
];

walkRoutes(
  ['Sharing and embedding'],
  'sharing',
  async () => {
    const company = await createProvisionedCompany({ slug: 'acme' });
    await createSalesTable(company);
    const { dashboard: createdDashboard, rows } = await createSalesDashboard(company);
    return {
      company,
      storedValues: {
        dashboard: createdDashboard._id,
        dashboardSlug: createdDashboard.slug,
        visualization: rows._id,
        filter: 'regions',
      },
    };
  },
  [...CONTEXT_STEPS, ...SHARE_STEPS, ...PORTAL_STEPS, ...EMBED_STEPS, ...UNSUBSCRIBE_STEPS, ...ACTIVITY_STEPS],
);
