import type { Action } from '../../../src/permissions/actions.ts';
import { createEmbedRecord, SIGNING_KEYS_PATH } from '../../embeds/support.ts';
import { EVENTS_PATH, expectTypes } from '../../share-activity/support.ts';
import { addContextMember, CONTEXTS_PATH, createShareContext, makeDashboardGrant } from '../../share-portal/support.ts';
import { createSalesDashboard, createShare, createShareClient } from '../../shares/support.ts';
import { callApi } from '../../support/api.ts';
import { type Company, createAllowedUser } from '../../support/companies.ts';
import { createConsoleGroup } from '../../support/console.ts';
import type { TestPrincipal } from '../../support/principals.ts';
import { expectSuccess, makeAllow } from '../../support/signed.ts';
import {
  type AccessPath,
  type AccessTarget,
  makeDeleteRequest,
  makeGetRequest,
  makePostRequest,
  makePutRequest,
  makeResourceArn,
  VIEWING_ACTIONS,
} from './access-path.ts';
import { createVisualizationOnDashboard, hasRows, makeDashboardPath, makeVisualizationPath } from './results.ts';

const SHARES_PATH = '/api/v1/dashboard-shares';
const PORTAL_PATH = '/api/v1/share-portal';
const SHARE_ACTIONS: Action[] = ['dashboards:share', 'visualizations:share'];
const GRANT_ACTIONS: Action[] = ['visualizations:share', ...VIEWING_ACTIONS];

/** Makes the access paths to a dashboard and to its single visualization, which are both given to others by the request. */
const makeSharingPaths = (
  label: string,
  routes: string[],
  makeRequest: (company: Company, dashboardId: string) => Promise<AccessTarget['ask']>,
): AccessPath[] => [
  makeDashboardPath({
    resourceTitle: 'dashboard',
    description: label,
    routes,
    extraActions: ['visualizations:share'],
    neededActions: ['dashboards:share'],
    closingActions: ['dashboards:share', 'dashboards:get'],
    ask: ({ dashboard }, company) => makeRequest(company, dashboard._id),
  }),
  makeDashboardPath({
    description: `on a dashboard that is ${label}`,
    routes,
    extraActions: ['dashboards:share'],
    neededActions: ['visualizations:share'],
    closingActions: GRANT_ACTIONS,
    ask: ({ dashboard }, company) => makeRequest(company, dashboard._id),
  }),
];

/** Makes the access path of a request about a dashboard that others can already see. */
const makeSharedDashboardPath = (
  label: string,
  route: string,
  deniedActions: Action[],
  makeRequest: (company: Company, dashboardId: string) => Promise<AccessTarget['ask']>,
): AccessPath =>
  makeDashboardPath({
    resourceTitle: 'dashboard',
    description: label,
    routes: [route],
    neededActions: ['dashboards:share'],
    closingActions: deniedActions,
    ask: ({ dashboard }, company) => makeRequest(company, dashboard._id),
  });

const SEE_SHARE_ACTIONS: Action[] = ['dashboards:share', 'dashboards:get'];
const createContext = (company: Company, dashboardId: string) =>
  createShareContext(company, [makeDashboardGrant(dashboardId)]);
const GUEST_MEMBER = { member_type: 'external_email', email: 'guest@matrix.test' };

/** Makes the access paths of a request that concerns all embeds of a company. */
const makeCompanyPaths = (
  label: string,
  route: string,
  makeRequest: (company: Company) => Promise<AccessTarget['ask']>,
): AccessPath[] =>
  SHARE_ACTIONS.map((action) => {
    const resourceKind = action === 'dashboards:share' ? 'dashboard' : 'visualization';
    return {
      resourceTitle: `all ${resourceKind}s`,
      description: label,
      routes: [route],
      extraActions: SHARE_ACTIONS.filter((other) => other !== action),
      neededActions: [action],
      closingActions: [action],
      createTarget: async (company) => ({
        arn: makeResourceArn(company, resourceKind, '*'),
        ask: await makeRequest(company),
      }),
    };
  });

const endViewerTokens = makePostRequest('/api/v1/embed/revoke', { viewer_id: 'viewer' });
const ROTATE_ROUTE = 'POST /api/v1/embed/rotate-key';
const rotateKey = makePostRequest('/api/v1/embed/rotate-key');

async function deleteSigningKeys({ as }: Company): Promise<void> {
  const { records } = await expectSuccess(as.get(SIGNING_KEYS_PATH));
  for (const { id } of records) await expectSuccess(as.delete(`${SIGNING_KEYS_PATH}/${id}`));
}

