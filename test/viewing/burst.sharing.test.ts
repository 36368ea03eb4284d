import { beforeAll, describe, expect, it } from 'vitest';
import { makeTableRoutes } from '../managed-tables/support.ts';
import { aShare, linkOf } from '../shares/support.ts';
import { disturb, farAway, untilSomebodySleeps } from '../support/tunnel.ts';
import { aProvisionedCompany, type Company } from '../support/worlds.ts';
import { aDashboard, aVisualization, parameter, someSales } from '../visualizations/support.ts';

const VIEWERS = 200;
const MILLISECONDS = 30;

let company: Company;
let viewer: ReturnType<typeof linkOf>;
beforeAll(async () => {
  company = await aProvisionedCompany();
  await someSales(company);
  const charts = await Promise.all(
    [1, 2, 3, 4, 5, 6, 7].map((n) =>
      aVisualization(company.as, `SELECT ${n}, {{least}}::int, count(*)::int FROM sales WHERE amount >= {{least}}`, {
        name: `Chart ${n}`,
        parameters: [parameter('least', 'number', { default: 0 })],
      }),
    ),
  );
  const { _id } = await aDashboard(company.as, charts, {
    cache_seconds: 0,
    filters: [{ slug: 'least', label: 'Least', kind: 'number', default: 0 }],
  });
  viewer = linkOf((await aShare(company, _id)).token);
});

describe('a shared dashboard', () => {
  it.each([
    ['equal parameters', () => ({})],
    ['different parameters', (index: number) => ({ least: -1 - index })],
  ])('answers every viewer of a burst of requests with %s', async (_, parameters) => {
    const { outcome } = await farAway(company.id, MILLISECONDS, () =>
      Promise.all(Array.from({ length: VIEWERS }, (_, index) => viewer.execute(parameters(index)))),
    );
    for (const [index, { status, body }] of outcome.entries()) {
      expect(status).toBe(200);
      const { least = 0 } = parameters(index) as { least?: number };
      expect(body.results.map(({ rows }: { rows: unknown[][] }) => rows?.[0])).toEqual(
        [1, 2, 3, 4, 5, 6, 7].map((n) => [n, least, 6]),
      );
    }
  });

  it('answers every console user of a burst, who wait for a free database connection', async () => {
    const slow = await Promise.all(
      [1, 2, 3, 4].map((n) => aVisualization(company.as, `SELECT ${n}, pg_sleep(0.3)`, { name: `Slow ${n}` })),
    );
    const { _id } = await aDashboard(company.as, slow);
    const answers = await Promise.all(
      Array.from({ length: 100 }, () => company.as.post(`/v1/dashboards/${_id}/execute`, { json: {} })),
    );
    for (const { status, body } of answers) {
      expect(status).toBe(200);
      for (const result of body.results) expect(result).toMatchObject({ row_count: 1 });
    }
  });

  it('runs a failed query once more before it answers 503 with Retry-After', async () => {
    const own = await aProvisionedCompany();
    const { _id } = await aVisualization(own.as, 'SELECT 1');
    const execute = () => own.as.post(`/v1/visualizations/${_id}/execute`, { json: {} });
    const lost = () => disturb(own.id, { statement: 'DECLARE user_sql', effect: 'lose_answer' });
    await lost();
    expect((await execute()).status).toBe(200);
    await lost();
    await lost();
    const refused = await execute();
    expect(refused.status).toBe(503);
    expect(refused.headers.get('retry-after')).toBe('5');
    expect((await execute()).status).toBe(200);
  });

  it('never answers with data read before the request, however many requests wait', async () => {
    const own = await aProvisionedCompany();
    const table = makeTableRoutes(own.as, await someSales(own));
    const slow = await aVisualization(own.as, 'SELECT (SELECT count(*) FROM sales)::int, pg_sleep(2)');
    const { _id } = await aDashboard(own.as, [slow], { cache_seconds: 0 });
    const { execute } = linkOf((await aShare(own, _id)).token);
    const count = async (execution: ReturnType<typeof execute>) => (await execution).body.results[0].rows[0][0];

    const before = execute();
    await untilSomebodySleeps(own.id);
    expect((await table.insert([{ region: 'west' }])).status).toBe(201);
    const after = [execute(), execute()];
    expect(await count(before)).toBe(6);
    for (const each of after) expect(await count(each)).toBe(7);
  });
});
