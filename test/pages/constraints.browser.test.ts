import { beforeAll, describe, expect, it } from 'vitest';
import { findAxeViolations, isBrowserInstalled, readCardNumber, useBrowser, waitUntilSettled } from './browser.ts';
import { createDashboard, createEmbed, createLink, demo, requestApi } from './demo-company.ts';
import { FILTERS, makeFilteredSql, STRIKES } from './example-charts.ts';

const STATE_FILTER = {
  name: 'States',
  sql: makeFilteredSql('DISTINCT origin_state AS state', 'ORDER BY 1'),
};

const makePolicy = (slug: string, mode: string, values: string[] = [], kind = 'multi_select') => ({
  filter_slug: slug,
  filter_kind: kind,
  mode,
  allowed_values: values,
});

describe.skipIf(!isBrowserInstalled)('a dashboard page of a viewer with restricted filters', () => {
  const openPage = useBrowser();
  let dashboard: string;

  beforeAll(async () => {
    dashboard = await createDashboard([STRIKES, STATE_FILTER], { filters: FILTERS });
  });

  type OpenedPage = Awaited<ReturnType<typeof openPage>>;
  const readStates = async ({ page }: OpenedPage): Promise<string[]> => {
    await waitUntilSettled(page);
    return page.getByRole('table', { name: 'States' }).getByRole('cell').allInnerTexts();
  };

  it('offers only the filter values that the share allows, and shows only their rows', async () => {
    const share_filter_policies = [makePolicy('state', 'selectable', ['Texas', 'Ohio'])];
    const { path } = await createLink(dashboard, { share_filter_policies });
    const openedPage = await openPage(path);
    const { page, problems } = openedPage;
    expect(await readStates(openedPage)).toEqual(['Ohio', 'Texas']);
    await page.getByRole('button', { name: /^State/ }).click();
    await expect.poll(() => page.getByRole('listbox').getByRole('option').allInnerTexts()).toEqual(['Texas', 'Ohio']);
    await page.getByRole('option', { name: 'Ohio' }).click();
    await expect.poll(() => readStates(openedPage)).toEqual(['Ohio']);
    expect(problems).toEqual([]);
  });

  it('shows neither locked nor hidden filters, and ignores values for them in the address', async () => {
    const share_filter_policies = [
      makePolicy('state', 'locked', ['Ohio']),
      makePolicy('phase', 'hidden', [], 'select'),
    ];
    const { path } = await createLink(dashboard, { share_filter_policies });
    const openedPage = await openPage(`${path}?state=Texas&phase=Climb&period.from=1990-01-01`);
    const { page, executedParameters } = openedPage;
    expect(await readStates(openedPage)).toEqual(['Ohio']);
    expect(await page.getByRole('button', { name: /^(State|Phase)/ }).count()).toBe(0);
    expect(executedParameters).toEqual([{ period: { from: '1990-01-01' } }]);
  });

  it('says that filter values in the address are forbidden, and shows no rows', async () => {
    const share_filter_policies = [makePolicy('state', 'selectable', ['Texas', 'Ohio'])];
    const { path } = await createLink(dashboard, { share_filter_policies });
    const openedPage = await openPage(`${path}?state=Texas&state=Alaska`);
    const { page, executedParameters, problems } = openedPage;
    await page.getByRole('alert').first().waitFor();
    expect(executedParameters).toEqual([{ state: ['Texas', 'Alaska'] }]);
    expect(await page.getByRole('cell').count()).toBe(0);
    await page.getByRole('button', { name: 'Reset filters' }).click();
    await expect.poll(() => readStates(openedPage)).toEqual(['Ohio', 'Texas']);
    expect(await findAxeViolations(page)).toEqual([]);
    expect(problems).toEqual([]);
  });

  it('keeps the parameters that an embed fixes, shows the parameters that it allows, and waits for those that it requires', async () => {
    const path = await createEmbed(dashboard, {
      fixed_params: { state: ['Ohio', 'Texas'] },
      allowed_params: ['phase', 'aircraft'],
      required_params: ['phase'],
    });
    const openedPage = await openPage(`${path}?state=Alaska`);
    const { page, executedParameters, problems } = openedPage;
    await page.getByText('Phase of flight: Choose a value to see the data.').first().waitFor();
    expect(executedParameters).toEqual([]);
    expect(await page.getByRole('form', { name: 'Filters' }).locator('.filter').count()).toBe(2);
    await page.getByRole('button', { name: /^Phase/ }).click();
    await page.getByRole('option', { name: 'Climb' }).click();
    expect(await readStates(openedPage)).toEqual(['Ohio', 'Texas']);
    expect(executedParameters).toEqual([{ phase: 'Climb' }]);
    expect(problems).toEqual([]);
  });

  it('shows an embedded visualization, with the parameters that its embed allows', async () => {
    const embedOptions = { allowed_params: ['state', 'period'] };
    const path = await createEmbed(demo.visualization_id, embedOptions, 'visualizations');
    const { name } = await requestApi<{ name: string }>('GET', `/v1/visualizations/${demo.visualization_id}`);
    const { page, executedParameters, problems } = await openPage(path);
    await page.getByRole('heading', { level: 1, name }).waitFor();
    const chart = page.getByRole('img', { name: `${name}: line chart.` });
    await chart.waitFor();
    const countValues = async () => Number(/(\d+) values/.exec((await chart.getAttribute('aria-label')) ?? '')?.[1]);
    const allValues = await countValues();
    expect(allValues).toBeGreaterThan(100);
    // Nobody lists the values of a parameter: they are typed.
    await page.getByRole('button', { name: /^State/ }).click();
    await page.getByText('Type a value and press Enter.').waitFor();
    await page.keyboard.type('Ohio');
    await page.keyboard.press('Enter');
    await page.keyboard.press('Escape');
    await page.getByLabel('Date of flight, from').fill('2001-01-01');
    await expect.poll(() => executedParameters.at(-1)).toEqual({ state: ['Ohio'], period: { from: '2001-01-01' } });
    await waitUntilSettled(page);
    expect(await countValues()).toBeLessThan(allValues);
    expect(await findAxeViolations(page)).toEqual([]);
    expect(problems).toEqual([]);
  });

  it("hides the header and the filters if the share's embed options say so", async () => {
    const { path } = await createLink(dashboard, { embed_options: { hide_header: true, hide_controls: true } });
    const { page } = await openPage(path);
    await waitUntilSettled(page);
    expect(await readCardNumber(page, 'Strikes')).toBe('10,000');
    expect(await page.getByRole('form').count()).toBe(0);
    const heading = page.getByRole('heading', { level: 1 });
    expect([await heading.count(), (await heading.boundingBox())?.width]).toEqual([1, 1]);
  });
});
