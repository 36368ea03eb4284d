import type { Locator, Page } from 'playwright-core';
import { PNG } from 'pngjs';
import { beforeAll, describe, expect, it } from 'vitest';
import { PAGE_TEXTS } from '../../src/texts/pages/languages.ts';
import { findAxeViolations, isBrowserInstalled, useBrowser, VIEWS, waitUntilSettled } from './browser.ts';
import { type Chart, createDashboard, createEmbed, createLink } from './demo-company.ts';

const makeReportsSql = (
  rowCount: number,
  columns = 'n, state, aircraft, phase, cost, speed',
) => `SELECT ${columns} FROM (
  SELECT 'Report ' || n AS n, 'A state of some length' AS state, 'An aircraft ' || n AS aircraft, 'Approach' AS phase,
    n * 1000 AS cost, n AS speed
  FROM generate_series(1, ${rowCount}) AS n) AS reports`;

const CHARTS: Chart[] = [
  { name: 'Many', sql: makeReportsSql(37), place: [0, 0, 12, 5] },
  { name: 'Few', sql: makeReportsSql(3, 'n, cost'), place: [0, 5, 6, 4] },
  { name: 'One', sql: makeReportsSql(1, 'n, cost'), place: [6, 5, 6, 4] },
];
/** Charts of more rows, of which the search for violations would take seconds. */
const LONG_CHARTS: Chart[] = [
  ...CHARTS,
  { name: 'Hundreds', sql: makeReportsSql(250), place: [0, 9, 12, 5] },
  {
    name: 'Tall',
    sql: "SELECT repeat('Lorem ipsum dolor ', 20) || n AS text, n, n * 2 AS m FROM generate_series(1, 30) AS n",
    place: [0, 14, 6, 4],
  },
];

/** The SQL of first columns whose cells or heads have no place where a line could break, by name. */
const FIRST_COLUMNS = {
  times: "timestamp '2026-11-28 12:34:56' + n * interval '1 hour' AS happened_at",
  numbers: '123456789012345678::numeric + n AS id',
  'long numbers': "repeat('123456789', 9)::numeric + n AS id",
  words: "'c' || n AS customer_full_name",
  'long heads': `n AS ${'head_'.repeat(12)}`,
};
const FIRST_COLUMN_CHARTS = Object.entries(FIRST_COLUMNS).flatMap(([name, column]): Chart[] => {
  const makeSql = (columns: string) => `SELECT ${columns}, n AS value, n * 3 AS w FROM generate_series(1, 9) AS n`;
  return [
    { name, sql: makeSql(column) },
    { name: `${name} second`, sql: makeSql(`n AS nth, ${column}`) },
  ];
});

interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

const readBox = async (locator: Locator): Promise<Box> => (await locator.boundingBox()) as Box;

/** Returns the mean lightness of a part of the page that holds no text, from 0 to 255. */
async function measureLightness(page: Page, clip: Box): Promise<number> {
  const { data } = PNG.sync.read(await page.screenshot({ clip }));
  const colours = Array.from({ length: data.length / 4 }, (_each, at) => data.subarray(at * 4, at * 4 + 3));
  return colours.reduce((sum, [red = 0, green = 0, blue = 0]) => sum + red + green + blue, 0) / (colours.length * 3);
}

