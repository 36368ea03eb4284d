import { z } from 'zod';
import { STATUSES } from '../../../db/schema/knowledge-resources.ts';
import { EVIDENCE_SOURCES } from '../../../db/schema/knowledge-suggestions.ts';
import { ID_PATTERN } from '../../../kernel/ids.ts';

/** The maximum number of items of `aliases`, `tags`, `related_catalog_assets` and `source_concept_ids`. */
export const MAX_ITEMS = 20;
/** The maximum number of items of every other list. */
export const MAX_LONG_ITEMS = 100;
export const MAX_DESCRIPTION = 4096;

/** A text that is not blank and that both databases can store. */
export const textUpTo = (max: number) =>
  z
    .string()
    .trim()
    .min(1)
    .max(max)
    .refine((text) => !text.includes('\0') && text.isWellFormed(), 'must be Unicode text without NUL characters');

export const name = textUpTo(200);
export const description = textUpTo(MAX_DESCRIPTION);
export const textList = (maxItems: number, maxLength = 200) => z.array(textUpTo(maxLength)).max(maxItems);

/** The id of another resource. Whether it exists is checked by `validateContent`. */
export const resourceId = z.string().regex(ID_PATTERN, 'must be 24 lower-case hexadecimal characters');
export const resourceIds = (maxItems: number) => z.array(resourceId).max(maxItems);

export const confidence = z.number().min(0).max(1).meta({ description: 'How sure the author is, from 0 to 1.' });

/** The statuses of a new resource, and those that a suggestion may set. */
export const newStatus = z.enum(['draft', 'active']);

/** The statuses that a change may set. */
export const changedStatus = z
  .enum(STATUSES)
  .optional()
  .meta({ description: '`archived` does the same as DELETE, and needs the permission to delete too.' });

/** Evidence for a statement: words of a text, or a table and column. */
export const evidence = z
  .object({
    source: z.enum(EVIDENCE_SOURCES),
    quote: z.string().max(1000).nullable().default(null).meta({ description: 'The words it is based on.' }),
    table: z.string().max(63).nullable().default(null),
    column: z.string().max(63).nullable().default(null),
  })
  .meta({ id: 'KnowledgeEvidence' });

/** `search` of a list. */
export const searchQuery = z
  .string()
  .trim()
  .max(200)
  .optional()
  .meta({ description: 'Text that the name, the description or an alias must contain, ignoring case; no wildcards.' });

/** `status` of a list. */
export const statusQuery = z.enum(STATUSES).optional().meta({ description: 'All but archived ones when not sent.' });
