import { z } from 'zod';
import { makeView } from '../../http/wire.ts';
import { metadataSchema, timestampSchema } from '../../kernel/fields.ts';

/** An account as the organization API shows it. */
export const accountView = z
  .object({
    id: z.string(),
    name: z.string(),
    organization_id: z.string(),
    is_default: z.boolean(),
    is_active: z.boolean(),
    metadata: metadataSchema,
    created_at: timestampSchema,
    updated_at: timestampSchema,
    deleted_at: timestampSchema.nullable(),
  })
  .meta({ id: 'Account' });

export const viewAccount = makeView(accountView);
