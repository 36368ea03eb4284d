import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readdir, readFile, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { build } from 'esbuild';
import { convertV4MiniflareOptions, Log, LogLevel, Miniflare } from 'miniflare';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isBrowserInstalled, useBrowser } from '../pages/browser.ts';
import { demo } from '../pages/demo-company.ts';
import {
  type CompileOptions,
  compileModules,
  createFreshFolder,
  NODE_PATHS,
  runProgram,
  writeExamples,
} from './pack.ts';

let folder: string;
beforeAll(async () => {
  folder = await createFreshFolder();
  await compileModules(folder, ['use.ts', 'node.ts', 'worker.ts', 'page.ts'], {
    resolution: 'node16',
    lib: 'es2024,dom,dom.iterable',
    types: ['node'],
    skipsLibraryCheck: true,
    emitsFiles: true,
  });
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const getPackageFolder = (name: string) => join(folder, 'node_modules', name);

/** Bundles a module of the fresh folder for browsers, and fails for modules that only Node has. */
async function bundleForBrowser(entry: string): Promise<string> {
  const { outputFiles, warnings } = await build({
    absWorkingDir: folder,
    entryPoints: [entry],
    bundle: true,
    write: false,
    platform: 'browser',
    format: 'esm',
    target: 'es2022',
    logLevel: 'silent',
  });
  expect(warnings).toEqual([]);
  return outputFiles[0]?.text as string;
}

describe('an npm package of the clients', () => {
  it.each([
    ['data-console-client', '.'],
    ['data-console-embed', '.'],
  ])('called %s has JavaScript, types and a README, and no sources or dependencies', async (name, entry) => {
    const files = await readdir(getPackageFolder(name), { recursive: true });
    const kinds = new Set(files.map((file) => /(\.d)?\.\w+$/.exec(file)?.[0] ?? 'folder'));
    expect([...kinds].filter((kind) => !['folder', '.js', '.d.ts', '.md', '.json'].includes(kind))).toEqual([]);
    expect(files).toContain('README.md');
    const { dependencies, exports } = JSON.parse(await readFile(join(getPackageFolder(name), 'package.json'), 'utf8'));
    expect(dependencies).toBeUndefined();
    for (const path of Object.values(exports[entry] as object))
      expect(existsSync(join(getPackageFolder(name), path))).toBe(true);
  });

  it.each<[string, CompileOptions]>([
    ['Node, with the types of Node', { resolution: 'node16', types: ['node'] }],
    ['a Worker, with its types', { resolution: 'bundler', types: ['@cloudflare/workers-types'] }],
    ['TypeScript 5', { compiler: 'TypeScript 5', resolution: 'node16', types: ['node'], skipsLibraryCheck: true }],
  ])('has types that compile in %s', (_, compileOptions) => compileModules(folder, ['use.ts'], compileOptions));

  it('has types with which the examples of its README compile', async () => {
    const examples = await writeExamples(folder);
    expect(examples.length).toBeGreaterThanOrEqual(5);
    await compileModules(folder, [...examples, 'page.ts'], {
      resolution: 'bundler',
      lib: 'es2024,dom,dom.iterable,dom.asynciterable',
    });
  });

  it.each(NODE_PATHS)('adds no globals when Node %s imports it', async (_, node) => {
    const script = `const before = Object.keys(globalThis);
      await import('data-console-client'); await import('data-console-embed');
      console.log(JSON.stringify(Object.keys(globalThis).filter((name) => !before.includes(name))));`;
    expect(await runProgram(node, ['--input-type=module', '-e', script], folder)).toBe('[]\n');
  });
});

describe.skipIf(!isBrowserInstalled)('the installed npm packages of the clients', () => {
  const openPage = useBrowser();
  let site: Server;
  let address: string;
  let worker: Miniflare;
  beforeAll(async () => {
    const script = await bundleForBrowser('page.js');
    site = createServer(({ url }, response) => {
      const [type, text] =
        url === '/page.js'
          ? ['text/javascript', script]
          : ['text/html', '<script type="module" src="/page.js"></script>'];
      response.writeHead(200, { 'content-type': type }).end(text);
    }).listen(0, '127.0.0.1');
    await once(site, 'listening');
    address = `http://127.0.0.1:${(site.address() as AddressInfo).port}`;
  });
  afterAll(async () => {
    site?.close();
    await worker?.dispose();
  });

  const expectedUse = {
    isListed: true,
    accounts: 1,
    user: null,
    fields: ['name'],
    name: 'clientes "novos".csv',
    size: true,
    progress: [0, true, true],
    status: 'waiting_confirm',
    rows: 20_000,
    stopped: 'AbortError',
    ended: 401,
    session: null,
    written: 3,
  };

  it.each(NODE_PATHS)('work in Node %s', async (_, node) => {
    const printed = await runProgram(node, ['node.js', JSON.stringify(demo)], folder);
    expect(JSON.parse(printed)).toEqual({ element: 'function', added: [], used: expectedUse });
  });

  it('work in a Worker', async () => {
    worker = new Miniflare(
      convertV4MiniflareOptions({
        log: new Log(LogLevel.NONE),
        cf: false,
        telemetry: { enabled: false },
        workers: [
          {
            name: 'sample',
            modules: true,
            script: await bundleForBrowser('worker.js'),
            compatibilityDate: '2026-09-01',
          },
        ],
      }),
    );
    const response = await worker.dispatchFetch('http://worker.test', { method: 'POST', body: JSON.stringify(demo) });
    expect(await response.json()).toEqual(expectedUse);
  });

  /** Calls a function of the sample app in a page. */
  const callInPage = (page: Page, name: 'use' | 'signIn' | 'crowd'): Promise<unknown> =>
    page.evaluate(`sample.${name}(${JSON.stringify(demo)})`);

  it('work in a web page of another origin', async () => {
    const { page } = await openPage(address, { origins: [address] });
    expect(await callInPage(page, 'use')).toEqual(expectedUse);
    expect(await page.evaluate("customElements.get('data-console-embed').name")).toBe('DataConsoleEmbed');
  });

  it('refresh a session once for the twenty requests of each of two tabs', async () => {
    const { page } = await openPage(address, { origins: [address] });
    const other = await page.context().newPage();
    await other.goto(address);
    await callInPage(page, 'signIn');
    const refreshes: string[] = [];
    await page.context().route('**/v1/auth/refresh', async (route) => {
      if (route.request().method() === 'POST') refreshes.push(route.request().postData() ?? '');
      // The other tab finds the token ended as well.
      await new Promise((resolve) => setTimeout(resolve, 500));
      await route.continue();
    });
    const answers = await Promise.all([callInPage(page, 'crowd'), callInPage(other, 'crowd')]);
    expect(answers).toEqual(Array(2).fill(Array(20).fill(demo.owner.email)));
    expect(refreshes).toHaveLength(1);
  });
});
