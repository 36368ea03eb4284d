import { z } from 'zod';
import { concurrentChange, quotaExceeded } from '../../db/failures.ts';
import { created, noContent, ok } from '../../http/endpoint.ts';
import { endpoint, listOf, viewList } from '../../http/surfaces/managed-tables.ts';
import { timestampSchema } from '../../kernel/fields.ts';
import { tenantSqlFailures } from '../../tenant-sql/failures.ts';
import { indexNotFound, tableInUse, tableNotFound, tooManyIndexes } from './failures.ts';
import { createIndex, deleteIndex, listIndexes, MAX_INDEXES, type TableIndex } from './indexes.ts';
import { tableName } from './table.ts';

const MAX_INDEX_COLUMNS = 4;

const indexRecord = z
  .object({ id: z.string(), columns: z.array(z.string()), unique: z.boolean(), created_at: timestampSchema })
  .meta({ id: 'ManagedTableIndex' });

const viewIndex = ({ createdAt, ...index }: TableIndex): z.input<typeof indexRecord> => ({
  ...index,
  created_at: createdAt,
});

export const managedTableIndexesEndpoints = [
  endpoint(
    {
      method: 'get',
      path: '/v1/managed-tables/{id}/indexes',
      access: 'managed-tables:list',
      operationId: 'listManagedTableIndexes',
      summary: 'List the indexes of a managed table',
      description: 'At most ten, those included that upserts made for their keys.',
      returns: ok(listOf(indexRecord)),
      fails: [tableNotFound, ...tenantSqlFailures],
    },
    async ({ ctx, params }) => {
      const records = await listIndexes(ctx, params.id);
      return viewList({ total: records.length, records }, viewIndex);
    },
  ),
  endpoint(
    {
      method: 'post',
      path: '/v1/managed-tables/{id}/indexes',
      access: 'managed-tables:update',
      operationId: 'createManagedTableIndex',
      summary: 'Create an index on a managed table',
      description: `Builds the index without blocking writes, one at a time for each table; a table can have up to ${MAX_INDEXES}. The answer comes within 30 seconds: when the index is built, or that the table is in use (409), where others go on that began before or the table is too large; then no index is left. If the connection is lost, list the indexes to see whether it was built. In a unique index nulls are distinct. Duplicate values, and values that are too long for an index, are refused with 422, which names them. Dropping a column drops its indexes.`,
      body: z.object({
        columns: z
          .array(tableName.meta({ examples: ['city'] }))
          .min(1, 'must hold at least one column')
          .max(MAX_INDEX_COLUMNS, `must hold at most ${MAX_INDEX_COLUMNS} columns`)
          .refine((names) => new Set(names).size === names.length, 'must hold each column once'),
        unique: z.boolean().default(false),
      }),
      returns: created(indexRecord),
      fails: [tableNotFound, tooManyIndexes, quotaExceeded, tableInUse, concurrentChange, ...tenantSqlFailures],
    },
    async ({ ctx, params, body }) => viewIndex(await createIndex(ctx, params.id, body)),
  ),
  endpoint(
    {
      method: 'delete',
      path: '/v1/managed-tables/{id}/indexes/{index_id}',
      access: 'managed-tables:update',
      operationId: 'deleteManagedTableIndex',
      summary: 'Delete an index of a managed table',
      description:
        'Without stopping writers. Where it was unique, values may repeat from then on. The answer comes within 30 seconds: done, or that the table is in use (409).',
      returns: noContent,
      fails: [tableNotFound, indexNotFound, tableInUse, ...tenantSqlFailures],
    },
    ({ ctx, params }) => deleteIndex(ctx, params.id, params.index_id),
  ),
];
