import { getDocument } from 'pdfjs-dist/legacy/build/pdf.mjs';
import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { PAGE_TEXTS } from '../../src/texts/pages/languages.ts';
import { isBrowserInstalled, useBrowser, waitUntilSettled } from './browser.ts';
import {
  type Chart,
  createContext,
  createDashboard,
  createEmbed,
  createLink,
  demo,
  readMailedCode,
} from './demo-company.ts';
import { FILTERS, makeFilteredSql } from './example-charts.ts';

const makeRowsSql = (count: number) =>
  `SELECT 'Row ' || lpad(n::text, 4, '0') AS line, n AS value FROM generate_series(1, ${count}) AS n`;
/** Returns a query for three labels that no other chart has. */
const makeThreeLabelsSql = (name: string) =>
  `SELECT * FROM (VALUES ('${name}-a', 3), ('${name}-b', 5), ('${name}-c', 2)) AS three (label, value)`;

const CHARTS: Chart[] = [
  { name: 'Number', sql: makeFilteredSql('count(*) AS n'), chart: { type: 'number' }, place: [0, 0, 3, 2] },
  { name: 'Bars', sql: makeThreeLabelsSql('bars'), chart: { type: 'bar' }, place: [3, 0, 9, 4] },
  { name: 'Rows', sql: makeRowsSql(37), place: [0, 4, 6, 4] },
  { name: 'Pie', sql: makeThreeLabelsSql('pie'), chart: { type: 'pie' }, place: [6, 4, 6, 4] },
  { name: 'Line', sql: makeThreeLabelsSql('line'), chart: { type: 'line' }, place: [0, 8, 12, 5] },
  { name: 'Area', sql: makeThreeLabelsSql('area'), chart: { type: 'area' }, place: [0, 13, 12, 5] },
];

interface TextPiece {
  text: string;
  /** The horizontal position from the lower left corner, in points of 1/72 inch; `y` is the vertical one. */
  x: number;
  y: number;
}

interface PrintedSheet {
  text: string;
  pieces: TextPiece[];
  width: number;
}

/** Prints a page as the browser saves it, and reads the text of each sheet. */
async function printPage(page: Page, format = 'A4'): Promise<PrintedSheet[]> {
  const pdf = await getDocument({ data: new Uint8Array(await page.pdf({ format })), verbosity: 0 }).promise;
  const sheets = Array.from({ length: pdf.numPages }, async (_each, at) => {
    const sheet = await pdf.getPage(at + 1);
    const { items } = await sheet.getTextContent();
    const pieces = items.flatMap((item) =>
      'str' in item && item.str.trim() !== '' ? { text: item.str, x: item.transform[4], y: item.transform[5] } : [],
    );
    return {
      // What is set as one word may be several pieces.
      text: items.map((item) => ('str' in item ? item.str + (item.hasEOL ? ' ' : '') : '')).join(''),
      pieces,
      width: sheet.view[2] as number,
    };
  });
  return Promise.all(sheets);
}

const listRowLines = (text: string): string[] => text.match(/Row \d{4}/g) ?? [];