describe.skipIf(!isBrowserInstalled)('a table on a dashboard page', () => {
  const openPage = useBrowser();
  let dashboard: string;
  let link: string;
  let longLink: string;
  let firstColumnsLink: ReturnType<typeof createLink> | undefined;
  beforeAll(async () => {
    dashboard = await createDashboard(CHARTS);
    link = (await createLink(dashboard)).path;
    longLink = (await createLink(await createDashboard(LONG_CHARTS))).path;
  });

  const findTable = (page: Page, name: string) => {
    const card = page.getByRole('region', { name, exact: true });
    return { card, area: card.getByRole('group', { name, exact: true }), rows: card.getByRole('row') };
  };

  it('sorts numbers and times by their exact values, and a column of text as text', async () => {
    const sql = `SELECT * FROM (VALUES
      ('100', 20, -1.00000000000000000001, timestamptz '2024-01-01 00:00:00.2Z'),
      ('20x', 9007199254740993, -1.00000000000000000002, '2024-01-01 00:00:00.1005Z'),
      ('3', 9007199254740992, 0.5, '2024-01-01 00:00:00.3Z'),
      ('20x', 9007199254740994, -1.5, '2024-01-01 00:00:00.2005Z')) AS t (code, big, small, at)`;
    const { path } = await createLink(await createDashboard([{ name: 'Sorted', sql }]));
    const { page, problems } = await openPage(path);
    const { card } = findTable(page, 'Sorted');
    const readSortedBy = async (sortedColumn: number, readColumn = sortedColumn) => {
      await card.locator(`th:nth-child(${sortedColumn}) button`).click();
      return card.locator(`tbody td:nth-child(${readColumn})`).allInnerTexts();
    };
    expect(await readSortedBy(1)).toEqual(['3', '20x', '20x', '100']);
    const sorted = ['20', '9,007,199,254,740,992', '9,007,199,254,740,993', '9,007,199,254,740,994'];
    expect(await readSortedBy(2)).toEqual(sorted);
    expect(await readSortedBy(2)).toEqual(sorted.toReversed());
    // The codes tell apart numbers that are written alike.
    expect(await readSortedBy(3, 1)).toEqual(['20x', '20x', '100', '3']);
    expect(await readSortedBy(4, 1)).toEqual(['20x', '100', '20x', '3']);
    expect(problems).toEqual([]);
  });

  /** Returns the boxes of the scrolled area, the head and all rows, at one moment: new results may take the place of these. */
  const readTableBoxes = (page: Page, name: string): Promise<Box[]> =>
    findTable(page, name).card.evaluate((card) => {
      type BoxedPart = { getBoundingClientRect(): { toJSON(): Box } };
      const { querySelectorAll } = card as unknown as { querySelectorAll(parts: string): Iterable<BoxedPart> };
      const parts = querySelectorAll.call(card, '[role=group], thead tr:first-child th:last-child, tbody tr');
      return Array.from(parts as Iterable<BoxedPart>, (part) => part.getBoundingClientRect().toJSON());
    });

  /** Returns the numbers of the first and last row that are fully in view, counted from the top of the table. */
  async function findRowsInView(page: Page, name: string): Promise<[first: number, last: number]> {
    const [edge, head, ...boxes] = await readTableBoxes(page, name);
    if (!edge || !head) return [0, 0];
    const wholeRows = boxes.flatMap((box, at) =>
      box.y >= head.y + head.height - 1.5 && box.y + box.height <= edge.y + edge.height + 1.5 ? at + 1 : [],
    );
    return [wholeRows[0] ?? 0, wholeRows.at(-1) ?? 0];
  }

  it.each(VIEWS)('says which of how many rows are in view: %i pixels, %s, %s', async (width, colorScheme, locale) => {
    const { page, problems } = await openPage(`${link}?locale=${locale}`, {
      viewport: { width, height: 900 },
      colorScheme,
    });
    await waitUntilSettled(page);
    const { range } = PAGE_TEXTS[locale];
    const { card, area } = findTable(page, 'Many');
    const [first, last] = await findRowsInView(page, 'Many');
    expect(first).toBe(1);
    expect(last).toBeLessThan(37);
    await card.getByText(range(1, last, 37), { exact: true }).waitFor();
    await area.evaluate((element) => (element as unknown as { scrollTo(x: number, y: number): void }).scrollTo(0, 1e6));
    await expect.poll(async () => (await findRowsInView(page, 'Many'))[1]).toBe(37);
    const [from] = await findRowsInView(page, 'Many');
    expect(from).toBeGreaterThan(1);
    await card.getByText(range(from, 37, 37), { exact: true }).waitFor();
    await findTable(page, 'Few')
      .card.getByText(range(1, 3, 3), { exact: true })
      .waitFor();
    await findTable(page, 'One')
      .card.getByText(range(1, 1, 1), { exact: true })
      .waitFor();
    expect(range(1, 9, 37)).toBe(locale === 'en' ? '1–9 of 37' : '1–9 de 37');
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
    expect(await findAxeViolations(page)).toEqual([]);
    expect(problems).toEqual([]);
  });

  it('counts all rows of its result, also those that are shown on demand', async () => {
    const { page } = await openPage(longLink);
    await waitUntilSettled(page);
    const { card } = findTable(page, 'Hundreds');
    const findLastRow = async () => (await findRowsInView(page, 'Hundreds'))[1];
    await card.getByText(`1–${await findLastRow()} of 250`, { exact: true }).waitFor();
    await card.getByRole('button', { name: 'Show more (150 rows left)' }).click();
    await card.getByText(/ of 250$/).waitFor();
    await card.getByRole('button', { name: 'Show more (50 rows left)' }).click();
    const moreButton = card.locator('button.more');
    await expect.poll(() => moreButton.isVisible()).toBe(false);
    expect(await moreButton.textContent()).toBe('');
  });

  it('never ends at the edge of a row, so that viewers see that it scrolls, whatever the size of its card', async () => {
    const { page } = await openPage(longLink);
    await waitUntilSettled(page);
    for (const [width, height] of [
      [1280, 900],
      [1100, 700],
      [900, 900],
      [700, 900],
      [430, 900],
      [394, 900],
      [360, 640],
    ] as const) {
      await page.setViewportSize({ width, height });
      await page.evaluate(
        'new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))).then(() => {})',
      );
      for (const name of ['Many', 'Hundreds', 'Tall']) {
        await expect
          .poll(async () => {
            const [area, , ...rows] = await readTableBoxes(page, name);
            const bottom = area ? area.y + area.height : 0;
            const clippedRow = rows.find((box) => box.y + box.height > bottom + 0.5);
            const visibleFraction = clippedRow ? (bottom - clippedRow.y) / clippedRow.height : 0;
            return visibleFraction > 0.2 && visibleFraction < 0.8 ? 'within' : `${name} ${width}: ${visibleFraction}`;
          })
          .toBe('within');
      }
    }
  });

  it.each([320, 360, 1280])('draws no cell over the next one: %i pixels', async (width) => {
    firstColumnsLink ??= createDashboard(FIRST_COLUMN_CHARTS).then(createLink);
    const { page } = await openPage((await firstColumnsLink).path, { viewport: { width, height: 900 } });
    await waitUntilSettled(page);
    for (const { name } of FIRST_COLUMN_CHARTS) {
      const widths = await findTable(page, name).rows.evaluateAll((rows) =>
        rows.flatMap(({ cells, ownerDocument: document }) =>
          Array.from(cells as Iterable<(typeof rows)[number]>, (cell) => {
            const range = document.createRange();
            range.selectNodeContents(cell);
            return [range.getBoundingClientRect().right, cell.getBoundingClientRect().right];
          }),
        ),
      );
      expect(widths.length, name).toBeGreaterThan(29);
      for (const [textEnd, cellEnd] of widths) expect(textEnd, name).toBeLessThanOrEqual(cellEnd as number);
    }
    // A number of a usual length is on one line.
    const lines = await findTable(page, 'numbers').rows.nth(1).getByRole('cell').first().boundingBox();
    if (width > 320) expect(lines?.height).toBeLessThan(40);
  });

  it.each(['light', 'dark'] as const)('shows by shadows on which sides it scrolls on: %s', async (colorScheme) => {
    const { page } = await openPage(link, { colorScheme, viewport: { width: 360, height: 900 } });
    await waitUntilSettled(page);
    const { area } = findTable(page, 'Many');
    await area.evaluate((element) => (element as unknown as { scrollIntoView(): void }).scrollIntoView());
    const measureShades = async () => {
      const { x, y, width, height } = await readBox(area);
      // Above the words of the head, and beside those of the rows.
      const right = await measureLightness(page, { x: x + width - 3, y: y + 1, width: 2, height: 3 });
      return { right, below: await measureLightness(page, { x: x + 3, y: y + height - 2, width: 8, height: 1 }) };
    };
    const edgeShades = await measureShades();
    // Each time: the rows of a newer result are shown from their top.
    const measureEndLightness = async () => {
      await area.evaluate((element) =>
        (element as unknown as { scrollTo(x: number, y: number): void }).scrollTo(1e6, 1e6),
      );
      const { right, below } = await measureShades();
      return Math.min(right - edgeShades.right, below - edgeShades.below);
    };
    await expect.poll(measureEndLightness).toBeGreaterThan(4);
  });

  it.each(['mouse', 'keyboard'])(
    'keeps its first column and its header in view while it scrolls: by %s',
    async (by) => {
      const { page } = await openPage(await createEmbed(dashboard), { viewport: { width: 360, height: 800 } });
      await waitUntilSettled(page);
      const { area, rows } = findTable(page, 'Many');
      const names = rows.nth(1).getByRole('cell').first();
      const lastCell = rows.nth(1).getByRole('cell').last();
      const boxBefore = await readBox(names);
      const measureEdge = async () => {
        const box = await readBox(area);
        return box.x + box.width;
      };
      expect((await readBox(lastCell)).x).toBeGreaterThan(await measureEdge());
      if (by === 'mouse') {
        await area.hover();
        await page.mouse.wheel(2000, 0);
      } else {
        await area.focus();
        for (let pressCount = 0; pressCount < 20; pressCount += 1) await page.keyboard.press('ArrowRight');
      }
      await expect
        .poll(async () => {
          const { x, width } = await readBox(lastCell);
          return x + width - (await measureEdge());
        })
        .toBeLessThanOrEqual(1);
      // Pointing at it may scroll the page.
      await area.hover();
      const boxAfter = await readBox(names);
      expect(Math.abs(boxAfter.x - boxBefore.x)).toBeLessThan(1);
      // The column leaves room for the others.
      expect(boxAfter.width).toBeLessThan(360 / 2);
      const head = rows.first().getByRole('columnheader').first();
      const headBox = await readBox(head);
      await page.mouse.wheel(0, 150);
      await expect.poll(async () => (await readBox(names)).y).toBeLessThan(boxAfter.y - 50);
      expect(Math.abs((await readBox(head)).y - headBox.y)).toBeLessThan(1);
    },
  );
});
