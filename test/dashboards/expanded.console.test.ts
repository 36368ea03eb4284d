import { describe, expect, it } from 'vitest';
import { createShare } from '../shares/support.ts';
import type { Caller } from '../support/api.ts';
import { createAllowedUser, createOwnedCompany, createProvisionedCompany } from '../support/companies.ts';
import {
  createSalesTable,
  DASHBOARDS_PATH,
  makeParameter,
  postDashboard,
  postVisualization,
  VISUALIZATIONS_PATH,
} from '../visualizations/support.ts';

const company = await createProvisionedCompany();
await createSalesTable(company);

const makeRegionFilter = (overrides: Record<string, unknown> = {}) => makeParameter('region', 'select', overrides);
const sql = 'SELECT DISTINCT region, upper(region) FROM sales ORDER BY 1';

/** Creates a user with permissions for some actions, who is denied other actions on one resource. */
const createDeniedUser = async (allowedActions: string[], actions: string[], type: string, id: string) =>
  (
    await createAllowedUser(company, {
      can: allowedActions,
      denied: actions,
      deniedArns: [`arn:svc:${type}s::${company.id}:${type}/${id}`],
    })
  ).as;

describe('a dashboard that is read with its charts', () => {
  const readDashboard = (id: string, as: Caller = company.as, query = '?include=charts') =>
    as.get(`${DASHBOARDS_PATH}/${id}${query}`);

  it('contains the fields of each visualization that a share link shows, in the order of the layout', async () => {
    const chart = { type: 'bar', x: 'region', y: ['total'], series: null, options: { stacked: true } };
    const firstVisualization = await postVisualization(company.as, 'SELECT 1', {
      name: 'One',
      description: 'First',
      chart,
    });
    const secondVisualization = await postVisualization(company.as, 'SELECT 2', { name: 'Two' });
    const { _id } = await postDashboard(company.as, [secondVisualization, firstVisualization, secondVisualization]);
    const { status, body } = await readDashboard(_id);
    expect(status).toBe(200);
    const plainDashboard = (await readDashboard(_id, company.as, '')).body;
    expect(plainDashboard).not.toHaveProperty('charts');
    expect(body).toEqual({
      ...plainDashboard,
      charts: [
        { visualization_id: secondVisualization._id, name: 'Two', description: '', chart: secondVisualization.chart },
        { visualization_id: firstVisualization._id, name: 'One', description: 'First', chart },
      ],
    });
    const { token } = await createShare(company, _id);
    const { dashboard } = (await company.as.get(`/api/v1/public/shares/${token}/resolve`)).body;
    const sortById = (charts: { visualization_id: string }[]) =>
      new Map(charts.map((listedChart) => [listedChart.visualization_id, listedChart]));
    expect(sortById(dashboard.charts)).toEqual(sortById(body.charts));
    const { as } = await createAllowedUser(company, { can: ['dashboards:get'] });
    expect((await readDashboard(_id, as)).body.charts).toEqual(body.charts);
    expect((await readDashboard(_id, company.as, '?include=results')).status).toBe(422);
    expect((await readDashboard('f'.repeat(24))).body.error).toBe('DASHBOARD_NOT_FOUND');
    expect((await readDashboard(_id, (await createOwnedCompany()).as)).body.error).toBe('DASHBOARD_NOT_FOUND');
  });

  it.each([['visualizations:get'], ['visualizations:execute']])(
    'leaves out a chart that the caller is denied by %s',
    async (action) => {
      const [openVisualization, secret] = [
        await postVisualization(company.as, 'SELECT 1'),
        await postVisualization(company.as, 'SELECT 2'),
      ];
      const { _id } = await postDashboard(company.as, [secret, openVisualization]);
      const as = await createDeniedUser(['dashboards:get'], [action], 'visualization', secret._id);
      const { charts } = (await readDashboard(_id, as)).body;
      expect(charts.map((listedChart: { visualization_id: string }) => listedChart.visualization_id)).toEqual([
        openVisualization._id,
      ]);
    },
  );

  it("has an ETag of its own, which writes accept like the dashboard's ETag", async () => {
    const createdVisualization = await postVisualization(company.as, 'SELECT 1', { name: 'One' });
    const { _id } = await postDashboard(company.as, [createdVisualization]);
    const path = `${DASHBOARDS_PATH}/${_id}`;
    const readTag = async (query: string) =>
      (await readDashboard(_id, company.as, query)).headers.get('etag') as string;
    const [plain, withCharts] = [await readTag(''), await readTag('?include=charts')];
    const readStatus = (query: string, tag: string) =>
      company.as.get(`${path}${query}`, { headers: { 'if-none-match': tag } }).then(({ status }) => status);
    expect([await readStatus('', plain), await readStatus('?include=charts', withCharts)]).toEqual([304, 304]);
    expect(await readStatus('?include=charts', plain)).toBe(200);
    await company.as.put(`${VISUALIZATIONS_PATH}/${createdVisualization._id}`, { json: { name: 'Other' } });
    expect([await readStatus('', plain), await readStatus('?include=charts', withCharts)]).toEqual([304, 200]);
    const putDashboard = (json: unknown, tag: string) =>
      company.as.put(path, { json, headers: { 'if-match': tag } }).then(({ status }) => status);
    expect(await putDashboard({ name: 'By charts' }, withCharts)).toBe(200);
    expect(await putDashboard({ name: 'Too late' }, withCharts)).toBe(412);
    expect(await putDashboard({ name: 'Too late' }, plain)).toBe(412);
    expect(await putDashboard({ name: 'By record' }, await readTag(''))).toBe(200);
  });
});

