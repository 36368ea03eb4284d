import { beforeAll, describe, expect, it } from 'vitest';
import { createEmbedToken, createSigningKey, SIGNING_KEYS_PATH } from '../embeds/support.ts';
import {
  addContextMember,
  CONTEXTS_PATH,
  createPortalClient,
  createShareContext,
  makeDashboardGrant,
} from '../share-portal/support.ts';
import { createSalesTable, createShare } from '../shares/support.ts';
import type { ApiResponse } from '../support/api.ts';
import { type Company, createAllowedUser, createProvisionedCompany } from '../support/companies.ts';
import { createRacingEnv } from '../support/race.ts';
import { expectSuccess } from '../support/signed.ts';
import {
  DASHBOARDS_PATH,
  makeParameter,
  postDashboard,
  postVisualization,
  VISUALIZATIONS_PATH,
} from '../visualizations/support.ts';

const company = await createProvisionedCompany();
await createSalesTable(company);
const secretVisualization: { _id: string } = await postVisualization(
  company.as,
  'SELECT region FROM sales ORDER BY 1',
  { name: 'Secret' },
);
const openVisualization: { _id: string } = await postVisualization(company.as, 'SELECT count(*) FROM sales', {
  name: 'Open',
});
const dashboard: { _id: string } = await postDashboard(company.as, [secretVisualization, openVisualization]);

const ALL_ACTIONS = ['dashboards:*', 'visualizations:*'];

/** Creates a user with all permissions on dashboards and visualizations, except these actions on the secret visualization. */
const createDeniedUser = (...deniedActions: string[]) =>
  createAllowedUser(company, {
    can: ALL_ACTIONS,
    denied: deniedActions,
    deniedArns: [`arn:svc:visualizations::${company.id}:visualization/${secretVisualization._id}`],
  });
const createDashboardWith = (...visualizations: { _id: string }[]) =>
  visualizations.map(({ _id }, y) => ({ visualization_id: _id, x: 0, y, w: 4, h: 3 }));
/** Returns the rows of each result, or the code of its error. */
const readResults = ({ body }: ApiResponse) =>
  body.results.map(
    (result: { rows?: unknown; error?: { error_code: string } }) => result.error?.error_code ?? result.rows,
  );
const expectForbidden = ({ status, body }: ApiResponse) =>
  expect([status, body.error_code ?? body.error]).toEqual([403, 'FORBIDDEN']);

describe('a Deny on a visualization', () => {
  it('applies when a dashboard with it is executed, and fails no other widget', async () => {
    const { as } = await createDeniedUser('visualizations:execute');
    expectForbidden(await as.post(`${VISUALIZATIONS_PATH}/${secretVisualization._id}/execute`, { json: {} }));
    const answer = await as.post(`${DASHBOARDS_PATH}/${dashboard._id}/execute`, { json: {} });
    expect([answer.status, readResults(answer)]).toEqual([200, ['FORBIDDEN', [[6]]]]);
    expect(JSON.stringify(answer.body)).not.toContain('north');
    // Somebody without a Deny needs no Allow for what stands on a dashboard.
    const { as: reader } = await createAllowedUser(company, { can: ['dashboards:get'] });
    expect(readResults(await reader.post(`${DASHBOARDS_PATH}/${dashboard._id}/execute`, { json: {} }))).toEqual([
      expect.arrayContaining([['north']]),
      [[6]],
    ]);
  });

  it('applies in the portal, even if the result was cached for somebody else', async () => {
    const context = await createShareContext(company, [makeDashboardGrant(dashboard._id)]);
    const deniedUser = await createDeniedUser('visualizations:*');
    const permittedUser = await createAllowedUser(company);
    for (const { id } of [deniedUser, permittedUser])
      await addContextMember(company.as, context.id, { member_type: 'internal_user', member_id: id });
    const makePortal = ({ as }: typeof permittedUser) => createPortalClient(as, context.id, dashboard._id);
    const allResults = [expect.arrayContaining([['north']]), [[6]]];
    for (let round = 0; round < 2; round++) {
      expect(readResults(await makePortal(permittedUser).execute())).toEqual(allResults);
      expect(readResults(await makePortal(deniedUser).execute())).toEqual(['FORBIDDEN', [[6]]]);
    }
    expect((await makePortal(deniedUser).execute()).body.results[1].cached).toBe(true);
  });
});

