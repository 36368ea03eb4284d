import { describe, expect, it, vi } from 'vitest';
import {
  createClient,
  type Job,
  type UploadJob,
  type UploadProgress,
  withKey,
  withSession,
  withToken,
} from '../../client/client.ts';
import { createFormSender } from '../../client/upload.ts';
import type { JobMessage } from '../../src/platform/job-messages.ts';
import { BASE_URL } from '../support/api.ts';
import { createProvisionedCompany } from '../support/companies.ts';
import { replaceDelays } from '../support/timers.ts';
import { createTestQueue, deliverMessage, uploadFiles } from '../uploads/support.ts';
import { createWorkerFetch } from './worker-fetch.ts';

const company = await createProvisionedCompany();

const createTokenClient = (send = createWorkerFetch()) =>
  createClient({ baseUrl: BASE_URL, credential: withToken(company.token), fetch: send });

const makeCsvFile = (text: string, name = 'cities.csv') => new File([text], name, { type: 'text/csv' });
const CITIES_CSV = 'city,people\nLisboa,545\nPorto,232\n';

async function confirmUpload(api: ReturnType<typeof createTokenClient>, job: UploadJob, name: string) {
  const { _id: jobId, inferred_schema } = job;
  const body = { display_name: name, columns: inferred_schema?.columns ?? [] };
  await api.post('/v1/managed-tables/upload-jobs/{jobId}/confirm', { params: { jobId }, body });
  return api.waitFor(job);
}

