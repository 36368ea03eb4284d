import { beforeAll, describe, expect, it } from 'vitest';
import { createEmbed, makeEmbedRoutes } from '../embeds/support.ts';
import { aContext, anOutsider, dashboardGrant, inPortal } from '../share-portal/support.ts';
import { aSalesDashboard, aShare, linkOf, regionsIn, someSales } from '../shares/support.ts';
import type { ApiResponse } from '../support/api.ts';
import { aProvisionedCompany, type Company } from '../support/worlds.ts';
import { SQL_ATTACKS } from '../tenant-sql/sql-attacks.ts';
import { aDashboard, aVisualization, parameter, VISUALIZATIONS_PATH } from '../visualizations/support.ts';

let company: Company;
let sales: string;
beforeAll(async () => {
  company = await aProvisionedCompany();
  sales = await someSales(company);
});

/** A dashboard behind each door that outsiders come through. */
async function createViewerAccesses(dashboardId: string, allowed_params: string[] = []) {
  const link = linkOf((await aShare(company, dashboardId)).token);
  const embed = makeEmbedRoutes('d', await createEmbed(company, 'dashboards', dashboardId, { allowed_params }));
  const email = `${dashboardId}@outside.test`;
  const context = await aContext(company, [dashboardGrant(dashboardId)], [email]);
  const { as } = await anOutsider(company, email);
  return { link, embed, portal: inPortal(as, context.id, dashboardId) };
}

const intact = async () => {
  const { body } = await company.as.get(`/v1/managed-tables/${sales}/data`);
  expect(body.total).toBe(6);
};

