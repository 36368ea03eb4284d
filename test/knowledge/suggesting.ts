import type { Caller } from '../support/api.ts';
import { createModel, makeProposal } from './model.ts';
import { createConcept, KNOWLEDGE_PATH } from './support.ts';

export const SUGGESTIONS_PATH = `${KNOWLEDGE_PATH}/suggestions`;

async function requestSuggestion(as: Caller, path: string, payload: Record<string, unknown>) {
  const { env } = await createModel(makeProposal(payload));
  const { status, body } = await as.post(`${SUGGESTIONS_PATH}${path}`, { env });
  if (status !== 201) throw new Error(`Answered ${status}: ${JSON.stringify(body)}`);
  return { id: body._id as string, body };
}

/** Creates a pending suggestion to change a concept's description. */
export async function createSuggestion(as: Caller, description = 'A better description.', concept?: string) {
  const conceptId = concept ?? (await createConcept(as));
  return { ...(await requestSuggestion(as, `/concepts/${conceptId}/generate`, { description })), conceptId };
}

/** Creates a pending suggestion to turn a concept into a semantic item or a node. */
export async function createPromotion(as: Caller, payload: Record<string, unknown>, to = 'promote-semantic') {
  const conceptId = await createConcept(as);
  return { ...(await requestSuggestion(as, `/concepts/${conceptId}/${to}`, payload)), conceptId };
}

/** Accepts a suggestion. */
export const acceptSuggestion = (as: Caller, id: string, json?: unknown) =>
  as.post(`${SUGGESTIONS_PATH}/${id}/accept`, { json });
