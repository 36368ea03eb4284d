import { readFile } from 'node:fs/promises';
import { PNG } from 'pngjs';
import { beforeAll, describe, expect, it } from 'vitest';
import { PAGE_TEXTS } from '../../src/texts/pages/languages.ts';
import { findAxeViolations, isBrowserInstalled, useBrowser, VIEWS, waitUntilSettled } from './browser.ts';
import { type Chart, createDashboard, createLink } from './demo-company.ts';

const makePartsSql = (...values: [label: string, value: number][]) =>
  `SELECT * FROM (VALUES ${values.map(([label, value]) => `('${label}', ${value})`).join(', ')}) AS parts (part, value)`;

const CHARTS: Chart[] = [
  {
    name: 'Seven',
    sql: makePartsSql(
      ['Approach', 4620],
      ['Climb', 1950],
      ['Run', 1590],
      ['Roll', 1400],
      ['Descent', 397],
      ['Taxi', 25],
      ['Parked', 18],
    ),
    chart: { type: 'pie', x: 'part', y: ['value'] },
    place: [0, 0, 6, 5],
  },
  // One small part stands for itself, and 3 % are not small.
  { name: 'One small', sql: makePartsSql(['a', 96], ['b', 3], ['c', 1]), chart: { type: 'pie' }, place: [6, 0, 6, 5] },
  {
    name: 'Series',
    sql: "SELECT x, s, x * 2 AS y FROM generate_series(1, 5) AS x, unnest(ARRAY['birds', 'bats']) AS s",
    chart: { type: 'line', x: 'x', y: ['y'], series: 's' },
    place: [0, 5, 12, 4],
  },
];

