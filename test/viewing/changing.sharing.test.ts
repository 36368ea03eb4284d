import { beforeAll, describe, expect, it } from 'vitest';
import { ENDPOINTS_PATH } from '../data-api/support.ts';
import { createEmbed, createSigningKey, REVOCATION_PATH, SIGNING_KEYS_PATH } from '../embeds/support.ts';
import { aContext, aMember, CONTEXTS_PATH, dashboardGrant, inPortal } from '../share-portal/support.ts';
import { aShare } from '../shares/support.ts';
import type { ApiResponse, Caller } from '../support/api.ts';
import { selectRow, sendOvertaken } from '../support/rival.ts';
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

const readStatusAndCode = ({ status, body }: ApiResponse) => [status, body.error_code ?? body.error];
const FORBIDDEN = [403, 'FORBIDDEN'];

const SQL = 'SELECT region FROM sales WHERE region = {{held}} [[AND region = ANY({{regions}})]]';
const regions = { ...parameter('regions', 'multi_select'), default: null };
const regionParameter = parameter('held', 'text', { viewer_attribute: 'region' });

/** A dashboard with one visualization, whose viewers are held to an attribute of theirs. */
async function createExposedDashboard(of = company) {
  const chart = await aVisualization(of.as, SQL, { parameters: [regions, regionParameter] });
  const dashboard = await aDashboard(of.as, [chart], { filters: [regions, regionParameter] });
  return { of, chart: chart._id as string, dashboard: dashboard._id as string };
}
type ExposedDashboard = Awaited<ReturnType<typeof createExposedDashboard>>;

const makeGrant = (target_type: string, target_id: string) => ({ target_type, target_id, filter_policies: [] });
const createSchedule = ({ of }: ExposedDashboard, target_type: string, target_id: string, as = of.as) =>
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
  'an embed': ({ of, dashboard }) => createEmbed(of, 'dashboards', dashboard),
  'a schedule': (it) => must(createSchedule(it, 'dashboard', it.dashboard)),
};
/** The same for a visualization by itself. */
const VISUALIZATION_EXPOSURES: typeof DASHBOARD_EXPOSURES = {
  'a context of its own': ({ of, chart }) => aContext(of, [makeGrant('visualization', chart)]),
  'an embed of its own': ({ of, chart }) => createEmbed(of, 'visualizations', chart),
  'a schedule of its own': (it) => must(createSchedule(it, 'visualization', it.chart)),
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

const putChange = (as: Caller, path: string, json: object, env?: Record<string, string>) =>
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
    const made = await createExposedDashboard();
    await ways[way]?.(made);
    for (const [name, changed] of Object.entries(changes)) {
      expect([name, readStatusAndCode(await putChange(editor, pathOf(made), changed(made)))]).toEqual([
        name,
        FORBIDDEN,
      ]);
      expect([name, (await putChange(sharer, pathOf(made), changed(made))).status]).toEqual([name, 200]);
      // What they do not change they may send along.
      const { description: _, ...same } = (await must(company.as.get(pathOf(made)))) as Record<string, unknown>;
      const sent = Object.fromEntries(
        Object.entries(same).filter(([field]) => ['layout', 'filters', 'sql', 'parameters', 'chart'].includes(field)),
      );
      expect((await putChange(editor, pathOf(made), { ...sent, description: `After ${name}` })).status).toBe(200);
    }
  });

  it.each(Object.keys(ways))('through %s during a change is not changed by who may not share it', async (way) => {
    const made = await createExposedDashboard();
    const [, changed] = Object.entries(changes)[1] as [string, (it: ExposedDashboard) => object];
    const answer = await sendOvertaken(
      new RegExp(`^update "${table}" set "(id|company_id|name)"`),
      async () => void (await ways[way]?.(made)),
      (env) => putChange(editor, pathOf(made), changed(made), env),
    );
    expect(readStatusAndCode(answer)).toEqual(FORBIDDEN);
  });

  it('through a key to sign tokens is changed only by users who may share it', async () => {
    const of = await aCompany();
    const made = await createExposedDashboard(of);
    const { as } = await aUser(of, { can: ALL_ACTIONS, denied: ['dashboards:share', 'visualizations:share'] });
    const all = Object.values(changes);
    const [first, second] = [all[0]?.(made) ?? {}, all[1]?.(made) ?? {}];
    const key = await createSigningKey(of);
    expect(readStatusAndCode(await putChange(as, pathOf(made), first))).toEqual(FORBIDDEN);
    await must(of.as.delete(`${SIGNING_KEYS_PATH}/${key.id}`));
    expect((await putChange(as, pathOf(made), first)).status).toBe(200);
    const answer = await sendOvertaken(
      new RegExp(`^update "${table}" set "(id|company_id|name)"`),
      () => createSigningKey(of),
      (env) => putChange(as, pathOf(made), second, env),
    );
    expect(readStatusAndCode(answer)).toEqual(FORBIDDEN);
  });

  it('no longer can be changed by users who may edit but not share it', async () => {
    const made = await createExposedDashboard();
    const share = await aShare(company, made.dashboard);
    const context = await aContext(company, [dashboardGrant(made.dashboard), makeGrant('visualization', made.chart)]);
    const deleted = await aContext(company, [dashboardGrant(made.dashboard), makeGrant('visualization', made.chart)]);
    const { _id: endpoint } = await must(
      company.as.post(ENDPOINTS_PATH, {
        json: { name: 'One', slug: `no-more-${table}`, visualization_id: made.chart },
      }),
    );
    const schedule = await must(createSchedule(made, 'dashboard', made.dashboard));
    await createEmbed(company, 'dashboards', made.dashboard);
    await createEmbed(company, 'visualizations', made.chart);
    await must(company.as.delete(`/api/v1/dashboard-shares/${share.id}`));
    await must(company.as.put(`${CONTEXTS_PATH}/${context.id}/grants`, { json: { grants: [] } }));
    await must(company.as.delete(`${CONTEXTS_PATH}/${deleted.id}`));
    await must(company.as.put(`${ENDPOINTS_PATH}/${endpoint}`, { json: { status: 'inactive' } }));
    await must(company.as.delete(`${SCHEDULES_PATH}/${schedule._id}`));
    const [, changed] = Object.entries(changes)[0] as [string, (it: ExposedDashboard) => object];
    expect(readStatusAndCode(await putChange(editor, pathOf(made), changed(made)))).toEqual(FORBIDDEN);
    // A day after the tokens have expired.
    for (const each of ['dashboards', 'visualizations']) {
      await selectRow(`update ${each} set embedded_until = 1 where id in (?, ?)`, made.dashboard, made.chart);
    }
    expect((await putChange(editor, pathOf(made), changed(made))).status).toBe(200);
  });
});