const DELETE_KEY_ROUTE = 'DELETE /api/v1/embed/signing-keys/{id}';
async function makeKeyDeletion(company: Company): Promise<AccessTarget['ask']> {
  await deleteSigningKeys(company);
  return makeDeleteRequest(`${SIGNING_KEYS_PATH}/${(await expectSuccess(company.as.post(SIGNING_KEYS_PATH))).id}`);
}

/** Makes the access paths through the portal for a member who is a user of the company. */
const makePortalPaths = (
  label: string,
  routes: [byId: string, bySlug: string],
  makeRequest: (path: string, contextId: string) => AccessTarget['ask'],
): AccessPath[] =>
  routes.map((route, at) => ({
    resourceTitle: 'dashboard',
    description: `${label} in the portal, by its ${at === 0 ? 'id' : 'slug'}`,
    routes: [route],
    closingActions: ['dashboards:get'],
    async createTarget(company, caller) {
      const { dashboard } = await createSalesDashboard(company);
      const { id } = await createContext(company, dashboard._id);
      await addContextMember(company.as, id, { member_type: 'internal_user', member_id: caller.id });
      const path = at === 0 ? `dashboards/${dashboard._id}` : `${company.slug}/dashboards/${dashboard.slug}`;
      return {
        arn: makeResourceArn(company, 'dashboard', dashboard._id),
        ask: makeRequest(`${PORTAL_PATH}/${path}`, id),
      };
    },
  }));

const PORTAL_EXECUTE_ROUTES: [string, string] = [
  'POST /api/v1/share-portal/dashboards/{id}/execute',
  'POST /api/v1/share-portal/{company_slug}/dashboards/{dashboard_slug}/execute',
];

/** Shares a dashboard with a caller who may do everything. @returns the request that executes it in the portal */
async function makePortalExecution(
  { _id }: { _id: string },
  company: Company,
  caller: TestPrincipal,
  parameters?: Record<string, unknown>,
): Promise<AccessTarget['ask']> {
  await caller.setStatements([makeAllow('*')]);
  const { id } = await createContext(company, _id);
  await addContextMember(company.as, id, { member_type: 'internal_user', member_id: caller.id });
  return makePostRequest(`${PORTAL_PATH}/dashboards/${_id}/execute`, { context_id: id, parameters });
}

/** Makes the access path of a request that reads the events of a dashboard's share. */
const makeShareEventPath = (
  label: string,
  route: string,
  makeRequest: (event: { id: string; share_id: string }) => AccessTarget['ask'],
  isReached?: AccessPath['isReachedBy'],
): AccessPath =>
  makeDashboardPath({
    resourceTitle: 'dashboard',
    description: label,
    routes: [route],
    extraActions: SHARE_ACTIONS,
    closingActions: SEE_SHARE_ACTIONS,
    async ask({ dashboard }, company) {
      const share = await createShare(company, dashboard._id);
      await expectSuccess(createShareClient(share.token).execute());
      const events = await expectTypes(company, `share_id=${share.id}`, ['share.created', 'share.executed']);
      return makeRequest(events[0] as never);
    },
    isReachedBy: isReached,
  });

