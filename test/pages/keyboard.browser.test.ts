import type { Frame, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findAxeViolations, isBrowserInstalled, useBrowser, waitUntilSettled } from './browser.ts';
import { type Chart, createDashboard, createEmbed, createLink, url } from './demo-company.ts';
import { findFrame, type HostSite, startHostSite, waitForEvents } from './host.ts';

const makeRowsSql = (columns: string, ...values: string[]) =>
  `SELECT * FROM (VALUES ${values.join(', ')}) AS rows (${columns})`;

const NUMBER_CHART: Chart = { name: 'Strikes', sql: 'SELECT 10 AS strikes, 3 AS hits', chart: { type: 'number' } };
const BAR_CHART: Chart = {
  name: 'Bars',
  sql: makeRowsSql(
    'state, strikes, birds',
    "('Ohio', 7, 3)",
    "('Texas', NULL, 5)",
    "('Utah', 2, NULL)",
    "('Iowa', 4, 1)",
  ),
  chart: { type: 'bar', x: 'state', y: ['strikes', 'birds'] },
};
const LINE_CHART: Chart = {
  name: 'Line',
  sql: makeRowsSql(
    'day, size, strikes',
    "(date '2020-03-01', 'S', 30)",
    "(date '2020-01-01', 'S', 10)",
    "('2020-02-01', 'L', 2)",
  ),
  chart: { type: 'line', x: 'day', y: ['strikes'], series: 'size' },
};
const PIE_CHART: Chart = {
  name: 'Pie',
  sql: "SELECT 'p' || n AS phase, n AS strikes FROM generate_series(1, 12) AS n",
  chart: { type: 'pie', x: 'phase', y: ['strikes'] },
};
const SCATTER_CHART: Chart = {
  name: 'Cloud',
  sql: makeRowsSql('speed, cost, bird', "(10, 5, 'owl')", "(90, 50, 'crow')"),
  chart: { type: 'scatter', x: 'speed', y: ['cost'] },
};
const TABLE_CHART: Chart = { name: 'Table', sql: makeRowsSql('bird, cost', "('owl', 5)", '(NULL, 6)', "('crow', 7)") };

interface ClickEvent {
  visualization: { name: string };
  values: Record<string, unknown>;
}

