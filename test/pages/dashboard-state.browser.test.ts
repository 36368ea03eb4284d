import { beforeAll, describe, expect, it } from 'vitest';
import { PAGE_TEXTS } from '../../src/texts/pages/languages.ts';
import { findAxeViolations, isBrowserInstalled, readCardNumber, useBrowser, waitUntilSettled } from './browser.ts';
import { type Chart, createDashboard, createEmbed, createLink, readResults, url } from './demo-company.ts';

const WHERE_CLAUSE = 'WHERE true [[AND aircraft_make_model = {{aircraft}}]] [[AND origin_state = ANY({{state}})]]';
const CHARTS: Chart[] = [
  {
    name: 'Strikes',
    sql: `SELECT count(*) AS n FROM birdstrikes ${WHERE_CLAUSE}`,
    chart: { type: 'number' },
    place: [0, 0, 4, 3],
  },
  {
    name: 'Bars',
    sql: `SELECT origin_state AS state, count(*) AS n FROM birdstrikes ${WHERE_CLAUSE} GROUP BY 1 ORDER BY 2 DESC LIMIT 5`,
    chart: { type: 'bar' },
    place: [4, 0, 8, 3],
  },
  { name: 'Rows', sql: 'SELECT n, n * 2 AS m FROM generate_series(1, 90) AS n', place: [0, 3, 12, 4] },
];
const FILTERS = [
  { slug: 'aircraft', label: 'Aircraft', kind: 'text' },
  {
    slug: 'state',
    label: 'State',
    kind: 'multi_select',
    options: [
      { value: 'Texas', label: 'Texas' },
      { value: 'Ohio', label: 'Ohio' },
    ],
  },
];

