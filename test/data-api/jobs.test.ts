import { env } from 'cloudflare:test';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { JOB_LIMITS, writeResult } from '../../src/modules/data-api/jobs.ts';
import type { JobMessage } from '../../src/platform/job-messages.ts';
import { call } from '../support/api.ts';
import { advanceClock, resetClock, runScheduled } from '../support/clock.ts';
import { inContext } from '../support/context.ts';
import { selectRow, sendOvertaken } from '../support/rival.ts';
import { allow, aServiceAccountThat, must, type ServiceAccount, withServiceToken } from '../support/signed.ts';
import { aProvisionedCompany, type Company } from '../support/worlds.ts';
import { createHeldQueue, deliverMessage } from '../uploads/support.ts';
import { parameter, someSales } from '../visualizations/support.ts';
import { aPublished, aReader, ENDPOINTS_PATH } from './support.ts';

let company: Company;
let reader: ServiceAccount;
beforeAll(async () => {
  company = await aProvisionedCompany();
  await someSales(company);
  reader = await aReader(company, 'data_api:get_job');
});
afterEach(resetClock);

/** A queue that keeps the messages of jobs until the test delivers them. */
function aQueue() {
  const { messages, env: held } = createHeldQueue();
  return { messages, env: { DATA_JOBS: held.JOBS } as unknown as Record<string, string> };
}

/** A job that waits for its message to be delivered. */
async function aJob(sql: string, json: Record<string, unknown> = {}, parameters: object[] = [], of = company) {
  const { _id, slug, visualization_id } = await aPublished(of, sql, { parameters });
  const queue = aQueue();
  const { as } = of === company ? reader : await aReader(of);
  const { job_id } = await must(as.post(`/data/${slug}/jobs`, { json, env: queue.env }));
  const message = queue.messages[0] as JobMessage;
  return {
    id: job_id as string,
    message,
    slug,
    endpointId: _id as string,
    visualizationId: visualization_id as string,
  };
}

/** A job whose result is written, and a link to it. */
async function aResult() {
  const made = await aJob('SELECT 1 AS one');
  await deliverMessage(made.message);
  return { ...made, url: (await jobOf(made.id)).url as string };
}

const jobOf = async (id: string) => must(reader.as.get(`/data/jobs/${id}`));
const download = async (url: string) => call('GET', url.replace('https://api.test', ''));
const objectsOf = async (id: string): Promise<string[]> =>
  (await env.FILES.list({ prefix: `data-results/${company.id}/${id}/` })).objects.map(({ key }) => key);

const LINES = 30_000;
const MANY = `SELECT n, repeat('x', 300) AS text FROM generate_series(1, ${LINES}) AS n`;
/** A number in each row, which a repetition or an omission would change. */
const numbersIn = (csv: string): number[] =>
  csv
    .trim()
    .split('\r\n')
    .slice(1)
    .map((line) => Number.parseInt(line, 10));
const inOrder = Array.from({ length: LINES }, (_, index) => index + 1);

