import type { Action } from '../../../src/permissions/actions.ts';
import { makeEmbed, SIGNING_KEYS_PATH } from '../../embeds/support.ts';
import { EVENTS_PATH, expectTypes } from '../../share-activity/support.ts';
import { aContext, aMember, CONTEXTS_PATH, dashboardGrant } from '../../share-portal/support.ts';
import { aSalesDashboard, aShare, linkOf } from '../../shares/support.ts';
import { call } from '../../support/api.ts';
import { createConsoleGroup } from '../../support/console.ts';
import { allow, must } from '../../support/signed.ts';
import { aUser, type Company } from '../../support/worlds.ts';
import { createPlacedVisualization, createVisibleVisualization, hasRows } from './showing.ts';
import { type AccessPath, type AccessTarget, get, makeResourceArn, post, put, remove } from './way.ts';

const SHARES_PATH = '/api/v1/dashboard-shares';
const PORTAL_PATH = '/api/v1/share-portal';
const SHARE_ACTIONS: Action[] = ['dashboards:share', 'visualizations:share'];
const SEE_ACTIONS: Action[] = ['visualizations:get', 'visualizations:execute'];
const GRANT_ACTIONS: Action[] = ['visualizations:share', ...SEE_ACTIONS];

/** A dashboard with one visualization, and what is asked about it: both are given away with it. */
const makeGivenAwayWays = (
  way: string,
  routes: string[],
  askOf: (company: Company, dashboardId: string) => Promise<AccessTarget['ask']>,
): AccessPath[] => [
  {
    thing: 'dashboard',
    way,
    routes,
    besides: ['visualizations:share'],
    needs: ['dashboards:share'],
    denied: ['dashboards:share', 'dashboards:get'],
    async make(company) {
      const { dashboard } = await createPlacedVisualization(company);
      return { arn: makeResourceArn(company, 'dashboard', dashboard._id), ask: await askOf(company, dashboard._id) };
    },
  },
  {
    thing: 'visualization',
    way: `on a dashboard that is ${way}`,
    routes,
    besides: ['dashboards:share'],
    needs: ['visualizations:share'],
    denied: GRANT_ACTIONS,
    async make(company) {
      const { dashboard, visualization } = await createPlacedVisualization(company);
      return {
        arn: makeResourceArn(company, 'visualization', visualization._id),
        ask: await askOf(company, dashboard._id),
      };
    },
  },
];

/** Something about a dashboard that others see already. */
const makeWayAbout = (
  way: string,
  route: string,
  denied: Action[],
  askOf: (company: Company, dashboardId: string) => Promise<AccessTarget['ask']>,
): AccessPath => ({
  thing: 'dashboard',
  way,
  routes: [route],
  needs: ['dashboards:share'],
  denied,
  async make(company) {
    const { dashboard } = await createPlacedVisualization(company);
    return { arn: makeResourceArn(company, 'dashboard', dashboard._id), ask: await askOf(company, dashboard._id) };
  },
});

const SEE_SHARE_ACTIONS: Action[] = ['dashboards:share', 'dashboards:get'];
const createContext = (company: Company, dashboardId: string) => aContext(company, [dashboardGrant(dashboardId)]);
const guest = { member_type: 'external_email', email: 'guest@matrix.test' };

/** What concerns all of a company's embeds. */
const makeCompanyWay = (
  way: string,
  route: string,
  make: (company: Company) => Promise<AccessTarget['ask']>,
): AccessPath[] =>
  SHARE_ACTIONS.map((action) => {
    const thing = action === 'dashboards:share' ? 'dashboard' : 'visualization';
    return {
      thing: `all ${thing}s`,
      way,
      routes: [route],
      besides: SHARE_ACTIONS.filter((other) => other !== action),
      needs: [action],
      denied: [action],
      make: async (company) => ({ arn: makeResourceArn(company, thing, '*'), ask: await make(company) }),
    };
  });

const endViewer = post('/api/v1/embed/revoke', { viewer_id: 'viewer' });
const ROTATE = 'POST /api/v1/embed/rotate-key';
const rotateKey = post('/api/v1/embed/rotate-key');

async function deleteSigningKeys({ as }: Company): Promise<void> {
  const { records } = await must(as.get(SIGNING_KEYS_PATH));
  for (const { id } of records) await must(as.delete(`${SIGNING_KEYS_PATH}/${id}`));
}

