import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import type { SigningKey } from '../../examples/embed/sign.ts';
import { findFreePort } from '../../local/processes.ts';
import { findAxeViolations, isBrowserInstalled, readCardNumber, useBrowser } from './browser.ts';
import { createDashboard, url } from './demo-company.ts';

const SERVER_PATH = join(import.meta.dirname, '../../examples/embed-host/server.ts');
const SALES_VALUES = "(VALUES ('north', 1), ('south', 2), ('east', 4)) AS sales(region, amount)";
const CHART = {
  name: 'Amount',
  sql: `SELECT sum(amount) AS amount FROM ${SALES_VALUES} WHERE region = ANY({{region}}) [[AND amount >= {{least}}]]`,
  chart: { type: 'number' },
};

describe.skipIf(!isBrowserInstalled)('the example of a host app with an embed', () => {
  const openPage = useBrowser();
  let site: string;
  let server: ChildProcess;
  beforeAll(async () => {
    const filters = [
      { slug: 'region', label: 'Region', kind: 'multi_select', viewer_attribute: 'region' },
      { slug: 'least', label: 'Least', kind: 'number' },
    ];
    const { id, secret } = inject('signingKey') as SigningKey;
    const port = await findFreePort();
    site = `http://127.0.0.1:${port}`;
    const env = { PORT: String(port), CONSOLE_URL: url, KEY_ID: id, KEY_SECRET: secret, FILTERS: 'least' };
    const DASHBOARD_ID = await createDashboard([CHART], { filters });
    server = spawn(process.execPath, [SERVER_PATH], { env: { ...process.env, ...env, DASHBOARD_ID }, stdio: 'pipe' });
    await once(server.stdout as NodeJS.ReadableStream, 'data');
  });
  afterAll(() => server?.kill());

  it('answers 404 to the path //, which is no address, and goes on', async () => {
    expect((await fetch(`${site}//`)).status).toBe(404);
    expect((await fetch(site)).status).toBe(200);
  });

  it('shows each user the data of their own, and an anonymous visitor none', async () => {
    const { page, problems, executedParameters } = await openPage(site, { origins: [site] });
    const frame = page.locator('iframe').contentFrame();
    await page.getByText('You have no access to this.').waitFor();
    expect([executedParameters, await page.locator('iframe').count()]).toEqual([[], 0]);
    await page.getByRole('link', { name: 'I am Anna' }).click();
    await expect.poll(() => readCardNumber(frame, 'Amount').catch(() => '')).toBe('3');
    await frame.getByLabel('Least').fill('2');
    await expect.poll(() => readCardNumber(frame, 'Amount').catch(() => '')).toBe('2');
    await frame.getByText('2', { exact: true }).click();
    await page.getByText('Amount: {"amount":2}').waitFor();
    expect(await findAxeViolations(page)).toEqual([]);
    await page.getByRole('link', { name: 'I am Ben' }).click();
    await expect.poll(() => readCardNumber(frame, 'Amount').catch(() => '')).toBe('4');
    // The browser says so of a message to a frame whose page was just left.
    expect(problems.filter((problem) => !problem.includes("does not match the recipient window's origin"))).toEqual([]);
  });
});
