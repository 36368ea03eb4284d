import { expect, it, vi } from 'vitest';
import { executeOnce } from '../../src/modules/viewing/coalesce.ts';
import { tooManyViewers } from '../../src/modules/viewing/failures.ts';
import { createSalesTable, createShare, createShareClient } from '../shares/support.ts';
import { createProvisionedCompany } from '../support/companies.ts';
import { runInContext } from '../support/context.ts';
import { makeParameter, postDashboard, postVisualization } from '../visualizations/support.ts';

/**
 * The number of concurrent requests: too many for all to get a slot in time. Each uses two of the reader's forty connections.
 */
const REQUEST_COUNT = 60;
const SLOW_SECONDS = 2;

it('viewers of a slow dashboard leave connections free for the company, and for other viewers', async () => {
  const company = await createProvisionedCompany();
  await createSalesTable(company);
  const slowCharts = await Promise.all(
    [1, 2, 3, 4].map((n) =>
      postVisualization(company.as, `SELECT ${n}, pg_sleep(${SLOW_SECONDS}), {{asked}}::int`, {
        name: `Slow ${n}`,
        parameters: [makeParameter('asked', 'number', { default: 0 })],
      }),
    ),
  );
  const fastChart = await postVisualization(company.as, 'SELECT count(*) FROM sales', { name: 'Fast' });
  const slowDashboard = await postDashboard(company.as, slowCharts, {
    cache_seconds: 0,
    filters: [{ slug: 'asked', label: 'Asked', kind: 'number' }],
  });
  const fastDashboard = await postDashboard(company.as, [fastChart], { cache_seconds: 0 });
  const viewer = createShareClient((await createShare(company, slowDashboard._id)).token);
  const other = createShareClient((await createShare(company, fastDashboard._id)).token);

  const slowExecutions = Array.from({ length: REQUEST_COUNT }, (_, index) => viewer.execute({ asked: index }));
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  const consoleExecution = await company.as.post(`/v1/dashboards/${slowDashboard._id}/execute`, { json: {} });
  const otherExecution = await other.execute();
  for (const { status, body } of [consoleExecution, otherExecution]) {
    expect(status).toBe(200);
    for (const result of body.results) expect(result).toMatchObject({ row_count: 1 });
  }
  const answers = await Promise.all(slowExecutions);
  const servedAnswers = answers.filter(({ status }) => status === 200);
  expect(servedAnswers.length).toBeGreaterThanOrEqual(3);
  for (const { body } of servedAnswers)
    for (const result of body.results) expect(result).toMatchObject({ row_count: 1 });
  const refusedAnswers = answers.filter(({ status }) => status !== 200);
  expect(refusedAnswers.length).toBeGreaterThan(0);
  for (const answer of refusedAnswers) {
    expect(answer).toMatchObject({ status: 503, body: { error_code: 'SERVICE_UNAVAILABLE' } });
    expect(answer.headers.get('retry-after')).toBe('5');
  }
  // Every slot was given back.
  expect((await viewer.execute()).status).toBe(200);
});

it('a dashboard that 60 viewers open at once runs at most twice and is answered to all of them', async () => {
  const company = await createProvisionedCompany();
  await createSalesTable(company);
  const quickCharts = await Promise.all(
    [1, 2, 3, 4, 5, 6].map((n) =>
      postVisualization(company.as, `SELECT region, count(*), now() FROM sales GROUP BY 1 LIMIT ${n}`, {
        name: `Quick ${n}`,
      }),
    ),
  );
  const { _id } = await postDashboard(company.as, quickCharts);
  const viewer = createShareClient((await createShare(company, _id)).token);

  const answers = await Promise.all(Array.from({ length: 60 }, () => viewer.execute()));
  for (const { status, body } of answers) {
    expect(status).toBe(200);
    for (const result of body.results) expect(result.error).toBeUndefined();
  }
  const runIds = new Set(answers.map(({ body }) => body.results[0].rows[0][2]));
  expect(runIds.size).toBeLessThanOrEqual(2);
});

it('a viewer who gets no slot leaves those who wait for the same result to get one themselves, one for all of them', async () => {
  const executions: string[] = [];
  const answers = await runInContext({ kind: 'system', companyId: 'a-company' }, (ctx) => {
    const { promise: slot, reject: refuse } = Promise.withResolvers<string>();
    const executeAs = (viewer: string, result: Promise<string>) =>
      executeOnce(ctx, 'a-result', () => {
        executions.push(viewer);
        return result;
      });
    const requests = [
      executeAs('first', slot),
      ...['second', 'third', 'fourth'].map((viewer) => executeAs(viewer, Promise.resolve(`result of the ${viewer}`))),
    ];
    refuse(tooManyViewers());
    return Promise.allSettled(requests);
  });
  expect(executions).toEqual(['first', 'second']);
  expect(answers[0]).toMatchObject({ status: 'rejected', reason: { reason: 'viewing.busy' } });
  expect(answers.slice(1)).toEqual(
    Array.from({ length: 3 }, () => ({ status: 'fulfilled', value: 'result of the second' })),
  );
});

it('a viewer waits for the same result as others at most a minute, however many of them get no slot', async () => {
  vi.useFakeTimers();
  try {
    const refusal = await runInContext({ kind: 'system', companyId: 'a-company' }, async (ctx) => {
      const execute = () => new Promise<string>((_, reject) => setTimeout(() => reject(tooManyViewers()), 25_000));
      const requests = ['first', 'second', 'third', 'fourth', 'fifth'].map(() => executeOnce(ctx, 'a-result', execute));
      const outcomes = requests.map((request) => request.catch((error: unknown) => error));
      await vi.advanceTimersByTimeAsync(60_000);
      const lastOutcome = await Promise.race([outcomes.at(-1), 'waits']);
      await vi.advanceTimersByTimeAsync(60_000);
      await Promise.all(outcomes);
      return lastOutcome;
    });
    expect(tooManyViewers.matches(refusal)).toBe(true);
  } finally {
    vi.useRealTimers();
  }
});
