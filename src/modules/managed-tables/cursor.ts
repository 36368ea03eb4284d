import type { CompanyContext } from '../../context.ts';
import { decrypt, encrypt } from '../../platform/cipher.ts';
import { badCursor } from './failures.ts';
import type { Position } from './row-pages.ts';
import type { AskedRows } from './selection.ts';
import { readSort } from './sort.ts';

/** A position with the type of the column that the rows are ordered by: of another type its value means nothing. */
export interface CursorPosition extends Position {
  type: string;
}

/** What a cursor belongs to: with another table, selection or order it opens nothing. */
export interface CursorPlace {
  tableId: string;
  asked: AskedRows;
  sortBy?: string | undefined;
}

/**
 * Seals a position, so that nobody reads values from it or makes one up. It is good for this company, table, selection and
 * order only; whatever order the filters are sent in, and however the order is spelled.
 */
export function sealCursor(ctx: CompanyContext, place: CursorPlace, position: CursorPosition): Promise<string> {
  return encrypt(ctx.config.ENCRYPTION_KEYS, JSON.stringify(position), purposeOf(ctx, place));
}

/** Opens what `sealCursor` made for the same place. */
export async function openCursor(ctx: CompanyContext, place: CursorPlace, cursor: string): Promise<CursorPosition> {
  try {
    return JSON.parse(await decrypt(ctx.config.ENCRYPTION_KEYS, cursor, purposeOf(ctx, place)));
  } catch (error) {
    throw badCursor().because(error);
  }
}

function purposeOf({ actor }: CompanyContext, { tableId, asked, sortBy }: CursorPlace): string {
  const filters = asked.filter.map(({ column, operator, value }) => JSON.stringify([column, operator, value]));
  const place = [actor.companyId, tableId, filters.toSorted(), asked.search, readSort(sortBy)];
  return `rows-cursor:${JSON.stringify(place)}`;
}
