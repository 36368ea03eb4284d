import type { CompanyContext } from '../../context.ts';
import { DAY_MS } from '../../kernel/clock.ts';
import { formatIsoTimestamp } from '../../kernel/fields.ts';
import { logError } from '../../platform/log.ts';
import { isPostgresError } from '../../tenant-sql/client.ts';
import { buildDropFromTrash } from '../../tenant-sql/ddl.ts';
import { openDatabaseIfAny } from '../managed-database/service.ts';
import * as store from './trash-store.ts';

/** The time for which a deleted table is kept and can be restored. Milliseconds. */
export const TRASH_RETENTION_MS = 30 * DAY_MS;
const TABLES_PER_SWEEP = 100;

/** Returns the earliest time of deletion (ISO 8601) of tables that are still kept. */
export const computeRetentionStart = (ctx: CompanyContext): string =>
  formatIsoTimestamp(ctx.now() - TRASH_RETENTION_MS);

/** Drops tables deleted longer ago than {@link TRASH_RETENTION_MS}. @returns when the next one is due (ms); infinity for none */
export async function purgeTrash(ctx: CompanyContext): Promise<number> {
  const database = await openDatabaseIfAny(ctx);
  if (!database) return Number.POSITIVE_INFINITY;
  const { companyId } = ctx.actor;
  const deletedUntil = ctx.now() - TRASH_RETENTION_MS;
  for (const { id, deletedAt } of await store.readDeletedTables(database, companyId, TABLES_PER_SWEEP)) {
    if (deletedAt > deletedUntil) return deletedAt + TRASH_RETENTION_MS;
    await database
      .runInTransaction(async (tx) => {
        // The catalogue first, as in a restore: of the two, one finds nothing left to do.
        if (await store.removeDeletedTable(tx, { id, companyId }, formatIsoTimestamp(deletedUntil))) {
          await tx.execute(buildDropFromTrash(id));
        }
      })
      // A locked table, for example, does not keep the others from being dropped.
      .catch((error: unknown) => {
        if (!isPostgresError(error)) throw error;
        logError('table_not_purged', error, { company_id: companyId, table_id: id });
      });
  }
  const [oldestTable] = await store.readDeletedTables(database, companyId, 1);
  return oldestTable ? Math.max(ctx.now(), oldestTable.deletedAt + TRASH_RETENTION_MS) : Number.POSITIVE_INFINITY;
}
