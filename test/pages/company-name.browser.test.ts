import { beforeAll, describe, expect, it } from 'vitest';
import { PAGE_TEXTS } from '../../src/texts/pages/languages.ts';
import { findAxeViolations, isBrowserInstalled, useBrowser, VIEWS, waitUntilSettled } from './browser.ts';
import {
  createContext,
  createDashboard,
  createEmbed,
  createLink,
  demo,
  readMailedCode,
  url,
  useOwnCompany,
} from './demo-company.ts';

const EMPTY_CHART = { name: 'None', sql: 'SELECT n FROM generate_series(1, 3) AS n WHERE false [[OR n = {{n}}]]' };
describe.skipIf(!isBrowserInstalled)('a page', () => {
  const openPage = useBrowser();
  useOwnCompany();

  it("shows the name of its company if the company has no brand, and the company's slug before the viewer signs in", async () => {
    // That of every company of these tests.
    const name = 'Demo';
    const dashboard = await createDashboard([EMPTY_CHART], { filters: [{ slug: 'n', label: 'N', kind: 'number' }] });
    for (const path of [(await createLink(dashboard)).path, await createEmbed(dashboard)]) {
      const { page } = await openPage(path);
      await page.getByRole('banner').getByText(name, { exact: true }).waitFor();
      expect(await page.title()).toBe(`Bird strikes – ${name}`);
      await page.context().close();
    }
    const { slug } = demo.company;
    const shownNames: string[] = [];
    for (const companySlug of [slug, 'no-such-company']) {
      const { page } = await openPage(`/portal/${companySlug}`);
      await page.getByText(companySlug, { exact: true }).waitFor();
      shownNames.push(
        (await page.locator('body').innerText()).replaceAll(companySlug, 'SLUG'),
        (await page.title()).replace(companySlug, 'SLUG'),
      );
      await page.context().close();
    }
    expect(shownNames.slice(0, 2)).toEqual(shownNames.slice(2));
    const email = `whose-${Date.now()}@example.com`;
    await createContext([dashboard], email);
    const { page, problems } = await openPage(`/portal/${slug}`);
    await page.getByLabel('E-mail').fill(email);
    await page.keyboard.press('Enter');
    await page.getByLabel('Code').fill(await readMailedCode(email));
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: /Bird strikes/ }).waitFor();
    await page.getByRole('banner').getByText(name, { exact: true }).waitFor();
    await page.reload();
    await page.getByRole('banner').getByText(name, { exact: true }).waitFor();
    expect(await page.title()).toBe(`Shared dashboards – ${name}`);
    expect(problems).toEqual([]);
  });

  describe('without rows, cards or options', () => {
    let link: string;
    let emptyDashboardLink: string;
    beforeAll(async () => {
      const filters = [
        { slug: 'n', label: 'N', kind: 'number' },
        { slug: 's', label: 'S', kind: 'select', options: { sql: "SELECT 'none' WHERE false" } },
      ];
      const chart = { ...EMPTY_CHART, sql: `${EMPTY_CHART.sql} [[OR n::text = {{s}}]]` };
      link = (await createLink(await createDashboard([chart], { filters }))).path;
      emptyDashboardLink = (await createLink(await createDashboard([]))).path;
    });

    it.each(VIEWS)('says what to do: %i pixels, %s, %s', async (width, colorScheme, locale) => {
      const texts = PAGE_TEXTS[locale];
      const options = { viewport: { width, height: 800 }, colorScheme };
      const { page, executedParameters, problems } = await openPage(`${link}?n=7&locale=${locale}`, options);
      const card = page.getByRole('region', { name: 'None', exact: true });
      await card.getByText(texts.noRows).waitFor();
      expect(await findAxeViolations(page)).toEqual([]);
      await card.getByRole('button', { name: texts.reset }).press('Enter');
      await card.getByText(texts.noData).waitFor();
      expect([executedParameters[0], executedParameters.at(-1)]).toEqual([{ n: '7' }, {}]);
      await page.locator('.picker').click();
      await page.getByText(texts.noOptions).waitFor();
      expect(await findAxeViolations(page)).toEqual([]);
      await page.getByRole('combobox').fill('7');
      await page.getByText(texts.noMatches).waitFor();
      await page.goto(`${url}${emptyDashboardLink}?locale=${locale}`);
      await page.getByText(texts.emptyDashboard).waitFor();
      await page.getByText(texts.emptyDashboardHint).waitFor();
      expect(await findAxeViolations(page)).toEqual([]);
      expect(problems).toEqual([]);
    });
  });

  it.each(VIEWS)(
    'at the root of the API links on, in the language of its reader: %i pixels, %s, %s',
    async (width, colorScheme, locale) => {
      const { page, problems } = await openPage('/', { viewport: { width, height: 800 }, colorScheme, locale });
      await page.getByRole('heading', { level: 1, name: 'Data Console API' }).waitFor();
      expect(await page.locator('html').getAttribute('lang')).toBe(locale);
      const links = await page.getByRole('link').all();
      const targets = await Promise.all(links.map((link) => link.getAttribute('href')));
      expect(targets).toEqual(['/docs', '/openapi.json', '/health']);
      for (const link of links) {
        const box = (await link.boundingBox()) as { x: number; width: number; height: number };
        expect([box.x > 0, box.x + box.width < width, box.height > 40]).toEqual([true, true, true]);
      }
      await waitUntilSettled(page);
      expect(await findAxeViolations(page)).toEqual([]);
      expect(problems).toEqual([]);
    },
  );
});