// `findAccessFailures` asks for get and execute alike; test/contract/matrix tries a Deny of both on each way.
describe('the parameters of a visualization with a Deny of visualizations:get', () => {
  const UNKNOWN_PARAMETER = 'is not a parameter of this dashboard or visualization';
  let placedDashboard: { _id: string };
  let as: Company['as'];
  let userId: string;
  beforeAll(async () => {
    const parameters = [
      makeParameter('least', 'number'),
      makeParameter('kind', 'select'),
      makeParameter('top', 'number'),
    ];
    const sql = 'SELECT {{least}}::numeric, {{kind}}::text, {{top}}::numeric';
    const hiddenVisualization = await postVisualization(company.as, sql, { name: 'Hidden', parameters });
    const shownVisualization = await postVisualization(company.as, 'SELECT {{top}}::text', {
      parameters: [makeParameter('top', 'text')],
    });
    placedDashboard = await postDashboard(company.as, [hiddenVisualization, shownVisualization]);
    const deniedArns = [`arn:svc:visualizations::${company.id}:visualization/${hiddenVisualization._id}`];
    ({ as, id: userId } = await createAllowedUser(company, { can: ['*'], denied: ['visualizations:get'], deniedArns }));
  });
  /** Returns the answers to right and wrong values of the parameters, and to a parameter that does not exist. */
  const listAnswers = async (execute: (parameters: object) => Promise<ApiResponse>) => {
    const executions = [{ least: 3 }, { least: 'x' }, { kind: 'x' }, { nothing: 3 }].map(execute);
    return (await Promise.all(executions)).map(({ status, body }) => [status, body.details?.[0].message]);
  };
  const unknownAnswers = Array.from({ length: 4 }, () => [422, UNKNOWN_PARAMETER]);

  it('are unknown to the denied user where the dashboard is executed, but to nobody else', async () => {
    const makeExecutor = (caller: Company['as']) => (parameters: object) =>
      caller.post(`${DASHBOARDS_PATH}/${placedDashboard._id}/execute`, { json: { parameters } });
    expect(await listAnswers(makeExecutor(as))).toEqual(unknownAnswers);
    expect((await listAnswers(makeExecutor(company.as))).map(([status]) => status)).toEqual([200, 422, 200, 422]);
    expect(readResults(await makeExecutor(as)({ top: 'abc' }))).toEqual(['FORBIDDEN', [['abc']]]);
  });

  it('are unknown where the dashboard is executed in the portal', async () => {
    const context = await createShareContext(company, [makeDashboardGrant(placedDashboard._id)]);
    await addContextMember(company.as, context.id, { member_type: 'internal_user', member_id: userId });
    expect(await listAnswers(createPortalClient(as, context.id, placedDashboard._id).execute)).toEqual(unknownAnswers);
  });

  it('have no options', async () => {
    const readOptions = (caller: Company['as'], slug: string) =>
      caller.get(`${DASHBOARDS_PATH}/${placedDashboard._id}/filters/${slug}/options`);
    const answers = [await readOptions(as, 'kind'), await readOptions(as, 'nothing')];
    expect(answers.map(({ status, body }) => [status, body.error])).toEqual(
      Array.from({ length: 2 }, () => [404, 'FILTER_NOT_FOUND']),
    );
    expect((await readOptions(company.as, 'kind')).status).toBe(200);
  });

  it('are no candidates for embeds, but parameters of the same name of other visualizations are', async () => {
    const listCandidates = async (caller: Company['as']) =>
      (await expectSuccess(caller.get(`/api/v1/dashboards/${placedDashboard._id}/embed-parameter-candidates`))).records;
    const topCandidate = { slug: 'top', label: 'top', options_source: null };
    expect(await listCandidates(as)).toEqual([{ ...topCandidate, kind: 'text' }]);
    expect(await listCandidates(company.as)).toHaveLength(3);
  });

  it('are not revealed by the problems of a filter that does not fit them', async () => {
    const json = { filters: [makeParameter('least', 'text')] };
    const { _id } = await postDashboard(
      company.as,
      (await expectSuccess(as.get(`${DASHBOARDS_PATH}/${placedDashboard._id}`))).layout.map(
        ({ visualization_id }: { visualization_id: string }) => ({ _id: visualization_id }),
      ),
    );
    const { status, body } = await company.as.put(`${DASHBOARDS_PATH}/${_id}`, { json });
    expect([status, body.details[0].message]).toEqual([422, 'must be number, the kind of the parameter in "Hidden"']);
    expect((await as.put(`${DASHBOARDS_PATH}/${_id}`, { json })).status).toBe(200);
  });

  it('are not set by new filters, and are still set by the filters that existed before', async () => {
    const [hiddenPlace, shownPlace] = (await expectSuccess(as.get(`${DASHBOARDS_PATH}/${placedDashboard._id}`))).layout;
    const filtersBefore = [
      makeParameter('kind', 'text'),
      { ...makeParameter('least', 'number'), applies_to: [hiddenPlace.visualization_id] },
    ];
    const { _id } = await expectSuccess(
      company.as.post(DASHBOARDS_PATH, {
        json: { name: 'Both', layout: [hiddenPlace, shownPlace], filters: filtersBefore },
      }),
    );
    const path = `${DASHBOARDS_PATH}/${_id}`;
    const dashboardBefore = await expectSuccess(as.get(path));
    const changeFilters = async (json: object) => (await expectSuccess(as.put(path, { json }))).filters;
    const labelledFilters = dashboardBefore.filters.map((filter: object) => ({ ...filter, label: 'Other' }));
    expect(await changeFilters({ filters: labelledFilters })).toEqual(labelledFilters);
    const addedFilters = [makeParameter('top', 'text'), makeParameter('nothing', 'text')];
    const shownOnlyFields = { applies_to: [shownPlace.visualization_id] };
    expect(await changeFilters({ filters: [...labelledFilters, ...addedFilters] })).toMatchObject([
      ...labelledFilters,
      ...addedFilters.map((filter) => ({ ...filter, ...shownOnlyFields })),
    ]);
    expect(await changeFilters({ filters: [{ ...filtersBefore[1], kind: 'text' }] })).toMatchObject([
      { slug: 'least', applies_to: [] },
    ]);
    const { filters } = await expectSuccess(company.as.get(path));
    await expectSuccess(company.as.put(path, { json: { filters } }));
    const values = { parameters: { least: 'a' } };
    const { results } = await expectSuccess(company.as.post(`${path}/execute`, { json: values }));
    expect(results.map(({ rows }: { rows: unknown }) => rows)).toEqual([[[null, null, null]], [[null]]]);
  });

  it('are not set by existing filters on a dashboard to which the visualization is added', async () => {
    const [hidden, shown] = (await expectSuccess(as.get(`${DASHBOARDS_PATH}/${placedDashboard._id}`))).layout;
    const json = { name: 'Of one', layout: [shown], filters: [makeParameter('least', 'text')] };
    const path = `${DASHBOARDS_PATH}/${(await expectSuccess(company.as.post(DASHBOARDS_PATH, { json })))._id}`;
    const { status, body } = await as.put(path, { json: { layout: [hidden, shown] } });
    expect([status, body.filters[0].applies_to]).toEqual([200, [shown.visualization_id]]);
  });
});

