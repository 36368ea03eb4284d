import { describe, expect, it } from 'vitest';
import { ENDPOINTS_PATH } from '../data-api/support.ts';
import { createEmbedToken, createSigningKey, REVOCATION_PATH, SIGNING_KEYS_PATH } from '../embeds/support.ts';
import {
  addContextMember,
  CONTEXTS_PATH,
  createPortalClient,
  createShareContext,
  makeDashboardGrant,
} from '../share-portal/support.ts';
import { createShare } from '../shares/support.ts';
import type { ApiResponse, Caller } from '../support/api.ts';
import { createAllowedUser, createOwnedCompany } from '../support/companies.ts';
import { selectRow, sendDuringRace } from '../support/race.ts';
import { expectSuccess } from '../support/signed.ts';
import {
  DASHBOARDS_PATH,
  makeParameter,
  postDashboard,
  postVisualization,
  VISUALIZATIONS_PATH,
} from '../visualizations/support.ts';

const SCHEDULES_PATH = '/v1/schedules';
const ALL_ACTIONS = ['dashboards:*', 'visualizations:*', 'viz_api_endpoints:*'];

const company = await createOwnedCompany();
/** A user who may change everything, but share nothing. */
const editor = (
  await createAllowedUser(company, { can: ALL_ACTIONS, denied: ['dashboards:share', 'visualizations:share'] })
).as;
/** A user who may change and share everything. */
const sharer = (await createAllowedUser(company, { can: ALL_ACTIONS })).as;

const readStatusAndCode = ({ status, body }: ApiResponse) => [status, body.error_code ?? body.error];
const FORBIDDEN_ERROR = [403, 'FORBIDDEN'];

const REGIONS_SQL = 'SELECT region FROM sales WHERE region = {{held}} [[AND region = ANY({{regions}})]]';
const regionsFilter = { ...makeParameter('regions', 'multi_select'), default: null };
const regionParameter = makeParameter('held', 'text', { viewer_attribute: 'region' });

