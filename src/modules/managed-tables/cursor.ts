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
  return encrypt(ctx.config.ENCRYPTION_KEYS, formatPosition(position), formatPurpose(ctx, scope));
}

/** Decrypts a cursor of `encryptCursor` for the same scope. @throws makeCursorFailure */
export async function decryptCursor(ctx: CompanyContext, scope: CursorScope, cursor: string): Promise<CursorPosition> {
  try {
    return parsePosition(await decrypt(ctx.config.ENCRYPTION_KEYS, cursor, formatPurpose(ctx, scope)));
  } catch (error) {
    throw makeCursorFailure().addCause(error);
  }
}

/** Formats a position: the value comes in a line after the JSON, which would need up to six bytes for each of its characters. */
const formatPosition = ({ key, ...others }: CursorPosition): string =>
  `${JSON.stringify({ ...others, key: null })}${key === null ? '' : `\n${key}`}`;

/** Parses a position. Cursors from before the value had its own line have it in the JSON. */
function parsePosition(text: string): CursorPosition {
  const jsonEnd = text.indexOf('\n');
  return jsonEnd < 0 ? JSON.parse(text) : { ...JSON.parse(text.slice(0, jsonEnd)), key: text.slice(jsonEnd + 1) };
}

function formatPurpose({ actor }: CompanyContext, { tableId, selection, sortBy }: CursorScope): string {
  const filters = selection.filter.map(({ column, operator, value }) => JSON.stringify([column, operator, value]));
  const boundValues = [actor.companyId, tableId, filters.toSorted(), selection.search, parseColumnSort(sortBy)];
  return `rows-cursor:${JSON.stringify(boundValues)}`;
}
