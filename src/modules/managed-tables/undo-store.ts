import type { TenantTx } from '../../tenant-sql/client.ts';
import type { Statement } from '../../tenant-sql/rows.ts';
import { LIVING, type TableKey } from './store.ts';

/** What ends the undo of all loads that came before. */
export type UndoEnd = 'columns_changed' | 'truncated';

/** Loads up to a number cannot be undone any more; `endedBy` says why, null where there are none. */
export interface UndoLimit {
  after: number;
  endedBy: UndoEnd | null;
}

/** Lets no load of the table so far be undone any more. The table must be locked. */
export async function endUndo(tx: TenantTx, key: TableKey, by: UndoEnd): Promise<void> {
  await tx.execute(
    `UPDATE console.managed_tables SET undoable_after = nextval('console.load_numbers'), undo_ended_by = $3
     WHERE ${LIVING}`,
    [key.id, key.companyId, by],
  );
}

/** A limit as it is stored. */
export interface UndoLimitRow {
  undoable_after: string;
  undo_ended_by: UndoEnd | null;
}

/** Which loads of a table can be undone, as far as the table decides that; no row where there is no such table. */
export const selectUndoLimit = ({ id, companyId }: TableKey): Statement => ({
  text: `SELECT undoable_after, undo_ended_by FROM console.managed_tables WHERE ${LIVING}`,
  values: [id, companyId],
});

export const toUndoLimit = (row: UndoLimitRow): UndoLimit => ({
  after: Number(row.undoable_after),
  endedBy: row.undo_ended_by,
});
