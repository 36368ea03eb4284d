import type { JobMessage } from '../../src/platform/job-messages.ts';
import type { ScriptStep } from '../support/ai-server.ts';
import type { Caller } from '../support/api.ts';
import { createTestQueue, deliverMessage } from '../uploads/support.ts';
import { createModel } from './model.ts';
import { KNOWLEDGE_PATH } from './support.ts';

/**
 * Creates a runner that executes jobs step by step: the test sets the model's answers, and decides when messages are delivered.
 */
export async function createJobRunner(as: Caller, ...steps: ScriptStep[]) {
  const model = await createModel(...steps);
  const queue = createTestQueue();
  const env = { ...model.env, MODEL_JOBS: queue.env.JOBS } as unknown as Record<string, string>;
  return {
    model,
    messages: queue.messages,
    env,
    /** Delivers one message with changes of the environment. */
    deliver: (message: JobMessage, envChanges: Record<string, unknown> = {}) =>
      deliverMessage(message, { ...env, ...envChanges }),
    /** Delivers the messages in the queue until none is left. @returns how many were delivered */
    async run(): Promise<number> {
      let deliveredCount = 0;
      for (let message = queue.messages.shift(); message; message = queue.messages.shift()) {
        await deliverMessage(message, env);
        deliveredCount += 1;
      }
      return deliveredCount;
    },
    job: async (id: string) => (await as.get(`${KNOWLEDGE_PATH}/jobs/${id}`)).body,
  };
}

/** Makes a candidate for a new concept, as a model answers it. */
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

export const makeConceptsAnswer = (...candidates: unknown[]): ScriptStep => ({ answer: { candidates } });

/** Lists all pending suggestions of a company. */
export const listPendingSuggestions = async (as: Caller, query = '') =>
  (await as.get(`${KNOWLEDGE_PATH}/suggestions?per_page=100${query}`)).body.records;
