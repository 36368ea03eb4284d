import type { CompanyContext } from '../../context.ts';
import type { TenantSql, TenantTx } from '../../tenant-sql/client.ts';
import { qualified } from '../../tenant-sql/identifiers.ts';
import type { JobError } from './job.ts';
import { Superseded } from './problems.ts';
import * as store from './store.ts';

/** Where a load keeps its rows until they are all there: a table of schema `console`, under the id the table will have. */
export const stagingTable = (tableId: string): string => qualified('console', tableId);

/** Ends a held job as failed and removes what it had loaded. `state` is where its work stood. */
export async function endHeld(
  tx: TenantTx,
  ctx: CompanyContext,
  jobId: string,
  state: unknown,
  error: JobError,
): Promise<void> {
  const key = { id: jobId, companyId: ctx.actor.companyId };
  await store.failJob(tx, key, error, new Date(ctx.now()).toISOString());
  const tableId = (state as { table_id?: string } | null)?.table_id;
  if (tableId) await tx.execute(`DROP TABLE IF EXISTS ${stagingTable(tableId)}`);
}

/**
 * Ends a job as failed whose work stood at `step`.
 * @throws Superseded when it stands there no more
 */
export async function endAt(
  database: TenantSql,
  ctx: CompanyContext,
  jobId: string,
  step: number,
  error: JobError,
): Promise<void> {
  await database.transaction(async (tx) => {
    const held = await store.hold(tx, { id: jobId, companyId: ctx.actor.companyId });
    if (held?.step !== step) throw new Superseded();
    await endHeld(tx, ctx, jobId, held.state, error);
  });
}
