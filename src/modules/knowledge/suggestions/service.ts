import type { CompanyContext, UserContext } from '../../../context.ts';
import type { ResourceType } from '../../../db/schema/knowledge-resources.ts';
import { noUsage } from '../../../platform/ai.ts';
import { concept } from '../concepts/service.ts';
import { archived, getResource } from '../resources/service.ts';
import { requireAi } from './model.ts';
import { type Proposal, proposeChange, proposePromotion } from './propose.ts';
import * as store from './store.ts';
import { DEFINITIONS, type SuggestionStatus, type TargetType } from './suggestion.ts';

export {
  acceptedAs,
  type Candidate,
  dropBatch,
  keepCandidates,
  namesStagedBy,
  pendingOntology,
  showBatch,
  stagedBy,
} from './batches.ts';
export { catalogueLines, conceptPieces, conceptsText, entityHints, fitting, packed } from './materials.ts';
export { isAiConfigured, requireAi } from './model.ts';
export { GROUNDS_SHAPE, groundsIn } from './proposals.ts';
export { type Proposal, proposeChange } from './propose.ts';
export { type Accepted, acceptSuggestion, acceptSuggestions, type NotAccepted, rejectSuggestion } from './review.ts';
export type { SuggestionRow } from './store.ts';

/** A page of the company's suggestions, newest first. */
export const listSuggestions = (
  ctx: UserContext,
  filter: { status: SuggestionStatus; targetType?: TargetType; jobId?: string },
  part: { page: number; perPage: number },
) => store.readSuggestions(ctx.db, ctx.actor.companyId, filter, part);

/**
 * Asks the model how to improve a resource, and keeps what it says for review.
 * @throws Failure `ai.not_configured`, `{noun}.not_found`, `{noun}.archived`, others of kind `unavailable`
 */
export async function suggestChange(ctx: UserContext, type: ResourceType, id: string): Promise<store.SuggestionRow> {
  const settings = requireAi(ctx);
  const target = await getResource(ctx, DEFINITIONS[type], id);
  if (target.status === 'archived') throw archived(DEFINITIONS[type]);
  return keep(ctx, await proposeChange(ctx, settings, target, noUsage()));
}

/**
 * Asks the model what a concept becomes in the semantic layer or the ontology, and keeps what it says for review.
 * @throws Failure `ai.not_configured`, `concept.not_found`, `concept.archived`, others of kind `unavailable`
 */
export async function suggestPromotion(
  ctx: UserContext,
  conceptId: string,
  to: 'semantic' | 'ontology_node',
): Promise<store.SuggestionRow> {
  const settings = requireAi(ctx);
  const source = await getResource(ctx, concept, conceptId);
  if (source.status === 'archived') throw archived(concept);
  return keep(ctx, await proposePromotion(ctx, settings, source, to, noUsage()));
}

/** A proposal as it is stored, not yet decided about. */
export const rowOf = (
  ctx: CompanyContext,
  proposal: Proposal,
  of: { createdByUserId: string; requestId: string; jobId: string | null; candidateKey: string | null },
): store.StagedRow => {
  const now = ctx.now();
  return { ...proposal, ...of, id: ctx.newId(), companyId: ctx.actor.companyId, createdAt: now, updatedAt: now };
};

async function keep(ctx: UserContext, proposal: Proposal): Promise<store.SuggestionRow> {
  const of = { createdByUserId: ctx.actor.id, requestId: ctx.correlationId, jobId: null, candidateKey: null };
  const review = { reviewNote: null, reviewedByUserId: null, reviewedAt: null, resourceId: null };
  const row: store.SuggestionRow = { ...rowOf(ctx, proposal, of), ...review, status: 'pending' };
  await store.insertSuggestion(ctx.db, row);
  return row;
}
