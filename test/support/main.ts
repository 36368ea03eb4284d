import type { Bindings } from '../../src/config.ts';
import { consumeBatch } from '../../src/jobs/queues.ts';
import worker from './worker.ts';

export * from './worker.ts';

let fileStartedAt = 0;
let consumerCount = 0;

/**
 * Drops messages that earlier files left in the queues, which all files of a process share, and waits until none is being
 * processed. Such messages would take part in the tests of another file, with its clock and timers.
 */
export async function endWorkOfEarlierFiles(): Promise<void> {
  fileStartedAt = Date.now();
  const deadline = fileStartedAt + 30_000;
  while (consumerCount > 0 && Date.now() < deadline) await scheduler.wait(20);
  // Also what they sent at their end.
  fileStartedAt = Date.now();
}

async function consumeFileMessages(
  batch: MessageBatch,
  ...handlerArguments: [env: Bindings, execution: ExecutionContext]
): Promise<void> {
  const messages = batch.messages.filter(({ timestamp }) => timestamp.getTime() >= fileStartedAt);
  if (messages.length === 0) return;
  consumerCount += 1;
  try {
    const { queue, metadata } = batch;
    const ackAll = () => batch.ackAll();
    const retryAll = (options?: QueueRetryOptions) => batch.retryAll(options);
    await consumeBatch({ queue, messages, metadata, ackAll, retryAll }, ...handlerArguments);
  } finally {
    consumerCount -= 1;
  }
}

/** The handlers that the platform calls. Tests call `worker.ts`, whatever the time of their messages is. */
export default { ...worker, queue: consumeFileMessages };
