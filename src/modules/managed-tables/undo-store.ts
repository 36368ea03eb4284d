import type { TenantTx } from '../../tenant-sql/client.ts';
import type { Statement } from '../../tenant-sql/rows.ts';
import { CURRENT_TABLE_CONDITION, type TableKey } from './store.ts';

/** The changes after which no earlier load can be undone. */
export type UndoEndReason = 'columns_changed' | 'truncated';

/** The load number up to which loads can no longer be undone, and the change that caused this; null if no change did. */
export interface UndoLimit {
  loadNumber: number;
  endedBy: UndoEndReason | null;
}

/** Makes all loads of the table so far impossible to undo. The table must be locked. */
export async function endUndo(tx: TenantTx, key: TableKey, by: UndoEndReason): Promise<void> {
  await tx.execute(
    `UPDATE console.managed_tables SET undoable_after = nextval('console.load_numbers'), undo_ended_by = $3
     WHERE ${CURRENT_TABLE_CONDITION}`,
    [key.id, key.companyId, by],
  );
}

/** An undo limit as it is stored. */
export interface UndoLimitRow {
  undoable_after: string;
  undo_ended_by: UndoEndReason | null;
}

/** Selects the limit up to which a table's loads cannot be undone; no row where there is no such table. */
export const selectUndoLimit = ({ id, companyId }: TableKey): Statement => ({
  text: `SELECT undoable_after, undo_ended_by FROM console.managed_tables WHERE ${CURRENT_TABLE_CONDITION}`,
  values: [id, companyId],
});

export const toUndoLimit = (row: UndoLimitRow): UndoLimit => ({
  loadNumber: Number(row.undoable_after),
  endedBy: row.undo_ended_by,
});
