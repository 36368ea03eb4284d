import { z } from 'zod';
import { splitIntoParts } from '../kernel/parts.ts';

const upload = { companyId: z.string(), jobId: z.string() };

/** All messages of the queues. Delivery is at least once and in no order: consumers save their own progress. */
export const jobMessageSchema = z.discriminatedUnion('type', [
  /** Continue to infer the schema of an upload job's files. */
  z.object({ type: z.literal('upload.analyse'), ...upload }),
  /** Continue to load the rows of a confirmed upload job. */
  z.object({ type: z.literal('upload.load'), ...upload }),
  /**
   * Check the domain knowledge about tables again, given by ids and names; none means all. `after` is the last resource of
   * the page before; `tries` counts how often the company's database could not be reached.
   */
  z.object({
    type: z.literal('knowledge.recheck'),
    companyId: z.string(),
    tables: z.array(z.string()),
    after: z.string(),
    tries: z.int().optional(),
  }),
  /** Check the company's verified questions again. `after` is the last one of the page before; `tries` as above. */
  z.object({
    type: z.literal('knowledge.recheck_questions'),
    companyId: z.string(),
    after: z.string(),
    tries: z.int().optional(),
  }),
  /** Continue a job that generates domain knowledge. */
  z.object({ type: z.literal('knowledge.generate'), companyId: z.string(), jobId: z.string() }),
  /** Write the result of a job of the Data API. */
  z.object({ type: z.literal('data.write'), companyId: z.string(), jobId: z.string() }),
  /** Continue to export a whole company. */
  z.object({ type: z.literal('company.export'), companyId: z.string(), exportId: z.string() }),
  /** Do the runs of a company's schedules that wait. */
  z.object({ type: z.literal('schedules.run'), companyId: z.string() }),
  /** Tell a company's webhook endpoints its events. */
  z.object({ type: z.literal('webhooks.tell'), companyId: z.string() }),
  /** Fetch the events of a company's Postgres, and tell its webhook endpoints. */
  z.object({ type: z.literal('webhooks.collect'), companyId: z.string() }),
  /** Tell a company's webhook endpoints the new records of its log. */
  z.object({ type: z.literal('webhooks.stream'), companyId: z.string() }),
  /** Send an endpoint the stored records of the audit trail; `before` is the last record of the batch before. */
  z.object({
    type: z.literal('webhooks.backfill'),
    companyId: z.string(),
    endpointId: z.string(),
    backfillId: z.string(),
    from: z.int().optional(),
    to: z.int(),
    before: z.object({ at: z.int(), id: z.string() }).optional(),
  }),
  /** Keep the event of a change of a share, context or embed in the company's log. */
  z.object({ type: z.literal('share.keep'), companyId: z.string(), event: z.record(z.string(), z.unknown()) }),
  /** Mail the administrators that an endpoint was disabled. */
  z.object({ type: z.literal('webhooks.disabled'), companyId: z.string(), endpointId: z.string() }),
]);

export type JobMessage = z.output<typeof jobMessageSchema>;

/** A message in the queue, with the id of the request or run that sent it. */
export const queuedJobSchema = z.intersection(jobMessageSchema, z.object({ correlationId: z.string().optional() }));

export interface JobQueue {
  /** Sends a message; it is stored once this resolves. */
  send(message: JobMessage, delaySeconds?: number): Promise<void>;
  /** Sends messages of one type, in their order; they are stored once this resolves. */
  sendAll(messages: readonly JobMessage[]): Promise<void>;
}

/** The limits of a queue: messages in a batch, bytes of a batch, and bytes that it adds to each message. */
const [BATCH_SIZE, BATCH_BYTES, OWN_BYTES] = [100, 250_000, 100];

/** Measures the part of a batch that a message takes, in bytes. */
const measureMessage = (message: JobMessage): number =>
  Math.max(new TextEncoder().encode(JSON.stringify(message)).length + OWN_BYTES, BATCH_BYTES / BATCH_SIZE);

/**
 * The queue of each type of message. Messages that wait for a model, results that are written for minutes, checks that a
 * company's changes cause in large numbers, mails of schedules, and events for webhook endpoints have queues of their own, so
 * that they delay no other messages.
 */
const QUEUE_BY_TYPE = {
  'upload.analyse': 'JOBS',
  'upload.load': 'JOBS',
  'knowledge.recheck': 'RECHECKS',
  'knowledge.recheck_questions': 'RECHECKS',
  'knowledge.generate': 'MODEL_JOBS',
  'data.write': 'DATA_JOBS',
  'company.export': 'DATA_JOBS',
  'schedules.run': 'SCHEDULES',
  'webhooks.tell': 'WEBHOOKS',
  'webhooks.collect': 'WEBHOOKS',
  'webhooks.stream': 'WEBHOOKS',
  'webhooks.backfill': 'WEBHOOKS',
  'share.keep': 'WEBHOOKS',
  'webhooks.disabled': 'WEBHOOKS',
} as const satisfies Record<JobMessage['type'], string>;

export function createJobQueue(
  bindings: Record<(typeof QUEUE_BY_TYPE)[JobMessage['type']], Queue>,
  correlationId: string,
): JobQueue {
  return {
    async send(message, delaySeconds) {
      await bindings[QUEUE_BY_TYPE[message.type]].send(
        { ...message, correlationId },
        delaySeconds === undefined ? {} : { delaySeconds },
      );
    },
    async sendAll(messages) {
      const bodies = messages.map((message) => ({ ...message, correlationId }));
      for (const batch of splitIntoParts(bodies, BATCH_BYTES, measureMessage)) {
        const { type } = batch[0] as JobMessage;
        await bindings[QUEUE_BY_TYPE[type]].sendBatch(batch.map((body) => ({ body })));
      }
    },
  };
}
