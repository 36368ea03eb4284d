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
import { url } from './demo-company.ts';

/**
 * A function that returns an answer to send in place of the API's, where the API cannot be made to give it; undefined
 * lets the API answer.
 */
export type AnswerSubstitute = (
  path: string,
) => { status: number; headers?: Record<string, string>; body: unknown } | undefined;

export interface OpenOptions extends BrowserContextOptions {
  /** Origins other than ours whose pages may be loaded. */
  origins?: string[];
  answerSubstitute?: AnswerSubstitute;
}

/** Views of a page, with each width, colour scheme and language at least once. */
export const VIEWS = [
  [360, 'dark', 'es'],
  [768, 'light', 'pt-BR'],
  [1280, 'light', 'en'],
  [1920, 'dark', 'en'],
] as const;

/** A page in a real browser, with the requests that it made and every problem on it. */
export interface OpenPage {
  page: Page;
  /** The parameters of every execution that the page requested. */
  executedParameters: unknown[];
  /** The searches for filter options that the page sent. */
  optionSearches: string[];
  /** Errors, warnings and violations of the page's security policy, and requests to foreign hosts. */
  problems: string[];
}

const installedChromium = inject('chromium');

export const isBrowserInstalled = installedChromium !== null;

let launchedBrowser: Promise<Browser> | undefined;

/** Launches one browser for all test files of a process; it ends with the process. Launching takes a second. */
function launchBrowser(): Promise<Browser> {
  const { path, libraries } = installedChromium as Chromium;
  launchedBrowser ??= chromium.launch({
    executablePath: path,
    args: ['--no-sandbox'],
    env: { ...process.env, ...(libraries !== null && { LD_LIBRARY_PATH: libraries }) } as Record<string, string>,
  });
  return launchedBrowser;
}

/** Closes a context with its pages. A request that a test answers itself may still be under way: it is no fault of the test. */
async function closeContext(context: BrowserContext): Promise<void> {
  await Promise.all(context.pages().map((page) => page.unrouteAll({ behavior: 'ignoreErrors' })));
  await context.close();
}

/** Opens pages for the tests of a file: pages that a test opens are closed at its end, all others at the end of the file. */
export function useBrowser() {
  const contexts: BrowserContext[] = [];
  let sharedContextCount = 0;
  beforeEach(() => {
    sharedContextCount = contexts.length;
  });
  afterEach(async ({ task }) => {
    for (const page of task.result?.state === 'fail' ? contexts.flatMap((context) => context.pages()) : []) {
      const shownText = await page.locator('body').innerText({ timeout: 1_000 }).catch(String);
      console.error(`${page.url()} shows:\n${shownText.slice(0, 2_000)}`);
    }
    for (const context of contexts.splice(sharedContextCount)) await closeContext(context);
  });
  afterAll(async () => {
    for (const context of contexts) await closeContext(context);
  });

  /** Opens a path of the running system, or another address. */
  return async (
    address: string,
    { origins = [], answerSubstitute, ...options }: OpenOptions = {},
  ): Promise<OpenPage> => {
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
    const openedPage: OpenPage = { page, executedParameters: [], optionSearches: [], problems: [] };
    page.on('console', (message) => {
      // Some tests expect a refusal.
      const isRefusedLoad = message.text().startsWith('Failed to load resource');
      if (['error', 'warning'].includes(message.type()) && !isRefusedLoad) openedPage.problems.push(message.text());
    });
    page.on('pageerror', (error) => openedPage.problems.push(String(error)));
    page.on('request', (request) => {
      const { origin, protocol, pathname, searchParams } = new URL(request.url());
      if (![url, ...origins].includes(origin) && !['data:', 'blob:'].includes(protocol)) {
        openedPage.problems.push(`foreign: ${request.url()}`);
      }
      if (pathname.endsWith('/execute')) openedPage.executedParameters.push(request.postDataJSON().parameters);
      if (pathname.endsWith('/options')) openedPage.optionSearches.push(searchParams.get('search') ?? '');
    });
    if (answerSubstitute) await page.route(`${url}/api/**`, (route) => fulfilRoute(route, answerSubstitute));
    await page.goto(new URL(address, url).href);
    return openedPage;
  };
}

async function fulfilRoute(route: Route, findSubstitute: AnswerSubstitute): Promise<void> {
  const other = findSubstitute(new URL(route.request().url()).pathname);
  await (other ? route.fulfill({ status: other.status, headers: other.headers, json: other.body }) : route.fallback());
}

/** Blocks the storage of sites on the page, as browsers can be set to do, and loads the page again. */
export async function blockStorage(page: Page): Promise<void> {
  await page.addInitScript(`Object.defineProperty(window, 'sessionStorage', {
    get() { throw new DOMException('Access is denied for this document.', 'SecurityError'); },
  })`);
  await page.reload();
}

/** Waits until the page is built, which the browser's load event does not include, and nothing on it is still loading. */
export const waitUntilSettled = (page: Page | Frame) =>
  expect.poll(() => page.locator('#page:empty, [aria-busy=true]').count()).toBe(0);

/** Returns the violations that axe finds on the page, as `rule: element` lines. */
export async function findAxeViolations(page: Page | Frame): Promise<string[]> {
  const source = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
  // Through the debugger, not a script element: the page's policy stands.
  await page.evaluate(source);
  // What is on its way is dimmed.
  await waitUntilSettled(page);
  const violations = await page.evaluate(async () => {
    const { violations: axeViolations } = await (
      globalThis as unknown as { axe: { run(): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> } }
    ).axe.run();
    return axeViolations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 200)}`));
  });
  return violations;
}

/** Reads the large number that a card shows. */
export const readCardNumber = (page: Pick<Page, 'getByRole'>, card: string): Promise<string> =>
  page.getByRole('region', { name: card, exact: true }).locator('dd').innerText();
