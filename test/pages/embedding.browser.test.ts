import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { contentSecurityPolicy, type FrameAncestors } from '../../src/http/page.ts';
import { installed, url, useBrowser } from './browser.ts';
import { RESULTS, viewOf } from './sample.ts';

describe.skipIf(!installed)('a page within another', () => {
  const open = useBrowser();
  let host: Server;
  let origin: string;

  /** A site of somebody else, on an origin of its own, with what the README tells to put there. */
  beforeAll(async () => {
    host = createServer((_request, response) => {
      response.setHeader('Content-Type', 'text/html');
      response.end(`<!doctype html><title>Host</title>
        <iframe id="dashboard" src="${url}/embed/d/some-token" style="width:100%;border:0" title="Bird strikes"></iframe>
        <script>
          const frame = document.getElementById('dashboard');
          const { origin } = new URL(frame.src);
          addEventListener('message', ({ source, data }) => {
            if (source === frame.contentWindow && data.type === 'data-console:height') frame.style.height = data.height + 'px';
          });
          const show = (parameters) => frame.contentWindow.postMessage({ type: 'data-console:parameters', parameters }, origin);
        </script>`);
    }).listen(0, '127.0.0.1');
    await once(host, 'listening');
    origin = `http://127.0.0.1:${(host.address() as AddressInfo).port}`;
  });
  afterAll(() => void host?.close());

  /** The host's page, around an embed whose token allows `frames`. */
  async function hosted(
    frames: FrameAncestors,
    allowed_origins: string[] = [],
  ): Promise<{ page: Page; executed: unknown[] }> {
    const executed: unknown[] = [];
    const { page } = await open('/health', ({ path, body }) => {
      if (path.endsWith('/info')) return { body: viewOf({}, { allowed_origins }) };
      if (!path.endsWith('/execute')) return undefined;
      executed.push((body as { parameters: unknown }).parameters);
      return { body: { results: RESULTS } };
    });
    await page.route(`${url}/embed/**`, async (route) => {
      const response = await route.fetch();
      const headers = { ...response.headers(), 'content-security-policy': contentSecurityPolicy('view', frames) };
      await route.fulfill({ response, headers });
    });
    await page.goto(origin);
    return { page, executed };
  }

  it('is shown within origins that are allowed, and as high as it needs to be', async () => {
    const { page, executed } = await hosted([origin], [origin]);
    const frame = page.frameLocator('#dashboard');
    await frame.getByRole('img', { name: 'Strikes by month: line chart.' }).waitFor();
    const heights = () => page.evaluate(`[frame.offsetHeight, 0]`);
    const inner = await frame.locator('body').evaluate('Math.ceil(document.body.getBoundingClientRect().height)');
    await expect.poll(heights).toEqual([inner, 0]);
    expect(inner).toBeGreaterThan(1_000);
    expect(executed).toEqual([{}]);
    await page.context().close();
  });

  it('takes values of filters from the page around it, and ignores all else', async () => {
    const { page, executed } = await hosted('anywhere');
    const frame = page.frameLocator('#dashboard');
    await frame.getByRole('img', { name: 'Strikes by month: line chart.' }).waitFor();
    await page.evaluate(`show({ state: ['TE'], aircraft: 'B-737', unknown: 'x', __proto__: { phase: 'CL' } })`);
    await expect.poll(() => executed.at(-1)).toEqual({ state: ['TE'], aircraft: 'B-737' });
    expect(await frame.getByLabel('Aircraft').inputValue()).toBe('B-737');
    for (const nonsense of [
      'null',
      '"text"',
      '{ type: "data-console:parameters" }',
      '{ type: "data-console:parameters", parameters: 3 }',
    ]) {
      await page.evaluate(`frame.contentWindow.postMessage(${nonsense}, origin)`);
    }
    await page.evaluate(`show({ state: null })`);
    await expect.poll(() => executed.at(-1)).toEqual({ aircraft: 'B-737' });
    expect(executed).toHaveLength(3);
    await page.context().close();
  });

  it('takes no values from an origin that its token does not name', async () => {
    const { page, executed } = await hosted('anywhere', ['https://somebody-else.example']);
    await page.frameLocator('#dashboard').getByRole('img', { name: 'Strikes by month: line chart.' }).waitFor();
    await page.evaluate(`show({ aircraft: 'B-737' })`);
    await page.waitForTimeout(500);
    expect(executed).toEqual([{}]);
    await page.context().close();
  });

  it.each([
    ['nobody may', [] as string[]],
    ['others may', ['https://somebody-else.example']],
    ['what is named is no origin', ['*', 'https://a.example; script-src *', "'self'"]],
  ])('is not shown when %s', async (_name, frames) => {
    const { page, executed } = await hosted(frames);
    await expect.poll(() => page.frames()[1]?.url()).toBe('chrome-error://chromewebdata/');
    expect(executed).toEqual([]);
    await page.context().close();
  });
});
