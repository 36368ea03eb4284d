import type { CompanyContext } from '../../context.ts';
import { quotaExceeded } from '../../db/failures.ts';
import type { TenantSql, TenantTx } from '../../tenant-sql/client.ts';
import { quotaFor } from '../managed-database/service.ts';

/** How much a company's living tables hold, with their indexes. */
export interface TableSizes {
  tables: number;
  rows: number;
  tableBytes: number;
}

const LIVING = 'FROM console.managed_tables WHERE company_id = $1 AND deleted_at IS NULL';
/** The size of files, which also grow by what others have not committed yet. */
const BYTES = `coalesce(sum(pg_total_relation_size(to_regclass(format('public.%I', display_name)))), 0)`;

export async function readTableSizes(tx: TenantTx, companyId: string): Promise<TableSizes> {
  const [row] = await tx.query<{ tables: string; rows: string; bytes: string }>(
    `SELECT count(*) AS tables, ${BYTES} AS bytes, coalesce(sum(row_count), 0)
       + coalesce((SELECT sum(change) FROM console.row_count_changes WHERE table_id IN (SELECT id ${LIVING})), 0) AS rows ${LIVING}`,
    [companyId],
  );
  return { tables: Number(row?.tables), rows: Number(row?.rows), tableBytes: Number(row?.bytes) };
}

const bytesOf = async (tx: TenantTx, companyId: string): Promise<number> => {
  const [row] = await tx.query<{ bytes: string }>(`SELECT ${BYTES} AS bytes ${LIVING}`, [companyId]);
  return Number(row?.bytes);
};

/** An arbitrary number: who holds this lock has measured the company's tables, and commits next. */
const MEASURE_LOCK = 519_204_878;

/** What a change is known to do to the room that tables take. */
export type Room = 'adds' | 'frees';

/** Thrown to roll back what would pass the quota. */
class PassesQuota extends Error {}

/**
 * Runs a change of what tables hold against the company's quota: where they have more than that afterwards, it is rolled back.
 * Where there is no quota, nothing is measured.
 * @param room what it does: what adds is refused too where it takes no more than is there, and what frees is never
 * @param change runs the transaction, and in it `within` around all that it does; it may be nothing but the transaction
 */
export async function withinTableQuota<T>(
  ctx: CompanyContext,
  database: TenantSql,
  room: Room | undefined,
  change: (within: <R>(tx: TenantTx, work: () => Promise<R>) => Promise<R>) => Promise<T>,
): Promise<T> {
  const { companyId } = ctx.actor;
  const limit = await quotaFor(ctx, 'table_bytes');
  if (limit === undefined || room === 'frees') return change((_, work) => work());
  try {
    return await change(async (tx, work) => {
      const before = room === 'adds' ? 0 : await bytesOf(tx, companyId);
      const result = await work();
      // Until it commits, others wait: two at once are measured one after the other.
      await tx.query('SELECT pg_advisory_xact_lock($1)', [MEASURE_LOCK]);
      const after = await bytesOf(tx, companyId);
      if (after > limit && after > before) throw new PassesQuota();
      return result;
    });
  } catch (error) {
    if (!(error instanceof PassesQuota)) throw error;
    throw quotaExceeded({ quota: 'table_bytes', limit, use: await bytesOf(database, companyId) });
  }
}

/** Refuses what takes room of a company whose tables have none left. */
export async function requireTableRoom(ctx: CompanyContext, database: TenantTx): Promise<void> {
  const limit = await quotaFor(ctx, 'table_bytes');
  if (limit === undefined) return;
  const use = await bytesOf(database, ctx.actor.companyId);
  if (use >= limit) throw quotaExceeded({ quota: 'table_bytes', limit, use });
}