/** Creates a dashboard with one visualization, whose viewers are restricted by a viewer attribute. */
async function createExposedDashboard(inCompany = company) {
  const chart = await postVisualization(inCompany.as, REGIONS_SQL, { parameters: [regionsFilter, regionParameter] });
  const dashboard = await postDashboard(inCompany.as, [chart], { filters: [regionsFilter, regionParameter] });
  return { of: inCompany, chart: chart._id as string, dashboard: dashboard._id as string };
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

/** All ways by which others may see a dashboard and the visualizations on it. */
const DASHBOARD_EXPOSURES: Record<string, (it: ExposedDashboard) => Promise<unknown>> = {
  'a link': ({ of, dashboard }) => createShare(of, dashboard),
  'a context': ({ of, dashboard }) => createShareContext(of, [makeDashboardGrant(dashboard)]),
  'an embed': ({ of, dashboard }) => createEmbedToken(of, 'dashboards', dashboard),
  'a schedule': (it) => expectSuccess(createSchedule(it, 'dashboard', it.dashboard)),
};
/** All ways by which others may see a visualization by itself. */
const VISUALIZATION_EXPOSURES: typeof DASHBOARD_EXPOSURES = {
  'a context of its own': ({ of, chart }) => createShareContext(of, [makeGrant('visualization', chart)]),
  'an embed of its own': ({ of, chart }) => createEmbedToken(of, 'visualizations', chart),
  'a schedule of its own': (it) => expectSuccess(createSchedule(it, 'visualization', it.chart)),
  'the Data API': ({ of, chart }) =>
    expectSuccess(
      of.as.post(ENDPOINTS_PATH, { json: { name: 'Published', slug: `of-${chart}`, visualization_id: chart } }),
    ),
};

/** All changes of a dashboard that change what others see. */
const DASHBOARD_CHANGES: Record<string, (it: ExposedDashboard) => object> = {
  layout: ({ chart }) => ({ layout: [{ visualization_id: chart, x: 1, y: 1, w: 4, h: 3 }] }),
  'no filters': () => ({ filters: [] }),
  'a filter without its viewer attribute': () => ({ filters: [regionsFilter, makeParameter('held', 'text')] }),
  'other options': () => ({
    filters: [{ ...regionsFilter, options: [{ label: 'North', value: 'north' }] }, regionParameter],
  }),
};
const VISUALIZATION_CHANGES: Record<string, (it: ExposedDashboard) => object> = {
  SQL: () => ({ sql: `${REGIONS_SQL} ORDER BY 1` }),
  'a parameter without its viewer attribute': () => ({ parameters: [regionsFilter, makeParameter('held', 'text')] }),
};

const putChange = (as: Caller, path: string, json: object, env?: Record<string, string>) => as.put(path, { json, env });

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
] as const)('%s that is shared with others', (_what, exposures, changes, makePath, table) => {
  it.each(Object.keys(exposures))('through %s is changed only by users who may share it', async (exposureName) => {
    const exposedDashboard = await createExposedDashboard();
    await exposures[exposureName]?.(exposedDashboard);
    for (const [name, makeChange] of Object.entries(changes)) {
      expect([
        name,
        readStatusAndCode(await putChange(editor, makePath(exposedDashboard), makeChange(exposedDashboard))),
      ]).toEqual([name, FORBIDDEN_ERROR]);
      expect([
        name,
        (await putChange(sharer, makePath(exposedDashboard), makeChange(exposedDashboard))).status,
      ]).toEqual([name, 200]);
      // What they do not change they may send along.
      const { description: _, ...same } = (await expectSuccess(company.as.get(makePath(exposedDashboard)))) as Record<
        string,
        unknown
      >;
      const changedFields = Object.fromEntries(
        Object.entries(same).filter(([field]) => ['layout', 'filters', 'sql', 'parameters', 'chart'].includes(field)),
      );
      expect(
        (await putChange(editor, makePath(exposedDashboard), { ...changedFields, description: `After ${name}` }))
          .status,
      ).toBe(200);
    }
  });

  it.each(Object.keys(exposures))(
    'shared through %s during a change is not changed by a user who may not share it',
    async (exposureName) => {
      const exposedDashboard = await createExposedDashboard();
      const [, makeChange] = Object.entries(changes)[1] as [string, (it: ExposedDashboard) => object];
      const answer = await sendDuringRace(
        new RegExp(`^update "${table}" set "(id|company_id|name)"`),
        async () => void (await exposures[exposureName]?.(exposedDashboard)),
        (env) => putChange(editor, makePath(exposedDashboard), makeChange(exposedDashboard), env),
      );
      expect(readStatusAndCode(answer)).toEqual(FORBIDDEN_ERROR);
    },
  );

  it('through a key to sign tokens is changed only by users who may share it', async () => {
    const of = await createOwnedCompany();
    const exposedDashboard = await createExposedDashboard(of);
    const { as } = await createAllowedUser(of, {
      can: ALL_ACTIONS,
      denied: ['dashboards:share', 'visualizations:share'],
    });
    const allChanges = Object.values(changes);
    const [first, second] = [allChanges[0]?.(exposedDashboard) ?? {}, allChanges[1]?.(exposedDashboard) ?? {}];
    const key = await createSigningKey(of);
    expect(readStatusAndCode(await putChange(as, makePath(exposedDashboard), first))).toEqual(FORBIDDEN_ERROR);
    await expectSuccess(of.as.delete(`${SIGNING_KEYS_PATH}/${key.id}`));
    expect((await putChange(as, makePath(exposedDashboard), first)).status).toBe(200);
    const answer = await sendDuringRace(
      new RegExp(`^update "${table}" set "(id|company_id|name)"`),
      () => createSigningKey(of),
      (env) => putChange(as, makePath(exposedDashboard), second, env),
    );
    expect(readStatusAndCode(answer)).toEqual(FORBIDDEN_ERROR);
  });

  it('can be changed by users who may edit but not share it once it is no longer shared', async () => {
    const exposedDashboard = await createExposedDashboard();
    const share = await createShare(company, exposedDashboard.dashboard);
    const context = await createShareContext(company, [
      makeDashboardGrant(exposedDashboard.dashboard),
      makeGrant('visualization', exposedDashboard.chart),
    ]);
    const deletedContext = await createShareContext(company, [
      makeDashboardGrant(exposedDashboard.dashboard),
      makeGrant('visualization', exposedDashboard.chart),
    ]);
    const { _id: endpoint } = await expectSuccess(
      company.as.post(ENDPOINTS_PATH, {
        json: { name: 'One', slug: `no-more-${table}`, visualization_id: exposedDashboard.chart },
      }),
    );
    const schedule = await expectSuccess(createSchedule(exposedDashboard, 'dashboard', exposedDashboard.dashboard));
    await createEmbedToken(company, 'dashboards', exposedDashboard.dashboard);
    await createEmbedToken(company, 'visualizations', exposedDashboard.chart);
    await expectSuccess(company.as.delete(`/api/v1/dashboard-shares/${share.id}`));
    await expectSuccess(company.as.put(`${CONTEXTS_PATH}/${context.id}/grants`, { json: { grants: [] } }));
    await expectSuccess(company.as.delete(`${CONTEXTS_PATH}/${deletedContext.id}`));
    await expectSuccess(company.as.put(`${ENDPOINTS_PATH}/${endpoint}`, { json: { status: 'inactive' } }));
    await expectSuccess(company.as.delete(`${SCHEDULES_PATH}/${schedule._id}`));
    const [, makeChange] = Object.entries(changes)[0] as [string, (it: ExposedDashboard) => object];
    expect(
      readStatusAndCode(await putChange(editor, makePath(exposedDashboard), makeChange(exposedDashboard))),
    ).toEqual(FORBIDDEN_ERROR);
    // A day after the tokens have expired.
    for (const kind of ['dashboards', 'visualizations']) {
      await selectRow(
        `update ${kind} set embedded_until = 1 where id in (?, ?)`,
        exposedDashboard.dashboard,
        exposedDashboard.chart,
      );
    }
    expect((await putChange(editor, makePath(exposedDashboard), makeChange(exposedDashboard))).status).toBe(200);
  });
});

