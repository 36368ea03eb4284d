import { z } from 'zod';
import { STATUSES } from '../../../db/schema/knowledge-resources.ts';
import { ID_PATTERN } from '../../../kernel/ids.ts';

/** Most items of `aliases`, `tags`, `related_catalog_assets` and `source_concept_ids`. */
export const MAX_ITEMS = 20;
/** Most items of every other list. */
export const MAX_LONG_ITEMS = 100;
export const MAX_DESCRIPTION = 4096;

/** A text that is not blank and that every database can keep. */
export const textOf = (max: number) =>
  z
    .string()
    .trim()
    .min(1)
    .max(max)
    .refine((text) => !text.includes('\0') && text.isWellFormed(), 'must be Unicode text without NUL characters');

export const name = textOf(200);
export const description = textOf(MAX_DESCRIPTION);
export const textList = (maxItems: number, maxLength = 200) => z.array(textOf(maxLength)).max(maxItems);

/** The id of another resource; whether it exists is checked when the whole is known. */
export const oneId = z.string().regex(ID_PATTERN, 'must be 24 lower-case hexadecimal characters');
export const idList = (maxItems: number) => z.array(oneId).max(maxItems);

/** How sure somebody is: 0 to 1. */
export const confidence = z.number().min(0).max(1);

/** The statuses that something new, or what a suggestion makes of it, may have. */
export const givenStatus = z.enum(['draft', 'active']);

/** The statuses that a change may give. */
export const patchedStatus = z
  .enum(STATUSES)
  .optional()
  .meta({ description: '`archived` archives, as DELETE does, and needs the permission to delete as well.' });

/** What a statement rests on: words of a text, or a table and column. */
export const evidence = z
  .object({
    source: z.enum(['text', 'catalog', 'concept', 'business_domain']),
    quote: z.string().max(1000).nullable().default(null).meta({ description: 'The words it rests on.' }),
    table: z.string().max(63).nullable().default(null),
    column: z.string().max(63).nullable().default(null),
  })
  .meta({ id: 'KnowledgeEvidence' });
