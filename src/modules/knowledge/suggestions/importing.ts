import type { CompanyContext } from '../../../context.ts';
import { commit } from '../../../db/client.ts';
import { concurrentChange } from '../../../db/failures.ts';
import { TARGET_TYPES } from '../../../db/schema/knowledge-suggestions.ts';
import { splitIntoParameters } from '../../../db/statements.ts';
import * as store from './store.ts';

const CREATION_TYPES = TARGET_TYPES.filter((type) => type.endsWith('_create'));

/** Reads the pending suggestions to create resources that no import made. */
export const readPendingCreations = (ctx: CompanyContext): Promise<store.SuggestedCreation[]> =>
  store
    .selectPendingSuggestions(ctx.db, ctx.actor.companyId, { targetTypes: CREATION_TYPES, includesImported: false })
    .all();

/** Reads the pending suggestions of imports that have one of these keys. */
export const readPendingImports = (ctx: CompanyContext, candidateKeys: readonly string[]) =>
  store.selectImportedSuggestions(ctx.db, ctx.actor.companyId, candidateKeys).all();

/**
 * Stores the suggestions of an import, all or none. @returns whether they are stored; false where another import has stored one
 * of them meanwhile
 */
export async function importSuggestions(ctx: CompanyContext, rows: readonly store.NewSuggestion[]): Promise<boolean> {
  const parts = splitIntoParameters(rows);
  if (parts.length === 0) return true;
  const insertStatements = parts.map((batch) => store.insertPendingSuggestions(ctx.db, batch));
  try {
    await commit(ctx.db, { inserted: insertStatements }, { 'knowledge_suggestions.candidate_key': concurrentChange });
    return true;
  } catch (error) {
    if (concurrentChange.matches(error)) return false;
    throw error;
  }
}
