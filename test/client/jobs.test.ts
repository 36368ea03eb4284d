import { beforeAll, describe, expect, it } from 'vitest';
import {
  createClient,
  type Job,
  type UploadJob,
  type UploadProgress,
  withKey,
  withSession,
  withToken,
} from '../../client/client.ts';
import type { JobMessage } from '../../src/platform/job-messages.ts';
import { BASE_URL } from '../support/api.ts';
import { aProvisionedCompany, type Company } from '../support/worlds.ts';
import { createHeldQueue, deliverMessage, uploadFiles } from '../uploads/support.ts';
import { toWorker } from './to-worker.ts';

let company: Company;
beforeAll(async () => {
  company = await aProvisionedCompany();
});

const person = (send = toWorker()) =>
  createClient({ baseUrl: BASE_URL, credential: withToken(company.token), fetch: send });

const aFile = (text: string, name = 'cities.csv') => new File([text], name, { type: 'text/csv' });
const CITIES = 'city,people\nLisboa,545\nPorto,232\n';

async function confirmed(api: ReturnType<typeof person>, job: UploadJob, name: string) {
  const { _id: jobId, inferred_schema } = job;
  const body = { display_name: name, columns: inferred_schema?.columns ?? [] };
  await api.post('/v1/managed-tables/upload-jobs/{jobId}/confirm', { params: { jobId }, body });
  return api.waitFor(job);
}

