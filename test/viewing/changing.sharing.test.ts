import { beforeAll, describe, expect, it } from 'vitest';
import { aPublished, ENDPOINTS_PATH } from '../data-api/support.ts';
import { anEmbed, aSigningKey, REVOCATION_PATH, SIGNING_KEYS_PATH } from '../embeds/support.ts';
import { aContext, aMember, CONTEXTS_PATH, dashboardGrant, inPortal } from '../share-portal/support.ts';
import { aShare, policy } from '../shares/support.ts';
import type { ApiResponse, Caller } from '../support/api.ts';
import { overtaken, rowOf } from '../support/rival.ts';
import { must } from '../support/signed.ts';
import { aCompany, aUser, type Company } from '../support/worlds.ts';
import {
  aDashboard,
  aVisualization,
  DASHBOARDS_PATH,
  parameter,
  VISUALIZATIONS_PATH,
} from '../visualizations/support.ts';

const SCHEDULES_PATH = '/v1/schedules';
const ALL_ACTIONS = ['dashboards:*', 'visualizations:*', 'viz_api_endpoints:*'];

let company: Company;
/** Who may change everything, and share nothing. */
let editor: Caller;
/** The same, and share everything. */
let sharer: Caller;
beforeAll(async () => {
  company = await aCompany();
  editor = (await aUser(company, { can: ALL_ACTIONS, denied: ['dashboards:share', 'visualizations:share'] })).as;
  sharer = (await aUser(company, { can: ALL_ACTIONS })).as;
});

const codeOf = ({ status, body }: ApiResponse) => [status, body.error_code ?? body.error];
const FORBIDDEN = [403, 'FORBIDDEN'];

const SQL = 'SELECT region FROM sales WHERE region = {{held}} [[AND region = ANY({{regions}})]]';
const regions = { ...parameter('regions', 'multi_select'), default: null };
const regionParameter = parameter('held', 'text', { viewer_attribute: 'region' });

/** A dashboard with one visualization, whose viewers are held to an attribute of theirs. */
async function anExposedDashboard(of = company) {
  const chart = await aVisualization(of.as, SQL, { parameters: [regions, regionParameter] });
  const dashboard = await aDashboard(of.as, [chart], { filters: [regions, regionParameter] });
  return { of, chart: chart._id as string, dashboard: dashboard._id as string };
}
type ExposedDashboard = Awaited<ReturnType<typeof anExposedDashboard>>;

const grant = (target_type: string, target_id: string) => ({ target_type, target_id, filter_policies: [] });
const aSchedule = ({ of }: ExposedDashboard, target_type: string, target_id: string, as = of.as) =>
  as.post(SCHEDULES_PATH, {
    json: {
      name: 'Daily',
      target_type,
      target_id,
      cron: '0 8 * * *',
      recipients: [{ user_id: of.owner.id }],
      parameters: { held: 'north' },
    },
  });

/** Everything by which others see a dashboard, and the visualizations on it. */
const DASHBOARD_EXPOSURES: Record<string, (it: ExposedDashboard) => Promise<unknown>> = {
  'a link': ({ of, dashboard }) => aShare(of, dashboard),
  'a context': ({ of, dashboard }) => aContext(of, [dashboardGrant(dashboard)]),
  'an embed': ({ of, dashboard }) => anEmbed(of, 'dashboards', dashboard),
  'a schedule': (it) => must(aSchedule(it, 'dashboard', it.dashboard)),
};
/** The same for a visualization by itself. */
const VISUALIZATION_EXPOSURES: typeof DASHBOARD_EXPOSURES = {
  'a context of its own': ({ of, chart }) => aContext(of, [grant('visualization', chart)]),
  'an embed of its own': ({ of, chart }) => anEmbed(of, 'visualizations', chart),
  'a schedule of its own': (it) => must(aSchedule(it, 'visualization', it.chart)),
  'the Data API': ({ of, chart }) =>
    must(of.as.post(ENDPOINTS_PATH, { json: { name: 'Published', slug: `of-${chart}`, visualization_id: chart } })),
};

/** All changes of what others see. */
const DASHBOARD_CHANGES: Record<string, (it: ExposedDashboard) => object> = {
  layout: ({ chart }) => ({ layout: [{ visualization_id: chart, x: 1, y: 1, w: 4, h: 3 }] }),
  'no filters': () => ({ filters: [] }),
  'a filter without its viewer attribute': () => ({ filters: [regions, parameter('held', 'text')] }),
  'other options': () => ({
    filters: [{ ...regions, options: [{ label: 'North', value: 'north' }] }, regionParameter],
  }),
};
const VISUALIZATION_CHANGES: Record<string, (it: ExposedDashboard) => object> = {
  SQL: () => ({ sql: `${SQL} ORDER BY 1` }),
  'a parameter without its viewer attribute': () => ({ parameters: [regions, parameter('held', 'text')] }),
};