describe.skipIf(!isBrowserInstalled)('a printed page', () => {
  const openPage = useBrowser();
  let dashboard: string;
  let link: string;
  beforeAll(async () => {
    dashboard = await createDashboard(CHARTS, { filters: FILTERS, name: 'On paper' });
    link = (await createLink(dashboard, { embed_options: { allow_downloads: true } })).path;
  });

  it.each([
    ['A4', 360, 'light', 'en'],
    ['A4', 1280, 'dark', 'pt-BR'],
    ['Letter', 768, 'dark', 'es'],
    ['Letter', 1920, 'light', 'en'],
  ] as const)(
    'has its filters as text, whole tables, and no controls: %s from %i pixels, %s, %s',
    async (format, width, colorScheme, locale) => {
      const texts = PAGE_TEXTS[locale];
      const query = `?state=Texas&state=Ohio&period.from=1990-01-02&period.to=2001-12-31&aircraft=B-737-300&locale=${locale}`;
      const { page, problems } = await openPage(link + query, { viewport: { width, height: 800 }, colorScheme });
      await waitUntilSettled(page);
      const sheets = await printPage(page, format);
      const text = sheets.map((sheet) => sheet.text).join(' ');
      const formatDate = (day: string) =>
        new Date(day).toLocaleDateString(locale, {
          timeZone: 'UTC',
          day: '2-digit',
          month: '2-digit',
          year: 'numeric',
        });
      const states = new Intl.ListFormat(locale, { type: 'unit' }).format(['Texas', 'Ohio']);
      for (const filter of [
        `State: ${states}`,
        `Phase of flight: ${texts.all}`,
        `Period: ${formatDate('1990-01-02')} – ${formatDate('2001-12-31')}`,
        'Aircraft: B-737-300',
      ])
        expect(text.replaceAll(/\s+/g, ' ')).toContain(filter);
      expect(listRowLines(text)).toEqual(
        Array.from({ length: 37 }, (_each, at) => `Row ${String(at + 1).padStart(4, '0')}`),
      );
      for (const word of [
        texts.reset,
        texts.copyLink,
        texts.updatedNow,
        texts.anyDate,
        texts.presets[30],
        texts.range(1, 37, 37),
      ]) {
        expect(text).not.toContain(word);
      }
      for (const { name } of CHARTS) expect(text).toContain(name);
      // Nothing stands beyond the sheet.
      for (const { pieces, width: right } of sheets)
        for (const { x } of pieces) expect(x > 0 && x < right - 10).toBe(true);
      // The screen is as it was.
      expect(await page.getByRole('button', { name: texts.reset }).isVisible()).toBe(true);
      expect(await page.getByText('Aircraft: B-737-300').isVisible()).toBe(false);
      expect(problems).toEqual([]);
    },
  );

  it('has all cards while one of them is open on the whole screen, which is closed afterwards', async () => {
    const { page } = await openPage(link);
    await waitUntilSettled(page);
    const card = page.getByRole('region', { name: 'Bars', exact: true });
    await card.getByRole('button', { name: 'Whole screen' }).click();
    await page.getByRole('dialog').waitFor();
    const text = (await printPage(page)).map((sheet) => sheet.text).join(' ');
    for (const { name } of CHARTS) expect(text).toContain(name);
    await expect.poll(() => page.getByRole('dialog').count()).toBe(0);
    await card.getByRole('button', { name: 'Whole screen' }).click();
    await page.getByRole('dialog').getByRole('region', { name: 'Bars', exact: true }).waitFor();
  });

  it('has its filters as text also where a share hides the controls', async () => {
    const { path } = await createLink(dashboard, { embed_options: { hide_controls: true } });
    const { page } = await openPage(`${path}?state=Texas`);
    await waitUntilSettled(page);
    expect(await page.getByRole('button', { name: 'State' }).count()).toBe(0);
    const text = (await printPage(page)).map((sheet) => sheet.text).join(' ');
    expect(text.replaceAll(/\s+/g, ' ')).toContain('State: Texas');
  });

  it('repeats the header of a table on each sheet, and has at most 500 rows and the number of the remaining rows', async () => {
    const { path } = await createLink(
      await createDashboard([{ name: 'Long', sql: makeRowsSql(612) }], { name: 'Rows' }),
    );
    const { page } = await openPage(path);
    await waitUntilSettled(page);
    const sheets = await printPage(page);
    const allRowLines = sheets.flatMap(({ text }) => listRowLines(text));
    expect([allRowLines.length, allRowLines[0], allRowLines.at(-1)]).toEqual([500, 'Row 0001', 'Row 0500']);
    expect(sheets.length).toBeGreaterThan(5);
    for (const { text } of sheets) expect(text).toContain('line');
    expect(sheets.at(-1)?.text).toContain('112 more rows are not printed.');
    // As before, a hundred at a time.
    expect(await page.getByRole('row').count()).toBe(101);
    const fewRowsLink = await createLink(await createDashboard([{ name: 'Long', sql: makeRowsSql(500) }]));
    await page.goto(new URL(fewRowsLink.path, page.url()).href);
    await waitUntilSettled(page);
    const text = (await printPage(page)).map((sheet) => sheet.text).join(' ');
    expect([listRowLines(text).length, /not printed/.test(text)]).toEqual([500, false]);
    const manyRowsLink = await createLink(await createDashboard([{ name: 'Long', sql: makeRowsSql(10_001) }]));
    await page.goto(new URL(manyRowsLink.path, page.url()).href);
    await waitUntilSettled(page);
    await page.getByText(/ of more than 10,000$/).waitFor();
    const printedText = (await printPage(page)).map((sheet) => sheet.text).join(' ');
    expect(printedText).toContain('At least 9,500 more rows are not printed.');
  });

  it('keeps the sort order that was chosen, and a chart that is shown as a table', async () => {
    const { page } = await openPage(link);
    await waitUntilSettled(page);
    await page.getByRole('region', { name: 'Rows', exact: true }).getByRole('button', { name: 'value' }).click();
    await page.getByRole('region', { name: 'Rows', exact: true }).getByRole('button', { name: 'value' }).click();
    await page
      .getByRole('region', { name: 'Bars', exact: true })
      .getByRole('button', { name: 'Show as table' })
      .click();
    const text = (await printPage(page)).map((sheet) => sheet.text).join(' ');
    expect(listRowLines(text).slice(0, 2)).toEqual(['Row 0037', 'Row 0036']);
    expect(text).toContain('bars-a');
  });

  it('breaks no number and no column header, and a word only if it is too long, in tables that all fit on the sheet', async () => {
    const wordColumns = `'Struck a gull on the runway while it was taking off, and returned' AS notes, 'Washington' AS state`;
    const shortColumns = `'2024-05-06'::date AS day, 105 AS n, 'high' AS sev, 1234567.89 AS cost, 31 AS speed_of_plane, 7 AS x`;
    const longColumn = `'${'x'.repeat(300)}' AS address`;
    const manyColumns = Array.from({ length: 40 }, (_each, at) => `${1000 + at} AS n${at}`).join();
    const namedColumns = Array.from({ length: 12 }, (_each, at) => `'Name number ${at}' AS "Name number ${at}"`).join();
    const numbers = Array.from({ length: 17 }, (_each, at) => `${1234.5 + at} AS n${at}`).join();
    const charts: Chart[] = [
      // It is cut on the screen, so it has the whole width on paper.
      { name: 'Eight', sql: `SELECT ${wordColumns}, ${shortColumns} FROM generate_series(1, 30)`, place: [0, 0, 4, 4] },
      { name: 'Half', sql: `SELECT ${wordColumns}`, place: [4, 0, 8, 4] },
      { name: 'Twelve', sql: `SELECT ${namedColumns} FROM generate_series(1, 9)` },
      { name: 'Seventeen', sql: `SELECT ${numbers}` },
      { name: 'Long', sql: `SELECT ${wordColumns}, ${shortColumns}, ${longColumn}` },
      { name: 'Many', sql: `SELECT ${manyColumns}` },
    ];
    const { page } = await openPage((await createLink(await createDashboard(charts))).path, {
      viewport: { width: 794, height: 900 },
    });
    await waitUntilSettled(page);
    await page.evaluate(`dispatchEvent(new Event('beforeprint'))`);
    await page.emulateMedia({ media: 'print' });
    /** Returns the words of a table that are broken over several lines, and whether the whole table is in the card. */
    const inspectTable = (name: string) =>
      page.getByRole('table', { name }).evaluate((table) => {
        const { ownerDocument: document } = table;
        const brokenWords = new Set<string>();
        const walker = document.createTreeWalker(table, 4);
        for (let node = walker.nextNode(); node; node = walker.nextNode()) {
          if (node.parentElement?.closest('caption')) continue;
          for (const { index, 0: word } of (node.textContent ?? '').matchAll(/\S+/g)) {
            const range = document.createRange();
            range.setStart(node, index);
            range.setEnd(node, index + word.length);
            if (range.getClientRects().length > 1) brokenWords.add(word);
          }
        }
        const card = table.closest('section')?.getBoundingClientRect();
        return { broken: [...brokenWords], fits: table.getBoundingClientRect().right <= (card?.right ?? 0) };
      });
    for (const name of ['Eight', 'Half', 'Twelve', 'Seventeen'])
      expect(await inspectTable(name), name).toEqual({ broken: [], fits: true });
    expect(await inspectTable('Long')).toEqual({ broken: ['x'.repeat(300)], fits: true });
    expect(await inspectTable('Many')).toMatchObject({ fits: true });
  });

  it.each(['A4', 'Letter'])('splits no card over two sheets if the card fits on one: %s', async (format) => {
    const charts = CHARTS.map((chart) => (chart.name === 'Rows' ? { ...chart, sql: makeRowsSql(25) } : chart));
    for (const [name, y, height] of [
      ['Higher', 18, 40],
      ['High', 58, 12],
    ] as const)
      charts.push({
        name: `${name} one`,
        sql: makeThreeLabelsSql(name),
        chart: { type: 'bar' },
        place: [3, y, 9, height],
      });
    const { page } = await openPage((await createLink(await createDashboard(charts, { filters: FILTERS }))).path);
    await waitUntilSettled(page);
    const sheets = await printPage(page, format);
    expect(sheets.length).toBeGreaterThan(1);
    // What a chart draws is text on paper, too.
    const findSheets = (word: string) => sheets.flatMap(({ text }, at) => (text.includes(word) ? at : []));
    for (const [name, label] of [
      ['Bars', 'bars'],
      ['Pie', 'pie'],
      ['Line', 'line'],
      ['Area', 'area'],
      ['Higher one', 'Higher'],
      ['High one', 'High'],
    ] as const) {
      const [sheet, ...others] = findSheets(name);
      expect(others).toEqual([]);
      for (const part of ['a', 'b', 'c']) expect(findSheets(`${label}-${part}`), name).toEqual([sheet]);
    }
    for (const { pieces } of sheets) expect(pieces).not.toEqual([]);
    expect(sheets.filter(({ text }) => listRowLines(text).length > 0).length).toBe(1);
  });

  it('leaves no empty space beside and below a table of full width', async () => {
    const chartsBesideTable: Chart[] = [
      { name: 'Rows', sql: makeRowsSql(37), place: [0, 0, 7, 6] },
      { name: 'Pie', sql: makeThreeLabelsSql('pie'), chart: { type: 'pie' }, place: [7, 0, 5, 3] },
      { name: 'Bars', sql: makeThreeLabelsSql('bars'), chart: { type: 'bar' }, place: [7, 3, 5, 3] },
      ...['One', 'Two', 'Three'].map(
        (name, at): Chart => ({
          name,
          sql: makeThreeLabelsSql(name),
          chart: { type: 'line' },
          place: [at * 4, 6, 4, 3],
        }),
      ),
    ];
    const { page } = await openPage((await createLink(await createDashboard(chartsBesideTable))).path, {
      viewport: { width: 700, height: 900 },
    });
    await waitUntilSettled(page);
    await page.evaluate(`dispatchEvent(new Event('beforeprint'))`);
    await page.emulateMedia({ media: 'print' });
    const measureRegion = async (name: string) => {
      const box = await page.getByRole('region', { name, exact: true }).boundingBox();
      if (!box) throw new Error(`${name} is not there.`);
      return { left: box.x, right: box.x + box.width, top: box.y, bottom: box.y + box.height };
    };
    const table = await measureRegion('Rows');
    const expectAligned = async (...names: string[]) => {
      const cards = await Promise.all(names.map(measureRegion));
      expect(new Set(cards.map(({ top }) => Math.round(top))).size).toBe(1);
      expect(cards[0]?.left).toBeCloseTo(table.left, 0);
      expect(cards.at(-1)?.right).toBeCloseTo(table.right, 0);
      return cards[0] as (typeof cards)[number];
    };
    const lowerRow = await expectAligned('Pie', 'Bars');
    expect(lowerRow.top).toBeGreaterThan(table.bottom);
    expect((await expectAligned('One', 'Two', 'Three')).top).toBeGreaterThan(lowerRow.bottom);
  });

  it('has whole tables for an embed and for the portal too, and none of the buttons of the portal', async () => {
    const embed = await openPage(await createEmbed(dashboard, { allowed_params: ['state'] }));
    await waitUntilSettled(embed.page);
    expect(listRowLines((await printPage(embed.page)).map(({ text }) => text).join(' ')).length).toBe(37);
    await embed.page.context().close();

    const email = 'paper@example.com';
    await createContext([dashboard], email);
    const { page } = await openPage(`/portal/${demo.company.slug}`);
    await page.getByLabel('E-mail').fill(email);
    await page.keyboard.press('Enter');
    await page.getByLabel('Code').fill(await readMailedCode(email));
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: /On paper/ }).click();
    await page.getByRole('heading', { name: 'On paper', level: 1 }).waitFor();
    await waitUntilSettled(page);
    const text = (await printPage(page)).map((sheet) => sheet.text).join(' ');
    expect(listRowLines(text).length).toBe(37);
    expect(text).toContain('On paper');
    expect(text).not.toContain('Sign out');
    expect(text).not.toContain('All dashboards');
  });
});
