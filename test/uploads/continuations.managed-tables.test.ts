import { expect, inject, it } from 'vitest';
import { writeOrdersCsv } from '../../bench/orders.ts';
import type { JobMessage } from '../../src/platform/job-messages.ts';
import { aProvisionedCompany } from '../support/worlds.ts';
import {
  confirmJob,
  createHeldQueue,
  deliverMessage,
  makeFile,
  queryDatabase,
  readJob,
  uploadFiles,
} from './support.ts';

/** The whole of it, 1M rows in 99 MB: `CONTINUED_ROWS=1000000 npx vitest run test/uploads/continuations`. */
const ROWS = inject('continuedRows');
const MESSAGES = 24;

it('the analysis and the load of a large file take at least ten queue messages each, of a bounded share each', async () => {
  const company = await aProvisionedCompany();
  const bytes = writeOrdersCsv(ROWS);
  const budget = Math.ceil(bytes.length / MESSAGES);
  const queue = createHeldQueue();
  const jobId = await uploadFiles(company, [makeFile('pedidos.csv', bytes)], queue);

  /** Delivers what there is to do until nothing is, one message at a time, and counts. */
  const work = async (phase: string): Promise<number> => {
    let delivered = 0;
    let done = 0;
    for (let message = queue.messages.shift(); message; message = queue.messages.shift()) {
      expect(queue.messages).toEqual([]);
      expect(await deliverMessage(message as JobMessage, { ...queue.env, UPLOAD_MESSAGE_BYTES: String(budget) })).toBe(
        'done',
      );
      delivered += 1;
      const { status, progress } = await readJob(company, jobId);
      if (status !== phase) break;
      const worked = progress.bytes_processed - done;
      expect(worked).toBeGreaterThan(0);
      // It stops at the end of the block in which its share ends.
      expect(worked).toBeLessThan(2 * budget);
      done = progress.bytes_processed;
    }
    return delivered;
  };

  expect(await work('analisando')).toBeGreaterThanOrEqual(10);
  const waiting = await readJob(company, jobId);
  expect(waiting).toMatchObject({ status: 'waiting_confirm', inferred_schema: { total_row_count_estimate: ROWS } });
  await confirmJob(company, jobId, { display_name: 'pedidos', columns: waiting.inferred_schema.columns }, queue);
  expect(await work('inserting')).toBeGreaterThanOrEqual(10);

  expect(await readJob(company, jobId)).toMatchObject({ status: 'done', progress: { rows_processed: ROWS } });
  const rows = await queryDatabase(company, (database) =>
    database.query(
      `SELECT count(*)::int AS count, bool_and(pedido = place) AS in_order
       FROM (SELECT pedido, row_number() OVER (ORDER BY id) AS place FROM public.pedidos) AS numbered`,
    ),
  );
  expect(rows).toEqual([{ count: ROWS, in_order: true }]);
});
