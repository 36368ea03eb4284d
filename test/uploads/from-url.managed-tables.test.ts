import { env } from 'cloudflare:test';
import { describe, expect, inject, it, vi } from 'vitest';
import { openContext } from '../../src/context.ts';
import { type FetchLimits, type FetchState, fetchSource } from '../../src/modules/uploads/fetch.ts';
import { workOnJob } from '../../src/modules/uploads/work.ts';
import type { JobMessage } from '../../src/platform/job-messages.ts';
import { createTable, makeColumn } from '../managed-tables/support.ts';
import { createProvisionedCompany } from '../support/companies.ts';
import { makeCsv, type ReceivedRequest } from '../support/file-server.ts';
import { replaceDelays } from '../support/timers.ts';
import { readUsage, setQuotas } from '../usage/support.ts';
import {
  cancelJob,
  confirmJob,
  createTestQueue,
  deliverAllMessages,
  deliverMessage,
  queryDatabase,
  readJob,
  readRows,
  waitForEnd,
} from './support.ts';

const SERVER_URL = inject('fileServerUrl');
/** The number of rows of a file of two pieces, one of 8 MiB and a smaller one; each row has a hundred bytes. */
const ROW_COUNT = 90_000;

/** Creates an address of the file server. @returns its URL, and the requests that the server received there */
function createSource(behaviour: string, rows = 3, name = 'vendas.csv') {
  const key = crypto.randomUUID();
  return {
    url: `${SERVER_URL}/${behaviour}/${key}/${rows}/${name}`,
    asked: async (): Promise<ReceivedRequest[]> => (await fetch(`${SERVER_URL}/asked/${key}`)).json(),
  };
}

const encodeTarget = (address: string) => `to.${Buffer.from(address).toString('base64url')}`;

const company = await createProvisionedCompany();

