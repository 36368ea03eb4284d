import { expect } from 'vitest';
import type { Company } from '../support/worlds.ts';
import {
  confirmJob,
  createHeldQueue,
  deliverAllMessages,
  makeFile,
  readJob,
  readRows,
  uploadFiles,
  waitForEnd,
} from './support.ts';

let tableCount = 0;

/** What tests of a second analysis do with the jobs of a company, whose messages wait in `queue`. */
export function secondLook(companyOf: () => Company) {
  const queue = createHeldQueue();

  const analyze = (jobId: string, json: unknown, as = companyOf().as) =>
    as.post(`/v1/managed-tables/upload-jobs/${jobId}/analyze`, { json, env: queue.env as never });

  /** A job of these files that waits to be confirmed. */
  async function aWaitingJob(...files: [name: string, content: string | Uint8Array<ArrayBuffer>][]): Promise<string> {
    const sent = files.map(([name, content]) => makeFile(name, content));
    const jobId = await uploadFiles(companyOf(), sent, queue);
    await deliverAllMessages(queue);
    expect(await readJob(companyOf(), jobId)).toMatchObject({ status: 'waiting_confirm' });
    return jobId;
  }

  /** What is inferred from a job's files with what is said. */
  async function look(jobId: string, said: unknown) {
    expect(await analyze(jobId, said)).toMatchObject({ status: 200, body: { status: 'queued' } });
    await deliverAllMessages(queue);
    const job = await readJob(companyOf(), jobId);
    expect(job).toMatchObject({ status: 'waiting_confirm', error: null });
    return job.inferred_schema;
  }

  /** The rows that a job's files come to when what was inferred is confirmed. */
  async function rowsWhenConfirmed(jobId: string) {
    const company = companyOf();
    const { columns } = (await readJob(company, jobId)).inferred_schema;
    const answer = await confirmJob(company, jobId, { display_name: `olhar_${++tableCount}`, columns }, queue);
    expect(answer.status).toBe(200);
    await deliverAllMessages(queue);
    const job = await waitForEnd(company, jobId);
    expect(job).toMatchObject({ status: 'done' });
    return (await readRows(company, job.user_table_id)).map(({ id: _, ...row }) => row);
  }

  return { queue, analyze, aWaitingJob, look, rowsWhenConfirmed };
}

export const namesOf = ({ columns }: { columns: { name: string }[] }): string[] => columns.map(({ name }) => name);
