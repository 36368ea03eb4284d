import type { CompanyContext } from '../../../context.ts';
import { commit, type Statement } from '../../../db/client.ts';
import { TARGET_TYPES } from '../../../db/schema/knowledge-suggestions.ts';
import * as store from './store.ts';

/** The suggestions that a job has staged so far. */
export const stagedSuggestions = (ctx: CompanyContext, jobId: string): Promise<store.SuggestionRow[]> =>
  store.selectStaged(ctx.db, ctx.actor.companyId, jobId).all();

/** Only the names of what a job has staged so far: of concepts there may be very many. */
export const stagedNames = (ctx: CompanyContext, jobId: string) =>
  store.selectStagedNames(ctx.db, ctx.actor.companyId, jobId).all();

/** The ids of the resources that accepted suggestions made, by the ids of these. */
export async function acceptedResourceIds(ctx: CompanyContext, ids: string[]): Promise<Map<string, string>> {
  const rows = ids.length > 0 ? await store.selectSuggestions(ctx.db, ctx.actor.companyId, ids) : [];
  return new Map(rows.flatMap(({ id, resourceId }) => (resourceId === null ? [] : [[id, resourceId]])));
}

/** Most pending suggestions that are read to find out what is suggested already. */
const MAX_PENDING = 5000;

/** The pending suggestions of new nodes and relations. */
export const pendingOntologySuggestions = (ctx: CompanyContext): Promise<store.SuggestionRow[]> =>
  store
    .selectPending(ctx.db, ctx.actor.companyId, ['ontology_node_create', 'ontology_relation_create'], MAX_PENDING)
    .all();

const CREATIONS = TARGET_TYPES.filter((type) => type.endsWith('_create'));

/** The pending suggestions of anything new. */
export const pendingCreations = (ctx: CompanyContext): Promise<store.SuggestionRow[]> =>
  store.selectPending(ctx.db, ctx.actor.companyId, CREATIONS, MAX_PENDING).all();

/** Most characters of suggestions that one statement takes: D1 bounds a parameter. */
const MAX_PARAMETER = 500_000;

/** Stores suggestions that no job made, all or none. */
export async function importSuggestions(ctx: CompanyContext, rows: readonly store.NewSuggestion[]): Promise<void> {
  const parts: store.NewSuggestion[][] = [];
  let size = Number.POSITIVE_INFINITY;
  for (const row of rows) {
    const { length } = JSON.stringify(row);
    if (size + length > MAX_PARAMETER) {
      parts.push([]);
      size = 0;
    }
    parts.at(-1)?.push(row);
    size += length;
  }
  const inserted = parts.map((part) => store.insertPending(ctx.db, part));
  if (inserted.length > 0) await commit(ctx.db, { inserted });
}

/** Statements that insert suggestions, if the statement before them in the batch changed a row. */
export const insertStatements = (
  ctx: CompanyContext,
  rows: store.NewSuggestion[],
  status: 'staged' | 'pending',
): Statement[] => (rows.length > 0 ? [store.insertCandidates(ctx.db, rows, status)] : []);

/**
 * Statements that publish what a job has staged, with the last of its batches. Concepts replace the pending suggestions of
 * earlier jobs.
 */
export function publishStatements(ctx: CompanyContext, jobId: string, of: 'concepts' | 'ontology'): Statement[] {
  const { companyId } = ctx.actor;
  const publish = store.publishStaged(ctx.db, companyId, jobId, ctx.now());
  return of === 'concepts' ? [store.supersedeConcepts(ctx.db, companyId, jobId, ctx.now()), publish] : [publish];
}

/** The statement that deletes what a job staged, if the one before it in the batch ended the job. */
export const discardStatement = (ctx: CompanyContext, jobId: string): Statement =>
  store.deleteStaged(ctx.db, ctx.actor.companyId, jobId);
