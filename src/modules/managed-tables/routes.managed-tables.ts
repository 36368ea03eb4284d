import { z } from 'zod';
import { quotaExceeded } from '../../db/failures.ts';
import { created, noContent, ok } from '../../http/endpoint.ts';
import { makePageQuery } from '../../http/list-query.ts';
import { endpoint, listOf, viewList } from '../../http/surfaces/managed-tables.ts';
import { provisioningFailed, provisioningPending, tenantSqlFailures } from '../../tenant-sql/failures.ts';
import { databaseNotProvisioned } from '../managed-database/failures.ts';
import { activateDatabase, readConnectionId, readDatabaseStatus } from '../managed-database/service.ts';
import { changeTable, tableChanges } from './change.ts';
import {
  restoredNameTaken,
  tableBusy,
  tableInUse,
  tableLocked,
  tableNameTaken,
  tableNotFound,
  truncateLocked,
} from './failures.ts';
import { listDeletedTables, restoreTable } from './restore.ts';
import { createTable, deleteTable, getTable, listTables, truncateTable } from './service.ts';
import { newTable } from './table.ts';
import { createTableView, deletedRecord, TABLE_VERSIONING, tableRecord } from './views.ts';

const connection = z.object({
  provisioned: z.boolean(),
  connection_id: z.string().nullable(),
  waking: z.literal(true).optional().meta({
    description:
      'The database was suspended because nobody used it for some minutes, and is starting again: requests that use it wait about half a second.',
  }),
});

export const managedTablesEndpoints = [
  endpoint(
    {
      method: 'post',
      path: '/v1/managed-tables/provision',
      access: 'managed-tables:create',
      operationId: 'provisionManagedDatabase',
      summary: 'Provision the managed database',
      description: "Creates the company's own PostgreSQL database. Further calls return the existing connection.",
      returns: ok(connection),
      fails: [provisioningPending, provisioningFailed, ...tenantSqlFailures],
    },
    ({ ctx }) => activateDatabase(ctx),
  ),
  endpoint(
    {
      method: 'get',
      path: '/v1/managed-tables/status',
      access: 'managed-tables:list',
      operationId: 'getManagedDatabaseStatus',
      summary: 'Get the status of the managed database',
      description: 'Whether the company has a managed database, and whether that is just starting again after a pause.',
      returns: ok(connection),
      fails: [...tenantSqlFailures],
    },
    ({ ctx }) => readDatabaseStatus(ctx),
  ),
  endpoint(
    {
      method: 'get',
      path: '/v1/managed-tables',
      access: 'managed-tables:list',
      operationId: 'listManagedTables',
      summary: 'List managed tables',
      description: 'With their columns and numbers of rows. Deleted tables have a list of their own. Newest first.',
      query: makePageQuery('per_page').extend({
        search: z
          .string()
          .max(255)
          .refine((text) => !text.includes('\0'), 'must not hold NUL characters')
          .default('')
          .meta({ description: 'Text that `display_name` must contain, ignoring case; no wildcards.' }),
      }),
      returns: ok(listOf(tableRecord)),
      fails: [...tenantSqlFailures],
    },
    async ({ ctx, query: { page, per_page: perPage, search } }) =>
      viewList(await listTables(ctx, { page, perPage, search }), createTableView(await readConnectionId(ctx))),
  ),
  endpoint(
    {
      method: 'get',
      path: '/v1/managed-tables/deleted',
      access: 'administrator',
      operationId: 'listDeletedManagedTables',
      summary: 'List deleted managed tables',
      description: 'Tables that were deleted in the last 30 days and can still be restored, the latest deleted first.',
      query: makePageQuery('per_page'),
      returns: ok(listOf(deletedRecord)),
      fails: [...tenantSqlFailures],
    },
    async ({ ctx, query: { page, per_page: perPage } }) => {
      const view = createTableView(await readConnectionId(ctx));
      return viewList(await listDeletedTables(ctx, { page, perPage }), (table) => ({
        ...view(table),
        deleted_at: table.deletedAt,
      }));
    },
  ),
  endpoint(
    {
      method: 'post',
      path: '/v1/managed-tables/{id}/restore',
      access: 'administrator',
      operationId: 'restoreManagedTable',
      summary: 'Restore a deleted managed table',
      description: 'Brings it back under its name, with its rows and columns, within 30 days after it was deleted.',
      returns: ok(tableRecord),
      fails: [tableNotFound, restoredNameTaken, quotaExceeded, tableBusy, ...tenantSqlFailures],
    },
    async ({ ctx, params }) => createTableView(await readConnectionId(ctx))(await restoreTable(ctx, params.id)),
  ),
  endpoint(
    {
      method: 'get',
      path: '/v1/managed-tables/{id}',
      access: 'managed-tables:list',
      operationId: 'getManagedTable',
      summary: 'Get a managed table',
      description: 'Its columns and the number of its rows; the rows themselves are read by their own route.',
      returns: ok(tableRecord),
      versionDeclaration: TABLE_VERSIONING,
      fails: [tableNotFound, ...tenantSqlFailures],
    },
    async ({ ctx, params }) => createTableView(await readConnectionId(ctx))(await getTable(ctx, params.id)),
  ),
  endpoint(
    {
      method: 'post',
      path: '/v1/managed-tables',
      access: 'managed-tables:create',
      operationId: 'createManagedTable',
      summary: 'Create a managed table',
      description: 'It has no rows. `id` and the system columns of Postgres are reserved column names.',
      body: newTable,
      returns: created(tableRecord),
      fails: [databaseNotProvisioned, tableNameTaken, quotaExceeded, tableBusy, ...tenantSqlFailures],
    },
    async ({ ctx, body }) => createTableView(await readConnectionId(ctx))(await createTable(ctx, body)),
  ),
  endpoint(
    {
      method: 'put',
      path: '/v1/managed-tables/{id}',
      access: 'managed-tables:update',
      operationId: 'updateManagedTable',
      summary: 'Update a managed table',
      description:
        'Renames it or changes its columns. `columns` is the whole new list. A column is matched by `previous_name`, or by `name`: new ones are added, missing ones dropped with their values, changed types converted in place. All changes are applied or none.',
      body: tableChanges,
      returns: ok(tableRecord),
      fails: [tableNotFound, tableNameTaken, quotaExceeded, tableLocked, tableInUse, ...tenantSqlFailures],
    },
    async ({ ctx, params, body }) =>
      createTableView(await readConnectionId(ctx))(await changeTable(ctx, params.id, body)),
  ),
  endpoint(
    {
      method: 'delete',
      path: '/v1/managed-tables/{id}',
      access: 'managed-tables:delete',
      operationId: 'deleteManagedTable',
      summary: 'Delete a managed table',
      description:
        'The table can be restored for 30 days, with its rows; its name is free at once. Refused while files are being loaded into it.',
      returns: noContent,
      fails: [tableNotFound, tableLocked, tableInUse, ...tenantSqlFailures],
    },
    ({ ctx, params }) => deleteTable(ctx, params.id),
  ),
  endpoint(
    {
      method: 'post',
      path: '/v1/managed-tables/{id}/truncate',
      access: 'managed-tables:data-write',
      operationId: 'truncateManagedTable',
      summary: 'Truncate a managed table',
      description: 'Removes all rows and keeps the columns.',
      returns: ok(z.object({ row_count: z.literal(0) })),
      fails: [tableNotFound, truncateLocked, tableInUse, ...tenantSqlFailures],
    },
    async ({ ctx, params }) => ({ row_count: await truncateTable(ctx, params.id) }),
  ),
];
