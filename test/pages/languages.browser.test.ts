import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Locale } from '../../src/texts/locales.ts';
import { MAIL_LINK_TEXTS } from '../../src/texts/mail-links/languages.ts';
import { PAGE_TEXTS } from '../../src/texts/pages/languages.ts';
import {
  type AnswerSubstitute,
  findAxeViolations,
  isBrowserInstalled,
  readCardNumber,
  useBrowser,
  waitUntilSettled,
} from './browser.ts';
import {
  createContext,
  createDashboard,
  createEmbed,
  createLink,
  demo,
  inviteUser,
  readMailedCode,
  url,
} from './demo-company.ts';

/** The filters of the dashboard. All names and cells of these tests begin with Ω: all other texts on a page are ours. */
const FILTERS = [
  { slug: 'state', label: 'ΩState', kind: 'multi_select', options: [{ value: 'Ωb', label: 'Ωb' }] },
  { slug: 'period', label: 'ΩPeriod', kind: 'date_range' },
  { slug: 'cost', label: 'ΩCost', kind: 'number' },
];
const whereClause = 'WHERE true [[AND {{state}} IS NOT NULL]] [[AND {{period.from}} IS NOT NULL]] [[AND 1 < {{cost}}]]';
const TWO_ROWS_SQL = `SELECT * FROM (VALUES ('Ωa', 1234.5), ('Ωb', 2)) AS t("Ωx", "Ωy") ${whereClause}`;
const CHARTS = [
  { name: 'ΩNumber', sql: `SELECT 1234567.5 AS "Ωn" ${whereClause}`, chart: { type: 'number' } },
  { name: 'ΩBars', sql: TWO_ROWS_SQL, chart: { type: 'bar' } },
  { name: 'ΩPie', sql: TWO_ROWS_SQL, chart: { type: 'pie' } },
  { name: 'ΩCloud', sql: 'SELECT 1 AS "Ωx", 2 AS "Ωy"', chart: { type: 'scatter' } },
  { name: 'ΩGone', sql: TWO_ROWS_SQL, chart: { type: 'line', x: 'no such column', y: ['Ωy'] } },
  { name: 'ΩEmpty', sql: `${TWO_ROWS_SQL} AND false` },
  { name: 'ΩFailing', sql: 'SELECT 1 / (1 - 1) AS "Ωn"' },
  { name: 'ΩLong', sql: `SELECT 'Ω' || n AS "Ωn", n % 2 = 0 AS "Ωeven" FROM generate_series(1, 10001) AS n` },
  {
    name: 'ΩSeries',
    sql: `SELECT 'Ωx' AS "Ωx", 'Ω' || n AS "Ωs", n AS "Ωy" FROM generate_series(1, 25) AS n`,
    chart: { type: 'line', x: 'Ωx', y: ['Ωy'], series: 'Ωs' },
  },
];

/** The name of the demo's company. */
const COMPANY_NAME = 'Demo';

/** Lists all texts that a page shows: text, labels, titles, placeholders. Texts from the server are checked above. */
const listPageTexts = (page: Page): Promise<string[]> =>
  page.evaluate(() => {
    type TextNode = {
      nodeType: number;
      parentNode: { nodeName: string };
      textContent: string;
      getAttribute(name: string): string | null;
    };
    type DocumentTree = { title: string; documentElement: unknown; body: unknown };
    const { document } = globalThis as unknown as { document: DocumentTree & Record<string, CallableFunction> };
    const texts: string[] = [document.title];
    // Elements and text nodes.
    const walker = document.createTreeWalker?.(document.body, 1 | 4) as { nextNode(): TextNode | null };
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      if (node.nodeType === 3) texts.push(node.parentNode.nodeName === 'NOSCRIPT' ? '' : node.textContent);
      else {
        for (const name of ['aria-label', 'title', 'placeholder', 'alt', 'aria-description']) {
          texts.push(node.getAttribute(name) ?? '');
        }
      }
    }
    return texts.filter((text) => text.trim() !== '');
  });

