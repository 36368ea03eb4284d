import type { CompanyContext, PrincipalContext } from '../../../context.ts';
import type { ResourceType } from '../../../db/schema/knowledge-resources.ts';
import type { SuggestionStatus, TargetType } from '../../../db/schema/knowledge-suggestions.ts';
import { makeNoUsage } from '../../../platform/ai.ts';
import { concept } from '../concepts/concept.ts';
import { getVisibleResource } from '../resources/reading.ts';
import { type Proposal, proposeChange, proposePromotion, requireAi } from './propose.ts';
import * as store from './store.ts';
import { getDeniedSuggestions, RESOURCE_DEFINITIONS } from './suggestion.ts';

/** Returns a page of the company's suggestions, newest first, without suggestions on targets hidden from the caller. */
export const listSuggestions = (
  ctx: PrincipalContext,
  filter: { status: SuggestionStatus; targetType?: TargetType; jobId?: string },
  page: { page: number; perPage: number },
) =>
  store.readSuggestions(ctx.db, ctx.actor.companyId, { ...filter, deniedSuggestions: getDeniedSuggestions(ctx) }, page);

/** Asks the model how to improve a resource, and stores the suggestion. */
export async function suggestChange(
  ctx: PrincipalContext,
  type: ResourceType,
  id: string,
): Promise<store.SuggestionRow> {
  const settings = requireAi(ctx);
  const { failures } = RESOURCE_DEFINITIONS[type];
  const targetResource = await getVisibleResource(ctx, RESOURCE_DEFINITIONS[type], id);
  if (targetResource.status === 'archived') throw failures.archived();
  return insertSuggestion(ctx, await proposeChange(ctx, settings, targetResource, makeNoUsage()));
}

/** Asks the model for the semantic item or ontology node of a concept, and stores the suggestion. */
export async function suggestPromotion(
  ctx: PrincipalContext,
  conceptId: string,
  to: 'semantic' | 'ontology_node',
): Promise<store.SuggestionRow> {
  const settings = requireAi(ctx);
  const sourceConcept = await getVisibleResource(ctx, concept, conceptId);
  if (sourceConcept.status === 'archived') throw concept.failures.archived();
  return insertSuggestion(ctx, await proposePromotion(ctx, settings, sourceConcept, to, makeNoUsage()));
}

/** Makes the row of a proposal that nobody has reviewed yet. */
export const makeSuggestion = (ctx: CompanyContext, proposal: Proposal, origin: store.Origin): store.NewSuggestion => {
  const now = ctx.now();
  return { ...proposal, ...origin, id: ctx.newId(), companyId: ctx.actor.companyId, createdAt: now, updatedAt: now };
};

async function insertSuggestion(ctx: PrincipalContext, proposal: Proposal): Promise<store.SuggestionRow> {
  const origin = { createdByUserId: ctx.actor.id, requestId: ctx.correlationId, jobId: null, candidateKey: null };
  const review = { reviewNote: null, reviewedByUserId: null, reviewedAt: null, resourceId: null };
  const row: store.SuggestionRow = { ...makeSuggestion(ctx, proposal, origin), ...review, status: 'pending' };
  await store.insertSuggestion(ctx.db, row);
  return row;
}
