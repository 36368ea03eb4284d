import { gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import type { ViewResult } from '../../src/presentation/viewing.ts';
import { findAxeViolations, isBrowserInstalled, readCardNumber, useBrowser, waitUntilSettled } from './browser.ts';
import { createDashboard, createLink, readOptionLabels, readResults, url } from './demo-company.ts';
import { CHARTS, FILTERS } from './example-charts.ts';

/** Returns the number of strikes that the API counts, formatted as on the page. */
const countStrikes = async (link: string, parameters: unknown): Promise<string> => {
  const { rows } = (await readResults(link, parameters)).get('Strikes') as ViewResult;
  const [[counted]] = rows as [[number]];
  return counted.toLocaleString('en-US');
};

describe.skipIf(!isBrowserInstalled)('the page of a dashboard', () => {
  const openPage = useBrowser();
  let link: string;

  beforeAll(async () => {
    const description = 'Where, when and how birds met aircraft.';
    link = (await createLink(await createDashboard(CHARTS, { filters: FILTERS, description, cache_seconds: 60 }))).path;
  });

  it('draws every kind of chart and describes it in words, in light and dark and on a phone', async () => {
    const cost = (await readResults(link)).get('Cost')?.rows?.[0]?.[0] as number;
    for (const options of [{}, { colorScheme: 'dark' as const, viewport: { width: 320, height: 640 } }]) {
      const { page, problems } = await openPage(link, options);
      await page.getByRole('heading', { level: 1, name: 'Bird strikes' }).waitFor();
      for (const { name, chart } of CHARTS) {
        if (chart?.type === 'table' || chart?.type === 'number') continue;
        const canvas = page.getByRole('img', { name: `${name}: ${chart?.type} chart.` });
        await canvas.waitFor();
        const paintedColours = await canvas.evaluate((element) => {
          const canvasElement = element as unknown as {
            width: number;
            height: number;
            getContext(kind: '2d'): { getImageData(...box: number[]): { data: Uint8ClampedArray } };
          };
          const { data } = canvasElement.getContext('2d').getImageData(0, 0, canvasElement.width, canvasElement.height);
          return new Set(Array.from({ length: data.length / 4 }, (_each, at) => data.slice(at * 4, at * 4 + 4).join()))
            .size;
        });
        // Lines, labels and their smooth edges: an empty canvas has one colour.
        expect(paintedColours, name).toBeGreaterThan(20);
      }
      expect(await readCardNumber(page, 'Strikes')).toBe('10,000');
      expect(await readCardNumber(page, 'Cost')).toBe(`$${cost.toLocaleString('en-US')}`);
      expect(await page.getByRole('table', { name: 'Reports' }).getByRole('row').count()).toBe(101);
      // Nothing stands out of the page to the right.
      expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
      const fields = await page.locator('.filters input').all();
      const edges = await Promise.all(fields.map((field) => field.boundingBox()));
      const width = page.viewportSize()?.width ?? 0;
      for (const edge of edges) expect((edge?.x ?? 0) + (edge?.width ?? 0)).toBeLessThanOrEqual(width);
      expect(await findAxeViolations(page)).toEqual([]);
      expect(problems).toEqual([]);
      await page.context().close();
    }
  });

  it('shows the values of a chart as a table, sorts it by any column, and shows more rows on demand', async () => {
    const rows = (await readResults(link)).get('Strikes by state')?.rows as [string, number][];
    const states = rows.map(([state]) => state);
    const { page } = await openPage(link);
    const card = page.getByRole('region', { name: 'Strikes by state', exact: true });
    await card.getByRole('button', { name: 'Show as table' }).click();
    const readFirstCell = () => card.getByRole('row').nth(1).getByRole('cell').first().innerText();
    expect(await readFirstCell()).toBe(states[0]);
    await card.getByRole('button', { name: 'state' }).press('Enter');
    expect(await readFirstCell()).toBe(states.toSorted()[0]);
    expect(await card.getByRole('columnheader', { name: 'state' }).getAttribute('aria-sort')).toBe('ascending');
    await card.getByRole('button', { name: 'strikes' }).click();
    expect(await readFirstCell()).toBe(states.at(-1));
    await card.getByRole('button', { name: 'strikes' }).click();
    expect(await readFirstCell()).toBe(states[0]);
    await card.getByRole('button', { name: 'Show as chart' }).click();
    await card.getByRole('img').waitFor();
    // Years are written as along the axis.
    const yearlyCard = page.getByRole('region', { name: 'Cost by year', exact: true });
    await yearlyCard.getByRole('button', { name: 'Show as table' }).click();
    expect(await yearlyCard.getByRole('row').nth(1).getByRole('cell').first().innerText()).toMatch(/^\d{4}$/);

    const reportsTable = page.getByRole('table', { name: 'Reports' });
    await page.getByRole('button', { name: 'Show more (150 rows left)' }).click();
    expect(await reportsTable.getByRole('row').count()).toBe(201);
  });

  it('lets viewers choose among filter options that the server searches, with the keyboard alone', async () => {
    const { page, executedParameters, optionSearches, problems } = await openPage(link);
    const labels = await readOptionLabels(link, 'state', 'or');
    await page.getByRole('button', { name: /^State/ }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('option', { name: 'Texas' }).waitFor();
    await page.keyboard.type('or');
    await page.getByRole('option', { name: 'Texas' }).waitFor({ state: 'detached' });
    expect(await page.getByRole('listbox').getByRole('option').allInnerTexts()).toEqual(labels);
    expect(labels).toContain('California');
    expect(optionSearches).toEqual(['', 'or']);
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.keyboard.press('Escape');
    const state = labels.slice(0, 2);
    expect(
      await page
        .getByRole('button', { name: `State ${state.join(', ')}` })
        .evaluate('document.activeElement.textContent'),
    ).toBe(state.join(', '));
    await expect.poll(() => executedParameters.at(-1)).toEqual({ state });
    const fewerStrikeCount = await countStrikes(link, { state });
    expect(fewerStrikeCount).not.toBe('10,000');
    await expect.poll(() => readCardNumber(page, 'Strikes')).toBe(fewerStrikeCount);
    expect(new URL(page.url()).searchParams.getAll('state')).toEqual(state);
    expect(await findAxeViolations(page)).toEqual([]);
    expect(problems).toEqual([]);
  });

  it('names the active filter option to screen readers, and none after a new search', async () => {
    const { page } = await openPage(link);
    const searchInput = page.getByRole('combobox', { name: 'State' });
    const readActiveOption = () =>
      searchInput.evaluate(
        'document.getElementById(document.activeElement.getAttribute("aria-activedescendant"))?.textContent',
      );
    await page.getByRole('button', { name: /^State/ }).click();
    await page.getByRole('option', { name: 'Texas' }).waitFor();
    await page.keyboard.press('ArrowDown');
    expect(await readActiveOption()).toBe(await page.getByRole('option').first().innerText());
    await page.keyboard.type('or');
    await page.getByRole('option', { name: 'Texas' }).waitFor({ state: 'detached' });
    expect(await readActiveOption()).toBeUndefined();
    await page.getByRole('option', { name: 'California' }).click();
    expect(await readActiveOption()).toBe('California');
  });

  it('sends every kind of filter value, keeps them in the address, and resets to the defaults', async () => {
    const { page, executedParameters } = await openPage(link);
    await page.getByRole('button', { name: /^Phase/ }).click();
    await page.getByRole('option', { name: 'Approach' }).click();
    await page.getByLabel('Period, from').fill('1995-03-01');
    await page.getByLabel('Aircraft').fill('B-737-300');
    await page.getByLabel('Lowest cost').fill('1,5');
    await page.getByLabel('Reported since').fill('1995-02-03');
    const chosenValues = {
      phase: 'Approach',
      period: { from: '1995-03-01' },
      aircraft: 'B-737-300',
      cost: '1.5',
      since: '1995-02-03',
    };
    await expect.poll(() => executedParameters.at(-1)).toEqual(chosenValues);
    const remainingStrikes = await countStrikes(link, chosenValues);
    expect(Number(remainingStrikes)).toBeGreaterThan(0);
    await expect.poll(() => readCardNumber(page, 'Strikes')).toBe(remainingStrikes);

    await page.reload();
    await waitUntilSettled(page);
    expect(executedParameters.at(-1)).toEqual(chosenValues);
    expect(await readCardNumber(page, 'Strikes')).toBe(remainingStrikes);
    expect(await page.getByLabel('Aircraft').inputValue()).toBe('B-737-300');
    await page.getByRole('button', { name: 'Reset filters' }).click();
    await expect.poll(() => executedParameters.at(-1)).toEqual({});
    await expect.poll(() => readCardNumber(page, 'Strikes')).toBe('10,000');
    expect(new URL(page.url()).search).toBe('');
    expect(await page.getByLabel('Period, from').inputValue()).toBe('');
  });

  it('shows filter values from the address by their labels', async () => {
    const options = [
      { value: 'TX', label: 'Texas' },
      { value: 'OH', label: 'Ohio' },
    ];
    const filters = [{ slug: 'state', label: 'State', kind: 'multi_select', options }];
    const sql = "SELECT state FROM unnest(ARRAY['TX', 'OH']) AS state WHERE state = ANY({{state}})";
    const { path } = await createLink(await createDashboard([{ name: 'States', sql }], { filters }));
    const { page } = await openPage(`${path}?state=OH`);
    await page.getByRole('button', { name: 'State Ohio' }).waitFor();
    await page.getByRole('cell', { name: 'OH' }).waitFor();
  });

  it("removes a filter's default when the viewer clears it, and waits for a value of a required filter", async () => {
    const filters = [
      { slug: 'aircraft', label: 'Aircraft', kind: 'text', default: 'B-737-300' },
      { slug: 'cost', label: 'Lowest cost', kind: 'number', required: true },
    ];
    const sql =
      'SELECT count(*) AS strikes FROM birdstrikes WHERE cost_total >= {{cost}} [[AND aircraft_make_model = {{aircraft}}]]';
    const chart = { name: 'Strikes', sql, chart: { type: 'number' } };
    const { path } = await createLink(await createDashboard([chart], { filters }));
    const { page, executedParameters } = await openPage(path);
    await page.getByRole('alert').filter({ hasText: 'Lowest cost: Choose a value to see the data.' }).first().waitFor();
    expect(executedParameters).toEqual([]);
    expect(await page.getByLabel('Lowest cost').getAttribute('aria-invalid')).toBe('true');
    await page.getByLabel('Lowest cost').fill('100');
    await expect.poll(() => executedParameters).toEqual([{ aircraft: 'B-737-300', cost: '100' }]);
    await expect.poll(() => readCardNumber(page, 'Strikes')).toBe(await countStrikes(path, { cost: 100 }));
    await page.getByLabel('Aircraft').fill('');
    await expect.poll(() => executedParameters.at(-1)).toEqual({ aircraft: null, cost: '100' });
    const totalStrikeCount = await countStrikes(path, { cost: 100, aircraft: null });
    expect(Number(totalStrikeCount)).toBeGreaterThan(Number(await countStrikes(path, { cost: 100 })));
    await expect.poll(() => readCardNumber(page, 'Strikes')).toBe(totalStrikeCount);
  });

  it('loads small files from its own origin only', async () => {
    const { page } = await openPage(link);
    await waitUntilSettled(page);
    const sizes = (await page.evaluate(
      'performance.getEntriesByType("resource").map(({ name, encodedBodySize }) => [name, encodedBodySize])',
    )) as [string, number][];
    const assets = sizes.filter(([name]) => name.startsWith(`${url}/assets/`));
    expect(assets.length).toBeGreaterThan(1);
    expect(assets.reduce((sum, [, size]) => sum + size, 0)).toBeLessThan(350_000);
    // As a network sends what the page names and what it has loaded; the bench measures the same until the first chart.
    const html = await (await fetch(url + link, { headers: { accept: 'text/html' } })).text();
    const assetUrls = Array.from(html.matchAll(/"(\/assets\/[^"]+)"/g), ([, path]) => `${url}${path}`);
    expect(assetUrls).toContainEqual(expect.stringMatching(/\.svg$/));
    const files = [...new Set([...assetUrls, ...assets.map(([name]) => name)])];
    const bodies = await Promise.all(files.map(async (name) => (await fetch(name)).bytes()));
    const gzippedBytes = [html, ...bodies].reduce((sum, body) => sum + gzipSync(body).length, 0);
    expect(gzippedBytes).toBeLessThan(90_000);
  });
});
