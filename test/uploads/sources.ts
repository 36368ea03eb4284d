import { expect, inject } from 'vitest';
import type { Company } from '../support/companies.ts';
import { confirmJob, createTestQueue, deliverAllMessages, readJob, readRows, waitForEnd } from './support.ts';

/** Stores a file with this content at the file server. @returns its address */
export async function createSource(
  name: string,
  content: string | Uint8Array,
  headers: Record<string, string> = {},
): Promise<string> {
  const url = `${inject('fileServerUrl')}/kept/${crypto.randomUUID()}/0/${name}`;
  await fetch(url, { method: 'PUT', body: content as BodyInit, headers });
  return url;
}

const queue = createTestQueue();

/**
 * Uploads a file from an address, and waits until it is read or has failed. @returns the job
 */
export async function readSource(
  company: Company,
  name: string,
  content: string | Uint8Array,
  {
    headers = {},
    env = {},
    sentFields = {},
  }: { headers?: Record<string, string>; env?: object; sentFields?: object } = {},
) {
  const url = await createSource(name, content, headers);
  const { status, body } = await company.as.post('/v1/managed-tables/upload-from-url', {
    json: { url, ...sentFields },
    env: queue.env as never,
  });
  expect(body).toMatchObject({ status: 'queued' });
  expect(status).toBe(201);
  await deliverAllMessages(queue, { ...env });
  return readJob(company, body.job_id);
}

let tableCount = 0;

/** Uploads and confirms a file from an address. @returns the inferred types by name, and the loaded rows without their ids */
export async function loadSource(
  company: Company,
  name: string,
  content: string | Uint8Array,
  { changes = {}, ...options }: NonNullable<Parameters<typeof readSource>[3]> & { changes?: object } = {},
) {
  const job = await readSource(company, name, content, options);
  expect(job.error).toBe(null);
  const { columns } = job.inferred_schema;
  const types = Object.fromEntries(columns.map(({ name, type }: { name: string; type: string }) => [name, type]));
  const answer = await confirmJob(
    company,
    job._id,
    { display_name: `tipo_${++tableCount}_${name.length}`, columns, ...changes },
    queue,
  );
  expect(answer.status).toBe(200);
  await deliverAllMessages(queue, { ...options.env });
  const finishedJob = await waitForEnd(company, job._id);
  expect(finishedJob.error).toBe(null);
  const rows = (await readRows(company, finishedJob.user_table_id)).map(({ id: _, ...row }) => row);
  return { types, rows, schema: job.inferred_schema, job: finishedJob };
}

/** Returns the error with which reading a file from an address fails. */
export async function readFailure(...sourceArguments: Parameters<typeof readSource>) {
  const { status, error } = await readSource(...sourceArguments);
  expect(status).toBe('failed');
  return error as { code: string; message: string; line?: number; column?: string };
}
