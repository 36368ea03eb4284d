import { beforeAll, describe, expect, it } from 'vitest';
import { createTableClient } from '../managed-tables/support.ts';
import { createShare, createShareClient } from '../shares/support.ts';
import { type Company, createProvisionedCompany } from '../support/companies.ts';
import { disturbTunnel, runWithLatency, waitForSleep } from '../support/tunnel.ts';
import { createSalesTable, makeParameter, postDashboard, postVisualization } from '../visualizations/support.ts';

const VIEWER_COUNT = 100;
const LATENCY_MS = 30;

let company: Company;
let viewer: ReturnType<typeof createShareClient>;
beforeAll(async () => {
  company = await createProvisionedCompany();
  await createSalesTable(company);
  const charts = await Promise.all(
    [1, 2, 3, 4, 5, 6, 7].map((n) =>
      postVisualization(company.as, `SELECT ${n}, {{least}}::int, count(*)::int FROM sales WHERE amount >= {{least}}`, {
        name: `Chart ${n}`,
        parameters: [makeParameter('least', 'number', { default: 0 })],
      }),
    ),
  );
  const { _id } = await postDashboard(company.as, charts, {
    cache_seconds: 0,
    filters: [{ slug: 'least', label: 'Least', kind: 'number', default: 0 }],
  });
  viewer = createShareClient((await createShare(company, _id)).token);
});

describe('a shared dashboard', () => {
  it.each([
    ['equal parameters', () => ({})],
    ['different parameters', (index: number) => ({ least: -1 - index })],
  ])('answers every viewer of a burst of requests with %s', async (_, parameters) => {
    const { outcome } = await runWithLatency(company.id, LATENCY_MS, () =>
      Promise.all(Array.from({ length: VIEWER_COUNT }, (_, index) => viewer.execute(parameters(index)))),
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
    const slowCharts = await Promise.all(
      [1, 2, 3, 4].map((n) => postVisualization(company.as, `SELECT ${n}, pg_sleep(0.3)`, { name: `Slow ${n}` })),
    );
    const { _id } = await postDashboard(company.as, slowCharts);
    const answers = await Promise.all(
      Array.from({ length: 60 }, () => company.as.post(`/v1/dashboards/${_id}/execute`, { json: {} })),
    );
    for (const { status, body } of answers) {
      expect(status).toBe(200);
      for (const result of body.results) expect(result).toMatchObject({ row_count: 1 });
    }
  });

  it('runs a failed query once more before the answer is 503 with Retry-After', async () => {
    const ownCompany = await createProvisionedCompany();
    const { _id } = await postVisualization(ownCompany.as, 'SELECT 1');
    const execute = () => ownCompany.as.post(`/v1/visualizations/${_id}/execute`, { json: {} });
    const loseNextAnswer = () => disturbTunnel(ownCompany.id, { statement: 'DECLARE user_sql', effect: 'lose_answer' });
    await loseNextAnswer();
    expect((await execute()).status).toBe(200);
    await loseNextAnswer();
    await loseNextAnswer();
    const refusedExecution = await execute();
    expect(refusedExecution.status).toBe(503);
    expect(refusedExecution.headers.get('retry-after')).toBe('5');
    expect((await execute()).status).toBe(200);
  });

  it('never answers with data read before the request, however many requests wait', async () => {
    const ownCompany = await createProvisionedCompany();
    const table = createTableClient(ownCompany.as, await createSalesTable(ownCompany));
    const slowChart = await postVisualization(ownCompany.as, 'SELECT (SELECT count(*) FROM sales)::int, pg_sleep(2)');
    const { _id } = await postDashboard(ownCompany.as, [slowChart], { cache_seconds: 0 });
    const { execute } = createShareClient((await createShare(ownCompany, _id)).token);
    const count = async (execution: ReturnType<typeof execute>) => (await execution).body.results[0].rows[0][0];

    const executionBefore = execute();
    await waitForSleep(ownCompany.id);
    expect((await table.insert([{ region: 'west' }])).status).toBe(201);
    const executionsAfter = [execute(), execute()];
    expect(await count(executionBefore)).toBe(6);
    for (const listedExecution of executionsAfter) expect(await count(listedExecution)).toBe(7);
  });
});
