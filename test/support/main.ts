import type { Bindings } from '../../src/config.ts';
import { consume } from '../../src/jobs/queues.ts';
import worker from './worker.ts';

export * from './worker.ts';

let fileBeganAt = 0;
let consumerCount = 0;

/**
 * The files of a process share its queues: what an earlier one left in them is dropped from here on, and no longer worked on
 * when this resolves. It would take part in the tests of another file, with its clock and timers.
 */
export async function endWorkOfEarlierFiles(): Promise<void> {
  fileBeganAt = Date.now();
  const deadline = fileBeganAt + 30_000;
  while (consumerCount > 0 && Date.now() < deadline) await scheduler.wait(20);
  // Also what they sent at their end.
  fileBeganAt = Date.now();
}

async function consumeOfFile(
  batch: MessageBatch,
  ...rest: [env: Bindings, execution: ExecutionContext]
): Promise<void> {
  const messages = batch.messages.filter(({ timestamp }) => timestamp.getTime() >= fileBeganAt);
  if (messages.length === 0) return;
  consumerCount += 1;
  try {
    const { queue, metadata } = batch;
    const ackAll = () => batch.ackAll();
    const retryAll = (options?: QueueRetryOptions) => batch.retryAll(options);
    await consume({ queue, messages, metadata, ackAll, retryAll }, ...rest);
  } finally {
    consumerCount -= 1;
  }
}

/** What the platform calls. Tests call `worker.ts`, whatever the time of their messages is. */
export default { ...worker, queue: consumeOfFile };
