import { expect } from 'vitest';
import type { Company } from '../support/companies.ts';
import {
  confirmJob,
  createTestQueue,
  deliverAllMessages,
  makeFile,
  readJob,
  readRows,
  uploadFiles,
  waitForEnd,
} from './support.ts';

let tableCount = 0;

/** Returns helpers for tests of a second analysis of a company's jobs, whose messages are held in `queue`. */
export function createAnalysisHelpers(getCompany: () => Company) {
  const queue = createTestQueue();

  const analyze = (jobId: string, json: unknown, as = getCompany().as) =>
    as.post(`/v1/managed-tables/upload-jobs/${jobId}/analyze`, { json, env: queue.env as never });

  /** Creates a job of these files that waits for its confirmation. */
  async function createWaitingJob(
    ...files: [name: string, content: string | Uint8Array<ArrayBuffer>][]
  ): Promise<string> {
    const uploadedFiles = files.map(([name, content]) => makeFile(name, content));
    const jobId = await uploadFiles(getCompany(), uploadedFiles, queue);
    await deliverAllMessages(queue);
    expect(await readJob(getCompany(), jobId)).toMatchObject({ status: 'waiting_confirm' });
    return jobId;
  }

  /** Analyses a job's files again with these options. @returns the inferred schema */
  async function analyzeAgain(jobId: string, options: unknown) {
    expect(await analyze(jobId, options)).toMatchObject({ status: 200, body: { status: 'queued' } });
    await deliverAllMessages(queue);
    const job = await readJob(getCompany(), jobId);
    expect(job).toMatchObject({ status: 'waiting_confirm', error: null });
    return job.inferred_schema;
  }

  /** Confirms a job with the inferred columns. @returns the rows that were loaded */
  async function confirmAndReadRows(jobId: string) {
    const company = getCompany();
    const { columns } = (await readJob(company, jobId)).inferred_schema;
    const answer = await confirmJob(company, jobId, { display_name: `olhar_${++tableCount}`, columns }, queue);
    expect(answer.status).toBe(200);
    await deliverAllMessages(queue);
    const job = await waitForEnd(company, jobId);
    expect(job).toMatchObject({ status: 'done' });
    return (await readRows(company, job.user_table_id)).map(({ id: _, ...row }) => row);
  }

  return { queue, analyze, aWaitingJob: createWaitingJob, look: analyzeAgain, rowsWhenConfirmed: confirmAndReadRows };
}

export const listNames = ({ columns }: { columns: { name: string }[] }): string[] => columns.map(({ name }) => name);
