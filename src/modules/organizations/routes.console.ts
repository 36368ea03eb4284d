import { ok } from '../../http/endpoint.ts';
import { endpoint } from '../../http/surfaces/console.ts';
import { tenantSqlFailures } from '../../tenant-sql/failures.ts';
import { readUsage } from './usage.ts';
import { daysQuery, requireDayRange, USAGE_DESCRIPTION, usageView, viewUsage } from './usage-fields.ts';

export const companyUsageEndpoints = [
  endpoint(
    {
      method: 'get',
      path: '/v1/company/usage',
      access: 'administrator',
      operationId: 'getCompanyUsage',
      summary: "Get the company's usage",
      description: `For administrators. ${USAGE_DESCRIPTION}`,
      query: daysQuery,
      returns: ok(usageView),
      fails: [...tenantSqlFailures],
    },
    async ({ ctx, query }) => {
      const { from, to } = requireDayRange(query, ctx.now());
      return viewUsage(await readUsage(ctx, from, to));
    },
  ),
];
