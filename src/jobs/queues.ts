import type { Bindings } from '../config.ts';
import { clock } from '../kernel/clock.ts';
import { auditRecord } from '../logs/audit-record.ts';
import { type Resend, storeDeadLetters } from '../modules/dead-letters/service.ts';
import { log } from '../platform/log.ts';
import { shareEvent } from '../sharing/share-event.ts';
import { dispatch } from './dispatch.ts';
import { keepBatch } from './keep-batch.ts';

type Consumer = (batch: MessageBatch, env: Bindings, execution: ExecutionContext) => Promise<void>;

/** Every queue of wrangler.toml, by the end of its name: who handles its messages, and where they are sent. */
const QUEUES: Record<string, { consume: Consumer; producer(env: Bindings): Queue }> = {
  jobs: { consume: dispatch, producer: ({ JOBS }) => JOBS },
  'model-jobs': { consume: dispatch, producer: ({ MODEL_JOBS }) => MODEL_JOBS },
  'data-jobs': { consume: dispatch, producer: ({ DATA_JOBS }) => DATA_JOBS },
  schedules: { consume: dispatch, producer: ({ SCHEDULES }) => SCHEDULES },
  webhooks: { consume: dispatch, producer: ({ WEBHOOKS }) => WEBHOOKS },
  rechecks: { consume: dispatch, producer: ({ RECHECKS }) => RECHECKS },
  // What a log did not take at once.
  audit: { consume: (batch, env) => keepBatch('audit', batch, auditRecord, env), producer: ({ AUDIT }) => AUDIT },
  'share-events': {
    consume: (batch, env) => keepBatch('share', batch, shareEvent, env),
    producer: ({ SHARE_EVENTS }) => SHARE_EVENTS,
  },
};

/** `data-console-jobs`, or `data-console-staging-jobs` in that environment; `-dead` is the queue of dead letters. */
const QUEUE_NAME = /^(?<live>data-console-(?:staging-)?(?<kind>[a-z-]+?))(?<dead>-dead)?$/;

/** Hands a batch to the consumer of its queue. */
export const consume: Consumer = async (batch, env, execution) => {
  const { live, dead } = parseQueueName(batch.queue);
  if (dead) return keepDead(live, batch, env);
  await findQueue(batch.queue).consume(batch, env, execution);
};

/** Sends a message again to the queue it died in. */
export const resend =
  (env: Bindings): Resend =>
  async (queue, body) => {
    await findQueue(queue).producer(env).send(body);
  };

function findQueue(name: string) {
  const queue = QUEUES[parseQueueName(name).kind];
  if (!queue) throw new Error(`There is no queue ${name}.`);
  return queue;
}

function parseQueueName(name: string): { live: string; kind: string; dead: boolean } {
  const { live = name, kind = '', dead } = QUEUE_NAME.exec(name)?.groups ?? {};
  return { live, kind, dead: dead !== undefined };
}

/** Keeps messages that were tried too often, until someone has looked into it and has them sent again. */
async function keepDead(queue: string, batch: MessageBatch, env: Bindings): Promise<void> {
  const diedAt = clock.now();
  const letters = batch.messages.map(({ id, body, attempts, timestamp }) => {
    return { id, queue, body, attempts, sentAt: timestamp.getTime(), diedAt };
  });
  await storeDeadLetters(env.FILES, letters);
  log('messages_died', { queue, count: letters.length });
}