describe('an upload from a URL', () => {
  const postUpload = (json: object, queue = createTestQueue()) =>
    company.as.post('/v1/managed-tables/upload-from-url', { json, env: queue.env as never });

  async function beginUpload(json: object, queue = createTestQueue()) {
    const { status, body } = await postUpload(json, queue);
    expect(body).toMatchObject({ status: 'queued' });
    expect(status).toBe(201);
    return { jobId: body.job_id as string, queue };
  }

  /** Returns the job once its file has been read, or it has failed. */
  async function readFinishedJob(json: object) {
    const { jobId, queue } = await beginUpload(json);
    await deliverAllMessages(queue);
    return readJob(company, jobId);
  }

  const readFailure = async (json: object) => (await readFinishedJob(json)).error;

  /** Shortens the pauses after lost connections, and other delays. */
  const shortenPauses = (otherDelays: Record<number, number> = {}) =>
    replaceDelays({ 500: 1, 1000: 1, 2000: 1, 4000: 1, ...otherDelays });

  async function expectCompleteUpload(readJobResult: Awaited<ReturnType<typeof readFinishedJob>>, rows: number) {
    expect(readJobResult).toMatchObject({ status: 'waiting_confirm', error: null });
    expect(readJobResult.inferred_schema.total_row_count_estimate).toBe(rows);
    const expected = makeCsv(rows);
    expect(readJobResult.files[0].size_bytes).toBe(expected.length);
    const { objects } = await env.FILES.list({ prefix: readJobResult.files[0].storage_path });
    const sortedPieces = objects.toSorted(
      (a, b) => Number(a.key.split('/')[4] ?? 0) - Number(b.key.split('/')[4] ?? 0),
    );
    let text = '';
    for (const { key } of sortedPieces) text += await (await env.FILES.get(key))?.text();
    expect(text === expected).toBe(true);
  }

  it('fails before its file is fetched where the announced size would exceed the quota of file bytes', async () => {
    const { file_bytes: usedBytes } = await readUsage(company);
    await setQuotas(company, { file_bytes: usedBytes + 100 });
    const source = createSource('plain');
    const { jobId, queue } = await beginUpload({ url: source.url });
    await deliverAllMessages(queue);
    const failedJob = await readJob(company, jobId);
    expect(failedJob).toMatchObject({ status: 'failed', files: [] });
    expect(failedJob.error).toMatchObject({
      code: 'QUOTA_EXCEEDED',
      quota: 'file_bytes',
      limit: usedBytes + 100,
      use: usedBytes,
    });
    expect(await readUsage(company)).toMatchObject({ file_bytes: usedBytes });
    await setQuotas(company, {});
  });

  it('is loaded like a file that a client sends', async () => {
    const { url } = createSource('plain');
    const { jobId, queue } = await beginUpload({ url: `${url}?token=geheim#parte` });
    await deliverAllMessages(queue);
    const analysedJob = await readJob(company, jobId);
    expect(analysedJob).toMatchObject({
      status: 'waiting_confirm',
      source_url: url,
      files: [{ original_name: 'vendas.csv' }],
    });
    await confirmJob(company, jobId, { display_name: 'vendas', columns: analysedJob.inferred_schema.columns }, queue);
    await deliverAllMessages(queue);
    const finishedJob = await waitForEnd(company, jobId);
    expect(finishedJob.status).toBe('done');
    expect((await readRows(company, finishedJob.user_table_id)).map(({ numero }) => numero)).toEqual([0, 1, 2]);
  });

  it('goes into an existing table', async () => {
    const tableId = await createTable(company.as, 'destino', [
      makeColumn('numero', 'integer'),
      makeColumn('texto', 'text'),
    ]);
    const { jobId, queue } = await beginUpload({ url: createSource('plain').url, table_id: tableId, mode: 'append' });
    await deliverAllMessages(queue);
    const analysedJob = await readJob(company, jobId);
    expect(analysedJob).toMatchObject({ user_table_id: tableId, mode: 'append' });
    await confirmJob(company, jobId, { columns: analysedJob.inferred_schema.columns }, queue);
    await deliverAllMessages(queue);
    await waitForEnd(company, jobId);
    expect(await readRows(company, tableId)).toHaveLength(3);
  });

  it.each([
    ['tiny', 'a server that hangs up after few bytes'],
    ['rangeless', 'a server that does not support Range'],
    ['untagged', 'a server that sends no ETag'],
    ['chunked', 'a server that sends no Content-Length'],
    ['packed', 'a server that compresses the response'],
    ['busy', 'a server that is busy at first'],
  ])('is fetched completely (%s) from %s', async (behaviour) => {
    shortenPauses();
    await expectCompleteUpload(await readFinishedJob({ url: createSource(behaviour, ROW_COUNT).url }), ROW_COUNT);
  });

  it('continues by Range and If-Range from a server that hangs up, and sends no Authorization header', async () => {
    shortenPauses();
    // Three pieces.
    const rows = 200_000;
    const source = createSource('cut', rows);
    await expectCompleteUpload(await readFinishedJob({ url: source.url }), rows);
    const [first, ...others] = await source.asked();
    expect(first).toMatchObject({ range: null, ifRange: null });
    expect(others.length).toBeGreaterThan(2);
    expect(others[0]).toMatchObject({ range: `bytes=${5 * 1024 * 1024}-`, ifRange: '"one"' });
    for (const { headers } of others) expect(headers).not.toContain('authorization');
  });

  it.each(['changed', 'shifted'])('fails when the file changes between two requests: %s', async (behaviour) => {
    expect(await readFailure({ url: createSource(behaviour, ROW_COUNT).url })).toMatchObject({
      code: 'SOURCE_CHANGED',
    });
  });

  it.each(['never', 'weak'])(
    'is fetched from the start three times at most when the server sends no usable ETag: %s',
    async (behaviour) => {
      const source = createSource(behaviour, ROW_COUNT);
      expect(await readFailure({ url: source.url })).toMatchObject({ code: 'SOURCE_UNREACHABLE' });
      expect(await source.asked()).toHaveLength(3);
    },
  );

  it('fails when the server sends more than its Content-Length', async () => {
    expect(await readFailure({ url: createSource('longer', ROW_COUNT).url })).toMatchObject({
      code: 'SOURCE_UNREACHABLE',
    });
  });

  it.each(['status.404', 'status.500', 'status.206'])('fails when the server answers %s', async (behaviour) => {
    shortenPauses();
    expect(await readFailure({ url: createSource(behaviour).url })).toMatchObject({ code: 'SOURCE_UNREACHABLE' });
  });

  it('fails when the connection is refused', async () => {
    shortenPauses();
    expect(await readFailure({ url: 'http://127.0.0.1:9/a.csv' })).toMatchObject({ code: 'SOURCE_UNREACHABLE' });
  });

  it('follows five redirects, but not six', async () => {
    expect((await readFinishedJob({ url: createSource('redirects.5').url })).status).toBe('waiting_confirm');
    const source = createSource('redirects.6');
    expect(await readFailure({ url: source.url })).toMatchObject({ code: 'SOURCE_UNREACHABLE' });
    expect(await source.asked()).toHaveLength(6);
  });

  // Every address that is refused: test/kernel/public-address.test.ts.
  it.each(['https://10.0.0.1/a.csv', 'http://public.example.com/a.csv', 'file:///etc/passwd', 'https://'])(
    'fails when a redirect leads to %s',
    async (address) => {
      const error = await readFailure({ url: createSource(encodeTarget(address)).url });
      expect(error).toMatchObject({ code: 'SOURCE_UNREACHABLE', message: expect.stringContaining('https público') });
    },
  );

  it.each(['https://10.0.0.1/a.csv', 'http://files.example.org/a.csv', 'a.csv', ''])(
    'is refused with the address "%s"',
    async (url) => {
      const { status, body } = await postUpload({ url });
      expect(status).toBe(422);
      expect(body.details).toEqual([expect.objectContaining({ field: 'url' })]);
    },
  );

  it('is refused at a private address where the environment does not allow private addresses', async () => {
    const json = { url: createSource('plain').url };
    const { status } = await company.as.post('/v1/managed-tables/upload-from-url', {
      json,
      env: { ALLOW_PRIVATE_ISSUERS: 'false' },
    });
    expect(status).toBe(422);
  });

  it('fails when the server announces more than 5 GiB', async () => {
    expect(await readFailure({ url: createSource('huge').url })).toMatchObject({
      code: 'UPLOAD_TOO_LARGE',
      message: 'O arquivo do endereço passa do limite de 5 GiB.',
    });
  });

  /** Delivers the first message of a job under other limits. */
  async function fetchUnderLimits(jobId: string, limits: Partial<FetchLimits>): Promise<void> {
    const origin = { env, waitUntil: () => {}, correlationId: 'test', baseUrl: '', ip: null };
    const { context, close } = openContext(origin, { kind: 'system', companyId: company.id });
    const allLimits = { maxBytes: 5 * 1024 ** 3, silenceMs: 30_000, pieceMs: 300_000, ...limits };
    try {
      await workOnJob<FetchState>(context, { type: 'upload.analyse', jobId }, 'analisando', (work) =>
        fetchSource(work, allLimits),
      );
    } finally {
      await close();
    }
  }

  it('fails when more bytes arrive than the limit, without an announced length', async () => {
    const { jobId } = await beginUpload({ url: createSource('chunked', 100_000).url });
    await fetchUnderLimits(jobId, { maxBytes: 9_000_000 });
    expect((await readJob(company, jobId)).error).toMatchObject({ code: 'UPLOAD_TOO_LARGE' });
  });

  it.each(['mute', 'stuck'])('fails when the server is silent for 30 seconds: %s', async (behaviour) => {
    // Any other limit would be waited for in full.
    shortenPauses({ 30000: 700 });
    const startedAt = Date.now();
    const error = await readFailure({ url: createSource(behaviour, 20_000).url });
    expect(error).toMatchObject({ code: 'SOURCE_UNREACHABLE', message: expect.stringContaining('30 segundos') });
    expect(Date.now() - startedAt).toBeLessThan(20_000);
    expect(vi.mocked(setTimeout).mock.calls.map(([, delay]) => delay)).toContain(30_000);
  });

  it('fails when a piece of the file takes too long', async () => {
    const { jobId } = await beginUpload({ url: createSource('cut', ROW_COUNT).url });
    await fetchUnderLimits(jobId, { pieceMs: -1 });
    expect((await readJob(company, jobId)).error).toMatchObject({ code: 'SOURCE_UNREACHABLE' });
  });

  /** Creates a bucket of files that calls `beforePiece` before each piece that it stores. */
  const createFilesBucket = (beforePiece: (pieces: number) => Promise<void>) => {
    let pieceCount = 0;
    return {
      list: (options: R2ListOptions) => env.FILES.list(options),
      get: (key: string, options: R2GetOptions) => env.FILES.get(key, options),
      delete: (keys: string[]) => env.FILES.delete(keys),
      put: async (key: string, bytes: Uint8Array) => {
        await beforePiece(pieceCount++);
        return env.FILES.put(key, bytes);
      },
    };
  };

  it('continues after the last stored piece when its isolate dies', async () => {
    const source = createSource('plain', ROW_COUNT);
    const { jobId, queue } = await beginUpload({ url: source.url });
    const message = queue.messages.shift() as JobMessage;
    const FILES = createFilesBucket(async (pieces) => {
      if (pieces === 1) throw new Error('the isolate dies');
    });
    expect(await deliverMessage(message, { ...queue.env, FILES })).toBe('again');
    expect(await deliverMessage(message, queue.env)).toBe('done');
    expect((await source.asked()).map(({ range }) => range)).toEqual([null, `bytes=${8 * 1024 * 1024}-`]);
    await deliverAllMessages(queue);
    await expectCompleteUpload(await readJob(company, jobId), ROW_COUNT);
  });

  it('is fetched over several queue messages', async () => {
    const source = createSource('plain', ROW_COUNT);
    const { jobId, queue } = await beginUpload({ url: source.url });
    const message = queue.messages.shift() as JobMessage;
    await deliverMessage(message, { ...queue.env, UPLOAD_MESSAGE_BYTES: '1000' });
    expect(await readJob(company, jobId)).toMatchObject({
      status: 'analisando',
      progress: { bytes_processed: 8 * 1024 * 1024, bytes_total: makeCsv(ROW_COUNT).length },
    });
    expect(queue.messages).toHaveLength(1);
    await deliverAllMessages(queue);
    await expectCompleteUpload(await readJob(company, jobId), ROW_COUNT);
  });

  it('fails after twelve interrupted attempts', async () => {
    const { jobId, queue } = await beginUpload({ url: createSource('plain').url });
    const message = queue.messages.shift() as JobMessage;
    const FILES = createFilesBucket(async () => {
      throw new Error('the isolate dies');
    });
    for (let time = 0; time < 12; time += 1)
      expect(await deliverMessage(message, { ...queue.env, FILES })).toBe('again');
    expect(await deliverMessage(message, { ...queue.env, FILES })).toBe('done');
    expect(await readJob(company, jobId)).toMatchObject({ status: 'failed', error: { code: 'SOURCE_UNREACHABLE' } });
  });

  it.each([0, 1])('stops when its job is cancelled before piece %i is stored', async (piece) => {
    const { jobId, queue } = await beginUpload({ url: createSource('plain', ROW_COUNT).url });
    const FILES = createFilesBucket(async (pieces) => {
      if (pieces === piece) await cancelJob(company, jobId);
    });
    expect(await deliverMessage(queue.messages.shift() as JobMessage, { ...queue.env, FILES })).toBe('done');
    expect(await readJob(company, jobId)).toMatchObject({ status: 'failed', files: [], error: { code: 'CANCELLED' } });
    expect(queue.messages).toEqual([]);
  });

  it.each([0, 1])(
    'is fetched once when its queue message is delivered twice, before piece %i is stored',
    async (piece) => {
      const { jobId, queue } = await beginUpload({ url: createSource('plain', ROW_COUNT).url });
      const message = queue.messages.shift() as JobMessage;
      const FILES = createFilesBucket(async (pieces) => {
        if (pieces === piece) await deliverMessage(message, queue.env);
      });
      await deliverMessage(message, { ...queue.env, FILES });
      await deliverAllMessages(queue);
      await expectCompleteUpload(await readJob(company, jobId), ROW_COUNT);
    },
  );

  const readState = (jobId: string) =>
    queryDatabase(company, async (database) => {
      const rows = await database.query<{ all: string }>(
        'SELECT job::text AS all FROM console.upload_jobs AS job WHERE id = $1',
        [jobId],
      );
      return rows[0]?.all as string;
    });

  it('does not reveal the secrets of its URL, and deletes the URL once the file is fetched or has failed', async () => {
    const source = createSource('plain');
    const { jobId, queue } = await beginUpload({ url: `${source.url}?sig=GEHEIM#GEHEIM` });
    expect(await readState(jobId)).toContain('""address"":""v1:');
    expect(await readState(jobId)).not.toContain('GEHEIM');
    await deliverMessage(queue.messages.shift() as JobMessage, queue.env);
    expect(await readState(jobId)).not.toContain('address');
    expect(JSON.stringify(await readJob(company, jobId))).not.toContain('GEHEIM');
    const failedJob = await readFinishedJob({ url: `${createSource('status.404').url}?sig=GEHEIM` });
    expect(JSON.stringify(failedJob)).not.toContain('GEHEIM');
    expect(await readState(failedJob._id)).not.toContain('address');
  });

  it.each([
    ['plain', 'dados.csv', undefined, 'dados.csv'],
    ['plain', 'export.php', 'dados.CSV', 'dados.CSV'],
    ['plain', 'rela%C3%A7%C3%A3o.csv', undefined, 'relação.csv'],
    ['plain', '%E0%A4%A.csv', undefined, '%E0%A4%A.csv'],
    ['disposed', 'export.php', undefined, 'ventas ñ.csv'],
    ['typed', 'export.php', undefined, 'export.csv'],
    ['typed', '', undefined, 'arquivo.csv'],
  ])(
    'takes its file name from the request, the response headers or the URL: %s %s',
    async (behaviour, path, filename, name) => {
      const { url } = createSource(behaviour, 3, path);
      expect(
        (await readFinishedJob({ url, ...(filename !== undefined && { filename }) })).files[0]?.original_name,
      ).toBe(name);
    },
  );

  it('fails when neither the URL nor the response reveals the type of the file', async () => {
    const { url } = createSource('plain', 3, 'export.php');
    expect(await readFailure({ url })).toMatchObject({ code: 'UPLOAD_FILE_TYPE' });
  });

  it('is refused with an unknown file type, table options without a table, or an unknown table', async () => {
    const { url } = createSource('plain');
    const expectRefused = async (json: object) => {
      const { status, body } = await postUpload(json);
      return [status, body.error_code ?? body.details?.map(({ field }: { field: string }) => field)];
    };
    expect(await expectRefused({ url, filename: 'a.pdf' })).toEqual([422, 'UPLOAD_FILE_TYPE']);
    expect(await expectRefused({ url, filename: '' })).toEqual([422, 'UPLOAD_FILE_TYPE']);
    expect(await expectRefused({ url, mode: 'append' })).toEqual([422, expect.anything()]);
    expect(await expectRefused({ url, key: ['id'] })).toEqual([422, expect.anything()]);
    expect(await expectRefused({ url, evolve: 'add' })).toEqual([422, expect.anything()]);
    expect((await postUpload({ url, table_id: '0'.repeat(24) })).status).toBe(404);
    expect((await postUpload({ url, table_id: 'x' })).status).toBe(404);
  });
});
