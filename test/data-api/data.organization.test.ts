import { beforeAll, describe, expect, it } from 'vitest';
import { column, createTable, makeTableRoutes } from '../managed-tables/support.ts';
import { call } from '../support/api.ts';
import { createCountingD1 } from '../support/counted.ts';
import { allow, aServiceAccountThat, must, type ServiceAccount, withServiceToken } from '../support/signed.ts';
import { aCompany, aProvisionedCompany, type Company } from '../support/worlds.ts';
import { parameter, someSales, VISUALIZATIONS_PATH } from '../visualizations/support.ts';
import { aPublished, aReader, ENDPOINTS_PATH } from './support.ts';

let company: Company;
let reader: ServiceAccount;
beforeAll(async () => {
  company = await aProvisionedCompany();
  await someSales(company);
  reader = await aReader(company);
});

const data = (slug: string, query = '') => reader.as.get(`/data/${slug}${query}`);

describe('GET /data/{slug}', () => {
  it('answers with columns and rows', async () => {
    const { slug } = await aPublished(company, 'SELECT region, amount, day FROM sales ORDER BY day LIMIT 2');
    const { status, body, headers } = await data(slug);
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
    let visits: string;
    beforeAll(async () => {
      visits = await createTable(company.as, 'visits', [column('region')]);
    });
    const published = (more = {}) =>
      aPublished(company, 'SELECT count(*) AS n FROM visits WHERE {{region}} IS NULL OR region = {{region}}', {
        parameters: [parameter('region', 'text', { required: false })],
        ...more,
      });
    const read = async (slug: string, query = '') => {
      const { rows, cached } = await must(data(slug, query));
      return [Number(rows[0][0]), cached];
    };

    it('reports it as cached, for an equal query in any format', async () => {
      const { slug } = await published();
      const [count] = await read(slug);
      expect(await read(slug)).toEqual([count, true]);
      expect((await data(slug, '?format=csv')).body).toBe(`n\r\n${count}\r\n`);
      expect((await read(slug, '?region=south'))[1]).toBe(false);
    });

    it('runs the query again after a change of the rows, the visualization or the endpoint', async () => {
      const { _id, slug, name, visualization_id: visualizationId } = await published();
      const [before] = (await read(slug)) as [number];
      await must(makeTableRoutes(company.as, visits).insert([{ region: 'west' }]));
      expect(await read(slug)).toEqual([before + 1, false]);
      expect(await read(slug)).toEqual([before + 1, true]);
      await must(company.as.put(`${VISUALIZATIONS_PATH}/${visualizationId}`, { json: { sql: 'SELECT 7 AS n' } }));
      expect(await read(slug)).toEqual([7, false]);
      const json = { name, slug, visualization_id: visualizationId, cache_seconds: 30 };
      await must(company.as.put(`${ENDPOINTS_PATH}/${_id}`, { json }));
      expect((await read(slug))[1]).toBe(false);
    });

    it('caches no result when the endpoint has cache_seconds 0', async () => {
      const { slug } = await published({ cache_seconds: 0 });
      await read(slug);
      expect((await read(slug))[1]).toBe(false);
    });
  });

  it('answers in NDJSON and CSV', async () => {
    const sql = `SELECT 'a "b", c' AS "na,me", NULL AS nothing, 12345678901234567890 AS big, true AS yes, 1 AS yes
      UNION ALL SELECT E'two\nlines', 'x', 1.5, false, 2`;
    const { slug } = await aPublished(company, sql);
    const lines = await data(slug, '?format=ndjson');
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
    const csv = await data(slug, '?format=csv');
    expect(csv.headers.get('content-type')).toMatch(/^text\/csv/);
    expect(csv.body).toBe(
      '"na,me",nothing,big,yes,yes\r\n"a ""b"", c",,12345678901234567890,true,1\r\n"two\nlines",x,1.5,false,2\r\n',
    );
    const empty = await aPublished(company, "SELECT NULL AS one UNION ALL SELECT 'x'");
    expect((await data(empty.slug, '?format=csv')).body).toBe('one\r\n""\r\nx\r\n');
  });

  it('reads the parameters of the visualization from the query string', async () => {
    const { slug } = await aPublished(
      company,
      `SELECT amount FROM sales WHERE true [[AND region = ANY({{regions}})]] [[AND day >= {{days.from}}]]
        [[AND day <= {{days.to}}]] [[AND amount >= {{least}}]] [[AND region = {{region}}]] ORDER BY amount`,
      {
        parameters: [
          parameter('regions', 'multi_select'),
          parameter('days', 'date_range'),
          parameter('least', 'number'),
          parameter('region', 'text'),
        ],
      },
    );
    const amounts = async (query: string) => (await data(slug, query)).body.rows.flat();
    expect(await amounts('')).toEqual([10, 20, 30, 40, 50, 60]);
    expect(await amounts('?regions=north')).toEqual([10, 20]);
    expect(await amounts('?regions=north&regions=east')).toEqual([10, 20, 60]);
    expect(await amounts('?days.from=2024-01-02&days.to=2024-01-04')).toEqual([20, 30, 40]);
    expect(await amounts('?days.from=2024-01-05&least=55.5')).toEqual([60]);
    expect(await amounts(`?region=${encodeURIComponent("north' OR true --")}`)).toEqual([]);
  });

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
    const { slug } = await aPublished(company, 'SELECT {{least}}::numeric, {{days.from}}::date, {{must}}::text', {
      parameters: [
        parameter('least', 'number'),
        parameter('days', 'date_range'),
        parameter('must', 'text', { required: true }),
      ],
    });
    const { status, body } = await data(slug, query === '' ? '' : `${query}&must=x`);
    expect([status, body.error, body.details?.[0]?.field]).toEqual([422, 'ValidationError', field]);
  });

  it('reports that a result was truncated', async () => {
    const { slug } = await aPublished(company, 'SELECT n FROM generate_series(1, 10001) AS n');
    for (const format of ['json', 'ndjson', 'csv']) {
      const { headers, body } = await data(slug, `?format=${format}`);
      expect(headers.get('x-truncated')).toBe('true');
      if (format === 'json') expect([body.truncated, body.row_count, body.rows.length]).toEqual([true, 10_000, 10_000]);
      else expect(body.trim().split('\n')).toHaveLength(format === 'csv' ? 10_001 : 10_000);
    }
  });

  it('answers 422 without the database’s message when the SQL fails', async () => {
    for (const sql of ['SELECT secret_column FROM sales', 'SELECT 1 / 0', "SELECT pg_read_file('secret_column')"]) {
      const { slug } = await aPublished(company, sql);
      const { status, body } = await data(slug);
      expect([status, body.error]).toEqual([422, 'DbQueryError']);
      expect(JSON.stringify(body)).not.toMatch(/secret_column|division|pg_read/);
    }
    const { slug } = await aPublished(await aCompany(), 'SELECT 1');
    expect((await data(slug)).status).toBe(404);
  });

  it('answers 422 for a company without a database', async () => {
    const bare = await aCompany();
    const { slug } = await aPublished(bare, 'SELECT 1 AS one');
    const { status, body } = await (await aReader(bare)).as.get(`/data/${slug}`);
    expect([status, body.error]).toEqual([422, 'DbQueryError']);
  });

  it('shows the current data and the current SQL despite its cache', async () => {
    const id = await createTable(company.as, 'fresh', [column('n', 'integer')]);
    const { insert } = makeTableRoutes(company.as, id);
    const made = await aPublished(company, 'SELECT n FROM fresh ORDER BY n', { cache_seconds: 3600 });
    const rows = async () => (await data(made.slug)).body.rows.flat();
    expect(await rows()).toEqual([]);
    await insert([{ n: 1 }]);
    expect(await rows()).toEqual([1]);
    await insert([{ n: 2 }]);
    expect(await rows()).toEqual([1, 2]);
    await must(
      company.as.put(`${VISUALIZATIONS_PATH}/${made.visualization_id}`, { json: { sql: 'SELECT max(n) FROM fresh' } }),
    );
    expect(await rows()).toEqual([2]);
    await must(company.as.post(`/v1/managed-tables/${id}/truncate`));
    expect(await rows()).toEqual([null]);
  });
});

