import { describe, expect, it } from 'vitest';
import { findAxeViolations, isBrowserInstalled, readCardNumber, useBrowser, waitUntilSettled } from './browser.ts';
import {
  createContext,
  createDashboard,
  createEmbed,
  createLink,
  demo,
  readResults,
  requestApi,
} from './demo-company.ts';

const COUNT_CHART = {
  name: 'Strikes',
  sql: 'SELECT count(*) AS strikes FROM birdstrikes WHERE true [[AND aircraft_make_model = {{aircraft}}]]',
  chart: { type: 'number' },
};
const AIRCRAFT_FILTER = { filters: [{ slug: 'aircraft', label: 'Aircraft', kind: 'text' }] };
const NOT_VALID_TEXT = 'This link is not valid or has expired.';

describe.skipIf(!isBrowserInstalled)('a dashboard page in an unusual state', () => {
  const openPage = useBrowser();

  it('says that it is loading, and keeps the earlier results until new ones arrive', async () => {
    const { path } = await createLink(await createDashboard([COUNT_CHART], AIRCRAFT_FILTER));
    const { page, problems } = await openPage(path);
    await waitUntilSettled(page);
    let results = Promise.withResolvers<void>();
    await page.route('**/execute', (route) => results.promise.then(() => route.continue()));
    await page.reload();
    await page.locator('section[aria-busy=true]').first().waitFor();
    expect(await page.getByRole('status').filter({ hasText: 'Loading' }).count()).toBe(1);
    results.resolve();
    await waitUntilSettled(page);
    expect(await readCardNumber(page, 'Strikes')).toBe('10,000');
    results = Promise.withResolvers<void>();
    await page.getByLabel('Aircraft').fill('B-737-300');
    await page.locator('section[aria-busy=true]').first().waitFor();
    expect(await readCardNumber(page, 'Strikes')).toBe('10,000');
    results.resolve();
    await waitUntilSettled(page);
    expect(await readCardNumber(page, 'Strikes')).toBe('954');
    expect(problems).toEqual([]);
  });

  it('marks a chart as busy until it is drawn', async () => {
    const sql = 'SELECT phase_of_flight AS phase, count(*) AS strikes FROM birdstrikes GROUP BY 1';
    const { path } = await createLink(await createDashboard([{ name: 'Phases', sql, chart: { type: 'bar' } }]));
    const { page } = await openPage(path);
    await waitUntilSettled(page);
    const { promise: code, resolve: releaseCode } = Promise.withResolvers<void>();
    await page.route(/\/assets\/draw-\w+\.js$/, (route) => code.then(() => route.continue()));
    await page.reload();
    const card = page.getByRole('region', { name: 'Phases', exact: true });
    // Its result has come.
    await card.getByRole('button', { name: 'Show as table' }).waitFor();
    expect(await card.getAttribute('aria-busy')).toBe('true');
    releaseCode();
    await waitUntilSettled(page);
    expect(await card.getByRole('img').count()).toBe(1);
  });

  it('shows the last results with their time while the database wakes, and then loads new ones by itself', async () => {
    const { path } = await createLink(await createDashboard([COUNT_CHART], AIRCRAFT_FILTER));
    const { page, problems } = await openPage(path);
    await expect.poll(() => readCardNumber(page, 'Strikes').catch(() => '')).toBe('10,000');
    let answerCount = 0;
    await page.route('**/execute', async (route) => {
      const response = await route.fetch();
      const answer = await response.json();
      // On a busy machine one finds no place, or a connection that waits is taken for a database that wakes: both are asked for again.
      if (response.ok() && !answer.waking) answerCount += 1;
      if (answerCount !== 1) return route.fulfill({ response });
      const json = { ...answer, as_of: '2026-01-31T12:03:00.000Z', waking: true };
      return route.fulfill({ response, json });
    });
    await page.getByLabel('Aircraft').fill('B-737-300');
    const note = page.getByRole('status').filter({ hasText: 'The database is waking. As of' });
    await note.filter({ hasText: '2026' }).waitFor();
    expect(await readCardNumber(page, 'Strikes')).toBe('954');
    expect(await findAxeViolations(page)).toEqual([]);
    await note.waitFor({ state: 'detached' });
    expect(answerCount).toBe(2);
    expect(await readCardNumber(page, 'Strikes')).toBe('954');
    expect(problems).toEqual([]);
  });

  it('shows different states for a failed, an empty and a truncated chart, and still shows all other charts', async () => {
    const charts = [
      COUNT_CHART,
      { name: 'Failing', sql: 'SELECT 1 / (count(*) - count(*)) AS secret_ratio FROM birdstrikes' },
      { name: 'Empty', sql: 'SELECT 1 AS n WHERE false', chart: { type: 'bar' } },
      { name: 'Long', sql: 'SELECT n FROM generate_series(1, 10001) AS n' },
      {
        name: 'Columns gone',
        sql: "SELECT 'a' AS a, 'b' AS b",
        chart: { type: 'area', x: 'month', y: ['cost'] },
      },
    ];
    const { path } = await createLink(await createDashboard(charts, AIRCRAFT_FILTER));
    const { page, problems } = await openPage(path);
    const findCard = (name: string) => page.getByRole('region', { name, exact: true });
    expect((await readResults(path)).get('Failing')?.error?.error_code).toBe('DB_QUERY_ERROR');
    await findCard('Failing').getByRole('alert').filter({ hasText: 'The data could not be read.' }).waitFor();
    await findCard('Empty').getByText('No data yet. It appears here as soon as there is some.').waitFor();
    await findCard('Long').getByText('10,000 rows. There is more than is shown here.').waitFor();
    const [rows, note] = await Promise.all(
      ['.rows', '.note'].map((part) => findCard('Long').locator(part).boundingBox()),
    );
    expect((rows?.y ?? 0) + (rows?.height ?? 0)).toBeLessThanOrEqual(note?.y ?? 0);
    await findCard('Columns gone').getByText('The chart asks for a column that the data does not have').waitFor();
    expect(await readCardNumber(page, 'Strikes')).toBe('10,000');
    expect(await page.content()).not.toMatch(/secret_ratio|division|birdstrikes/);
    expect(await findAxeViolations(page)).toEqual([]);
    expect(problems).toEqual([]);
  });

  it('says that the viewer has no access to a chart that the fixed parameters of an embed do not filter', async () => {
    const unfilteredChart = {
      name: 'All',
      sql: 'SELECT count(*) AS strikes FROM birdstrikes',
      chart: { type: 'number' },
    };
    const dashboard = await createDashboard([COUNT_CHART, unfilteredChart], AIRCRAFT_FILTER);
    const { page, problems } = await openPage(
      await createEmbed(dashboard, { fixed_params: { aircraft: 'B-737-300' } }),
    );
    const card = page.getByRole('region', { name: 'All', exact: true });
    await card.getByRole('alert').filter({ hasText: 'You have no access to this.' }).waitFor();
    expect(await readCardNumber(page, 'Strikes')).toBe('954');
    expect(problems).toEqual([]);
  });

  it('shows HTML in names and cells as text', async () => {
    const attackHtml = '<img src=x onerror="document.title=\'owned\'">';
    const sql = `SELECT '${attackHtml.replaceAll("'", "''")}' AS "${attackHtml.replaceAll('"', '""').slice(0, 60)}"`;
    const filters = [
      { slug: 'aircraft', label: attackHtml, kind: 'select', options: [{ label: attackHtml, value: attackHtml }] },
    ];
    const charts = [
      { name: attackHtml, description: attackHtml, sql },
      { name: 'Bars', sql: `${sql}, 1 AS n`, chart: { type: 'bar', options: { x_label: attackHtml } } },
    ];
    const { path } = await createLink(
      await createDashboard(charts, { name: attackHtml, description: attackHtml, filters }),
    );
    const { page, problems } = await openPage(path);
    await page.getByRole('heading', { name: attackHtml, level: 1 }).waitFor();
    await page.getByRole('cell', { name: attackHtml }).waitFor();
    await page.getByRole('button', { name: attackHtml }).first().click();
    await page.getByRole('option', { name: attackHtml }).click();
    await waitUntilSettled(page);
    expect(await page.title()).toBe(`${attackHtml} – Demo`);
    expect(problems).toEqual([]);
  });

  it('says from the next request on that a link was revoked or an embedded dashboard deleted', async () => {
    const dashboard = await createDashboard([COUNT_CHART], AIRCRAFT_FILTER);
    const link = await createLink(dashboard);
    const embed = await createEmbed(dashboard, { allowed_params: ['aircraft'] });
    const pages = [await openPage(link.path), await openPage(embed)];
    for (const { page } of pages) await expect.poll(() => readCardNumber(page, 'Strikes')).toBe('10,000');

    await requestApi('DELETE', `/api/v1/dashboard-shares/${link.id}`);
    await requestApi('DELETE', `/v1/dashboards/${dashboard}`);
    for (const { page } of pages) {
      await page.getByLabel('Aircraft').fill('B-737-300');
      await page.getByRole('alert').filter({ hasText: NOT_VALID_TEXT }).waitFor();
      // The earlier result is not shown any more.
      expect(await page.getByRole('region', { name: 'Strikes', exact: true }).locator('dd').count()).toBe(0);
      await page.reload();
      await page.getByRole('heading', { name: 'Nothing to see here' }).waitFor();
      await page.getByText(NOT_VALID_TEXT).waitFor();
      expect(await page.getByRole('button').count()).toBe(0);
      expect(await findAxeViolations(page)).toEqual([]);
      await page.context().close();
    }
    for (const path of ['/p/none', '/embed/d/a.b.c', '/embed/v/none']) {
      const { page, problems } = await openPage(path);
      await page.getByText(NOT_VALID_TEXT).waitFor();
      expect(problems).toEqual([]);
      await page.context().close();
    }
  });

  it('sends visitors to the portal when a share requires a sign-in', async () => {
    const dashboard = await createDashboard([COUNT_CHART], AIRCRAFT_FILTER);
    const context = await createContext([dashboard], 'someone@example.com');
    const { path } = await createLink(dashboard, { share_context_id: context.id });
    const { page, executed } = await openPage(path);
    expect(await page.getByRole('link', { name: 'Sign in' }).getAttribute('href')).toBe(`/portal/${demo.company.slug}`);
    expect(await findAxeViolations(page)).toEqual([]);
    expect(executed).toEqual([]);
    await page.getByRole('link', { name: 'Sign in' }).click();
    await page.getByLabel('E-mail').waitFor();
  });

  it('says that the server cannot be reached, and tries again when the viewer asks', async () => {
    const { path } = await createLink(await createDashboard([COUNT_CHART], AIRCRAFT_FILTER));
    const { page } = await openPage(path);
    await expect.poll(() => readCardNumber(page, 'Strikes')).toBe('10,000');
    await page.context().setOffline(true);
    await page.getByLabel('Aircraft').fill('B-737-300');
    await page.getByText('The server cannot be reached. Check your connection.').waitFor();
    await page.context().setOffline(false);
    await page.getByRole('button', { name: 'Try again' }).click();
    await expect.poll(() => readCardNumber(page, 'Strikes').catch(() => '')).toBe('954');
  });

  it('waits as long as a 429 or 503 says, and offers to try again after a 500', async () => {
    const { path } = await createLink(await createDashboard([COUNT_CHART], AIRCRAFT_FILTER));
    let callCount = 0;
    const { page } = await openPage(path, {
      instead: (calledPath) => {
        if (!calledPath.endsWith('/execute')) return undefined;
        callCount++;
        const headers = { 'Retry-After': '1' };
        if (callCount === 1) return { status: 429, headers, body: { error: 'RateLimitExceeded' } };
        const makeBody = (error_code: string) => ({ error_code, message: 'For programs.' });
        if (callCount === 2) return { status: 503, headers, body: makeBody('SERVICE_UNAVAILABLE') };
        return callCount === 3 ? { status: 500, body: makeBody('INTERNAL_ERROR') } : undefined;
      },
    });
    await page.getByText('Too many requests at the moment.').waitFor();
    await page.getByText('This is not available at the moment.').waitFor();
    await page.getByText('Something went wrong on our side.').waitFor();
    await page.getByRole('button', { name: 'Try again' }).click();
    await expect.poll(() => readCardNumber(page, 'Strikes').catch(() => '')).toBe('10,000');
  });
});