describe('a job of the Data API', () => {
  it('writes a result that exceeds the limits of a response, by way of the queue', async () => {
    const { slug } = await aPublished(company, MANY);
    const { status, body } = await reader.as.post(`/data/${slug}/jobs`, { json: { format: 'csv' } });
    expect([status, body]).toEqual([202, { job_id: expect.any(String), status: 'queued' }]);
    let job = await jobOf(body.job_id);
    for (let tries = 0; tries < 200 && !['succeeded', 'failed'].includes(job.status); tries += 1) {
      await new Promise((resolve) => setTimeout(resolve, 100));
      job = await jobOf(body.job_id);
    }
    expect(job).toMatchObject({ job_id: body.job_id, status: 'succeeded', row_count: LINES, error: null });
    const { body: csv, headers } = await download(job.url);
    expect(headers.get('content-disposition')).toBe(`attachment; filename="${slug}.csv"; filename*=UTF-8''${slug}.csv`);
    expect([csv.length, numbersIn(csv)]).toEqual([job.bytes, inOrder]);
    // Of more than one object.
    expect((await objectsOf(body.job_id)).length).toBeGreaterThan(1);
  });

  it('writes each format, with the parameters of its request body', async () => {
    const sql =
      'SELECT region, amount FROM sales WHERE region = ANY({{regions}}) AND amount > {{least}} ORDER BY amount';
    const parameters = [parameter('regions', 'multi_select'), parameter('least', 'number')];
    const results: unknown[] = [];
    for (const format of ['json', 'ndjson', 'csv']) {
      const sent = { regions: ['north', 'east'], least: 10.5 };
      const { id, message } = await aJob(sql, { format, parameters: sent }, parameters);
      expect(await deliverMessage(message)).toBe('done');
      results.push((await download((await jobOf(id)).url)).body);
    }
    expect(results).toEqual([
      {
        columns: [
          { name: 'region', type: 'text' },
          { name: 'amount', type: 'decimal' },
        ],
        rows: [
          ['north', 20],
          ['east', 60],
        ],
        row_count: 2,
        truncated: false,
      },
      '{"region":"north","amount":20}\n{"region":"east","amount":60}\n',
      'region,amount\r\nnorth,20\r\neast,60\r\n',
    ]);
    const { id, message } = await aJob('SELECT 1 AS one WHERE false', { format: 'ndjson' });
    await deliverMessage(message);
    const job = await jobOf(id);
    expect([job.row_count, job.bytes, (await download(job.url)).body]).toEqual([0, 0, '']);
  });

  it.each([
    [
      'long rows after many short ones',
      `SELECT n, repeat('x', CASE WHEN n > 20000 THEN 2500 ELSE 1 END) AS text FROM generate_series(1, 30000) AS n`,
    ],
    ['long rows from the first on', `SELECT n, repeat('x', 200000) AS text FROM generate_series(1, 100) AS n`],
  ])('writes %s, each row once', async (_, sql) => {
    const { id, message } = await aJob(sql, { format: 'csv' });
    expect(await deliverMessage(message)).toBe('done');
    const { status, row_count, bytes, url } = await jobOf(id);
    expect(status).toBe('succeeded');
    const { body } = await download(url);
    expect([numbersIn(body), body.length]).toEqual([inOrder.slice(0, row_count), bytes]);
    expect(row_count).toBe(sql.includes('30000') ? 30_000 : 100);
  });

  it('is limited to ten million rows, 5 GiB and ten minutes', () => {
    expect(JOB_LIMITS).toEqual({ rows: 10_000_000, bytes: 5 * 2 ** 30, milliseconds: 10 * 60_000 });
  });

  it('is created once per idempotency key, by signed request or service token', async () => {
    const { slug } = await aPublished(company, 'SELECT 1 AS one');
    const sending = { headers: { 'idempotency-key': 'one-job' }, json: {}, env: aQueue().env };
    const path = `/data/${slug}/jobs`;
    const answers = [await reader.as.post(path, sending), await (await withServiceToken(reader)).post(path, sending)];
    expect(answers.map(({ headers }) => headers.get('idempotency-replayed'))).toEqual([null, 'true']);
    expect(answers[1]?.body).toEqual(answers[0]?.body);
  });

  it('is refused with an invalid body before it is queued', async () => {
    const { slug } = await aPublished(company, 'SELECT {{n}}::numeric', { parameters: [parameter('n', 'number')] });
    for (const [json, field] of [
      [{ format: 'xlsx' }, 'format'],
      [{ parameters: { n: 'many' } }, 'parameters.n'],
      [{ parameters: { nope: 1 } }, 'parameters.nope'],
      [{ parameters: [] }, 'parameters'],
    ] as const) {
      const { status, body } = await reader.as.post(`/data/${slug}/jobs`, { json });
      expect([status, body.details?.[0]?.field]).toEqual([422, field]);
    }
  });

  it('reports that its query failed, without the database’s message', async () => {
    for (const sql of [
      'SELECT secret_column FROM sales',
      'SELECT 1 / (n - 20000) FROM generate_series(1, 30000) AS n',
    ]) {
      const { id, message } = await aJob(sql);
      expect(await deliverMessage(message)).toBe('done');
      const job = await jobOf(id);
      expect(job).toMatchObject({ status: 'failed', error: 'The query failed.', url: null, expires_at: null });
      expect(await objectsOf(id)).toEqual([]);
    }
  });

  it.each([
    [{ rows: LINES - 1 }, `The result has more than ${LINES - 1} rows.`],
    [{ bytes: 1_000_000 }, 'The result has more than 1000000 bytes.'],
    [{ milliseconds: 1 }, 'The query took too long.'],
  ])('fails beyond %o, and leaves no file', async (limit, error) => {
    const { id } = await aJob(
      `SELECT * FROM (${MANY}) AS many, (SELECT count(*) FROM generate_series(1, 300000)) AS work`,
    );
    await inContext({ kind: 'system', companyId: company.id }, (ctx) =>
      writeResult(ctx, id, { ...JOB_LIMITS, ...limit }),
    );
    expect(await jobOf(id)).toMatchObject({ status: 'failed', error });
    expect(await objectsOf(id)).toEqual([]);
  });
});

