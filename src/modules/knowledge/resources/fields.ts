import { z } from 'zod';
import { STATUSES } from '../../../db/schema/knowledge-resources.ts';
import { EVIDENCE_SOURCES } from '../../../db/schema/knowledge-suggestions.ts';
import { ID_PATTERN } from '../../../kernel/ids.ts';

/** The maximum number of items of `aliases`, `tags`, `related_catalog_assets` and `source_concept_ids`. */
export const MAX_LIST_ITEMS = 20;
/** The maximum number of items of every other list. */
export const MAX_LONG_LIST_ITEMS = 100;
export const MAX_DESCRIPTION_LENGTH = 4096;

/** Makes the schema of a text that is not blank and that both databases can store. */
export const makeTextSchema = (maxLength: number) =>
  z
    .string()
    .trim()
    .min(1)
    .max(maxLength)
    .refine((text) => !text.includes('\0') && text.isWellFormed(), 'must be Unicode text without NUL characters');

export const name = makeTextSchema(200);
export const description = makeTextSchema(MAX_DESCRIPTION_LENGTH);
export const makeTextListSchema = (maxItems: number, maxLength = 200) =>
  z.array(makeTextSchema(maxLength)).max(maxItems);

/** The schema of another resource's id. `validateContent` checks whether that resource exists. */
export const resourceId = z.string().regex(ID_PATTERN, 'must be 24 lower-case hexadecimal characters');
export const makeResourceIdsSchema = (maxItems: number) => z.array(resourceId).max(maxItems);

export const confidence = z.number().min(0).max(1).meta({ description: 'How sure the author is, from 0 to 1.' });

/** The statuses of a new resource, and the statuses that a suggestion may set. */
export const newStatus = z.enum(['draft', 'active']);

/** The statuses that a change may set. */
export const changedStatus = z
  .enum(STATUSES)
  .optional()
  .meta({ description: '`archived` does the same as DELETE, and needs the permission to delete too.' });

/** The schema of evidence for a statement: words of a text, or a table and column. */
export const evidence = z
  .object({
    source: z.enum(EVIDENCE_SOURCES),
    quote: z.string().max(1000).nullable().default(null).meta({ description: 'The words it is based on.' }),
    table: z.string().max(63).nullable().default(null),
    column: z.string().max(63).nullable().default(null),
  })
  .meta({ id: 'KnowledgeEvidence' });

/** The query parameter `search` of a list. */
export const searchQuery = z
  .string()
  .trim()
  .max(200)
  .optional()
  .meta({ description: 'Text that the name, the description or an alias must contain, ignoring case; no wildcards.' });

/** The query parameter `status` of a list. */
export const statusQuery = z.enum(STATUSES).optional().meta({ description: 'All but archived ones when not sent.' });
