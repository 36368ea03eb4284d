import type { Caller } from '../support/api.ts';
import { aModel, proposal } from './model.ts';
import { aConcept, KNOWLEDGE_PATH } from './support.ts';

export const SUGGESTIONS = `${KNOWLEDGE_PATH}/suggestions`;

async function ask(as: Caller, path: string, payload: Record<string, unknown>) {
  const { env } = await aModel(proposal(payload));
  const { status, body } = await as.post(`${SUGGESTIONS}${path}`, { env });
  if (status !== 201) throw new Error(`Answered ${status}: ${JSON.stringify(body)}`);
  return { id: body._id as string, body };
}

/** A pending suggestion to change a concept's description. */
export async function aSuggestion(as: Caller, description = 'A better description.', concept?: string) {
  const conceptId = concept ?? (await aConcept(as));
  return { ...(await ask(as, `/concepts/${conceptId}/generate`, { description })), conceptId };
}

/** A pending suggestion to make a semantic item, or a node, of a concept. */
export async function aPromotion(as: Caller, payload: Record<string, unknown>, to = 'promote-semantic') {
  const conceptId = await aConcept(as);
  return { ...(await ask(as, `/concepts/${conceptId}/${to}`, payload)), conceptId };
}

/** Accepts a suggestion. */
export const accept = (as: Caller, id: string, json?: unknown) => as.post(`${SUGGESTIONS}/${id}/accept`, { json });
