import type { CompanyContext } from '../../context.ts';
import type { TenantTx } from '../../tenant-sql/client.ts';
import { lockAgainstWrites } from '../../tenant-sql/ddl.ts';
import { formatDuplicate, toIndexRefusal } from '../../tenant-sql/indexes.ts';
import { tooManyIndexes } from '../managed-tables/failures.ts';
import { type ManagedTable, requireUniqueIndex } from '../managed-tables/service.ts';
import { type LoadState, listLoadedColumns } from './chunks.ts';
import { isById } from './inference/index.ts';
import type { LoadResult } from './job.ts';
import {
  columnMissingFor,
  idUnknown,
  JobProblem,
  keyNotUnique,
  keyRepeated,
  noIndexLeft,
  tooLongForIndex,
} from './problems.ts';
import { RowRefused } from './refused-row.ts';
import { DRAW_BEGINNING } from './staging.ts';
import * as sql from './upsert-sql.ts';
import type { Work } from './work.ts';

/**
 * Updates the rows of a locked table whose key is among the staged ones, and inserts the others. No other request changes rows
 * meanwhile.
 * @throws JobProblem, or RowRefused for a row of the files: the transaction must not be committed then
 */
export async function upsertRows(
  tx: TenantTx,
  { ctx, job }: Work<LoadState>,
  state: LoadState,
  table: ManagedTable,
): Promise<LoadResult> {
  const shownKey = job.key ?? [];
  const byId = isById(job.key);
  const key = byId ? [sql.ROW_ID] : shownKey;
  const names = listLoadedColumns(job).map(({ name }) => name);
  const others = names.filter((name) => !key.includes(name));
  const upsert: sql.Upsert = { table: table.displayName, stagingId: state.table_id, key, others };

  await tx.execute(lockAgainstWrites(table.displayName));
  if (byId) await refuseFirst(tx, sql.selectFirstNew(upsert), idUnknown);
  if ((await tx.query(sql.selectAnyDuplicateKey(upsert))).length > 0) {
    await refuseFirst(tx, sql.selectFirstDuplicateKey(upsert), (file, line, value) =>
      keyRepeated(file, line, shownKey, value),
    );
  }
  if (!byId) await indexKey(tx, ctx, table, key);
  const missing = table.columns.find(({ name, nullable }) => !nullable && !names.includes(name));
  if (missing) {
    await refuseFirst(tx, sql.selectFirstNew(upsert), (file, line) => columnMissingFor(file, line, missing.name));
  }

  const updated = others.length > 0 ? await tx.execute(sql.updateSame(upsert)) : 0;
  if (byId) return { inserted: 0, updated, unchanged: state.rows - updated };
  const [drawn] = await tx.query<{ beginning: string }>(DRAW_BEGINNING);
  const inserted = await tx.execute(sql.insertNew(upsert, drawn?.beginning as string));
  return { inserted, updated, unchanged: state.rows - inserted - updated };
}

/** Refuses the row that a statement selects, if any. @throws RowRefused */
async function refuseFirst(tx: TenantTx, select: string, toProblem: RowRefused['toProblem']): Promise<void> {
  const [found] = await tx.query<{ row: string; key: string[] }>(select);
  if (found) throw new RowRefused(Number(found.row), found.key, toProblem);
}

/** Makes the table's unique index on the key, unless it exists. */
async function indexKey(
  tx: TenantTx,
  ctx: CompanyContext,
  { id, columns }: ManagedTable,
  key: string[],
): Promise<void> {
  try {
    await requireUniqueIndex(tx, ctx, id, key);
  } catch (error) {
    if (tooManyIndexes.matches(error)) throw new JobProblem(noIndexLeft);
    const refusal = toIndexRefusal(error);
    if (!refusal) throw error;
    throw new JobProblem(
      refusal.why === 'duplicate'
        ? keyNotUnique(key, formatDuplicate(refusal, columns))
        : tooLongForIndex(key.join(', '), {}),
    );
  }
}
