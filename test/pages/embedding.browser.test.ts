import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isBrowserInstalled, readCardNumber, useBrowser } from './browser.ts';
import { createDashboard, createEmbed, createLink, url } from './demo-company.ts';

const FILTERS = [
  { slug: 'state', label: 'State', kind: 'multi_select' },
  { slug: 'aircraft', label: 'Aircraft', kind: 'text' },
  { slug: 'phase', label: 'Phase', kind: 'text' },
];
const COUNT_CHART = {
  name: 'Strikes',
  sql: `SELECT count(*) AS strikes FROM birdstrikes WHERE true
    [[AND origin_state = ANY({{state}})]] [[AND aircraft_make_model = {{aircraft}}]] [[AND phase_of_flight = {{phase}}]]`,
  chart: { type: 'number' },
};
const LONG_CHART = { name: 'Reports', sql: 'SELECT * FROM birdstrikes LIMIT 50', place: [0, 2, 12, 14] as const };

/** Starts a site on an origin of its own, which frames any page as the README describes. */
async function startSite(): Promise<{ origin: string; close: Server['close'] }> {
  const site = createServer((request, response) => {
    const framedUrl = new URL(request.url ?? '/', 'http://site').searchParams.get('framed') ?? '';
    response.setHeader('Content-Type', 'text/html');
    response.end(`<!doctype html><title>Host</title>
      <iframe id="dashboard" src="${url}${framedUrl}" style="width:100%;border:0" title="Bird strikes"></iframe>
      <script>
        const frame = document.getElementById('dashboard');
        const { origin } = new URL(frame.src);
        const heights = [];
        addEventListener('message', ({ source, data }) => {
          if (source !== frame.contentWindow || data.type !== 'data-console:height') return;
          heights.push(data.height);
          frame.style.height = data.height + 'px';
        });
        const show = (parameters) => frame.contentWindow.postMessage({ type: 'data-console:parameters', parameters }, origin);
      </script>`);
  }).listen(0, '127.0.0.1');
  await once(site, 'listening');
  return { origin: `http://127.0.0.1:${(site.address() as AddressInfo).port}`, close: site.close.bind(site) };
}

