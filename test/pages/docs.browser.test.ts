import { describe, expect, it } from 'vitest';
import { findAxeViolations, isBrowserInstalled, useBrowser } from './browser.ts';
import { demo } from './demo-company.ts';

describe.skipIf(!isBrowserInstalled)('the API reference page', () => {
  const openPage = useBrowser();

  it('groups operations by concept under each API, and loads the large viewer script only when one is opened', async () => {
    const { page, problems } = await openPage('/docs#getCurrentUser');
    await page.getByRole('heading', { name: 'Get the current user' }).waitFor();
    const readScriptSizes = () =>
      page.evaluate(
        `performance.getEntriesByType('resource').filter(({ name }) => name.endsWith('.js')).map(({ decodedBodySize }) => decodedBodySize)`,
      ) as Promise<number[]>;
    expect((await readScriptSizes()).reduce((sum, size) => sum + size, 0)).toBeLessThan(100_000);
    await page.getByText('Try it, with all fields').click();
    await page.getByRole('button', { name: 'Execute' }).waitFor();
    expect(Math.max(...(await readScriptSizes()))).toBeGreaterThan(1_000_000);
    for (const surface of [
      'Organization API',
      'Console API',
      'Managed tables',
      'Domain knowledge',
      'Sharing and embedding',
    ])
      await page.getByRole('heading', { name: surface, exact: true }).waitFor();
    const tables = page.locator('section', { has: page.getByRole('heading', { name: 'Managed tables' }) });
    expect(await tables.locator('summary').allTextContents()).toEqual(['Tables', 'Rows', 'Uploads']);
    expect(problems).toEqual([]);
  });

  it('finds operations by any words of path, summary or description', async () => {
    const { page, problems } = await openPage('/docs');
    const find = page.getByRole('searchbox', { name: 'Find an operation' });
    await find.fill('upload confirm');
    const foundOperations = page.locator('nav li:visible a');
    expect(await foundOperations.allTextContents()).toContain('POST Confirm an upload job');
    expect(await foundOperations.count()).toBeLessThan(10);
    await find.fill('zzz nothing');
    await page.getByText('No operation has all of these words.').waitFor();
    await find.fill('');
    expect(await page.getByRole('heading', { name: 'Guides' }).isVisible()).toBe(true);
    expect(problems).toEqual([]);
  });

  it('lists the events that webhook endpoints are sent, with an example body', async () => {
    const { page, problems } = await openPage('/docs');
    const events = page.locator('section', { has: page.getByRole('heading', { name: 'Webhook events', exact: true }) });
    const group = events.locator('details');
    await events.waitFor();
    expect(await group.locator('summary').allTextContents()).toEqual(['Events']);
    await group.locator('summary').click();
    expect(await findAxeViolations(page)).toEqual([]);
    await group.getByRole('link', { name: 'Receive upload.done' }).click();
    await page.getByRole('heading', { name: 'Receive upload.done' }).waitFor();
    await page.getByText('"type": "upload.done"').waitFor();
    expect(await page.getByText('Try it, with all fields').count()).toBe(0);
    expect(await findAxeViolations(page)).toEqual([]);
    for (const summary of await page.locator('nav summary').allTextContents()) expect(summary).not.toBe('');
    expect(problems).toEqual([]);
  });

  it('shows guides that link to each other', async () => {
    const { page, problems } = await openPage('/docs#authentication');
    await page.getByRole('link', { name: 'signing requests', exact: true }).click();
    await page.getByRole('heading', { name: 'Signing requests to the organization API' }).waitFor();
    await page.getByRole('link', { name: 'Limits' }).click();
    await page.getByText('X-RateLimit-Remaining').first().waitFor();
    expect(problems).toEqual([]);
  });

  it('shows an example request as curl, TypeScript and Python, with a recorded response', async () => {
    const { page, problems } = await openPage('/docs#listManagedTableRows');
    const request = page.getByRole('region', { name: 'Request' });
    const code = request.locator('code');
    await expect.poll(() => code.textContent()).toMatch(/^curl 'http.*\/v1\/managed-tables\/[0-9a-f]{24}\/data/);
    // The example was recorded from a real request.
    await page.getByText('"records": [').waitFor();
    await request.getByRole('button', { name: 'TypeScript' }).click();
    expect(await code.textContent()).toContain("client.get('/v1/managed-tables/{id}/data', { params: {");
    await request.getByRole('button', { name: 'Python' }).click();
    expect(await code.textContent()).toContain(
      "requests.request('GET', url, headers={'Authorization': f'Bearer {TOKEN}'})",
    );
    await page.goto(`${page.url().replace(/#.*/, '')}#createOrganizationGroup`);
    await expect.poll(() => code.textContent()).toContain('def signed(method, url, body):');
    expect(problems).toEqual([]);
  });

  it('sends requests as a signed-in user, and signed with an access key', async () => {
    const { page, problems } = await openPage('/docs#getCurrentUser');
    const { company, owner, service_account: key } = demo;
    await page.getByText('Who calls').click();
    await page.getByLabel('Company').fill(company.slug);
    await page.getByLabel('Email').fill(owner.email);
    await page.getByLabel('Password').fill(owner.password);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText(`Signed in as ${owner.email}.`).waitFor();
    await page.getByText('Try it, with all fields').click();
    await page.getByRole('button', { name: 'Execute' }).click();
    await page.locator('.live-responses-table').getByText(owner.email).first().waitFor();
    await page.getByLabel('Access key').fill(key.access_key);
    await page.getByLabel('Secret key').fill(key.secret_key);
    await page.getByRole('button', { name: 'Sign with a key' }).click();
    await page.getByText('Requests are signed with the key.').waitFor();
    await page.goto(`${page.url().replace(/#.*/, '')}#listOrganizationGroups`);
    await page.getByText('Try it, with all fields').click();
    await page.getByRole('button', { name: 'Execute' }).click();
    await page.locator('.live-responses-table .response-col_status').getByText('200').first().waitFor();
    expect(problems).toEqual([]);
  });

  it('follows the light or dark colour scheme of the browser', async () => {
    const { page } = await openPage('/docs', { colorScheme: 'light' });
    const readBackground = () => page.evaluate('getComputedStyle(document.body).backgroundColor');
    const lightColour = await readBackground();
    await page.emulateMedia({ colorScheme: 'dark' });
    await expect.poll(readBackground).not.toBe(lightColour);
  });
});
