import { beforeAll, describe, expect, it } from 'vitest';
import { aShare } from '../shares/support.ts';
import type { Caller } from '../support/api.ts';
import { aCompany, aProvisionedCompany, aUser, type Company } from '../support/worlds.ts';
import {
  aDashboard,
  aVisualization,
  DASHBOARDS_PATH,
  parameter,
  someSales,
  VISUALIZATIONS_PATH,
} from '../visualizations/support.ts';

let company: Company;
beforeAll(async () => {
  company = await aProvisionedCompany();
  await someSales(company);
});

const region = (more: Record<string, unknown> = {}) => parameter('region', 'select', more);
const sql = 'SELECT DISTINCT region, upper(region) FROM sales ORDER BY 1';

/** Somebody who may do these things, and is denied others on one resource. */
const denied = async (can: string[], actions: string[], type: string, id: string) =>
  (await aUser(company, { can, denied: actions, deniedOn: [`arn:svc:${type}s::${company.id}:${type}/${id}`] })).as;

describe('a dashboard that is read with its charts', () => {
  const get = (id: string, as: Caller = company.as, query = '?include=charts') =>
    as.get(`${DASHBOARDS_PATH}/${id}${query}`);

  it('has of each visualization what a share link shows, in the order of the layout', async () => {
    const chart = { type: 'bar', x: 'region', y: ['total'], series: null, options: { stacked: true } };
    const one = await aVisualization(company.as, 'SELECT 1', { name: 'One', description: 'First', chart });
    const two = await aVisualization(company.as, 'SELECT 2', { name: 'Two' });
    const { _id } = await aDashboard(company.as, [two, one, two]);
    const { status, body } = await get(_id);
    expect(status).toBe(200);
    const plain = (await get(_id, company.as, '')).body;
    expect(plain).not.toHaveProperty('charts');
    expect(body).toEqual({
      ...plain,
      charts: [
        { visualization_id: two._id, name: 'Two', description: '', chart: two.chart },
        { visualization_id: one._id, name: 'One', description: 'First', chart },
      ],
    });
    const { token } = await aShare(company, _id);
    const { dashboard } = (await company.as.get(`/api/v1/public/shares/${token}/resolve`)).body;
    const byId = (charts: { visualization_id: string }[]) =>
      new Map(charts.map((each) => [each.visualization_id, each]));
    expect(byId(dashboard.charts)).toEqual(byId(body.charts));
    const { as } = await aUser(company, { can: ['dashboards:get'] });
    expect((await get(_id, as)).body.charts).toEqual(body.charts);
    expect((await get(_id, company.as, '?include=results')).status).toBe(422);
    expect((await get('f'.repeat(24))).body.error).toBe('DASHBOARD_NOT_FOUND');
    expect((await get(_id, (await aCompany()).as)).body.error).toBe('DASHBOARD_NOT_FOUND');
  });

  it.each([['visualizations:get'], ['visualizations:execute']])(
    'leaves out a chart that the caller is denied by %s',
    async (action) => {
      const [open, secret] = [
        await aVisualization(company.as, 'SELECT 1'),
        await aVisualization(company.as, 'SELECT 2'),
      ];
      const { _id } = await aDashboard(company.as, [secret, open]);
      const as = await denied(['dashboards:get'], [action], 'visualization', secret._id);
      const { charts } = (await get(_id, as)).body;
      expect(charts.map((each: { visualization_id: string }) => each.visualization_id)).toEqual([open._id]);
    },
  );

  it('has an ETag of its own, which writes accept as that of the dashboard', async () => {
    const one = await aVisualization(company.as, 'SELECT 1', { name: 'One' });
    const { _id } = await aDashboard(company.as, [one]);
    const path = `${DASHBOARDS_PATH}/${_id}`;
    const tagOf = async (query: string) => (await get(_id, company.as, query)).headers.get('etag') as string;
    const [plain, withCharts] = [await tagOf(''), await tagOf('?include=charts')];
    const ask = (query: string, tag: string) =>
      company.as.get(`${path}${query}`, { headers: { 'if-none-match': tag } }).then(({ status }) => status);
    expect([await ask('', plain), await ask('?include=charts', withCharts)]).toEqual([304, 304]);
    expect(await ask('?include=charts', plain)).toBe(200);
    await company.as.put(`${VISUALIZATIONS_PATH}/${one._id}`, { json: { name: 'Other' } });
    expect([await ask('', plain), await ask('?include=charts', withCharts)]).toEqual([304, 200]);
    const put = (json: unknown, tag: string) =>
      company.as.put(path, { json, headers: { 'if-match': tag } }).then(({ status }) => status);
    expect(await put({ name: 'By charts' }, withCharts)).toBe(200);
    expect(await put({ name: 'Too late' }, withCharts)).toBe(412);
    expect(await put({ name: 'Too late' }, plain)).toBe(412);
    expect(await put({ name: 'By record' }, await tagOf(''))).toBe(200);
  });
});