/** Changes a script of texts so that each text stands between marks, however it is made. */
const markScript = (script: string) => `
  import { texts } from ${JSON.stringify(`${script}?plain`)};
  const mark = (text, values) => (values.includes(text) ? text : '⟦' + text + '⟧');
  const marked = (value) =>
    typeof value === 'string' ? mark(value, [])
    : typeof value === 'function'
      ? (...values) => {
          const made = value(...values);
          return Array.isArray(made) ? made.map((each) => mark(each, values)) : mark(made, []);
        }
      : Object.fromEntries(Object.entries(value).map(([name, each]) => [name, marked(each)]));
  const all = marked(texts);
  export { all as texts };`;

/** Puts marks around every text of the page that is opened next. */
async function markTexts(page: Page): Promise<void> {
  await page.route(/\/assets\/(en|es|pt-BR)-\w+\.js$/, (route) =>
    route.fulfill({ contentType: 'text/javascript', body: markScript(route.request().url()) }),
  );
  await page.reload();
}

/** Returns the texts of a page that are neither ours nor the author's, without numbers, signs, the company and these names. */
function findForeignTexts(texts: readonly string[], names: readonly string[] = []): string[] {
  return texts.filter((text) => {
    if (text === PAGE_TEXTS.en.dashboard || names.includes(text)) return false;
    let remainingText = text;
    for (
      let previousText = '';
      previousText !== remainingText;
      remainingText = remainingText.replaceAll(/⟦[^⟦⟧]*⟧/g, '')
    )
      previousText = remainingText;
    for (const companyName of [COMPANY_NAME, demo.company.slug]) remainingText = remainingText.replace(companyName, '');
    return /\p{L}/u.test(remainingText.replaceAll(/Ω\w*/g, '').replaceAll(/[\w.+-]+@[\w.-]+/g, ''));
  });
}

