import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { PAGE_TEXTS } from '../../src/texts/pages/languages.ts';
import { findAxeViolations, isBrowserInstalled, useBrowser, waitUntilSettled } from './browser.ts';
import { createDashboard, createEmbed, createLink } from './demo-company.ts';

const FILTERS = [
  { slug: 'period', label: 'Period', kind: 'date_range' },
  { slug: 'since', label: 'Since', kind: 'date' },
];
const STRIKES_SQL = `SELECT count(*) AS strikes FROM birdstrikes
WHERE true [[AND flight_date >= {{period.from}}]] [[AND flight_date <= {{period.to}}]] [[AND flight_date >= {{since}}]]`;

describe.skipIf(!isBrowserInstalled)('a date filter on a page', () => {
  const openPage = useBrowser();
  let dashboard: string;
  let link: string;
  beforeAll(async () => {
    dashboard = await createDashboard([{ name: 'Strikes', sql: STRIKES_SQL, chart: { type: 'number' } }], {
      filters: FILTERS,
    });
    link = (await createLink(dashboard)).path;
  });

  /** Sets the page's clock to the same moment in its time zone. */
  const setClock = (page: Page, moment: string) => page.clock.setFixedTime(new Date(moment));

  it.each([
    // A day ahead of UTC, and a day behind it.
    ['Pacific/Kiritimati', 'en', '01/01/2027', { from: '2026-12-26', to: '2027-01-01' }],
    ['America/Sao_Paulo', 'pt-BR', '31/12/2026', { from: '2026-12-25', to: '2026-12-31' }],
    ['Pacific/Pago_Pago', 'es', '31/12/2026', { from: '2026-12-25', to: '2026-12-31' }],
  ] as const)(
    'offers ranges in the time zone of the viewer, written in the language of the page: %s, %s',
    async (timezoneId, locale, today, lastWeek) => {
      const texts = PAGE_TEXTS[locale];
      const { page, executedParameters, problems } = await openPage('/p/none', { timezoneId });
      await setClock(page, '2026-12-31T11:30:00Z');
      await page.goto(new URL(`${link}?locale=${locale}`, page.url()).href);
      await waitUntilSettled(page);
      const preset = page.getByRole('combobox', { name: texts.presetsOf('Period') });
      expect(await preset.locator('option').allInnerTexts()).toEqual([
        texts.anyDate,
        ...Object.values({
          a: texts.presets[7],
          b: texts.presets[30],
          c: texts.presets[90],
          d: texts.presets.month,
          e: texts.presets.year,
        }),
        texts.ownDates,
      ]);
      await preset.selectOption(texts.presets[7]);
      await expect.poll(() => executedParameters.at(-1)).toEqual({ period: lastWeek });
      const [from, to] = [page.getByLabel(texts.rangeStart('Period')), page.getByLabel(texts.rangeEnd('Period'))];
      expect(await to.inputValue()).toBe(today);
      expect(await from.getAttribute('placeholder')).toBe(locale === 'en' ? 'mm/dd/yyyy' : 'dd/mm/aaaa');
      const { searchParams } = new URL(page.url());
      expect([searchParams.get('period.from'), searchParams.get('period.to')]).toEqual([lastWeek.from, lastWeek.to]);
      // The address says it again.
      await page.reload();
      await waitUntilSettled(page);
      expect(await preset.locator('option:checked').innerText()).toBe(texts.presets[7]);
      await to.fill(locale === 'en' ? '12/30/2026' : '30/12/2026');
      await expect.poll(() => executedParameters.at(-1)).toEqual({ period: { from: lastWeek.from, to: '2026-12-30' } });
      expect(await preset.locator('option:checked').innerText()).toBe(texts.ownDates);
      await preset.selectOption('');
      await expect.poll(() => executedParameters.at(-1)).toEqual({});
      expect([await from.inputValue(), await to.inputValue()]).toEqual(['', '']);
      const sinceField = page.getByLabel('Since');
      await sinceField.fill(locale === 'en' ? '1/31/1995' : '31/1/1995');
      await expect.poll(() => executedParameters.at(-1)).toEqual({ since: '1995-01-31' });
      await page.reload();
      await waitUntilSettled(page);
      expect(await sinceField.inputValue()).toBe(locale === 'en' ? '01/31/1995' : '31/01/1995');
      expect(problems).toEqual([]);
    },
  );

  it.each([
    ['es', 360, 'dark'],
    ['en', 1280, 'light'],
  ] as const)(
    'reports a range that ends before it begins and an invalid date, and sends no request: %s, %i pixels, %s',
    async (locale, width, colorScheme) => {
      const texts = PAGE_TEXTS[locale];
      const { page, executedParameters, problems } = await openPage(
        `${link}?period.from=2001-05-01&period.to=1999-05-01&locale=${locale}`,
        { viewport: { width, height: 900 }, colorScheme },
      );
      const card = page.getByRole('region', { name: 'Strikes', exact: true });
      await card
        .getByRole('alert')
        .filter({ hasText: texts.backwards('Period') })
        .waitFor();
      await page.getByRole('group', { name: 'Period' }).getByText(texts.backwards('Period')).waitFor();
      expect(executedParameters).toEqual([]);
      expect(await findAxeViolations(page)).toEqual([]);
      const from = page.getByLabel(texts.rangeStart('Period'));
      expect(await from.getAttribute('aria-invalid')).toBe('true');
      await from.fill(locale === 'en' ? '02/30/1998' : '30/02/1998');
      await from.press('Tab');
      const [, day = ''] =
        /(\d\d\/\d\d\/\d{4})/.exec(texts.noDate(locale === 'en' ? '12/31/2026' : '31/12/2026')) ?? [];
      await page.getByText(texts.noDate(day)).waitFor();
      expect(executedParameters).toEqual([]);
      expect(await findAxeViolations(page)).toEqual([]);
      await from.fill(locale === 'en' ? '02/28/1998' : '28/02/1998');
      await expect.poll(() => executedParameters).toEqual([{ period: { from: '1998-02-28', to: '1999-05-01' } }]);
      await waitUntilSettled(page);
      expect(await page.getByRole('alert').filter({ visible: true }).filter({ hasText: /./ }).count()).toBe(0);
      // Nothing of it stands out of the page.
      expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
      expect(problems).toEqual([]);
    },
  );

  it('keeps a text that is not a date marked while another filter changes, and prints the dates that are applied', async () => {
    const { page, executedParameters } = await openPage(link);
    await waitUntilSettled(page);
    const [since, to] = [page.getByLabel('Since'), page.getByLabel('Period, to')];
    await since.fill('soon');
    await since.press('Tab');
    await page.getByLabel('Period, from').fill('05/01/1999');
    await expect.poll(() => executedParameters.at(-1)).toEqual({ period: { from: '1999-05-01' } });
    await waitUntilSettled(page);
    expect(await since.getAttribute('aria-invalid')).toBe('true');
    await to.fill('soon');
    await to.press('Tab');
    await page.evaluate("dispatchEvent(new Event('beforeprint'))");
    expect(await page.locator('.chosen li').allTextContents()).toEqual(['Period: 05/01/1999 –', 'Since: All']);
  });

  it('opens the calendar of the browser at its icon, also within an embed', async () => {
    const { page, executedParameters } = await openPage(
      await createEmbed(dashboard, { allowed_params: ['since', 'period'] }),
    );
    await waitUntilSettled(page);
    const field = page.getByLabel('Since');
    const box = (await field.boundingBox()) as { x: number; y: number; width: number; height: number };
    const typeUnderIcon = await page.evaluate(
      ([x, y]) => {
        const { document } = globalThis as unknown as {
          document: { elementFromPoint(x: number, y: number): { type: string } };
        };
        return document.elementFromPoint(x as number, y as number).type;
      },
      [box.x + box.width - 14, box.y + box.height / 2],
    );
    expect(typeUnderIcon).toBe('date');
    // What is chosen there is written as the page's language does.
    await page.locator('input[type=date]').last().fill('1995-01-31');
    await expect.poll(() => executedParameters.at(-1)).toEqual({ since: '1995-01-31' });
    expect(await field.inputValue()).toBe('01/31/1995');
  });
});
