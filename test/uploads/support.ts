import { createExecutionContext, createMessageBatch, env, getQueueResult } from 'cloudflare:test';
import type { Bindings } from '../../src/config.ts';
import { openContext } from '../../src/context.ts';
import { runScheduled } from '../../src/jobs/scheduled.ts';
import { openDatabaseIfAny } from '../../src/modules/managed-database/service.ts';
import type { JobMessage } from '../../src/platform/job-messages.ts';
import type { TenantSql } from '../../src/tenant-sql/client.ts';
import { resetClock, stopClockAt } from '../support/clock.ts';
import worker from '../support/worker.ts';
import type { Company } from '../support/worlds.ts';

export const makeFile = (name: string, content: string | Uint8Array<ArrayBuffer>, type = 'text/csv'): File =>
  new File([content], name, { type });

/** `count` rows of numbers, dates and text, under a header. */
export const makeCsvTable = (count: number): string =>
  ['codigo,nome,criado_em', ...Array.from({ length: count }, (_, row) => `${row},"Cliente, ${row}",2024-01-31`)].join(
    '\n',
  );

export interface Sent {
  /** Variables and bindings that differ for this request. */
  env?: Record<string, unknown>;
  /** The existing table that the files go into, and how. */
  into?: string;
  mode?: string;
  evolve?: string;
  /** Of an upsert. */
  key?: string[];
}

/** Posts a form with these files. */
export function postFiles(company: Company, files: File[], { env: changed, into, mode, evolve, key = [] }: Sent = {}) {
  const form = new FormData();
  for (const name of key) form.append('key', name);
  if (mode !== undefined) form.append('mode', mode);
  if (evolve !== undefined) form.append('evolve', evolve);
  for (const file of files) form.append('files', file);
  const path = into === undefined ? '/v1/managed-tables/upload' : `/v1/managed-tables/${into}/upload`;
  return company.as.post(path, { body: form, env: changed as Record<string, string> });
}

/** Uploads files and answers the job's id. */
export async function uploadFiles(company: Company, files: File[], sent: Sent = {}): Promise<string> {
  const { status, body } = await postFiles(company, files, sent);
  if (status !== 201) throw new Error(`The upload answered ${status}: ${JSON.stringify(body)}`);
  return body.job_id;
}

const makeJobPath = (jobId: string) => `/v1/managed-tables/upload-jobs/${jobId}`;

export const confirmJob = (company: Company, jobId: string, json: unknown, { env: changed }: Sent = {}) =>
  company.as.post(`${makeJobPath(jobId)}/confirm`, { json, env: changed as Record<string, string> });

export const cancelJob = (company: Company, jobId: string) => company.as.post(`${makeJobPath(jobId)}/cancel`);

export const undoJob = (company: Company, jobId: string, as = company.as) => as.post(`${makeJobPath(jobId)}/undo`);

export const readJob = async (company: Company, jobId: string) => (await company.as.get(makeJobPath(jobId))).body;

/** The job, once its status is one of these. */
export async function waitForJob(company: Company, jobId: string, ...statuses: string[]) {
  const deadline = Date.now() + 30_000;
  for (;;) {
    const job = await readJob(company, jobId);
    if (statuses.includes(job.status)) return job;
    if (Date.now() > deadline) throw new Error(`The job is still ${JSON.stringify(job)}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** The job once it waits for its confirm, or has failed before. */
export const waitForAnalysis = (company: Company, jobId: string) =>
  waitForJob(company, jobId, 'waiting_confirm', 'failed');

/** The job once it has ended. */
export const waitForEnd = (company: Company, jobId: string) => waitForJob(company, jobId, 'done', 'failed');

/** Uploads files, confirms what was inferred with these changes, and answers the ended job. */
export async function loadFiles(
  company: Company,
  files: File[],
  changes: Record<string, unknown> = {},
  sent: Sent = {},
) {
  const jobId = await uploadFiles(company, files, sent);
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

/** Every row of a table, in the order of its list. */
export async function readRows(company: Company, tableId: string) {
  const rows: Record<string, unknown>[] = [];
  for (let page = 1; ; page += 1) {
    const { body } = await company.as.get(`/v1/managed-tables/${tableId}/data?per_page=1000&page=${page}`);
    rows.push(...body.records);
    if (rows.length >= body.total) return rows;
  }
}

/** A queue that keeps its messages until the test delivers them. */
export function createHeldQueue() {
  const messages: JobMessage[] = [];
  const JOBS = {
    send: async (message: JobMessage) => void messages.push(message),
    sendBatch: async (batch: { body: JobMessage }[]) => void messages.push(...batch.map(({ body }) => body)),
  };
  return { messages, env: { JOBS } };
}

/** Delivers a message once, and tells whether it was accepted or is to be delivered again. */
export async function deliverMessage(
  message: JobMessage,
  changed: Record<string, unknown> = {},
): Promise<'done' | 'again'> {
  const batch = createMessageBatch('data-console-jobs', [
    { id: crypto.randomUUID(), timestamp: new Date(), attempts: 1, body: message },
  ]);
  const execution = createExecutionContext();
  await worker.queue(batch, { ...env, ...changed } as Bindings, execution);
  const { explicitAcks } = await getQueueResult(batch, execution);
  return explicitAcks.length === 1 ? 'done' : 'again';
}

/** Delivers all messages of a held queue, and those that they lead to. */
export async function deliverAllMessages(
  queue: ReturnType<typeof createHeldQueue>,
  changed: Record<string, unknown> = {},
): Promise<number> {
  let delivered = 0;
  for (let message = queue.messages.shift(); message; message = queue.messages.shift()) {
    await deliverMessage(message, { ...queue.env, ...changed });
    delivered += 1;
  }
  return delivered;
}

/** The scheduled run as it is so much later, with the queue of the test. */
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

/** Looks into the company's own Postgres, as its owner. */
export async function queryDatabase<T>(company: Company, look: (database: TenantSql) => Promise<T>): Promise<T> {
  const origin = { env, waitUntil: () => {}, correlationId: 'test', baseUrl: '', ip: null };
  const { context, close } = openContext(origin, { kind: 'system', companyId: company.id });
  try {
    return await look((await openDatabaseIfAny(context)) as TenantSql);
  } finally {
    await close();
  }
}

/** Tables of the company that hold rows of people: those in place, deleted ones, and loads that have not ended. */
export const listTables = (company: Company): Promise<string[]> =>
  queryDatabase(company, async (database) => {
    const rows = await database.query<{ name: string }>(
      `SELECT schemaname || '.' || tablename AS name FROM pg_tables
       WHERE schemaname IN ('public', 'trash') OR (schemaname = 'console' AND tablename ~ '^[0-9a-f]{24}$') ORDER BY 1`,
    );
    return rows.map(({ name }) => name);
  });

/** Keys of the company's uploaded files. */
export async function listStoredFiles(company: Company): Promise<string[]> {
  const { objects } = await env.FILES.list({ prefix: `uploads/${company.id}/` });
  return objects.map(({ key }) => key);
}
