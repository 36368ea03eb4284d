import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { build } from 'esbuild';
import { Upload, type UploadOptions } from 'tus-js-client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createClient, withToken } from '../../client/client.ts';
import { isBrowserInstalled, useBrowser } from '../pages/browser.ts';
import { demo, requestApi, url, useOwnCompany } from '../pages/world.ts';
import { send } from '../support/send.ts';
import { type CuttingProxy, cuttingProxy } from './cutting-proxy.ts';
import { csvOf } from './tus/csv.ts';

/** Two pieces and a bit. */
const ROWS = 200_000;
const RETRIES = [0, 200, 500, 1_000, 2_000, 3_000, 3_000, 3_000];

interface Job {
  status: string;
  files: { size_bytes: number }[];
  inferred_schema: { columns: object[]; total_row_count_estimate: number } | null;
  user_table_id: string;
}

describe.skipIf(!isBrowserInstalled)('a resumable upload by a tus client', () => {
  useOwnCompany();
  const open = useBrowser();
  let proxy: CuttingProxy;
  let site: Server;
  let address: string;
  let token: string;
  beforeAll(async () => {
    proxy = await cuttingProxy(url);
    const json = { company_slug: demo.company.slug, ...demo.owner };
    ({ token } = await send<{ token: string }>(url, 'POST', '/v1/auth/login', { json }));
    const { outputFiles } = await build({
      entryPoints: [join(import.meta.dirname, 'tus/page.ts')],
      bundle: true,
      write: false,
      platform: 'browser',
      format: 'esm',
      target: 'es2022',
      logLevel: 'silent',
    });
    site = createServer(({ url: path }, response) => {
      const [type, text] =
        path === '/page.js'
          ? ['text/javascript', outputFiles[0]?.text]
          : ['text/html', '<script type="module" src="/page.js"></script>'];
      response.writeHead(200, { 'content-type': type }).end(text);
    }).listen(0, '127.0.0.1');
    await once(site, 'listening');
    address = `http://127.0.0.1:${(site.address() as AddressInfo).port}`;
  });
  afterAll(() => {
    proxy?.close();
    site?.close();
  });

  const endpoint = () => `${proxy.url}/v1/managed-tables/uploads`;

  /** Asks once more where a connection was closed that nobody had used for a while. */
  const alive = <T>(ask: () => Promise<T>): Promise<T> =>
    ask().catch((error) => {
      if (error instanceof TypeError) return ask();
      throw error;
    });

  /** The job of an upload once it has been read. */
  async function jobAt(at: string): Promise<[Job, string]> {
    const path = `/v1/managed-tables/upload-jobs/${at.split('/').at(-1)}`;
    await expect
      .poll(async () => (await requestApi<Job>('GET', path)).status, { timeout: 100_000 })
      .toBe('waiting_confirm');
    return [await alive(() => requestApi<Job>('GET', path)), path];
  }

  /** Every byte arrived: the rows are those of the file. */
  async function expectWhole(at: string, rows = ROWS) {
    const [read, path] = await jobAt(at);
    expect(read.files[0]?.size_bytes).toBe(csvOf(rows).length);
    expect(read.inferred_schema?.total_row_count_estimate).toBe(rows);
    const columns = read.inferred_schema?.columns;
    await alive(() => requestApi('POST', `${path}/confirm`, { display_name: `t_${at.split('/').at(-1)}`, columns }));
    await expect.poll(async () => (await requestApi<Job>('GET', path)).status, { timeout: 100_000 }).toBe('done');
    const { user_table_id: table } = await alive(() => requestApi<Job>('GET', path));
    const headers = { authorization: `Bearer ${token}` };
    const answer = await alive(() => fetch(`${url}/v1/managed-tables/${table}/export?format=csv`, { headers }));
    const lines = (await answer.text()).trim().split(/\r?\n/).slice(1);
    const texts = new Map(lines.map((line) => line.split(',').slice(-2) as [string, string]));
    const expected = csvOf(rows).trim().split('\n').slice(1);
    expect(texts.size).toBe(rows);
    expect(expected.every((line) => texts.get(line.split(',')[0] as string) === line.split(',')[1])).toBe(true);
  }

  const byNode = (options: Partial<UploadOptions> = {}, rows = ROWS) =>
    new Promise<{ at: string; told: number }>((resolve, reject) => {
      let told = 0;
      const upload = new Upload(Buffer.from(csvOf(rows)), {
        endpoint: endpoint(),
        headers: { authorization: `Bearer ${token}` },
        metadata: { filename: 'vendas.csv' },
        retryDelays: RETRIES,
        onProgress: () => {
          told += 1;
        },
        onError: reject,
        onSuccess: () => resolve({ at: upload.url ?? '', told }),
        ...options,
      });
      upload.start();
    });

  /** Cuts that leave nothing behind, or some bytes of a piece. */
  const cuts = () => [100, 300_000, 5_000_000, 8_389_008, 50];

  it('by tus-js-client in Node is complete despite cut connections', async () => {
    proxy.cuts = cuts();
    const offsets: number[] = [];
    const { at, told } = await byNode({
      onAfterResponse: (asked, answer) => {
        if (asked.getMethod() === 'HEAD') offsets.push(Number(answer.getHeader('Upload-Offset')));
      },
    });
    expect(proxy.cuts).toEqual([]);
    // What had come of a piece was kept.
    expect(offsets.some((offset) => offset % 8_388_608 > 0)).toBe(true);
    expect(told).toBeGreaterThan(2);
    await expectWhole(at);
  });

  it.each<[string, Partial<UploadOptions>]>([
    ['in chunks of a megabyte', { chunkSize: 1_000_000 }],
    ['with the first bytes in the request that begins it', { uploadDataDuringCreation: true, chunkSize: 3_000_000 }],
    ['by POST instead of PATCH', { overridePatchMethod: true, chunkSize: 5_000_000 }],
  ])('by tus-js-client in Node is complete when it is sent %s', async (_, options) => {
    proxy.cuts = [2_000_000, 3_000_000];
    const { at } = await byNode(options, 60_000);
    await expectWhole(at, 60_000);
  });

  it('by tus-js-client in Node is complete when three run at once', async () => {
    proxy.cuts = cuts();
    const all = await Promise.all([
      byNode({}, 100_000),
      byNode({}, 100_000),
      byNode({ chunkSize: 2_000_000 }, 100_000),
    ]);
    for (const { at } of all) await expectWhole(at, 100_000);
  });

  it('by tus-js-client can be aborted and deleted by it', async () => {
    const ended = new Promise<string>((resolve, reject) => {
      const upload = new Upload(Buffer.from(csvOf(100_000)), {
        endpoint: endpoint(),
        headers: { authorization: `Bearer ${token}` },
        metadata: { filename: 'vendas.csv' },
        chunkSize: 1_000_000,
        onError: reject,
        onChunkComplete: () => {
          upload.abort(true).then(() => resolve(upload.url ?? ''), reject);
        },
      });
      upload.start();
    });
    const headers = { authorization: `Bearer ${token}`, 'tus-resumable': '1.0.0' };
    expect((await fetch(await ended, { method: 'HEAD', headers })).status).toBe(404);
  });

  it.each(['byTus', 'byUppy'])(
    'in a web page of another origin is complete despite cut connections: %s',
    async (name) => {
      const { page } = await open(address, { origins: [address, proxy.url] });
      proxy.cuts = cuts();
      const sending = { endpoint: endpoint(), token, rows: ROWS, chunkSize: 6_000_000 };
      const { at, told } = (await page.evaluate(`${name}(${JSON.stringify(sending)})`)) as { at: string; told: number };
      expect(proxy.made).toBeGreaterThan(0);
      expect(told).toBeGreaterThan(2);
      await page.context().close();
      await expectWhole(at);
    },
  );

  /** More than 50 MB. */
  const LARGE = 600_000;
  const largeCuts = () => [100, 3_000_000, 20_000_000, 50];

  async function expectSent(at: string, told: number) {
    expect(proxy.cuts).toEqual([]);
    expect(told).toBeGreaterThan(5);
    const path = `/v1/managed-tables/upload-jobs/${at}`;
    expect((await alive(() => requestApi<Job>('GET', path))).files[0]?.size_bytes).toBe(csvOf(LARGE).length);
    await alive(() => requestApi('POST', `${path}/cancel`));
  }

  it('by our typed client in Node is complete despite cut connections', async () => {
    proxy.cuts = largeCuts();
    const person = createClient({ baseUrl: proxy.url, credential: withToken(token) });
    let told = 0;
    const onProgress = () => {
      told += 1;
    };
    const { _id } = await person.upload(new File([csvOf(LARGE)], 'vendas.csv'), { onProgress });
    await expectSent(_id, told);
  });

  it('by our typed client in a web page of another origin is complete despite cut connections', async () => {
    const { page } = await open(address, { origins: [address, proxy.url] });
    proxy.cuts = largeCuts();
    const sending = { endpoint: endpoint(), token, rows: LARGE, chunkSize: 0 };
    const { at, told } = (await page.evaluate(`byClient(${JSON.stringify(sending)})`)) as { at: string; told: number };
    await page.context().close();
    await expectSent(at, told);
  });
});
