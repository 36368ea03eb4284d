import { env } from 'cloudflare:test';
import { describe, expect, it } from 'vitest';
import { JOB_LIMITS, writeResult } from '../../src/modules/data-api/jobs.ts';
import type { JobMessage } from '../../src/platform/job-messages.ts';
import { callApi } from '../support/api.ts';
import { advanceClock, resetClock, runScheduled } from '../support/clock.ts';
import { createProvisionedCompany } from '../support/companies.ts';
import { runInContext } from '../support/context.ts';
import { createRacingEnv, runSql, selectRow, sendDuringRace, sendTwice } from '../support/race.ts';
import { createAllowedAccount, createTokenCaller, expectSuccess, makeAllow } from '../support/signed.ts';
import { createTestQueue, deliverMessage } from '../uploads/support.ts';
import { createSalesTable, makeParameter } from '../visualizations/support.ts';
import { createReader, ENDPOINTS_PATH, publishSql } from './support.ts';

const company = await createProvisionedCompany();
await createSalesTable(company);
const reader = await createReader(company, 'data_api:get_job');

/** Creates a queue that holds the messages of jobs until the test delivers them. */
function createJobQueue() {
  const { messages, env: heldEnv } = createTestQueue();
  return { messages, env: { DATA_JOBS: heldEnv.JOBS } as unknown as Record<string, string> };
}

/** Creates a job, and returns it with its undelivered message. */
async function createDataJob(
  sql: string,
  json: Record<string, unknown> = {},
  parameters: object[] = [],
  inCompany = company,
) {
  const { _id, slug, visualization_id } = await publishSql(inCompany, sql, { parameters });
  const queue = createJobQueue();
  const { as } = inCompany === company ? reader : await createReader(inCompany);
  const { job_id } = await expectSuccess(as.post(`/data/${slug}/jobs`, { json, env: queue.env }));
  const message = queue.messages[0] as JobMessage;
  return {
    id: job_id as string,
    message,
    slug,
    endpointId: _id as string,
    visualizationId: visualization_id as string,
  };
}

/** Creates a job whose result is written, and returns it with a link to the result. */
async function createJobResult() {
  const createdJob = await createDataJob('SELECT 1 AS one');
  await deliverMessage(createdJob.message);
  return { ...createdJob, url: (await readDataJob(createdJob.id)).url as string };
}

const readDataJob = async (id: string) => expectSuccess(reader.as.get(`/data/jobs/${id}`));
const downloadResult = async (url: string) => callApi('GET', url.replace('https://api.test', ''));
const listResultObjects = async (id: string): Promise<string[]> =>
  (await env.FILES.list({ prefix: `data-results/${company.id}/${id}/` })).objects.map(({ key }) => key);

const LINE_COUNT = 30_000;
const MANY_ROWS_SQL = `SELECT n, repeat('x', 300) AS text FROM generate_series(1, ${LINE_COUNT}) AS n`;
/** Returns the number in each row; a repeated or missing row would change the list. */
const readRowNumbers = (csv: string): number[] =>
  csv
    .trim()
    .split('\r\n')
    .slice(1)
    .map((line) => Number.parseInt(line, 10));
const ALL_ROW_NUMBERS = Array.from({ length: LINE_COUNT }, (_, index) => index + 1);

