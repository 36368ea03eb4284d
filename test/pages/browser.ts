import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { type Browser, type BrowserContextOptions, chromium, type Page, type Route } from 'playwright-core';
import { afterAll, beforeAll, inject } from 'vitest';

/** What the API answers: a body with 200, or a status with a body. Undefined is 404. */
export type Answers = (request: {
  method: string;
  path: string;
  query: URLSearchParams;
  body: unknown;
  headers: Record<string, string>;
}) =>
  | { status?: number; headers?: Record<string, string>; body: unknown }
  | Promise<{ status?: number; headers?: Record<string, string>; body: unknown } | undefined>
  | undefined;

/** A page in a real browser, with everything that went wrong on it. */
export interface OpenPage {
  page: Page;
  /** Errors, warnings and violations of the page's policy, and requests to foreign hosts. */
  problems: string[];
}

export const installed = inject('chromium') !== '';
export const url = inject('pagesUrl');

/** Pages of one browser for all tests of a file; they are closed at its end. */
export function useBrowser() {
  let browser: Browser;
  beforeAll(async () => {
    browser = await chromium.launch({ executablePath: inject('chromium'), args: ['--no-sandbox'] });
  });
  afterAll(() => browser?.close());

  /** Opens a path of the Worker, whose API is answered by `answers`. Only the API is: pages and assets are the Worker's. */
  return async (path: string, answers: Answers, options: BrowserContextOptions = {}): Promise<OpenPage> => {
    const context = await browser.newContext({ locale: 'en-US', viewport: { width: 1280, height: 900 }, ...options });
    const page = await context.newPage();
    const problems: string[] = [];
    page.on('console', (message) => {
      // A refused call is what some tests are about.
      const refused = message.text().startsWith('Failed to load resource');
      if (['error', 'warning'].includes(message.type()) && !refused) problems.push(message.text());
    });
    page.on('pageerror', (error) => problems.push(String(error)));
    page.on('request', (request) => {
      if (!request.url().startsWith(url) && !/^(data|blob):/.test(request.url()))
        problems.push(`foreign: ${request.url()}`);
    });
    await page.route(`${url}/api/**`, (route) => answer(route, answers));
    await page.goto(new URL(path, url).href);
    return { page, problems };
  };
}

async function answer(route: Route, answers: Answers): Promise<void> {
  const request = route.request();
  const { pathname, searchParams } = new URL(request.url());
  const answered = await answers({
    method: request.method(),
    path: pathname,
    query: searchParams,
    body: request.postDataJSON(),
    headers: request.headers(),
  });
  const {
    status = 200,
    headers = {},
    body,
  } = answered ?? { status: 404, body: { error_code: 'NOT_FOUND', message: 'There is no such route.' } };
  // A page that was left meanwhile wants no answer any more.
  await route.fulfill({ status, headers, json: body }).catch(() => undefined);
}

/** What axe finds wrong on the page, as `rule: element` lines. */
export async function axeFindings(page: Page): Promise<string[]> {
  const source = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
  // Through the debugger, not a script element: the page's policy stands.
  await page.evaluate(source);
  // What is on its way is dimmed.
  await page.waitForFunction('document.querySelector("[aria-busy=true]") === null');
  const violations = await page.evaluate(async () => {
    const { violations: found } = await (
      globalThis as unknown as { axe: { run(): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> } }
    ).axe.run();
    return found.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 200)}`));
  });
  return violations;
}
