import type { CompanyContext } from '../../context.ts';
import { formatIsoTimestamp } from '../../kernel/fields.ts';
import type { TenantSql, TenantTx } from '../../tenant-sql/client.ts';
import type { JobError } from './job.ts';
import { SupersededError } from './problems.ts';
import { formatStagingTable } from './staging.ts';
import * as store from './store.ts';

/** Ends a job as failed and drops the rows it has loaded. The caller's transaction has locked the job and read its `state`. */
export async function failLockedJob(
  tx: TenantTx,
  ctx: CompanyContext,
  jobId: string,
  state: unknown,
  error: JobError,
): Promise<void> {
  const key = { id: jobId, companyId: ctx.actor.companyId };
  await store.failJob(tx, key, error, formatIsoTimestamp(ctx.now()));
  const tableId = (state as { table_id?: string } | null)?.table_id;
  if (tableId) await tx.execute(`DROP TABLE IF EXISTS ${formatStagingTable(tableId)}`);
}

/** Ends a job as failed, if its work is still at `step`. @throws SupersededError when it is not */
export async function failJobAtStep(
  database: TenantSql,
  ctx: CompanyContext,
  jobId: string,
  step: number,
  error: JobError,
): Promise<void> {
  await database.runInTransaction(async (tx) => {
    const lockedJob = await store.lockJob(tx, { id: jobId, companyId: ctx.actor.companyId });
    if (lockedJob?.step !== step) throw new SupersededError();
    await failLockedJob(tx, ctx, jobId, lockedJob.state, error);
  });
}
