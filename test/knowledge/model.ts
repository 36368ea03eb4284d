import { inject } from 'vitest';
import type { AskedRequest, Step } from '../support/ai-server.ts';

let createdCount = 0;

/** A provider of a test's own, on a socket: what it answers, in this order, and what it was asked. */
export async function createModel(...steps: Step[]) {
  createdCount += 1;
  return createModelAt(`script-${Date.now()}-${createdCount}`, steps);
}

/** The provider that the Worker's own variables name: for what the queue itself delivers. */
export const createDefaultModel = (...steps: Step[]) => createModelAt('default', steps);

async function createModelAt(script: string, steps: Step[]) {
  const base = `${inject('aiServerUrl')}/${script}`;
  const follow = async (...next: Step[]): Promise<void> => {
    await fetch(`${base}/_script`, { method: 'POST', body: JSON.stringify(next) });
  };
  await follow(...steps);
  return {
    /** Variables of requests that are to ask this provider. */
    env: {
      AI_API_KEY: 'key-of-the-tests',
      AI_BASE_URL: `${base}/v1`,
      AI_MODEL: 'model-of-the-tests',
      AI_BACKOFF_MS: '5',
      AI_TIMEOUT_MS: '20000',
    },
    follow,
    asked: async (): Promise<AskedRequest[]> => (await fetch(`${base}/_asked`)).json(),
  };
}

/** Requests with this in their environment reach no provider. */
export const NO_MODEL = { AI_API_KEY: '' };

/** An answer about one resource. */
export const makeProposal = (payload: Record<string, unknown>, fields: Record<string, unknown> = {}) => ({
  answer: {
    payload,
    explanation: 'Because the material says so.',
    evidence: [{ source: 'concept', quote: 'the words', table: null, column: null }],
    confidence: 0.8,
    ...fields,
  },
});
