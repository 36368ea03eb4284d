/**
 * Measures how a phone loads pages for the first time, simulated by a processor four times as slow, 1.6 Mbit/s down,
 * and 150 ms for each request.
 *
 *   npm run bench -- pages
 *
 * The first chart may take two seconds from the page's first byte, and 90 KB of gzipped files, without its data. A
 * proxy in front of the system compresses answers as Cloudflare does. The best of several tries counts: other load on
 * the machine only adds to it.
 */
import { once } from 'node:events';
import { request as ask, createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { type Browser, chromium, type Page } from 'playwright-core';
import { findChromium } from '../test/pages/chromium.ts';
import { type RunningSystem, startSystem } from '../test/pages/system.ts';
import { send } from '../test/support/send.ts';
import { makeUpperLimit, printVerdict } from './verdict.ts';

const MAX_SECONDS = 2;
const MAX_PAGE_KB = 90;
const TRY_COUNT = 5;
const CPU_SLOWDOWN = 4;
const PHONE_NETWORK = {
  offline: false,
  latency: 150,
  downloadThroughput: 1_600_000 / 8,
  uploadThroughput: 750_000 / 8,
};
const PHONE_SCREEN = { viewport: { width: 390, height: 844 }, deviceScaleFactor: 3, isMobile: true, hasTouch: true };

/** Script that notes when the first chart has been drawn, in milliseconds from the page's first byte. */
const WATCH_SCRIPT = `addEventListener('DOMContentLoaded', () => {
  const watcher = new MutationObserver(() => {
    if (!document.querySelector('canvas[aria-label]')) return;
    watcher.disconnect();
    requestAnimationFrame(() => setTimeout(() => {
      const [{ responseStart }] = performance.getEntriesByType('navigation');
      globalThis.firstChart = performance.now() - responseStart;
    }));
  });
  watcher.observe(document.documentElement, { subtree: true, childList: true, attributes: true });
});`;

const chromiumPath = await findChromium();
if (!chromiumPath) throw new Error('There is no Chromium: set CHROMIUM_PATH to one.');
const system = await startSystem();
const edge = await startEdge(new URL(system.demo.base_url));
const browser = await chromium.launch({
  executablePath: chromiumPath.path,
  args: ['--no-sandbox'],
  env: {
    ...process.env,
    ...(chromiumPath.libraries !== null && { LD_LIBRARY_PATH: chromiumPath.libraries }),
  } as Record<string, string>,
});
try {
  const edgeUrl = `http://127.0.0.1:${(edge.address() as AddressInfo).port}`;
  for (const [title, openPage] of Object.entries(await listDashboardPages(system, edgeUrl)))
    await measurePage(browser, title, openPage);
} finally {
  await browser.close();
  edge.close();
  await system.stop();
}

/** Function that brings a page to the point just before a dashboard is opened. @returns the dashboard's address */
type OpenPage = (page: Page) => Promise<string>;

async function listDashboardPages({ demo }: RunningSystem, edgeUrl: string): Promise<Record<string, OpenPage>> {
  const makeOpenPage = (url: string) => async () => edgeUrl + new URL(url).pathname;
  return {
    'an embed': makeOpenPage(demo.embed_url),
    'a public link': makeOpenPage(demo.public_share_url),
    'the portal': await openPortal(demo, edgeUrl),
  };
}

/** Signs in a member of a share context. @returns a function that opens the dashboard from the portal */
async function openPortal(demo: RunningSystem['demo'], edgeUrl: string): Promise<OpenPage> {
  const email = 'phone@bench.test';
  const { token } = await send<{ token: string }>(demo.base_url, 'POST', '/v1/auth/login', {
    json: { company_slug: demo.company.slug, ...demo.owner },
  });
  const postAsOwner = <T>(path: string, json: object) => send<T>(demo.base_url, 'POST', path, { token, json });
  const target_id = await findSharedDashboard(demo);
  const grants = [{ target_type: 'dashboard', target_id, filter_policies: [] }];
  const context = await postAsOwner<{ id: string }>('/api/v1/share-contexts', { name: 'Bench', grants });
  await postAsOwner(`/api/v1/share-contexts/${context.id}/members`, { member_type: 'external_email', email });
  return async (page) => {
    await page.goto(`${edgeUrl}/portal/${demo.company.slug}`);
    await page.getByLabel('E-mail').fill(email);
    await page.keyboard.press('Enter');
    await page.getByLabel('Code').fill(await readMailedCode(demo, email));
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: /strike/i }).click();
    await page.locator('canvas[aria-label]').first().waitFor();
    return page.url();
  };
}

