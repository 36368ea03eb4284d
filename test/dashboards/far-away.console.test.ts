import { expect, it } from 'vitest';
import { farAway } from '../support/tunnel.ts';
import { aProvisionedCompany } from '../support/worlds.ts';
import { aDashboard, aVisualization, DASHBOARDS_PATH, someSales } from '../visualizations/support.ts';

it('a dashboard of seven charts takes four round trips in sequence', async () => {
  const company = await aProvisionedCompany();
  await someSales(company);
  const charts = await Promise.all(
    [1, 2, 3, 4, 5, 6, 7].map((n) =>
      aVisualization(company.as, `SELECT ${n}, count(*) FROM sales`, { name: `C ${n}` }),
    ),
  );
  const { _id } = await aDashboard(company.as, charts);
  const { outcome, trips } = await farAway(company.id, 100, () =>
    company.as.post(`${DASHBOARDS_PATH}/${_id}/execute`, { json: {} }),
  );
  expect(outcome.body.results.map(({ rows }: { rows: unknown[][] }) => rows[0]?.[0])).toEqual([1, 2, 3, 4, 5, 6, 7]);
  expect(trips).toBeLessThanOrEqual(4);
});

it('a chart whose result is too large does not make the other charts of its dashboard fail', async () => {
  const company = await aProvisionedCompany();
  const large = "SELECT repeat('x', 30000000)";
  const charts = await Promise.all(
    [large, 'SELECT 2', 'SELECT 3', 'SELECT 4', 'SELECT 5', 'SELECT 6', 'SELECT 7'].map((text, n) =>
      aVisualization(company.as, text, { name: `Chart ${n}` }),
    ),
  );
  const { _id } = await aDashboard(company.as, charts);
  const { body } = await company.as.post(`${DASHBOARDS_PATH}/${_id}/execute`, { json: {} });
  const shown = body.results.map((each: { rows?: unknown[][]; error?: unknown }) => each.rows?.[0]?.[0] ?? 'failed');
  expect(shown).toEqual(['failed', 2, 3, 4, 5, 6, 7]);
});
