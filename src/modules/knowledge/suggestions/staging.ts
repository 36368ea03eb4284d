import type { CompanyContext } from '../../../context.ts';
import type { Statement } from '../../../db/client.ts';
import * as store from './store.ts';

/** Reads the suggestions that a job has staged so far, the oldest first; only the newest 5,000 if there are more. */
export const readStagedSuggestions = async (ctx: CompanyContext, jobId: string): Promise<store.SuggestedCreation[]> =>
  (await store.selectStagedSuggestions(ctx.db, ctx.actor.companyId, jobId).all()).toReversed();

/** Reads only the names of the suggestions that a job has staged so far: there may be very many concepts. */
export const readStagedNames = (ctx: CompanyContext, jobId: string) =>
  store.selectStagedNames(ctx.db, ctx.actor.companyId, jobId).all();

/** Finds the ids of the resources that were made from accepted suggestions, by the ids of the suggestions. */
export async function findAcceptedResourceIds(ctx: CompanyContext, ids: string[]): Promise<Map<string, string>> {
  const rows = ids.length > 0 ? await store.selectCreatedResources(ctx.db, ctx.actor.companyId, ids) : [];
  return new Map(rows.map(({ id, resourceId }) => [id, resourceId]));
}

/** Reads the pending suggestions of new nodes and relations. */
export const readPendingOntologySuggestions = (ctx: CompanyContext): Promise<store.SuggestedCreation[]> =>
  store
    .selectPendingSuggestions(ctx.db, ctx.actor.companyId, {
      targetTypes: ['ontology_node_create', 'ontology_relation_create'],
      includesImported: true,
    })
    .all();

/** Makes statements that insert suggestions, if the previous statement of the batch changed a row. */
export const makeInsertStatements = (
  ctx: CompanyContext,
  rows: store.NewSuggestion[],
  status: 'staged' | 'pending',
): Statement[] => (rows.length > 0 ? [store.insertJobSuggestions(ctx.db, rows, status)] : []);

/**
 * Makes statements that publish a job's staged suggestions, with the last of its batches. Concepts replace the pending
 * suggestions of earlier jobs.
 */
export function makePublishStatements(ctx: CompanyContext, jobId: string, kind: 'concepts' | 'ontology'): Statement[] {
  const { companyId } = ctx.actor;
  const publishStatement = store.publishStagedSuggestions(ctx.db, companyId, jobId, ctx.now());
  return kind === 'concepts'
    ? [store.supersedeConcepts(ctx.db, companyId, jobId, ctx.now()), publishStatement]
    : [publishStatement];
}

/** Makes the statement that deletes a job's staged suggestions, if the previous one of the batch ended the job. */
export const makeDiscardStatement = (ctx: CompanyContext, jobId: string): Statement =>
  store.deleteStagedSuggestions(ctx.db, ctx.actor.companyId, jobId);
