import type { JobMessage } from '../../src/platform/job-messages.ts';
import type { Step } from '../support/ai-server.ts';
import type { Caller } from '../support/api.ts';
import { aHeldQueue, deliver } from '../uploads/support.ts';
import { aModel } from './model.ts';
import { KNOWLEDGE_PATH } from './support.ts';

/** Runs jobs step by step: the test says what the model answers, and when messages are delivered. */
export async function aJobRunner(as: Caller, ...steps: Step[]) {
  const model = await aModel(...steps);
  const queue = aHeldQueue();
  const env = { ...model.env, MODEL_JOBS: queue.env.JOBS } as unknown as Record<string, string>;
  return {
    model,
    messages: queue.messages,
    env,
    /** Delivers one message with this in its environment. */
    deliver: (message: JobMessage, changed: Record<string, unknown> = {}) => deliver(message, { ...env, ...changed }),
    /** Delivers what is in the queue until nothing is left. */
    async run(): Promise<number> {
      let delivered = 0;
      for (let message = queue.messages.shift(); message; message = queue.messages.shift()) {
        await deliver(message, env);
        delivered += 1;
      }
      return delivered;
    },
    job: async (id: string) => (await as.get(`${KNOWLEDGE_PATH}/jobs/${id}`)).body,
  };
}

/** A candidate for a new concept, as a model answers it. */
export const newConcept = (name: string, fields: Record<string, unknown> = {}) => ({
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

export const concepts = (...candidates: unknown[]): Step => ({ answer: { candidates } });

/** All pending suggestions of a company. */
export const pendingOf = async (as: Caller, query = '') =>
  (await as.get(`${KNOWLEDGE_PATH}/suggestions?per_page=100${query}`)).body.records;
