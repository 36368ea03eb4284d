import { readFile } from 'node:fs/promises';
import { read, utils, type WorkSheet } from '@e965/xlsx';
import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import type { ViewResult } from '../../src/presentation/viewing.ts';
import { LOCALES } from '../../src/texts/locales.ts';
import { findAxeViolations, isBrowserInstalled, useBrowser, waitUntilSettled } from './browser.ts';
import {
  createContext,
  createDashboard,
  createEmbed,
  createLink,
  demo,
  readMailedCode,
  readResults,
  requestApi,
  url,
} from './demo-company.ts';

const CHARTS = [
  {
    name: 'Strikes: by state',
    sql: 'SELECT origin_state AS state, count(*) AS strikes FROM birdstrikes WHERE true [[AND origin_state = ANY({{state}})]] GROUP BY 1 ORDER BY 2 DESC LIMIT 5',
    chart: { type: 'bar', x: 'state', y: ['strikes'] },
  },
  { name: 'Formulas', sql: "SELECT '=1+1' AS text, -1 AS n", chart: { type: 'table' } },
  { name: 'Fails', sql: 'SELECT 1 / 0 AS n', chart: { type: 'number' } },
];
const FILTERS = [{ slug: 'state', label: 'State', kind: 'multi_select', options: [] }];
const DOWNLOADS_ALLOWED = { embed_options: { allow_downloads: true } };

type Box = { x: number; width: number };

const findCard = (page: Page, name: string) => page.getByRole('region', { name, exact: true });
const findButton = (page: Page, name: string) =>
  findCard(page, name).getByRole('button', { name: `Download: ${name}` });

/** Downloads a file from the menu of a card. @returns the file's name and content */
async function downloadFile(page: Page, name: string, format: string): Promise<{ name: string; content: Buffer }> {
  await findButton(page, name).click();
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page
      .getByRole('group', { name: `Download: ${name}` })
      .getByRole('button', { name: format })
      .click(),
  ]);
  return { name: download.suggestedFilename(), content: await readFile(await download.path()) };
}

