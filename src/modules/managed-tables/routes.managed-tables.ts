import { z } from 'zod';
import { created, noContent, ok } from '../../http/endpoint.ts';
import { pageQuery } from '../../http/list-query.ts';
import { endpoint, list, listOf } from '../../http/surfaces/managed-tables.ts';
import { timestamp } from '../../kernel/fields.ts';
import { connectionIdOf, provision, statusOf } from '../managed-database/service.ts';
import { changeTable, tableChanges } from './change.ts';
import { deleteRow, insertRows, listRows, updateRow } from './rows.ts';
import { createTable, deleteTable, getTable, listTables, truncateTable } from './service.ts';
import { column, type ManagedTable, newTable } from './table.ts';

const MAX_INSERT_ROWS = 10_000;
const MAX_INSERT_BYTES = 10 * 1024 * 1024;

const tableRecord = z
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

/** A table as the API shows it. Where there is a table, there is a connection. */
const view =
  (connectionId: string | null) =>
  (table: ManagedTable): z.input<typeof tableRecord> => ({
    _id: table.id,
    company_id: table.companyId,
    connection_id: connectionId as string,
    display_name: table.displayName,
    columns: table.columns,
    source: table.source,
    status: table.status,
    row_count: table.rowCount,
    created_by_user_id: table.createdByUserId,
    created_at: table.createdAt,
    updated_at: table.updatedAt,
  });

const connection = z.object({ provisioned: z.boolean(), connection_id: z.string().nullable() });

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const cell = z.union([z.string(), z.number(), z.boolean(), z.null()]);

const row = z.record(z.string(), cell).meta({
  id: 'ManagedTableRow',
  description:
    '`id` (uuid) and a member for each column. Integers and decimals are numbers where a double holds them exactly, else strings; dates are `YYYY-MM-DD`, datetimes ISO 8601 UTC.',
});

/** Not a record of zod's: that would drop a column called `__proto__`, and copy every row. */
const anyRow = z.unknown().meta({ type: 'object', additionalProperties: true });

