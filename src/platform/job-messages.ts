import { z } from 'zod';

const upload = { companyId: z.string(), jobId: z.string() };

/**
 * Everything that goes through the queue. Delivery is at least once and in no order, so each consumer finds out from its
 * own checkpoint what is left to do; a message only says where to look.
 */
export const jobMessage = z.discriminatedUnion('type', [
  /** Read on in the files of an upload job and infer their schema. */
  z.object({ type: z.literal('upload.analyse'), ...upload }),
  /** Read on in the files of a confirmed upload job and load their rows. */
  z.object({ type: z.literal('upload.load'), ...upload }),
  /**
   * Check again what the knowledge says about tables, given by ids and names; none means all. `after` pages, `tries` counts
   * how often the database was out of reach.
   */
  z.object({
    type: z.literal('knowledge.recheck'),
    companyId: z.string(),
    tables: z.array(z.string()),
    after: z.string(),
    tries: z.int().optional(),
  }),
  /** Ask the model on in a job of domain knowledge. */
  z.object({ type: z.literal('knowledge.generate'), companyId: z.string(), jobId: z.string() }),
]);

export type JobMessage = z.output<typeof jobMessage>;

/** A message as it stands in the queue: with the id of the request, or of the run, that it was sent for. */
export const queuedJob = z.intersection(jobMessage, z.object({ correlationId: z.string().optional() }));

/** The producing end of the queues. */
export interface JobQueue {
  /** Hands a message to the queue; it is kept once this resolves. `delaySeconds` postpones its delivery. */
  send(message: JobMessage, delaySeconds?: number): Promise<void>;
}

/** The queues behind Cloudflare's bindings: what waits for a model has one of its own. `correlationId` goes along. */
export function jobQueue(bindings: Record<'JOBS' | 'MODEL_JOBS', Queue>, correlationId: string): JobQueue {
  return {
    async send(message, delaySeconds) {
      const queue = message.type === 'knowledge.generate' ? bindings.MODEL_JOBS : bindings.JOBS;
      await queue.send({ ...message, correlationId }, delaySeconds === undefined ? {} : { delaySeconds });
    },
  };
}