/** Reads the id of the dashboard that the demo shares. */
async function findSharedDashboard({ base_url, public_share_url }: RunningSystem['demo']): Promise<string> {
  const token = new URL(public_share_url).pathname.split('/').at(-1);
  const path = `/api/v1/public/shares/${token}/resolve`;
  return (await send<{ dashboard: { id: string } }>(base_url, 'GET', path)).dashboard.id;
}

async function readMailedCode({ mailbox_url }: RunningSystem['demo'], email: string): Promise<string> {
  for (;;) {
    const receivedMails = (await (await fetch(`${mailbox_url}?${new URLSearchParams({ to: email })}`)).json()) as {
      text: string;
    }[];
    const [code] = /^\d{4}-\d{4}$/m.exec(receivedMails[0]?.text ?? '') ?? [];
    if (code) return code.replace('-', '');
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function measurePage(by: Browser, label: string, openPage: OpenPage): Promise<void> {
  const context = await by.newContext({ ...PHONE_SCREEN, locale: 'en-US' });
  const page = await context.newPage();
  const address = await openPage(page);
  await page.goto('about:blank');
  const devtools = await context.newCDPSession(page);
  await devtools.send('Network.enable');
  await devtools.send('Network.emulateNetworkConditions', PHONE_NETWORK);
  await devtools.send('Emulation.setCPUThrottlingRate', { rate: CPU_SLOWDOWN });
  await page.addInitScript(WATCH_SCRIPT);
  let loadedBytes = 0;
  page.on('response', (response) => {
    if (response.request().resourceType() !== 'fetch') loadedBytes += Number(response.headers()['content-length']);
  });
  const times: number[] = [];
  const sizes: number[] = [];
  for (let tryCount = 0; tryCount < TRY_COUNT; tryCount += 1) {
    await devtools.send('Network.clearBrowserCache');
    loadedBytes = 0;
    await page.goto(address, { waitUntil: 'commit' });
    times.push(await measureFirstChart(page));
    sizes.push(loadedBytes);
    await page.goto('about:blank');
  }
  await context.close();
  console.log(`${label}: ${times.map((time) => (time / 1000).toFixed(2)).join(', ')} s`);
  printVerdict(
    `the first chart of ${label} on a cold phone, from the first byte`,
    Math.min(...times) / 1000,
    makeUpperLimit(MAX_SECONDS),
    's',
  );
  printVerdict(`files of ${label} until then`, Math.max(...sizes) / 1000, makeUpperLimit(MAX_PAGE_KB), 'KB gzipped');
}

/** Waits until the first chart is drawn. @returns the milliseconds until then */
async function measureFirstChart(page: Page): Promise<number> {
  const deadline = Date.now() + 30_000;
  while (Date.now() < deadline) {
    const drawnAfterMs = await page.evaluate('globalThis.firstChart');
    if (typeof drawnAfterMs === 'number') return drawnAfterMs;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  throw new Error(`${page.url()} shows no chart: ${await page.locator('body').innerText()}`);
}

/** Starts a proxy that passes requests on and compresses text. */
async function startEdge(origin: URL): Promise<Server> {
  const forwardRequest = (request: IncomingMessage, response: ServerResponse) => {
    const { method, url: path } = request;
    const { 'accept-encoding': _encodings, ...headers } = request.headers;
    const forwardedRequest = ask(
      { host: origin.hostname, port: origin.port, method, path, headers },
      async (answer) => {
        const chunks: Buffer[] = [];
        for await (const chunk of answer) chunks.push(chunk);
        const isText = /text|json|javascript|svg/.test(answer.headers['content-type'] ?? '');
        const body = isText ? gzipSync(Buffer.concat(chunks)) : Buffer.concat(chunks);
        const { 'transfer-encoding': _chunked, ...others } = answer.headers;
        response.writeHead(answer.statusCode ?? 502, {
          ...others,
          'content-length': body.length,
          ...(isText && { 'content-encoding': 'gzip' }),
        });
        response.end(body);
      },
    );
    request.pipe(forwardedRequest);
  };
  const edge = createServer(forwardRequest).listen(0, '127.0.0.1');
  await once(edge, 'listening');
  return edge;
}
