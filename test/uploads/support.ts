import { createExecutionContext, createMessageBatch, env, getQueueResult } from 'cloudflare:test';
import type { Bindings } from '../../src/config.ts';
import { openContext } from '../../src/context.ts';
import { runScheduled } from '../../src/jobs/scheduled.ts';
import { openDatabaseIfAny } from '../../src/modules/managed-database/service.ts';
import type { JobMessage } from '../../src/platform/job-messages.ts';
import type { TenantSql } from '../../src/tenant-sql/client.ts';
import { resetClock, stopClockAt } from '../support/clock.ts';
import type { Company } from '../support/companies.ts';
import worker from '../support/worker.ts';

export const makeFile = (name: string, content: string | Uint8Array<ArrayBuffer>, type = 'text/csv'): File =>
  new File([content], name, { type });

/** Returns `count` CSV rows of numbers, dates and text, under a header. */
export const makeCsvTable = (count: number): string =>
  ['codigo,nome,criado_em', ...Array.from({ length: count }, (_, row) => `${row},"Cliente, ${row}",2024-01-31`)].join(
    '\n',
  );

export interface UploadInput {
  /** Variables and bindings that are changed for this request. */
  env?: Record<string, unknown>;
  /** The id of the existing table into which the files are loaded. */
  into?: string;
  /** The mode of the load. */
  mode?: string;
  evolve?: string;
  /** The key columns of an upsert. */
  key?: string[];
}

/** Posts an upload form with these files. */
export function postFiles(
  company: Company,
  files: File[],
  { env: changedEnv, into, mode, evolve, key = [] }: UploadInput = {},
) {
  const form = new FormData();
  for (const name of key) form.append('key', name);
  if (mode !== undefined) form.append('mode', mode);
  if (evolve !== undefined) form.append('evolve', evolve);
  for (const file of files) form.append('files', file);
  const path = into === undefined ? '/v1/managed-tables/upload' : `/v1/managed-tables/${into}/upload`;
  return company.as.post(path, { body: form, env: changedEnv as Record<string, string> });
}

/** Uploads files. @returns the job's id */
export async function uploadFiles(company: Company, files: File[], input: UploadInput = {}): Promise<string> {
  const { status, body } = await postFiles(company, files, input);
  if (status !== 201) throw new Error(`The upload answered ${status}: ${JSON.stringify(body)}`);
  return body.job_id;
}

const makeJobPath = (jobId: string) => `/v1/managed-tables/upload-jobs/${jobId}`;

export const confirmJob = (company: Company, jobId: string, json: unknown, { env: changedEnv }: UploadInput = {}) =>
  company.as.post(`${makeJobPath(jobId)}/confirm`, { json, env: changedEnv as Record<string, string> });

export const cancelJob = (company: Company, jobId: string) => company.as.post(`${makeJobPath(jobId)}/cancel`);

export const undoJob = (company: Company, jobId: string, as = company.as) => as.post(`${makeJobPath(jobId)}/undo`);

export const readJob = async (company: Company, jobId: string) => (await company.as.get(makeJobPath(jobId))).body;

