import { describe, expect, it } from 'vitest';
import { axeFindings, installed, useBrowser } from './browser.ts';
import { FILTERS, optionsOf, RESULTS, SUBJECT, viewOf } from './sample.ts';

/** The parameters of every execution, and the searches for options. */
interface Seen {
  executed: unknown[];
  searched: string[];
}

/** The API of a token that opens `view`; `execute` may answer something else than the sample's results. */
function tokenApi(
  view: unknown = viewOf(),
  execute: () => { status?: number; headers?: Record<string, string>; body: unknown } = () => ({
    body: { results: RESULTS },
  }),
) {
  const seen: Seen = { executed: [], searched: [] };
  return {
    seen,
    answers: ({ path, query, body }: { path: string; query: URLSearchParams; body: unknown }) => {
      if (/\/(info|resolve)$/.test(path)) return { body: view };
      if (path.endsWith('/execute')) {
        seen.executed.push((body as { parameters: unknown }).parameters);
        return execute();
      }
      const [, slug] = /\/filters\/(\w+)\/options$/.exec(path) ?? [];
      if (slug === undefined) return undefined;
      const search = query.get('search') ?? '';
      seen.searched.push(search);
      return { body: { filter_slug: slug, source: 'dynamic', options: optionsOf(slug, search) } };
    },
  };
}

