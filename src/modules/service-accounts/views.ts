import { z } from 'zod';
import { isoTimestamp, isoTimestampOrNull, metadata, timestamp } from '../../kernel/fields.ts';
import type { ApiKey, ServiceAccount } from './service.ts';

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

export const viewServiceAccount = (record: ServiceAccount): z.input<typeof serviceAccountView> => ({
  id: record.id,
  name: record.name,
  description: record.description,
  account_id: record.accountId,
  organization_id: record.companyId,
  is_active: record.isActive,
  metadata: record.metadata,
  created_at: isoTimestamp(record.createdAt),
  updated_at: isoTimestamp(record.updatedAt),
  last_used_at: isoTimestampOrNull(record.lastUsedAt),
  deleted_at: isoTimestampOrNull(record.deletedAt),
});

const apiKeyShape = z.object({
  id: z.string(),
  access_key: z.string(),
  description: z.string(),
  service_account_id: z.string(),
  expires_at: timestamp,
  is_active: z.boolean(),
  created_at: timestamp,
  last_used_at: timestamp.nullable(),
});

/** An API key as lists show it. */
export const apiKeyView = apiKeyShape.meta({ id: 'ApiKey' });

/** An API key as it is shown once, to the one who made it. */
export const issuedApiKeyView = apiKeyShape.extend({ secret_key: z.string() }).meta({ id: 'IssuedApiKey' });

export const viewApiKey = (record: ApiKey): z.input<typeof apiKeyView> => ({
  id: record.id,
  access_key: record.accessKey,
  description: record.description,
  service_account_id: record.serviceAccountId,
  expires_at: isoTimestamp(record.expiresAt),
  is_active: record.isActive,
  created_at: isoTimestamp(record.createdAt),
  last_used_at: isoTimestampOrNull(record.lastUsedAt),
});
