import { expect } from 'vitest';
import type { Company } from '../support/companies.ts';
import {
  confirmJob,
  createTestQueue,
  deliverAllMessages,
  deliverMessage,
  makeFile,
  readJob,
  uploadFiles,
} from './support.ts';

/** Makes a CSV file with these lines under a header; by default numbers in its only column, `n`. */
export const makeFileOf = (lines: (number | string)[], header = 'n'): File =>
  makeFile('n.csv', `${header}\n${lines.join('\n')}\n`);

/** Creates a confirmed job whose rows are staged: its next delivery publishes the rows in the table. */
export async function createStagedJob(
  company: Company,
  id: string,
  lines: (number | string)[],
  mode: string,
  key: string[] = [],
  header = 'n',
) {
  const queue = createTestQueue();
  const file = makeFileOf(lines, header);
  const jobId = await uploadFiles(company, [file], { ...queue, into: id, mode, key });
  await deliverAllMessages(queue);
  const { columns } = (await readJob(company, jobId)).inferred_schema;
  await confirmJob(company, jobId, { columns }, queue);
  const message = queue.messages.shift();
  if (!message) throw new Error('a confirm sends a message');
  // A budget of just these rows: to bring them into place is left to the next message.
  const bytes = file.size - `${header}\n`.length;
  await deliverMessage(message, { ...queue.env, UPLOAD_MESSAGE_BYTES: String(bytes) });
  const { status, progress } = await readJob(company, jobId);
  expect({ status, rows: progress.rows_processed }).toEqual({ status: 'inserting', rows: lines.length });
  return { jobId, publish: () => deliverMessage(message, queue.env) };
}
