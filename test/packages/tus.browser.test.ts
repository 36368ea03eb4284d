import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { build } from 'esbuild';
import { Upload, type UploadOptions } from 'tus-js-client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createClient, withToken } from '../../client/client.ts';
import { isBrowserInstalled, useBrowser } from '../pages/browser.ts';
import { demo, requestApi, url, useOwnCompany } from '../pages/demo-company.ts';
import { send } from '../support/send.ts';
import { type CuttingProxy, startCuttingProxy } from './cutting-proxy.ts';
import { makeCsv, RESUMABLE_NAME } from './tus/csv.ts';

/** The number of rows of a file of two pieces and a part of a third. */
const ROW_COUNT = 20_000;
const RETRY_DELAYS_MS = [0, 200, 500, 1_000, 2_000, 3_000, 3_000, 3_000];

interface UploadJob {
  status: string;
  files: { size_bytes: number }[];
  inferred_schema: { columns: object[]; total_row_count_estimate: number } | null;
  user_table_id: string;
}

describe.skipIf(!isBrowserInstalled)('a resumable upload by a tus client', () => {
  useOwnCompany();
  const openPage = useBrowser();
  let proxy: CuttingProxy;
  let site: Server;
  let address: string;
  let token: string;
  beforeAll(async () => {
    proxy = await startCuttingProxy(url);
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

  const makeEndpoint = () => `${proxy.url}/v1/managed-tables/uploads`;

  /** Retries a request once if its connection was closed after being idle for a while. */
  const retryOnce = <T>(ask: () => Promise<T>): Promise<T> =>
    ask().catch((error) => {
      if (error instanceof TypeError) return ask();
      throw error;
    });

  /** Returns the job of an upload once its file has been read. */
  async function waitForJob(at: string): Promise<[UploadJob, string]> {
    const path = `/v1/managed-tables/upload-jobs/${at.split('/').at(-1)}`;
    await expect
      .poll(async () => (await requestApi<UploadJob>('GET', path)).status, { timeout: 100_000 })
      .toBe('waiting_confirm');
    return [await retryOnce(() => requestApi<UploadJob>('GET', path)), path];
  }

  /** Expects that every byte arrived: the rows are those of the file. */
  async function expectCompleteUpload(at: string, rows = ROW_COUNT) {
    const [read, path] = await waitForJob(at);
    expect(read.files[0]?.size_bytes).toBe(makeCsv(rows).length);
    expect(read.inferred_schema?.total_row_count_estimate).toBe(rows);
    const columns = read.inferred_schema?.columns;
    await retryOnce(() =>
      requestApi('POST', `${path}/confirm`, { display_name: `t_${at.split('/').at(-1)}`, columns }),
    );
    await expect.poll(async () => (await requestApi<UploadJob>('GET', path)).status, { timeout: 100_000 }).toBe('done');
    const { user_table_id: table } = await retryOnce(() => requestApi<UploadJob>('GET', path));
    const headers = { authorization: `Bearer ${token}` };
    const answer = await retryOnce(() => fetch(`${url}/v1/managed-tables/${table}/export?format=csv`, { headers }));
    const lines = (await answer.text()).trim().split(/\r?\n/).slice(1);
    const texts = new Map(lines.map((line) => line.split(',').slice(-2) as [string, string]));
    const expected = makeCsv(rows).trim().split('\n').slice(1);
    expect(texts.size).toBe(rows);
    expect(expected.every((line) => texts.get(line.split(',')[0] as string) === line.split(',')[1])).toBe(true);
  }

  const uploadByNode = (options: Partial<UploadOptions> = {}, rows = ROW_COUNT) =>
    new Promise<{ uploadAddress: string; reportCount: number }>((resolve, reject) => {
      let progressCount = 0;
      const upload = new Upload(Buffer.from(makeCsv(rows)), {
        endpoint: makeEndpoint(),
        headers: { authorization: `Bearer ${token}` },
        metadata: { filename: 'vendas.csv' },
        retryDelays: RETRY_DELAYS_MS,
        onProgress: () => {
          progressCount += 1;
        },
        onError: reject,
        onSuccess: () => resolve({ uploadAddress: upload.url ?? '', reportCount: progressCount }),
        ...options,
      });
      upload.start();
    });

  /** Numbers of bytes after which connections are cut: some leave nothing behind, some leave a part of a piece. */
  const listCutOffsets = () => [100, 300_000, 5_000_000, 8_389_008, 50];

  it('by tus-js-client in Node is complete despite cut connections', async () => {
    proxy.cutOffsets = listCutOffsets();
    const offsets: number[] = [];
    const { uploadAddress, reportCount } = await uploadByNode({
      onAfterResponse: (sentRequest, answer) => {
        if (sentRequest.getMethod() === 'HEAD') offsets.push(Number(answer.getHeader('Upload-Offset')));
      },
    });
    expect(proxy.cutOffsets).toEqual([]);
    // What had come of a piece was kept.
    expect(offsets.some((offset) => offset % 8_388_608 > 0)).toBe(true);
    expect(reportCount).toBeGreaterThan(2);
    await expectCompleteUpload(uploadAddress);
  });

  it.each<[string, Partial<UploadOptions>]>([
    ['in chunks of a megabyte', { chunkSize: 1_000_000 }],
    ['with the first bytes in the request that begins it', { uploadDataDuringCreation: true, chunkSize: 3_000_000 }],
    ['by POST instead of PATCH', { overridePatchMethod: true, chunkSize: 5_000_000 }],
  ])('by tus-js-client in Node is complete when it is sent %s', async (_, options) => {
    proxy.cutOffsets = [2_000_000, 3_000_000];
    const { uploadAddress } = await uploadByNode(options, 6_000);
    await expectCompleteUpload(uploadAddress, 6_000);
  });

  it('by tus-js-client in Node is complete when three run at once', async () => {
    proxy.cutOffsets = listCutOffsets();
    const uploads = await Promise.all([
      uploadByNode({}, 10_000),
      uploadByNode({}, 10_000),
      uploadByNode({ chunkSize: 2_000_000 }, 10_000),
    ]);
    for (const { uploadAddress } of uploads) await expectCompleteUpload(uploadAddress, 10_000);
  });

  it('by tus-js-client can be aborted and deleted by the client', async () => {
    const endedUpload = new Promise<string>((resolve, reject) => {
      const upload = new Upload(Buffer.from(makeCsv(10_000)), {
        endpoint: makeEndpoint(),
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
    expect((await fetch(await endedUpload, { method: 'HEAD', headers })).status).toBe(404);
  });

  it.each(['byTus', 'byUppy'])(
    'in a web page of another origin is complete despite cut connections: %s',
    async (name) => {
      const { page } = await openPage(address, { origins: [address, proxy.url] });
      proxy.cutOffsets = listCutOffsets();
      const pageUpload = { endpoint: makeEndpoint(), token, rows: ROW_COUNT, chunkSize: 6_000_000 };
      const { uploadAddress, reportCount } = (await page.evaluate(`${name}(${JSON.stringify(pageUpload)})`)) as {
        uploadAddress: string;
        reportCount: number;
      };
      expect(proxy.cutCount).toBeGreaterThan(0);
      expect(reportCount).toBeGreaterThan(2);
      await page.context().close();
      await expectCompleteUpload(uploadAddress);
    },
  );

  /** Numbers of bytes after which connections of our client are cut, which sends each piece by itself. */
  const listPieceCutOffsets = () => [100, 3_000_000, 6_000_000, 50];

  async function expectSent(at: string, progressCount: number) {
    expect(proxy.cutOffsets).toEqual([]);
    expect(progressCount).toBeGreaterThan(2);
    const path = `/v1/managed-tables/upload-jobs/${at}`;
    expect((await retryOnce(() => requestApi<UploadJob>('GET', path))).files[0]?.size_bytes).toBe(
      makeCsv(ROW_COUNT).length,
    );
    await retryOnce(() => requestApi('POST', `${path}/cancel`));
  }

  it('by our typed client in Node is complete despite cut connections', async () => {
    proxy.cutOffsets = listPieceCutOffsets();
    const person = createClient({ baseUrl: proxy.url, credential: withToken(token) });
    let progressCount = 0;
    const onProgress = () => {
      progressCount += 1;
    };
    const { _id } = await person.upload(new File([makeCsv(ROW_COUNT)], RESUMABLE_NAME), { onProgress });
    await expectSent(_id, progressCount);
  });

  it('by our typed client in a web page of another origin is complete despite cut connections', async () => {
    const { page } = await openPage(address, { origins: [address, proxy.url] });
    proxy.cutOffsets = listPieceCutOffsets();
    const pageUpload = { endpoint: makeEndpoint(), token, rows: ROW_COUNT, chunkSize: 0 };
    const { uploadAddress, reportCount } = (await page.evaluate(`byClient(${JSON.stringify(pageUpload)})`)) as {
      uploadAddress: string;
      reportCount: number;
    };
    await page.context().close();
    await expectSent(uploadAddress, reportCount);
  });
});
