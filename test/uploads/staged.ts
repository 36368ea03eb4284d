import { expect } from 'vitest';
import type { Company } from '../support/worlds.ts';
import { aFile, aHeldQueue, confirm, deliver, deliverAll, jobOf, upload } from './support.ts';

/** A file with these lines under a header: numbers in its only column, `n`, where that is not said. */
export const aFileOf = (lines: (number | string)[], header = 'n'): File =>
  aFile('n.csv', `${header}\n${lines.join('\n')}\n`);

/** A confirmed job whose rows are staged: its next delivery brings them into the table. */
export async function aStagedJob(
  company: Company,
  id: string,
  lines: (number | string)[],
  mode: string,
  key: string[] = [],
  header = 'n',
) {
  const queue = aHeldQueue();
  const file = aFileOf(lines, header);
  const jobId = await upload(company, [file], { ...queue, into: id, mode, key });
  await deliverAll(queue);
  const { columns } = (await jobOf(company, jobId)).inferred_schema;
  await confirm(company, jobId, { columns }, queue);
  const message = queue.messages.shift();
  if (!message) throw new Error('a confirm sends a message');
  // A budget of just these rows: to bring them into place is left to the next message.
  const bytes = file.size - `${header}\n`.length;
  await deliver(message, { ...queue.env, UPLOAD_MESSAGE_BYTES: String(bytes) });
  const { status, progress } = await jobOf(company, jobId);
  expect({ status, rows: progress.rows_processed }).toEqual({ status: 'inserting', rows: lines.length });
  return { jobId, publish: () => deliver(message, queue.env) };
}