describe('an upload by the client', () => {
  it('reports its progress, and becomes a job that waits for confirmation, and then a table', async () => {
    const api = createTokenClient();
    const progressReports: UploadProgress[] = [];
    const content = `n\n${Array.from({ length: 60_000 }, (_, n) => `${n}\n`).join('')}`;
    const file = makeCsvFile(content, 'numbers.csv');
    const job = await api.upload(file, { onProgress: (progress) => progressReports.push(progress) });
    expect(job).toMatchObject({ mode: 'create', files: [{ original_name: 'numbers.csv', size_bytes: file.size }] });
    expect([progressReports[0], progressReports.at(-1)]).toEqual([
      { sent: 0, total: file.size },
      { sent: file.size, total: file.size },
    ]);
    expect(progressReports.map(({ sent }) => sent)).toEqual(
      [...new Set(progressReports.map(({ sent }) => sent))].toSorted((a, b) => a - b),
    );

    const reportedStatuses: string[] = [];
    const waitingJob = await api.waitFor(job, { onProgress: ({ status }) => reportedStatuses.push(status) });
    expect([waitingJob.status, reportedStatuses.at(-1)]).toEqual(['waiting_confirm', 'waiting_confirm']);
    const doneJob = await confirmUpload(api, waitingJob, 'numbers');
    expect(doneJob).toMatchObject({ status: 'done', progress: { rows_processed: 60_000 } });
  });

  it('goes into an existing table, with the given mode and key', async () => {
    const api = createTokenClient();
    const createdJob = await confirmUpload(
      api,
      await api.waitFor(await api.upload([makeCsvFile(CITIES_CSV)])),
      'cities',
    );
    const tableId = createdJob.user_table_id as string;
    const job = await api.upload(makeCsvFile('city,people\nPorto,240\nFaro,67\n'), {
      tableId,
      mode: 'upsert',
      evolve: 'add',
      key: ['city'],
    });
    expect(job).toMatchObject({ user_table_id: tableId, mode: 'upsert', evolve: 'add', key: ['city'] });
    expect(await confirmUpload(api, await api.waitFor(job), 'cities')).toMatchObject({
      result: { inserted: 1, updated: 1 },
    });
  });

  it('of several files feeds one table', async () => {
    const api = createTokenClient();
    const files = new Set([makeCsvFile(CITIES_CSV), makeCsvFile('city,people\nFaro,67\n', 'south.csv')]);
    expect((await api.waitFor(await api.upload(files))).inferred_schema?.total_row_count_estimate).toBe(3);
  });

  it('is refused with the error codes of the API', async () => {
    await expect(createTokenClient().upload([])).rejects.toMatchObject({ status: 422, code: 'UPLOAD_NO_FILES' });
    await expect(createTokenClient().upload(makeCsvFile('a', 'a.exe'))).rejects.toMatchObject({
      status: 422,
      code: 'UPLOAD_FILE_TYPE',
    });
    await expect(createTokenClient().upload(makeCsvFile('a'), { tableId: 'f'.repeat(24) })).rejects.toMatchObject({
      status: 404,
    });
  });

  it('is sent again when its token was refused, but not when the request got no answer', async () => {
    const { slug, owner } = company;
    const body = { company_slug: slug, email: owner.email, password: owner.password };
    const answer = await createClient({ baseUrl: BASE_URL, fetch: createWorkerFetch() }).post('/v1/auth/login', {
      body,
    });
    if (!('token' in answer)) throw new Error('A second factor is asked for.');
    let session: object | null = { ...answer, token: 'of.another.time' };
    const store = {
      read: () => session as never,
      write: (next: object | null) => {
        session = next;
      },
    };
    const api = createClient({ baseUrl: BASE_URL, credential: withSession({ store }), fetch: createWorkerFetch() });
    expect(await api.upload(makeCsvFile(CITIES_CSV))).toMatchObject({ files: [{ size_bytes: CITIES_CSV.length }] });

    let requestCount = 0;
    const failConnection = (async () => {
      requestCount += 1;
      throw new TypeError('the line is dead');
    }) as typeof fetch;
    await expect(createTokenClient(failConnection).upload(makeCsvFile(CITIES_CSV))).rejects.toThrow('the line is dead');
    expect(requestCount).toBe(1);
  });

  describe('of a large file', () => {
    const makeFile = (lineCount: number, name: string) => {
      const line = `${'abcdefghi,'.repeat(99)}abcdefghi\n`;
      return new File(Array(lineCount).fill(line), name, { type: 'text/csv' });
    };
    const makeLargeFile = () => makeFile(52_500, 'ventas ñ.csv');
    /** Creates a file of three parts, which is sent like a large one because forms accept no such name. */
    const makeSmallerFile = () => makeFile(18_000, 'ventas.tsv');
    /** Creates a client whose connection fails as `chooseFailure` says for each PATCH, and the list of its requests. */
    function line(chooseFailure: (patchCount: number) => 'lost' | 'answer lost' | 'limited' | undefined) {
      const sentRequests: string[] = [];
      const send = createWorkerFetch({ ...createTestQueue().env });
      const sendOrFail = (async (url: string, init: RequestInit) => {
        const offset = new Headers(init.headers).get('upload-offset');
        sentRequests.push([init.method, offset].filter(Boolean).join(' '));
        const failure =
          init.method === 'PATCH'
            ? chooseFailure(sentRequests.filter((sentRequest) => /^PATCH/.test(sentRequest)).length)
            : undefined;
        if (failure === 'lost') throw new TypeError('the line is dead');
        if (failure === 'limited')
          return Response.json({ error: 'RATE_LIMIT_EXCEEDED' }, { status: 429, headers: { 'retry-after': '21' } });
        const answer = await send(url, init);
        if (failure === 'answer lost') throw new TypeError('the line is dead');
        return answer;
      }) as typeof fetch;
      return { api: createTokenClient(sendOrFail), asked: sentRequests };
    }

    it('is sent in parts, and resumes where it was interrupted', async () => {
      const file = makeLargeFile();
      const progressReports: UploadProgress[] = [];
      const { api, asked } = line((patchCount) =>
        patchCount === 2 ? 'lost' : patchCount === 4 ? 'answer lost' : undefined,
      );
      const job = await api.upload(file, { onProgress: (progress) => progressReports.push(progress) });
      expect(job).toMatchObject({
        status: 'queued',
        files: [{ original_name: 'ventas ñ.csv', size_bytes: file.size, mime_type: 'text/csv' }],
      });
      const PART_BYTES = 8 * 1024 * 1024;
      const [, ...offsets] = Array.from({ length: 7 }, (_, number) => number * PART_BYTES);
      expect(progressReports.map(({ sent }) => sent)).toEqual([0, ...offsets, file.size]);
      expect(asked).toEqual([
        'POST',
        'PATCH 0',
        `PATCH ${PART_BYTES}`,
        'GET',
        `PATCH ${PART_BYTES}`,
        `PATCH ${2 * PART_BYTES}`,
        'GET',
        ...[3, 4, 5, 6].map((number) => `PATCH ${number * PART_BYTES}`),
        'GET',
      ]);
    });

    it('waits as long as a 429 says, also longer than other requests do', async () => {
      replaceDelays({ 21000: 0 });
      const { api, asked } = line((patchCount) => (patchCount === 2 ? 'limited' : undefined));
      expect((await api.upload(makeSmallerFile())).status).toBe('queued');
      expect(asked.slice(3, 5)).toEqual(['GET', asked[2]]);
      expect(setTimeout).toHaveBeenCalledWith(expect.any(Function), 21_000);
    });

    it('is deleted when it is aborted, unless the caller has its id to resume it', async () => {
      const abortController = new AbortController();
      const { api, asked } = line((patchCount) => {
        if (patchCount === 2) abortController.abort(new Error('enough'));
        return undefined;
      });
      await expect(api.upload(makeSmallerFile(), { signal: abortController.signal })).rejects.toThrow('enough');
      expect(asked.at(-1)).toBe('DELETE');

      const laterController = new AbortController();
      const { api: first } = line((patchCount) => {
        if (patchCount === 2) laterController.abort(new Error('later'));
        return undefined;
      });
      let id = '';
      const onUploadStarted = (uploadId: string) => {
        id = uploadId;
      };
      await expect(
        first.upload(makeSmallerFile(), { signal: laterController.signal, onBegun: onUploadStarted }),
      ).rejects.toThrow('later');
      const { api: secondClient, asked: secondRequests } = line(() => undefined);
      expect(await secondClient.upload(makeSmallerFile(), { resumeAt: id })).toMatchObject({
        _id: id,
        status: 'queued',
      });
      expect(secondRequests[0]).toBe('GET');
      expect(secondRequests).not.toContain('PATCH 0');
    });

    it('may be read from its source in parts', async () => {
      const file = makeSmallerFile();
      const { api, asked } = line(() => undefined);
      const slice = async (start: number, end: number) => file.slice(start, end);
      const job = await api.upload({ name: file.name, size: file.size, slice });
      expect(job.status).toBe('queued');
      expect(asked.filter((request) => request.startsWith('PATCH')).length).toBeGreaterThan(1);
    });

    it('fails if it has fewer bytes than announced, also when the upload is resumed', async () => {
      const { api, asked } = line(() => undefined);
      let id = '';
      const onUploadStarted = (uploadId: string) => {
        id = uploadId;
      };
      const bytes = new Blob(['a,b\n1,2\n3,4']);
      const file = { name: 'short.tsv', size: 100, slice: (start: number, end: number) => bytes.slice(start, end) };
      const message = '"short.tsv" has no more bytes after 11, but its upload is not complete';
      await expect(api.upload(file, { onBegun: onUploadStarted })).rejects.toThrow(message);
      await expect(api.upload({ ...file, size: 11 }, { resumeAt: id })).rejects.toThrow(message);
      expect(asked).toEqual(['POST', 'PATCH 0', 'PATCH 11', 'GET', 'PATCH 11']);
    });

    it('is refused with the error codes of the API', async () => {
      const file = new File([makeLargeFile()], 'a.exe');
      await expect(createTokenClient().upload(file)).rejects.toMatchObject({ status: 422, code: 'UPLOAD_FILE_TYPE' });
    });
  });

  it('stops when its signal is aborted', async () => {
    const abortController = new AbortController();
    const abortUpload = () => abortController.abort(new Error('enough'));
    const { signal } = abortController;
    await expect(
      createTokenClient().upload(makeCsvFile(CITIES_CSV), { onProgress: abortUpload, signal }),
    ).rejects.toThrow('enough');
  });

  it('by XMLHttpRequest leaves no listener on its signal, and aborts its request with that', async () => {
    class FakeXhr {
      static readonly sent: FakeXhr[] = [];
      status = 202;
      response = new Blob(['{}']);
      upload = {};
      onload = () => {};
      open = () => {};
      setRequestHeader = () => {};
      getAllResponseHeaders = () => '';
      send = () => FakeXhr.sent.push(this);
      abort = vi.fn();
    }
    vi.stubGlobal('XMLHttpRequest', FakeXhr);
    const sendForm = createFormSender(fetch, true);
    vi.unstubAllGlobals();
    const abortController = new AbortController();
    const { signal } = abortController;
    const added = vi.spyOn(signal, 'addEventListener');
    const removed = vi.spyOn(signal, 'removeEventListener');
    const formRequest = { headers: new Headers(), form: new FormData(), signal };
    const answered = sendForm(BASE_URL, formRequest);
    FakeXhr.sent[0]?.onload();
    expect((await answered).status).toBe(202);
    expect(added).toHaveBeenCalled();
    expect(removed.mock.calls).toEqual(added.mock.calls);

    const aborted = sendForm(BASE_URL, formRequest);
    abortController.abort(new Error('enough'));
    await expect(aborted).rejects.toThrow('enough');
    expect(FakeXhr.sent[1]?.abort).toHaveBeenCalled();
  });
});

