import { z } from 'zod';
import type { CompanyContext } from '../../context.ts';
import { makeView } from '../../http/wire.ts';
import { timestampSchema } from '../../kernel/fields.ts';
import { column, type ManagedTable } from './table.ts';

/** The response with a table. */
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
    created_at: timestampSchema,
    updated_at: timestampSchema.meta({
      description: 'Last change of the record: its name, columns or number of rows.',
    }),
  })
  .meta({ id: 'ManagedTable' });

export const deletedRecord = tableRecord.extend({ deleted_at: timestampSchema }).meta({ id: 'DeletedManagedTable' });

const viewTableRecord = makeView(tableRecord);

/** Returns a function that views tables of a connection. A company with a table always has a connection. */
export const createTableView = (connectionId: string | null) => (table: ManagedTable) =>
  viewTableRecord({ ...table, connectionId: connectionId as string });

/** The version options of a table: fields that do not count for its version, which covers its name and columns. */
export const TABLE_VERSIONING = {
  ignoredFields: ['connection_id', 'row_count', 'updated_at'],
  checkedBy: 'service',
} as const;

/** Throws for a conditional write to another version of the table. Call it under the lock of the write. */
export async function requireTableVersion(ctx: CompanyContext, table: ManagedTable): Promise<void> {
  await ctx.requireVersion?.(createTableView(null)(table));
}
