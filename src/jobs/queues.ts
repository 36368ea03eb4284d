import type { Bindings } from '../config.ts';
import { clock } from '../context.ts';
import { keepDeadLetters, type Resend } from '../modules/dead-letters/service.ts';
import { log } from '../platform/log.ts';
import { consumeAuditRecords } from './audit-queue.ts';
import { dispatch } from './dispatch.ts';
import { consumeShareEvents } from './share-event-queue.ts';

/** A dead letter queue is named after the queue whose messages end in it. */
const DEAD = '-dead';

type Consumer = (batch: MessageBatch, env: Bindings, execution: ExecutionContext) => Promise<void>;

/** Every queue of wrangler.toml: who handles its messages, and where they are sent. */
const QUEUES: Record<string, { consume: Consumer; producer(env: Bindings): Queue }> = {
  'data-console-jobs': { consume: dispatch, producer: ({ JOBS }) => JOBS },
  'data-console-model-jobs': { consume: dispatch, producer: ({ MODEL_JOBS }) => MODEL_JOBS },
  'data-console-audit': { consume: consumeAuditRecords, producer: ({ AUDIT }) => AUDIT },
  'data-console-share-events': { consume: consumeShareEvents, producer: ({ SHARE_EVENTS }) => SHARE_EVENTS },
};

/** Hands a batch to the consumer of its queue. */
export const consume: Consumer = async (batch, env, execution) => {
  if (batch.queue.endsWith(DEAD)) return bury(batch, env);
  await queueOf(batch.queue).consume(batch, env, execution);
};

/** Sends a message again to the queue it died in. */
export const resend =
  (env: Bindings): Resend =>
  async (queue, body) => {
    await queueOf(queue).producer(env).send(body);
  };

function queueOf(name: string) {
  const queue = QUEUES[name];
  if (!queue) throw new Error(`There is no queue ${name}.`);
  return queue;
}

/** Keeps messages that were tried too often, until someone has looked into it and has them sent again. */
async function bury(batch: MessageBatch, env: Bindings): Promise<void> {
  const queue = batch.queue.slice(0, -DEAD.length);
  const letters = batch.messages.map(({ id, body, attempts }) => ({
    id,
    queue,
    body: JSON.stringify(body),
    attempts,
    diedAt: clock.now(),
  }));
  await keepDeadLetters(env.AUDIT_DB, letters);
  log('messages_died', { queue, count: letters.length });
}