describe('the SQL of the options of a filter', () => {
  const fixed = [{ label: 'North', value: 'north' }];
  const filters = [
    region({ options: { sql } }),
    parameter('other', 'select', { options: fixed }),
    parameter('q', 'text'),
  ];
  const optionsOf = (dashboard: { filters: { options: unknown }[] }) => dashboard.filters.map(({ options }) => options);

  it('is shown only to callers who may update the dashboard', async () => {
    const made = await aDashboard(company.as, [], { filters });
    const path = `${DASHBOARDS_PATH}/${made._id}`;
    const hidden = [{}, fixed, null];
    expect(optionsOf(made)).toEqual([{ sql }, fixed, null]);
    const { as: reader } = await aUser(company, { can: ['dashboards:get', 'dashboards:list'] });
    const own = (list: { records: { _id: string }[] }) => list.records.find(({ _id }) => _id === made._id) as never;
    for (const query of ['', '?include=charts']) {
      expect(optionsOf((await reader.get(`${path}${query}`)).body)).toEqual(hidden);
      expect(optionsOf((await company.as.get(`${path}${query}`)).body)).toEqual([{ sql }, fixed, null]);
    }
    expect(optionsOf(own((await reader.get(DASHBOARDS_PATH)).body))).toEqual(hidden);
    expect(optionsOf(own((await company.as.get(DASHBOARDS_PATH)).body))).toEqual([{ sql }, fixed, null]);
    const notThis = await denied(['dashboards:*'], ['dashboards:update'], 'dashboard', made._id);
    expect(optionsOf((await notThis.get(path)).body)).toEqual(hidden);
    const { as: writer } = await aUser(company, { can: ['dashboards:get', 'dashboards:update'] });
    expect(optionsOf((await writer.put(path, { json: { name: 'Mine' } })).body)).toEqual([{ sql }, fixed, null]);
    const { as: maker } = await aUser(company, {
      can: ['dashboards:get', 'dashboards:create', 'visualizations:create'],
    });
    expect(optionsOf(await aDashboard(maker, [], { filters }))).toEqual(hidden);
  });

  it('does not keep callers who may not see it from using ETags', async () => {
    const made = await aDashboard(company.as, [], { filters });
    const path = `${DASHBOARDS_PATH}/${made._id}`;
    const { as } = await aUser(company, { can: ['dashboards:get', 'dashboards:delete'] });
    const tag = (await as.get(path)).headers.get('etag') as string;
    expect((await as.get(path, { headers: { 'if-none-match': tag } })).status).toBe(304);
    const changed = [region({ options: { sql: 'SELECT 1' } }), ...filters.slice(1)];
    await company.as.put(path, { json: { filters: changed } });
    expect((await as.get(path, { headers: { 'if-none-match': tag } })).status).toBe(200);
    expect((await as.delete(path, { headers: { 'if-match': tag } })).status).toBe(412);
    const next = (await as.get(path)).headers.get('etag') as string;
    expect((await as.delete(path, { headers: { 'if-match': next } })).status).toBe(204);
  });
});

