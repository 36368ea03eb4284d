import type { CompanyContext } from '../../../context.ts';
import type { Statement } from '../../../db/client.ts';
import * as store from './store.ts';

/** What jobs do with suggestions: keep them back while they run, show them when they have ended well. */
export type Candidate = store.StagedRow;

/** The candidates that a job has kept back so far. */
export const stagedBy = (ctx: CompanyContext, jobId: string): Promise<store.SuggestionRow[]> =>
  store.selectStaged(ctx.db, ctx.actor.companyId, jobId).all();

/** What the candidates are that a job has kept back so far: of concepts there may be very many. */
export const namesStagedBy = (ctx: CompanyContext, jobId: string) =>
  store.selectStagedNames(ctx.db, ctx.actor.companyId, jobId).all();

/** What came of those of the suggestions that were accepted: the id of the resource, by that of the suggestion. */
export async function acceptedAs(ctx: CompanyContext, ids: string[]): Promise<Map<string, string>> {
  const rows = ids.length > 0 ? await store.selectSuggestions(ctx.db, ctx.actor.companyId, ids) : [];
  return new Map(rows.flatMap(({ id, resourceId }) => (resourceId === null ? [] : [[id, resourceId]])));
}

/** Most pending suggestions that are looked at to find out what is proposed already. */
const MOST_PENDING = 5000;

/** What is proposed for the ontology and not decided about. */
export const pendingOntology = (ctx: CompanyContext): Promise<store.SuggestionRow[]> =>
  store
    .selectPending(ctx.db, ctx.actor.companyId, ['ontology_node_create', 'ontology_relation_create'], MOST_PENDING)
    .all();

/** Statements that keep candidates, if the statement before them in the batch changed something. */
export const keepCandidates = (ctx: CompanyContext, rows: Candidate[], status: 'staged' | 'pending'): Statement[] =>
  rows.length > 0 ? [store.insertCandidates(ctx.db, rows, status)] : [];

/**
 * Statements that show what a job kept back, if it has ended well by then. Of concepts the new batch takes the place of
 * what is left of earlier ones.
 */
export function showBatch(ctx: CompanyContext, jobId: string, of: 'concepts' | 'ontology'): Statement[] {
  const { companyId } = ctx.actor;
  const show = store.showStaged(ctx.db, companyId, jobId, ctx.now());
  return of === 'concepts' ? [store.supersedeConcepts(ctx.db, companyId, jobId, ctx.now()), show] : [show];
}

/** The statement that throws away what a job kept back, if the one before it in the batch ended the job. */
export const dropBatch = (ctx: CompanyContext, jobId: string): Statement =>
  store.dropStaged(ctx.db, ctx.actor.companyId, jobId);
