import type { Caller } from '../support/api.ts';
import { createModel, makeProposal } from './model.ts';
import { createConcept, KNOWLEDGE_PATH } from './support.ts';

export const SUGGESTIONS = `${KNOWLEDGE_PATH}/suggestions`;

async function askForSuggestion(as: Caller, path: string, payload: Record<string, unknown>) {
  const { env } = await createModel(makeProposal(payload));
  const { status, body } = await as.post(`${SUGGESTIONS}${path}`, { env });
  if (status !== 201) throw new Error(`Answered ${status}: ${JSON.stringify(body)}`);
  return { id: body._id as string, body };
}

/** A pending suggestion to change a concept's description. */
export async function createSuggestion(as: Caller, description = 'A better description.', concept?: string) {
  const conceptId = concept ?? (await createConcept(as));
  return { ...(await askForSuggestion(as, `/concepts/${conceptId}/generate`, { description })), conceptId };
}

/** A pending suggestion to make a semantic item, or a node, of a concept. */
export async function createPromotion(as: Caller, payload: Record<string, unknown>, to = 'promote-semantic') {
  const conceptId = await createConcept(as);
  return { ...(await askForSuggestion(as, `/concepts/${conceptId}/${to}`, payload)), conceptId };
}

/** Accepts a suggestion. */
export const acceptSuggestion = (as: Caller, id: string, json?: unknown) =>
  as.post(`${SUGGESTIONS}/${id}/accept`, { json });