describe('a dashboard that is composed', () => {
  const createTestDashboard = (as: Company['as'], json: Record<string, unknown>) =>
    as.post(DASHBOARDS_PATH, { json: { name: 'Made', ...json } });
  const makeDynamicFilter = (sql: string) => [{ ...makeParameter('region', 'select'), options: { sql } }];

  it('may have a visualization moved by a user who may not execute it', async () => {
    const { as } = await createDeniedUser('visualizations:execute');
    const movedDashboard = await as.put(`${DASHBOARDS_PATH}/${dashboard._id}`, {
      json: { layout: createDashboardWith(openVisualization, secretVisualization) },
    });
    expect(movedDashboard.status).toBe(200);
    await company.as.put(`${DASHBOARDS_PATH}/${dashboard._id}`, {
      json: { layout: createDashboardWith(secretVisualization, openVisualization) },
    });
  });

  it('gets SQL for filter options only from users who may write SQL', async () => {
    const { as } = await createAllowedUser(company, {
      can: ['dashboards:*', 'visualizations:execute', 'visualizations:share'],
    });
    const filters = makeDynamicFilter('SELECT region FROM sales');
    expectForbidden(await createTestDashboard(as, { filters }));
    const { _id } = await postDashboard(company.as, [], { filters });
    const changeFilters = (changedFilters: unknown) =>
      as.put(`${DASHBOARDS_PATH}/${_id}`, { json: { filters: changedFilters } });
    expectForbidden(await changeFilters(makeDynamicFilter('SELECT amount FROM sales')));
    expectForbidden(
      await changeFilters([...filters, { ...makeDynamicFilter('SELECT amount FROM sales')[0], slug: 'other' }]),
    );
    expect((await changeFilters([{ ...filters[0], label: 'Renamed' }])).status).toBe(200);
    expect((await changeFilters([{ ...filters[0], options: [] }])).status).toBe(200);
    const { as: author } = await createAllowedUser(company, { can: ['dashboards:*', 'visualizations:create'] });
    expect((await createTestDashboard(author, { filters })).status).toBe(201);
  });
});

