import type { CompanyContext } from '../../../context.ts';
import type { Statement } from '../../../db/client.ts';
import * as store from './store.ts';

/** The suggestions that a job has staged so far, the oldest first; only the newest 5,000 of more. */
export const readStagedSuggestions = async (ctx: CompanyContext, jobId: string): Promise<store.SuggestedCreation[]> =>
  (await store.selectStaged(ctx.db, ctx.actor.companyId, jobId).all()).toReversed();

/** The names alone of the suggestions that a job has staged so far: of concepts there may be very many. */
export const readStagedNames = (ctx: CompanyContext, jobId: string) =>
  store.selectStagedNames(ctx.db, ctx.actor.companyId, jobId).all();

/** The ids of the resources that were made from accepted suggestions, by the ids of the suggestions. */
export async function findAcceptedResourceIds(ctx: CompanyContext, ids: string[]): Promise<Map<string, string>> {
  const rows = ids.length > 0 ? await store.selectCreatedResources(ctx.db, ctx.actor.companyId, ids) : [];
  return new Map(rows.map(({ id, resourceId }) => [id, resourceId]));
}

/** The pending suggestions of new nodes and relations. */
export const readPendingOntologySuggestions = (ctx: CompanyContext): Promise<store.SuggestedCreation[]> =>
  store
    .selectPending(ctx.db, ctx.actor.companyId, {
      targetTypes: ['ontology_node_create', 'ontology_relation_create'],
      alsoImported: true,
    })
    .all();

/** Statements that insert suggestions, if the statement before them in the batch changed a row. */
export const insertStatements = (
  ctx: CompanyContext,
  rows: store.NewSuggestion[],
  status: 'staged' | 'pending',
): Statement[] => (rows.length > 0 ? [store.insertCandidates(ctx.db, rows, status)] : []);

/**
 * Statements that publish a job's staged suggestions, with the last of its batches. Concepts replace the pending suggestions of
 * earlier jobs.
 */
export function publishStatements(ctx: CompanyContext, jobId: string, of: 'concepts' | 'ontology'): Statement[] {
  const { companyId } = ctx.actor;
  const publish = store.publishStaged(ctx.db, companyId, jobId, ctx.now());
  return of === 'concepts' ? [store.supersedeConcepts(ctx.db, companyId, jobId, ctx.now()), publish] : [publish];
}

/** The statement that deletes a job's staged suggestions, if the one before it in the batch ended the job. */
export const discardStatement = (ctx: CompanyContext, jobId: string): Statement =>
  store.deleteStaged(ctx.db, ctx.actor.companyId, jobId);