describe.skipIf(!installed)('the page of a dashboard', () => {
  const open = useBrowser();

  it('draws every kind of chart and says what each is, in light and dark and on a phone', async () => {
    for (const options of [{}, { colorScheme: 'dark' as const }, { viewport: { width: 390, height: 844 } }]) {
      const { page, problems } = await open('/p/some-token', tokenApi().answers, options);
      await page.getByRole('heading', { level: 1, name: 'Bird strikes' }).waitFor();
      for (const { name, chart } of SUBJECT.charts.filter(
        ({ chart: { type } }) => !['table', 'number'].includes(type),
      )) {
        const canvas = page.getByRole('img', { name: `${name}: ${chart.type} chart.` });
        await canvas.waitFor();
        const painted = await canvas.evaluate((element) => {
          const drawn = element as unknown as {
            width: number;
            height: number;
            getContext(kind: '2d'): { getImageData(...box: number[]): { data: Uint8ClampedArray } };
          };
          const { data } = drawn.getContext('2d').getImageData(0, 0, drawn.width, drawn.height);
          return new Set(Array.from({ length: data.length / 4 }, (_each, at) => data.slice(at * 4, at * 4 + 4).join()))
            .size;
        });
        // Lines, labels and their smooth edges: an empty canvas has one colour.
        expect(painted, name).toBeGreaterThan(20);
      }
      expect(await page.getByRole('region', { name: 'Strikes', exact: true }).getByText('10,000').isVisible()).toBe(
        true,
      );
      expect(await page.getByText('$68,204,317').isVisible()).toBe(true);
      expect(await page.getByRole('table', { name: 'Reports' }).getByRole('row').count()).toBe(101);
      // Nothing stands out of the page to the right.
      expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
      expect(await axeFindings(page)).toEqual([]);
      expect(problems).toEqual([]);
      await page.context().close();
    }
  });

  it('shows the values of a chart as a table, sorts it by any column, and shows more rows on demand', async () => {
    const { page } = await open('/p/some-token', tokenApi().answers);
    const card = page.getByRole('region', { name: 'Strikes by state', exact: true });
    await card.getByRole('button', { name: 'Show as table' }).click();
    const first = () => card.getByRole('row').nth(1).innerText();
    expect(await first()).toContain('Texas');
    await card.getByRole('button', { name: 'state' }).press('Enter');
    expect(await first()).toContain('California');
    expect(await card.getByRole('columnheader', { name: 'state' }).getAttribute('aria-sort')).toBe('ascending');
    await card.getByRole('button', { name: 'strikes' }).click();
    expect(await first()).toContain('Georgia');
    await card.getByRole('button', { name: 'strikes' }).click();
    expect(await first()).toContain('California');
    await card.getByRole('button', { name: 'Show as chart' }).click();
    await card.getByRole('img').waitFor();

    const reports = page.getByRole('table', { name: 'Reports' });
    await page.getByRole('button', { name: 'Show more (150 rows left)' }).click();
    expect(await reports.getByRole('row').count()).toBe(201);
    await page.context().close();
  });

  it('chooses among options that the server searches, with the keyboard alone', async () => {
    const { seen, answers } = tokenApi();
    const { page, problems } = await open('/p/some-token', answers);
    await page.getByRole('button', { name: /^State/ }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('option', { name: 'Texas' }).waitFor();
    await page.keyboard.type('or');
    await page.getByRole('option', { name: 'Texas' }).waitFor({ state: 'detached' });
    expect(await page.getByRole('option').allInnerTexts()).toEqual([
      'California',
      'Florida',
      'New York',
      'Colorado',
      'Georgia',
    ]);
    expect(seen.searched).toEqual(['', 'or']);
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.keyboard.press('Escape');
    expect(
      await page
        .getByRole('button', { name: 'State California, Florida' })
        .evaluate('document.activeElement.textContent'),
    ).toBe('California, Florida');
    await expect.poll(() => seen.executed.at(-1)).toEqual({ state: ['CA', 'FL'] });
    expect(new URL(page.url()).search).toBe('?state=CA&state=FL');
    expect(await axeFindings(page)).toEqual([]);
    expect(problems).toEqual([]);
    await page.context().close();
  });

  it('sends each kind of filter as the API takes it, keeps it in the address, and goes back to the defaults', async () => {
    const { seen, answers } = tokenApi();
    const { page } = await open('/p/some-token', answers);
    await page.getByRole('button', { name: /^Phase/ }).click();
    await page.getByRole('option', { name: 'Climb' }).click();
    await page.getByLabel('Period, from').fill('2022-03-01');
    await page.getByLabel('Aircraft').fill('B-737');
    await page.getByLabel('Lowest cost').fill('1,5');
    await page.getByLabel('Reported since').fill('2022-02-03');
    const chosen = { phase: 'CL', period: { from: '2022-03-01' }, aircraft: 'B-737', cost: '1.5', since: '2022-02-03' };
    await expect.poll(() => seen.executed.at(-1)).toEqual(chosen);

    await page.reload();
    await expect.poll(() => seen.executed.at(-1)).toEqual(chosen);
    expect(await page.getByLabel('Aircraft').inputValue()).toBe('B-737');
    await page.getByRole('button', { name: 'Reset filters' }).click();
    await expect.poll(() => seen.executed.at(-1)).toEqual({});
    expect(new URL(page.url()).search).toBe('');
    expect(await page.getByLabel('Period, from').inputValue()).toBe('');
    await page.context().close();
  });

  it('takes a default away when the viewer clears it, and asks for what is required before it runs', async () => {
    const filters = [
      { ...FILTERS[3], default: 'B-737' },
      { ...FILTERS[4], required: true },
    ];
    const { seen, answers } = tokenApi(viewOf({ filters: filters as typeof FILTERS }));
    const { page } = await open('/p/some-token', answers);
    await page.getByRole('alert').filter({ hasText: 'Lowest cost: Choose a value to see the data.' }).first().waitFor();
    expect(seen.executed).toEqual([]);
    expect(await page.getByLabel('Lowest cost').getAttribute('aria-invalid')).toBe('true');
    await page.getByLabel('Lowest cost').fill('100');
    await expect.poll(() => seen.executed).toEqual([{ aircraft: 'B-737', cost: '100' }]);
    await page.getByLabel('Aircraft').fill('');
    await expect.poll(() => seen.executed.at(-1)).toEqual({ aircraft: null, cost: '100' });
    await page.context().close();
  });

  it('tells a failing chart, an empty one and a truncated one apart, and does not fail the rest', async () => {
    const results = RESULTS.map((result) => {
      const { visualization_id: id } = result;
      if (id === 'bar')
        return { visualization_id: id, error: { error_code: 'DB_QUERY_ERROR', message: 'The query failed.' } };
      if (id === 'pie') return { ...result, rows: [], row_count: 0 };
      if (id === 'table') return { ...result, truncated: true };
      // The chart's column is gone.
      return id === 'area'
        ? {
            ...result,
            columns: [
              { name: 'a', type: 'text' },
              { name: 'b', type: 'text' },
            ],
          }
        : result;
    });
    const { page, problems } = await open('/p/some-token', tokenApi(viewOf(), () => ({ body: { results } })).answers);
    const card = (name: string) => page.getByRole('region', { name, exact: true }).first();
    await card('Strikes by state').getByText('The query failed.').waitFor();
    await card('Phase of flight').getByText('No data for these filters.').waitFor();
    await card('Reports').getByText('250 rows. There is more than is shown here.').waitFor();
    await card('Cost by month').getByText('The chart asks for a column that the data does not have').waitFor();
    await page.getByRole('img', { name: 'Strikes by month: line chart.' }).waitFor();
    expect(problems).toEqual([]);
    await page.context().close();
  });

  it('says what is wrong with a link, waits when it is told to, and tries again when asked', async () => {
    const broken = await open('/p/some-token', () => ({
      status: 401,
      body: { error_code: 'TOKEN_INVALID', message: 'no' },
    }));
    await broken.page.getByText('This link is not valid, or no longer.').waitFor();
    expect(await broken.page.getByRole('button').count()).toBe(0);
    expect(await axeFindings(broken.page)).toEqual([]);
    await broken.page.context().close();

    let calls = 0;
    const limited = tokenApi(viewOf(), () => {
      calls++;
      if (calls === 1) return { status: 429, headers: { 'Retry-After': '1' }, body: { error: 'RateLimitExceeded' } };
      return calls === 2
        ? { status: 503, body: { error_code: 'SERVICE_UNAVAILABLE', message: 'Not now.' } }
        : { body: { results: RESULTS } };
    });
    const { page } = await open('/p/some-token', limited.answers);
    await page.getByText('Too many requests at the moment.').waitFor();
    await page.getByText('Not now.').waitFor();
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('img', { name: 'Strikes by month: line chart.' }).waitFor();
    await page.context().close();
  });

  it('sends people to the portal when a share is for those who sign in', async () => {
    const { page } = await open('/p/some-token', tokenApi({ requires_auth: true, company_slug: 'acme' }).answers);
    expect(await page.getByRole('link', { name: 'Sign in' }).getAttribute('href')).toBe('/portal/acme');
    await page.context().close();
  });

  it('shows text as text, whatever names and cells hold', async () => {
    const attack = '<img src=x onerror="document.title=\'owned\'">';
    const results = RESULTS.map((result) =>
      result.visualization_id === 'table'
        ? { ...result, columns: [{ name: attack, type: 'text' }], rows: [[attack]] }
        : result,
    );
    const view = viewOf({ name: attack, description: attack });
    const { page, problems } = await open('/p/some-token', tokenApi(view, () => ({ body: { results } })).answers);
    await page.getByRole('heading', { name: attack }).waitFor();
    await page.getByRole('cell', { name: attack }).waitFor();
    expect(await page.title()).toBe(attack);
    expect(problems).toEqual([]);
    await page.context().close();
  });
});
