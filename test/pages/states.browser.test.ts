import { beforeAll, describe, expect, it } from 'vitest';
import { send } from '../support/send.ts';
import { findAxeViolations, isBrowserInstalled, readCardNumber, useBrowser, waitUntilSettled } from './browser.ts';
import {
  createContext,
  createDashboard,
  createEmbed,
  createLink,
  demo,
  readResults,
  requestApi,
  url,
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
  let dashboard: string;
  let path: string;
  beforeAll(async () => {
    dashboard = await createDashboard([COUNT_CHART], AIRCRAFT_FILTER);
    path = (await createLink(dashboard)).path;
  });

  it('says that it is loading, and keeps the earlier results until new ones arrive', async () => {
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

  it('says on the card of a chart that the code which draws it cannot be loaded, and offers to try again', async () => {
    const sql = 'SELECT phase_of_flight AS phase, count(*) AS strikes FROM birdstrikes GROUP BY 1';
    const charts = [COUNT_CHART, { name: 'Phases', sql, chart: { type: 'bar' } }];
    const { page } = await openPage((await createLink(await createDashboard(charts, AIRCRAFT_FILTER))).path);
    const card = page.getByRole('region', { name: 'Phases', exact: true });
    await card.getByRole('img').waitFor();
    // As after a deployment, which replaces the files of the version that the tab has open.
    await page.route(/\/assets\/draw-\w+\.js$/, (route) => route.abort());
    await page.reload();
    await card.getByRole('alert').filter({ hasText: 'Something went wrong on our side.' }).waitFor();
    await waitUntilSettled(page);
    expect(await readCardNumber(page, 'Strikes')).toBe('10,000');
    // A table needs none of it.
    await card.getByRole('button', { name: 'Show as table' }).click();
    await card.getByRole('table').waitFor();
    await card.getByRole('button', { name: 'Show as chart' }).click();
    await card.getByRole('alert').waitFor();
    expect(await card.getByRole('button', { name: 'Show as table' }).isVisible()).toBe(true);
    await page.unroute(/\/assets\/draw-\w+\.js$/);
    await card.getByRole('button', { name: 'Try again' }).click();
    await card.getByRole('img').waitFor();
  });

  it.each([
    ['menu of downloads', 'Download: Strikes', 'CSV', /\/assets\/download-menu-\w+\.js$/],
    ['view over the whole screen', 'Whole screen', 'Close', /\/assets\/full-screen-\w+\.js$/],
  ])(
    'says on a card that the code of its %s cannot be loaded, and offers to try again',
    async (_, name, shown, code) => {
      const { path } = await createLink(dashboard, { embed_options: { allow_downloads: true } });
      const { page } = await openPage(path);
      const card = page.getByRole('region', { name: 'Strikes', exact: true });
      await page.route(code, (route) => route.abort());
      await card.getByRole('button', { name }).click();
      const notice = card.getByRole('status').filter({ hasText: 'Something went wrong on our side.' });
      await notice.waitFor();
      expect(await findAxeViolations(page)).toEqual([]);
      await page.unroute(code);
      await notice.getByRole('button', { name: 'Try again' }).click();
      await notice.waitFor({ state: 'detached' });
      await card.getByRole('button', { name }).click();
      await page.getByRole('button', { name: shown, exact: true }).waitFor();
    },
  );

  it('shows the last results with their time while the database wakes, and then loads new ones by itself', async () => {
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
      ['.rows', '.note:visible'].map((part) => findCard('Long').locator(part).boundingBox()),
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

  it('breaks long names of cards, filters and columns, so that it is not wider than a phone', async () => {
    const name = 'Superkalifragilistisch'.repeat(7);
    const filters = [
      { slug: 'a', label: name.slice(0, 100), kind: 'text' },
      { slug: 'b', label: name.slice(0, 99), kind: 'multi_select', options: [{ label: name, value: name }] },
      { slug: 'c', label: name.slice(0, 98), kind: 'date_range' },
      { slug: 'd', label: name.slice(0, 97), kind: 'text', required: true },
    ];
    const column = name.slice(0, 60);
    const charts = [
      { name, description: name, sql: `SELECT 1 AS ${column}, 2 AS n`, chart: { type: 'number' } },
      { name: `${name}2`, sql: `SELECT 1 AS x, 2 AS ${column}, 3 AS n`, chart: { type: 'line' } },
    ];
    const { path } = await createLink(await createDashboard(charts, { name, description: name, filters }));
    const { page } = await openPage(path, { viewport: { width: 320, height: 800 } });
    for (const query of ['', `?d=${name}&b=${name}`]) {
      await page.goto(new URL(path + query, page.url()).href);
      await waitUntilSettled(page);
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(320);
      const ends = await page.evaluate(`Array.from(document.querySelectorAll(
        '.label, label, h1, h2, .body p, dt, .legend span:not(.mark-of), .widget header p'), (element) => {
          const range = document.createRange();
          range.selectNodeContents(element);
          return range.getBoundingClientRect().right;
        })`);
      expect(Math.max(...(ends as number[]))).toBeLessThanOrEqual(320);
    }
    expect(await page.locator('dt').count()).toBe(2);
  });

  it('says that there is no data yet where the company has no database', async () => {
    const slug = `new-${crypto.randomUUID().slice(0, 8)}`;
    const owner = { name: 'Ana', email: 'owner@example.com', password: 'A long password, 1' };
    await send(url, 'POST', '/admin/organizations', {
      token: demo.platform_admin_token,
      json: { name: 'New', slug, owner },
    });
    const { token } = await send<{ token: string }>(url, 'POST', '/v1/auth/login', {
      json: { company_slug: slug, email: owner.email, password: owner.password },
    });
    const post = <T>(path: string, json: unknown) => send<T>(url, 'POST', path, { token, json });
    const { _id: id } = await post<{ _id: string }>('/v1/visualizations', { name: 'Early', sql: 'SELECT 1 AS n' });
    const dashboard = await post<{ _id: string }>('/v1/dashboards', {
      name: 'Early',
      layout: [{ visualization_id: id, x: 0, y: 0, w: 6, h: 4 }],
      filters: [],
    });
    const share = await post<{ url: string }>(`/api/v1/dashboards/${dashboard._id}/shares`, { share_type: 'link' });
    const { page, problems } = await openPage(new URL(share.url).pathname);
    await page.getByText('No data yet. It appears here as soon as there is some.').waitFor();
    expect(await page.getByRole('alert').count()).toBe(0);
    await page.getByRole('button', { name: 'Run again' }).waitFor();
    expect(await findAxeViolations(page)).toEqual([]);
    expect(problems).toEqual([]);
  });

  it('says from the next request on that a link was revoked or an embedded dashboard deleted', async () => {
    const deletedDashboard = await createDashboard([COUNT_CHART], AIRCRAFT_FILTER);
    const link = await createLink(deletedDashboard);
    const embed = await createEmbed(deletedDashboard, { allowed_params: ['aircraft'] });
    const pages = [await openPage(link.path), await openPage(embed)];
    for (const { page } of pages) await expect.poll(() => readCardNumber(page, 'Strikes')).toBe('10,000');

    await requestApi('DELETE', `/api/v1/dashboard-shares/${link.id}`);
    await requestApi('DELETE', `/v1/dashboards/${deletedDashboard}`);
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
    const context = await createContext([dashboard], 'someone@example.com');
    const link = await createLink(dashboard, { share_context_id: context.id });
    const { page, executedParameters } = await openPage(link.path);
    expect(await page.getByRole('link', { name: 'Sign in' }).getAttribute('href')).toBe(`/portal/${demo.company.slug}`);
    expect(await findAxeViolations(page)).toEqual([]);
    expect(executedParameters).toEqual([]);
    await page.getByRole('link', { name: 'Sign in' }).click();
    await page.getByLabel('E-mail').waitFor();
  });

  it('says that the server cannot be reached, and tries again when the viewer asks', async () => {
    const { page } = await openPage(path);
    await expect.poll(() => readCardNumber(page, 'Strikes')).toBe('10,000');
    await page.context().setOffline(true);
    await page.getByLabel('Aircraft').fill('B-737-300');
    await page.getByText('The server cannot be reached. Check your connection.').waitFor();
    await page.context().setOffline(false);
    await page.getByRole('button', { name: 'Try again' }).click();
    await expect.poll(() => readCardNumber(page, 'Strikes').catch(() => '')).toBe('954');
  });

  it.each(['resolve', 'execute'])(
    'offers to try again when the connection ends within the answer: %s',
    async (lastPart) => {
      const { page } = await openPage('/');
      let isCut = true;
      await page.route(`**/${lastPart}`, async (route) => {
        const response = await route.fetch();
        const text = await response.text();
        await route.fulfill({ response, body: isCut ? text.slice(0, text.length / 2) : text });
      });
      await page.goto(new URL(path, page.url()).href);
      await page.getByText('The server cannot be reached. Check your connection.').waitFor();
      isCut = false;
      await page.getByRole('button', { name: 'Try again' }).click();
      await expect.poll(() => readCardNumber(page, 'Strikes').catch(() => '')).toBe('10,000');
    },
  );

  it('waits as long as a 429 or 503 says, and offers to try again after a 500', async () => {
    let callCount = 0;
    const { page } = await openPage(path, {
      answerSubstitute: (calledPath) => {
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
