import { concurrentChange } from '../../../db/failures.ts';
import { ok } from '../../../http/endpoint.ts';
import { endpoint } from '../../../http/surfaces/knowledge.ts';
import { tenantSqlFailures, userSqlFailures } from '../../../tenant-sql/failures.ts';
import { compileFailures } from './failures.ts';
import { metricQuery } from './query.ts';
import { queryMetrics } from './service.ts';
import { metricResult, viewResult } from './views.ts';

export const metricEndpoints = [
  endpoint(
    {
      method: 'post',
      path: '/api/v1/domain-knowledge/semantic/query',
      access: 'semantic:list',
      operationId: 'queryMetrics',
      summary: 'Query metrics',
      safe: true,
      description:
        'Computes metrics by dimensions. Tables are joined along the `mapped_relations` of active items alone, and each metric is aggregated on its own tables first, so that no row counts twice. Needs `managed-tables:data-read` on each table that is read.',
      body: metricQuery,
      exactNumbers: true,
      returns: ok(metricResult),
      fails: [...compileFailures, ...tenantSqlFailures, ...userSqlFailures, concurrentChange],
    },
    async ({ ctx, body }) => viewResult(await queryMetrics(ctx, body)),
  ),
];
