import type { Bindings } from '../config.ts';
import { clock } from '../kernel/clock.ts';
import { auditRecord } from '../logs/audit-record.ts';
import { type ResendMessage, storeDeadLetters } from '../modules/dead-letters/service.ts';
import { log } from '../platform/log.ts';
import { shareEventSchema } from '../sharing/share-event.ts';
import { dispatchBatch } from './dispatch.ts';
import { storeBatch } from './keep-batch.ts';

type Consumer = (batch: MessageBatch, env: Bindings, execution: ExecutionContext) => Promise<void>;

/** All queues of wrangler.toml, by the end of the name: the consumer of its messages, and its producer. */
const QUEUES: Record<string, { consume: Consumer; getProducer(env: Bindings): Queue }> = {
  jobs: { consume: dispatchBatch, getProducer: ({ JOBS }) => JOBS },
  'model-jobs': { consume: dispatchBatch, getProducer: ({ MODEL_JOBS }) => MODEL_JOBS },
  'data-jobs': { consume: dispatchBatch, getProducer: ({ DATA_JOBS }) => DATA_JOBS },
  schedules: { consume: dispatchBatch, getProducer: ({ SCHEDULES }) => SCHEDULES },
  webhooks: { consume: dispatchBatch, getProducer: ({ WEBHOOKS }) => WEBHOOKS },
  rechecks: { consume: dispatchBatch, getProducer: ({ RECHECKS }) => RECHECKS },
  // What a log did not take at once.
  audit: { consume: (batch, env) => storeBatch('audit', batch, auditRecord, env), getProducer: ({ AUDIT }) => AUDIT },
  'share-events': {
    consume: (batch, env) => storeBatch('share', batch, shareEventSchema, env),
    getProducer: ({ SHARE_EVENTS }) => SHARE_EVENTS,
  },
};

/** Pattern of queue names: `data-console-jobs`, or `data-console-staging-jobs` in staging; `-dead` is for dead letters. */
const QUEUE_NAME_PATTERN = /^(?<live>data-console-(?:staging-)?(?<kind>[a-z-]+?))(?<dead>-dead)?$/;

/** Passes a batch to the consumer of its queue. */
export const consumeBatch: Consumer = async (batch, env, execution) => {
  const { liveQueue, isDead } = parseQueueName(batch.queue);
  if (isDead) return storeDeadBatch(liveQueue, batch, env);
  await findQueue(batch.queue).consume(batch, env, execution);
};

/** Makes a function that sends a message again to the queue in which its delivery was given up. */
export const makeMessageResender =
  (env: Bindings): ResendMessage =>
  async (queue, body) => {
    await findQueue(queue).getProducer(env).send(body);
  };

function findQueue(name: string) {
  const queue = QUEUES[parseQueueName(name).kind];
  if (!queue) throw new Error(`There is no queue ${name}.`);
  return queue;
}

function parseQueueName(name: string): { liveQueue: string; kind: string; isDead: boolean } {
  const { live = name, kind = '', dead } = QUEUE_NAME_PATTERN.exec(name)?.groups ?? {};
  return { liveQueue: live, kind, isDead: dead !== undefined };
}

/** Stores messages that were tried too often, until an operator examines them and has them sent again. */
async function storeDeadBatch(queue: string, batch: MessageBatch, env: Bindings): Promise<void> {
  const diedAt = clock.now();
  const letters = batch.messages.map(({ id, body, attempts, timestamp }) => {
    return { id, queue, body, attempts, sentAt: timestamp.getTime(), diedAt };
  });
  await storeDeadLetters(env.FILES, letters);
  log('messages_died', { queue, count: letters.length });
}
