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
import { foundCompany } from './service.ts';

const foundingInput = z.object({
  name: displayName,
  slug,
  owner: z.object({ email, name: displayName, password: newPassword(8) }),
});

const foundedView = z.object({
  organization: z.object({ id: z.string(), name: z.string(), slug: z.string(), created_at: timestamp }),
  owner: z.object({ id: z.string(), email: z.string(), name: z.string() }),
  default_account: accountView,
  service_account: serviceAccountView,
  api_key: issuedApiKeyView,
});

const viewFounded = (founded: Awaited<ReturnType<typeof foundCompany>>): z.input<typeof foundedView> => ({
  organization: {
    id: founded.company.id,
    name: founded.company.name,
    slug: founded.company.slug,
    created_at: isoTimestamp(founded.company.createdAt),
  },
  owner: { id: founded.owner.id, email: founded.owner.email, name: founded.owner.name },
  default_account: viewAccount(founded.account),
  service_account: viewServiceAccount(founded.serviceAccount),
  api_key: { ...viewApiKey(founded.apiKey), secret_key: founded.secretKey },
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
        "With its owner, a default account, and a service account with a first API key. Without an operator's token in the configuration there is no such route.",
      body: foundingInput,
      returns: created(foundedView),
      fails: [unknownRoute, wrongOperatorToken, companySlugTaken],
    },
    async ({ ctx, body }) => viewFounded(await foundCompany(ctx, body)),
  ),
];
