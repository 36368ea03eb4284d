import { expect, it } from 'vitest';
import { aShare, linkOf, someSales } from '../shares/support.ts';
import { aProvisionedCompany } from '../support/worlds.ts';
import { aDashboard, aVisualization, parameter } from '../visualizations/support.ts';

/** Each takes two connections of the reader's forty, and longer than the first others wait for. */
const REQUESTS = 60;
const SLOW_SECONDS = 2;

it('viewers of a slow dashboard leave connections free for the company, and for other viewers', async () => {
  const company = await aProvisionedCompany();
  await someSales(company);
  const slow = await Promise.all(
    [1, 2, 3, 4].map((n) =>
      aVisualization(company.as, `SELECT ${n}, pg_sleep(${SLOW_SECONDS}), {{asked}}::int`, {
        name: `Slow ${n}`,
        parameters: [parameter('asked', 'number', { default: 0 })],
      }),
    ),
  );
  const fast = await aVisualization(company.as, 'SELECT count(*) FROM sales', { name: 'Fast' });
  const slowDashboard = await aDashboard(company.as, slow, {
    cache_seconds: 0,
    filters: [{ slug: 'asked', label: 'Asked', kind: 'number' }],
  });
  const fastDashboard = await aDashboard(company.as, [fast], { cache_seconds: 0 });
  const viewer = linkOf((await aShare(company, slowDashboard._id)).token);
  const other = linkOf((await aShare(company, fastDashboard._id)).token);

  const flood = Array.from({ length: REQUESTS }, (_, asked) => viewer.execute({ asked }));
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  const console = await company.as.post(`/v1/dashboards/${slowDashboard._id}/execute`, { json: {} });
  const shown = await other.execute();
  for (const { status, body } of [console, shown]) {
    expect(status).toBe(200);
    for (const result of body.results) expect(result).toMatchObject({ row_count: 1 });
  }
  const answers = await Promise.all(flood);
  const seen = answers.filter(({ status }) => status === 200);
  expect(seen.length).toBeGreaterThanOrEqual(3);
  for (const { body } of seen) for (const result of body.results) expect(result).toMatchObject({ row_count: 1 });
  const sentAway = answers.filter(({ status }) => status !== 200);
  expect(sentAway.length).toBeGreaterThan(0);
  for (const answer of sentAway) {
    expect(answer).toMatchObject({ status: 503, body: { error_code: 'SERVICE_UNAVAILABLE' } });
    expect(answer.headers.get('retry-after')).toBe('5');
  }
  // Every slot was given back.
  expect((await viewer.execute()).status).toBe(200);
});

it('a dashboard that 60 viewers open at once runs at most twice and is answered to all of them', async () => {
  const company = await aProvisionedCompany();
  await someSales(company);
  const quick = await Promise.all(
    [1, 2, 3, 4, 5, 6].map((n) =>
      aVisualization(company.as, `SELECT region, count(*), now() FROM sales GROUP BY 1 LIMIT ${n}`, {
        name: `Quick ${n}`,
      }),
    ),
  );
  const { _id } = await aDashboard(company.as, quick);
  const viewer = linkOf((await aShare(company, _id)).token);

  const answers = await Promise.all(Array.from({ length: 60 }, () => viewer.execute()));
  for (const { status, body } of answers) {
    expect(status).toBe(200);
    for (const result of body.results) expect(result.error).toBeUndefined();
  }
  const runs = new Set(answers.map(({ body }) => body.results[0].rows[0][2]));
  expect(runs.size).toBeLessThanOrEqual(2);
});