describe.skipIf(!isBrowserInstalled)('a page of a shared dashboard', () => {
  const openPage = useBrowser();
  let dashboard: string;
  let link: string;
  beforeAll(async () => {
    dashboard = await createDashboard(CHARTS, { filters: FILTERS, cache_seconds: 60 });
    link = (await createLink(dashboard)).path;
  });

  it('shows how old its results are, in its language, and a button that runs the queries again', async () => {
    const { page, executedParameters, problems } = await openPage('/p/none', { colorScheme: 'dark' });
    const now = new Date();
    await page.clock.install({ time: now });
    let ageMs = 125_000;
    const headers: (string | undefined)[] = [];
    await page.route('**/execute', async (route) => {
      headers.push(route.request().headers()['cache-control']);
      const response = await route.fetch();
      const time = Date.parse(response.headers().date ?? '');
      const json = { ...(await response.json()), as_of: new Date(time - ageMs).toISOString() };
      await route.fulfill({ response, json });
    });
    await page.goto(`${url}${link}?locale=es`);
    await page.getByText('Actualizado hace 2 minutos', { exact: true }).waitFor();
    await waitUntilSettled(page);
    expect(headers).toEqual([undefined]);
    await page.clock.runFor(60_000);
    await page.getByText('Actualizado hace 3 minutos', { exact: true }).waitFor();
    await page.clock.runFor(3 * 3_600_000);
    await page.getByText('Actualizado hace 3 horas', { exact: true }).waitFor();
    ageMs = 0;
    await page.getByRole('button', { name: PAGE_TEXTS.es.runAgain }).press('Enter');
    await page.getByText(PAGE_TEXTS.es.updatedNow, { exact: true }).waitFor();
    await waitUntilSettled(page);
    // What is kept from before is not enough then.
    expect(headers).toEqual([undefined, 'no-cache']);
    expect(executedParameters.length).toBe(2);
    expect(await findAxeViolations(page)).toEqual([]);
    expect(problems).toEqual([]);
  });

  it('keeps a series hidden when its chart is drawn again, on paper, in the other scheme or with new results', async () => {
    const sql = `SELECT * FROM (VALUES ('a', 1, 9), ('b', 2, 8)) AS t (x, first, second)`;
    const { path } = await createLink(await createDashboard([{ name: 'Two', sql, chart: { type: 'bar' } }]));
    const { page, problems } = await openPage(path);
    await waitUntilSettled(page);
    const entries = page.locator('.legend button');
    const readPressed = () =>
      entries.evaluateAll((buttons) =>
        buttons.map((button) => (button as unknown as { ariaPressed: string }).ariaPressed),
      );
    const readPicture = () => page.locator('canvas').evaluate('document.querySelector("canvas").toDataURL()');
    const fullPicture = await readPicture();
    await entries.nth(1).click();
    await expect.poll(readPicture).not.toBe(fullPicture);
    const picture = await readPicture();
    const newCanvas = page.locator('canvas:not([data-before])');
    const redrawings = [
      () => page.evaluate("dispatchEvent(new Event('beforeprint')), dispatchEvent(new Event('afterprint'))"),
      async () => {
        await page.emulateMedia({ colorScheme: 'dark' });
        await newCanvas.waitFor();
        await page.emulateMedia({ colorScheme: 'light' });
      },
      () => page.getByRole('button', { name: 'Run again' }).click(),
    ];
    for (const redraw of redrawings) {
      // Another canvas has no such mark.
      await page.locator('canvas').evaluate('document.querySelector("canvas").dataset.before = ""');
      await redraw();
      await newCanvas.waitFor();
      await waitUntilSettled(page);
      expect(await readPressed()).toEqual(['true', 'false']);
      await expect.poll(readPicture).toBe(picture);
    }
    expect(problems).toEqual([]);
  });

  it('keeps the sort order, the extra rows and the scroll position of a table when the queries run again', async () => {
    const wideColumns = Array.from({ length: 12 }, (_, at) => `n + ${at} AS column_${at}`).join(', ');
    const sql = `SELECT ${wideColumns} FROM generate_series(1, 250) AS n`;
    const wideLink = await createLink(await createDashboard([{ name: 'Wide', sql, place: [0, 0, 12, 4] }]));
    const { page, executedParameters } = await openPage(wideLink.path, { viewport: { width: 360, height: 740 } });
    await waitUntilSettled(page);
    const scrollArea = page.getByRole('group', { name: 'Wide' });
    await page.getByRole('button', { name: 'column_3' }).click();
    await page.getByRole('button', { name: 'column_3' }).click();
    type ScrollArea = { scrollLeft: number; scrollTop: number; scrollTo(x: number, y: number): void };
    const readScrollPosition = () =>
      scrollArea.evaluate((element) => {
        const { scrollLeft, scrollTop } = element as unknown as ScrollArea;
        return [scrollLeft, scrollTop];
      });
    await page.getByRole('button', { name: /more/ }).click();
    await scrollArea.evaluate((element) => (element as unknown as ScrollArea).scrollTo(300, 3000));
    const chosenPosition = await readScrollPosition();
    expect(chosenPosition).toEqual([expect.toSatisfy((leftPosition) => leftPosition > 200), 3000]);
    const executionCountBefore = executedParameters.length;
    await page.getByRole('button', { name: 'Run again' }).click();
    await expect.poll(() => executedParameters.length).toBeGreaterThan(executionCountBefore);
    await waitUntilSettled(page);
    expect(await page.getByRole('columnheader', { name: 'column_3' }).getAttribute('aria-sort')).toBe('descending');
    expect(await scrollArea.locator('tbody td').first().innerText()).toBe('250');
    expect(await scrollArea.locator('tbody tr').count()).toBe(200);
    expect(await readScrollPosition()).toEqual(chosenPosition);
  });

  it('shows no age of results when the server cannot be reached', async () => {
    const { page } = await openPage(link);
    await waitUntilSettled(page);
    await page.getByText('Updated just now').waitFor();
    await page.context().setOffline(true);
    await page.getByRole('button', { name: 'Run again' }).click();
    await page.getByRole('alert').filter({ hasText: 'The server cannot be reached.' }).waitFor();
    expect(await page.getByText(/^Updated/).isVisible()).toBe(false);
  });

  it.each([
    ['a link', 360, 'dark'],
    ['an embed', 1280, 'light'],
  ] as const)(
    'shows a card on the whole screen, by mouse and keyboard: %s, %i pixels, %s',
    async (way, width, colorScheme) => {
      const path = way === 'an embed' ? await createEmbed(dashboard) : link;
      const { page, problems } = await openPage(path, { viewport: { width, height: 760 }, colorScheme });
      await waitUntilSettled(page);
      for (const { name } of CHARTS) {
        const card = page.getByRole('region', { name, exact: true });
        const boxBefore = await card.boundingBox();
        const button = card.getByRole('button', { name: 'Whole screen' });
        if (name === 'Bars') await button.press('Enter');
        else await button.click();
        const dialog = page.getByRole('dialog', { name, exact: true });
        await dialog.waitFor();
        await expect
          .poll(async () => {
            const [box, size] = [await dialog.boundingBox(), await page.evaluate('[innerWidth, innerHeight]')];
            return [box?.x, box?.y, [box?.width, box?.height]].join() === [0, 0, size].join();
          })
          .toBe(true);
        const cardInDialog = (await dialog.getByRole('region', { name, exact: true }).boundingBox()) as {
          width: number;
          height: number;
        };
        expect(cardInDialog.height).toBeGreaterThan(600);
        if (name === 'Bars') expect((await card.locator('canvas').boundingBox())?.height).toBeGreaterThan(400);
        if (name === 'Rows')
          expect((await card.getByRole('group', { name }).boundingBox())?.height).toBeGreaterThan(500);
        expect(await findAxeViolations(page)).toEqual([]);
        if (name === 'Bars') await page.keyboard.press('Escape');
        else await dialog.getByRole('button', { name: 'Close', exact: true }).click();
        await dialog.waitFor({ state: 'detached' });
        await expect.poll(() => page.locator(':focus').getAttribute('aria-label')).toBe('Whole screen');
        await expect.poll(async () => (await card.boundingBox())?.width).toBe(boxBefore?.width);
        await expect
          .poll(async () => Math.abs(((await card.boundingBox())?.height ?? 0) - (boxBefore?.height ?? 0)) < 2)
          .toBe(true);
      }
      expect(problems).toEqual([]);
    },
  );

  it('has the chosen filters in its address, which a button copies and which opens the same results', async () => {
    const { page } = await openPage(link, { permissions: ['clipboard-read', 'clipboard-write'] });
    await waitUntilSettled(page);
    await page.getByLabel('Aircraft').fill('B-737-300');
    await page.getByRole('button', { name: /^State/ }).click();
    await page.getByRole('option', { name: 'Texas' }).click();
    await page.getByRole('option', { name: 'Ohio' }).click();
    await page.keyboard.press('Escape');
    const parameters = { aircraft: 'B-737-300', state: ['Texas', 'Ohio'] };
    const expectedStrikeCount = Number(
      (await readResults(link, parameters)).get('Strikes')?.rows?.[0]?.[0],
    ).toLocaleString('en');
    await expect.poll(() => readCardNumber(page, 'Strikes')).toBe(expectedStrikeCount);
    await page.getByRole('button', { name: 'Copy link' }).click();
    await page.getByRole('button', { name: 'Link copied' }).waitFor();
    const copiedAddress = String(await page.evaluate('navigator.clipboard.readText()'));
    expect(copiedAddress).toBe(page.url());
    await page.evaluate('navigator.clipboard.writeText = () => Promise.reject(new Error("refused"))');
    await page.getByRole('button', { name: 'Copy link' }).click();
    await page.getByRole('button', { name: 'The link could not be copied' }).waitFor();
    const other = await openPage(copiedAddress);
    await expect.poll(() => other.executedParameters).toEqual([parameters]);
    await expect.poll(() => readCardNumber(other.page, 'Strikes')).toBe(expectedStrikeCount);
  });
});
