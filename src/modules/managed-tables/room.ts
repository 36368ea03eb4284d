import type { CompanyContext } from '../../context.ts';
import { quotaExceeded } from '../../db/failures.ts';
import type { TenantSql, TenantTx } from '../../tenant-sql/client.ts';
import { quotaFor } from '../managed-database/service.ts';

/** The sizes of a company's living tables, with their indexes. */
export interface TableSizes {
  tables: number;
  rows: number;
  tableBytes: number;
}

const LIVING = 'FROM console.managed_tables WHERE company_id = $1 AND deleted_at IS NULL';
/** The size of tables and indexes on disk, which includes uncommitted rows of other transactions. */
const BYTES = `coalesce(sum(pg_total_relation_size(to_regclass(format('public.%I', display_name)))), 0)`;

export async function readTableSizes(tx: TenantTx, companyId: string): Promise<TableSizes> {
  const [row] = await tx.query<{ tables: string; rows: string; bytes: string }>(
    `SELECT count(*) AS tables, ${BYTES} AS bytes, coalesce(sum(row_count), 0)
       + coalesce((SELECT sum(change) FROM console.row_count_changes WHERE table_id IN (SELECT id ${LIVING})), 0) AS rows ${LIVING}`,
    [companyId],
  );
  return { tables: Number(row?.tables), rows: Number(row?.rows), tableBytes: Number(row?.bytes) };
}

const readBytes = async (tx: TenantTx, companyId: string): Promise<number> => {
  const [row] = await tx.query<{ bytes: string }>(`SELECT ${BYTES} AS bytes ${LIVING}`, [companyId]);
  return Number(row?.bytes);
};

/** The advisory lock, an arbitrary number, under which the company's tables are measured until the transaction commits. */
const MEASURE_LOCK = 519_204_878;

/** The known effect of a change on the space of tables. */
export type SpaceEffect = 'adds' | 'frees';

/** Thrown to roll back a change that would exceed the quota. */
class QuotaExceeded extends Error {}

/**
 * Runs a change of tables within the company's quota: if it takes more space and the tables exceed the quota after it, it is
 * rolled back. Without a quota nothing is measured.
 * @param room its known effect: one that `adds` is refused beyond the quota even if it takes no more, one that `frees` never is
 * @param change runs the transaction, and in it `within` around all its work; it may be nothing but the transaction
 */
export async function withinTableQuota<T>(
  ctx: CompanyContext,
  database: TenantSql,
  room: SpaceEffect | undefined,
  change: (within: <R>(tx: TenantTx, work: () => Promise<R>) => Promise<R>) => Promise<T>,
): Promise<T> {
  const { companyId } = ctx.actor;
  const limit = await quotaFor(ctx, 'table_bytes');
  if (limit === undefined || room === 'frees') return change((_, work) => work());
  try {
    return await change(async (tx, work) => {
      const before = room === 'adds' ? 0 : await readBytes(tx, companyId);
      const result = await work();
      // Until it commits, others wait: two at once are measured one after the other.
      await tx.query('SELECT pg_advisory_xact_lock($1)', [MEASURE_LOCK]);
      const after = await readBytes(tx, companyId);
      if (after > limit && after > before) throw new QuotaExceeded();
      return result;
    });
  } catch (error) {
    if (!(error instanceof QuotaExceeded)) throw error;
    throw quotaExceeded({ quota: 'table_bytes', limit, use: await readBytes(database, companyId) });
  }
}

/** Refuses a request that takes space from a company whose quota is used up. */
export async function requireTableRoom(ctx: CompanyContext, database: TenantTx): Promise<void> {
  const limit = await quotaFor(ctx, 'table_bytes');
  if (limit === undefined) return;
  const use = await readBytes(database, ctx.actor.companyId);
  if (use >= limit) throw quotaExceeded({ quota: 'table_bytes', limit, use });
}
