import type { CompanyContext } from '../../context.ts';
import type { TenantTx } from '../../tenant-sql/client.ts';
import { buildLockAgainstWrites } from '../../tenant-sql/ddl.ts';
import { formatDuplicate, toIndexRefusal } from '../../tenant-sql/indexes.ts';
import { tooManyIndexes } from '../managed-tables/failures.ts';
import { type ManagedTable, requireUniqueIndex } from '../managed-tables/service.ts';
import { type LoadState, listLoadedColumns } from './chunks.ts';
import { cutValue, isKeyedById } from './inference/index.ts';
import type { LoadResult } from './job.ts';
import {
  idUnknown,
  JobProblem,
  keyNotUnique,
  keyRepeated,
  noIndexLeft,
  rowWithoutRequiredValue,
  tooLongForIndex,
} from './problems.ts';
import { RowRefusedError } from './refused-row.ts';
import { SELECT_ID_PREFIX_SQL } from './staging.ts';
import * as sql from './upsert-sql.ts';
import type { JobWork } from './work.ts';

/**
 * Updates the rows of a locked table whose key is among the staged rows', and inserts the other staged rows. No other request
 * changes rows meanwhile. @throws JobProblem, or RowRefusedError for a row of the files: the transaction must not be committed then
 */
export async function upsertRows(
  tx: TenantTx,
  { ctx, job }: JobWork<LoadState>,
  state: LoadState,
  table: ManagedTable,
): Promise<LoadResult> {
  const shownKey = job.key ?? [];
  const isKeyedByRowId = isKeyedById(job.key);
  const key = isKeyedByRowId ? [sql.ROW_ID_COLUMN] : shownKey;
  const names = listLoadedColumns(job).map(({ name }) => name);
  const otherNames = names.filter((name) => !key.includes(name));
  const upsert: sql.Upsert = {
    table: table.displayName,
    stagingId: state.table_id,
    keyColumns: key,
    otherColumns: otherNames,
  };

  await tx.execute(buildLockAgainstWrites(table.displayName));
  if (isKeyedByRowId) await requireNoRow(tx, sql.selectFirstNewRow(upsert), idUnknown);
  if ((await tx.query(sql.selectAnyDuplicateKey(upsert))).length > 0) {
    await requireNoRow(tx, sql.selectFirstDuplicateKey(upsert), (file, line, value) =>
      keyRepeated(file, line, shownKey, value),
    );
  }
  if (!isKeyedByRowId) await requireKeyIndex(tx, ctx, table, key);
  const missingColumn = table.columns.find(({ name, nullable }) => !nullable && !names.includes(name));
  if (missingColumn) {
    await requireNoRow(tx, sql.selectFirstNewRow(upsert), (file, line) =>
      rowWithoutRequiredValue(file, line, missingColumn.name),
    );
  }

  const updatedRowCount = otherNames.length > 0 ? await tx.execute(sql.buildUpdateExisting(upsert)) : 0;
  if (isKeyedByRowId) return { inserted: 0, updated: updatedRowCount, unchanged: state.rows - updatedRowCount };
  const [generatedId] = await tx.query<{ beginning: string }>(SELECT_ID_PREFIX_SQL);
  const insertedRowCount = await tx.execute(sql.buildInsertNew(upsert, generatedId?.beginning as string));
  return {
    inserted: insertedRowCount,
    updated: updatedRowCount,
    unchanged: state.rows - insertedRowCount - updatedRowCount,
  };
}

/** Throws for the first row that a statement selects, if any. @throws RowRefusedError */
async function requireNoRow(tx: TenantTx, selectSql: string, toProblem: RowRefusedError['toProblem']): Promise<void> {
  const [found] = await tx.query<{ row: string; key: string[] }>(selectSql);
  if (found) throw new RowRefusedError(Number(found.row), found.key, toProblem);
}

/** Creates the table's unique index on the key, unless it exists. */
async function requireKeyIndex(
  tx: TenantTx,
  ctx: CompanyContext,
  { id, columns }: ManagedTable,
  keyColumns: string[],
): Promise<void> {
  try {
    await requireUniqueIndex(tx, ctx, id, keyColumns);
  } catch (error) {
    if (tooManyIndexes.matches(error)) throw new JobProblem(noIndexLeft);
    const refusal = toIndexRefusal(error);
    if (!refusal) throw error;
    throw new JobProblem(
      refusal.reason === 'duplicate'
        ? keyNotUnique(keyColumns, cutValue(formatDuplicate(refusal, columns)))
        : tooLongForIndex(keyColumns.join(', '), {}),
    );
  }
}
