import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type Frame,
  type Page,
  type Route,
} from 'playwright-core';
import { afterAll, afterEach, beforeEach, expect, inject } from 'vitest';
import type { Chromium } from './chromium.ts';
import { url } from './world.ts';

/** What stands in for an answer of the API that cannot be made to happen: undefined leaves the call to the API. */
export type Substitute = (
  path: string,
) => { status: number; headers?: Record<string, string>; body: unknown } | undefined;

export interface OpenOptions extends BrowserContextOptions {
  /** Origins besides ours whose pages may be loaded. */
  origins?: string[];
  instead?: Substitute;
}

/** A page in a real browser, with what it asked for and everything that went wrong on it. */
export interface OpenPage {
  page: Page;
  /** The parameters of every execution. */
  executed: unknown[];
  /** The searches for options. */
  searched: string[];
  /** Errors, warnings and violations of the page's policy, and requests to foreign hosts. */
  problems: string[];
}

const browserOfRun = inject('chromium');

export const isBrowserInstalled = browserOfRun !== null;

let launchedBrowser: Promise<Browser> | undefined;

/** One for the files of a process, with which it ends: it takes a second to start. */
function launchBrowser(): Promise<Browser> {
  const { path, libraries } = browserOfRun as Chromium;
  launchedBrowser ??= chromium.launch({
    executablePath: path,
    args: ['--no-sandbox'],
    env: { ...process.env, ...(libraries !== null && { LD_LIBRARY_PATH: libraries }) } as Record<string, string>,
  });
  return launchedBrowser;
}

/** Pages of a browser for the tests of a file: those that a test opens are closed at its end, the others at that of the file. */
export function useBrowser() {
  const contexts: BrowserContext[] = [];
  let shared = 0;
  beforeEach(() => {
    shared = contexts.length;
  });
  afterEach(async ({ task }) => {
    for (const page of task.result?.state === 'fail' ? contexts.flatMap((context) => context.pages()) : []) {
      const shown = await page.locator('body').innerText({ timeout: 1_000 }).catch(String);
      console.error(`${page.url()} shows:\n${shown.slice(0, 2_000)}`);
    }
    for (const context of contexts.splice(shared)) await context.close();
  });
  afterAll(async () => {
    for (const context of contexts) await context.close();
  });

  /** Opens a path of the running system, or another address. */
  return async (address: string, { origins = [], instead, ...options }: OpenOptions = {}): Promise<OpenPage> => {
    const context = await (await launchBrowser()).newContext({
      locale: 'en-US',
      viewport: { width: 1280, height: 900 },
      // A placeholder that breathes costs a fifth of what the browser computes.
      reducedMotion: 'reduce',
      ...options,
    });
    contexts.push(context);
    context.setDefaultTimeout(60_000);
    const page = await context.newPage();
    const opened: OpenPage = { page, executed: [], searched: [], problems: [] };
    page.on('console', (message) => {
      // Some tests expect a refusal.
      const refused = message.text().startsWith('Failed to load resource');
      if (['error', 'warning'].includes(message.type()) && !refused) opened.problems.push(message.text());
    });
    page.on('pageerror', (error) => opened.problems.push(String(error)));
    page.on('request', (request) => {
      const { origin, protocol, pathname, searchParams } = new URL(request.url());
      if (![url, ...origins].includes(origin) && !['data:', 'blob:'].includes(protocol)) {
        opened.problems.push(`foreign: ${request.url()}`);
      }
      if (pathname.endsWith('/execute')) opened.executed.push(request.postDataJSON().parameters);
      if (pathname.endsWith('/options')) opened.searched.push(searchParams.get('search') ?? '');
    });
    if (instead) await page.route(`${url}/api/**`, (route) => fulfilRoute(route, instead));
    await page.goto(new URL(address, url).href);
    return opened;
  };
}

async function fulfilRoute(route: Route, instead: Substitute): Promise<void> {
  const other = instead(new URL(route.request().url()).pathname);
  await (other ? route.fulfill({ status: other.status, headers: other.headers, json: other.body }) : route.fallback());
}

/** Waits until the page is built, for which a browser does not wait, and nothing on it is on its way any more. */
export const waitUntilSettled = (page: Page | Frame) =>
  expect.poll(() => page.locator('#page:empty, [aria-busy=true]').count()).toBe(0);

/** What axe finds wrong on the page, as `rule: element` lines. */
export async function findAxeViolations(page: Page | Frame): Promise<string[]> {
  const source = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
  // Through the debugger, not a script element: the page's policy stands.
  await page.evaluate(source);
  // What is on its way is dimmed.
  await waitUntilSettled(page);
  const violations = await page.evaluate(async () => {
    const { violations: found } = await (
      globalThis as unknown as { axe: { run(): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> } }
    ).axe.run();
    return found.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 200)}`));
  });
  return violations;
}

/** What a card shows as one large number. */
export const readCardNumber = (page: Pick<Page, 'getByRole'>, card: string): Promise<string> =>
  page.getByRole('region', { name: card, exact: true }).locator('dd').innerText();