describe('a job of the Data API', () => {
  it('writes a result that exceeds the limits of a response, through the queue', async () => {
    const { slug } = await publishSql(company, MANY_ROWS_SQL);
    const { status, body } = await reader.as.post(`/data/${slug}/jobs`, { json: { format: 'csv' } });
    expect([status, body]).toEqual([202, { job_id: expect.any(String), status: 'queued' }]);
    let job = await readDataJob(body.job_id);
    for (let tryCount = 0; tryCount < 200 && !['succeeded', 'failed'].includes(job.status); tryCount += 1) {
      await new Promise((resolve) => setTimeout(resolve, 100));
      job = await readDataJob(body.job_id);
    }
    expect(job).toMatchObject({ job_id: body.job_id, status: 'succeeded', row_count: LINE_COUNT, error: null });
    const { body: csv, headers } = await downloadResult(job.url);
    expect(headers.get('content-disposition')).toBe(`attachment; filename="${slug}.csv"; filename*=UTF-8''${slug}.csv`);
    expect([csv.length, readRowNumbers(csv)]).toEqual([job.bytes, ALL_ROW_NUMBERS]);
    // Of more than one object.
    expect((await listResultObjects(body.job_id)).length).toBeGreaterThan(1);
  });

  it('writes each format, with the parameters of its request body', async () => {
    const sql =
      'SELECT region, amount FROM sales WHERE region = ANY({{regions}}) AND amount > {{least}} ORDER BY amount';
    const parameters = [makeParameter('regions', 'multi_select'), makeParameter('least', 'number')];
    const results: unknown[] = [];
    for (const format of ['json', 'ndjson', 'csv']) {
      const sentParameters = { regions: ['north', 'east'], least: 10.5 };
      const { id, message } = await createDataJob(sql, { format, parameters: sentParameters }, parameters);
      expect(await deliverMessage(message)).toBe('done');
      results.push((await downloadResult((await readDataJob(id)).url)).body);
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
    const { id, message } = await createDataJob('SELECT 1 AS one WHERE false', { format: 'ndjson' });
    await deliverMessage(message);
    const job = await readDataJob(id);
    expect([job.row_count, job.bytes, (await downloadResult(job.url)).body]).toEqual([0, 0, '']);
  });

  it.each([
    [
      'long rows after many short ones',
      `SELECT n, repeat('x', CASE WHEN n > 20000 THEN 2500 ELSE 1 END) AS text FROM generate_series(1, 30000) AS n`,
    ],
    ['long rows from the first on', `SELECT n, repeat('x', 200000) AS text FROM generate_series(1, 100) AS n`],
  ])('writes %s, each row once', async (_, sql) => {
    const { id, message } = await createDataJob(sql, { format: 'csv' });
    expect(await deliverMessage(message)).toBe('done');
    const { status, row_count, bytes, url } = await readDataJob(id);
    expect(status).toBe('succeeded');
    const { body } = await downloadResult(url);
    expect([readRowNumbers(body), body.length]).toEqual([ALL_ROW_NUMBERS.slice(0, row_count), bytes]);
    expect(row_count).toBe(sql.includes('30000') ? 30_000 : 100);
  });

  it('is limited to ten million rows, 5 GiB and ten minutes', () => {
    expect(JOB_LIMITS).toEqual({ maxRows: 10_000_000, maxBytes: 5 * 2 ** 30, milliseconds: 10 * 60_000 });
  });

  it('is created once per idempotency key, by signed request or service token', async () => {
    const { slug } = await publishSql(company, 'SELECT 1 AS one');
    const requestOptions = { headers: { 'idempotency-key': 'one-job' }, json: {}, env: createJobQueue().env };
    const path = `/data/${slug}/jobs`;
    const answers = [
      await reader.as.post(path, requestOptions),
      await (await createTokenCaller(reader)).post(path, requestOptions),
    ];
    expect(answers.map(({ headers }) => headers.get('idempotency-replayed'))).toEqual([null, 'true']);
    expect(answers[1]?.body).toEqual(answers[0]?.body);
  });

  it('is refused with an invalid body before it is queued', async () => {
    const { slug } = await publishSql(company, 'SELECT {{n}}::numeric', { parameters: [makeParameter('n', 'number')] });
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
      const { id, message } = await createDataJob(sql);
      expect(await deliverMessage(message)).toBe('done');
      const job = await readDataJob(id);
      expect(job).toMatchObject({ status: 'failed', error: 'The query failed.', url: null, expires_at: null });
      expect(await listResultObjects(id)).toEqual([]);
    }
  });

  it.each([
    [{ maxRows: LINE_COUNT - 1 }, `The result has more than ${LINE_COUNT - 1} rows.`],
    [{ maxBytes: 1_000_000 }, 'The result has more than 1000000 bytes.'],
    [{ milliseconds: 1 }, 'The query took too long.'],
  ])('fails beyond %o, and leaves no file', async (limit, error) => {
    const { id } = await createDataJob(
      `SELECT * FROM (${MANY_ROWS_SQL}) AS many, (SELECT count(*) FROM generate_series(1, 300000)) AS work`,
    );
    await runInContext({ kind: 'system', companyId: company.id }, (ctx) =>
      writeResult(ctx, id, { ...JOB_LIMITS, ...limit }),
    );
    expect(await readDataJob(id)).toMatchObject({ status: 'failed', error });
    expect(await listResultObjects(id)).toEqual([]);
  });
});

