import type { CompanyContext } from '../../context.ts';
import { decrypt, encrypt } from '../../platform/cipher.ts';
import { makeCursorFailure } from './failures.ts';
import type { RowPosition } from './row-pages.ts';
import type { SentSelection } from './selection.ts';
import { parseColumnSort } from './sort.ts';

/** A position with the type of the column that orders the rows: for another type its value means nothing. */
export interface CursorPosition extends RowPosition {
  type: string;
}

/** The table, selection and order that a cursor is valid for. */
export interface CursorScope {
  tableId: string;
  selection: SentSelection;
  sortBy?: string | undefined;
}

/**
 * Encrypts a position, so that its values cannot be read or made up. The cursor is valid for this company, table,
 * selection and order only; the order of filters and the spelling of the order do not matter.
 */
export function encryptCursor(ctx: CompanyContext, scope: CursorScope, position: CursorPosition): Promise<string> {
  return encrypt(ctx.config.ENCRYPTION_KEYS, JSON.stringify(position), formatPurpose(ctx, scope));
}

/** Decrypts a cursor of `encryptCursor` for the same scope. @throws makeCursorFailure */
export async function decryptCursor(ctx: CompanyContext, scope: CursorScope, cursor: string): Promise<CursorPosition> {
  try {
    return JSON.parse(await decrypt(ctx.config.ENCRYPTION_KEYS, cursor, formatPurpose(ctx, scope)));
  } catch (error) {
    throw makeCursorFailure().addCause(error);
  }
}

function formatPurpose({ actor }: CompanyContext, { tableId, selection, sortBy }: CursorScope): string {
  const filters = selection.filter.map(({ column, operator, value }) => JSON.stringify([column, operator, value]));
  const boundValues = [actor.companyId, tableId, filters.toSorted(), selection.search, parseColumnSort(sortBy)];
  return `rows-cursor:${JSON.stringify(boundValues)}`;
}
