import { z } from 'zod';
import { makeView, toBodyFields } from '../../http/wire.ts';
import {
  description,
  displayNameSchema,
  isoMillisecondsSchema,
  metadataSchema,
  timestampSchema,
} from '../../kernel/fields.ts';

/** A service account as the organization API shows it. */
export const serviceAccountView = z
  .object({
    id: z.string(),
    name: z.string(),
    description: z.string(),
    account_id: z.string(),
    organization_id: z.string(),
    is_active: z.boolean(),
    metadata: metadataSchema,
    created_at: timestampSchema,
    updated_at: timestampSchema,
    last_used_at: timestampSchema.nullable(),
    deleted_at: timestampSchema.nullable(),
  })
  .meta({ id: 'ServiceAccount' });

export const viewServiceAccount = makeView(serviceAccountView);

/** A service account as the console shows it. */
export const consoleServiceAccountView = z
  .object({
    _id: z.string(),
    name: z.string(),
    description: z.string(),
    account_id: z.string(),
    company_id: z.string(),
    is_active: z.boolean(),
    metadata: metadataSchema,
    created_at: timestampSchema,
    updated_at: timestampSchema,
    last_used_at: timestampSchema.nullable(),
  })
  .meta({ id: 'CompanyServiceAccount' });

export const viewConsoleServiceAccount = makeView(consoleServiceAccountView);

const keyFields = {
  access_key: z.string(),
  description: z.string(),
  service_account_id: z.string(),
  expires_at: timestampSchema,
  is_active: z.boolean(),
  created_at: timestampSchema,
  last_used_at: timestampSchema.nullable(),
};
const secretField = { secret_key: z.string() };

/** An API key as lists show it. */
export const apiKeyView = z.object({ id: z.string(), ...keyFields }).meta({ id: 'ApiKey' });

/** An API key in the response to its creation, which alone contains the secret. */
export const issuedApiKeyView = z.object({ id: z.string(), ...keyFields, ...secretField }).meta({ id: 'IssuedApiKey' });

export const viewApiKey = makeView(apiKeyView);

/** An API key as the console shows it. */
export const consoleApiKeyView = z.object({ _id: z.string(), ...keyFields }).meta({ id: 'CompanyApiKey' });
export const issuedConsoleApiKeyView = z
  .object({ _id: z.string(), ...keyFields, ...secretField })
  .meta({ id: 'IssuedCompanyApiKey' });

export const viewConsoleApiKey = makeView(consoleApiKeyView);

/** The fields of a service account except its account. */
export const serviceAccountFields = {
  name: displayNameSchema,
  description: description.default(''),
  metadata: metadataSchema.default({}),
};

/** The field of a body or query that names an account. */
export const accountId = z.string().max(100);

export const serviceAccountChanges = z
  .object({
    name: displayNameSchema,
    description,
    is_active: z.boolean().meta({ description: 'Keys of an inactive service account are refused.' }),
    metadata: metadataSchema.meta({ description: 'Replaces the metadata as a whole.' }),
  })
  .partial()
  .transform(toBodyFields);

export const keyInput = z
  .object({
    description: description.default(''),
    expires_at: isoMillisecondsSchema.optional().meta({ description: 'In the future; a year from now when not sent.' }),
  })
  .transform(toBodyFields);
