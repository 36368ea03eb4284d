import type { CompanyContext } from '../../context.ts';
import { quotaExceeded } from '../../db/failures.ts';
import { DAY_MS } from '../../kernel/clock.ts';
import { formatIsoTimestamp } from '../../kernel/fields.ts';
import type { TenantSql, TenantTx } from '../../tenant-sql/client.ts';
import { type DatabaseSizes, readQuota } from '../managed-database/service.ts';
import { readTableSizes } from '../managed-tables/service.ts';
import { ACTIVE_JOB_CONDITION } from './store.ts';

/** The time for which files of ended jobs, files without a job, and unfinished uploads that receive no bytes are kept. */
export const FILE_RETENTION_MS = DAY_MS;

/** The SQL of the bytes of a job's files; of a download, the total as far as known, or what was received before it failed. */
const JOB_FILE_BYTES_SQL = `CASE WHEN json_array_length(files) = 0
  THEN (progress ->> CASE WHEN ${ACTIVE_JOB_CONDITION} THEN 'bytes_total' ELSE 'bytes_processed' END)::bigint
  ELSE (SELECT sum((file ->> 'size_bytes')::bigint) FROM json_array_elements(files) AS file) END`;

/** Reads the size in bytes of a company's stored upload files, with unfinished uploads counted at their full length. */
export async function readFileBytes(ctx: CompanyContext, tx: TenantTx): Promise<number> {
  const keptSince = formatIsoTimestamp(ctx.now() - FILE_RETENTION_MS);
  const [row] = await tx.query<{ bytes: string }>(
    `SELECT coalesce((SELECT sum(${JOB_FILE_BYTES_SQL}) FROM console.upload_jobs
         WHERE company_id = $1 AND (${ACTIVE_JOB_CONDITION} OR updated_at > $2)), 0)
       + coalesce((SELECT sum(length) FROM console.resumable_uploads
         WHERE company_id = $1 AND NOT is_finished AND updated_at > $2), 0) AS bytes`,
    [ctx.actor.companyId, keptSince],
  );
  return Number(row?.bytes);
}

/** Measures the sizes of the company's Postgres and of its upload files. */
export const measureCompanySizes = async (ctx: CompanyContext, tx: TenantTx): Promise<DatabaseSizes> => ({
  ...(await readTableSizes(tx, ctx.actor.companyId)),
  fileBytes: await readFileBytes(ctx, tx),
});

/** The advisory lock, an arbitrary number, under which the files of the company are counted until the transaction commits. */
const FILE_COUNT_LOCK_ID = 519_204_879;

/**
 * Rejects a transaction of an upload that leaves the company with more bytes of files than its quota. Call it last: until the
 * transaction ends, others wait to be counted. @param addedBytes the bytes of this upload, which are already counted
 */
export async function requireFileQuota(ctx: CompanyContext, tx: TenantTx, addedBytes: number): Promise<void> {
  const limit = await readQuota(ctx, 'file_bytes');
  if (limit === undefined) return;
  await tx.query('SELECT pg_advisory_xact_lock($1)', [FILE_COUNT_LOCK_ID]);
  const usedBytes = await readFileBytes(ctx, tx);
  if (usedBytes > limit) throw quotaExceeded({ quota: 'file_bytes', limit, use: usedBytes - addedBytes });
}

/** Runs `writeInTransaction` in a transaction that is checked against the company's quota; without a quota, runs it directly. */
export async function runWithinFileQuota<T>(
  ctx: CompanyContext,
  database: TenantSql,
  addedBytes: number,
  writeInTransaction: (tx: TenantTx) => Promise<T>,
): Promise<T> {
  if ((await readQuota(ctx, 'file_bytes')) === undefined) return writeInTransaction(database);
  return database.runInTransaction(async (tx) => {
    const result = await writeInTransaction(tx);
    await requireFileQuota(ctx, tx, addedBytes);
    return result;
  });
}

/** Rejects an upload, before any byte of it is read, if the company's quota is used up. */
export async function requireUnusedFileQuota(ctx: CompanyContext, tx: TenantTx): Promise<void> {
  const limit = await readQuota(ctx, 'file_bytes');
  if (limit === undefined) return;
  const usedBytes = await readFileBytes(ctx, tx);
  if (usedBytes >= limit) throw quotaExceeded({ quota: 'file_bytes', limit, use: usedBytes });
}