describe.skipIf(!isBrowserInstalled)('the downloads of a dashboard card', () => {
  const openPage = useBrowser();
  let dashboard: string;
  let link: string;
  beforeAll(async () => {
    dashboard = await createDashboard(CHARTS, { filters: FILTERS, cache_seconds: 60 });
    link = (await createLink(dashboard, DOWNLOADS_ALLOWED)).path;
  });

  it('are CSV, XLSX and a picture of the filtered results', async () => {
    const { page, problems } = await openPage(`${link}?state=Texas&state=Ohio`);
    await findCard(page, 'Strikes: by state').getByRole('img').waitFor();
    const { rows } = (await readResults(link, { state: ['Texas', 'Ohio'] })).get('Strikes: by state') as ViewResult;
    const csv = await downloadFile(page, 'Strikes: by state', 'CSV');
    expect(csv.name).toBe('Strikes_ by state.csv');
    expect(csv.content.toString()).toBe(['state,strikes', ...(rows ?? []).map(String), ''].join('\r\n'));
    const xlsx = await downloadFile(page, 'Strikes: by state', 'XLSX');
    const book = read(xlsx.content);
    expect(book.SheetNames).toEqual(['Strikes  by state']);
    expect(utils.sheet_to_json(book.Sheets['Strikes  by state'] as WorkSheet, { header: 1 }).slice(1)).toEqual(rows);
    const png = await downloadFile(page, 'Strikes: by state', 'PNG');
    expect([png.name, png.content.subarray(1, 4).toString()]).toEqual(['Strikes_ by state.png', 'PNG']);
    expect(png.content.length).toBeGreaterThan(2_000);
    const formulaCsv = await downloadFile(page, 'Formulas', 'CSV');
    expect(formulaCsv.content.toString()).toBe("text,n\r\n'=1+1,-1\r\n");
    await findButton(page, 'Formulas').click();
    const offeredFormats = page.getByRole('group', { name: 'Download: Formulas' }).getByRole('button');
    expect(await offeredFormats.allInnerTexts()).toEqual(['CSV', 'XLSX']);
    expect(problems).toEqual([]);
  });

  it('have their button within the card, however narrow it is, in every language', async () => {
    const [bars] = CHARTS as [(typeof CHARTS)[number]];
    const names = ['Strikes by state of origin', 'Strikes'];
    const makePlace = (x: number, w: number): [number, number, number, number] => [x, 0, w, 4];
    const narrowDashboard = await createDashboard(
      names.map((name, at) => ({ ...bars, name, place: makePlace(at * 3, 3 + at) })),
      { filters: FILTERS },
    );
    const { path } = await createLink(narrowDashboard, DOWNLOADS_ALLOWED);
    const { page } = await openPage(path, { viewport: { width: 900, height: 800 } });
    for (const locale of LOCALES) {
      await page.goto(`${url}${path}?locale=${locale}`);
      await waitUntilSettled(page);
      for (const name of names) {
        const card = (await findCard(page, name).boundingBox()) as Box;
        const tools = await findCard(page, name).locator('.tools button').filter({ visible: true }).all();
        expect(tools.length, locale).toBe(3);
        for (const tool of tools) {
          const { x, width } = (await tool.boundingBox()) as Box;
          expect([x >= card.x, x + width <= card.x + card.width], locale).toEqual([true, true]);
        }
      }
    }
  });

  it('are reached with the keyboard alone, in light and dark and on a phone', async () => {
    for (const options of [{}, { colorScheme: 'dark' as const, viewport: { width: 320, height: 640 } }]) {
      const { page, problems } = await openPage(link, options);
      await waitUntilSettled(page);
      const button = findButton(page, 'Strikes: by state');
      await button.focus();
      await page.keyboard.press('Enter');
      const menu = page.getByRole('group', { name: 'Download: Strikes: by state' });
      await menu.waitFor();
      const { x = -1, width = 0 } = (await menu.boundingBox()) ?? {};
      expect([x >= 0, x + width <= (page.viewportSize()?.width ?? 0)]).toEqual([true, true]);
      expect(await findAxeViolations(page)).toEqual([]);
      await page.keyboard.press('Escape');
      await menu.waitFor({ state: 'hidden' });
      expect(await button.evaluate((element) => element === element.ownerDocument.activeElement)).toBe(true);
      await page.keyboard.press('Enter');
      await page.keyboard.press('Tab');
      const [download] = await Promise.all([page.waitForEvent('download'), page.keyboard.press('Enter')]);
      expect(download.suggestedFilename()).toBe('Strikes_ by state.csv');
      expect(await findAxeViolations(page)).toEqual([]);
      expect(problems).toEqual([]);
      await page.context().close();
    }
  });

  it('are not offered for a failed query, nor without permission to download', async () => {
    const { page } = await openPage(link);
    await waitUntilSettled(page);
    expect(await findCard(page, 'Fails').getByRole('button').count()).toBe(0);
    expect(await findButton(page, 'Formulas').count()).toBe(1);
    await page.context().close();
    const pageWithoutDownloads = await openPage((await createLink(dashboard)).path);
    await waitUntilSettled(pageWithoutDownloads.page);
    expect(await pageWithoutDownloads.page.getByRole('button', { name: /^Download/ }).count()).toBe(0);
  });

  it('show an error when downloads were forbidden meanwhile', async () => {
    const share = await createLink(dashboard, DOWNLOADS_ALLOWED);
    const { page } = await openPage(share.path);
    await waitUntilSettled(page);
    await requestApi('PUT', `/api/v1/dashboard-shares/${share.id}`, { embed_options: { allow_downloads: false } });
    await findButton(page, 'Formulas').click();
    await page.getByRole('group', { name: 'Download: Formulas' }).getByRole('button', { name: 'CSV' }).click();
    await findCard(page, 'Formulas').getByText('Results cannot be downloaded here.').waitFor();
    expect(await findAxeViolations(page)).toEqual([]);
  });

  it('are offered in an embed and in the portal', async () => {
    const embed = await openPage(await createEmbed(dashboard, { allow_downloads: true }));
    await waitUntilSettled(embed.page);
    expect((await downloadFile(embed.page, 'Formulas', 'CSV')).content.toString()).toBe("text,n\r\n'=1+1,-1\r\n");
    await embed.page.context().close();

    const email = `downloads-${Date.now()}@customer.test`;
    const context = await createContext([dashboard], email);
    await createLink(dashboard, { ...DOWNLOADS_ALLOWED, share_context_id: context.id });
    const { page, problems } = await openPage(`/portal/${demo.company.slug}`);
    await page.getByLabel('E-mail').fill(email);
    await page.keyboard.press('Enter');
    await page.getByLabel('Code').fill((await readMailedCode(email)).replace('-', ''));
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: /Bird strikes/ }).click();
    await page.getByRole('heading', { name: 'Bird strikes', level: 1 }).waitFor();
    await waitUntilSettled(page);
    expect((await downloadFile(page, 'Formulas', 'XLSX')).name).toBe('Formulas.xlsx');
    expect(problems).toEqual([]);
  });
});
