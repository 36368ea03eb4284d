import { z } from 'zod';
import { concurrentChange } from '../../../db/failures.ts';
import { ok } from '../../../http/endpoint.ts';
import { endpoint } from '../../../http/surfaces/knowledge.ts';
import { COLUMN_TYPES } from '../../../tenant-sql/columns.ts';
import { tenantSqlFailures, userSqlFailures } from '../../../tenant-sql/failures.ts';
import { compileFailures } from './failures.ts';
import { metricQuery } from './query.ts';
import { type MetricResult, queryMetrics } from './service.ts';

const cell = z.union([z.string(), z.number(), z.boolean(), z.null()]);

const metricResult = z
  .object({
    columns: z
      .array(z.object({ name: z.string(), type: z.enum(COLUMN_TYPES) }))
      .meta({ description: 'Named as the items, dimensions first.' }),
    rows: z.array(z.array(cell)).meta({
      description: 'Integers and decimals are numbers where a double holds them exactly, else strings.',
    }),
    row_count: z.int(),
    truncated: z.boolean().meta({ description: 'There are more rows than the limit, or than 10 MiB.' }),
    sql: z.string().meta({ description: 'The statement that was run; its values are bound.' }),
    used: z
      .array(z.object({ id: z.string(), kind: z.enum(['metric', 'dimension']), name: z.string() }))
      .meta({ description: 'The metrics, those that they build on, the dimensions, and those of the filters.' }),
  })
  .meta({ id: 'MetricResult' });

const view = ({ columns, rows, truncated, sql, used }: MetricResult): z.input<typeof metricResult> => ({
  columns,
  rows,
  row_count: rows.length,
  truncated,
  sql,
  used: used.map(({ id, kind, name }) => ({ id, kind: kind as 'metric' | 'dimension', name })),
});

export const metricEndpoints = [
  endpoint(
    {
      method: 'post',
      path: '/api/v1/domain-knowledge/semantic/query',
      access: 'semantic:list',
      operationId: 'queryMetrics',
      summary: 'Query metrics',
      description:
        'Computes metrics by dimensions. Tables are joined along the `mapped_relations` of active items alone, and each metric is aggregated on its own tables first, so that no row counts twice. Needs `managed-tables:data-read` on each table that is read.',
      body: metricQuery,
      exactNumbers: true,
      returns: ok(metricResult),
      fails: [...compileFailures, ...tenantSqlFailures, ...userSqlFailures, concurrentChange],
    },
    async ({ ctx, body }) => view(await queryMetrics(ctx, body)),
  ),
];