describe('the result of a Data API job', () => {
  const statusesOf = async ({ id, url }: { id: string; url: string }) => [
    (await reader.as.get(`/data/jobs/${id}`)).status,
    (await download(url)).status,
  ];

  it('is refused to a caller whom no policy allows to execute the endpoint', async () => {
    const { id } = await aResult();
    const { as } = await aServiceAccountThat(company, allow('data_api:get_job'));
    expect((await as.get(`/data/jobs/${id}`)).status).toBe(403);
    expect((await as.get(`/data/jobs/${'f'.repeat(24)}`)).status).toBe(404);
  });

  it('is not found while its endpoint is inactive or publishes another visualization', async () => {
    const made = await aResult();
    const change = (json: object) => must(company.as.put(`${ENDPOINTS_PATH}/${made.endpointId}`, { json }));
    await change({ status: 'inactive' });
    expect(await statusesOf(made)).toEqual([404, 404]);
    await change({ status: 'active' });
    expect(await statusesOf(made)).toEqual([200, 200]);
    const { visualization_id } = await aPublished(company, 'SELECT 2 AS two');
    await change({ visualization_id });
    expect(await statusesOf(made)).toEqual([404, 404]);
  });

  it('is not found once its endpoint is deleted', async () => {
    const made = await aResult();
    expect(await statusesOf(made)).toEqual([200, 200]);
    await must(company.as.delete(`${ENDPOINTS_PATH}/${made.endpointId}`));
    expect(await statusesOf(made)).toEqual([404, 404]);
  });
});

describe('the download link of a Data API result', () => {
  it('is new for each request, and works for an hour', async () => {
    const { id, message } = await aJob('SELECT 1 AS one');
    await deliverMessage(message);
    const [one, other] = [await jobOf(id), await jobOf(id)];
    expect(one.url).not.toBe(other.url);
    const left = Date.parse(one.expires_at) - Date.now();
    expect(left).toBeGreaterThan(3_590_000);
    expect(left).toBeLessThanOrEqual(3_600_000);
    advanceClock(left - 2_000);
    expect((await download(one.url)).body.rows).toEqual([[1]]);
    advanceClock(left + 1_000);
    expect((await download(one.url)).status).toBe(401);
  });

  it('works no longer than the result is stored', async () => {
    const { id, message } = await aJob('SELECT 1 AS one');
    await deliverMessage(message);
    const madeBefore = (ms: number) =>
      env.CONTROL_DB.prepare('UPDATE data_jobs SET created_at = ? WHERE id = ?')
        .bind(Date.now() - ms, id)
        .run();
    await madeBefore(23.5 * 3600_000);
    expect(Date.parse((await jobOf(id)).expires_at) - Date.now()).toBeLessThanOrEqual(1_801_000);
    await madeBefore(24 * 3600_000);
    expect((await reader.as.get(`/data/jobs/${id}`)).status).toBe(404);
  });

  it('is refused when it is changed or has another kind of token, and is no session itself', async () => {
    const { id, message } = await aJob('SELECT 1 AS one');
    await deliverMessage(message);
    const { url } = await jobOf(id);
    expect((await download(`${url.slice(0, -4)}AAAA`)).status).toBe(401);
    const { token } = await must(reader.as.post('/tokens'));
    expect((await download(`/data/results/${token}`)).status).toBe(401);
    const result = url.split('/').at(-1);
    expect((await call('GET', '/v1/auth/me', { headers: { authorization: `Bearer ${result}` } })).status).toBe(401);
  });

  it('leads to 404 a day later, when the result and its job are deleted', async () => {
    const { id, message } = await aJob('SELECT 1 AS one');
    await deliverMessage(message);
    const { url } = await jobOf(id);
    advanceClock(23 * 3600_000);
    await runScheduled();
    resetClock();
    expect((await download(url)).status).toBe(200);
    advanceClock(24 * 3600_000 + 60_000);
    await runScheduled();
    expect(await objectsOf(id)).toEqual([]);
    resetClock();
    expect((await reader.as.get(`/data/jobs/${id}`)).status).toBe(404);
    expect((await download(url)).status).toBe(404);
  });
});

