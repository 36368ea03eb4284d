import { z } from 'zod';
import { concurrentChange, quotaExceeded } from '../../db/failures.ts';
import { created, noContent, ok } from '../../http/endpoint.ts';
import { makePageQuery } from '../../http/list-query.ts';
import { endpoint } from '../../http/surfaces/managed-tables.ts';
import { isRecord, resultCellSchema } from '../../kernel/fields.ts';
import type { UnreadObject } from '../../kernel/unread-json.ts';
import { tenantSqlFailures } from '../../tenant-sql/failures.ts';
import {
  duplicateValue,
  pageTooLarge,
  rowNotFound,
  rowNotStorable,
  rowTooLargeToReturn,
  selectionTooSlow,
  tableBusy,
  tableNotFound,
  tooManyLargeRows,
} from './failures.ts';
import { deleteRow, getRow, insertRows, listRows, updateRow } from './rows.ts';
import { selectionQuery, sortByParameter } from './selection-query.ts';

const MAX_INSERT_ROWS = 10_000;
/** The maximum length of a cursor in characters: the longest key that a row can have, encrypted. */
const MAX_CURSOR_LENGTH = 8192;
const MAX_INSERT_BYTES = 10 * 1024 * 1024;

const row = z.record(z.string(), resultCellSchema).meta({
  id: 'ManagedTableRow',
  description:
    '`id` (uuid) and a field for each column. Integers and decimals are numbers where a double holds them exactly, else strings; dates are `YYYY-MM-DD`, datetimes ISO 8601 UTC.',
  override: ({ jsonSchema }) => Object.assign(jsonSchema, { properties: { id: { type: 'string' } }, required: ['id'] }),
});

/** The schema of any row: `z.record` would drop a column called `__proto__` and copy every row. */
const anyRow = z.unknown().meta({ type: 'object', additionalProperties: true });
/** The schema of a row that is not parsed yet; null for a value that is not an object. */
const unreadRow = anyRow as z.ZodType<UnreadObject | null>;

const rowsPage = z.object({
  total: z.int().optional().meta({ description: 'Exact. Left out with `cursor`, unless `count=exact` asks for it.' }),
  quantity: z.int(),
  records: z.array(row),
  next_cursor: z
    .string()
    .nullable()
    .optional()
    .meta({ description: 'With `cursor` only: the cursor of the next page, null at the end.' }),
});

const rowsQuery = makePageQuery('per_page', { usualPageSize: 50, maxPageSize: 1000 })
  .extend({
    ...selectionQuery,
    sort_by: sortByParameter,
    cursor: z.string().max(MAX_CURSOR_LENGTH).optional().meta({
      description:
        'Empty for the first page, then the `next_cursor` of the page before. Good for the same table, filters, search and `sort_by` only.',
    }),
    count: z.literal('exact').optional().meta({ description: 'Asks for `total` with `cursor`, too.' }),
  })
  .strict()
  .refine(({ cursor, page }) => cursor === undefined || page === 1, {
    path: ['page'],
    message: 'cannot be combined with cursor',
  });

export const managedTableRowsEndpoints = [
  endpoint(
    {
      method: 'get',
      path: '/v1/managed-tables/{id}/data',
      access: 'managed-tables:data-read',
      operationId: 'listManagedTableRows',
      summary: 'List the rows of a managed table',
      description: `In insertion order unless \`sort_by\` is sent; nulls come last, ties are sorted by \`id\`. With \`cursor\`, each page continues after the last row of the page before, even if rows were added or deleted meanwhile. A page can have at most 16 MiB of values.`,
      query: rowsQuery,
      returns: ok(rowsPage),
      fails: [tableNotFound, pageTooLarge, selectionTooSlow, tableBusy, concurrentChange, ...tenantSqlFailures],
    },
    async ({ ctx, params, query }) => {
      const { page, per_page: perPage, sort_by: sortBy, cursor, count, ...rows } = query;
      const isCounted = cursor === undefined || count === 'exact';
      const { records, total, nextCursor } = await listRows(ctx, params.id, {
        sentSelection: rows,
        sortBy,
        page,
        cursor,
        perPage,
        isCounted,
      });
      return {
        ...(total !== undefined && { total }),
        quantity: records.length,
        records,
        ...(nextCursor !== undefined && { next_cursor: nextCursor }),
      };
    },
  ),
  endpoint(
    {
      method: 'get',
      path: '/v1/managed-tables/{id}/data/{rowId}',
      access: 'managed-tables:data-read',
      operationId: 'getManagedTableRow',
      summary: 'Get a row of a managed table',
      description: 'With all columns. Send its `ETag` as `If-Match` to change exactly the row that was read.',
      returns: ok(row),
      versionDeclaration: { ignoredFields: [], checkedBy: 'service' },
      fails: [tableNotFound, rowNotFound, rowTooLargeToReturn, tableBusy, concurrentChange, ...tenantSqlFailures],
    },
    ({ ctx, params }) => getRow(ctx, params.id, params.rowId),
  ),
  endpoint(
    {
      method: 'post',
      path: '/v1/managed-tables/{id}/data',
      access: 'managed-tables:data-write',
      operationId: 'insertManagedTableRows',
      summary: 'Insert rows into a managed table',
      description: `Inserts all rows or none, up to ${MAX_INSERT_ROWS} rows and 10 MiB. Columns left out are null. Values that do not fit are refused with 422 and \`details: [{ row, field, message }]\`, \`row\` counted from 0.`,
      body: z.object({
        rows: z
          .array(unreadRow)
          .min(1, 'must hold at least one row')
          .max(MAX_INSERT_ROWS, `must hold at most ${MAX_INSERT_ROWS} rows`),
      }),
      bodyLimit: MAX_INSERT_BYTES,
      unread: { list: 'rows', maxObjects: MAX_INSERT_ROWS },
      returns: created(z.object({ inserted: z.int() })),
      fails: [
        quotaExceeded,
        tableNotFound,
        rowNotStorable,
        duplicateValue,
        tableBusy,
        tooManyLargeRows,
        concurrentChange,
        ...tenantSqlFailures,
      ],
    },
    async ({ ctx, params, body }) => ({ inserted: await insertRows(ctx, params.id, body.rows) }),
  ),
  endpoint(
    {
      method: 'put',
      path: '/v1/managed-tables/{id}/data/{rowId}',
      access: 'managed-tables:data-write',
      operationId: 'updateManagedTableRow',
      summary: 'Update a row of a managed table',
      description: 'Changes only the columns that are sent.',
      body: anyRow.refine(isRecord, 'must be an object of column names and values'),
      exactNumbers: true,
      returns: ok(row),
      fails: [
        quotaExceeded,
        tableNotFound,
        rowNotFound,
        rowNotStorable,
        rowTooLargeToReturn,
        duplicateValue,
        tableBusy,
        ...tenantSqlFailures,
      ],
    },
    ({ ctx, params, body }) => updateRow(ctx, params.id, params.rowId, body as Record<string, unknown>),
  ),
  endpoint(
    {
      method: 'delete',
      path: '/v1/managed-tables/{id}/data/{rowId}',
      access: 'managed-tables:data-write',
      operationId: 'deleteManagedTableRow',
      summary: 'Delete a row of a managed table',
      description:
        'Rows that are deleted one by one are not kept. With `If-Match`, only if the row has not changed since it was read.',
      returns: noContent,
      fails: [tableNotFound, rowNotFound, rowTooLargeToReturn, tableBusy, ...tenantSqlFailures],
    },
    ({ ctx, params }) => deleteRow(ctx, params.id, params.rowId),
  ),
];