describe('a dashboard that is shared with others', () => {
  /** Creates a user who may change dashboards and execute the visualizations on them, but may share neither. */
  const createEditor = async () =>
    (await createAllowedUser(company, { can: ['dashboards:*', 'visualizations:execute'] })).as;
  const addVisualization = (as: Company['as'], id: string) =>
    as.put(`${DASHBOARDS_PATH}/${id}`, {
      json: { layout: createDashboardWith(openVisualization, secretVisualization) },
    });
  const exposures: [string, (id: string) => Promise<unknown>][] = [
    ['a link', (id) => createShare(company, id)],
    ['a context', (id) => createShareContext(company, [makeDashboardGrant(id)])],
    ['an embed', (id) => createEmbedToken(company, 'dashboards', id)],
  ];

  it.each(exposures)(
    'through %s gets no visualization from a user who may not share the visualization',
    async (_what, exposeDashboard) => {
      const { _id } = await postDashboard(company.as, [openVisualization]);
      await exposeDashboard(_id);
      const as = await createEditor();
      expectForbidden(await addVisualization(as, _id));
      expect(
        (
          await as.put(`${DASHBOARDS_PATH}/${_id}`, {
            json: { layout: createDashboardWith(openVisualization), name: 'Moved' },
          })
        ).status,
      ).toBe(200);
      expect((await addVisualization(company.as, _id)).status).toBe(200);
    },
  );

  it.each(exposures)(
    'gets no visualization that its editor may not share when it is shared through %s at the same moment',
    async (_what, exposeDashboard) => {
      const { _id } = await postDashboard(company.as, [openVisualization]);
      const as = await createEditor();
      const racingEnv = createRacingEnv(/^update "dashboards"/i, () => exposeDashboard(_id));
      expectForbidden(
        await as.put(`${DASHBOARDS_PATH}/${_id}`, {
          json: { layout: createDashboardWith(openVisualization, secretVisualization) },
          env: racingEnv.env,
        }),
      );
      expect(racingEnv.hasRun()).toBe(true);
    },
  );

  it.each([
    [
      'a link',
      /insert into "dashboard_shares"/i,
      (as: Company['as'], id: string, env: Record<string, string>) =>
        as.post(`/api/v1/dashboards/${id}/shares`, { json: { share_type: 'link' }, env }),
    ],
    [
      'an embed',
      /update "dashboards"/i,
      (as: Company['as'], id: string, env: Record<string, string>) =>
        as.post(`/api/v1/embed/dashboards/${id}`, { json: {}, env }),
    ],
    [
      'a change of a link',
      /update "dashboard_shares"/i,
      async (as: Company['as'], id: string, env: Record<string, string>) =>
        as.put(`/api/v1/dashboard-shares/${(await createShare(company, id)).id}`, { json: { expires_at: null }, env }),
    ],
  ] as const)(
    'is not shared through %s by a user who may not share a visualization that was added at that moment',
    async (_what, pattern, share) => {
      const { _id } = await postDashboard(company.as, [openVisualization]);
      const { as } = await createDeniedUser('visualizations:share');
      const racingEnv = createRacingEnv(pattern, () => addVisualization(company.as, _id));
      expectForbidden(await share(as, _id, racingEnv.env));
      expect(racingEnv.hasRun()).toBe(true);
    },
  );

  it('gets no new member of a context from a user who may not share a visualization that was added at that moment', async () => {
    const { _id } = await postDashboard(company.as, [openVisualization]);
    const context = await createShareContext(company, [makeDashboardGrant(_id)]);
    const { as } = await createDeniedUser('visualizations:share');
    const racingEnv = createRacingEnv(/insert into "share_members"/i, () => addVisualization(company.as, _id));
    const json = { member_type: 'external_email', email: 'me@x.test' };
    const { status, body } = await as.post(`${CONTEXTS_PATH}/${context.id}/members`, { json, env: racingEnv.env });
    expect([status, body.error_code]).toEqual([409, 'CONFLICT']);
    expect(racingEnv.hasRun()).toBe(true);
    expect((await company.as.get(`${CONTEXTS_PATH}/${context.id}/members`)).body.records).toEqual([]);
  });

  it('gets no visualization from a user who may not share the visualization, while a token signing key exists', async () => {
    const { _id } = await postDashboard(company.as, [openVisualization]);
    const as = await createEditor();
    let key = { id: '' };
    const racingEnv = createRacingEnv(/^update "dashboards"/i, async () => {
      key = await createSigningKey(company);
    });
    expectForbidden(
      await as.put(`${DASHBOARDS_PATH}/${_id}`, {
        json: { layout: createDashboardWith(openVisualization, secretVisualization) },
        env: racingEnv.env,
      }),
    );
    expectForbidden(await addVisualization(as, _id));
    expect((await company.as.delete(`${SIGNING_KEYS_PATH}/${key.id}`)).status).toBe(204);
    expect((await addVisualization(as, _id)).status).toBe(200);
  });

  it('accepts visualizations again from a user who may not share, once its last share is revoked', async () => {
    const { _id } = await postDashboard(company.as, [openVisualization]);
    const share = await createShare(company, _id);
    await company.as.delete(`/api/v1/dashboard-shares/${share.id}`);
    expect((await addVisualization(await createEditor(), _id)).status).toBe(200);
  });
});
