import { z } from 'zod';
import { isoTimestamp, isoTimestampOrNull, metadata, timestamp } from '../../kernel/fields.ts';
import type { Account } from './service.ts';

/** An account as the organization API shows it. */
export const accountView = z
  .object({
    id: z.string(),
    name: z.string(),
    organization_id: z.string(),
    is_default: z.boolean(),
    is_active: z.boolean(),
    metadata,
    created_at: timestamp,
    updated_at: timestamp,
    deleted_at: timestamp.nullable(),
  })
  .meta({ id: 'Account' });

export const viewAccount = (record: Account): z.input<typeof accountView> => ({
  id: record.id,
  name: record.name,
  organization_id: record.companyId,
  is_default: record.isDefault,
  is_active: record.isActive,
  metadata: record.metadata,
  created_at: isoTimestamp(record.createdAt),
  updated_at: isoTimestamp(record.updatedAt),
  deleted_at: isoTimestampOrNull(record.deletedAt),
});