const change = (as: Caller, path: string, json: object, env?: Record<string, string>) =>
  as.put(path, { json, ...(env && { env }) });

describe.each([
  [
    'a dashboard',
    DASHBOARD_EXPOSURES,
    DASHBOARD_CHANGES,
    (it: ExposedDashboard) => `${DASHBOARDS_PATH}/${it.dashboard}`,
    'dashboards',
  ],
  [
    'a visualization',
    { ...DASHBOARD_EXPOSURES, ...VISUALIZATION_EXPOSURES },
    VISUALIZATION_CHANGES,
    (it: ExposedDashboard) => `${VISUALIZATIONS_PATH}/${it.chart}`,
    'visualizations',
  ],
] as const)('%s that is shared with others', (_what, ways, changes, pathOf, table) => {
  it.each(Object.keys(ways))('through %s is changed only by users who may share it', async (way) => {
    const made = await anExposedDashboard();
    await ways[way]?.(made);
    for (const [name, changed] of Object.entries(changes)) {
      expect([name, codeOf(await change(editor, pathOf(made), changed(made)))]).toEqual([name, FORBIDDEN]);
      expect([name, (await change(sharer, pathOf(made), changed(made))).status]).toEqual([name, 200]);
      // What they do not change they may send along.
      const { description: _, ...same } = (await must(company.as.get(pathOf(made)))) as Record<string, unknown>;
      const sent = Object.fromEntries(
        Object.entries(same).filter(([field]) => ['layout', 'filters', 'sql', 'parameters', 'chart'].includes(field)),
      );
      expect((await change(editor, pathOf(made), { ...sent, description: `After ${name}` })).status).toBe(200);
    }
  });

  it.each(Object.keys(ways))('through %s during a change is not changed by who may not share it', async (way) => {
    const made = await anExposedDashboard();
    const [, changed] = Object.entries(changes)[1] as [string, (it: ExposedDashboard) => object];
    const answer = await overtaken(
      new RegExp(`^update "${table}" set "(id|company_id|name)"`),
      async () => void (await ways[way]?.(made)),
      (env) => change(editor, pathOf(made), changed(made), env),
    );
    expect(codeOf(answer)).toEqual(FORBIDDEN);
  });

  it('through a key to sign tokens is changed only by users who may share it', async () => {
    const of = await aCompany();
    const made = await anExposedDashboard(of);
    const { as } = await aUser(of, { can: ALL_ACTIONS, denied: ['dashboards:share', 'visualizations:share'] });
    const all = Object.values(changes);
    const [first, second] = [all[0]?.(made) ?? {}, all[1]?.(made) ?? {}];
    const key = await aSigningKey(of);
    expect(codeOf(await change(as, pathOf(made), first))).toEqual(FORBIDDEN);
    await must(of.as.delete(`${SIGNING_KEYS_PATH}/${key.id}`));
    expect((await change(as, pathOf(made), first)).status).toBe(200);
    const answer = await overtaken(
      new RegExp(`^update "${table}" set "(id|company_id|name)"`),
      () => aSigningKey(of),
      (env) => change(as, pathOf(made), second, env),
    );
    expect(codeOf(answer)).toEqual(FORBIDDEN);
  });

  it('no longer can be changed by users who may edit but not share it', async () => {
    const made = await anExposedDashboard();
    const share = await aShare(company, made.dashboard);
    const context = await aContext(company, [dashboardGrant(made.dashboard), grant('visualization', made.chart)]);
    const deleted = await aContext(company, [dashboardGrant(made.dashboard), grant('visualization', made.chart)]);
    const { _id: endpoint } = await must(
      company.as.post(ENDPOINTS_PATH, {
        json: { name: 'One', slug: `no-more-${table}`, visualization_id: made.chart },
      }),
    );
    const schedule = await must(aSchedule(made, 'dashboard', made.dashboard));
    await anEmbed(company, 'dashboards', made.dashboard);
    await anEmbed(company, 'visualizations', made.chart);
    await must(company.as.delete(`/api/v1/dashboard-shares/${share.id}`));
    await must(company.as.put(`${CONTEXTS_PATH}/${context.id}/grants`, { json: { grants: [] } }));
    await must(company.as.delete(`${CONTEXTS_PATH}/${deleted.id}`));
    await must(company.as.put(`${ENDPOINTS_PATH}/${endpoint}`, { json: { status: 'inactive' } }));
    await must(company.as.delete(`${SCHEDULES_PATH}/${schedule._id}`));
    const [, changed] = Object.entries(changes)[0] as [string, (it: ExposedDashboard) => object];
    expect(codeOf(await change(editor, pathOf(made), changed(made)))).toEqual(FORBIDDEN);
    // A day after the tokens have expired.
    for (const each of ['dashboards', 'visualizations']) {
      await rowOf(`update ${each} set embedded_until = 1 where id in (?, ?)`, made.dashboard, made.chart);
    }
    expect((await change(editor, pathOf(made), changed(made))).status).toBe(200);
  });
});

