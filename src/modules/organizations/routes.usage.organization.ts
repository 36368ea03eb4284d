import { unknownRoute } from '../../access/failures.ts';
import { ok } from '../../http/endpoint.ts';
import { endpoint } from '../../http/surfaces/organization.ts';
import { tenantSqlFailures } from '../../tenant-sql/failures.ts';
import { organizationNotFound, wrongOperatorToken } from './failures.ts';
import { readOrganizationUsage, setQuotas } from './service.ts';
import {
  daysQuery,
  quotasInput,
  quotasView,
  requireDayRange,
  USAGE_DESCRIPTION,
  usageView,
  viewQuotas,
  viewUsage,
} from './usage-fields.ts';

const usageFailures = [unknownRoute, wrongOperatorToken, organizationNotFound];

export const organizationUsageEndpoints = [
  endpoint(
    {
      method: 'get',
      path: '/admin/organizations/{id}/usage',
      access: 'operator',
      operationId: 'getOrganizationUsage',
      summary: 'Get the usage of an organization',
      description: USAGE_DESCRIPTION,
      query: daysQuery,
      returns: ok(usageView),
      fails: [...usageFailures, ...tenantSqlFailures],
    },
    async ({ ctx, params, query }) => {
      const { from, to } = requireDayRange(query, ctx.now());
      return viewUsage(await readOrganizationUsage(ctx, params.id, from, to));
    },
  ),
  endpoint(
    {
      method: 'put',
      path: '/admin/organizations/{id}/quotas',
      access: 'operator',
      operationId: 'setOrganizationQuotas',
      summary: 'Set the quotas of an organization',
      description:
        'Replaces all of them; null is none, and so is one that is not sent. What would pass one is refused with 403 before it begins. A quota below what is used takes nothing away: then nothing more is taken.',
      body: quotasInput,
      returns: ok(quotasView),
      fails: usageFailures,
    },
    async ({ ctx, params, body }) => viewQuotas(await setQuotas(ctx, params.id, body)),
  ),
];