describe('the options of a filter, for users of the company', () => {
  const options = (id: string, slug = 'region', query = '', as: Caller = company.as) =>
    as.get(`${DASHBOARDS_PATH}/${id}/filters/${slug}/options${query}`);
  const found = ['east', 'north', 'south'].map((value) => ({ value, label: value.toUpperCase() }));

  it('come from a list or from SQL, and are searched literally', async () => {
    const fixed = [
      { label: 'North', value: 'north' },
      { label: '100%', value: 'all' },
    ];
    const { _id } = await aDashboard(company.as, [], {
      filters: [
        region({ options: { sql } }),
        parameter('fixed', 'multi_select', { options: fixed }),
        parameter('q', 'text'),
      ],
    });
    const { as } = await aUser(company, { can: ['dashboards:get'] });
    const dynamic = { filter_slug: 'region', options: found, source: 'dynamic' };
    expect([(await options(_id)).body, (await options(_id, 'region', '', as)).body]).toEqual([dynamic, dynamic]);
    expect((await options(_id, 'region', '?search=OUT', as)).body.options).toEqual([found[2]]);
    expect((await options(_id, 'fixed', '', as)).body).toEqual({
      filter_slug: 'fixed',
      options: fixed,
      source: 'static',
    });
    expect((await options(_id, 'fixed', '?search=%25', as)).body.options).toEqual([fixed[1]]);
    for (const slug of ['q', 'none', 'a'.repeat(500), '__proto__']) {
      const { status, body } = await options(_id, slug);
      expect([slug, status, body.error]).toEqual([slug, 404, 'FILTER_NOT_FOUND']);
    }
    expect((await options(_id, 'region', `?search=${'x'.repeat(201)}`)).body.details[0].field).toBe('search');
    expect((await options(_id, 'region', '?page=2')).status).toBe(422);
  });

  it('are a thousand at most, and a search finds others', async () => {
    const many = { sql: "SELECT g, 'Option ' || g FROM generate_series(1, 5000) AS g" };
    const { _id } = await aDashboard(company.as, [], { filters: [region({ options: many })] });
    expect((await options(_id)).body.options).toHaveLength(1000);
    expect((await options(_id, 'region', '?search=4999')).body.options).toEqual([
      { value: '4999', label: 'Option 4999' },
    ]);
  });

  it('are not limited by the row rules of viewers', async () => {
    const { _id } = await aDashboard(company.as, [], {
      filters: [
        region({ options: { sql }, viewer_attribute: 'region' }),
        parameter('other', 'select', {
          options: { sql: `SELECT region FROM sales [[WHERE region = {{region}}]] ORDER BY 1` },
        }),
      ],
    });
    expect((await options(_id)).body.options).toEqual(found);
    expect((await options(_id, 'other')).body.options.map(({ value }: { value: string }) => value)).toEqual(
      found.map(({ value }) => value),
    );
  });

  it('report why their SQL fails only to callers who may change it', async () => {
    const wrong = { sql: 'SELECT nothing FROM sales' };
    const { _id } = await aDashboard(company.as, [], { filters: [region({ options: wrong })] });
    const author = await options(_id);
    expect([author.status, author.body]).toEqual([
      422,
      { error: 'DB_QUERY_ERROR', message: 'column "nothing" does not exist' },
    ]);
    const { as } = await aUser(company, { can: ['dashboards:get'] });
    const reader = await options(_id, 'region', '', as);
    expect([reader.status, reader.body]).toEqual([422, { error: 'DB_QUERY_ERROR', message: 'The query failed.' }]);
    const bare = await aCompany();
    const empty = await aDashboard(bare.as, [], { filters: [region({ options: wrong })] });
    expect((await options(empty._id, 'region', '', bare.as)).body.error).toBe('MANAGED_DATABASE_NOT_PROVISIONED');
  });
});
