import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { decodePicture, PICTURES } from '../formats/image/pictures.ts';
import { findAxeViolations, isBrowserInstalled, useBrowser, waitUntilSettled } from './browser.ts';
import {
  createContext,
  createDashboard,
  createEmbed,
  createLink,
  demo,
  readMailedCode,
  requestApi,
  uploadBytes,
  url,
  useOwnCompany,
} from './demo-company.ts';
import { CHARTS, FILTERS } from './example-charts.ts';
import { startHostSite } from './host.ts';

const BRAND = {
  name: 'Aves & Cia',
  primary_color: '#7a1f3d',
  background: '#fff8f0',
  text_color: '#2b1a12',
  font: 'serif',
  radius: 2,
  chart_palette: ['#7a1f3d', '#1f5a7a'],
};
const DARK_BRAND = {
  background: '#101820',
  text_color: '#f4f4f4',
  primary_color: '#ffd166',
  chart_palette: ['#ffd166'],
};
/** Rows with the columns of the demo's table, which this company does not have. */
const STRIKES_SQL = `(SELECT date '1990-01-01' + n * 9 AS flight_date, (ARRAY['Small', 'Large'])[1 + n % 2] AS wildlife_size,
  'State ' || n % 9 AS origin_state, 'Phase ' || n % 5 AS phase_of_flight, n % 90 AS speed_ias_in_knots,
  n * 7 % 500 AS cost_total, 'B-737-300' AS aircraft_make_model FROM generate_series(1, 400) AS n) AS birdstrikes`;
const OWN_CHARTS = CHARTS.map((chart) => ({
  ...chart,
  sql: chart.sql.replace('FROM birdstrikes', `FROM ${STRIKES_SQL}`),
}));
const OWN_FILTERS = FILTERS.map((filter) => ('options' in filter ? { ...filter, options: [] } : filter));

const NO_BRANDING = Object.fromEntries([...Object.keys(BRAND), 'logo_url'].map((name) => [name, null]));

const readStyle = (page: Page, selector: string, property: string): Promise<string> =>
  page
    .locator(selector)
    .first()
    .evaluate((element, name) => {
      const { getComputedStyle } = globalThis as unknown as {
        getComputedStyle(cardElement: unknown): Record<string, string>;
      };
      return getComputedStyle(element)[name] ?? '';
    }, property);

/** Returns the colours of a canvas, the most frequent first. */
const readCanvasColours = (page: Page, name: RegExp): Promise<string[]> =>
  page.getByRole('img', { name }).evaluate((element) => {
    const { width, height, getContext } = element as unknown as {
      width: number;
      height: number;
      getContext(kind: '2d'): { getImageData(...box: number[]): { data: Uint8ClampedArray } };
    };
    const { data } = getContext.call(element, '2d').getImageData(0, 0, width, height);
    const counts = new Map<string, number>();
    for (let at = 0; at < data.length; at += 4) {
      if (data[at + 3] !== 255) continue;
      const hex = `#${[...data.slice(at, at + 3)].map((byte) => byte.toString(16).padStart(2, '0')).join('')}`;
      counts.set(hex, (counts.get(hex) ?? 0) + 1);
    }
    return [...counts].sort(([, a], [, b]) => b - a).map(([colour]) => colour);
  });