describe.skipIf(!isBrowserInstalled)('an embedded page', () => {
  const openPage = useBrowser();
  let ownSite: Awaited<ReturnType<typeof startSite>>;
  let other: Awaited<ReturnType<typeof startSite>>;
  let dashboard: string;

  beforeAll(async () => {
    [ownSite, other] = await Promise.all([startSite(), startSite()]);
    const charts = [COUNT_CHART, { ...LONG_CHART, place: [...LONG_CHART.place] as [number, number, number, number] }];
    dashboard = await createDashboard(charts, { filters: FILTERS });
  });
  afterAll(() => {
    ownSite?.close();
    other?.close();
  });

  /** Opens a page of the site that frames one of our pages. */
  const openHostedPage = (site: { origin: string }, path: string) =>
    openPage(`${site.origin}/?${new URLSearchParams({ framed: path })}`, { origins: [ownSite.origin, other.origin] });
  const createEmbedPath = (allowed_origins: string[] = []) =>
    createEmbed(dashboard, { allowed_params: ['state', 'aircraft'], allowed_origins });
  const findFrame = (page: Page) => page.frameLocator('#dashboard');
  const readStrikeCount = (page: Page) => readCardNumber(findFrame(page), 'Strikes').catch(() => '');

  it('is shown within allowed origins, as high as its content', async () => {
    const {
      page,
      executedParameters: executed,
      problems,
    } = await openHostedPage(ownSite, await createEmbedPath([ownSite.origin]));
    await expect.poll(() => readStrikeCount(page)).toBe('10,000');
    const readInnerHeight = () =>
      findFrame(page).locator('body').evaluate('Math.ceil(document.body.getBoundingClientRect().height)');
    await expect.poll(async () => (await page.evaluate('frame.offsetHeight')) === (await readInnerHeight())).toBe(true);
    const innerHeight = (await readInnerHeight()) as number;
    expect(innerHeight).toBeGreaterThan(1_000);
    // It follows when its content becomes lower.
    await page.setViewportSize({ width: 420, height: 900 });
    await expect.poll(() => page.evaluate('heights.at(-1)')).not.toBe(innerHeight);
    await expect.poll(async () => (await page.evaluate('frame.offsetHeight')) === (await readInnerHeight())).toBe(true);
    expect(executed).toEqual([{}]);
    expect(problems).toEqual([]);
  });

  it('starts with the last filter values of a host page that sends very many while the page loads', async () => {
    const { page, executedParameters: executed } = await openHostedPage(ownSite, await createEmbedPath());
    await expect.poll(() => readStrikeCount(page)).toBe('10,000');
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    await page.route(/\/info$/, (route) => released.then(() => route.continue()));
    const request = page.waitForRequest(/\/info$/);
    await page.reload({ waitUntil: 'commit' });
    await request;
    await page.evaluate(`for (let at = 0; at < 60; at += 1) show({ aircraft: at < 59 ? 'Type ' + at : 'B-737-300' })`);
    release();
    await expect.poll(() => readStrikeCount(page)).toBe('954');
    expect(executed.at(-1)).toEqual({ aircraft: 'B-737-300' });
  });

  it('takes filter values from the host page, and ignores all other messages', async () => {
    const {
      page,
      executedParameters: executed,
      problems,
    } = await openHostedPage(ownSite, await createEmbedPath([ownSite.origin]));
    await expect.poll(() => readStrikeCount(page)).toBe('10,000');
    await page.evaluate(
      `show({ state: ['Texas'], aircraft: 'B-737-300', phase: 'Climb', unknown: 'x', __proto__: { phase: 'Climb' } })`,
    );
    await expect.poll(() => executed.at(-1)).toEqual({ state: ['Texas'], aircraft: 'B-737-300' });
    await expect.poll(() => readStrikeCount(page)).not.toBe('10,000');
    const aircraftStrikeCount = await readStrikeCount(page);
    expect(await findFrame(page).getByLabel('Aircraft').inputValue()).toBe('B-737-300');
    for (const invalidMessage of [
      'null',
      '"text"',
      '{ type: "data-console:parameters" }',
      '{ type: "data-console:parameters", parameters: 3 }',
    ]) {
      await page.evaluate(`frame.contentWindow.postMessage(${invalidMessage}, origin)`);
    }
    await page.evaluate(`show({ state: null })`);
    await expect.poll(() => executed.at(-1)).toEqual({ aircraft: 'B-737-300' });
    await expect.poll(() => readStrikeCount(page)).toBe('954');
    expect(Number(aircraftStrikeCount)).toBeLessThan(954);
    expect(executed).toHaveLength(3);
    expect(problems).toEqual([]);
  });

  it('takes filter values and tokens only from its direct parent page', async () => {
    const { page, executedParameters: executed } = await openHostedPage(
      ownSite,
      await createEmbedPath([ownSite.origin]),
    );
    await expect.poll(() => readStrikeCount(page)).toBe('10,000');
    // Another frame of the host, of a foreign origin, that has found ours.
    const message = JSON.stringify({ type: 'data-console:parameters', parameters: { aircraft: 'B-737-300' } });
    await page.evaluate(`new Promise((loaded) => {
      const foreign = document.createElement('iframe');
      foreign.name = 'foreign';
      foreign.src = '${other.origin}/';
      foreign.onload = loaded;
      document.body.append(foreign);
    })`);
    const token = (await createEmbedPath([ownSite.origin])).split('/').at(-1);
    for (const forgedMessage of [
      message,
      `{ type: 'data-console:host', renews: true }`,
      `{ type: 'data-console:token', token: '${token}' }`,
    ]) {
      await page.frame('foreign')?.evaluate(`parent.frames[0].postMessage(${forgedMessage}, '*')`);
    }
    const requestedUrls: string[] = [];
    page.on('request', (request) => requestedUrls.push(request.url()));
    await page.waitForTimeout(500);
    // A busy database counts as waking: the page asks for its results again then.
    expect(executed.filter((parameters) => JSON.stringify(parameters) !== '{}')).toEqual([]);
    expect(requestedUrls.filter((address) => !address.endsWith('/execute'))).toEqual([]);
    await page.evaluate(`show({ aircraft: 'B-737-300' })`);
    await expect.poll(() => readStrikeCount(page)).toBe('954');
  });

  it('sends no messages to a host page of a disallowed origin, and accepts no filter values from it', async () => {
    const { page, executedParameters: executed } = await openPage(`${other.origin}/`, { origins: [other.origin] });
    // A browser that shows it there all the same.
    await page.route(`${url}/embed/**`, async (route) => {
      const response = await route.fetch();
      const { 'content-security-policy': _policy, ...headers } = response.headers();
      await route.fulfill({ response, headers });
    });
    await page.goto(`${other.origin}/?${new URLSearchParams({ framed: await createEmbedPath([ownSite.origin]) })}`);
    await expect.poll(() => readStrikeCount(page)).toBe('10,000');
    await page.evaluate(`globalThis.told = []; addEventListener('message', ({ data }) => told.push(data.type));
      show({ aircraft: 'B-737-300' })`);
    // What is said of tokens is heard, after what was said before.
    const infoResponse = page.waitForResponse((response) => response.url().endsWith('/info'));
    await page.evaluate(`frame.contentWindow.postMessage({ type: 'data-console:token', token: 'a.b.c' }, origin)`);
    await infoResponse;
    // Asked again where the database was waking, but for nothing else.
    const executedParameters = new Set(executed.map((executedParameter) => JSON.stringify(executedParameter)));
    expect([[...executedParameters], await page.evaluate('told')]).toEqual([['{}'], []]);
  });

  it('is shown within any origin when its token names none', async () => {
    const path = await createEmbedPath();
    for (const site of [ownSite, other]) {
      const { page } = await openHostedPage(site, path);
      await expect.poll(() => readStrikeCount(page)).toBe('10,000');
      await page.context().close();
    }
  });

  it('is not shown within any origin that is not allowed, nor is a link or the portal, unless a share allows the origin', async () => {
    const paths = [
      await createEmbedPath([ownSite.origin]),
      (await createLink(dashboard)).path,
      (await createLink(dashboard, { share_type: 'embed', embed_options: { allowed_origins: [ownSite.origin] } })).path,
      '/portal/demo',
      '/embed/d/none',
    ];
    for (const path of paths) {
      const { page, executedParameters: executed } = await openHostedPage(other, path);
      await expect.poll(() => page.frames()[1]?.url(), { message: path }).toBe('chrome-error://chromewebdata/');
      expect(executed).toEqual([]);
      await page.context().close();
    }
    const { page } = await openHostedPage(ownSite, paths[2] as string);
    await expect.poll(() => readStrikeCount(page)).toBe('10,000');
  });

  it('has an API that scripts of other origins cannot read', async () => {
    const path = await createEmbedPath([ownSite.origin]);
    const fetchScript = `fetch('${url}${path.replace('/embed/', '/api/embed/')}/info').then((answer) => answer.status, () => 'refused')`;
    const fetchResults: unknown[] = [];
    for (const site of [ownSite, other]) {
      const { page } = await openPage(`${site.origin}/`, { origins: [ownSite.origin, other.origin] });
      fetchResults.push(await page.evaluate(fetchScript));
      await page.context().close();
    }
    expect(fetchResults).toEqual([200, 'refused']);
  });
});
