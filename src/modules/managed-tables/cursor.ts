import type { CompanyContext } from '../../context.ts';
import { decrypt, encrypt } from '../../platform/cipher.ts';
import { badCursor } from './failures.ts';
import type { Position } from './row-pages.ts';
import type { SentSelection } from './selection.ts';
import { readSort } from './sort.ts';

/** A position with the type of the column that orders the rows: for another type its value means nothing. */
export interface CursorPosition extends Position {
  type: string;
}

/** The table, selection and order of a cursor: it cannot be opened with others. */
export interface CursorPlace {
  tableId: string;
  asked: SentSelection;
  sortBy?: string | undefined;
}

/**
 * Encrypts a position, so that its values cannot be read or made up. It is valid for this company, table, selection and
 * order only; the order of filters and the spelling of the order do not matter.
 */
export function sealCursor(ctx: CompanyContext, place: CursorPlace, position: CursorPosition): Promise<string> {
  return encrypt(ctx.config.ENCRYPTION_KEYS, JSON.stringify(position), describePurpose(ctx, place));
}

/** Decrypts a cursor of `sealCursor` for the same place. @throws badCursor */
export async function openCursor(ctx: CompanyContext, place: CursorPlace, cursor: string): Promise<CursorPosition> {
  try {
    return JSON.parse(await decrypt(ctx.config.ENCRYPTION_KEYS, cursor, describePurpose(ctx, place)));
  } catch (error) {
    throw badCursor().because(error);
  }
}

function describePurpose({ actor }: CompanyContext, { tableId, asked, sortBy }: CursorPlace): string {
  const filters = asked.filter.map(({ column, operator, value }) => JSON.stringify([column, operator, value]));
  const place = [actor.companyId, tableId, filters.toSorted(), asked.search, readSort(sortBy)];
  return `rows-cursor:${JSON.stringify(place)}`;
}
