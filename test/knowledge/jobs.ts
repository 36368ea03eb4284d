import type { JobMessage } from '../../src/platform/job-messages.ts';
import type { Step } from '../support/ai-server.ts';
import type { Caller } from '../support/api.ts';
import { createHeldQueue, deliverMessage } from '../uploads/support.ts';
import { createModel } from './model.ts';
import { KNOWLEDGE_PATH } from './support.ts';

/** Runs jobs step by step: the test says what the model answers, and when messages are delivered. */
export async function createJobRunner(as: Caller, ...steps: Step[]) {
  const model = await createModel(...steps);
  const queue = createHeldQueue();
  const env = { ...model.env, MODEL_JOBS: queue.env.JOBS } as unknown as Record<string, string>;
  return {
    model,
    messages: queue.messages,
    env,
    /** Delivers one message with this in its environment. */
    deliver: (message: JobMessage, changed: Record<string, unknown> = {}) =>
      deliverMessage(message, { ...env, ...changed }),
    /** Delivers what is in the queue until nothing is left. */
    async run(): Promise<number> {
      let delivered = 0;
      for (let message = queue.messages.shift(); message; message = queue.messages.shift()) {
        await deliverMessage(message, env);
        delivered += 1;
      }
      return delivered;
    },
    job: async (id: string) => (await as.get(`${KNOWLEDGE_PATH}/jobs/${id}`)).body,
  };
}

/** A candidate for a new concept, as a model answers it. */
export const makeConceptCandidate = (name: string, fields: Record<string, unknown> = {}) => ({
  action: 'create',
  existing_concept_id: null,
  name,
  description: `What ${name} means.`,
  type: 'term',
  aliases: [],
  tags: [],
  explanation: 'The text says so.',
  evidence: [{ source: 'text', quote: name, table: null, column: null }],
  confidence: 0.7,
  ...fields,
});

export const answerConcepts = (...candidates: unknown[]): Step => ({ answer: { candidates } });

/** All pending suggestions of a company. */
export const listPending = async (as: Caller, query = '') =>
  (await as.get(`${KNOWLEDGE_PATH}/suggestions?per_page=100${query}`)).body.records;
