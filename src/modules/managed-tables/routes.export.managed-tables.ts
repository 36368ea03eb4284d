import { z } from 'zod';
import { concurrentChange } from '../../db/failures.ts';
import { raw } from '../../http/endpoint.ts';
import { queryFlag } from '../../http/list-query.ts';
import { endpoint } from '../../http/surfaces/managed-tables.ts';
import { MEDIA_TYPES, makeFileHeaders } from '../../kernel/files.ts';
import { tenantSqlFailures } from '../../tenant-sql/failures.ts';
import { exportRows } from './export.ts';
import { EXPORT_FORMATS } from './export-formats.ts';
import { selectionTooSlow, tableBusy, tableNotFound, tooManyExports, tooManyRows } from './failures.ts';
import { selectionQuery, sortByParameter } from './selection-query.ts';

const exportQuery = z
  .object({
    ...selectionQuery,
    sort_by: sortByParameter,
    format: z.enum(EXPORT_FORMATS, { error: `must be one of ${EXPORT_FORMATS.join(', ')}` }).default('csv'),
    safe: queryFlag.meta({
      description:
        "For spreadsheets, in CSV and XLSX: texts that begin with `=`, `+`, `-`, `@`, a tab or a carriage return are prefixed with `'`.",
    }),
  })
  .strict();

export const managedTableExportEndpoints = [
  endpoint(
    {
      method: 'get',
      path: '/v1/managed-tables/{id}/export',
      access: 'managed-tables:data-read',
      operationId: 'exportManagedTable',
      summary: 'Export the rows of a managed table',
      description:
        'All selected rows, as they are at one moment, as a stream; in insertion order unless `sort_by` is sent. CSV is RFC 4180 in UTF-8 with a header: decimals with a point, datetimes in UTC with a time, nulls empty and empty texts `""`. NDJSON has the rows of the list, one a line. XLSX has one sheet of at most 1,048,575 rows under a header and 4 GiB of XML; what a double cannot hold is text, and a text of more than 32,767 characters is refused. Parquet has integers as INT64, decimals as DECIMAL(38, s) with as many digits after the point as the rows need (as text where one does not fit), dates as DATE, datetimes as TIMESTAMP in UTC with microseconds; its row groups have at most 20,000 rows. If the export is interrupted, the transfer fails. While its rows are read, for at most 15 minutes, the table cannot be changed, truncated or deleted, but its rows can be changed. To take them may last twelve hours: what is taken more slowly than it is read waits meanwhile. A company can have the rows of four exports read at once.',
      query: exportQuery,
      returns: raw(200, 'The rows.', ...EXPORT_FORMATS.map((format) => MEDIA_TYPES[format])),
      fails: [
        tableNotFound,
        selectionTooSlow,
        tooManyExports,
        tooManyRows,
        tableBusy,
        concurrentChange,
        ...tenantSqlFailures,
      ],
    },
    async ({ ctx, params, query: { format, safe, sort_by: sortBy, ...rows } }) => {
      const { name, body } = await exportRows(ctx, params.id, {
        sentSelection: rows,
        sortBy,
        format,
        escapesFormulas: safe,
      });
      return new Response(body, { headers: makeFileHeaders(name, format) });
    },
  ),
];