/** Waits until the job's status is one of these. @returns the job */
export async function waitForJob(company: Company, jobId: string, ...statuses: string[]) {
  const deadline = Date.now() + 30_000;
  for (;;) {
    const job = await readJob(company, jobId);
    if (statuses.includes(job.status)) return job;
    if (Date.now() > deadline) throw new Error(`The job is still ${JSON.stringify(job)}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** Waits until the job can be confirmed, or has failed before. @returns the job */
export const waitForAnalysis = (company: Company, jobId: string) =>
  waitForJob(company, jobId, 'waiting_confirm', 'failed');

/** Waits until the job has ended. @returns the job */
export const waitForEnd = (company: Company, jobId: string) => waitForJob(company, jobId, 'done', 'failed');

/** Uploads files, and confirms the inferred columns with these changes. @returns the finished job */
export async function loadFiles(
  company: Company,
  files: File[],
  changes: Record<string, unknown> = {},
  input: UploadInput = {},
) {
  const jobId = await uploadFiles(company, files, input);
  const job = await waitForAnalysis(company, jobId);
  if (job.status === 'failed') return job;
  const answer = await confirmJob(company, jobId, {
    display_name: 'tabela',
    columns: job.inferred_schema.columns,
    ...changes,
  });
  if (answer.status !== 200) throw new Error(`The confirm answered ${answer.status}: ${JSON.stringify(answer.body)}`);
  return waitForEnd(company, jobId);
}

/** Reads every row of a table, in the order of its list. */
export async function readRows(company: Company, tableId: string) {
  const rows: Record<string, unknown>[] = [];
  for (let page = 1; ; page += 1) {
    const { body } = await company.as.get(`/v1/managed-tables/${tableId}/data?per_page=1000&page=${page}`);
    rows.push(...body.records);
    if (rows.length >= body.total) return rows;
  }
}

/** Creates a queue that keeps its messages until the test delivers them. */
export function createTestQueue() {
  const messages: JobMessage[] = [];
  const JOBS = {
    send: async (message: JobMessage) => void messages.push(message),
    sendBatch: async (batch: { body: JobMessage }[]) => void messages.push(...batch.map(({ body }) => body)),
  };
  return { messages, env: { JOBS } };
}

/** Delivers a message once. @returns whether it was accepted or is to be delivered again */
export async function deliverMessage(
  message: JobMessage,
  changedEnv: Record<string, unknown> = {},
): Promise<'done' | 'again'> {
  const batch = createMessageBatch('data-console-jobs', [
    { id: crypto.randomUUID(), timestamp: new Date(), attempts: 1, body: message },
  ]);
  const execution = createExecutionContext();
  await worker.queue(batch, { ...env, ...changedEnv } as Bindings, execution);
  const { explicitAcks } = await getQueueResult(batch, execution);
  return explicitAcks.length === 1 ? 'done' : 'again';
}

/** Delivers all messages of a held queue, and the messages that their handlers send. */
export async function deliverAllMessages(
  queue: ReturnType<typeof createTestQueue>,
  changedEnv: Record<string, unknown> = {},
): Promise<number> {
  let deliveredCount = 0;
  for (let message = queue.messages.shift(); message; message = queue.messages.shift()) {
    await deliverMessage(message, { ...queue.env, ...changedEnv });
    deliveredCount += 1;
  }
  return deliveredCount;
}

/** Does the scheduled run as if the given number of milliseconds had passed, with the queue of the test. */
export async function runSweep(queue: { env: Record<string, unknown> }, milliseconds = 0): Promise<void> {
  const now = Date.now() + milliseconds;
  const controller = { scheduledTime: now, cron: '* * * * *', noRetry: () => {} };
  stopClockAt(now);
  try {
    await runScheduled(controller, { ...env, ...queue.env } as never, { waitUntil: () => {} } as never);
  } finally {
    resetClock();
  }
}

/** Runs `query` on the company's own Postgres, as its owner. */
export async function queryDatabase<T>(company: Company, query: (database: TenantSql) => Promise<T>): Promise<T> {
  const origin = { env, waitUntil: () => {}, correlationId: 'test', baseUrl: '', ip: null };
  const { context, close } = openContext(origin, { kind: 'system', companyId: company.id });
  try {
    return await query((await openDatabaseIfAny(context)) as TenantSql);
  } finally {
    await close();
  }
}

/** Lists the company's tables that hold rows of users: current tables, deleted tables, and staging tables of unfinished loads. */
export const listTables = (company: Company): Promise<string[]> =>
  queryDatabase(company, async (database) => {
    const rows = await database.query<{ name: string }>(
      `SELECT schemaname || '.' || tablename AS name FROM pg_tables
       WHERE schemaname IN ('public', 'trash') OR (schemaname = 'console' AND tablename ~ '^[0-9a-f]{24}$') ORDER BY 1`,
    );
    return rows.map(({ name }) => name);
  });

/** Lists the keys of the company's uploaded files. */
export async function listStoredFiles(company: Company): Promise<string[]> {
  const { objects } = await env.FILES.list({ prefix: `uploads/${company.id}/` });
  return objects.map(({ key }) => key);
}