interface VerticalExtent {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

/** Measures the positions of a card, its canvas and its legend entries at one moment, because redrawing moves them. */
function measurePositions(card: object): { box: VerticalExtent; canvas: VerticalExtent; entries: VerticalExtent[] } {
  interface BoxedElement {
    getBoundingClientRect(): VerticalExtent;
    querySelectorAll(selector: string): Iterable<BoxedElement>;
  }
  const measureBox = (element: BoxedElement): VerticalExtent => {
    const { left, top, right, bottom } = element.getBoundingClientRect();
    return { left, top, right, bottom };
  };
  const measureAllBoxes = (selector: string) =>
    Array.from((card as BoxedElement).querySelectorAll(selector), measureBox);
  return {
    box: measureBox(card as BoxedElement),
    canvas: measureAllBoxes('canvas')[0] as VerticalExtent,
    entries: measureAllBoxes('li'),
  };
}

describe.skipIf(!isBrowserInstalled)('a slice of a pie chart', () => {
  const openPage = useBrowser();
  let link: string;
  beforeAll(async () => {
    link = (await createLink(await createDashboard(CHARTS), { embed_options: { allow_downloads: true } })).path;
  });

  it.each(VIEWS)(
    'shows its value and percentage, and small slices are merged into one that lists what it holds: %i pixels, %s, %s',
    async (width, colorScheme, locale) => {
      const texts = PAGE_TEXTS[locale];
      const { page, problems } = await openPage(`${link}?locale=${locale}`, {
        viewport: { width, height: 900 },
        colorScheme,
      });
      await waitUntilSettled(page);
      const card = page.getByRole('region', { name: 'Seven', exact: true });
      const formatNumber = (value: number) => value.toLocaleString(locale);
      const formatPercent = (fraction: number) =>
        fraction.toLocaleString(locale, { style: 'percent', minimumFractionDigits: 1 });
      const legendTexts = (await card.getByRole('listitem').allInnerTexts()).map((text) =>
        text.replaceAll(/\s+/g, ' '),
      );
      expect(legendTexts).toEqual(
        [
          ['Approach', formatNumber(4620), formatPercent(0.462)],
          ['Climb', formatNumber(1950), formatPercent(0.195)],
          ['Run', formatNumber(1590), formatPercent(0.159)],
          ['Roll', formatNumber(1400), formatPercent(0.14)],
          ['Descent', formatNumber(397), formatPercent(0.0397)],
          [texts.other, formatNumber(43), formatPercent(0.0043)],
        ].map((words) => words.join(' ').replaceAll(/\s+/g, ' ')),
      );
      await card.getByText(`${texts.other}: Taxi ${formatPercent(0.0025)}, Parked ${formatPercent(0.0018)}`).waitFor();
      const smallSliceCard = page.getByRole('region', { name: 'One small', exact: true });
      expect((await smallSliceCard.getByRole('listitem').allInnerTexts()).map((text) => text.split(/\s/)[0])).toEqual([
        'a',
        'b',
        'c',
      ]);
      // All of it stands within its card, and beside or below the chart, not over it.
      const { box, canvas, entries } = await card.evaluate(measurePositions);
      for (const entry of entries) {
        expect(entry.right).toBeLessThanOrEqual(box.right);
        expect(entry.bottom).toBeLessThanOrEqual(box.bottom);
        expect(entry.left >= canvas.right - 1 || entry.top >= canvas.bottom - 1).toBe(true);
      }
      expect(canvas.bottom - canvas.top).toBeGreaterThan(120);
      expect(await findAxeViolations(page)).toEqual([]);
      expect(problems).toEqual([]);
    },
  );

  it('has a name of its own where the data has one of the same name', async () => {
    const locale = 'pt-BR';
    const { other } = PAGE_TEXTS[locale];
    const sql = makePartsSql([other, 40], ['a', 30], ['b', 1], ['c', 2], ['d', 27]);
    const { path } = await createLink(await createDashboard([{ name: 'Twice', sql, chart: { type: 'pie' } }]));
    const { page } = await openPage(`${path}?locale=${locale}`);
    await waitUntilSettled(page);
    const card = page.getByRole('region', { name: 'Twice', exact: true });
    const names = (await card.getByRole('listitem').allInnerTexts()).map((text) => text.split('\n')[0]);
    expect(names).toEqual([other, 'a', 'd', `${other} (2)`]);
    await card.getByText(new RegExp(`^${other} \\(2\\): c .*, b .*%$`)).waitFor();
  });

  it('is hidden and drawn again by its entry in the legend, as a series is, by mouse and keyboard', async () => {
    const { page } = await openPage(link);
    await waitUntilSettled(page);
    for (const [name, entry, next] of [
      ['Seven', 'Approach', 'Climb'],
      ['Series', 'birds', 'bats'],
    ] as const) {
      const card = page.getByRole('region', { name, exact: true });
      const readPicture = () =>
        card.locator('canvas').evaluate((canvas) => (canvas as unknown as { toDataURL(): string }).toDataURL());
      const wholePicture = await readPicture();
      const button = card.getByRole('button', { name: new RegExp(`^${entry}`) });
      await button.click();
      expect(await button.getAttribute('aria-pressed')).toBe('false');
      expect(await readPicture()).not.toBe(wholePicture);
      await button.press('Enter');
      expect(await button.getAttribute('aria-pressed')).toBe('true');
      // All of a legend are one stop of Tab.
      await page.keyboard.press('ArrowDown');
      expect(await page.locator(':focus').innerText()).toMatch(new RegExp(`^${next}`));
      await page.keyboard.press('Tab');
      expect(await card.getByRole('listitem').locator(':focus').count()).toBe(0);
    }
  });

  it('keeps its percentage of the whole while another slice is hidden', async () => {
    const { page } = await openPage(link);
    await waitUntilSettled(page);
    await page.evaluate(`{
      const { prototype } = CanvasRenderingContext2D;
      const { fillText } = prototype;
      globalThis.drawnTexts = new Set();
      prototype.fillText = function (text, ...place) {
        drawnTexts.add(text);
        return fillText.call(this, text, ...place);
      };
    }`);
    const card = page.getByRole('region', { name: 'Seven', exact: true });
    await card.getByRole('button', { name: /^Approach/ }).click();
    await expect
      .poll(async () => [...((await page.evaluate('[...drawnTexts]')) as string[])].sort())
      .toEqual(['14%', '16%', '20%', '4%']);
  });

  it('is in the downloaded picture, with the names of the legend', async () => {
    const { page } = await openPage(link);
    await waitUntilSettled(page);
    const card = page.getByRole('region', { name: 'Seven', exact: true });
    await card.getByRole('button', { name: 'Download: Seven' }).click();
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'PNG' }).click(),
    ]);
    const { width, height } = PNG.sync.read(await readFile(await download.path()));
    const canvas = await card.locator('canvas').boundingBox();
    expect(width).toBe(Math.floor(canvas?.width ?? 0));
    // Its lines of names.
    expect(height).toBeGreaterThan((canvas?.height ?? 0) + 25);
  });
});
