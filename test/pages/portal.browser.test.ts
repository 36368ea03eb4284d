import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  blockStorage,
  findAxeViolations,
  isBrowserInstalled,
  readCardNumber,
  useBrowser,
  waitUntilSettled,
} from './browser.ts';
import { createContext, createDashboard, demo, readMailedCode, requestApi } from './demo-company.ts';
import { FILTERS, makeFilteredSql, STRIKES } from './example-charts.ts';

const YEAR_CHART = {
  name: 'Strikes by year',
  sql: makeFilteredSql("date_trunc('year', flight_date)::date AS year, count(*) AS strikes", 'GROUP BY 1 ORDER BY 1'),
  chart: { type: 'line' },
};
const ENDED_SESSION_TEXT = 'Your session has ended: sign in again.';

describe.skipIf(!isBrowserInstalled)('the portal', () => {
  const openPage = useBrowser();
  const portal = `/portal/${demo?.company.slug}`;
  let dashboard: string;

  beforeAll(async () => {
    const description = 'Where, when and how birds met aircraft.';
    dashboard = await createDashboard([STRIKES, YEAR_CHART], { filters: FILTERS, description });
  });

  /** Opens the portal and signs in with a code from the mailbox. */
  async function openSignedInPage(email: string, prepare?: (page: Page) => Promise<void>) {
    const openedPage = await openPage(portal);
    await prepare?.(openedPage.page);
    await openedPage.page.getByLabel('E-mail').fill(email);
    await openedPage.page.keyboard.press('Enter');
    // Typed without its hyphen.
    await openedPage.page.getByLabel('Code').fill((await readMailedCode(email)).replace('-', ''));
    await openedPage.page.keyboard.press('Enter');
    await openedPage.page.getByRole('heading', { name: 'Shared dashboards' }).waitFor();
    await openedPage.page.getByRole('button', { name: 'Sign out' }).waitFor();
    return openedPage;
  }

  it('leads from an e-mail address through a mailed code to a dashboard and back, without a cookie', async () => {
    const email = 'ana@example.com';
    await createContext([dashboard], email);
    const { page, problems, executedParameters } = await openPage(portal);
    expect(await findAxeViolations(page)).toEqual([]);
    await page.getByLabel('E-mail').fill(email);
    await page.getByRole('button', { name: 'Send me a code' }).click();
    const code = await readMailedCode(email);
    await page.getByLabel('Code').fill('1234-567');
    const validationMessage = page
      .getByLabel('Code')
      .evaluate((input) => (input as unknown as { validationMessage: string }).validationMessage);
    expect(await validationMessage).toBe('The code has eight digits.');
    await page.getByLabel('Code').fill(code === '0000-0000' ? '0000-0001' : '0000-0000');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('alert').filter({ hasText: 'This code is wrong, or no longer good.' }).waitFor();
    expect(await findAxeViolations(page)).toEqual([]);
    await page.getByLabel('Code').fill(code.replace('-', ''));
    expect(await page.getByLabel('Code').inputValue()).toBe(code);
    await page.getByRole('button', { name: 'Sign in' }).click();

    await page.getByRole('link', { name: /Bird strikes/ }).waitFor();
    expect(await findAxeViolations(page)).toEqual([]);
    await page.getByRole('link', { name: /Bird strikes/ }).click();
    await page.getByRole('img', { name: 'Strikes by year: line chart.' }).waitFor();
    expect(await readCardNumber(page, 'Strikes')).toBe('10,000');
    await page.getByLabel('Aircraft').fill('B-737-300');
    await expect.poll(() => new URL(page.url()).hash).toMatch(/\?aircraft=B-737-300$/);
    await expect.poll(() => readCardNumber(page, 'Strikes')).toBe('954');
    await page.getByRole('button', { name: /^Phase/ }).click();
    await page.getByRole('option', { name: 'Climb' }).waitFor();
    await page.keyboard.press('Escape');
    expect(await findAxeViolations(page)).toEqual([]);
    // The tab remembers who signed in, and what was chosen.
    await page.reload();
    await page.getByRole('img', { name: 'Strikes by year: line chart.' }).waitFor();
    expect(await page.getByLabel('Aircraft').inputValue()).toBe('B-737-300');
    expect(executedParameters.at(-1)).toEqual({ aircraft: 'B-737-300' });
    await page.getByRole('link', { name: 'All dashboards' }).click();
    await page.getByRole('link', { name: /Bird strikes/ }).waitFor();
    expect(await page.context().cookies()).toEqual([]);

    const tokens = await page.evaluate('sessionStorage.getItem(sessionStorage.key(0))');
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('E-mail').waitFor();
    expect(await page.evaluate('sessionStorage.length')).toBe(0);
    // Whoever copied the tokens cannot use them.
    await page.evaluate(`sessionStorage.setItem('portal:${demo.company.slug}', ${JSON.stringify(tokens)})`);
    await page.reload();
    await page.getByText(ENDED_SESSION_TEXT).waitFor();
    expect(problems).toEqual([]);
  });

  it('shows a member the dashboard of a context on a phone, in dark mode, with the keyboard alone', async () => {
    const email = 'phone@example.com';
    const policies = [
      { filter_slug: 'state', filter_kind: 'multi_select', mode: 'selectable', allowed_values: ['Texas', 'Ohio'] },
    ];
    await createContext([dashboard], email, policies);
    const { page, problems } = await openPage(portal, {
      colorScheme: 'dark',
      viewport: { width: 390, height: 844 },
    });
    // The field has the focus, here and in the next step.
    await page.getByLabel('E-mail').waitFor();
    await page.keyboard.type(email);
    await page.keyboard.press('Enter');
    await page.getByLabel('Code').waitFor();
    await page.keyboard.type(await readMailedCode(email));
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: /Bird strikes/ }).waitFor();
    expect(await findAxeViolations(page)).toEqual([]);
    await page.keyboard.press('Tab');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.getByRole('img', { name: 'Strikes by year: line chart.' }).waitFor();
    expect(Number((await readCardNumber(page, 'Strikes')).replace(',', ''))).toBeLessThan(10_000);
    await page.getByRole('button', { name: /^State/ }).press('Enter');
    await page.getByRole('listbox').getByRole('option').first().waitFor();
    expect(await page.getByRole('listbox').getByRole('option').allInnerTexts()).toEqual(['Texas', 'Ohio']);
    await page.keyboard.press('Escape');
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
    expect(await findAxeViolations(page)).toEqual([]);
    expect(problems).toEqual([]);
  });

  it('shows no dashboard that loads after the viewer has gone on to another page', async () => {
    const email = 'late@example.com';
    await createContext([dashboard], email);
    const { page, executedParameters, problems } = await openSignedInPage(email);
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    const dashboardPath = /\/share-portal\/dashboards\/[^/]+$/;
    await page.route(dashboardPath, (route) => released.then(() => route.continue()));
    const response = page.waitForResponse(dashboardPath);
    await page.getByRole('link', { name: /Bird strikes/ }).click();
    await page.getByRole('link', { name: 'All dashboards' }).click();
    await page.getByRole('link', { name: /Bird strikes/ }).waitFor();
    release();
    await (await response).finished();
    // The answer to a later request comes after the page has read this one.
    await page.evaluate("fetch('/health')");
    expect(await page.title()).toBe('Shared dashboards – Demo');
    expect(executedParameters).toEqual([]);
    expect(problems).toEqual([]);
  });

  it('applies no filter value that the viewer typed just before leaving the dashboard', async () => {
    const email = 'typing@example.com';
    await createContext([dashboard], email);
    const { page, executedParameters, problems } = await openSignedInPage(email);
    await page.clock.install();
    await page.getByRole('link', { name: /Bird strikes/ }).click();
    await expect.poll(() => readCardNumber(page, 'Strikes').catch(() => '')).toBe('10,000');
    // At once: not even a slow machine takes it for a pause in typing.
    await page.getByLabel('Aircraft').evaluate((input: { value: string; dispatchEvent(event: Event): boolean }) => {
      input.value = 'B-737-300';
      input.dispatchEvent(new Event('input'));
      (globalThis as unknown as { location: { hash: string } }).location.hash = '';
    });
    await page.getByRole('link', { name: /Bird strikes/ }).waitFor();
    await page.clock.runFor(1_000);
    expect(new URL(page.url()).hash).toBe('');
    expect(executedParameters).not.toContainEqual({ aircraft: 'B-737-300' });
    expect(problems).toEqual([]);
  });

  it('names the context of each dashboard when a dashboard is shared through several contexts', async () => {
    const email = 'twice@example.com';
    const restrictToState = (state: string) => [
      { filter_slug: 'state', filter_kind: 'multi_select', mode: 'locked', allowed_values: [state] },
    ];
    const states = ['Ohio', 'Texas'];
    for (const state of states) await createContext([dashboard], email, restrictToState(state), `For ${state}`);
    const { page } = await openSignedInPage(email);
    const strikeCounts: number[] = [];
    for (const state of states) {
      await page.getByRole('link', { name: `For ${state} Bird strikes` }).click();
      await page.getByRole('img', { name: 'Strikes by year: line chart.' }).waitFor();
      strikeCounts.push(Number((await readCardNumber(page, 'Strikes')).replace(',', '')));
      await page.getByRole('link', { name: 'All dashboards' }).click();
    }
    expect(strikeCounts[0]).toBeLessThan(strikeCounts[1] as number);
  });

  it('lists each dashboard once when the viewer asks for more twice', async () => {
    const email = 'more@example.com';
    await createContext([dashboard], email);
    const { page, problems } = await openSignedInPage(email);
    const names = ['First', 'Second', 'Third'];
    await page.route(/\/dashboards\?page=/, (route) => {
      const at = Number(new URL(route.request().url()).searchParams.get('page')) - 1;
      const record = { id: `${at}`, name: names[at], slug: `${at}`, description: '', context_id: 'one' };
      return route.fulfill({ json: { total: names.length, records: [record] } });
    });
    await page.reload();
    const links = page.getByRole('listitem');
    const moreButton = page.getByRole('button', { name: 'Show more' });
    await moreButton.evaluate((button: { click(): void }) => {
      button.click();
      button.click();
    });
    await links.nth(1).waitFor();
    await moreButton.click();
    await links.nth(2).waitFor();
    expect(await links.allInnerTexts()).toEqual(names);
    expect(problems).toEqual([]);
  });

  it('signs in a viewer whose browser blocks the storage of sites, until the page is left', async () => {
    const email = 'blocked@example.com';
    await createContext([dashboard], email);
    const { page, problems } = await openSignedInPage(email, blockStorage);
    await page.getByRole('link', { name: /Bird strikes/ }).click();
    await page.getByRole('img', { name: 'Strikes by year: line chart.' }).waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('E-mail').waitFor();
    expect(problems).toEqual([]);
  });

  it('refreshes its access token when that has expired', async () => {
    const email = 'renewed@example.com';
    await createContext([dashboard], email);
    const { page } = await openSignedInPage(email);
    // As after fifteen minutes: the access token is refused, the refresh token is not.
    await page.evaluate(`{
      const key = sessionStorage.key(0);
      const kept = JSON.parse(sessionStorage.getItem(key));
      kept.tokens.access_token = kept.tokens.access_token.slice(0, -4) + 'AAAA';
      sessionStorage.setItem(key, JSON.stringify(kept));
    }`);
    const refreshRequests: string[] = [];
    page.on(
      'request',
      (request) => request.url().endsWith('/share-auth/refresh') && refreshRequests.push(request.url()),
    );
    await page.reload();
    await page.getByRole('link', { name: /Bird strikes/ }).click();
    await page.getByRole('img', { name: 'Strikes by year: line chart.' }).waitFor();
    expect(refreshRequests).toHaveLength(1);
  });

  it('keeps the session in both tabs when one of them was duplicated, also when a tab missed the newest tokens', async () => {
    const email = 'duplicate@example.com';
    await createContext([dashboard], email);
    const { page, problems } = await openSignedInPage(email);
    const [copy] = await Promise.all([page.waitForEvent('popup'), page.evaluate('window.open(location.href), 0')]);
    const [link, back] = [/Bird strikes/, 'All dashboards'];
    await copy.getByRole('link', { name: link }).waitFor();
    const readStorage = (tab: Page) => tab.evaluate<string>('sessionStorage.getItem(sessionStorage.key(0))');
    const storedBefore = await readStorage(copy);
    /** Access tokens that have expired. */
    const expired: unknown[] = [];
    const expireToken = async () => expired.push(`Bearer ${JSON.parse(await readStorage(page)).tokens.access_token}`);
    await page.context().route('**/share-portal/**', (route) => {
      const isExpired = expired.includes(route.request().headers().authorization);
      return isExpired ? route.fulfill({ status: 401, json: { error: 'UNAUTHORIZED' } }) : route.fallback();
    });
    for (const name of [link, back]) {
      await expireToken();
      await page.getByRole('link', { name }).click();
      await page.getByRole('link', { name: name === link ? back : link }).waitFor();
      await waitUntilSettled(page);
    }
    await copy.getByRole('link', { name: link }).click();
    await copy.getByRole('img', { name: 'Strikes by year: line chart.' }).waitFor();
    // As a tab that the browser has unloaded meanwhile.
    await copy.evaluate(`sessionStorage.setItem(sessionStorage.key(0), ${JSON.stringify(storedBefore)})`);
    // The newest have expired, too.
    await expireToken();
    await copy.reload();
    await copy.getByRole('img', { name: 'Strikes by year: line chart.' }).waitFor();
    await page.reload();
    await page.getByRole('link', { name: link }).waitFor();
    expect(JSON.parse(await readStorage(copy))).toEqual(JSON.parse(await readStorage(page)));
    expect([expired.length, problems]).toEqual([3, []]);
  });

  it('shows no results to a viewer who is no longer a member', async () => {
    const email = 'removed@example.com';
    const { memberPath } = await createContext([dashboard], email);
    const { page, problems } = await openSignedInPage(email);
    await page.getByRole('link', { name: /Bird strikes/ }).click();
    await expect.poll(() => readCardNumber(page, 'Strikes').catch(() => '')).toBe('10,000');
    await requestApi('DELETE', memberPath);
    await page.getByLabel('Aircraft').fill('B-737-300');
    await page.getByRole('alert').first().waitFor();
    await waitUntilSettled(page);
    expect(await page.locator('dd').count()).toBe(0);
    await page.reload();
    await page.getByRole('alert').first().waitFor();
    expect(await page.locator('canvas').count()).toBe(0);
    expect(problems).toEqual([]);
  });

  it('says that nothing is shared, and shows the same message to strangers who request a code as to members', async () => {
    const email = 'nothing@example.com';
    const { id } = await createContext([dashboard], email);
    await requestApi('PUT', `/api/v1/share-contexts/${id}/grants`, { grants: [] });
    const { page } = await openSignedInPage(email);
    await page.getByText('No dashboards are shared with you at the moment.').waitFor();
    await page.getByText('Ask whoever invited you.').waitFor();
    await page.context().close();

    const shownMessages: string[] = [];
    for (const [path, address] of [
      [portal, 'nobody@example.com'],
      ['/portal/no-such-company', email],
      [portal, 'ana@example.com'],
    ] as const) {
      const strangerPage = await openPage(path);
      await strangerPage.page.getByLabel('E-mail').fill(address);
      await strangerPage.page.keyboard.press('Enter');
      await strangerPage.page.getByLabel('Code').waitFor();
      const text = await strangerPage.page.getByRole('main').innerText();
      shownMessages.push(text.replace(address, 'ADDRESS').replaceAll(path.split('/')[2] as string, 'SLUG'));
      expect(strangerPage.problems).toEqual([]);
      await strangerPage.page.context().close();
    }
    expect(new Set(shownMessages).size).toBe(1);
  });
});