describe('the result of a Data API job', () => {
  const readStatuses = async ({ id, url }: { id: string; url: string }) => [
    (await reader.as.get(`/data/jobs/${id}`)).status,
    (await downloadResult(url)).status,
  ];

  it('is refused to a caller whom no policy allows to execute the endpoint', async () => {
    const { id } = await createJobResult();
    const { as } = await createAllowedAccount(company, makeAllow('data_api:get_job'));
    expect((await as.get(`/data/jobs/${id}`)).status).toBe(403);
    expect((await as.get(`/data/jobs/${'f'.repeat(24)}`)).status).toBe(404);
  });

  it('is not found while its endpoint is inactive or publishes another visualization', async () => {
    const jobResult = await createJobResult();
    const changeEndpoint = (json: object) =>
      expectSuccess(company.as.put(`${ENDPOINTS_PATH}/${jobResult.endpointId}`, { json }));
    await changeEndpoint({ status: 'inactive' });
    expect(await readStatuses(jobResult)).toEqual([404, 404]);
    await changeEndpoint({ status: 'active' });
    expect(await readStatuses(jobResult)).toEqual([200, 200]);
    const { visualization_id } = await publishSql(company, 'SELECT 2 AS two');
    await changeEndpoint({ visualization_id });
    expect(await readStatuses(jobResult)).toEqual([404, 404]);
  });

  it('is not found once its endpoint is deleted', async () => {
    const jobResult = await createJobResult();
    expect(await readStatuses(jobResult)).toEqual([200, 200]);
    await expectSuccess(company.as.delete(`${ENDPOINTS_PATH}/${jobResult.endpointId}`));
    expect(await readStatuses(jobResult)).toEqual([404, 404]);
  });
});

describe('the download link of a Data API result', () => {
  it('is new for each request, and works for an hour', async () => {
    const { id, message } = await createDataJob('SELECT 1 AS one');
    await deliverMessage(message);
    const [firstJob, secondJob] = [await readDataJob(id), await readDataJob(id)];
    expect(firstJob.url).not.toBe(secondJob.url);
    const remainingMs = Date.parse(firstJob.expires_at) - Date.now();
    expect(remainingMs).toBeGreaterThan(3_590_000);
    expect(remainingMs).toBeLessThanOrEqual(3_600_000);
    advanceClock(remainingMs - 2_000);
    expect((await downloadResult(firstJob.url)).body.rows).toEqual([[1]]);
    advanceClock(remainingMs + 1_000);
    expect((await downloadResult(firstJob.url)).status).toBe(401);
  });

  it('works no longer than the result is stored', async () => {
    const { id, message } = await createDataJob('SELECT 1 AS one');
    await deliverMessage(message);
    const setCreatedBefore = (ms: number) =>
      runSql('UPDATE data_jobs SET created_at = ? WHERE id = ?', Date.now() - ms, id);
    await setCreatedBefore(23.5 * 3600_000);
    expect(Date.parse((await readDataJob(id)).expires_at) - Date.now()).toBeLessThanOrEqual(1_801_000);
    await setCreatedBefore(24 * 3600_000);
    expect((await reader.as.get(`/data/jobs/${id}`)).status).toBe(404);
  });

  it('is refused when it is changed or has another kind of token, and its token is no session token', async () => {
    const { id, message } = await createDataJob('SELECT 1 AS one');
    await deliverMessage(message);
    const { url } = await readDataJob(id);
    expect((await downloadResult(`${url.slice(0, -4)}AAAA`)).status).toBe(401);
    const { token } = await expectSuccess(reader.as.post('/tokens'));
    expect((await downloadResult(`/data/results/${token}`)).status).toBe(401);
    const result = url.split('/').at(-1);
    expect((await callApi('GET', '/v1/auth/me', { headers: { authorization: `Bearer ${result}` } })).status).toBe(401);
  });

  it('leads to 404 a day later, when the result and its job are deleted', async () => {
    const { id, message } = await createDataJob('SELECT 1 AS one');
    await deliverMessage(message);
    const { url } = await readDataJob(id);
    advanceClock(23 * 3600_000);
    await runScheduled();
    resetClock();
    expect((await downloadResult(url)).status).toBe(200);
    advanceClock(24 * 3600_000 + 60_000);
    await runScheduled();
    expect(await listResultObjects(id)).toEqual([]);
    resetClock();
    expect((await reader.as.get(`/data/jobs/${id}`)).status).toBe(404);
    expect((await downloadResult(url)).status).toBe(404);
  });
});

