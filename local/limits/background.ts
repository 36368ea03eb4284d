/** The Worker in the background, as `npm start` runs it: `src/background.ts` under the platform's limits. */
import './enforce.ts';
import background from '../../src/background.ts';
import { limitHandlers } from './invocation.ts';

const handlers = limitHandlers(background);

/**
 * Starts the work of messages that take minutes without waiting for it, so that the next messages are delivered at
 * once: Miniflare delivers one batch after another, whatever `max_concurrency` says. A message that is retried is sent
 * again.
 */
const consumeWithoutWaiting: typeof background.queue = async (batch, env, execution) => {
  const messages = batch.messages.map(({ id, timestamp, attempts, body }) => ({
    ...{ id, timestamp, attempts, body },
    ack: () => {},
    retry: (options?: QueueRetryOptions) => execution.waitUntil(env.DATA_JOBS.send(body, options)),
  }));
  const retryAll = (options?: QueueRetryOptions) => {
    for (const message of messages) message.retry(options);
  };
  const { queue, metadata } = batch;
  execution.waitUntil(handlers.queue({ queue, metadata, messages, ackAll: () => {}, retryAll }, env, execution));
};

export default {
  ...handlers,
  queue: (batch, env, execution) =>
    (/-data-jobs$/.test(batch.queue) ? consumeWithoutWaiting : handlers.queue)(batch, env, execution),
} satisfies typeof background;