describe('a dashboard or visualization that a user is denied', () => {
  const createDeniedUser = async (it: ExposedDashboard, action: string) => {
    const isDashboard = action.startsWith('dashboards:');
    const resource = isDashboard
      ? `dashboards::${company.id}:dashboard/${it.dashboard}`
      : `visualizations::${company.id}:visualization/${it.chart}`;
    return createAllowedUser(company, { can: ALL_ACTIONS, denied: [action], deniedArns: [`arn:svc:${resource}`] });
  };

  it.each(['dashboards:get', 'visualizations:get', 'visualizations:execute'])(
    'by a Deny of %s cannot be mailed by that user in any way',
    async (action) => {
      const exposedDashboard = await createExposedDashboard();
      const { as } = await createDeniedUser(exposedDashboard, action);
      const dashboardTarget = ['dashboard', exposedDashboard.dashboard] as const;
      const allTargets =
        action === 'dashboards:get'
          ? [dashboardTarget]
          : [dashboardTarget, ['visualization', exposedDashboard.chart] as const];
      for (const [type, id] of allTargets) {
        const path = `${SCHEDULES_PATH}/${(await expectSuccess(createSchedule(exposedDashboard, type, id)))._id}`;
        expect(readStatusAndCode(await createSchedule(exposedDashboard, type, id, as))).toEqual(FORBIDDEN_ERROR);
        expect(readStatusAndCode(await as.put(path, { json: { cron: '0 9 * * *' } }))).toEqual(FORBIDDEN_ERROR);
        expect(readStatusAndCode(await as.post(`${path}/run`))).toEqual(FORBIDDEN_ERROR);
      }
    },
  );

  it('can still be withdrawn from others by that user', async () => {
    const exposedDashboard = await createExposedDashboard();
    const share = await createShare(company, exposedDashboard.dashboard);
    const context = await createShareContext(company, [makeDashboardGrant(exposedDashboard.dashboard)]);
    const member = await addContextMember(company.as, context.id, {
      member_type: 'external_email',
      email: 'me@elsewhere.test',
    });
    const schedule = `${SCHEDULES_PATH}/${(await expectSuccess(createSchedule(exposedDashboard, 'dashboard', exposedDashboard.dashboard)))._id}`;
    const { as } = await createDeniedUser(exposedDashboard, 'dashboards:get');
    for (const answer of [
      await as.delete(`/api/v1/dashboard-shares/${share.id}`),
      await as.post(REVOCATION_PATH, { json: { dashboard_id: exposedDashboard.dashboard } }),
      await as.delete(`${CONTEXTS_PATH}/${context.id}/members/${member.id}`),
      await as.delete(`${CONTEXTS_PATH}/${context.id}`),
      await as.put(schedule, { json: { status: 'paused' } }),
      await as.delete(schedule),
    ]) {
      expect(answer.status).toBeLessThan(300);
    }
  });

  it('has no name in the portal for that user, on a dashboard that contains it', async () => {
    const exposedDashboard = await createExposedDashboard();
    const context = await createShareContext(company, [makeDashboardGrant(exposedDashboard.dashboard)]);
    const { id, as } = await createDeniedUser(exposedDashboard, 'visualizations:get');
    await addContextMember(company.as, context.id, {
      member_type: 'internal_user',
      member_id: id,
      attributes: { region: 'north' },
    });
    const { status, body } = await createPortalClient(as, context.id, exposedDashboard.dashboard).get();
    expect([status, body.charts]).toEqual([
      200,
      [
        {
          visualization_id: exposedDashboard.chart,
          name: '',
          description: '',
          chart: { type: 'table', x: null, y: [], series: null, options: {} },
        },
      ],
    ]);
  });
});