describe('a dashboard or visualization that a user is denied', () => {
  type Give = (as: Caller, it: ExposedDashboard, known: Known) => Promise<ApiResponse>;
  interface Known {
    share: string;
    context: string;
    schedule: string;
    endpoint: string;
    visualizationSchedule: string;
  }
  const email = 'me@elsewhere.test';
  const join: Give = (as, _, { context }) =>
    as.post(`${CONTEXTS_PATH}/${context}/members`, { json: { member_type: 'external_email', email } });
  /** All that gives the dashboard to others, or tells of how it is given. */
  const OF_DASHBOARD: Record<string, Give> = {
    'a link': (as, it) => as.post(`/api/v1/dashboards/${it.dashboard}/shares`, { json: { share_type: 'link' } }),
    'a changed link': (as, _, { share }) => as.put(`/api/v1/dashboard-shares/${share}`, { json: { expires_at: null } }),
    'an embed': (as, it) => as.post(`/api/v1/embed/dashboards/${it.dashboard}`, { json: {} }),
    'a context': (as, it) => as.post(CONTEXTS_PATH, { json: { name: 'New', grants: [dashboardGrant(it.dashboard)] } }),
    'grants of a context': (as, it, { context }) =>
      as.put(`${CONTEXTS_PATH}/${context}/grants`, { json: { grants: [dashboardGrant(it.dashboard)] } }),
    'a member': join,
    'a signing key': (as) => as.post(SIGNING_KEYS_PATH),
    'a schedule': (as, it) => aSchedule(it, 'dashboard', it.dashboard, as),
    'a changed schedule': (as, _, { schedule }) =>
      as.put(`${SCHEDULES_PATH}/${schedule}`, { json: { cron: '0 9 * * *' } }),
    'a run of a schedule': (as, _, { schedule }) => as.post(`${SCHEDULES_PATH}/${schedule}/run`),
  };
  const TOLD: Record<string, Give> = {
    'its shares': (as, it) => as.get(`/api/v1/dashboards/${it.dashboard}/shares`),
    'a share': (as, _, { share }) => as.get(`/api/v1/dashboard-shares/${share}`),
    'a share by its new name': (as, _, { share }) =>
      as.put(`/api/v1/dashboard-shares/${share}`, { json: { name: 'Other' } }),
    'its filters': (as, it) => as.get(`/api/v1/dashboards/${it.dashboard}/share-filter-candidates`),
    'its parameters': (as, it) => as.get(`/api/v1/dashboards/${it.dashboard}/embed-parameter-candidates`),
    'a context': (as, _, { context }) => as.get(`${CONTEXTS_PATH}/${context}`),
    'a context by its new name': (as, _, { context }) =>
      as.put(`${CONTEXTS_PATH}/${context}`, { json: { name: 'Other' } }),
    'the members of a context': (as, _, { context }) => as.get(`${CONTEXTS_PATH}/${context}/members`),
  };
  const OF_VISUALIZATION: Record<string, Give> = {
    'an embed of the visualization': (as, it) => as.post(`/api/v1/embed/visualizations/${it.chart}`, { json: {} }),
    'a grant of the visualization': (as, it) =>
      as.post(CONTEXTS_PATH, { json: { name: 'New', grants: [grant('visualization', it.chart)] } }),
    'a schedule of the visualization': (as, it) => aSchedule(it, 'visualization', it.chart, as),
    'a run of a schedule of the visualization': (as, _, { visualizationSchedule }) =>
      as.post(`${SCHEDULES_PATH}/${visualizationSchedule}/run`),
    'an endpoint': (as, it) =>
      as.post(ENDPOINTS_PATH, { json: { name: 'One', slug: `denied-${it.chart}`, visualization_id: it.chart } }),
    'an active endpoint': (as, _, { endpoint }) =>
      as.put(`${ENDPOINTS_PATH}/${endpoint}`, { json: { status: 'active' } }),
  };

  async function known(it: ExposedDashboard): Promise<Known> {
    const { as } = it.of;
    const { _id: endpoint } = await aPublished(it.of, 'SELECT 1 AS one', { status: 'inactive' });
    await must(as.put(`${ENDPOINTS_PATH}/${endpoint}`, { json: { visualization_id: it.chart } }));
    return {
      share: (await aShare(it.of, it.dashboard)).id,
      context: (await aContext(it.of, [dashboardGrant(it.dashboard)])).id,
      schedule: (await must(aSchedule(it, 'dashboard', it.dashboard)))._id,
      visualizationSchedule: (await must(aSchedule(it, 'visualization', it.chart)))._id,
      endpoint,
    };
  }

  const denied = async (it: ExposedDashboard, action: string) => {
    const isDashboard = action.startsWith('dashboards:');
    const resource = isDashboard
      ? `dashboards::${company.id}:dashboard/${it.dashboard}`
      : `visualizations::${company.id}:visualization/${it.chart}`;
    return aUser(company, { can: ALL_ACTIONS, denied: [action], deniedOn: [`arn:svc:${resource}`] });
  };

  it.each([
    ['dashboards:get', { ...OF_DASHBOARD, ...TOLD }],
    ['visualizations:get', { ...OF_DASHBOARD, ...OF_VISUALIZATION }],
    ['visualizations:execute', { ...OF_DASHBOARD, ...OF_VISUALIZATION }],
  ])('by a Deny of %s cannot be shared by that user in any way', async (action, ways) => {
    const made = await anExposedDashboard();
    const before = await known(made);
    const { as } = await denied(made, action);
    for (const [way, give] of Object.entries(ways)) {
      expect([way, codeOf(await give(as, made, before))]).toEqual([way, FORBIDDEN]);
    }
  });

  it('can still be taken back from others by that user', async () => {
    const made = await anExposedDashboard();
    const before = await known(made);
    const member = await aMember(company.as, before.context, { member_type: 'external_email', email });
    const { as } = await denied(made, 'dashboards:get');
    for (const answer of [
      await as.delete(`/api/v1/dashboard-shares/${before.share}`),
      await as.post(REVOCATION_PATH, { json: { dashboard_id: made.dashboard } }),
      await as.delete(`${CONTEXTS_PATH}/${before.context}/members/${member.id}`),
      await as.delete(`${CONTEXTS_PATH}/${before.context}`),
      await as.put(`${SCHEDULES_PATH}/${before.schedule}`, { json: { status: 'paused' } }),
      await as.delete(`${SCHEDULES_PATH}/${before.schedule}`),
    ]) {
      expect(answer.status).toBeLessThan(300);
    }
  });

  it('is not read by that user in the portal', async () => {
    const made = await anExposedDashboard();
    const context = await aContext(company, [
      dashboardGrant(made.dashboard, [policy('regions', 'selectable', ['north'])]),
    ]);
    const { id, as } = await denied(made, 'dashboards:get');
    const { id: other, as: free } = await aUser(company);
    for (const member_id of [id, other])
      await aMember(company.as, context.id, { member_type: 'internal_user', member_id });
    const { slug } = await must(company.as.get(`${DASHBOARDS_PATH}/${made.dashboard}`));
    const bySlug = `/api/v1/share-portal/${company.slug}/dashboards/${slug}`;
    const portal = inPortal(as, context.id, made.dashboard);
    for (const answer of [
      await portal.get(),
      await portal.options('regions'),
      await portal.execute(),
      await as.get(`${bySlug}?context_id=${context.id}`),
      await as.get(`${bySlug}/filters/regions/options?context_id=${context.id}`),
      await as.post(`${bySlug}/execute`, { json: { context_id: context.id } }),
    ]) {
      expect(codeOf(answer)).toEqual(FORBIDDEN);
    }
    expect((await inPortal(free, context.id, made.dashboard).get()).status).toBe(200);
  });

  it('has no name in the portal for that user, on a dashboard that shows it', async () => {
    const made = await anExposedDashboard();
    const context = await aContext(company, [dashboardGrant(made.dashboard)]);
    const { id, as } = await denied(made, 'visualizations:get');
    await aMember(company.as, context.id, {
      member_type: 'internal_user',
      member_id: id,
      attributes: { region: 'north' },
    });
    const { status, body } = await inPortal(as, context.id, made.dashboard).get();
    expect([status, body.charts]).toEqual([
      200,
      [
        {
          visualization_id: made.chart,
          name: '',
          description: '',
          chart: { type: 'table', x: null, y: [], series: null, options: {} },
        },
      ],
    ]);
  });
});
