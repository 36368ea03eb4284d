import { z } from 'zod';
import type { CompanyContext } from '../../context.ts';
import { viewBy } from '../../http/wire.ts';
import { timestamp } from '../../kernel/fields.ts';
import { column, type ManagedTable } from './table.ts';

/** A table as the API shows it. */
export const tableRecord = z
  .object({
    _id: z.string(),
    company_id: z.string(),
    connection_id: z.string().meta({ description: "The company's managed database." }),
    display_name: z.string(),
    columns: z.array(column),
    source: z.enum(['manual', 'upload']),
    status: z.literal('active'),
    row_count: z.int().meta({ description: 'Exact.' }),
    created_by_user_id: z.string(),
    created_at: timestamp,
    updated_at: timestamp.meta({ description: 'Last change of the record: its name, columns or number of rows.' }),
  })
  .meta({ id: 'ManagedTable' });

export const deletedRecord = tableRecord.extend({ deleted_at: timestamp }).meta({ id: 'DeletedManagedTable' });

const viewTableRecord = viewBy(tableRecord);

/** Returns a view of tables of a connection. A company with a table always has one. */
export const createTableView = (connectionId: string | null) => (table: ManagedTable) =>
  viewTableRecord({ ...table, connectionId: connectionId as string });

/** The fields that do not count for a table's version, which is one of its name and columns. */
export const TABLE_VERSION = {
  ignoredFields: ['connection_id', 'row_count', 'updated_at'],
  checkedBy: 'service',
} as const;

/** Refuses a conditional write for another version of the table. Call it under the lock of the write. */
export async function requireTableVersion(ctx: CompanyContext, table: ManagedTable): Promise<void> {
  await ctx.requireVersion?.(createTableView(null)(table));
}
