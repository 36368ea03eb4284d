import { z } from 'zod';
import { sent } from '../../http/wire.ts';
import { description, displayName, metadata } from '../../kernel/fields.ts';

/** What a service account is made of besides its account. */
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
  .transform(sent);

export const keyInput = z
  .object({
    description: description.default(''),
    expires_at: z.iso
      .datetime({ offset: true })
      .transform((text) => Date.parse(text))
      .optional()
      .meta({ description: 'In the future; a year from now when not sent.' }),
  })
  .transform(sent);