describe('the SQL of the options of a filter', () => {
  const fixedOptions = [{ label: 'North', value: 'north' }];
  const filters = [
    makeRegionFilter({ options: { sql } }),
    makeParameter('other', 'select', { options: fixedOptions }),
    makeParameter('q', 'text'),
  ];
  const listOptions = (dashboard: { filters: { options: unknown }[] }) =>
    dashboard.filters.map(({ options }) => options);

  it('is shown only to callers who may update the dashboard', async () => {
    const createdDashboard = await postDashboard(company.as, [], { filters });
    const path = `${DASHBOARDS_PATH}/${createdDashboard._id}`;
    const hiddenOptions = [{}, fixedOptions, null];
    expect(listOptions(createdDashboard)).toEqual([{ sql }, fixedOptions, null]);
    const { as: reader } = await createAllowedUser(company, { can: ['dashboards:get', 'dashboards:list'] });
    const findCreated = (list: { records: { _id: string }[] }) =>
      list.records.find(({ _id }) => _id === createdDashboard._id) as never;
    for (const query of ['', '?include=charts']) {
      expect(listOptions((await reader.get(`${path}${query}`)).body)).toEqual(hiddenOptions);
      expect(listOptions((await company.as.get(`${path}${query}`)).body)).toEqual([{ sql }, fixedOptions, null]);
    }
    expect(listOptions(findCreated((await reader.get(DASHBOARDS_PATH)).body))).toEqual(hiddenOptions);
    expect(listOptions(findCreated((await company.as.get(DASHBOARDS_PATH)).body))).toEqual([
      { sql },
      fixedOptions,
      null,
    ]);
    const deniedCaller = await createDeniedUser(
      ['dashboards:*'],
      ['dashboards:update'],
      'dashboard',
      createdDashboard._id,
    );
    expect(listOptions((await deniedCaller.get(path)).body)).toEqual(hiddenOptions);
    const { as: writer } = await createAllowedUser(company, { can: ['dashboards:get', 'dashboards:update'] });
    expect(listOptions((await writer.put(path, { json: { name: 'Mine' } })).body)).toEqual([
      { sql },
      fixedOptions,
      null,
    ]);
    const { as: creator } = await createAllowedUser(company, {
      can: ['dashboards:get', 'dashboards:create', 'visualizations:create'],
    });
    expect(listOptions(await postDashboard(creator, [], { filters }))).toEqual(hiddenOptions);
  });

  it('does not keep callers who may not see it from using ETags', async () => {
    const createdDashboard = await postDashboard(company.as, [], { filters });
    const path = `${DASHBOARDS_PATH}/${createdDashboard._id}`;
    const { as } = await createAllowedUser(company, { can: ['dashboards:get', 'dashboards:delete'] });
    const tag = (await as.get(path)).headers.get('etag') as string;
    expect((await as.get(path, { headers: { 'if-none-match': tag } })).status).toBe(304);
    const changedFilters = [makeRegionFilter({ options: { sql: 'SELECT 1' } }), ...filters.slice(1)];
    await company.as.put(path, { json: { filters: changedFilters } });
    expect((await as.get(path, { headers: { 'if-none-match': tag } })).status).toBe(200);
    expect((await as.delete(path, { headers: { 'if-match': tag } })).status).toBe(412);
    const nextTag = (await as.get(path)).headers.get('etag') as string;
    expect((await as.delete(path, { headers: { 'if-match': nextTag } })).status).toBe(204);
  });
});

