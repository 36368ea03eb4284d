import { beforeAll, describe, expect, it } from 'vitest';
import { createTable, createTableClient, makeColumn } from '../managed-tables/support.ts';
import { callApi } from '../support/api.ts';
import { createOwnedCompany, createProvisionedCompany } from '../support/companies.ts';
import { createCountingD1 } from '../support/counting-d1.ts';
import { createAllowedAccount, createTokenCaller, expectSuccess, makeAllow } from '../support/signed.ts';
import { createSalesTable, makeParameter, VISUALIZATIONS_PATH } from '../visualizations/support.ts';
import { createReader, ENDPOINTS_PATH, publishSql } from './support.ts';

const company = await createProvisionedCompany();
await createSalesTable(company);
const reader = await createReader(company);

const readData = (slug: string, query = '') => reader.as.get(`/data/${slug}${query}`);

describe('GET /data/{slug}', () => {
  it('answers with columns and rows', async () => {
    const { slug } = await publishSql(company, 'SELECT region, amount, day FROM sales ORDER BY day LIMIT 2');
    const { status, body, headers } = await readData(slug);
    expect(status).toBe(200);
    expect(body).toEqual({
      columns: [
        { name: 'region', type: 'text' },
        { name: 'amount', type: 'decimal' },
        { name: 'day', type: 'date' },
      ],
      rows: [
        ['north', 10, '2024-01-01'],
        ['north', 20, '2024-01-02'],
      ],
      row_count: 2,
      truncated: false,
      cached: false,
    });
    expect(headers.get('x-truncated')).toBeNull();
  });

  describe('with a cached result', () => {
    let visitsTableId: string;
    beforeAll(async () => {
      visitsTableId = await createTable(company.as, 'visits', [makeColumn('region')]);
    });
    const publishCount = (overrides = {}) =>
      publishSql(company, 'SELECT count(*) AS n FROM visits WHERE {{region}} IS NULL OR region = {{region}}', {
        parameters: [makeParameter('region', 'text', { required: false })],
        ...overrides,
      });
    const readCount = async (slug: string, query = '') => {
      const { rows, cached } = await expectSuccess(readData(slug, query));
      return [Number(rows[0][0]), cached];
    };

    it('reports it as cached, for an equal query in any format', async () => {
      const { slug } = await publishCount();
      const [count] = await readCount(slug);
      expect(await readCount(slug)).toEqual([count, true]);
      expect((await readData(slug, '?format=csv')).body).toBe(`n\r\n${count}\r\n`);
      expect((await readCount(slug, '?region=south'))[1]).toBe(false);
    });

    it('runs the query again after a change of the rows, the visualization or the endpoint', async () => {
      const { _id, slug, name, visualization_id: visualizationId } = await publishCount();
      const [before] = (await readCount(slug)) as [number];
      await expectSuccess(createTableClient(company.as, visitsTableId).insert([{ region: 'west' }]));
      expect(await readCount(slug)).toEqual([before + 1, false]);
      expect(await readCount(slug)).toEqual([before + 1, true]);
      await expectSuccess(
        company.as.put(`${VISUALIZATIONS_PATH}/${visualizationId}`, { json: { sql: 'SELECT 7 AS n' } }),
      );
      expect(await readCount(slug)).toEqual([7, false]);
      const json = { name, slug, visualization_id: visualizationId, cache_seconds: 30 };
      await expectSuccess(company.as.put(`${ENDPOINTS_PATH}/${_id}`, { json }));
      expect((await readCount(slug))[1]).toBe(false);
    });

    it('caches no result when the endpoint has cache_seconds 0', async () => {
      const { slug } = await publishCount({ cache_seconds: 0 });
      await readCount(slug);
      expect((await readCount(slug))[1]).toBe(false);
    });
  });

  it('answers in NDJSON and CSV', async () => {
    const sql = `SELECT 'a "b", c' AS "na,me", NULL AS nothing, 12345678901234567890 AS big, true AS yes, 1 AS yes
      UNION ALL SELECT E'two\nlines', 'x', 1.5, false, 2`;
    const { slug } = await publishSql(company, sql);
    const lines = await readData(slug, '?format=ndjson');
    expect(lines.headers.get('content-type')).toMatch(/^application\/x-ndjson/);
    expect(
      lines.body
        .trim()
        .split('\n')
        .map((line: string) => JSON.parse(line)),
    ).toEqual([
      { 'na,me': 'a "b", c', nothing: null, big: '12345678901234567890', yes: true, yes_2: 1 },
      { 'na,me': 'two\nlines', nothing: 'x', big: 1.5, yes: false, yes_2: 2 },
    ]);
    const csv = await readData(slug, '?format=csv');
    expect(csv.headers.get('content-type')).toMatch(/^text\/csv/);
    expect(csv.body).toBe(
      '"na,me",nothing,big,yes,yes\r\n"a ""b"", c",,12345678901234567890,true,1\r\n"two\nlines",x,1.5,false,2\r\n',
    );
    const emptyEndpoint = await publishSql(company, "SELECT NULL AS one UNION ALL SELECT 'x'");
    expect((await readData(emptyEndpoint.slug, '?format=csv')).body).toBe('one\r\n""\r\nx\r\n');
  });

  it('reads the parameters of the visualization from the query string', async () => {
    const { slug } = await publishSql(
      company,
      `SELECT amount FROM sales WHERE true [[AND region = ANY({{regions}})]] [[AND day >= {{days.from}}]]
        [[AND day <= {{days.to}}]] [[AND amount >= {{least}}]] [[AND region = {{region}}]] ORDER BY amount`,
      {
        parameters: [
          makeParameter('regions', 'multi_select'),
          makeParameter('days', 'date_range'),
          makeParameter('least', 'number'),
          makeParameter('region', 'text'),
        ],
      },
    );
    const readAmounts = async (query: string) => (await readData(slug, query)).body.rows.flat();
    expect(await readAmounts('')).toEqual([10, 20, 30, 40, 50, 60]);
    expect(await readAmounts('?regions=north')).toEqual([10, 20]);
    expect(await readAmounts('?regions=north&regions=east')).toEqual([10, 20, 60]);
    expect(await readAmounts('?days.from=2024-01-02&days.to=2024-01-04')).toEqual([20, 30, 40]);
    expect(await readAmounts('?days.from=2024-01-05&least=55.5')).toEqual([60]);
    expect(await readAmounts(`?region=${encodeURIComponent("north' OR true --")}`)).toEqual([]);
  });

  let refusingEndpoint: ReturnType<typeof publishSql> | undefined;

  it.each([
    ['?nope=1', 'nope'],
    ['?format=xml', 'format'],
    ['?format=csv&format=json', 'format'],
    ['?least=many', 'least'],
    ['?least=1&least=2', 'least'],
    ['?days=2024-01-01', 'days'],
    ['?days=&days.to=2024-01-01', 'days'],
    ['?days.until=2024-01-01', 'days.until'],
    ['?days.from=2024-02-30', 'days'],
    ['?least.from=1', 'least.from'],
    ['?__proto__=1', '__proto__'],
    ['', 'must'],
  ])('refuses %s, naming %s', async (query, field) => {
    refusingEndpoint ??= publishSql(company, 'SELECT {{least}}::numeric, {{days.from}}::date, {{must}}::text', {
      parameters: [
        makeParameter('least', 'number'),
        makeParameter('days', 'date_range'),
        makeParameter('must', 'text', { required: true }),
      ],
    });
    const { slug } = await refusingEndpoint;
    const { status, body } = await readData(slug, query === '' ? '' : `${query}&must=x`);
    expect([status, body.error, body.details?.[0]?.field]).toEqual([422, 'ValidationError', field]);
  });

  it('reports that a result was truncated', async () => {
    const { slug } = await publishSql(company, 'SELECT n FROM generate_series(1, 10001) AS n');
    for (const format of ['json', 'ndjson', 'csv']) {
      const { headers, body } = await readData(slug, `?format=${format}`);
      expect(headers.get('x-truncated')).toBe('true');
      if (format === 'json') expect([body.truncated, body.row_count, body.rows.length]).toEqual([true, 10_000, 10_000]);
      else expect(body.trim().split('\n')).toHaveLength(format === 'csv' ? 10_001 : 10_000);
    }
  });

  it('answers 422 without the database’s message when the SQL fails', async () => {
    for (const sql of ['SELECT secret_column FROM sales', 'SELECT 1 / 0', "SELECT pg_read_file('secret_column')"]) {
      const { slug } = await publishSql(company, sql);
      const { status, body } = await readData(slug);
      expect([status, body.error]).toEqual([422, 'DbQueryError']);
      expect(JSON.stringify(body)).not.toMatch(/secret_column|division|pg_read/);
    }
    const { slug } = await publishSql(await createOwnedCompany(), 'SELECT 1');
    expect((await readData(slug)).status).toBe(404);
  });

  it('answers 422 for a company without a database', async () => {
    const companyWithoutDatabase = await createOwnedCompany();
    const { slug } = await publishSql(companyWithoutDatabase, 'SELECT 1 AS one');
    const { status, body } = await (await createReader(companyWithoutDatabase)).as.get(`/data/${slug}`);
    expect([status, body.error]).toEqual([422, 'DbQueryError']);
  });

  it('shows the current data and the current SQL despite its cache', async () => {
    const id = await createTable(company.as, 'fresh', [makeColumn('n', 'integer')]);
    const { insert } = createTableClient(company.as, id);
    const publishedEndpoint = await publishSql(company, 'SELECT n FROM fresh ORDER BY n', { cache_seconds: 3600 });
    const readRows = async () => (await readData(publishedEndpoint.slug)).body.rows.flat();
    expect(await readRows()).toEqual([]);
    await insert([{ n: 1 }]);
    expect(await readRows()).toEqual([1]);
    await insert([{ n: 2 }]);
    expect(await readRows()).toEqual([1, 2]);
    await expectSuccess(
      company.as.put(`${VISUALIZATIONS_PATH}/${publishedEndpoint.visualization_id}`, {
        json: { sql: 'SELECT max(n) FROM fresh' },
      }),
    );
    expect(await readRows()).toEqual([2]);
    await expectSuccess(company.as.post(`/v1/managed-tables/${id}/truncate`));
    expect(await readRows()).toEqual([null]);
  });
});