describe('waiting for a job', () => {
  /** Creates a client that gets the given answers one after the other, the last one for ever, and the list of its requests. */
  function createAnsweredClient(...answers: { body?: object; etag?: string; status?: number }[]) {
    const sentRequests: { url: string; knownEtag: string | null; sentAt: number }[] = [];
    const send = (async (url: string, { headers }: RequestInit) => {
      sentRequests.push({
        url: url.slice(BASE_URL.length),
        knownEtag: new Headers(headers).get('if-none-match'),
        sentAt: performance.now(),
      });
      const { body, etag, status = 200 } = answers[Math.min(sentRequests.length, answers.length) - 1] ?? {};
      return new Response(body ? JSON.stringify(body) : null, {
        status,
        headers: { 'content-type': 'application/json', ...(etag && { etag }) },
      });
    }) as typeof fetch;
    return { asked: sentRequests, api: createClient({ baseUrl: BASE_URL, credential: withToken('t'), fetch: send }) };
  }

  it('polls only for changes, and reports each change', async () => {
    const queuedJob = { _id: 'a', files: [], status: 'queued' } as unknown as UploadJob;
    const { asked, api } = createAnsweredClient(
      { body: queuedJob, etag: '"1"' },
      { status: 304, etag: '"1"' },
      { body: { ...queuedJob, status: 'inserting' }, etag: '"2"' },
      { body: { ...queuedJob, status: 'failed' }, etag: '"3"' },
    );
    const reportedStatuses: string[] = [];
    const finishedJob = await api.waitFor(queuedJob, { onProgress: ({ status }) => reportedStatuses.push(status) });
    expect([finishedJob.status, reportedStatuses]).toEqual(['failed', ['queued', 'inserting', 'failed']]);
    expect(asked.map(({ url, knownEtag }) => [url.split('?')[1], knownEtag])).toEqual([
      [undefined, null],
      ['wait=20', '"1"'],
      ['wait=20', '"1"'],
      ['wait=20', '"2"'],
    ]);
    expect((asked[1]?.sentAt ?? 0) - (asked[0]?.sentAt ?? 0)).toBeGreaterThan(250);
  });

  it.each([
    [{ _id: 'a', files: [] }, '/v1/managed-tables/upload-jobs/a', 'waiting_confirm'],
    [{ job_id: 'a' }, '/data/jobs/a', 'succeeded'],
    [{ export_id: 'a' }, '/v1/company/exports/a', 'succeeded'],
    [{ _id: 'a', type: 'enrichment' }, '/api/v1/domain-knowledge/jobs/a', 'cancelled'],
    [{ _id: 'a', type: 'concept_generation' }, '/api/v1/domain-knowledge/concepts/generation/jobs/a', 'failed'],
    [{ _id: 'a', type: 'ontology_generation' }, '/api/v1/domain-knowledge/ontology/generation/jobs/a', 'succeeded'],
  ])('of %j polls %s until the job is %s', async (job, path, status) => {
    const { asked, api } = createAnsweredClient({ body: { ...job, status } });
    expect(await api.waitFor(job as unknown as Job)).toEqual({ ...job, status });
    expect(asked.map(({ url }) => url)).toEqual([path]);
  });

  it('is one request to the API until the job has changed', async () => {
    const queue = createTestQueue();
    const jobId = await uploadFiles(company, [makeCsvFile(CITIES_CSV)], queue);
    const pollRequests: string[] = [];
    const send = createWorkerFetch();
    const recordAndSend = (async (url: string, init: RequestInit) => {
      pollRequests.push(new URL(url).search);
      const at = pollRequests.length - 1;
      const response = await send(url, init);
      pollRequests[at] += ` ${response.status}`;
      return response;
    }) as typeof fetch;
    const pendingWait = createTokenClient(recordAndSend).waitFor('/v1/managed-tables/upload-jobs/{jobId}', {
      params: { jobId },
    });
    await expect.poll(() => pollRequests).toEqual([' 200', '?wait=20']);
    for (const message of queue.messages) await deliverMessage(message as JobMessage, queue.env);
    expect((await pendingWait).status).toBe('waiting_confirm');
    expect(new Set(pollRequests.slice(1))).toEqual(new Set(['?wait=20 200']));
  });

  it('is possible by the path of a job instead of the job itself', async () => {
    const { asked, api } = createAnsweredClient({ body: { status: 'running' } }, { body: { status: 'succeeded' } });
    const { status } = await api.waitFor('/data/jobs/{job_id}', { params: { job_id: 'b' } });
    expect([status, asked.map(({ url }) => url)]).toEqual(['succeeded', ['/data/jobs/b', '/data/jobs/b']]);
  });

  it('stops when its signal is aborted', async () => {
    const { asked, api } = createAnsweredClient({ body: { status: 'running' } });
    const abortController = new AbortController();
    const abortWait = () => abortController.abort(new Error('enough'));
    await expect(
      api.waitFor({ job_id: 'a' }, { onProgress: abortWait, signal: abortController.signal }),
    ).rejects.toThrow('enough');
    expect(asked).toHaveLength(1);
  });

  it('fails with 404 for an unknown job', async () => {
    const keyClient = createClient({
      baseUrl: BASE_URL,
      credential: withKey(company.apiKey),
      fetch: createWorkerFetch(),
    });
    await expect(keyClient.waitFor({ job_id: 'f'.repeat(24) })).rejects.toMatchObject({ status: 404 });
  });
});

// What is answered is known.
const _checkTypes = async (api: ReturnType<typeof createClient>, job: UploadJob) => {
  (await api.waitFor(job)).inferred_schema?.columns;
  (await api.waitFor(await api.post('/data/{slug}/jobs', { params: { slug: '' } }))).url;
  // @ts-expect-error a list is no job
  api.waitFor('/accounts', {});
  // @ts-expect-error a mode is one of three
  api.upload([], { mode: 'merge' });
};
