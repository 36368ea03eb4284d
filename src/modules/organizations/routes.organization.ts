import { z } from 'zod';
import { created, declareVersion, ok } from '../../http/endpoint.ts';
import { makeListQuery, makeSearchSchema, toPageRequest } from '../../http/list-query.ts';
import { endpoint, makeListSchema, viewList } from '../../http/surfaces/organization.ts';
import { makeView } from '../../http/wire.ts';
import { displayNameSchema, email, slugSchema, timestampSchema } from '../../kernel/fields.ts';
import { tenantSqlFailures } from '../../tenant-sql/failures.ts';
import { accountView, viewAccount } from '../accounts/views.ts';
import { companySlugTaken } from '../companies/failures.ts';
import { issuedApiKeyView, serviceAccountView, viewApiKey, viewServiceAccount } from '../service-accounts/views.ts';
import { makeNewPasswordField } from '../users/fields.ts';
import { operatorFailures, organizationDeleting, organizationNotFound } from './failures.ts';
import {
  changeOrganization,
  createOrganization,
  getOrganizationWithUsage,
  listOrganizations,
  readOrganizationUsage,
  setQuotas,
} from './service.ts';
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
import { organizationView, viewOrganization } from './views.ts';

const organizationInput = z.object({
  name: displayNameSchema,
  slug: slugSchema,
  owner: z.object({ email, name: displayNameSchema, password: makeNewPasswordField(8) }),
});

const status = z.enum(['active', 'suspended']);

const organizationChanges = z
  .object({
    name: displayNameSchema,
    status: status.meta({
      description:
        'While it is `suspended`, every credential of the company is refused, nobody signs in, shares, embeds and emails stop, and jobs and schedules wait. Nothing is lost: with `active` all goes on.',
    }),
  })
  .partial();

const createdCompanyView = z.object({
  id: z.string(),
  name: z.string(),
  slug: z.string(),
  created_at: timestampSchema,
});
const viewCreatedCompany = makeView(createdCompanyView);
const ownerView = z.object({ id: z.string(), email: z.string(), name: z.string() });
const viewOwner = makeView(ownerView);

const createdOrganizationView = z.object({
  organization: createdCompanyView,
  owner: ownerView,
  default_account: accountView,
  service_account: serviceAccountView,
  api_key: issuedApiKeyView,
});

const viewCreatedOrganization = (
  result: Awaited<ReturnType<typeof createOrganization>>,
): z.input<typeof createdOrganizationView> => ({
  organization: viewCreatedCompany(result.company),
  owner: viewOwner(result.owner),
  default_account: viewAccount(result.account),
  service_account: viewServiceAccount(result.serviceAccount),
  api_key: { ...viewApiKey(result.apiKey), secret_key: result.secretKey },
});

export const companyEndpoints = [
  endpoint(
    {
      method: 'get',
      path: '/admin/organizations',
      access: 'operator',
      operationId: 'listOrganizations',
      summary: 'List organizations',
      description: 'All of the platform.',
      query: makeListQuery(['created_at', 'updated_at', 'name']).extend({
        search: makeSearchSchema('the name or slug'),
        status: z.enum([...status.options, 'deleting']).optional(),
      }),
      returns: ok(makeListSchema(organizationView)),
      fails: operatorFailures,
    },
    async ({ ctx, query }) =>
      viewList(
        await listOrganizations(ctx, query.status, { ...toPageRequest(query), search: query.search }),
        viewOrganization,
      ),
  ),
  endpoint(
    {
      method: 'get',
      path: '/admin/organizations/{id}',
      access: 'operator',
      operationId: 'getOrganization',
      summary: 'Get an organization',
      description: 'With its status, its quotas, and how much it holds now.',
      returns: ok(organizationView),
      versionDeclaration: declareVersion('usage'),
      fails: [...operatorFailures, organizationNotFound],
    },
    async ({ ctx, params }) => viewOrganization(await getOrganizationWithUsage(ctx, params.id)),
  ),
  endpoint(
    {
      method: 'patch',
      path: '/admin/organizations/{id}',
      access: 'operator',
      operationId: 'changeOrganization',
      summary: 'Change an organization',
      description:
        'Renames or suspends it, or lets it in again, which acts on the next request of anybody of it. While it is being deleted, only its name changes.',
      body: organizationChanges,
      changers: { quotas: 'PUT /admin/organizations/{id}/quotas' },
      returns: ok(organizationView),
      fails: [...operatorFailures, organizationNotFound, organizationDeleting],
    },
    async ({ ctx, params, body }) => viewOrganization(await changeOrganization(ctx, params.id, body)),
  ),
  endpoint(
    {
      method: 'post',
      path: '/admin/organizations',
      access: 'operator',
      operationId: 'createOrganization',
      summary: 'Create an organization',
      description:
        'Also creates its owner, a default account, and a service account with a first API key. If the platform has no operator, the answer is 404.',
      body: organizationInput,
      returns: created(createdOrganizationView),
      fails: [...operatorFailures, companySlugTaken],
    },
    async ({ ctx, body }) => viewCreatedOrganization(await createOrganization(ctx, body)),
  ),
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
      fails: [...operatorFailures, organizationNotFound, ...tenantSqlFailures],
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
      fails: [...operatorFailures, organizationNotFound],
    },
    async ({ ctx, params, body }) => viewQuotas(await setQuotas(ctx, params.id, body)),
  ),
];
