import { z } from 'zod';
import { unknownRoute } from '../../access/failures.ts';
import { created } from '../../http/endpoint.ts';
import { endpoint } from '../../http/surfaces/organization.ts';
import { displayName, email, isoTimestamp, slug, timestamp } from '../../kernel/fields.ts';
import { accountView, viewAccount } from '../accounts/views.ts';
import { companySlugTaken } from '../companies/failures.ts';
import { issuedApiKeyView, serviceAccountView, viewApiKey, viewServiceAccount } from '../service-accounts/views.ts';
import { newPassword } from '../users/fields.ts';
import { wrongOperatorToken } from './failures.ts';
import { createOrganization } from './service.ts';

const organizationInput = z.object({
  name: displayName,
  slug,
  owner: z.object({ email, name: displayName, password: newPassword(8) }),
});

const createdOrganizationView = z.object({
  organization: z.object({ id: z.string(), name: z.string(), slug: z.string(), created_at: timestamp }),
  owner: z.object({ id: z.string(), email: z.string(), name: z.string() }),
  default_account: accountView,
  service_account: serviceAccountView,
  api_key: issuedApiKeyView,
});

const viewCreatedOrganization = (
  result: Awaited<ReturnType<typeof createOrganization>>,
): z.input<typeof createdOrganizationView> => ({
  organization: {
    id: result.company.id,
    name: result.company.name,
    slug: result.company.slug,
    created_at: isoTimestamp(result.company.createdAt),
  },
  owner: { id: result.owner.id, email: result.owner.email, name: result.owner.name },
  default_account: viewAccount(result.account),
  service_account: viewServiceAccount(result.serviceAccount),
  api_key: { ...viewApiKey(result.apiKey), secret_key: result.secretKey },
});

export const companyEndpoints = [
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
      fails: [unknownRoute, wrongOperatorToken, companySlugTaken],
    },
    async ({ ctx, body }) => viewCreatedOrganization(await createOrganization(ctx, body)),
  ),
];
