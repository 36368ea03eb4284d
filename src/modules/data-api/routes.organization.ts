import { z } from 'zod';
import { DATA_FORMATS, type DataFormat } from '../../db/schema/data-jobs.ts';
import { prepared } from '../../http/endpoint.ts';
import { endpoint } from '../../http/surfaces/organization.ts';
import { resultCellSchema } from '../../kernel/fields.ts';
import { getContentType, MEDIA_TYPES } from '../../kernel/files.ts';
import { COLUMN_TYPES } from '../../tenant-sql/columns.ts';
import { tenantSqlFailures } from '../../tenant-sql/failures.ts';
import { databaseNotProvisioned } from '../managed-database/failures.ts';
import { executionFailed } from '../visualizations/failures.ts';
import { writeResultFile } from '../visualizations/service.ts';
import { buildTruncationHeader } from '../visualizations/views.ts';
import { type EndpointResult, executeEndpoint, readEndpointArn } from './execute.ts';
import { endpointNotFound } from './failures.ts';

const format = z.enum(DATA_FORMATS).default('json');

const dataQuery = z.object({ format }).catchall(
  z.union([z.string(), z.array(z.string())]).meta({
    description:
      'The parameters of the visualization under their own names, as `GET /v1/visualizations/{id}` lists them: a list is repeated, the ends of a range are `slug.from` and `slug.to`. Others are refused.',
  }),
);

const dataView = z
  .object({
    columns: z.array(z.object({ name: z.string(), type: z.enum(COLUMN_TYPES) })),
    rows: z.array(z.array(resultCellSchema)),
    row_count: z.int(),
    truncated: z.boolean().meta({ description: 'The result was cut at 10,000 rows or 10 MiB.' }),
    cached: z.boolean().meta({ description: 'Whether the result comes from the cache.' }),
  })
  .meta({ id: 'DataResult' });

function toResponse(result: EndpointResult, format: DataFormat): Response {
  const { rows, truncated, isCached: cached } = result;
  const body = writeResultFile({ format }, result, { row_count: rows.length, truncated, cached });
  return new Response(body, { headers: { 'Content-Type': getContentType(format), ...buildTruncationHeader(result) } });
}

/** The endpoints of the Data API: published visualizations, for service accounts with a signature or a service token. */
export const dataEndpoints = [
  endpoint(
    {
      method: 'get',
      path: '/data/{slug}',
      access: { action: 'data_api:execute', on: readEndpointArn },
      credential: 'machine',
      operationId: 'executeVizApiEndpoint',
      summary: 'Execute an endpoint of the Data API',
      description:
        'Parameters of the visualization are parameters of the query. Within 10 s, 10,000 rows and 10 MiB; a result that was cut carries `X-Truncated: true`.',
      query: dataQuery,
      returns: prepared(dataView, MEDIA_TYPES.ndjson, MEDIA_TYPES.csv),
      fails: [endpointNotFound, executionFailed, databaseNotProvisioned, ...tenantSqlFailures],
    },
    async ({ ctx, params, query, request }) =>
      toResponse(await executeEndpoint(ctx, params.slug, new URL(request.url).searchParams), query.format),
  ),
];
