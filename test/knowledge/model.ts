import { inject } from 'vitest';
import type { ReceivedRequest, ScriptStep } from '../support/ai-server.ts';

let createdCount = 0;

/** Creates an AI provider for one test: it gives the answers of `steps` in order, and records the requests. */
export async function createModel(...steps: ScriptStep[]) {
  return createModelAt(`script-${Date.now()}-${++createdCount}`, steps);
}

/** Creates the AI provider that the Worker's own variables name, for jobs that the queue itself delivers. */
export const createDefaultModel = (...steps: ScriptStep[]) => createModelAt('default', steps);

async function createModelAt(script: string, steps: ScriptStep[]) {
  const baseUrl = `${inject('aiServerUrl')}/${script}`;
  const setSteps = async (...next: ScriptStep[]): Promise<void> => {
    await fetch(`${baseUrl}/_script`, { method: 'POST', body: JSON.stringify(next) });
  };
  await setSteps(...steps);
  return {
    /** Environment variables of requests that should use this provider. */
    env: {
      AI_API_KEY: 'key-of-the-tests',
      AI_BASE_URL: `${baseUrl}/v1`,
      AI_MODEL: 'model-of-the-tests',
      AI_BACKOFF_MS: '5',
      AI_TIMEOUT_MS: '20000',
    },
    follow: setSteps,
    asked: async (): Promise<ReceivedRequest[]> => (await fetch(`${baseUrl}/_asked`)).json(),
  };
}

/** Environment variables of requests that reach no provider. */
export const NO_MODEL_ENV = { AI_API_KEY: '' };

/** Makes an answer with a proposal for one resource. */
export const makeProposal = (payload: Record<string, unknown>, fields: Record<string, unknown> = {}) => ({
  answer: {
    payload,
    explanation: 'Because the material says so.',
    evidence: [{ source: 'concept', quote: 'the words', table: null, column: null }],
    confidence: 0.8,
    ...fields,
  },
});