describe.skipIf(!isBrowserInstalled)('points of a chart, reached by keyboard', () => {
  const openPage = useBrowser();
  let host: HostSite;
  let dashboard: string;
  let page: Page;
  let frame: Frame;
  let executedParameters: unknown[];

  beforeAll(async () => {
    host = await startHostSite();
    dashboard = await createDashboard([NUMBER_CHART, BAR_CHART, LINE_CHART, PIE_CHART, SCATTER_CHART, TABLE_CHART], {
      filters: [{ slug: 'any', label: 'Any', kind: 'text' }],
    });
    const path = await createEmbed(dashboard, { allowed_params: ['any'] });
    const body = `<data-console-embed id="one" src="${url}${path}"></data-console-embed><button>After</button>`;
    ({ page, executedParameters } = await openPage(host.addPage(body), { origins: [host.origin] }));
    await findFrame(page).locator('.points button').nth(3).waitFor();
    frame = page.frames()[1] as Frame;
  });
  afterAll(() => host?.close());

  const readClicks = async (): Promise<ClickEvent[]> => (await waitForEvents(page, 'click')) as unknown as ClickEvent[];
  const findCard = (name: string) => frame.getByRole('region', { name, exact: true });
  const findButtons = (name: string) => findCard(name).locator('.points button');
  const readFocusedLabel = () => frame.locator(':focus').getAttribute('aria-label');

  /** Presses these keys from the first point on. @returns the labels of the points that they reach */
  async function walkPoints(name: string, keys: string[]): Promise<(string | null)[]> {
    await findButtons(name).focus();
    const pointLabels = [await readFocusedLabel()];
    for (const key of keys) {
      await page.keyboard.press(key);
      pointLabels.push(await readFocusedLabel());
    }
    return pointLabels;
  }

  it('are reached along their series and across series, except for points that are not drawn', async () => {
    expect(await walkPoints('Bars', ['ArrowRight', 'ArrowRight', 'ArrowRight', 'Home', 'ArrowLeft'])).toEqual([
      'state: Ohio, strikes: 7, birds: 3',
      'state: Utah, strikes: 2, birds: (empty)',
      'state: Iowa, strikes: 4, birds: 1',
      'state: Iowa, strikes: 4, birds: 1',
      'state: Ohio, strikes: 7, birds: 3',
      'state: Ohio, strikes: 7, birds: 3',
    ]);
    // Of the second series there is none of Utah.
    expect(await walkPoints('Bars', ['Home', 'ArrowRight', 'ArrowDown', 'ArrowDown', 'ArrowUp', 'End'])).toEqual([
      'state: Ohio, strikes: 7, birds: 3',
      'state: Ohio, strikes: 7, birds: 3',
      'state: Utah, strikes: 2, birds: (empty)',
      'state: Texas, strikes: (empty), birds: 5',
      'state: Texas, strikes: (empty), birds: 5',
      'state: Ohio, strikes: 7, birds: 3',
      'state: Iowa, strikes: 4, birds: 1',
    ]);
    expect(await walkPoints('Line', ['ArrowRight', 'ArrowDown'])).toEqual([
      'day: Jan 2020, size: S, strikes: 10',
      'day: Mar 2020, size: S, strikes: 30',
      'day: Feb 2020, size: L, strikes: 2',
    ]);
    // Small slices are drawn as one, which is no point.
    expect(await walkPoints('Pie', ['ArrowDown', 'End', 'ArrowUp'])).toEqual([
      'phase: p12, strikes: 12',
      'phase: p11, strikes: 11',
      'phase: p3, strikes: 3',
      'phase: p4, strikes: 4',
    ]);
    expect(await walkPoints('Cloud', ['ArrowRight'])).toEqual([
      'speed: 10, cost: 5, bird: owl',
      'speed: 90, cost: 50, bird: crow',
    ]);
    expect(await findAxeViolations(frame)).toEqual([]);
  });

  it.each(['Bars', 'Line', 'Pie', 'Cloud'])(
    'dispatch the same click event by Enter and Space as by mouse: %s',
    async (name) => {
      const button = findButtons(name);
      for (const key of ['Enter', 'Space']) {
        await walkPoints(name, ['End']);
        const clickCountBefore = (await readClicks()).length;
        await page.keyboard.press(key);
        const { x = 0, y = 0, width = 0, height = 0 } = (await button.boundingBox()) ?? {};
        await page.mouse.click(x + width / 2, y + height / 2);
        await expect.poll(async () => (await readClicks()).length).toBe(clickCountBefore + 2);
        const [byKey, byMouse] = (await readClicks()).slice(clickCountBefore);
        expect(byKey).toEqual(byMouse);
        expect(byKey?.visualization.name).toBe(name);
        expect(Object.keys(byKey?.values ?? {})).not.toEqual([]);
      }
    },
  );

  it('are marked while they have the focus', async () => {
    const readPicture = () => frame.evaluate(`document.querySelector('canvas[aria-label^="Bars"]').toDataURL()`);
    await frame.evaluate('document.activeElement.blur()');
    await page.mouse.move(0, 0);
    const plainPicture = await readPicture();
    await findButtons('Bars').focus();
    const markedPicture = await readPicture();
    expect(markedPicture).not.toBe(plainPicture);
    await page.keyboard.press('Home');
    expect(await readPicture()).not.toBe(markedPicture);
    await page.keyboard.press('Tab');
    expect(await readPicture()).toBe(plainPicture);
  });

  it('move with their chart when it is drawn in another size', async () => {
    const readPointPosition = async () => {
      const [button, canvas] = await Promise.all([
        findButtons('Bars').boundingBox(),
        findCard('Bars').locator('canvas').boundingBox(),
      ]);
      return [(button?.x ?? 0) - (canvas?.x ?? 0), canvas?.width ?? 0] as const;
    };
    await walkPoints('Bars', ['End']);
    const [x, width] = await readPointPosition();
    await page.setViewportSize({ width: 640, height: 900 });
    await expect.poll(async () => (await readPointPosition())[1]).toBeLessThan(width * 0.6);
    await expect.poll(async () => (await readPointPosition())[0]).toBeLessThan(x * 0.6);
    await page.setViewportSize({ width: 1280, height: 900 });
  });

  it('dispatch click events in a number card and in table rows too; all rows are a single Tab stop', async () => {
    const clickCountBefore = (await readClicks()).length;
    await findCard('Strikes').getByRole('button', { name: '10' }).focus();
    await page.keyboard.press('Enter');
    await findCard('Table').getByRole('button', { name: 'cost' }).focus();
    for (const key of ['Tab', 'Tab']) await page.keyboard.press(key);
    expect(await findCard('Table').locator(':focus').count()).toBe(0);
    await page.keyboard.press('Shift+Tab');
    expect(await frame.locator(':focus').innerText()).toBe('owl');
    for (const key of ['ArrowDown', 'Enter', 'ArrowDown', 'ArrowDown', 'Space', 'ArrowUp', 'ArrowUp', 'Enter']) {
      await page.keyboard.press(key);
    }
    await expect
      .poll(async () => (await readClicks()).slice(clickCountBefore).map(({ values }) => values))
      .toEqual([
        { strikes: 10, hits: 3 },
        { bird: null, cost: 6 },
        { bird: 'crow', cost: 7 },
        { bird: 'owl', cost: 5 },
      ]);
    await findCard('Table').getByRole('button', { name: '(empty)' }).waitFor();
  });

  it.each(['Bars', 'Table', 'Strikes'])('keep the focus in their card when the results change: %s', async (name) => {
    await findCard(name).locator('.points button, td button, dd button').first().focus();
    await page.evaluate(`one.setParameters({ any: '${name}' })`);
    await expect.poll(() => executedParameters.at(-1)).toEqual({ any: name });
    await waitUntilSettled(frame);
    await expect.poll(() => findCard(name).locator('button:focus').count()).toBe(1);
  });

  it('are no buttons on a page without a host that receives click events', async () => {
    const standalonePage = await openPage((await createLink(dashboard)).path);
    await standalonePage.page.getByRole('img', { name: /^Cloud/ }).waitFor();
    expect(await standalonePage.page.locator('.points, dd button, td button').count()).toBe(0);
  });

  it('stand beside signs and a legend that are seen in the reader’s own colours', async () => {
    await page.emulateMedia({ forcedColors: 'active' });
    const readColours = (selector: string, part = 'null'): Promise<string[]> =>
      frame.evaluate(
        `[...document.querySelectorAll('${selector}')].map((each) => getComputedStyle(each, ${part}).backgroundColor)`,
      );
    const [canvas] = await readColours('body');
    const [signs, marks] = [await readColours('.icon', "'::before'"), await readColours('.legend .mark-of')];
    await page.emulateMedia({ forcedColors: 'none' });
    expect(signs.length).toBeGreaterThan(0);
    expect(new Set(marks).size).toBeGreaterThan(1);
    expect([...signs, ...marks]).not.toContain(canvas);
  });
});
