import { TOTP } from 'otpauth';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createClient, withToken } from '../../client/client.ts';
import { serveConsole } from '../../examples/console/server.ts';
import { findAxeViolations, isBrowserInstalled, useBrowser } from './browser.ts';
import { createDashboard, demo, url, useOwnCompany } from './demo-company.ts';

const CSV_FILE = 'city,people,founded\nRio,6211223,1565-03-01\nOslo,709037,1048-01-01\nNatal,751300,1599-12-25\n';
const SALES_VALUES = "(VALUES ('north', 1), ('south', 2)) AS sales(region, amount)";

describe.skipIf(!isBrowserInstalled)('the example of a console app', () => {
  // Its owner gets a second factor.
  useOwnCompany();
  const openPage = useBrowser();
  let site: { url: string; close(): Promise<void> };
  beforeAll(async () => {
    site = await serveConsole(url);
  });
  afterAll(() => site?.close());

  const makeAccountQuery = () => new URLSearchParams({ company: demo.company.slug, email: demo.owner.email });

  async function openSignedInPage() {
    const openedPage = await openPage(`${site.url}/?${makeAccountQuery()}`, { origins: [site.url] });
    await openedPage.page.getByLabel('Password').fill(demo.owner.password);
    await openedPage.page.getByRole('button', { name: 'Sign in' }).click();
    await openedPage.page.getByText(`${demo.owner.email} of`).waitFor();
    return openedPage;
  }

  async function goToView(page: Page, view: string) {
    await page.getByRole('link', { name: view, exact: true }).click();
    // Until it has come, the view before it stands there, whose fields may have the same names.
    await page.getByRole('heading', { name: view }).waitFor();
  }

  it('answers 404 to the path //, which is no address, and goes on', async () => {
    expect((await fetch(`${site.url}//`)).status).toBe(404);
    expect((await fetch(site.url)).status).toBe(200);
  });

  it('shows why a sign-in failed, and beside which field', async () => {
    const { page, problems } = await openPage(site.url, { origins: [site.url] });
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.locator('label', { hasText: 'Company' }).getByText('must', { exact: false }).waitFor();
    await page.getByLabel('Company').fill(demo.company.slug);
    await page.getByLabel('Email').fill(demo.owner.email);
    await page.getByLabel('Password').fill('a wrong password');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await expect.poll(() => page.getByRole('alert').innerText()).not.toBe('');
    expect(await findAxeViolations(page)).toEqual([]);
    expect(problems).toEqual([]);
  });

  it('uploads a file with progress and inferred columns, filters its rows, and edits a row under its version', async () => {
    const { page, problems } = await openSignedInPage();
    await page
      .getByLabel('Files')
      .setInputFiles({ name: 'cities.csv', mimeType: 'text/csv', buffer: Buffer.from(CSV_FILE) });
    await page.getByRole('button', { name: 'Upload' }).click();
    await page.getByText('3 rows were read.').waitFor();
    expect(await page.getByLabel('Sent').evaluate((bar) => (bar as unknown as { value: number }).value)).toBe(1);
    await page.getByLabel('date').fill('since');
    const name = `cities_${Date.now()}`;
    await page.getByLabel('Table').fill(name);
    await page.getByRole('button', { name: 'Load', exact: true }).click();
    await page.getByRole('heading', { name }).waitFor();
    await page.getByText('3 rows', { exact: true }).waitFor();
    await page.getByLabel('contains').fill('os');
    await page.getByRole('button', { name: 'Filter' }).click();
    await page.getByText('1 rows').waitFor();
    await page.getByRole('button', { name: 'edit' }).click();
    const peopleInput = page.locator('form', { has: page.getByRole('button', { name: 'Save' }) }).getByLabel('people');
    await peopleInput.fill('717710');

    // Somebody else is faster.
    const api = createClient({ baseUrl: url, credential: withToken(await readToken(page)) });
    const id = page.url().split('/').at(-1) as string;
    const { records } = await api.get('/v1/managed-tables/{id}/data', {
      params: { id },
      query: { filter: { city: { eq: 'Oslo' } } },
    });
    const params = { id, rowId: String(records[0]?.id) };
    await api.put('/v1/managed-tables/{id}/data/{rowId}', { params, body: { people: 1 } });
    await page.getByRole('button', { name: 'Save' }).click();
    await expect
      .poll(() => page.locator('form [role=alert]').allInnerTexts())
      .toContainEqual(expect.stringMatching(/\w/));

    await page.reload();
    await page.getByRole('row', { name: 'Oslo' }).getByRole('button', { name: 'edit' }).click();
    await peopleInput.fill('717710');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('cell', { name: '717710' }).waitFor();
    await api.delete('/v1/managed-tables/{id}', { params: { id } });
    expect(problems).toEqual([]);
  });

  const readToken = (page: Page): Promise<string> =>
    page.evaluate(
      () => JSON.parse((globalThis as never as { localStorage: { session: string } }).localStorage.session).token,
    );

  it("invites a user and revokes the invitation, and shows the error of a group's form", async () => {
    const { page, problems } = await openSignedInPage();
    await goToView(page, 'people');
    const email = `guest-${Date.now()}@example.com`;
    await page.getByLabel('Email').fill(email);
    await page.getByRole('button', { name: 'Invite' }).click();
    await page.getByRole('row', { name: email }).waitFor();
    await page.getByLabel('Find').fill(email.slice(0, 12).toUpperCase());
    await page.getByRole('button', { name: 'Search' }).click();
    await page.getByRole('row', { name: email }).getByRole('button', { name: 'take back' }).click();
    await expect.poll(() => page.getByRole('row', { name: email }).count()).toBe(0);
    await goToView(page, 'groups');
    await page.getByLabel('name').fill('A');
    await page.getByRole('button', { name: 'Create' }).click();
    await expect
      .poll(() => page.locator('label small').allInnerTexts())
      .toContainEqual(expect.stringMatching(/at least/));
    expect(await findAxeViolations(page)).toEqual([]);
    expect(problems).toEqual([]);
  });

  it('shows a dashboard, with the options of its filters', async () => {
    const sql = `SELECT region, sum(amount) AS amount FROM ${SALES_VALUES} WHERE true [[AND region = {{region}}]] GROUP BY region`;
    const region = {
      slug: 'region',
      label: 'Region',
      kind: 'select',
      options: [
        { label: 'The north', value: 'north' },
        { label: 'The south', value: 'south' },
      ],
    };
    const id = await createDashboard([{ name: 'Amounts', sql, chart: { type: 'table' } }], { filters: [region] });
    const { page, problems } = await openSignedInPage();
    await page.goto(`${site.url}/#dashboard/${id}`);
    const card = page.getByRole('region', { name: 'Amounts' });
    await expect.poll(() => card.getByRole('row').count()).toBe(3);
    await page.getByLabel('Region').fill('south');
    await page.getByRole('button', { name: 'Show' }).click();
    await expect.poll(() => card.getByRole('row').count()).toBe(2);
    expect(await page.locator('datalist option').count()).toBe(2);
    expect(problems).toEqual([]);
  });

  it('keeps the sign-in form after a sign-out when the response to an earlier request arrives late', async () => {
    const { page } = await openPage(`${site.url}/?${makeAccountQuery()}`, { origins: [site.url] });
    const requestStarted = Promise.withResolvers<void>();
    const responseReleased = Promise.withResolvers<void>();
    await page.route(`${url}/v1/managed-tables*`, async (route) => {
      requestStarted.resolve();
      await responseReleased.promise;
      await route.fulfill({ json: { records: [], next_cursor: null } });
    });
    await page.getByLabel('Password').fill(demo.owner.password);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await requestStarted.promise;
    expect(await page.getByRole('button', { name: 'Sign in' }).count()).toBe(0);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    const lateResponse = page.waitForResponse(`${url}/v1/managed-tables*`);
    responseReleased.resolve();
    await (await lateResponse).finished();
    await page.evaluate(() => new Promise((resolve) => setTimeout(resolve)));
    expect(await page.getByRole('heading').allInnerTexts()).toEqual(['Sign in']);
  });

  it('asks for the second factor at the sign-in, and signs out', async () => {
    const { page, problems } = await openSignedInPage();
    const api = createClient({ baseUrl: url, credential: withToken(await readToken(page)) });
    const { password } = demo.owner;
    const { secret } = await api.post('/v1/auth/2fa/setup', { body: { password } });
    const totp = new TOTP({ secret });
    const totp_token = totp.generate();
    const { backup_codes } = (await api.post('/v1/auth/2fa/enable', {
      body: { totp_token, password: demo.owner.password },
    })) as {
      backup_codes: string[];
    };
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('Password').fill(demo.owner.password);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByLabel('Code').fill(totp.generate({ timestamp: Date.now() + 30_000 }));
    await page.getByRole('button', { name: 'Go on' }).click();
    await page.getByText(`${demo.owner.email} of`).waitFor();
    const newApi = createClient({ baseUrl: url, credential: withToken(await readToken(page)) });
    await newApi.post('/v1/auth/2fa/disable', { body: { backup_code: backup_codes[0] } });
    expect(problems).toEqual([]);
  });
});