const DELETE_KEY = 'DELETE /api/v1/embed/signing-keys/{id}';
async function deleteNewKey(company: Company): Promise<AccessTarget['ask']> {
  await deleteSigningKeys(company);
  return remove(`${SIGNING_KEYS_PATH}/${(await must(company.as.post(SIGNING_KEYS_PATH))).id}`);
}

/** A way through the portal, of a member who is a person of the company. */
const makePortalWay = (
  way: string,
  routes: [byId: string, bySlug: string],
  askOf: (path: string, contextId: string) => AccessTarget['ask'],
): AccessPath[] =>
  routes.map((route, at) => ({
    thing: 'dashboard',
    way: `${way} in the portal, by its ${at === 0 ? 'id' : 'slug'}`,
    routes: [route],
    denied: ['dashboards:get'],
    async make(company, caller) {
      const { dashboard } = await aSalesDashboard(company);
      const { id } = await createContext(company, dashboard._id);
      await aMember(company.as, id, { member_type: 'internal_user', member_id: caller.id });
      const path = at === 0 ? `dashboards/${dashboard._id}` : `${company.slug}/dashboards/${dashboard.slug}`;
      return { arn: makeResourceArn(company, 'dashboard', dashboard._id), ask: askOf(`${PORTAL_PATH}/${path}`, id) };
    },
  }));

const EXECUTE_IN_PORTAL: [string, string] = [
  'POST /api/v1/share-portal/dashboards/{id}/execute',
  'POST /api/v1/share-portal/{company_slug}/dashboards/{dashboard_slug}/execute',
];

/** Something that the events of a dashboard tell. */
const makeShareEventWays = (
  way: string,
  route: string,
  askOf: (event: { id: string; share_id: string }) => AccessTarget['ask'],
  reached?: AccessPath['reached'],
): AccessPath => ({
  thing: 'dashboard',
  way,
  routes: [route],
  besides: SHARE_ACTIONS,
  denied: SEE_SHARE_ACTIONS,
  async make(company) {
    const { dashboard } = await createPlacedVisualization(company);
    const share = await aShare(company, dashboard._id);
    await must(linkOf(share.token).execute());
    const events = await expectTypes(company, `share_id=${share.id}`, ['share.created', 'share.executed']);
    return { arn: makeResourceArn(company, 'dashboard', dashboard._id), ask: askOf(events[0] as never) };
  },
  ...(reached && { reached }),
});