describe('the reader of a Data API endpoint', () => {
  it('must be a service account, by signature or service token, not a user', async () => {
    const { slug } = await publishSql(company, 'SELECT 1 AS one');
    expect((await (await createTokenCaller(reader)).get(`/data/${slug}`)).body.rows).toEqual([[1]]);
    const refusedAnswer = await company.as.get(`/data/${slug}`);
    expect(refusedAnswer.status).toBe(401);
    expect(refusedAnswer.body).toMatchObject({
      message: expect.stringMatching(/^This route takes signed requests or service/),
    });
    expect((await callApi('GET', `/data/${slug}`, { headers: { authorization: 'Bearer no-token' } })).status).toBe(401);
    expect((await callApi('GET', `/data/${slug}`)).status).toBe(401);
  });

  it('may read only the endpoints that a policy allows, and cannot distinguish the others from missing endpoints', async () => {
    const [firstEndpoint, secondEndpoint] = [
      await publishSql(company, 'SELECT 1 AS one'),
      await publishSql(company, 'SELECT 2 AS two'),
    ];
    const allowedResources = [`arn:svc:data_api::${company.id}:endpoint/${firstEndpoint._id}`];
    const limitedReader = await createAllowedAccount(company, {
      ...makeAllow('data_api:execute'),
      resources: allowedResources,
    });
    const readStatus = async (slug: string) => (await limitedReader.as.get(`/data/${slug}`)).status;
    expect([
      await readStatus(firstEndpoint.slug),
      await readStatus(secondEndpoint.slug),
      await readStatus('no-such'),
    ]).toEqual([200, 403, 403]);
    expect((await readData('no-such')).status).toBe(404);
  });

  it('makes no more calls to the control database when it is allowed only some endpoints', async () => {
    const { slug, _id } = await publishSql(company, 'SELECT 1 AS one', { cache_seconds: 3600 });
    const allowedResources = [`arn:svc:data_api::${company.id}:endpoint/${_id}`];
    const limitedReader = await createTokenCaller(
      await createAllowedAccount(company, { ...makeAllow('data_api:execute'), resources: allowedResources }),
    );
    const unlimitedReader = await createTokenCaller(reader);
    const countCalls = async (as: typeof limitedReader) => {
      await expectSuccess(as.get(`/data/${slug}`));
      const countingDb = createCountingD1();
      expect((await as.get(`/data/${slug}`, { env: countingDb.env })).status).toBe(200);
      return countingDb.countCalls();
    };
    const unlimitedCallCount = await countCalls(unlimitedReader);
    expect([unlimitedCallCount > 0, await countCalls(limitedReader)]).toEqual([true, unlimitedCallCount]);
    const { job_id: id } = await expectSuccess(reader.as.post(`/data/${slug}/jobs`));
    const jobReader = await createTokenCaller(
      await createAllowedAccount(company, {
        ...makeAllow('data_api:get_job', 'data_api:execute'),
        resources: allowedResources,
      }),
    );
    await expectSuccess(jobReader.get(`/data/jobs/${id}`));
    const countingDb = createCountingD1();
    expect((await jobReader.get(`/data/jobs/${id}`, { env: countingDb.env })).status).toBe(200);
    expect(countingDb.countCalls()).toBe(1);
  });

  it('gets 404 when the endpoint is inactive, deleted, or of another company', async () => {
    const { slug, _id } = await publishSql(company, 'SELECT 1 AS one');
    await expectSuccess(company.as.put(`${ENDPOINTS_PATH}/${_id}`, { json: { status: 'inactive' } }));
    expect((await readData(slug)).status).toBe(404);
    const readerOfOne = await createAllowedAccount(company, {
      ...makeAllow('data_api:execute'),
      resources: [`arn:svc:data_api::${company.id}:endpoint/${_id}`],
    });
    expect((await readerOfOne.as.get(`/data/${slug}`)).status).toBe(404);
    await expectSuccess(company.as.put(`${ENDPOINTS_PATH}/${_id}`, { json: { status: 'active' } }));
    expect((await readerOfOne.as.get(`/data/${slug}`)).status).toBe(200);
    expect((await readData(slug)).status).toBe(200);
    const foreignReader = await createReader(await createOwnedCompany());
    expect((await foreignReader.as.get(`/data/${slug}`)).status).toBe(404);
    await expectSuccess(company.as.delete(`${ENDPOINTS_PATH}/${_id}`));
    expect((await readData(slug)).status).toBe(404);
  });
});