describe('an upload by the client', () => {
  it('reports its progress, and becomes a job that waits for confirmation, and then a table', async () => {
    const api = person();
    const told: UploadProgress[] = [];
    const content = `n\n${Array.from({ length: 60_000 }, (_, n) => `${n}\n`).join('')}`;
    const file = aFile(content, 'numbers.csv');
    const job = await api.upload(file, { onProgress: (progress) => told.push(progress) });
    expect(job).toMatchObject({ mode: 'create', files: [{ original_name: 'numbers.csv', size_bytes: file.size }] });
    expect([told[0], told.at(-1)]).toEqual([
      { sent: 0, total: file.size },
      { sent: file.size, total: file.size },
    ]);
    expect(told.map(({ sent }) => sent)).toEqual([...new Set(told.map(({ sent }) => sent))].toSorted((a, b) => a - b));

    const seen: string[] = [];
    const waiting = await api.waitFor(job, { onProgress: ({ status }) => seen.push(status) });
    expect([waiting.status, seen.at(-1)]).toEqual(['waiting_confirm', 'waiting_confirm']);
    const done = await confirmed(api, waiting, 'numbers');
    expect(done).toMatchObject({ status: 'done', progress: { rows_processed: 60_000 } });
  });

  it('goes into an existing table, with the given mode and key', async () => {
    const api = person();
    const made = await confirmed(api, await api.waitFor(await api.upload([aFile(CITIES)])), 'cities');
    const tableId = made.user_table_id as string;
    const job = await api.upload(aFile('city,people\nPorto,240\nFaro,67\n'), {
      tableId,
      mode: 'upsert',
      evolve: 'add',
      key: ['city'],
    });
    expect(job).toMatchObject({ user_table_id: tableId, mode: 'upsert', evolve: 'add', key: ['city'] });
    expect(await confirmed(api, await api.waitFor(job), 'cities')).toMatchObject({
      result: { inserted: 1, updated: 1 },
    });
  });

  it('of several files feeds one table', async () => {
    const api = person();
    const files = new Set([aFile(CITIES), aFile('city,people\nFaro,67\n', 'south.csv')]);
    expect((await api.waitFor(await api.upload(files))).inferred_schema?.total_row_count_estimate).toBe(3);
  });

  it('is refused with the error codes of the API', async () => {
    await expect(person().upload([])).rejects.toMatchObject({ status: 422, code: 'UPLOAD_NO_FILES' });
    await expect(person().upload(aFile('a', 'a.exe'))).rejects.toMatchObject({
      status: 422,
      code: 'UPLOAD_FILE_TYPE',
    });
    await expect(person().upload(aFile('a'), { tableId: 'f'.repeat(24) })).rejects.toMatchObject({ status: 404 });
  });

  it('is sent again when its token was refused, but not when there was no answer', async () => {
    const { slug, owner } = company;
    const body = { company_slug: slug, email: owner.email, password: owner.password };
    const answer = await createClient({ baseUrl: BASE_URL, fetch: toWorker() }).post('/v1/auth/login', { body });
    if (!('token' in answer)) throw new Error('A second factor is asked for.');
    let session: object | null = { ...answer, token: 'of.another.time' };
    const store = {
      read: () => session as never,
      write: (next: object | null) => {
        session = next;
      },
    };
    const api = createClient({ baseUrl: BASE_URL, credential: withSession({ store }), fetch: toWorker() });
    expect(await api.upload(aFile(CITIES))).toMatchObject({ files: [{ size_bytes: CITIES.length }] });

    let asked = 0;
    const dead = (async () => {
      asked += 1;
      throw new TypeError('the line is dead');
    }) as typeof fetch;
    await expect(person(dead).upload(aFile(CITIES))).rejects.toThrow('the line is dead');
    expect(asked).toBe(1);
  });

  describe('of a large file', () => {
    const large = () => {
      const line = `${'abcdefghi,'.repeat(99)}abcdefghi\n`;
      return new File(Array(52_500).fill(line), 'ventas ñ.csv', { type: 'text/csv' });
    };
    /** What the API is asked, which fails as it is told. */
    function line(failing: (patches: number) => 'lost' | 'answer lost' | undefined) {
      const asked: string[] = [];
      const send = toWorker({ ...createHeldQueue().env });
      const fetching = (async (url: string, init: RequestInit) => {
        const offset = new Headers(init.headers).get('upload-offset');
        asked.push([init.method, offset].filter(Boolean).join(' '));
        const how = init.method === 'PATCH' ? failing(asked.filter((each) => /^PATCH/.test(each)).length) : undefined;
        if (how === 'lost') throw new TypeError('the line is dead');
        const answer = await send(url, init);
        if (how === 'answer lost') throw new TypeError('the line is dead');
        return answer;
      }) as typeof fetch;
      return { api: person(fetching), asked };
    }

    it('is sent in parts, and resumes where it was interrupted', async () => {
      const file = large();
      const told: UploadProgress[] = [];
      const { api, asked } = line((patches) => (patches === 2 ? 'lost' : patches === 4 ? 'answer lost' : undefined));
      const job = await api.upload(file, { onProgress: (progress) => told.push(progress) });
      expect(job).toMatchObject({
        status: 'queued',
        files: [{ original_name: 'ventas ñ.csv', size_bytes: file.size, mime_type: 'text/csv' }],
      });
      const piece = 8 * 1024 * 1024;
      const [, ...offsets] = Array.from({ length: 7 }, (_, number) => number * piece);
      expect(told.map(({ sent }) => sent)).toEqual([0, ...offsets, file.size]);
      expect(asked).toEqual([
        'POST',
        'PATCH 0',
        `PATCH ${piece}`,
        'GET',
        `PATCH ${piece}`,
        `PATCH ${2 * piece}`,
        'GET',
        ...[3, 4, 5, 6].map((number) => `PATCH ${number * piece}`),
        'GET',
      ]);
    });

    it('is deleted when it is aborted, unless the caller has its id to resume it', async () => {
      const stop = new AbortController();
      const { api, asked } = line((patches) => {
        if (patches === 2) stop.abort(new Error('enough'));
        return undefined;
      });
      await expect(api.upload(large(), { signal: stop.signal })).rejects.toThrow('enough');
      expect(asked.at(-1)).toBe('DELETE');

      const later = new AbortController();
      const { api: first } = line((patches) => {
        if (patches === 2) later.abort(new Error('later'));
        return undefined;
      });
      let id = '';
      const onBegun = (begun: string) => {
        id = begun;
      };
      await expect(first.upload(large(), { signal: later.signal, onBegun })).rejects.toThrow('later');
      const { api: second, asked: then } = line(() => undefined);
      expect(await second.upload(large(), { resumeAt: id })).toMatchObject({ _id: id, status: 'queued' });
      expect(then[0]).toBe('GET');
      expect(then).not.toContain('PATCH 0');
    });

    it('may be read from its source part by part', async () => {
      const file = large();
      const { api, asked } = line(() => undefined);
      const slice = async (start: number, end: number) => file.slice(start, end);
      const job = await api.upload({ name: file.name, size: file.size, slice });
      expect(job.status).toBe('queued');
      expect(asked.filter((each) => each.startsWith('PATCH')).length).toBeGreaterThan(1);
    });

    it('fails if it has fewer bytes than the upload, also where that is resumed', async () => {
      const { api, asked } = line(() => undefined);
      let id = '';
      const onBegun = (begun: string) => {
        id = begun;
      };
      const bytes = new Blob(['a,b\n1,2\n3,4']);
      const file = { name: 'short.tsv', size: 100, slice: (start: number, end: number) => bytes.slice(start, end) };
      const message = '"short.tsv" has no more bytes after 11, but its upload is not complete';
      await expect(api.upload(file, { onBegun })).rejects.toThrow(message);
      await expect(api.upload({ ...file, size: 11 }, { resumeAt: id })).rejects.toThrow(message);
      expect(asked).toEqual(['POST', 'PATCH 0', 'PATCH 11', 'GET', 'PATCH 11']);
    });

    it('is refused with the error codes of the API', async () => {
      const file = new File([large()], 'a.exe');
      await expect(person().upload(file)).rejects.toMatchObject({ status: 422, code: 'UPLOAD_FILE_TYPE' });
    });
  });

  it('stops when its signal is aborted', async () => {
    const giving = new AbortController();
    const onProgress = () => giving.abort(new Error('enough'));
    const { signal } = giving;
    await expect(person().upload(aFile(CITIES), { onProgress, signal })).rejects.toThrow('enough');
  });
});

