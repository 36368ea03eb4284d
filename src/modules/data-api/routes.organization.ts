import { z } from 'zod';
import { prepared } from '../../http/endpoint.ts';
import { endpoint } from '../../http/surfaces/organization.ts';
import { COLUMN_TYPES } from '../../tenant-sql/columns.ts';
import { tenantSqlFailures } from '../../tenant-sql/failures.ts';
import { notProvisioned } from '../managed-database/failures.ts';
import { type EndpointResult, endpointArn, executeEndpoint } from './execute.ts';
import { dataQueryFailed, endpointNotFound } from './failures.ts';
import { FORMAT_NAMES, RESULT_FORMATS, type ResultFormat, resultWriter } from './results.ts';

const format = z.enum(FORMAT_NAMES).default('json');

const dataQuery = z.object({ format }).catchall(z.union([z.string(), z.array(z.string())]));

const cell = z.union([z.string(), z.number(), z.boolean(), z.null()]);

const dataView = z
  .object({
    columns: z.array(z.object({ name: z.string(), type: z.enum(COLUMN_TYPES) })),
    rows: z.array(z.array(cell)),
    row_count: z.int(),
    truncated: z.boolean().meta({ description: 'There is more than 10,000 rows or 10 MiB.' }),
    cached: z.boolean(),
  })
  .meta({ id: 'DataResult' });

function answer({ columns, rows, truncated, cached }: EndpointResult, wanted: ResultFormat): Response {
  const writer = resultWriter(wanted);
  const facts = { row_count: rows.length, truncated, cached };
  const text = writer.begin(columns) + writer.rows(rows) + writer.end(facts);
  const headers = { 'Content-Type': `${RESULT_FORMATS[wanted]}; charset=utf-8` };
  return new Response(text, { headers: { ...headers, ...(truncated && { 'X-Truncated': 'true' }) } });
}

/** The Data API: published visualizations, for service accounts with a signature or a service token. */
export const dataEndpoints = [
  endpoint(
    {
      method: 'get',
      path: '/data/{slug}',
      access: { action: 'data_api:execute', on: endpointArn },
      credential: 'machine',
      operationId: 'executeVizApiEndpoint',
      summary: 'Execute an endpoint of the Data API',
      description:
        'Parameters of the visualization are parameters of the query: a list is repeated, the ends of a range are `slug.from` and `slug.to`. Within 10 s, 10,000 rows and 10 MiB; a result that was cut carries `X-Truncated: true`.',
      query: dataQuery,
      returns: prepared(dataView, RESULT_FORMATS.ndjson, RESULT_FORMATS.csv),
      fails: [endpointNotFound, dataQueryFailed, notProvisioned, ...tenantSqlFailures],
    },
    async ({ ctx, params, query, request }) =>
      answer(await executeEndpoint(ctx, params.slug, new URL(request.url).searchParams), query.format),
  ),
];
