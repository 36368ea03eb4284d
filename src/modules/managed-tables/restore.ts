import type { CompanyContext } from '../../context.ts';
import { formatIsoTimestamp } from '../../kernel/fields.ts';
import type { TenantTx } from '../../tenant-sql/client.ts';
import { buildMoveFromTrash } from '../../tenant-sql/ddl.ts';
import { openDatabaseToRead } from '../managed-database/service.ts';
import { restoredNameTaken, tableNotFound } from './failures.ts';
import { type AnnounceTables, requireTablesDatabase, runShapeChange, toTableKey } from './service.ts';
import { isNameTaken } from './store.ts';
import type { DeletedTable, ManagedTable } from './table.ts';
import { computeRetentionStart } from './trash.ts';
import * as store from './trash-store.ts';

/** Returns a page of the deleted tables that can still be restored, the latest deleted first; empty before provisioning. */
export async function listDeletedTables(
  ctx: CompanyContext,
  { page, perPage }: { page: number; perPage: number },
): Promise<{ total: number; records: DeletedTable[] }> {
  const database = await openDatabaseToRead(ctx);
  if (!database) return { total: 0, records: [] };
  const window = { limit: perPage, offset: (page - 1) * perPage };
  return store.readTablesDeletedSince(database, ctx.actor.companyId, computeRetentionStart(ctx), window);
}

/** Restores a deleted table unchanged, under its name. @throws restoredNameTaken if another table has the name now */
export async function restoreTable(ctx: CompanyContext, id: string): Promise<ManagedTable> {
  const restoreInTransaction = async (tx: TenantTx, announceTables: AnnounceTables): Promise<ManagedTable> => {
    try {
      const table = await store.restoreDeletedTable(
        tx,
        toTableKey(ctx, id),
        computeRetentionStart(ctx),
        formatIsoTimestamp(ctx.now()),
      );
      if (!table) throw tableNotFound();
      announceTables(table.displayName);
      for (const statement of buildMoveFromTrash({ name: table.displayName, id })) await tx.execute(statement);
      return table;
    } catch (error) {
      throw isNameTaken(error) ? restoredNameTaken() : error;
    }
  };
  const listChangedTables = ({ displayName }: ManagedTable) => [id, displayName];
  return runShapeChange(ctx, await requireTablesDatabase(ctx), restoreInTransaction, listChangedTables, {
    spaceEffect: 'adds',
  });
}
