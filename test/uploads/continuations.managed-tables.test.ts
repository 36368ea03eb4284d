import { expect, inject, it } from 'vitest';
import { writeOrdersCsv } from '../../bench/orders.ts';
import type { JobMessage } from '../../src/platform/job-messages.ts';
import { createProvisionedCompany } from '../support/companies.ts';
import {
  confirmJob,
  createTestQueue,
  deliverMessage,
  makeFile,
  queryDatabase,
  readJob,
  uploadFiles,
} from './support.ts';

/** The number of rows. All of them, 1M rows in 99 MB: `CONTINUED_ROWS=1000000 npx vitest run test/uploads/continuations`. */
const ROW_COUNT = inject('continuedRows');
const MESSAGE_COUNT = 24;

it('the analysis and the load of a large file take at least ten queue messages each, and each message does a bounded share', async () => {
  const company = await createProvisionedCompany();
  const bytes = writeOrdersCsv(ROW_COUNT);
  const budget = Math.ceil(bytes.length / MESSAGE_COUNT);
  const queue = createTestQueue();
  const jobId = await uploadFiles(company, [makeFile('pedidos.csv', bytes)], queue);

  /** Delivers messages one at a time until none is left, and counts them. */
  const deliverMessages = async (phase: string): Promise<number> => {
    let deliveredCount = 0;
    let doneBytes = 0;
    for (let message = queue.messages.shift(); message; message = queue.messages.shift()) {
      expect(queue.messages).toEqual([]);
      expect(await deliverMessage(message as JobMessage, { ...queue.env, UPLOAD_MESSAGE_BYTES: String(budget) })).toBe(
        'done',
      );
      deliveredCount += 1;
      const { status, progress } = await readJob(company, jobId);
      if (status !== phase) break;
      const workedBytes = progress.bytes_processed - doneBytes;
      expect(workedBytes).toBeGreaterThan(0);
      // It stops at the end of the block in which its share ends.
      expect(workedBytes).toBeLessThan(2 * budget);
      doneBytes = progress.bytes_processed;
    }
    return deliveredCount;
  };

  expect(await deliverMessages('analisando')).toBeGreaterThanOrEqual(10);
  const waitingJob = await readJob(company, jobId);
  expect(waitingJob).toMatchObject({
    status: 'waiting_confirm',
    inferred_schema: { total_row_count_estimate: ROW_COUNT },
  });
  await confirmJob(company, jobId, { display_name: 'pedidos', columns: waitingJob.inferred_schema.columns }, queue);
  expect(await deliverMessages('inserting')).toBeGreaterThanOrEqual(10);

  expect(await readJob(company, jobId)).toMatchObject({ status: 'done', progress: { rows_processed: ROW_COUNT } });
  const rows = await queryDatabase(company, (database) =>
    database.query(
      `SELECT count(*)::int AS count, bool_and(pedido = place) AS in_order
       FROM (SELECT pedido, row_number() OVER (ORDER BY id) AS place FROM public.pedidos) AS numbered`,
    ),
  );
  expect(rows).toEqual([{ count: ROW_COUNT, in_order: true }]);
});