describe.skipIf(!isBrowserInstalled)('the language of a page', () => {
  const openPage = useBrowser();
  let dashboard: string;
  let link: string;

  beforeAll(async () => {
    dashboard = await createDashboard(CHARTS, { name: 'ΩDashboard', description: 'Ω1', filters: FILTERS });
    link = (await createLink(dashboard)).path;
  });

  /** Expects that a page is sent in this language, and loads no other. */
  async function expectLanguage(page: string, acceptedLanguages: string, locale: Locale): Promise<void> {
    const response = await fetch(url + page, { headers: { 'Accept-Language': acceptedLanguages } });
    expect(response.headers.get('content-language')).toBe(locale);
    expect(response.headers.get('vary')).toMatch(/\bAccept-Language\b/);
    const html = await response.text();
    const { dashboard: title, sharedDashboards, noScript } = PAGE_TEXTS[locale];
    expect(html).toContain(`<html lang="${locale}">`);
    expect(html).toContain(`<title>${page.startsWith('/portal') ? sharedDashboards : title}</title>`);
    expect(html).toContain(`<noscript>${noScript}</noscript>`);
    expect(html.match(/assets\/(en|es|pt-BR)-/g)).toEqual([`assets/${locale}-`]);
  }

  it.each([
    ['', 'de, pt;q=0.8, es;q=0.9', 'es'],
    ['', 'pt-PT', 'pt-BR'],
    ['', 'de', 'en'],
    ['?locale=es', 'pt-BR', 'es'],
    ['?locale=pt-br', 'es', 'pt-BR'],
    ['?locale=klingon', 'es', 'es'],
    ['?locale=', 'es', 'es'],
    ['?utm_source=x', '', 'en'],
  ] as const)('is that of the address, else that of the browser: %j and %j', (query, acceptedLanguages, locale) =>
    expectLanguage(`/p/none${query}`, acceptedLanguages, locale),
  );

  it('is that of the browser on every kind of page', async () => {
    for (const page of [link, '/embed/d/none', '/embed/v/none', '/portal/none']) {
      await expectLanguage(page, 'pt-PT', 'pt-BR');
    }
  });

  // Spanish groups the digits of fewer numbers than the others.
  it.each(['en', 'es'] as const)('is used for all its texts, numbers and dates: %s', async (locale) => {
    const texts = PAGE_TEXTS[locale];
    const openedPage = await openPage(`${link}?locale=${locale}`, { locale: 'de-DE' });
    const { page, executedParameters, problems } = openedPage;
    await waitUntilSettled(page);
    expect(await page.locator('html').getAttribute('lang')).toBe(locale);
    expect(await readCardNumber(page, 'ΩNumber')).toBe((1234567.5).toLocaleString(locale));
    const card = page.getByRole('region', { name: 'ΩBars', exact: true });
    await card.getByRole('button', { name: texts.showTable }).click();
    await card.getByRole('cell', { name: (1234.5).toLocaleString(locale), exact: true }).waitFor();
    await page.getByText(texts.truncated(10_000)).waitFor();
    expect(texts.truncated(10_000)).toContain((10_000).toLocaleString(locale));

    await page.getByLabel('ΩCost').fill(locale === 'en' ? '1,234.5' : '1.234,5');
    await expect.poll(() => executedParameters.at(-1)).toEqual({ cost: '1234.5' });
    // The language stays in the address beside what is chosen.
    expect(new URL(page.url()).searchParams.get('locale')).toBe(locale);
    await page.reload();
    await waitUntilSettled(page);
    expect(await page.getByLabel('ΩCost').inputValue()).toBe(locale === 'en' ? '1234.5' : '1234,5');
    await page.getByLabel('ΩCost').fill('xyz');
    await page
      .getByRole('alert')
      .filter({ hasText: texts.invalidValues('ΩCost') })
      .waitFor();
    expect(await findAxeViolations(page)).toEqual([]);
    expect(problems).toEqual([]);
  });

  it('decides the alphabetical order of sorted rows', async () => {
    const sql = `SELECT w AS "Ωw" FROM unnest(ARRAY['Ωzeta', 'Ωñandú', 'Ωnube', 'Ωábaco']) AS w`;
    const { path } = await createLink(await createDashboard([{ name: 'ΩWords', sql }]));
    const { page } = await openPage(`${path}?locale=es`);
    await page.getByRole('button', { name: 'Ωw' }).click();
    expect(await page.getByRole('cell').allInnerTexts()).toEqual(['Ωábaco', 'Ωnube', 'Ωñandú', 'Ωzeta']);
  });

  it('is used for every text on the page of a dashboard, whatever its state', async () => {
    const { page, problems } = await openPage(link);
    await markTexts(page);
    await waitUntilSettled(page);
    const expectTranslated = async () => expect(findForeignTexts(await listPageTexts(page))).toEqual([]);
    await page.getByRole('img', { name: /ΩSeries/ }).waitFor();
    await page.getByText(PAGE_TEXTS.en.seriesCut(20, 25)).waitFor();
    await expectTranslated();
    await page.getByRole('region', { name: 'ΩPie', exact: true }).getByRole('button').first().click();
    await page.locator('.picker').click();
    await page.getByRole('listbox').getByRole('option').waitFor();
    await expectTranslated();
    await page.getByRole('listbox').getByRole('option').click();
    await page.getByRole('dialog').getByRole('combobox').fill('nothing');
    await page.getByText(PAGE_TEXTS.en.noMatches).waitFor();
    await expectTranslated();
    await page.keyboard.press('Escape');
    await page.getByLabel('ΩCost').fill('xyz');
    await page.getByRole('alert').first().waitFor();
    await expectTranslated();
    await page.context().setOffline(true);
    await page.getByLabel('ΩCost').fill('1');
    await page.getByText(PAGE_TEXTS.en.offline).waitFor();
    await expectTranslated();
    expect(problems).toEqual([]);
  });

  it('is used for every text of an error', async () => {
    const checkErrorPage = async (page: Page, path: string) => {
      await page.getByRole('alert').or(page.getByRole('link')).or(page.locator('.empty')).first().waitFor();
      await waitUntilSettled(page);
      expect(findForeignTexts(await listPageTexts(page)), path).toEqual([]);
    };
    const checkRefusal = async (path: string) => {
      const { page } = await openPage(path);
      await markTexts(page);
      await checkErrorPage(page, path);
      await page.context().close();
    };
    await checkRefusal('/p/none');
    await checkRefusal('/embed/v/none');
    const { id } = await createContext([dashboard], 'refused@example.com', [], 'Ω1');
    await checkRefusal((await createLink(dashboard, { share_context_id: id })).path);
    await checkRefusal((await createLink(await createDashboard([], { name: 'ΩNothing' }))).path);
    const requiredFilters = [{ slug: 'cost', label: 'ΩCost', kind: 'number', required: true }];
    const sql = 'SELECT 1 AS "Ωn" WHERE 1 < {{cost}}';
    await checkRefusal(
      await createEmbed(await createDashboard([{ name: 'Ω2', sql }], { name: 'ΩAsks', filters: requiredFilters }), {
        allowed_params: ['cost'],
      }),
    );
    let answer: ReturnType<AnswerSubstitute>;
    const { page } = await openPage(link, {
      answerSubstitute: (path) => (path.endsWith('/execute') ? answer : undefined),
    });
    await markTexts(page);
    // The text of any other code is looked up as that of the last one is.
    for (const [status, code] of [
      [429, 'RateLimitExceeded'],
      [500, 'INTERNAL_ERROR'],
      [403, 'DB_QUERY_ERROR'],
      [403, 'SHARE_FILTER_POLICY_VIOLATION'],
      [403, 'DOWNLOADS_DISABLED'],
    ] as const) {
      answer = { status, body: { error_code: code, message: 'Words for programs.' } };
      await page.reload();
      await checkErrorPage(page, code);
    }
  });

  it('is used for every text of the portal', async () => {
    const email = 'omega@example.com';
    const portal = `/portal/${demo.company.slug}`;
    await createContext([dashboard], email, [], 'ΩOne');
    await createContext([dashboard], email, [], 'ΩTwo');
    const { page, problems } = await openPage(portal);
    await markTexts(page);
    const expectTranslated = async () => expect(findForeignTexts(await listPageTexts(page))).toEqual([]);
    const field = page.getByRole('textbox');
    await field.waitFor();
    await expectTranslated();
    await field.fill(email);
    await page.keyboard.press('Enter');
    const code = await readMailedCode(email);
    await page.getByText(email).waitFor();
    await expectTranslated();
    await field.fill(code === '0000-0000' ? '0000-0001' : '0000-0000');
    await page.keyboard.press('Enter');
    await page.getByText(PAGE_TEXTS.en.failures.INVALID_CODE).waitFor();
    await expectTranslated();
    await field.fill(code);
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: 'ΩOne ΩDashboard' }).waitFor();
    await expectTranslated();
    await page.getByRole('link', { name: 'ΩOne ΩDashboard' }).click();
    await page.getByRole('img', { name: /ΩSeries/ }).waitFor();
    await waitUntilSettled(page);
    await expectTranslated();
    expect(problems).toEqual([]);
  });

  it('is used for every text of the pages that mailed links open', async () => {
    const { page, problems } = await openPage(await inviteUser());
    await markTexts(page);
    const expectTranslated = async () =>
      expect(
        findForeignTexts(await listPageTexts(page), [COMPANY_NAME, demo.company.slug, demo.owner.email, url]),
      ).toEqual([]);
    const password = page.locator('input[autocomplete="new-password"]');
    await password.waitFor();
    await expectTranslated();
    await page.getByRole('button', { name: MAIL_LINK_TEXTS.en.showPassword }).click();
    await expectTranslated();
    await password.fill('quiet-harbour-lantern');
    await page.keyboard.press('Enter');
    await page.getByRole('link').waitFor();
    await expectTranslated();
    for (const path of ['/accept-invitation', '/accept-invitation?token=x', '/reset-password?token=x']) {
      await page.goto(url + path);
      await page.getByRole('heading').waitFor();
      await expectTranslated();
    }
    await page.getByRole('textbox').fill('nobody@example.com');
    await page.keyboard.press('Enter');
    await page.getByText('nobody@example.com').waitFor();
    await expectTranslated();
    expect(problems).toEqual([]);
  });

  it('is kept when a viewer follows the link from a share to the portal', async () => {
    const texts = PAGE_TEXTS['pt-BR'];
    const email = 'way@example.com';
    const { id } = await createContext([dashboard], email, [], 'Ω3');
    const { path } = await createLink(dashboard, { share_context_id: id });
    const { page, problems } = await openPage(`${path}?locale=pt-BR`);
    await page.getByRole('heading', { name: texts.signInTitle }).waitFor();
    await page.getByRole('link', { name: texts.signIn }).click();
    await page.getByRole('heading', { name: texts.sharedDashboards }).waitFor();
    await page.getByLabel(texts.email).fill(email);
    await page.getByRole('button', { name: texts.sendCode }).click();
    await page.getByLabel(texts.code).waitFor();
    expect(await findAxeViolations(page)).toEqual([]);
    expect(problems).toEqual([]);
  });
});