export const managedTablesEndpoints = [
  endpoint(
    {
      method: 'post',
      path: '/v1/managed-tables/provision',
      access: 'managed-tables:create',
      summary: "Activate managed tables: provision the company's own Postgres",
      description: 'Idempotent: further calls answer the existing connection.',
      returns: ok(connection),
    },
    ({ ctx }) => provision(ctx),
  ),
  endpoint(
    {
      method: 'get',
      path: '/v1/managed-tables/status',
      access: 'managed-tables:list',
      summary: "Whether the company's Postgres is provisioned",
      returns: ok(connection),
    },
    ({ ctx }) => statusOf(ctx),
  ),
  endpoint(
    {
      method: 'get',
      path: '/v1/managed-tables',
      access: 'managed-tables:list',
      summary: 'List managed tables, newest first',
      query: pageQuery('per_page').extend({
        search: z
          .string()
          .max(255)
          .refine((text) => !text.includes('\0'), 'must not hold NUL characters')
          .default('')
          .meta({ description: 'A literal part of `display_name`, in any case.' }),
      }),
      returns: ok(listOf(tableRecord)),
    },
    async ({ ctx, query: { page, per_page: perPage, search } }) =>
      list(await listTables(ctx, { page, perPage, search }), view(await connectionIdOf(ctx))),
  ),
  endpoint(
    {
      method: 'get',
      path: '/v1/managed-tables/{id}',
      access: 'managed-tables:list',
      summary: 'Get a managed table',
      returns: ok(tableRecord),
    },
    async ({ ctx, params }) => view(await connectionIdOf(ctx))(await getTable(ctx, params.id)),
  ),
  endpoint(
    {
      method: 'post',
      path: '/v1/managed-tables',
      access: 'managed-tables:create',
      summary: 'Create an empty managed table',
      description: '`id` and the system columns of Postgres are reserved column names.',
      body: newTable,
      returns: created(tableRecord),
    },
    async ({ ctx, body }) => view(await connectionIdOf(ctx))(await createTable(ctx, body)),
  ),
  endpoint(
    {
      method: 'put',
      path: '/v1/managed-tables/{id}',
      access: 'managed-tables:update',
      summary: 'Rename a managed table or change its columns',
      description:
        '`columns` is the whole new list. A column is matched by `previous_name`, or by `name`: new ones are added, missing ones dropped with their values, changed types converted in place. All of it is applied or nothing.',
      body: tableChanges,
      returns: ok(tableRecord),
    },
    async ({ ctx, params, body }) => view(await connectionIdOf(ctx))(await changeTable(ctx, params.id, body)),
  ),
  endpoint(
    {
      method: 'delete',
      path: '/v1/managed-tables/{id}',
      access: 'managed-tables:delete',
      summary: 'Delete a managed table',
      returns: noContent,
    },
    ({ ctx, params }) => deleteTable(ctx, params.id),
  ),
  endpoint(
    {
      method: 'post',
      path: '/v1/managed-tables/{id}/truncate',
      access: 'managed-tables:data-write',
      summary: 'Remove all rows of a managed table',
      returns: ok(z.object({ row_count: z.literal(0) })),
    },
    async ({ ctx, params }) => ({ row_count: await truncateTable(ctx, params.id) }),
  ),
  endpoint(
    {
      method: 'get',
      path: '/v1/managed-tables/{id}/data',
      access: 'managed-tables:data-read',
      summary: 'List rows',
      description: `In insertion order unless \`sort_by\` says otherwise; nulls stand last, ties break by \`id\`. A page whose values are larger than 16 MiB is refused with 413: ask for fewer rows.`,
      query: pageQuery('per_page', { standard: 50, maximum: 1000 }).extend({
        sort_by: z
          .string()
          .max(80)
          .optional()
          .meta({
            description: '`field`, `field ASC`, `field DESC`, `-field` or `-field DESC`.',
            examples: ['price DESC'],
          }),
      }),
      returns: ok(listOf(row)),
    },
    async ({ ctx, params, query: { page, per_page: perPage, sort_by: sortBy } }) =>
      list(await listRows(ctx, params.id, { page, perPage, sortBy }), (record) => record),
  ),
  endpoint(
    {
      method: 'post',
      path: '/v1/managed-tables/{id}/data',
      access: 'managed-tables:data-write',
      summary: 'Insert rows, all or none',
      description: `Up to ${MAX_INSERT_ROWS} rows and 10 MiB. Columns left out are null. Values that do not fit answer 422 with \`details: [{ row, field, message }]\`, \`row\` counted from 0.`,
      body: z.object({
        rows: z
          .array(anyRow)
          .min(1, 'must hold at least one row')
          .max(MAX_INSERT_ROWS, `must hold at most ${MAX_INSERT_ROWS} rows`),
      }),
      bodyLimit: MAX_INSERT_BYTES,
      exactNumbers: true,
      returns: created(z.object({ inserted: z.int() })),
    },
    async ({ ctx, params, body }) => ({ inserted: await insertRows(ctx, params.id, body.rows) }),
  ),
  endpoint(
    {
      method: 'put',
      path: '/v1/managed-tables/{id}/data/{rowId}',
      access: 'managed-tables:data-write',
      summary: 'Change fields of a row',
      body: anyRow.refine(isObject, 'must be an object of column names and values'),
      exactNumbers: true,
      returns: ok(row),
    },
    ({ ctx, params, body }) => updateRow(ctx, params.id, params.rowId, body as Record<string, unknown>),
  ),
  endpoint(
    {
      method: 'delete',
      path: '/v1/managed-tables/{id}/data/{rowId}',
      access: 'managed-tables:data-write',
      summary: 'Delete a row',
      returns: noContent,
    },
    ({ ctx, params }) => deleteRow(ctx, params.id, params.rowId),
  ),
];