describe('the processing of a Data API job', () => {
  const SUCCEEDED = /^update "data_jobs" set .*"row_count" = \?/;

  it('writes one result when its message is delivered twice at the same time', async () => {
    const { id, message } = await aJob(MANY, { format: 'csv' });
    await sendOvertaken(
      SUCCEEDED,
      async () => expect(await deliverMessage(message)).toBe('done'),
      (watched) => deliverMessage(message, watched),
    );
    expect(await jobOf(id)).toMatchObject({ status: 'succeeded', row_count: LINES });
    expect(await selectRow('select attempt from data_jobs where id = ?', id)).toEqual({ attempt: 1 });
    expect(await deliverMessage(message)).toBe('done');
    expect(numbersIn((await download((await jobOf(id)).url)).body)).toEqual(inOrder);
  });

  it('is started again after an interruption, and leaves no file of the first attempt', async () => {
    const { id, message } = await aJob(MANY, { format: 'csv' });
    await env.CONTROL_DB.prepare("update data_jobs set status = 'running', attempt = 1, due_at = ?2 where id = ?1")
      .bind(id, Date.now() + 60_000)
      .run();
    await env.FILES.put(`data-results/${company.id}/${id}/1/0`, 'half a result');
    // As long as it may still be at work, it is left alone.
    expect(await deliverMessage(message)).toBe('done');
    expect(await jobOf(id)).toMatchObject({ status: 'running' });
    advanceClock(61_000);
    expect(await deliverMessage(message)).toBe('done');
    expect(numbersIn((await download((await jobOf(id)).url)).body)).toEqual(inOrder);
    expect((await objectsOf(id)).every((key) => key.includes('/2/'))).toBe(true);
  });

  it('does not undo a later attempt when it was taken for interrupted too early', async () => {
    const { id, message } = await aJob(MANY, { format: 'csv' });
    await sendOvertaken(
      SUCCEEDED,
      async () => {
        advanceClock(200_000);
        expect(await deliverMessage(message)).toBe('done');
      },
      (watched) => deliverMessage(message, watched),
    );
    expect(await selectRow('select attempt, status from data_jobs where id = ?', id)).toEqual({
      attempt: 2,
      status: 'succeeded',
    });
    expect((await objectsOf(id)).every((key) => key.includes('/2/'))).toBe(true);
    expect(numbersIn((await download((await jobOf(id)).url)).body)).toEqual(inOrder);
  });

  it('leaves the result to a later attempt when it was taken for interrupted too early', async () => {
    const { id, message } = await aJob(MANY, { format: 'csv' });
    const another = env.CONTROL_DB.prepare('update data_jobs set attempt = 2 where id = ?1').bind(id);
    await sendOvertaken(
      SUCCEEDED,
      () => another.run(),
      (watched) => deliverMessage(message, watched),
    );
    expect(await jobOf(id)).toMatchObject({ status: 'running', row_count: null });
    expect(await objectsOf(id)).toEqual([]);
  });

  it('is queued again when its message is lost, and fails after five attempts', async () => {
    const { id } = await aJob('SELECT 1 AS one');
    const queue = aQueue();
    const sentFor = () => queue.messages.filter((message) => 'jobId' in message && message.jobId === id).length;
    await runScheduled(queue.env);
    expect(sentFor()).toBe(0);
    advanceClock(121_000);
    await runScheduled(queue.env);
    await runScheduled(queue.env);
    expect(sentFor()).toBe(1);
    const fifth = (dueAt: number) =>
      env.CONTROL_DB.prepare("update data_jobs set status = 'running', attempt = 5, due_at = ?2 where id = ?1")
        .bind(id, dueAt)
        .run();
    await fifth(Date.now() + 600_000);
    expect(await deliverMessage({ type: 'data.write', companyId: company.id, jobId: id })).toBe('done');
    expect(await jobOf(id)).toMatchObject({ status: 'running' });
    await fifth(0);
    expect(await deliverMessage({ type: 'data.write', companyId: company.id, jobId: id })).toBe('done');
    expect(await jobOf(id)).toMatchObject({ status: 'failed', error: 'The job was interrupted too often.' });
    await runScheduled(queue.env);
    expect(sentFor()).toBe(1);
  });

  it('is at most two at a time, so that those of other companies have room, and the next one begins when one ends', async () => {
    const own = await aProvisionedCompany();
    const jobs = [await aJob('SELECT 1 AS one', {}, [], own), await aJob('SELECT 2 AS two', {}, [], own)];
    const third = await aJob('SELECT 3 AS three', {}, [], own);
    const occupy = (id: string, dueAt: number) =>
      env.CONTROL_DB.prepare("update data_jobs set status = 'running', attempt = 1, due_at = ?2 where id = ?1")
        .bind(id, dueAt)
        .run();
    const statusOf = async (id: string) => selectRow('select status from data_jobs where id = ?', id);
    for (const { id } of jobs) await occupy(id, Date.now() + 60_000);
    expect(await deliverMessage(third.message)).toBe('done');
    expect(await statusOf(third.id)).toEqual({ status: 'queued' });
    const other = await aJob('SELECT 1 AS one');
    await deliverMessage(other.message);
    expect(await statusOf(other.id)).toEqual({ status: 'succeeded' });
    // Of the two one was interrupted: it is done anew, and leaves its room to the third.
    const [first] = jobs as [(typeof jobs)[number]];
    await occupy(first.id, 0);
    const queue = aQueue();
    await deliverMessage(first.message, queue.env);
    expect(queue.messages).toMatchObject([{ type: 'data.write', jobId: third.id }]);
    await deliverMessage(third.message);
    expect([await statusOf(first.id), await statusOf(third.id)]).toEqual(
      Array.from({ length: 2 }, () => ({ status: 'succeeded' })),
    );
  });

  it('is retried when the database was down', async () => {
    const { id, message } = await aJob('SELECT 1 AS one');
    expect(await deliverMessage(message, { NEON_WS_PROXY: 'ws://127.0.0.1:1/v2' })).toBe('again');
    expect(await jobOf(id)).toMatchObject({ status: 'queued' });
    expect(await deliverMessage(message)).toBe('done');
    expect(await jobOf(id)).toMatchObject({ status: 'succeeded' });
  });
});

it('a company can have at most twenty unfinished Data API jobs', async () => {
  const other = await aProvisionedCompany();
  const robot = await aReader(other, 'data_api:get_job');
  const { slug } = await aPublished(other, 'SELECT 1 AS one');
  const { env: held } = aQueue();
  const post = (changed: Record<string, string> = {}) =>
    robot.as.post(`/data/${slug}/jobs`, { env: { ...held, RATE_LIMIT_IP_PER_SECOND: '1000', ...changed } });
  for (let count = 0; count < 19; count += 1) expect((await post()).status).toBe(202);
  const answer = await sendOvertaken(/^insert into "data_jobs"/, () => must(post()), post);
  expect([answer.status, answer.body.error]).toEqual([409, 'TooManyJobs']);
});
