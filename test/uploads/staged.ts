import { expect } from 'vitest';
import type { Company } from '../support/worlds.ts';
import { aFile, aHeldQueue, confirm, deliver, deliverAll, jobOf, upload } from './support.ts';

/** A file with these numbers in its only column, `n`. */
export const aFileOf = (values: number[]): File => aFile('n.csv', `n\n${values.join('\n')}\n`);

/** A confirmed job whose rows are staged: its next delivery brings them into the table. */
export async function aStagedJob(company: Company, id: string, values: number[], mode: string, key: string[] = []) {
  const queue = aHeldQueue();
  const jobId = await upload(company, [aFileOf(values)], { ...queue, into: id, mode, key });
  await deliverAll(queue);
  const { columns } = (await jobOf(company, jobId)).inferred_schema;
  await confirm(company, jobId, { columns }, queue);
  const message = queue.messages.shift();
  if (!message) throw new Error('a confirm sends a message');
  // A budget of just these rows: to bring them into place is left to the next message.
  const { size } = aFileOf(values);
  await deliver(message, { ...queue.env, UPLOAD_MESSAGE_BYTES: String(size - 'n\n'.length) });
  const { status, progress } = await jobOf(company, jobId);
  expect({ status, rows: progress.rows_processed }).toEqual({ status: 'inserting', rows: values.length });
  return { jobId, publish: () => deliver(message, queue.env) };
}
