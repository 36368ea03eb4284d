import type { Action } from '../../../src/permissions/actions.ts';
import { makeEmbed, SIGNING_KEYS } from '../../embeds/support.ts';
import { EVENTS, expectTypes } from '../../share-activity/support.ts';
import { aContext, aMember, CONTEXTS, dashboardGrant } from '../../share-portal/support.ts';
import { aSalesDashboard, aShare, linkOf } from '../../shares/support.ts';
import { aConsoleGroup } from '../../support/console.ts';
import { allow, must } from '../../support/signed.ts';
import { aUser, type Company } from '../../support/worlds.ts';
import { aPlaced, aSeen, holdsRows } from './showing.ts';
import { get, post, put, type Reach, remove, thingArn, type Way } from './way.ts';

const SHARES = '/api/v1/dashboard-shares';
const PORTAL = '/api/v1/share-portal';
const SHARING: Action[] = ['dashboards:share', 'visualizations:share'];
const GIVING: Action[] = ['visualizations:share', 'visualizations:get', 'visualizations:execute'];

/** A dashboard with one visualization, and what is asked about it: both are given away with it. */
const given = (
  way: string,
  routes: string[],
  askOf: (company: Company, dashboardId: string) => Promise<Reach['ask']>,
): Way[] => [
  {
    thing: 'dashboard',
    way,
    routes,
    besides: ['visualizations:share'],
    needs: ['dashboards:share'],
    denied: ['dashboards:share', 'dashboards:get'],
    async make(company) {
      const { dashboard } = await aPlaced(company);
      return { arn: thingArn(company, 'dashboard', dashboard._id), ask: await askOf(company, dashboard._id) };
    },
  },
  {
    thing: 'visualization',
    way: `on a dashboard that is ${way}`,
    routes,
    besides: ['dashboards:share'],
    needs: ['visualizations:share'],
    denied: GIVING,
    async make(company) {
      const { dashboard, visualization } = await aPlaced(company);
      return { arn: thingArn(company, 'visualization', visualization._id), ask: await askOf(company, dashboard._id) };
    },
  },
];

/** Something about a dashboard that others see already. */
const about = (
  way: string,
  route: string,
  denied: Action[],
  askOf: (company: Company, dashboardId: string) => Promise<Reach['ask']>,
): Way => ({
  thing: 'dashboard',
  way,
  routes: [route],
  needs: ['dashboards:share'],
  denied,
  async make(company) {
    const { dashboard } = await aPlaced(company);
    return { arn: thingArn(company, 'dashboard', dashboard._id), ask: await askOf(company, dashboard._id) };
  },
});

const SEEN: Action[] = ['dashboards:share', 'dashboards:get'];
const contextOf = (company: Company, dashboardId: string) => aContext(company, [dashboardGrant(dashboardId)]);
const guest = { member_type: 'external_email', email: 'guest@matrix.test' };

/** What concerns all of a company's embeds. */
const ofAll = (way: string, route: string, make: (company: Company) => Promise<Reach['ask']>): Way[] =>
  SHARING.map((action) => {
    const thing = action === 'dashboards:share' ? 'dashboard' : 'visualization';
    return {
      thing: `all ${thing}s`,
      way,
      routes: [route],
      besides: SHARING.filter((other) => other !== action),
      needs: [action],
      denied: [action],
      make: async (company) => ({ arn: thingArn(company, thing, '*'), ask: await make(company) }),
    };
  });

async function withoutKeys({ as }: Company): Promise<void> {
  const { records } = await must(as.get(SIGNING_KEYS));
  for (const { id } of records) await must(as.delete(`${SIGNING_KEYS}/${id}`));
}

/** A way through the portal, of a member who is a person of the company. */
const portal = (
  way: string,
  routes: [byId: string, bySlug: string],
  askOf: (path: string, contextId: string) => Reach['ask'],
): Way[] =>
  routes.map((route, at) => ({
    thing: 'dashboard',
    way: `${way} in the portal, by its ${at === 0 ? 'id' : 'slug'}`,
    routes: [route],
    denied: ['dashboards:get'],
    async make(company, caller) {
      const { dashboard } = await aSalesDashboard(company);
      const { id } = await contextOf(company, dashboard._id);
      await aMember(company.as, id, { member_type: 'internal_user', member_id: caller.id });
      const path = at === 0 ? `dashboards/${dashboard._id}` : `${company.slug}/dashboards/${dashboard.slug}`;
      return { arn: thingArn(company, 'dashboard', dashboard._id), ask: askOf(`${PORTAL}/${path}`, id) };
    },
  }));

const EXECUTE_IN_PORTAL: [string, string] = [
  'POST /api/v1/share-portal/dashboards/{id}/execute',
  'POST /api/v1/share-portal/{company_slug}/dashboards/{dashboard_slug}/execute',
];