describe('an answer to an outsider', () => {
  /** What no answer may hold: SQL, names that no result shows, and what the database says. */
  const TELLTALE =
    /select|generate_series|pg_|secret|hint|division|column|relation|position|postgres|statement|memory|schema/i;

  const CONCURRENT_FAILURES = [
    "SELECT 1 / (length('secret') - 6) AS secret_ratio",
    'SELECT secret_colum FROM sales',
    "SELECT region::date AS secret FROM sales WHERE region = 'north'",
    'SELECT * FROM secret_table',
    'SELECT secret_function(1)',
  ];
  /** Ten seconds, a gigabyte of rows, a value beyond what PostgreSQL makes and one beyond what we take: each through one door. */
  const COSTLY = [
    'SELECT count(*) AS secret FROM pg_sleep(60) AS secret',
    "SELECT repeat('secret', 1000000) AS secret FROM generate_series(1, 200)",
    "SELECT repeat('secret', 200000000) AS secret",
    "SELECT string_agg(repeat('secret', 1000000), '') AS secret FROM generate_series(1, 5)",
  ];
  const FAILING = [...CONCURRENT_FAILURES, ...COSTLY];
  const DOORS = ['link', 'embed', 'portal'] as const;

  it('reveals nothing of SQL that fails, never ends or returns a gigabyte, through link, embed or portal', async () => {
    const made = [];
    for (const sql of CONCURRENT_FAILURES) made.push(await aVisualization(company.as, sql));
    const costly = [];
    for (const sql of COSTLY) costly.push(await aVisualization(company.as, sql));
    const fine = await aVisualization(company.as, 'SELECT count(*) AS n FROM sales');
    const doors = [];
    for (const [at, name] of DOORS.entries()) {
      const charts = [...made, ...costly.filter((_, of) => of % DOORS.length === at), fine];
      const { _id } = await aDashboard(company.as, charts, { cache_seconds: 0 });
      doors.push((await createViewerAccesses(_id))[name]);
    }
    const started = performance.now();
    const answers: ApiResponse[] = await Promise.all(doors.map((door) => door.execute()));
    expect(performance.now() - started).toBeLessThan(40_000);
    for (const { status, body } of answers) {
      expect(status).toBe(200);
      const failed = body.results.slice(0, -1);
      for (const { error, row_count, truncated } of failed) {
        // A result that is too large may be truncated instead.
        if (truncated) expect(row_count).toBeLessThan(200);
        else expect(error).toEqual({ error_code: 'DB_QUERY_ERROR', message: expect.any(String) });
      }
      expect(failed.filter(({ error }: { error?: object }) => error).length).toBeGreaterThanOrEqual(failed.length - 1);
      const said = failed.map(({ error }: { error?: { message: string } }) => error?.message ?? '').join('\n');
      expect(said).not.toMatch(TELLTALE);
      expect(body.results.at(-1).rows).toEqual([[6]]);
    }
  });

  it('reveals nothing of filter option SQL that fails, never ends or returns a gigabyte', async () => {
    const chart = await aVisualization(company.as, 'SELECT region FROM sales WHERE true [[AND region = ANY({{a}})]]', {
      parameters: [parameter('a', 'multi_select')],
    });
    const filters = FAILING.map((sql, at) => ({ ...parameter(`f${at}`, 'multi_select'), options: { sql } }));
    const { _id } = await aDashboard(company.as, [chart], { filters });
    const { link, embed, portal } = await createViewerAccesses(
      _id,
      filters.map(({ slug }) => slug),
    );
    const asked = filters.flatMap(({ slug }, at) =>
      [link, embed, portal].slice(at % 3, (at % 3) + 1).map((door) => door.options(slug)),
    );
    for (const { status, body } of await Promise.all(asked)) {
      if (status === 200) expect(body.options.length).toBeLessThan(200);
      else {
        expect([status, body.error_code]).toEqual([422, 'DB_QUERY_ERROR']);
        expect(JSON.stringify(body)).not.toMatch(TELLTALE);
      }
    }
  });

  it(`reveals nothing of ${SQL_ATTACKS.length} SQL attacks written into a dashboard, none of which succeeds`, async () => {
    const made: { _id: string }[] = [];
    for (const sql of SQL_ATTACKS) {
      const { status, body } = await company.as.post(VISUALIZATIONS_PATH, { json: { name: 'Attack', sql } });
      if (status === 201) made.push(body);
      else expect([sql, status, body.error]).toEqual([sql, 422, 'VALIDATION_ERROR']);
    }
    expect(made.length).toBeGreaterThan(SQL_ATTACKS.length - 10);
    for (let from = 0; from < made.length; from += 40) {
      const { _id } = await aDashboard(company.as, made.slice(from, from + 40));
      const { status, body } = await linkOf((await aShare(company, _id)).token).execute();
      expect(status).toBe(200);
      for (const result of body.results) {
        expect(result).toMatchObject({ error: { error_code: 'DB_QUERY_ERROR' } });
        expect(result.error.message).not.toMatch(TELLTALE);
      }
    }
    await intact();
  });
});

