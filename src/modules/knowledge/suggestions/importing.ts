import type { CompanyContext } from '../../../context.ts';
import { commit } from '../../../db/client.ts';
import { concurrentChange } from '../../../db/failures.ts';
import { TARGET_TYPES } from '../../../db/schema/knowledge-suggestions.ts';
import { splitIntoParameters } from '../../../db/statements.ts';
import * as store from './store.ts';

const CREATION_TYPES = TARGET_TYPES.filter((type) => type.endsWith('_create'));

/** The pending suggestions of anything new that no import made. */
export const readPendingCreations = (ctx: CompanyContext): Promise<store.SuggestedCreation[]> =>
  store.selectPending(ctx.db, ctx.actor.companyId, { targetTypes: CREATION_TYPES, alsoImported: false }).all();

/** The pending suggestions of imports that have one of these keys. */
export const readPendingImports = (ctx: CompanyContext, candidateKeys: readonly string[]) =>
  store.selectImported(ctx.db, ctx.actor.companyId, candidateKeys).all();

/**
 * Stores the suggestions of an import, all or none.
 * @returns whether they are stored; false where another import has suggested one of them meanwhile
 */
export async function importSuggestions(ctx: CompanyContext, rows: readonly store.NewSuggestion[]): Promise<boolean> {
  const parts = splitIntoParameters(rows);
  if (parts.length === 0) return true;
  const inserted = parts.map((part) => store.insertPending(ctx.db, part));
  try {
    await commit(ctx.db, { inserted }, { 'knowledge_suggestions.candidate_key': concurrentChange });
    return true;
  } catch (error) {
    if (concurrentChange.matches(error)) return false;
    throw error;
  }
}