describe('the processing of a Data API job', () => {
  const SUCCESS_UPDATE_PATTERN = /^update "data_jobs" set .*"row_count" = \?/;

  it('writes one result when its message is delivered twice at the same time', async () => {
    const { id, message } = await createDataJob(MANY_ROWS_SQL, { format: 'csv' });
    await sendDuringRace(
      SUCCESS_UPDATE_PATTERN,
      async () => expect(await deliverMessage(message)).toBe('done'),
      (racingEnv) => deliverMessage(message, racingEnv),
    );
    expect(await readDataJob(id)).toMatchObject({ status: 'succeeded', row_count: LINE_COUNT });
    expect(await selectRow('select attempt from data_jobs where id = ?', id)).toEqual({ attempt: 1 });
    expect(await deliverMessage(message)).toBe('done');
    expect(readRowNumbers((await downloadResult((await readDataJob(id)).url)).body)).toEqual(ALL_ROW_NUMBERS);
  });

  it('is started again after an interruption, and leaves no file of the first attempt', async () => {
    const { id, message } = await createDataJob(MANY_ROWS_SQL, { format: 'csv' });
    await runSql(
      "update data_jobs set status = 'running', attempt = 1, due_at = ?2 where id = ?1",
      id,
      Date.now() + 60_000,
    );
    await env.FILES.put(`data-results/${company.id}/${id}/1/0`, 'half a result');
    // As long as it may still be at work, it is left alone.
    expect(await deliverMessage(message)).toBe('done');
    expect(await readDataJob(id)).toMatchObject({ status: 'running' });
    advanceClock(61_000);
    expect(await deliverMessage(message)).toBe('done');
    expect(readRowNumbers((await downloadResult((await readDataJob(id)).url)).body)).toEqual(ALL_ROW_NUMBERS);
    expect((await listResultObjects(id)).every((key) => key.includes('/2/'))).toBe(true);
  });

  it('does not undo the result of a later attempt when the first attempt was taken for interrupted too early', async () => {
    const { id, message } = await createDataJob(MANY_ROWS_SQL, { format: 'csv' });
    await sendDuringRace(
      SUCCESS_UPDATE_PATTERN,
      async () => {
        advanceClock(200_000);
        expect(await deliverMessage(message)).toBe('done');
      },
      (racingEnv) => deliverMessage(message, racingEnv),
    );
    expect(await selectRow('select attempt, status from data_jobs where id = ?', id)).toEqual({
      attempt: 2,
      status: 'succeeded',
    });
    expect((await listResultObjects(id)).every((key) => key.includes('/2/'))).toBe(true);
    expect(readRowNumbers((await downloadResult((await readDataJob(id)).url)).body)).toEqual(ALL_ROW_NUMBERS);
  });

  it('leaves the result to a later attempt when the first attempt was taken for interrupted too early', async () => {
    const { id, message } = await createDataJob(MANY_ROWS_SQL, { format: 'csv' });
    const laterAttempt = env.CONTROL_DB.prepare('update data_jobs set attempt = 2 where id = ?1').bind(id);
    await sendDuringRace(
      SUCCESS_UPDATE_PATTERN,
      () => laterAttempt.run(),
      (racingEnv) => deliverMessage(message, racingEnv),
    );
    expect(await readDataJob(id)).toMatchObject({ status: 'running', row_count: null });
    expect(await listResultObjects(id)).toEqual([]);
  });

  it('keeps the result when the database records it and the answer is lost', async () => {
    const { id, message } = await createDataJob(MANY_ROWS_SQL, { format: 'csv' });
    const bytes = ALL_ROW_NUMBERS.reduce((sum, n) => sum + `${n},${'x'.repeat(300)}\r\n`.length, 'n,text\r\n'.length);
    const { env: losingEnv } = createRacingEnv(SUCCESS_UPDATE_PATTERN, async () => {
      const { length: pieces } = await listResultObjects(id);
      const record = "update data_jobs set status = 'succeeded', row_count = ?2, bytes = ?3, pieces = ?4 where id = ?1";
      await runSql(record, id, LINE_COUNT, bytes, pieces);
      throw new Error('Network connection lost.');
    });
    expect(await deliverMessage(message, losingEnv)).toBe('again');
    expect(await deliverMessage(message)).toBe('done');
    const { status, url } = await readDataJob(id);
    expect(status).toBe('succeeded');
    expect(readRowNumbers((await downloadResult(url)).body)).toEqual(ALL_ROW_NUMBERS);
  });

  it('leaves no file when the database does not record the result, and writes it anew', async () => {
    const { id, message } = await createDataJob(MANY_ROWS_SQL, { format: 'csv' });
    const { env: losingEnv } = createRacingEnv(SUCCESS_UPDATE_PATTERN, () =>
      Promise.reject(new Error('Network connection lost.')),
    );
    expect(await deliverMessage(message, losingEnv)).toBe('again');
    expect(await readDataJob(id)).toMatchObject({ status: 'queued' });
    expect(await listResultObjects(id)).toEqual([]);
    expect(await deliverMessage(message)).toBe('done');
    expect(readRowNumbers((await downloadResult((await readDataJob(id)).url)).body)).toEqual(ALL_ROW_NUMBERS);
  });

  it('is queued again when its message is lost, and fails after five attempts', async () => {
    const { id } = await createDataJob('SELECT 1 AS one');
    const queue = createJobQueue();
    const countMessages = () => queue.messages.filter((message) => 'jobId' in message && message.jobId === id).length;
    await runScheduled(queue.env);
    expect(countMessages()).toBe(0);
    advanceClock(121_000);
    await runScheduled(queue.env);
    await runScheduled(queue.env);
    expect(countMessages()).toBe(1);
    const startFifthAttempt = (dueAt: number) =>
      runSql("update data_jobs set status = 'running', attempt = 5, due_at = ?2 where id = ?1", id, dueAt);
    await startFifthAttempt(Date.now() + 600_000);
    expect(await deliverMessage({ type: 'data.write', companyId: company.id, jobId: id })).toBe('done');
    expect(await readDataJob(id)).toMatchObject({ status: 'running' });
    await env.FILES.put(`data-results/${company.id}/${id}/5/0`, 'a piece');
    expect(await listResultObjects(id)).toHaveLength(1);
    await startFifthAttempt(0);
    expect(await deliverMessage({ type: 'data.write', companyId: company.id, jobId: id })).toBe('done');
    expect(await readDataJob(id)).toMatchObject({ status: 'failed', error: 'The job was interrupted too often.' });
    expect(await listResultObjects(id)).toEqual([]);
    await runScheduled(queue.env);
    expect(countMessages()).toBe(1);
  });

  it('is at most two at a time, so that those of other companies have room, and the next one begins when one ends', async () => {
    const ownCompany = await createProvisionedCompany();
    const jobs = [
      await createDataJob('SELECT 1 AS one', {}, [], ownCompany),
      await createDataJob('SELECT 2 AS two', {}, [], ownCompany),
    ];
    const thirdJob = await createDataJob('SELECT 3 AS three', {}, [], ownCompany);
    const setRunning = (id: string, dueAt: number) =>
      runSql("update data_jobs set status = 'running', attempt = 1, due_at = ?2 where id = ?1", id, dueAt);
    const readStoredStatus = async (id: string) => selectRow('select status from data_jobs where id = ?', id);
    for (const { id } of jobs) await setRunning(id, Date.now() + 60_000);
    expect(await deliverMessage(thirdJob.message)).toBe('done');
    expect(await readStoredStatus(thirdJob.id)).toEqual({ status: 'queued' });
    const other = await createDataJob('SELECT 1 AS one');
    await deliverMessage(other.message);
    expect(await readStoredStatus(other.id)).toEqual({ status: 'succeeded' });
    // Of the two one was interrupted: it is done anew, and leaves its room to the third.
    const [first] = jobs as [(typeof jobs)[number]];
    await setRunning(first.id, 0);
    const queue = createJobQueue();
    await deliverMessage(first.message, queue.env);
    expect(queue.messages).toMatchObject([{ type: 'data.write', jobId: thirdJob.id }]);
    await deliverMessage(thirdJob.message);
    expect([await readStoredStatus(first.id), await readStoredStatus(thirdJob.id)]).toEqual(
      Array.from({ length: 2 }, () => ({ status: 'succeeded' })),
    );
  });

  it('leaves its room to the next one when the database is down, and when it is given up', async () => {
    const ownCompany = await createProvisionedCompany();
    const [first, second] = [
      await createDataJob('SELECT 1 AS one', {}, [], ownCompany),
      await createDataJob('SELECT 2 AS two', {}, [], ownCompany),
    ];
    const queue = createJobQueue();
    const brokenEnv = { ...queue.env, NEON_WS_PROXY: 'ws://127.0.0.1:1/v2' };
    expect(await deliverMessage(first.message, brokenEnv)).toBe('again');
    expect(queue.messages).toMatchObject([{ type: 'data.write', jobId: second.id }]);
    expect(await deliverMessage(second.message, brokenEnv)).toBe('again');
    // Neither sends the other's message over and over.
    expect(queue.messages.length).toBe(1);
    await runSql("update data_jobs set status = 'running', attempt = 5, due_at = 0 where id = ?1", first.id);
    expect(await deliverMessage(first.message, queue.env)).toBe('done');
    expect(queue.messages.slice(1)).toMatchObject([{ type: 'data.write', jobId: second.id }]);
  });

  it('is retried when the database was down', async () => {
    const { id, message } = await createDataJob('SELECT 1 AS one');
    expect(await deliverMessage(message, { NEON_WS_PROXY: 'ws://127.0.0.1:1/v2' })).toBe('again');
    expect(await readDataJob(id)).toMatchObject({ status: 'queued' });
    expect(await deliverMessage(message)).toBe('done');
    expect(await readDataJob(id)).toMatchObject({ status: 'succeeded' });
  });
});

it('a company can have at most twenty unfinished Data API jobs', async () => {
  const other = await createProvisionedCompany();
  const otherReader = await createReader(other, 'data_api:get_job');
  const { slug } = await publishSql(other, 'SELECT 1 AS one');
  const { env: heldEnv } = createJobQueue();
  const postJob = (envChanges: Record<string, string> = {}) =>
    otherReader.as.post(`/data/${slug}/jobs`, { env: { ...heldEnv, RATE_LIMIT_IP_PER_SECOND: '1000', ...envChanges } });
  for (let count = 0; count < 19; count += 1) expect((await postJob()).status).toBe(202);
  const answer = await sendTwice(/^insert into "data_jobs"/, postJob);
  expect([answer.status, answer.body.error]).toEqual([409, 'TooManyJobs']);
});