describe('the SQL of a shared dashboard', () => {
  const VALUES = [
    "'",
    "''",
    '"',
    '\\',
    "\\'",
    "' OR '1'='1",
    "' OR 1=1 --",
    '" OR ""="',
    "') OR ('1'='1",
    "north' --",
    "north'/*",
    "north'; DROP TABLE sales; --",
    "'; DELETE FROM sales; --",
    "'; COMMIT; DROP TABLE sales; --",
    "' UNION SELECT table_name, 1 FROM information_schema.tables --",
    "' UNION ALL SELECT NULL, NULL --",
    "' AND pg_sleep(20) IS NOT NULL --",
    "'||(SELECT pg_sleep(20))||'",
    "' || current_user || '",
    "'||chr(39)||'",
    '$1',
    '$$; DROP TABLE sales; $$',
    "$a$ ' $a$",
    '{{region}}',
    '[[ OR true ]]',
    '{{region}}; DROP TABLE sales',
    '{north,south}',
    '{"north"}',
    '{}',
    'NULL',
    'ANY(ARRAY[region])',
    '(SELECT region FROM sales LIMIT 1)',
    '1; SELECT 1',
    '0 OR 1=1',
    '1e309',
    'NaN',
    'Infinity',
    "E'\\x27 OR 1=1'",
    "U&'\\0027'",
    '%27%20OR%201=1',
    'ʼ OR 1=1',
    '＇ OR 1=1',
    '\u2019 OR 1=1',
    '-- \n OR 1=1',
    '/* */ OR 1=1',
    '\r\nDROP TABLE sales',
    ':region',
    '@region',
    '?',
    'region = region',
    '%',
    '_',
    '.*',
    'x'.repeat(1000),
  ];

  it(`is injected by none of ${VALUES.length} values that an outsider sends as value, parameter name or search`, async () => {
    const { dashboard } = await aSalesDashboard(company);
    const { link, embed, portal } = await createViewerAccesses(dashboard._id, ['regions', 'region', 'days']);
    for (const [at, value] of VALUES.entries()) {
      const door = [link, embed, portal][at % 3] as typeof link;
      const [list, one, day, name, options] = await Promise.all([
        door.execute({ regions: [value] }),
        door.execute({ region: value }),
        door.execute({ days: { from: value } }),
        door.execute({ [value]: 'north' }),
        door.options('regions', encodeURIComponent(value.slice(0, 200))),
      ]);
      for (const { status, body } of [list, one]) {
        expect([value, status, body.results?.[0].error]).toEqual([value, 200, undefined]);
        expect([value, regionsIn(body)]).toEqual([value, []]);
      }
      expect([value, day.status, day.body.error_code]).toEqual([value, 422, 'VALIDATION_ERROR']);
      // An embed tells nobody which names there are.
      const refusal = at % 3 === 1 ? [403, 'SHARE_FILTER_POLICY_VIOLATION'] : [422, 'VALIDATION_ERROR'];
      expect([value, name.status, name.body.error_code]).toEqual([value, ...refusal]);
      expect([value, options.status, options.body.options]).toEqual([value, 200, []]);
    }
    await intact();
  });
});

describe('the body of a request to execute a dashboard', () => {
  const send = async (door: { execute(parameters: unknown, more: object): Promise<ApiResponse> }, body: string) =>
    door.execute(undefined, { json: undefined, body, headers: { 'content-type': 'application/json' } });

  it('causes no server error, however deeply nested, repeated or malformed it is', async () => {
    const { dashboard } = await aSalesDashboard(company);
    const { link, embed } = await createViewerAccesses(dashboard._id, ['regions']);
    const deep = (value: string, depth: number) => `${'['.repeat(depth)}${value}${']'.repeat(depth)}`;
    for (const door of [link, embed]) {
      for (const value of ['1', '1e400', '12345678901234567890']) {
        const body = `{"parameters":{"regions":${deep(value, 200_000)}}}`;
        expect([400, 422]).toContain((await send(door, body)).status);
      }
      expect((await send(door, `{"parameters":${'{"a":'.repeat(50_000)}1${'}'.repeat(50_000)}}`)).status).toBe(400);
      const unknown = await send(door, `{"parameters":${'{"a":'.repeat(20)}1${'}'.repeat(20)}}`);
      expect(unknown.status).toBe(door === embed ? 403 : 422);
      // The last of several members of one name counts, as everywhere in JSON.
      const twice = await send(door, '{"parameters":{"regions":["east"],"regions":["north"]}}');
      expect([twice.status, regionsIn(twice.body)]).toEqual([200, ['north', 'north']]);
      const again = await send(door, '{"parameters":{"regions":["north","north"]}}');
      expect(regionsIn(again.body)).toEqual(['north', 'north']);
      expect((await send(door, '')).status).toBe(200);
      for (const body of ['{', '[]', 'null', '"x"', '{"parameters":[[[]]]}']) {
        expect([400, 422]).toContain((await send(door, body)).status);
      }
      expect((await send(door, `{"parameters":{"regions":["${'x'.repeat(1_100_000)}"]}}`)).status).toBe(413);
    }
  });
});