/** What is shared, granted and embedded, and what of it people of the company see in the portal. */
export const SHARING_WAYS: AccessPath[] = [
  ...makeGivenAwayWays('shared', ['POST /api/v1/dashboards/{id}/shares'], async (_, id) =>
    post(`/api/v1/dashboards/${id}/shares`, { share_type: 'link' }),
  ),
  makeWayAbout('its share', 'GET /api/v1/dashboard-shares/{shareId}', SEE_SHARE_ACTIONS, async (company, id) =>
    get(`${SHARES_PATH}/${(await aShare(company, id)).id}`),
  ),
  makeWayAbout('its share, changed', 'PUT /api/v1/dashboard-shares/{shareId}', SEE_SHARE_ACTIONS, async (company, id) =>
    put(`${SHARES_PATH}/${(await aShare(company, id)).id}`, { name: 'Renamed' }),
  ),
  makeWayAbout('its shares', 'GET /api/v1/dashboards/{id}/shares', SEE_SHARE_ACTIONS, async (_, id) =>
    get(`/api/v1/dashboards/${id}/shares`),
  ),
  // Who is denied to see it can still take it from others.
  makeWayAbout(
    'its share, revoked',
    'DELETE /api/v1/dashboard-shares/{shareId}',
    ['dashboards:share'],
    async (company, id) => remove(`${SHARES_PATH}/${(await aShare(company, id)).id}`),
  ),
  ...makeGivenAwayWays('shared for longer', ['PUT /api/v1/dashboard-shares/{shareId}'], async (company, id) =>
    put(`${SHARES_PATH}/${(await aShare(company, id)).id}`, { expires_at: null }),
  ),
  ...['share-filter-candidates', 'embed-parameter-candidates'].map((path) =>
    makeWayAbout(`its ${path}`, `GET /api/v1/dashboards/{id}/${path}`, SEE_SHARE_ACTIONS, async (_, id) =>
      get(`/api/v1/dashboards/${id}/${path}`),
    ),
  ),
  {
    thing: 'visualization',
    way: 'a parameter of it, among the candidates for embeds',
    routes: ['GET /api/v1/dashboards/{id}/embed-parameter-candidates'],
    besides: ['dashboards:share'],
    denied: SEE_ACTIONS,
    async make(company) {
      const { visualization, dashboard } = await createPlacedVisualization(company, 'number');
      const ask = get(`/api/v1/dashboards/${dashboard._id}/embed-parameter-candidates`);
      return { arn: makeResourceArn(company, 'visualization', visualization._id), ask };
    },
    reached: ({ body }) => body.records?.[0]?.slug === 'secret',
  },
  ...makeGivenAwayWays('granted in a new context', ['POST /api/v1/share-contexts'], async (_, id) =>
    post(CONTEXTS_PATH, { name: 'Circle', grants: [dashboardGrant(id)] }),
  ),
  ...makeGivenAwayWays('granted in a context', ['PUT /api/v1/share-contexts/{id}/grants'], async (company, id) =>
    put(`${CONTEXTS_PATH}/${(await aContext(company)).id}/grants`, { grants: [dashboardGrant(id)] }),
  ),
  // What the context shows was shared already: who adds a member must not be denied any of it.
  ...makeGivenAwayWays('shown to a new member', ['POST /api/v1/share-contexts/{id}/members'], async (company, id) =>
    post(`${CONTEXTS_PATH}/${(await createContext(company, id)).id}/members`, guest),
  ).map((way): AccessPath => (way.thing === 'visualization' ? { ...way, needs: [] } : way)),
  {
    thing: 'visualization',
    way: 'granted by itself in a new context',
    routes: ['POST /api/v1/share-contexts'],
    needs: ['visualizations:share'],
    denied: GRANT_ACTIONS,
    async make(company) {
      const { _id } = await createVisibleVisualization(company);
      const grants = [{ target_type: 'visualization', target_id: _id, filter_policies: [] }];
      return {
        arn: makeResourceArn(company, 'visualization', _id),
        ask: post(CONTEXTS_PATH, { name: 'Circle', grants }),
      };
    },
  },
  {
    thing: 'visualization',
    way: 'granted by itself, and shown to a new member',
    routes: ['POST /api/v1/share-contexts/{id}/members'],
    needs: ['visualizations:share'],
    denied: GRANT_ACTIONS,
    async make(company) {
      const { _id } = await createVisibleVisualization(company);
      const { id } = await aContext(company, [{ target_type: 'visualization', target_id: _id, filter_policies: [] }]);
      return {
        arn: makeResourceArn(company, 'visualization', _id),
        ask: post(`${CONTEXTS_PATH}/${id}/members`, guest),
      };
    },
  },
  makeWayAbout('its context', 'GET /api/v1/share-contexts/{id}', SEE_SHARE_ACTIONS, async (company, id) =>
    get(`${CONTEXTS_PATH}/${(await createContext(company, id)).id}`),
  ),
  makeWayAbout('its context, changed', 'PUT /api/v1/share-contexts/{id}', SEE_SHARE_ACTIONS, async (company, id) =>
    put(`${CONTEXTS_PATH}/${(await createContext(company, id)).id}`, { name: 'Renamed' }),
  ),
  makeWayAbout(
    'its context without it',
    'PUT /api/v1/share-contexts/{id}/grants',
    SEE_SHARE_ACTIONS,
    async (company, id) => put(`${CONTEXTS_PATH}/${(await createContext(company, id)).id}/grants`, { grants: [] }),
  ),
  makeWayAbout(
    'members of its context',
    'GET /api/v1/share-contexts/{id}/members',
    SEE_SHARE_ACTIONS,
    async (company, id) => get(`${CONTEXTS_PATH}/${(await createContext(company, id)).id}/members`),
  ),
  makeWayAbout(
    'its context, deleted',
    'DELETE /api/v1/share-contexts/{id}',
    ['dashboards:share'],
    async (company, id) => remove(`${CONTEXTS_PATH}/${(await createContext(company, id)).id}`),
  ),
  makeWayAbout(
    'a member of its context, removed',
    'DELETE /api/v1/share-contexts/{id}/members/{memberId}',
    ['dashboards:share'],
    async (company, id) => {
      const context = await createContext(company, id);
      const member = await aMember(company.as, context.id, guest);
      return remove(`${CONTEXTS_PATH}/${context.id}/members/${member.id}`);
    },
  ),
  ...(
    [
      ['user', 'internal_user', async (company: Company) => (await aUser(company)).id],
      ['group', 'group', async (company: Company) => (await createConsoleGroup(company))._id],
    ] as const
  ).map(
    ([thing, member_type, made]): AccessPath => ({
      thing,
      way: 'made a member of a context',
      routes: ['POST /api/v1/share-contexts/{id}/members'],
      besides: SHARE_ACTIONS,
      denied: [`${thing}s:get`],
      async make(company) {
        const { dashboard } = await createPlacedVisualization(company);
        const member_id = await made(company);
        const path = `${CONTEXTS_PATH}/${(await createContext(company, dashboard._id)).id}/members`;
        return { arn: makeResourceArn(company, thing, member_id), ask: post(path, { member_type, member_id }) };
      },
    }),
  ),
  ...makeGivenAwayWays('embedded', ['POST /api/v1/embed/dashboards/{id}'], async (_, id) =>
    post(`/api/v1/embed/dashboards/${id}`),
  ),
  {
    thing: 'visualization',
    way: 'embedded by itself',
    routes: ['POST /api/v1/embed/visualizations/{id}'],
    needs: ['visualizations:share'],
    denied: GRANT_ACTIONS,
    async make(company) {
      const { _id } = await createVisibleVisualization(company);
      return { arn: makeResourceArn(company, 'visualization', _id), ask: post(`/api/v1/embed/visualizations/${_id}`) };
    },
  },
  ...(['dashboard', 'visualization'] as const).flatMap((thing) =>
    ['token', thing].map(
      (by): AccessPath => ({
        thing,
        way: `its embeds ended, by ${by === 'token' ? 'the id of a token' : 'its own id'}`,
        routes: ['POST /api/v1/embed/revoke'],
        needs: [`${thing}s:share`],
        denied: [`${thing}s:share`],
        async make(company) {
          const { _id } = (await createPlacedVisualization(company))[thing];
          const id = by === 'token' ? (await makeEmbed(company, `${thing}s`, _id)).id : _id;
          return { arn: makeResourceArn(company, thing, _id), ask: post('/api/v1/embed/revoke', { [`${by}_id`]: id }) };
        },
      }),
    ),
  ),
  ...makeCompanyWay('embeds of a viewer, ended', 'POST /api/v1/embed/revoke', async () => endViewer).map(
    (way): AccessPath => ({ ...way, whatever: true }),
  ),
  ...makeCompanyWay('the key of embeds, rotated', ROTATE, async () => rotateKey).map(
    (way): AccessPath => ({ ...way, whatever: true }),
  ),
  ...makeCompanyWay('a signing key', 'POST /api/v1/embed/signing-keys', async (company) => {
    await deleteSigningKeys(company);
    return post(SIGNING_KEYS_PATH);
  }).map((way): AccessPath => ({ ...way, whatever: true })),
  ...makeCompanyWay('the signing keys', 'GET /api/v1/embed/signing-keys', async () => get(SIGNING_KEYS_PATH)),
  ...makeCompanyWay('a signing key, deleted', DELETE_KEY, deleteNewKey).map(
    (way): AccessPath => ({ ...way, whatever: true }),
  ),
  // They may show anything: whoever is denied to share any of it does not end them.
  ...(['dashboard', 'visualization'] as const).flatMap((thing) =>
    (
      [
        ['of a viewer', 'POST /api/v1/embed/revoke', async () => endViewer],
        ['of a rotated key', ROTATE, async () => rotateKey],
        ['of a deleted signing key', DELETE_KEY, deleteNewKey],
      ] as const
    ).map(
      ([which, route, make]): AccessPath => ({
        thing,
        way: `among all that embeds ${which} show`,
        routes: [route],
        besides: SHARE_ACTIONS,
        denied: [`${thing}s:share`],
        whatever: true,
        async make(company) {
          const { _id } = (await createPlacedVisualization(company))[thing];
          return { arn: makeResourceArn(company, thing, _id), ask: await make(company) };
        },
      }),
    ),
  ),
  // A key shows everything: whoever is denied any of it makes none.
  ...(['dashboard', 'visualization'] as const).map(
    (thing): AccessPath => ({
      thing,
      way: 'among all that a signing key shows',
      routes: ['POST /api/v1/embed/signing-keys'],
      besides: SHARE_ACTIONS,
      denied: thing === 'dashboard' ? SEE_SHARE_ACTIONS : GRANT_ACTIONS,
      whatever: true,
      async make(company) {
        await deleteSigningKeys(company);
        const { _id } = (await createPlacedVisualization(company))[thing];
        return { arn: makeResourceArn(company, thing, _id), ask: post(SIGNING_KEYS_PATH) };
      },
    }),
  ),
  makeShareEventWays('an event of it', 'GET /api/v1/share-events/{id}', ({ id }) => get(`${EVENTS_PATH}/${id}`)),
  {
    thing: 'visualization',
    way: 'the event of a download',
    routes: ['GET /api/v1/share-events/{id}'],
    besides: SHARE_ACTIONS,
    denied: ['visualizations:share', 'visualizations:get'],
    async make(company) {
      const { visualization, dashboard } = await createPlacedVisualization(company);
      const share = await aShare(company, dashboard._id, { embed_options: { allow_downloads: true } });
      const query = `format=csv&visualization_id=${visualization._id}`;
      await must(call('POST', `/api/v1/public/shares/${share.token}/execute?${query}`, { json: {} }));
      const [event] = await expectTypes(company, `share_id=${share.id}&type=share.downloaded`, ['share.downloaded']);
      const arn = makeResourceArn(company, 'visualization', visualization._id);
      return { arn, ask: get(`${EVENTS_PATH}/${event?.id}`) };
    },
  },
  makeShareEventWays(
    'counted in analytics',
    'GET /api/v1/share-analytics',
    ({ share_id }) => get(`/api/v1/share-analytics?share_id=${share_id}`),
    ({ status, body }) => status === 200 && body.totals.executed === 1,
  ),
  ...makePortalWay(
    'shown',
    ['GET /api/v1/share-portal/dashboards/{id}', 'GET /api/v1/share-portal/{company_slug}/dashboards/{dashboard_slug}'],
    (path, contextId) => get(`${path}?context_id=${contextId}`),
  ),
  ...makePortalWay(
    'its options',
    [
      'GET /api/v1/share-portal/dashboards/{id}/filters/{filter_slug}/options',
      'GET /api/v1/share-portal/{company_slug}/dashboards/{dashboard_slug}/filters/{filter_slug}/options',
    ],
    (path, contextId) => get(`${path}/filters/regions/options?context_id=${contextId}`),
  ),
  ...makePortalWay('executed', EXECUTE_IN_PORTAL, (path, context_id) => post(`${path}/execute`, { context_id })),
  {
    thing: 'visualization',
    way: 'a parameter of it, told by the portal',
    routes: [EXECUTE_IN_PORTAL[0]],
    denied: SEE_ACTIONS,
    async make(company, caller) {
      await caller.may([allow('*')]);
      const { dashboard, visualization } = await createPlacedVisualization(company, 'number');
      const { id } = await createContext(company, dashboard._id);
      await aMember(company.as, id, { member_type: 'internal_user', member_id: caller.id });
      const json = { context_id: id, parameters: { secret: 3 } };
      const ask = post(`${PORTAL_PATH}/dashboards/${dashboard._id}/execute`, json);
      return { arn: makeResourceArn(company, 'visualization', visualization._id), ask };
    },
    reached: ({ body }) => body.error_code === 'SHARE_FILTER_POLICY_VIOLATION',
  },
  {
    thing: 'visualization',
    way: 'on a dashboard that is executed in the portal',
    routes: [EXECUTE_IN_PORTAL[0]],
    denied: SEE_ACTIONS,
    async make(company, caller) {
      await caller.may([allow('*')]);
      const { dashboard, visualization } = await createPlacedVisualization(company);
      const { id } = await createContext(company, dashboard._id);
      await aMember(company.as, id, { member_type: 'internal_user', member_id: caller.id });
      const ask = post(`${PORTAL_PATH}/dashboards/${dashboard._id}/execute`, { context_id: id });
      return { arn: makeResourceArn(company, 'visualization', visualization._id), ask };
    },
    reached: hasRows,
  },
];
