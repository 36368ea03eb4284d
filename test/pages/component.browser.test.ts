import type { Frame, Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { findAxeViolations, isBrowserInstalled, useBrowser } from './browser.ts';
import { type Chart, createDashboard, createEmbed, createLink, url } from './demo-company.ts';
import { FILTERS, makeFilteredSql, STRIKES } from './example-charts.ts';
import {
  EMBED_ELEMENT,
  findFrame,
  type HostSite,
  readStrikeCount,
  signHostToken,
  startHostSite,
  waitForEvents,
} from './host.ts';

const CHARTS: Chart[] = [
  STRIKES,
  {
    name: 'By state',
    sql: makeFilteredSql('origin_state AS state, count(*) AS strikes', 'GROUP BY 1 ORDER BY 2 DESC LIMIT 5'),
    chart: { type: 'bar', x: 'state', y: ['strikes'] },
  },
  { name: 'Reports', sql: makeFilteredSql('origin_state AS state, cost_total AS cost', 'ORDER BY 2 DESC LIMIT 30') },
];
const ALLOWED_PARAMETERS = { allowed_params: ['state', 'aircraft'] };

describe.skipIf(!isBrowserInstalled)('the web component for embeds', () => {
  const openPage = useBrowser();
  let host: HostSite;
  let dashboard: string;
  let claims: Record<string, unknown>;
  beforeAll(async () => {
    host = await startHostSite();
    dashboard = await createDashboard(CHARTS, { filters: FILTERS });
    claims = { dashboard_id: dashboard, ...ALLOWED_PARAMETERS, allowed_origins: [host.origin] };
  });
  afterAll(() => host?.close());
  beforeEach(() => {
    host.tokenRequestCount = 0;
    host.answerTokenRequest = async () => ({ body: { token: await signHostToken(3600, claims) } });
  });

  const openHostPage = (body = EMBED_ELEMENT, options = {}) =>
    openPage(host.addPage(body), { origins: [host.origin], ...options });
  const findEmbedFrame = (page: Page) => page.frames().find((frame) => frame.url().startsWith(url));

  it('fetches a token, is as high as the dashboard that it shows, and dispatches events about both', async () => {
    const { page, executedParameters, problems } = await openHostPage();
    await expect.poll(() => readStrikeCount(page)).toBe('10,000');
    await expect
      .poll(() => waitForEvents(page, 'ready'))
      .toEqual([{ from: 'one', type: 'ready', name: 'Bird strikes', parameters: {} }]);
    const readInnerHeight = () =>
      findFrame(page).locator('body').evaluate('Math.ceil(document.body.getBoundingClientRect().height)');
    await expect.poll(async () => (await page.evaluate('one.offsetHeight')) === (await readInnerHeight())).toBe(true);
    expect((await waitForEvents(page, 'height')).at(-1)).toMatchObject({ height: await readInnerHeight() });
    expect(await page.locator('iframe').getAttribute('title')).toBe('Bird strikes');
    expect([host.tokenRequestCount, executedParameters, problems]).toEqual([1, [{}], []]);
  });

  it('is as high as its dashboard, also for parts far below the visible area, which the browser does not draw', async () => {
    const { page } = await openHostPage(
      '<p>Above</p>'.repeat(200) + ['one', 'two'].map((id) => EMBED_ELEMENT.replace('one', id)).join(''),
    );
    for (const id of ['one', 'two']) {
      await expect.poll(() => readStrikeCount(page, id)).toBe('10,000');
      await findFrame(page, id).getByRole('img', { name: 'By state: bar chart.' }).waitFor();
      const readInnerHeight = () =>
        findFrame(page, id).locator('body').evaluate('Math.ceil(document.body.getBoundingClientRect().height)');
      await expect
        .poll(async () => (await page.evaluate(`${id}.offsetHeight`)) === (await readInnerHeight()))
        .toBe(true);
    }
    expect(await page.evaluate('scrollY')).toBe(0);
  });

  it('keeps its height while the host does not show it, and follows its dashboard from then on', async () => {
    const { page, problems } = await openHostPage();
    await expect.poll(() => readStrikeCount(page)).toBe('10,000');
    await findFrame(page).getByRole('img', { name: 'By state: bar chart.' }).waitFor();
    await page.evaluate("one.hidden = true, one.setParameters({ aircraft: 'B-737-300' })");
    await expect.poll(() => waitForEvents(page, 'parameters')).toHaveLength(1);
    await expect.poll(() => findFrame(page).locator('dd').first().textContent()).toBe('954');
    expect((await waitForEvents(page, 'height')).map(({ height }) => height)).not.toContain(0);
    await page.evaluate('one.hidden = false');
    const readInnerHeight = () =>
      findFrame(page).locator('body').evaluate('Math.ceil(document.body.getBoundingClientRect().height)');
    await expect.poll(async () => (await page.evaluate('one.offsetHeight')) === (await readInnerHeight())).toBe(true);
    expect(problems).toEqual([]);
  });

  it("takes filter values from the host and reports the viewer's filter values, without an endless loop", async () => {
    const parametersSet = Promise.withResolvers<void>();
    const { answerTokenRequest: originalAnswer } = host;
    host.answerTokenRequest = async () => {
      await parametersSet.promise;
      return originalAnswer();
    };
    const { page, executedParameters, problems } = await openHostPage();
    // Before the page is there.
    await page.evaluate("one.setParameters({ state: ['Texas'] })");
    parametersSet.resolve();
    await expect.poll(() => executedParameters).toEqual([{ state: ['Texas'] }]);
    await expect.poll(() => waitForEvents(page, 'ready')).toMatchObject([{ parameters: { state: ['Texas'] } }]);
    await page.evaluate(`one.addEventListener('data-console:parameters', ({ detail }) => one.setParameters(detail.parameters));
      one.setParameters({ state: null, unknown: 1 })`);
    await findFrame(page).getByLabel('Aircraft').fill('B-737-300');
    await expect.poll(() => readStrikeCount(page)).toBe('954');
    expect(executedParameters.slice(1)).toEqual([{}, { aircraft: 'B-737-300' }]);
    expect((await waitForEvents(page, 'parameters')).map(({ parameters }) => parameters)).toEqual(
      executedParameters.slice(1),
    );
    expect(await page.evaluate('one.parameters')).toEqual({ aircraft: 'B-737-300' });
    // Moved within the page it begins anew, and knows its values yet.
    await page.evaluate("document.body.append(one, document.createElement('p'))");
    await expect.poll(() => waitForEvents(page, 'ready')).toHaveLength(2);
    expect(executedParameters.at(-1)).toEqual({ aircraft: 'B-737-300' });
    expect(problems).toEqual([]);
  });

  it('dispatches an event with the values of the point that the viewer clicks', async () => {
    const { page } = await openHostPage();
    const barChart = findFrame(page).getByRole('img', { name: 'By state: bar chart.' });
    await barChart.waitFor();
    const { width = 0, height = 0 } = (await barChart.boundingBox()) ?? {};
    await barChart.click({ position: { x: width * 0.15, y: height * 0.7 } });
    await findFrame(page).getByRole('cell').nth(2).click();
    await findFrame(page).getByText('10,000').click();
    await expect.poll(() => waitForEvents(page, 'click')).toHaveLength(3);
    const clicks = await waitForEvents(page, 'click');
    expect(clicks.map(({ visualization, values }) => [(visualization as { name: string }).name, values])).toEqual([
      ['By state', { state: expect.any(String), strikes: expect.any(Number) }],
      ['Reports', { state: expect.any(String), cost: expect.any(Number) }],
      ['Strikes', { strikes: 10_000 }],
    ]);
  });

  it('can be used twice on a host page, each with its own filter values', async () => {
    const { page, problems } = await openHostPage(`${EMBED_ELEMENT}${EMBED_ELEMENT.replace('one', 'two')}`);
    for (const id of ['one', 'two']) await expect.poll(() => readStrikeCount(page, id)).toBe('10,000');
    await page.evaluate("two.setParameters({ aircraft: 'B-737-300' })");
    await expect.poll(() => readStrikeCount(page, 'two')).toBe('954');
    expect([await readStrikeCount(page), await page.evaluate('one.parameters')]).toEqual(['10,000', {}]);
    expect((await waitForEvents(page, 'parameters')).map(({ from }) => from)).toEqual(['two']);
    expect(problems).toEqual([]);
  });

  it('ignores messages of another page to which its frame navigates', async () => {
    const other = await startHostSite();
    const site = await startHostSite([other.origin]);
    site.answerTokenRequest = async () => ({
      body: { token: await signHostToken(3600, { ...claims, allowed_origins: [site.origin] }) },
    });
    const { page } = await openPage(site.addPage(EMBED_ELEMENT), { origins: [site.origin, other.origin] });
    await expect.poll(() => readStrikeCount(page)).toBe('10,000');
    // The frame comes to show somebody else.
    const address = other.addPage('<p>Another page</p>');
    await page.evaluate(`one.shadowRoot.querySelector('iframe').src = '${address}'`);
    await findFrame(page).getByText('Another page').waitFor();
    const eventCountBefore = await page.evaluate('told.length');
    await page.evaluate(
      `globalThis.heardAll = new Promise((heard) => addEventListener('message', ({ data }) => data === 'last' && heard())), 0`,
    );
    const messages = [
      { type: 'click' },
      { type: 'height', height: 7 },
      { type: 'error', code: 'X' },
      { type: 'token-wanted' },
    ];
    await page
      .frame({ url: address })
      ?.evaluate(
        `for (const { type, ...rest } of ${JSON.stringify(messages)}) parent.postMessage({ ...rest, type: 'data-console:' + type }, '*'); parent.postMessage('last', '*')`,
      );
    await page.evaluate('heardAll');
    expect([await page.evaluate('told.length'), site.tokenRequestCount]).toEqual([eventCountBefore, 1]);
    for (const server of [site, other]) server.close();
  });

  it('speaks the language of its attribute, and keeps the filter values when that changes', async () => {
    const { page, executedParameters } = await openHostPage(
      EMBED_ELEMENT.replace('id="one"', 'id="one" locale="pt-BR" title="Vendas"'),
    );
    const findRoot = () => findFrame(page).locator('html');
    await expect.poll(() => readStrikeCount(page)).toBe('10.000');
    expect(await findRoot().getAttribute('lang')).toBe('pt-BR');
    expect(await page.locator('iframe').getAttribute('title')).toBe('Vendas');
    await page.evaluate("one.setParameters({ aircraft: 'B-737-300' })");
    await expect.poll(() => readStrikeCount(page)).toBe('954');
    await page.evaluate("one.setAttribute('locale', 'es')");
    await expect.poll(() => findRoot().getAttribute('lang')).toBe('es');
    await expect.poll(() => readStrikeCount(page)).toBe('954');
    expect(executedParameters.at(-1)).toEqual({ aircraft: 'B-737-300' });
  });

  it('begins with the filter values of a new src, and without those of the page before', async () => {
    const { page, executedParameters, problems } = await openHostPage(
      EMBED_ELEMENT.replace('/embed/d', '/embed/d?aircraft=B-737-300'),
    );
    await expect.poll(() => readStrikeCount(page)).toBe('954');
    // Also where another attribute is changed first.
    await page.evaluate(
      `one.setAttribute('locale', 'en'), one.setAttribute('src', '${url}/embed/d?aircraft=B-757-200')`,
    );
    await expect.poll(() => waitForEvents(page, 'ready')).toHaveLength(2);
    expect(executedParameters.at(-1)).toEqual({ aircraft: 'B-757-200' });
    await page.evaluate(`one.setAttribute('src', '${url}/embed/d'), one.setParameters({ state: ['Texas'] })`);
    await expect.poll(() => waitForEvents(page, 'ready')).toHaveLength(3);
    expect(executedParameters.at(-1)).toEqual({ state: ['Texas'] });
    // What the host sets for the new page it may set before the address.
    await page.evaluate(`one.setParameters({ state: ['Ohio'] }), one.setAttribute('src', '${url}/embed/d?')`);
    await expect.poll(() => waitForEvents(page, 'ready')).toHaveLength(4);
    expect(executedParameters.at(-1)).toEqual({ state: ['Ohio'] });
    // Of a value that changes nothing the page tells nothing.
    await page.evaluate(`one.setParameters({ state: ['Ohio'] }), new Promise((resolve) => setTimeout(resolve))`);
    await page.evaluate(`one.setAttribute('src', '${url}/embed/d?aircraft=B-737-300')`);
    await expect.poll(() => waitForEvents(page, 'ready')).toHaveLength(5);
    expect(executedParameters.at(-1)).toEqual({ aircraft: 'B-737-300' });
    await page.evaluate(`{
      const element = one;
      element.remove();
      element.setAttribute('src', '${url}/embed/d');
      document.body.append(element);
    }`);
    await expect.poll(() => waitForEvents(page, 'ready')).toHaveLength(6);
    expect([executedParameters.at(-1), problems]).toEqual([{}, []]);
  });

  it('takes tokens from a function of the host, whether it is set early or late, and can show the link of a share', async () => {
    const embedWithoutEndpoint = EMBED_ELEMENT.replace(' token-endpoint="/token"', '');
    const link = await createLink(dashboard, {
      share_type: 'embed',
      embed_options: { allowed_origins: [host.origin] },
    });
    const { page, problems } = await openHostPage(
      `${embedWithoutEndpoint}<data-console-embed id="two" src="${url}${link.path}"></data-console-embed>`,
    );
    await expect.poll(() => readStrikeCount(page, 'two')).toBe('10,000');
    await expect.poll(() => waitForEvents(page, 'error')).toMatchObject([{ from: 'one', code: 'NO_TOKEN' }]);
    await page.getByRole('status').filter({ hasText: 'This cannot be shown here.' }).waitFor();
    const token = await signHostToken(3600, claims);
    await page.evaluate(`one.getToken = async () => '${token}'`);
    await expect.poll(() => readStrikeCount(page)).toBe('10,000');
    // Set on an element that is not defined yet.
    await page.evaluate(`{
      const early = document.implementation.createHTMLDocument().createElement('data-console-embed');
      early.id = 'early';
      early.getToken = async () => '${token}';
      early.setAttribute('src', '${url}/embed/d');
      one.replaceWith(early);
    }`);
    await expect.poll(() => readStrikeCount(page, 'early')).toBe('10,000');
    expect([host.tokenRequestCount, problems]).toEqual([0, []]);
  });

  it('keeps no timer when a function of the host has given a token', async () => {
    const { page } = await openHostPage(EMBED_ELEMENT.replace(' token-endpoint="/token"', ''));
    await page.evaluate(`customElements.whenDefined('data-console-embed').then(() => {
      const { setTimeout, clearTimeout } = globalThis;
      globalThis.tokenTimers = [];
      globalThis.setTimeout = (work, delay) => {
        const timer = setTimeout(work, delay);
        if (delay === 10_000) tokenTimers.push({ timer, isCleared: false });
        return timer;
      };
      globalThis.clearTimeout = (id) => {
        for (const entry of tokenTimers) entry.isCleared ||= entry.timer === id;
        clearTimeout(id);
      };
      one.getToken = async () => '${await signHostToken(3600, claims)}';
    })`);
    await expect.poll(() => readStrikeCount(page)).toBe('10,000');
    expect(await page.evaluate('tokenTimers.map(({ isCleared }) => isCleared)')).toEqual([true]);
  });

  it('sends nothing to its frame before the page is there, of which browsers would warn', async () => {
    const { page, problems } = await openHostPage();
    await expect.poll(() => readStrikeCount(page)).toBe('10,000');
    const src = `${url}/embed/d/${await signHostToken(3600, claims)}`;
    await page.evaluate(
      `one.setAttribute('src', '${src}'), queueMicrotask(() => one.setAttribute('theme', 'dark')), 0`,
    );
    await expect.poll(() => waitForEvents(page, 'ready')).toHaveLength(2);
    expect(await findFrame(page).locator('html').getAttribute('data-theme')).toBe('dark');
    expect(problems).toEqual([]);
  });

  it('reports a src attribute that is no address of an embed', async () => {
    const sources = ['', 'javascript:alert(1)', 'http://[', '/embed', `${url}/portal/demo`, `${url}/embed/x/a.b.c`];
    const elements = sources.map((src) => EMBED_ELEMENT.replace(`${url}/embed/d`, src).replace('"one"', `"${src}"`));
    const { page, problems } = await openHostPage(elements.join(''));
    await expect
      .poll(async () => (await waitForEvents(page, 'error')).map(({ from, code }) => [from, code]))
      .toEqual(sources.map((src) => [src, 'BAD_SRC']));
    expect([host.tokenRequestCount, await page.locator('iframe').count(), problems]).toEqual([0, 0, []]);
  });

  it('is entered and left with the Tab key, and has an accessible name', async () => {
    const body = `<main><h1>Host</h1><button id="before">Before</button>${EMBED_ELEMENT}<button id="after">After</button></main>`;
    const { page } = await openHostPage(body);
    await expect.poll(() => readStrikeCount(page)).toBe('10,000');
    await page.locator('#before').focus();
    await page.keyboard.press('Tab');
    const findFocused = () => findFrame(page).locator(':focus');
    expect(await findFocused().count()).toBe(1);
    for (let steps = 0; (await page.evaluate('document.activeElement.id')) === 'one' && steps < 20; steps += 1) {
      await page.keyboard.press('Tab');
    }
    expect(await page.evaluate('document.activeElement.id')).toBe('after');
    await page.keyboard.press('Shift+Tab');
    expect(await page.evaluate('document.activeElement.id')).toBe('one');
    await page.locator('iframe[title="Bird strikes"]').waitFor();
    await findFrame(page).getByRole('heading', { level: 1, name: 'Bird strikes' }).waitFor();
    expect(await findAxeViolations(page)).toEqual([]);
    expect(await findAxeViolations(findEmbedFrame(page) as Page | Frame)).toEqual([]);
  });

  it('leaks no memory, listeners or frames after 40 mounts', async () => {
    const emptyEmbed = await createEmbed(await createDashboard([], { name: 'Empty' }));
    const { page } = await openHostPage('<p>Nothing yet</p>');
    const devtools = await page.context().newCDPSession(page);
    const countAliveObjects = async () => {
      for (let round = 0; round < 3; round += 1) await devtools.send('HeapProfiler.collectGarbage');
      const { metrics } = await devtools.send('Performance.getMetrics');
      const readMetric = (name: string) => metrics.find((metric) => metric.name === name)?.value ?? Number.NaN;
      const { result } = await devtools.send('Runtime.evaluate', {
        expression: "customElements.get('data-console-embed').prototype",
      });
      const { objects } = await devtools.send('Runtime.queryObjects', { prototypeObjectId: result.objectId as string });
      const { result: count } = await devtools.send('Runtime.callFunctionOn', {
        objectId: objects.objectId as string,
        functionDeclaration: 'function () { return this.length }',
        returnByValue: true,
      });
      return {
        listeners: readMetric('JSEventListeners'),
        frames: readMetric('Frames'),
        documents: readMetric('Documents'),
        elements: count.value,
      };
    };
    /**
     * Returns a script that mounts ten elements at once, and removes them when they are loaded if `waitsForLoad`, else at once.
     */
    const makeMountScript = (waitsForLoad: boolean) => `Promise.all(Array.from({ length: 10 }, async () => {
      const embed = document.createElement('data-console-embed');
      embed.setAttribute('src', '${url}${emptyEmbed}');
      embed.setAttribute('token-endpoint', '/token');
      const height = new Promise((resolve) => embed.addEventListener('data-console:ready', resolve, { once: true }));
      document.body.append(embed);
      if (${waitsForLoad}) await height;
      embed.remove();
    })).then(() => {})`;
    await devtools.send('Performance.enable');
    await page.evaluate("customElements.whenDefined('data-console-embed').then(() => {})");
    await page.evaluate(makeMountScript(true));
    const aliveCountsBefore = await countAliveObjects();
    for (let round = 0; round < 4; round += 1) await page.evaluate(makeMountScript(round < 2));
    await expect.poll(countAliveObjects).toEqual(aliveCountsBefore);
    expect([aliveCountsBefore.elements, page.frames().length]).toEqual([0, 1]);
  });
});