describe('a dashboard or visualization that a user is denied', () => {
  const denied = async (it: ExposedDashboard, action: string) => {
    const isDashboard = action.startsWith('dashboards:');
    const resource = isDashboard
      ? `dashboards::${company.id}:dashboard/${it.dashboard}`
      : `visualizations::${company.id}:visualization/${it.chart}`;
    return aUser(company, { can: ALL_ACTIONS, denied: [action], deniedOn: [`arn:svc:${resource}`] });
  };

  it.each(['dashboards:get', 'visualizations:get', 'visualizations:execute'])(
    'by a Deny of %s cannot be mailed by that user in any way',
    async (action) => {
      const made = await createExposedDashboard();
      const { as } = await denied(made, action);
      const onDashboard = ['dashboard', made.dashboard] as const;
      const all = action === 'dashboards:get' ? [onDashboard] : [onDashboard, ['visualization', made.chart] as const];
      for (const [type, id] of all) {
        const path = `${SCHEDULES_PATH}/${(await must(createSchedule(made, type, id)))._id}`;
        expect(readStatusAndCode(await createSchedule(made, type, id, as))).toEqual(FORBIDDEN);
        expect(readStatusAndCode(await as.put(path, { json: { cron: '0 9 * * *' } }))).toEqual(FORBIDDEN);
        expect(readStatusAndCode(await as.post(`${path}/run`))).toEqual(FORBIDDEN);
      }
    },
  );

  it('can still be taken back from others by that user', async () => {
    const made = await createExposedDashboard();
    const share = await aShare(company, made.dashboard);
    const context = await aContext(company, [dashboardGrant(made.dashboard)]);
    const member = await aMember(company.as, context.id, { member_type: 'external_email', email: 'me@elsewhere.test' });
    const schedule = `${SCHEDULES_PATH}/${(await must(createSchedule(made, 'dashboard', made.dashboard)))._id}`;
    const { as } = await denied(made, 'dashboards:get');
    for (const answer of [
      await as.delete(`/api/v1/dashboard-shares/${share.id}`),
      await as.post(REVOCATION_PATH, { json: { dashboard_id: made.dashboard } }),
      await as.delete(`${CONTEXTS_PATH}/${context.id}/members/${member.id}`),
      await as.delete(`${CONTEXTS_PATH}/${context.id}`),
      await as.put(schedule, { json: { status: 'paused' } }),
      await as.delete(schedule),
    ]) {
      expect(answer.status).toBeLessThan(300);
    }
  });

  it('has no name in the portal for that user, on a dashboard that shows it', async () => {
    const made = await createExposedDashboard();
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