describe('the options of a filter, for users of the company', () => {
  const readOptions = (id: string, slug = 'region', query = '', as: Caller = company.as) =>
    as.get(`${DASHBOARDS_PATH}/${id}/filters/${slug}/options${query}`);
  const foundOptions = ['east', 'north', 'south'].map((value) => ({ value, label: value.toUpperCase() }));

  it('come from a list or from SQL, and are searched literally', async () => {
    const fixedOptions = [
      { label: 'North', value: 'north' },
      { label: '100%', value: 'all' },
    ];
    const { _id } = await postDashboard(company.as, [], {
      filters: [
        makeRegionFilter({ options: { sql } }),
        makeParameter('fixed', 'multi_select', { options: fixedOptions }),
        makeParameter('q', 'text'),
      ],
    });
    const { as } = await createAllowedUser(company, { can: ['dashboards:get'] });
    const dynamicAnswer = { filter_slug: 'region', options: foundOptions, source: 'dynamic' };
    expect([(await readOptions(_id)).body, (await readOptions(_id, 'region', '', as)).body]).toEqual([
      dynamicAnswer,
      dynamicAnswer,
    ]);
    expect((await readOptions(_id, 'region', '?search=OUT', as)).body.options).toEqual([foundOptions[2]]);
    expect((await readOptions(_id, 'fixed', '', as)).body).toEqual({
      filter_slug: 'fixed',
      options: fixedOptions,
      source: 'static',
    });
    expect((await readOptions(_id, 'fixed', '?search=%25', as)).body.options).toEqual([fixedOptions[1]]);
    for (const slug of ['q', 'none', 'a'.repeat(500), '__proto__']) {
      const { status, body } = await readOptions(_id, slug);
      expect([slug, status, body.error]).toEqual([slug, 404, 'FILTER_NOT_FOUND']);
    }
    expect((await readOptions(_id, 'region', `?search=${'x'.repeat(201)}`)).body.details[0].field).toBe('search');
    expect((await readOptions(_id, 'region', '?page=2')).status).toBe(422);
  });

  it('are at most a thousand, and a search finds further options', async () => {
    const manyOptions = { sql: "SELECT g, 'Option ' || g FROM generate_series(1, 5000) AS g" };
    const { _id } = await postDashboard(company.as, [], { filters: [makeRegionFilter({ options: manyOptions })] });
    expect((await readOptions(_id)).body.options).toHaveLength(1000);
    expect((await readOptions(_id, 'region', '?search=4999')).body.options).toEqual([
      { value: '4999', label: 'Option 4999' },
    ]);
  });

  it('are not limited by the row rules of viewers', async () => {
    const { _id } = await postDashboard(company.as, [], {
      filters: [
        makeRegionFilter({ options: { sql }, viewer_attribute: 'region' }),
        makeParameter('other', 'select', {
          options: { sql: `SELECT region FROM sales [[WHERE region = {{region}}]] ORDER BY 1` },
        }),
      ],
    });
    expect((await readOptions(_id)).body.options).toEqual(foundOptions);
    expect((await readOptions(_id, 'other')).body.options.map(({ value }: { value: string }) => value)).toEqual(
      foundOptions.map(({ value }) => value),
    );
  });

  it('report why their SQL fails only to callers who may change it', async () => {
    const failingOptions = { sql: 'SELECT nothing FROM sales' };
    const { _id } = await postDashboard(company.as, [], { filters: [makeRegionFilter({ options: failingOptions })] });
    const authorAnswer = await readOptions(_id);
    expect([authorAnswer.status, authorAnswer.body]).toEqual([
      422,
      { error: 'DB_QUERY_ERROR', message: 'column "nothing" does not exist' },
    ]);
    const { as } = await createAllowedUser(company, { can: ['dashboards:get'] });
    const reader = await readOptions(_id, 'region', '', as);
    expect([reader.status, reader.body]).toEqual([422, { error: 'DB_QUERY_ERROR', message: 'The query failed.' }]);
    const companyWithoutDatabase = await createOwnedCompany();
    const dashboardWithOptions = await postDashboard(companyWithoutDatabase.as, [], {
      filters: [makeRegionFilter({ options: failingOptions })],
    });
    expect((await readOptions(dashboardWithOptions._id, 'region', '', companyWithoutDatabase.as)).body.error).toBe(
      'MANAGED_DATABASE_NOT_PROVISIONED',
    );
  });
});
