import type { CompanyContext } from '../../context.ts';
import { quotaExceeded } from '../../db/failures.ts';
import { DAY_MS } from '../../kernel/clock.ts';
import { isoTimestamp } from '../../kernel/fields.ts';
import type { TenantSql, TenantTx } from '../../tenant-sql/client.ts';
import { quotaFor, type Sizes } from '../managed-database/service.ts';
import { readTableSizes } from '../managed-tables/service.ts';
import { ACTIVE } from './store.ts';

/** How long the files of an ended job, and files without a job, are kept. An upload without a byte for so long is over, too. */
export const FILE_RETENTION_MS = DAY_MS;

/** The size of a job's files: of one that is being fetched, what is known of it, and what came of one that failed meanwhile. */
const OF_JOB = `CASE WHEN json_array_length(files) = 0
  THEN (progress ->> CASE WHEN ${ACTIVE} THEN 'bytes_total' ELSE 'bytes_processed' END)::bigint
  ELSE (SELECT sum((file ->> 'size_bytes')::bigint) FROM json_array_elements(files) AS file) END`;

/** The size of a company's uploaded files that are kept, and of what begun uploads are going to have, in bytes. */
export async function readFileBytes(ctx: CompanyContext, tx: TenantTx): Promise<number> {
  const kept = isoTimestamp(ctx.now() - FILE_RETENTION_MS);
  const [row] = await tx.query<{ bytes: string }>(
    `SELECT coalesce((SELECT sum(${OF_JOB}) FROM console.upload_jobs
         WHERE company_id = $1 AND (${ACTIVE} OR updated_at > $2)), 0)
       + coalesce((SELECT sum(length) FROM console.resumable_uploads
         WHERE company_id = $1 AND NOT is_finished AND updated_at > $2), 0) AS bytes`,
    [ctx.actor.companyId, kept],
  );
  return Number(row?.bytes);
}

/** How much the company's Postgres holds, and its uploads. */
export const measureCompany = async (ctx: CompanyContext, tx: TenantTx): Promise<Sizes> => ({
  ...(await readTableSizes(tx, ctx.actor.companyId)),
  fileBytes: await readFileBytes(ctx, tx),
});

/** An arbitrary number: who holds this lock has counted the company's files, and commits next. */
const COUNT_LOCK = 519_204_879;

/**
 * Refuses what a transaction has written of an upload where the company has more bytes of files by it than its quota. To be asked
 * last: until the transaction ends, others wait to be counted.
 * @param bytes how many of them are of this upload
 */
export async function requireFileRoom(ctx: CompanyContext, tx: TenantTx, bytes: number): Promise<void> {
  const limit = await quotaFor(ctx, 'file_bytes');
  if (limit === undefined) return;
  await tx.query('SELECT pg_advisory_xact_lock($1)', [COUNT_LOCK]);
  const use = await readFileBytes(ctx, tx);
  if (use > limit) throw quotaExceeded({ quota: 'file_bytes', limit, use: use - bytes });
}

/** Writes of an upload in one transaction that is held against the quota; as it comes where there is none. */
export async function withinFileQuota<T>(
  ctx: CompanyContext,
  database: TenantSql,
  bytes: number,
  write: (tx: TenantTx) => Promise<T>,
): Promise<T> {
  if ((await quotaFor(ctx, 'file_bytes')) === undefined) return write(database);
  return database.transaction(async (tx) => {
    const result = await write(tx);
    await requireFileRoom(ctx, tx, bytes);
    return result;
  });
}

/** Refuses an upload, before any byte of it is read, of a company that has no room for even one. */
export async function requireSomeRoom(ctx: CompanyContext, tx: TenantTx): Promise<void> {
  const limit = await quotaFor(ctx, 'file_bytes');
  if (limit === undefined) return;
  const use = await readFileBytes(ctx, tx);
  if (use >= limit) throw quotaExceeded({ quota: 'file_bytes', limit, use });
}