describe('waiting for a job', () => {
  /** Answers one after the other, the last for ever; and what was asked. */
  function answering(...answers: { body?: object; etag?: string; status?: number }[]) {
    const asked: { url: string; known: string | null; at: number }[] = [];
    const send = (async (url: string, { headers }: RequestInit) => {
      asked.push({
        url: url.slice(BASE_URL.length),
        known: new Headers(headers).get('if-none-match'),
        at: performance.now(),
      });
      const { body, etag, status = 200 } = answers[Math.min(asked.length, answers.length) - 1] ?? {};
      return new Response(body ? JSON.stringify(body) : null, {
        status,
        headers: { 'content-type': 'application/json', ...(etag && { etag }) },
      });
    }) as typeof fetch;
    return { asked, api: createClient({ baseUrl: BASE_URL, credential: withToken('t'), fetch: send }) };
  }

  it('polls only for changes, and reports each change', async () => {
    const job = { _id: 'a', files: [], status: 'queued' } as unknown as UploadJob;
    const { asked, api } = answering(
      { body: job, etag: '"1"' },
      { status: 304, etag: '"1"' },
      { body: { ...job, status: 'inserting' }, etag: '"2"' },
      { body: { ...job, status: 'failed' }, etag: '"3"' },
    );
    const told: string[] = [];
    const ended = await api.waitFor(job, { onProgress: ({ status }) => told.push(status) });
    expect([ended.status, told]).toEqual(['failed', ['queued', 'inserting', 'failed']]);
    expect(asked.map(({ url, known }) => [url.split('?')[1], known])).toEqual([
      [undefined, null],
      ['wait=20', '"1"'],
      ['wait=20', '"1"'],
      ['wait=20', '"2"'],
    ]);
    expect((asked[1]?.at ?? 0) - (asked[0]?.at ?? 0)).toBeGreaterThan(250);
  });

  it.each([
    [{ _id: 'a', files: [] }, '/v1/managed-tables/upload-jobs/a', 'waiting_confirm'],
    [{ job_id: 'a' }, '/data/jobs/a', 'succeeded'],
    [{ export_id: 'a' }, '/v1/company/exports/a', 'succeeded'],
    [{ _id: 'a', type: 'enrichment' }, '/api/v1/domain-knowledge/jobs/a', 'cancelled'],
    [{ _id: 'a', type: 'concept_generation' }, '/api/v1/domain-knowledge/concepts/generation/jobs/a', 'failed'],
    [{ _id: 'a', type: 'ontology_generation' }, '/api/v1/domain-knowledge/ontology/generation/jobs/a', 'succeeded'],
  ])('for %j polls %s until it is %s', async (job, path, status) => {
    const { asked, api } = answering({ body: { ...job, status } });
    expect(await api.waitFor(job as unknown as Job)).toEqual({ ...job, status });
    expect(asked.map(({ url }) => url)).toEqual([path]);
  });

  it('is one request to the API until the job has changed', async () => {
    const queue = createHeldQueue();
    const jobId = await uploadFiles(company, [aFile(CITIES)], queue);
    const looks: string[] = [];
    const send = toWorker();
    const watched = (async (url: string, init: RequestInit) => {
      looks.push(new URL(url).search);
      const at = looks.length - 1;
      const response = await send(url, init);
      looks[at] += ` ${response.status}`;
      return response;
    }) as typeof fetch;
    const waiting = person(watched).waitFor('/v1/managed-tables/upload-jobs/{jobId}', { params: { jobId } });
    await expect.poll(() => looks).toEqual([' 200', '?wait=20']);
    for (const message of queue.messages) await deliverMessage(message as JobMessage, queue.env);
    expect((await waiting).status).toBe('waiting_confirm');
    expect(new Set(looks.slice(1))).toEqual(new Set(['?wait=20 200']));
  });

  it('is possible by the path of a job, too', async () => {
    const { asked, api } = answering({ body: { status: 'running' } }, { body: { status: 'succeeded' } });
    const { status } = await api.waitFor('/data/jobs/{job_id}', { params: { job_id: 'b' } });
    expect([status, asked.map(({ url }) => url)]).toEqual(['succeeded', ['/data/jobs/b', '/data/jobs/b']]);
  });

  it('stops when its signal is aborted', async () => {
    const { asked, api } = answering({ body: { status: 'running' } });
    const giving = new AbortController();
    const onProgress = () => giving.abort(new Error('enough'));
    await expect(api.waitFor({ job_id: 'a' }, { onProgress, signal: giving.signal })).rejects.toThrow('enough');
    expect(asked).toHaveLength(1);
  });

  it('fails with 404 for an unknown job', async () => {
    const robot = createClient({ baseUrl: BASE_URL, credential: withKey(company.apiKey), fetch: toWorker() });
    await expect(robot.waitFor({ job_id: 'f'.repeat(24) })).rejects.toMatchObject({ status: 404 });
  });
});

// What is answered is known.
const _typed = async (api: ReturnType<typeof createClient>, job: UploadJob) => {
  (await api.waitFor(job)).inferred_schema?.columns;
  (await api.waitFor(await api.post('/data/{slug}/jobs', { params: { slug: '' } }))).url;
  // @ts-expect-error a list is no job
  api.waitFor('/accounts', {});
  // @ts-expect-error a mode is one of three
  api.upload([], { mode: 'merge' });
};