/** Something that the events of a dashboard tell. */
const told = (
  way: string,
  route: string,
  askOf: (event: { id: string; share_id: string }) => Reach['ask'],
  reached?: Way['reached'],
): Way => ({
  thing: 'dashboard',
  way,
  routes: [route],
  besides: SHARING,
  denied: SEEN,
  async make(company) {
    const { dashboard } = await aPlaced(company);
    const share = await aShare(company, dashboard._id);
    await must(linkOf(share.token).execute());
    const events = await expectTypes(company, `share_id=${share.id}`, ['share.created', 'share.executed']);
    return { arn: thingArn(company, 'dashboard', dashboard._id), ask: askOf(events[0] as never) };
  },
  ...(reached && { reached }),
});

/** What is shared, granted and embedded, and what of it people of the company see in the portal. */
export const SHARED: Way[] = [
  ...given('shared', ['POST /api/v1/dashboards/{id}/shares'], async (_, id) =>
    post(`/api/v1/dashboards/${id}/shares`, { share_type: 'link' }),
  ),
  about('its share', 'GET /api/v1/dashboard-shares/{shareId}', SEEN, async (company, id) =>
    get(`${SHARES}/${(await aShare(company, id)).id}`),
  ),
  about('its share, changed', 'PUT /api/v1/dashboard-shares/{shareId}', SEEN, async (company, id) =>
    put(`${SHARES}/${(await aShare(company, id)).id}`, { name: 'Renamed' }),
  ),
  // Who is denied to see it can still take it from others.
  about('its share, revoked', 'DELETE /api/v1/dashboard-shares/{shareId}', ['dashboards:share'], async (company, id) =>
    remove(`${SHARES}/${(await aShare(company, id)).id}`),
  ),
  ...given('shared for longer', ['PUT /api/v1/dashboard-shares/{shareId}'], async (company, id) =>
    put(`${SHARES}/${(await aShare(company, id)).id}`, { expires_at: null }),
  ),
  ...['share-filter-candidates', 'embed-parameter-candidates'].map((path) =>
    about(`its ${path}`, `GET /api/v1/dashboards/{id}/${path}`, SEEN, async (_, id) =>
      get(`/api/v1/dashboards/${id}/${path}`),
    ),
  ),
  ...given('granted in a new context', ['POST /api/v1/share-contexts'], async (_, id) =>
    post(CONTEXTS, { name: 'Circle', grants: [dashboardGrant(id)] }),
  ),
  ...given('granted in a context', ['PUT /api/v1/share-contexts/{id}/grants'], async (company, id) =>
    put(`${CONTEXTS}/${(await aContext(company)).id}/grants`, { grants: [dashboardGrant(id)] }),
  ),
  // What the context shows was shared already: who adds a member must not be denied any of it.
  ...given('shown to a new member', ['POST /api/v1/share-contexts/{id}/members'], async (company, id) =>
    post(`${CONTEXTS}/${(await contextOf(company, id)).id}/members`, guest),
  ).map((way): Way => (way.thing === 'visualization' ? { ...way, needs: [] } : way)),
  {
    thing: 'visualization',
    way: 'granted by itself in a new context',
    routes: ['POST /api/v1/share-contexts'],
    needs: ['visualizations:share'],
    denied: GIVING,
    async make(company) {
      const { _id } = await aSeen(company);
      const grants = [{ target_type: 'visualization', target_id: _id, filter_policies: [] }];
      return { arn: thingArn(company, 'visualization', _id), ask: post(CONTEXTS, { name: 'Circle', grants }) };
    },
  },
  about('its context', 'GET /api/v1/share-contexts/{id}', SEEN, async (company, id) =>
    get(`${CONTEXTS}/${(await contextOf(company, id)).id}`),
  ),
  about('its context, changed', 'PUT /api/v1/share-contexts/{id}', SEEN, async (company, id) =>
    put(`${CONTEXTS}/${(await contextOf(company, id)).id}`, { name: 'Renamed' }),
  ),
  about('its context without it', 'PUT /api/v1/share-contexts/{id}/grants', SEEN, async (company, id) =>
    put(`${CONTEXTS}/${(await contextOf(company, id)).id}/grants`, { grants: [] }),
  ),
  about('members of its context', 'GET /api/v1/share-contexts/{id}/members', SEEN, async (company, id) =>
    get(`${CONTEXTS}/${(await contextOf(company, id)).id}/members`),
  ),
  about('its context, deleted', 'DELETE /api/v1/share-contexts/{id}', ['dashboards:share'], async (company, id) =>
    remove(`${CONTEXTS}/${(await contextOf(company, id)).id}`),
  ),
  about(
    'a member of its context, removed',
    'DELETE /api/v1/share-contexts/{id}/members/{memberId}',
    ['dashboards:share'],
    async (company, id) => {
      const context = await contextOf(company, id);
      const member = await aMember(company.as, context.id, guest);
      return remove(`${CONTEXTS}/${context.id}/members/${member.id}`);
    },
  ),
  ...(
    [
      ['user', 'internal_user', async (company: Company) => (await aUser(company)).id],
      ['group', 'group', async (company: Company) => (await aConsoleGroup(company))._id],
    ] as const
  ).map(
    ([thing, member_type, made]): Way => ({
      thing,
      way: 'made a member of a context',
      routes: ['POST /api/v1/share-contexts/{id}/members'],
      besides: SHARING,
      denied: [`${thing}s:get`],
      async make(company) {
        const { dashboard } = await aPlaced(company);
        const member_id = await made(company);
        const path = `${CONTEXTS}/${(await contextOf(company, dashboard._id)).id}/members`;
        return { arn: thingArn(company, thing, member_id), ask: post(path, { member_type, member_id }) };
      },
    }),
  ),
  ...given('embedded', ['POST /api/v1/embed/dashboards/{id}'], async (_, id) => post(`/api/v1/embed/dashboards/${id}`)),
  {
    thing: 'visualization',
    way: 'embedded by itself',
    routes: ['POST /api/v1/embed/visualizations/{id}'],
    needs: ['visualizations:share'],
    denied: GIVING,
    async make(company) {
      const { _id } = await aSeen(company);
      return { arn: thingArn(company, 'visualization', _id), ask: post(`/api/v1/embed/visualizations/${_id}`) };
    },
  },
  ...(['dashboard', 'visualization'] as const).flatMap((thing) =>
    ['token', thing].map(
      (by): Way => ({
        thing,
        way: `its embeds ended, by ${by === 'token' ? 'the id of a token' : 'its own id'}`,
        routes: ['POST /api/v1/embed/revoke'],
        needs: [`${thing}s:share`],
        denied: [`${thing}s:share`],
        async make(company) {
          const { _id } = (await aPlaced(company))[thing];
          const id = by === 'token' ? (await makeEmbed(company, `${thing}s`, _id)).id : _id;
          return { arn: thingArn(company, thing, _id), ask: post('/api/v1/embed/revoke', { [`${by}_id`]: id }) };
        },
      }),
    ),
  ),
  ...ofAll('embeds of a viewer, ended', 'POST /api/v1/embed/revoke', async () =>
    post('/api/v1/embed/revoke', { viewer_id: 'viewer' }),
  ),
  ...ofAll('the key of embeds, rotated', 'POST /api/v1/embed/rotate-key', async () => post('/api/v1/embed/rotate-key')),
  ...ofAll('a signing key', 'POST /api/v1/embed/signing-keys', async (company) => {
    await withoutKeys(company);
    return post(SIGNING_KEYS);
  }).map((way): Way => ({ ...way, whatever: true })),
  ...ofAll('the signing keys', 'GET /api/v1/embed/signing-keys', async () => get(SIGNING_KEYS)),
  ...ofAll('a signing key, deleted', 'DELETE /api/v1/embed/signing-keys/{id}', async (company) => {
    await withoutKeys(company);
    return remove(`${SIGNING_KEYS}/${(await must(company.as.post(SIGNING_KEYS))).id}`);
  }),
  // A key shows everything: whoever is denied any of it makes none.
  ...(['dashboard', 'visualization'] as const).map(
    (thing): Way => ({
      thing,
      way: 'among all that a signing key shows',
      routes: ['POST /api/v1/embed/signing-keys'],
      besides: SHARING,
      denied: thing === 'dashboard' ? SEEN : GIVING,
      whatever: true,
      async make(company) {
        await withoutKeys(company);
        const { _id } = (await aPlaced(company))[thing];
        return { arn: thingArn(company, thing, _id), ask: post(SIGNING_KEYS) };
      },
    }),
  ),
  told('an event of it', 'GET /api/v1/share-events/{id}', ({ id }) => get(`${EVENTS}/${id}`)),
  told(
    'counted in analytics',
    'GET /api/v1/share-analytics',
    ({ share_id }) => get(`/api/v1/share-analytics?share_id=${share_id}`),
    ({ status, body }) => status === 200 && body.totals.executed === 1,
  ),
  ...portal(
    'shown',
    ['GET /api/v1/share-portal/dashboards/{id}', 'GET /api/v1/share-portal/{company_slug}/dashboards/{dashboard_slug}'],
    (path, contextId) => get(`${path}?context_id=${contextId}`),
  ),
  ...portal(
    'its options',
    [
      'GET /api/v1/share-portal/dashboards/{id}/filters/{filter_slug}/options',
      'GET /api/v1/share-portal/{company_slug}/dashboards/{dashboard_slug}/filters/{filter_slug}/options',
    ],
    (path, contextId) => get(`${path}/filters/regions/options?context_id=${contextId}`),
  ),
  ...portal('executed', EXECUTE_IN_PORTAL, (path, context_id) => post(`${path}/execute`, { context_id })),
  {
    thing: 'visualization',
    way: 'on a dashboard that is executed in the portal',
    routes: [EXECUTE_IN_PORTAL[0]],
    denied: ['visualizations:get', 'visualizations:execute'],
    async make(company, caller) {
      await caller.may([allow('*')]);
      const { dashboard, visualization } = await aPlaced(company);
      const { id } = await contextOf(company, dashboard._id);
      await aMember(company.as, id, { member_type: 'internal_user', member_id: caller.id });
      const ask = post(`${PORTAL}/dashboards/${dashboard._id}/execute`, { context_id: id });
      return { arn: thingArn(company, 'visualization', visualization._id), ask };
    },
    reached: holdsRows,
  },
];
