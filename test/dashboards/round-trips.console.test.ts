import { expect, it } from 'vitest';
import { createProvisionedCompany } from '../support/companies.ts';
import { runWithLatency } from '../support/tunnel.ts';
import { createSalesTable, DASHBOARDS_PATH, postDashboard, postVisualization } from '../visualizations/support.ts';

it('a dashboard of seven charts takes four round trips in sequence', async () => {
  const company = await createProvisionedCompany();
  await createSalesTable(company);
  const charts = await Promise.all(
    [1, 2, 3, 4, 5, 6, 7].map((n) =>
      postVisualization(company.as, `SELECT ${n}, count(*) FROM sales`, { name: `C ${n}` }),
    ),
  );
  const { _id } = await postDashboard(company.as, charts);
  const { outcome, tripCount } = await runWithLatency(company.id, 100, () =>
    company.as.post(`${DASHBOARDS_PATH}/${_id}/execute`, { json: {} }),
  );
  expect(outcome.body.results.map(({ rows }: { rows: unknown[][] }) => rows[0]?.[0])).toEqual([1, 2, 3, 4, 5, 6, 7]);
  expect(tripCount).toBeLessThanOrEqual(4);
});

it('a chart whose result is too large does not make the other charts of its dashboard fail', async () => {
  const company = await createProvisionedCompany();
  const LARGE_SQL = "SELECT repeat('x', 30000000)";
  const charts = await Promise.all(
    [LARGE_SQL, 'SELECT 2', 'SELECT 3', 'SELECT 4', 'SELECT 5', 'SELECT 6', 'SELECT 7'].map((text, n) =>
      postVisualization(company.as, text, { name: `Chart ${n}` }),
    ),
  );
  const { _id } = await postDashboard(company.as, charts);
  const { body } = await company.as.post(`${DASHBOARDS_PATH}/${_id}/execute`, { json: {} });
  const firstCells = body.results.map(
    (result: { rows?: unknown[][]; error?: unknown }) => result.rows?.[0]?.[0] ?? 'failed',
  );
  expect(firstCells).toEqual(['failed', 2, 3, 4, 5, 6, 7]);
});