describe.skipIf(!isBrowserInstalled)('the brand of a company', () => {
  const openPage = useBrowser();
  useOwnCompany();
  let dashboard: string;
  let link: string;

  beforeAll(async () => {
    dashboard = await createDashboard(OWN_CHARTS, { filters: OWN_FILTERS, cache_seconds: 60 });
    link = (await createLink(dashboard)).path;
    await requestApi('PUT', '/v1/company/branding', BRAND);
    await uploadBytes('/v1/company/branding/logo', decodePicture(PICTURES.png));
  });

  it.each(['light', 'dark'] as const)('styles a shared dashboard in a %s colour scheme', async (colorScheme) => {
    const { page, problems } = await openPage(link, { colorScheme });
    await waitUntilSettled(page);
    expect(await readStyle(page, 'body', 'backgroundColor')).toBe('rgb(255, 248, 240)');
    expect(await readStyle(page, 'h1', 'color')).toBe('rgb(43, 26, 18)');
    expect(await readStyle(page, '.quiet:visible:not(.icon)', 'color')).toBe('rgb(122, 31, 61)');
    expect(await readStyle(page, 'body', 'fontFamily')).toMatch(/^Georgia/);
    expect(await readStyle(page, '.widget', 'borderRadius')).toBe('2px');
    expect(await readCanvasColours(page, /^Strikes by state: /)).toContain('#7a1f3d');
    const logo = page.getByRole('img', { name: BRAND.name });
    expect(await logo.evaluate((element) => (element as unknown as { naturalWidth: number }).naturalWidth)).toBe(3);
    expect(await page.title()).toBe(`Bird strikes – ${BRAND.name}`);
    expect(await findAxeViolations(page)).toEqual([]);
    expect(problems).toEqual([]);
  });

  it('sets the colours of an embed within a host page, without the logo', async () => {
    const host = await startHostSite();
    const embed = await createEmbed(dashboard);
    const { page, problems } = await openPage(
      host.addPage(`<data-console-embed src="${url}${embed}"></data-console-embed>`),
      {
        origins: [host.origin],
      },
    );
    const frame = page.locator('iframe').contentFrame();
    await frame.getByRole('heading', { level: 1 }).waitFor();
    expect(await frame.locator('body').evaluate('getComputedStyle(document.body).backgroundColor')).toBe(
      'rgb(255, 248, 240)',
    );
    expect(await frame.getByRole('img', { name: BRAND.name }).count()).toBe(0);
    expect(problems).toEqual([]);
    await page.context().close();
    host.close();
    // By itself it is a page.
    const embedPage = await openPage(embed);
    await embedPage.page.getByRole('img', { name: BRAND.name }).waitFor();
  });

  it('is shown by the portal, before and after signing in', async () => {
    const email = 'branded@example.com';
    await createContext([dashboard], email);
    const { page, problems } = await openPage(`/portal/${demo.company.slug}`, {
      viewport: { width: 390, height: 844 },
    });
    await page.getByLabel('E-mail').waitFor();
    await page.getByRole('img', { name: BRAND.name }).waitFor();
    expect(await readStyle(page, '.primary', 'backgroundColor')).toBe('rgb(122, 31, 61)');
    expect(await findAxeViolations(page)).toEqual([]);
    await page.getByLabel('E-mail').fill(email);
    await page.keyboard.press('Enter');
    await page.getByLabel('Code').fill(await readMailedCode(email));
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: /Bird strikes/ }).waitFor();
    await page.getByRole('img', { name: BRAND.name }).waitFor();
    expect(await page.title()).toBe(`Shared dashboards – ${BRAND.name}`);
    expect(await findAxeViolations(page)).toEqual([]);
    await page.getByRole('link', { name: /Bird strikes/ }).click();
    await page.getByRole('heading', { name: 'Bird strikes', level: 1 }).waitFor();
    await waitUntilSettled(page);
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
    expect(problems).toEqual([]);
  });

  it('can have dark colours, or leave light and dark to the viewer', async () => {
    await requestApi('PUT', '/v1/company/branding', { ...DARK_BRAND, logo_url: null });
    const darkPage = await openPage(link);
    await waitUntilSettled(darkPage.page);
    expect(await readStyle(darkPage.page, 'body', 'backgroundColor')).toBe('rgb(16, 24, 32)');
    expect(await readCanvasColours(darkPage.page, /^Strikes by state: /)).toContain('#ffd166');
    await darkPage.page.getByText(BRAND.name, { exact: true }).waitFor();
    expect(await findAxeViolations(darkPage.page)).toEqual([]);
    await darkPage.page.context().close();

    await requestApi('PUT', '/v1/company/branding', { ...NO_BRANDING, primary_color: '#7a1f3d' });
    for (const [colorScheme, background] of [
      ['light', 'rgb(245, 247, 250)'],
      ['dark', 'rgb(14, 19, 27)'],
    ] as const) {
      const { page, problems } = await openPage(link, { colorScheme });
      await waitUntilSettled(page);
      expect(await readStyle(page, 'body', 'backgroundColor')).toBe(background);
      expect(await findAxeViolations(page)).toEqual([]);
      expect(problems).toEqual([]);
      await page.context().close();
    }
  });

  it('leaves the page light on paper, whatever its colours on the screen', async () => {
    await requestApi('PUT', '/v1/company/branding', { ...NO_BRANDING, ...DARK_BRAND });
    const { page } = await openPage(link, { colorScheme: 'dark' });
    await waitUntilSettled(page);
    const readColours = async () => [
      await readStyle(page, 'section', 'backgroundColor'),
      await readStyle(page, 'h1', 'color'),
    ];
    const coloursBefore = await readColours();
    await page.evaluate(`dispatchEvent(new Event('beforeprint'))`);
    expect(await readColours()).toEqual(['rgb(255, 255, 255)', 'rgb(23, 32, 51)']);
    await page.evaluate(`dispatchEvent(new Event('afterprint'))`);
    expect(await readColours()).toEqual(coloursBefore);
    expect(coloursBefore[0]).not.toBe('rgb(255, 255, 255)');
  });

  it('leaves the colour scheme of an embed to its host, who changes it without a reload', async () => {
    await requestApi('PUT', '/v1/company/branding', NO_BRANDING);
    const host = await startHostSite();
    const src = `${url}${await createEmbed(dashboard)}`;
    const { page } = await openPage(
      host.addPage(`<data-console-embed id="one" src="${src}" theme="dark"></data-console-embed>`),
      {
        origins: [host.origin],
      },
    );
    const frame = page.locator('iframe').contentFrame();
    const readTheme = () => frame.locator('html').getAttribute('data-theme');
    await frame.getByRole('heading', { level: 1 }).waitFor();
    await frame.locator('html').evaluate('globalThis.mark = 1');
    expect(await readTheme()).toBe('dark');
    await page.evaluate("one.setAttribute('theme', 'light')");
    await expect.poll(readTheme).toBe('light');
    await page.evaluate("one.removeAttribute('theme')");
    await expect.poll(readTheme).toBe(null);
    expect(await frame.locator('html').evaluate('mark')).toBe(1);
    await page.context().close();
    host.close();
  });

  it.each([
    ['page', '**/embed/d/*', "setAttribute('theme', 'light')", 'light'],
    ['page', '**/embed/d/*', "removeAttribute('theme')", null],
    ['dashboard', '**/info', "setAttribute('theme', 'light')", 'light'],
  ])('has the colour scheme that the host sets while the %s of the embed is loading (%#)', async (...row) => {
    const [, requestPattern, change, expectedTheme] = row;
    await requestApi('PUT', '/v1/company/branding', NO_BRANDING);
    const host = await startHostSite();
    const src = `${url}${await createEmbed(dashboard)}`;
    const { page } = await openPage(host.addPage('<p>Host</p>'), { origins: [host.origin] });
    const [request, answer] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    await page.route(requestPattern, async (route) => {
      request.resolve();
      await answer.promise;
      await route.continue();
    });
    await page.evaluate(`globalThis.one = document.createElement('data-console-embed');
      one.setAttribute('src', '${src}');
      one.setAttribute('theme', 'dark');
      document.body.append(one);`);
    await request.promise;
    await page.evaluate(`one.${change}`);
    answer.resolve();
    const frame = page.locator('iframe').contentFrame();
    await frame.getByRole('heading', { level: 1 }).waitFor();
    await expect.poll(() => frame.locator('html').getAttribute('data-theme')).toBe(expectedTheme);
    await page.context().close();
    host.close();
  });
});
