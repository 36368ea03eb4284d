import { z } from 'zod';
import { toBodyFields, viewBy } from '../../http/wire.ts';
import { description, displayName, isoMilliseconds, metadata, timestamp } from '../../kernel/fields.ts';

/** A service account as the organization API shows it. */
export const serviceAccountView = z
  .object({
    id: z.string(),
    name: z.string(),
    description: z.string(),
    account_id: z.string(),
    organization_id: z.string(),
    is_active: z.boolean(),
    metadata,
    created_at: timestamp,
    updated_at: timestamp,
    last_used_at: timestamp.nullable(),
    deleted_at: timestamp.nullable(),
  })
  .meta({ id: 'ServiceAccount' });

export const viewServiceAccount = viewBy(serviceAccountView);

/** A service account as the console shows it. */
export const consoleServiceAccountView = z
  .object({
    _id: z.string(),
    name: z.string(),
    description: z.string(),
    account_id: z.string(),
    company_id: z.string(),
    is_active: z.boolean(),
    metadata,
    created_at: timestamp,
    updated_at: timestamp,
    last_used_at: timestamp.nullable(),
  })
  .meta({ id: 'CompanyServiceAccount' });

export const viewConsoleServiceAccount = viewBy(consoleServiceAccountView);

const keyFields = {
  access_key: z.string(),
  description: z.string(),
  service_account_id: z.string(),
  expires_at: timestamp,
  is_active: z.boolean(),
  created_at: timestamp,
  last_used_at: timestamp.nullable(),
};
const secret = { secret_key: z.string() };

/** An API key as lists show it. */
export const apiKeyView = z.object({ id: z.string(), ...keyFields }).meta({ id: 'ApiKey' });

/** An API key as it is shown once, to the one who made it. */
export const issuedApiKeyView = z.object({ id: z.string(), ...keyFields, ...secret }).meta({ id: 'IssuedApiKey' });

export const viewApiKey = viewBy(apiKeyView);

/** An API key as the console shows it. */
export const consoleApiKeyView = z.object({ _id: z.string(), ...keyFields }).meta({ id: 'CompanyApiKey' });
export const issuedConsoleApiKeyView = z
  .object({ _id: z.string(), ...keyFields, ...secret })
  .meta({ id: 'IssuedCompanyApiKey' });

export const viewConsoleApiKey = viewBy(consoleApiKeyView);

/** The fields of a service account besides its account. */
export const serviceAccountFields = {
  name: displayName,
  description: description.default(''),
  metadata: metadata.default({}),
};

/** An account as a body or a query names it. */
export const accountId = z.string().max(100);

export const serviceAccountChanges = z
  .object({
    name: displayName,
    description,
    is_active: z.boolean().meta({ description: 'Keys of an inactive service account are refused.' }),
    metadata: metadata.meta({ description: 'Replaces the metadata as a whole.' }),
  })
  .partial()
  .transform(toBodyFields);

export const keyInput = z
  .object({
    description: description.default(''),
    expires_at: isoMilliseconds.optional().meta({ description: 'In the future; a year from now when not sent.' }),
  })
  .transform(toBodyFields);