describe('the reader of a Data API endpoint', () => {
  it('must be a service account, by signature or service token, not a user', async () => {
    const { slug } = await aPublished(company, 'SELECT 1 AS one');
    expect((await (await withServiceToken(reader)).get(`/data/${slug}`)).body.rows).toEqual([[1]]);
    const refused = await company.as.get(`/data/${slug}`);
    expect(refused.status).toBe(401);
    expect(refused.body).toMatchObject({
      message: expect.stringMatching(/^This route takes signed requests or service/),
    });
    expect((await call('GET', `/data/${slug}`, { headers: { authorization: 'Bearer no-token' } })).status).toBe(401);
    expect((await call('GET', `/data/${slug}`)).status).toBe(401);
  });

  it('may read only the endpoints that a policy allows, and cannot distinguish others from missing ones', async () => {
    const [one, other] = [await aPublished(company, 'SELECT 1 AS one'), await aPublished(company, 'SELECT 2 AS two')];
    const resources = [`arn:svc:data_api::${company.id}:endpoint/${one._id}`];
    const narrow = await aServiceAccountThat(company, { ...allow('data_api:execute'), resources });
    const status = async (slug: string) => (await narrow.as.get(`/data/${slug}`)).status;
    expect([await status(one.slug), await status(other.slug), await status('no-such')]).toEqual([200, 403, 403]);
    expect((await data('no-such')).status).toBe(404);
  });

  it('costs the control database no more queries when it is allowed only some endpoints', async () => {
    const { slug, _id } = await aPublished(company, 'SELECT 1 AS one', { cache_seconds: 3600 });
    const resources = [`arn:svc:data_api::${company.id}:endpoint/${_id}`];
    const narrow = await withServiceToken(
      await aServiceAccountThat(company, { ...allow('data_api:execute'), resources }),
    );
    const wide = await withServiceToken(reader);
    const askedBy = async (as: typeof narrow) => {
      await must(as.get(`/data/${slug}`));
      const counted = createCountingD1();
      expect((await as.get(`/data/${slug}`, { env: counted.env })).status).toBe(200);
      return counted.calls();
    };
    const asked = await askedBy(wide);
    expect([asked > 0, await askedBy(narrow)]).toEqual([true, asked]);
    const { job_id: id } = await must(reader.as.post(`/data/${slug}/jobs`));
    const ofJob = await withServiceToken(
      await aServiceAccountThat(company, { ...allow('data_api:get_job', 'data_api:execute'), resources }),
    );
    await must(ofJob.get(`/data/jobs/${id}`));
    const counted = createCountingD1();
    expect((await ofJob.get(`/data/jobs/${id}`, { env: counted.env })).status).toBe(200);
    expect(counted.calls()).toBe(1);
  });

  it('gets 404 when the endpoint is inactive, deleted, or of another company', async () => {
    const { slug, _id } = await aPublished(company, 'SELECT 1 AS one');
    await must(company.as.put(`${ENDPOINTS_PATH}/${_id}`, { json: { status: 'inactive' } }));
    expect((await data(slug)).status).toBe(404);
    await must(company.as.put(`${ENDPOINTS_PATH}/${_id}`, { json: { status: 'active' } }));
    expect((await data(slug)).status).toBe(200);
    const stranger = await aReader(await aCompany());
    expect((await stranger.as.get(`/data/${slug}`)).status).toBe(404);
    await must(company.as.delete(`${ENDPOINTS_PATH}/${_id}`));
    expect((await data(slug)).status).toBe(404);
  });
});