/** Access paths through sharing, grants, embeds and the portal, in which users of the company can see shared dashboards, too. */
export const SHARING_PATHS: AccessPath[] = [
  ...makeSharingPaths('shared', ['POST /api/v1/dashboards/{id}/shares'], async (_, id) =>
    makePostRequest(`/api/v1/dashboards/${id}/shares`, { share_type: 'link' }),
  ),
  makeSharedDashboardPath(
    'its share',
    'GET /api/v1/dashboard-shares/{shareId}',
    SEE_SHARE_ACTIONS,
    async (company, id) => makeGetRequest(`${SHARES_PATH}/${(await createShare(company, id)).id}`),
  ),
  makeSharedDashboardPath(
    'its share, changed',
    'PUT /api/v1/dashboard-shares/{shareId}',
    SEE_SHARE_ACTIONS,
    async (company, id) => makePutRequest(`${SHARES_PATH}/${(await createShare(company, id)).id}`, { name: 'Renamed' }),
  ),
  makeSharedDashboardPath('its shares', 'GET /api/v1/dashboards/{id}/shares', SEE_SHARE_ACTIONS, async (_, id) =>
    makeGetRequest(`/api/v1/dashboards/${id}/shares`),
  ),
  // Who is denied to see it can still take it from others.
  makeSharedDashboardPath(
    'its share, revoked',
    'DELETE /api/v1/dashboard-shares/{shareId}',
    ['dashboards:share'],
    async (company, id) => makeDeleteRequest(`${SHARES_PATH}/${(await createShare(company, id)).id}`),
  ),
  ...makeSharingPaths('shared for longer', ['PUT /api/v1/dashboard-shares/{shareId}'], async (company, id) =>
    makePutRequest(`${SHARES_PATH}/${(await createShare(company, id)).id}`, { expires_at: null }),
  ),
  ...['share-filter-candidates', 'embed-parameter-candidates'].map((path) =>
    makeSharedDashboardPath(`its ${path}`, `GET /api/v1/dashboards/{id}/${path}`, SEE_SHARE_ACTIONS, async (_, id) =>
      makeGetRequest(`/api/v1/dashboards/${id}/${path}`),
    ),
  ),
  makeDashboardPath({
    kind: 'number',
    description: 'a parameter of it, among the candidates for embeds',
    routes: ['GET /api/v1/dashboards/{id}/embed-parameter-candidates'],
    extraActions: ['dashboards:share'],
    closingActions: VIEWING_ACTIONS,
    ask: ({ dashboard }) => makeGetRequest(`/api/v1/dashboards/${dashboard._id}/embed-parameter-candidates`),
    isReachedBy: ({ body }) => body.records?.[0]?.slug === 'secret',
  }),
  ...makeSharingPaths('granted in a new context', ['POST /api/v1/share-contexts'], async (_, id) =>
    makePostRequest(CONTEXTS_PATH, { name: 'Circle', grants: [makeDashboardGrant(id)] }),
  ),
  ...makeSharingPaths('granted in a context', ['PUT /api/v1/share-contexts/{id}/grants'], async (company, id) =>
    makePutRequest(`${CONTEXTS_PATH}/${(await createShareContext(company)).id}/grants`, {
      grants: [makeDashboardGrant(id)],
    }),
  ),
  // What the context shows was shared already: who adds a member must not be denied any of it.
  ...makeSharingPaths('shown to a new member', ['POST /api/v1/share-contexts/{id}/members'], async (company, id) =>
    makePostRequest(`${CONTEXTS_PATH}/${(await createContext(company, id)).id}/members`, GUEST_MEMBER),
  ).map(
    (accessPath): AccessPath =>
      accessPath.resourceTitle === 'visualization' ? { ...accessPath, neededActions: [] } : accessPath,
  ),
  makeVisualizationPath({
    description: 'granted by itself in a new context',
    routes: ['POST /api/v1/share-contexts'],
    neededActions: ['visualizations:share'],
    closingActions: GRANT_ACTIONS,
    async ask({ visualization }) {
      const grants = [{ target_type: 'visualization', target_id: visualization._id, filter_policies: [] }];
      return makePostRequest(CONTEXTS_PATH, { name: 'Circle', grants });
    },
  }),
  makeVisualizationPath({
    description: 'granted by itself, and shown to a new member',
    routes: ['POST /api/v1/share-contexts/{id}/members'],
    neededActions: ['visualizations:share'],
    closingActions: GRANT_ACTIONS,
    async ask({ visualization }, company) {
      const { id } = await createShareContext(company, [
        { target_type: 'visualization', target_id: visualization._id, filter_policies: [] },
      ]);
      return makePostRequest(`${CONTEXTS_PATH}/${id}/members`, GUEST_MEMBER);
    },
  }),
  makeSharedDashboardPath('its context', 'GET /api/v1/share-contexts/{id}', SEE_SHARE_ACTIONS, async (company, id) =>
    makeGetRequest(`${CONTEXTS_PATH}/${(await createContext(company, id)).id}`),
  ),
  makeSharedDashboardPath(
    'its context, changed',
    'PUT /api/v1/share-contexts/{id}',
    SEE_SHARE_ACTIONS,
    async (company, id) =>
      makePutRequest(`${CONTEXTS_PATH}/${(await createContext(company, id)).id}`, { name: 'Renamed' }),
  ),
  makeSharedDashboardPath(
    'its context without it',
    'PUT /api/v1/share-contexts/{id}/grants',
    SEE_SHARE_ACTIONS,
    async (company, id) =>
      makePutRequest(`${CONTEXTS_PATH}/${(await createContext(company, id)).id}/grants`, { grants: [] }),
  ),
  makeSharedDashboardPath(
    'members of its context',
    'GET /api/v1/share-contexts/{id}/members',
    SEE_SHARE_ACTIONS,
    async (company, id) => makeGetRequest(`${CONTEXTS_PATH}/${(await createContext(company, id)).id}/members`),
  ),
  makeSharedDashboardPath(
    'its context, deleted',
    'DELETE /api/v1/share-contexts/{id}',
    ['dashboards:share'],
    async (company, id) => makeDeleteRequest(`${CONTEXTS_PATH}/${(await createContext(company, id)).id}`),
  ),
  makeSharedDashboardPath(
    'a member of its context, removed',
    'DELETE /api/v1/share-contexts/{id}/members/{memberId}',
    ['dashboards:share'],
    async (company, id) => {
      const context = await createContext(company, id);
      const member = await addContextMember(company.as, context.id, GUEST_MEMBER);
      return makeDeleteRequest(`${CONTEXTS_PATH}/${context.id}/members/${member.id}`);
    },
  ),
  ...(
    [
      ['user', 'internal_user', async (company: Company) => (await createAllowedUser(company)).id],
      ['group', 'group', async (company: Company) => (await createConsoleGroup(company))._id],
    ] as const
  ).map(
    ([resourceTitle, member_type, createMemberId]): AccessPath => ({
      resourceTitle,
      description: 'made a member of a context',
      routes: ['POST /api/v1/share-contexts/{id}/members'],
      extraActions: SHARE_ACTIONS,
      closingActions: [`${resourceTitle}s:get`],
      async createTarget(company) {
        const { dashboard } = await createVisualizationOnDashboard(company);
        const member_id = await createMemberId(company);
        const path = `${CONTEXTS_PATH}/${(await createContext(company, dashboard._id)).id}/members`;
        return {
          arn: makeResourceArn(company, resourceTitle, member_id),
          ask: makePostRequest(path, { member_type, member_id }),
        };
      },
    }),
  ),
  ...makeSharingPaths('embedded', ['POST /api/v1/embed/dashboards/{id}'], async (_, id) =>
    makePostRequest(`/api/v1/embed/dashboards/${id}`),
  ),
  makeVisualizationPath({
    description: 'embedded by itself',
    routes: ['POST /api/v1/embed/visualizations/{id}'],
    neededActions: ['visualizations:share'],
    closingActions: GRANT_ACTIONS,
    ask: ({ visualization }) => makePostRequest(`/api/v1/embed/visualizations/${visualization._id}`),
  }),
  ...(['dashboard', 'visualization'] as const).flatMap((resourceKind) =>
    ['token', resourceKind].map((by) =>
      makeDashboardPath({
        resourceTitle: resourceKind,
        description: `its embeds ended, by ${by === 'token' ? 'the id of a token' : 'its own id'}`,
        routes: ['POST /api/v1/embed/revoke'],
        neededActions: [`${resourceKind}s:share`],
        closingActions: [`${resourceKind}s:share`],
        async ask({ [resourceKind]: { _id } }, company) {
          const id = by === 'token' ? (await createEmbedRecord(company, `${resourceKind}s`, _id)).id : _id;
          return makePostRequest('/api/v1/embed/revoke', { [`${by}_id`]: id });
        },
      }),
    ),
  ),
  ...makeCompanyPaths('embeds of a viewer, ended', 'POST /api/v1/embed/revoke', async () => endViewerTokens).map(
    (accessPath): AccessPath => ({ ...accessPath, isClosedByAnyDeny: true }),
  ),
  ...makeCompanyPaths('the key of embeds, rotated', ROTATE_ROUTE, async () => rotateKey).map(
    (accessPath): AccessPath => ({ ...accessPath, isClosedByAnyDeny: true }),
  ),
  ...makeCompanyPaths('a signing key', 'POST /api/v1/embed/signing-keys', async (company) => {
    await deleteSigningKeys(company);
    return makePostRequest(SIGNING_KEYS_PATH);
  }).map((accessPath): AccessPath => ({ ...accessPath, isClosedByAnyDeny: true })),
  ...makeCompanyPaths('the signing keys', 'GET /api/v1/embed/signing-keys', async () =>
    makeGetRequest(SIGNING_KEYS_PATH),
  ),
  ...makeCompanyPaths('a signing key, deleted', DELETE_KEY_ROUTE, makeKeyDeletion).map(
    (accessPath): AccessPath => ({ ...accessPath, isClosedByAnyDeny: true }),
  ),
  // They may show anything: whoever is denied to share any of it does not end them.
  ...(['dashboard', 'visualization'] as const).flatMap((resourceKind) =>
    (
      [
        ['of a viewer', 'POST /api/v1/embed/revoke', async () => endViewerTokens],
        ['of a rotated key', ROTATE_ROUTE, async () => rotateKey],
        ['of a deleted signing key', DELETE_KEY_ROUTE, makeKeyDeletion],
      ] as const
    ).map(([which, route, make]) =>
      makeDashboardPath({
        resourceTitle: resourceKind,
        description: `among all that embeds ${which} show`,
        routes: [route],
        extraActions: SHARE_ACTIONS,
        closingActions: [`${resourceKind}s:share`],
        isClosedByAnyDeny: true,
        ask: (_, company) => make(company),
      }),
    ),
  ),
  // A key shows everything: whoever is denied any of it makes none.
  ...(['dashboard', 'visualization'] as const).map((resourceKind) =>
    makeDashboardPath({
      resourceTitle: resourceKind,
      description: 'among all that a signing key shows',
      routes: ['POST /api/v1/embed/signing-keys'],
      extraActions: SHARE_ACTIONS,
      closingActions: resourceKind === 'dashboard' ? SEE_SHARE_ACTIONS : GRANT_ACTIONS,
      isClosedByAnyDeny: true,
      async ask(_, company) {
        await deleteSigningKeys(company);
        return makePostRequest(SIGNING_KEYS_PATH);
      },
    }),
  ),
  makeShareEventPath('an event of it', 'GET /api/v1/share-events/{id}', ({ id }) =>
    makeGetRequest(`${EVENTS_PATH}/${id}`),
  ),
  makeDashboardPath({
    description: 'the event of a download',
    routes: ['GET /api/v1/share-events/{id}'],
    extraActions: SHARE_ACTIONS,
    closingActions: ['visualizations:share', 'visualizations:get'],
    async ask({ visualization, dashboard }, company) {
      const share = await createShare(company, dashboard._id, { embed_options: { allow_downloads: true } });
      const query = `format=csv&visualization_id=${visualization._id}`;
      await expectSuccess(callApi('POST', `/api/v1/public/shares/${share.token}/execute?${query}`, { json: {} }));
      const [event] = await expectTypes(company, `share_id=${share.id}&type=share.downloaded`, ['share.downloaded']);
      return makeGetRequest(`${EVENTS_PATH}/${event?.id}`);
    },
  }),
  makeShareEventPath(
    'counted in analytics',
    'GET /api/v1/share-analytics',
    ({ share_id }) => makeGetRequest(`/api/v1/share-analytics?share_id=${share_id}`),
    ({ status, body }) => status === 200 && body.totals.executed === 1,
  ),
  ...makePortalPaths(
    'shown',
    ['GET /api/v1/share-portal/dashboards/{id}', 'GET /api/v1/share-portal/{company_slug}/dashboards/{dashboard_slug}'],
    (path, contextId) => makeGetRequest(`${path}?context_id=${contextId}`),
  ),
  ...makePortalPaths(
    'its options',
    [
      'GET /api/v1/share-portal/dashboards/{id}/filters/{filter_slug}/options',
      'GET /api/v1/share-portal/{company_slug}/dashboards/{dashboard_slug}/filters/{filter_slug}/options',
    ],
    (path, contextId) => makeGetRequest(`${path}/filters/regions/options?context_id=${contextId}`),
  ),
  ...makePortalPaths('executed', PORTAL_EXECUTE_ROUTES, (path, context_id) =>
    makePostRequest(`${path}/execute`, { context_id }),
  ),
  makeDashboardPath({
    kind: 'number',
    description: 'a parameter of it, told by the portal',
    routes: [PORTAL_EXECUTE_ROUTES[0]],
    closingActions: VIEWING_ACTIONS,
    ask: ({ dashboard }, company, caller) => makePortalExecution(dashboard, company, caller, { secret: 3 }),
    isReachedBy: ({ body }) => body.error_code === 'SHARE_FILTER_POLICY_VIOLATION',
  }),
  makeDashboardPath({
    description: 'on a dashboard that is executed in the portal',
    routes: [PORTAL_EXECUTE_ROUTES[0]],
    closingActions: VIEWING_ACTIONS,
    ask: ({ dashboard }, company, caller) => makePortalExecution(dashboard, company, caller),
    isReachedBy: hasRows,
  }),
];
