import { z } from 'zod';
import { viewBy } from '../../http/wire.ts';
import { metadata, timestamp } from '../../kernel/fields.ts';

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

export const viewAccount = viewBy(accountView);
